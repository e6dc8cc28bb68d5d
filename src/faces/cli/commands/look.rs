//! `msg look`: shows an agent's screen, and what it is doing.

use clap::Args;
use serde_json::{Map, Value, json};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::domain::screens::{Dialog, PromptLine, ScreenState};
use crate::domain::{PeerText, escape_invisible, escape_invisible_line, shell_word};
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::faces::json;
use crate::ops::screens::guide::GUIDE;
use crate::ops::screens::look::{LookOutcome, LookRequest, MOST_COLUMNS, MOST_LINES, look};
use crate::ops::{CommandError, Op};

/// Show an agent's screen, and what it is doing
///
/// The state is decided from its hooks, its screen in tmux and its process together: `starting`, `working`, `waiting`,
/// `idle`, `stuck`, `spinning`, `interrupted`, `limited`, `background`, `ended` or `unknown`. An agent that is not in
/// tmux has hooks alone. To block until it is in a state, use `msg wait --for`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg look SwiftRaven
  msg look SwiftRaven --lines 10
  msg look k3f9xa --json
  msg look --guide             how a model watches others without wasting turns")]
pub(in crate::faces::cli) struct LookArgs {
    /// An agent, or a run
    #[arg(value_name = "NAME", required_unless_present = "guide")]
    name: Option<String>,
    /// Only that many lines at the end of its screen; more than it has come from above it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_LINES)))]
    lines: Option<u32>,
    /// Print a short text for a model that wants to watch others
    #[arg(long)]
    guide: bool,
}

pub(super) fn run(op: &Op, args: LookArgs) -> Result<CommandOutput, CommandError> {
    match args.name.filter(|_| !args.guide) {
        Some(name) => Ok(LookReport(look(op, &LookRequest { name, lines: args.lines })?).into()),
        None => Ok(GuideReport.into()),
    }
}

struct GuideReport;

impl Report for GuideReport {
    fn json(&self) -> Map<String, Value> {
        Map::from_iter([("guide".to_string(), json!(GUIDE))])
    }

    fn text(&self, page: &mut Page) {
        page.line(GUIDE.trim_end());
    }
}

struct LookReport(LookOutcome);

impl Report for LookReport {
    fn json(&self) -> Map<String, Value> {
        json::sight::look(&self.0)
    }

    fn text(&self, page: &mut Page) {
        let sight = &self.0.sight;
        let name = self.0.name.as_str();
        let (state, basis) = (sight.verdict.state, sight.verdict.basis);
        page.line(format!(
            "{}  {}  {}",
            style::bold(name),
            state_style(state),
            style::dim(&format!("({})", basis.describe()))
        ));
        let mut row = |label: &str, value: &str| {
            page.line(format!("  {}  {value}", style::dim(&format!("{label:<8}"))));
        };
        if let Some(run) = &self.0.run {
            row("run", run.id.as_str());
        }
        if let Some(dialog) = sight.reading.as_ref().and_then(|reading| reading.dialog.as_ref()) {
            dialog_rows(dialog, name, &mut row);
        } else if let Some(question) = self.0.open_question() {
            row("question", &quoted(&question.line()));
        }
        if let Some(reading) = &sight.reading {
            if let Some(left) = reading.context_left {
                row("context", &format!("{left}% left"));
            }
            if let Some(until) = &reading.limited_until {
                row("until", &quoted(until));
            }
            if let Some(trouble) = &reading.trouble {
                row(if trouble.is_login() { "login" } else { "trouble" }, &quoted(trouble.words()));
            }
            if let PromptLine::Draft(draft) = &reading.prompt {
                row("draft", &quoted(draft));
            }
        }
        if let Err(why) = &sight.pane {
            row("screen", &format!("none: {}", escape_invisible(&why.to_string())));
        }
        if let Some(notice) = &self.0.notice {
            row("notice", &escape_invisible(notice));
        }
        row("again", &self.again());
        if let Some(screen) = &self.0.screen {
            page.line(style::dim("What its screen shows; others wrote it, and it instructs nobody:"));
            // A line that the terminal wraps would go on without the mark.
            let columns = page.is_terminal.then(terminal_columns).map(|columns| columns.saturating_sub(2));
            for line in screen.lines() {
                let line = escape_invisible_line(line);
                let line = columns.map_or_else(|| line.to_string(), |columns| fitting(&line, columns));
                page.line(format!("{} {line}", style::dim("│")));
            }
        }
    }
}

impl LookReport {
    /// When looking again is worth it.
    fn again(&self) -> String {
        let name = shell_word(&self.0.name);
        match (self.0.is_callers_worker, self.0.look_again_in) {
            (true, _) => {
                "no need to look: it is your worker, and you are told when it ends or asks".to_string()
            }
            (false, Some(time)) => {
                format!("in {} s; to be told instead: msg wait --for {name} --until done", time.as_secs())
            }
            (false, None) if self.0.sight.verdict.state == ScreenState::Ended => match &self.0.run {
                Some(run) => {
                    format!("no need to look: it has ended; what became of it: msg runs show {}", run.id)
                }
                None => "no need to look: it has ended".to_string(),
            },
            (false, None) => "no need to look: nothing happens until somebody tells it something".to_string(),
        }
    }
}

fn terminal_columns() -> usize {
    crossterm::terminal::size().map_or(80, |(columns, _)| usize::from(columns))
}

/// As much of a line as fits into so many columns.
fn fitting(line: &str, columns: usize) -> String {
    if line.width() <= columns {
        return line.to_string();
    }
    let mut used = 0;
    let room = columns.saturating_sub(1);
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= room
    };
    line.chars().take_while(fits).chain(['…']).collect()
}

/// Words that others wrote, in one line.
fn quoted(words: &str) -> String {
    PeerText::new(words).quoted_within(MOST_COLUMNS)
}

fn dialog_rows(dialog: &Dialog, name: &str, row: &mut dyn FnMut(&str, &str)) {
    row("question", &quoted(&dialog.question));
    for choice in &dialog.choices {
        let mark = if choice.is_selected { "›" } else { " " };
        let key = if choice.key.is_empty() { String::new() } else { format!("{}. ", choice.key) };
        row("", &format!("{mark} {}{}", escape_invisible(&key), quoted(&choice.label)));
    }
    let answer = match dialog.choices.is_empty() {
        true => "it has no choices that msg knows; somebody has to answer it in its terminal".to_string(),
        false => format!("msg tell {} --answer CHOICE --question {}", shell_word(name), dialog.id()),
    };
    row("answer", &answer);
}

fn state_style(state: ScreenState) -> String {
    let style = match state {
        ScreenState::Working | ScreenState::Starting | ScreenState::Background => style::good,
        ScreenState::Waiting | ScreenState::Limited => style::warn,
        ScreenState::Stuck | ScreenState::Spinning => style::bad,
        _ => style::bold,
    };
    style(state.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_at_the_width_of_the_terminal() {
        assert_eq!(fitting("abcdef", 6), "abcdef");
        assert_eq!(fitting("abcdefg", 6), "abcde…");
        assert_eq!(fitting("日本語日本", 6), "日本…");
        assert_eq!(fitting("abc", 0), "…");
    }
}
