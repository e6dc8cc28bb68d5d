//! Text in HTML. Nothing that others wrote reaches the page but through [`text`]: what it returns is safe between tags and
//! in quoted attributes. Nothing that others wrote is put anywhere else.

use crate::domain::{escape_invisible, escape_invisible_line};

/// One line: whatever is invisible or would be obeyed is written out.
pub(super) fn text(raw: &str) -> String {
    escaped(&escape_invisible(raw))
}

/// Several lines, as they are; tabs too.
pub(super) fn lines(raw: &str) -> String {
    let lines = raw.trim_end().split('\n').map(|line| escaped(&escape_invisible_line(line)));
    lines.collect::<Vec<_>>().join("\n")
}

fn escaped(shown: &str) -> String {
    let mut safe = String::with_capacity(shown.len() + shown.len() / 8);
    for c in shown.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // Not characters, and so not allowed in XML.
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::{lines, text};

    #[test]
    fn nothing_leaves_its_place() {
        assert_eq!(
            text("<b a='1' c=\"2\">&amp;]]>-->"),
            "&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;amp;]]&gt;--&gt;"
        );
        assert_eq!(text("a\u{202e}b\u{1b}[2J\nc\u{ffff}"), "a\\u{202e}b\\u{1b}[2J\\nc\u{fffd}");
        assert_eq!(lines("a\tb\r\nc\u{0}\n\n"), "a\tb\nc\\u{0}");
    }
}
