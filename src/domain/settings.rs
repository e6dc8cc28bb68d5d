//! The configuration keys, their types, limits and defaults.
//!
//! [`Settings`] holds a value and its source for every key of [`KEYS`]. Values are checked when they are set, so
//! reading one cannot fail.

use std::time::Duration;

use jiff::SignedDuration;

use super::name_words::{BUILT_IN, NameTheme, WordsError};
use super::pattern::{PathForm, Pattern};

/// An unchecked value from a JSON file, an environment variable or an argument.
#[derive(Clone, Debug, PartialEq)]
pub enum RawValue {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<RawValue>),
    Object(Vec<(String, RawValue)>),
}

/// A value that was checked against its key.
#[derive(Clone, Debug, PartialEq)]
pub enum SettingValue {
    Unset,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<String>),
    Words { adjectives: Vec<String>, nouns: Vec<String> },
    Wake { enabled: bool, paste: bool },
}

/// Where a value came from, lowest precedence first.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum SettingSource {
    Default,
    /// A configuration file, by its path as shown to people.
    File(String),
    /// An environment variable.
    Variable(String),
    /// A command-line flag.
    Flag(&'static str),
    /// The last good content of a configuration file that cannot be read now.
    Remembered(String),
    /// Implied by another key.
    Implied(&'static str),
}

/// The type of a key's value.
#[derive(Clone, Copy, Debug)]
enum ValueType {
    Bool(bool),
    /// A number with its inclusive limits.
    Number {
        default: f64,
        least: f64,
        most: f64,
    },
    /// One of these words; the first is the default.
    Choice(&'static [&'static str]),
    /// A directory.
    Path,
    /// A list of globs.
    Globs,
    Words,
    Wake,
}

/// One key.
#[derive(Debug)]
pub struct SettingKey {
    pub name: &'static str,
    kind: ValueType,
    /// Whether a project's file may set it. That file comes with a clone, so it must not control the user's machine.
    pub project_may_set: bool,
    pub about: &'static str,
}

const fn key(name: &'static str, kind: ValueType, about: &'static str) -> SettingKey {
    SettingKey { name, kind, project_may_set: true, about }
}

const fn personal(name: &'static str, kind: ValueType, about: &'static str) -> SettingKey {
    SettingKey { name, kind, project_may_set: false, about }
}

