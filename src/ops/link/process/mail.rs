//! What the server has for this machine: messages, which go into inboxes, receipts, and letters about runs. Each is removed
//! from the server after that. What is queued here goes out by `sending`, receipts go back by `receipts`.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use bytes::Bytes;
use jiff::SignedDuration;

use super::delivering::{MailArrival, deliver};
use super::failure::{MailFailure, of_recipient, of_run};
use super::receipts::{NOTHING, Refusal};
use super::runs;
use super::senders::{Sender, of_former_owner};
use super::sending;
use super::streams::MailBatch;
use super::table::{RecordTable, machine_key};
use crate::domain::link::{MachineName, RunLetter, name_token};
use crate::domain::{Agent, AgentName, Message};
use crate::ops::effects::Op;
use crate::ops::wake::{self, ArrivedMessage};
use crate::store::link_format::{Envelope, ReceiptState};
use crate::store::{Mesh, MessageStem, OwedReceipt};
use crate::sys::nats::{Incoming, Nats, NatsError};
use crate::sys::test_switches::{self, Bug};

/// How long after a failed delivery it is tried again.
const PAUSE: Duration = Duration::from_secs(1);
/// How often that is done because of a damaged file that only this message needs.
const MOST_TRIES: u32 = 5;

/// Mail from the server that has no answer yet.
#[derive(Debug, Default)]
pub(super) struct ArrivedMail {
    batch: Option<MailBatch>,
    failures: DamageCount,
}

impl ArrivedMail {
    /// The next batch. The server gives it after the last one was answered.
    pub(super) fn put(&mut self, batch: MailBatch) {
        self.batch = Some(batch);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.batch.is_none()
    }

    fn next(&mut self) -> Option<Incoming> {
        self.batch.as_mut()?.messages.pop_front()
    }

    /// Asks for more, if all is answered.
    fn settle(&mut self) {
        self.batch.take_if(|batch| batch.messages.is_empty());
    }

    /// Gives everything back that was not answered, in its order: it follows a message that was given back.
    async fn give_back(&mut self) {
        while let Some(later) = self.next() {
            drop(later.again(PAUSE).await);
        }
    }
}

/// How often the oldest message failed because of a damaged file that no other one needs.
#[derive(Debug, Default)]
struct DamageCount {
    /// The number of the message.
    sequence: u64,
    count: u32,
    /// Whose messages were tried often enough. They are tried once until one succeeds.
    given_up: HashSet<String>,
}

impl DamageCount {
    /// Whether the message was tried often enough.
    fn is_enough(&mut self, sequence: u64, whose: &str) -> bool {
        if self.sequence != sequence {
            (self.sequence, self.count) = (sequence, 0);
        }
        self.count += 1;
        let is_enough = self.count >= MOST_TRIES || self.given_up.contains(whose);
        if is_enough {
            self.given_up.insert(whose.to_string());
        }
        is_enough
    }
}

/// Whom a message was delivered to, if somebody is to be woken.
type Woken = Option<(Box<Agent>, Box<Message>)>;

/// Takes what has come.
pub(super) struct MailReceiver<'a> {
    pub(super) op: &'a Op,
    pub(super) mesh: &'a Mesh,
    pub(super) nats: &'a Nats,
    pub(super) table: &'a mut RecordTable,
}

