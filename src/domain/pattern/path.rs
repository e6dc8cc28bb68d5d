//! Absolute paths in the one spelling in which they are compared.

use std::borrow::Cow;
use std::fmt;

use unicode_normalization::{UnicodeNormalization, is_nfc_quick};

/// An absolute path without `.`, `..`, doubled or trailing slashes, in composed Unicode (NFC). That it is read
/// lexically says nothing about links: whoever knows the file system gives the spelling that it leads to as well.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct PathForm(String);

impl PathForm {
    /// Reads an absolute path; one that isn't is taken to start from `/`.
    pub fn absolute(text: &str) -> Self {
        Self("/".to_string()).join(text)
    }

    /// A path as it is read from here: an absolute one stands for itself, `..` goes up without asking where links lead.
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

    /// The same, or beneath it?
    pub fn is_within(&self, other: &Self) -> bool {
        self.beneath(other).is_some()
    }

    /// What follows `other`: nothing, or a path that starts with `/`.
    pub(super) fn beneath(&self, other: &Self) -> Option<&str> {
        let rest = match other.0.as_str() {
            "/" if self.is_root() => "",
            "/" => &self.0,
            other => self.0.strip_prefix(other)?,
        };
        (rest.is_empty() || rest.starts_with('/')).then_some(rest)
    }

    /// The path from `root`, if it is beneath it.
    pub fn relative_to(&self, root: &Self) -> Option<&str> {
        self.beneath(root).map(|rest| rest.trim_start_matches('/'))
    }

    /// Is one of the two beneath the other, or are they the same? `other` is such a path.
    pub fn is_related(&self, other: &str) -> bool {
        let (short, long) =
            if other.len() < self.0.len() { (other, self.0.as_str()) } else { (self.0.as_str(), other) };
        long.starts_with(short)
            && (short == "/" || matches!(long.as_bytes().get(short.len()), None | Some(b'/')))
    }

    /// As a file system that doesn't tell upper from lower case sees it.
    pub fn folded(&self) -> Self {
        // Letter by letter: whether a sigma ends a word depends on what follows, and of a glob nobody knows that.
        Self(self.0.chars().flat_map(char::to_lowercase).collect())
    }
}

impl fmt::Display for PathForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Text in composed Unicode: `é` is one character, however it was typed.
pub(super) fn composed(text: &str) -> Cow<'_, str> {
    use unicode_normalization::IsNormalized;
    match text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        true => Cow::Borrowed(text),
        false => Cow::Owned(text.nfc().collect()),
    }
}
