//! How right a replay was. A *meeting* is a file that two agents come to within the window, and in which they had not met
//! in the window before.
//!
//! Scored are the events after a warm-up, with a whole window behind them. A *pair* is such an event with another agent
//! that did something within the window. It meets if one of the next five events of either is in a file of the last
//! five, or the next five, of the other.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;

use ravenry::domain::awareness::counters::{AgentId, PathId};
use ravenry::domain::awareness::forecast::RECENT_EVENTS;

use super::stream::{Pair, Replayed, Stream, pair};

/// The events of the warm-up: so many, or that part of few.
const WARM_UP: usize = 300;
const WARM_UP_SHARE: usize = 5;
/// One warning for so many prompts.
const BUDGET: usize = 20;
const BINS: usize = 10;

/// How often something was right.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Share {
    pub right: usize,
    pub of: usize,
}

/// One bin of the calibration.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bin {
    pub pairs: usize,
    pub said: f64,
    pub happened: usize,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Score {
    pub prompts: usize,
    pub pairs: Share,
    pub average_precision: f64,
    pub area_under_curve: f64,
    /// The likeliest warnings, one for 20 prompts: how many were right, and how many prompts with a meeting they found.
    pub best: Share,
    pub best_recall: Share,
    /// Of the right ones, those whose three likeliest files have the right one.
    pub best_named: Share,
    /// The warnings that hooks would give, without facts.
    pub told: Share,
    pub facts: usize,
    /// Of the right ones, those that name the right file.
    pub named: Share,
    /// The first meetings of pairs, and those that were told of before.
    pub recall: Share,
    /// From a right warning to the meeting: the median of the events of the two, and of the seconds.
    pub lead_events: Option<usize>,
    pub lead_seconds: Option<i64>,
    pub bins: [Bin; BINS],
}

/// Where a pair meets after an event.
#[derive(Default)]
struct Meeting {
    files: BTreeSet<PathId>,
    lead_events: usize,
    lead_seconds: i64,
}

impl Score {
    pub fn of(stream: &Stream, replayed: &Replayed) -> Self {
        let truth = Truth::of(stream);
        let scored: Vec<(&Pair, Meeting)> = replayed
            .pairs
            .iter()
            .filter(|pair| truth.is_scored(pair.event))
            .map(|pair| (pair, truth.meeting(pair.event, pair.other)))
            .collect();
        let mut score = Self { prompts: truth.scored().count(), ..Self::default() };
        score.rank(&scored);
        score.calibrate(&scored);
        score.spend_budget(&scored);
        score.tell(&truth, replayed);
        score
    }

    /// Average precision and area under the curve. Equal probabilities are one group, so that ties bring no luck.
    fn rank(&mut self, scored: &[(&Pair, Meeting)]) {
        let mut groups: BTreeMap<u64, (usize, usize)> = BTreeMap::new();
        for (pair, meeting) in scored {
            // The bits of a positive number are in its order.
            let (met, not) = groups.entry(pair.probability.max(0.0).to_bits()).or_default();
            *if meeting.files.is_empty() { not } else { met } += 1;
        }
        let all: usize = groups.values().map(|(met, _)| met).sum();
        self.pairs = Share { right: all, of: scored.len() };
        let (mut met, mut not, mut precision, mut area) = (0, 0, 0.0, 0.0);
        for (more, fewer) in groups.values().rev() {
            area += *fewer as f64 * (met as f64 + *more as f64 / 2.0);
            (met, not) = (met + more, not + fewer);
            precision += *more as f64 * met as f64 / (met + not) as f64;
        }
        self.average_precision = precision / all as f64;
        self.area_under_curve = area / (all * (scored.len() - all)) as f64;
    }

    fn calibrate(&mut self, scored: &[(&Pair, Meeting)]) {
        for (pair, meeting) in scored {
            let bin = &mut self.bins[((pair.probability * BINS as f64) as usize).min(BINS - 1)];
            bin.pairs += 1;
            bin.said += pair.probability;
            bin.happened += usize::from(!meeting.files.is_empty());
        }
    }

    /// How far what was said is from what happened, on average over the pairs.
    pub fn calibration_error(&self) -> f64 {
        let error: f64 = self.bins.iter().map(|bin| (bin.said - bin.happened as f64).abs()).sum();
        error / self.pairs.of as f64
    }

