//! Which counted lines of a track are kept: those that forecasts look at, and the latest of each agent for people.

use std::collections::HashMap;

use super::counters::AgentId;
use super::track::{Deed, TrackLine};
use super::trajectory;

/// How long the latest lines of an agent are kept, in milliseconds.
const WEEK: i64 = 7 * 24 * 3600 * 1000;
/// How many files of each agent are kept.
const MOST_FILES: usize = 200;

/// The lines to keep, in their order. `since` is the beginning of the window; both times are in milliseconds since 1970.
pub fn kept(lines: &[TrackLine], now: i64, since: i64, is_known: impl Fn(AgentId) -> bool) -> Vec<TrackLine> {
    let mut counts: HashMap<AgentId, (usize, usize)> = HashMap::new();
    let mut known: HashMap<AgentId, bool> = HashMap::new();
    let mut kept: Vec<TrackLine> = Vec::new();
    for line in lines.iter().rev() {
        let agent = line.stamp.agent;
        let (prompts, files) = counts.entry(agent).or_default();
        let is_latest = match &line.deed {
            Deed::Prompted { .. } => {
                *prompts += 1;
                *prompts <= trajectory::WINDOW
            }
            Deed::Changed { files: more, .. } | Deed::Read { files: more, .. } => {
                *files += more.len();
                *files <= MOST_FILES
            }
        };
        // What was read is of no use to a forecast.
        let is_in_window = line.stamp.at >= since && !matches!(line.deed, Deed::Read { .. });
        let is_wanted = is_in_window || is_latest && line.stamp.at >= now - WEEK;
        if is_wanted && *known.entry(agent).or_insert_with(|| is_known(agent)) {
            kept.push(line.clone());
        }
    }
    kept.reverse();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::AgentName;
    use crate::domain::awareness::track::{TrackStamp, TreeId};

    const HOUR: i64 = 3600 * 1000;
    const NOW: i64 = 1000 * HOUR;

    fn line(hours_ago: i64, agent: u64, deed: Deed) -> TrackLine {
        let name = AgentName::new("Robin").unwrap();
        TrackLine { stamp: TrackStamp { at: NOW - hours_ago * HOUR, agent: AgentId(agent), name }, deed }
    }

    fn changed(hours_ago: i64, agent: u64, files: usize) -> TrackLine {
        let files = (0..files).map(|number| number.to_string().into_bytes()).collect();
        line(hours_ago, agent, Deed::Changed { tree: TreeId(0), files })
    }

    #[test]
    fn the_window_and_the_latest_of_each_agent() {
        let prompt = |hours_ago| line(hours_ago, 2, Deed::Prompted { topics: Vec::new(), text: None });
        let mut lines = vec![changed(200, 1, 1), changed(100, 1, 150), changed(90, 1, 40), changed(80, 9, 1)];
        lines.extend((0..12).map(|number| prompt(30 - number)));
        lines.push(line(3, 1, Deed::Read { tree: TreeId(0), files: vec![b"x".to_vec(); 150] }));
        lines.extend([changed(2, 1, 60), changed(1, 1, 70)]);
        let hours: Vec<i64> = kept(&lines, NOW, NOW - 8 * HOUR, |agent| agent != AgentId(9))
            .iter()
            .map(|line| (NOW - line.stamp.at) / HOUR)
            .collect();
        let expected: Vec<i64> = (19..29).rev().chain([2, 1]).collect();
        assert_eq!(hours, expected);
    }
}