pub const KEYS: [SettingKey; 20] = [
    personal("mesh", ValueType::Path, "the directory that agents share"),
    key("autoRegister", ValueType::Bool(false), "join when a harness session starts"),
    key("autoRegisterPaths", ValueType::Globs, "folders in which sessions join by themselves"),
    key("scopeToFolder", ValueType::Bool(false), "see and address only agents of the same folder by default"),
    key(
        "nameTheme",
        ValueType::Choice(&["default", "nature", "space", "minimal", "custom"]),
        "words of generated names",
    ),
    key(
        "nameWords",
        ValueType::Words,
        "the words of the theme `custom`: {\"adjectives\": […], \"nouns\": […]}",
    ),
    key(
        "contextMode",
        ValueType::Choice(&["full", "minimal", "none"]),
        "how much a model is told: `none`, `minimal` (the reply hint) or `full` (as the three keys below say)",
    ),
    key("registrationContext", ValueType::Bool(true), "tell a joining model who is here"),
    key("replyHint", ValueType::Bool(true), "tell how to reply beneath a message"),
    key("senderDetailsOnFirstContact", ValueType::Bool(true), "tell who a new sender is"),
    key(
        "stuckThreshold",
        ValueType::Number { default: 900.0, least: 1.0, most: 604_800.0 },
        "seconds of silence after which an agent that holds something counts as stuck",
    ),
    // Personal, because all projects share one feed and one set of graves.
    personal(
        "feedRetention",
        ValueType::Number { default: 10_000.0, least: 0.0, most: 10_000_000.0 },
        "how many events the feed keeps, or a few more; with 0, nothing is written",
    ),
    personal(
        "feedPrivacy",
        ValueType::Choice(&["names", "text"]),
        "whether the feed shows only who wrote to whom, or the text of direct messages too",
    ),
    key(
        "dependencies",
        ValueType::Choice(&["strict", "advisory"]),
        "whether a task whose dependencies are not done may be claimed",
    ),
    key(
        "mailTurns",
        ValueType::Number { default: 5.0, least: 0.0, most: 1000.0 },
        "how often waiting mail may keep an agent going per prompt of its user",
    ),
    personal("wake", ValueType::Wake, "whether mail may wake an idle agent, and by a tmux paste too"),
    personal(
        "durability",
        ValueType::Choice(&["process", "power"]),
        "`process`: what was accepted outlives any process; `power`: a power cut too (slower)",
    ),
    personal(
        "strict",
        ValueType::Bool(false),
        "a hook that fails refuses the tool call, or the commit, instead of letting it through",
    ),
    personal(
        "lockTimeout",
        ValueType::Number { default: 10.0, least: 0.0, most: 3600.0 },
        "seconds to wait for a lock of the mesh",
    ),
    personal(
        "graveDays",
        ValueType::Number { default: 30.0, least: 1.0, most: 36_500.0 },
        "days for which a session that is gone is remembered; its unread mail stays longer",
    ),
];

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SettingError {
    #[error("there is no key `{}`", .0.escape_debug())]
    UnknownKey(String),
    #[error("`{key}` must be {expected}")]
    WrongKind { key: &'static str, expected: String },
    #[error("`{key}`: {source}")]
    Words {
        key: &'static str,
        #[source]
        source: WordsError,
    },
}

pub fn find_key(name: &str) -> Result<(usize, &'static SettingKey), SettingError> {
    KEYS.iter()
        .enumerate()
        .find(|(_, key)| key.name == name)
        .ok_or_else(|| SettingError::UnknownKey(name.to_string()))
}

impl SettingKey {
    /// Whether text is taken literally, even if it looks like a number or a list.
    pub fn is_plain_text(&self) -> bool {
        matches!(self.kind, ValueType::Path | ValueType::Choice(_))
    }

    fn default(&self) -> SettingValue {
        match self.kind {
            ValueType::Bool(default) => SettingValue::Bool(default),
            ValueType::Number { default, .. } => SettingValue::Number(default),
            ValueType::Choice(words) => SettingValue::Text(words[0].to_string()),
            ValueType::Path | ValueType::Words => SettingValue::Unset,
            ValueType::Globs => SettingValue::List(Vec::new()),
            ValueType::Wake => SettingValue::Wake { enabled: true, paste: false },
        }
    }

    /// Checks a raw value. Missing members of an object keep their value in `current`.
    pub fn check(&self, raw: &RawValue, current: &SettingValue) -> Result<SettingValue, SettingError> {
        let wrong =
            |expected: &str| SettingError::WrongKind { key: self.name, expected: expected.to_string() };
        match (self.kind, raw) {
            (ValueType::Bool(_), RawValue::Bool(yes)) => Ok(SettingValue::Bool(*yes)),
            (ValueType::Bool(_), _) => Err(wrong("true or false")),
            (ValueType::Number { least, most, .. }, RawValue::Number(number))
                if (least..=most).contains(number) =>
            {
                Ok(SettingValue::Number(*number))
            }
            (ValueType::Number { least, most, .. }, _) => {
                Err(wrong(&format!("a number from {least} to {most}")))
            }
            (ValueType::Choice(words), RawValue::Text(text)) if words.contains(&text.as_str()) => {
                Ok(SettingValue::Text(text.clone()))
            }
            (ValueType::Choice(words), _) => Err(wrong(&format!("one of `{}`", words.join("`, `")))),
            (ValueType::Path, RawValue::Text(text)) if !text.is_empty() && !text.contains('\0') => {
                Ok(SettingValue::Text(text.clone()))
            }
            (ValueType::Path, _) => Err(wrong("the path of a directory")),
            (ValueType::Globs, RawValue::List(items)) => {
                self.check_globs(texts(items).ok_or_else(|| wrong("a list of globs"))?)
            }
            (ValueType::Globs, RawValue::Text(text)) => self.check_globs(split_list(text)),
            (ValueType::Globs, _) => Err(wrong("a list of globs")),
            (ValueType::Words, RawValue::Object(members)) => {
                let list = |name: &str| match members.iter().find(|(key, _)| key == name) {
                    Some((_, RawValue::List(items))) => texts(items),
                    _ => None,
                };
                let (Some(adjectives), Some(nouns)) = (list("adjectives"), list("nouns")) else {
                    return Err(wrong("{\"adjectives\": [words], \"nouns\": [words]}"));
                };
                NameTheme::custom(adjectives.clone(), nouns.clone())
                    .map_err(|source| SettingError::Words { key: self.name, source })?;
                Ok(SettingValue::Words { adjectives, nouns })
            }
            (ValueType::Words, _) => Err(wrong("{\"adjectives\": [words], \"nouns\": [words]}")),
            (ValueType::Wake, raw) => self.check_wake(raw, current),
        }
    }

    fn check_globs(&self, globs: Vec<String>) -> Result<SettingValue, SettingError> {
        match globs.iter().find_map(|glob| globset::Glob::new(glob).err()) {
            Some(error) => {
                let expected = format!("a list of globs, but {error}");
                Err(SettingError::WrongKind { key: self.name, expected })
            }
            None => Ok(SettingValue::List(globs)),
        }
    }

    fn check_wake(&self, raw: &RawValue, current: &SettingValue) -> Result<SettingValue, SettingError> {
        let expected = "true, false or {\"enabled\": true|false, \"paste\": true|false}";
        let wrong = || SettingError::WrongKind { key: self.name, expected: expected.to_string() };
        let (mut enabled, mut paste) = match current {
            SettingValue::Wake { enabled, paste } => (*enabled, *paste),
            _ => (true, false),
        };
        match raw {
            RawValue::Bool(yes) => enabled = *yes,
            RawValue::Object(members) => {
                for (name, value) in members {
                    match (name.as_str(), value) {
                        ("enabled", RawValue::Bool(yes)) => enabled = *yes,
                        ("paste", RawValue::Bool(yes)) => paste = *yes,
                        _ => return Err(wrong()),
                    }
                }
            }
            _ => return Err(wrong()),
        }
        Ok(SettingValue::Wake { enabled, paste })
    }
}

fn texts(items: &[RawValue]) -> Option<Vec<String>> {
    items.iter().map(|item| if let RawValue::Text(text) = item { Some(text.clone()) } else { None }).collect()
}

fn split_list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_string).collect()
}