    fn spend_budget(&mut self, scored: &[(&Pair, Meeting)]) {
        let mut best: BTreeMap<usize, &(&Pair, Meeting)> = BTreeMap::new();
        for one in scored {
            let best = best.entry(one.0.event).or_insert(one);
            if one.0.probability > best.0.probability {
                *best = one;
            }
        }
        let mut best: Vec<&(&Pair, Meeting)> = best.into_values().collect();
        best.sort_by(|a, b| b.0.probability.total_cmp(&a.0.probability));
        best.truncate(self.prompts / BUDGET);
        let right = best.iter().filter(|(_, meeting)| !meeting.files.is_empty()).count();
        let met: HashSet<usize> = scored
            .iter()
            .filter(|(_, meeting)| !meeting.files.is_empty())
            .map(|(pair, _)| pair.event)
            .collect();
        self.best = Share { right, of: best.len() };
        self.best_recall = Share { right, of: met.len() };
        let is_named = |one: &&&(&Pair, Meeting)| one.0.files.iter().any(|file| one.1.files.contains(file));
        self.best_named = Share { right: best.iter().filter(is_named).count(), of: right };
    }

    /// What hooks would have told.
    fn tell(&mut self, truth: &Truth<'_>, replayed: &Replayed) {
        let (mut events, mut seconds) = (Vec::new(), Vec::new());
        for told in replayed.told.iter().filter(|told| truth.is_scored(told.event)) {
            if told.is_fact {
                self.facts += 1;
                continue;
            }
            let meeting = truth.meeting(told.event, told.other);
            self.told.of += 1;
            if meeting.files.is_empty() {
                continue;
            }
            self.told.right += 1;
            self.named.of += 1;
            self.named.right += usize::from(meeting.files.contains(&told.file));
            events.push(meeting.lead_events);
            seconds.push(meeting.lead_seconds);
        }
        self.lead_events = median(events);
        self.lead_seconds = median(seconds);
        for (event, other) in truth.first_meetings() {
            let at = truth.stream.events[event].at;
            let both = pair(truth.stream.events[event].agent, other);
            let is_before = replayed.told.iter().any(|told| {
                let prompted = &truth.stream.events[told.event];
                told.event <= event
                    && prompted.at >= at - truth.stream.window
                    && pair(prompted.agent, told.other) == both
            });
            self.recall.of += 1;
            self.recall.right += usize::from(is_before);
        }
    }
}

/// What really happened.
struct Truth<'a> {
    stream: &'a Stream,
    /// The numbers of each agent's events.
    by_agent: HashMap<AgentId, Vec<usize>>,
    warm_up: usize,
    /// The last time with a whole window behind it.
    end: i64,
}

impl<'a> Truth<'a> {
    fn of(stream: &'a Stream) -> Self {
        let mut by_agent: HashMap<AgentId, Vec<usize>> = HashMap::new();
        for (number, event) in stream.events.iter().enumerate() {
            by_agent.entry(event.agent).or_default().push(number);
        }
        let warm_up = WARM_UP.min(stream.events.len() / WARM_UP_SHARE);
        let end = stream.events.last().map_or(0, |last| last.at - stream.window);
        Self { stream, by_agent, warm_up, end }
    }

    fn is_scored(&self, event: usize) -> bool {
        event >= self.warm_up && self.stream.events[event].at <= self.end
    }

    fn scored(&self) -> impl Iterator<Item = usize> {
        (0..self.stream.events.len()).filter(|event| self.is_scored(*event))
    }

    /// The files of the agent's last events before that one, and of all within the window.
    fn past(&self, agent: AgentId, event: usize) -> (BTreeSet<PathId>, BTreeSet<PathId>) {
        let since = self.stream.events[event].at - self.stream.window;
        let own = self.by_agent.get(&agent).map_or(&[][..], Vec::as_slice);
        let before = own[..own.partition_point(|number| *number < event)].iter().rev();
        let (mut last, mut all) = (BTreeSet::new(), BTreeSet::new());
        for (count, number) in
            before.take_while(|number| self.stream.events[**number].at >= since).enumerate()
        {
            all.extend(&self.stream.events[*number].files);
            if count < RECENT_EVENTS {
                last.extend(&self.stream.events[*number].files);
            }
        }
        (last, all)
    }

    /// The files of the agent's next events, that one included if it is the agent's, with the first event of each.
    fn future(&self, agent: AgentId, event: usize) -> BTreeMap<PathId, usize> {
        let until = self.stream.events[event].at + self.stream.window;
        let own = self.by_agent.get(&agent).map_or(&[][..], Vec::as_slice);
        let next = own[own.partition_point(|number| *number < event)..].iter().take(RECENT_EVENTS);
        let mut files = BTreeMap::new();
        for number in next.take_while(|number| self.stream.events[**number].at <= until) {
            for file in &self.stream.events[*number].files {
                files.entry(*file).or_insert(*number);
            }
        }
        files
    }

