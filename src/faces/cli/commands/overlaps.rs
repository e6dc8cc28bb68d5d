//! `msg overlaps`: shows who may collide with whom, and what became of earlier predictions.

use std::collections::BTreeSet;

use clap::{Args, Subcommand};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::domain::awareness::PredictionEnd;
use crate::domain::awareness::worktree_conflict::SideChange;
use crate::domain::{AgentName, escape_invisible};
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::faces::cli::table::{Table, TableCell};
use crate::faces::json;
use crate::ops::awareness::overlaps::{self, AccuracyReport, OpenConflict, OverlapReport, OverlapScope};
use crate::ops::{CommandError, Op, format_age};
use crate::store::Prediction;
use crate::sys::clock;

/// Show who may collide with whom in this repository
///
/// A forecast says how likely it is that an agent's last prompt leads it to a file in which another one is. Agents are
/// told of likely ones at their prompt (the setting `awareness`). What agents have in common explains, and interrupts
/// nobody.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  msg overlaps
  msg overlaps --all
  msg overlaps --accuracy
  msg overlaps dismiss 1c2d3e4f
  msg overlaps --json | jq '.overlaps[] | select(.confidence > 0.5)'"
)]
pub(in crate::faces::cli) struct OverlapsArgs {
    #[command(subcommand)]
    action: Option<OverlapsAction>,
    /// Also unlikely ones, and what became of earlier predictions
    #[arg(long)]
    all: bool,
    /// How often predictions came true here
    #[arg(long, conflicts_with = "all")]
    accuracy: bool,
}

#[derive(Debug, Subcommand)]
enum OverlapsAction {
    /// End a prediction that is of no interest
    Dismiss {
        /// Its id, as `msg overlaps` shows it
        id: String,
    },
}

pub(super) fn run(op: &Op, args: OverlapsArgs) -> Result<CommandOutput, CommandError> {
    if let Some(OverlapsAction::Dismiss { id }) = args.action {
        return Ok(DismissReport(overlaps::dismiss(op, &id)?).into());
    }
    if args.accuracy {
        return Ok(Accuracy(overlaps::accuracy(op)?).into());
    }
    let scope = if args.all { OverlapScope::All } else { OverlapScope::Open };
    Ok(Overlaps(overlaps::overlaps(op, scope)?).into())
}

/// `src/auth/login.rs: Alice (lines 10–12, 20), Robin (removed)`.
fn conflict_line(one: &OpenConflict) -> String {
    let side = |(agent, change): &(AgentName, SideChange)| format!("{agent} ({})", change.describe());
    let sides: Vec<String> = one.sides.iter().map(side).collect();
    format!("{}: {}", escape_invisible(&one.file), sides.join(", "))
}

fn percent(probability: f64) -> String {
    format!("{:.0} %", probability * 100.0)
}

struct Overlaps(OverlapReport);

impl Overlaps {
    /// Who may collide with whom, each only once: `Alice Robin`.
    fn pairs(&self) -> BTreeSet<String> {
        let pair = |names: &mut dyn Iterator<Item = &AgentName>| {
            let names: BTreeSet<&str> = names.map(AgentName::as_str).collect();
            names.into_iter().collect::<Vec<_>>().join(" ")
        };
        let likely = self.0.overlaps.iter().map(|one| pair(&mut one.agents.iter()));
        let conflicts =
            self.0.conflicts.iter().map(|one| pair(&mut one.sides.iter().map(|(agent, _)| agent)));
        likely.chain(conflicts).collect()
    }
}

impl Report for Overlaps {
    fn json(&self) -> Map<String, Value> {
        Map::from_iter([
            ("overlaps".to_string(), json::overlap::overlaps(&self.0)),
            ("predictions".to_string(), self.0.predictions.iter().map(json::overlap::prediction).collect()),
            ("threshold".to_string(), json!(self.0.threshold)),
        ])
    }

