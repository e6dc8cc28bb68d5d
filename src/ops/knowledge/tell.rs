//! Records what somebody learned. Either all of a batch is written, or nothing.
//!
//! A batch is checked against what the log says, and written while the log's lock is held. If another process wrote
//! between the check and the lock, it is checked again.

use std::collections::BTreeSet;

use crate::domain::knowledge::search::NearDuplicates;
use crate::domain::knowledge::{
    ActionReceipt, Anchor, AnchorTarget, Basis, BatchProblem, BatchProblemKind, KnowledgeAction,
    KnowledgePlan, KnowledgeSnapshot, MAX_ENTRIES, PlanContext, RecordId, RecordKind, merge, plan,
};
use crate::domain::quote_code;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind, ErrorDetail};
use crate::store::{LogContent, LogStamp};

use super::anchors::AnchorJudge;
use super::ask::unknown;
use super::capture::CaptureError;
use super::project::{KnowledgeAuthor, KnowledgeProject};
use super::project_identity::project_problem;
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

/// A step as it was read. What is wrong with it is told together with what else is wrong with the batch.
#[derive(Clone, Debug)]
pub struct KnowledgeStep {
    /// As much as could be read.
    pub request: Option<KnowledgeRequest>,
    pub problems: Vec<BatchProblem>,
}

impl From<KnowledgeRequest> for KnowledgeStep {
    fn from(request: KnowledgeRequest) -> Self {
        Self { request: Some(request), problems: Vec::new() }
    }
}

/// Steps that are recorded together.
#[derive(Clone, Debug)]
pub struct KnowledgeBatch {
    /// The project that it was written for, if it says so.
    pub project_id: Option<String>,
    pub steps: Vec<KnowledgeStep>,
    pub base: PlaceBase,
}

/// Records steps of this project.
pub fn tell(op: &Op, steps: Vec<KnowledgeStep>, base: PlaceBase) -> Result<Vec<ActionReceipt>, CommandError> {
    tell_batch(op, KnowledgeBatch { project_id: None, steps, base })
}

/// Records a batch that may have been written elsewhere.
pub fn tell_batch(op: &Op, batch: KnowledgeBatch) -> Result<Vec<ActionReceipt>, CommandError> {
    CheckedBatch::check(op, batch)?.record(op)
}

/// A batch that was checked, and is not recorded yet.
#[must_use = "nothing is recorded yet"]
pub(in crate::ops) struct CheckedBatch {
    project: KnowledgeProject,
    author: KnowledgeAuthor,
    steps: CheckedSteps,
    planned: PlannedBatch,
}

impl CheckedBatch {
    /// Checks a batch. Nothing is written.
    pub(in crate::ops) fn check(op: &Op, batch: KnowledgeBatch) -> Result<Self, CommandError> {
        if batch.steps.len() > MAX_STEPS {
            let message = format!("the batch has {} actions; {MAX_STEPS} is the most", batch.steps.len());
            return Err(batch_refusal(message, "split it"));
        }
        let project = KnowledgeProject::of(op);
        let mut steps = CheckedSteps::of(batch.base);
        steps.problems.extend(batch.project_id.and_then(|id| project_problem(&project, &id)));
        let mut judge = project.judge(op);
        for (index, step) in batch.steps.into_iter().enumerate() {
            steps.problems.extend(step.problems);
            if let Some(request) = step.request {
                steps.add(op, &project, &mut judge, index, request);
            }
        }
        let author = project.author(op)?;
        let read = project.read_content(op)?;
        let snapshot = project.with_pages(op, read.1.cells.clone())?;
        let planned = PlannedBatch::of(&steps, read, snapshot, &author)?;
        Ok(Self { project, author, steps, planned })
    }

    /// Writes it. If somebody else wrote meanwhile, it is planned again.
    pub(in crate::ops) fn record(self, op: &Op) -> Result<Vec<ActionReceipt>, CommandError> {
        let Self { project, mut author, steps, mut planned } = self;
        if !planned.plan.cells.is_empty() {
            project.exclude_from_git(op)?;
            let locked = project.log.lock().map_err(|error| project.write_error(error))?;
            let writer = project.writer_now(op, &author)?;
            if writer != author.writer || project.log.stamp()? != planned.read.0 {
                author.writer = writer;
                // What is wrong with the log was told above, and git is not asked while others wait.
                let read = project.cache.read_stamped(&project.log)?;
                let mut cells = read.1.cells.clone();
                project.pages().add_to(&mut cells);
                planned = PlannedBatch::of(&steps, read, merge(cells), &author)?;
            }
            project.append(op, locked, planned.read, &author.writer, &planned.plan.cells)?;
        }
        let PlannedBatch { snapshot, plan, .. } = planned;
        if let Err(error) = use_marks::note_recorded(op, &project, &author, &snapshot, &plan) {
            op.warn(format!("what was recorded is not counted: {}", error.message));
        }
        Ok(plan.receipts)
    }
}

/// What a batch adds to what was read.
struct PlannedBatch {
    read: (LogStamp, LogContent),
    snapshot: KnowledgeSnapshot,
    plan: KnowledgePlan,
}

