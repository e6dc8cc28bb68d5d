//! The feed: makes events, reads them and follows them.
//!
//! It is the mesh's feed together with the one that pi-messenger keeps in the project, and for a person, in a linked mesh,
//! with what happened on other machines. A reader starts with [`recent`]
//! and goes on with [`since`], from the [`FeedCursor`] that [`recent`] returned: each event is given once. [`follow()`]
//! does that in a loop, and waits in between.

pub(super) mod event;
mod follow;

use std::cell::Cell;
use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::domain::link::MachineName;
use crate::domain::settings::FeedPrivacy;
use crate::domain::{AgentName, AnyEventKind, Event, EventKind};
use crate::store::{EventBatch, FeedPosition, ProjectFeedPosition, ProjectFeeds};

use crate::ops::agents::names;
use crate::ops::context::Context;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};

pub use follow::follow;

/// Events, oldest first.
#[derive(Clone, Debug, Default)]
pub struct RecentEvents {
    pub events: Vec<Event>,
    /// Lines that are not events: cut short by a crash, or written by another program.
    pub unreadable: usize,
    /// Where to go on reading.
    pub cursor: FeedCursor,
}

impl RecentEvents {
    /// Warns about lines that could not be read.
    pub fn complain(&self, op: &Op) {
        match self.unreadable {
            0 => {}
            1 => op.warn("a line of the feed can't be read: it was cut short, or is not an event"),
            count => {
                op.warn(format!("{count} lines of the feed can't be read: cut short, or not events"));
            }
        }
    }
}

/// A position in the feed. The default is its start.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct FeedCursor {
    mesh: FeedPosition,
    project: ProjectFeedPosition,
    /// The position in what happened on other machines, if that is wanted.
    elsewhere: Option<FeedPosition>,
}

/// Which events are wanted; all by default.
#[derive(Clone, Debug, Default)]
pub struct FeedFilter {
    /// Those by or about this agent, ignoring case.
    pub agent: Option<String>,
    /// Those of one of these kinds.
    pub kinds: Vec<String>,
    pub machines: FeedMachines,
}

/// Among how many events the last ones are looked for: what another machine could not send for a while arrives late.
const MOST_LATE: usize = 2_000;

/// Of which machines of a linked mesh events are wanted.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum FeedMachines {
    #[default]
    ThisOne,
    All,
}

impl FeedFilter {
    pub fn is(&self, event: &Event) -> bool {
        let is_about = |name: &String| {
            let others = event.target.iter().chain(&event.preview);
            let is_target = matches!(event.what, AnyEventKind::Ours(kind) if kind.is_about_agents())
                && others.into_iter().any(|other| other.eq_ignore_ascii_case(name));
            event.agent.eq_ignore_ascii_case(name) || is_target
        };
        self.agent.as_ref().is_none_or(is_about)
            && (self.kinds.is_empty() || self.kinds.iter().any(|kind| kind == event.what.name()))
    }
}

/// The latest wanted events.
pub fn recent(ctx: &Context, limit: usize, wanted: &FeedFilter) -> Result<RecentEvents, CommandError> {
    let (mut given, mut cursor) = (EventBatch::default(), FeedCursor::default());
    if let Some(mesh) = ctx.mesh()? {
        (given, cursor.mesh) = mesh.feed().last(limit, |event| wanted.is(event))?;
        if wanted.machines == FeedMachines::All {
            let (elsewhere, place) =
                mesh.remote().feed().last(limit.max(MOST_LATE), |event| wanted.is(event))?;
            given.merge(by_time(elsewhere));
            cursor.elsewhere = Some(place);
        }
    } else if wanted.machines == FeedMachines::All {
        cursor.elsewhere = Some(FeedPosition::default());
    }
    let (others, place) = ProjectFeeds::of(&ctx.cwd).last_events(limit, |event| wanted.is(event))?;
    cursor.project = place;
    given.merge(others);
    given.keep_last(limit);
    Ok(RecentEvents { events: discreet(ctx, given.events), unreadable: given.unreadable, cursor })
}

