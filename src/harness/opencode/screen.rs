//! The screen of OpenCode.

use crate::domain::screens::{
    CursorPlace, Dialog, DialogChoice, DialogKind, PromptLine, ScreenKey, ScreenLine, ScreenReading,
    ScreenState, ScreenText, ScreenTrouble,
};
use crate::harness::screen::{
    AnswerStep, PasteCounts, ScreenReader, answer_step, between, is_shown_as_typed,
};
use crate::harness::screen_parts::{
    ErrorKind, QuestionPlace, dialog, error_kind, page, percent_before, prompt_line, waiting,
};

pub(super) struct OpenCodeScreen;

const PLACEHOLDERS: [&str; 1] = ["Ask anything… \""];

impl ScreenReader for OpenCodeScreen {
    fn recorded(&self) -> &'static [&'static str] {
        &["1.18.33"]
    }

    fn read(&self, screen: &ScreenText) -> ScreenReading {
        match PromptBox::find(screen) {
            Some(found) => found.overlay(screen).unwrap_or_else(|| found.read(screen)),
            None => read_permission(screen).unwrap_or_default(),
        }
    }

    fn is_our_paste(&self, draft: &str, text: &str) -> bool {
        is_shown_as_typed(draft, text)
            || between(draft, "[Pasted ~", " lines]")
                .is_some_and(|count| PasteCounts::of(text).has_lines(count))
    }

    /// Its choices stand side by side.
    fn answer_step(&self, dialog: &Dialog, choice: usize) -> Option<AnswerStep> {
        answer_step(dialog, choice, [ScreenKey::Left, ScreenKey::Right])
    }

    fn interrupt_keys(&self) -> &'static [ScreenKey] {
        &[ScreenKey::Escape, ScreenKey::Escape]
    }

    fn starts_session_at_launch(&self) -> bool {
        false
    }
}

/// The prompt line: rows with a bar at their left, and an edge of `▀` below. To the right of it there may be a side bar.
struct PromptBox {
    column: usize,
    right: usize,
    top: usize,
    edge: usize,
}

impl PromptBox {
    fn find(screen: &ScreenText) -> Option<Self> {
        let is_edge = |line: &ScreenLine| line.text().trim_start_matches(' ').starts_with("╹▀▀▀");
        let edge = screen.lines().iter().rposition(is_edge)?;
        let column = indent(screen.row(edge));
        let drawn = screen.row(edge).chars().skip(column).take_while(|c| matches!(c, '╹' | '▀')).count();
        let found = Self { column, right: column + drawn, top: edge, edge };
        let top = (0..edge).rev().take_while(|row| found.has_bar(screen, *row)).last()?;
        // A blank one, what is typed, a blank one, and the name of the agent.
        let is_whole = edge - top >= 4
            && found.inside(screen, top).is_blank()
            && found.inside(screen, edge - 2).is_blank();
        is_whole.then_some(Self { top, ..found })
    }

    /// Whether it has the bar at the left. A list of commands above has one at the right, too.
    fn has_bar(&self, screen: &ScreenText, row: usize) -> bool {
        let line = screen.row(row);
        let is_left = indent(line) == self.column && line.trim_start_matches(' ').starts_with('┃');
        is_left && line.matches('┃').count() == 1
    }

    /// The row without the side bar.
    fn cut(&self, screen: &ScreenText, row: usize) -> ScreenLine {
        screen.lines().get(row).map(|line| line.columns(0..self.right)).unwrap_or_default()
    }

    /// What stands to the right of the bar.
    fn inside(&self, screen: &ScreenText, row: usize) -> ScreenLine {
        self.cut(screen, row).columns(self.column + 3..usize::MAX)
    }

    fn prompt(&self, screen: &ScreenText) -> PromptLine {
        let rows: Vec<ScreenLine> =
            (self.top + 1..self.edge - 2).map(|row| self.inside(screen, row)).collect();
        let agent = self.inside(screen, self.edge - 1);
        if agent.text().trim() == "Shell" {
            return PromptLine::Draft("!".to_owned());
        }
        let start = CursorPlace { column: self.column + 3, row: self.top + 1 };
        prompt_line(screen, &rows, start, &PLACEHOLDERS)
    }

    fn read(&self, screen: &ScreenText) -> ScreenReading {
        let mut reading = ScreenReading { prompt: self.prompt(screen), ..ScreenReading::default() };
        let footer = screen.row(self.edge + 1);
        reading.context_left = footer
            .find("%)")
            .and_then(|at| percent_before(footer, at))
            .map(|used| 100_u8.saturating_sub(used));
        let is_turning = footer.trim_start().starts_with(['⬝', '■']);
        let keys = ["esc interrupt", "esc again to interrupt"].into_iter().find(|keys| footer.contains(keys));
        reading.busy_line = keys.filter(|_| is_turning).map(str::to_owned);
        let is_busy = reading.is_busy();
        let retried = footer
            .split_once("[retrying ")
            .map(|(words, _)| words.trim().trim_start_matches(['⬝', '■', ' ']));
        let turn_end =
            (0..self.top).rev().find(|row| self.cut(screen, *row).text().trim_start().starts_with('▣'));
        reading.trouble = turn_end.and_then(|row| self.error_above(screen, row));
        let state = match retried.map(error_kind) {
            Some(ErrorKind::Limit) if is_busy => ScreenState::Limited,
            Some(ErrorKind::Trouble(trouble)) if is_busy => {
                reading.trouble = Some(trouble);
                ScreenState::Working
            }
            _ if is_busy => ScreenState::Working,
            _ if turn_end.is_some_and(|row| self.cut(screen, row).text().ends_with(" · interrupted")) => {
                ScreenState::Interrupted
            }
            _ => ScreenState::Idle,
        };
        reading.state = Some(state);
        reading
    }

