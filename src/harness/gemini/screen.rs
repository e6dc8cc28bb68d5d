//! The screen of Gemini CLI.

use std::time::Duration;

use crate::domain::screens::{
    CursorPlace, Dialog, DialogKind, PromptLine, ScreenLine, ScreenReading, ScreenState, ScreenText,
};
use crate::harness::screen::{PasteCounts, ScreenReader, between, is_shown_as_typed};
use crate::harness::screen_parts::{
    ErrorKind, QuestionPlace, busy_words, dialog, error_kind, find_choices, is_rule, is_titled, last_box,
    paragraph, prompt_line, starts_with_braille, waiting, without_braille,
};

pub(super) struct GeminiScreen;

const PLACEHOLDERS: [&str; 1] = ["Type your message or @path/to/file"];
/// More lines than the list of commands below the prompt line.
const MOST_FOOTER: usize = 16;

impl ScreenReader for GeminiScreen {
    fn recorded(&self) -> &'static [&'static str] {
        &["0.61.0"]
    }

    fn read(&self, screen: &ScreenText) -> ScreenReading {
        match PromptBox::find(screen) {
            Some(found) => found.read(screen),
            None => read_dialog(screen).unwrap_or_default(),
        }
    }

    /// `[Pasted Text: 6 lines]`, or `[Pasted Text: 3003 chars]` for one line.
    fn is_our_paste(&self, draft: &str, text: &str) -> bool {
        let counts = PasteCounts::of(text);
        is_shown_as_typed(draft, text)
            || between(draft, "[Pasted Text: ", "]").is_some_and(|inside| {
                let mut words = inside.split(' ');
                match (words.next(), words.next()) {
                    (Some(count), Some("lines")) => counts.has_lines(count),
                    (Some(count), Some("chars")) => counts.has_characters(count),
                    _ => false,
                }
            })
    }

    fn starts_session_at_launch(&self) -> bool {
        true
    }

    /// An Enter that comes earlier becomes a line feed in the draft.
    fn paste_rest(&self) -> Duration {
        Duration::from_secs(1)
    }
}

/// The prompt line between a row of `▄` and one of `▀`, below a rule. The user's words are drawn in the same way, but
/// without the rule.
struct PromptBox {
    rule: usize,
    top: usize,
    bottom: usize,
}

impl PromptBox {
    fn find(screen: &ScreenText) -> Option<Self> {
        let last = screen.last_row()?;
        let is = |row: &usize, sign| is_rule(screen.row(*row), sign);
        let bottom = (last.saturating_sub(MOST_FOOTER)..=last).rev().find(|row| is(row, '▀'))?;
        let top = (0..bottom).rev().find(|row| is(row, '▄'))?;
        let rule = (top.saturating_sub(3)..top).rev().find(|row| is(row, '─'))?;
        let is_marked = screen.row(top + 1).starts_with([' ']) && screen.row(top + 1).len() >= 2;
        is_marked.then_some(Self { rule, top, bottom })
    }

    fn prompt(&self, screen: &ScreenText) -> PromptLine {
        let first = self.top + 1;
        let mark = screen.row(first).trim_start().chars().next();
        if !matches!(mark, Some('>' | '*')) {
            return PromptLine::Draft(mark.map(String::from).unwrap_or_default());
        }
        let rows: Vec<ScreenLine> =
            screen.lines()[first..self.bottom].iter().map(|line| line.columns(3..usize::MAX)).collect();
        prompt_line(screen, &rows, CursorPlace { column: 3, row: first }, &PLACEHOLDERS)
    }

    fn read(&self, screen: &ScreenText) -> ScreenReading {
        let mut reading = ScreenReading { prompt: self.prompt(screen), ..ScreenReading::default() };
        let is_words = |row: &usize| is_rule(screen.row(*row), '▀') && *row < self.rule;
        let start = (0..self.rule).rev().find(is_words).unwrap_or(0);
        let mut is_limited = false;
        let mut is_interrupted = false;
        let mut has_background = false;
        for row in start..self.rule {
            let line = screen.row(row);
            is_interrupted |= line.trim_end() == "ℹ Request cancelled.";
            has_background |= line.starts_with("│ Command moved to background (PID");
            if line.starts_with("✦ ") {
                // It has gone on since.
                (is_limited, reading.trouble) = (false, None);
            }
            if let Some(said) = line.strip_prefix("✕ ").map(|_| paragraph(screen, row)) {
                match error_kind(said.trim_start_matches(['✕', ' '])) {
                    ErrorKind::Limit => is_limited = true,
                    ErrorKind::Trouble(trouble) => reading.trouble = Some(trouble),
                }
            }
        }
        // The status stands directly above the rule.
        let is_titled_busy = screen.title().is_some_and(|title| title.starts_with('✦'));
        let status = (self.rule.saturating_sub(2)..self.rule)
            .map(|row| screen.row(row))
            .find(|line| starts_with_braille(line) && line.contains("(esc to cancel"))
            .map(without_braille);
        // The prompt line, if only the title says it: a dialog takes its place.
        let line = status.or_else(|| is_titled_busy.then(|| screen.row(self.top + 1)));
        reading.busy_line = line.map(busy_words);
        let state = if reading.is_busy() {
            ScreenState::Working
        } else if is_limited {
            ScreenState::Limited
        } else if is_interrupted {
            ScreenState::Interrupted
        } else if has_background {
            ScreenState::Background
        } else {
            ScreenState::Idle
        };
        reading.state = Some(state);
        reading
    }
}

/// A dialog is a box where the prompt line would be.
fn read_dialog(screen: &ScreenText) -> Option<ScreenReading> {
    let lines: Vec<&str> = screen.lines().iter().map(ScreenLine::text).collect();
    let inside = last_box(&lines)?;
    let list = find_choices(&inside, &['●'])?;
    let mut reading = waiting(dialog(&inside[..list.first_row], list.choices, QuestionPlace::Last, kind));
    let is_limit = reading.dialog.as_ref().is_some_and(|it| it.question.starts_with("Usage limit reached"));
    if is_limit {
        reading.state = Some(ScreenState::Limited);
    }
    Some(reading)
}

fn kind(dialog: &Dialog) -> DialogKind {
    let asks = |words: &&str| dialog.question.starts_with(words);
    if is_titled(dialog, "Do you trust the files in this folder?", "Trust folder") {
        DialogKind::Trust
    } else if is_titled(dialog, "Answer Questions", "") {
        DialogKind::Question
    } else if ["Allow ", "Apply "].iter().any(asks) {
        DialogKind::Permission
    } else {
        DialogKind::Other
    }
}
