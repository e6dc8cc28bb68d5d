//! Configuration files, read in layers: a later layer overrides the earlier ones.
//!
//! Our own files are checked strictly: a value that doesn't fit is an error, a syntax error names file, line and
//! column, and an unknown key gets a hint. From pi-messenger's files only the keys that both programs have are read.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json};

use super::last_good::{KEPT, LastGood};
use crate::domain::settings::{KEYS, RawValue, SetBy, SettingError, SettingSource, Settings, find_key};
use crate::domain::suggestions;
use crate::store::error::StoreError;
use crate::sys::environment::{Home, variable};
use crate::sys::files::{self, FileError, Files};
use crate::sys::flock::FileLock;
use crate::sys::git::WorkTree;

/// The effective settings, and the problems found while reading them.
#[derive(Debug)]
pub struct LoadedSettings {
    pub settings: Settings,
    /// Values that were ignored or not taken as written, and why.
    pub warnings: Vec<String>,
    /// Files, values and variables that cannot be used. All others still apply.
    pub errors: Vec<StoreError>,
    /// Why the user's own configuration cannot be used. `mesh` and `strict` then have the last good values.
    pub broken: Option<String>,
    /// Whether the user's configuration of the mesh is unknown: it cannot be read now, and no earlier value was kept.
    pub is_mesh_unknown: bool,
    /// Why the current values could not be kept as last good values.
    pub not_kept: Option<StoreError>,
    /// The keys of [`KEPT`] that a file of the user sets, and that no unreadable file could override.
    known: Vec<&'static str>,
    /// The groups of the user's own files.
    own_groups: Vec<String>,
}

/// Whether a file belongs to the user or to a project.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ConfigScope {
    User,
    Project,
}

/// A file that may hold settings.
struct Layer {
    path: PathBuf,
    /// The key that holds the settings, if they are not the whole file.
    beneath: Option<&'static str>,
    ours: bool,
    scope: ConfigScope,
}

fn user_layers(home: &Home) -> [Layer; 3] {
    let pi = home.home.join(".pi/agent");
    let layer = |path, beneath, ours| Layer { path, beneath, ours, scope: ConfigScope::User };
    [
        layer(pi.join("settings.json"), Some("messenger"), false),
        layer(pi.join("pi-messenger.json"), None, false),
        layer(user_file(home), None, true),
    ]
}

fn project_layers(home: &Home, cwd: &Path) -> Vec<Layer> {
    let mut layers = Vec::new();
    // If the home directory is a project root, its files are the user's, not a project's.
    let dirs: Vec<PathBuf> = project_dirs(cwd).into_iter().filter(|dir| *dir != home.home).collect();
    for (name, ours) in [(".pi/pi-messenger.json", false), (".ravenry/config.json", true)] {
        let found = dirs.iter().map(|dir| dir.join(name)).find(|path| path.is_file());
        layers.extend(found.map(|path| Layer { path, beneath: None, ours, scope: ConfigScope::Project }));
    }
    layers
}

/// The directories that may hold a project's file: from `cwd` up to the root of the work tree.
fn project_dirs(cwd: &Path) -> Vec<PathBuf> {
    match WorkTree::containing(cwd) {
        Some(tree) => {
            cwd.ancestors().take_while(|dir| dir.starts_with(&tree.root)).map(Path::to_path_buf).collect()
        }
        None => vec![cwd.to_path_buf()],
    }
}

pub(super) fn user_file(home: &Home) -> PathBuf {
    home.config.join("ravenry/config.json")
}

fn project_file(cwd: &Path) -> PathBuf {
    let root = WorkTree::containing(cwd).map_or_else(|| cwd.to_path_buf(), |tree| tree.root);
    root.join(".ravenry/config.json")
}

/// Reads all layers. `mesh_flag` is the value of `--mesh`.
pub fn load(home: &Home, cwd: &Path, mesh_flag: Option<&str>) -> LoadedSettings {
    with_project(load_user(home), home, cwd, mesh_flag)
}

/// The same for a lookup that must change nothing: the last good values are not kept.
pub fn look(home: &Home, cwd: &Path, mesh_flag: Option<&str>) -> LoadedSettings {
    with_project(read_user(home).0, home, cwd, mesh_flag)
}

