//! `msg runs`: the ledger of runs, and what can be done with one.

use std::ffi::OsString;

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use crate::domain::runs::{Run, RunState};
use crate::domain::{escape_invisible, shell_word};
use crate::faces::cli::output::{CommandOutput, Page, Report, Ui, style};
use crate::faces::cli::table::{Table, TableCell};
use crate::faces::json;
use crate::ops::runs::again::{ResumedRuns, resume, resume_all, retry};
use crate::ops::runs::bill::bill;
use crate::ops::runs::diff::diff;
use crate::ops::runs::discard::{discard, task_in_work};
use crate::ops::runs::elsewhere::listing::{all_runs, find_anywhere};
use crate::ops::runs::follow::{FollowGoal, follow};
use crate::ops::runs::gc::{GcMode, gc};
use crate::ops::runs::list::{RunScope, find};
use crate::ops::runs::log::{WorkerLog, log};
use crate::ops::runs::merge::{MergeTarget, merge};
use crate::ops::runs::open::{OpenedSession, open};
use crate::ops::runs::pr::{PullRequestMode, pull_request};
use crate::ops::runs::stop::stop;
use crate::ops::tasks::GivenAwayTask;
use crate::ops::{self, CommandError, CommandErrorKind, Op, format_age, is_inside_harness};
use crate::store::StopUrgency;
use crate::sys::files::FileError;
use crate::sys::signals::StopRequest;
use crate::sys::{clock, program};

use super::bill::BillReport;
use super::run::{Following, RunFollower, RunReport, took, used};
use super::run_page::RunPage;
use super::run_progress::ProgressLine;
use super::runs_follow;
use super::runs_work::{DiffReport, DiffView, GcReport, confirm_discard};

/// List runs of workers, and look at one
///
/// Those that need you come first: a question that is open, or a run that did not get done.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  msg runs
  msg runs --follow
  msg runs --all --json | jq '.runs[] | select(.state == \"failed\")'
  msg runs --bill --since 7d
  msg runs show k3f9xa
  msg runs log k3f9xa
  msg runs stop k3f9xa --now
  msg runs retry k3f9xa
  msg runs resume k3f9xa 'Use the second one'
  msg runs resume --all
  msg runs open k3f9xa
  msg runs diff k3f9xa --stat
  msg runs merge k3f9xa --verify 'cargo test'
  msg runs gc --dry-run"
)]
pub(in crate::faces::cli) struct RunsArgs {
    #[command(subcommand)]
    action: Option<RunsAction>,
    /// Also those that ended long ago
    #[arg(long)]
    all: bool,
    /// What they cost, by task, outcome and harness, with what was lost and done again
    #[arg(long, conflicts_with = "follow")]
    bill: bool,
    /// With --bill: only runs of the last 90m, 8h, 7d
    #[arg(long, value_name = "TIME", requires = "bill", allow_negative_numbers = true)]
    since: Option<String>,
    /// Go on showing them until Ctrl-C, which ends only this command
    #[arg(long)]
    follow: bool,
}

