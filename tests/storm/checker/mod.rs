//! Reads a history and proves from it what was promised, or names the promise that was broken and the lines that prove
//! it. A pure function: it sees what those who took part wrote down, and nothing else.
//!
//! What is not certain is never held against the program. Something is *held* from the answer that granted it until
//! whatever could end it is tried; a command that was killed may have done its work or not.

mod errors;
mod figures;
mod holdings;
mod mail;
mod story;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::history::Line;

pub use figures::{Figures, Proven};
use holdings::Holdings;
use story::Story;

/// A promise that was broken.
#[derive(Clone, Debug)]
pub struct Violation {
    pub promise: Promise,
    pub text: String,
    pub proof: Vec<Line>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.promise, self.text)?;
        let mut lines = self.proof.iter().map(|line| serde_json::to_string(line).unwrap_or_default());
        lines.try_for_each(|line| write!(f, "\n    {line}"))
    }
}

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Promise {
    /// What was accepted is handed over, or lies somewhere.
    NothingIsLost,
    /// Among our readers, an id is handed over once, except behind a kill.
    HandedOverOnce,
    /// One sender's messages reach one recipient in the order of sending.
    OrderIsKept,
    /// What was sent to one session reaches no other.
    ForTheRecipientAlone,
    /// A watcher that listens hands over what comes.
    WatchersHear,
    /// A name, a task and a path have one live owner.
    OneOwner,
    /// What is held is said to be held.
    HeldIsRefused,
    /// Every error is a documented one, and everything answers.
    EverythingAnswers,
    /// Unreadable state is not overwritten.
    UnreadableIsKept,
}

#[derive(Clone, Debug)]
pub struct Verdict {
    pub violations: Vec<Violation>,
    pub figures: Figures,
}

pub fn check(lines: &[Line]) -> Verdict {
    let story = Story::of(lines);
    let holdings = Holdings::of(&story);
    let mut violations = errors::check(&story);
    violations.extend(holdings.check(&story));
    let mail::Findings { violations: of_mail, pairs, watchers } = mail::check(&story, &holdings);
    violations.extend(of_mail);
    let [names, tasks, paths] = holdings.counts();
    let proven = Proven { names, tasks, paths, pairs, watchers };
    Verdict { violations, figures: Figures::of(&story, proven) }
}
