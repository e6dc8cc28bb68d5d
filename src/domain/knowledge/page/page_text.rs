//! The texts of a page: one sentence a line, in Markdown that says exactly the same.
//!
//! A line end stands for a space, an empty line for two line ends, and a backslash at the end of a line for one. What
//! would be taken for something else has a backslash in front; what nobody sees is a character reference (`&#x202e;`).

use crate::domain::escape::is_hidden;

/// Starts of lines that mean something to Markdown or to git.
const MARKERS: [&str; 6] = ["#", "---", "===", "<<<", ">>>", "|||"];

/// The lines of a text, without a line end after the last one.
pub(super) fn encode(text: &str) -> String {
    let start = text.len() - text.trim_start_matches('\n').len();
    let inner = text[start..].trim_end_matches('\n');
    let end = text.len() - start - inner.len();
    let mut lines = "\\\n".repeat(start);
    let mut rest = inner;
    while let Some(at) = rest.find('\n') {
        encode_line(&rest[..at], &mut lines);
        let after = rest[at..].trim_start_matches('\n');
        match rest.len() - at - after.len() {
            1 => lines.push_str("\\\n"),
            2 => lines.push_str("\n\n"),
            count => {
                lines.push_str(&"\\\n".repeat(count - 2));
                lines.push('\n');
            }
        }
        rest = after;
    }
    encode_line(rest, &mut lines);
    lines.push_str(&"\\\n".repeat(end));
    if start + end > 0 && lines.ends_with('\n') {
        lines.pop();
    }
    lines
}

fn encode_line(line: &str, lines: &mut String) {
    for (number, sentence) in sentences(line).into_iter().enumerate() {
        if number > 0 {
            lines.push('\n');
        }
        encode_sentence(sentence, lines);
    }
}

/// Splits where a sentence ends and one space follows.
fn sentences(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    for (at, _) in line.match_indices(' ') {
        let before = line[start..at].trim_end_matches(['"', '\'', ')', ']', '”', '’', '`', '*', '_']);
        let next = line[at + 1..].chars().next();
        let begins = |char: char| char.is_uppercase() || matches!(char, '`' | '“' | '"' | '(');
        if before.ends_with(['.', '!', '?']) && next.is_some_and(begins) {
            found.push(&line[start..at]);
            start = at + 1;
        }
    }
    found.push(&line[start..]);
    found
}

fn encode_sentence(sentence: &str, lines: &mut String) {
    if MARKERS.iter().any(|marker| sentence.starts_with(marker)) {
        lines.push('\\');
    }
    let mut chars = sentence.chars().peekable();
    let mut is_first = true;
    while let Some(char) = chars.next() {
        let next = chars.peek().copied();
        let is_edge = is_first || next.is_none();
        is_first = false;
        if is_hidden(char) || (char == ' ' && is_edge) {
            lines.push_str(&format!("&#x{:x};", u32::from(char)));
            continue;
        }
        let is_taken_for_more = match char {
            '\\' => next.is_none_or(|next| next.is_ascii_punctuation() || next == ' ' || is_hidden(next)),
            '&' => next == Some('#'),
            _ => false,
        };
        if is_taken_for_more {
            lines.push('\\');
        }
        lines.push(char);
    }
}

/// The text that the lines of a page stand for.
pub(super) fn decode(lines: &[&str]) -> String {
    let mut text = String::new();
    let trimmed: Vec<&str> = lines.iter().map(|line| line.trim_matches([' ', '\t', '\r'])).collect();
    for paragraph in trimmed.split(|line| line.is_empty()).filter(|paragraph| !paragraph.is_empty()) {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        let mut is_joined = true;
        for line in paragraph {
            if !is_joined {
                text.push(' ');
            }
            is_joined = decode_line(line, &mut text) == LineEnd::Kept;
            if is_joined {
                text.push('\n');
            }
        }
    }
    text
}

/// What the end of a line stands for.
#[derive(PartialEq)]
enum LineEnd {
    Kept,
    Space,
}

fn decode_line(line: &str, text: &mut String) -> LineEnd {
    let mut rest = line;
    while let Some(char) = rest.chars().next() {
        rest = &rest[char.len_utf8()..];
        match (char, rest.chars().next()) {
            ('\\', None) => return LineEnd::Kept,
            ('\\', Some(next)) if next.is_ascii_punctuation() => {
                text.push(next);
                rest = &rest[next.len_utf8()..];
            }
            ('&', Some('#')) => match reference(rest) {
                Some((char, length)) => {
                    text.push(char);
                    rest = &rest[length..];
                }
                None => text.push('&'),
            },
            _ => text.push(char),
        }
    }
    LineEnd::Space
}

/// Reads `#x202e;` or `#32;`: the character, and the length of the reference.
fn reference(text: &str) -> Option<(char, usize)> {
    let end = text.bytes().take(10).position(|byte| byte == b';')?;
    let number = &text[1..end];
    let code = match number.strip_prefix(['x', 'X']) {
        Some(digits) if is_number(digits, u8::is_ascii_hexdigit) => u32::from_str_radix(digits, 16),
        None if is_number(number, u8::is_ascii_digit) => number.parse(),
        _ => return None,
    };
    Some((char::from_u32(code.ok()?)?, end + 1))
}

fn is_number(digits: &str, is_digit: fn(&u8) -> bool) -> bool {
    !digits.is_empty() && digits.as_bytes().iter().all(is_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, lines: &str) {
        assert_eq!(encode(text), lines);
        assert_eq!(decode(&lines.split('\n').collect::<Vec<_>>()), text);
    }

    #[test]
    fn one_sentence_a_line() {
        check("One lock. Two locks deadlock, e.g. here.", "One lock.\nTwo locks deadlock, e.g. here.");
        check("“Is it?” Yes! No.", "“Is it?”\nYes!\nNo.");
    }

    #[test]
    fn line_ends_are_kept() {
        check("a\nb", "a\\\nb");
        check("a\n\nb", "a\n\nb");
        check("a\n\n\nb", "a\\\n\nb");
        check("a\n\n\n\nb", "a\\\n\\\n\nb");
        check("\na\n\n", "\\\na\\\n\\");
        check("\n\n", "\\\n\\");
    }

    #[test]
    fn nothing_is_taken_for_something_else() {
        check(
            "# no heading\n--- no end\n======= <<<<<<< x",
            "\\# no heading\\\n\\--- no end\\\n\\======= <<<<<<< x",
        );
        check(" spaces ", "&#x20;spaces&#x20;");
        check("a\u{202e}b\rc\t", "a&#x202e;b&#xd;c&#x9;");
        check("&#x41; C:\\dir \\# \\", "\\&#x41; C:\\dir \\\\# \\\\");
        check("x \\ y", "x \\\\ y");
    }
}
