//! Records what somebody learned. Either all of a batch is written, or nothing.

use std::collections::BTreeSet;

use crate::domain::knowledge::search::near_duplicate;
use crate::domain::knowledge::{
    ActionReceipt, Anchor, AnchorTarget, Basis, BatchProblem, KnowledgeAction, KnowledgePlan,
    KnowledgeSnapshot, PlanContext, RecordId, RecordKind, merge, plan,
};
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind, ErrorDetail};
use crate::store::{LogContent, LogStamp};

use super::project::{KnowledgeAuthor, KnowledgeProject};
use super::use_marks;

/// The most steps of a batch.
const MAX_STEPS: usize = 1000;

/// A step, with the places that it is about as they were typed.
#[derive(Clone, Debug)]
pub struct KnowledgeRequest {
    pub action: KnowledgeAction,
    pub places: Vec<String>,
}

/// What the paths of a request are relative to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PlaceBase {
    WorkingDirectory,
    ProjectRoot,
}

/// Records a batch. A step that could not be read is given as what is wrong with it, so that all problems are listed at
/// once.
pub fn tell(
    op: &Op,
    steps: Vec<Result<KnowledgeRequest, Vec<BatchProblem>>>,
    base: PlaceBase,
) -> Result<Vec<ActionReceipt>, CommandError> {
    CheckedBatch::check(op, steps, base)?.record(op)
}

/// A batch that was checked, and is not recorded yet.
#[must_use = "nothing is recorded yet"]
pub(in crate::ops) struct CheckedBatch {
    project: KnowledgeProject,
    read: (LogStamp, LogContent),
    snapshot: KnowledgeSnapshot,
    author: KnowledgeAuthor,
    plan: KnowledgePlan,
}

impl CheckedBatch {
    /// Checks a batch. Nothing is written.
    pub(in crate::ops) fn check(
        op: &Op,
        steps: Vec<Result<KnowledgeRequest, Vec<BatchProblem>>>,
        base: PlaceBase,
    ) -> Result<Self, CommandError> {
        check(op, steps, base)
    }

    pub(in crate::ops) fn record(self, op: &Op) -> Result<Vec<ActionReceipt>, CommandError> {
        let Self { project, read, snapshot, author, plan } = self;
        if !plan.cells.is_empty() {
            project.exclude_from_git()?;
            project.append(op, read, &author.writer, &plan.cells)?;
        }
        if let Err(error) = use_marks::note_recorded(op, &project, &author, &snapshot, &plan) {
            op.warn(format!("what was recorded is not counted: {}", error.message));
        }
        Ok(plan.receipts)
    }
}

fn check(
    op: &Op,
    steps: Vec<Result<KnowledgeRequest, Vec<BatchProblem>>>,
    base: PlaceBase,
) -> Result<CheckedBatch, CommandError> {
    if steps.len() > MAX_STEPS {
        let message = format!("the batch has {} actions; {MAX_STEPS} is the most", steps.len());
        return Err(CommandError::new(CommandErrorKind::InvalidValue, message).hint("split it"));
    }
    let project = KnowledgeProject::of(op);
    let read = project.read_content(op)?;
    let snapshot = merge(read.1.cells.iter().cloned());
    let mut problems = Vec::new();
    let mut actions = Vec::new();
    let mut judge = project.judge(op);
    for (index, step) in steps.into_iter().enumerate() {
        match step {
            Err(found) => problems.extend(found),
            Ok(KnowledgeRequest { mut action, places }) => {
                let mut anchors = Vec::new();
                for place in &places {
                    match find_anchor(op, &project, &mut judge, place, base) {
                        Ok(anchor) => anchors.push(anchor),
                        Err((message, fix)) => {
                            problems.push(BatchProblem::new(index, "anchors", message, fix));
                        }
                    }
                }
                if let KnowledgeAction::Record(draft) = &mut action {
                    draft.anchors.extend(anchors);
                }
                actions.push((index, action));
            }
        }
    }
    let author = project.author(op)?;
    let context =
        PlanContext { writer: author.writer.clone(), origin: author.origin.clone(), basis: Basis::Told };
    let alike = |kind: RecordKind, text: &str, except: &BTreeSet<RecordId>| {
        let except: Vec<RecordId> = except.iter().cloned().collect();
        near_duplicate(kind, text, &snapshot, &except).map(|record| record.id.clone())
    };
    let (numbers, steps): (Vec<usize>, Vec<KnowledgeAction>) = actions.into_iter().unzip();
    let planned = plan(&steps, &snapshot, &context, &alike);
    match planned {
        Ok(plan) if problems.is_empty() => Ok(CheckedBatch { project, read, snapshot, author, plan }),
        Ok(_) => Err(refusal(problems)),
        Err(found) => {
            let numbered = found.into_iter().map(|one| BatchProblem { action: numbers[one.action], ..one });
            problems.extend(numbered);
            Err(refusal(problems))
        }
    }
}

fn find_anchor(
    op: &Op,
    project: &KnowledgeProject,
    judge: &mut super::anchors::AnchorJudge,
    place: &str,
    base: PlaceBase,
) -> Result<Anchor, (String, String)> {
    let target = match base {
        PlaceBase::WorkingDirectory => project.parse_anchor(&op.cwd, place),
        PlaceBase::ProjectRoot => AnchorTarget::parse(place),
    };
    let usage = "use a path, `path#symbol`, `path:line` or `path:from-to`".to_string();
    let target = target.map_err(|error| (error.to_string(), usage))?;
    let fix = "name another place, or leave it out".to_string();
    judge.capture(&target).map_err(|error| (error.to_string(), fix))
}

/// One error for all problems.
fn refusal(mut problems: Vec<BatchProblem>) -> CommandError {
    problems.sort_by_key(|problem| problem.action);
    let message = match problems.len() {
        1 => format!("nothing was recorded: {}", problems[0].message),
        count => format!("nothing was recorded: {count} problems"),
    };
    let mut error = CommandError::new(CommandErrorKind::InvalidValue, message);
    if let [only] = problems.as_slice() {
        error = error.hint(only.fix.clone());
    } else {
        for problem in &problems {
            error = error.hint(describe(problem));
        }
    }
    let row = |problem: &BatchProblem| {
        vec![
            ("action", Some(problem.action.to_string())),
            ("field", problem.field.clone()),
            ("problem", Some(problem.message.clone())),
            ("fix", Some(problem.fix.clone())),
        ]
    };
    error.facts.push(("problems", ErrorDetail::Rows(problems.iter().map(row).collect())));
    error
}

/// `action 2, anchors: there is no file … — name one`
fn describe(problem: &BatchProblem) -> String {
    let field = problem.field.as_ref().map_or(String::new(), |field| format!(", `{field}`"));
    format!("action {}{field}: {}; {}", problem.action, problem.message, problem.fix)
}
