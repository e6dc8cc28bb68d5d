//! The link process: one for each linked mesh and machine. It holds the connection to the server and this machine's
//! lease, keeps the server's records as the local mesh has them, carries mail both ways, and writes the mirror.
//!
//! One loop decides, one thing after the other, so nothing here needs a lock of its own. Besides it run a task that
//! renews the lease, one that follows the records, one that fetches mail, one that hears presence and one that serves
//! the socket; they only bring something to the loop. Two more share the feed by themselves. Whatever the loop does may
//! be cut short by a kill: the server's records name their owner, a message leaves the server only when it is in an inbox
//! here, and one of ours stays queued until the server has it.

mod decide;
mod delivering;
mod failure;
mod feed;
mod forget;
mod lease;
mod local;
mod mail;
mod presence;
mod problem;
mod receipts;
mod reconcile;
mod runs;
mod send_error;
mod senders;
mod sending;
mod serve;
mod server;
mod session;
mod streams;
mod table;
mod wait;

use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::store::link_protocol::{LinkAnswer, LinkRequest};
use crate::store::{
    LinkConfig, LinkProblem, LinkStage, LinkState, Mesh, Registration, ServerSummary, link_format,
};
use crate::sys::nats::{Nats, NatsError};
use crate::sys::signals::StopRequest;
use crate::sys::{clock, line_socket, process};

pub use forget::MachineRemains;
pub(super) use forget::{Forgetting, forget};

use serve::Asked;
use session::{LinkedEnd, Session};
use wait::Hints;

/// How long the link waits for the lock of one that is just ending.
const TAKE_OVER: Duration = Duration::from_secs(3);
/// How long the link goes on without an agent.
const IDLE: Duration = Duration::from_secs(10);
/// How often it is looked whether anybody needs the link.
const LOOK: Duration = Duration::from_secs(1);
/// The pauses between attempts to connect.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);
/// How long the link must have been linked before it connects again as fast as the first time.
const STEADY: Duration = Duration::from_secs(10);

/// How long the link process lives.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LinkLife {
    /// Until it is stopped.
    Foreground,
    /// As long as this machine has an agent, or mail that is not on the server.
    WhileNeeded,
}

/// Why the link process ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LinkEnd {
    Stopped,
    /// No agent was left.
    NotNeeded,
    /// There is another one.
    AlreadyRunning,
    /// The mesh is not linked any more.
    Unlinked,
}

/// Runs the link process. `show` gets each change of its state.
pub fn run(
    op: &Op,
    life: LinkLife,
    stop: &StopRequest,
    show: &mut dyn FnMut(&LinkState),
) -> Result<LinkEnd, CommandError> {
    op.leave_link_alone();
    let mesh = op.create_mesh()?;
    let config = mesh.link().config()?.ok_or_else(not_configured)?;
    let _lock = match mesh.link().lock(TAKE_OVER) {
        Ok(lock) => lock,
        Err(_) if mesh.link().is_running()? => return Ok(LinkEnd::AlreadyRunning),
        Err(error) => return Err(error.into()),
    };
    let listener = line_socket::listen(&mesh.link().socket()).map_err(no_socket)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("link")
        .enable_all()
        .build()
        .map_err(|error| {
            CommandError::new(CommandErrorKind::Io, format!("no thread could be started: {error}"))
        })?;
    let end = runtime.block_on(async {
        listener.set_nonblocking(true).map_err(io_error)?;
        let listener = tokio::net::UnixListener::from_std(listener).map_err(io_error)?;
        let (sender, asked) = mpsc::channel(64);
        tokio::spawn(serve::serve(listener, sender));
        let mut link = Link::begin(op, &mesh, config, life, asked, stop, show);
        Ok(link.run_to_end().await)
    });
    runtime.shutdown_timeout(Duration::from_secs(2));
    end
}

