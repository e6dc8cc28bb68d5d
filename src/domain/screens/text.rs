//! The text of a terminal's screen, and which parts of it are drawn faintly.

use std::ops::Range;

use anstyle_parse::{DefaultCharAccumulator, Params, Parser, Perform};
use unicode_width::UnicodeWidthChar;

/// A screen as it was captured.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ScreenText {
    lines: Vec<ScreenLine>,
    has_attributes: bool,
    cursor: Option<CursorPlace>,
    title: Option<String>,
}

/// Where the cursor is, from 0 on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CursorPlace {
    pub column: usize,
    pub row: usize,
}

/// One line of a screen, without the blanks at its end.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ScreenLine {
    text: String,
    /// One for each character.
    shades: Vec<Shade>,
}

/// How a character is drawn.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum Shade {
    #[default]
    Plain,
    /// Dim, or grey.
    Faint,
    /// In a colour that is not a grey.
    Coloured,
    /// With foreground and background exchanged: many programs draw their cursor so.
    Reversed,
}

impl ScreenText {
    /// Reads what `capture-pane -e` prints: lines with sequences that set attributes. Those last beyond a line's end.
    pub fn of_capture(captured: &str) -> Self {
        let mut drawing = Drawing::default();
        let mut parser = Parser::<DefaultCharAccumulator>::new();
        for byte in captured.bytes() {
            parser.advance(&mut drawing, byte);
        }
        drawing.end_line();
        Self { lines: drawing.lines, has_attributes: drawing.has_attributes, ..Self::default() }
    }

    /// A screen that was captured without attributes.
    pub fn plain(text: &str) -> Self {
        let line = |line: &str| {
            let text = line.trim_end_matches(' ').to_owned();
            ScreenLine { shades: vec![Shade::Plain; text.chars().count()], text }
        };
        Self { lines: text.lines().map(line).collect(), ..Self::default() }
    }

    #[must_use]
    pub fn with_cursor(mut self, cursor: CursorPlace) -> Self {
        self.cursor = Some(cursor);
        self
    }

    #[must_use]
    pub fn with_title(mut self, title: &str) -> Self {
        self.title = Some(title.trim().to_owned());
        self
    }

    pub fn lines(&self) -> &[ScreenLine] {
        &self.lines
    }

    /// The text of a line; nothing for one that is not there.
    pub fn row(&self, row: usize) -> &str {
        self.lines.get(row).map_or("", ScreenLine::text)
    }

    /// Whether it is known which parts are faint.
    pub fn has_attributes(&self) -> bool {
        self.has_attributes
    }

    pub fn cursor(&self) -> Option<CursorPlace> {
        self.cursor
    }

    /// The title of the window.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }

    /// The row of the last line that is not blank.
    pub fn last_row(&self) -> Option<usize> {
        self.lines.iter().rposition(|line| !line.is_blank())
    }

    /// The text without what changes by itself while nothing happens: signs of spinners, and how long something takes.
    pub fn still_text(&self) -> String {
        self.lines
            .iter()
            .map(|line| still(&line.text))
            .filter(|line| !line.is_empty())
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// The whole text, without attributes and without blank lines at its end.
    pub fn text(&self) -> String {
        let count = self.last_row().map_or(0, |row| row + 1);
        self.lines[..count].iter().map(|line| format!("{}\n", line.text)).collect()
    }
}

/// The words of a line that stay the same while nothing happens.
fn still(line: &str) -> String {
    const TURNING: [char; 17] =
        ['·', '✢', '*', '✶', '✻', '✽', '•', '◦', '○', '◎', '◉', '●', '⬝', '■', '⊶', '⊷', '…'];
    let is_turning = |c: char| TURNING.contains(&c) || ('\u{2800}'..='\u{28ff}').contains(&c);
    let is_duration = |word: &&str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        let number = word.trim_end_matches(['s', 'm', 'h', 'd']);
        number.len() < word.len()
            && number.chars().all(|c| c.is_ascii_digit() || c == '.')
            && !number.is_empty()
    };
    let kept: String = line.chars().filter(|c| !is_turning(*c)).collect();
    kept.split(' ').filter(|word| !word.is_empty() && !is_duration(word)).collect::<Vec<_>>().join(" ")
}

