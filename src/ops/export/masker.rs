//! Masks secrets in everything that others wrote, and counts what was masked.

use std::cell::Cell;

use crate::domain::{Event, MaskedText, mask_secrets};

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
        let preview = self.optional(event.preview.as_deref());
        Event { target, preview, ..event }
    }

    /// How many lines were masked.
    pub(super) fn count(&self) -> usize {
        self.masked.get()
    }
}