/// Tries the server as the link process would use it. The outer error is one of this machine.
pub(super) fn try_server(
    config: &LinkConfig,
    mesh: Option<&Mesh>,
) -> Result<Result<ServerSummary, LinkProblem>, CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(io_error)?;
    let tried = runtime.block_on(async {
        let nats = Nats::connect(server::options(config)).await?;
        nats.prepare().await?;
        nats.probe_ttl().await?;
        let there = nats.get(&table::machine_key(&config.machine)).await?;
        let summary = server::summary(&nats);
        nats.close().await;
        Ok::<_, NatsError>((there, summary))
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
    Ok(match tried {
        Ok((None, summary)) => Ok(summary),
        Ok((Some(there), summary)) => {
            let lease = link_format::parse_machine(&there.value).ok();
            let own = lease::installation(config, mesh);
            let is_ours = lease.is_some_and(|lease| lease.installation == own);
            if is_ours { Ok(summary) } else { Err(problem::name_in_use(&config.machine)) }
        }
        Err(error) => Err(problem::of(&error, config)),
    })
}

fn not_configured() -> CommandError {
    CommandError::new(CommandErrorKind::NotLinked, "this mesh is not linked")
        .hint("`msg link nats://HOST:4222/NAME` links it with other machines")
}

fn no_socket(error: line_socket::LineSocketError) -> CommandError {
    CommandError::new(CommandErrorKind::Io, format!("the socket of the link can't be made: {error}"))
        .hint("is the path of the mesh very long? `msg doctor` shows it")
}

fn io_error(error: std::io::Error) -> CommandError {
    CommandError::new(CommandErrorKind::Io, format!("the socket of the link can't be used: {error}"))
}

/// What lives as long as the process.
struct Link<'a> {
    op: &'a Op,
    mesh: &'a Mesh,
    config: LinkConfig,
    life: LinkLife,
    asked: mpsc::Receiver<Asked>,
    stop: &'a StopRequest,
    hints: Hints,
    state: LinkState,
    show: &'a mut dyn FnMut(&LinkState),
    needless_since: Option<Instant>,
    /// When this session first had the lease, if it ever had it.
    linked_since: Option<Instant>,
    /// When it was last looked whether anybody needs the link.
    looked: Option<Instant>,
}

impl<'a> Link<'a> {
    fn begin(
        op: &'a Op,
        mesh: &'a Mesh,
        config: LinkConfig,
        life: LinkLife,
        asked: mpsc::Receiver<Asked>,
        stop: &'a StopRequest,
        show: &'a mut dyn FnMut(&LinkState),
    ) -> Self {
        // It only tells how old the mirror is.
        let before = mesh.link().state().ok().flatten();
        let now = clock::now();
        let state = LinkState {
            stage: LinkStage::Connecting,
            pid: process::own_pid().get(),
            version: env!("CARGO_PKG_VERSION").to_string(),
            started_at: now,
            since: now,
            last_contact: before.and_then(|before| before.last_contact),
            epoch: None,
            problem: None,
            server: None,
            queued: 0,
            machines: Vec::new(),
        };
        let hints = Hints::start(stop);
        Self {
            op,
            mesh,
            config,
            life,
            asked,
            stop,
            hints,
            state,
            show,
            needless_since: None,
            linked_since: None,
            looked: None,
        }
    }

