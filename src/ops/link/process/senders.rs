//! Who a message is from: the server vouches for the machine that it came from, and the records for that machine's agents.

use jiff::{SignedDuration, Timestamp};

use super::table::{RecordTable, RecordValue};
use crate::domain::link::{MachineName, name_token};
use crate::domain::{AgentName, Message};
use crate::store::{Mesh, StoreError};

/// What is known of the sender that a message names.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Sender {
    /// An agent of the machine that the message came from; or that machine's `msg`, whose notices are marked.
    Vouched,
    /// Nobody has the name: its sender may have left since.
    Unknown,
    /// Whoever has the name joined only after the message was on the server. Its sender had the name before, or nobody.
    Before,
    /// Somebody else had the name when the message came to the server.
    SomebodyElse,
    /// The sender is not a name.
    NotAName,
}

impl Sender {
    /// What is known of the sender of a message from that machine. It was stored at that time by the server's clock, which
    /// is `ahead` of the clock here.
    pub(super) fn of(
        mesh: &Mesh,
        table: &RecordTable,
        from: &MachineName,
        message: &Message,
        (stored_at, ahead): (Timestamp, SignedDuration),
    ) -> Result<Self, StoreError> {
        if message.is_notice() {
            return Ok(Self::Vouched);
        }
        let Ok(name) = AgentName::new(message.from.as_str()) else { return Ok(Self::NotAName) };
        if let Some(RecordValue::Name(record)) = table.get(&name_token(&name)).map(|known| &known.value) {
            if record.record.owner.machine == *from {
                return Ok(Self::Vouched);
            }
            // A name that its agent has given up does not say since when it had it.
            let joined_at = record.agent.as_ref().map(|agent| agent.joined_at);
            return Ok(Self::compared(stored_at, joined_at));
        }
        Ok(match mesh.registry().get(&name)? {
            None => Self::Unknown,
            Some(record) => {
                let stored_at = stored_at.checked_sub(ahead).unwrap_or(stored_at);
                Self::compared(stored_at, Some(record.agent.joined_at))
            }
        })
    }

    fn compared(stored_at: Timestamp, joined_at: Option<Timestamp>) -> Self {
        if joined_at.is_some_and(|joined_at| stored_at < joined_at) {
            Self::Before
        } else {
            Self::SomebodyElse
        }
    }
}

/// The message as one of the agent that had the name on that machine. Nobody has that name as it is written now, so neither
/// is it taken for a message of whoever has the name, nor does an answer go there.
pub(super) fn of_former_owner(message: Message, from: &MachineName) -> Message {
    Message { from: format!("{} on {from}", message.from), ..message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_joined_later_is_not_who_wrote_before() {
        let at = |second| Timestamp::from_second(second).unwrap();
        assert_eq!(Sender::compared(at(5), Some(at(6))), Sender::Before);
        for joined_at in [Some(at(5)), Some(at(4)), None] {
            assert_eq!(Sender::compared(at(5), joined_at), Sender::SomebodyElse, "{joined_at:?}");
        }
    }
}