#[derive(Debug, Subcommand)]
enum RunsAction {
    /// Show one run in full
    Show {
        /// Its id, or the beginning of it
        id: String,
        /// Wait for its end
        #[arg(long)]
        follow: bool,
    },
    /// Show what its worker printed
    Log {
        /// Its id, or the beginning of it
        id: String,
        /// Its standard error instead
        #[arg(long)]
        errors: bool,
    },
    /// Start a new run with the same task and profile
    Retry {
        /// Its id, or the beginning of it
        id: String,
        /// Return at once; the end comes as mail
        #[arg(long)]
        detach: bool,
    },
    /// Continue its session with a new run
    Resume {
        /// Its id, or the beginning of it
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        id: Option<String>,
        /// What the worker is told; without it, to go on
        #[arg(value_name = "TEXT")]
        text: Option<String>,
        /// Every run that was interrupted, for example by a restart of the machine
        #[arg(long)]
        all: bool,
        /// Return at once; the end comes as mail
        #[arg(long)]
        detach: bool,
    },
    /// Continue its session yourself, in its harness
    Open {
        /// Its id, or the beginning of it
        id: String,
        /// Only print the command
        #[arg(long)]
        print: bool,
    },
    /// Stop it: its worker is told to wrap up, and ended after 30 seconds
    Stop {
        /// Its id, or the beginning of it
        id: String,
        /// End the worker at once
        #[arg(long)]
        now: bool,
    },
    /// Show what it changed in its worktree
    Diff {
        /// Its id, or the beginning of it
        id: String,
        /// Only the files, and how many lines of each
        #[arg(long)]
        stat: bool,
    },
    /// Bring its work into your tree, as uncommitted changes
    Merge {
        /// Its id, or the beginning of it
        id: String,
        /// Commit it on the branch that is checked out; the tree must be clean
        #[arg(long)]
        commit: bool,
        /// First run this in a directory with the merged files; if it fails, nothing is merged
        #[arg(long, value_name = "COMMAND")]
        verify: Option<String>,
        /// Merge it although another agent has claimed its task since; needs a person
        #[arg(long)]
        given_away: bool,
    },
    /// Print the commands that push its branch and open a pull request
    Pr {
        /// Its id, or the beginning of it
        id: String,
        /// Run them
        #[arg(long)]
        push: bool,
        /// Do so although another agent has claimed its task since; needs a person
        #[arg(long)]
        given_away: bool,
    },
    /// Give up its work: its branch and its worktree
    Discard {
        /// Its id, or the beginning of it
        id: String,
        /// Don't ask at a terminal
        #[arg(long)]
        yes: bool,
    },
    /// Save work of interrupted runs, remove worktrees and branches that nobody needs, and say why
    Gc {
        /// Only say what would be done
        #[arg(long)]
        dry_run: bool,
    },
}

