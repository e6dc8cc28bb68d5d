//! What became of the collisions that were foretold. A prediction ends by what happens, never by being looked at.

use std::collections::HashSet;

use jiff::Timestamp;

use crate::domain::awareness::PredictionEnd;
use crate::domain::awareness::counters::{AgentId, PathId};
use crate::domain::awareness::heads_up::NEARLY_CERTAIN;
use crate::domain::awareness::track::TreeId;
use crate::domain::awareness::work_event::{self, ChangedFile, WorkEvent};
use crate::domain::{AnyEventKind, Event, EventKind};
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::store::{Mesh, Prediction, Recorded, Track};
use crate::sys::clock;

use super::WorkPlace;

/// How many events of the feed are looked at.
const MOST_EVENTS: usize = 5_000;

/// Ends the predictions of this repository whose end is known by now, and returns all of them.
pub(in crate::ops) fn resolve(
    op: &Op,
    mesh: &Mesh,
    place: &WorkPlace,
    track: &Track,
    now: Timestamp,
) -> Result<Vec<Prediction>, CommandError> {
    let mut all = mesh.awareness().predictions(&place.repository)?;
    let window = op.settings.awareness_window().as_millis() as i64;
    let Some(first) = all.iter().filter(|one| one.end.is_none()).map(|one| one.at).min() else {
        return Ok(all);
    };
    let (feed, _) = mesh.feed().last(MOST_EVENTS, |event| event.at.as_millisecond() >= first)?;
    let census = mesh.registry().local_census()?;
    let live = census.records.iter().filter(|record| record.is_live());
    let live: HashSet<AgentId> = live.map(|record| AgentId::of(&record.agent.session)).collect();
    let events = work_event::events(&track.lines);
    for one in all.iter_mut().filter(|one| one.end.is_none()) {
        let evidence = Evidence { events: &events, feed: &feed.events, window, now: now.as_millisecond() };
        let is_gone = !live.contains(&one.agent) || !live.contains(&one.with);
        if let Some(end) = evidence.end(one, is_gone) {
            record(op, mesh, place, one, (end, now.as_millisecond()))?;
        }
    }
    Ok(all)
}

/// Ends the predictions that come true by what the agent has just changed. Others are ended by [`resolve`].
pub(super) fn note_meetings(
    op: &Op,
    mesh: &Mesh,
    me: AgentId,
    place: &WorkPlace,
    changed: &[(TreeId, Vec<Vec<u8>>)],
) -> Result<(), CommandError> {
    if changed.is_empty() {
        return Ok(());
    }
    let files: Vec<PathId> =
        changed.iter().flat_map(|(_, files)| files).map(|path| PathId::of(path)).collect();
    let mut concerned = mesh.awareness().predictions(&place.repository)?;
    concerned
        .retain(|one| one.end.is_none() && [one.agent, one.with].contains(&me) && files.contains(&one.path));
    if concerned.is_empty() {
        return Ok(());
    }
    let events = work_event::events(&mesh.awareness().track(&place.repository)?.lines);
    let window = op.settings.awareness_window().as_millis() as i64;
    let now = clock::now().as_millisecond();
    let evidence = Evidence { events: &events, feed: &[], window, now };
    for one in concerned.iter_mut().filter(|one| evidence.have_met(one)) {
        record(op, mesh, place, one, (PredictionEnd::Occurred, now))?;
    }
    Ok(())
}

/// Records the end of a prediction, and tells it in the feed. Of several processes, one does; for the others the
/// prediction stays as it is.
pub(super) fn record(
    op: &Op,
    mesh: &Mesh,
    place: &WorkPlace,
    one: &mut Prediction,
    (end, at): (PredictionEnd, i64),
) -> Result<(), CommandError> {
    if mesh.awareness().end_prediction(&place.repository, &one.id, end, at)? == Recorded::Now {
        one.end = Some((end, at));
        let kind = EventKind::HeadsUpEnded(end);
        op.feed(kind, &one.name, Some(one.with_name.as_str()), Some(&one.file));
    }
    Ok(())
}

