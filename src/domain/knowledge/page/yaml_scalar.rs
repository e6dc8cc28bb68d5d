//! Texts as YAML scalars.

use std::fmt::Write as _;

use crate::domain::escape::is_hidden;

/// The longest text that stands without quotation marks.
const LONGEST_PLAIN: usize = 200;

/// The text as it is if every reader of YAML takes it for that text, and else in double quotes.
pub(super) fn scalar(text: &str) -> String {
    match is_plain(text) {
        true => text.to_string(),
        false => quoted(text),
    }
}

fn is_plain(text: &str) -> bool {
    let is_usual = |byte: u8| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'_' | b'.' | b'/' | b'-' | b'#' | b':' | b'+' | b'@' | b'(' | b')' | b' ')
    };
    let words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    text.len() <= LONGEST_PLAIN
        && text.as_bytes().first().is_some_and(u8::is_ascii_alphabetic)
        && text.bytes().all(is_usual)
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains(" #")
        && !words.iter().any(|word| text.eq_ignore_ascii_case(word))
}

fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for char in text.chars() {
        let code = u32::from(char);
        match char {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            // A `String` takes everything.
            _ if is_written_out(char) && code <= 0xff => drop(write!(quoted, "\\x{code:02x}")),
            _ if is_written_out(char) && code <= 0xffff => drop(write!(quoted, "\\u{code:04x}")),
            _ if is_written_out(char) => drop(write!(quoted, "\\U{code:08x}")),
            _ => quoted.push(char),
        }
    }
    quoted.push('"');
    quoted
}

/// Characters that YAML does not allow as they are, or that nobody sees.
fn is_written_out(char: char) -> bool {
    is_hidden(char) || u32::from(char) & 0xfffe == 0xfffe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_reader_would_take_for_something_else_is_quoted() {
        for text in ["src/sys/flock.rs:12-14", "src/a.rs#Lock::new", "two words", "a"] {
            assert_eq!(scalar(text), text);
        }
        for text in ["", "12", "yes", "Null", "- a", "a: b", "a #b", "a:", " a", "a ", "é", "*a", "!x", "{}"]
        {
            assert_eq!(scalar(text), format!("\"{text}\""));
        }
        assert_eq!(scalar("a\n\"\\\u{202e}\u{1}\u{e0041}"), r#""a\n\"\\\u202e\x01\U000e0041""#);
    }
}
