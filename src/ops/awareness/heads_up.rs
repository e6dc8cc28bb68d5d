//! At a prompt: does it probably lead to a file in which another agent is? Then the model is told, once.
//!
//! It is told nothing that a reservation says already, of one other agent at most, and of a pair once per window. If a
//! collision is nearly certain, the other agent is told, too, at its next hook; it is not woken for that.

use std::path::Path;

use crate::domain::awareness::calibration;
use crate::domain::awareness::counters::{AgentId, WordId};
use crate::domain::awareness::topics::{self, Mention, Topic};
use crate::domain::pattern::SearchBudget;
use crate::domain::settings::{AwarenessMode, PromptSharing};
use crate::domain::{Agent, Conflict, EventKind};
use crate::ops::effects::{NoticeUrgency, Op};
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::reservations::check::{self, CensusSource, HardLinkPolicy};
use crate::store::{
    CounterFile, IndexedRegistry, Mesh, Prediction, Recorded, StoreError, TrackText, resolved_patterns,
};
use crate::sys::{clock, random};

use super::WorkPlace;
use super::overlaps::threshold;
use super::record::{noise, start_counting};
use super::view::{View, select};

/// Above this many bytes that are not counted, a background job counts them.
const LONG_TAIL: u64 = 64 * 1024;
/// How many words of a long prompt are looked up to find the rarest.
const MOST_LOOKED_UP: usize = 64;
/// Steps for comparing a path with the agent's own reservations.
const STEPS: usize = 100_000;

/// What is known of a prompt.
pub(in crate::ops) struct Outlook {
    pub(in crate::ops) place: WorkPlace,
    pub(in crate::ops) topics: Vec<Topic>,
    /// What the model is told, if anything. It is recorded as told.
    pub(in crate::ops) sentence: Option<String>,
}

/// Whom a sentence would reach.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::ops) enum HeadsUpReader {
    /// The model, before it begins.
    Model,
    /// The harness passes nothing on at a prompt.
    Nobody,
}

/// Looks where a prompt leads. `None`: nobody wants to know.
pub(in crate::ops) fn look_ahead(
    op: &Op,
    mesh: &Mesh,
    registry: &IndexedRegistry<'_>,
    me: &Agent,
    (prompt, reader): (&str, HeadsUpReader),
) -> Result<Option<Outlook>, CommandError> {
    if op.settings.awareness == AwarenessMode::Off {
        return Ok(None);
    }
    let place = WorkPlace::of(&op.cwd);
    // The track first: counts that are newer than it know which part of it they have.
    let track = mesh.awareness().track_text(&place.repository)?;
    let counts = match mesh.awareness().counts(&place.repository) {
        Err(StoreError::Corrupt { .. }) | Ok(None) => None,
        counts => counts?,
    };
    let part = counts.as_ref().map(|file| file.counted);
    let has_counts = counts.as_ref().is_some_and(|counts| counts.events > 0);
    if place.is_git && !has_counts || track.uncounted_bytes(part) > LONG_TAIL {
        start_counting(op, mesh, &place)?;
    }
    let mentions = topics::mentions(prompt, &noise(op, &place));
    let look = |counts: Option<&CounterFile>| {
        let known = (&track, counts, mentions.clone());
        look_from(op, mesh, registry, me, (place.clone(), reader), known)
    };
    match look(counts.as_ref()) {
        Err(error) if error.kind == CommandErrorKind::Corrupt => {
            start_counting(op, mesh, &place)?;
            look(None).map(Some)
        }
        outlook => outlook.map(Some),
    }
}

/// Looks with those counts.
fn look_from(
    op: &Op,
    mesh: &Mesh,
    registry: &IndexedRegistry<'_>,
    me: &Agent,
    (place, reader): (WorkPlace, HeadsUpReader),
    (track, counts, mentions): (&TrackText, Option<&CounterFile>, Vec<Mention>),
) -> Result<Outlook, CommandError> {
    let mut outlook = Outlook { place, topics: rank(mentions, counts)?, sentence: None };
    if op.settings.awareness == AwarenessMode::Warn && reader == HeadsUpReader::Model {
        let own = [AgentId::of(&me.session)];
        let view = View::new(op, track, counts, &own, &outlook.topics, clock::now())?;
        outlook.sentence = heads_up(op, mesh, registry, me, (&view, &outlook.place))?;
    }
    Ok(outlook)
}

