//! The types of settings: what values they take, and how those are shown.

use super::super::alert::{AlertKind, AlertWay};
use super::super::awareness::work_domain::{ConfiguredDomain, DomainError};
use super::super::name_words::{NameTheme, WordsError};
use super::super::recipient_group::{GroupError, NamedGroup};
use super::SettingError;
use super::model_price::ModelPrice;

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

/// A checked value, as `msg config` shows it.
#[derive(Clone, Debug, PartialEq)]
pub enum SettingValue {
    Unset,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<String>),
    Words { adjectives: Vec<String>, nouns: Vec<String> },
    Domains(Vec<ConfiguredDomain>),
    Prices(Vec<ModelPrice>),
    Groups(Vec<NamedGroup>),
    Notify(Vec<(AlertKind, Vec<AlertWay>)>),
    Wake { is_enabled: bool, may_paste: bool },
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

/// Why a raw value does not fit a type.
pub(super) enum Mismatch {
    /// What it must be instead.
    Expected(String),
    Words(WordsError),
    Domains(DomainError),
    Groups(GroupError),
}

impl Mismatch {
    pub(super) fn of_key(self, key: &'static str) -> SettingError {
        match self {
            Self::Expected(expected) => SettingError::WrongKind { key, expected },
            Self::Words(source) => SettingError::Words { key, source },
            Self::Domains(source) => SettingError::Domains { key, source },
            Self::Groups(source) => SettingError::Groups { key, source },
        }
    }
}

pub(super) fn expected<T>(what: &str) -> Result<T, Mismatch> {
    Err(Mismatch::Expected(what.to_string()))
}

/// A type that a setting may have.
pub(super) trait SettingType: Sized {
    /// Whether text is taken literally, even if it looks like a number or a list.
    const IS_PLAIN_TEXT: bool = false;

    /// Checks a raw value. Missing members of an object keep their value in `current`.
    fn check(raw: &RawValue, current: &Self) -> Result<Self, Mismatch>;

    fn shown(&self) -> SettingValue;

    /// The words to choose from, if it takes nothing else.
    fn choices() -> Vec<&'static str> {
        Vec::new()
    }
}

impl SettingType for bool {
    fn check(raw: &RawValue, _: &Self) -> Result<Self, Mismatch> {
        match raw {
            RawValue::Bool(yes) => Ok(*yes),
            _ => expected("true or false"),
        }
    }

    fn shown(&self) -> SettingValue {
        SettingValue::Bool(*self)
    }

    fn choices() -> Vec<&'static str> {
        vec!["true", "false"]
    }
}

/// A number within limits, which are included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BoundedNumber<const LEAST: u32, const MOST: u32>(pub(super) f64);

impl<const LEAST: u32, const MOST: u32> SettingType for BoundedNumber<LEAST, MOST> {
    fn check(raw: &RawValue, _: &Self) -> Result<Self, Mismatch> {
        match raw {
            RawValue::Number(number) if (f64::from(LEAST)..=f64::from(MOST)).contains(number) => {
                Ok(Self(*number))
            }
            _ => expected(&format!("a number from {LEAST} to {MOST}")),
        }
    }

    fn shown(&self) -> SettingValue {
        SettingValue::Number(self.0)
    }
}

/// A number from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Probability(pub(super) f64);

impl SettingType for Probability {
    fn check(raw: &RawValue, _: &Self) -> Result<Self, Mismatch> {
        match raw {
            RawValue::Number(number) if (0.0..=1.0).contains(number) => Ok(Self(*number)),
            _ => expected("a number from 0 to 1"),
        }
    }

    fn shown(&self) -> SettingValue {
        SettingValue::Number(self.0)
    }
}

/// The path of a directory, if one is set.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct DirectoryPath(pub(super) Option<String>);

impl SettingType for DirectoryPath {
    const IS_PLAIN_TEXT: bool = true;

    fn check(raw: &RawValue, _: &Self) -> Result<Self, Mismatch> {
        match raw {
            RawValue::Text(text) if !text.is_empty() && !text.contains('\0') => Ok(Self(Some(text.clone()))),
            _ => expected("the path of a directory"),
        }
    }

    fn shown(&self) -> SettingValue {
        self.0.clone().map_or(SettingValue::Unset, SettingValue::Text)
    }
}