/// What an accepted write must survive.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Durability {
    /// The death of any process.
    #[default]
    Process,
    /// A power failure: file and directory are synced.
    Power,
}

/// A checked value for every key.
#[derive(Clone, Debug)]
pub struct Settings {
    values: Vec<(SettingValue, SettingSource)>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { values: KEYS.iter().map(|key| (key.default(), SettingSource::Default)).collect() }
    }
}

impl Settings {
    /// Sets a value, replacing the previous one.
    pub fn set(&mut self, name: &str, raw: &RawValue, source: SettingSource) -> Result<(), SettingError> {
        let (index, key) = find_key(name)?;
        let value = key.check(raw, &self.values[index].0)?;
        self.values[index] = (value, source);
        Ok(())
    }

    /// Applies `contextMode` to the three keys that it is a shortcut for.
    pub fn apply_shortcuts(&mut self) {
        let hint = match self.text("contextMode") {
            Some("none") => false,
            Some("minimal") => true,
            _ => return,
        };
        let implied =
            [("registrationContext", false), ("replyHint", hint), ("senderDetailsOnFirstContact", false)];
        for (name, yes) in implied {
            if let Ok((index, _)) = find_key(name) {
                self.values[index] = (SettingValue::Bool(yes), SettingSource::Implied("contextMode"));
            }
        }
    }

    /// Every key with its value and source, in the order of [`KEYS`].
    pub fn iter(&self) -> impl Iterator<Item = (&'static SettingKey, &SettingValue, &SettingSource)> {
        KEYS.iter().zip(&self.values).map(|(key, (value, source))| (key, value, source))
    }

    pub fn get(&self, name: &str) -> Result<(&SettingValue, &SettingSource), SettingError> {
        let (index, _) = find_key(name)?;
        let (value, source) = &self.values[index];
        Ok((value, source))
    }

    pub fn mesh(&self) -> Option<(&str, &SettingSource)> {
        match self.get("mesh") {
            Ok((SettingValue::Text(path), source)) => Some((path, source)),
            _ => None,
        }
    }

    /// The theme of generated names; `None` if it is `custom` and no words are configured.
    pub fn theme(&self) -> Option<NameTheme> {
        match self.text("nameTheme") {
            Some("custom") => match self.get("nameWords") {
                Ok((SettingValue::Words { adjectives, nouns }, _)) => {
                    NameTheme::custom(adjectives.clone(), nouns.clone()).ok()
                }
                _ => None,
            },
            Some(name) => NameTheme::built_in(name),
            None => NameTheme::built_in(BUILT_IN[0]),
        }
    }

    pub fn scope_to_folder(&self) -> bool {
        self.is_on("scopeToFolder")
    }

    /// Whether the key exists and is true.
    pub fn is_on(&self, name: &str) -> bool {
        matches!(self.get(name), Ok((SettingValue::Bool(true), _)))
    }

    /// Whether a task may be claimed before its dependencies are done.
    pub fn dependencies_are_advisory(&self) -> bool {
        self.text("dependencies") == Some("advisory")
    }

    /// How often waiting mail may keep an agent going per prompt of its user.
    pub fn mail_turns(&self) -> u32 {
        self.number("mailTurns") as u32
    }

    /// Whether sessions join automatically, at least in some folders.
    pub fn joins_sessions(&self) -> bool {
        let has_folders =
            matches!(self.get("autoRegisterPaths"), Ok((SettingValue::List(globs), _)) if !globs.is_empty());
        self.is_on("autoRegister") || has_folders
    }