impl ScreenLine {
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn is_blank(&self) -> bool {
        self.text.chars().all(char::is_whitespace)
    }

    /// Whether there is something in it and all of it is faint. The first character may be the one under a cursor that
    /// the program draws itself.
    pub fn is_faint(&self) -> bool {
        let mut shades =
            self.text.chars().zip(&self.shades).filter(|(c, _)| !c.is_whitespace()).map(|(_, it)| it);
        let Some(first) = shades.next() else { return false };
        let rest: Vec<&Shade> = shades.collect();
        let is_rest_faint = rest.iter().all(|shade| **shade == Shade::Faint);
        is_rest_faint && (*first == Shade::Faint || *first == Shade::Reversed && !rest.is_empty())
    }

    /// Whether there is something in it and all of it is in a colour, such as the red of an error.
    pub fn is_coloured(&self) -> bool {
        let mut visible = self.text.chars().zip(&self.shades).filter(|(c, _)| !c.is_whitespace()).peekable();
        visible.peek().is_some() && visible.all(|(_, shade)| *shade == Shade::Coloured)
    }

    /// What stands in these columns of the screen. Wide characters take two.
    #[must_use]
    pub fn columns(&self, columns: Range<usize>) -> Self {
        let mut cut = Self::default();
        let mut column = 0;
        for (c, shade) in self.text.chars().zip(&self.shades) {
            if columns.contains(&column) {
                cut.text.push(c);
                cut.shades.push(*shade);
            }
            column += c.width().unwrap_or(0);
        }
        cut.trim_end();
        cut
    }

    fn trim_end(&mut self) {
        self.text.truncate(self.text.trim_end_matches(' ').len());
        self.shades.truncate(self.text.chars().count());
    }
}

/// What has been drawn so far.
#[derive(Debug, Default)]
struct Drawing {
    lines: Vec<ScreenLine>,
    line: ScreenLine,
    has_attributes: bool,
    is_dim: bool,
    is_reversed: bool,
    foreground: Shade,
}

impl Drawing {
    fn end_line(&mut self) {
        let mut line = std::mem::take(&mut self.line);
        line.trim_end();
        self.lines.push(line);
    }

    fn shade(&self) -> Shade {
        match (self.is_reversed, self.is_dim) {
            (true, _) => Shade::Reversed,
            (false, true) => Shade::Faint,
            (false, false) => self.foreground,
        }
    }
}

/// How a foreground looks, from the numbers after its 38.
fn shade_of_colour(numbers: &mut impl Iterator<Item = u16>) -> Shade {
    match numbers.next() {
        Some(5) => numbers.next().map_or(Shade::Plain, shade_of_index),
        Some(2) => {
            let parts: Vec<u16> = numbers.take(3).collect();
            let low = parts.iter().min().copied().unwrap_or_default();
            let high = parts.iter().max().copied().unwrap_or_default();
            match high - low {
                0..=24 if low >= 64 && high <= 190 => Shade::Faint,
                0..=60 => Shade::Plain,
                _ => Shade::Coloured,
            }
        }
        _ => Shade::Plain,
    }
}

/// How a colour of the palette looks: 16 colours, a cube with six steps on each side, and greys.
fn shade_of_index(index: u16) -> Shade {
    match index {
        8 | 238..=250 => Shade::Faint,
        // Black and white, and the greys that are nearly so.
        0 | 7 | 15 | 232.. => Shade::Plain,
        1..=14 => Shade::Coloured,
        16..=231 => {
            let cube = index - 16;
            let (red, green, blue) = (cube / 36, cube / 6 % 6, cube % 6);
            if red == green && green == blue { Shade::Plain } else { Shade::Coloured }
        }
    }
}

impl Perform for Drawing {
    fn print(&mut self, c: char) {
        let shade = self.shade();
        self.line.text.push(c);
        self.line.shades.push(shade);
    }

    fn execute(&mut self, byte: u8) {
        if byte == b'\n' {
            self.end_line();
        }
    }

