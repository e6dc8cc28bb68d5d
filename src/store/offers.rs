//! Mail that a hook said to a model, between the saying and the first sign that the harness went on with it.
//!
//! Not all that a hook says reaches the model: a user takes a prompt back, a process is killed before it asks its model
//! again. So what was said is kept in the inbox under a name that bears the harness's process. A later hook shows that
//! the harness has it in its transcript, so that the model has it with its next request, and it is recorded as seen; or it
//! goes back, and is given again. If the process dies first, the next reader puts it back, as all that dead readers had
//! in hand.
//!
//! That later hook may belong to a tool call of the same batch, which the model asked for before it could read the mail.

use super::error::StoreError;
use super::mail::{Kept, Offer, Seen, Stem};
use super::mesh::Mesh;
use crate::domain::{Agent, AgentName};
use crate::sys::files;

/// A message that was offered.
#[derive(Clone, Debug)]
pub struct Offered {
    inbox: AgentName,
    file: String,
    offer: Offer,
}

impl Offered {
    pub fn stem(&self) -> &Stem {
        &self.offer.stem
    }

    /// Is it gone from the conversation, now that there is a prompt of that turn?
    pub fn may_be_gone(&self, turn: Option<&str>) -> bool {
        match &self.offer.kept {
            Kept::Always => false,
            Kept::InTurn(_) => Kept::in_turn(turn) != self.offer.kept,
            Kept::Never => true,
        }
    }
}

impl Mesh {
    /// What the agent's model was offered.
    pub fn offers(&self, agent: &Agent) -> Result<Vec<Offered>, StoreError> {
        let mut offers = Vec::new();
        for name in self.mailboxes(agent)? {
            for file in files::list(&self.layout.inbox(name))? {
                if let Some(offer) = Offer::of_file(&file) {
                    offers.push(Offered { inbox: name.clone(), file, offer });
                }
            }
        }
        Ok(offers)
    }

    /// The harness keeps them in its transcript: the model has them with its next request.
    pub fn surface(&self, offers: &[Offered]) -> Result<(), StoreError> {
        for Offered { inbox, file, offer } in offers {
            let Offer { stem, at, via, .. } = offer.clone();
            let (seen, dir) = (Seen { stem, at, via, acked: None }, self.layout.seen(inbox));
            // Of two hooks at once, one is the first.
            self.files.take_into(&self.layout.inbox(inbox).join(file), &dir, &dir.join(seen.file()))?;
        }
        Ok(())
    }

    /// The model does not have them, or that is not known: they wait again.
    pub fn withdraw(&self, offers: &[Offered]) -> Result<(), StoreError> {
        for Offered { inbox, file, offer } in offers {
            let dir = self.layout.inbox(inbox);
            self.put_at(&dir.join(file), &dir.join(offer.stem.file()))?;
        }
        Ok(())
    }
}
