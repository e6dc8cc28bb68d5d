//! `msg crew plan`: lets a planner write a plan, checks it, and writes it to a file.

use std::io::Read;

use clap::Args;

use crate::domain::crews::PlanFault;
use crate::domain::quote_code;
use crate::domain::runs::{Run, RunId, RunState};
use crate::faces::cli::commands::run::{DryRunReport, Following, RunFollower, RunReport, error_of};
use crate::faces::cli::output::{CommandOutput, Ui};
use crate::ops::crew::{PlanDraft, PlanJudgement, PlanRequest, PlanSource, PlanWrite, Planning, read_source};
use crate::ops::runs::follow::FollowEnd;
use crate::ops::runs::list::find;
use crate::ops::runs::start::{dry_run, start};
use crate::ops::{CommandError, CommandErrorKind, HandoverOutcome, Op, is_inside_harness};

use super::plan_page::{PlanDryRun, PlanOutcome, PlanPage, PlanRunGoesOn};

/// The most that is read from standard input, in bytes. Much less can be planned.
const MOST_BYTES: u64 = 1024 * 1024;
/// How often a plan is made anew from the same answer because its tasks change meanwhile.
const MOST_DRAFTS: usize = 10;

/// Let a planner write a plan, check it, and write it to a file
///
/// The planner is a worker that only reads. Its plan is checked: cycles, unknown ids, and overlapping paths of tasks that
/// could be worked on at the same time. What is wrong goes back to the planner, at most three times; a plan that stays
/// wrong is shown and not used. You are asked before the file is written. If it has a plan already, that is updated by id:
/// tasks that are done or claimed stay as they are, the others are replaced.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg crew plan docs/login.md                     writes login.plan.md
  msg crew plan 'Add a login form' --out plan.md
  gh issue view 17 | msg crew plan - --yes
  msg crew plan docs/login.md --dry-run           what the planner would be told
  msg crew plan --run k3f9xa --out plan.md --yes  the plan that this run made
  msg spec login.plan.md && msg tasks             work through it")]
pub(super) struct PlanArgs {
    /// A text file, `-` for standard input, or words that say what is to be done
    #[arg(value_name = "SOURCE", required_unless_present = "run")]
    source: Option<String>,
    /// The file for the plan, instead of one in this directory that is named after SOURCE, with `.plan.md`
    #[arg(long, value_name = "FILE")]
    out: Option<String>,
    /// The profile of the planner, instead of `planner`; it has to be read-only
    #[arg(long, value_name = "PROFILE")]
    profile: Option<String>,
    /// Take the plan that this run has made, instead of starting a planner
    #[arg(long, value_name = "ID")]
    run: Option<String>,
    /// Write the plan without a question
    #[arg(long)]
    yes: bool,
    /// Only show what the planner would be told, and how it would be started
    #[arg(long, conflicts_with_all = ["run", "yes"])]
    dry_run: bool,
}

pub(super) fn run(op: &Op, args: PlanArgs, ui: &Ui) -> Result<CommandOutput, CommandError> {
    let source = args.source.as_deref().map(|typed| source(op, typed)).transpose()?;
    let request = PlanRequest { source, profile: args.profile, out: args.out };
    let mut planning = Planning::begin(op, request)?;
    if args.dry_run {
        let new = planning.new_run(op)?;
        let report = DryRunReport(dry_run(op, &new)?);
        return Ok(PlanDryRun { file: planning.file().to_path_buf(), told: new.task, report }.into());
    }
    let earlier = args.run.as_deref().map(|id| find(op, id)).transpose()?;
    let confirming = match (args.yes, ui.is_with_person() && !is_inside_harness()) {
        (true, _) => Confirming::NotNeeded,
        (false, true) => Confirming::AtTerminal,
        (false, false) => Confirming::Impossible,
    };
    let follower = RunFollower::new(ui, Following::ToItsEnd)?;
    let session = PlanSession { op, ui, follower, confirming };
    session.allow_foreign_file(&mut planning)?;
    session.finish(planning, earlier)
}

fn source(op: &Op, typed: &str) -> Result<PlanSource, CommandError> {
    let mut piped = None;
    if typed == "-" {
        let mut text = String::new();
        let read = std::io::stdin().lock().take(MOST_BYTES).read_to_string(&mut text);
        read.map_err(|error| {
            let text = format!("standard input can't be read as text: {error}");
            CommandError::new(CommandErrorKind::InvalidValue, text)
        })?;
        piped = Some(text);
    }
    read_source(op, typed, piped)
}

/// Whether a person is asked before something is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Confirming {
    NotNeeded,
    AtTerminal,
    /// There is nobody to ask.
    Impossible,
}

struct PlanSession<'a> {
    op: &'a Op,
    ui: &'a Ui,
    follower: RunFollower<'a>,
    confirming: Confirming,
}

