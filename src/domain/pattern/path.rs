//! Absolute paths, normalised for comparison.

use std::borrow::Cow;
use std::fmt;

use unicode_normalization::{UnicodeNormalization, is_nfc_quick};

/// An absolute path without `.`, `..`, duplicate or trailing slashes, in composed Unicode (NFC). It is normalised
/// lexically, without following links: callers that know the file system also pass the resolved path.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct NormalPath(String);

impl NormalPath {
    /// Parses an absolute path; a relative one is taken to start from `/`.
    pub fn absolute(text: &str) -> Self {
        Self("/".to_string()).join(text)
    }

    /// Joins a path: an absolute one replaces this one, and `..` goes up lexically, without resolving links.
    #[must_use]
    pub fn join(&self, text: &str) -> Self {
        let text = composed(text);
        let mut path = if text.starts_with('/') || self.0 == "/" { String::new() } else { self.0.clone() };
        for part in text.split('/') {
            match part {
                "" | "." => {}
                ".." => path.truncate(path.rfind('/').unwrap_or(0)),
                part => {
                    path.push('/');
                    path.push_str(part);
                }
            }
        }
        Self(if path.is_empty() { "/".to_string() } else { path })
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn is_root(&self) -> bool {
        self.0 == "/"
    }

    /// Whether it is `other` or below it.
    pub fn is_within(&self, other: &Self) -> bool {
        self.beneath(other).is_some()
    }

    /// The part after `other`: empty, or starting with `/`.
    pub(super) fn beneath(&self, other: &Self) -> Option<&str> {
        let rest = match other.0.as_str() {
            "/" if self.is_root() => "",
            "/" => &self.0,
            other => self.0.strip_prefix(other)?,
        };
        (rest.is_empty() || rest.starts_with('/')).then_some(rest)
    }

    /// The path relative to `root`, if it is `root` or below it.
    pub fn relative_to(&self, root: &Self) -> Option<&str> {
        self.beneath(root).map(|rest| rest.trim_start_matches('/'))
    }

    /// Whether one is the other or below it. `other` must be a normalised path.
    pub fn is_related(&self, other: &str) -> bool {
        let (short, long) =
            if other.len() < self.0.len() { (other, self.0.as_str()) } else { (self.0.as_str(), other) };
        long.starts_with(short)
            && (short == "/" || matches!(long.as_bytes().get(short.len()), None | Some(b'/')))
    }

    /// As a case-insensitive file system sees it.
    pub fn folded(&self) -> Self {
        // Character by character: whether a sigma ends a word depends on what follows, which is unknown in a glob.
        Self(self.0.chars().flat_map(char::to_lowercase).collect())
    }
}

impl fmt::Display for NormalPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Text in composed Unicode (NFC): `é` is one character, however it was typed.
pub(super) fn composed(text: &str) -> Cow<'_, str> {
    use unicode_normalization::IsNormalized;
    match text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        true => Cow::Borrowed(text),
        false => Cow::Owned(text.nfc().collect()),
    }
}
