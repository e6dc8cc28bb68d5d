//! What became of messages from other machines: told to the machine that each came from, step by step.

use std::time::{Duration, Instant};

use bytes::Bytes;

use super::send_error::SendError;
use crate::domain::AgentName;
use crate::store::link_format::{Envelope, ReceiptState};
use crate::store::{Mesh, MessageStem, OwedReceipt, SentMessageLocation};
use crate::sys::clock;
use crate::sys::nats::Nats;

/// What the sender knows of a message to us.
pub(super) const NOTHING: &str = "nothing";
const DELIVERED: &str = "delivered";
const SEEN: &str = "seen";
/// It is to be told that nobody here can have the message.
pub(super) const REFUSE: &str = "refuse";

/// Whether everything was done in the time that there was.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Slice {
    All,
    /// There is more: whoever waits for a decision comes first.
    More,
}

/// Tells other machines what became of their messages, for about that time.
pub(super) async fn send_receipts(mesh: &Mesh, nats: &Nats, time: Duration) -> Result<Slice, SendError> {
    let owed = mesh.remote().owed()?;
    let wanted: Vec<(MessageStem, AgentName)> =
        owed.iter().map(|owed| (owed.stem.clone(), owed.to.clone())).collect();
    if wanted.is_empty() {
        return Ok(Slice::All);
    }
    let places = mesh.outboxes().locate_sent(&wanted)?;
    let start = Instant::now();
    for (owed, place) in owed.iter().zip(places) {
        if start.elapsed() >= time {
            return Ok(Slice::More);
        }
        send_receipt(mesh, nats, owed, place).await?;
    }
    Ok(Slice::All)
}

async fn send_receipt(
    mesh: &Mesh,
    nats: &Nats,
    owed: &OwedReceipt,
    place: SentMessageLocation,
) -> Result<(), SendError> {
    let gone = |why: &str| ReceiptState::Refused { at: clock::now(), why: why.to_string() };
    if owed.told == REFUSE {
        tell(nats, owed, "refused", gone("nobody there can have it")).await?;
        return Ok(mesh.remote().settle(owed)?);
    }
    if owed.told == NOTHING {
        let state = ReceiptState::Delivered { at: clock::now() };
        tell(nats, owed, DELIVERED, state).await?;
        mesh.remote().note_told(owed, DELIVERED)?;
    }
    let now = OwedReceipt {
        told: if owed.told == NOTHING { DELIVERED.to_string() } else { owed.told.clone() },
        ..owed.clone()
    };
    match place {
        SentMessageLocation::Seen(record) => {
            let is_final = record.is_final();
            if is_final || now.told != SEEN {
                let step = if record.acked.is_some() { "acked" } else { SEEN };
                tell(nats, &now, step, ReceiptState::Seen(record)).await?;
                if !is_final {
                    mesh.remote().note_told(&now, SEEN)?;
                }
            }
            if is_final {
                mesh.remote().settle(&now)?;
            }
        }
        // Nothing more will be known of it. A record of it that its sender has stays what it is.
        SentMessageLocation::Nowhere | SentMessageLocation::Quarantine => {
            tell(nats, &now, "gone", gone("it was removed there before anybody read it")).await?;
            mesh.remote().settle(&now)?;
        }
        _ => {}
    }
    Ok(())
}

async fn tell(nats: &Nats, owed: &OwedReceipt, step: &str, state: ReceiptState) -> Result<(), SendError> {
    let receipt = Envelope::Receipt { stem: owed.stem.clone(), to: owed.to.clone(), state };
    let id = format!("{step}-{}", owed.stem);
    nats.publish(owed.machine.as_str(), &id, Bytes::from(receipt.bytes())).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_receipts_are_file_name_parts() {
        for word in [NOTHING, DELIVERED, SEEN, REFUSE] {
            assert!(word.bytes().all(|byte| byte.is_ascii_lowercase()), "{word}");
        }
    }
}
