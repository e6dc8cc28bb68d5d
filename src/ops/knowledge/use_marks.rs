//! Notes how knowledge is used: by the session that records or opens something, and in the counts of this machine.

use crate::domain::knowledge::{
    ActionOutcome, CellValue, KnowledgePlan, KnowledgeSnapshot, RecordField, RecordId,
};
use crate::domain::settings::KnowledgeMode;
use crate::ops::agents::identity::caller_if_certain;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::store::{KnowledgeMark, KnowledgeUse};

use super::project::{KnowledgeAuthor, KnowledgeProject};

/// Notes that a session recorded something, and counts what it confirmed or contradicted.
pub(super) fn note_recorded(
    op: &Op,
    project: &KnowledgeProject,
    author: &KnowledgeAuthor,
    snapshot: &KnowledgeSnapshot,
    plan: &KnowledgePlan,
) -> Result<(), CommandError> {
    if let (Some(session), Some(mesh)) = (&author.session, op.mesh()?) {
        mesh.hooks().mark_knowledge(session, &KnowledgeMark::Recorded)?;
    }
    let is_of_another = |id: &RecordId| {
        snapshot.get(id).is_some_and(|record| record.statement.origin.author != author.origin.author)
    };
    for receipt in &plan.receipts {
        match receipt.outcome {
            ActionOutcome::Confirmed => project.uses.add(KnowledgeUse::Confirmed, &receipt.id)?,
            ActionOutcome::Retired if is_of_another(&receipt.id) => {
                project.uses.add(KnowledgeUse::Contradicted, &receipt.id)?;
            }
            _ => {}
        }
    }
    let superseded = plan.cells.iter().filter(|cell| {
        cell.key.field == RecordField::Supersedes && matches!(cell.value, CellValue::Present(_))
    });
    for old in superseded.filter_map(|cell| RecordId::parse(&cell.key.entry)) {
        if is_of_another(&old) {
            project.uses.add(KnowledgeUse::Contradicted, &old)?;
        }
    }
    Ok(())
}

/// Counts the records that the calling session was offered and looks at now, each once.
pub(super) fn note_opened<'r>(op: &Op, project: &KnowledgeProject, ids: impl Iterator<Item = &'r RecordId>) {
    if op.settings.knowledge == KnowledgeMode::Offer
        && let Err(error) = try_to_note_opened(op, project, ids)
    {
        op.warn(format!("what was opened is not counted: {}", error.message));
    }
}

fn try_to_note_opened<'r>(
    op: &Op,
    project: &KnowledgeProject,
    ids: impl Iterator<Item = &'r RecordId>,
) -> Result<(), CommandError> {
    let Some(mesh) = op.mesh()? else { return Ok(()) };
    let Some(agent) = caller_if_certain(op, &mesh, &mesh.registry().census()?) else { return Ok(()) };
    let marks = mesh.hooks().knowledge_marks(&agent.session)?;
    for id in ids.filter(|id| marks.was_offered(id) && !marks.opened.contains(id)) {
        mesh.hooks().mark_knowledge(&agent.session, &KnowledgeMark::Opened(id.clone()))?;
        project.uses.add(KnowledgeUse::Opened, id)?;
    }
    Ok(())
}
