//! Signs that two agents work on the same matter, from the topics of their prompts. They explain, for people who ask;
//! measured on real histories they predict nothing, so nobody is interrupted for them.

use std::collections::BTreeSet;

use super::topics::Topic;
use super::trajectory::{TopicTrend, Trend};
use super::work_domain::{self, WorkDomain};
use crate::domain::pattern::NormalPath;

/// Fewer prompts than this of one of the two do not tell how their topics change.
const LEAST_PROMPTS: usize = 4;
/// What is further away than this is not estimated.
const MOST_PROMPTS_AHEAD: f64 = 20.0;

/// At least this share of the work of both must be in a domain.
const LEAST_PRESENCE: f64 = 1.0 / 3.0;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum SignalKind {
    /// Both go deeper into the same topics.
    MutualDeepening,
    /// They have many topics in common.
    Approaching,
    /// One goes deeper into what the other does all the time.
    CrossApproach,
    /// They work in one domain, on different topics.
    DomainProximity,
}

impl SignalKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::MutualDeepening => "MUTUAL_DEEPENING",
            Self::Approaching => "APPROACHING",
            Self::CrossApproach => "CROSS_APPROACH",
            Self::DomainProximity => "DOMAIN_PROXIMITY",
        }
    }

    /// What it means, in few words.
    pub fn words(self) -> &'static str {
        match self {
            Self::MutualDeepening => "both go deeper into",
            Self::Approaching => "common topics",
            Self::CrossApproach => "one goes deeper into what the other does",
            Self::DomainProximity => "work in one domain, on different topics",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Signal {
    pub kind: SignalKind,
    /// From 0 to 1.
    pub strength: f64,
    pub topics: Vec<Topic>,
    /// Of [`SignalKind::Approaching`]: after how many more prompts of each their topics are the same, if these go on
    /// to become more alike as they did. `None`: they do not become more alike, or too slowly to say.
    pub prompts_ahead: Option<u32>,
    /// Of [`SignalKind::DomainProximity`]: the name of the domain.
    pub domain: Option<String>,
}

impl Signal {
    /// What it means, for people.
    pub fn describe(&self) -> String {
        let topics: Vec<&str> = self.topics.iter().map(Topic::as_str).collect();
        let topics = topics.join(", ");
        let domain = self.domain.as_deref().unwrap_or_default();
        match (self.kind, self.prompts_ahead) {
            (SignalKind::MutualDeepening, _) => format!("both go deeper into {topics}"),
            (SignalKind::CrossApproach, _) => format!("one goes deeper into what the other does: {topics}"),
            (SignalKind::DomainProximity, _) if topics.is_empty() => format!("both work in {domain}"),
            (SignalKind::DomainProximity, _) => {
                format!("both work in {domain}, on different topics: {topics}")
            }
            (SignalKind::Approaching, None) => format!("have in common {topics}"),
            (SignalKind::Approaching, Some(0)) => {
                format!("have in common {topics}; their last prompts have the same topics")
            }
            (SignalKind::Approaching, Some(ahead)) => {
                let prompts = if ahead == 1 { "prompt" } else { "prompts" };
                format!("have in common {topics}; the same topics in about {ahead} {prompts} at this rate")
            }
        }
    }
}

/// Where an agent is heading.
#[derive(Clone, Copy, Debug)]
pub struct AgentHeading<'a> {
    pub trends: &'a [TopicTrend],
    /// The topics of each of its last prompts, the latest last.
    pub prompts: &'a [Vec<Topic>],
    /// The files that it changed last, relative to the root of the repository.
    pub changed: &'a [String],
}

impl AgentHeading<'_> {
    fn with_trend(&self, trend: Trend) -> BTreeSet<Topic> {
        let found = self.trends.iter().filter(|found| found.trend == Some(trend));
        found.map(|found| found.topic.clone()).collect()
    }

    /// The topics that it has not left.
    fn key_topics(&self) -> BTreeSet<Topic> {
        let lasting = self.trends.iter().filter(|found| found.trend != Some(Trend::Fading));
        lasting.map(|found| found.topic.clone()).collect()
    }
}

/// An agent's part of every comparison with others. It is made once per agent, because there are many more pairs.
#[derive(Clone, Debug)]
pub struct ComparedAgent<'a> {
    prompts: &'a [Vec<Topic>],
    deepening: BTreeSet<Topic>,
    stable: BTreeSet<Topic>,
    key_topics: BTreeSet<Topic>,
    /// For each of the domains, in their order.
    in_domains: Vec<DomainPart>,
}

/// How much of an agent's work is in a domain, and which of the agent's topics are.
#[derive(Clone, Debug)]
struct DomainPart {
    presence: f64,
    topics: BTreeSet<Topic>,
}

