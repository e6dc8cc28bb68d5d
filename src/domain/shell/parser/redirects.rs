//! Parses redirections and here-documents.

use std::cell::OnceCell;
use std::rc::Rc;

use super::here_document::PendingHere;
use super::lists::{Parse, Parser, SyntaxError, name_length};
use super::syntax::{Redirect, WordPart};

impl Parser<'_> {
    /// Parses `> file` and similar; `None` if there is no redirection here.
    pub fn redirect(&mut self) -> Parse<Option<Redirect>> {
        let start = self.at;
        self.skip_descriptor();
        if !self.looks_at_redirect() {
            self.at = start;
            return Ok(None);
        }
        if self.looks_at("<<") && !self.looks_at("<<<") {
            self.at += 2;
            return self.here().map(Some);
        }
        // Longer operators first.
        const OPERATORS: [&str; 10] = ["<<<", "&>>", "&>", ">&", "<&", ">>", ">|", "<>", ">", "<"];
        let operator = OPERATORS.into_iter().find(|operator| self.looks_at(operator)).ok_or(SyntaxError)?;
        self.at += operator.len();
        self.skip_blanks();
        let target = self.word()?.ok_or(SyntaxError)?;
        Ok(Some(match operator {
            "<<<" => Redirect::Text(target),
            "<" => Redirect::Read(target),
            ">&" | "<&" => Redirect::Duplicate(target),
            _ => Redirect::Write { operator, target },
        }))
    }

    /// Skips the `2` of `2>` or the `{fd}` of `{fd}>`.
    fn skip_descriptor(&mut self) {
        let bytes = &self.text.as_bytes()[self.at..];
        let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits > 0 {
            self.at += digits;
        } else if bytes.first() == Some(&b'{') {
            let length = name_length(&self.text[self.at + 1..]);
            if length > 0 && bytes.get(length + 1) == Some(&b'}') {
                self.at += length + 2;
            }
        }
    }

    fn looks_at_redirect(&self) -> bool {
        let is_process = self.looks_at("<(") || self.looks_at(">(");
        !is_process && (self.looks_at("<") || self.looks_at(">") || self.looks_at("&>"))
    }

    fn here(&mut self) -> Parse<Redirect> {
        let strips_tabs = self.take("-");
        self.skip_blanks();
        let start = self.at;
        let word = self.word()?.ok_or(SyntaxError)?;
        let quoted = self.text[start..self.at].contains(['\'', '"', '\\']);
        let end = word
            .iter()
            .map(|piece| match piece {
                WordPart::Bare(text) | WordPart::Quoted(text) => Ok(text.as_str()),
                _ => Err(SyntaxError),
            })
            .collect::<Parse<String>>()?;
        let slot = Rc::new(OnceCell::new());
        self.pending.push(PendingHere { end, is_quoted: quoted, strips_tabs, slot: Rc::clone(&slot) });
        Ok(Redirect::Here(slot))
    }

    /// Reads the text of the here-documents announced on the line that just ended.
    pub fn read_heres(&mut self) {
        for here in std::mem::take(&mut self.pending) {
            let (body, length) = here.body(&self.text[self.at..]);
            self.at += length;
            let word = if here.is_quoted {
                vec![WordPart::Quoted(body)]
            } else {
                let mut inner = Parser::new(&body, self.depth);
                // Here-documents may be nested, and each level is read again, so their length counts.
                inner.count = self.count + body.len() / 256;
                let pieces = inner.deeper(|inner| inner.quoted_text(None));
                self.count = inner.count;
                pieces.unwrap_or_else(|SyntaxError| vec![WordPart::Other(Vec::new())])
            };
            here.slot.get_or_init(|| word);
        }
    }
}
