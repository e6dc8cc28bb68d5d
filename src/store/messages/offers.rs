//! Offers: mail that a hook gave to a model, until the first sign that the harness went on with it.
//!
//! Not everything that a hook says reaches the model: the user may take back a prompt, or the process may be killed
//! before its next request. So an offered message stays in the inbox under a name that contains the mark of the
//! harness's process. If a later hook shows that the harness has the message in its transcript, so that the model gets
//! it with its next request, the message is recorded as seen. Otherwise it becomes unread and is given again. If the
//! process dies first, the next reader puts the message back, like everything that dead readers had taken.
//!
//! The later hook may belong to a tool call of the same batch, which the model requested before it could read the mail.

use super::message_files::{AnswerMark, MessageStem, Offer, OfferRetention, SeenRecord};
use crate::domain::{Agent, AgentName};
use crate::store::error::StoreError;
use crate::store::handles::Inboxes;
use crate::sys::files;

/// A message that was offered.
#[derive(Clone, Debug)]
pub struct OfferedMessage {
    inbox: AgentName,
    file: String,
    offer: Offer,
}

impl OfferedMessage {
    pub fn stem(&self) -> &MessageStem {
        &self.offer.stem
    }

    /// Whether the message may be gone from the conversation, now that there is a prompt of `turn`.
    pub fn may_be_gone(&self, turn: Option<&str>) -> bool {
        match &self.offer.kept {
            OfferRetention::Always => false,
            OfferRetention::InTurn(_) => OfferRetention::in_turn(turn) != self.offer.kept,
            OfferRetention::Never => true,
        }
    }
}

impl Inboxes<'_> {
    /// The messages that were offered to the agent's model.
    pub fn offers(self, agent: &Agent) -> Result<Vec<OfferedMessage>, StoreError> {
        let mut offers = Vec::new();
        for name in self.names_of(agent)? {
            for file in files::list(&self.mesh.layout.inbox(name))? {
                if let Some(offer) = Offer::of_file(&file) {
                    offers.push(OfferedMessage { inbox: name.clone(), file, offer });
                }
            }
        }
        Ok(offers)
    }

    /// Records offers as seen: the harness has them in its transcript, so the model gets them with its next request.
    pub fn confirm_offers(self, offers: &[OfferedMessage]) -> Result<(), StoreError> {
        for OfferedMessage { inbox, file, offer } in offers {
            let Offer { stem, at, via, .. } = offer.clone();
            let seen = SeenRecord { stem, at, via, answer: AnswerMark::None, acked: None };
            let dir = self.mesh.layout.seen(inbox);
            // If two hooks do this at once, the first one wins.
            self.mesh.files.take_into(
                &self.mesh.layout.inbox(inbox).join(file),
                &dir,
                &dir.join(seen.file()),
            )?;
        }
        Ok(())
    }

    /// Makes offers unread again: the model does not have them, or that is not known.
    pub fn withdraw_offers(self, offers: &[OfferedMessage]) -> Result<(), StoreError> {
        for OfferedMessage { inbox, file, offer } in offers {
            let dir = self.mesh.layout.inbox(inbox);
            self.put_at(&dir.join(file), &dir.join(offer.stem.file()))?;
        }
        Ok(())
    }
}
