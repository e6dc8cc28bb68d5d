//! `msg overlaps`: who may collide with whom, why, and what became of earlier predictions.

use std::path::Path;

use crate::domain::AgentName;
use crate::domain::awareness::PredictionEnd;
use crate::domain::awareness::calibration;
use crate::domain::awareness::counters::AgentId;
use crate::domain::awareness::signals::{Signal, SignalRules, signals};
use crate::domain::awareness::topics::Topic;
use crate::domain::awareness::track::Deed;
use crate::domain::awareness::worktree_conflict::{SideChange, WorktreeConflict};
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::store::{CounterFile, Mesh, Prediction, Registration, StoreError, Track};
use crate::sys::clock;

use super::agent_topics::{self, AgentTopics};
use super::view::View;
use super::{WorkPlace, resolve};

/// Forecasts below this are left out, unless all are wanted.
const WORTH_SHOWING: f64 = 0.2;

/// Which overlaps are wanted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OverlapScope {
    /// Those that may matter now.
    Open,
    /// Unlikely ones and predictions that have ended, too.
    All,
}

/// What one pair of agents may have to do with each other.
#[derive(Clone, Debug)]
pub struct AgentOverlap {
    /// The one that may come, and the one that is there.
    pub agents: [AgentName; 2],
    pub probability: f64,
    /// The likeliest file, if there is one, and why.
    pub file: Option<String>,
    pub why: Option<String>,
    pub signals: Vec<Signal>,
}

/// What is known of a repository.
#[derive(Clone, Debug, Default)]
pub struct OverlapReport {
    pub overlaps: Vec<AgentOverlap>,
    /// Predictions that were told, the latest first.
    pub predictions: Vec<Prediction>,
    /// Files that two agents changed in different work trees and that can't be merged.
    pub conflicts: Vec<OpenConflict>,
    /// From which probability on an agent is told.
    pub threshold: f64,
}

/// A file that two live agents changed in different work trees and that could not be merged when it was last compared.
#[derive(Clone, Debug)]
pub struct OpenConflict {
    pub file: String,
    pub sides: Vec<(AgentName, SideChange)>,
}

/// How often predictions came true in this repository.
#[derive(Clone, Debug, Default)]
pub struct AccuracyReport {
    /// The predictions that ended in each way, and those that are open.
    pub ends: Vec<(PredictionEnd, usize)>,
    pub open: usize,
    /// The share that happened of those that happened or were false alarms; `None` if there are none. What was prevented
    /// is neither.
    pub precision: Option<f64>,
    /// For tenths of probability: how many of those there are, and how many of these happened.
    pub calibration: Vec<(f64, usize, usize)>,
    /// The threshold at first, and after each step.
    pub thresholds: Vec<f64>,
}

/// The overlaps in this repository.
pub fn overlaps(op: &Op, scope: OverlapScope) -> Result<OverlapReport, CommandError> {
    let Some(mesh) = op.mesh()? else {
        op.note_absent_mesh();
        return Ok(OverlapReport { threshold: op.settings.warn_at(), ..OverlapReport::default() });
    };
    let place = WorkPlace::of(&op.cwd);
    let track = mesh.awareness().track(&place.repository)?;
    let mut predictions = resolve::resolve(op, &mesh, &place, &track, clock::now())?;
    let threshold = threshold(op, &predictions);
    predictions.retain(|one| scope == OverlapScope::All || one.end.is_none());
    predictions.reverse();
    let counts = match mesh.awareness().counts(&place.repository) {
        Err(StoreError::Corrupt { .. }) | Ok(None) => None,
        counts => counts?,
    };
    let overlaps = match pairs(op, &mesh, &place, (&track, counts.as_ref()), scope) {
        // A background job will make the counts again.
        Err(error) if error.kind == CommandErrorKind::Corrupt => {
            pairs(op, &mesh, &place, (&track, None), scope)?
        }
        found => found?,
    };
    let conflicts = conflicts(&mesh, &place)?;
    Ok(OverlapReport { overlaps, predictions, conflicts, threshold })
}

