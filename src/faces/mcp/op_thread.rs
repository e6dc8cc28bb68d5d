//! Where ops are run: they block, and a context belongs to one thread.
//!
//! One thread runs them, one at a time. What waits for mail gets a thread of its own, so that it holds up nothing; there
//! are few of those, and they end when they are cancelled or when the server does.

use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use tokio::sync::oneshot;

use crate::domain::SessionId;
use crate::ops::{self, Client, CommandError, Context, Globals, Kind, Matter, Reached, wake};
use crate::sys::seams;
use crate::sys::signals::{Asker, Stop};

use super::answer::Answer;
use super::channel::Line;
use super::complain;
use super::delivery_ack::{self, Ticket};

/// So many calls may wait for mail at once, or look out for changes.
const MAX_WAITING: usize = 5;
/// The place of who attends the session, besides those.
const ATTENDANT: usize = MAX_WAITING;
/// Who looks out tries again so long after it failed.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// So long the attendant lets things be that it could not work with.
const PAUSE: Duration = Duration::from_secs(30);
/// So long the end of the server waits for what is in hand to be put back.
const PARTING: Duration = Duration::from_secs(2);

type Job = Box<dyn FnOnce() + Send>;

/// What a call comes to, and the ticket of what it hands over.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) answer: Answer,
    pub(super) ticket: Option<Ticket>,
}

/// The desk of one server.
pub(super) struct Desk {
    handle: Handle,
    closer: Closer,
    thread: JoinHandle<()>,
}

impl Desk {
    pub(super) fn open(globals: Globals) -> io::Result<Self> {
        let (jobs, queue) = unbounded::<Job>();
        let waiting = Arc::new(Waiting::default());
        let (closer, closing) = Closer::new(&waiting);
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
        let handle = Handle { globals, jobs, closing, waiting };
        Ok(Self { handle, closer, thread })
    }

    pub(super) fn handle(&self) -> Handle {
        self.handle.clone()
    }

    pub(super) fn closer(&self) -> Closer {
        self.closer.clone()
    }

