//! `msg doctor`: checks the mesh and repairs what is safe to repair.

use clap::Args;
use serde_json::{Map, Value, json};

use crate::domain::{AgentName, escape_invisible};
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::faces::cli::table::{Table, TableCell};
use crate::ops::doctor::{self, CheckState, DoctorMode, HealthCheck};
use crate::ops::{CommandError, Op};

/// Check the mesh, and repair what is safe to repair
///
/// Shows what failed and what to watch; `-v` shows every check. Exit code 4 if a check failed.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg doctor
  msg doctor --repair    bury who is gone, remove stale locks and temporary files
  msg doctor --wake Bob  would mail wake Bob? asks what waits at its side, and costs no turn")]
pub(in crate::faces::cli) struct DoctorArgs {
    /// Repair what can be repaired without risk
    #[arg(long)]
    repair: bool,
    /// Only test whether mail would wake this agent
    #[arg(long, value_name = "NAME", conflicts_with = "repair")]
    wake: Option<String>,
}

pub(super) fn run(
    op: &Op,
    errors: Vec<CommandError>,
    args: &DoctorArgs,
) -> Result<CommandOutput, CommandError> {
    let checks = match &args.wake {
        Some(name) => {
            errors.into_iter().next().map_or(Ok(()), Err)?;
            doctor::try_to_wake(op, &AgentName::new(name.as_str())?)?
        }
        None if args.repair => doctor::doctor(op, errors, DoctorMode::Repair),
        None => doctor::doctor(op, errors, DoctorMode::CheckOnly),
    };
    let error = doctor::failed_checks_error(&checks);
    Ok(CommandOutput { report: Some(Box::new(DoctorReport(checks))), error })
}

struct DoctorReport(Vec<HealthCheck>);

impl Report for DoctorReport {
    fn json(&self) -> Map<String, Value> {
        let check = |check: &HealthCheck| {
            json!({
                "name": check.name,
                "state": check.state.name(),
                "message": check.message,
                "fix": check.fix,
            })
        };
        Map::from_iter([("checks".to_string(), self.0.iter().map(check).collect())])
    }

    /// Failed checks come first. Passed checks are only counted, unless `-v` is given.
    fn text(&self, page: &mut Page) {
        let mut checks: Vec<&HealthCheck> = self.0.iter().collect();
        checks.sort_by_key(|check| match check.state {
            CheckState::Fail => 0,
            CheckState::Warn => 1,
            CheckState::Ok => 2,
        });
        let is_shown = |check: &&HealthCheck| {
            check.state != CheckState::Ok || (!page.is_quiet && (page.is_verbose || check.is_repaired))
        };
        let mut table = Table::default();
        for check in checks.into_iter().filter(is_shown) {
            let paint = match check.state {
                CheckState::Ok => style::good,
                CheckState::Warn => style::warn,
                CheckState::Fail => style::bad,
            };
            table.row(vec![
                TableCell::styled(check.state.name(), paint),
                TableCell::styled(check.name, style::bold),
                TableCell::plain(&escape_invisible(&check.message)),
            ]);
            if let Some(fix) = &check.fix {
                table.row(vec![
                    TableCell::plain(""),
                    TableCell::plain(""),
                    TableCell::styled(&format!("→ {}", escape_invisible(fix)), style::dim),
                ]);
            }
        }
        table.lines().into_iter().for_each(|line| page.line(line));
        if !page.is_quiet {
            page.line(self.summary());
        }
    }
}

impl DoctorReport {
    /// For example `All 18 checks passed.`, or how many passed and failed.
    fn summary(&self) -> String {
        let count = |state| self.0.iter().filter(|check| check.state == state).count();
        let counted =
            |number: usize, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
        let (ok, warned, failed) = (count(CheckState::Ok), count(CheckState::Warn), count(CheckState::Fail));
        if warned + failed == 0 {
            return format!("All {} passed.", counted(ok, "check"));
        }
        let rest = [(failed, format!("{failed} failed")), (warned, counted(warned, "warning"))];
        let rest: Vec<String> =
            rest.into_iter().filter(|(number, _)| *number > 0).map(|(_, text)| text).collect();
        format!("{} passed, {}.", counted(ok, "check"), rest.join(", "))
    }
}
