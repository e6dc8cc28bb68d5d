//! One connection: from connecting to whatever ends it. An interruption does not end it, the client connects again by
//! itself; only what nobody can mend by waiting does.

mod answering;
mod pacing;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::lease::{self, LeaseEvent, LeaseView};
use super::local::{LocalCompletions, LocalReader, LocalState};
use super::mail;
use super::presence::SharedPresence;
use super::receipts::{self, Slice};
use super::reconcile::{Grants, Reconciler, ToldLosses, forget_lost_lease, left_tasks, tell_lost_lease};
use super::runs::{RunDesk, RunTending};
use super::send_error::SendError;
use super::serve::Asked;
use super::streams::{self, Brought};
use super::table::{RecordTable, machine_key};
use super::{Link, LinkEnd, LinkLife, feed, problem, server};
use crate::domain::link::{LeaseEpoch, TaskKey, TaskRecord};
use crate::ops::error::CommandError;
use crate::ops::reservations::waiting;
use crate::ops::runner::carry_out;
use crate::ops::tasks;
use crate::store::link_protocol::LinkRequest;
use crate::store::{Completion, LinkConfig, LinkProblem, LinkStage};
use crate::sys::clock;
use crate::sys::nats::{Change, Incoming, Nats, NatsError, ServerConnection};

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
    /// Mail from the server that is not delivered yet.
    mail: VecDeque<Incoming>,
    /// Whether there is mail for the server for which there was no time.
    has_more_to_send: bool,
    /// The revisions of reopened tasks that are open here, too.
    reopened: HashMap<String, u64>,
    presence: SharedPresence,
    runs: RunDesk,
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
        let installation = lease::installation(&self.config);
        tasks.spawn(lease::keep(Arc::clone(&nats), machine.clone(), installation, view, lease_sender));
        tasks.spawn(streams::follow(Arc::clone(&nats), sender.clone()));
        tasks.spawn(streams::fetch(Arc::clone(&nats), sender.clone()));
        let (hearing, mut heard) = mpsc::channel(256);
        tasks.spawn(streams::hear(Arc::clone(&nats), machine.clone(), hearing, sender.clone()));
        feed::share(self.op, &self.config, &nats, &lease, sender, &mut tasks)?;
        let mut linked = Linked {
            nats: Arc::clone(&nats),
            table: RecordTable::new(machine),
            lease,
            reader: LocalReader::default(),
            local: LocalState::default(),
            grants: Grants::default(),
            told: ToldLosses::default(),
            is_dirty: true,
            full_until: None,
            waiting: Vec::new(),
            compared: tokio::time::Instant::now(),
            pruned: tokio::time::Instant::now(),
            mail: VecDeque::new(),
            has_more_to_send: false,
            reopened: HashMap::new(),
            presence: SharedPresence::default(),
            runs: RunDesk::default(),
        };
        self.state.server = Some(server::summary(&nats));
        self.mesh.remote().prune(clock::now() - KEPT)?;
        self.mesh.remote().prune_runs(clock::now() - KEPT)?;
        let mut connection = nats.connection_events();
        let end = loop {
            if let Some(end) = self.end()? {
                break LinkedEnd::Over(end);
            }
            linked.runs.is_open |= linked.is_dirty;
            self.look(&mut linked).await?;
            self.tend_runs(&mut linked).await?;
            self.answer_waiting(&mut linked).await;
            self.deliver_mail(&mut linked).await;
            linked.share_presence(self.mesh).await?;
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
                    if let Some(end) = self.note_lease(&mut linked, event)? {
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
                    self.accept(&mut linked, one)?;
                    // What is there already is taken together, so that the mirror is written once.
                    for _ in 0..MOST_CHANGES {
                        let Ok(more) = brought.try_recv() else { break };
                        self.accept(&mut linked, more)?;
                    }
                }
                changed = connection.changed() => {
                    if changed.is_ok() {
                        let state = connection.borrow_and_update().clone();
                        self.note_connection(&mut linked, &state)?;
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

    /// Makes the server and the mesh agree, as far as something changed.
    async fn look(&mut self, linked: &mut Linked) -> Result<(), CommandError> {
        if linked.table.is_complete && linked.table.is_mirror_behind {
            self.write_mirror(linked)?;
        }
        let now = tokio::time::Instant::now();
        linked.is_dirty |= now.duration_since(linked.compared) >= COMPARE;
        if now.duration_since(linked.pruned) >= PRUNE {
            linked.pruned = now;
            self.mesh.remote().prune(clock::now() - KEPT)?;
        }
        if !linked.is_dirty {
            return match linked.has_more_to_send && linked.can_decide().is_some() {
                true => self.send_mail(linked).await,
                false => Ok(()),
            };
        }
        linked.is_dirty = false;
        linked.compared = now;
        self.watch()?;
        let Some(epoch) = linked.can_decide() else { return Ok(()) };
        linked.local = linked.reader.read(self.mesh, &linked.table.me, &epoch)?;
        if !left_tasks(&linked.table, &linked.grants, &linked.local).is_empty() {
            let LocalCompletions { completions: completed, is_all } =
                linked.reader.completed(self.mesh, &linked.table.me, &epoch)?;
            linked.local.completed = completed;
            linked.local.knows_all_tasks &= is_all;
        }
        let Linked { nats, table, grants, told, local, .. } = linked;
        let mut reconciler = Reconciler { op: self.op, nats, table, epoch: &epoch, grants, told };
        let mut done = reconciler.run(local).await;
        if done.is_ok() {
            if let Err(error) = self.take_back(linked) {
                self.op.warn(format!("a task that is open again is still done here: {error}"));
            }
            done = self.share_completions(linked, &epoch).await?;
        }
        if let Err(error) = done {
            return self.note_failure(linked, &error);
        }
        self.send_mail(linked).await?;
        if linked.table.is_complete && linked.table.is_mirror_behind {
            self.write_mirror(linked)?;
        }
        Ok(())
    }

    /// Takes back here what was completed here and is open again on the server: an agent on another machine has reopened
    /// it, or one of this machine whose command was cut short.
    fn take_back(&mut self, linked: &mut Linked) -> Result<(), CommandError> {
        let is_news = |(key, revision, _): &(&String, u64, &TaskRecord)| {
            linked.reopened.get(*key) != Some(revision) && !linked.grants.has(key)
        };
        let news = linked.table.reopened().filter(is_news);
        let news: Vec<(String, u64, TaskRecord)> =
            news.map(|(key, revision, record)| (key.clone(), revision, record.clone())).collect();
        if news.is_empty() {
            return Ok(());
        }
        let LocalCompletions { completions, is_all } = linked.reader.completions(self.mesh)?;
        for (key, revision, record) in news {
            let Some(reopening) = &record.reopened else { continue };
            let is_it = |(task, done): &&(TaskKey, Completion)| {
                *task == record.key && reopening.covers(&linked.table.me, done.at)
            };
            for (_, completion) in completions.iter().filter(is_it) {
                tasks::take_back(self.op, self.mesh, completion, reopening)?;
            }
            if is_all {
                linked.reopened.insert(key, revision);
            }
        }
        Ok(())
    }

    /// Tells the server once of what was completed here before the mesh was linked.
    async fn share_completions(
        &mut self,
        linked: &mut Linked,
        epoch: &LeaseEpoch,
    ) -> Result<Result<(), NatsError>, CommandError> {
        if self.mesh.link().has_shared_completions()? {
            return Ok(Ok(()));
        }
        let LocalCompletions { completions: completed, is_all } =
            linked.reader.completed(self.mesh, &linked.table.me, epoch)?;
        let Linked { nats, table, grants, told, .. } = linked;
        let mut reconciler = Reconciler { op: self.op, nats, table, epoch, grants, told };
        let done = reconciler.completed(&completed).await;
        if done.is_ok() && is_all {
            self.mesh.link().note_shared_completions()?;
        }
        Ok(done)
    }

    async fn tend_runs(&mut self, linked: &mut Linked) -> Result<(), CommandError> {
        if linked.can_decide().is_none() {
            return Ok(());
        }
        let Linked { nats, runs, .. } = linked;
        let mut tending = RunTending { op: self.op, mesh: self.mesh, nats, desk: runs };
        match tending.tend().await {
            Ok(()) => Ok(()),
            Err(SendError::Server(error)) => self.note_failure(linked, &error),
            Err(SendError::Local(error)) => Err(error),
        }
    }

    async fn send_mail(&mut self, linked: &mut Linked) -> Result<(), CommandError> {
        let now = tokio::time::Instant::now();
        if linked.full_until.is_some_and(|until| now < until) {
            return Ok(());
        }
        let queued = mail::send_queued(self.op, self.mesh, &linked.nats, &linked.table, SLICE).await;
        let sent = match queued {
            Ok(queued) => receipts::send_receipts(self.mesh, &linked.nats, SLICE)
                .await
                .map(|receipts| [queued, receipts]),
            Err(error) => Err(error),
        };
        linked.has_more_to_send = matches!(&sent, Ok(slices) if slices.contains(&Slice::More));
        match sent {
            Ok(_) => {
                let was_full = linked.full_until.take().is_some();
                let queued = self.mesh.remote().queued_count()?;
                if was_full || queued != self.state.queued {
                    self.set_stage(LinkStage::Linked, None)?;
                }
                Ok(())
            }
            Err(SendError::Server(error)) => {
                if matches!(error, NatsError::StreamFull { .. } | NatsError::DiskFull { .. }) {
                    linked.full_until = Some(now + FULL);
                }
                self.note_failure(linked, &error)
            }
            Err(SendError::Local(error)) => Err(error),
        }
    }

    /// Says what went wrong. It is tried again.
    fn note_failure(&mut self, linked: &mut Linked, error: &NatsError) -> Result<(), CommandError> {
        if linked.nats.is_connected() {
            self.set_stage(self.state.stage, Some(problem::of(error, &self.config)))?;
        }
        Ok(())
    }

    fn write_mirror(&mut self, linked: &mut Linked) -> Result<(), CommandError> {
        let now = clock::now();
        self.mesh.remote().set_agents(&linked.table.mirrored_agents(now))?;
        let is_in_work = |key: &str| linked.local.tasks.contains_key(key) || linked.grants.has(key);
        self.mesh.remote().set_tasks(&linked.table.mirrored_tasks(is_in_work))?;
        linked.presence.prune(self.mesh, &linked.table)?;
        linked.table.is_mirror_behind = false;
        self.state.machines = linked.table.other_machines();
        self.write_state();
        // Somebody here may wait for what another machine has let go of.
        match self.mesh.lock() {
            Ok(mut locked) => waiting::notify_waiting_or_warn(self.op, self.mesh, &mut locked),
            // Every command of theirs looks, too.
            Err(error) => self.op.warn(format!("nobody was told of what other machines let go of: {error}")),
        }
        Ok(())
    }

    /// Watches what tells that something is to be done.
    fn watch(&mut self) -> Result<(), CommandError> {
        let mut dirs = self.mesh.link().directories_to_watch();
        dirs.extend(self.mesh.remote().queue_directories()?);
        dirs.extend(self.mesh.remote().owed_directories()?);
        self.hints.watch(dirs);
        Ok(())
    }

    fn accept(&mut self, linked: &mut Linked, one: Brought) -> Result<(), CommandError> {
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
            Brought::Change(Err(error)) | Brought::Mail(Err(error)) => self.note_failure(linked, &error)?,
            Brought::Mail(Ok(incoming)) => linked.mail.extend(incoming),
        }
        Ok(())
    }

    async fn deliver_mail(&mut self, linked: &mut Linked) {
        if linked.mail.is_empty() {
            return;
        }
        let Linked { nats, table, mail, .. } = linked;
        mail::receive(self.op, self.mesh, nats, table, mail, SLICE).await;
        // Receipts are due, and perhaps something of a run.
        linked.is_dirty = true;
        linked.runs.is_open = true;
    }

    fn note_lease(
        &mut self,
        linked: &mut Linked,
        event: LeaseEvent,
    ) -> Result<Option<LinkedEnd>, CommandError> {
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
                let problem = self.state.problem.clone().filter(|_| linked.full_until.is_some());
                self.set_stage(LinkStage::Linked, problem)?;
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
                return Ok(Some(LinkedEnd::Failed(LinkStage::Refused, problem)));
            }
            LeaseEvent::Failed(error) if error.is_transient() => {
                let problem = problem::of(&error, &self.config);
                self.set_stage(LinkStage::Unreachable, Some(problem))?;
            }
            LeaseEvent::Failed(error) => {
                let problem = problem::of(&error, &self.config);
                return Ok(Some(LinkedEnd::Failed(LinkStage::Refused, problem)));
            }
        }
        Ok(None)
    }

    fn note_connection(&mut self, linked: &mut Linked, state: &ServerConnection) -> Result<(), CommandError> {
        match state {
            ServerConnection::Connected { .. } => {
                self.state.server = Some(server::summary(&linked.nats));
                linked.is_dirty = true;
                linked.presence.ask();
            }
            ServerConnection::Disconnected { why, .. } => {
                let problem = problem::disconnected(&self.config, why);
                self.set_stage(LinkStage::Unreachable, Some(problem))?;
            }
        }
        Ok(())
    }
}
