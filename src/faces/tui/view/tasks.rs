//! Draws the tasks of every spec that agents work on.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use crate::domain::escape_invisible;
use crate::faces::tui::list_rows::{self, TaskRow, progress_name, task_note, tasks};
use crate::faces::tui::list_state::ListState;
use crate::faces::tui::model::{SpecView, TaskItem, TaskStateView};
use crate::faces::tui::state::ChatState;
use crate::faces::tui::theme::Theme;
use crate::faces::tui::wrap::{cut, fit};

const BAR: usize = 20;

pub(super) fn draw(buffer: &mut Buffer, area: Rect, state: &ChatState, theme: Theme) {
    let all = tasks(state);
    if all.is_empty() {
        return super::put_empty(
            buffer,
            area,
            "No agent here has a spec. Set one with `msg spec PATH`.",
            theme,
        );
    }
    let width = usize::from(area.width);
    let id = state.world.boards.iter().flat_map(|board| &board.tasks).map(|task| task.id.width()).max();
    let id = id.unwrap_or(0).min(width / 4);
    let chosen = chosen_row(&all, state.list());
    let first = first_row(&all, state.list(), area.height.into());
    let shown = all.into_iter().enumerate().skip(first).take(area.height.into());
    let rows = shown.map(|(number, row)| match row {
        TaskRow::Board(board) => board_line(board, width, theme),
        TaskRow::Task(task) => {
            let line = task_line(task, id, width, state, theme);
            if Some(number) == chosen { super::chosen(line, theme) } else { line }
        }
        TaskRow::Empty => Line::default(),
    });
    super::put_rows(buffer, area, rows);
}

/// The row of the selected task.
fn chosen_row(all: &[TaskRow<'_>], list: ListState) -> Option<usize> {
    list_rows::chosen_row(all.iter().map(|row| matches!(row, TaskRow::Task(_))), list.at)
}

/// The first visible row.
pub(in crate::faces::tui) fn first_row(all: &[TaskRow<'_>], list: ListState, height: usize) -> usize {
    list_rows::first_row(all.len(), chosen_row(all, list), height)
}

fn board_line(board: &SpecView, width: usize, theme: Theme) -> Line<'static> {
    let spec = escape_invisible(&board.spec).into_owned();
    if let Some(trouble) = &board.trouble {
        let text = format!("{spec}  {}", escape_invisible(trouble));
        return Line::styled(cut(&text, width), theme.error());
    }
    let count = |is: fn(&TaskStateView) -> bool| board.tasks.iter().filter(|task| is(&task.state)).count();
    let done = count(|state| matches!(state, TaskStateView::Done { .. }));
    let claimed = count(|state| matches!(state, TaskStateView::Claimed { .. }));
    let ready = count(|state| matches!(state, TaskStateView::Open));
    let blocked = count(|state| matches!(state, TaskStateView::Blocked(_)));
    let total = board.tasks.len();
    let mut told = vec![format!("{done} of {total} done")];
    let others = [(claimed, "claimed"), (ready, "ready"), (blocked, "blocked")];
    told.extend(others.iter().filter(|(count, _)| *count > 0).map(|(count, name)| format!("{count} {name}")));
    let full = (done * BAR).checked_div(total).unwrap_or(0);
    let bar = format!("{}{}", "█".repeat(full), "░".repeat(BAR - full));
    let told = told.join(", ");
    let room = width.saturating_sub(told.width() + BAR + 4);
    let mut spans = Vec::new();
    if room >= 12 {
        spans.push(Span::styled(cut(&spec, room), theme.strong()));
        spans.push(Span::styled(format!("  {bar}  "), theme.progress(&TaskStateView::Done { by: None })));
    } else {
        let room = width.saturating_sub(told.width() + 2).max(8);
        spans.push(Span::styled(format!("{}  ", cut(&spec, room)), theme.strong()));
    }
    spans.push(Span::raw(told));
    Line::from(spans)
}

fn task_line(task: &TaskItem, id: usize, width: usize, state: &ChatState, theme: Theme) -> Line<'static> {
    const STATE: usize = 7;
    let note = escape_invisible(&task_note(task, state.now)).into_owned();
    let taken = 2 + id + 2 + STATE + 2;
    let note_width = note.width().min(width.saturating_sub(taken) / 2);
    let gap = if note_width > 0 { 2 } else { 0 };
    let title = width.saturating_sub(taken + note_width + gap);
    let mut spans = vec![
        Span::raw("  "),
        Span::styled(fit(&escape_invisible(&task.id), id), theme.strong()),
        Span::raw("  "),
        Span::styled(fit(progress_name(&task.state), STATE), theme.progress(&task.state)),
        Span::raw("  "),
        Span::raw(fit(&escape_invisible(&task.title), title)),
    ];
    if note_width > 0 {
        spans.extend([Span::raw("  "), Span::styled(fit(&note, note_width), theme.faint())]);
    }
    Line::from(spans)
}