impl PlannedBatch {
    fn of(
        steps: &CheckedSteps,
        read: (LogStamp, LogContent),
        snapshot: KnowledgeSnapshot,
        author: &KnowledgeAuthor,
    ) -> Result<Self, CommandError> {
        let context =
            PlanContext { writer: author.writer.clone(), origin: author.origin.clone(), basis: Basis::Told };
        let plan = steps.plan(&snapshot, &context)?;
        Ok(Self { read, snapshot, plan })
    }
}

/// The kind of the only record of that name, which a sentence is to replace; `None` if there is no such record.
pub fn kind_of(op: &Op, name: &str) -> Result<Option<RecordKind>, CommandError> {
    let kind = only_kind(&KnowledgeProject::of(op).read(op)?, name)?;
    kind.map(|kind| learnable(name, kind)).transpose()
}

/// Why a batch can't be read at all.
pub fn batch_refusal(message: String, fix: &str) -> CommandError {
    let row = vec![
        ("index", None),
        ("field", None),
        ("message", Some(ErrorDetail::Text(message.clone()))),
        ("hint", Some(ErrorDetail::Text(fix.to_string()))),
    ];
    let mut error = CommandError::new(CommandErrorKind::InvalidBatch, message).hint(fix);
    error.facts.push(("problems", ErrorDetail::Rows(vec![row])));
    error
}

/// The kind of the record that is to be changed. It must exist.
pub fn kind_to_update(op: &Op, name: &str, given: Option<RecordKind>) -> Result<RecordKind, CommandError> {
    let snapshot = KnowledgeProject::of(op).read(op)?;
    let kind = match given {
        Some(kind) => snapshot.named(name).iter().any(|record| record.id.kind == kind).then_some(kind),
        None => only_kind(&snapshot, name)?,
    };
    let kind =
        kind.ok_or_else(|| unknown(&snapshot, name).hint("to add a record of that name, give its text"))?;
    learnable(name, kind)
}

/// A relationship has two ends, which one sentence does not tell.
fn learnable(name: &str, kind: RecordKind) -> Result<RecordKind, CommandError> {
    if kind == RecordKind::Relationship {
        let message = format!("{} is a relationship, which `learn` can't change", quote_code(name));
        let hint = "change it with `msg record`, or choose another name";
        return Err(CommandError::new(CommandErrorKind::InvalidValue, message).hint(hint));
    }
    Ok(kind)
}

fn only_kind(snapshot: &KnowledgeSnapshot, name: &str) -> Result<Option<RecordKind>, CommandError> {
    let found = snapshot.named(name);
    match found.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(only.id.kind)),
        several => {
            let kinds: Vec<&str> = several.iter().map(|record| record.id.kind.as_str()).collect();
            let message = format!("`{name}` is the name of {} records", several.len());
            let hint = format!("say which one you mean: --kind {}", kinds.join(", --kind "));
            Err(CommandError::new(CommandErrorKind::InvalidValue, message).hint(hint))
        }
    }
}

/// The steps that could be read, with their numbers in the batch, and what is wrong with the others.
struct CheckedSteps {
    base: PlaceBase,
    numbers: Vec<usize>,
    actions: Vec<KnowledgeAction>,
    problems: Vec<BatchProblem>,
}

impl CheckedSteps {
    fn of(base: PlaceBase) -> Self {
        Self { base, numbers: Vec::new(), actions: Vec::new(), problems: Vec::new() }
    }

    fn add(
        &mut self,
        op: &Op,
        project: &KnowledgeProject,
        judge: &mut AnchorJudge,
        index: usize,
        request: KnowledgeRequest,
    ) {
        let KnowledgeRequest { mut action, mut places } = request;
        if places.len() > MAX_ENTRIES {
            let problem = format!("it has {} entries; {MAX_ENTRIES} is the most", places.len());
            let fix = "keep the most important ones";
            self.problems.push(BatchProblem::new(index, "anchors", problem, fix));
            // None of so many is looked at.
            places.clear();
        }
        let mut anchors = Vec::new();
        for place in &places {
            match find_anchor(op, project, judge, place, self.base) {
                Ok(anchor) => anchors.push(anchor),
                Err((message, fix)) => {
                    self.problems.push(BatchProblem::new(index, "anchors", message, fix));
                }
            }
        }
        if let KnowledgeAction::Record(draft) = &mut action {
            draft.anchors.extend(anchors);
        }
        self.numbers.push(index);
        self.actions.push(action);
    }

    /// What to write, or everything that is wrong.
    fn plan(
        &self,
        snapshot: &KnowledgeSnapshot,
        context: &PlanContext,
    ) -> Result<KnowledgePlan, CommandError> {
        let duplicates = NearDuplicates::of(snapshot);
        let alike = |kind: RecordKind, text: &str, except: &BTreeSet<RecordId>| {
            let except: Vec<RecordId> = except.iter().cloned().collect();
            duplicates.find(kind, text, &except).map(|record| record.id.clone())
        };
        let found = match plan(&self.actions, snapshot, context, &alike) {
            Ok(planned) if self.problems.is_empty() => return Ok(planned),
            Ok(_) => Vec::new(),
            Err(found) => found,
        };
        let numbered = found.into_iter().map(|one| BatchProblem { action: self.numbers[one.action], ..one });
        let new = numbered.filter(|one| !self.is_told(one));
        Err(refusal(self.base, self.problems.iter().cloned().chain(new).collect()))
    }

