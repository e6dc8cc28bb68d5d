//! The screen of Codex.

use crate::domain::screens::{
    CursorPlace, Dialog, DialogKind, PromptLine, ScreenLine, ScreenReading, ScreenState, ScreenText,
};
use crate::harness::screen::{PasteCounts, ScreenReader, between, is_shown_as_typed};
use crate::harness::screen_parts::{
    ErrorKind, QuestionPlace, busy_words, dialog, error_kind, find_choices, is_titled, paragraph,
    percent_before, prompt_line, starts_with_braille, waiting,
};

pub(super) struct CodexScreen;

const MARK: char = '›';
const PLACEHOLDERS: [&str; 1] = ["Ask Codex to do anything"];

impl ScreenReader for CodexScreen {
    fn recorded(&self) -> &'static [&'static str] {
        &["0.166.0"]
    }

    fn read(&self, screen: &ScreenText) -> ScreenReading {
        if let Some(reading) = read_dialog(screen) {
            return reading;
        }
        PromptRows::find(screen).map(|rows| rows.read(screen)).unwrap_or_default()
    }

    fn is_our_paste(&self, draft: &str, text: &str) -> bool {
        is_shown_as_typed(draft, text)
            || between(draft, "[Pasted Content ", " chars]")
                .is_some_and(|count| PasteCounts::of(text).has_characters(count))
    }

    fn starts_session_at_launch(&self) -> bool {
        false
    }
}

/// The prompt line: rows from the mark to the blank one above the footer.
struct PromptRows {
    first: usize,
    end: usize,
}

impl PromptRows {
    /// The footer has one or two lines, which are indented, and a blank one above.
    fn find(screen: &ScreenText) -> Option<Self> {
        let last = screen.last_row()?;
        let is_mark = |row: &usize| screen.row(*row).starts_with([MARK, '!']);
        let first = (0..=last).rev().find(is_mark)?;
        let is_inside = |row: &usize| screen.row(*row).is_empty() || screen.row(*row).starts_with("  ");
        if !(first + 1..=last).all(|row| is_inside(&row)) {
            return None;
        }
        let end = (first + 1..last).rev().find(|row| screen.row(*row).is_empty())?;
        (last - end <= 2).then_some(Self { first, end })
    }

    fn prompt(&self, screen: &ScreenText) -> PromptLine {
        let first = screen.row(self.first);
        if first.starts_with('!') {
            return PromptLine::Draft(first.to_owned());
        }
        let rows: Vec<ScreenLine> =
            screen.lines()[self.first..self.end].iter().map(|line| line.columns(2..usize::MAX)).collect();
        prompt_line(screen, &rows, CursorPlace { column: 2, row: self.first }, &PLACEHOLDERS)
    }

    fn read(&self, screen: &ScreenText) -> ScreenReading {
        let mut reading = ScreenReading { prompt: self.prompt(screen), ..ScreenReading::default() };
        let words = (0..self.first).rev().find(|row| is_words(screen.row(*row)));
        let start = words.unwrap_or(0);
        let mut is_limited = false;
        let mut is_interrupted = false;
        for row in start..self.first {
            if screen.row(row).starts_with("• ") {
                // It has gone on since.
                (is_limited, reading.limited_until, reading.trouble) = (false, None, None);
            }
            if !screen.row(row).starts_with("■ ") {
                continue;
            }
            let said = paragraph(screen, row);
            let said = said.trim_start_matches(['■', ' ']);
            if said.starts_with("Conversation interrupted") {
                is_interrupted = true;
                continue;
            }
            match error_kind(said) {
                ErrorKind::Limit => {
                    is_limited = true;
                    let until = said.split_once("try again at ").map(|(_, until)| until);
                    reading.limited_until = until.map(|until| until.trim_end_matches('.').to_owned());
                }
                ErrorKind::Trouble(trouble) => reading.trouble = Some(trouble),
            }
        }
        let in_status = (start..self.first).find_map(|row| {
            let line = screen.row(row).trim_start().strip_prefix("Context window:")?;
            percent_before(line, line.find("% left")?)
        });
        let mut footer = (self.end..screen.lines().len()).map(|row| screen.row(row));
        let in_footer = || footer.find_map(|line| percent_before(line, line.find("% context left")?));
        reading.context_left = in_status.or_else(in_footer);
        let above = self.lines_above(screen);
        let is_titled_busy = screen.title().is_some_and(starts_with_braille);
        let has_shells = above.iter().any(|line| line.contains("/ps to view"));
        let status = above.iter().find_map(|line| status_words(line));
        // The prompt line, if only the title says it: a dialog takes its place.
        let line = status.or_else(|| is_titled_busy.then(|| screen.row(self.first)));
        reading.busy_line = line.map(busy_words);
        let state = if reading.is_busy() {
            ScreenState::Working
        } else if is_limited {
            ScreenState::Limited
        } else if is_interrupted {
            ScreenState::Interrupted
        } else if has_shells {
            ScreenState::Background
        } else {
            ScreenState::Idle
        };
        reading.state = Some(state);
        reading
    }

