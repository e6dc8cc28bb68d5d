//! Names of agents.
//!
//! A name becomes a file name in six directories, so nothing else in the crate builds a path from text
//! that somebody else wrote: it must be an [`AgentName`] first.

use std::fmt;

/// The longest name, in bytes; all of them are ASCII.
pub const MAX_NAME: usize = 50;

/// Names that mean something else where a name is expected.
pub(super) const RESERVED: [&str; 2] = ["all", PROGRAM];
const PROGRAM: &str = "ravenry";

/// A checked name: `^[a-zA-Z0-9_][a-zA-Z0-9_-]*$`, at most [`MAX_NAME`] long and not reserved.
///
/// It keeps the spelling it was given, but two names that differ only in case are equal: they would be one
/// file on a case-insensitive file system.
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

/// Why a text can't be a name.
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

    /// The program itself, as the sender of what it has to tell. Nobody can join under it.
    pub fn of_program() -> Self {
        Self(PROGRAM.to_string())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The form under which names are compared.
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