impl<'a> ComparedAgent<'a> {
    pub fn new(heading: &AgentHeading<'a>, domains: &[WorkDomain]) -> Self {
        let key_topics = heading.key_topics();
        let changed: Vec<NormalPath> = heading.changed.iter().map(|path| work_domain::normal(path)).collect();
        let part = |domain: &WorkDomain| DomainPart {
            presence: domain.presence_at(heading.prompts, &changed),
            topics: key_topics.intersection(&domain.topics).cloned().collect(),
        };
        Self {
            prompts: heading.prompts,
            deepening: heading.with_trend(Trend::Deepening),
            stable: heading.with_trend(Trend::Stable),
            in_domains: domains.iter().map(part).collect(),
            key_topics,
        }
    }
}

/// What counts as a sign.
#[derive(Clone, Copy, Debug)]
pub struct SignalRules<'a> {
    /// A share of common topics above this is one.
    pub overlap_at: f64,
    /// Those with which both agents were made.
    pub domains: &'a [WorkDomain],
}

/// The signs that two agents work on the same matter, the strongest first.
pub fn signals(one: &ComparedAgent<'_>, other: &ComparedAgent<'_>, rules: &SignalRules<'_>) -> Vec<Signal> {
    let common = |a: &BTreeSet<Topic>, b: &BTreeSet<Topic>| a.intersection(b).cloned().collect::<Vec<_>>();
    let mut found = Vec::new();
    let mut add = |kind, start: f64, topics: Vec<Topic>| {
        if !topics.is_empty() {
            let strength = (start + 0.1 * topics.len() as f64).min(1.0);
            found.push(Signal { kind, strength, topics, prompts_ahead: None, domain: None });
        }
    };
    add(SignalKind::MutualDeepening, 0.6, common(&one.deepening, &other.deepening));
    let mut crossing = common(&one.deepening, &other.stable);
    crossing.extend(common(&other.deepening, &one.stable));
    add(SignalKind::CrossApproach, 0.5, crossing);
    let share = overlap(&one.key_topics, &other.key_topics);
    if share > rules.overlap_at {
        found.push(Signal {
            kind: SignalKind::Approaching,
            strength: 0.8 * share,
            topics: common(&one.key_topics, &other.key_topics),
            prompts_ahead: prompts_ahead(one.prompts, other.prompts),
            domain: None,
        });
    }
    found.extend(proximity(one, other, rules.domains));
    found.sort_by(|a, b| b.strength.total_cmp(&a.strength));
    found
}

/// The domain in which both work most, if they have no topic of it in common: common topics are a sign of their own.
fn proximity(one: &ComparedAgent<'_>, other: &ComparedAgent<'_>, domains: &[WorkDomain]) -> Option<Signal> {
    let parts = one.in_domains.iter().zip(&other.in_domains);
    let near = domains.iter().zip(parts).filter_map(|(domain, (own, others))| {
        let presence = own.presence.min(others.presence);
        let is_near = presence >= LEAST_PRESENCE && own.topics.is_disjoint(&others.topics);
        is_near.then_some((presence, domain, own, others))
    });
    // Of equals the last one is taken: configured domains, which are first, are preferred.
    let near: Vec<_> = near.collect();
    let (presence, domain, own, others) = near.into_iter().rev().max_by(|(a, ..), (b, ..)| a.total_cmp(b))?;
    let topics = own.topics.iter().chain(&others.topics).cloned().collect();
    Some(Signal {
        kind: SignalKind::DomainProximity,
        strength: 0.3 + 0.4 * presence,
        topics,
        prompts_ahead: None,
        domain: Some(domain.name.clone()),
    })
}

/// The share of common topics: Jaccard's.
fn overlap(one: &BTreeSet<Topic>, other: &BTreeSet<Topic>) -> f64 {
    one.intersection(other).count() as f64 / one.union(other).count().max(1) as f64
}

