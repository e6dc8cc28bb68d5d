//! Decides from its settings whether Claude Code would accept a message from outside or ask its user first.
//!
//! A session that asks its user before it acts takes it up. One that does not, or that a key could switch to that mode,
//! holds it, unless the user's own settings accept it. A dialog in somebody's way is worse than mail that waits for the
//! next prompt, so anything unknown counts as no. All of this was observed in the client; the real-clients suite checks
//! it again.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::domain::hook::PermissionMode;
use crate::domain::quote_code;
use crate::harness::wake::{InboxError, PostOrigin};
use crate::sys::files::FileError;
use crate::sys::{clock, files};

/// The settings key that decides about messages from outside.
const KEY: &str = "crossSessionInbound";
const ACCEPT: &str = "accept";
/// A running session may not have read settings that changed less than this ago.
const SETTLED: Duration = Duration::from_secs(10);
const BYPASS_PERMISSIONS: &str = "bypassPermissions";
/// Directories of the administrator's settings.
const MANAGED: [&str; 2] = ["/etc/claude-code", "/Library/Application Support/ClaudeCode"];
/// Arguments that bring in settings which we don't read.
const SETTINGS: [&str; 3] = ["--settings", "--setting-sources", "--managed-settings"];
/// Arguments that let it act without asking, at once or by a key.
const LEAVE: [&str; 2] = ["skip-permissions", "bypass"];

/// Why Claude Code would not take up a message, or why that can't be known.
#[derive(Debug, thiserror::Error)]
pub(super) enum ClaudeRefusal {
    #[error("Claude Code says that it is {}", said_of(.0))]
    Status(String),
    #[error("its process can't be seen")]
    UnseenProcess,
    #[error("it has settings on its command line")]
    SettingsInArguments,
    #[error("`{}` can't be read: {reason}", path.display())]
    UnreadableSettings { path: PathBuf, reason: Box<dyn Error + Send + Sync> },
    #[error("`{}` has just changed", .0.display())]
    JustChanged(PathBuf),
    #[error("`{}` does not accept messages from outside", .0.display())]
    NotAccepted(PathBuf),
    #[error(
        "it may act without asking, and then holds what comes from outside behind a dialog; \
         `\"{KEY}\": \"{ACCEPT}\"` in `{}` would end that", .0.display()
    )]
    BehindDialog(PathBuf),
    #[error(transparent)]
    File(#[from] FileError),
}

impl From<ClaudeRefusal> for InboxError {
    fn from(refusal: ClaudeRefusal) -> Self {
        Self::Refused(refusal.into())
    }
}

fn said_of(status: &str) -> String {
    if status.is_empty() { "something unknown".to_string() } else { quote_code(status) }
}

/// What the decision depends on.
pub(super) struct InboundContext<'a> {
    /// The directory of the user's settings.
    pub(super) config: &'a Path,
    pub(super) cwd: &'a Path,
    /// Its command line.
    pub(super) args: &'a [String],
    /// As of its last hook.
    pub(super) permissions: PermissionMode,
    /// What comes from the session's own processes is held only if settings say so.
    pub(super) origin: PostOrigin,
}

/// Returns `Ok` if the message would be taken up.
pub(super) fn check(surroundings: &InboundContext<'_>) -> Result<(), ClaudeRefusal> {
    let InboundContext { config, cwd, args, permissions, origin } = *surroundings;
    let is_given = |words: &[&str]| args.iter().any(|arg| words.iter().any(|word| arg.contains(word)));
    if is_given(&SETTINGS) {
        return Err(ClaudeRefusal::SettingsInArguments);
    }
    let mut found = Found::default();
    for path in managed(config)?.into_iter().chain([config.join("settings.json")]) {
        found.is_accepted |= found.read(&path)?;
    }
    // A repository's settings may forbid it, but not allow it.
    for dir in cwd.ancestors() {
        for name in ["settings.json", "settings.local.json"] {
            found.read(&dir.join(".claude").join(name))?;
        }
    }
    let may_act_unasked =
        found.may_act_unasked || permissions == PermissionMode::Bypasses || is_given(&LEAVE);
    if origin == PostOrigin::OwnProcess || found.is_accepted || !may_act_unasked {
        return Ok(());
    }
    Err(ClaudeRefusal::BehindDialog(config.join("settings.json")))
}

