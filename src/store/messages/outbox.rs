//! Sending: a whole file appears in the recipient's inbox, with a name that sorts in the order of sending.
//!
//! The name is a stamp: the present time, or one microsecond after the sender's last stamp if that is later, under the
//! sender's own lock. So names sort in the order of sending even if the clock is set back, and an agent that is renamed
//! takes its last stamp along.

use super::message_files::{MessageStem, SentRecord};
use crate::domain::{Agent, AgentName, Message, MessageStamp};
use crate::store::agents::grave_id::GraveId;
use crate::store::error::StoreError;
use crate::store::handles::Outboxes;
use crate::store::lock_order::{LockOrderGuard, LockRank};
use crate::store::mesh::Mesh;
use crate::store::wire::message;
use crate::sys::files::{self, Published};
use crate::sys::flock::FileLock;
use crate::sys::{clock, random, test_switches};

/// The lock of one sender: while it is held, no other process stamps a message of that sender.
#[derive(Debug)]
pub struct Outbox<'m> {
    mesh: &'m Mesh,
    from: AgentName,
    last: u64,
    _held: FileLock,
    _turn: LockOrderGuard,
}

/// A message that was sent.
#[derive(Clone, Debug)]
pub struct Posted {
    pub stem: MessageStem,
    pub message: Message,
}

impl<'m> Outboxes<'m> {
    /// Records in `sent/` how the recipient is notified.
    pub fn record_wake_route(
        self,
        from: &AgentName,
        to: &AgentName,
        stem: &MessageStem,
        route: &str,
    ) -> Result<(), StoreError> {
        let dir = self.mesh.layout.sent(from);
        let plain = SentRecord::new(stem, to);
        let noted = SentRecord { route: Some(route.to_string()), ..plain.clone() };
        self.mesh.files.take(&dir.join(plain.file()), &dir.join(noted.file()))?;
        Ok(())
    }

    /// Whether there is a record in `sent/` of this message by `from`.
    pub fn has_sent(
        self,
        from: &AgentName,
        message: &Message,
        stem: &MessageStem,
    ) -> Result<bool, StoreError> {
        let Ok(to) = AgentName::new(message.to.as_str()) else { return Ok(false) };
        let sent = SentRecord::new(stem, &to);
        Ok(files::exists(&self.mesh.layout.sent(from).join(sent.file()))?)
    }

    /// Deletes a message that came too late, because the recipient left in the meantime. `false`: it is not in the
    /// inbox any more.
    pub fn retract(self, to: &AgentName, posted: &Posted) -> Result<bool, StoreError> {
        Ok(files::remove(&self.mesh.layout.inbox(to).join(posted.stem.file()))?)
    }

    /// Removes the record of a message that was taken back.
    pub fn forget_sent(self, from: &AgentName, to: &AgentName, posted: &Posted) -> Result<(), StoreError> {
        let sent = SentRecord::new(&posted.stem, to);
        files::remove(&self.mesh.layout.sent(from).join(sent.file()))?;
        Ok(())
    }

    /// Makes messages under a new name sort after those under the old one, whatever the clock says.
    pub fn continue_stamps_of(self, old: &AgentName, new: &AgentName) -> Result<(), StoreError> {
        if !files::exists(&self.mesh.layout.stamp(old))? {
            return Ok(());
        }
        let last = self.lock(old)?.last;
        self.lock(new)?.advance(last)
    }

    /// The last stamp of an agent, under all of its names.
    pub fn last_stamp_of(self, agent: &Agent) -> Result<u64, StoreError> {
        let mut last = 0;
        for name in agent.all_names() {
            let text = files::read_note(&self.mesh.layout.stamp(name))?;
            last = last.max(text.map_or(0, |text| last_stamp(&text)));
        }
        Ok(last)
    }

