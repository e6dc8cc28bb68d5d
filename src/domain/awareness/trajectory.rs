//! How the topics of an agent change over its last prompts: for people, and for handing work over.

use super::topics::Topic;

/// How many prompts are looked at.
pub const WINDOW: usize = 10;
/// The latest prompts, which tell what is new and what is over.
const LATEST: usize = 3;

/// How a topic develops.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Trend {
    /// In most prompts, and more in the later half.
    Deepening,
    /// Recurs, without a direction.
    Stable,
    /// Only in the latest prompts.
    Emerging,
    /// In earlier prompts, not in the latest ones.
    Fading,
}

impl Trend {
    pub fn name(self) -> &'static str {
        match self {
            Self::Deepening => "deepening",
            Self::Stable => "stable",
            Self::Emerging => "emerging",
            Self::Fading => "fading",
        }
    }
}

/// A topic of the latest prompts.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TopicTrend {
    pub topic: Topic,
    /// `None`: it was mentioned once, and tells nothing yet.
    pub trend: Option<Trend>,
    /// How many of the prompts have it.
    pub prompts: usize,
}

/// The trend of each topic, the most frequent first. `prompts` has the topics of each prompt, the latest last.
pub fn trends(prompts: &[Vec<Topic>]) -> Vec<TopicTrend> {
    let prompts = &prompts[prompts.len().saturating_sub(WINDOW)..];
    let mut topics: Vec<&Topic> = Vec::new();
    for topic in prompts.iter().flatten() {
        if !topics.contains(&topic) {
            topics.push(topic);
        }
    }
    let mut found: Vec<TopicTrend> = topics
        .into_iter()
        .map(|topic| {
            let at: Vec<usize> =
                (0..prompts.len()).filter(|number| prompts[*number].contains(topic)).collect();
            TopicTrend { topic: topic.clone(), trend: trend(&at, prompts.len()), prompts: at.len() }
        })
        .collect();
    found.sort_by_key(|found| (std::cmp::Reverse(found.prompts), found.trend.is_none(), found.trend));
    found
}

/// `at` are the numbers of the prompts that have the topic. `None`: it was mentioned once, and tells nothing.
fn trend(at: &[usize], prompts: usize) -> Option<Trend> {
    let (first, last) = (*at.first()?, *at.last()?);
    let earlier = prompts.saturating_sub(LATEST);
    let middle = prompts / 2;
    let later_half = at.iter().filter(|number| **number >= prompts - middle).count();
    let earlier_half = at.iter().filter(|number| **number < middle).count();
    let is_frequent = 5 * at.len() >= 3 * prompts;
    match () {
        () if at.len() == prompts && prompts > 1 => Some(Trend::Stable),
        () if is_frequent && later_half > earlier_half && prompts > 1 => Some(Trend::Deepening),
        () if first >= earlier && prompts > LATEST => Some(Trend::Emerging),
        () if last < earlier => Some(Trend::Fading),
        () if at.len() > 1 => Some(Trend::Stable),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_topic_has_a_trend() {
        for (at, prompts, expected) in [
            (&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9][..], 10, Some(Trend::Stable)),
            (&[0, 1], 2, Some(Trend::Stable)),
            (&[2, 4, 5, 7, 8, 9], 10, Some(Trend::Deepening)),
            (&[0, 1, 2, 3, 4, 9], 10, Some(Trend::Stable)),
            (&[8, 9], 10, Some(Trend::Emerging)),
            (&[9], 10, Some(Trend::Emerging)),
            (&[0, 1, 2], 10, Some(Trend::Fading)),
            (&[0, 5, 9], 10, Some(Trend::Stable)),
            (&[0], 1, None),
            (&[1], 3, None),
        ] {
            assert_eq!(trend(at, prompts), expected, "{at:?} of {prompts}");
        }
    }
}
