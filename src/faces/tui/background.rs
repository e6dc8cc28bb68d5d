//! Finds out whether the background of the terminal is light: by asking it (OSC 11), else by `COLORFGBG`.
//!
//! Every terminal answers the second question (for its attributes), so the wait is short where the first is not known.

use std::io::{self, Write};
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::sys::{environment, stdin};

/// The background colour, then the attributes.
const QUESTION: &[u8] = b"\x1b]11;?\x07\x1b[c";
/// How long to wait for a terminal that answers nothing.
const WAIT: Duration = Duration::from_millis(150);

/// What the terminal answered.
#[derive(Debug, Default, PartialEq)]
pub(super) struct BackgroundAnswer {
    pub(super) is_light: Option<bool>,
    /// What was typed meanwhile.
    pub(super) typed: Vec<KeyEvent>,
}

/// Asks the terminal, which must be in raw mode, before anybody else reads from it.
pub(super) fn ask() -> io::Result<BackgroundAnswer> {
    let mut terminal = io::stdout();
    terminal.write_all(QUESTION)?;
    terminal.flush()?;
    let input = stdin::read_for(WAIT, |input| attributes(&String::from_utf8_lossy(input)).is_some())?;
    Ok(read(&String::from_utf8_lossy(&input)))
}

/// What `COLORFGBG` says: its last part is the number of the background colour.
pub(super) fn is_light_by_variable() -> Option<bool> {
    let value = environment::variable("COLORFGBG")?;
    let number: u8 = value.rsplit(';').next()?.parse().ok()?;
    Some(matches!(number, 7 | 15))
}

fn read(input: &str) -> BackgroundAnswer {
    let (before, colour, after) = colour(input).unwrap_or((input, None, ""));
    let without_attributes = |text: &str| match attributes(text) {
        Some((start, end)) => format!("{}{}", &text[..start], &text[end..]),
        None => text.to_string(),
    };
    let typed = format!("{}{}", without_attributes(before), without_attributes(after));
    BackgroundAnswer { is_light: colour, typed: keys(&typed) }
}

/// What stands before the answer about the colour, whether that is light, and what stands after it.
fn colour(input: &str) -> Option<(&str, Option<bool>, &str)> {
    let (before, answer) = input.split_once("\x1b]11;")?;
    let end = answer.find(['\x07', '\x1b'])?;
    let after = answer[end..].trim_start_matches('\x07');
    let after = after.strip_prefix("\x1b\\").unwrap_or(after);
    Some((before, is_light(&answer[..end]), after))
}

/// Whether `rgb:ffff/ffff/ffff` is light, by its perceived brightness.
fn is_light(colour: &str) -> Option<bool> {
    let (_, parts) = colour.split_once(':')?;
    let part = |text: &str| {
        let value = u32::from_str_radix(text, 16).ok()?;
        let most = 16_u32.checked_pow(u32::try_from(text.len()).ok()?)?.checked_sub(1)?;
        (value * 1000).checked_div(most)
    };
    let mut parts = parts.split('/').map(part);
    let (red, green, blue) = (parts.next()??, parts.next()??, parts.next()??);
    Some(red * 299 + green * 587 + blue * 114 > 500_000)
}

/// Where the answer about the attributes (`ESC [ ? … c`) begins and ends.
fn attributes(input: &str) -> Option<(usize, usize)> {
    let start = input.find("\x1b[?")?;
    let end = start + input[start..].find('c')? + 1;
    Some((start, end))
}

/// The keys of what was typed, up to the first that is no character.
fn keys(typed: &str) -> Vec<KeyEvent> {
    let key = |c: char| match c {
        '\r' | '\n' => Some(KeyCode::Enter),
        '\t' => Some(KeyCode::Tab),
        c if c.is_control() || c == char::REPLACEMENT_CHARACTER => None,
        c => Some(KeyCode::Char(c)),
    };
    typed.chars().map_while(key).map(|code| KeyEvent::new(code, KeyModifiers::NONE)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(input: &str, is_light: Option<bool>, typed: &str) {
        let answer = read(input);
        assert_eq!(answer, BackgroundAnswer { is_light, typed: keys(typed) }, "{input:?}");
    }

    #[test]
    fn the_answer_is_read_and_what_was_typed_is_kept() {
        check("\x1b]11;rgb:ffff/ffff/ffff\x07\x1b[?62;22c", Some(true), "");
        check("\x1b]11;rgb:fdf6/e3e3/0000\x1b\\\x1b[?6c", Some(true), "");
        check("\x1b]11;rgb:0000/2b2b/3636\x1b\\\x1b[?6c", Some(false), "");
        check("\x1b]11;rgb:ee/ee/ee\x07", Some(true), "");
        check("@Bo\x1b]11;rgb:00/00/00\x07 h\x1b[?1;2ci\r", Some(false), "@Bo hi\r");
        check("\x1b[?1;2c?", None, "?");
        check("hello", None, "hello");
        check("", None, "");
        for broken in
            ["\x1b]11;", "\x1b]11;rgb:zz/0/0\x07", "\x1b]11;rgb:/\x07", "\x1b]11;rgb:ffffffffff/0/0\x07"]
        {
            assert_eq!(read(broken).is_light, None, "{broken:?}");
        }
    }
}
