//! Draws the list of keys.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};

use crate::faces::tui::theme::Theme;
use crate::faces::tui::wrap::cut;

/// The keys and what they do. Sections other than the first begin with their title, which has no key.
pub(in crate::faces::tui) const KEYS: [(&str, &str); 33] = [
    ("Esc", "back; on Agents twice: quit"),
    ("Ctrl-C Ctrl-Q", "quit"),
    ("1 … 9", "open a tab; in a conversation: Alt-1 … 9"),
    ("Tab ← →", "next / previous tab"),
    ("↑ ↓ PgUp PgDn", "select or scroll"),
    ("Home End", "first / last"),
    ("Enter", "open what is selected; send what is typed"),
    ("Space", "menu: what to do with what is selected"),
    ("Ctrl-N", "next conversation with unread messages"),
    ("/", "filter this tab"),
    ("Ctrl-Z", "suspend (`fg` to return)"),
    ("Ctrl-L", "redraw the screen"),
    ("?", "these keys"),
    ("", "Messages"),
    ("@Name text", "send to that agent, from any tab"),
    ("@all text", "send to this project; also @spec, @branch, …"),
    ("@Na Tab", "complete a name"),
    ("Alt-Enter", "new line; Ctrl-J too"),
    ("Ctrl-A", "acknowledge what wants an ack here"),
    ("Enter twice", "in a conversation: go to its tmux pane"),
    ("//", "start a message with /"),
    ("Ctrl-W U K Y", "cut a word, a line; put it back"),
    ("", "Runs"),
    ("Enter Enter", "open a run, go to its tmux pane"),
    ("s", "stop it, after a question"),
    ("", "Knowledge"),
    ("letters", "search"),
    ("Enter c r", "read; confirm; retire after a question"),
    ("", "Mouse"),
    ("click", "select; a second click opens"),
    ("wheel", "scroll"),
    ("Shift-drag", "select text, as without the chat"),
    ("", "Messages count as read when every line was on the screen."),
];

/// The first key on the last page, for a screen of `height` rows.
pub(in crate::faces::tui) fn last_start(height: usize) -> usize {
    // One row says that there is more.
    if KEYS.len() <= height { 0 } else { KEYS.len() + 1 - height.max(2) }
}

pub(super) fn draw(buffer: &mut Buffer, area: Rect, from: usize, theme: Theme) {
    Clear.render(area, buffer);
    let height = usize::from(area.height);
    let last = last_start(height);
    let from = from.min(last);
    let shown = if last == 0 { height } else { height.saturating_sub(1) };
    let room = usize::from(area.width).saturating_sub(18);
    let rows = KEYS.iter().skip(from).take(shown).map(|(keys, what)| match *keys {
        "" => Line::styled(format!(" {what}"), theme.faint()),
        keys => Line::from(vec![
            Span::styled(format!("  {keys:<15} "), theme.strong()),
            Span::raw(cut(what, room)),
        ]),
    });
    let more = match (last, from < last) {
        (0, _) => None,
        (_, true) => Some(Line::styled("  ↓ more", theme.faint())),
        (_, false) => Some(Line::styled("  ↑ more", theme.faint())),
    };
    super::put_rows(buffer, area, rows.chain(more));
}