    /// Waits until nothing is in hand any more, but not for ever: what is left then, the next reader puts back.
    pub(super) fn close(self) {
        self.closer.close();
        let give_up = Instant::now() + PARTING;
        let is_done = || self.thread.is_finished() && self.handle.waiting.is_empty();
        while !is_done() && Instant::now() < give_up {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Says when it is over: first to those who wait for mail, because nobody will ask for more; at the end to all.
#[derive(Clone, Debug)]
pub(super) struct Closer {
    sender: Arc<Mutex<Option<Sender<()>>>>,
    waiting: Arc<Waiting>,
}

impl Closer {
    /// The receiver is disconnected when it is said.
    fn new(waiting: &Arc<Waiting>) -> (Self, Receiver<()>) {
        let (sender, receiver) = bounded(0);
        (Self { sender: Arc::new(Mutex::new(Some(sender))), waiting: Arc::clone(waiting) }, receiver)
    }

    /// The client asks no more. What it has asked is still answered.
    pub(super) fn stop_waiting(&self) {
        self.waiting.stop();
    }

    fn close(&self) {
        self.stop_waiting();
        drop(self.sender.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// For those who have something to be done.
#[derive(Clone)]
pub(super) struct Handle {
    globals: Globals,
    jobs: Sender<Job>,
    closing: Receiver<()>,
    waiting: Arc<Waiting>,
}

impl Handle {
    /// Runs something for a client, when its turn comes.
    pub(super) fn run(
        &self,
        sessions: Vec<SessionId>,
        work: impl FnOnce(&Context, &mut Outlet) -> Result<Answer, CommandError> + Send + 'static,
    ) -> oneshot::Receiver<Reply> {
        let (visit, reply) = self.visit(sessions);
        // Nobody answers when the desk is closed, and then there is nobody to be answered.
        drop(self.jobs.send(Box::new(move || visit.run(work))));
        reply
    }

    /// Runs something that may take long beside all else. It is stopped when the server ends, or by who asks for it.
    pub(super) fn run_beside(
        &self,
        sessions: Vec<SessionId>,
        work: impl FnOnce(&Context, &mut Outlet, &Stop) -> Result<Answer, CommandError> + Send + 'static,
    ) -> Result<(oneshot::Receiver<Reply>, Asker), CommandError> {
        let (stop, asker) = Stop::by_hand();
        let place = Waiting::take_place(&self.waiting, asker.clone())?;
        let (visit, reply) = self.visit(sessions);
        let run = move || {
            visit.run(|ctx, outlet| work(ctx, outlet, &stop));
            drop(place);
        };
        std::thread::Builder::new().name("mcp wait".to_string()).spawn(run).map_err(|error| {
            CommandError::new(Kind::Io, format!("no thread could be started to wait: {error}"))
        })?;
        Ok((reply, asker))
    }

    /// Looks out for changes, and tells of each, until the server ends or nobody waits for the reply any more.
    pub(super) fn look_out(
        &self,
        sessions: Vec<SessionId>,
        mut tell: impl FnMut(Matter) + Send + 'static,
    ) -> Result<oneshot::Receiver<Reply>, CommandError> {
        let (reply, _) = self.run_beside(sessions, move |ctx, _, stop| {
            let mut said = None;
            // What fails is tried again: who has subscribed is told nothing more else, and does not know it.
            while let Err(error) = ops::look_out(ctx, stop, &mut tell) {
                if said.as_ref() != Some(&error.message) {
                    complain(&error.message);
                    said = Some(error.message);
                }
                if stop.wake().recv_timeout(LOOK_AGAIN).is_ok() || stop.is_asked() {
                    break;
                }
                // Anything may have changed meanwhile.
                [Matter::Agents, Matter::Tasks, Matter::Mail].into_iter().for_each(&mut tell);
            }
            Ok(Answer::default())
        })?;
        Ok(reply)
    }

    /// Attends the session that the server belongs to, until the server ends. What fails is told in the client's log, once.
    pub(super) fn attend(&self, channel: Line) -> io::Result<()> {
        let globals = Globals { client: Some(Client::default()), ..self.globals.clone() };
        let (stop, asker) = Stop::by_hand();
        let place = Waiting::take_attendants_place(&self.waiting, asker);
        let run = move || {
            let mut said = None;
            while let Err(error) = wake::attend(&globals, &channel, &stop) {
                if said.as_ref() != Some(&error.message) {
                    complain(&error.message);
                    said = Some(error.message);
                }
                if stop.wake().recv_timeout(PAUSE).is_ok() || stop.is_asked() {
                    break;
                }
            }
            drop(place);
        };
        std::thread::Builder::new().name("mcp attendant".to_string()).spawn(run).map(drop)
    }

    fn visit(&self, sessions: Vec<SessionId>) -> (Visit, oneshot::Receiver<Reply>) {
        let (sender, reply) = oneshot::channel();
        let globals = Globals { client: Some(Client { sessions }), ..self.globals.clone() };
        (Visit { globals, outlet: Outlet { reply: Some(sender), closing: self.closing.clone() } }, reply)
    }
}

/// Those who wait, and how each is stopped.
#[derive(Debug, Default)]
struct Waiting(Mutex<Places>);

#[derive(Debug, Default)]
struct Places {
    taken: [Option<Asker>; MAX_WAITING + 1],
    /// Who comes now need not begin.
    is_over: bool,
}

impl Places {
    fn fill(&mut self, number: usize, asker: Asker) {
        if self.is_over {
            asker.ask();
        }
        self.taken[number] = Some(asker);
    }
}

impl Waiting {
    fn take_place(waiting: &Arc<Self>, asker: Asker) -> Result<Place, CommandError> {
        let mut places = waiting.places();
        let Some(number) = places.taken[..MAX_WAITING].iter().position(Option::is_none) else {
            let text = format!("{MAX_WAITING} calls wait for mail already");
            return Err(CommandError::new(Kind::TooMany, text).hint("one that waits is enough"));
        };
        places.fill(number, asker);
        Ok(Place { waiting: Arc::clone(waiting), number })
    }

    fn take_attendants_place(waiting: &Arc<Self>, asker: Asker) -> Place {
        waiting.places().fill(ATTENDANT, asker);
        Place { waiting: Arc::clone(waiting), number: ATTENDANT }
    }

    fn is_empty(&self) -> bool {
        self.places().taken.iter().all(Option::is_none)
    }

    fn stop(&self) {
        let mut places = self.places();
        places.is_over = true;
        places.taken.iter().flatten().for_each(Asker::ask);
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place among those who wait.
struct Place {
    waiting: Arc<Waiting>,
    number: usize,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.waiting.places().taken[self.number] = None;
    }
}

/// One call.
struct Visit {
    globals: Globals,
    outlet: Outlet,
}

impl Visit {
    /// A bug of ours is an answer like others: the server goes on.
    fn run(mut self, work: impl FnOnce(&Context, &mut Outlet) -> Result<Answer, CommandError>) {
        if self.outlet.is_gone() {
            return;
        }
        let (globals, outlet) = (self.globals, &mut self.outlet);
        let done = std::panic::catch_unwind(AssertUnwindSafe(|| in_context(globals, outlet, work)));
        let answer = done.unwrap_or_else(|_| {
            let error =
                CommandError::new(Kind::Bug, "this is a bug in msg; what it said is in the client's log");
            Answer::from(error.hint("please report it with the call that you made"))
        });
        self.outlet.answer(answer);
    }
}

fn in_context(
    globals: Globals,
    outlet: &mut Outlet,
    work: impl FnOnce(&Context, &mut Outlet) -> Result<Answer, CommandError>,
) -> Answer {
    if let Some(text) = seams::value(seams::PANIC) {
        panic_as_told(&text);
    }
    let ctx = match Context::new(globals) {
        Ok(ctx) => ctx,
        Err(error) => return error.into(),
    };
    let answer = work(&ctx, outlet).unwrap_or_else(Answer::from);
    wake::those_who_were_told(&ctx);
    answer.noting(&ctx.take_notices())
}

#[expect(clippy::panic, reason = "a test wants to see what happens")]
fn panic_as_told(text: &str) {
    panic!("{text}");
}

/// The way to the client.
#[derive(Debug)]
pub(super) struct Outlet {
    reply: Option<oneshot::Sender<Reply>>,
    closing: Receiver<()>,
}

impl Outlet {
    /// Gives the answer now, and waits until it was written, or will not be.
    pub(super) fn hand_over(&mut self, answer: Answer) -> Reached {
        let (ticket, stub) = delivery_ack::issue();
        let Some(reply) = self.reply.take() else { return Reached::No };
        match reply.send(Reply { answer, ticket: Some(ticket) }) {
            Ok(()) => stub.outcome(&self.closing),
            Err(_) => Reached::No,
        }
    }

    /// Nobody wants to know any more.
    fn is_gone(&self) -> bool {
        self.reply.as_ref().is_none_or(oneshot::Sender::is_closed)
    }

    fn answer(self, answer: Answer) {
        match self.reply {
            // Whoever asked may be gone; that is no loss.
            Some(reply) => drop(reply.send(Reply { answer, ticket: None })),
            // All was said already, but something went wrong afterwards.
            None => answer.complaint().iter().for_each(|text| complain(text)),
        }
    }
}
