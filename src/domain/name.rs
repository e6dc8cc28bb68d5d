//! Names of agents.
//!
//! A name becomes a file name in six directories. Text that somebody else wrote must be an [`AgentName`] before the
//! crate builds a path from it.

use std::fmt;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Maximum length of a name, in bytes (names are ASCII).
pub const MAX_NAME: usize = 50;

/// Names with a special meaning where a name is expected.
pub(super) const RESERVED: [&str; 2] = ["all", PROGRAM];
const PROGRAM: &str = "ravenry";

/// A valid name: `^[a-zA-Z0-9_][a-zA-Z0-9_-]*$`, at most [`MAX_NAME`] bytes and not reserved.
///
/// It keeps its spelling, but two names that differ only in case are equal: they would be one file on a
/// case-insensitive file system.
///
/// ```
/// use ravenry::domain::AgentName;
/// assert_eq!(AgentName::new("SwiftRaven").unwrap(), AgentName::new("swiftraven").unwrap());
/// assert!(AgentName::new("../SwiftRaven").is_err());
/// ```
///
/// Plain text is not a name:
///
/// ```compile_fail
/// use ravenry::domain::AgentName;
/// let name: AgentName = "SwiftRaven".to_string();
/// ```
#[derive(Clone, Debug)]
pub struct AgentName(String);

/// Why a text is not a valid name.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NameError {
    #[error("a name can't be empty")]
    Empty,
    #[error("the name `{}` has {len} characters; {MAX_NAME} is the most", .start.escape_debug())]
    TooLong { start: String, len: usize },
    #[error("`{}` can't be a name: letters, digits, `_` and `-` only, and no `-` at the start", .0.escape_debug())]
    BadCharacter(String),
    #[error("`{0}` is a reserved name")]
    Reserved(String),
}

impl AgentName {
    pub fn new(text: impl Into<String>) -> Result<Self, NameError> {
        let text = text.into();
        if text.is_empty() {
            return Err(NameError::Empty);
        }
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
        if text.len() > MAX_NAME {
            let start = text.chars().take(12).chain(['…']).collect();
            return Err(NameError::TooLong { start, len: text.chars().count() });
        }
        if !text.bytes().all(allowed) || text.starts_with('-') {
            return Err(NameError::BadCharacter(text));
        }
        if RESERVED.iter().any(|word| word.eq_ignore_ascii_case(&text)) {
            return Err(NameError::Reserved(text));
        }
        Ok(Self(text))
    }

    /// A substitute for a name that is not valid: its usable characters, and a hash that tells it from others.
    pub fn stand_in(text: &str) -> Self {
        // Decompose letters to remove their accents.
        let plain = text.nfd().filter(|c| !is_combining_mark(*c));
        let word: String =
            plain.map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect();
        let word: String = word.trim_matches('-').chars().take(MAX_NAME - 5).collect();
        let word = if word.is_empty() { "agent" } else { &word };
        // FNV-1a, folded: the same text yields the same number in every process.
        let hash = text
            .bytes()
            .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        Self(format!("{word}-{:04x}", (hash >> 16) ^ (hash & 0xffff)))
    }

    /// The program itself, as the sender of notices. Nobody can join under this name.
    pub fn of_program() -> Self {
        Self(PROGRAM.to_string())
    }

    /// Whether a sender name is the program itself.
    pub fn is_program(text: &str) -> bool {
        text == PROGRAM
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether both are spelled the same. Names of pi-messenger's agents may differ only in case.
    pub fn is_spelled_as(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    /// The lower-case form used for comparison.
    pub fn folded(&self) -> String {
        self.0.to_ascii_lowercase()
    }
}

impl PartialEq for AgentName {
    fn eq(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(&other.0)
    }
}

impl Eq for AgentName {}

impl std::hash::Hash for AgentName {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.folded().hash(state);
    }
}

impl PartialOrd for AgentName {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for AgentName {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.folded().cmp(&other.folded())
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{AgentName, MAX_NAME};

    #[test]
    fn what_is_a_name() {
        for good in ["SwiftRaven", "a", "_", "9lives", "a-b_c", &"x".repeat(MAX_NAME)] {
            assert!(AgentName::new(good).is_ok(), "{good:?} should be a name");
        }
    }

    #[test]
    fn what_stands_in_for_a_name_is_one() {
        let long = "x".repeat(80);
        for text in ["all", "ravenry", "Élan Fox", "", "-", "../x", "日本", &long] {
            let name = AgentName::stand_in(text);
            assert!(AgentName::new(name.as_str()).is_ok(), "{text:?}: {name}");
            assert_eq!(name.as_str(), AgentName::stand_in(text).as_str());
        }
        assert!(AgentName::stand_in("Élan Fox").as_str().starts_with("Elan-Fox-"));
        assert_ne!(AgentName::stand_in("Élan Fox"), AgentName::stand_in("Elan Fox"));
    }

    #[test]
    fn what_is_not() {
        let long = "x".repeat(MAX_NAME + 1);
        for bad in [
            "", "../x", ".hidden", "a/b", "-a", "a b", "a\0b", "Ärger", "a.json", "All", "ALL", "Ravenry",
            &long,
        ] {
            assert!(AgentName::new(bad).is_err(), "{bad:?} should not be a name");
        }
    }
}
