//! Reads a history and proves that the promises were kept, or names a broken promise and the lines that prove it. It
//! is a pure function of what the participants recorded.
//!
//! Doubt never counts against the program. Something is *held* from the answer that granted it until the first attempt
//! of anything that could end it, and only while the machine certainly had its lease: between two renewals of which the
//! second replaced the first. The server's own order of its records decides what was certain there, and not our clock.

mod errors;
mod figures;
mod holdings;
mod mail;
mod records;
mod story;
mod tasks;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::history::Line;

pub use figures::{Figures, Proven};
use holdings::Holdings;
use records::Records;
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
    /// An accepted message is handed over, or is still somewhere, or its sender knows that it was refused.
    NothingIsLost,
    /// A message is handed over once, unless a reader was killed.
    HandedOverOnce,
    /// One sender's messages reach one recipient in the order of sending.
    OrderIsKept,
    /// A name, a task and a path have one owner over all machines.
    OneOwner,
    /// A record is taken only from an owner whose lease is over.
    RecordsAreFenced,
    /// Whoever lost a task does not complete it.
    LosersCompleteNothing,
    /// A task is completed once, until it is opened again.
    CompletedOnce,
    /// In the end, the records of dead agents are gone.
    DeadOwnNothing,
    /// When nothing is in their way, the links settle.
    ComesToRest,
    /// Every error is a documented one, and every command answers.
    EverythingAnswers,
}

#[derive(Clone, Debug)]
pub struct Verdict {
    pub violations: Vec<Violation>,
    pub figures: Figures,
}

pub fn check(lines: &[Line]) -> Verdict {
    let story = Story::of(lines);
    let records = Records::of(&story);
    let holdings = Holdings::of(&story, &records);
    let mut violations = errors::check(&story);
    let records::Findings { violations: of_records, takeovers, leases } = records.check();
    violations.extend(of_records);
    violations.extend(records.owned_by_dead(&story));
    violations.extend(holdings.check());
    let (of_tasks, completions) = tasks::check(&story, &holdings);
    violations.extend(of_tasks);
    let mail::Findings { violations: of_mail, pairs, astray } = mail::check(&story, &holdings);
    violations.extend(of_mail);
    let [names, tasks, paths] = holdings.counts();
    let proven = Proven { names, tasks, paths, pairs, astray, completions, takeovers, leases };
    Verdict { violations, figures: Figures::of(&story, proven) }
}