/// The conflicts that were found last, without those of agents that are gone.
fn conflicts(mesh: &Mesh, place: &WorkPlace) -> Result<Vec<OpenConflict>, CommandError> {
    let found = mesh.awareness().conflicts(&place.repository)?;
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let census = mesh.registry().census()?;
    let live = |agent: AgentId| {
        let mut live = census.records.iter().filter(|record| record.is_live());
        Some(live.find(|record| AgentId::of(&record.agent.session) == agent)?.agent.name.clone())
    };
    let shown = |conflict: WorktreeConflict| {
        let file = String::from_utf8_lossy(&conflict.path).into_owned();
        let sides = conflict.sides.into_iter().map(|side| Some((live(side.agent)?, side.change)));
        Some(OpenConflict { file, sides: sides.collect::<Option<_>>()? })
    };
    Ok(found.into_iter().filter_map(shown).collect())
}

/// From which probability on an agent is told, as far as that was learned here.
pub(super) fn threshold(op: &Op, predictions: &[Prediction]) -> f64 {
    let start = op.settings.warn_at();
    match op.settings.calibrate {
        true => calibration::thresholds(start, &false_alarms(predictions)).last().copied().unwrap_or(start),
        false => start,
    }
}

/// The outcomes from which something can be learned, in their order: whether each was a false alarm.
fn false_alarms(predictions: &[Prediction]) -> Vec<bool> {
    let mut ended: Vec<(i64, bool)> = predictions
        .iter()
        .filter(|one| !is_fact(one))
        .filter_map(|one| match one.end? {
            (PredictionEnd::FalseAlarm, at) => Some((at, true)),
            (PredictionEnd::Occurred | PredictionEnd::Prevented, at) => Some((at, false)),
            (PredictionEnd::Expired | PredictionEnd::Dismissed, _) => None,
        })
        .collect();
    ended.sort_by_key(|(at, _)| *at);
    ended.into_iter().map(|(_, is_false)| is_false).collect()
}

/// A file that both had changed already was no prediction.
fn is_fact(one: &Prediction) -> bool {
    one.probability >= 1.0
}

/// How good the predictions in this repository were.
pub fn accuracy(op: &Op) -> Result<AccuracyReport, CommandError> {
    let Some(mesh) = op.mesh()? else {
        op.note_absent_mesh();
        return Ok(AccuracyReport { thresholds: vec![op.settings.warn_at()], ..AccuracyReport::default() });
    };
    let place = WorkPlace::of(&op.cwd);
    let track = mesh.awareness().track(&place.repository)?;
    let mut told = resolve::resolve(op, &mesh, &place, &track, clock::now())?;
    told.retain(|one| !is_fact(one));
    let count =
        |end: PredictionEnd| told.iter().filter(|one| one.end.is_some_and(|(own, _)| own == end)).count();
    let ends: Vec<(PredictionEnd, usize)> = PredictionEnd::ALL.map(|end| (end, count(end))).into();
    let outcomes = false_alarms(&told);
    let share = |happened: usize, all: usize| (all > 0).then(|| happened as f64 / all as f64);
    let (happened, false_alarms) = (count(PredictionEnd::Occurred), count(PredictionEnd::FalseAlarm));
    let precision = share(happened, happened + false_alarms);
    let mut calibration: Vec<(f64, usize, usize)> = Vec::new();
    for tenth in 0..10 {
        let low = f64::from(tenth) / 10.0;
        let within: Vec<PredictionEnd> = told
            .iter()
            .filter(|one| (low..low + 0.1).contains(&one.probability))
            .filter_map(|one| Some(one.end?.0))
            .filter(|end| matches!(end, PredictionEnd::Occurred | PredictionEnd::FalseAlarm))
            .collect();
        if !within.is_empty() {
            let happened = within.iter().filter(|end| **end == PredictionEnd::Occurred).count();
            calibration.push((low, within.len(), happened));
        }
    }
    let thresholds = match op.settings.calibrate {
        true => calibration::thresholds(op.settings.warn_at(), &outcomes),
        false => vec![op.settings.warn_at()],
    };
    let open = told.iter().filter(|one| one.end.is_none()).count();
    Ok(AccuracyReport { ends, open, precision, calibration, thresholds })
}