    fn meeting(&self, event: usize, other: AgentId) -> Meeting {
        let agent = self.stream.events[event].agent;
        let ((own_last, own_all), (their_last, their_all)) =
            (self.past(agent, event), self.past(other, event));
        let (own_next, their_next) = (self.future(agent, event), self.future(other, event));
        let mut when: BTreeMap<PathId, usize> = BTreeMap::new();
        for file in own_next.keys().chain(their_next.keys()) {
            let (own, theirs) = (own_next.get(file).copied(), their_next.get(file).copied());
            let both = own.zip(theirs).map(|(own, theirs)| own.max(theirs));
            let comes = own.filter(|_| their_last.contains(file));
            let is_joined = theirs.filter(|_| own_last.contains(file));
            let first = [both, comes, is_joined].into_iter().flatten().min();
            let is_known = own_all.contains(file) && their_all.contains(file);
            if let Some(first) = first.filter(|_| !is_known) {
                when.insert(*file, first);
            }
        }
        let Some(first) = when.values().copied().min() else { return Meeting::default() };
        let between = |agent: AgentId| {
            let own = self.by_agent.get(&agent).map_or(&[][..], Vec::as_slice);
            own.partition_point(|number| *number <= first) - own.partition_point(|number| *number < event)
        };
        Meeting {
            files: when.into_keys().collect(),
            // The event itself does not count.
            lead_events: between(agent) + between(other) - 1,
            lead_seconds: self.stream.events[first].at - self.stream.events[event].at,
        }
    }

    /// The events at which two agents meet that had not met within the window.
    fn first_meetings(&self) -> Vec<(usize, AgentId)> {
        let mut found = Vec::new();
        let mut last: HashMap<(AgentId, AgentId), i64> = HashMap::new();
        let mut seen: BTreeMap<PathId, BTreeMap<AgentId, i64>> = BTreeMap::new();
        for (number, event) in self.stream.events.iter().enumerate() {
            let since = event.at - self.stream.window;
            for file in &event.files {
                let agents = seen.entry(*file).or_default();
                for (other, at) in agents.iter().filter(|(other, _)| **other != event.agent) {
                    let both = pair(event.agent, *other);
                    let is_first = last.get(&both).is_none_or(|last| *last < since);
                    if *at >= since && is_first {
                        found.extend(self.is_scored(number).then_some((number, *other)));
                    }
                    if *at >= since {
                        last.insert(both, event.at);
                    }
                }
                agents.insert(event.agent, event.at);
            }
        }
        found
    }
}

fn median<T: Ord + Copy>(mut values: Vec<T>) -> Option<T> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

impl fmt::Display for Share {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.of {
            0 => write!(formatter, "none"),
            of => write!(formatter, "{:.2} ({} of {of})", self.right as f64 / of as f64, self.right),
        }
    }
}

impl fmt::Display for Score {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |value: f64| if value.is_nan() { "unknown".to_string() } else { format!("{value:.3}") };
        let lead = match (self.lead_events, self.lead_seconds) {
            (Some(events), Some(seconds)) => format!("{events} events, {:.1} hours", seconds as f64 / 3600.0),
            _ => "unknown".to_string(),
        };
        let per_prompts = (BUDGET * self.told.of) as f64 / self.prompts.max(1) as f64;
        writeln!(
            formatter,
            "  scored           {} prompts; share of pairs that meet {}",
            self.prompts, self.pairs
        )?;
        writeln!(
            formatter,
            "  as hooks tell    {} warnings, {per_prompts:.2} in {BUDGET} prompts, and {} facts",
            self.told.of, self.facts
        )?;
        writeln!(formatter, "    precision      {}", self.told)?;
        writeln!(formatter, "    right file     {}", self.named)?;
        writeln!(formatter, "    recall         {} of the first meetings", self.recall)?;
        writeln!(formatter, "    lead, median   {lead}")?;
        writeln!(
            formatter,
            "  one in {BUDGET} prompts: precision {}, recall {}, right file {}",
            self.best, self.best_recall, self.best_named
        )?;
        writeln!(
            formatter,
            "  ranking          average precision {}, area under the curve {}",
            number(self.average_precision),
            number(self.area_under_curve)
        )?;
        writeln!(formatter, "  calibration      error {} (ECE)", number(self.calibration_error()))?;
        writeln!(formatter, "    said  happened  pairs")?;
        for bin in self.bins.iter().filter(|bin| bin.pairs > 0) {
            let of = bin.pairs as f64;
            writeln!(
                formatter,
                "    {:.2}  {:8.2}  {:5}",
                bin.said / of,
                bin.happened as f64 / of,
                bin.pairs
            )?;
        }
        Ok(())
    }
}
