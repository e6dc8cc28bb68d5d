//! Escapes control and invisible characters in text from others before a terminal shows it.

use std::borrow::Cow;

/// Escapes everything that a terminal would interpret or a reader would not see: control characters, escape
/// sequences, bidirectional marks, zero-width characters.
pub fn escape_invisible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut rest = text.chars();
    // Whether an emoji ends here.
    let mut after_emoji = false;
    while let Some(c) = rest.next() {
        let joins = c == JOINER && after_emoji && rest.clone().next().is_some_and(is_pictograph);
        if is_hidden(c) && !joins {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
        after_emoji = is_pictograph(c) || after_emoji && is_emoji_modifier(c);
    }
    Cow::Owned(shown)
}

/// The zero-width joiner, which combines two emoji (UTS 51). It is kept only between emoji; elsewhere it is escaped.
const JOINER: char = '\u{200d}';

/// Whether an emoji sequence may have this character next to a joiner.
fn is_pictograph(c: char) -> bool {
    let is_part = matches!(c, '\u{1f1e6}'..='\u{1f1ff}' | '\u{1f3fb}'..='\u{1f3ff}');
    !is_part
        && matches!(c,
            '\u{2190}'..='\u{21ff}' | '\u{2300}'..='\u{23ff}' | '\u{2600}'..='\u{27bf}' | '\u{2b00}'..='\u{2bff}'
            | '\u{1f000}'..='\u{1faff}')
}

/// A skin tone, or the selector for emoji presentation.
fn is_emoji_modifier(c: char) -> bool {
    matches!(c, '\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}')
}

/// Escapes the same characters in JSON as `\uXXXX`: the parsed value is unchanged, and a terminal that the JSON is
/// printed to interprets nothing.
pub fn escape_invisible_json(json: &str) -> Cow<'_, str> {
    // Line ends occur only between values, never inside one.
    let is_written_out = |c: char| is_hidden(c) && c != '\n';
    if !json.chars().any(is_written_out) {
        return Cow::Borrowed(json);
    }
    let mut shown = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if is_written_out(c) {
            shown.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

pub(in crate::domain) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::{escape_invisible, escape_invisible_json};

    #[test]
    fn json_says_the_same_without_what_is_obeyed() {
        let text = "a\u{7f}\u{9b}2J\u{202e}\u{e0041}é";
        let json = serde_json::to_string(text).unwrap();
        let shown = escape_invisible_json(&json);
        assert_eq!(shown, r#""a\u007f\u009b2J\u202e\udb40\udc41é""#);
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), text);
        assert!(matches!(escape_invisible_json("{}\n"), std::borrow::Cow::Borrowed("{}\n")));
    }

    #[test]
    fn emoji_stay_whole_and_a_joiner_elsewhere_is_written_out() {
        for emoji in ["👨‍💻", "🏳️‍🌈", "👩‍👩‍👧", "🧑🏽‍🚀", "🙂‍↔️", "❤️‍🔥", "🇩🇪"]
        {
            assert_eq!(escape_invisible(emoji), emoji);
            assert_eq!(escape_invisible(&format!("{emoji}\u{1b}")), format!("{emoji}\\u{{1b}}"));
        }
        assert_eq!(escape_invisible("a\u{200d}b"), "a\\u{200d}b");
        assert_eq!(escape_invisible("👨\u{200d}"), "👨\\u{200d}");
        assert_eq!(escape_invisible("👨\u{200d}x"), "👨\\u{200d}x");
        assert_eq!(escape_invisible("x\u{200d}👨"), "x\\u{200d}👨");
        assert_eq!(escape_invisible("👨\u{200d}\u{200d}💻"), "👨\\u{200d}\\u{200d}💻");
    }

    #[test]
    fn nothing_is_obeyed() {
        assert_eq!(escape_invisible("plain – ü 漢字"), "plain – ü 漢字");
        assert_eq!(escape_invisible("\x1b[31mred\x07"), "\\u{1b}[31mred\\u{7}");
        assert_eq!(escape_invisible("a\u{202e}b\u{9b}c\n"), "a\\u{202e}b\\u{9b}c\\n");
    }
}
