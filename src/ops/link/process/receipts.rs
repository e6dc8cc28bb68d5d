//! What became of messages from other machines: told to the machine that each came from, step by step.

use std::time::{Duration, Instant};

use bytes::Bytes;

use super::failure::is_of_recipient;
use super::send_error::SendError;
use crate::domain::AgentName;
use crate::store::link_format::{Envelope, ReceiptState};
use crate::store::{Mesh, MessageStem, OwedReceipt, SentMessageLocation, StoreError};
use crate::sys::clock;
use crate::sys::nats::Nats;

/// What the sender knows of a message to us.
pub(super) const NOTHING: &str = "nothing";
const DELIVERED: &str = "delivered";
const SEEN: &str = "seen";

/// Why nobody here gets a message. Until its sender was told, a word for it is what the sender knows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Refusal {
    /// Nobody here is meant by it.
    Nobody,
    /// Its sender has the name of somebody else.
    SomebodyElsesName,
    /// The files of its recipient are damaged.
    Damaged,
    /// It is not understood, perhaps because it is of a later version.
    NotUnderstood,
}

impl Refusal {
    const ALL: [Self; 4] = [Self::Nobody, Self::SomebodyElsesName, Self::Damaged, Self::NotUnderstood];

    /// The part of the file name.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Nobody => "refuse",
            Self::SomebodyElsesName => "refusename",
            Self::Damaged => "refusedamaged",
            Self::NotUnderstood => "refuselater",
        }
    }

    /// What the sender is told.
    pub(super) fn why(self) -> &'static str {
        match self {
            Self::Nobody => "the agent that it is for is not there any more",
            Self::SomebodyElsesName => "the name of its sender belongs to an agent on another machine",
            Self::Damaged => "files of its recipient there are damaged: run msg doctor there",
            Self::NotUnderstood => "the msg there does not understand it, and may be older",
        }
    }

    fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|refusal| refusal.word() == word)
    }
}

/// Whether everything was done in the time that there was.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Slice {
    All,
    /// There is more: whoever waits for a decision comes first.
    More,
}

/// Tells other machines what became of their messages, for about that time.
pub(super) async fn send_receipts(mesh: &Mesh, nats: &Nats, time: Duration) -> Result<Slice, SendError> {
    let start = Instant::now();
    let is_refused = |owed: &OwedReceipt| Refusal::of_word(&owed.told).is_some();
    let (refused, owed): (Vec<_>, Vec<_>) = mesh.remote().owed()?.into_iter().partition(is_refused);
    for owed in &refused {
        if start.elapsed() >= time {
            return Ok(Slice::More);
        }
        send_refusal(mesh, nats, owed).await?;
    }
    for (owed, place) in owed.iter().zip(places(mesh, &owed)?) {
        if start.elapsed() >= time {
            return Ok(Slice::More);
        }
        if let Some(place) = place {
            send_receipt(mesh, nats, owed, place).await?;
        }
    }
    Ok(Slice::All)
}

/// Where the messages are now. `None`: the files of its recipient are damaged, so it can't be said of that one.
fn places(mesh: &Mesh, owed: &[OwedReceipt]) -> Result<Vec<Option<SentMessageLocation>>, StoreError> {
    let wanted: Vec<(MessageStem, AgentName)> =
        owed.iter().map(|owed| (owed.stem.clone(), owed.to.clone())).collect();
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    match mesh.outboxes().locate_sent(&wanted) {
        Ok(places) => Ok(places.into_iter().map(Some).collect()),
        Err(error) if !is_of_recipient(&error) => Err(error),
        Err(_) => wanted
            .chunks(1)
            .map(|one| match mesh.outboxes().locate_sent(one) {
                Ok(mut places) => Ok(places.pop()),
                Err(error) if is_of_recipient(&error) => Ok(None),
                Err(error) => Err(error),
            })
            .collect(),
    }
}

async fn send_refusal(mesh: &Mesh, nats: &Nats, owed: &OwedReceipt) -> Result<(), SendError> {
    let Some(refusal) = Refusal::of_word(&owed.told) else { return Ok(()) };
    tell(nats, owed, "refused", gone(refusal.why())).await?;
    Ok(mesh.remote().settle(owed)?)
}

fn gone(why: &str) -> ReceiptState {
    ReceiptState::Refused { at: clock::now(), why: why.to_string() }
}

async fn send_receipt(
    mesh: &Mesh,
    nats: &Nats,
    owed: &OwedReceipt,
    place: SentMessageLocation,
) -> Result<(), SendError> {
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
        for word in [NOTHING, DELIVERED, SEEN].into_iter().chain(Refusal::ALL.map(Refusal::word)) {
            assert!(word.bytes().all(|byte| byte.is_ascii_lowercase()), "{word}");
        }
        for refusal in Refusal::ALL {
            assert_eq!(Refusal::of_word(refusal.word()), Some(refusal));
        }
        assert_eq!([NOTHING, DELIVERED, SEEN].map(Refusal::of_word), [None; 3]);
    }
}
