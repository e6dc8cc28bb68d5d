use clap::Args;
use serde_json::{Map, Value, json};

use crate::domain::{AgentName, visible};
use crate::faces::cli::output::{Outcome, Page, Report, style};
use crate::faces::cli::table::{Cell, Table};
use crate::ops::doctor::{self, Check, State};
use crate::ops::{CommandError, Globals};

/// What is wrong with the mesh, and mend what is safe to mend
///
/// Exit code 4 if something is wrong that needs you.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg doctor
  msg doctor --repair    bury who is gone, remove stale locks and temporary files
  msg doctor --wake Bob  would mail wake Bob? asks what waits at its side, and costs no turn")]
pub(in crate::faces::cli) struct DoctorArgs {
    /// Mend what can be mended without a risk
    #[arg(long)]
    repair: bool,
    /// Only try whether mail would wake this agent
    #[arg(long, value_name = "NAME", conflicts_with = "repair")]
    wake: Option<String>,
}

pub(super) fn run(globals: &Globals, args: &DoctorArgs) -> Result<Outcome, CommandError> {
    let checks = match &args.wake {
        Some(name) => doctor::try_to_wake(globals, &AgentName::new(name.as_str())?)?,
        None => doctor::doctor(globals, args.repair)?,
    };
    let error = doctor::verdict(&checks);
    Ok(Outcome { report: Some(Box::new(DoctorReport(checks))), error })
}

struct DoctorReport(Vec<Check>);

impl Report for DoctorReport {
    fn json(&self) -> Map<String, Value> {
        let check = |check: &Check| {
            json!({
                "name": check.name,
                "state": check.state.name(),
                "message": check.message,
                "fix": check.fix,
            })
        };
        Map::from_iter([("checks".to_string(), self.0.iter().map(check).collect())])
    }

    fn text(&self, page: &mut Page) {
        let mut table = Table::default();
        for check in self.0.iter().filter(|check| !page.quiet || check.state != State::Ok) {
            let paint = match check.state {
                State::Ok => style::good,
                State::Warn => style::warn,
                State::Fail => style::bad,
            };
            table.row(vec![
                Cell::styled(check.state.name(), paint),
                Cell::styled(check.name, style::bold),
                Cell::plain(&visible(&check.message)),
            ]);
            if let Some(fix) = &check.fix {
                table.row(vec![
                    Cell::plain(""),
                    Cell::plain(""),
                    Cell::styled(&format!("→ {}", visible(fix)), style::dim),
                ]);
            }
        }
        table.lines().into_iter().for_each(|line| page.line(line));
    }
}
