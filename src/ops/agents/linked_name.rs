//! Asking the server of a linked mesh for a name, before the lock is taken.

use crate::domain::{AgentName, SessionId, quote_name};
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::link::ask::{self, LinkGrant};
use crate::store::Mesh;
use crate::store::link_protocol::{LinkAnswer, LinkRequest, LocalAgent};

use super::names::name_taken;

/// Lets the server decide about a name that is free here. An error if an agent on another machine has it. Work on this
/// machine must not need the network, so a server that can't be asked is only a warning: the link process asks later, and
/// tells the agent if it has to choose another name. The grant must outlive the lock.
pub(super) fn decide<'a>(
    op: &'a Op,
    mesh: &'a Mesh,
    name: &AgentName,
    session: &SessionId,
) -> Result<Option<LinkGrant<'a>>, CommandError> {
    let agent = LocalAgent { name: name.clone(), session: session.clone() };
    match ask::decide(op, mesh, &LinkRequest::TakeName { agent }) {
        Ok(LinkAnswer::Granted { .. } | LinkAnswer::Done) => Ok(Some(LinkGrant::new(op, mesh))),
        Ok(LinkAnswer::Taken { holders }) => {
            let machine = holders.first().map(|holder| holder.machine.as_str());
            let who = machine.map_or_else(
                || "an agent on another machine".to_string(),
                |machine| format!("an agent on {}", quote_name(machine)),
            );
            let error = name_taken(name, &who);
            Err(match machine {
                Some(machine) => error.fact("machine", machine),
                None => error,
            })
        }
        Ok(answer) => {
            let text = format!("the link process gave a wrong answer: {answer:?}");
            Err(CommandError::new(CommandErrorKind::Bug, text))
        }
        Err(error) if error.kind == CommandErrorKind::Bug => Err(error),
        Err(error) => {
            op.warn(format!(
                "the name {name} is not confirmed by the server yet: other machines do not see you until it is ({})",
                error.message
            ));
            Ok(None)
        }
    }
}