/// The name or the path of a socket, if one is set.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct SocketName(pub(super) Option<String>);

impl SettingType for SocketName {
    const IS_PLAIN_TEXT: bool = true;

    fn check(raw: &RawValue, _: &Self) -> Result<Self, Mismatch> {
        match raw {
            RawValue::Text(text) if !text.is_empty() && !text.contains('\0') => Ok(Self(Some(text.clone()))),
            _ => expected("a name, or the path of a socket"),
        }
    }

    fn shown(&self) -> SettingValue {
        self.0.clone().map_or(SettingValue::Unset, SettingValue::Text)
    }
}

/// A list of globs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Globs(pub(super) Vec<String>);

impl SettingType for Globs {
    fn check(raw: &RawValue, _: &Self) -> Result<Self, Mismatch> {
        let globs = match raw {
            RawValue::List(items) => texts(items),
            RawValue::Text(text) => Some(split_list(text)),
            _ => None,
        };
        let Some(globs) = globs else { return expected("a list of globs") };
        match globs.iter().find_map(|glob| globset::Glob::new(glob).err()) {
            Some(error) => expected(&format!("a list of globs, but {error}")),
            None => Ok(Self(globs)),
        }
    }

    fn shown(&self) -> SettingValue {
        SettingValue::List(self.0.clone())
    }
}

/// A program and its arguments. No shell reads it: a text is split at blanks, and a list is taken as it is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct CommandWords(pub(super) Vec<String>);

impl SettingType for CommandWords {
    fn check(raw: &RawValue, _: &Self) -> Result<Self, Mismatch> {
        let words = match raw {
            RawValue::List(items) => texts(items),
            RawValue::Text(text) => Some(text.split_whitespace().map(str::to_string).collect()),
            _ => None,
        };
        match words {
            Some(words) if words.first().is_none_or(|program| !program.is_empty()) && is_runnable(&words) => {
                Ok(Self(words))
            }
            _ => expected("a command, as a text or as a list of words"),
        }
    }

    fn shown(&self) -> SettingValue {
        if self.0.is_empty() { SettingValue::Unset } else { SettingValue::List(self.0.clone()) }
    }
}

/// Whether a program can be given these words.
fn is_runnable(words: &[String]) -> bool {
    words.iter().all(|word| !word.contains('\0'))
}

/// The adjectives and nouns of the theme `custom`, if they are set.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct WordLists(pub(super) Option<(Vec<String>, Vec<String>)>);

impl SettingType for WordLists {
    fn check(raw: &RawValue, _: &Self) -> Result<Self, Mismatch> {
        let list = |name: &str| match raw {
            RawValue::Object(members) => match members.iter().find(|(key, _)| key == name)? {
                (_, RawValue::List(items)) => texts(items),
                _ => None,
            },
            _ => None,
        };
        let (Some(adjectives), Some(nouns)) = (list("adjectives"), list("nouns")) else {
            return expected("{\"adjectives\": [words], \"nouns\": [words]}");
        };
        NameTheme::custom(adjectives.clone(), nouns.clone()).map_err(Mismatch::Words)?;
        Ok(Self(Some((adjectives, nouns))))
    }

    fn shown(&self) -> SettingValue {
        match self.0.clone() {
            Some((adjectives, nouns)) => SettingValue::Words { adjectives, nouns },
            None => SettingValue::Unset,
        }
    }
}

/// Whether mail may wake an idle agent.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct WakePolicy {
    pub is_enabled: bool,
    /// Whether it may also be pasted into a tmux pane.
    pub may_paste: bool,
}

impl SettingType for WakePolicy {
    fn check(raw: &RawValue, current: &Self) -> Result<Self, Mismatch> {
        let wrong = || expected("true, false or {\"enabled\": true|false, \"paste\": true|false}");
        let mut wake = *current;
        match raw {
            RawValue::Bool(yes) => wake.is_enabled = *yes,
            RawValue::Object(members) => {
                for (name, value) in members {
                    match (name.as_str(), value) {
                        ("enabled", RawValue::Bool(yes)) => wake.is_enabled = *yes,
                        ("paste", RawValue::Bool(yes)) => wake.may_paste = *yes,
                        _ => return wrong(),
                    }
                }
            }
            _ => return wrong(),
        }
        Ok(wake)
    }