pub(super) fn run(op: &Op, args: RunsArgs, ui: &Ui) -> Result<CommandOutput, CommandError> {
    match args.action {
        None if args.bill => {
            let since = args.since.as_deref().map(|text| ops::parse_duration(text, "--since")).transpose()?;
            Ok(BillReport(bill(op, since)?).into())
        }
        None => {
            let scope = if args.all { RunScope::All } else { RunScope::Recent };
            if args.follow {
                return runs_follow::run(op, scope, ui, |runs| ui.rendered(&RunList(runs.to_vec())));
            }
            Ok(RunList(all_runs(op, scope)?).into())
        }
        Some(RunsAction::Show { id, follow: false }) => Ok(RunPage(find_anywhere(op, &id)?).into()),
        Some(RunsAction::Show { id, follow: true }) => {
            let run = find_anywhere(op, &id)?;
            let stop = StopRequest::listen_to_interrupt().map_err(FileError::from)?;
            let mut line = ProgressLine::new(ui);
            follow(op, &run.id, (FollowGoal::End, None), &stop, |run| line.show(run))?;
            line.end();
            Ok(RunPage(find_anywhere(op, run.id.as_str())?).into())
        }
        Some(RunsAction::Log { id, errors }) => {
            let which = if errors { WorkerLog::Errors } else { WorkerLog::Output };
            Ok(LogReport(log(op, &id, which)?).into())
        }
        Some(RunsAction::Retry { id, detach }) => {
            let following = if detach { Following::Detached } else { Following::ToItsEnd };
            let follower = RunFollower::new(ui, following)?;
            follower.follow(op, retry(op, &id)?)
        }
        Some(RunsAction::Resume { id: Some(id), text, detach, .. }) => {
            let following = if detach { Following::Detached } else { Following::ToItsEnd };
            let follower = RunFollower::new(ui, following)?;
            follower.follow(op, resume(op, &id, text.as_deref())?)
        }
        Some(RunsAction::Resume { id: None, .. }) => Ok(ResumedReport(resume_all(op)?).into()),
        Some(RunsAction::Open { id, print }) => {
            let opened = open(op, &id)?;
            let may_become = !print && ui.is_with_person() && !is_inside_harness();
            if may_become {
                // Returns only if that fails.
                let error = program::become_program(&opened.program, &opened.args, &opened.dir);
                let text = format!("`{}` could not be started: {error}", opened.program.display());
                return Err(CommandError::new(CommandErrorKind::Io, text));
            }
            Ok(OpenReport(opened).into())
        }
        Some(RunsAction::Stop { id, now }) => {
            let urgency = if now { StopUrgency::Now } else { StopUrgency::WrapUp };
            Ok(StopReport(stop(op, &id, urgency)?, urgency).into())
        }
        Some(RunsAction::Diff { id, stat }) => {
            let view = if stat { DiffView::Files } else { DiffView::Text };
            Ok(DiffReport { diff: diff(op, &id)?, view }.into())
        }
        Some(RunsAction::Merge { id, commit, verify, given_away }) => {
            let target = if commit { MergeTarget::Commit } else { MergeTarget::WorkTree };
            let given_away = if given_away { GivenAwayTask::Accept } else { GivenAwayTask::Refuse };
            Ok(merge(op, &id, target, verify.as_deref(), given_away)?.into())
        }
        Some(RunsAction::Pr { id, push, given_away }) => {
            let mode = if push { PullRequestMode::Push } else { PullRequestMode::Print };
            let given_away = if given_away { GivenAwayTask::Accept } else { GivenAwayTask::Refuse };
            Ok(pull_request(op, &id, mode, given_away)?.into())
        }
        Some(RunsAction::Discard { id, yes }) => {
            if !yes && ui.is_with_person() && !is_inside_harness() {
                let run = find(op, &id)?;
                confirm_discard(&run, task_in_work(op, &run)?.as_ref(), ui)?;
            }
            Ok(discard(op, &id)?.into())
        }
        Some(RunsAction::Gc { dry_run }) => {
            let mode = if dry_run { GcMode::DryRun } else { GcMode::Do };
            Ok(GcReport { steps: gc(op, mode)?, mode }.into())
        }
    }
}

/// A run that was told to stop, as it was.
struct StopReport(Run, StopUrgency);

impl Report for StopReport {
    fn json(&self) -> Map<String, Value> {
        RunReport(self.0.clone()).json()
    }

    fn text(&self, page: &mut Page) {
        let id = self.0.id.as_str();
        if page.is_quiet {
            return page.line(id);
        }
        let how = match (self.1, self.0.state) {
            (_, RunState::Queued) => "",
            (StopUrgency::Now, _) => ": its worker is ended now",
            (StopUrgency::WrapUp, _) => ": a worker that is in a turn has 30 seconds to wrap up",
        };
        if let Some(place) = &self.0.elsewhere {
            page.line(format!("{} is told to stop run {}{how}.", place.machine, style::bold(id)));
            return page.line(format!("`msg runs show {id} --follow` waits for its end."));
        }
        page.line(format!("Run {} was told to stop{how}.", style::bold(id)));
        page.line(format!("`msg runs show {id} --follow` waits for its end."));
    }
}

struct ResumedReport(ResumedRuns);

impl Report for ResumedReport {
    fn json(&self) -> Map<String, Value> {
        let left = self.0.left.iter().map(|(id, why)| json!({ "id": id.as_str(), "reason": why }));
        Map::from_iter([
            ("runs".to_string(), self.0.runs.iter().map(json::run::run).collect()),
            ("left".to_string(), left.collect()),
        ])
    }

