//! The effects of an op besides its answer: lines of the feed, notices, wakes, background jobs and warnings.
//!
//! An op decides, under a lock where it has to, and commits. It only records in its [`Op`] what others are to be told.
//! `runner` carries that out once the op has returned and no lock is held. So code that holds a lock never waits for
//! the feed, for another sender of notices or for an agent that is woken.

use std::cell::{Cell, RefCell};
use std::ops::Deref;
use std::sync::Arc;

use jiff::Timestamp;

use crate::domain::settings::SettingSource;
use crate::domain::{Agent, AgentName, Event, EventKind, MessageKind, Notice};
use crate::store::LocationReason;

use super::background::job::BackgroundJob;
use super::context::Context;
use super::feed::event::{event, event_of};

/// The effects to carry out: plain data, without access to the mesh.
#[derive(Debug, Default)]
pub(super) struct Effects {
    /// Lines of the feed, each with the time at which it happened.
    pub(super) feed: Vec<Event>,
    pub(super) notices: Vec<AddressedNotice>,
    /// Agents that got a notice while a lock was held.
    pub(super) wakes: Vec<AgentName>,
    /// Each once.
    pub(super) jobs: Vec<BackgroundJob>,
    /// Warnings for a person; the command goes on.
    warnings: Vec<String>,
}

/// A notice and its recipient.
#[derive(Debug)]
pub(super) struct AddressedNotice {
    /// Not only a name, which may be another's by the time the notice is posted.
    pub(super) to: Arc<Agent>,
    pub(super) notice: Notice,
    /// The start of the warning if the notice can't be posted.
    pub(super) failure: String,
    pub(super) urgency: NoticeUrgency,
}

/// When a notice is to be read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum NoticeUrgency {
    /// Soon: an idle recipient is woken.
    Wakes,
    /// At the recipient's next hook, whenever that is, but not after this time.
    NextHook { until: Timestamp },
}

/// One run of an op: its context and its effects. Only `runner` creates one.
#[derive(Debug)]
pub struct Op {
    ctx: Context,
    effects: RefCell<Effects>,
    has_told_of_tightening: Cell<bool>,
    /// The command is about the link process, so nothing starts that process besides.
    is_about_link: Cell<bool>,
}

impl Op {
    pub(super) fn new(mut ctx: Context) -> Self {
        let warnings = std::mem::take(&mut ctx.warnings);
        let effects = RefCell::new(Effects { warnings, ..Effects::default() });
        let op =
            Self { ctx, effects, has_told_of_tightening: Cell::default(), is_about_link: Cell::default() };
        if let Some(job) = BackgroundJob::for_test() {
            op.start_job(job);
        }
        op
    }

    /// From here on nothing but the command itself starts or ends the link process.
    pub(super) fn leave_link_alone(&self) {
        self.is_about_link.set(true);
    }

    pub(super) fn is_about_link(&self) -> bool {
        self.is_about_link.get()
    }

    /// Adds something that a person should know although the command goes on. The same is told once.
    pub fn warn(&self, text: impl Into<String>) {
        let text: String = text.into();
        let mut effects = self.effects.borrow_mut();
        if !effects.warnings.contains(&text) {
            effects.warnings.push(text);
        }
    }

    /// The warnings so far, for callers that print before they are done.
    pub fn take_warnings(&self) -> Vec<String> {
        // Reported once, whichever write it was.
        if let Some(text) = self.ctx.tightening()
            && !self.has_told_of_tightening.replace(true)
        {
            self.warn(text);
        }
        std::mem::take(&mut self.effects.borrow_mut().warnings)
    }

    /// Adds a line to the feed: what happened just now.
    pub(super) fn feed(
        &self,
        kind: EventKind,
        agent: &AgentName,
        target: Option<&str>,
        preview: Option<&str>,
    ) {
        let event = event(kind, agent, target, preview);
        self.effects.borrow_mut().feed.push(event);
    }

    /// Adds a line about a run to the feed. `who` asked for the run.
    pub(super) fn feed_run(&self, kind: EventKind, who: &str, run: &str, preview: &str) {
        let preview = (!preview.is_empty()).then_some(preview);
        self.effects.borrow_mut().feed.push(event_of(kind, who, Some(run), preview));
    }

    /// Adds a message to the feed.
    pub(super) fn feed_message(
        &self,
        from: &AgentName,
        to: &str,
        preview: Option<&str>,
        kind: Option<MessageKind>,
    ) {
        let event = Event { message_kind: kind, ..event(EventKind::Message, from, Some(to), preview) };
        self.effects.borrow_mut().feed.push(event);
    }

    /// Sends a message from the program itself. An idle recipient is woken. `failure` starts the warning if the message
    /// can't be posted.
    pub(super) fn notify(&self, to: impl Into<Arc<Agent>>, notice: Notice, failure: impl Into<String>) {
        self.notify_with(NoticeUrgency::Wakes, to, notice, failure);
    }

    /// Like [`Op::notify`], as urgent as that.
    pub(super) fn notify_with(
        &self,
        urgency: NoticeUrgency,
        to: impl Into<Arc<Agent>>,
        notice: Notice,
        failure: impl Into<String>,
    ) {
        let addressed = AddressedNotice { to: to.into(), notice, failure: failure.into(), urgency };
        self.effects.borrow_mut().notices.push(addressed);
    }

    /// Wakes an agent that got a notice already, if it is idle.
    pub(super) fn wake(&self, name: &AgentName) {
        self.effects.borrow_mut().wakes.push(name.clone());
    }

    /// Starts a background job once the op has returned. Nobody waits for it.
    pub(super) fn start_job(&self, job: BackgroundJob) {
        let jobs = &mut self.effects.borrow_mut().jobs;
        if !jobs.contains(&job) {
            jobs.push(job);
        }
    }

    /// Notes that a named directory does not exist: it may be a typing error.
    pub(super) fn note_absent_mesh(&self) {
        if matches!(self.location.reason, LocationReason::Told(SettingSource::Flag(_))) {
            self.warn(format!("there is no mesh at `{}`; `msg join` creates it", self.location));
        }
    }

    /// All effects except the warnings, which the face prints.
    pub(super) fn take_effects(&self) -> Effects {
        let mut effects = self.effects.borrow_mut();
        let warnings = std::mem::take(&mut effects.warnings);
        std::mem::replace(&mut effects, Effects { warnings, ..Effects::default() })
    }
}

impl Deref for Op {
    type Target = Context;

    fn deref(&self) -> &Context {
        &self.ctx
    }
}
