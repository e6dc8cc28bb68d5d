//! The thread that reads the mesh and carries out requests of the chat, so that no key press waits for a disk or a
//! lock. It passes messages to be sent on to `send_thread`, and to `awareness_thread` what is shown.
//!
//! It arms the watch, then looks, and passes on what is new. A busy mesh is read again after a pause that grows with
//! the time that a read takes; an idle one costs a check of its processes every five seconds, because no directory
//! reports a death.

use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender};

use crate::domain::{AgentName, Event};
use crate::ops::feed::{self, FeedCursor, FeedFilter, FeedMachines};
use crate::ops::messages::mail_tracker::MailTracker;
use crate::ops::overview::{MeshOverview, overview};
use crate::ops::watcher::screen_watcher::{MeshPart, ScreenSignal, ScreenWatcher};
use crate::ops::{CommandError, CommandErrorKind, Op, carry_out};
use crate::sys::tmux;

use super::action_menu::ActionCall;
use super::chat_alerts::ChatAlerts;
use super::knowledge_state::KnowledgeCall;
use super::places_state::TimedPlacesCall;
use super::recipients::Recipients;
use super::runs_state::RunsCall;
use super::send_thread::{OutgoingMessage, PostWork};
use super::state::{AwarenessFocus, ChatUpdate, TypedMessage};
use super::to_model;

/// Interval of checks for what no file-system event reports: agents whose process ended, and presence that fades.
const TICK: Duration = Duration::from_secs(5);
/// Polling interval when file-system events are not available for everything.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Minimum pause between two reads of a busy mesh; the pause is longer if [`READ_PAUSE_FACTOR`] times the last read's
/// duration is more.
const PAUSE: Duration = Duration::from_millis(40);
const READ_PAUSE_FACTOR: u32 = 4;
/// Age after which agents are read again although nothing changed, because presence fades with time.
const PRESENCE_REFRESH: Duration = Duration::from_secs(30);

/// Number of feed events that are loaded at first.
const EVENTS: usize = 500;

/// Shown if a message or an action can't be passed on.
const POST_ENDED: &str = "this is a bug in msg: the thread that sends messages has ended";

/// A request to the mesh thread.
#[derive(Clone, Debug)]
pub(super) enum MeshRequest {
    Send {
        to: Recipients,
        text: String,
        written: TypedMessage,
    },
    Surface(Vec<String>),
    /// Acknowledges the messages with these ids.
    Ack(Vec<String>),
    /// What was chosen in a menu.
    Act(ActionCall),
    Older,
    /// Somebody typed, or the terminal got the focus back.
    SignOfLife,
    /// This is shown of agents' headings.
    Follow(AwarenessFocus),
    /// For the thread that reads and changes records.
    Knowledge(KnowledgeCall),
    /// For the thread that reads and stops runs.
    Runs(RunsCall),
    /// For the thread that asks tmux.
    Places(TimedPlacesCall),
}

/// Why the mesh thread stopped.
pub(super) enum MeshThreadEnd {
    /// The chat was closed.
    Closed,
    /// The agent was renamed; the thread has to start again under this name.
    Renamed(AgentName),
}

/// The threads that it passes requests on to.
pub(super) type OtherThreads<'a> = (
    &'a Sender<PostWork>,
    &'a Sender<AwarenessFocus>,
    &'a Sender<KnowledgeCall>,
    &'a Sender<RunsCall>,
    &'a Sender<TimedPlacesCall>,
);

/// Runs until the chat is closed or the agent is renamed. An error means that it cannot continue.
pub(super) fn work(
    op: &Op,
    requests: &Receiver<MeshRequest>,
    (post, focus, knowledge, runs, places): OtherThreads<'_>,
    news: &Sender<ChatUpdate>,
) -> Result<MeshThreadEnd, CommandError> {
    let gone = || CommandError::new(CommandErrorKind::NotJoined, "the mesh is gone");
    let mesh = op.mesh()?.ok_or_else(gone)?;
    let mut mesh_thread = MeshThread {
        op,
        post,
        focus,
        knowledge,
        runs,
        places,
        news,
        chat: MailTracker::open(op)?,
        last: None,
        crowd_due: None,
        looked_at: Instant::now(),
        unseen: Vec::new(),
        cursor: None,
        alerts: ChatAlerts::start(op, news)?,
    };
    let mut watcher = ScreenWatcher::new(op, &mesh, POLL_INTERVAL);
    loop {
        for what in watcher.arm(mesh_thread.chat.agent(), &mesh_thread.chat.readers())? {
            mesh_thread.look_at(what)?;
        }
        mesh_thread.settle();
        let tick = if watcher.sees_all_changes() { TICK } else { POLL_INTERVAL };
        let tick = Instant::now() + tick;
        match watcher.wait(requests, mesh_thread.crowd_due.map_or(tick, |due| due.min(tick))) {
            ScreenSignal::Closed => return Ok(MeshThreadEnd::Closed),
            ScreenSignal::Request(request) => mesh_thread.run(request)?,
            ScreenSignal::Changed(MeshPart::Agents) => mesh_thread.note_crowd(),
            ScreenSignal::Changed(what) => mesh_thread.look_at(what)?,
            ScreenSignal::TimedOut if watcher.sees_all_changes() => mesh_thread.tick()?,
            ScreenSignal::TimedOut => mesh_thread.look_at_everything()?,
        }
        mesh_thread.look_when_due()?;
        let name = &mesh_thread.chat.agent().name;
        if op.acting_as.as_ref() != Some(name) {
            return Ok(MeshThreadEnd::Renamed(name.clone()));
        }
    }
}