impl MailReceiver<'_> {
    /// Takes messages in their order, for about that time.
    pub(super) async fn receive(&mut self, mail: &mut ArrivedMail, time: Duration) {
        let start = Instant::now();
        let mut arrivals = Vec::new();
        while start.elapsed() < time
            && let Some(one) = mail.next()
        {
            if test_switches::has_bug(Bug::AckBeforeInbox) && is_message(&one) {
                acknowledge_before_inbox(self.mesh, one).await;
            } else {
                arrivals.extend(self.take(mail, one).await);
            }
            mail.settle();
        }
        wake_all(self.op, self.mesh, &arrivals);
    }

    /// Takes one message and answers it.
    async fn take(&mut self, mail: &mut ArrivedMail, one: Incoming) -> Woken {
        let why = match self.receive_one(&one).await {
            Ok(arrival) => {
                mail.failures.given_up.remove(&whose(&one));
                // If that is not confirmed, it comes again, and is known.
                drop(one.done().await);
                return arrival;
            }
            Err(MailFailure::Unreadable(why)) => {
                self.put_aside(one, &why).await;
                return None;
            }
            Err(MailFailure::Damaged(why)) => {
                if mail.failures.is_enough(one.sequence, &whose(&one)) && self.owe_damaged(&one) {
                    self.put_aside(one, &why).await;
                    return None;
                }
                why
            }
            // What is wrong is here or between here and the server, such as a full disk, and not the message. However
            // long that takes, it is kept.
            Err(MailFailure::NotYet(why)) => why,
        };
        // What follows waits for it: the order of a sender's messages is kept.
        self.op.warn(format!("a message from {} could not be delivered yet: {why}", one.from_machine));
        drop(one.again(PAUSE).await);
        mail.give_back().await;
        None
    }

    async fn put_aside(&self, one: Incoming, why: &str) {
        self.op.warn(format!("a message from {} is put aside on the server: {why}", one.from_machine));
        drop(one.dead_letter(why).await);
    }

    /// Remembers that the sender is to be told that its message is put aside. Nobody is told of anything else.
    fn owe_damaged(&self, one: &Incoming) -> bool {
        let from = MachineName::new(one.from_machine.as_str());
        match (Envelope::message_in(&one.bytes), from) {
            (Some((stem, to)), Ok(from)) => {
                self.mesh.remote().owe(&owed(&stem, &to, &from, Refusal::Damaged.word())).is_ok()
            }
            _ => true,
        }
    }

    async fn receive_one(&mut self, one: &Incoming) -> Result<Woken, MailFailure> {
        let from = MachineName::new(one.from_machine.as_str());
        let from = from.map_err(|error| MailFailure::Unreadable(error.to_string()))?;
        match Envelope::parse(&one.bytes) {
            Ok(Envelope::Message { stem, message }) => self.receive_message(&from, one, &stem, message).await,
            Ok(Envelope::Receipt { stem, to, state }) => {
                self.note_receipt(&from, &to, &stem, &state).await.map(|()| None)
            }
            Ok(Envelope::Run(letter)) => {
                self.receive_letter(&from, one.stored_at, &letter).await.map(|()| None)
            }
            Err(error) => {
                // It may be of a later version. Its sender is to know that it was not delivered.
                if let Some((stem, to)) = Envelope::message_in(&one.bytes) {
                    self.mesh.remote().owe(&owed(&stem, &to, &from, Refusal::NotUnderstood.word()))?;
                }
                Err(MailFailure::Unreadable(error.to_string()))
            }
        }
    }

    async fn receive_letter(
        &self,
        from: &MachineName,
        stored_at: jiff::Timestamp,
        letter: &RunLetter,
    ) -> Result<(), MailFailure> {
        let place = (from, stored_at, i64::try_from(self.clock_offset().as_millis()).unwrap_or(0));
        if let Some((id, answer)) = runs::receive(self.mesh, place, letter).map_err(of_run)? {
            let bytes = Bytes::from(Envelope::Run(answer).bytes());
            match self.nats.publish(from.as_str(), &id, bytes).await {
                // Whoever asked learns it from its own clock. A server that is full must not keep back what follows.
                Ok(_) | Err(NatsError::StreamFull { .. } | NatsError::DiskFull { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    async fn receive_message(
        &mut self,
        from: &MachineName,
        one: &Incoming,
        stem: &MessageStem,
        message: Message,
    ) -> Result<Woken, MailFailure> {
        let Ok(to) = AgentName::new(message.to.as_str()) else {
            return Err(MailFailure::Unreadable("its recipient is not a name".to_string()));
        };
        if self.mesh.remote().owes(from, stem)? {
            return Ok(None);
        }
        let message = if message.is_notice() { message.into_notice_of(from) } else { message };
        let (message, refusal) = match self.sender(from, &message, one.stored_at).await? {
            Sender::Vouched | Sender::Unknown => (message, None),
            Sender::Before => (of_former_owner(message, from), None),
            Sender::SomebodyElse => (message, Some(Refusal::SomebodyElsesName)),
            Sender::NotAName => (message, Some(Refusal::NotUnderstood)),
        };
        let refusal = match refusal {
            Some(refusal) => refusal,
            None => match deliver(self.mesh, &owed(stem, &to, from, NOTHING), &message, one.tries)? {
                MailArrival::Delivered(agent, message) => return Ok(Some((agent, message))),
                MailArrival::Settled => return Ok(None),
                MailArrival::ForNobody => Refusal::Nobody,
            },
        };
        self.op.warn(format!("a message from {from} to {to} is refused: {}", refusal.why()));
        // Written down and not sent from here: a server that is full must not keep back what would make room.
        self.mesh.remote().owe(&owed(stem, &to, from, refusal.word()))?;
        Ok(None)
    }

    /// Who the message is from. Mail and records come on different ways, so the server is asked unless it has vouched.
    async fn sender(
        &mut self,
        from: &MachineName,
        message: &Message,
        stored_at: jiff::Timestamp,
    ) -> Result<Sender, MailFailure> {
        let stored = (stored_at, self.clock_offset());
        let sender = Sender::of(self.mesh, self.table, from, message, stored)?;
        let Ok(name) = AgentName::new(message.from.as_str()) else { return Ok(sender) };
        if sender == Sender::Vouched {
            return Ok(sender);
        }
        self.read_name(&name).await?;
        Ok(Sender::of(self.mesh, self.table, from, message, stored)?)
    }

    /// Learns from the server who has that name now.
    async fn read_name(&mut self, name: &AgentName) -> Result<(), NatsError> {
        let key = name_token(name);
        match self.nats.get(&key).await? {
            Some(record) => self.table.put(&key, record.revision, &record.value),
            None => self.table.forget(&key),
        }
        Ok(())
    }

    fn clock_offset(&self) -> SignedDuration {
        self.nats.server_facts().clock_offset.unwrap_or_default()
    }

    /// Takes note of what became of a message of ours.
    async fn note_receipt(
        &mut self,
        from: &MachineName,
        to: &AgentName,
        stem: &MessageStem,
        state: &ReceiptState,
    ) -> Result<(), MailFailure> {
        let remote = self.mesh.remote();
        let Some(message) = remote.sent_message(to, stem).map_err(of_recipient)? else { return Ok(()) };
        if !self.may_tell(from, to, &message, state).await? {
            self.op.warn(format!("a receipt from {from} is about a message to another machine"));
            return Ok(());
        }
        match state {
            ReceiptState::Delivered { .. } => remote.note_delivered(to, stem),
            ReceiptState::Seen(record) => remote.note_seen(to, record),
            ReceiptState::Refused { why, .. } => {
                sending::note_refused(self.op, self.mesh, &message, stem, to, why)
            }
        }
        .map_err(of_recipient)
    }

    /// Whether that machine may say what became of the message: it went there. Of a machine that was given up, whoever gave
    /// it up says that its mail is gone.
    async fn may_tell(
        &mut self,
        from: &MachineName,
        to: &AgentName,
        message: &Message,
        state: &ReceiptState,
    ) -> Result<bool, MailFailure> {
        let machine = match &message.to_machine {
            Some(machine) => machine.clone(),
            // Sent by a version that did not write the machine down.
            None => match self.table.machine_of_name(to) {
                Some(machine) => machine.clone(),
                None => return Ok(true),
            },
        };
        if machine == *from || !matches!(state, ReceiptState::Refused { .. }) {
            return Ok(machine == *from);
        }
        if self.nats.get(&machine_key(&machine)).await?.is_some() {
            return Ok(false);
        }
        self.read_name(to).await?;
        Ok(self.table.machine_of_name(to) != Some(&machine))
    }
}

fn owed(stem: &MessageStem, to: &AgentName, machine: &MachineName, told: &str) -> OwedReceipt {
    OwedReceipt { stem: stem.clone(), to: to.clone(), machine: machine.clone(), told: told.to_string() }
}

/// Whose files it needs, if it is a message.
fn whose(one: &Incoming) -> String {
    Envelope::message_in(&one.bytes).map_or(String::new(), |(_, to)| to.to_string())
}

fn is_message(one: &Incoming) -> bool {
    matches!(Envelope::parse(&one.bytes), Ok(Envelope::Message { .. }))
}

/// The fault that a storm must detect: whoever dies in between loses the message.
async fn acknowledge_before_inbox(mesh: &Mesh, one: Incoming) {
    let Ok(Envelope::Message { stem, message }) = Envelope::parse(&one.bytes) else { return };
    let from = MachineName::new(one.from_machine.as_str());
    let tries = one.tries;
    drop(one.done().await);
    if let (Ok(from), Ok(to)) = (from, AgentName::new(message.to.as_str())) {
        drop(deliver(mesh, &owed(&stem, &to, &from, NOTHING), &message, tries));
    }
}

/// Wakes the recipients that are idle. The messages are delivered, whatever fails here.
fn wake_all(op: &Op, mesh: &Mesh, arrivals: &[(Box<Agent>, Box<Message>)]) {
    for (agent, message) in arrivals {
        let before = match wake::route(op, mesh, agent, message.importance) {
            Ok(before) => before,
            Err(error) => {
                op.warn(format!("{} could not be woken: {error}", agent.name));
                continue;
            }
        };
        let arrived = ArrivedMessage { agent: (**agent).clone(), before };
        let results = wake::wake_recipients(op, mesh, &[arrived], message.importance);
        results.failures.into_iter().for_each(|failure| op.warn(failure));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::runs::RunId;

    #[test]
    fn a_link_that_does_not_know_a_letter_about_runs_puts_it_aside() {
        let letter = RunLetter::LogWanted { id: RunId::from_random(3) };
        let bytes = Envelope::Run(letter.clone()).bytes();
        let Ok(Envelope::Run(read)) = Envelope::parse(&bytes) else { panic!("it reads back") };
        assert_eq!(read, letter);
        // The first links required this key of everything, and so put this aside.
        let keys: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert!(keys.get("stem").is_none(), "{keys}");
        for later in [&br#"{"version": 1, "run": {"what": "dance"}}"#[..], br#"{"version": 1, "dance": {}}"#]
        {
            assert!(Envelope::parse(later).is_err());
        }
    }

    #[test]
    fn a_message_whose_recipient_is_damaged_is_tried_some_times() {
        let mut failures = DamageCount::default();
        for _ in 1..MOST_TRIES {
            assert!(!failures.is_enough(7, "Bob"));
        }
        assert!(failures.is_enough(7, "Bob"));
        // The next one for the same agent need not be tried that often; one for another is.
        assert!(failures.is_enough(8, "Bob"));
        assert!(!failures.is_enough(9, "Carol"));
        failures.given_up.remove("Bob");
        assert!(!failures.is_enough(10, "Bob"));
    }
}