    /// Connects, is linked, and connects again, until somebody stops it or nobody needs it.
    async fn run_to_end(&mut self) -> LinkEnd {
        let mut pause = FIRST_PAUSE;
        loop {
            // While it tries again, it says why it has to.
            if self.state.problem.is_none() {
                self.set_stage(LinkStage::Connecting, None);
            }
            let end = match Session::connect(&self.config).await {
                Ok(session) => {
                    let end = self.be_linked(session).await;
                    let linked_for = self.linked_since.take().map(|since| since.elapsed());
                    if linked_for.is_some_and(|time| time >= STEADY) {
                        pause = FIRST_PAUSE;
                    }
                    crate::ops::runner::carry_out(self.op);
                    // Something of this machine, such as a full disk: the link tries again.
                    end.unwrap_or_else(|error| LinkedEnd::Failed(LinkStage::Refused, problem::local(error)))
                }
                Err(error) => {
                    let problem = problem::of(&error, &self.config);
                    let stage =
                        if error.is_transient() { LinkStage::Unreachable } else { LinkStage::Refused };
                    LinkedEnd::Failed(stage, problem)
                }
            };
            match end {
                LinkedEnd::Over(end) => {
                    self.set_stage(LinkStage::Stopped, None);
                    return end;
                }
                LinkedEnd::Failed(stage, problem) => self.set_stage(stage, Some(problem)),
            }
            if let Some(end) = self.wait_unlinked(pause).await {
                self.set_stage(LinkStage::Stopped, self.state.problem.clone());
                return end;
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// Waits before the next attempt. Whoever asks meanwhile is told why there is no answer.
    async fn wait_unlinked(&mut self, pause: Duration) -> Option<LinkEnd> {
        let until = tokio::time::Instant::now() + pause;
        loop {
            if let Some(end) = self.end() {
                return Some(end);
            }
            tokio::select! {
                asked = self.asked.recv() => {
                    let Some(asked) = asked else { return Some(LinkEnd::Stopped) };
                    let answer = match asked.request {
                        LinkRequest::Poke => LinkAnswer::Done,
                        LinkRequest::Stop => {
                            drop(asked.answer.send(LinkAnswer::Done));
                            return Some(LinkEnd::Stopped);
                        }
                        _ => LinkAnswer::Unreachable { problem: self.problem_now() },
                    };
                    drop(asked.answer.send(answer));
                }
                () = self.hints.stopped() => return Some(LinkEnd::Stopped),
                () = tokio::time::sleep_until(until) => return None,
                () = tokio::time::sleep(Duration::from_secs(1)) => {}
            }
        }
    }

    fn problem_now(&self) -> LinkProblem {
        self.state.problem.clone().unwrap_or_else(|| problem::connecting(&self.config))
    }

    /// Why it is to end now, if it is.
    fn end(&mut self) -> Option<LinkEnd> {
        if self.stop.is_requested() {
            return Some(LinkEnd::Stopped);
        }
        if self.looked.is_some_and(|looked| looked.elapsed() < LOOK) {
            return None;
        }
        self.looked = Some(Instant::now());
        if !self.mesh.link().is_configured() {
            return Some(LinkEnd::Unlinked);
        }
        if self.life == LinkLife::Foreground || self.is_needed() {
            self.needless_since = None;
            return None;
        }
        let since = *self.needless_since.get_or_insert_with(Instant::now);
        (since.elapsed() >= IDLE).then_some(LinkEnd::NotNeeded)
    }

    /// Whether somebody here needs the link. What can't be read may be of somebody who does.
    fn is_needed(&self) -> bool {
        let is_ours = |record: &Registration| record.agent.is_ours() && record.is_live();
        let census = self.mesh.registry().local_census();
        census.map_or(true, |census| census.records.iter().any(is_ours))
            || self.mesh.remote().queued_count().map_or(true, |count| count > 0)
            || runs::is_needed(self.mesh).unwrap_or(true)
    }

    fn set_stage(&mut self, stage: LinkStage, problem: Option<LinkProblem>) {
        let is_news = self.state.stage != stage || self.state.problem != problem;
        if self.state.stage != stage {
            self.state.since = clock::now();
        }
        self.state.stage = stage;
        self.state.problem = problem;
        // Otherwise the last known number is shown.
        if let Ok(queued) = self.mesh.remote().queued_count() {
            self.state.queued = queued;
        }
        self.write_state();
        if is_news {
            (self.show)(&self.state);
        }
    }

    /// Says how the link is. On a full disk it can't, and goes on: the lease and the mail of others depend on it.
    fn write_state(&self) {
        if let Err(error) = self.mesh.link().set_state(&self.state) {
            self.op.warn(format!("the state of the link could not be written: {error}"));
        }
    }
}