    /// The lines between the conversation and the prompt line: the status of the turn and what runs in the background.
    /// Below them there may be messages that wait for the turn's end. The last words of a model don't stand there: a line
    /// with the time comes after them.
    fn lines_above<'a>(&self, screen: &'a ScreenText) -> Vec<&'a str> {
        let mut lines = Vec::new();
        let mut end = self.first;
        while let Some(last) = (0..end).rev().find(|row| !screen.row(*row).is_empty()) {
            let first =
                (0..=last).rev().take_while(|row| !screen.row(*row).is_empty()).last().unwrap_or(last);
            let line = screen.row(first);
            if status_words(line).is_some() || line.starts_with("  ") && line.contains(" background terminal")
            {
                lines.push(line);
            } else if !line.starts_with("• Messages to be submitted") {
                break;
            }
            end = first;
        }
        lines
    }
}

/// The user's words in the conversation.
fn is_words(line: &str) -> bool {
    line.strip_prefix(MARK).is_some_and(|rest| rest.starts_with(' '))
}

/// What the line of a running turn says: `• Working (6s • esc to interrupt)`.
fn status_words(line: &str) -> Option<&str> {
    const KEY: &str = "• esc to interrupt)";
    let words = line.strip_prefix(['•', '◦'])?;
    words.find(KEY).map(|at| &words[..at + KEY.len()])
}

/// A dialog ends with a line about its keys, which stands where the footer would be.
fn read_dialog(screen: &ScreenText) -> Option<ScreenReading> {
    let last = screen.last_row()?;
    let lines: Vec<&str> = screen.lines()[..=last].iter().map(ScreenLine::text).collect();
    let keys = lines[last].trim().to_lowercase();
    let keys = keys.strip_prefix("press ").unwrap_or(&keys);
    if !lines[last].starts_with("  ") || !(keys.starts_with("enter ") || keys.starts_with("enter/")) {
        return None;
    }
    let list = find_choices(&lines[..last], &[MARK, '>'])?;
    // Only blank lines, and a sign that the list goes on, are between the choices and the keys.
    if lines[list.last_row + 1..last].iter().any(|line| !matches!(line.trim(), "" | "↓")) {
        return None;
    }
    let asks = (0..list.first_row).rev().find(|row| lines[*row].starts_with("  Would you like to "));
    let after_conversation = || {
        let said =
            (0..list.first_row).rev().find(|row| !lines[*row].is_empty() && !lines[*row].starts_with("  "));
        said.map_or(0, |row| row + 1)
    };
    let about = without_drawing(&lines[asks.unwrap_or_else(after_conversation)..list.first_row]);
    Some(waiting(dialog(about, list.choices, QuestionPlace::First, kind)))
}

/// Without the picture above the page on which one signs in.
fn without_drawing<'a, 'b>(about: &'b [&'a str]) -> &'b [&'a str] {
    let is_drawn = |line: &&str| line.trim().starts_with(|c| ('\u{2800}'..='\u{28ff}').contains(&c));
    about.iter().rposition(is_drawn).map_or(about, |row| &about[row + 1..])
}

fn kind(dialog: &Dialog) -> DialogKind {
    let asks_for_trust = is_titled(dialog, "Folder access", "Trust and continue")
        || is_titled(dialog, "Hooks need review", "Trust all");
    if asks_for_trust {
        DialogKind::Trust
    } else if is_titled(dialog, "Update available", "Update now") {
        DialogKind::Update
    } else if is_titled(dialog, "Welcome to Codex", "Sign in with ChatGPT") {
        DialogKind::Login
    } else if dialog.question.starts_with("Would you like to ") {
        DialogKind::Permission
    } else {
        DialogKind::Other
    }
}
