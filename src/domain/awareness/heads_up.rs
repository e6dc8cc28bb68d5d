//! The one sentence that tells a model before its edit that another agent is where its prompt leads.

use super::counters::{AgentId, Counters, PathId, WordId};
use super::forecast::Arrival;
use super::topics::Topic;
use crate::domain::{AgentName, Notice, PeerText, quote_code};

/// From this probability on, a collision is likely; below it is possible.
const LIKELY: f64 = 0.7;
/// From this probability on, the other agent is told, too.
pub const NEARLY_CERTAIN: f64 = 0.8;
/// The longest path that is named whole, in characters.
const LONGEST_PATH: usize = 48;

/// Why it is expected that the agents meet in a file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum MeetingReason {
    /// Prompts with this topic ended there, so many of so many.
    Habit { topic: Topic, ended: u32, prompts: u32 },
    /// The prompt has a word of the file's name.
    Name { topic: Topic },
    /// The agent that was prompted often changes the file.
    OwnFile,
    /// The other one often changes the file, in which the prompted one is.
    TheirFile,
    /// Both have changed it already.
    Both,
}

/// What is told.
#[derive(Clone, Debug, PartialEq)]
pub struct HeadsUp {
    pub other: AgentName,
    pub path: String,
    pub probability: f64,
    pub reason: MeetingReason,
}

impl MeetingReason {
    /// The strongest cue that leads the prompted agent to the file, or the other one.
    pub fn of(
        counters: &Counters,
        agent: AgentId,
        topics: &[Topic],
        stem: &[WordId],
        (file, arrival): (PathId, Arrival),
    ) -> Self {
        match arrival {
            Arrival::Prompted => {}
            Arrival::Other => return Self::TheirFile,
            Arrival::Both => return Self::Both,
        }
        let words = || topics.iter().map(|topic| (topic, WordId::of(topic)));
        let habit =
            words().max_by(|(_, a), (_, b)| counters.habit(*a, file).total_cmp(&counters.habit(*b, file)));
        let name = words().find(|(_, word)| stem.contains(word));
        let habitual = habit.map_or(0.0, |(_, word)| 5.8 * counters.habit(word, file));
        let named = name.map_or(0.0, |(_, word)| 2.0 * counters.rarity(word));
        let own = 4.7 * counters.own(agent, file).sqrt();
        match (habit, name) {
            (Some((topic, word)), _) if habitual > 0.0 && habitual >= named.max(own) => {
                let counts = counters.words.get(&word);
                let ended = counts.and_then(|counts| counts.files.get(&file)).copied().unwrap_or_default();
                let prompts = counts.map_or(0, |counts| counts.prompts);
                Self::Habit { topic: topic.clone(), ended, prompts }
            }
            (_, Some((topic, _))) if named >= own => Self::Name { topic: topic.clone() },
            _ => Self::OwnFile,
        }
    }

    /// For people: why, in few words.
    pub fn describe(&self) -> String {
        match self {
            Self::Habit { topic, ended, prompts } => {
                format!(
                    "prompts about {} usually end there ({ended} of {prompts})",
                    quote_code(topic.as_str())
                )
            }
            Self::Name { topic } => format!("the prompt names {}", quote_code(topic.as_str())),
            Self::OwnFile => "the prompted agent often changes it".to_string(),
            Self::TheirFile => "the other one often changes it".to_string(),
            Self::Both => "both have changed it".to_string(),
        }
    }
}

impl HeadsUp {
    /// The sentence for the model. Probabilities are for people.
    pub fn sentence(&self) -> String {
        let (other, path) = (&self.other, quote_code(&shorten_path(&self.path)));
        let fact = match &self.reason {
            MeetingReason::Habit { topic, ended, prompts } => {
                let topic = quote_code(topic.as_str());
                format!(
                    "{other} is in {path}; prompts about {topic} usually end there ({ended} of {prompts})."
                )
            }
            MeetingReason::Name { .. } => format!("{other} is in {path}, which your prompt seems to mean."),
            MeetingReason::OwnFile => format!("{other} is in {path}, which you often change."),
            MeetingReason::TheirFile => format!("{other} often changes {path}, in which you are."),
            MeetingReason::Both => format!("{other} has changed {path} lately, as you have."),
        };
        let chance = match &self.reason {
            MeetingReason::Both => "You may collide",
            _ if self.probability >= LIKELY => "Likely collision",
            _ => "Possible collision",
        };
        format!("Heads-up: {fact} {chance}: `msg send {other} …` or reserve what you need.")
    }

