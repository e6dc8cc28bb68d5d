//! One message as rows on the screen: who and when, then the text; my own at the right.

use jiff::Timestamp;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use crate::domain::Importance;
use crate::ops::age;

use super::model::{Copy, Note, Receipt, Standing, shown_name};
use super::theme::Theme;
use super::wrap::wrap;

/// Of a longer text the beginning is shown, with a word on how to see the rest.
const LONGEST: usize = 16 * 1024;
/// The widest text, as a part of the screen.
const PART: (usize, usize) = (4, 5);
const NARROWEST: usize = 24;

/// What a bubble depends on besides its message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub(super) theme: Theme,
    pub(super) now: Timestamp,
    pub(super) width: usize,
}

/// The rows of a message: an empty one, a header, and its text. Their number depends on nothing but text and width.
pub(super) fn rows(note: &Note, look: Look) -> Vec<Line<'static>> {
    let width = look.width.max(2);
    let widest = (width * PART.0 / PART.1).max(NARROWEST).min(width - 1);
    let texts = text_rows(note, widest.saturating_sub(2));
    let header = header(note, look);
    let mut rows = Vec::with_capacity(texts.len() + 2);
    rows.push(Line::default());
    match note.is_mine() {
        true => {
            let longest = texts.iter().map(|text| text.width()).max().unwrap_or(0);
            let left = width.saturating_sub(longest + 2);
            rows.push(to_the_right(header, width));
            rows.extend(texts.into_iter().map(|text| {
                let gap = longest - text.width();
                let bar = Span::styled(" ▐", look.theme.mine());
                Line::from(vec![Span::raw(" ".repeat(left)), Span::raw(text), " ".repeat(gap).into(), bar])
            }));
        }
        false => {
            rows.push(header);
            rows.extend(texts.into_iter().map(|text| {
                let bar = Span::styled("▌ ", look.theme.theirs());
                Line::from(vec![bar, Span::raw(text)])
            }));
        }
    }
    rows
}

/// How many rows that makes.
pub(super) fn height(note: &Note, width: usize) -> usize {
    let width = width.max(2);
    let widest = (width * PART.0 / PART.1).max(NARROWEST).min(width - 1);
    text_rows(note, widest.saturating_sub(2)).len() + 2
}

/// Is a part of it left out? Then it is not all on the screen, however far somebody scrolls.
pub(super) fn is_cut(note: &Note) -> bool {
    note.text.trim_end().len() > LONGEST
}

fn text_rows(note: &Note, width: usize) -> Vec<String> {
    let text = note.text.trim_end();
    if !is_cut(note) {
        return wrap(text, width);
    }
    let end = text.floor_char_boundary(LONGEST);
    let letters = note.letters();
    // What was not shown as a whole stays in the inbox.
    let way = if note.is_unread() { "read".to_string() } else { format!("show {letters}") };
    let mut rows = wrap(&text[..end], width);
    rows.extend(wrap(&format!("… {} more bytes: `msg {way}`", text.len() - end), width));
    rows
}

fn header(note: &Note, look: Look) -> Line<'static> {
    let theme = look.theme;
    let mut spans = Vec::new();
    if let Standing::Mine(copies) = &note.standing {
        let (text, receipt) = summary(copies);
        spans.push(Span::styled(text, theme.receipt(receipt)));
        spans.push(Span::styled(" · ", theme.faint()));
    } else {
        spans.push(Span::styled(shown_name(&note.from).into_owned(), theme.theirs()));
        spans.push(Span::styled(" · ", theme.faint()));
    }
    spans.push(Span::styled(ago(note.at, look.now), theme.faint()));
    if note.importance != Importance::Normal {
        let style = if note.importance.goes_first() { theme.error() } else { theme.faint() };
        spans.push(Span::styled(format!(" · {}", note.importance.name()), style));
    }
    if note.wants_ack && !note.is_mine() {
        spans.push(Span::styled(" · wants an ack (Ctrl-A)", theme.unread()));
    }
    spans.push(Span::styled(format!(" · {}", note.letters()), theme.faint()));
    if note.is_unread() {
        spans.push(Span::styled(" · new", theme.unread()));
    }
    Line::from(spans)
}

/// What became of all copies, and the least of it.
fn summary(copies: &[Copy]) -> (String, Receipt) {
    let least = copies.iter().map(|copy| copy.receipt).min().unwrap_or(Receipt::Stored);
    let best = copies.iter().map(|copy| copy.receipt).max().unwrap_or(Receipt::Stored);
    match copies.iter().filter(|copy| copy.receipt == best).count() {
        count if count < copies.len() => (format!("{count} of {} {}", copies.len(), best.name()), best),
        1 => (least.name().to_string(), least),
        count => (format!("{} by {count}", best.name()), best),
    }
}

fn to_the_right(line: Line<'static>, width: usize) -> Line<'static> {
    let gap = width.saturating_sub(line.width());
    let mut spans = vec![Span::raw(" ".repeat(gap))];
    spans.extend(line.spans);
    Line::from(spans)
}

/// An age that changes once a minute at the most, so that nothing has to be drawn for the sake of a clock.
pub(super) fn ago(then: Timestamp, now: Timestamp) -> String {
    match now.duration_since(then).as_secs() {
        ..60 => "now".to_string(),
        _ => age(then, now),
    }
}
