//! `msg runs --follow`: a table that is drawn again on a terminal, a line for each change elsewhere.

use std::collections::HashMap;

use anstream::ColorChoice;
use anstream::adapter::strip_str;

use crate::domain::escape_invisible;
use crate::domain::runs::{Run, RunId, RunState};
use crate::faces::cli::output::{CommandOutput, Ui, style};
use crate::faces::json;
use crate::ops::runs::follow_all::follow_all;
use crate::ops::runs::list::RunScope;
use crate::ops::{CommandError, CommandErrorKind, HandoverOutcome, Op, WatchEnd};
use crate::sys::clock;
use crate::sys::files::FileError;
use crate::sys::signals::StopRequest;

use super::run::used;

/// Goes to the first column of the first row. Long lines are cut, not wrapped.
const HOME: &str = "\x1b[H\x1b[?7l";
/// Removes the rest of a line, and of the screen.
const REST_OF_LINE: &str = "\x1b[K";
const REST_OF_SCREEN: &str = "\x1b[J";
const CLEAR: &str = "\x1b[2J";
const WRAP_AGAIN: &str = "\x1b[?7h";

/// `table` draws the runs.
pub(super) fn run(
    op: &Op,
    scope: RunScope,
    ui: &Ui,
    table: impl Fn(&[Run]) -> String,
) -> Result<CommandOutput, CommandError> {
    let stop = StopRequest::listen().map_err(FileError::from)?;
    let is_drawn = ui.is_terminal() && !ui.is_json();
    let mut changes = RunChanges::default();
    if is_drawn {
        ui.pass_on(CLEAR.as_bytes());
    }
    let end = follow_all(op, scope, &stop, |runs| {
        let warnings = op.take_warnings();
        if is_drawn {
            return draw(ui, &table(runs), &warnings);
        }
        warnings.iter().for_each(|warning| ui.note(warning));
        let lines: String = changes.of(runs).into_iter().map(|run| line(ui, run)).collect();
        if lines.is_empty() { HandoverOutcome::Delivered } else { ui.say(&lines) }
    });
    if is_drawn {
        ui.pass_on(WRAP_AGAIN.as_bytes());
    }
    Ok(CommandOutput::said(match end? {
        WatchEnd::Closed => None,
        WatchEnd::Stopped => Some(CommandError::new(CommandErrorKind::Interrupted, "")),
    }))
}

/// Draws the table over the one before.
fn draw(ui: &Ui, styled: &str, warnings: &[String]) -> HandoverOutcome {
    let height = crossterm::terminal::size().map_or(24, |(_, height)| usize::from(height));
    let table = match ui.color() {
        ColorChoice::Never => strip_str(styled).to_string(),
        _ => styled.to_string(),
    };
    let warnings = warnings.iter().map(|warning| escape_invisible(warning).into_owned());
    let lines: Vec<String> = table.lines().map(str::to_string).chain(warnings).collect();
    let shown: Vec<String> =
        lines.into_iter().take(height.saturating_sub(1).max(1)).map(|line| line + REST_OF_LINE).collect();
    let lines = format!("{HOME}{}\r\n{REST_OF_SCREEN}", shown.join("\r\n"));
    ui.pass_on(lines.as_bytes())
}

/// What was told of each run.
#[derive(Debug, Default)]
struct RunChanges {
    told: HashMap<RunId, RunState>,
    has_begun: bool,
}

impl RunChanges {
    /// The runs whose state has changed, the oldest first. At first, those that go on.
    fn of<'a>(&mut self, runs: &'a [Run]) -> Vec<&'a Run> {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let mut changed = Vec::new();
        for run in runs.iter().rev() {
            let is_new = self.told.insert(run.id.clone(), run.state) != Some(run.state);
            if is_new && !(is_first && run.state.is_final()) {
                changed.push(run);
            }
        }
        changed
    }
}

fn line(ui: &Ui, run: &Run) -> String {
    if ui.is_json() {
        return format!("{}\n", json::run::run(run));
    }
    let mut parts = vec![
        style::bold(run.id.as_str()),
        run.outcome(),
        escape_invisible(&run.profile).into_owned(),
        escape_invisible(&run.title(60)).into_owned(),
    ];
    if run.state.is_final() || run.state == RunState::Waiting {
        parts.extend(run.remark().map(|remark| escape_invisible(&remark).into_owned()));
    }
    if run.state.is_final() {
        parts.push(run.took(clock::now()));
        parts.extend(used(run));
    }
    format!("{}\n", parts.join(" · "))
}
