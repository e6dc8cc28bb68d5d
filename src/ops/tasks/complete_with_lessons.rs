//! `msg complete --learned … --tried …`: finishes a task, and records what was learned with it.
//!
//! What is to be recorded is checked first, so that nothing is completed if it is wrong. The task is completed next, and
//! then it is recorded; if that fails, the task stays done, and a warning says what is missing.

use crate::domain::knowledge::{ActionReceipt, KnowledgeAction, RecordDraft, RecordKind, TASK_TAG};
use crate::domain::quote_code;
use crate::domain::settings::KnowledgeMode;
use crate::ops::agents::identity;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::knowledge::{CheckedBatch, KnowledgeBatch, KnowledgeRequest, PlaceBase};
use crate::store::{AskMoment, KnowledgeMark};

use super::complete::{CompleteOutcome, CompleteRequest, complete};

/// What was learned with a task.
#[derive(Clone, Debug, Default)]
pub struct TaskLessons {
    pub learned: Vec<String>,
    /// What was tried and did not work.
    pub tried: Vec<String>,
    /// Why what was learned is so. If nothing was learned, why what was tried failed.
    pub why: Option<String>,
    /// What it is about, as it was typed.
    pub places: Vec<String>,
}

impl TaskLessons {
    fn is_empty(&self) -> bool {
        self.learned.is_empty() && self.tried.is_empty()
    }

    /// A place and a reason belong to something.
    fn require_lesson(&self) -> Result<(), CommandError> {
        let option = match (&self.why, self.places.is_empty()) {
            (_, false) => "--at",
            (Some(_), true) => "--why",
            (None, true) => return Ok(()),
        };
        let message = format!("nothing was completed: {option} needs something to record");
        let hint = "add --learned \"…\" or --tried \"…\"";
        Err(CommandError::new(CommandErrorKind::Usage, message).hint(hint))
    }
}

/// A completed task, and what was recorded with it.
#[derive(Clone, Debug)]
pub struct LessonOutcome {
    pub completed: CompleteOutcome,
    pub records: Vec<ActionReceipt>,
    /// Whether to say that something can be recorded: the session has recorded nothing, and was not told yet.
    pub is_worth_asking: bool,
}

pub fn complete_with_lessons(
    op: &Op,
    request: &CompleteRequest,
    lessons: &TaskLessons,
) -> Result<LessonOutcome, CommandError> {
    if lessons.is_empty() {
        lessons.require_lesson()?;
        let completed = complete(op, request)?;
        let is_worth_asking = !completed.was_complete && is_worth_asking(op);
        return Ok(LessonOutcome { completed, records: Vec::new(), is_worth_asking });
    }
    let task = match &request.task {
        Some(task) => Some(task.clone()),
        None => {
            let (mesh, caller) = identity::own_caller(op)?;
            mesh.tasks().claims()?.of(&caller).into_iter().next().map(|claim| claim.task)
        }
    };
    let is_reasoned = |kind: RecordKind| kind == RecordKind::Note || lessons.learned.is_empty();
    let draft = |kind: RecordKind, text: &String| RecordDraft {
        description: Some(text.clone()),
        rationale: lessons.why.clone().filter(|_| is_reasoned(kind)),
        tags: task.iter().map(|task| (TASK_TAG.to_string(), task.clone())).collect(),
        ..RecordDraft::new(kind)
    };
    let learned = lessons.learned.iter().map(|text| draft(RecordKind::Note, text));
    let drafts = learned.chain(lessons.tried.iter().map(|text| draft(RecordKind::Tried, text)));
    let steps = drafts.map(|draft| {
        let action = KnowledgeAction::Record(Box::new(draft));
        KnowledgeRequest { action, places: lessons.places.clone() }.into()
    });
    let batch =
        KnowledgeBatch { project_id: None, steps: steps.collect(), base: PlaceBase::WorkingDirectory };
    let checked = CheckedBatch::check(op, batch).map_err(|error| {
        let message = format!("nothing was completed, and {}", error.message);
        CommandError { message, ..error }
    })?;
    let completed = complete(op, request)?;
    let records = checked.record(op).unwrap_or_else(|error| {
        let task = quote_code(&completed.completion.task);
        op.warn(format!("{task} is done, but what was learned is not recorded: {}", error.message));
        error.hints.iter().for_each(|hint| op.warn(hint.clone()));
        Vec::new()
    });
    Ok(LessonOutcome { completed, records, is_worth_asking: false })
}

/// Whether the calling session recorded nothing and was not asked at a task yet. Then it counts as asked.
fn is_worth_asking(op: &Op) -> bool {
    let ask = || -> Result<bool, CommandError> {
        let (mesh, caller) = identity::own_caller(op)?;
        let marks = mesh.hooks().knowledge_marks(&caller.session)?;
        if marks.has_recorded || marks.was_asked(AskMoment::Task) {
            return Ok(false);
        }
        let mark = KnowledgeMark::Asked(AskMoment::Task);
        Ok(mesh.hooks().is_first_knowledge_mark(&caller.session, &mark)?)
    };
    if op.settings.knowledge == KnowledgeMode::Off {
        return false;
    }
    ask().unwrap_or_else(|error| {
        op.warn(error.message);
        false
    })
}
