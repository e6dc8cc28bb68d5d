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
/// Shows what failed, then what to watch, and counts what is fine; `-v` shows every check. Exit code 4 if a check failed.
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
    let report = DoctorReport { checks, is_one_agent: args.wake.is_some() };
    Ok(CommandOutput { report: Some(Box::new(report)), error })
}

struct DoctorReport {
    checks: Vec<HealthCheck>,
    /// Only whether mail would wake an agent: that is shown, whatever the answer is.
    is_one_agent: bool,
}

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
        Map::from_iter([("checks".to_string(), self.checks.iter().map(check).collect())])
    }

    /// Failures first, then warnings, then what was repaired. The other checks are one line, unless `-v` is given.
    fn text(&self, page: &mut Page) {
        let mut checks: Vec<&HealthCheck> = self.checks.iter().collect();
        checks.sort_by_key(|check| match check.state {
            CheckState::Fail => 0,
            CheckState::Warn => 1,
            CheckState::Ok => 2,
        });
        let is_shown = |check: &HealthCheck| {
            let is_wanted = page.is_verbose || self.is_one_agent || check.is_repaired;
            check.state != CheckState::Ok || (is_wanted && !page.is_quiet)
        };
        let (shown, folded): (Vec<_>, Vec<_>) = checks.into_iter().partition(|check| is_shown(check));
        let mut table = Table::default();
        shown.iter().for_each(|check| add_check(&mut table, check));
        table.lines().into_iter().for_each(|line| page.line(line));
        if page.is_quiet {
            return;
        }
        if !folded.is_empty() {
            page.line(fold(folded.len(), self.checks.len()));
        }
        if !shown.is_empty() && !self.is_one_agent {
            page.line(self.summary());
        }
    }
}

/// The check, and below it what to do.
fn add_check(table: &mut Table, check: &HealthCheck) {
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

/// The line for checks that are fine and not shown.
fn fold(folded: usize, all: usize) -> String {
    let (are, them) = if folded == 1 { ("is", "it") } else { ("are", "them") };
    let subject = match (folded == all, folded) {
        (true, 1) => "The only check".to_string(),
        (true, _) => format!("All {folded} checks"),
        (false, 1) => "1 check".to_string(),
        (false, _) => format!("{folded} checks"),
    };
    format!("{subject} {are} fine: `msg doctor -v` lists {them}")
}

impl DoctorReport {
    /// For example `In all: 1 failed, 2 warnings, 14 fine.`
    fn summary(&self) -> String {
        let count = |state| self.checks.iter().filter(|check| check.state == state).count();
        let (failed, warned, fine) =
            (count(CheckState::Fail), count(CheckState::Warn), count(CheckState::Ok));
        if failed + warned == 0 {
            return format!("Nothing failed: {fine} fine.");
        }
        let warnings = format!("{warned} warning{}", if warned == 1 { "" } else { "s" });
        let parts =
            [(failed, format!("{failed} failed")), (warned, warnings), (fine, format!("{fine} fine"))];
        let parts: Vec<String> =
            parts.into_iter().filter(|(number, _)| *number > 0).map(|(_, text)| text).collect();
        format!("In all: {}.", parts.join(", "))
    }
}