/// Ranks the words of a prompt. How frequent each is in the repository matters only if there are too many.
fn rank(mut mentions: Vec<Mention>, counts: Option<&CounterFile>) -> Result<Vec<Topic>, CommandError> {
    if mentions.len() <= topics::MAX_TOPICS {
        return Ok(topics::rank(mentions, |_| 0));
    }
    mentions.sort_by_key(|mention| std::cmp::Reverse(mention.count));
    mentions.truncate(MOST_LOOKED_UP);
    let words: Vec<WordId> = mentions.iter().map(|mention| WordId::of(&mention.topic)).collect();
    let counters = select(counts, &words, &[], &[])?;
    let frequency = |topic: &Topic| {
        counters.words.get(&WordId::of(topic)).map_or(0, |counts| u64::from(counts.prompts.max(counts.names)))
    };
    Ok(topics::rank(mentions, frequency))
}

/// The sentence about the likeliest collision that is worth one, recorded as told.
fn heads_up(
    op: &Op,
    mesh: &Mesh,
    registry: &IndexedRegistry<'_>,
    me: &Agent,
    (view, place): (&View<'_>, &WorkPlace),
) -> Result<Option<String>, CommandError> {
    let likely = view.forecasts(op.settings.warn_at().min(calibration::LOWEST))?;
    if likely.is_empty() {
        return Ok(None);
    }
    let told = mesh.awareness().predictions(&place.repository)?;
    if told.iter().any(|one| one.end.is_none() && one.at < view.since) {
        // The job also records how earlier predictions ended.
        start_counting(op, mesh, place)?;
    }
    let threshold = threshold(op, &told);
    let is_told = |other: AgentId| {
        let pair = [(view.me, other), (other, view.me)];
        // One from the future was told before the clock was set back.
        let is_recent = |at: i64| at >= view.since && at <= clock::now().as_millisecond();
        told.iter().any(|one| is_recent(one.at) && pair.contains(&(one.agent, one.with)))
    };
    let likely = likely.into_iter().filter(|(_, forecast)| forecast.probability >= threshold).collect();
    for (other, forecast) in view.without_hubs(likely)? {
        if forecast.probability < threshold || is_told(other) {
            continue;
        }
        let Some(record) = view.live(mesh, other)? else { continue };
        let Some(meeting) = forecast.place_to_name() else { continue };
        if is_said_by_reservation(op, mesh, registry, me, &place.root.join(view.path(meeting.file)))? {
            continue;
        }
        let heads_up = view.describe(&record.agent.name, &meeting, forecast.probability);
        let prediction = Prediction {
            id: format!("{:08x}", random::number()),
            at: clock::now().as_millisecond(),
            agent: view.me,
            name: me.name.clone(),
            with: other,
            with_name: heads_up.other.clone(),
            probability: forecast.probability,
            path: meeting.file,
            file: heads_up.path.clone(),
            // The reason names a topic of the prompt.
            why: match op.settings.share_prompts {
                PromptSharing::Off => String::new(),
                PromptSharing::Topics | PromptSharing::Text => heads_up.reason.describe(),
            },
            end: None,
        };
        // Recorded first: after a crash, one sentence too few is better than two.
        if mesh.awareness().foretell(&place.repository, &prediction, view.since)? == Recorded::Not {
            return Ok(None);
        }
        op.feed(EventKind::HeadsUp, &me.name, Some(heads_up.other.as_str()), Some(&heads_up.path));
        if let Some(notice) = heads_up.to_the_other(&me.name) {
            let until = clock::now() + op.settings.awareness_window();
            let failure = format!("could not tell {} that {} may come", record.agent.name, me.name);
            op.notify_with(NoticeUrgency::NextHook { until }, record.agent, notice, failure);
        }
        return Ok(Some(heads_up.sentence()));
    }
    Ok(None)
}

/// Whether a reservation says already whose the file is: another's refuses it to this agent, or it is the agent's own.
fn is_said_by_reservation(
    op: &Op,
    mesh: &Mesh,
    registry: &IndexedRegistry<'_>,
    me: &Agent,
    path: &Path,
) -> Result<bool, CommandError> {
    let mut target = [check::file(&op.cwd, &path.to_string_lossy())];
    let source = CensusSource::Index(registry);
    let judged = check::judge(mesh, Some(me), &mut target, HardLinkPolicy::Ignore, source)?;
    let (budget, now) = (SearchBudget::new(STEPS), clock::now());
    let own = me.reservations.iter().filter(|reservation| reservation.binds(now));
    let mut own = own.flat_map(|reservation| resolved_patterns(me, reservation));
    let is_own = own.any(|pattern| target[0].hit_by(&pattern, &budget) != Conflict::None);
    Ok(is_own || judged.holdings[0].is_some())
}