/// After how many more prompts of each the topics of both are the same, if the share of common topics goes on to grow as
/// it did from the earlier half of their last prompts to the later half.
fn prompts_ahead(one: &[Vec<Topic>], other: &[Vec<Topic>]) -> Option<u32> {
    let length = one.len().min(other.len());
    if length < LEAST_PROMPTS {
        return None;
    }
    let half = length / 2;
    let topics = |prompts: &[Vec<Topic>]| -> BTreeSet<Topic> { prompts.iter().flatten().cloned().collect() };
    let earlier = |prompts: &[Vec<Topic>]| {
        let first = prompts.len() - length;
        topics(&prompts[first..first + half])
    };
    let later = |prompts: &[Vec<Topic>]| topics(&prompts[prompts.len() - half..]);
    let before = overlap(&earlier(one), &earlier(other));
    let now = overlap(&later(one), &later(other));
    // The middles of the two halves are so many prompts apart.
    let growth = (now - before) / (length - half) as f64;
    // Divisions must not round a whole number up to the next one.
    let ahead = ((1.0 - now) / growth - 1e-9).ceil();
    (growth > 0.0 && ahead <= MOST_PROMPTS_AHEAD).then_some(ahead as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::awareness::trajectory;
    use crate::domain::awareness::work_domain::ConfiguredDomain;

    const RULES: SignalRules<'_> = SignalRules { overlap_at: 0.35, domains: &[] };

    fn trends(words: &[(&str, Option<Trend>)]) -> Vec<TopicTrend> {
        let one = |(word, trend): &(&str, Option<Trend>)| TopicTrend {
            topic: Topic::new(word),
            trend: *trend,
            prompts: 1,
        };
        words.iter().map(one).collect()
    }

    fn compared(trends: &[TopicTrend]) -> ComparedAgent<'_> {
        ComparedAgent::new(&AgentHeading { trends, prompts: &[], changed: &[] }, &[])
    }

    fn found(one: &[(&str, Option<Trend>)], other: &[(&str, Option<Trend>)]) -> Vec<(&'static str, i64)> {
        let (one, other) = (trends(one), trends(other));
        let signals = signals(&compared(&one), &compared(&other), &RULES);
        signals.iter().map(|signal| (signal.kind.name(), (signal.strength * 100.0).round() as i64)).collect()
    }

    fn prompts(texts: &[&str]) -> Vec<Vec<Topic>> {
        texts.iter().map(|text| text.split(' ').map(Topic::new).collect()).collect()
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

    #[test]
    fn the_limit_of_common_topics_can_be_set() {
        let words = trends(&[("login", None), ("a", None)]);
        let others = trends(&[("login", None), ("b", None)]);
        let at = |overlap_at| {
            signals(&compared(&words), &compared(&others), &SignalRules { overlap_at, ..RULES }).len()
        };
        assert_eq!((at(0.3), at(0.35)), (1, 0));
    }

    #[test]
    fn prompts_until_two_agents_have_the_same_topics() {
        for (one, other, expected) in [
            // From nothing to a third in two prompts: two thirds are left.
            (&["a", "b", "login x", "login"][..], &["c", "d", "login y", "login"][..], Some(4)),
            // Older prompts of one do not count.
            (&["login", "a", "b", "login x", "login"], &["c", "d", "login y", "login"], Some(4)),
            (&["a", "b", "login", "login"], &["c", "d", "login", "login"], Some(0)),
            (&["login", "login", "a", "b"], &["login", "login", "c", "d"], None),
            (&["login", "a", "login", "a"], &["login", "b", "login", "b"], None),
            (&["a", "login", "login"], &["b", "login", "login"], None),
            (&[], &[], None),
        ] {
            assert_eq!(prompts_ahead(&prompts(one), &prompts(other)), expected, "{one:?} {other:?}");
        }
    }

    #[test]
    fn different_topics_of_one_domain() {
        let strings = |items: &[&str]| items.iter().map(|item| (*item).to_string()).collect::<Vec<_>>();
        let domain = |name: &str, words: &[&str], paths: &[&str]| {
            ConfiguredDomain::new(name, strings(words), strings(paths)).unwrap().to_domain()
        };
        let domains = [domain("auth", &["login", "oauth2"], &["src/auth"]), domain("ui", &["color"], &[])];
        let found = |one: &[&str], other: &[&str], changed: &[&str]| {
            let (one, other, changed) = (prompts(one), prompts(other), strings(changed));
            let (one_trends, other_trends) = (trajectory::trends(&one), trajectory::trends(&other));
            let one = AgentHeading { trends: &one_trends, prompts: &one, changed: &[] };
            let other = AgentHeading { trends: &other_trends, prompts: &other, changed: &changed };
            let [one, other] = [one, other].map(|heading| ComparedAgent::new(&heading, &domains));
            let found = signals(&one, &other, &SignalRules { overlap_at: 1.0, domains: &domains });
            found.iter().map(|signal| (signal.strength, signal.describe())).collect::<Vec<_>>()
        };
        let expected = "both work in auth, on different topics: login, oauth2".to_string();
        assert_eq!(found(&["login"], &["oauth2", "x"], &[]), [(0.5, expected)]);
        let expected = "both work in auth, on different topics: login".to_string();
        assert_eq!(found(&["login"], &["x"], &["src/auth/a.rs"]), [(0.7, expected)]);
        for (one, other) in [(&["login"][..], &["login", "oauth2"][..]), (&["login"], &["color"]), (&[], &[])]
        {
            assert_eq!(found(one, other, &[]), [], "{one:?} {other:?}");
        }
        let seldom = ["login", "a", "b", "c"];
        assert_eq!(found(&seldom, &["oauth2"], &[]), [], "too little of its work is there");
    }
}
