//! What a contested reservation and its contests have in common.

use std::fmt;

/// The id that a contested reservation and its contests share. It is part of a file name.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct ContestId(String);

impl ContestId {
    /// `None`: the text is not an id of ours.
    pub fn new(text: &str) -> Option<Self> {
        let is_plain = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        ((1..=32).contains(&text.len()) && text.bytes().all(is_plain)).then(|| Self(text.to_string()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ContestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a contested reservation and its contests have in common.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ContestMark {
    pub id: ContestId,
    /// A sign of the holder ends a round. Whoever contests after it begins the next one.
    pub round: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_plain() {
        assert!(ContestId::new("0123456789abcdef").is_some());
        for bad in ["", "../x", "a.b", "A1", "g", "a/b", "0123456789abcdef0123456789abcdef0"] {
            assert_eq!(ContestId::new(bad), None, "{bad}");
        }
    }
}