    fn text(&self, page: &mut Page) {
        if page.is_quiet {
            return self.pairs().into_iter().for_each(|pair| page.line(pair));
        }
        let mut table = Table::default();
        for one in &self.0.overlaps {
            let [agent, with] = &one.agents;
            table.row(vec![
                TableCell::styled(&percent(one.probability), style::bold),
                TableCell::plain(&one.pair()),
                TableCell::plain(&escape_invisible(one.file.as_deref().unwrap_or("no file in particular"))),
                TableCell::plain(one.why.as_deref().unwrap_or_default()),
            ]);
            for signal in &one.signals {
                table.row(vec![
                    TableCell::plain(""),
                    TableCell::plain(&format!("{agent}, {with}")),
                    TableCell::plain(&escape_invisible(&signal.describe())),
                ]);
            }
        }
        let lines = table.lines();
        if lines.is_empty() {
            page.nothing(
                "Nobody seems to be heading for another's files.",
                "`msg topics` shows what each agent works on.",
            );
        }
        lines.into_iter().for_each(|line| page.line(line));
        if !self.0.conflicts.is_empty() {
            page.line("");
            page.line(style::dim("Can't be merged, in different worktrees:"));
            self.0.conflicts.iter().for_each(|one| page.line(conflict_line(one)));
        }
        if self.0.predictions.is_empty() {
            return;
        }
        page.line("");
        page.line(style::dim("Told:"));
        let mut table = Table::default();
        for one in &self.0.predictions {
            table.row(told_row(one));
        }
        table.lines().into_iter().for_each(|line| page.line(line));
    }
}

fn told_row(one: &Prediction) -> Vec<TableCell> {
    let age = Timestamp::from_millisecond(one.at)
        .map_or_else(|_| String::new(), |at| format!("{} ago", format_age(at, clock::now())));
    vec![
        TableCell::plain(&one.id),
        TableCell::plain(&age),
        TableCell::plain(&format!("{} → {}", one.name, one.with_name)),
        TableCell::plain(&escape_invisible(&one.file)),
        TableCell::plain(one.end.map_or("open", |(end, _)| end.describe())),
    ]
}

struct Accuracy(AccuracyReport);

impl Report for Accuracy {
    fn json(&self) -> Map<String, Value> {
        let report = &self.0;
        let bin = |(low, told, right): &(f64, usize, usize)| json!({ "from": low, "told": told, "cameTrue": right });
        let key = |end: PredictionEnd| match end {
            PredictionEnd::FalseAlarm => "falseAlarm",
            other => other.name(),
        };
        let ends: Map<String, Value> =
            report.ends.iter().map(|(end, count)| (key(*end).to_string(), json!(count))).collect();
        let accuracy = json!({
            "ends": ends,
            "open": report.open,
            "precision": report.precision,
            "calibration": report.calibration.iter().map(bin).collect::<Vec<_>>(),
            "thresholds": report.thresholds,
        });
        Map::from_iter([("accuracy".to_string(), accuracy)])
    }

    fn text(&self, page: &mut Page) {
        let report = &self.0;
        let told: usize = report.open + report.ends.iter().map(|(_, count)| count).sum::<usize>();
        if told == 0 {
            return page.nothing(
                "Nobody was told of a collision in this repository yet.",
                "`msg overlaps --all` also shows unlikely ones.",
            );
        }
        let counts: Vec<String> = report
            .ends
            .iter()
            .filter(|(_, count)| *count > 0)
            .map(|(end, count)| format!("{count} {}", end.describe()))
            .chain((report.open > 0).then(|| format!("{} open", report.open)))
            .collect();
        page.line(format!("{told} told: {}", counts.join(", ")));
        if let Some(precision) = report.precision {
            page.line(format!("{} of those that happened or were false alarms happened", percent(precision)));
        }
        for (low, told, right) in &report.calibration {
            page.line(format!(
                "  said {} to {}: {right} of {told} happened",
                percent(*low),
                percent(low + 0.1)
            ));
        }
        let thresholds: Vec<String> = report.thresholds.iter().map(|at| percent(*at)).collect();
        page.line(format!("an agent is told from {}", thresholds.join(" → ")));
    }

    fn is_answer(&self) -> bool {
        false
    }
}

struct DismissReport(Prediction);

impl Report for DismissReport {
    fn json(&self) -> Map<String, Value> {
        Map::from_iter([("prediction".to_string(), json::overlap::prediction(&self.0))])
    }

    fn text(&self, page: &mut Page) {
        let one = &self.0;
        let file = escape_invisible(&one.file);
        page.line(format!(
            "Dismissed: {} → {} in {file}. It counts as neither right nor wrong.",
            one.name, one.with_name
        ));
    }

    fn is_answer(&self) -> bool {
        false
    }
}