fn with_project(
    mut loaded: LoadedSettings,
    home: &Home,
    cwd: &Path,
    mesh_flag: Option<&str>,
) -> LoadedSettings {
    for layer in project_layers(home, cwd) {
        if let Err(error) = loaded.add(&layer, home) {
            loaded.errors.push(error);
        }
    }
    loaded.add_environment();
    if let Some(dir) = mesh_flag {
        let set =
            loaded.settings.set("mesh", &RawValue::Text(dir.to_string()), SettingSource::Flag("--mesh"));
        loaded.errors.extend(set.err().map(|error| bad_setting("--mesh", &error)));
    }
    let is_named =
        matches!(loaded.settings.mesh(), Some((_, SettingSource::Variable(_) | SettingSource::Flag(_))));
    loaded.is_mesh_unknown &= !is_named;
    loaded.settings.apply_shortcuts();
    loaded
}

/// The settings from the user's own files, without project files and variables.
pub fn user(home: &Home) -> Settings {
    let mut loaded = load_user(home);
    loaded.settings.apply_shortcuts();
    loaded.settings
}

/// Reads the user's files. If one cannot be used, `mesh` and `strict` get the last good values; otherwise their values
/// are kept as such.
pub(super) fn load_user(home: &Home) -> LoadedSettings {
    let (mut loaded, is_configured) = read_user(home);
    let kept = match (&loaded.broken, is_configured) {
        (Some(_), _) => Ok(()),
        (None, true) => LastGood::of(&loaded.settings).keep(home),
        (None, false) => LastGood::forget(home),
    };
    loaded.not_kept = kept.err();
    loaded
}

/// The settings of the user's files, and whether the user has a file of ours. Changes nothing.
fn read_user(home: &Home) -> (LoadedSettings, bool) {
    let mut loaded = LoadedSettings {
        settings: Settings::default(),
        warnings: Vec::new(),
        errors: Vec::new(),
        broken: None,
        is_mesh_unknown: false,
        not_kept: None,
        known: Vec::new(),
        own_groups: Vec::new(),
    };
    let mut is_configured = false;
    for layer in user_layers(home) {
        match loaded.add(&layer, home) {
            Ok(is_there) => is_configured = is_there && layer.ours,
            Err(error) => {
                loaded.errors.push(error);
                loaded.known.clear();
            }
        }
    }
    loaded.broken = loaded.errors.first().map(ToString::to_string);
    if loaded.broken.is_some() {
        loaded.recall(home);
    }
    loaded.own_groups = loaded.settings.groups().iter().map(|group| group.name.clone()).collect();
    (loaded, is_configured)
}

fn bad_setting(place: impl Into<PathBuf>, reason: &SettingError) -> StoreError {
    StoreError::BadSetting { path: place.into(), reason: reason.to_string() }
}

impl LoadedSettings {
    /// Applies the settings of a file. `false`: there is no such file.
    fn add(&mut self, layer: &Layer, home: &Home) -> Result<bool, StoreError> {
        let Some(mut document) = read(&layer.path)? else { return Ok(false) };
        if let Some(key) = layer.beneath {
            let Some(Json::Object(inner)) = document.remove(key) else { return Ok(true) };
            document = inner;
        }
        let shown = home.shorten(&layer.path.to_string_lossy());
        if layer.scope == ConfigScope::Project {
            self.leave_out_own_groups(&mut document, &shown);
        }
        for (name, json) in &document {
            let key = match find_key(name) {
                Ok(key) => key,
                Err(_) if layer.ours => {
                    self.warnings.push(format!(
                        "`{shown}`: there is no key `{}`{}",
                        name.escape_debug(),
                        did_you_mean(name)
                    ));
                    continue;
                }
                Err(_) => continue,
            };
            if layer.scope == ConfigScope::Project && key.set_by == SetBy::User {
                self.warnings
                    .push(format!("`{shown}`: `{name}` is ignored, because a project may not set it"));
                continue;
            }
            let fits = check_absolute(name, json)
                .and_then(|()| self.settings.set(name, &raw(json), SettingSource::File(shown.clone())));
            match fits {
                Ok(()) => self.known.extend(KEPT.into_iter().filter(|kept| kept == name)),
                Err(error) if layer.ours => {
                    self.known.retain(|known| known != name);
                    self.errors.push(bad_setting(&layer.path, &error));
                }
                Err(error) => self.warnings.push(format!("`{shown}`: {error}; it is ignored")),
            }
        }
        Ok(true)
    }

