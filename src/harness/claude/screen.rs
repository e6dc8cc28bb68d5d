//! The screen of Claude Code.

use crate::domain::screens::{
    Dialog, DialogKind, PromptLine, ScreenLine, ScreenReading, ScreenState, ScreenText,
};
use crate::harness::screen::{PasteCounts, ScreenReader, between, is_shown_as_typed};
use crate::harness::screen_parts::{
    ErrorKind, PromptRules, QuestionPlace, busy_words, dialog, error_kind, find_choices, is_rule, is_titled,
    page, paragraph, percent_before, waiting,
};

pub(super) struct ClaudeScreen;

/// Its prompt line begins with this and a no-break space. The user's words in the conversation have an ordinary space.
const MARK: &str = "❯\u{a0}";
/// The same for a shell command, and for a note.
const OTHER_MARKS: [&str; 2] = ["!\u{a0}", "#\u{a0}"];
const PLACEHOLDERS: [&str; 2] = ["Press up to edit queued messages", "Try \""];
const SPINNER: [char; 6] = ['·', '✢', '*', '✶', '✻', '✽'];
const INTERRUPTED: &str = "Interrupted · What should Claude do instead?";
/// After a limit, it says this by itself.
const GOES_ON_LATER: &str = "Usage limit reached";
/// More lines than the longest list of shortcuts below the prompt line.
const MOST_FOOTER: usize = 12;

impl ScreenReader for ClaudeScreen {
    fn recorded(&self) -> &'static [&'static str] {
        &["2.1.325"]
    }

    fn read(&self, screen: &ScreenText) -> ScreenReading {
        match PromptBox::find(screen) {
            Some(found) => found.read(screen),
            None => read_dialog(screen).unwrap_or_default(),
        }
    }

    /// `[Pasted text #1 +5 lines]` counts line feeds; one long line is `[Pasted text #2]`.
    fn is_our_paste(&self, draft: &str, text: &str) -> bool {
        let counts = PasteCounts::of(text);
        is_shown_as_typed(draft, text)
            || between(draft, "[Pasted text #", "]").is_some_and(|inside| match inside.split_once(" +") {
                Some((_, lines)) => {
                    lines.split_once(' ').is_some_and(|(count, _)| counts.has_line_feeds(count))
                }
                None => inside.parse::<u32>().is_ok() && counts.has_line_feeds("0"),
            })
    }

    fn starts_session_at_launch(&self) -> bool {
        true
    }
}

/// The prompt line, between two rules.
struct PromptBox(PromptRules);

impl PromptBox {
    fn find(screen: &ScreenText) -> Option<Self> {
        let rules = PromptRules::find(screen, MOST_FOOTER)?;
        let first = rules.first_row(screen);
        let is_prompt = first.starts_with(MARK) || OTHER_MARKS.iter().any(|mark| first.starts_with(mark));
        is_prompt.then_some(Self(rules))
    }

    fn read(&self, screen: &ScreenText) -> ScreenReading {
        let PromptRules { top, bottom } = self.0;
        let is_words = |row: &usize| screen.row(*row).starts_with("❯ ");
        let start = (0..top).rev().find(is_words).unwrap_or(0);
        let footer = || (bottom + 1..screen.lines().len()).map(|row| screen.row(row).trim());
        let mut reading = ScreenReading { prompt: self.prompt(screen), ..ScreenReading::default() };
        reading.context_left = footer().chain([screen.row(top.saturating_sub(1))]).find_map(|line| {
            let (_, left) = line.split_once("Context left until auto-compact: ")?;
            percent_before(left, left.find('%')?)
        });

        let mut is_limited = false;
        let mut is_interrupted = false;
        for row in start..top {
            let Some((words, is_error)) = notice(screen, row) else { continue };
            is_interrupted |= words == INTERRUPTED && !screen.row(row).starts_with('●');
            if is_error {
                match error_kind(&words) {
                    ErrorKind::Limit => {
                        is_limited = true;
                        reading.limited_until = reading.limited_until.or_else(|| until(&words));
                    }
                    ErrorKind::Trouble(trouble) => reading.trouble = Some(trouble),
                }
            } else if screen.row(row).starts_with("● ") && !words.starts_with(GOES_ON_LATER) {
                // It has gone on since, for example when a limit was over.
                (is_limited, reading.limited_until, reading.trouble) = (false, None, None);
            }
        }
        if let Some(words) = footer().find(|line| line.starts_with("⚠ Usage limit reached")) {
            is_limited = true;
            reading.limited_until = reading.limited_until.or_else(|| until(words));
        }
        let spinner = || (start..top).find_map(|row| spinner_words(screen.row(row)));
        reading.busy_line = footer().find_map(key_that_interrupts).or_else(spinner).map(busy_words);
        let state = if reading.is_busy() {
            ScreenState::Working
        } else if is_limited {
            ScreenState::Limited
        } else if is_interrupted {
            ScreenState::Interrupted
        } else if footer().any(|line| line.split('·').any(is_background)) {
            ScreenState::Background
        } else {
            ScreenState::Idle
        };
        reading.state = Some(state);
        reading
    }

