//! Lists an agent's messages and their states by file names alone; reads a content only on request.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::archive::{MessageLocation, SentMessageLocation, StoredMessage};
use super::expiry::ExpiredMessage;
use super::message_files::{DotFile, MessageStem, Offer, SeenRecord};
use crate::domain::{Agent, AgentName};
use crate::store::error::StoreError;
use crate::store::handles::{Archive, Outboxes};
use crate::store::mesh::Mesh;
use crate::sys::{clock, files};

/// How often a message is moved on its way through a recipient's mail: taken, recorded as handed over, acknowledged.
const MOVES_OF_MAIL: usize = 3;

/// A message that was sent or received, without its content.
#[derive(Clone, Debug)]
pub struct MessageRef {
    pub stem: MessageStem,
    pub place: MessageLocation,
    path: PathBuf,
}

impl Archive<'_> {
    /// All messages that the agent sent and received, oldest first. With `from`, records that are older are left out;
    /// messages in the inbox never are.
    pub fn list(self, agent: &Agent, from: Option<&MessageStem>) -> Result<Vec<MessageRef>, StoreError> {
        let sealed = |(path, stem, place)| MessageRef { stem, place, path };
        let mut all: Vec<MessageRef> = self.files_of(agent, from)?.into_iter().map(sealed).collect();
        all.sort_by(|a, b| a.stem.cmp(&b.stem));
        Ok(all)
    }

    /// Reads the message. `None`: it is gone, or cannot be read.
    pub fn load(self, sealed: &MessageRef) -> Result<Option<StoredMessage>, StoreError> {
        let message = super::archive::read(&sealed.path)?;
        let (stem, place) = (sealed.stem.clone(), sealed.place.clone());
        Ok(message.map(|message| StoredMessage { stem, message, place }))
    }
}

impl Outboxes<'_> {
    /// Where sent messages are now, in the order of `sent`. Each recipient's mail is listed once. All other places are
    /// listed only for messages that were not found there, and once for all of them. What has expired is recorded as
    /// such on the way: its recipient may never look again.
    pub fn locate_sent(
        self,
        sent: &[(MessageStem, AgentName)],
    ) -> Result<Vec<SentMessageLocation>, StoreError> {
        let now = clock::now();
        let mut search = Search { mesh: self.mesh, now, missing: HashMap::new(), found: HashMap::new() };
        search.missing.extend(sent.iter().cloned());
        let mut recipients: Vec<&AgentName> = sent.iter().map(|(_, to)| to).collect();
        recipients.sort_by(|a, b| a.as_str().cmp(b.as_str()));
        recipients.dedup_by(|a, b| a.is_spelled_as(b));
        for name in &recipients {
            search.mail_of(name)?;
        }
        search.on_other_machines()?;
        search.elsewhere(&recipients)?;
        search.look_again(&recipients)?;
        let place = |(stem, _): &(MessageStem, AgentName)| search.found.get(stem).cloned();
        Ok(sent.iter().map(|sent| place(sent).unwrap_or(SentMessageLocation::Nowhere)).collect())
    }
}

/// A search for several messages at once.
struct Search<'m> {
    mesh: &'m Mesh,
    now: Timestamp,
    /// With their recipients.
    missing: HashMap<MessageStem, AgentName>,
    found: HashMap<MessageStem, SentMessageLocation>,
}

