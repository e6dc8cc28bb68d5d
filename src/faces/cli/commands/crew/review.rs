//! `msg crew review`: lets a reviewer look at the work of a run or a task, or at commits.

use clap::Args;
use serde_json::{Map, Value};

use crate::domain::escape_invisible;
use crate::domain::runs::{ReviewOutcome, ReviewVerdict, Run, RunId};
use crate::faces::cli::commands::run::{
    DryRunReport, Following, RunFollower, RunReport, parse_budget, took, used,
};
use crate::faces::cli::output::{CommandOutput, Page, Report, Ui, style};
use crate::faces::json;
use crate::ops::crew::{
    CrewReview, ReviewJudgement, ReviewRequest, begun_review, judge_review, new_review, next_review_line,
    reviewed_work,
};
use crate::ops::runs::follow::FollowEnd;
use crate::ops::runs::start::{NewRun, dry_run, start};
use crate::ops::{CommandError, CommandErrorKind, Op};
use crate::store::ReviewedWork;
use crate::sys::clock;

/// Let a reviewer look at the work of a run or a task, or at commits
///
/// TARGET is the id of a run, a task (the last run for it that left work), or commits: `A..B`, a branch (what it has that
/// HEAD has not), or one commit. The reviewer is a worker that only reads. Its verdict (ship, rework or replan) and findings
/// are shown, and sent to the agent whose work it is. Ctrl-C stops it.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg crew review k3f9xa                             what this run did
  msg crew review TASK-03 --spec login.plan.md
  msg crew review main..HEAD --profile senior
  msg crew review HEAD --json | jq '.review.findings[] | {file, line, text}'
  msg crew review ravenry/crew-PLAN --dry-run        what the reviewer would be told
  msg crew review --run m2x7qa                       the verdict of a reviewer that was started before")]
pub(super) struct ReviewArgs {
    /// A run, a task, or commits
    #[arg(value_name = "TARGET", required_unless_present = "run")]
    target: Option<String>,
    /// TARGET is a task of this spec
    #[arg(long, value_name = "PATH", requires = "target")]
    spec: Option<String>,
    /// The profile of the reviewer, instead of `reviewer`; it has to be read-only
    #[arg(long, value_name = "PROFILE")]
    profile: Option<String>,
    /// What the reviewer may use at most: 2.50usd, 200ktok
    #[arg(long, value_name = "BUDGET")]
    budget: Option<String>,
    /// Take the verdict of this run, instead of starting a reviewer
    #[arg(long, value_name = "ID", conflicts_with_all = ["target", "profile", "budget", "dry_run"])]
    run: Option<String>,
    /// Only show what the reviewer would be told, and how it would be started
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(op: &Op, args: ReviewArgs, ui: &Ui) -> Result<CommandOutput, CommandError> {
    let follower = RunFollower::new(ui, Following::ToItsEnd)?;
    if let Some(id) = &args.run {
        return finish(op, &follower, begun_review(op, id)?);
    }
    let request = ReviewRequest {
        target: args.target.unwrap_or_default(),
        spec: args.spec,
        profile: args.profile,
        budget: parse_budget(args.budget.as_deref())?,
    };
    let new = new_review(op, &request)?;
    if args.dry_run {
        let report = DryRunReport(dry_run(op, &new)?);
        return Ok(ReviewDryRun { new, report }.into());
    }
    finish(op, &follower, start(op, new)?)
}

/// Follows a reviewer, which is asked once more if its answer has no verdict.
fn finish(op: &Op, follower: &RunFollower<'_>, mut run: Run) -> Result<CommandOutput, CommandError> {
    let mut runs: Vec<RunId> = Vec::new();
    loop {
        runs.push(run.id.clone());
        let ended = match follower.accompany(op, run)? {
            _ if follower.interrupt().is_requested() => {
                return Err(CommandError::new(CommandErrorKind::Interrupted, ""));
            }
            FollowEnd::GoesOn(run) => {
                let (work, next) = (reviewed_work(op, &run)?, next_review_line(op, &run.id));
                return Ok(ReviewGoesOn { run, work, next }.into());
            }
            FollowEnd::Ended(run) | FollowEnd::Stopped(run) => run,
        };
        match judge_review(op, &ended)? {
            ReviewJudgement::Again(new) => run = start(op, *new)?,
            ReviewJudgement::Over(review) => {
                let error = error_of(&review, &ended.id);
                let report = ReviewPage { review: *review, run: ended, runs };
                return Ok(CommandOutput { report: Some(Box::new(report)), error });
            }
        }
    }
}

fn error_of(review: &CrewReview, run: &RunId) -> Option<CommandError> {
    let what = title(&review.work);
    match &review.review.outcome {
        ReviewOutcome::Given(given) if given.verdict == ReviewVerdict::Ship => None,
        ReviewOutcome::Given(given) => {
            let verdict = given.verdict.name();
            let text = format!("the verdict on {what} is `{verdict}`");
            Some(CommandError::new(CommandErrorKind::NotShipped, text).fact("verdict", verdict))
        }
        ReviewOutcome::Pending { .. } => None,
        ReviewOutcome::Missing(why) => {
            let text = format!("there is no verdict on {what}: {}", escape_invisible(why));
            let hint = format!("`msg runs show {run}` shows what the reviewer said");
            Some(CommandError::new(CommandErrorKind::NoVerdict, text).hint(hint))
        }
    }
}

/// What was reviewed: `run k3f9xa`, `task T-1 (run k3f9xa)`, `main..topic`.
fn title(work: &ReviewedWork) -> String {
    let title = match (&work.run, &work.task) {
        (None, _) => work.named.clone(),
        (Some(run), Some(task)) => format!("task {task} (run {run})"),
        (Some(run), None) => format!("run {run}"),
    };
    escape_invisible(&title).into_owned()
}

/// How much it is: `3 commits, 5 files`.
fn extent(work: &ReviewedWork) -> String {
    let counted = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    };
    let files = counted(work.files, "file");
    match &work.run {
        Some(_) => files,
        None => format!("{}, {files}", counted(work.commits, "commit")),
    }
}

