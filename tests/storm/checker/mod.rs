//! Reads a history and proves that the promises were kept, or names a broken promise and the lines that prove it. It
//! is a pure function of what the participants recorded.
//!
//! Doubt never counts against the program. Something is *held* from the answer that granted it until the first attempt
//! of anything that could end it; a command that was killed may or may not have done its work.

mod contests;
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
    /// An accepted message is handed over, or is still somewhere.
    NothingIsLost,
    /// Among our readers, an id is handed over once, unless a reader was killed.
    HandedOverOnce,
    /// One sender's messages reach one recipient in the order of sending.
    OrderIsKept,
    /// A message to one session reaches no other.
    ForTheRecipientAlone,
    /// A watcher that listens hands over what arrives.
    WatchersHear,
    /// A name, a task and a path have one live owner.
    OneOwner,
    /// A held path is never reported as free.
    HeldIsRefused,
    /// A contested path is taken only when the time is over, and not from a holder that gave a sign.
    OnlyFromTheSilent,
    /// Every error is a documented one, and every command answers.
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
    violations.extend(contests::check(&story, &holdings));
    let mail::Findings { violations: of_mail, pairs, watchers } = mail::check(&story, &holdings);
    violations.extend(of_mail);
    let [names, tasks, paths] = holdings.counts();
    let proven = Proven { names, tasks, paths, pairs, watchers };
    Verdict { violations, figures: Figures::of(&story, proven) }
}
