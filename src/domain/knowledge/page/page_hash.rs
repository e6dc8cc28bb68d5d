//! The hash of a page's content.

use crate::domain::sha256;

const LENGTH: usize = 24;

#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct PageHash(String);

impl PageHash {
    /// Line ends of Windows do not count: git may have put them there.
    pub fn of(text: &str) -> Self {
        let digits = match text.contains("\r\n") {
            true => sha256(text.replace("\r\n", "\n").as_bytes()),
            false => sha256(text.as_bytes()),
        };
        Self(digits[..LENGTH].to_string())
    }

    /// A hash as it was stored; `None` if it is not one.
    pub fn stored(text: &str) -> Option<Self> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        (text.len() == LENGTH && text.bytes().all(is_digit)).then(|| Self(text.to_string()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}
