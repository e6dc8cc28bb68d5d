//! Signs that two agents work on the same matter, from the topics of their prompts. They explain, for people who ask;
//! measured on real histories they predict nothing, so nobody is interrupted for them.

use std::collections::BTreeSet;

use super::topics::Topic;
use super::trajectory::{TopicTrend, Trend};

/// A share of common topics above this is a sign.
const OVERLAP_AT: f64 = 0.35;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SignalKind {
    /// Both go deeper into the same topics.
    MutualDeepening,
    /// They have many topics in common.
    Approaching,
    /// One goes deeper into what the other does all the time.
    CrossApproach,
}

impl SignalKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::MutualDeepening => "MUTUAL_DEEPENING",
            Self::Approaching => "APPROACHING",
            Self::CrossApproach => "CROSS_APPROACH",
        }
    }

    /// What it means, for people.
    pub fn describe(self) -> &'static str {
        match self {
            Self::MutualDeepening => "both go deeper into",
            Self::Approaching => "have in common",
            Self::CrossApproach => "one goes deeper into what the other does:",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Signal {
    pub kind: SignalKind,
    /// From 0 to 1.
    pub strength: f64,
    pub topics: Vec<Topic>,
}

/// The signs that two agents work on the same matter, the strongest first.
pub fn signals(one: &[TopicTrend], other: &[TopicTrend]) -> Vec<Signal> {
    let of = |topics: &[TopicTrend], trend: Trend| -> BTreeSet<Topic> {
        let found = topics.iter().filter(|found| found.trend == Some(trend));
        found.map(|found| found.topic.clone()).collect()
    };
    let common = |a: &BTreeSet<Topic>, b: &BTreeSet<Topic>| a.intersection(b).cloned().collect::<Vec<_>>();
    let (deepening, others_deepening) = (of(one, Trend::Deepening), of(other, Trend::Deepening));
    let mut found = Vec::new();
    let mut add = |kind, start: f64, topics: Vec<Topic>| {
        if !topics.is_empty() {
            found.push(Signal { kind, strength: (start + 0.1 * topics.len() as f64).min(1.0), topics });
        }
    };
    add(SignalKind::MutualDeepening, 0.6, common(&deepening, &others_deepening));
    let mut crossing = common(&deepening, &of(other, Trend::Stable));
    crossing.extend(common(&others_deepening, &of(one, Trend::Stable)));
    add(SignalKind::CrossApproach, 0.5, crossing);
    let key = |topics: &[TopicTrend]| -> BTreeSet<Topic> {
        let lasting = topics.iter().filter(|found| found.trend != Some(Trend::Fading));
        lasting.map(|found| found.topic.clone()).collect()
    };
    let (own, others) = (key(one), key(other));
    let all = own.union(&others).count();
    let both = common(&own, &others);
    let share = both.len() as f64 / all.max(1) as f64;
    if share > OVERLAP_AT {
        found.push(Signal { kind: SignalKind::Approaching, strength: 0.8 * share, topics: both });
    }
    found.sort_by(|a, b| b.strength.total_cmp(&a.strength));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trends(words: &[(&str, Option<Trend>)]) -> Vec<TopicTrend> {
        let one = |(word, trend): &(&str, Option<Trend>)| TopicTrend {
            topic: Topic::new(word),
            trend: *trend,
            prompts: 1,
        };
        words.iter().map(one).collect()
    }

    fn found(one: &[(&str, Option<Trend>)], other: &[(&str, Option<Trend>)]) -> Vec<(&'static str, i64)> {
        let signals = signals(&trends(one), &trends(other));
        signals.iter().map(|signal| (signal.kind.name(), (signal.strength * 100.0).round() as i64)).collect()
    }

    #[test]
    fn what_two_agents_have_in_common() {
        use Trend::{Deepening, Fading, Stable};
        let (deep, stable) = (Some(Deepening), Some(Stable));
        assert_eq!(
            found(&[("login", deep), ("cache", deep)], &[("login", deep), ("cache", deep), ("x", None)]),
            [("MUTUAL_DEEPENING", 80), ("APPROACHING", 53)]
        );
        assert_eq!(
            found(&[("login", deep), ("a", None)], &[("login", stable), ("b", None)]),
            [("CROSS_APPROACH", 60)],
            "a third in common is too little"
        );
        assert_eq!(found(&[("login", Some(Fading))], &[("login", stable)]), []);
        assert_eq!(found(&[], &[]), []);
    }
}