    /// An error stands between the user's words and the line that ends the turn, and is drawn like the words.
    fn error_above(&self, screen: &ScreenText, end: usize) -> Option<ScreenTrouble> {
        let bar_column = self.bar_column(screen, end)?;
        let is_bar = |row: usize| {
            let line = self.cut(screen, row);
            indent(line.text()) == bar_column && line.text().trim_start().starts_with('┃')
        };
        let block = |end: usize| {
            let last = (0..end).rev().find(|row| !self.cut(screen, *row).is_blank())?;
            let first = (0..=last).rev().take_while(|row| is_bar(*row)).last()?;
            Some((first, last))
        };
        let (first, last) = block(end)?;
        block(first)?;
        let words =
            (first..=last).map(|row| self.cut(screen, row).text().trim_matches([' ', '┃']).to_owned());
        let words = words.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
        match error_kind(&words) {
            ErrorKind::Trouble(trouble) => Some(trouble),
            ErrorKind::Limit => None,
        }
    }

    /// The column of the bars in the conversation.
    fn bar_column(&self, screen: &ScreenText, end: usize) -> Option<usize> {
        let last = (0..end).rev().map(|row| self.cut(screen, row)).find(|line| !line.is_blank())?;
        last.text().trim_start().starts_with('┃').then(|| indent(last.text()))
    }

    /// A window over the conversation. Its first line has a title, and `esc` at its right end.
    fn overlay(&self, screen: &ScreenText) -> Option<ScreenReading> {
        let is_inside = |cursor: CursorPlace| (self.top..self.edge).contains(&cursor.row);
        if screen.cursor().is_some_and(is_inside) {
            return None;
        }
        let title = (0..self.top).find_map(|row| {
            let line = self.cut(screen, row);
            let text = line.text();
            let before = text.strip_suffix(" esc").or_else(|| text.strip_suffix(" esc/enter"))?;
            let title = before.trim_end();
            (before.len() - title.len() >= 8 && indent(title) >= 8 && title.trim().chars().count() <= 40)
                .then(|| title.trim().to_owned())
        })?;
        Some(page(&title))
    }
}

/// A question stands where the prompt line would be: rows with a bar, the last but one has the choices.
fn read_permission(screen: &ScreenText) -> Option<ScreenReading> {
    let has_bar = |row: usize| screen.row(row).trim_start_matches(' ').starts_with('┃');
    let last = screen.last_row().filter(|row| has_bar(*row))?;
    let first = (0..=last).rev().take_while(|row| has_bar(*row)).last()?;
    let column = indent(screen.row(first));
    let inside = |row: usize| {
        let line = &screen.lines()[row];
        line.columns(column + 1..usize::MAX)
    };
    let title = (first..=last).find(|row| inside(*row).text().trim_start().starts_with('△'))?;
    let keys = (title..=last).rev().find(|row| screen.row(*row).contains("⇆ select"))?;
    let choices = side_by_side(&inside(keys));
    if choices.len() < 2 {
        return None;
    }
    let about: Vec<String> =
        (title..keys).map(|row| without_side_bar(inside(row).text()).to_owned()).collect();
    let about: Vec<&str> = about.iter().map(|line| line.trim_start().trim_start_matches("△ ")).collect();
    Some(waiting(dialog(&about, choices, QuestionPlace::First, |asked| match asked.question.as_str() {
        "Permission required" | "Always allow" => DialogKind::Permission,
        _ => DialogKind::Other,
    })))
}

/// The choices of a line, up to the names of keys. The selected one is the only one that is not faint.
fn side_by_side(line: &ScreenLine) -> Vec<DialogChoice> {
    let text = line.text();
    let mut choices = Vec::new();
    let mut column = 0;
    for part in text.split("  ") {
        let label = part.trim();
        let end = column + part.chars().count();
        if ["ctrl+", "⇆", "enter"].iter().any(|key| label.starts_with(key)) {
            break;
        }
        if !label.is_empty() {
            let drawn = line.columns(column..end);
            let label = label.to_owned();
            choices.push(DialogChoice { label, is_selected: !drawn.is_faint(), ..DialogChoice::default() });
        }
        column = end + 2;
    }
    // Without attributes nobody knows which one it is.
    if choices.iter().filter(|choice| choice.is_selected).count() != 1 {
        for choice in &mut choices {
            choice.is_selected = false;
        }
    }
    choices
}

/// What stands in a row up to a wide gap.
fn without_side_bar(text: &str) -> &str {
    text.find(&" ".repeat(40)).map_or(text, |gap| &text[..gap])
}

fn indent(text: &str) -> usize {
    text.len() - text.trim_start_matches(' ').len()
}
