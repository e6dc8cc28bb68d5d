//! What is known about a file from before we were installed into it.

use std::path::Path;

use crate::domain::sha256;
use crate::domain::text_edit::json::{Dialect, Document};

/// Looks up a file's content before and after the change, by its path.
pub type FileLookup<'a> = &'a dyn Fn(&Path) -> (Option<Vec<u8>>, Option<Vec<u8>>);

/// The file before us: unknown, absent, or a file of which a record keeps this.
#[derive(Clone, Copy, Debug)]
pub enum RecordedOriginal<'a> {
    Unknown,
    Nothing,
    Known {
        /// Which of the members that we touch were in it, without their values.
        outline: &'a str,
        /// The hash of the text without trailing whitespace. `blanks` is that whitespace.
        stem: &'a str,
        blanks: &'a str,
    },
}

impl RecordedOriginal<'_> {
    /// The outline of a settings file that existed.
    pub(super) fn document(self, dialect: Dialect) -> Option<Document> {
        let Self::Known { outline, .. } = self else { return None };
        Document::parse(outline.as_bytes(), dialect).ok()
    }

    /// What is left of a file without our part; `None` if it was created for us and is now empty.
    pub fn leftover(self, bytes: Vec<u8>) -> Option<Vec<u8>> {
        let is_bare = matches!(self, Self::Nothing) && bytes.iter().all(u8::is_ascii_whitespace);
        (!is_bare).then_some(bytes)
    }

    /// The rest of a file of lines. If that is the original text, its trailing whitespace is restored too.
    pub fn left_lines(self, rest: Vec<u8>) -> Option<Vec<u8>> {
        match self {
            Self::Known { stem, blanks, .. } if stem == sha256(rest.trim_ascii_end()) => {
                Some([rest.trim_ascii_end(), blanks.as_bytes()].concat())
            }
            _ => self.leftover(rest),
        }
    }
}
