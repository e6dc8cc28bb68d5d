//! The names of records.

use std::fmt;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::kinds::RecordKind;

/// The longest name of a record, in bytes.
pub const MAX_RECORD_NAME: usize = 80;

/// A name in kebab-case: `^[a-z0-9]+(-[a-z0-9]+)*$`. It is the name of a page.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct RecordName(String);

/// Why a text is not the name of a record.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum RecordNameError {
    #[error("the name of a record can't be empty")]
    Empty,
    #[error("the name has {0} characters; {MAX_RECORD_NAME} is the most")]
    TooLong(usize),
    #[error("`{}` is not a name in kebab-case; try `{suggestion}`", .text.escape_debug())]
    NotKebab { text: String, suggestion: String },
}

impl RecordName {
    pub fn new(text: &str) -> Result<Self, RecordNameError> {
        if text.is_empty() {
            return Err(RecordNameError::Empty);
        }
        if text.len() > MAX_RECORD_NAME {
            return Err(RecordNameError::TooLong(text.chars().count()));
        }
        let is_word = |word: &str| {
            !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        };
        if text.split('-').all(is_word) {
            return Ok(Self(text.to_string()));
        }
        let derived = Self::derive(text).map(|name| name.0);
        let suggestion = derived.unwrap_or_else(|| "one-flock-guards-all-names".to_string());
        Err(RecordNameError::NotKebab { text: text.to_string(), suggestion })
    }

    /// A name made of the words of a text; `None` if it has no letter and no digit of ASCII.
    pub fn derive(text: &str) -> Option<Self> {
        let mut name = String::new();
        // `Ärger` becomes `arger`.
        let text: String = text.nfd().filter(|char| !is_combining_mark(*char)).collect();
        let words = text.split(|char: char| !char.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        for word in words {
            if !name.is_empty() && name.len() + 1 + word.len() > MAX_RECORD_NAME {
                break;
            }
            if !name.is_empty() {
                name.push('-');
            }
            let left = MAX_RECORD_NAME - name.len();
            name.push_str(&word[..word.len().min(left)].to_ascii_lowercase());
        }
        (!name.is_empty()).then_some(Self(name))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RecordName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Which record: two kinds may use one name.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct RecordId {
    pub kind: RecordKind,
    pub name: RecordName,
}

impl RecordId {
    pub fn new(kind: RecordKind, name: RecordName) -> Self {
        Self { kind, name }
    }

    /// Reads `decision/one-flock`.
    pub fn parse(text: &str) -> Option<Self> {
        let (kind, name) = text.split_once('/')?;
        Some(Self { kind: RecordKind::parse(kind)?, name: RecordName::new(name).ok()? })
    }
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_kebab_case() {
        assert_eq!(RecordName::new("one-flock").unwrap().as_str(), "one-flock");
        let error = RecordName::new("One Flock!").unwrap_err().to_string();
        assert_eq!(error, "`One Flock!` is not a name in kebab-case; try `one-flock`");
        for text in ["", "-a", "a--b", "a_b", "é", "../x", &"a".repeat(MAX_RECORD_NAME + 1)] {
            assert!(RecordName::new(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_name_is_derived_from_a_sentence() {
        let derive = |text: &str| RecordName::derive(text).map(|name| name.0);
        assert_eq!(
            derive("One flock guards `src/sys/flock.rs`."),
            Some("one-flock-guards-src-sys-flock-rs".into())
        );
        assert_eq!(derive("Ümläut, très Ärger"), Some("umlaut-tres-arger".into()));
        assert_eq!(derive("—"), None);
        let long = derive(&"word ".repeat(60)).unwrap();
        assert!(long.len() <= MAX_RECORD_NAME && long.ends_with("word"), "{long}");
        assert_eq!(derive(&"x".repeat(200)).unwrap().len(), MAX_RECORD_NAME);
    }

    #[test]
    fn an_id_is_read_back() {
        let id = RecordId::parse("decision/one-flock").unwrap();
        assert_eq!((id.kind, id.to_string().as_str()), (RecordKind::Decision, "decision/one-flock"));
        assert_eq!(RecordId::parse("decisions/one"), None);
    }
}