    /// A project adds groups. It cannot make a name of the user's own mean other agents.
    fn leave_out_own_groups(&mut self, document: &mut Map<String, Json>, shown: &str) {
        let Some(Json::Object(groups)) = document.get_mut("groups") else { return };
        let own = &self.own_groups;
        let is_own = |name: &String| own.iter().any(|own| own.eq_ignore_ascii_case(name));
        let refused: Vec<String> = groups.keys().filter(|name| is_own(name)).cloned().collect();
        for name in refused {
            groups.shift_remove(&name);
            self.warnings
                .push(format!("`{shown}`: the group `{name}` is ignored, because your own file has it"));
        }
    }

    /// Fills in the last good values of the keys that are not known now.
    fn recall(&mut self, home: &Home) {
        let kept = LastGood::recall(home);
        let shown = home.shorten(&user_file(home).to_string_lossy());
        for key in KEPT.into_iter().filter(|key| !self.known.contains(key)).collect::<Vec<_>>() {
            match &kept {
                Some(kept) => {
                    if let Some(raw) = kept.value(key) {
                        let set = self.settings.set(key, &raw, SettingSource::Remembered(shown.clone()));
                        self.errors.extend(set.err().map(|error| bad_setting(&shown, &error)));
                    }
                }
                None => self.is_mesh_unknown |= key == "mesh",
            }
        }
    }

    fn add_environment(&mut self) {
        for key in KEYS {
            let own = variable_of(key.name);
            let names =
                if key.name == "mesh" { vec!["PI_MESSENGER_DIR".to_string(), own] } else { vec![own] };
            for name in names {
                let Some(text) = variable(&name) else { continue };
                let raw = raw_from_text(key.name, &text);
                let set = self.settings.set(key.name, &raw, SettingSource::Variable(name.clone()));
                self.errors.extend(set.err().map(|error| bad_setting(format!("${name}"), &error)));
            }
        }
    }
}

/// Rejects a relative path in a file: it would mean a different directory for each working directory.
fn check_absolute(name: &str, json: &Json) -> Result<(), SettingError> {
    match json.as_str() {
        Some(path) if name == "mesh" && !path.is_empty() && !path.starts_with(['/', '~']) => {
            Err(SettingError::RelativePath { key: "mesh" })
        }
        _ => Ok(()),
    }
}

/// The environment variable of a key: `stuckThreshold` is `MSG_STUCK_THRESHOLD`.
pub fn variable_of(key: &str) -> String {
    let mut name = "MSG_".to_string();
    for c in key.chars() {
        if c.is_ascii_uppercase() {
            name.push('_');
        }
        name.push(c.to_ascii_uppercase());
    }
    name
}

/// `; did you mean …?`, or nothing.
pub fn did_you_mean(name: &str) -> String {
    match suggestions(name, KEYS.iter().map(|key| key.name)).first() {
        Some(near) => format!("; did you mean `{near}`?"),
        None => String::new(),
    }
}

/// Parses an argument or a variable: as JSON if the key takes more than text.
pub fn raw_from_text(key: &str, text: &str) -> RawValue {
    let plain = find_key(key).is_ok_and(|key| key.is_plain_text);
    let json = if plain { None } else { serde_json::from_str::<Json>(text).ok() };
    json.map_or_else(|| RawValue::Text(text.to_string()), |json| raw(&json))
}

/// Writes one value into a file of ours, which is created if necessary. Returns its path.
pub fn set(
    home: &Home,
    cwd: &Path,
    scope: ConfigScope,
    name: &str,
    raw: &RawValue,
) -> Result<String, StoreError> {
    rewrite(home, cwd, scope, true, |document| {
        let value = match (document.get(name), json(raw)) {
            // Members that are not in the new value stay.
            (Some(Json::Object(old)), Json::Object(new)) if name == "wake" => {
                let mut merged = old.clone();
                merged.extend(new);
                Json::Object(merged)
            }
            (_, value) => value,
        };
        document.insert(name.to_string(), value);
    })
}

/// Writes the user's mesh into their file. Returns its path.
pub fn set_mesh(home: &Home, cwd: &Path, dir: &str) -> Result<String, StoreError> {
    set(home, cwd, ConfigScope::User, "mesh", &RawValue::Text(dir.to_string()))
}

/// Removes one value from a file of ours. Returns its path.
pub fn unset(home: &Home, cwd: &Path, scope: ConfigScope, name: &str) -> Result<String, StoreError> {
    rewrite(home, cwd, scope, false, |document| {
        document.shift_remove(name);
    })
}

