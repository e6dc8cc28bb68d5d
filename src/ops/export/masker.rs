//! Masks secrets in everything that others wrote, and counts what was masked.

use std::borrow::Cow;
use std::cell::Cell;

use crate::domain::{Event, MaskedText, mask_secrets};

/// A preview without the word that it was cut in: that may be the beginning of a secret, which does not look like one.
fn whole_words(preview: &str) -> Cow<'_, str> {
    match preview.strip_suffix('…') {
        Some(cut) => {
            let end = cut.rfind(char::is_whitespace).map_or(0, |at| at);
            Cow::Owned(format!("{} …", &cut[..end]).trim_start().to_string())
        }
        None => Cow::Borrowed(preview),
    }
}

#[derive(Default)]
pub(super) struct Masker {
    masked: Cell<usize>,
}

impl Masker {
    pub(super) fn text(&self, text: &str) -> String {
        let MaskedText { text, masked } = mask_secrets(text);
        self.masked.set(self.masked.get() + masked);
        text
    }

    pub(super) fn optional(&self, text: Option<&str>) -> Option<String> {
        text.map(|text| self.text(text))
    }

    pub(super) fn event(&self, event: Event) -> Event {
        let target = self.optional(event.target.as_deref());
        let preview = event.preview.as_deref().map(|preview| self.text(whole_words(preview).as_ref()));
        Event { target, preview, ..event }
    }

    /// How many lines were masked.
    pub(super) fn count(&self) -> usize {
        self.masked.get()
    }
}

#[cfg(test)]
mod tests {
    use super::whole_words;

    #[test]
    fn the_word_in_which_a_preview_was_cut_is_left_out() {
        for (preview, whole) in [
            ("the key is AKIAIO…", "the key is …"),
            ("postgres://ann:s3cr3t…", "…"),
            ("a short one", "a short one"),
            ("and so on …", "and so on …"),
            ("größer als…", "größer …"),
        ] {
            assert_eq!(whole_words(preview), whole);
        }
    }
}