impl PlanSession<'_> {
    /// Asks before a file is replaced that is not a plan. `--yes` is not an answer to that.
    fn allow_foreign_file(&self, planning: &mut Planning) -> Result<(), CommandError> {
        let Some(refusal) = planning.foreign_file(self.op)? else { return Ok(()) };
        let question = format!("{} is not a plan. Replace it? Type y or n.", quote_code(planning.name()));
        if self.confirming == Confirming::AtTerminal && self.is_confirmed(&question)? {
            planning.allow_replacing();
            return Ok(());
        }
        Err(refusal)
    }

    /// Asks the person at the terminal. Ctrl-C ends the command.
    fn is_confirmed(&self, question: &str) -> Result<bool, CommandError> {
        let stop = self.follower.interrupt();
        let is_confirmed = self.ui.is_confirmed_unless(stop, question);
        if stop.is_requested() { Err(interrupted()) } else { Ok(is_confirmed) }
    }

    /// Lets planners plan until a plan is right or they were asked often enough.
    fn finish(
        &self,
        mut planning: Planning,
        mut earlier: Option<Run>,
    ) -> Result<CommandOutput, CommandError> {
        let mut runs: Vec<RunId> = Vec::new();
        loop {
            let run = match earlier.take() {
                Some(run) => run,
                None => start(self.op, planning.new_run(self.op)?)?,
            };
            runs.push(run.id.clone());
            let run = match self.follower.accompany(self.op, run)? {
                _ if self.follower.interrupt().is_requested() => return Err(interrupted()),
                FollowEnd::GoesOn(run) => {
                    let next = planning.next_line(self.op, &run.id);
                    return Ok(PlanRunGoesOn { run, next }.into());
                }
                FollowEnd::Ended(run) | FollowEnd::Stopped(run) => run,
            };
            if !matches!(run.state, RunState::Done | RunState::Asks) {
                return Ok(failed(run, None));
            }
            match planning.judge(self.op, &run)? {
                PlanJudgement::Good(draft) => return self.write(&planning, draft, runs),
                PlanJudgement::Again { faults, number, most } => self.tell_faults(&faults, number, most),
                PlanJudgement::Wrong(draft) => {
                    let error = Some(draft.error(planning.sent_back()));
                    let report = PlanPage::new(&planning, draft, runs, PlanOutcome::NotUsed);
                    return Ok(CommandOutput { report: Some(Box::new(report)), error });
                }
                PlanJudgement::Asks => {
                    let hint = "answer the question in the text that is to be planned";
                    return Ok(failed(run, Some(hint)));
                }
            }
        }
    }

    fn tell_faults(&self, faults: &[PlanFault], number: usize, most: usize) {
        let lines: Vec<String> = faults.iter().map(ToString::to_string).collect();
        let notice = format!("the plan goes back to the planner ({number} of at most {most} times):");
        self.ui.note_text(&notice, &lines.join("\n"));
    }

    /// Shows a plan without faults, and writes it if that is wanted.
    fn write(
        &self,
        planning: &Planning,
        mut draft: PlanDraft,
        runs: Vec<RunId>,
    ) -> Result<CommandOutput, CommandError> {
        let mut confirmed: Option<String> = None;
        for _ in 0..MOST_DRAFTS {
            let page =
                |draft: &PlanDraft, outcome| PlanPage::new(planning, draft.clone(), runs.clone(), outcome);
            if !draft.faults.is_empty() {
                let error = Some(draft.error(planning.sent_back()));
                let report = page(&draft, PlanOutcome::NotUsed);
                return Ok(CommandOutput { report: Some(Box::new(report)), error });
            }
            if draft.is_there_already() {
                return Ok(page(&draft, PlanOutcome::AlreadyThere).into());
            }
            let is_shown = match self.confirming {
                Confirming::NotNeeded => false,
                Confirming::Impossible => {
                    let text = format!("the plan was not written to {}", quote_code(planning.name()));
                    return Ok(self.not_written(planning, page(&draft, PlanOutcome::Shown), text));
                }
                Confirming::AtTerminal if confirmed.as_ref() == Some(&draft.text) => true,
                Confirming::AtTerminal => {
                    let shown = page(&draft, PlanOutcome::Shown);
                    let question =
                        format!("Write this plan to {}? Type y or n.", quote_code(planning.name()));
                    if self.ui.say(&self.ui.rendered(&shown)) == HandoverOutcome::ReaderGone
                        || !self.is_confirmed(&question)?
                    {
                        let text = "the plan was not written".to_string();
                        let output = self.not_written(planning, shown, text);
                        return Ok(CommandOutput::said(output.error));
                    }
                    confirmed = Some(draft.text.clone());
                    true
                }
            };
            match planning.write(self.op, &draft)? {
                PlanWrite::Written => {
                    let outcome =
                        if is_shown { PlanOutcome::WrittenAfterShown } else { PlanOutcome::Written };
                    return Ok(page(&draft, outcome).into());
                }
                PlanWrite::Changed => {}
            }
            // Somebody has begun a task, or changed the file.
            draft = planning.draft_again(self.op)?.unwrap_or(draft);
        }
        let text = format!("{} changes all the time: the plan was not written", quote_code(planning.name()));
        Err(CommandError::new(CommandErrorKind::ChangedMeanwhile, text))
    }

    fn not_written(&self, planning: &Planning, page: PlanPage, text: String) -> CommandOutput {
        let mut error = CommandError::new(CommandErrorKind::NotConfirmed, text);
        if let Some(run) = page.last_run() {
            error = error.hint(format!("to write it: {}", planning.next_line(self.op, run)));
        }
        CommandOutput { report: Some(Box::new(page)), error: Some(error) }
    }
}

/// Ctrl-C was pressed.
fn interrupted() -> CommandError {
    CommandError::new(CommandErrorKind::Interrupted, "")
}

/// A planner's run that has no plan.
fn failed(run: Run, hint: Option<&str>) -> CommandOutput {
    let error = error_of(&run).map(|error| match hint {
        Some(hint) => error.hint(hint),
        None => error,
    });
    CommandOutput { report: Some(Box::new(RunReport(run))), error }
}
