//! The thread that runs ops: they block, and a context belongs to one thread.
//!
//! Ops run one at a time. A call that may take long gets a thread of its own, so that it delays nothing else. There
//! are at most [`MAX_WAITING`] of those, and they end when they are cancelled or when the server ends.

use std::cell::RefCell;
use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use tokio::sync::oneshot;

use crate::domain::SessionId;
use crate::ops::{
    self, CommandError, CommandErrorKind, Context, GlobalOptions, HandoverOutcome, McpClient, MeshChange, Op,
};
use crate::sys::signals::{StopRequest, StopTrigger};
use crate::sys::test_switches;

use super::channel::ChannelNotifier;
use super::complain;
use super::handover_signal::{self, HandoverSender};
use super::tool_answer::ToolAnswer;

/// Maximum number of calls that wait, type or watch for changes at once.
const MAX_WAITING: usize = 5;
/// The additional slot of the attendant.
const ATTENDANT: usize = MAX_WAITING;
/// Delay before a failed watch is retried.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// Delay before the attendant is retried after an error.
const PAUSE: Duration = Duration::from_secs(30);
/// How long shutdown waits for mail that is held to be put back.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);

type Job = Box<dyn FnOnce() + Send>;

/// The answer to a call, and the ticket if it delivers mail.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) answer: ToolAnswer,
    pub(super) ticket: Option<HandoverSender>,
}

/// The op thread of one server.
pub(super) struct OpThread {
    handle: OpThreadHandle,
    closer: ShutdownHandle,
    thread: JoinHandle<()>,
}

impl OpThread {
    pub(super) fn open(globals: GlobalOptions) -> io::Result<Self> {
        let (jobs, queue) = unbounded::<Job>();
        let waiting = Arc::new(WaitingCalls::default());
        let (closer, closing) = ShutdownHandle::new(&waiting);
        let thread = std::thread::Builder::new().name("mcp desk".to_string()).spawn({
            let closing = closing.clone();
            move || {
                loop {
                    crossbeam_channel::select! {
                        recv(queue) -> job => match job {
                            Ok(job) => job(),
                            Err(_) => return,
                        },
                        recv(closing) -> _ => return,
                    }
                }
            }
        })?;
        let handle = OpThreadHandle { globals, jobs, closing, waiting };
        Ok(Self { handle, closer, thread })
    }

    pub(super) fn handle(&self) -> OpThreadHandle {
        self.handle.clone()
    }

    pub(super) fn closer(&self) -> ShutdownHandle {
        self.closer.clone()
    }

