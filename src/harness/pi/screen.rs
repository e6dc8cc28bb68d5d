//! The screen of pi.

use crate::domain::screens::{
    CursorPlace, DialogKind, PromptLine, ScreenLine, ScreenReading, ScreenState, ScreenText,
};
use crate::harness::screen::{PasteCounts, ScreenReader, between, is_shown_as_typed};
use crate::harness::screen_parts::{
    ErrorKind, PromptRules, QuestionPlace, busy_words, dialog, error_kind, find_choices, percent_before,
    prompt_line, starts_with_braille, waiting, without_braille,
};

pub(super) struct PiScreen;

/// More lines than the list of commands and the footer below the prompt line.
const MOST_FOOTER: usize = 10;

impl ScreenReader for PiScreen {
    fn recorded(&self) -> &'static [&'static str] {
        &["0.87.1"]
    }

    fn read(&self, screen: &ScreenText) -> ScreenReading {
        PromptBox::find(screen).map(|found| found.read(screen)).unwrap_or_default()
    }

    /// `[paste #1 +1000 lines]`, or `[paste #1 3003 chars]` for one line.
    fn is_our_paste(&self, draft: &str, text: &str) -> bool {
        let counts = PasteCounts::of(text);
        is_shown_as_typed(draft, text)
            || between(draft, "[paste #", "]").is_some_and(|inside| {
                let words: Vec<&str> = inside.split(' ').collect();
                match words.as_slice() {
                    [_, count, "lines"] => counts.has_lines(count.trim_start_matches('+')),
                    [_, count, "chars"] => counts.has_characters(count),
                    _ => false,
                }
            })
    }

    fn starts_session_at_launch(&self) -> bool {
        true
    }
}

/// The prompt line stands between two rules and has no mark. The footer below is the only constant sign: its last line
/// says how full the context is.
struct PromptBox {
    rules: PromptRules,
    used: u8,
}

impl PromptBox {
    fn find(screen: &ScreenText) -> Option<Self> {
        let last = screen.last_row()?;
        let footer = screen.row(last);
        let used = footer.match_indices("%/").find_map(|(at, _)| percent_before(footer, at))?;
        let rules = PromptRules::find(screen, MOST_FOOTER)?;
        // Only a list of commands may stand between the rule and the two lines of the footer.
        let is_listed = |row: usize| screen.row(row).starts_with(['→', ' ']);
        let is_whole = last >= rules.bottom + 2 && (rules.bottom + 1..last - 1).all(is_listed);
        is_whole.then_some(Self { rules, used })
    }

    fn read(&self, screen: &ScreenText) -> ScreenReading {
        let context_left = Some(100_u8.saturating_sub(self.used));
        if let Some(reading) = self.list(screen) {
            return ScreenReading { context_left, ..reading };
        }
        let rows = &screen.lines()[self.rules.top + 1..self.rules.bottom];
        let start = CursorPlace { column: 0, row: self.rules.top + 1 };
        let prompt = match prompt_line(screen, rows, start, &[]) {
            // It has no placeholder, so whatever is there was typed.
            PromptLine::Empty if rows.iter().any(|row| !row.is_blank()) => {
                PromptLine::Draft(rows.iter().map(ScreenLine::text).collect::<Vec<_>>().join("\n"))
            }
            prompt => prompt,
        };
        let mut reading = ScreenReading { prompt, context_left, ..ScreenReading::default() };
        let rule = screen.row(self.rules.top).trim_start_matches(['─', ' ']);
        reading.busy_line = starts_with_braille(rule).then(|| busy_words(without_braille(rule)));
        let said = self.last_notice(screen).unwrap_or_default();
        let said = said.trim();
        let state = if reading.is_busy() {
            ScreenState::Working
        } else if said.starts_with("Operation aborted")
            || said.starts_with("Error: This operation was aborted")
        {
            ScreenState::Interrupted
        } else if said.starts_with("Error: ") {
            match error_kind(said) {
                ErrorKind::Limit => ScreenState::Limited,
                ErrorKind::Trouble(trouble) => {
                    reading.trouble = Some(trouble);
                    ScreenState::Idle
                }
            }
        } else {
            ScreenState::Idle
        };
        reading.state = Some(state);
        reading
    }

    /// The last paragraph of the conversation, if the program itself said it: its errors are in a colour.
    fn last_notice(&self, screen: &ScreenText) -> Option<String> {
        let last = (0..self.rules.top).rev().find(|row| !screen.row(*row).trim().is_empty())?;
        let first = (0..=last).rev().take_while(|row| !screen.row(*row).trim().is_empty()).last()?;
        if screen.has_attributes() && !screen.lines()[first].is_coloured() {
            return None;
        }
        Some((first..=last).map(|row| screen.row(row).trim()).collect::<Vec<_>>().join(" "))
    }

    /// A list to choose from, such as that of the models, takes the place of the prompt line.
    fn list(&self, screen: &ScreenText) -> Option<ScreenReading> {
        let lines: Vec<&str> = (self.rules.top + 1..self.rules.bottom).map(|row| screen.row(row)).collect();
        let keys = lines.iter().rposition(|line| !line.is_empty())?;
        if !lines[keys].trim().starts_with("Enter to select") {
            return None;
        }
        let list = find_choices(&lines[..keys], &['→'])?;
        let about = &lines[..list.first_row];
        Some(waiting(dialog(about, list.choices, QuestionPlace::First, |_| DialogKind::Other)))
    }
}