    /// What the other agent is told at its next hook, if it is worth that. Why `prompted` will come is not said: that
    /// is a word of its prompt.
    pub fn to_the_other(&self, prompted: &AgentName) -> Option<Notice> {
        if self.probability < NEARLY_CERTAIN {
            return None;
        }
        let path = PeerText::new(shorten_path(&self.path));
        let notice = Notice::new().say("Heads-up: ").name(prompted);
        let notice = match &self.reason {
            MeetingReason::Habit { .. } | MeetingReason::Name { .. } | MeetingReason::OwnFile => {
                notice.say(" was given work that probably leads to ").code(&path).say(", in which you are.")
            }
            MeetingReason::TheirFile => notice.say(" is in ").code(&path).say(", which you often change."),
            MeetingReason::Both => notice.say(" has changed ").code(&path).say(" lately, as you have."),
        };
        let notice = notice.say(" To agree: `msg send ").name(prompted).say(" …`");
        Some(notice.say(", or reserve what you need."))
    }
}

/// How likely a collision is, for a model: percentages are for people.
pub fn likelihood(probability: f64) -> &'static str {
    if probability >= LIKELY { "likely" } else { "possible" }
}

/// The end of a long path: the name of the file says most.
pub fn shorten_path(path: &str) -> String {
    let length = path.chars().count();
    match length > LONGEST_PATH {
        true => format!("…{}", path.chars().skip(length - LONGEST_PATH + 1).collect::<String>()),
        false => path.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heads_up(reason: MeetingReason, probability: f64) -> String {
        let (other, path) = (AgentName::new("Robin").unwrap(), "src/auth/login.rs".to_string());
        HeadsUp { other, path, probability, reason }.sentence()
    }

    #[test]
    fn sentences() {
        let topic = || Topic::new("login");
        insta::assert_snapshot!(
            heads_up(MeetingReason::Habit { topic: topic(), ended: 7, prompts: 9 }, 0.7),
            @"Heads-up: Robin is in `src/auth/login.rs`; prompts about `login` usually end there (7 of 9). Likely collision: `msg send Robin …` or reserve what you need."
        );
        insta::assert_snapshot!(
            heads_up(MeetingReason::Name { topic: topic() }, 0.5),
            @"Heads-up: Robin is in `src/auth/login.rs`, which your prompt seems to mean. Possible collision: `msg send Robin …` or reserve what you need."
        );
        insta::assert_snapshot!(
            heads_up(MeetingReason::TheirFile, 0.6),
            @"Heads-up: Robin often changes `src/auth/login.rs`, in which you are. Possible collision: `msg send Robin …` or reserve what you need."
        );
        insta::assert_snapshot!(
            heads_up(MeetingReason::Both, 1.0),
            @"Heads-up: Robin has changed `src/auth/login.rs` lately, as you have. You may collide: `msg send Robin …` or reserve what you need."
        );
    }

    #[test]
    fn the_other_one_is_told_what_is_nearly_certain() {
        let told = |reason, probability| {
            let (other, path) = (AgentName::new("Robin").unwrap(), "src/auth/login.rs".to_string());
            let heads_up = HeadsUp { other, path, probability, reason };
            heads_up.to_the_other(&AgentName::new("Alice").unwrap()).map(|notice| notice.text().to_string())
        };
        let name = || MeetingReason::Name { topic: Topic::new("login") };
        assert_eq!(told(name(), 0.79), None);
        insta::assert_snapshot!(
            told(name(), 0.8).unwrap(),
            @"Heads-up: Alice was given work that probably leads to `src/auth/login.rs`, in which you are. To agree: `msg send Alice …`, or reserve what you need."
        );
        insta::assert_snapshot!(
            told(MeetingReason::TheirFile, 0.9).unwrap(),
            @"Heads-up: Alice is in `src/auth/login.rs`, which you often change. To agree: `msg send Alice …`, or reserve what you need."
        );
        insta::assert_snapshot!(
            told(MeetingReason::Both, 1.0).unwrap(),
            @"Heads-up: Alice has changed `src/auth/login.rs` lately, as you have. To agree: `msg send Alice …`, or reserve what you need."
        );
    }

    #[test]
    fn a_long_path_is_named_by_its_end() {
        let long = format!("{}/login.rs", "very/deep".repeat(20));
        assert_eq!(shorten_path(&long).chars().count(), LONGEST_PATH);
        assert!(shorten_path(&long).ends_with("/login.rs"));
    }
}