    /// Waits up to [`SHUTDOWN_GRACE`] until no mail is held any more. The next reader puts back what is left then.
    pub(super) fn close(self) {
        self.closer.close();
        let give_up = Instant::now() + SHUTDOWN_GRACE;
        let is_done = || self.thread.is_finished() && self.handle.waiting.is_empty();
        while !is_done() && Instant::now() < give_up {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Announces the shutdown: first to calls that wait, because the client will send no more requests, and
/// finally to everyone.
#[derive(Clone, Debug)]
pub(super) struct ShutdownHandle {
    sender: Arc<Mutex<Option<Sender<()>>>>,
    waiting: Arc<WaitingCalls>,
}

impl ShutdownHandle {
    /// The receiver is disconnected on shutdown.
    fn new(waiting: &Arc<WaitingCalls>) -> (Self, Receiver<()>) {
        let (sender, receiver) = bounded(0);
        (Self { sender: Arc::new(Mutex::new(Some(sender))), waiting: Arc::clone(waiting) }, receiver)
    }

    /// The client sends no more requests. Those already sent are still answered.
    pub(super) fn stop_waiting(&self) {
        self.waiting.stop();
    }

    fn close(&self) {
        self.stop_waiting();
        drop(self.sender.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// Submits work to the op thread.
#[derive(Clone)]
pub(super) struct OpThreadHandle {
    globals: GlobalOptions,
    jobs: Sender<Job>,
    closing: Receiver<()>,
    waiting: Arc<WaitingCalls>,
}

impl OpThreadHandle {
    /// Runs an op for a client when its turn comes.
    pub(super) fn run(
        &self,
        sessions: Vec<SessionId>,
        work: impl FnOnce(&Op, &mut ReplySender) -> Result<ToolAnswer, CommandError> + Send + 'static,
    ) -> oneshot::Receiver<Reply> {
        let (visit, reply) = self.visit(sessions);
        // If the op thread has ended, there is nobody left to answer.
        drop(self.jobs.send(Box::new(move || visit.run(work))));
        reply
    }

    /// Runs an op that may take long on a thread of its own. It stops when the server ends or when the returned
    /// [`StopTrigger`] asks.
    pub(super) fn run_beside(
        &self,
        sessions: Vec<SessionId>,
        work: impl FnOnce(&Op, &mut ReplySender, &StopRequest) -> Result<ToolAnswer, CommandError>
        + Send
        + 'static,
    ) -> Result<(oneshot::Receiver<Reply>, StopTrigger), CommandError> {
        let (stop, asker) = StopRequest::manual();
        let place = WaitingCalls::take_place(&self.waiting, asker.clone())?;
        let (visit, reply) = self.visit(sessions);
        let run = move || {
            visit.run(|op, outlet| work(op, outlet, &stop));
            drop(place);
        };
        std::thread::Builder::new().name("mcp wait".to_string()).spawn(run).map_err(|error| {
            CommandError::new(CommandErrorKind::Io, format!("no thread could be started to wait: {error}"))
        })?;
        Ok((reply, asker))
    }

    /// Watches for changes and reports each one, until the server ends or the returned receiver is dropped.
    pub(super) fn look_out(
        &self,
        sessions: Vec<SessionId>,
        mut tell: impl FnMut(MeshChange) + Send + 'static,
    ) -> Result<oneshot::Receiver<Reply>, CommandError> {
        let (reply, _) = self.run_beside(sessions, move |op, _, stop| {
            let mut said = None;
            // Retry on failure: otherwise a subscriber would silently hear nothing more.
            while let Err(error) = ops::watch_changes(op, stop, &mut tell) {
                if said.as_ref() != Some(&error.message) {
                    complain(&error.message);
                    said = Some(error.message);
                }
                if stop.wake().recv_timeout(LOOK_AGAIN).is_ok() || stop.is_requested() {
                    break;
                }
                // Anything may have changed meanwhile.
                [MeshChange::Agents, MeshChange::Tasks, MeshChange::Mail].into_iter().for_each(&mut tell);
            }
            Ok(ToolAnswer::default())
        })?;
        Ok(reply)
    }

    /// Runs the attendant of the session that the server belongs to, until the server ends. An error or a warning is
    /// logged once.
    pub(super) fn attend(&self, channel: ChannelNotifier) -> io::Result<()> {
        let globals = GlobalOptions { client: Some(McpClient::default()), ..self.globals.clone() };
        let (stop, asker) = StopRequest::manual();
        let place = WaitingCalls::take_attendants_place(&self.waiting, asker);
        let run = move || {
            let said = RefCell::new(None);
            let say = |text: &str| {
                if said.borrow().as_deref() != Some(text) {
                    complain(text);
                    said.replace(Some(text.to_string()));
                }
            };
            while let Err(error) = attend(&globals, &channel, &stop, &say) {
                say(&error.message);
                if stop.wake().recv_timeout(PAUSE).is_ok() || stop.is_requested() {
                    break;
                }
            }
            drop(place);
        };
        std::thread::Builder::new().name("mcp attendant".to_string()).spawn(run).map(drop)
    }

    fn visit(&self, sessions: Vec<SessionId>) -> (OpCall, oneshot::Receiver<Reply>) {
        let (sender, reply) = oneshot::channel();
        let globals = GlobalOptions { client: Some(McpClient { sessions }), ..self.globals.clone() };
        (
            OpCall { globals, outlet: ReplySender { reply: Some(sender), closing: self.closing.clone() } },
            reply,
        )
    }
}

/// Attends the session that the server belongs to, until it is stopped; if there can be none, it returns at once.
fn attend(
    globals: &GlobalOptions,
    channel: &ChannelNotifier,
    stop: &StopRequest,
    warn: &dyn Fn(&str),
) -> Result<(), CommandError> {
    if !ops::wake::can_attend() {
        return Ok(());
    }
    let work = |op: &Op| ops::wake::attend(op, globals, channel, stop, warn);
    let (outcome, warnings) = ops::run(Context::new(globals.clone())?, work).into_parts();
    warnings.iter().for_each(|text| warn(text));
    outcome
}

/// The calls that wait, and how each is stopped.
#[derive(Debug, Default)]
struct WaitingCalls(Mutex<WaitSlots>);

#[derive(Debug, Default)]
struct WaitSlots {
    taken: [Option<StopTrigger>; MAX_WAITING + 1],
    /// The server is ending; a call that comes now is stopped at once.
    is_over: bool,
}

impl WaitSlots {
    fn fill(&mut self, number: usize, asker: StopTrigger) {
        if self.is_over {
            asker.trigger();
        }
        self.taken[number] = Some(asker);
    }
}

impl WaitingCalls {
    fn take_place(waiting: &Arc<Self>, asker: StopTrigger) -> Result<WaitSlot, CommandError> {
        let mut places = waiting.places();
        let Some(number) = places.taken[..MAX_WAITING].iter().position(Option::is_none) else {
            let text = format!("{MAX_WAITING} calls are already waiting");
            return Err(CommandError::new(CommandErrorKind::TooMany, text).hint("one waiting call is enough"));
        };
        places.fill(number, asker);
        Ok(WaitSlot { waiting: Arc::clone(waiting), number })
    }

    fn take_attendants_place(waiting: &Arc<Self>, asker: StopTrigger) -> WaitSlot {
        waiting.places().fill(ATTENDANT, asker);
        WaitSlot { waiting: Arc::clone(waiting), number: ATTENDANT }
    }

    fn is_empty(&self) -> bool {
        self.places().taken.iter().all(Option::is_none)
    }

    fn stop(&self) {
        let mut places = self.places();
        places.is_over = true;
        places.taken.iter().flatten().for_each(StopTrigger::trigger);
    }

    fn places(&self) -> MutexGuard<'_, WaitSlots> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A slot among the calls that wait.
struct WaitSlot {
    waiting: Arc<WaitingCalls>,
    number: usize,
}

impl Drop for WaitSlot {
    fn drop(&mut self) {
        self.waiting.places().taken[self.number] = None;
    }
}

/// One call.
struct OpCall {
    globals: GlobalOptions,
    outlet: ReplySender,
}

impl OpCall {
    /// Runs the call. A panic becomes an answer like any other, and the server goes on.
    fn run(mut self, work: impl FnOnce(&Op, &mut ReplySender) -> Result<ToolAnswer, CommandError>) {
        if self.outlet.is_gone() {
            return;
        }
        let (globals, outlet) = (self.globals, &mut self.outlet);
        let done = std::panic::catch_unwind(AssertUnwindSafe(|| in_context(globals, outlet, work)));
        let answer = done.unwrap_or_else(|_| {
            let error = CommandError::new(
                CommandErrorKind::Bug,
                "this is a bug in msg; what it said is in the client's log",
            );
            ToolAnswer::from(error.hint("please report it with the call that you made"))
        });
        self.outlet.answer(answer);
    }
}

fn in_context(
    globals: GlobalOptions,
    outlet: &mut ReplySender,
    work: impl FnOnce(&Op, &mut ReplySender) -> Result<ToolAnswer, CommandError>,
) -> ToolAnswer {
    if let Some(text) = test_switches::value(test_switches::PANIC) {
        panic_as_told(&text);
    }
    let ctx = match Context::new(globals) {
        Ok(ctx) => ctx,
        Err(error) => return error.into(),
    };
    let (outcome, warnings) = ops::run(ctx, |op| work(op, outlet)).into_parts();
    outcome.unwrap_or_else(ToolAnswer::from).noting(&warnings)
}

#[expect(clippy::panic, reason = "a test wants to see what happens")]
fn panic_as_told(text: &str) {
    panic!("{text}");
}

/// Where the answer to a call goes.
#[derive(Debug)]
pub(super) struct ReplySender {
    reply: Option<oneshot::Sender<Reply>>,
    closing: Receiver<()>,
}

impl ReplySender {
    /// Sends the answer now, and waits until it was written or never will be.
    pub(super) fn hand_over(&mut self, answer: ToolAnswer) -> HandoverOutcome {
        let (ticket, stub) = handover_signal::issue();
        let Some(reply) = self.reply.take() else { return HandoverOutcome::ReaderGone };
        match reply.send(Reply { answer, ticket: Some(ticket) }) {
            Ok(()) => stub.outcome(&self.closing),
            Err(_) => HandoverOutcome::ReaderGone,
        }
    }

    /// Whether nobody waits for the answer any more.
    fn is_gone(&self) -> bool {
        self.reply.as_ref().is_none_or(oneshot::Sender::is_closed)
    }

    fn answer(self, answer: ToolAnswer) {
        match self.reply {
            Some(reply) => {
                if let Err(unread) = reply.send(Reply { answer, ticket: None }) {
                    // The caller is gone. What others could not be told is not only the caller's affair.
                    unread.answer.notes().iter().for_each(|text| complain(text));
                }
            }
            // The answer was already sent. What came up afterwards goes to the client's log.
            None => {
                answer.complaint().iter().for_each(|text| complain(text));
                answer.notes().iter().for_each(|text| complain(text));
            }
        }
    }
}