impl Search<'_> {
    fn find(&mut self, stem: MessageStem, place: SentMessageLocation) {
        if self.missing.remove(&stem).is_some() {
            self.found.insert(stem, place);
        }
    }

    /// Records a message that has expired. If somebody else was faster, it is on its way.
    fn find_expired(&mut self, unread: &Path, to: &AgentName, stem: &MessageStem) -> Result<(), StoreError> {
        let moved = self.mesh.inboxes().move_expired(unread, to, stem)?;
        self.find(stem.clone(), moved.map_or(SentMessageLocation::InHand, SentMessageLocation::Seen));
        Ok(())
    }

    /// What is moved while directories are listed may be in none of the lists. Mail moves in one direction: it is taken,
    /// then recorded, then acknowledged; so whatever is missing after one more look than that was not moving.
    fn look_again(&mut self, recipients: &[&AgentName]) -> Result<(), StoreError> {
        for _ in 0..MOVES_OF_MAIL {
            for name in recipients {
                if self.missing.values().any(|to| to.is_spelled_as(name)) {
                    self.mail_of(name)?;
                }
            }
        }
        Ok(())
    }

    /// Looks through the seen and the unread mail of that agent.
    fn mail_of(&mut self, name: &AgentName) -> Result<(), StoreError> {
        let layout = &self.mesh.layout;
        for seen in files::list(&layout.seen(name))?.iter().filter_map(|file| SeenRecord::of_file(file)) {
            self.find(seen.stem.clone(), SentMessageLocation::Seen(seen));
        }
        for file in files::list(&layout.inbox(name))? {
            if let Some(expired) = ExpiredMessage::of_file(name, &file, self.now) {
                self.find_expired(&layout.inbox(name).join(&file), name, expired.stem())?;
                continue;
            }
            match DotFile::of_file(&file) {
                Some(DotFile::Parked(stem)) => self.find(stem, SentMessageLocation::Parked),
                Some(DotFile::Taken(stem, _)) => {
                    let place = Offer::of_file(&file)
                        .map_or(SentMessageLocation::InHand, SentMessageLocation::Offered);
                    self.find(stem, place);
                }
                None => {
                    if let Some(stem) = MessageStem::of_file(&file) {
                        self.find(stem, SentMessageLocation::Stored);
                    }
                }
            }
        }
        Ok(())
    }

    /// Looks at what is known of messages to other machines. They are looked for in the order of their way, so one that
    /// moves meanwhile is found further on.
    fn on_other_machines(&mut self) -> Result<(), StoreError> {
        let remote = self.mesh.remote();
        if self.missing.is_empty() || !remote.has_mail()? {
            return Ok(());
        }
        for (stem, to) in self.missing.clone() {
            if let Some(delivery) = remote.delivery(&to, &stem)? {
                self.find(stem, SentMessageLocation::Remote(delivery));
            }
        }
        let mut recipients: Vec<AgentName> = self.missing.values().cloned().collect();
        recipients.dedup_by(|a, b| a.is_spelled_as(b));
        for to in recipients {
            for seen in remote.seen_by(&to)? {
                self.find(seen.stem.clone(), SentMessageLocation::Seen(seen));
            }
        }
        Ok(())
    }

    /// Looks everywhere else: mail may have been forwarded to a new name, or be in a grave or in quarantine.
    fn elsewhere(&mut self, looked_at: &[&AgentName]) -> Result<(), StoreError> {
        let layout = &self.mesh.layout;
        if self.missing.is_empty() {
            return Ok(());
        }
        // Who was buried has no inbox any more; what it had read stays.
        let mut names = files::list(&layout.directory("inbox"))?;
        names.extend(files::list(&layout.directory("seen"))?);
        names.sort();
        names.dedup();
        let names = names.iter().filter_map(|name| AgentName::new(name.as_str()).ok());
        for name in names.filter(|name| !looked_at.iter().any(|looked_at| looked_at.is_spelled_as(name))) {
            self.mail_of(&name)?;
        }
        for grave in files::list(&layout.graves())? {
            for file in files::list(&layout.graves().join(&grave).join("inbox"))? {
                let stem = match DotFile::of_file(&file) {
                    Some(DotFile::Parked(stem) | DotFile::Taken(stem, _)) => Some(stem),
                    None => MessageStem::of_file(&file),
                };
                let Some(stem) = stem else { continue };
                match self.missing.get(&stem).cloned() {
                    Some(to) if stem.is_expired(self.now) => {
                        let path = layout.graves().join(&grave).join("inbox").join(&file);
                        self.find_expired(&path, &to, &stem)?;
                    }
                    _ => self.find(stem, SentMessageLocation::Grave(grave.clone())),
                }
            }
        }
        for file in files::list(&layout.directory("quarantine"))? {
            let set_aside = self.missing.keys().find(|stem| file.ends_with(&format!("-{}", stem.file())));
            if let Some(stem) = set_aside.cloned() {
                self.find(stem, SentMessageLocation::Quarantine);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::domain::settings::Durability;
    use crate::store::{MeshLocation, MeshOptions};

    /// A sender who looks while a reader takes, records and acknowledges must not be told that the message is nowhere.
    #[test]
    fn a_message_that_moves_while_it_is_looked_for_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let options = MeshOptions { durability: Durability::Process, lock_timeout: Duration::from_secs(1) };
        let mesh = Mesh::create(&MeshLocation::at(&dir.path().join("mesh")), options).unwrap();
        let name = AgentName::new("GoldFalcon").unwrap();
        let (inbox, seen) = (mesh.layout.inbox(&name), mesh.layout.seen(&name));
        files::create_dir(&inbox).unwrap();
        files::create_dir(&seen).unwrap();
        for turn in 0..400 {
            let stem = MessageStem::of_file(&format!("{turn:020}-abcdef.json")).unwrap();
            let stored = inbox.join(stem.file());
            mesh.files.replace(&stored, b"{}").unwrap();
            thread::scope(|scope| {
                let reader = scope.spawn(|| {
                    let taken = inbox.join(stem.taken_by(files::own_mark()));
                    mesh.files.take(&stored, &taken).unwrap();
                    mesh.files.take(&taken, &seen.join(format!("{stem},1,read.json"))).unwrap();
                });
                while !reader.is_finished() {
                    let place = mesh.outboxes().locate_sent(&[(stem.clone(), name.clone())]).unwrap();
                    assert!(!matches!(place[..], [SentMessageLocation::Nowhere]), "message {turn}");
                }
            });
        }
    }

    /// Mail that was forwarded to a new name, and read there by somebody who is gone.
    #[test]
    fn what_somebody_who_is_buried_has_read_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let options = MeshOptions { durability: Durability::Process, lock_timeout: Duration::from_secs(1) };
        let mesh = Mesh::create(&MeshLocation::at(&dir.path().join("mesh")), options).unwrap();
        let seen = mesh.layout.seen(&AgentName::new("Later").unwrap());
        files::create_dir(&seen).unwrap();
        files::create_empty(&seen.join("1795134989388-qws8nw,1795134546824,read..json")).map(drop).unwrap();
        let stem = MessageStem::of_file("1795134989388-qws8nw.json").unwrap();
        let place = mesh.outboxes().locate_sent(&[(stem, AgentName::new("Earlier").unwrap())]).unwrap();
        assert!(matches!(place[..], [SentMessageLocation::Seen(_)]), "{place:?}");
    }

    /// `files_of` relies on this when it starts at a stem.
    #[test]
    fn records_stand_in_the_order_of_their_stems() {
        let stems = ["1", "1-", "1-a", "1-aa", "10", "1A", "1_", "2-a", "a"];
        for one in stems {
            for other in stems {
                assert_eq!(format!("{one},7,read.json").as_str() >= other, one >= other, "{one} {other}");
            }
        }
    }
}
