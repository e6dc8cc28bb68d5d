//! Handing over messages: `read`, and the common part of `watch`, `wait` and hooks.
//!
//! The steps are: parse, take, hand over, record. The caller hands over, and says whether the messages reached their
//! reader; only then are they recorded.
//!
//! `tests/model/delivery.rs` checks every interleaving of readers that take, put back and die.

use crate::domain::{Agent, AgentName, Message};
use crate::store::{
    Acknowledge, InboxScan, MESSAGES_KEPT, MESSAGES_KEPT_AT_MOST, Mesh, MessageStem, OfferRetention,
    StoreError, TakenMessages, Via,
};
use crate::sys::test_switches::{self, Bug};
use crate::sys::{clock, random};

use super::rendered_message::{self, ReaderKind, RenderedMessage};
use super::unread_reports::UnreadReporter;
use crate::ops::agents::identity;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::ops::reservations::waiting::WaitNotifier;
use crate::ops::watcher::mesh_watcher::is_anothers_name;

/// One reader or sender in this many prunes the history.
const PRUNE_ONE_IN: u32 = 64;

/// Most messages taken at once.
const BATCH: usize = 64;

/// Whether messages reached their reader.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HandoverOutcome {
    Delivered,
    /// Nobody reads any more: they are put back.
    ReaderGone,
}

/// Gives messages to a reader.
pub type HandoverFn<'a> = dyn FnMut(&[RenderedMessage]) -> HandoverOutcome + 'a;

/// Which messages to read.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    pub limit: Option<usize>,
    /// Only from this sender.
    pub from: Option<AgentName>,
    pub ack: Acknowledge,
    /// Also those that could not be handed over before.
    pub includes_parked: bool,
    /// What receipts name as the means, if not the command.
    pub via: Option<&'static str>,
}

/// Takes the waiting messages and hands them over. Returns how many.
pub fn read(
    op: &Op,
    reader: ReaderKind,
    selection: &ReadOptions,
    hand_over: &mut HandoverFn<'_>,
) -> Result<usize, CommandError> {
    let (mesh, caller) = identity::caller(op)?;
    let mut reader =
        InboxReader::new(op, &mesh, caller.agent, Via::new(selection.via.unwrap_or("read")), reader);
    let done = reader.deliver_together(selection, hand_over)?;
    reader.prune()?;
    Ok(done)
}

/// Hands over the mail of one agent.
pub(in crate::ops) struct InboxReader<'a> {
    pub(in crate::ops) op: &'a Op,
    pub(in crate::ops) mesh: &'a Mesh,
    pub(in crate::ops) agent: Agent,
    pub(in crate::ops) via: Via,
    reader: ReaderKind,
    reminder: WaitNotifier,
    unread_reporter: UnreadReporter,
    /// If set, a hook offers the messages to a model; they count as seen when a later hook shows that the model has
    /// them.
    offers: Option<OfferRetention>,
}

impl<'a> InboxReader<'a> {
    pub(in crate::ops) fn new(
        op: &'a Op,
        mesh: &'a Mesh,
        agent: Agent,
        via: Via,
        reader: ReaderKind,
    ) -> Self {
        let (reminder, unread_reporter) = (WaitNotifier::default(), UnreadReporter::default());
        Self { op, mesh, agent, via, reader, reminder, unread_reporter, offers: None }
    }

    /// For a hook: what it says is recorded when a later hook shows that the model has it.
    pub(in crate::ops) fn offering(self, kept: OfferRetention) -> Self {
        Self { offers: Some(kept), ..self }
    }

    /// What waits, including notices of what became free for the agent, and of what nobody reads.
    pub(in crate::ops) fn look(&self) -> Result<InboxScan, CommandError> {
        self.reminder.tell_if_owed(self.op, self.mesh, &self.agent);
        self.unread_reporter.tell_if_due(self.op, self.mesh, &self.agent);
        self.scan()
    }

    /// What waits, in the order of handing over, after messages that dead readers had taken were put back, and those
    /// that have expired were recorded.
    pub(in crate::ops) fn scan(&self) -> Result<InboxScan, CommandError> {
        let scan = self.mesh.inboxes().scan(&self.agent)?;
        // An expired message is not handed over, recorded or not.
        if let Err(error) = self.mesh.inboxes().record_expired(&scan.expired) {
            self.op.warn(format!("mail that has expired could not be recorded: {error}"));
        }
        if scan.in_hand == 0 && scan.unripe.is_empty() {
            return Ok(scan);
        }
        for unripe in self.mesh.inboxes().tidy(&self.agent, &scan)? {
            self.op.warn(format!("`{}` could not be read and was set aside: {}", unripe.file, unripe.reason));
        }
        Ok(self.mesh.inboxes().scan(&self.agent)?)
    }

