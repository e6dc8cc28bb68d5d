//! Draws the runs: a line each, or one in full.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use unicode_width::UnicodeWidthStr;

use crate::domain::escape_invisible;
use crate::faces::tui::list_rows;
use crate::faces::tui::model::{RunDetail, RunItem, SightView, Tone};
use crate::faces::tui::runs_state::OpenRun;
use crate::faces::tui::state::ChatState;
use crate::faces::tui::theme::Theme;
use crate::faces::tui::wrap::cut;

use super::knowledge::first_item;
use super::record_page::{self, GAP};

/// Minimum widths for the profile, and for how long it took and what it used.
const PROFILE_FROM: usize = 60;
const TOOK_FROM: usize = 50;
const USED_FROM: usize = 80;

pub(super) fn draw(buffer: &mut Buffer, area: Rect, state: &ChatState, theme: Theme) {
    let runs = list_rows::runs(state);
    match (&state.runs.open, &state.runs.list) {
        (Some(open), _) => draw_detail(buffer, area, open, theme),
        (None, None) => super::put_empty(buffer, area, "…", theme),
        (None, Some(all)) if all.is_empty() => {
            super::put_empty(buffer, area, "No runs yet. `msg run scout TASK` starts one.", theme);
        }
        (None, Some(_)) if runs.is_empty() => super::put_empty(buffer, area, "No run matches.", theme),
        (None, Some(all)) => draw_list(buffer, area, (all, &runs), state, theme),
    }
}

fn draw_list(
    buffer: &mut Buffer,
    area: Rect,
    (all, runs): (&[RunItem], &[&RunItem]),
    state: &ChatState,
    theme: Theme,
) {
    let width = usize::from(area.width);
    let heading = Line::styled(cut(&heading(all), width), theme.faint());
    let at = state.list().at.min(runs.len().saturating_sub(1));
    let first = first_item(at, area.height.into());
    let widths = Widths::of(runs, width);
    let rows = runs.iter().enumerate().skip(first).map(|(number, run)| {
        let line = row(run, &widths, theme);
        if number == at { super::chosen(line, theme) } else { line }
    });
    super::put_rows(buffer, area, std::iter::once(heading).chain(rows));
}

fn heading(all: &[RunItem]) -> String {
    let count = |is_it: &dyn Fn(&RunItem) -> bool| all.iter().filter(|run| is_it(run)).count();
    let needed = match count(&|run| run.tone == Tone::Bad) {
        0 => String::new(),
        1 => "1 needs you · ".to_string(),
        needed => format!("{needed} need you · "),
    };
    let live = count(&|run| run.is_live && run.tone != Tone::Bad);
    let ended = count(&|run| !run.is_live && run.tone != Tone::Bad);
    format!("{needed}{live} at work · {ended} ended")
}

struct Widths {
    state: usize,
    id: usize,
    profile: usize,
    took: usize,
    used: usize,
    title: usize,
}

impl Widths {
    fn of(runs: &[&RunItem], all: usize) -> Self {
        let widest = |of: &dyn Fn(&RunItem) -> usize| runs.iter().map(|run| of(run)).max().unwrap_or(0);
        let from = |least: usize, width: usize| if all < least { 0 } else { width };
        let taken = |width: usize| if width == 0 { 0 } else { width + GAP.len() };
        let state = widest(&|run| run.state.width());
        let id = widest(&|run| run.id.width());
        let profile = from(PROFILE_FROM, widest(&|run| shown(&run.profile).width()).min(all / 6));
        let took = from(TOOK_FROM, widest(&|run| run.took.width()));
        let used = from(USED_FROM, widest(&|run| run.used.width()));
        let rest = [state, id, profile, took, used].into_iter().map(taken).sum();
        Self { state, id, profile, took, used, title: all.saturating_sub(rest) }
    }
}

fn shown(text: &str) -> String {
    escape_invisible(text).into_owned()
}

fn row(run: &RunItem, widths: &Widths, theme: Theme) -> Line<'static> {
    let style = match run.tone {
        Tone::Bad => theme.unread(),
        tone => theme.tone(tone),
    };
    let about = match &run.doing {
        Some(doing) => format!("{} · {}", shown(&run.title), shown(doing)),
        None => shown(&run.title),
    };
    let columns = [
        (run.state.clone(), widths.state, style),
        (run.id.clone(), widths.id, theme.strong()),
        (shown(&run.profile), widths.profile, theme.theirs()),
        (run.took.clone(), widths.took, theme.faint()),
        (run.used.clone(), widths.used, theme.faint()),
        (about, widths.title, Style::new()),
    ];
    record_page::columns(columns)
}

fn draw_detail(buffer: &mut Buffer, area: Rect, open: &OpenRun, theme: Theme) {
    let Some(detail) = &open.detail else { return super::put_empty(buffer, area, "…", theme) };
    let rows = detail_rows(detail, area.width);
    record_page::draw(buffer, area, rows, open.from, theme);
}

/// The rows of a run on a screen of that width. The heading is one row.
pub(in crate::faces::tui) fn detail_rows(detail: &RunDetail, width: u16) -> Vec<String> {
    let mut rows = record_page::rows(&detail.heading, &detail.lines, width);
    if let Some(sight) = &detail.sight {
        rows.extend(record_page::indented(&sight_lines(sight), width));
        rows.extend(record_page::screen_rows(&sight.screen, width));
    }
    rows.extend(record_page::indented(&detail.texts, width));
    rows
}

/// What the worker does, up to its screen.
fn sight_lines(sight: &SightView) -> Vec<String> {
    let mut lines = vec![format!("state: {}", sight.state)];
    lines.extend(sight.place.as_ref().map(|place| format!("place: {place}")));
    if let Some((question, choices)) = &sight.question {
        lines.push(format!("asks: {question}"));
        lines.extend(choices.iter().map(|choice| format!("  {choice}")));
    }
    lines.extend(sight.answer.as_ref().map(|answer| format!("answer: {answer}")));
    lines.push(String::new());
    lines.push(match &sight.no_screen {
        Some(why) => format!("No screen: {why}."),
        None => "What its screen shows; others wrote it:".to_string(),
    });
    lines
}
