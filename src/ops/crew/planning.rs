//! `msg crew plan`: a planner writes a plan, rules check it, and what is wrong goes back to the planner.
//!
//! Each attempt is a run like any other. Whoever calls starts and follows it, and shows its answer to [`Planning::judge`].

use std::path::{Path, PathBuf};

use crate::domain::crews::{
    BegunState, CrewPlan, PlanChange, PlanFault, PlanWarning, PlannedTask, PlannerBrief, RejectedPlan,
    check_plan, plan_in, update_plan,
};
use crate::domain::runs::{Run, RunId, RunState};
use crate::domain::shell_word;
use crate::domain::workers::Isolation;
use crate::ops::context::Context;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::person_required;
use crate::ops::runs::gate::Gate;
use crate::ops::runs::plan::{RunRequest, plan};
use crate::ops::runs::start::NewRun;
use crate::store::OrderedProgram;
use crate::sys::git::WorkTree;

use super::plan_file::{self, PlanFileState, PlanWrite};
use super::plan_source::PlanSource;

/// How often a plan is sent back.
const MOST_SENT_BACK: usize = 3;
/// The profile that plans, unless another is named.
const PLANNER: &str = "planner";
/// The longest words that are repeated in a line to type, in bytes.
const LONGEST_WORDS: usize = 200;

/// What somebody asked for.
#[derive(Clone, Debug)]
pub struct PlanRequest {
    /// `None`: nothing is sent back to a planner.
    pub source: Option<PlanSource>,
    /// `None`: the one that is shipped.
    pub profile: Option<String>,
    /// The file as it was typed; `None`: it is named after the source.
    pub out: Option<String>,
}

/// A plan that is being made.
#[derive(Debug)]
pub struct Planning {
    source: Option<PlanSource>,
    profile: String,
    /// Where planners work: the root of the work tree.
    root: PathBuf,
    /// The file as it is named from the working directory.
    name: String,
    path: PathBuf,
    /// A person allowed it to replace a file that is not a plan.
    may_replace: bool,
    sent_back: usize,
    rejected: Option<RejectedPlan>,
    /// The plan without faults.
    accepted: Option<CrewPlan>,
}

/// What became of an answer.
#[derive(Debug)]
pub enum PlanJudgement {
    Good(PlanDraft),
    /// The planner is to be asked again, for the so manieth of so many times.
    Again {
        faults: Vec<PlanFault>,
        number: usize,
        most: usize,
    },
    /// It stays wrong.
    Wrong(PlanDraft),
    /// The planner asks something instead.
    Asks,
}

/// A plan as it would be written.
#[derive(Clone, Debug)]
pub struct PlanDraft {
    pub intro: String,
    /// Empty if the plan can't be read.
    pub tasks: Vec<DraftedTask>,
    pub dropped: Vec<String>,
    pub faults: Vec<PlanFault>,
    pub warnings: Vec<PlanWarning>,
    /// The whole file; of a plan that can't be read, what the planner wrote.
    pub text: String,
    /// `None` if it can't be read.
    before: Option<PlanFileState>,
}

/// A task of a draft.
#[derive(Clone, Debug)]
pub struct DraftedTask {
    pub task: PlannedTask,
    pub change: PlanChange,
    /// `None`: nobody has begun it.
    pub state: Option<BegunState>,
}

impl PlanDraft {
    /// Whether the file has exactly this text.
    pub fn is_there_already(&self) -> bool {
        self.before.as_ref().and_then(PlanFileState::text) == Some(self.text.as_str())
    }

    /// The ids of the tasks with that change.
    pub fn ids(&self, change: PlanChange) -> Vec<&str> {
        let tasks = self.tasks.iter().filter(|task| task.change == change);
        tasks.map(|task| task.task.id.as_str()).collect()
    }

    /// The error of a plan that is not used.
    pub fn error(&self, sent_back: usize) -> CommandError {
        let faults: Vec<String> = self.faults.iter().map(ToString::to_string).collect();
        let count =
            if faults.len() == 1 { "1 fault".to_string() } else { format!("{} faults", faults.len()) };
        let tries = match sent_back {
            0 => String::new(),
            1 => ", after the planner was asked once more".to_string(),
            times => format!(", after the planner was asked {times} more times"),
        };
        let text = format!("the plan has {count}{tries}: nothing was written");
        CommandError::new(CommandErrorKind::InvalidPlan, text)
            .hint("say more exactly what is to be done, plan less at once, or name another planner with `--profile`")
            .facts("faults", faults)
    }
}