struct MeshThread<'a> {
    op: &'a Op,
    post: &'a Sender<PostWork>,
    focus: &'a Sender<AwarenessFocus>,
    knowledge: &'a Sender<KnowledgeCall>,
    runs: &'a Sender<RunsCall>,
    places: &'a Sender<TimedPlacesCall>,
    news: &'a Sender<ChatUpdate>,
    chat: MailTracker,
    last: Option<MeshOverview>,
    /// When to read agents, tasks and reservations again, if something changed since the last read.
    crowd_due: Option<Instant>,
    looked_at: Instant,
    /// Messages that were drawn while the tmux pane was not visible.
    unseen: Vec<String>,
    /// How far the feed has been reported.
    cursor: Option<FeedCursor>,
    /// Tells the person besides what the chat shows.
    alerts: Option<ChatAlerts>,
}

impl MeshThread<'_> {
    fn tell(&self, news: ChatUpdate) {
        // If nobody listens any more, the next wait for a request returns `Closed`.
        drop(self.news.send(news));
    }

    /// Carries out what followed from what was done, and shows the warnings.
    fn settle(&self) {
        carry_out(self.op);
        for warning in self.op.take_warnings() {
            self.tell(ChatUpdate::Notice(warning));
        }
    }

    /// Reports an error and continues, unless it means that this agent or its mesh is gone.
    fn unless_gone(&self, done: Result<(), CommandError>) -> Result<(), CommandError> {
        match done {
            Err(error)
                if matches!(
                    error.kind,
                    CommandErrorKind::NotJoined
                        | CommandErrorKind::Evicted
                        | CommandErrorKind::UnsafeMesh
                        | CommandErrorKind::NotAMesh
                ) =>
            {
                Err(error)
            }
            Err(error) => {
                self.tell(ChatUpdate::Notice(error.message));
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    fn look_at(&mut self, what: MeshPart) -> Result<(), CommandError> {
        match what {
            MeshPart::Mail => self.look_at_mail(),
            MeshPart::Agents => self.look_at_crowd(),
            MeshPart::Receipts => self.look_at_fates(),
            MeshPart::Feed => self.look_at_feed(),
        }
    }

    fn look_at_everything(&mut self) -> Result<(), CommandError> {
        self.look_at_crowd()?;
        self.look_at_mail()?;
        self.look_at_feed()
    }

    fn look_at_feed(&mut self) -> Result<(), CommandError> {
        let recent = match &self.cursor {
            Some(cursor) => feed::since(self.op, cursor),
            None => {
                let wanted = FeedFilter { machines: FeedMachines::All, ..FeedFilter::default() };
                feed::recent(self.op, EVENTS, &wanted)
            }
        };
        let told = recent.map(|recent| {
            self.cursor = Some(recent.cursor);
            if let Some(alerts) = &self.alerts {
                // What happened on another machine is told there.
                let is_here = |event: &&Event| event.machine.is_none();
                let here: Vec<Event> = recent.events.iter().filter(is_here).cloned().collect();
                alerts.tell_of_events(self.op, &here);
            }
            if !recent.events.is_empty() {
                self.tell(ChatUpdate::Events(recent.events.iter().map(to_model::feed_line).collect()));
            }
        });
        self.unless_gone(told)
    }

    /// Schedules a read of the agents, not before the pause is over, so that a busy mesh does not keep this thread
    /// busy.
    fn note_crowd(&mut self) {
        if self.crowd_due.is_none() {
            self.crowd_due = Some(self.looked_at.max(Instant::now()));
        }
    }

    fn look_when_due(&mut self) -> Result<(), CommandError> {
        match self.crowd_due {
            Some(due) if due <= Instant::now() => self.look_at_crowd(),
            _ => Ok(()),
        }
    }

    fn look_at_crowd(&mut self) -> Result<(), CommandError> {
        let started = Instant::now();
        let seen = overview(self.op).map(|seen| {
            self.tell(ChatUpdate::World(Box::new(to_model::mesh_snapshot(self.op, &seen))));
            self.last = Some(seen);
        });
        // Reading the overview may have posted notices to others.
        carry_out(self.op);
        self.crowd_due = None;
        let took = started.elapsed();
        // Earliest time of the next read.
        self.looked_at = Instant::now() + PAUSE.max(took * READ_PAUSE_FACTOR);
        self.unless_gone(seen)
    }

    /// Checks for what no file-system event reports: processes that ended, and presence that fades.
    fn tick(&mut self) -> Result<(), CommandError> {
        let is_old = self.looked_at.elapsed() >= PRESENCE_REFRESH;
        if is_old || self.last.as_ref().is_none_or(MeshOverview::is_anyone_gone) {
            self.look_at_crowd()?;
        }
        self.show_unseen();
        Ok(())
    }

    fn look_at_mail(&mut self) -> Result<(), CommandError> {
        let changes = self.chat.look(self.op);
        self.tell_changes(changes)?;
        self.look_at_fates()
    }

    fn tell_changes(
        &mut self,
        changes: Result<crate::ops::messages::mail_tracker::MailUpdate, CommandError>,
    ) -> Result<(), CommandError> {
        let told = changes.map(|changes| {
            self.tell(ChatUpdate::Older(changes.has_older));
            if !changes.gone.is_empty() {
                let keys = changes.gone.iter().map(|stem| stem.to_string()).collect();
                self.tell(ChatUpdate::Forget(keys));
            }
            if let Some(alerts) = &self.alerts {
                alerts.tell_of_mail(self.op, self.chat.agent(), &changes.messages);
            }
            let messages: Vec<_> = changes.messages.iter().map(to_model::message).collect();
            if !messages.is_empty() {
                self.tell(ChatUpdate::Messages(messages));
            }
        });
        self.unless_gone(told)
    }

    fn look_at_fates(&mut self) -> Result<(), CommandError> {
        let fates = self.chat.fates(self.op).map(|fates| {
            let fates: Vec<_> =
                fates.into_iter().map(|(stem, fate)| (stem.to_string(), to_model::receipt(fate))).collect();
            if !fates.is_empty() {
                self.tell(ChatUpdate::Receipts(fates));
            }
        });
        self.unless_gone(fates)
    }

    fn run(&mut self, request: MeshRequest) -> Result<(), CommandError> {
        match request {
            MeshRequest::Send { to, text, written } => {
                self.hand_in(OutgoingMessage { from: self.chat.agent().name.clone(), to, text, written });
                Ok(())
            }
            MeshRequest::Surface(shown) => self.surface(shown),
            MeshRequest::Ack(messages) => self.ack(&messages),
            MeshRequest::Act(call) => {
                let by = self.chat.agent().name.clone();
                if self.post.send(PostWork::Act { by, call }).is_err() {
                    self.tell(ChatUpdate::Notice(POST_ENDED.to_string()));
                }
                Ok(())
            }
            MeshRequest::Older => {
                let changes = self.chat.older(self.op);
                self.tell_changes(changes)?;
                self.look_at_fates()
            }
            MeshRequest::SignOfLife => self.sign_of_life(),
            MeshRequest::Follow(focus) => {
                // Only after a panic is nobody there to read it, and then nothing more is shown.
                drop(self.focus.send(focus));
                Ok(())
            }
            MeshRequest::Knowledge(call) => {
                drop(self.knowledge.send(call));
                Ok(())
            }
            MeshRequest::Runs(call) => {
                drop(self.runs.send(call));
                Ok(())
            }
            MeshRequest::Places(call) => {
                drop(self.places.send(call));
                Ok(())
            }
        }
    }

    fn hand_in(&self, message: OutgoingMessage) {
        if let Err(unsent) = self.post.send(PostWork::Send(message))
            && let PostWork::Send(message) = unsent.into_inner()
        {
            self.tell(ChatUpdate::NotSent { why: POST_ENDED.to_string(), written: message.written });
        }
    }

    fn sign_of_life(&mut self) -> Result<(), CommandError> {
        self.show_unseen();
        let done = self.chat.sign_of_life(self.op);
        self.unless_gone(done)
    }

    /// Marks drawn messages as surfaced, but only if the tmux pane was visible.
    fn surface(&mut self, shown: Vec<String>) -> Result<(), CommandError> {
        if !tmux::is_in_sight() {
            self.unseen.extend(shown);
            return Ok(());
        }
        let done = self.chat.surface(self.op, &shown);
        if done.is_err() {
            self.unseen.extend(shown);
        }
        self.unless_gone(done)?;
        self.look_at_mail()
    }

    fn ack(&mut self, messages: &[String]) -> Result<(), CommandError> {
        let done = crate::ops::ack(self.op, messages).map(drop);
        self.unless_gone(done)?;
        self.look_at_mail()
    }

    /// Once the pane is visible again, reports the messages that were drawn while it was not: they count only when
    /// drawn again.
    fn show_unseen(&mut self) {
        if !self.unseen.is_empty() && tmux::is_in_sight() {
            let unseen = std::mem::take(&mut self.unseen);
            self.tell(ChatUpdate::Unseen(unseen));
        }
    }
}
