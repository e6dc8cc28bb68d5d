//! Renders one message as rows: sender and age, then the text. My own messages are aligned right.

use jiff::Timestamp;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use crate::domain::Importance;
use crate::ops::format_age;

use super::model::{ChatMessage, MessageStatus, ReceiptView, SentCopy, shown_name};
use super::theme::Theme;
use super::wrap::wrap;

/// Maximum number of bytes of a text that are shown; a last row says how to see the rest.
const LONGEST: usize = 16 * 1024;
/// The widest text, as a fraction of the screen width.
const PART: (usize, usize) = (4, 5);
const NARROWEST: usize = 24;

/// Everything besides the message that its rows depend on.
#[derive(Clone, Copy, Debug)]
pub(super) struct MessageLayout {
    pub(super) theme: Theme,
    pub(super) now: Timestamp,
    pub(super) width: usize,
}

/// The rows of a message: an empty one, a header, and its text. Their number depends only on text and width.
pub(super) fn rows(message: &ChatMessage, look: MessageLayout) -> Vec<Line<'static>> {
    let width = look.width.max(2);
    let widest = (width * PART.0 / PART.1).max(NARROWEST).min(width - 1);
    let texts = text_rows(message, widest.saturating_sub(2));
    let header = header(message, look);
    let mut rows = Vec::with_capacity(texts.len() + 2);
    rows.push(Line::default());
    match message.is_mine() {
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

/// The number of rows that [`rows`] returns.
pub(super) fn height(message: &ChatMessage, width: usize) -> usize {
    let width = width.max(2);
    let widest = (width * PART.0 / PART.1).max(NARROWEST).min(width - 1);
    text_rows(message, widest.saturating_sub(2)).len() + 2
}

/// Whether the text is truncated. Then the message is never shown completely, however far the user scrolls.
pub(super) fn is_cut(message: &ChatMessage) -> bool {
    message.text.trim_end().len() > LONGEST
}

fn text_rows(message: &ChatMessage, width: usize) -> Vec<String> {
    let text = message.text.trim_end();
    if !is_cut(message) {
        return wrap(text, width);
    }
    let end = text.floor_char_boundary(LONGEST);
    let short_id = message.short_id();
    // A message that was not shown completely stays in the inbox.
    let way = if message.is_unread() { "read".to_string() } else { format!("show {short_id}") };
    let mut rows = wrap(&text[..end], width);
    rows.extend(wrap(&format!("… {} more bytes: `msg {way}`", text.len() - end), width));
    rows
}

fn header(message: &ChatMessage, look: MessageLayout) -> Line<'static> {
    let theme = look.theme;
    let mut spans = Vec::new();
    if let MessageStatus::Mine(copies) = &message.standing {
        let (text, receipt) = summary(copies);
        spans.push(Span::styled(text, theme.receipt(receipt)));
        spans.push(Span::styled(" · ", theme.faint()));
    } else {
        spans.push(Span::styled(shown_name(&message.from).into_owned(), theme.theirs()));
        spans.push(Span::styled(" · ", theme.faint()));
    }
    spans.push(Span::styled(ago(message.at, look.now), theme.faint()));
    if message.importance != Importance::Normal {
        let style = if message.importance.goes_first() { theme.error() } else { theme.faint() };
        spans.push(Span::styled(format!(" · {}", message.importance.name()), style));
    }
    if let Some(kind) = message.kind {
        spans.push(Span::styled(format!(" · {}", kind.name()), theme.faint()));
    }
    if message.wants_answer {
        spans.push(Span::styled(" · wants an answer", theme.unread()));
    }
    if message.wants_ack && !message.is_mine() {
        spans.push(Span::styled(" · wants an ack (Ctrl-A)", theme.unread()));
    }
    spans.push(Span::styled(format!(" · {}", message.short_id()), theme.faint()));
    if message.is_unread() {
        spans.push(Span::styled(" · new", theme.unread()));
    }
    Line::from(spans)
}

/// What became of the copies, as text, and the furthest receipt of any copy.
fn summary(copies: &[SentCopy]) -> (String, ReceiptView) {
    let least = copies.iter().map(|copy| copy.receipt).min().unwrap_or(ReceiptView::Stored);
    let best = copies.iter().map(|copy| copy.receipt).max().unwrap_or(ReceiptView::Stored);
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

/// An age that changes at most once a minute, so that the clock rarely causes a redraw.
pub(super) fn ago(then: Timestamp, now: Timestamp) -> String {
    match now.duration_since(then).as_secs() {
        ..60 => "now".to_string(),
        _ => format_age(then, now),
    }
}