/// What happened since.
struct Evidence<'a> {
    events: &'a [WorkEvent],
    feed: &'a [Event],
    /// In milliseconds.
    window: i64,
    now: i64,
}

impl Evidence<'_> {
    fn end(&self, one: &Prediction, is_gone: bool) -> Option<PredictionEnd> {
        let is_over = self.now - one.at > self.window;
        match () {
            () if self.have_met(one) || self.was_refused(one) => Some(PredictionEnd::Occurred),
            // As long as both can still meet there, it is open.
            () if !is_over && !is_gone => None,
            () if self.have_arranged(one) || self.turned_away(one) => Some(PredictionEnd::Prevented),
            () if is_over => Some(PredictionEnd::FalseAlarm),
            () => Some(PredictionEnd::Expired),
        }
    }

    /// Whether one changed the file after it was told, and the other has changed it in the window.
    fn have_met(&self, one: &Prediction) -> bool {
        let (before, end) = (one.at - self.window, one.at + self.window);
        let changed = |agent: AgentId, since: i64| {
            self.changes(agent, since, end).any(|changed| changed.id == one.path)
        };
        changed(one.agent, one.at) && changed(one.with, before)
            || changed(one.with, one.at) && changed(one.agent, before)
    }

    /// The files that the agent changed after `since`, until `end`.
    fn changes(&self, agent: AgentId, since: i64, end: i64) -> impl Iterator<Item = &ChangedFile> {
        let own = self.events.iter().filter(move |event| event.agent == agent);
        let is_within = move |at: i64| at > since && at <= end;
        own.flat_map(|event| &event.files).filter(move |file| is_within(file.first) || is_within(file.at))
    }

    fn since<'e>(&'e self, one: &'e Prediction) -> impl Iterator<Item = &'e Event> {
        let within = one.at..=one.at + self.window;
        self.feed.iter().filter(move |event| within.contains(&event.at.as_millisecond()))
    }

    fn was_refused(&self, one: &Prediction) -> bool {
        let is_one =
            |event: &Event| event.agent == one.name.as_str() || event.agent == one.with_name.as_str();
        let is_it = |event: &&Event| {
            event.what == AnyEventKind::Ours(EventKind::Refused)
                && is_one(event)
                && event.target.as_deref() == Some(one.file.as_str())
        };
        self.since(one).any(|event| is_it(&event))
    }

    /// Whether they wrote to each other, or one reserved the file or handed its task to the other.
    fn have_arranged(&self, one: &Prediction) -> bool {
        let (name, with) = (one.name.as_str(), one.with_name.as_str());
        let is_between = |from: &str, to: &str| from == name && to == with || from == with && to == name;
        self.since(one).any(|event| {
            let target = event.target.as_deref().unwrap_or_default();
            match &event.what {
                AnyEventKind::Ours(EventKind::Message) => is_between(&event.agent, target),
                AnyEventKind::Ours(EventKind::Handoff) => {
                    is_between(&event.agent, event.preview.as_deref().unwrap_or_default())
                }
                AnyEventKind::Ours(EventKind::Reserve) => {
                    let is_theirs = event.agent == name || event.agent == with;
                    let directory = target.trim_end_matches('*');
                    is_theirs
                        && (target == one.file || directory.ends_with('/') && one.file.starts_with(directory))
                }
                _ => false,
            }
        })
    }

    /// Whether an agent that was told changed other files, and the other one went on with this one.
    fn turned_away(&self, one: &Prediction) -> bool {
        let end = one.at + self.window;
        let turned = |told: AgentId, other: AgentId| {
            let is_elsewhere = self.changes(told, one.at, end).next().is_some();
            is_elsewhere && self.changes(other, one.at, end).any(|changed| changed.id == one.path)
        };
        // Below that, only the agent that was prompted was told.
        let is_other_told = one.probability >= NEARLY_CERTAIN;
        turned(one.agent, one.with) || is_other_told && turned(one.with, one.agent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::AgentName;
    use crate::domain::awareness::track::{Deed, TrackLine, TrackStamp};

    const HOUR: i64 = 3600 * 1000;

    fn prediction() -> Prediction {
        Prediction {
            id: "1".to_string(),
            at: 100 * HOUR,
            agent: AgentId(1),
            name: AgentName::new("Alice").unwrap(),
            with: AgentId(2),
            with_name: AgentName::new("Robin").unwrap(),
            probability: 0.7,
            path: PathId::of(b"src/a.rs"),
            file: "src/a.rs".to_string(),
            why: String::new(),
            end: None,
        }
    }

    fn changed(hour: i64, agent: u64, file: &str) -> TrackLine {
        let deed = Deed::Changed { tree: TreeId(0), files: vec![file.as_bytes().to_vec()] };
        let name = AgentName::new("Robin").unwrap();
        TrackLine { stamp: TrackStamp { at: hour * HOUR, agent: AgentId(agent), name }, deed }
    }

    fn event(kind: EventKind, agent: &str, target: &str) -> Event {
        Event {
            at: Timestamp::from_millisecond(101 * HOUR).unwrap(),
            what: AnyEventKind::Ours(kind),
            agent: agent.to_string(),
            target: Some(target.to_string()),
            preview: None,
            message_kind: None,
            machine: None,
        }
    }

    fn end(hour: i64, lines: &[TrackLine], feed: &[Event], is_gone: bool) -> Option<PredictionEnd> {
        end_of(&prediction(), hour, lines, feed, is_gone)
    }

    fn end_of(
        one: &Prediction,
        hour: i64,
        lines: &[TrackLine],
        feed: &[Event],
        is_gone: bool,
    ) -> Option<PredictionEnd> {
        let events = work_event::events(lines);
        let evidence = Evidence { events: &events, feed, window: 8 * HOUR, now: hour * HOUR };
        evidence.end(one, is_gone)
    }

    #[test]
    fn a_prediction_ends_by_what_happens() {
        let robin = [changed(99, 2, "src/a.rs")];
        let met = [robin[0].clone(), changed(101, 1, "src/a.rs")];
        let away = [robin[0].clone(), changed(101, 1, "src/b.rs"), changed(102, 2, "src/a.rs")];
        let talk = [event(EventKind::Message, "Robin", "Alice")];
        let late = 109;
        assert_eq!(end(101, &robin, &[], false), None, "it is open");
        assert_eq!(end(101, &met, &talk, false), Some(PredictionEnd::Occurred), "in spite of the talk");
        assert_eq!(
            end(101, &robin, &[event(EventKind::Refused, "Alice", "src/a.rs")], false),
            Some(PredictionEnd::Occurred)
        );
        assert_eq!(end(late, &away, &[], false), Some(PredictionEnd::Prevented));
        assert_eq!(end(101, &away, &[], false), None, "it may still come");
        let other_away =
            [changed(99, 1, "src/a.rs"), changed(101, 2, "src/b.rs"), changed(102, 1, "src/a.rs")];
        assert_eq!(end(late, &other_away, &[], false), Some(PredictionEnd::FalseAlarm), "Robin was not told");
        let certain = Prediction { probability: 0.8, ..prediction() };
        assert_eq!(end_of(&certain, late, &other_away, &[], false), Some(PredictionEnd::Prevented));
        assert_eq!(end(late, &robin, &talk, false), Some(PredictionEnd::Prevented));
        for target in ["src/a.rs", "src/", "src/**"] {
            let reserved = [event(EventKind::Reserve, "Alice", target)];
            assert_eq!(end(late, &robin, &reserved, false), Some(PredictionEnd::Prevented));
        }
        assert_eq!(end(late, &robin, &[], false), Some(PredictionEnd::FalseAlarm));
        assert_eq!(end(101, &robin, &[], true), Some(PredictionEnd::Expired));
        assert_eq!(end(101, &robin, &talk, true), Some(PredictionEnd::Prevented));
        let long_after = [robin[0].clone(), changed(120, 1, "src/a.rs")];
        assert_eq!(end(121, &long_after, &[], false), Some(PredictionEnd::FalseAlarm), "the window was over");
        let before = [changed(80, 2, "src/a.rs"), changed(101, 1, "src/a.rs")];
        assert_eq!(
            end(late, &before, &[], false),
            Some(PredictionEnd::FalseAlarm),
            "Robin was there long before"
        );
    }
}
