//! `msg runs --bill`: what runs cost.

use serde_json::{Map, Value, json};

use crate::domain::escape_invisible;
use crate::domain::runs::{Bill, BillSum, BilledTask};
use crate::faces::cli::output::{Page, Report, style};
use crate::faces::cli::table::{Table, TableCell};
use crate::faces::json::{self, bill::sum as sum_json};
use crate::ops::format_age;
use crate::ops::runs::bill::BilledRuns;
use crate::store::iso;
use crate::sys::clock;

pub(super) struct BillReport(pub(super) BilledRuns);

/// `$0.40 in 3 runs ($0.10 of it computed), 1 unknown`.
fn shown(sum: &BillSum) -> String {
    if sum.runs == 0 {
        return "nothing".to_string();
    }
    let runs = if sum.runs == 1 { "1 run".to_string() } else { format!("{} runs", sum.runs) };
    let Some(known) = sum.known() else { return format!("unknown in {runs}") };
    let computed = match (sum.computed_runs, sum.reported_runs) {
        (0, _) => String::new(),
        (_, 0) => ", computed".to_string(),
        _ => format!(", {} of it computed", sum.computed),
    };
    let unknown = match sum.unknown_runs {
        0 => String::new(),
        1 => ", and 1 run whose cost is unknown".to_string(),
        more => format!(", and {more} runs whose cost is unknown"),
    };
    let counted = match sum.runs - sum.unknown_runs {
        1 => "1 run".to_string(),
        more => format!("{more} runs"),
    };
    format!("{known} in {counted}{computed}{unknown}")
}

impl Report for BillReport {
    fn json(&self) -> Map<String, Value> {
        let Bill { tasks, outcomes, harnesses, all, reviewers, rework, lost } = &self.0.bill;
        let task = |task: &BilledTask| {
            json!({
                "task": task.title,
                "profile": task.profile,
                "harness": task.harness,
                "outcome": task.outcome.name(),
                "runs": task.attempts.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "all": sum_json(&task.bill.all()),
                "builders": sum_json(&task.bill.builders),
                "reviewers": sum_json(&task.bill.reviewers),
                "rework": sum_json(&task.rework),
                "lost": sum_json(&task.lost),
            })
        };
        let outcomes: Map<String, Value> =
            outcomes.iter().map(|(name, sum)| ((*name).to_string(), sum_json(sum))).collect();
        let harnesses: Map<String, Value> =
            harnesses.iter().map(|(name, sum)| (name.clone(), sum_json(sum))).collect();
        let bill = json!({
            "tasks": tasks.iter().map(task).collect::<Vec<_>>(),
            "outcomes": outcomes,
            "harnesses": harnesses,
            "all": sum_json(all),
            "reviewers": sum_json(reviewers),
            "rework": sum_json(rework),
            "lost": sum_json(lost),
            "ledgerSince": self.0.ledger_since.map(iso),
        });
        let runs = self.0.runs.iter().map(json::run::run).collect();
        Map::from_iter([("bill".to_string(), bill), ("runs".to_string(), runs)])
    }

    fn text(&self, page: &mut Page) {
        let bill = &self.0.bill;
        if page.is_quiet {
            let known = bill.all.known().map_or_else(|| "unknown".to_string(), |known| known.to_string());
            return page.line(known);
        }
        if bill.all.runs == 0 {
            return page.nothing("No runs to bill.", "`msg run PROFILE TASK` starts one.");
        }
        let mut table = Table::default();
        let has_reviews = bill.reviewers.runs > 0;
        let mut head = vec!["task", "profile", "harness", "outcome", "cost", "again", "lost"];
        head.extend(has_reviews.then_some("reviews"));
        table.row(head.into_iter().map(|name| TableCell::styled(name, style::dim)).collect());
        let part = |sum: &BillSum| if sum.runs == 0 { String::new() } else { shown(sum) };
        for task in &bill.tasks {
            let mut cells = vec![
                escape_invisible(&task.title).to_string(),
                escape_invisible(&task.profile).to_string(),
                task.harness.clone().unwrap_or_else(|| "command".to_string()),
                task.outcome.name().replace('_', " "),
                shown(&task.bill.all()),
                part(&task.rework),
                part(&task.lost),
            ];
            cells.extend(has_reviews.then(|| part(&task.bill.reviewers)));
            table.row(cells.iter().map(|text| TableCell::plain(text)).collect());
        }
        table.lines().into_iter().for_each(|line| page.line(line));
        let mut sums = Table::default();
        let mut row = |group: &str, name: &str, sum: &BillSum| {
            let cells = [group, name, &shown(sum)];
            sums.row(cells.iter().map(|text| TableCell::plain(text)).collect());
        };
        for (name, sum) in &bill.outcomes {
            row("outcome", &name.replace('_', " "), sum);
        }
        for (name, sum) in &bill.harnesses {
            row("harness", &escape_invisible(name), sum);
        }
        if has_reviews {
            row("sum", "reviews", &bill.reviewers);
        }
        for (name, sum) in [("again", &bill.rework), ("lost", &bill.lost), ("all", &bill.all)] {
            row("sum", name, sum);
        }
        page.line("");
        sums.lines().into_iter().for_each(|line| page.line(line));
        if let Some(since) = self.0.ledger_since.filter(|_| !self.0.has_older) {
            let age = format_age(since, clock::now());
            page.line("");
            page.line(style::dim(&format!(
                "The first of these was {age} ago: older runs are not in the ledger."
            )));
        }
    }
}
