//! What a screen showed at an earlier look, without its words.

use super::look_plan::ScreenChange;
use super::text::ScreenText;
use crate::domain::sha256;

/// The lines of a screen as hashes, to tell at the next look how much has changed.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct LookedLines(String);

impl LookedLines {
    pub fn of(screen: &ScreenText) -> Self {
        let hash = |line: &str| sha256(line.as_bytes()).chars().take(12).collect::<String>();
        Self(screen.still_text().lines().map(hash).collect::<Vec<_>>().join("\n"))
    }

    /// As it was stored.
    pub fn stored(text: &str) -> Self {
        Self(text.trim_end().to_string())
    }

    pub fn text(&self) -> &str {
        &self.0
    }

    /// How much has changed since `before`.
    pub fn change_since(&self, before: &Self) -> ScreenChange {
        ScreenChange::between(&before.0, &self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn screens_are_compared_without_their_words() {
        let looked = |text: &str| LookedLines::of(&ScreenText::plain(text));
        let before = looked("one\ntwo\nthree\n✢ Thinking… (4s)");
        assert!(!before.text().contains("one"));
        let stored = LookedLines::stored(&format!("{}\n", before.text()));
        let check = |text: &str| looked(text).change_since(&stored);
        assert_eq!(check("one\ntwo\nthree\n✻ Thinking… (9s)"), ScreenChange::Nothing);
        assert_eq!(check("one\ntwo\nfour\n✻ Thinking… (9s)"), ScreenChange::Something);
        assert_eq!(check("five\nsix\nseven\n✻ Thinking… (9s)"), ScreenChange::Much);
    }
}