    fn csi_dispatch(&mut self, params: &Params, intermediates: &[u8], _ignore: bool, action: u8) {
        if action != b'm' || !intermediates.is_empty() {
            return;
        }
        self.has_attributes = true;
        let mut numbers = params.iter().flatten().copied();
        while let Some(number) = numbers.next() {
            match number {
                0 => (self.is_dim, self.is_reversed, self.foreground) = (false, false, Shade::Plain),
                2 => self.is_dim = true,
                22 => self.is_dim = false,
                7 => self.is_reversed = true,
                27 => self.is_reversed = false,
                38 => self.foreground = shade_of_colour(&mut numbers),
                // The background has the same form, and does not matter.
                48 => {
                    shade_of_colour(&mut numbers);
                }
                39 => self.foreground = Shade::Plain,
                30..=37 => self.foreground = shade_of_index(number - 30),
                90..=97 => self.foreground = shade_of_index(number - 82),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn attributes_are_removed_and_faint_parts_are_known() {
        let screen = ScreenText::of_capture(
            "\u{1b}[1m›\u{1b}[0m \u{1b}[2mAsk me\n\u{1b}[0mplain   \n\u{1b}[38;5;246mgrey\n\u{1b}[39m\u{1b}[7mP\u{1b}[0m\u{1b}[2mress up\u{1b}[0m\n\u{1b}[48;5;246mnot grey",
        );
        assert_eq!(screen.text(), "› Ask me\nplain\ngrey\nPress up\nnot grey\n");
        let faint: Vec<bool> = screen.lines().iter().map(ScreenLine::is_faint).collect();
        assert_eq!(faint, [false, false, true, true, false]);
        assert!(screen.lines()[0].columns(2..80).is_faint());
        assert!(screen.has_attributes());
        assert!(ScreenText::of_capture("\u{1b}[38;5;167mError: 429").lines()[0].is_coloured());
        assert!(!screen.lines()[2].is_coloured());
        assert!(!ScreenText::plain("a\nb").has_attributes());
    }

    #[test]
    fn an_attribute_lasts_until_it_is_reset() {
        let screen = ScreenText::of_capture("\u{1b}[2mone\ntwo\n\u{1b}[22mthree");
        let faint: Vec<bool> = screen.lines().iter().map(ScreenLine::is_faint).collect();
        assert_eq!(faint, [true, true, false]);
    }

    #[test]
    fn columns_count_wide_characters_twice() {
        let screen = ScreenText::plain("日本 words | more");
        assert_eq!(screen.lines()[0].columns(5..10).text(), "words");
        assert_eq!(screen.lines()[0].columns(0..4).text(), "日本");
    }

    #[test]
    fn what_turns_by_itself_is_left_out() {
        let still = |text: &str| ScreenText::plain(text).still_text();
        assert_eq!(still("✢ Thinking… (4s · ↓ 25 tokens)"), still("* Thinking… (1m 4s · ↓ 25 tokens)"));
        assert_ne!(still("✢ Thinking… (4s · ↓ 25 tokens)"), still("* Thinking… (5s · ↓ 26 tokens)"));
        assert_eq!(still("── ⠹ Working ──"), still("── ⠇ Working ──"));
        assert_ne!(still("3 tests"), still("4 tests"));
    }

    proptest! {
        #[test]
        fn any_capture_is_read(captured in any::<Vec<u8>>(), from in 0_usize..99, to in 0_usize..99) {
            let text = String::from_utf8_lossy(&captured).into_owned();
            for screen in [ScreenText::of_capture(&text), ScreenText::plain(&text)] {
                for line in screen.lines() {
                    prop_assert_eq!(line.text.chars().count(), line.shades.len());
                    prop_assert!(line.columns(from..to).text().len() <= line.text().len());
                }
            }
        }

        #[test]
        fn text_without_sequences_is_kept(text in "[a-z ❯─日\n]{0,80}") {
            prop_assert_eq!(ScreenText::of_capture(&text).text(), ScreenText::plain(&text).text());
        }
    }
}
