//! Decides which alerts are told, and how.

use jiff::{SignedDuration, Timestamp};

use crate::domain::alert::{Alert, AlertKind, AlertWay};
use crate::domain::{Agent, AnyEventKind, Event, EventKind, Message};
use crate::ops::agents::identity;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::ops::feed::{self, FeedFilter};
use crate::ops::messages::receive::HandoverOutcome;
use crate::ops::messages::watch::WatchEnd;
use crate::ops::person_required;
use crate::store::AlertMark;
use crate::sys::signals::StopRequest;
use crate::sys::{clock, random, time_zone};

use super::ways::{AlertOutput, AlertTools};

/// Nothing is told that is older. Marks are kept for longer (`store::told_alerts`).
const OLDEST: SignedDuration = SignedDuration::from_hours(1);
/// One alert in this many prunes the marks.
const PRUNE_ONE_IN: u32 = 16;

/// An alert that is marked as told and is to be told now.
#[derive(Clone, Debug)]
pub struct DueAlert {
    pub alert: Alert,
    pub ways: Vec<AlertWay>,
}

/// Picks the alerts that a person who watches is told.
#[derive(Clone, Debug)]
pub struct AlertPicker {
    /// What happened before is not told: the person can see it.
    since: Timestamp,
    /// Ways that can't work in this terminal.
    unusable: Vec<AlertWay>,
}

impl AlertPicker {
    /// `None` if there is nobody to tell or nothing to tell: inside a harness, and without a kind in `notify`.
    pub fn open(op: &Op) -> Option<Self> {
        let is_wanted = op.settings.alert_ways().iter().any(|(_, ways)| !ways.is_empty());
        (is_wanted && person_required::harness().is_none()).then(|| {
            let tools = AlertTools::of(op);
            let fails = |way: &AlertWay| tools.problem(*way, AlertOutput::Terminal).is_some();
            Self { since: clock::now(), unusable: AlertWay::ALL.into_iter().filter(fails).collect() }
        })
    }

    /// The alerts of messages to this agent, each with its short id. Nobody is told the mail of an agent in a harness.
    pub fn of_mail<'m>(
        &self,
        op: &Op,
        agent: &Agent,
        messages: impl IntoIterator<Item = (&'m Message, &'m str)>,
    ) -> Vec<DueAlert> {
        if !agent.is_human {
            return Vec::new();
        }
        let alerts = messages.into_iter().map(|(message, short_id)| Alert::of_message(message, short_id));
        alerts.filter_map(|alert| self.pick(op, alert)).collect()
    }

    /// The alerts of events of the feed.
    pub fn of_events(&self, op: &Op, events: &[Event]) -> Vec<DueAlert> {
        let of_others = events.iter().filter(|event| event.at >= self.since && !is_own(op, event));
        of_others.filter_map(Alert::of_event).filter_map(|alert| self.pick(op, alert)).collect()
    }

    /// Follows the feed, and hands over its alerts until it is stopped.
    pub fn follow_events(
        &self,
        op: &Op,
        stop: &StopRequest,
        tell: &mut dyn FnMut(Vec<DueAlert>),
    ) -> Result<WatchEnd, CommandError> {
        let start = feed::recent(op, 1, &FeedFilter::default())?;
        let mut hand_over = |events: &[Event]| {
            tell(self.of_events(op, events));
            HandoverOutcome::Delivered
        };
        // What happened between the start of the watch and the first look counts.
        hand_over(&start.events);
        feed::follow(op, start.cursor, stop, &mut hand_over)
    }

    /// Whether the feed has alerts that are to be told.
    pub fn needs_feed(op: &Op) -> bool {
        let of_feed = [AlertKind::Questions, AlertKind::Runs, AlertKind::Stuck, AlertKind::Conflicts];
        let is_told = |kind: &AlertKind| op.settings.ways_of(*kind).is_some_and(|ways| !ways.is_empty());
        op.settings.feed_retention() > 0 && of_feed.iter().any(is_told)
    }

    fn pick(&self, op: &Op, alert: Alert) -> Option<DueAlert> {
        let now = clock::now();
        if alert.at < self.since || now.duration_since(alert.at) > OLDEST {
            return None;
        }
        let ways = ways(op, &alert)?;
        let local = now.to_zoned(time_zone::user_zone().clone()).time();
        if op.settings.quiet_hours().is_some_and(|hours| hours.is_silent_for(&alert.kinds, local)) {
            return None;
        }
        if ways.iter().all(|way| self.unusable.contains(way)) {
            // The teller says why. Another watcher can tell it, so it is not marked.
            return Some(DueAlert { alert, ways });
        }
        match mark(op, &alert) {
            Ok(AlertMark::Made) => Some(DueAlert { alert, ways }),
            Ok(AlertMark::Found) => None,
            Err(error) => {
                op.warn(format!("you are not told by `notify`, because it can't be marked as told: {error}"));
                None
            }
        }
    }
}

/// Whether whoever watches has done it, and so knows of it. Of stuck agents and runs the feed names who is meant, not who did
/// it.
fn is_own(op: &Op, event: &Event) -> bool {
    matches!(event.what, AnyEventKind::Ours(EventKind::Contest | EventKind::Take))
        && identity::caller(op).is_ok_and(|(_, caller)| caller.agent.name.as_str() == event.agent)
}

/// How the alert is told; `None`: it is not.
fn ways(op: &Op, alert: &Alert) -> Option<Vec<AlertWay>> {
    let (kind, ways) =
        alert.kinds.iter().find_map(|kind| op.settings.ways_of(*kind).map(|ways| (*kind, ways)))?;
    if alert.told_by_feed == Some(kind) && op.settings.feed_retention() > 0 {
        return None;
    }
    // The supervisor of a run starts the command itself, whether anybody watches or not.
    let is_ours = |way: &AlertWay| kind != AlertKind::Runs || *way != AlertWay::Command;
    let ways: Vec<AlertWay> = ways.iter().copied().filter(is_ours).collect();
    (!ways.is_empty()).then_some(ways)
}

fn mark(op: &Op, alert: &Alert) -> Result<AlertMark, CommandError> {
    // Without a mesh, nobody has sent anything.
    let Some(mesh) = op.mesh()? else { return Ok(AlertMark::Found) };
    let mark = mesh.told().mark(alert)?;
    if mark == AlertMark::Made && random::number().is_multiple_of(PRUNE_ONE_IN) {
        mesh.told().prune(clock::now())?;
    }
    Ok(mark)
}
