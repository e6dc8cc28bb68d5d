//! Being handed messages: `read`, and what `watch`, `wait` and hooks do.
//!
//! Parse, take, hand over, record. Handing over is the caller's: it says whether what it was given reached its reader,
//! and only then is it recorded.

use jiff::SignedDuration;

use crate::domain::{Agent, AgentName, Message};
use crate::store::{Delivery, Kept, Mesh, Scan, Stem, StoreError, Via};
use crate::sys::seams::{self, Bug};
use crate::sys::{clock, random};

use super::rendered_message::{self, Letter, Reader};
use crate::ops::agents::identity;
use crate::ops::context::Context;
use crate::ops::error::CommandError;
use crate::ops::reservations::waiting::Reminder;
use crate::ops::watcher::mesh_watcher::is_anothers_name;

/// What was seen and sent is kept for so long, and so many of each.
const KEPT: SignedDuration = SignedDuration::from_hours(24 * 30);
const KEPT_AT_MOST: usize = 5_000;
/// One in so many readers and senders looks whether there is too much.
const PRUNE_ONE_IN: u32 = 64;

/// How many messages are in hand at once.
const BATCH: usize = 64;

/// Did it reach its reader?
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reached {
    Yes,
    /// Nobody reads any more: it goes back.
    No,
}

/// Messages on their way to a reader.
pub type HandOver<'a> = dyn FnMut(&[Letter]) -> Reached + 'a;

/// What is to be read.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    pub limit: Option<usize>,
    /// Only from this sender.
    pub from: Option<AgentName>,
    pub ack: bool,
    /// Those that could not be handed over before, too.
    pub parked: bool,
    /// What receipts say of it, if it is not done by the command of that name.
    pub via: Option<&'static str>,
}

/// Takes what waits and hands it over. Returns how many were.
pub fn read(
    ctx: &Context,
    reader: Reader,
    selection: &Selection,
    hand_over: &mut HandOver<'_>,
) -> Result<usize, CommandError> {
    let (mesh, caller) = identity::caller(ctx)?;
    let mut desk = Desk::new(ctx, &mesh, caller.agent, Via::new(selection.via.unwrap_or("read")), reader);
    let done = desk.deliver_together(selection, hand_over)?;
    desk.prune()?;
    Ok(done)
}

/// Where one agent's mail is handed over.
pub(in crate::ops) struct Desk<'a> {
    pub(in crate::ops) ctx: &'a Context,
    pub(in crate::ops) mesh: &'a Mesh,
    pub(in crate::ops) agent: Agent,
    pub(in crate::ops) via: Via,
    reader: Reader,
    reminder: Reminder,
    /// What is handed over is said to a model by a hook, and counts when the model goes on.
    offers: Option<Kept>,
}

impl<'a> Desk<'a> {
    pub(in crate::ops) fn new(
        ctx: &'a Context,
        mesh: &'a Mesh,
        agent: Agent,
        via: Via,
        reader: Reader,
    ) -> Self {
        Self { ctx, mesh, agent, via, reader, reminder: Reminder::default(), offers: None }
    }

    /// For a hook: what it says is recorded when a later hook shows that the model has it.
    pub(in crate::ops) fn offering(self, kept: Kept) -> Self {
        Self { offers: Some(kept), ..self }
    }

    /// What waits, with what the agent is owed.
    pub(in crate::ops) fn look(&self) -> Result<Scan, CommandError> {
        self.reminder.tell_if_owed(self.ctx, self.mesh, &self.agent);
        self.scan()
    }

    /// What waits, after the dead have given back what they had, in the order of handing over.
    pub(in crate::ops) fn scan(&self) -> Result<Scan, CommandError> {
        let scan = self.mesh.look(&self.agent)?;
        if scan.in_hand == 0 && scan.unripe.is_empty() {
            return Ok(scan);
        }
        for unripe in self.mesh.tidy_inbox(&self.agent, &scan)? {
            self.ctx
                .notice(format!("`{}` could not be read and was set aside: {}", unripe.file, unripe.reason));
        }
        Ok(self.mesh.look(&self.agent)?)
    }

