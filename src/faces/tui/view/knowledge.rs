//! Draws the records: a line each, or one in full.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use unicode_width::UnicodeWidthStr;

use crate::domain::escape_invisible;
use crate::faces::tui::knowledge_state::OpenRecord;
use crate::faces::tui::model::{KnowledgeItem, KnowledgeList, KnowledgePage};
use crate::faces::tui::state::ChatState;
use crate::faces::tui::theme::Theme;
use crate::faces::tui::wrap::cut;

use super::record_page::{self, GAP};

/// Minimum widths for the kind of a record, for its name, which most sentences begin with anyway, and for where it belongs.
const KIND_FROM: usize = 60;
const NAME_FROM: usize = 100;
const PLACE_FROM: usize = 120;

pub(super) fn draw(buffer: &mut Buffer, area: Rect, state: &ChatState, theme: Theme) {
    match (&state.knowledge.open, &state.knowledge.list) {
        (Some(open), _) => draw_record(buffer, area, open, theme),
        (None, None) => super::put_empty(buffer, area, "…", theme),
        (None, Some(list)) if list.items.is_empty() => draw_empty(buffer, area, list, state, theme),
        (None, Some(list)) => draw_list(buffer, area, list, state, theme),
    }
}

fn draw_empty(buffer: &mut Buffer, area: Rect, list: &KnowledgeList, state: &ChatState, theme: Theme) {
    let lines: &[&str] = match list.total {
        0 => &[
            "Nothing is recorded in this project yet.",
            "",
            "To record what you found out, with the code it is about:",
            "msg learn \"One lock guards all names\" --at src/lock.rs",
        ],
        _ if state.filter.text.trim() != list.words => &["searching …"],
        _ => &["No record matches."],
    };
    let rows = u16::try_from(lines.len()).unwrap_or(1).min(area.height);
    let top = area.y + (area.height - rows) / 2;
    let middle = Rect { y: top, height: rows, ..area };
    let lines = lines.iter().map(|line| Line::styled(cut(line, area.width.into()), theme.faint()).centered());
    super::put_rows(buffer, middle, lines);
}

/// The first visible record of a list of `height` rows, the first of which is a heading.
pub(in crate::faces::tui) fn first_item(chosen: usize, height: usize) -> usize {
    (chosen + 1).saturating_sub(height.saturating_sub(1).max(1))
}

fn draw_list(buffer: &mut Buffer, area: Rect, list: &KnowledgeList, state: &ChatState, theme: Theme) {
    let width = usize::from(area.width);
    let heading = Line::styled(cut(&heading(list, state), width), theme.faint());
    let at = state.list().at.min(list.items.len().saturating_sub(1));
    let first = first_item(at, area.height.into());
    let widths = Widths::of(&list.items, width);
    let rows = list.items.iter().enumerate().skip(first).map(|(number, item)| {
        let line = row(item, &widths, theme);
        if number == at { super::chosen(line, theme) } else { line }
    });
    super::put_rows(buffer, area, std::iter::once(heading).chain(rows));
}

fn heading(list: &KnowledgeList, state: &ChatState) -> String {
    let total = match list.total {
        1 => "1 record".to_string(),
        total => format!("{total} records"),
    };
    let shown = list.items.len();
    match state.filter.text.trim() {
        words if words != list.words => format!("{total} · searching …"),
        "" if shown < list.total => format!("{total}, the latest {shown}:"),
        "" => format!("{total}, the latest first:"),
        _ => format!("{total}, {shown} found, the best first:"),
    }
}

struct Widths {
    all: usize,
    kind: usize,
    name: usize,
    marks: usize,
    sentence: usize,
    place: usize,
}

impl Widths {
    fn of(items: &[KnowledgeItem], all: usize) -> Self {
        let widest = |of: &dyn Fn(&KnowledgeItem) -> usize| items.iter().map(of).max().unwrap_or(0);
        let taken = |width: usize| if width == 0 { 0 } else { width + GAP.len() };
        let kind = if all < KIND_FROM { 0 } else { widest(&|item| item.kind.width()) };
        let name = if all < NAME_FROM { 0 } else { widest(&|item| item.name.width()).min(all / 4) };
        let marks = widest(&|item| marks(item, all).width()).min(all / 5);
        let place = if all < PLACE_FROM { 0 } else { widest(&|item| place(item).width()).min(all / 4) };
        let rest = all.saturating_sub(taken(kind) + taken(name) + taken(marks) + taken(place));
        Self { all, kind, name, marks, sentence: rest, place }
    }
}

/// All marks, or the first one and how many more there are.
fn marks(item: &KnowledgeItem, all: usize) -> String {
    let text = match item.marks.as_slice() {
        [first, rest @ ..] if all < NAME_FROM && !rest.is_empty() => format!("{first} +{}", rest.len()),
        marks => marks.join(", "),
    };
    escape_invisible(&text).into_owned()
}

fn place(item: &KnowledgeItem) -> String {
    escape_invisible(item.place.as_deref().unwrap_or_default()).into_owned()
}

fn row(item: &KnowledgeItem, widths: &Widths, theme: Theme) -> Line<'static> {
    let mark_style = if item.is_outdated { theme.error() } else { theme.unread() };
    let columns = [
        (item.kind.clone(), widths.kind, theme.faint()),
        (item.name.clone(), widths.name, theme.theirs()),
        (marks(item, widths.all), widths.marks, mark_style),
        (escape_invisible(&item.sentence).into_owned(), widths.sentence, ratatui::style::Style::new()),
        (place(item), widths.place, theme.faint()),
    ];
    record_page::columns(columns)
}

fn draw_record(buffer: &mut Buffer, area: Rect, open: &OpenRecord, theme: Theme) {
    let Some(page) = &open.page else { return super::put_empty(buffer, area, "…", theme) };
    let rows = page_rows(page, area.width);
    record_page::draw(buffer, area, rows, open.from, theme);
}

/// The rows of a record on a screen of that width. The heading is one row.
pub(in crate::faces::tui) fn page_rows(page: &KnowledgePage, width: u16) -> Vec<String> {
    record_page::rows(&page.heading, &page.lines, width)
}
