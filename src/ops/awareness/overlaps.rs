//! `msg overlaps`: who may collide with whom, why, and what became of earlier predictions.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::PathBuf;

use crate::domain::awareness::PredictionEnd;
use crate::domain::awareness::calibration;
use crate::domain::awareness::counters::{AgentId, PathId};
use crate::domain::awareness::forecast::Forecast;
use crate::domain::awareness::signals::{ComparedAgent, Signal, SignalRules, signals};
use crate::domain::awareness::topics::Topic;
use crate::domain::awareness::track::Deed;
use crate::domain::awareness::worktree_conflict::{SideChange, WorktreeConflict};
use crate::domain::{Agent, AgentName};
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::store::{CounterFile, Mesh, Prediction, StoreError, Track, TrackText};
use crate::sys::clock;

use super::agent_topics::{self, AgentTopics};
use super::view::View;
use super::{WorkPlace, domains, resolve};

/// Forecasts below this are left out, unless all are wanted.
pub const WORTH_SHOWING: f64 = 0.2;
/// How many pairs, predictions and conflicts a screen shows.
pub const MOST_SHOWN: usize = 100;
/// How many agents are compared for a screen: the pairs are as many as their square.
const MOST_AGENTS: usize = 100;

/// Which overlaps are wanted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OverlapScope {
    /// Those that may matter now.
    Open,
    /// Unlikely ones and predictions that have ended, too.
    All,
    /// Those that may matter now, and predictions that have ended; of each the first 100, and of many agents those that
    /// did something last. A screen asks again and again.
    Screen,
}

/// What one pair of agents may have to do with each other.
#[derive(Clone, Debug)]
pub struct AgentOverlap {
    /// The one that may come, and the one that is there; of a fact, the two in any order.
    pub agents: [AgentName; 2],
    /// Both have changed the file already. That is true of both, and listed once.
    pub is_fact: bool,
    pub probability: f64,
    /// The likeliest file, if there is one, and why.
    pub file: Option<String>,
    pub why: Option<String>,
    pub signals: Vec<Signal>,
}

impl AgentOverlap {
    /// `Alice → Robin`, and of a fact `Alice ↔ Robin`.
    pub fn pair(&self) -> String {
        let [agent, with] = &self.agents;
        format!("{agent} {} {with}", self.arrow())
    }

    /// Who may come to whom; a fact has no direction.
    pub fn arrow(&self) -> &'static str {
        if self.is_fact { "↔" } else { "→" }
    }
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
    /// How many agents work in the repository, people not counted.
    pub agents: usize,
    /// The root of the work tree that was asked about.
    pub root: PathBuf,
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
        let (threshold, root) = (op.settings.warn_at(), op.cwd.clone());
        return Ok(OverlapReport { threshold, root, ..OverlapReport::default() });
    };
    let place = WorkPlace::of(&op.cwd);
    let text = mesh.awareness().track_text(&place.repository)?;
    let track = text.parse();
    let mut predictions = resolve::resolve(op, &mesh, &place, &track, clock::now())?;
    let threshold = threshold(op, &predictions);
    predictions.retain(|one| scope != OverlapScope::Open || one.end.is_none());
    predictions.reverse();
    let counts = match mesh.awareness().counts(&place.repository) {
        Err(StoreError::Corrupt { .. }) | Ok(None) => None,
        counts => counts?,
    };
    let here = Neighbours::find(&mesh, &place, &track, scope)?;
    let overlaps = match pairs(op, &here, (&text, counts.as_ref()), scope) {
        // A background job will make the counts again.
        Err(error) if error.kind == CommandErrorKind::Corrupt => pairs(op, &here, (&text, None), scope)?,
        found => found?,
    };
    let mut conflicts = conflicts(&mesh, &place)?;
    if scope == OverlapScope::Screen {
        predictions.truncate(MOST_SHOWN);
        conflicts.truncate(MOST_SHOWN);
    }
    let agents = here.agents.iter().filter(|agent| !agent.is_human).count();
    Ok(OverlapReport { overlaps, predictions, conflicts, threshold, agents, root: place.root })
}