    /// Whether sessions that start in this folder join automatically. A leading `~` is the home directory, and a
    /// folder includes everything below it.
    pub fn registers_in(&self, folder: &str, home: &str) -> bool {
        if self.is_on("autoRegister") {
            return true;
        }
        let Ok((SettingValue::List(globs), _)) = self.get("autoRegisterPaths") else { return false };
        let root = PathForm::absolute("/");
        let folder = PathForm::absolute(folder);
        let is_meant = |glob: &String| {
            let whole = match glob.strip_prefix('~') {
                Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{home}{rest}"),
                _ => glob.clone(),
            };
            // The trailing slash makes the glob cover everything below, too.
            Pattern::new(&format!("{whole}/"), &root).is_ok_and(|pattern| pattern.covers(&folder))
        };
        globs.iter().any(is_meant)
    }

    /// How long an agent that holds something may be silent before it counts as stuck.
    pub fn stuck_threshold(&self) -> SignedDuration {
        SignedDuration::from_secs_f64(self.number("stuckThreshold"))
    }

    pub fn lock_timeout(&self) -> Duration {
        Duration::from_secs_f64(self.number("lockTimeout"))
    }

    pub fn grave_days(&self) -> u32 {
        self.number("graveDays") as u32
    }

    pub fn durability(&self) -> Durability {
        if self.text("durability") == Some("power") { Durability::Power } else { Durability::Process }
    }

    fn text(&self, name: &str) -> Option<&str> {
        match self.get(name) {
            Ok((SettingValue::Text(text), _)) => Some(text),
            _ => None,
        }
    }

    fn number(&self, name: &str) -> f64 {
        match self.get(name) {
            Ok((SettingValue::Number(number), _)) => *number,
            _ => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_names_of_their_own() {
        for key in &KEYS {
            assert!(KEYS.iter().filter(|other| other.name == key.name).count() == 1, "{}", key.name);
        }
    }

    #[test]
    fn values_of_the_wrong_kind_are_refused() {
        let mut settings = Settings::default();
        let mut refused = |name: &str, raw: RawValue| {
            assert!(settings.set(name, &raw, SettingSource::Default).is_err(), "{name}");
        };
        refused("strict", RawValue::Text("yes".into()));
        refused("mailTurns", RawValue::Number(-1.0));
        refused("mailTurns", RawValue::Number(f64::NAN));
        refused("durability", RawValue::Text("paper".into()));
        refused("mesh", RawValue::Text(String::new()));
        refused("wake", RawValue::Object(vec![("loud".into(), RawValue::Bool(true))]));
        refused("nameWords", RawValue::Object(vec![("adjectives".into(), RawValue::List(vec![]))]));
        refused("autoRegisterPaths", RawValue::Text("a,[".into()));
        refused("nosuch", RawValue::Null);
    }

    #[test]
    fn folders_in_which_sessions_join() {
        let mut settings = Settings::default();
        let meant = |settings: &Settings, folder: &str| settings.registers_in(folder, "/home/dev");
        assert!(!meant(&settings, "/home/dev/work"));
        settings
            .set("autoRegisterPaths", &RawValue::Text("~/work,/srv/*/app".into()), SettingSource::Default)
            .unwrap();
        assert!(meant(&settings, "/home/dev/work") && meant(&settings, "/home/dev/work/a/b"));
        assert!(meant(&settings, "/srv/x/app/src") && !meant(&settings, "/srv/x"));
        assert!(!meant(&settings, "/home/dev/works"));
        settings.set("autoRegister", &RawValue::Bool(true), SettingSource::Default).unwrap();
        assert!(meant(&settings, "/"));
    }

    #[test]
    fn the_shortcut_decides_about_its_three() {
        let mut settings = Settings::default();
        settings.set("contextMode", &RawValue::Text("minimal".into()), SettingSource::Default).unwrap();
        settings.apply_shortcuts();
        assert_eq!(settings.get("replyHint").unwrap().0, &SettingValue::Bool(true));
        assert_eq!(settings.get("registrationContext").unwrap().0, &SettingValue::Bool(false));
    }

    #[test]
    fn an_objects_missing_members_keep_what_they_have() {
        let mut settings = Settings::default();
        let object = |name: &str| RawValue::Object(vec![(name.to_string(), RawValue::Bool(true))]);
        settings.set("wake", &RawValue::Bool(false), SettingSource::Default).unwrap();
        settings.set("wake", &object("paste"), SettingSource::Default).unwrap();
        assert_eq!(settings.get("wake").unwrap().0, &SettingValue::Wake { enabled: false, paste: true });
    }
}
