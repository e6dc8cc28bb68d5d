//! Draws the reservations: who holds which paths, who was refused and who contests them.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use crate::domain::escape_invisible;
use crate::faces::tui::list_rows::holds;
use crate::faces::tui::message_view::ago;
use crate::faces::tui::model::ReservationItem;
use crate::faces::tui::state::ChatState;
use crate::faces::tui::theme::Theme;
use crate::faces::tui::wrap::fit;

use super::knowledge::first_item;

const AGE: usize = 6;
const GAP: &str = "  ";

pub(super) fn draw(buffer: &mut Buffer, area: Rect, state: &ChatState, theme: Theme) {
    let all = holds(state);
    if all.is_empty() {
        let text =
            if state.filter.text.is_empty() { "Nothing is reserved." } else { "No reservation matches." };
        return super::put_empty(buffer, area, text, theme);
    }
    let widths = Widths::of(&all, area.width.into());
    let mut heading =
        vec![fit("path", widths.pattern), fit("holder", widths.holder), format!("{:>AGE$}", "age")];
    if widths.refused > 0 {
        heading.push(fit("refused", widths.refused));
    }
    heading.push("why".to_string());
    let at = state.list().at.min(all.len() - 1);
    let first = first_item(at, area.height.into());
    let rows = all.into_iter().enumerate().skip(first).map(|(number, hold)| {
        let line = line(hold, &widths, state, theme);
        if number == at { super::chosen(line, theme) } else { line }
    });
    let rows = std::iter::once(Line::styled(heading.join(GAP), theme.faint())).chain(rows);
    super::put_rows(buffer, area, rows);
}

struct Widths {
    pattern: usize,
    holder: usize,
    /// Zero if nobody was refused.
    refused: usize,
    why: usize,
}

impl Widths {
    fn of(all: &[&ReservationItem], width: usize) -> Self {
        let longest = |text: fn(&ReservationItem) -> String| {
            all.iter().map(|hold| text(hold).width()).max().unwrap_or(0)
        };
        let pattern = longest(path).clamp(6, (width * 2 / 5).max(6));
        let holder = longest(|hold| escape_invisible(&hold.holder).into_owned()).clamp(6, (width / 4).max(6));
        let refused = match longest(refused) {
            0 => 0,
            longest => longest.clamp(7, (width / 4).max(7)),
        };
        let gaps = if refused > 0 { 4 } else { 3 };
        let why = width.saturating_sub(pattern + holder + refused + AGE + gaps * GAP.len());
        Self { pattern, holder, refused, why }
    }
}

fn path(hold: &ReservationItem) -> String {
    format!("{}{}", escape_invisible(&hold.pattern), hold.reach_note)
}

fn refused(hold: &ReservationItem) -> String {
    escape_invisible(&hold.refused.join(", ")).into_owned()
}

fn line(hold: &ReservationItem, widths: &Widths, state: &ChatState, theme: Theme) -> Line<'static> {
    let why = match (&hold.reason, &hold.task) {
        (Some(reason), _) => escape_invisible(reason).into_owned(),
        (None, Some(task)) => format!("with {}", escape_invisible(task)),
        (None, None) => String::new(),
    };
    let why = match hold.contested.is_empty() {
        true => why,
        false => {
            let contest = format!("contested by {}", escape_invisible(&hold.contested.join(", ")));
            if why.is_empty() { contest } else { format!("{contest}; {why}") }
        }
    };
    let mut spans = vec![
        Span::styled(fit(&path(hold), widths.pattern), theme.strong()),
        Span::raw(GAP),
        Span::styled(fit(&escape_invisible(&hold.holder), widths.holder), theme.theirs()),
        Span::raw(GAP),
        Span::styled(format!("{:>AGE$}", ago(hold.since, state.now)), theme.faint()),
        Span::raw(GAP),
    ];
    if widths.refused > 0 {
        spans.extend([Span::styled(fit(&refused(hold), widths.refused), theme.error()), Span::raw(GAP)]);
    }
    spans.push(Span::styled(fit(&why, widths.why), theme.faint()));
    Line::from(spans)
}
