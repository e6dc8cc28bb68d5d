//! One connection: from connecting to whatever ends it. An interruption does not end it, the client connects again by
//! itself; only what nobody can mend by waiting does.

mod answering;
mod looking;
mod mail;
mod pacing;
mod problems;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::lease::{self, LeaseEvent, LeaseView};
use super::local::{LocalReader, LocalState};
use super::mail::ArrivedMail;
use super::presence::SharedPresence;
use super::reconcile::{Grants, ToldLosses, forget_lost_lease, tell_lost_lease};
use super::runs::RunDesk;
use super::send_error::SendError;
use super::serve::Asked;
use super::streams::{self, Brought};
use super::table::{RecordTable, machine_key};
use super::{Link, LinkEnd, LinkLife, feed, problem, server};
use crate::domain::link::LeaseEpoch;
use crate::ops::error::CommandError;
use crate::ops::runner::carry_out;
use crate::store::link_protocol::LinkRequest;
use crate::store::{LinkConfig, LinkProblem, LinkStage};
use crate::sys::clock;
use crate::sys::nats::{Change, Nats, NatsError, ServerConnection};
use problems::{Part, PartProblems};

/// How often all of the mesh is compared with the server's records, whatever was reported.
const COMPARE: Duration = Duration::from_secs(5);
/// How often it is looked whether a full server has room again.
const FULL: Duration = Duration::from_secs(5);
/// How long somebody who asks before the link is ready waits for it.
const TOO_EARLY: Duration = Duration::from_secs(4);
/// How long the loop sends or receives mail before it looks who waits for a decision.
const SLICE: Duration = Duration::from_millis(100);
/// How many changes are taken from the server before it does.
const MOST_CHANGES: usize = 256;
/// How often what is too old is removed.
const PRUNE: Duration = Duration::from_secs(60 * 60);
/// How long receipts and other marks of messages to other machines are kept.
const KEPT: jiff::SignedDuration = jiff::SignedDuration::from_hours(24 * 30);

/// Why a session ended.
pub(super) enum LinkedEnd {
    Over(LinkEnd),
    Failed(LinkStage, LinkProblem),
}

/// A connection that can be used.
pub(super) struct Session {
    nats: Arc<Nats>,
}

impl Session {
    pub(super) async fn connect(config: &LinkConfig) -> Result<Self, NatsError> {
        let nats = Nats::connect(server::options(config)).await?;
        nats.prepare().await?;
        nats.probe_ttl().await?;
        Ok(Self { nats: Arc::new(nats) })
    }
}

/// What the loop knows while it is linked.
struct Linked {
    nats: Arc<Nats>,
    table: RecordTable,
    lease: watch::Receiver<LeaseView>,
    reader: LocalReader,
    local: LocalState,
    /// Whether what this machine has was ever read.
    is_local_known: bool,
    grants: Grants,
    told: ToldLosses,
    /// Whether the local mesh may differ from the server's records.
    is_dirty: bool,
    /// Requests that came before records could be decided on.
    waiting: Vec<(Asked, tokio::time::Instant)>,
    /// When a full server is asked again.
    full_until: Option<tokio::time::Instant>,
    compared: tokio::time::Instant,
    pruned: tokio::time::Instant,
    mail: ArrivedMail,
    /// Whether there is mail for the server for which there was no time.
    has_more_to_send: bool,
    /// The revisions of reopened tasks that are open here, too.
    reopened: HashMap<String, u64>,
    presence: SharedPresence,
    runs: RunDesk,
    /// When it was last looked at runs.
    tended: Option<tokio::time::Instant>,
    problems: PartProblems,
}

impl Linked {
    fn epoch(&self) -> Option<LeaseEpoch> {
        self.lease.borrow().held().cloned()
    }

    /// Whether records can be decided on now.
    fn can_decide(&self) -> Option<LeaseEpoch> {
        self.epoch().filter(|_| self.table.is_complete && self.nats.is_connected())
    }
}