/// The latest events since `since`, and how many there are in all.
pub(in crate::ops) fn latest(
    ctx: &Context,
    limit: usize,
    since: Option<Timestamp>,
) -> Result<(RecentEvents, usize), CommandError> {
    // Every event is counted, and no more than `limit` of each feed are kept.
    let (total, kept) = (Cell::new(0), Cell::new(0));
    let wanted = |event: &Event| {
        let is_in_time = since.is_none_or(|since| event.at >= since);
        total.set(total.get() + usize::from(is_in_time));
        let is_kept = is_in_time && kept.get() < limit;
        kept.set(kept.get() + usize::from(is_kept));
        is_kept
    };
    let mut given = EventBatch::default();
    if let Some(mesh) = ctx.mesh()? {
        given = mesh.feed().last(usize::MAX, wanted)?.0;
    }
    kept.set(0);
    let others = ProjectFeeds::of(&ctx.cwd).last_events(usize::MAX, wanted)?.0;
    let apart = given.events.len() + others.events.len();
    given.merge(others);
    let total = total.get() - (apart - given.events.len());
    given.keep_last(limit);
    let events = discreet(ctx, given.events);
    Ok((RecentEvents { events, unreadable: given.unreadable, cursor: FeedCursor::default() }, total))
}

/// Fails for an unknown agent: a question about it has no answer.
pub fn must_be_known(ctx: &Context, agent: &str) -> Result<(), CommandError> {
    let name = AgentName::new(agent)?;
    match ctx.mesh()? {
        Some(mesh) => names::must_be_known(&mesh, &name),
        None => Err(no_mesh(&name)),
    }
}

/// The error for an agent of a mesh that does not exist yet.
pub(in crate::ops) fn no_mesh(name: &AgentName) -> CommandError {
    CommandError::new(CommandErrorKind::UnknownAgent, format!("no agent is called {name}"))
        .hint("nobody has joined this mesh yet: `msg join` joins it")
}

/// The events after `cursor`. If there are none, this costs a look at the directory and at the end of a file.
pub fn since(ctx: &Context, cursor: &FeedCursor) -> Result<RecentEvents, CommandError> {
    let mut cursor = cursor.clone();
    let mut given = EventBatch::default();
    if let Some(mesh) = ctx.mesh()? {
        given = mesh.feed().since(&mut cursor.mesh)?;
        if let Some(place) = &mut cursor.elsewhere {
            given.merge(by_time(mesh.remote().feed().since(place)?));
        }
    }
    given.merge(ProjectFeeds::of(&ctx.cwd).news(&mut cursor.project)?);
    Ok(RecentEvents { events: discreet(ctx, given.events), unreadable: given.unreadable, cursor })
}

/// What came from several machines, merged by time: each sends what it has when it can. The order of each machine is kept,
/// because corrected times are exact to some milliseconds only.
fn by_time(batch: EventBatch) -> EventBatch {
    let mut machines: BTreeMap<Option<MachineName>, Vec<Event>> = BTreeMap::new();
    for event in batch.events {
        machines.entry(event.machine.clone()).or_default().push(event);
    }
    let mut merged = EventBatch { events: Vec::new(), unreadable: batch.unreadable };
    for events in machines.into_values() {
        merged.merge(EventBatch { events, unreadable: 0 });
    }
    merged
}

/// The text of a direct message, if the settings let others see it.
pub(super) fn preview<'a>(ctx: &Context, text: &'a str, addressing: Addressing) -> Option<&'a str> {
    (ctx.settings.feed_privacy == FeedPrivacy::Text || addressing == Addressing::Broadcast).then_some(text)
}

/// Whom a message is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::ops) enum Addressing {
    Direct,
    Broadcast,
}

/// Removes the text of direct messages, which pi-messenger records, unless the settings let others see it.
fn discreet(ctx: &Context, mut events: Vec<Event>) -> Vec<Event> {
    if ctx.settings.feed_privacy == FeedPrivacy::Names {
        let is_direct = |event: &&mut Event| {
            event.what == AnyEventKind::Ours(EventKind::Message)
                && event.target.as_deref().is_some_and(|target| target != "all")
        };
        events.iter_mut().filter(is_direct).for_each(|event| event.preview = None);
    }
    events
}
