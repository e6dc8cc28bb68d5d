//! The messages of one agent for a screen: the latest, older ones on request, and changes of their delivery status.
//!
//! Looking takes nothing. Messages that were really on the screen are taken and recorded as surfaced afterwards.

use std::collections::{BTreeMap, HashMap};

use crate::domain::{Agent, AgentName};
use crate::store::{
    Acknowledge, AnswerMark, Mesh, MessageLocation, MessageRef, MessageStem, RemoteDelivery,
    SentMessageLocation, StoredMessage, Via,
};
use crate::sys::clock;

use super::receive::InboxReader;
use super::rendered_message::ReaderKind;
use crate::ops::agents::identity;
use crate::ops::context::Context;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::ops::overview;
use crate::ops::watcher::mesh_watcher::current;

/// How many messages are read at once.
const PAGE: usize = 400;

/// What became of a sent message.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DeliveryStatus {
    /// On this machine, on its way to another one.
    Queued,
    Stored,
    /// In the inbox on the recipient's machine.
    Delivered,
    Surfaced,
    Acked,
    /// It left the inbox of a peer that keeps no record.
    Taken,
    Gone,
    /// Nobody read it in time.
    Expired,
}

impl DeliveryStatus {
    fn of(place: &SentMessageLocation) -> Self {
        match place {
            SentMessageLocation::Stored
            | SentMessageLocation::InHand
            | SentMessageLocation::Offered(_)
            | SentMessageLocation::Parked
            | SentMessageLocation::Remote(RemoteDelivery::Stored) => Self::Stored,
            SentMessageLocation::Remote(RemoteDelivery::Queued) => Self::Queued,
            SentMessageLocation::Remote(RemoteDelivery::Delivered) => Self::Delivered,
            SentMessageLocation::Remote(RemoteDelivery::Refused) => Self::Gone,
            SentMessageLocation::Seen(seen) if seen.is_expired() => Self::Expired,
            SentMessageLocation::Seen(seen) if seen.acked.is_some() => Self::Acked,
            SentMessageLocation::Seen(_) => Self::Surfaced,
            SentMessageLocation::Grave(_) | SentMessageLocation::Quarantine => Self::Gone,
            SentMessageLocation::Nowhere => Self::Taken,
        }
    }

    /// Whether it can't change any more.
    fn is_final(self) -> bool {
        matches!(self, Self::Acked | Self::Taken | Self::Gone | Self::Expired)
    }
}

/// Changes since the last look.
#[derive(Clone, Debug, Default)]
pub struct MailUpdate {
    /// Messages that were not reported before, or whose place has changed.
    pub messages: Vec<StoredMessage>,
    /// Messages that no longer exist.
    pub gone: Vec<MessageStem>,
    pub has_older: bool,
}

/// An agent's mail, and what was reported of it so far.
#[derive(Debug)]
pub struct MailTracker {
    agent: Agent,
    told: BTreeMap<MessageStem, ReportedState>,
    reach: HistoryReach,
    /// Sent messages whose fate may still change.
    open: HashMap<AgentName, BTreeMap<MessageStem, DeliveryStatus>>,
}

/// How far back messages were reported.
#[derive(Clone, Debug)]
enum HistoryReach {
    /// Nothing was reported yet.
    Nowhere,
    /// Back to this one; there are older ones.
    To(MessageStem),
    Beginning,
}

impl HistoryReach {
    /// The reach one page further back; `known` is how many messages are older than the present reach.
    fn before(all: &[MessageRef], known: usize) -> Self {
        match known.checked_sub(PAGE) {
            Some(first @ 1..) => Self::To(all[first].stem.clone()),
            _ => Self::Beginning,
        }
    }

    /// The oldest message reported, if there are older ones.
    fn first(&self) -> Option<&MessageStem> {
        match self {
            Self::To(first) => Some(first),
            Self::Nowhere | Self::Beginning => None,
        }
    }
}

/// As much of a message's place as can change.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum ReportedState {
    Waits,
    InHand,
    Surfaced,
    Acked,
    Answered,
    Sent,
}

impl ReportedState {
    fn of(place: &MessageLocation) -> Self {
        match place {
            MessageLocation::Inbox => Self::Waits,
            MessageLocation::InHand => Self::InHand,
            MessageLocation::Seen(seen) if seen.answer == AnswerMark::Given => Self::Answered,
            MessageLocation::Seen(seen) if seen.acked.is_some() => Self::Acked,
            MessageLocation::Seen(_) => Self::Surfaced,
            MessageLocation::Sent(_) => Self::Sent,
        }
    }
}

impl MailTracker {
    /// The mail of the agent that `--as` names.
    pub fn open(op: &Op) -> Result<Self, CommandError> {
        let (_, caller) = identity::caller(op)?;
        Ok(Self {
            agent: caller.agent,
            told: BTreeMap::new(),
            reach: HistoryReach::Nowhere,
            open: HashMap::new(),
        })
    }

    /// The agent whose mail it is.
    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Records that somebody is at the keyboard.
    pub fn sign_of_life(&self, ctx: &Context) -> Result<(), CommandError> {
        Ok(overview::mesh(ctx)?.presence().touch(&self.agent.name)?)
    }

