//! `msg runs show`: one run in full.

use serde_json::{Map, Value};

use crate::domain::escape_invisible;
use crate::domain::link::{BranchPush, on_machine};
use crate::domain::runs::{Cost, EarlierRun, GrantKind, Granter, Run, RunDialog, RunQuestion};
use crate::faces::cli::output::{Page, Report, style};
use crate::ops::format_age;
use crate::ops::runs::grants::amount_text;
use crate::ops::runs::tell::{AnswerChoice, answer_command};
use crate::sys::clock;

use super::run::{RunReport, took, used};

/// One run in full.
pub(super) struct RunPage(pub(super) Run);

impl Report for RunPage {
    fn json(&self) -> Map<String, Value> {
        RunReport(self.0.clone()).json()
    }

    fn text(&self, page: &mut Page) {
        let run = &self.0;
        if page.is_quiet {
            return page.line(run.state.name());
        }
        page.line(format!("{} {}", style::bold(run.id.as_str()), run.outcome()));
        let line = |page: &mut Page, name: &str, text: Option<String>| {
            if let Some(text) = text {
                page.line(format!("  {name:<10} {}", escape_invisible(&text)));
            }
        };
        let program = match (&run.harness, &run.version) {
            (Some(harness), Some(version)) => Some(format!("{harness} {version}")),
            (harness, _) => harness.clone(),
        };
        line(page, "why", run.reason.clone());
        line(page, "profile", Some(run.profile.clone()));
        line(page, "harness", program);
        line(page, "model", run.model.clone());
        line(page, "worker", run.agent.as_ref().map(ToString::to_string));
        line(page, "parent", Some(parent_text(run)));
        if let Some(place) = &run.elsewhere {
            let there = place.there.as_ref().filter(|there| **there != run.id);
            let there = there.map_or_else(String::new, |there| format!(", run {there} there"));
            line(page, "machine", Some(format!("{}{there}", place.machine)));
        }
        let earlier = run.earlier.as_ref().map(|earlier| match earlier {
            EarlierRun::Retried(id) => ("retries", id.to_string()),
            EarlierRun::Resumed(id) => ("resumes", id.to_string()),
        });
        if let Some((name, id)) = earlier {
            line(page, name, Some(id));
        }
        line(page, "reviews", run.reviews.as_ref().map(|id| format!("run {id}")));
        let place = if run.elsewhere.is_some() { "asked in" } else { "in" };
        line(page, place, Some(run.root.clone()));
        line(page, "for", run.project.clone());
        line(page, "reserves", (!run.reserve.is_empty()).then(|| run.reserve.join(", ")));
        let claim = run.claim.as_ref().map(|claim| {
            let number = claim.number.map_or_else(String::new, |number| format!(", claim number {number}"));
            format!("{} of {}{number}", claim.task, claim.spec)
        });
        line(page, "claims", claim);
        line(page, "branch", run.branch.clone());
        line(page, "pushed", run.elsewhere.as_ref().and_then(|place| place.push.as_ref()).map(push_text));
        line(page, "changed", run.changed.as_deref().and_then(changed_text));
        line(page, "saved", Some(run.saved.join(", ")).filter(|saved| !saved.is_empty()));
        line(page, "session", run.session.as_ref().map(ToString::to_string));
        line(page, "started", run.started_at.map(|at| format!("{} ago", format_age(at, clock::now()))));
        line(page, "took", run.started_at.map(|_| took(run, clock::now())));
        let tmux = run.pane.as_ref().map(|pane| format!("{} ({}), at {}", pane.place, pane.id, pane.socket));
        line(page, "tmux", tmux);
        line(page, "asks", run.question.as_ref().map(RunQuestion::line));
        line(page, "shows", run.dialog.as_ref().map(RunDialog::line));
        line(page, "choices", run.dialog.as_ref().map(|dialog| dialog.choices.join(", ")));
        line(page, "answer", run.dialog.as_ref().map(|dialog| dialog.answer_command(&run.id)));
        let answer = |question| answer_command(run, question, AnswerChoice::Allow);
        line(page, "answer", run.question.as_ref().map(answer));
        line(page, "doing", run.doing.clone());
        let outside = Some(run.outside.join(", ")).filter(|outside| !outside.is_empty());
        line(
            page,
            "outside",
            outside.map(|files| format!("changed while it worked, by it or by others: {files}")),
        );
        line(page, "used", Some(used(run).join(", ")).filter(|used| !used.is_empty()));
        let cost = match run.cost {
            Cost::Unknown => {
                "unknown: it was not reported, and there is no price to compute it from".to_string()
            }
            Cost::Computed(amount) => format!("{amount}, computed from the setting `prices`"),
            Cost::Reported(amount) => format!("{amount}, as reported"),
        };
        line(page, "cost", Some(cost).filter(|_| run.state.is_final()));
        line(page, "granted", granted_text(run));
        if let Some(review) = &run.review {
            line(page, "review", Some(review.summary()));
            review.findings().iter().for_each(|finding| line(page, "", Some(finding.sentence())));
        }
        page.line("");
        page.line(style::dim("Task:"));
        page.foreign_text(run.task.trim_end());
        if let Some(result) = run.result.as_deref().filter(|result| !result.is_empty()) {
            page.line("");
            page.line(style::dim("Result:"));
            page.foreign_text(result);
        }
    }
}

/// Who asked for it: `Anna`, `a person on laptop`.
fn parent_text(run: &Run) -> String {
    match &run.asked_by {
        Some(asker) => {
            on_machine(asker.agent.as_ref().map_or("a person", |agent| agent.as_str()), Some(&asker.machine))
        }
        None => run.parent.agent.as_ref().map_or_else(|| "a person".to_string(), ToString::to_string),
    }
}

/// Where its branch is.
fn push_text(push: &BranchPush) -> String {
    match &push.problem {
        None => format!("to {}", push.remote),
        Some(problem) => format!("not to {}: {problem}", push.remote),
    }
}

/// What it was granted, and by whom: `0.50usd by run k3f9xa`.
fn granted_text(run: &Run) -> Option<String> {
    let part = |kind: GrantKind| {
        let by = match run.grant.by(kind) {
            Some(Granter::Run(id)) => format!(" by run {id}"),
            Some(Granter::Budget(_)) => " by the budget that a person set".to_string(),
            None => String::new(),
        };
        let share = run.grant.of(kind)?;
        let also = if share.also.is_some() { " and by the budget that a person set" } else { "" };
        Some(format!("{}{by}{also}", amount_text(kind, share.amount)))
    };
    let parts: Vec<String> = GrantKind::ALL.into_iter().filter_map(part).collect();
    Some(parts.join(", ")).filter(|text| !text.is_empty())
}

/// The first of the changed files, and how many there are.
pub(super) fn changed_text(changed: &[String]) -> Option<String> {
    const SHOWN: usize = 8;
    let shown = changed.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match changed.len() {
        0 => Some("no file".to_string()),
        count if count > SHOWN => Some(format!("{shown} and {} more", count - SHOWN)),
        _ => Some(shown),
    }
}