    fn prompt(&self, screen: &ScreenText) -> PromptLine {
        let first = self.0.first_row(screen);
        match first.starts_with(MARK) {
            true => self.0.prompt(screen, &PLACEHOLDERS),
            false => PromptLine::Draft(first.replace('\u{a0}', " ").trim_end().to_owned()),
        }
    }
}

/// The words of a line of the footer, up to those that say which key ends the turn.
fn key_that_interrupts(line: &str) -> Option<&str> {
    const KEY: &str = "esc to interrupt";
    line.find(KEY).map(|at| &line[..at + KEY.len()])
}

/// What the line of a running turn says that does not change: the `Churning…` of `✻ Churning… (4s · ↓ 25 tokens)`. A line
/// like `✻ Churned for 13s` is not one.
fn spinner_words(line: &str) -> Option<&str> {
    const RETRIES: &str = "· Retrying in ";
    let words = line.strip_prefix(SPINNER)?.strip_prefix(' ')?;
    let doing = words.find('…').map(|at| &words[..at + '…'.len_utf8()]);
    let doing = doing.filter(|doing| !doing.contains(" for ") && !doing.contains('·'));
    doing.or_else(|| words.find(RETRIES).map(|at| &words[..at + RETRIES.len()]))
}

/// What the program itself says in the conversation, and whether that is an error. Errors are in a colour, so a model's
/// words about an error do not count.
fn notice(screen: &ScreenText, row: usize) -> Option<(String, bool)> {
    const ERRORS: [&str; 6] = [
        "You've hit your",
        "API Error",
        "Invalid API key",
        "Not logged in",
        "Credit balance",
        "Please run /login",
    ];
    let text = screen.row(row);
    let start = if text.starts_with("● ") {
        2
    } else if text.trim_start_matches(' ').starts_with('⎿') {
        text.chars().position(|c| c == '⎿')? + 1
    } else {
        return None;
    };
    let part = screen.lines()[row].columns(start..usize::MAX);
    let mut words = part.text().trim().replace('’', "'");
    let is_error = ERRORS.iter().any(|mark| words.starts_with(mark));
    let is_drawn_so = !screen.has_attributes() || part.is_coloured();
    if is_error {
        words = paragraph(screen, row).trim_start_matches(['●', '⎿', ' ', '\u{a0}']).to_owned();
    }
    Some((words, is_error && is_drawn_so))
}

/// Until when a limit lasts: `… · resets 1am (UTC)`.
fn until(words: &str) -> Option<String> {
    let (_, until) = words.split_once("resets ")?;
    Some(until.split(" · ").next().unwrap_or(until).trim().to_owned())
}

/// Whether a part of the footer counts what runs beside the conversation: `1 shell`.
fn is_background(part: &str) -> bool {
    let mut words = part.split_whitespace();
    let is_counted = words.next().is_some_and(|word| word.parse::<u32>().is_ok());
    let what = words.next().unwrap_or_default();
    is_counted
        && ["shell", "task", "agent", "monitor", "bash"].iter().any(|it| what.trim_end_matches('s') == *it)
}

/// A dialog stands below a rule, and where the prompt line would be.
fn read_dialog(screen: &ScreenText) -> Option<ScreenReading> {
    let last = screen.last_row()?;
    let lines: Vec<&str> = screen.lines()[..=last].iter().map(ScreenLine::text).collect();
    let is_edge = |row: &usize| {
        let line = lines[*row].trim();
        is_rule(line, '─') || is_rule(line, '▔')
    };
    let has_footer = lines[last].contains("Esc to cancel") || lines[last].trim().starts_with("Enter to ");
    if let Some(list) = find_choices(&lines, &['❯']) {
        let edge = (0..list.first_row).rev().find(is_edge);
        // The rule above a long dialog may have scrolled away, but its keys are there then. No rule is below the choices.
        let is_last = !(list.last_row..last).any(|row| is_edge(&row));
        if is_last && (has_footer || edge.is_some() && list.last_row == last) {
            let about = &lines[edge.map_or(0, |row| row + 1)..list.first_row];
            return Some(waiting(dialog(about, list.choices, QuestionPlace::Last, kind)));
        }
    }
    let edge = (0..last).rev().find(|row| is_rule(lines[*row], '▔'))?;
    lines[edge + 1..].iter().find(|line| !line.trim().is_empty()).map(|title| page(title))
}

fn kind(dialog: &Dialog) -> DialogKind {
    let title = dialog.about.first().map_or("", String::as_str);
    let asks = |words: &&str| dialog.question.starts_with(words);
    if is_titled(dialog, "Accessing workspace:", "Yes, I trust this folder") {
        DialogKind::Trust
    } else if title.starts_with("Detected a custom API key") {
        DialogKind::Login
    } else if title.starts_with(['☐', '☒', '←']) {
        DialogKind::Question
    } else if ["Do you want", "Would you like", "Exit plan mode"].iter().any(asks) {
        DialogKind::Permission
    } else {
        DialogKind::Other
    }
}