    /// Returns the latest messages first, and from then on what is new about those already reported.
    pub fn look(&mut self, op: &Op) -> Result<MailUpdate, CommandError> {
        let mesh = overview::mesh(op)?;
        // It may have been renamed, or be gone.
        if let Some(now) = current(&mesh, &self.agent)? {
            self.agent = now;
        }
        // Puts back what dead readers had taken, and tells the agent what became free.
        InboxReader::new(op, &mesh, self.agent.clone(), Via::new("tui"), ReaderKind::Program).look()?;
        if let HistoryReach::Nowhere = self.reach {
            return self.older(op);
        }
        self.tell(&mesh, &mesh.archive().list(&self.agent, self.reach.first())?)
    }

    /// Returns one more page of older messages.
    pub fn older(&mut self, ctx: &Context) -> Result<MailUpdate, CommandError> {
        let mesh = overview::mesh(ctx)?;
        let all = mesh.archive().list(&self.agent, None)?;
        let known = match &self.reach {
            HistoryReach::To(from) => all.partition_point(|sealed| sealed.stem < *from),
            HistoryReach::Nowhere => all.len(),
            HistoryReach::Beginning => 0,
        };
        self.reach = HistoryReach::before(&all, known);
        self.tell(&mesh, &all)
    }

    fn tell(&mut self, mesh: &Mesh, all: &[MessageRef]) -> Result<MailUpdate, CommandError> {
        let from = self.reach.first().cloned();
        let is_due = |sealed: &&MessageRef| {
            from.as_ref().is_none_or(|from| sealed.stem >= *from) || sealed.place == MessageLocation::Inbox
        };
        let mut changes = MailUpdate { has_older: from.is_some(), ..MailUpdate::default() };
        let mut there = BTreeMap::new();
        for sealed in all.iter().filter(is_due) {
            let standing = ReportedState::of(&sealed.place);
            // A message to oneself is both sent and received; the received copy says more.
            if there.contains_key(&sealed.stem) && standing == ReportedState::Sent {
                continue;
            }
            if self.told.get(&sealed.stem) == Some(&standing) {
                there.insert(sealed.stem.clone(), standing);
                continue;
            }
            // Another reader took it just now: it is looked for again next time.
            let Some(filed) = mesh.archive().load(sealed)? else { continue };
            there.insert(sealed.stem.clone(), standing);
            if let MessageLocation::Sent(sent) = &filed.place {
                self.open
                    .entry(sent.to.clone())
                    .or_default()
                    .insert(filed.stem.clone(), DeliveryStatus::Stored);
            }
            changes.messages.push(filed);
        }
        let gone = self.told.keys().filter(|stem| !there.contains_key(*stem));
        changes.gone = gone.cloned().collect();
        self.told = there;
        Ok(changes)
    }

    /// Recipients of our messages whose fate may still change.
    pub fn readers(&self) -> Vec<AgentName> {
        let mut readers: Vec<AgentName> = self.open.keys().cloned().collect();
        readers.sort_by(|a, b| a.as_str().cmp(b.as_str()));
        readers
    }

    /// What became of our messages since the last call.
    pub fn fates(&mut self, ctx: &Context) -> Result<Vec<(MessageStem, DeliveryStatus)>, CommandError> {
        let mesh = overview::mesh(ctx)?;
        let of_one = |(to, open): (&AgentName, &BTreeMap<MessageStem, DeliveryStatus>)| -> Vec<(MessageStem, AgentName)> {
            open.keys().map(|stem| (stem.clone(), to.clone())).collect()
        };
        let sent: Vec<(MessageStem, AgentName)> = self.open.iter().flat_map(of_one).collect();
        let mut changed = Vec::new();
        for ((stem, to), place) in sent.iter().zip(mesh.outboxes().locate_sent(&sent)?) {
            let fate = DeliveryStatus::of(&place);
            let known = self.open.get_mut(to).and_then(|open| open.get_mut(stem));
            if let Some(known) = known.filter(|known| **known != fate) {
                *known = fate;
                changed.push((stem.clone(), fate));
            }
        }
        for open in self.open.values_mut() {
            open.retain(|_, fate| !fate.is_final());
        }
        self.open.retain(|_, open| !open.is_empty());
        Ok(changed)
    }

    /// Takes and records messages that were on the screen. What another reader took meanwhile is left to it.
    pub fn surface(&self, op: &Op, shown: &[String]) -> Result<(), CommandError> {
        let mesh = overview::mesh(op)?;
        let reader = InboxReader::new(op, &mesh, self.agent.clone(), Via::new("tui"), ReaderKind::Program);
        let scan = reader.scan()?;
        let mut waiting: Vec<_> = scan.waiting.into_iter().chain(scan.parked).collect();
        waiting.retain(|waiting| shown.iter().any(|key| key == waiting.stem.as_str()));
        mesh.inboxes().take_shown(waiting)?.record(&reader.via, clock::now(), Acknowledge::Later)?;
        Ok(reader.prune()?)
    }
}
