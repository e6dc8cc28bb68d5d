//! Draws the overlaps: what can't be merged, who may meet whom, and what became of earlier heads-ups.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use crate::domain::awareness::PredictionEnd;
use crate::domain::escape_invisible;
use crate::faces::tui::list_rows::{OverlapRow, is_narrow, overlaps};
use crate::faces::tui::message_view::ago;
use crate::faces::tui::model::{ConflictItem, HeadsUpItem, OverlapItem, OverlapsView};
use crate::faces::tui::state::ChatState;
use crate::faces::tui::theme::Theme;
use crate::faces::tui::wrap::{cut, fit};

/// `100 %`.
const PERCENT: usize = 5;
const GAP: &str = "  ";
/// Who was told of whom.
const HEADS_UP: &str = "→";
/// A gap, `false alarm · 10min`.
const OUTCOME: usize = 2 + 19;

pub(super) fn draw(buffer: &mut Buffer, area: Rect, state: &ChatState, theme: Theme) {
    let all = overlaps(state);
    if all.is_empty() {
        return super::put_empty(buffer, area, &why_empty(state), theme);
    }
    let widths = Widths::of(&all, area.width.into(), if is_narrow(state) { 0 } else { OUTCOME });
    let rows = all.iter().skip(state.list().at).take(area.height.into());
    super::put_rows(buffer, area, rows.map(|row| line(row, &widths, state, theme)));
}

fn why_empty(state: &ChatState) -> String {
    let Some(seen) = &state.overlaps else { return "…".to_string() };
    if !state.filter.text.is_empty() {
        return "No overlap matches.".to_string();
    }
    let OverlapsView { place, is_off, agents, .. } = seen;
    let place = escape_invisible(place);
    match agents {
        _ if *is_off => "Awareness is off. To switch it on: `msg config set awareness warn`.".to_string(),
        0 => format!("No agent works in {place}."),
        1 => format!("Only one agent works in {place}."),
        _ => format!("No agent in {place} seems to be heading for another's files."),
    }
}

struct Widths {
    all: usize,
    /// `Alice → Robin`.
    pair: usize,
    file: usize,
}

impl Widths {
    /// `outcome` columns are left after the file.
    fn of(rows: &[OverlapRow<'_>], all: usize, outcome: usize) -> Self {
        let of = |row: &OverlapRow<'_>| match row {
            OverlapRow::Pair(one) => {
                let file = file_width(one.file.as_deref().unwrap_or(NO_FILE));
                Some((pair(&one.who, one.arrow, &one.with).width(), file))
            }
            OverlapRow::Told(one) => {
                Some((pair(&one.who, HEADS_UP, &one.with).width(), file_width(&one.file)))
            }
            _ => None,
        };
        let wide = rows.iter().filter_map(of);
        let (longest, longest_file) =
            wide.fold((0, 0), |most, (pair, file)| (most.0.max(pair), most.1.max(file)));
        let pair = longest.min((all.saturating_sub(PERCENT + GAP.len()) / 2).max(6));
        let rest = all.saturating_sub(PERCENT + pair + 2 * GAP.len());
        Self { all, pair, file: longest_file.min(rest.saturating_sub(outcome)) }
    }
}

const NO_FILE: &str = "no file in particular";

fn file_width(file: &str) -> usize {
    escape_invisible(file).width()
}

fn pair(who: &str, arrow: &str, with: &str) -> String {
    format!("{} {arrow} {}", escape_invisible(who), escape_invisible(with))
}

fn line(row: &OverlapRow<'_>, widths: &Widths, state: &ChatState, theme: Theme) -> Line<'static> {
    let below = |text: String| {
        let text = format!("{}{text}", " ".repeat(PERCENT + GAP.len()));
        Line::styled(cut(&text, widths.all), theme.faint())
    };
    match row {
        OverlapRow::Heading(text) => Line::styled(cut(text, widths.all), theme.strong()),
        OverlapRow::Conflict(one) => conflict(one, widths, theme),
        OverlapRow::Pair(one) => {
            let file = one.file.as_deref().unwrap_or(NO_FILE);
            Line::from(columns(one.percent, &pair(&one.who, one.arrow, &one.with), file, widths, theme))
        }
        OverlapRow::Why(one) => below(reasons(one)),
        OverlapRow::Told(one) => told(one, widths, state, theme),
        OverlapRow::Outcome(one) => {
            let [end, age] = outcome(one, state, theme);
            Line::from(vec![Span::raw(" ".repeat(PERCENT + GAP.len())), end, age])
        }
        OverlapRow::Dismissal(one) => {
            below(format!("of no interest? `msg overlaps dismiss {}`", escape_invisible(&one.id)))
        }
        OverlapRow::Empty => Line::default(),
    }
}

fn columns(percent: u8, pair: &str, file: &str, widths: &Widths, theme: Theme) -> Vec<Span<'static>> {
    vec![
        Span::styled(format!("{:>PERCENT$}", format!("{percent} %")), theme.strong()),
        Span::raw(GAP),
        Span::styled(fit(pair, widths.pair), theme.theirs()),
        Span::raw(GAP),
        Span::raw(fit(&escape_invisible(file), widths.file)),
    ]
}

/// Why they may meet, and what they have in common.
fn reasons(one: &OverlapItem) -> String {
    let all = one.why.iter().chain(&one.signals).map(|text| escape_invisible(text).into_owned());
    all.collect::<Vec<_>>().join("; ")
}

fn conflict(one: &ConflictItem, widths: &Widths, theme: Theme) -> Line<'static> {
    let sides = one.sides.iter().map(|(name, change)| format!("{}: {change}", escape_invisible(name)));
    let sides = sides.collect::<Vec<_>>().join(" · ");
    let file = cut(&escape_invisible(&one.file), (widths.all / 2).max(8));
    let room = widths.all.saturating_sub(file.width() + 2 * GAP.len());
    Line::from(vec![
        Span::raw(GAP),
        Span::styled(file, theme.error()),
        Span::raw(GAP),
        Span::raw(cut(&sides, room)),
    ])
}

/// A heads-up, what became of it, and how long ago it was told.
fn told(one: &HeadsUpItem, widths: &Widths, state: &ChatState, theme: Theme) -> Line<'static> {
    let mut spans = columns(one.percent, &pair(&one.who, HEADS_UP, &one.with), &one.file, widths, theme);
    if !is_narrow(state) {
        spans.push(Span::raw(GAP));
        spans.extend(outcome(one, state, theme));
    }
    Line::from(spans)
}

fn outcome(one: &HeadsUpItem, state: &ChatState, theme: Theme) -> [Span<'static>; 2] {
    let (text, style) = match one.end {
        None => ("open", theme.unread()),
        Some(end @ PredictionEnd::Occurred) => (end.describe(), theme.error()),
        Some(end @ PredictionEnd::Prevented) => (end.describe(), theme.mine()),
        Some(end) => (end.describe(), theme.faint()),
    };
    [Span::styled(text, style), Span::styled(format!(" · {}", ago(one.at, state.now)), theme.faint())]
}
