//! Wraps and truncates text to a number of columns. Wide characters take two columns; control characters are escaped.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::domain::escape_invisible;

/// The rows of a text, each at most `width` columns wide, broken between words where possible.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut rows = Vec::new();
    for line in text.split('\n') {
        let line = line.strip_suffix('\r').unwrap_or(line).replace('\t', "    ");
        wrap_line(&escape_invisible(&line), width.max(1), &mut rows);
    }
    rows
}

fn wrap_line(line: &str, width: usize, rows: &mut Vec<String>) {
    let mut row = String::new();
    let mut columns = 0;
    // The end of the last blank after a word in this row, where the row may be broken.
    let mut seam = None;
    for grapheme in line.graphemes(true) {
        let wide = grapheme.width();
        let is_blank = grapheme.chars().all(char::is_whitespace);
        if columns + wide > width && !row.is_empty() {
            if is_blank {
                rows.push(std::mem::take(&mut row));
                (columns, seam) = (0, None);
                continue;
            }
            let rest = seam.map_or_else(String::new, |at| row.split_off(at));
            rows.push(row.trim_end().to_string());
            columns = rest.width();
            (row, seam) = (rest, None);
        }
        row.push_str(grapheme);
        columns += wide;
        if is_blank && !row.trim().is_empty() {
            seam = Some(row.len());
        }
    }
    rows.push(row);
}

/// The beginning of a text that fits into `width` columns, with an ellipsis if something is left out.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_string();
    }
    let mut kept = String::new();
    let mut columns = 0;
    for grapheme in text.graphemes(true) {
        if columns + grapheme.width() + 1 > width {
            break;
        }
        columns += grapheme.width();
        kept.push_str(grapheme);
    }
    if width > 0 {
        kept.push('…');
    }
    kept
}

/// Like [`cut`], padded with spaces.
pub(super) fn fit(text: &str, width: usize) -> String {
    let mut text = cut(text, width);
    text.extend(std::iter::repeat_n(' ', width.saturating_sub(text.width())));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, width: usize, expected: &[&str]) {
        let rows = wrap(text, width);
        assert_eq!(rows, expected, "{text:?} in {width}");
    }

    #[test]
    fn words_stay_whole_where_they_can() {
        check("", 5, &[""]);
        check("the login flow", 9, &["the login", "flow"]);
        check("the login flow", 10, &["the login", "flow"]);
        check("the login flow", 5, &["the", "login", "flow"]);
        check("loginflow", 5, &["login", "flow"]);
        check("a loginflow", 5, &["a", "login", "flow"]);
        check("one\n\ntwo\r\n", 9, &["one", "", "two", ""]);
        check("    indented text", 10, &["    indent", "ed text"]);
        check("\tx", 9, &["    x"]);
    }

    #[test]
    fn wide_characters_take_two_columns() {
        check("漢字漢字", 4, &["漢字", "漢字"]);
        check("漢字漢字", 5, &["漢字", "漢字"]);
        check("a漢字", 2, &["a", "漢", "字"]);
        check("漢", 1, &["漢"]);
        check("e\u{301}e\u{301}", 1, &["e\u{301}", "e\u{301}"]);
    }

    #[test]
    fn nothing_is_obeyed() {
        check("\x1b[31mred", 40, &["\\u{1b}[31mred"]);
        check("a\u{202e}b", 40, &["a\\u{202e}b"]);
    }

    #[test]
    fn what_does_not_fit_is_cut() {
        assert_eq!(cut("SwiftRaven", 10), "SwiftRaven");
        assert_eq!(cut("SwiftRaven", 6), "Swift…");
        assert_eq!(cut("漢字漢字", 4), "漢…");
        assert_eq!(cut("x", 0), "");
        assert_eq!(fit("漢字漢字", 4), "漢… ");
    }

    proptest::proptest! {
        #[test]
        fn no_row_is_too_wide_and_no_letter_is_lost(text in "[a-z漢é \u{1b}]{0,80}", width in 2_usize..20) {
            let rows = wrap(&text, width);
            proptest::prop_assert!(rows.iter().all(|row| row.width() <= width), "{rows:?}");
            let letters = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            proptest::prop_assert_eq!(letters(&rows.concat()), letters(&escape_invisible(&text)));
        }
    }
}
