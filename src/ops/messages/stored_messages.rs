//! `msg inbox` and `show`: an agent's messages, and which of them an id refers to.

use crate::domain::{Agent, shell_word, suggestions};
use crate::ops::agents::identity;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::person_required;
use crate::store::{InboxScan, Mesh, MessageLocation, StoredMessage};

use super::answers;

/// The unread messages, and the acks and answers that are owed.
#[derive(Clone, Debug)]
pub struct InboxReport {
    pub scan: InboxScan,
    pub owe_ack: Vec<StoredMessage>,
    pub owe_answer: Vec<StoredMessage>,
}

pub fn inbox(op: &Op) -> Result<InboxReport, CommandError> {
    let (mesh, caller) = identity::caller(op)?;
    let scan = mesh.inboxes().scan(&caller.agent)?;
    for unripe in &scan.unripe {
        op.warn(format!("`{}` can't be read yet: {}", unripe.file, unripe.reason));
    }
    for path in mesh.upkeep().quarantined_files()? {
        op.warn(format!("`{path}` could not be read and was set aside; the reason is beside it"));
    }
    let owe_ack = mesh.archive().owed_acks(&caller.agent)?;
    let owe_answer = answers::owed(&mesh, &caller.agent)?;
    Ok(InboxReport { scan, owe_ack, owe_answer })
}

pub fn show(op: &Op, id: &str) -> Result<StoredMessage, CommandError> {
    let (mesh, caller) = identity::caller(op)?;
    find(&mesh, &caller.agent, id)
}

/// Like [`show`], but of everybody's messages, also of agents that are gone. Only for a person at a terminal.
pub fn show_of_everybody(op: &Op, id: &str) -> Result<StoredMessage, CommandError> {
    let line = format!("msg show {} --all", shell_word(id));
    person_required::required_at_terminal(op, || person_required::with_mesh(op, &line))?;
    let Some(mesh) = op.mesh()? else { return Err(unknown_to_all(id)) };
    let mut found = Vec::new();
    for texts in mesh.archive().all_texts()?.texts {
        for record in (0..texts.len()).filter_map(|number| texts.record(number)) {
            if record.is_meant_by(id) {
                found.extend(texts.load(&record)?.filter(|filed| filed.is_meant_by(id)));
            }
        }
    }
    // What is called so comes before what merely begins so.
    if found.iter().any(|filed| filed.is_called(id)) {
        found.retain(|filed| filed.is_called(id));
    }
    // Its sender has it too. What became of it, its recipient knows.
    let is_sent = |filed: &StoredMessage| matches!(filed.place, MessageLocation::Sent(_));
    found.sort_by(|a, b| a.message.id.cmp(&b.message.id).then(is_sent(a).cmp(&is_sent(b))));
    if found.is_empty() { Err(unknown_to_all(id)) } else { only(found, id) }
}

fn unknown_to_all(id: &str) -> CommandError {
    let text = format!("nobody has a message `{}`", id.escape_debug());
    CommandError::new(CommandErrorKind::UnknownMessage, text)
        .hint("give the six-letter id as shown by `msg search --all`; messages are kept for 30 days")
}

/// Messages that the caller was asked to ack and has not.
pub fn owed_acks(op: &Op) -> Result<Vec<StoredMessage>, CommandError> {
    let (mesh, caller) = identity::caller(op)?;
    Ok(mesh.archive().owed_acks(&caller.agent)?)
}

/// The one message that `id` refers to.
pub(in crate::ops) fn find(mesh: &Mesh, agent: &Agent, id: &str) -> Result<StoredMessage, CommandError> {
    only(mesh.archive().find(agent, id)?, id)
}

pub(super) fn only(mut found: Vec<StoredMessage>, id: &str) -> Result<StoredMessage, CommandError> {
    // A message to oneself is both sent and received; either will do.
    found.dedup_by(|a, b| a.message.id == b.message.id);
    match found.len() {
        0 => Err(unknown(id)),
        1 => Ok(found.remove(0)),
        _ => {
            let ids: Vec<String> = found.iter().map(|filed| filed.message.id.to_string()).collect();
            let near = suggestions(id, ids.iter().map(String::as_str)).join(", ");
            let text = format!("`{}` could be {} messages", id.escape_debug(), found.len());
            let hint =
                format!("give more of the id: {}", if near.is_empty() { ids.join(", ") } else { near });
            Err(CommandError::new(CommandErrorKind::AmbiguousMessage, text).hint(hint).facts("ids", ids))
        }
    }
}

pub(super) fn unknown(id: &str) -> CommandError {
    CommandError::new(
        CommandErrorKind::UnknownMessage,
        format!("you have no message `{}`", id.escape_debug()),
    )
    .hint("give the six-letter id as shown by `msg history`")
}