    fn select(&self, selection: &Selection) -> Result<Vec<crate::store::Waiting>, CommandError> {
        let scan = self.look()?;
        let parked = scan.parked.into_iter().filter(|_| selection.parked);
        let from = |message: &Message| {
            selection.from.as_ref().is_none_or(|name| name.as_str().eq_ignore_ascii_case(&message.from))
        };
        let chosen = scan.waiting.into_iter().chain(parked).filter(|waiting| from(&waiting.message));
        Ok(chosen.take(selection.limit.unwrap_or(usize::MAX)).collect())
    }

    /// All that is selected, as one: for what answers once.
    pub(in crate::ops) fn deliver_together(
        &mut self,
        selection: &Selection,
        hand_over: &mut HandOver<'_>,
    ) -> Result<usize, CommandError> {
        let waiting = self.select(selection)?;
        let delivery = self.mesh.take(waiting)?;
        let count = delivery.messages().count();
        self.finish(delivery, selection.ack, hand_over)?;
        Ok(count)
    }

    /// All that waits, a few at a time: for what goes on and on. Stops when nobody reads any more.
    pub(in crate::ops) fn deliver_in_batches(
        &mut self,
        mut waiting: Vec<crate::store::Waiting>,
        hand_over: &mut HandOver<'_>,
        mut go_on: impl FnMut() -> bool,
    ) -> Result<Reached, CommandError> {
        while !waiting.is_empty() && go_on() {
            let rest = waiting.split_off(waiting.len().min(BATCH));
            let delivery = self.mesh.take(std::mem::replace(&mut waiting, rest))?;
            if !delivery.is_empty() && self.finish(delivery, false, hand_over)? == Reached::No {
                return Ok(Reached::No);
            }
        }
        Ok(Reached::Yes)
    }

    pub(in crate::ops) fn finish(
        &mut self,
        delivery: Delivery<'_>,
        ack: bool,
        hand_over: &mut HandOver<'_>,
    ) -> Result<Reached, CommandError> {
        // Between finding out who one is and taking, a name can be lost and given away: what was taken is then the heir's.
        if is_anothers_name(self.mesh, &self.agent)? {
            delivery.put_back()?;
            return Err(StoreError::NoRegistration(self.agent.name.to_string()).into());
        }
        let messages: Vec<(&Stem, &Message)> = delivery.messages().collect();
        let (letters, contacts) =
            rendered_message::write(self.ctx, self.mesh, (&self.agent, self.reader), &messages)?;
        if seams::has_bug(Bug::DeleteBeforeDeliver) {
            delivery.record(&self.via, clock::now(), ack)?;
            return Ok(hand_over(&letters));
        }
        let reached = hand_over(&letters);
        match reached {
            Reached::Yes => {
                match &self.offers {
                    None => delivery.record(&self.via, clock::now(), ack)?,
                    Some(kept) => delivery.offer(&self.agent.process, &self.via, clock::now(), kept)?,
                }
                if let Some(contacts) = contacts
                    && let Err(error) = self.mesh.set_contacts(&self.agent.name, &contacts)
                {
                    // All is handed over and recorded: a few words told twice are no reason to fail.
                    self.ctx.notice(format!("who wrote is not kept: {error}"));
                }
            }
            Reached::No => delivery.put_back()?,
        }
        Ok(reached)
    }

    /// Keeps history within bounds, now and then.
    pub(in crate::ops) fn prune(&self) -> Result<(), StoreError> {
        if random::number().is_multiple_of(PRUNE_ONE_IN) {
            self.mesh.prune(&self.agent.name, clock::now() - KEPT, KEPT_AT_MOST)?;
        }
        Ok(())
    }
}
