//! Carries out what was chosen in a menu, by the same operations as the commands.

use crossbeam_channel::Sender;

use crate::domain::AgentName;
use crate::ops::tasks::{ClaimRequest, HandoffNotes, TaskChoice, claim, handoff, unclaim};
use crate::ops::{
    BroadPatterns, CommandError, CommandErrorKind, Context, EvictPolicy, GlobalOptions, Op, evict,
    release_from, release_listed, run,
};

use super::action_menu::ActionCall;
use super::state::ChatUpdate;

/// Does it, and says what was done.
pub(super) fn carry_out(
    globals: GlobalOptions,
    call: ActionCall,
    news: &Sender<ChatUpdate>,
) -> Result<String, CommandError> {
    let (done, warnings) = run(Context::new(globals)?, |op| act(op, call)).into_parts();
    for warning in warnings {
        drop(news.send(ChatUpdate::Notice(warning)));
    }
    done
}

fn act(op: &Op, call: ActionCall) -> Result<String, CommandError> {
    match call {
        ActionCall::Claim { task, spec } => {
            let request = ClaimRequest {
                choice: TaskChoice::This(task),
                spec: Some(spec),
                reason: None,
                reserve: Vec::new(),
                broad: BroadPatterns::Refuse,
                is_adhoc: false,
            };
            let claimed = claim(op, &request)?;
            Ok(format!("you have claimed {}", claimed.claim.task))
        }
        ActionCall::Unclaim { task, spec } => {
            let claim = unclaim(op, Some(&task), Some(&spec))?;
            Ok(format!("{} is open again", claim.task))
        }
        ActionCall::HandOff { task, spec, to } => {
            let name = AgentName::new(&to)?;
            let given = handoff(op, &task, &name, Some(&spec), HandoffNotes::default())?;
            Ok(format!("{to} has {} now", given.claim.task))
        }
        ActionCall::Release { pattern, root } => {
            release_listed(op, &pattern, root.as_deref())?;
            Ok(format!("{pattern} is released"))
        }
        ActionCall::ReleaseFrom { target, holder } => {
            let taken = release_from(op, &target, &AgentName::new(&holder)?)?;
            Ok(match taken.gained {
                Some((name, reservation)) => format!("{name} has {} now", reservation.pattern),
                None => format!("{} is released from {holder}", taken.lost.reservation.pattern),
            })
        }
        ActionCall::Evict { name } => {
            let name = AgentName::new(&name)?;
            // The question was answered with yes. Only a person may evict an agent that is alive, and the op checks that.
            match evict(op, &name, EvictPolicy::NotIfAlive) {
                Err(error) if error.kind == CommandErrorKind::StillAlive => {
                    evict(op, &name, EvictPolicy::EvenIfAlive)?
                }
                done => done?,
            };
            Ok(format!("{name} is evicted"))
        }
    }
}
