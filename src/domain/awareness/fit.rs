//! How well a piece of work fits an agent, by its topics and files; and who could pass knowledge on to whom.

use super::topics::{self, Topic};
use super::trajectory::{TopicTrend, Trend};

/// The most files of an agent that count.
const MOST_FILES: usize = 5;

/// What an agent and a piece of work have in common.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct WorkFit {
    pub topics: Vec<Topic>,
    pub files: Vec<String>,
    pub score: usize,
}

/// Compares the topics of a text with what an agent was asked lately, and with the names of the files that it changed
/// or read.
pub fn work_fit(wanted: &[Topic], asked: &[TopicTrend], files: &[String]) -> WorkFit {
    let shared: Vec<&TopicTrend> = asked.iter().filter(|asked| wanted.contains(&asked.topic)).collect();
    let weight = |shared: &TopicTrend| match shared.trend {
        Some(Trend::Deepening | Trend::Stable) => 3,
        Some(Trend::Emerging) | None => 2,
        Some(Trend::Fading) => 1,
    };
    let has_word = |path: &&String| topics::of_path(path).all.iter().any(|topic| wanted.contains(topic));
    let files: Vec<String> = files.iter().filter(has_word).take(MOST_FILES).cloned().collect();
    let score = shared.iter().map(|shared| weight(shared)).sum::<usize>() + files.len();
    WorkFit { topics: shared.into_iter().map(|shared| shared.topic.clone()).collect(), files, score }
}

/// The topics that one agent is leaving and another is coming to.
pub fn passed_topics(leaving: &[TopicTrend], coming: &[TopicTrend]) -> Vec<Topic> {
    let is_coming = |topic: &Topic| {
        coming.iter().any(|other| other.topic == *topic && other.trend == Some(Trend::Emerging))
    };
    let left = leaving.iter().filter(|own| own.trend == Some(Trend::Fading));
    left.map(|own| own.topic.clone()).filter(is_coming).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(topic: &str, trend: Option<Trend>) -> TopicTrend {
        TopicTrend { topic: Topic::new(topic), trend, prompts: 1 }
    }

    #[test]
    fn topics_and_files_count() {
        let wanted = [Topic::new("login"), Topic::new("form")];
        let known = [asked("login", Some(Trend::Deepening)), asked("cart", Some(Trend::Stable))];
        let files = ["src/login.rs", "src/cart.rs", "form/mod.rs"].map(str::to_string);
        let fit = work_fit(&wanted, &known, &files);
        assert_eq!(fit.topics, [Topic::new("login")]);
        assert_eq!(fit.files, ["src/login.rs", "form/mod.rs"]);
        assert_eq!(fit.score, 5);
        assert_eq!(work_fit(&wanted, &known[1..], &files[1..2]), WorkFit::default());
    }

    #[test]
    fn a_topic_is_passed_from_whom_it_fades_to_whom_it_is_new() {
        let leaving = [asked("login", Some(Trend::Fading)), asked("form", Some(Trend::Fading))];
        let coming = [asked("login", Some(Trend::Emerging)), asked("form", Some(Trend::Stable))];
        assert_eq!(passed_topics(&leaving, &coming), [Topic::new("login")]);
        assert!(passed_topics(&coming, &leaving).is_empty());
    }
}