/// Ends a prediction that is of no interest. It is not counted as right or wrong.
pub fn dismiss(op: &Op, id: &str) -> Result<Prediction, CommandError> {
    let unknown = || {
        CommandError::new(CommandErrorKind::InvalidValue, format!("there is no open prediction `{id}` here"))
            .hint("`msg overlaps` lists them with their ids")
    };
    let Some(mesh) = op.mesh()? else { return Err(unknown()) };
    let place = WorkPlace::of(&op.cwd);
    let all = mesh.awareness().predictions(&place.repository)?;
    let Some(mut one) = all.into_iter().find(|one| one.id == id && one.end.is_none()) else {
        return Err(unknown());
    };
    let end = (PredictionEnd::Dismissed, clock::now().as_millisecond());
    resolve::record(op, &mesh, &place, &mut one, end)?;
    if one.end.is_some() { Ok(one) } else { Err(unknown()) }
}

/// The forecasts and signals of all pairs of live agents in this repository.
fn pairs(
    op: &Op,
    mesh: &Mesh,
    place: &WorkPlace,
    (track, counts): (&Track, Option<&CounterFile>),
    scope: OverlapScope,
) -> Result<Vec<AgentOverlap>, CommandError> {
    let census = mesh.registry().census()?;
    let is_here = |record: &&Registration| {
        record.is_live() && WorkPlace::of(Path::new(&record.agent.cwd)).repository == place.repository
    };
    let here: Vec<&Registration> = census.records.iter().filter(is_here).collect();
    let topics: Vec<AgentTopics> =
        here.iter().map(|record| agent_topics::of_agent(mesh, &record.agent)).collect::<Result<_, _>>()?;
    let rules = SignalRules { overlap_at: op.settings.overlap_at() };
    let mut found: Vec<AgentOverlap> = Vec::new();
    for (number, record) in here.iter().enumerate() {
        let asked = last_topics(track, AgentId::of(&record.agent.session));
        for (other, other_record) in here.iter().enumerate().filter(|(other, _)| *other != number) {
            let forecast = one_way(op, track, counts, (record, &asked), other_record)?;
            let signals = if number < other {
                signals(&topics[number].heading(), &topics[other].heading(), &rules)
            } else {
                Vec::new()
            };
            let is_worth_it = forecast.probability >= WORTH_SHOWING || !signals.is_empty();
            if is_worth_it || scope == OverlapScope::All {
                found.push(AgentOverlap { signals, ..forecast });
            }
        }
    }
    found.sort_by(|a, b| b.probability.total_cmp(&a.probability));
    Ok(found)
}

/// How likely it is that the work of one agent's last prompt meets the other one.
fn one_way(
    op: &Op,
    track: &Track,
    counts: Option<&CounterFile>,
    (record, asked): (&Registration, &[Topic]),
    other: &Registration,
) -> Result<AgentOverlap, CommandError> {
    let view = View::new(op, track, counts, AgentId::of(&record.agent.session), asked, clock::now())?;
    let with = AgentId::of(&other.agent.session);
    let agents = [record.agent.name.clone(), other.agent.name.clone()];
    let nothing = AgentOverlap { agents, probability: 0.0, file: None, why: None, signals: Vec::new() };
    let Some((_, forecast)) = view.forecasts(0.0)?.into_iter().find(|(agent, _)| *agent == with) else {
        return Ok(nothing);
    };
    let overlap = AgentOverlap { probability: forecast.probability, ..nothing };
    Ok(match view.place(&forecast)? {
        Some(meeting) => {
            let told = view.describe(&other.agent.name, &meeting, forecast.probability);
            AgentOverlap { file: Some(told.path), why: Some(told.reason.describe()), ..overlap }
        }
        None => overlap,
    })
}

/// The topics of the agent's last prompt.
fn last_topics(track: &Track, agent: AgentId) -> Vec<Topic> {
    let own = track.lines.iter().rev().filter(|line| line.stamp.agent == agent);
    let mut prompts = own.filter_map(|line| match &line.deed {
        Deed::Prompted { topics, .. } => Some(topics.clone()),
        _ => None,
    });
    prompts.next().unwrap_or_default()
}