impl Link<'_> {
    /// Is linked until somebody stops it, nobody needs it, or something is wrong that waiting does not mend.
    pub(super) async fn be_linked(&mut self, session: Session) -> Result<LinkedEnd, CommandError> {
        let Session { nats } = session;
        let (view, lease) = watch::channel(LeaseView::default());
        let (lease_sender, mut lease_events) = mpsc::unbounded_channel();
        let (sender, mut brought) = mpsc::channel(256);
        let mut tasks = JoinSet::new();
        let machine = self.config.machine.clone();
        let installation = lease::installation(&self.config, Some(self.mesh));
        tasks.spawn(lease::keep(Arc::clone(&nats), machine.clone(), installation, view, lease_sender));
        tasks.spawn(streams::follow(Arc::clone(&nats), sender.clone()));
        tasks.spawn(streams::fetch(Arc::clone(&nats), lease.clone(), sender.clone()));
        let (hearing, mut heard) = mpsc::channel(256);
        tasks.spawn(streams::hear(Arc::clone(&nats), machine.clone(), hearing, sender.clone()));
        feed::share(self.op, &self.config, &nats, &lease, sender, &mut tasks)?;
        let mut linked = Linked {
            nats: Arc::clone(&nats),
            table: RecordTable::new(machine),
            lease,
            reader: LocalReader::default(),
            local: LocalState::default(),
            is_local_known: false,
            grants: Grants::default(),
            told: ToldLosses::default(),
            is_dirty: true,
            full_until: None,
            waiting: Vec::new(),
            compared: tokio::time::Instant::now(),
            pruned: tokio::time::Instant::now(),
            mail: ArrivedMail::default(),
            has_more_to_send: false,
            reopened: HashMap::new(),
            presence: SharedPresence::default(),
            runs: RunDesk::default(),
            tended: None,
            problems: PartProblems::default(),
        };
        self.state.server = Some(server::summary(&nats));
        self.prune();
        let mut connection = nats.connection_events();
        let end = loop {
            if let Some(end) = self.end() {
                break LinkedEnd::Over(end);
            }
            linked.runs.is_open |= linked.is_dirty;
            self.look(&mut linked).await;
            self.tend_runs(&mut linked).await;
            self.answer_waiting(&mut linked).await;
            self.deliver_mail(&mut linked).await;
            if let Err(error) = linked.share_presence(self.mesh).await {
                self.note_part(&mut linked, Part::Passing, Err(SendError::Local(error)));
            }
            carry_out(self.op);
            if self.life == LinkLife::WhileNeeded {
                // Nobody reads them; what matters is in the state.
                drop(self.op.take_warnings());
            }
            let pause = linked.pause();
            tokio::select! {
                biased;
                () = self.hints.stopped() => break LinkedEnd::Over(LinkEnd::Stopped),
                event = lease_events.recv() => {
                    let Some(event) = event else { break LinkedEnd::Over(LinkEnd::Stopped) };
                    if let Some(end) = self.note_lease(&mut linked, event) {
                        break end;
                    }
                }
                asked = self.asked.recv() => {
                    let Some(asked) = asked else { break LinkedEnd::Over(LinkEnd::Stopped) };
                    let needs_server = !matches!(asked.request, LinkRequest::Poke | LinkRequest::Stop);
                    if needs_server && linked.can_decide().is_none() {
                        linked.waiting.push((asked, tokio::time::Instant::now()));
                    } else if self.was_asked_to_end(&mut linked, asked).await {
                        break LinkedEnd::Over(LinkEnd::Stopped);
                    }
                }
                one = brought.recv() => {
                    let Some(one) = one else { break LinkedEnd::Over(LinkEnd::Stopped) };
                    self.accept(&mut linked, one);
                    // What is there already is taken together, so that the mirror is written once.
                    for _ in 0..MOST_CHANGES {
                        let Ok(more) = brought.try_recv() else { break };
                        self.accept(&mut linked, more);
                    }
                }
                changed = connection.changed() => {
                    if changed.is_ok() {
                        let state = connection.borrow_and_update().clone();
                        self.note_connection(&mut linked, &state);
                    }
                }
                () = self.hints.changed() => linked.is_dirty = true,
                heard = heard.recv() => {
                    let Some(heard) = heard else { break LinkedEnd::Over(LinkEnd::Stopped) };
                    linked.presence.note(&linked.table, heard);
                }
                () = tokio::time::sleep(pause) => {}
            }
        };
        tasks.abort_all();
        if matches!(end, LinkedEnd::Over(_)) {
            self.say_goodbye(&mut linked).await;
        }
        drop(linked);
        while tasks.join_next().await.is_some() {}
        if let Some(nats) = Arc::into_inner(nats) {
            nats.close().await;
        }
        Ok(end)
    }

    fn accept(&mut self, linked: &mut Linked, one: Brought) {
        match one {
            Brought::Change(Ok(Change::Put(record))) => {
                linked.table.put(&record.key, record.revision, &record.value);
            }
            Brought::Change(Ok(Change::Gone { key, revision, .. })) => {
                linked.table.remove(&key, revision, clock::now());
            }
            Brought::Change(Ok(Change::CaughtUp)) => {
                linked.table.is_complete = true;
                linked.is_dirty = true;
            }
            Brought::Change(Err(error)) | Brought::Mail(Err(error)) => {
                self.note_part(linked, Part::Passing, Err(SendError::Server(error)));
            }
            Brought::Mail(Ok(batch)) => linked.mail.put(batch),
        }
    }

    fn note_lease(&mut self, linked: &mut Linked, event: LeaseEvent) -> Option<LinkedEnd> {
        match event {
            LeaseEvent::Held { revision, bytes } => {
                let key = machine_key(&linked.table.me);
                linked.table.put(&key, revision, &bytes);
                self.state.last_contact = Some(clock::now());
                let epoch = linked.epoch().map(|epoch| epoch.as_str().to_string());
                let is_new = self.state.epoch != epoch;
                self.state.epoch = epoch;
                forget_lost_lease(&linked.local, &mut linked.told);
                linked.is_dirty |= is_new || self.state.stage != LinkStage::Linked;
                self.linked_since.get_or_insert_with(Instant::now);
                self.set_stage(LinkStage::Linked, linked.problems.renew());
            }
            LeaseEvent::Lost => {
                // As it is now: without the server nobody has looked since.
                match linked.reader.read(self.mesh, &linked.table.me, &LeaseEpoch::of_nobody()) {
                    Ok(local) => linked.local = local,
                    Err(error) => self.op.warn(format!("who has lost something is not known: {error}")),
                }
                tell_lost_lease(self.op, &linked.local, &mut linked.told);
            }
            LeaseEvent::NameInUse { machine } => {
                let problem = problem::name_in_use(&machine);
                return Some(LinkedEnd::Failed(LinkStage::Refused, problem));
            }
            LeaseEvent::Failed(error) if error.is_transient() => {
                let problem = problem::of(&error, &self.config);
                self.set_stage(LinkStage::Unreachable, Some(problem));
            }
            LeaseEvent::Failed(error) => {
                let problem = problem::of(&error, &self.config);
                return Some(LinkedEnd::Failed(LinkStage::Refused, problem));
            }
        }
        None
    }

    fn note_connection(&mut self, linked: &mut Linked, state: &ServerConnection) {
        match state {
            ServerConnection::Connected { .. } => {
                self.state.server = Some(server::summary(&linked.nats));
                linked.is_dirty = true;
                linked.presence.ask();
            }
            ServerConnection::Disconnected { why, .. } => {
                let problem = problem::disconnected(&self.config, why);
                self.set_stage(LinkStage::Unreachable, Some(problem));
            }
        }
    }
}
