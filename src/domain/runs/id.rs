//! Ids of runs.

use std::fmt;

/// The id of a run: six letters and digits, so that people can type it. It names files, branches and refs.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct RunId(String);

#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{}` can't be the id of a run, which has {LENGTH} letters and digits", .0.escape_debug())]
pub struct RunIdError(String);

const LENGTH: usize = 6;
/// Without letters that look like digits or like each other.
const LETTERS: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz023456789";

impl RunId {
    pub fn new(text: &str) -> Result<Self, RunIdError> {
        let text = text.to_ascii_lowercase();
        let fits = text.len() == LENGTH && text.bytes().all(|byte| LETTERS.contains(&byte));
        if fits { Ok(Self(text)) } else { Err(RunIdError(text.chars().take(40).collect())) }
    }

    /// The id that a random number makes.
    pub fn from_random(number: u32) -> Self {
        let letter = |place: usize| char::from(LETTERS[(number >> (5 * place)) as usize % LETTERS.len()]);
        Self((0..LENGTH).map(letter).collect())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_can_be_typed_in_any_case_and_is_a_safe_file_name() {
        for number in [0, 1, 0x1234_5678, u32::MAX] {
            let id = RunId::from_random(number);
            assert_eq!(RunId::new(&id.as_str().to_uppercase()), Ok(id));
        }
        for wrong in ["", "abc", "abcdefg", "../abc", "abc/de", "äbcdef", "abc de", "iiiiii"] {
            assert!(RunId::new(wrong).is_err(), "{wrong}");
        }
    }
}