/// Changes a file of ours. Without `keep_empty`, no file is created, and one that becomes empty is removed.
fn rewrite(
    home: &Home,
    cwd: &Path,
    scope: ConfigScope,
    keep_empty: bool,
    change: impl FnOnce(&mut Map<String, Json>),
) -> Result<String, StoreError> {
    let named = match scope {
        ConfigScope::User => user_file(home),
        ConfigScope::Project => project_file(cwd),
    };
    // Dotfiles are often links into a repository: replace the target, not the link.
    let is_link = named.is_symlink();
    let path = if is_link { fs_err::canonicalize(&named).map_err(FileError::from)? } else { named };
    let shown = home.shorten(&path.to_string_lossy());
    if !keep_empty && !files::exists(&path)? {
        return Ok(shown);
    }
    let dir = path.parent().unwrap_or(Path::new("/")).to_path_buf();
    if !files::exists(&dir)? {
        files::create_dir(&dir)?;
    }
    let lock = dir.join(".config.lock");
    let held = FileLock::acquire(&lock, Settings::default().lock_timeout())?;
    let mut document = read(&path)?.unwrap_or_default();
    change(&mut document);
    let files = Files::new(dir, crate::domain::settings::Durability::Process);
    if document.is_empty() && !keep_empty && !is_link {
        files::remove(&path)?;
    } else {
        files.replace(&path, &crate::store::wire::pretty(&document))?;
    }
    files.sweep()?;
    if scope == ConfigScope::User {
        // Keeps the last good values. If that fails, `doctor` reports it.
        drop(load_user(home));
    }
    files::remove(&lock)?;
    drop(held);
    Ok(shown)
}

/// The object in a file; `None` if there is no file. An empty file is an empty object.
pub(super) fn read(path: &Path) -> Result<Option<Map<String, Json>>, StoreError> {
    let Some(bytes) = files::read(path)? else { return Ok(None) };
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Ok(Some(Map::new()));
    }
    match serde_json::from_slice(&bytes) {
        Ok(Json::Object(document)) => Ok(Some(document)),
        Ok(_) => Err(bad(path, "it is not a JSON object".to_string(), 1, 1)),
        Err(error) => {
            let text = error.to_string();
            let reason = text.split(" at line ").next().unwrap_or(&text).to_string();
            Err(bad(path, reason, error.line(), error.column()))
        }
    }
}

fn bad(path: &Path, reason: String, line: usize, column: usize) -> StoreError {
    StoreError::BadConfig { path: path.to_path_buf(), reason, line, column }
}

fn raw(json: &Json) -> RawValue {
    match json {
        Json::Null => RawValue::Null,
        Json::Bool(yes) => RawValue::Bool(*yes),
        Json::Number(number) => RawValue::Number(number.as_f64().unwrap_or(f64::NAN)),
        Json::String(text) => RawValue::Text(text.clone()),
        Json::Array(items) => RawValue::List(items.iter().map(raw).collect()),
        Json::Object(members) => {
            RawValue::Object(members.iter().map(|(name, value)| (name.clone(), raw(value))).collect())
        }
    }
}

fn json(raw: &RawValue) -> Json {
    match raw {
        RawValue::Null => Json::Null,
        RawValue::Bool(yes) => Json::Bool(*yes),
        RawValue::Number(number) => number_json(*number),
        RawValue::Text(text) => Json::String(text.clone()),
        RawValue::List(items) => Json::Array(items.iter().map(json).collect()),
        RawValue::Object(members) => {
            Json::Object(members.iter().map(|(name, value)| (name.clone(), json(value))).collect())
        }
    }
}

/// A JSON number; whole numbers are written without a fraction.
pub fn number_json(number: f64) -> Json {
    if number.fract() == 0.0 && number.abs() < 1e15 { Json::from(number as i64) } else { Json::from(number) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables() {
        assert_eq!(variable_of("mesh"), "MSG_MESH");
        assert_eq!(variable_of("stuckThreshold"), "MSG_STUCK_THRESHOLD");
    }

    #[test]
    fn text_is_taken_as_its_key_wants_it() {
        assert_eq!(raw_from_text("mesh", "1"), RawValue::Text("1".to_string()));
        assert_eq!(raw_from_text("mailTurns", "1"), RawValue::Number(1.0));
        assert_eq!(raw_from_text("strict", "true"), RawValue::Bool(true));
        assert_eq!(raw_from_text("autoRegisterPaths", "a,b"), RawValue::Text("a,b".to_string()));
    }
}
