//! `msg set-status`: the status that others see next to an agent's name.

use super::identity;
use super::profile::AgentProfile;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};

/// The longest status, in characters: it is shown on one line with the name.
pub const MAX_STATUS: usize = 200;

/// Sets the status; `None` or empty text clears it.
pub fn set_status(op: &Op, text: Option<&str>) -> Result<AgentProfile, CommandError> {
    let status = text
        .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|text| !text.is_empty());
    if let Some(status) = &status {
        let length = status.chars().count();
        if length > MAX_STATUS {
            let text = format!("the status has {length} characters; {MAX_STATUS} is the most");
            return Err(CommandError::new(CommandErrorKind::InvalidValue, text)
                .hint("say it shorter, or send a message"));
        }
        if status.chars().any(char::is_control) {
            return Err(CommandError::new(
                CommandErrorKind::InvalidValue,
                "the status has control characters in it",
            ));
        }
    }
    let (mesh, caller) = identity::caller(op)?;
    let mut locked = mesh.lock()?;
    let mut change = locked.change();
    let agent = change.edit(&caller.agent, |agent| agent.status = status)?;
    change.commit()?;
    drop(locked);
    AgentProfile::look(op, &mesh, agent)
}
