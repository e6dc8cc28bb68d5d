//! `msg down`: the orderly end of what goes on in this project.

use clap::Args;
use serde_json::{Map, Value};

use crate::domain::escape_invisible;
use crate::faces::cli::output::{CommandOutput, Page, Report, Ui};
use crate::faces::json;
use crate::ops::screens::down::{DownReport, down};
use crate::ops::{CommandError, Op};
use crate::sys::files::FileError;
use crate::sys::signals::StopRequest;

/// End the runs of this project in order, and close its tmux session
///
/// No new runs are started meanwhile. Each worker is told to wrap up and has 30 seconds; its end is recorded, and its
/// work is saved. Then the tmux session is closed, unless this command or workers of another mesh run in it. If runs have not
/// ended after 75 seconds, it gives up.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg down
  msg down --json | jq '.runs[].state'")]
pub(in crate::faces::cli) struct DownArgs {}

pub(super) fn run(op: &Op, _args: DownArgs, ui: &Ui) -> Result<CommandOutput, CommandError> {
    // Whatever ends this command, runs may start again.
    let stop = StopRequest::listen_with_hangup().map_err(FileError::from)?;
    Ok(EndReport(down(op, &stop, &mut |step| ui.note(&escape_invisible(step)))?).into())
}

struct EndReport(DownReport);

impl Report for EndReport {
    fn json(&self) -> Map<String, Value> {
        let DownReport { runs, closed, left } = &self.0;
        Map::from_iter([
            ("sessions".to_string(), closed.clone().into()),
            ("left".to_string(), left.first().cloned().into()),
            ("runs".to_string(), runs.iter().map(json::run::run).collect()),
        ])
    }

    fn text(&self, page: &mut Page) {
        if !page.is_quiet {
            let count = self.0.runs.len();
            let runs = if count == 1 { "1 run".to_string() } else { format!("{count} runs") };
            page.line(format!("Ended {runs}."));
        }
    }
}
