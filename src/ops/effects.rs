//! What follows from an op besides its answer: lines of the feed, notices, wakes and warnings.
//!
//! An op decides, under a lock where it has to, and commits. What others are to hear of it, the op only writes down, in
//! its [`Op`]. `runner` carries it out once the op has returned and no lock is held. So code that holds a lock never waits
//! for the feed, for another sender of notices or for an agent that is woken.

use std::cell::{Cell, RefCell};
use std::ops::Deref;

use crate::domain::settings::Source;
use crate::domain::{AgentName, Event, EventKind, Notice};
use crate::store::Reason;

use super::context::Context;
use super::feed::event::event;

/// What is to be carried out: plain data, without a way to the mesh.
#[derive(Debug, Default)]
pub(super) struct Effects {
    /// Lines of the feed, with the time at which each thing happened.
    pub(super) feed: Vec<Event>,
    pub(super) notices: Vec<Addressed>,
    /// Those who got a notice while a lock was held.
    pub(super) wakes: Vec<AgentName>,
    /// What a person should know although the command goes on.
    warnings: Vec<String>,
}

/// A notice, and whom it is for.
#[derive(Debug)]
pub(super) struct Addressed {
    pub(super) to: AgentName,
    pub(super) notice: Notice,
    /// The start of the warning if the notice can't be posted.
    pub(super) failure: String,
}

/// One run of an op: its context, and what follows from it. Only `runner` makes one.
#[derive(Debug)]
pub struct Op {
    ctx: Context,
    effects: RefCell<Effects>,
    has_told_of_tightening: Cell<bool>,
}

impl Op {
    pub(super) fn new(mut ctx: Context) -> Self {
        let warnings = std::mem::take(&mut ctx.warnings);
        let effects = RefCell::new(Effects { warnings, ..Effects::default() });
        Self { ctx, effects, has_told_of_tightening: Cell::default() }
    }

    /// Something that a person should know although the command goes on.
    pub fn warn(&self, text: impl Into<String>) {
        self.effects.borrow_mut().warnings.push(text.into());
    }

    /// The warnings so far, for those who speak before they are done.
    pub fn take_warnings(&self) -> Vec<String> {
        // Said once, whichever write it was.
        if let Some(text) = self.ctx.tightening()
            && !self.has_told_of_tightening.replace(true)
        {
            self.warn(text);
        }
        std::mem::take(&mut self.effects.borrow_mut().warnings)
    }

    /// A line for the feed: what happened just now.
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

    /// A message of the program's own. Its recipient is woken if it rests. `failure` starts the warning if the message
    /// can't be posted.
    pub(super) fn notify(&self, to: &AgentName, notice: Notice, failure: impl Into<String>) {
        let addressed = Addressed { to: to.clone(), notice, failure: failure.into() };
        self.effects.borrow_mut().notices.push(addressed);
    }

    /// This one got a notice already, and is to be woken if it rests.
    pub(super) fn wake(&self, name: &AgentName) {
        self.effects.borrow_mut().wakes.push(name.clone());
    }

    /// A directory that was named and does not exist may be a typing error.
    pub(super) fn note_absent_mesh(&self) {
        if matches!(self.location.reason, Reason::Told(Source::Flag(_))) {
            self.warn(format!("there is no mesh at `{}`; `msg join` creates it", self.location));
        }
    }

    /// All but the warnings, which are for the face.
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