/// What all settings files say together.
#[derive(Default)]
struct Found {
    is_accepted: bool,
    may_act_unasked: bool,
}

impl Found {
    /// Whether that file accepts messages from outside. A file that refuses them or can't be read is an error.
    fn read(&mut self, path: &Path) -> Result<bool, ClaudeRefusal> {
        let unreadable = |reason| ClaudeRefusal::UnreadableSettings { path: path.to_path_buf(), reason };
        let Some(bytes) = files::read(path).map_err(|error| unreadable(error.into()))? else {
            return Ok(false);
        };
        let changed = files::metadata(path).map_err(|error| unreadable(error.into()))?;
        let changed = changed.and_then(|metadata| metadata.modified().ok());
        if changed.is_none_or(|changed| clock::age(changed) < SETTLED) {
            return Err(ClaudeRefusal::JustChanged(path.to_path_buf()));
        }
        let settings: Value = serde_json::from_slice(&bytes).map_err(|error| unreadable(error.into()))?;
        self.may_act_unasked |= settings["permissions"]["defaultMode"] == BYPASS_PERMISSIONS;
        match &settings[KEY] {
            Value::Null => Ok(false),
            value if value == ACCEPT => Ok(true),
            _ => Err(ClaudeRefusal::NotAccepted(path.to_path_buf())),
        }
    }
}