    pub fn lock(self, from: &AgentName) -> Result<Outbox<'m>, StoreError> {
        self.mesh.tighten()?;
        let dir = self.mesh.layout.sent(from);
        if !files::exists(&dir)? {
            files::create_dir(&dir)?;
        }
        let path = self.mesh.layout.stamp(from);
        let order = LockOrderGuard::begin(LockRank::Stamp, self.mesh.options.lock_timeout);
        loop {
            test_switches::count("lock-stamp");
            let held = FileLock::acquire(&path, order.left())?;
            let last = files::read_note(&path)?.map_or(0, |text| last_stamp(&text));
            if !files::has_second_name(&path)? {
                return Ok(Outbox { mesh: self.mesh, from: from.clone(), last, _held: held, _turn: order });
            }
            // The stamp file is written in place, which would also change the file with the other name. A new file is
            // ours alone; a process that waits for the lock on the old one notices that it is gone.
            self.mesh.files.replace(&path, &stamp_text(last))?;
        }
    }
}

/// Parses a stamp file. A value that is not a valid time counts as 0, otherwise all later stamps would follow it.
fn last_stamp(text: &[u8]) -> u64 {
    let last = std::str::from_utf8(text).ok().and_then(|text| text.trim().parse().ok());
    last.filter(|last| *last < MessageStamp::END).unwrap_or(0)
}

/// The content of a stamp file. Its width is fixed, so that overwriting leaves either the old or the new value.
fn stamp_text(last: u64) -> Vec<u8> {
    format!("{last:020}\n").into_bytes()
}

impl Outbox<'_> {
    /// The next stamp: now, or one microsecond after the last stamp if the clock stood still or was set back.
    pub fn stamp(&mut self) -> Result<MessageStamp, StoreError> {
        let now = u64::try_from(clock::now().as_microsecond()).unwrap_or(0);
        self.advance(now.max(self.last.saturating_add(1)))?;
        Ok(MessageStamp::new(self.last, random::number()))
    }

    /// Makes all later stamps greater than `last`.
    fn advance(&mut self, last: u64) -> Result<(), StoreError> {
        if last > self.last {
            self.last = last;
            files::overwrite(&self.mesh.layout.stamp(&self.from), &stamp_text(last))?;
        }
        Ok(())
    }

    /// Puts the message into the inbox of the agent, or where it waits for its way to the agent's machine. `None`: the
    /// recipient has no inbox, or none any more.
    pub fn post_to(
        &self,
        stamp: MessageStamp,
        to: &Agent,
        message: Message,
    ) -> Result<Option<Posted>, StoreError> {
        if !to.is_remote() {
            return self.post(stamp, &to.name, message);
        }
        let to_machine = to.machine.as_ref().map(|machine| machine.name.clone());
        let message = Message { to_session: Some(to.session.clone()), to_machine, ..message };
        self.post_into(&self.mesh.remote().queue_for(&to.name)?, stamp, &to.name, message)
    }

    /// Puts the message into the recipient's inbox. `None`: the recipient has no inbox, or none any more.
    pub fn post(
        &self,
        stamp: MessageStamp,
        to: &AgentName,
        message: Message,
    ) -> Result<Option<Posted>, StoreError> {
        self.post_into(&self.mesh.layout.inbox(to), stamp, to, message)
    }

    /// Puts the message into the grave of a session, which gets it when it comes back.
    pub fn hold(
        &self,
        grave: &GraveId,
        stamp: MessageStamp,
        to: &AgentName,
        message: Message,
    ) -> Result<Option<Posted>, StoreError> {
        self.post_into(&self.mesh.layout.grave(grave).join("inbox"), stamp, to, message)
    }

    fn post_into(
        &self,
        dir: &std::path::Path,
        stamp: MessageStamp,
        to: &AgentName,
        message: Message,
    ) -> Result<Option<Posted>, StoreError> {
        let stem = MessageStem::of_message(stamp, &message);
        let sent = SentRecord::new(&stem, to);
        let record = self.mesh.layout.sent(&self.from).join(sent.file());
        let target = dir.join(stem.file());
        match self.mesh.files.publish_twice(&target, &record, &message::bytes(&message))? {
            Some(Published::Done) => Ok(Some(Posted { stem, message })),
            Some(Published::Exists) => Err(StoreError::Corrupt {
                path: target,
                reason: "it was there before it was sent".to_string(),
            }),
            None => Ok(None),
        }
    }
}