impl Planning {
    /// Begins to plan, if there is a repository and a file can be written.
    pub fn begin(op: &Op, request: PlanRequest) -> Result<Self, CommandError> {
        let root = repository(&op.cwd)?;
        let name = match (request.out, &request.source) {
            (Some(out), _) => out,
            (None, Some(source)) => format!("{}.plan.md", source.stem),
            (None, None) => {
                let text = "without a source there is no name for the plan";
                return Err(
                    CommandError::new(CommandErrorKind::Usage, text).hint("name a file with `--out FILE`")
                );
            }
        };
        let path = op.cwd.join(op.home.expand(&name));
        plan_file::check_place(op, &path)?;
        // Better now than when the planner has done its work.
        PlanFileState::read(op, &path)?.plan(&path)?;
        Ok(Self {
            source: request.source,
            profile: request.profile.unwrap_or_else(|| PLANNER.to_string()),
            root,
            name,
            path,
            may_replace: false,
            sent_back: 0,
            rejected: None,
            accepted: None,
        })
    }

    /// The file that will have the plan.
    pub fn file(&self) -> &Path {
        &self.path
    }

    /// The same as it is named from here.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How often the planner was asked again.
    pub fn sent_back(&self) -> usize {
        self.sent_back
    }

    /// The refusal if there is a file that is not a plan, and nobody allowed it to be replaced.
    pub fn foreign_file(&self, op: &Op) -> Result<Option<CommandError>, CommandError> {
        let is_foreign = !self.may_replace && PlanFileState::read(op, &self.path)?.is_foreign();
        Ok(is_foreign.then(|| plan_file::foreign_error(&self.path)))
    }

    /// A person allows it to replace such a file.
    pub fn allow_replacing(&mut self) {
        self.may_replace = true;
    }

    /// The next attempt of a planner.
    pub fn new_run(&self, op: &Op) -> Result<NewRun, CommandError> {
        let state = PlanFileState::read(op, &self.path)?;
        let brief = PlannerBrief {
            source: self.source.as_ref().map_or("", |source| source.text.as_str()),
            existing: state.text().filter(|text| CrewPlan::is_ours(text)),
            begun: &state.begun,
            rejected: self.rejected.as_ref(),
        };
        let request = RunRequest {
            profile: self.profile.clone(),
            task: brief.text(),
            root: Some(self.root.clone()),
            isolation: Some(Isolation::None),
            ..RunRequest::default()
        };
        let mut new = plan(op, request)?;
        let is_command = matches!(new.order.program, OrderedProgram::Command(_));
        if new.order.is_to_write && (is_command || !new.order.args.is_empty()) {
            let what = if is_command { "is a command" } else { "has `args` of its own" };
            let text = format!(
                "a planner only reads, and `{}` {what}, which `msg` can't keep from changing files",
                new.profile
            );
            return Err(Gate::Profile
                .refuse(text)
                .hint("if it changes none, set `readonly = true` in its profile"));
        }
        // Other harnesses can be held to it.
        new.order.is_to_write = false;
        Ok(new)
    }

    /// Judges what a planner said. The run has ended, as `done` or with a question.
    pub fn judge(&mut self, op: &Op, run: &Run) -> Result<PlanJudgement, CommandError> {
        let words = op.create_mesh()?.runs().whole_result(run)?.unwrap_or_default();
        let (text, read) = match plan_in(&words) {
            Ok(text) => {
                let read = CrewPlan::read(&text);
                (text, read)
            }
            Err(_) if run.state == RunState::Asks => return Ok(PlanJudgement::Asks),
            Err(fault) => (words, Err(vec![fault])),
        };
        let draft = match read {
            Ok(new) => {
                let draft = self.draft(op, &new)?;
                self.accepted = Some(new);
                draft
            }
            Err(faults) => unread(text.clone(), faults),
        };
        if draft.faults.is_empty() {
            return Ok(PlanJudgement::Good(draft));
        }
        if self.source.is_none() || self.sent_back == MOST_SENT_BACK {
            return Ok(PlanJudgement::Wrong(draft));
        }
        self.sent_back += 1;
        let faults = draft.faults;
        self.rejected = Some(RejectedPlan { text, faults: faults.clone() });
        Ok(PlanJudgement::Again { faults, number: self.sent_back, most: MOST_SENT_BACK })
    }