fn managed(config: &Path) -> Result<Vec<PathBuf>, ClaudeRefusal> {
    let mut paths = vec![config.join("remote-settings.json")];
    for dir in MANAGED.map(Path::new) {
        paths.push(dir.join("managed-settings.json"));
        let more = dir.join("managed-settings.d");
        let names = files::list(&more)?;
        paths.extend(names.iter().filter(|name| name.ends_with(".json")).map(|name| more.join(name)));
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks with this command line, the user's settings and the repository's.
    fn check(args: &[&str], user: &str, repository: &str, unasked: bool) -> Result<(), String> {
        check_at(2 * SETTLED, args, (user, repository), unasked)
    }

    fn check_at(age: Duration, args: &[&str], settings: (&str, &str), unasked: bool) -> Result<(), String> {
        look((age, false), args, settings, unasked)
    }

    fn look(
        (age, is_within): (Duration, bool),
        args: &[&str],
        (user, repository): (&str, &str),
        unasked: bool,
    ) -> Result<(), String> {
        let dir = tempfile::tempdir().unwrap();
        let (config, root) = (dir.path().join("config"), dir.path().join("repository"));
        let cwd = root.join("src/deep");
        for path in [&config, &root, &root.join(".claude"), &root.join("src"), &cwd] {
            files::create_dir(path).unwrap();
        }
        for (path, text) in
            [(config.join("settings.json"), user), (root.join(".claude/settings.json"), repository)]
        {
            if !text.is_empty() {
                files::touch(&path).unwrap();
                files::overwrite(&path, text.as_bytes()).unwrap();
                let file = std::fs::File::options().write(true).open(&path).unwrap();
                file.set_modified(clock::machine_time() - age).unwrap();
            }
        }
        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
        let permissions = if unasked { PermissionMode::Bypasses } else { PermissionMode::Asks };
        let origin = if is_within { PostOrigin::OwnProcess } else { PostOrigin::Outside };
        let context = InboundContext { config: &config, cwd: &cwd, args: &args, permissions, origin };
        super::check(&context).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn one_that_asks_takes_it_up() {
        for args in [&["claude"][..], &["claude", "--permission-mode", "plan"], &["claude", "--resume", "x"]]
        {
            assert_eq!(check(args, "", "", false), Ok(()), "{args:?}");
        }
        assert_eq!(
            check(&["claude"], "{\"permissions\": {\"defaultMode\": \"acceptEdits\"}}", "{}", false),
            Ok(())
        );
    }

    #[test]
    fn one_that_may_not_ask_holds_it() {
        const ACCEPTED: &str = "{\"crossSessionInbound\": \"accept\"}";
        const BYPASS_PERMISSIONS: &str = "{\"permissions\": {\"defaultMode\": \"bypassPermissions\"}}";
        let cases = [
            (&["claude", "--dangerously-skip-permissions"][..], "", "", false),
            (&["claude", "--allow-dangerously-skip-permissions"], "", "", false),
            (&["claude", "--permission-mode=bypassPermissions"], "", "", false),
            (&["claude"], BYPASS_PERMISSIONS, "", false),
            (&["claude"], "", BYPASS_PERMISSIONS, false),
            (&["claude"], "", "", true),
            // A repository can't accept on behalf of its user.
            (&["claude"], "", ACCEPTED, true),
        ];
        for (args, user, repository, unasked) in cases {
            let refused = check(args, user, repository, unasked).unwrap_err();
            assert!(refused.contains("behind a dialog"), "{args:?} {user} {repository}: {refused}");
        }
        assert_eq!(check(&["claude", "--dangerously-skip-permissions"], ACCEPTED, "", true), Ok(()));
    }

    /// Its own processes are let in whatever it may do without asking, except where settings hold or refuse messages.
    #[test]
    fn what_comes_from_within_is_held_by_settings_alone() {
        let within =
            |args: &[&str], user, repository| look((2 * SETTLED, true), args, (user, repository), true);
        assert_eq!(within(&["claude", "--dangerously-skip-permissions"], "", ""), Ok(()));
        assert_eq!(
            within(&["claude"], "{\"permissions\": {\"defaultMode\": \"bypassPermissions\"}}", "{}"),
            Ok(())
        );
        for (args, user, repository) in [
            (&["claude"][..], "{\"crossSessionInbound\": \"hold\"}", ""),
            (&["claude"], "", "{\"crossSessionInbound\": \"refuse\"}"),
            (&["claude"], "", "not JSON"),
            (&["claude", "--settings", "{}"], "", ""),
        ] {
            assert!(within(args, user, repository).is_err(), "{args:?} {user} {repository}");
        }
    }

    #[test]
    fn what_forbids_it_or_can_not_be_known_is_a_no() {
        const ACCEPTED: &str = "{\"crossSessionInbound\": \"accept\"}";
        let cases = [
            (&["claude"][..], "{\"crossSessionInbound\": \"hold\"}", ""),
            (&["claude"], "{\"crossSessionInbound\": \"refuse\"}", ""),
            (&["claude"], "{\"crossSessionInbound\": true}", ""),
            (&["claude"], ACCEPTED, "{\"crossSessionInbound\": \"hold\"}"),
            (&["claude"], "{\"crossSessionInbound\"", ""),
            (&["claude"], ACCEPTED, "not JSON"),
            (&["claude", "--settings", "{}"], ACCEPTED, ""),
            (&["claude", "--setting-sources=project"], ACCEPTED, ""),
        ];
        for (args, user, repository) in cases {
            assert!(check(args, user, repository, false).is_err(), "{args:?} {user} {repository}");
        }
    }

    #[test]
    fn what_has_just_changed_may_not_be_known_to_it() {
        const ACCEPTED: &str = "{\"crossSessionInbound\": \"accept\"}";
        for settings in [(ACCEPTED, ""), ("", "{}")] {
            let refused = check_at(Duration::ZERO, &["claude"], settings, false).unwrap_err();
            assert!(refused.contains("has just changed"), "{refused}");
            assert_eq!(check_at(2 * SETTLED, &["claude"], settings, false), Ok(()));
        }
    }
}