    fn shown(&self) -> SettingValue {
        SettingValue::Wake { is_enabled: self.is_enabled, may_paste: self.may_paste }
    }

    fn choices() -> Vec<&'static str> {
        vec!["true", "false"]
    }
}

/// A type with one word for each of its values.
pub(super) trait WordChoice: Copy + PartialEq + 'static {
    const WORDS: &'static [(&'static str, Self)];

    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, value)| *value == self).map_or("", |(word, _)| word)
    }
}

impl<T: WordChoice> SettingType for T {
    const IS_PLAIN_TEXT: bool = true;

    fn check(raw: &RawValue, _: &Self) -> Result<Self, Mismatch> {
        let found = match raw {
            RawValue::Text(text) => Self::WORDS.iter().find(|(word, _)| word == text),
            _ => None,
        };
        match found {
            Some((_, value)) => Ok(*value),
            None => {
                let words: Vec<&str> = Self::WORDS.iter().map(|(word, _)| *word).collect();
                expected(&format!("one of `{}`", words.join("`, `")))
            }
        }
    }

    fn shown(&self) -> SettingValue {
        SettingValue::Text(self.word().to_string())
    }

    fn choices() -> Vec<&'static str> {
        Self::WORDS.iter().map(|(word, _)| *word).collect()
    }
}

/// Makes an enum with a word for each variant.
macro_rules! word_choice {
    ($(#[$about:meta])* $name:ident { $($(#[$note:meta])* $variant:ident = $word:literal),* $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        pub enum $name {
            $($(#[$note])* $variant,)*
        }

        impl WordChoice for $name {
            const WORDS: &'static [(&'static str, Self)] = &[$(($word, Self::$variant)),*];
        }
    };
}

word_choice! {
    /// The colours of the terminal chat.
    ColourTheme {
        /// The terminal is asked for its background.
        Auto = "auto",
        Dark = "dark",
        Light = "light",
    }
}

word_choice! {
    /// The words of generated names.
    ThemeChoice {
        Default = "default",
        Nature = "nature",
        Space = "space",
        Minimal = "minimal",
        /// Those of the user.
        Custom = "custom",
    }
}

word_choice! {
    /// How much a model is told.
    ContextMode {
        /// As the keys say that `contextMode` is a shortcut for.
        Full = "full",
        /// The reply hint.
        Minimal = "minimal",
        None = "none",
    }
}

word_choice! {
    /// Whom a broadcast reaches.
    BroadcastScope {
        /// The agents of this project.
        Project = "project",
        /// All agents of the mesh.
        Everywhere = "everywhere",
    }
}

word_choice! {
    /// What the feed shows of direct messages.
    FeedPrivacy {
        /// Who wrote to whom.
        Names = "names",
        /// Their text, too.
        Text = "text",
    }
}

word_choice! {
    /// What `msg` does with what agents are about to do.
    AwarenessMode {
        /// Records and says nothing.
        Off = "off",
        /// Records it, and shows it to those who ask.
        Show = "show",
        /// Tells an agent whose prompt probably leads to another's files, too.
        Warn = "warn",
    }
}

word_choice! {
    /// What others can see of a prompt.
    PromptSharing {
        /// Nothing: not even its topics are kept.
        Off = "off",
        /// Its topics.
        Topics = "topics",
        /// Its text, too.
        Text = "text",
    }
}

word_choice! {
    /// What hooks tell a model about knowledge.
    KnowledgeMode {
        /// Nothing.
        Off = "off",
        /// It is asked to record what it decided.
        Ask = "ask",
        /// It is also offered what earlier sessions recorded.
        Offer = "offer",
    }
}

word_choice! {
    /// Whether a task may be claimed before its dependencies are done.
    DependencyPolicy {
        /// It may not.
        Strict = "strict",
        /// It may.
        Advisory = "advisory",
    }
}

word_choice! {
    /// What an accepted write must survive.
    #[derive(Default)]
    Durability {
        /// The death of any process.
        #[default]
        Process = "process",
        /// A power failure: file and directory are synced.
        Power = "power",
    }
}

pub(super) fn texts(items: &[RawValue]) -> Option<Vec<String>> {
    items.iter().map(|item| if let RawValue::Text(text) = item { Some(text.clone()) } else { None }).collect()
}

fn split_list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_string).collect()
}