    fn text(&self, page: &mut Page) {
        if page.is_quiet {
            return self.0.runs.iter().for_each(|run| page.line(run.id.as_str()));
        }
        if self.0.runs.is_empty() && self.0.left.is_empty() {
            page.nothing("No run was interrupted.", "`msg runs` shows how they ended.");
        }
        for run in &self.0.runs {
            let earlier = run.earlier.as_ref().map_or("", |earlier| earlier.id().as_str());
            let line = format!(
                "Run {} goes on for {earlier}: {}",
                style::bold(run.id.as_str()),
                escape_invisible(&run.title(60))
            );
            page.line(line);
        }
        for (id, why) in &self.0.left {
            page.line(format!("Run {} was left: {}", style::bold(id.as_str()), escape_invisible(why)));
        }
    }
}

struct OpenReport(OpenedSession);

impl Report for OpenReport {
    fn json(&self) -> Map<String, Value> {
        let words: Vec<_> = self.words().iter().map(|word| word.to_string_lossy().into_owned()).collect();
        Map::from_iter([
            ("command".to_string(), words.into()),
            ("dir".to_string(), self.0.dir.to_string_lossy().into()),
            ("run".to_string(), json::run::run(&self.0.run)),
        ])
    }

    fn text(&self, page: &mut Page) {
        let quoted = |word: &OsString| shell_word(&word.to_string_lossy()).into_owned();
        let line: Vec<String> = self.words().iter().map(quoted).collect();
        let dir = shell_word(&self.0.dir.to_string_lossy()).into_owned();
        page.line(escape_invisible(&format!("cd {dir} && {}", line.join(" "))));
    }
}

impl OpenReport {
    fn words(&self) -> Vec<OsString> {
        let program = self.0.program.clone().into_os_string();
        std::iter::once(program).chain(self.0.args.iter().cloned()).collect()
    }
}

struct RunList(Vec<Run>);

impl RunList {
    /// Those that need somebody first, then those that go on, then the rest; of each, the newest first.
    fn sorted(&self) -> Vec<&Run> {
        let mut sorted: Vec<&Run> = self.0.iter().collect();
        sorted.sort_by_key(|run| run.rank());
        sorted
    }
}

impl Report for RunList {
    fn json(&self) -> Map<String, Value> {
        Map::from_iter([("runs".to_string(), self.0.iter().map(json::run::run).collect())])
    }

    fn text(&self, page: &mut Page) {
        if page.is_quiet {
            return self.sorted().into_iter().for_each(|run| page.line(run.id.as_str()));
        }
        if self.0.is_empty() {
            return page.nothing("No runs yet.", "`msg run scout TASK` starts one.");
        }
        let mut table = Table::default();
        for run in self.sorted() {
            let state = match run.state {
                RunState::Done => TableCell::styled(&run.outcome(), style::good),
                state if state.needs_attention() => TableCell::styled(&run.outcome(), style::warn),
                _ => TableCell::plain(&run.outcome()),
            };
            let age = format!("{} ago", format_age(run.queued_at, clock::now()));
            let mut last: Vec<String> =
                run.elsewhere.iter().map(|place| format!("on {}", place.machine)).collect();
            last.push(took(run, clock::now()));
            last.extend(used(run));
            last.extend(run.review.as_ref().map(|review| format!("review: {}", review.word())));
            last.extend(
                run.question.as_ref().map(|question| format!("asks: {}", escape_invisible(&question.line()))),
            );
            table.row(vec![
                TableCell::styled(run.id.as_str(), style::bold),
                state,
                TableCell::plain(&escape_invisible(&run.profile)),
                TableCell::plain(&escape_invisible(&run.title(48))),
                TableCell::plain(&age),
                TableCell::plain(&last.join(", ")),
            ]);
        }
        table.lines().into_iter().for_each(|line| page.line(line));
    }
}

struct LogReport(String);

impl Report for LogReport {
    fn json(&self) -> Map<String, Value> {
        Map::from_iter([("log".to_string(), Value::String(self.0.clone()))])
    }

    fn text(&self, page: &mut Page) {
        page.foreign_text(&self.0);
    }
}
