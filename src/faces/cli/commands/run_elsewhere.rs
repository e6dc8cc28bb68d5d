//! `msg run … --on MACHINE`: asks another machine of a linked mesh to start the worker.

use serde_json::{Map, Value, json};

use crate::domain::runs::Run;
use crate::domain::{escape_invisible, quote_code};
use crate::faces::cli::output::{Page, Report, style};
use crate::ops::runs::elsewhere::asking::{PlannedAsk, ask, plan_ask};
use crate::ops::runs::plan::RunRequest;
use crate::ops::{CommandError, Op};

/// The request, checked here.
pub(super) fn planned(op: &Op, request: &RunRequest, machine: &str) -> Result<PlannedAsk, CommandError> {
    plan_ask(op, request, machine)
}

/// Asks, and returns the run as it is known here.
pub(super) fn asked(op: &Op, planned: PlannedAsk) -> Result<Run, CommandError> {
    ask(op, planned)
}

/// What would be asked, for `--dry-run`.
pub(super) fn report(planned: PlannedAsk) -> AskReport {
    AskReport(planned)
}

/// What would be asked.
pub(super) struct AskReport(PlannedAsk);

impl Report for AskReport {
    fn json(&self) -> Map<String, Value> {
        let PlannedAsk { machine, ask, uncommitted, .. } = &self.0;
        Map::from_iter([
            ("dryRun".to_string(), true.into()),
            ("machine".to_string(), machine.as_str().into()),
            ("profile".to_string(), ask.profile.clone().into()),
            ("repository".to_string(), ask.repository.as_str().into()),
            ("commit".to_string(), ask.commit.clone().into()),
            ("uncommitted".to_string(), json!(uncommitted)),
            ("reserve".to_string(), json!(ask.reserve)),
        ])
    }

    fn text(&self, page: &mut Page) {
        let PlannedAsk { machine, ask, uncommitted, .. } = &self.0;
        page.line(format!("{machine} would be asked to start {}", quote_code(&ask.profile)));
        if page.is_quiet {
            return;
        }
        let line = |page: &mut Page, name: &str, text: &str| {
            page.line(format!("  {name:<12} {}", escape_invisible(text)));
        };
        line(page, "at", &ask.commit);
        line(page, "in", "a worktree of its own there");
        if *uncommitted > 0 {
            line(page, "without", &format!("{uncommitted} files that are not committed here"));
        }
        if !ask.reserve.is_empty() {
            line(page, "reserves", &ask.reserve.join(", "));
        }
        page.line(style::dim(&format!(
            "{machine} applies its own profile, permission, gates and budget. It was not asked now."
        )));
    }
}