/// The conflicts that were found last, without those of agents that are gone.
fn conflicts(mesh: &Mesh, place: &WorkPlace) -> Result<Vec<OpenConflict>, CommandError> {
    let found = mesh.awareness().conflicts(&place.repository)?;
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let census = mesh.registry().local_census()?;
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

/// The live agents of a repository, and what is known of each.
struct Neighbours {
    agents: Vec<Agent>,
    topics: Vec<AgentTopics>,
    /// The topics of each one's last prompt.
    asked: Vec<Vec<Topic>>,
}

impl Neighbours {
    fn find(
        mesh: &Mesh,
        place: &WorkPlace,
        track: &Track,
        scope: OverlapScope,
    ) -> Result<Self, CommandError> {
        let mut agents = agent_topics::live_agents(mesh, &place.repository)?;
        if scope == OverlapScope::Screen && agents.len() > MOST_AGENTS {
            let last = latest_deeds(track);
            agents.sort_by_key(|agent| std::cmp::Reverse(last.get(&AgentId::of(&agent.session)).copied()));
            agents.truncate(MOST_AGENTS);
        }
        let topics = agents.iter().map(|agent| agent_topics::from_track(track, agent)).collect();
        let asked = agents.iter().map(|agent| last_topics(track, AgentId::of(&agent.session))).collect();
        Ok(Self { agents, topics, asked })
    }
}

/// When each agent did something last.
fn latest_deeds(track: &Track) -> HashMap<AgentId, i64> {
    track.lines.iter().map(|line| (line.stamp.agent, line.stamp.at)).collect()
}

/// A pair that is worth showing: the numbers of the two.
struct Candidate {
    pair: [usize; 2],
    forecast: Option<Forecast>,
    signals: Vec<Signal>,
}

impl Candidate {
    fn probability(&self) -> f64 {
        self.forecast.as_ref().map_or(0.0, |forecast| forecast.probability)
    }

    /// The file that both have changed, and the two in the same order in both directions.
    fn fact(&self) -> Option<([usize; 2], PathId)> {
        let [one, other] = self.pair;
        Some(([one.min(other), one.max(other)], self.forecast.as_ref()?.fact()?))
    }
}

/// The forecasts and signals of all pairs, the likeliest first.
fn pairs(
    op: &Op,
    here: &Neighbours,
    (track, counts): (&TrackText, Option<&CounterFile>),
    scope: OverlapScope,
) -> Result<Vec<AgentOverlap>, CommandError> {
    // A screen refreshes by itself, and learning domains reads all counts.
    let domains = domains::known(op, counts.filter(|_| scope != OverlapScope::Screen))?;
    let rules = SignalRules { overlap_at: op.settings.overlap_at(), domains: &domains };
    let all_topics: Vec<Topic> =
        here.asked.iter().flatten().cloned().collect::<BTreeSet<_>>().into_iter().collect();
    let ids: Vec<AgentId> = here.agents.iter().map(|agent| AgentId::of(&agent.session)).collect();
    let mut view = View::new(op, track, counts, &ids, &all_topics, clock::now())?;
    view.leave_out_others(&ids.into_iter().collect());
    view.look_up_files()?;
    let compared: Vec<ComparedAgent<'_>> =
        here.topics.iter().map(|agent| ComparedAgent::new(&agent.heading(), &domains)).collect();
    let (mut found, mut facts): (Vec<Candidate>, HashSet<([usize; 2], PathId)>) = Default::default();
    for (number, agent) in here.agents.iter().enumerate() {
        view.turn_to(AgentId::of(&agent.session), &here.asked[number]);
        let mut forecasts: HashMap<AgentId, Forecast> = view.forecasts(0.0)?.into_iter().collect();
        for (other, other_agent) in here.agents.iter().enumerate().filter(|(other, _)| *other != number) {
            let signals = match number < other {
                true => signals(&compared[number], &compared[other], &rules),
                false => Vec::new(),
            };
            let forecast = forecasts.remove(&AgentId::of(&other_agent.session));
            let candidate = Candidate { pair: [number, other], forecast, signals };
            let is_worth_it = candidate.probability() >= WORTH_SHOWING || !candidate.signals.is_empty();
            let is_new = candidate.fact().is_none_or(|fact| facts.insert(fact));
            if is_new && (is_worth_it || scope == OverlapScope::All) {
                found.push(candidate);
            }
        }
    }
    found.sort_by(|a, b| b.probability().total_cmp(&a.probability()));
    if scope == OverlapScope::Screen {
        found.truncate(MOST_SHOWN);
    }
    found.into_iter().map(|one| describe(&mut view, here, one)).collect()
}

/// Where the two may meet, and why.
fn describe<'a>(
    view: &mut View<'a>,
    here: &'a Neighbours,
    one: Candidate,
) -> Result<AgentOverlap, CommandError> {
    let [number, other] = one.pair;
    let agents = one.pair.map(|number| here.agents[number].name.clone());
    let (probability, is_fact) = (one.probability(), one.fact().is_some());
    let overlap = AgentOverlap { agents, is_fact, probability, file: None, why: None, signals: one.signals };
    let Some(forecast) = one.forecast else { return Ok(overlap) };
    view.turn_to(AgentId::of(&here.agents[number].session), &here.asked[number]);
    Ok(match view.place(&forecast)? {
        Some(meeting) => {
            let told = view.describe(&here.agents[other].name, &meeting, forecast.probability);
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