    /// Whether it only follows from a field that could not be read.
    fn is_told(&self, later: &BatchProblem) -> bool {
        let is_cause = |one: &BatchProblem| match (one.field.as_deref(), later.field.as_deref()) {
            // A relationship has its ends and its type, or none of them.
            (Some("to" | "type"), Some("from")) => true,
            (one, Some(later @ ("description" | "summary" | "from"))) => one == Some(later),
            _ => false,
        };
        self.problems.iter().any(|one| one.action == later.action && is_cause(one))
    }
}

fn find_anchor(
    op: &Op,
    project: &KnowledgeProject,
    judge: &mut AnchorJudge,
    place: &str,
    base: PlaceBase,
) -> Result<Anchor, (String, String)> {
    let target = match base {
        PlaceBase::WorkingDirectory => project.parse_anchor(&op.cwd, place),
        PlaceBase::ProjectRoot => AnchorTarget::parse(place),
    };
    let usage =
        "use a path, `path#symbol`, `path:line`, `path:from-to`, `$ command` or `! error text`".to_string();
    let target = target.map_err(|error| (error.to_string(), usage))?;
    judge.capture(&target).map_err(|error| {
        // `cargo test`, `make`: more likely a command than a file.
        let is_like_command =
            !place.starts_with(['$', '!']) && (place.contains(' ') || !place.contains(['/', '.', ':', '#']));
        let fix = match error {
            CaptureError::NoFile { .. } if is_like_command => {
                format!("if it is a command, write {}", quote_code(&format!("\"$ {}\"", place.trim())))
            }
            _ => "name another place, or leave it out".to_string(),
        };
        (error.to_string(), fix)
    })
}

/// One error for all problems.
fn refusal(base: PlaceBase, mut problems: Vec<BatchProblem>) -> CommandError {
    problems.sort_by_key(|problem| problem.action);
    if base == PlaceBase::WorkingDirectory {
        // What was typed once may be a part of several records.
        let mut seen = BTreeSet::new();
        problems.retain(|problem| seen.insert((problem.field.clone(), problem.message.clone())));
    }
    let message = match problems.as_slice() {
        [only] => format!("nothing was recorded: {}{}", origin(base, only), only.message),
        several => format!("nothing was recorded: {} problems", several.len()),
    };
    let are_all = |kind: BatchProblemKind| problems.iter().all(|problem| problem.kind == kind);
    let kind = match base {
        _ if are_all(BatchProblemKind::Secret) => CommandErrorKind::Secret,
        PlaceBase::ProjectRoot => CommandErrorKind::InvalidBatch,
        PlaceBase::WorkingDirectory if are_all(BatchProblemKind::UnknownRecord) => {
            CommandErrorKind::UnknownRecord
        }
        PlaceBase::WorkingDirectory if are_all(BatchProblemKind::Empty) => CommandErrorKind::Empty,
        PlaceBase::WorkingDirectory if are_all(BatchProblemKind::TooLarge) => CommandErrorKind::TooLarge,
        PlaceBase::WorkingDirectory => CommandErrorKind::InvalidValue,
    };
    let mut error = CommandError::new(kind, message);
    if let [only] = problems.as_slice() {
        error = error.hint(only.fix.clone());
    } else {
        for problem in &problems {
            error = error.hint(format!("{}{}; {}", origin(base, problem), problem.message, problem.fix));
        }
    }
    let row = |problem: &BatchProblem| {
        vec![
            ("index", Some(ErrorDetail::Number(problem.action as u64))),
            ("field", problem.field.clone().map(ErrorDetail::Text)),
            ("message", Some(ErrorDetail::Text(problem.message.clone()))),
            ("hint", Some(ErrorDetail::Text(problem.fix.clone()))),
        ]
    };
    error.facts.push(("problems", ErrorDetail::Rows(problems.iter().map(row).collect())));
    error
}

/// Where a problem is: `action 2, anchors: ` of a batch; of what was typed, the option if there is one.
fn origin(base: PlaceBase, problem: &BatchProblem) -> String {
    match (base, problem.field.as_deref()) {
        (PlaceBase::ProjectRoot, Some(field)) => format!("action {}, `{field}`: ", problem.action),
        (PlaceBase::ProjectRoot, None) => format!("action {}: ", problem.action),
        (PlaceBase::WorkingDirectory, Some("rationale")) => "why: ".to_string(),
        (PlaceBase::WorkingDirectory, Some("tags")) => "tag: ".to_string(),
        (PlaceBase::WorkingDirectory, Some(field @ ("also" | "supersedes"))) => format!("{field}: "),
        (PlaceBase::WorkingDirectory, _) => String::new(),
    }
}