    /// The last plan that was read, over the file and the tasks as they are now.
    pub fn draft_again(&self, op: &Op) -> Result<Option<PlanDraft>, CommandError> {
        self.accepted.as_ref().map(|plan| self.draft(op, plan)).transpose()
    }

    fn draft(&self, op: &Op, new: &CrewPlan) -> Result<PlanDraft, CommandError> {
        if let Some(refusal) = self.foreign_file(op)? {
            return Err(refusal);
        }
        let before = PlanFileState::read(op, &self.path)?;
        let update = update_plan(before.plan(&self.path)?.as_ref(), new, &before.begun);
        let mut faults = update.faults;
        let mut draft = unread(update.text, Vec::new());
        match CrewPlan::read(&draft.text) {
            Err(more) => faults.extend(more),
            Ok(plan) => {
                let found = check_plan(&plan, &before.begun);
                faults.extend(found.faults);
                draft.warnings = found.warnings;
                draft.intro = plan.intro;
                let drafted = |task: PlannedTask| {
                    let change = update.changes.iter().find(|(id, _)| *id == task.id);
                    let begun = before.begun.iter().find(|begun| begun.id == task.id);
                    DraftedTask {
                        change: change.map_or(PlanChange::Added, |(_, change)| *change),
                        state: begun.map(|begun| begun.state),
                        task,
                    }
                };
                draft.tasks = plan.tasks.into_iter().map(drafted).collect();
            }
        }
        Ok(PlanDraft { dropped: update.dropped, faults, before: Some(before), ..draft })
    }

    /// Writes a draft without faults, if the file and its tasks are still as they were when it was made.
    pub fn write(&self, op: &Op, draft: &PlanDraft) -> Result<PlanWrite, CommandError> {
        match draft.before.as_ref().filter(|_| draft.faults.is_empty()) {
            Some(before) => plan_file::write(op, &self.path, &draft.text, before),
            None => Err(draft.error(self.sent_back)),
        }
    }

    /// The line to type for going on with the plan that a run has made.
    pub fn next_line(&self, ctx: &Context, run: &RunId) -> String {
        let mut line = "msg crew plan".to_string();
        let typed = self.source.as_ref().map(|source| source.typed.as_str());
        if let Some(typed) = typed.filter(|typed| *typed != "-" && typed.len() <= LONGEST_WORDS) {
            line.push_str(&format!(" {}", shell_word(typed)));
        }
        line.push_str(&format!(" --run {run} --out {}", shell_word(&self.name)));
        if self.profile != PLANNER {
            line.push_str(&format!(" --profile {}", shell_word(&self.profile)));
        }
        person_required::with_mesh(ctx, &format!("{line} --yes"))
    }
}

/// A draft of which nothing but the text is known.
fn unread(text: String, faults: Vec<PlanFault>) -> PlanDraft {
    PlanDraft {
        intro: String::new(),
        tasks: Vec::new(),
        dropped: Vec::new(),
        faults,
        warnings: Vec::new(),
        text,
        before: None,
    }
}

/// The root of the work tree here. Workers of a plan begin from a commit.
fn repository(cwd: &Path) -> Result<PathBuf, CommandError> {
    let missing =
        |text: String, hint: &str| CommandError::new(CommandErrorKind::NoRepository, text).hint(hint);
    let tree = WorkTree::containing(cwd).ok_or_else(|| {
        let text = format!("`{}` is not in a git repository, which a plan is for", cwd.display());
        missing(text, "run `git init` and make a commit, or change to a repository")
    })?;
    if tree.head_commit().is_none() {
        let text = format!(
            "the repository `{}` has no commits, and the work of a plan begins from one",
            tree.root.display()
        );
        return Err(missing(text, "`git commit --allow-empty -m start` makes an empty one"));
    }
    Ok(tree.root)
}