/// A review that is over.
struct ReviewPage {
    review: CrewReview,
    run: Run,
    /// The reviewers that were asked.
    runs: Vec<RunId>,
}

impl Report for ReviewPage {
    fn json(&self) -> Map<String, Value> {
        let CrewReview { work, review, told } = &self.review;
        let runs: Vec<String> = self.runs.iter().map(ToString::to_string).collect();
        Map::from_iter([
            ("reviewed".to_string(), json::crew::reviewed(work)),
            ("review".to_string(), json::run::review(review)),
            ("toldTo".to_string(), told.clone().into()),
            ("runs".to_string(), runs.into()),
        ])
    }

    fn text(&self, page: &mut Page) {
        let CrewReview { work, review, told } = &self.review;
        if page.is_quiet {
            return page.line(review.word());
        }
        let paint = match &review.outcome {
            ReviewOutcome::Given(given) if given.verdict == ReviewVerdict::Ship => style::good,
            _ => style::warn,
        };
        let word = match &review.outcome {
            ReviewOutcome::Missing(_) => "no verdict",
            _ => review.word(),
        };
        page.line(format!("Review of {} ({}): {}", style::bold(&title(work)), extent(work), paint(word)));
        for finding in review.findings() {
            page.line(format!("  {}", escape_invisible(&finding.sentence())));
        }
        let mut parts = vec![format!("{} {}", review.profile, self.run.id), took(&self.run, clock::now())];
        parts.extend(used(&self.run));
        page.line(style::dim(&format!("— {}", parts.join(" · "))));
        if !matches!(review.outcome, ReviewOutcome::Given(_)) {
            return;
        }
        page.line(style::dim(&match told {
            None => "  whether its author was told is not known".to_string(),
            Some(names) if names.is_empty() => {
                "  nobody was told: no live agent is known to have done it or asked for it".to_string()
            }
            Some(names) => format!("  told: {}", escape_invisible(&names.join(", "))),
        }));
    }
}

/// A reviewer that goes on, inside a harness.
struct ReviewGoesOn {
    run: Run,
    work: ReviewedWork,
    /// The line to type when it has ended.
    next: String,
}

impl Report for ReviewGoesOn {
    fn json(&self) -> Map<String, Value> {
        let mut members = RunReport(self.run.clone()).json();
        members.insert("reviewed".to_string(), json::crew::reviewed(&self.work));
        members.insert("next".to_string(), self.next.clone().into());
        members
    }

    fn text(&self, page: &mut Page) {
        RunReport(self.run.clone()).text(page);
        if !page.is_quiet {
            page.line(format!("When it has ended, this shows its verdict: {}", self.next));
        }
    }
}

/// What a reviewer would be told.
struct ReviewDryRun {
    new: NewRun,
    report: DryRunReport,
}

impl Report for ReviewDryRun {
    fn json(&self) -> Map<String, Value> {
        let mut members = self.report.json();
        let reviewed = self.new.order.reviewed.as_ref().map(json::crew::reviewed);
        members.insert("reviewed".to_string(), reviewed.into());
        members.insert("told".to_string(), self.new.task.clone().into());
        members
    }

    fn text(&self, page: &mut Page) {
        self.report.text_with_task(page, "reviewer", &self.new.task);
    }
}
