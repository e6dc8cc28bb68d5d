//! An agent's mail by the names of its files, which tell where each message stands. What it says is read when somebody
//! wants to see it.

use std::path::PathBuf;

use super::archive::{Filed, Place, Whereabouts};
use super::error::StoreError;
use super::mail::{Hidden, Seen, Stem};
use super::mesh::Mesh;
use crate::domain::{Agent, AgentName};
use crate::sys::files;

/// A message that was sent or received, unread.
#[derive(Clone, Debug)]
pub struct Sealed {
    pub stem: Stem,
    pub place: Place,
    path: PathBuf,
}

impl Mesh {
    /// All that the agent sent and received, oldest first.
    pub fn correspondence(&self, agent: &Agent) -> Result<Vec<Sealed>, StoreError> {
        let sealed = |(path, stem, place)| Sealed { stem, place, path };
        let mut all: Vec<Sealed> = self.files_of(agent)?.into_iter().map(sealed).collect();
        all.sort_by(|a, b| a.stem.cmp(&b.stem));
        Ok(all)
    }

    /// What it says. `None`: it is not there any more, or can't be read.
    pub fn unseal(&self, sealed: &Sealed) -> Result<Option<Filed>, StoreError> {
        let message = super::archive::read(&sealed.path)?;
        let (stem, place) = (sealed.stem.clone(), sealed.place.clone());
        Ok(message.map(|message| Filed { stem, message, place }))
    }

    /// Where messages are that were sent to one agent. What lies neither in its inbox nor among what it was handed over
    /// is looked for everywhere.
    pub fn locate_all(&self, stems: &[Stem], to: &AgentName) -> Result<Vec<Whereabouts>, StoreError> {
        let handed_over: Vec<Seen> =
            files::list(&self.layout.seen(to))?.iter().filter_map(|file| Seen::of_file(file)).collect();
        let inbox = files::list(&self.layout.inbox(to))?;
        let find = |stem: &Stem| {
            if let Some(seen) = handed_over.iter().find(|seen| seen.stem == *stem) {
                return Ok(Whereabouts::Seen(seen.clone()));
            }
            let here = inbox.iter().find_map(|file| match Hidden::of_file(file) {
                Some(Hidden::Parked(parked)) => (parked == *stem).then_some(Whereabouts::Parked),
                Some(Hidden::Taken(taken, _)) => (taken == *stem).then_some(Whereabouts::InHand),
                None => (*file == stem.file()).then_some(Whereabouts::Stored),
            });
            here.map_or_else(|| self.locate(stem, to), Ok)
        };
        stems.iter().map(find).collect()
    }
}
