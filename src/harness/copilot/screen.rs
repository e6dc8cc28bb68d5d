//! The screen of Copilot CLI.

use crate::domain::screens::{
    Dialog, DialogChoice, DialogKind, PromptLine, ScreenKey, ScreenLine, ScreenReading, ScreenState,
    ScreenText,
};
use crate::harness::screen::{PasteCounts, ScreenReader, between, is_shown_as_typed};
use crate::harness::screen_parts::{
    ErrorKind, PromptRules, QuestionPlace, busy_words, dialog, error_kind, find_choices, last_box, page,
    waiting,
};

pub(super) struct CopilotScreen;

/// What its lines about tool calls begin with.
const TOOLS: [&str; 12] =
    ["Shell", "Bash", "Edit", "Create", "Write", "Read", "View", "Search", "Grep", "Glob", "Fetch", "Task"];
/// The lines below the prompt line.
const MOST_FOOTER: usize = 2;
const SPINNER: [char; 4] = ['○', '◎', '◉', '●'];

impl ScreenReader for CopilotScreen {
    fn recorded(&self) -> &'static [&'static str] {
        &["1.0.102"]
    }

    fn read(&self, screen: &ScreenText) -> ScreenReading {
        match PromptBox::find(screen) {
            Some(found) => found.read(screen),
            None => read_dialog(screen).or_else(|| read_page(screen)).unwrap_or_default(),
        }
    }

    /// A long text becomes a file: `[Saved pasted content to workspace (58.6 KB) id=1]`.
    fn is_our_paste(&self, draft: &str, text: &str) -> bool {
        is_shown_as_typed(draft, text)
            || between(draft, "[Saved pasted content to workspace (", "]").is_some_and(|inside| {
                let size = inside.split(')').next().unwrap_or_default();
                let bytes = PasteCounts::of(text).bytes;
                [bytes, bytes.saturating_sub(1)].iter().any(|bytes| size == size_in_words(*bytes))
            })
    }

    fn interrupt_keys(&self) -> &'static [ScreenKey] {
        &[ScreenKey::Escape, ScreenKey::Escape]
    }

    fn starts_session_at_launch(&self) -> bool {
        false
    }
}

fn size_in_words(bytes: usize) -> String {
    const KB: usize = 1024;
    // In tenths, rounded.
    let tenths = |unit: usize| (bytes * 10 + unit / 2) / unit;
    if bytes < KB * KB {
        format!("{}.{} KB", tenths(KB) / 10, tenths(KB) % 10)
    } else {
        format!("{}.{} MB", tenths(KB * KB) / 10, tenths(KB * KB) % 10)
    }
}

/// The prompt line between two rules, with one line below. The user's words in the conversation are indented.
struct PromptBox(PromptRules);

impl PromptBox {
    fn find(screen: &ScreenText) -> Option<Self> {
        let rules = PromptRules::find(screen, MOST_FOOTER)?;
        rules.first_row(screen).starts_with(['❯', '!']).then_some(Self(rules))
    }

    fn prompt(&self, screen: &ScreenText) -> PromptLine {
        match self.0.first_row(screen).starts_with('!') {
            true => PromptLine::Draft("!".to_owned()),
            false => self.0.prompt(screen, &[]),
        }
    }

    fn read(&self, screen: &ScreenText) -> ScreenReading {
        let mut reading = ScreenReading { prompt: self.prompt(screen), ..ScreenReading::default() };
        let PromptRules { top, bottom } = self.0;
        let is_words = |row: &usize| screen.row(*row).starts_with(" ❯ ");
        let start = (0..top).rev().find(is_words).unwrap_or(0);
        let mut is_limited = false;
        let mut is_interrupted = false;
        let mut error = None;
        for row in start..top {
            // At the right there may be a scroll bar.
            let line = screen.row(row).trim_end_matches(['┃', ' ']);
            is_interrupted |= line == " ● Operation cancelled by user";
            match line.strip_prefix(" ✗ ").filter(|said| !is_tool_call(said)) {
                Some(said) => error = Some(said),
                // It has gone on since.
                None if is_paragraph(line) => error = None,
                None => {}
            }
        }
        match error.map(error_kind) {
            Some(ErrorKind::Limit) => is_limited = true,
            Some(ErrorKind::Trouble(trouble)) => reading.trouble = Some(trouble),
            None => {}
        }
        let footer = screen.row(bottom + 1).trim_start();
        let status = footer.strip_prefix(SPINNER).map(str::trim_start);
        let is_turn = |words: &str| words.contains(" esc esc ") || words.contains(" esc again to ");
        let status = status.filter(|words| is_turn(words));
        let is_background = |words: &&str| words.starts_with("Waiting for background");
        reading.busy_line = status.filter(|words| !is_background(words)).map(busy_words);
        let state = match status {
            Some(_) if reading.is_busy() => ScreenState::Working,
            Some(_) => ScreenState::Background,
            None if is_limited => ScreenState::Limited,
            None if is_interrupted => ScreenState::Interrupted,
            None => ScreenState::Idle,
        };
        reading.state = Some(state);
        reading
    }
}

/// Whether that is a tool call that failed. It has the sign of an error, but the turn goes on, and its title is the
/// model's.
fn is_tool_call(said: &str) -> bool {
    let name = said.split(' ').next().unwrap_or_default();
    said.contains("Operation aborted") || TOOLS.contains(&name)
}

/// Whether something new begins in this line of the conversation. The last line is the working directory.
fn is_paragraph(line: &str) -> bool {
    line.strip_prefix(' ').is_some_and(|rest| !rest.is_empty() && !rest.starts_with([' ', '/', '~']))
}

/// A dialog is a box where the prompt line would be, with a line about its keys.
fn read_dialog(screen: &ScreenText) -> Option<ScreenReading> {
    let lines: Vec<&str> = screen.lines().iter().map(ScreenLine::text).collect();
    let inside = last_box(&lines)?;
    let keys = inside.iter().rposition(|line| line.contains("enter to select"))?;
    let list = find_choices(&inside[..keys], &['❯'])?;
    Some(waiting(dialog(&inside[..list.first_row], list.choices, QuestionPlace::Last, kind)))
}

/// A page that takes the whole screen: its last line says how to leave it.
fn read_page(screen: &ScreenText) -> Option<ScreenReading> {
    let last = screen.row(screen.last_row()?);
    let is_page = last.contains("esc close") || last.contains("enter to select · esc to cancel");
    let title = screen.lines().iter().find(|line| !line.is_blank()).filter(|_| is_page)?;
    Some(page(title.text().trim_end_matches(['┃', ' '])))
}

/// What stands above the question is the model's, so only the question counts.
fn kind(dialog: &Dialog) -> DialogKind {
    let remembers = |choice: &DialogChoice| choice.label.starts_with("Yes, and remember this folder");
    if dialog.question == "Do you trust the files in this folder?" && dialog.choices.iter().any(remembers) {
        DialogKind::Trust
    } else if dialog.question.starts_with("Do you want ") {
        DialogKind::Permission
    } else {
        DialogKind::Other
    }
}