    fn select(&self, selection: &ReadOptions) -> Result<Vec<crate::store::UnreadMessage>, CommandError> {
        let scan = self.look()?;
        let parked = scan.parked.into_iter().filter(|_| selection.includes_parked);
        let from = |message: &Message| {
            selection.from.as_ref().is_none_or(|name| name.as_str().eq_ignore_ascii_case(&message.from))
        };
        let chosen = scan.waiting.into_iter().chain(parked).filter(|waiting| from(&waiting.message));
        Ok(chosen.take(selection.limit.unwrap_or(usize::MAX)).collect())
    }

    /// Hands over all selected messages at once: for commands that answer once.
    pub(in crate::ops) fn deliver_together(
        &mut self,
        selection: &ReadOptions,
        hand_over: &mut HandoverFn<'_>,
    ) -> Result<usize, CommandError> {
        let waiting = self.select(selection)?;
        let delivery = self.mesh.inboxes().take(waiting)?;
        let count = delivery.messages().count();
        self.finish(delivery, selection.ack, hand_over)?;
        Ok(count)
    }

    /// Hands over all waiting messages in batches: for commands that go on. Stops when nobody reads any more.
    pub(in crate::ops) fn deliver_in_batches(
        &mut self,
        mut waiting: Vec<crate::store::UnreadMessage>,
        hand_over: &mut HandoverFn<'_>,
        mut go_on: impl FnMut() -> bool,
    ) -> Result<HandoverOutcome, CommandError> {
        while !waiting.is_empty() && go_on() {
            let rest = waiting.split_off(waiting.len().min(BATCH));
            let delivery = self.mesh.inboxes().take(std::mem::replace(&mut waiting, rest))?;
            if !delivery.is_empty()
                && self.finish(delivery, Acknowledge::Later, hand_over)? == HandoverOutcome::ReaderGone
            {
                return Ok(HandoverOutcome::ReaderGone);
            }
        }
        Ok(HandoverOutcome::Delivered)
    }

    pub(in crate::ops) fn finish(
        &mut self,
        delivery: TakenMessages<'_>,
        ack: Acknowledge,
        hand_over: &mut HandoverFn<'_>,
    ) -> Result<HandoverOutcome, CommandError> {
        // Between identifying the caller and taking, the name may have passed to another agent: what was taken is then
        // that agent's.
        if is_anothers_name(self.mesh, &self.agent)? {
            delivery.put_back()?;
            return Err(StoreError::NoRegistration(self.agent.name.to_string()).into());
        }
        let messages: Vec<(&MessageStem, &Message)> = delivery.messages().collect();
        let (messages, contacts) =
            rendered_message::write(self.op, self.mesh, (&self.agent, self.reader), &messages)?;
        if test_switches::has_bug(Bug::DeleteBeforeDeliver) {
            delivery.record(&self.via, clock::now(), ack)?;
            return Ok(hand_over(&messages));
        }
        let reached = hand_over(&messages);
        match reached {
            HandoverOutcome::Delivered => {
                match &self.offers {
                    None => delivery.record(&self.via, clock::now(), ack)?,
                    Some(kept) => delivery.offer(&self.agent.process, &self.via, clock::now(), kept)?,
                }
                if let Some(contacts) = contacts
                    && let Err(error) = self.mesh.inboxes().set_contacts(&self.agent.name, &contacts)
                {
                    // All is handed over and recorded: introducing a sender twice is no reason to fail.
                    self.op.warn(format!("could not record who wrote: {error}"));
                }
            }
            HandoverOutcome::ReaderGone => delivery.put_back()?,
        }
        Ok(reached)
    }

    /// Prunes the history now and then.
    pub(in crate::ops) fn prune(&self) -> Result<(), StoreError> {
        if random::number().is_multiple_of(PRUNE_ONE_IN) {
            self.mesh.archive().prune(
                &self.agent.name,
                clock::now() - MESSAGES_KEPT,
                MESSAGES_KEPT_AT_MOST,
            )?;
        }
        Ok(())
    }
}
