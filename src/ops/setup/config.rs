//! `msg config`: reads and changes the configuration.

use crate::domain::settings::{KEYS, SetBy, SettingKey, SettingSource, SettingValue, find_key};
use crate::domain::shell_word;
use crate::store::config_files::{self, ConfigScope};

use crate::ops::context::Context;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::mode;
use crate::ops::person_required;

/// A value and where it comes from.
#[derive(Clone, Debug)]
pub struct SettingEntry {
    pub key: &'static str,
    pub value: SettingValue,
    pub source: SettingSource,
    pub about: &'static str,
}

pub fn list(ctx: &Context) -> Vec<SettingEntry> {
    ctx.settings.iter().map(|(key, value, source)| entry(key, value, source)).collect()
}

pub fn get(ctx: &Context, name: &str) -> Result<SettingEntry, CommandError> {
    list(ctx).into_iter().find(|entry| entry.key == name).ok_or_else(|| unknown(name))
}

/// Checks the value and writes it. Returns the entry as it is now in effect, and the file.
pub fn set(
    ctx: &Context,
    scope: ConfigScope,
    name: &str,
    text: &str,
) -> Result<(SettingEntry, String), CommandError> {
    allow(ctx, scope, || line(&["set", name, text], scope))?;
    let key = find_key(name).map_err(|_| unknown(name))?;
    refuse_for_project(scope, key)?;
    let text = if name == "mesh" { absolute(ctx, text) } else { text.to_string() };
    let raw = config_files::raw_from_text(name, &text);
    ctx.settings.clone().set(name, &raw, SettingSource::Default)?;
    let file = config_files::set(&ctx.home, &ctx.cwd, scope, name, &raw)?;
    Ok((reloaded(ctx, name)?, file))
}

pub fn unset(ctx: &Context, scope: ConfigScope, name: &str) -> Result<(SettingEntry, String), CommandError> {
    allow(ctx, scope, || line(&["unset", name], scope))?;
    find_key(name).map_err(|_| unknown(name))?;
    let file = config_files::unset(&ctx.home, &ctx.cwd, scope, name)?;
    Ok((reloaded(ctx, name)?, file))
}

/// Whether the user's own settings let sessions join automatically in every folder.
pub fn lets_all_sessions_join(ctx: &Context) -> bool {
    config_files::user(&ctx.home).joins_all_sessions()
}

/// Whether they do so anywhere.
pub fn lets_sessions_join(ctx: &Context) -> bool {
    config_files::user(&ctx.home).joins_sessions()
}

/// The setting that keeps sessions from joining here although the user's own settings allow it: its key and its source.
pub fn keeps_sessions_out(ctx: &Context) -> Option<(&'static str, SettingSource)> {
    let (user, here) =
        (config_files::user(&ctx.home), config_files::load(&ctx.home, &ctx.cwd, None).settings);
    if !user.joins_sessions() || here.joins_sessions() {
        return None;
    }
    ["autoRegister", "autoRegisterPaths"].into_iter().find_map(|key| {
        let source = here.get(key).ok()?.1;
        (user.get(key).ok()?.1 != source).then(|| (key, source.clone()))
    })
}

/// Settings are for people to change; those of a project also for agents, in mode `admin`.
fn allow(ctx: &Context, scope: ConfigScope, line: impl FnOnce() -> String) -> Result<(), CommandError> {
    match scope {
        ConfigScope::Project => mode::require_person_or_admin(ctx, line),
        ConfigScope::User => person_required::required(line),
    }
}

/// The command as a person types it.
fn line(words: &[&str], scope: ConfigScope) -> String {
    let words: Vec<_> = words.iter().map(|word| shell_word(word)).collect();
    let flag = if scope == ConfigScope::Project { " --project" } else { "" };
    format!("msg config {}{flag}", words.join(" "))
}

/// A relative directory is resolved against the current one, because the file is read from other directories.
fn absolute(ctx: &Context, path: &str) -> String {
    if path.is_empty() || path.starts_with('~') {
        return path.to_string();
    }
    ctx.cwd.join(path).to_string_lossy().into_owned()
}

fn reloaded(ctx: &Context, name: &str) -> Result<SettingEntry, CommandError> {
    let loaded = config_files::load(&ctx.home, &ctx.cwd, None);
    let (value, source) = loaded.settings.get(name)?;
    Ok(entry(find_key(name)?, value, source))
}

fn entry(key: &'static SettingKey, value: SettingValue, source: &SettingSource) -> SettingEntry {
    SettingEntry { key: key.name, value, source: source.clone(), about: key.about }
}

fn refuse_for_project(scope: ConfigScope, key: &SettingKey) -> Result<(), CommandError> {
    if scope == ConfigScope::Project && key.set_by == SetBy::User {
        let text = format!("a project may not set `{}`: its file may come with a clone", key.name);
        return Err(CommandError::new(CommandErrorKind::InvalidValue, text)
            .hint("leave out `--project` to set it for yourself"));
    }
    Ok(())
}

fn unknown(name: &str) -> CommandError {
    let text = format!("there is no key `{}`{}", name.escape_debug(), config_files::did_you_mean(name));
    let names: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
    CommandError::new(CommandErrorKind::UnknownKey, text).hint(format!("the keys are: {}", names.join(", ")))
}
