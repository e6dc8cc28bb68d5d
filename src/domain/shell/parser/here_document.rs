//! A here-document between its `<<` and its text, which starts on a later line.

use std::cell::OnceCell;
use std::rc::Rc;

use super::syntax::Word;

/// A here-document whose text starts after this line.
pub struct PendingHere {
    /// The line that ends it.
    pub end: String,
    pub is_quoted: bool,
    /// `<<-`: from the start of each line.
    pub strips_tabs: bool,
    /// Gets the text.
    pub slot: Rc<OnceCell<Word>>,
}

impl PendingHere {
    /// Its lines at the start of `text`, and how many bytes they and the line after them take.
    pub fn body(&self, text: &str) -> (String, usize) {
        let (mut body, mut length) = (String::new(), 0);
        for line in text.split_inclusive('\n') {
            length += line.len();
            let line = if self.strips_tabs { line.trim_start_matches('\t') } else { line };
            if line.trim_end_matches(['\n', '\r']) == self.end {
                break;
            }
            body.push_str(line);
        }
        (body, length)
    }
}
