//! What is wrong while the link is linked, part by part: each part goes on without the others.

use std::collections::BTreeMap;

use super::Linked;
use crate::ops::link::process::send_error::SendError;
use crate::ops::link::process::{Link, problem};
use crate::store::{LinkProblem, LinkStage};

/// A part of what the link does. The problem of the first one that has one is shown.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Part {
    /// The names, claims and paths of this machine.
    Records,
    Mail,
    Runs,
    /// The copy of what other machines have.
    Mirror,
    /// Watching directories for changes.
    Watch,
    /// What is not tried again at a known time. It is forgotten when the lease is renewed.
    Passing,
}

/// The problem of each part that has one.
#[derive(Debug, Default)]
pub(super) struct PartProblems(BTreeMap<Part, LinkProblem>);

impl PartProblems {
    fn set(&mut self, part: Part, problem: Option<LinkProblem>) {
        match problem {
            Some(problem) => drop(self.0.insert(part, problem)),
            None => drop(self.0.remove(&part)),
        }
    }

    /// The lease was renewed. Returns the problem that is shown now.
    pub(super) fn renew(&mut self) -> Option<LinkProblem> {
        self.set(Part::Passing, None);
        self.shown()
    }

    fn shown(&self) -> Option<LinkProblem> {
        self.0.values().next().cloned()
    }
}

impl Link<'_> {
    /// Notes how the part does, and shows it. What has failed is tried again.
    pub(super) fn note_part(&mut self, linked: &mut Linked, part: Part, done: Result<(), SendError>) {
        match done {
            Ok(()) => linked.problems.set(part, None),
            // That there is no connection is a problem of its own.
            Err(SendError::Server(_)) if !linked.nats.is_connected() => {}
            Err(SendError::Server(error)) => {
                linked.problems.set(part, Some(problem::of(&error, &self.config)));
            }
            Err(SendError::Local(error)) => linked.problems.set(part, Some(problem::local(error))),
        }
        let shown = linked.problems.shown();
        // Why it is not linked is more important than that a part is in order again.
        let is_shown = self.state.stage == LinkStage::Linked || shown.is_some();
        if is_shown && self.state.problem != shown {
            self.set_stage(self.state.stage, shown);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_is_in_order_hides_no_problem_of_another() {
        let problem =
            |kind: &str| Some(LinkProblem { kind: kind.to_string(), text: String::new(), hints: Vec::new() });
        let mut problems = PartProblems::default();
        problems.set(Part::Passing, problem("passing"));
        problems.set(Part::Runs, problem("runs"));
        problems.set(Part::Records, problem("records"));
        assert_eq!(problems.shown(), problem("records"));
        problems.set(Part::Records, None);
        problems.set(Part::Mail, None);
        assert_eq!(problems.shown(), problem("runs"));
        problems.set(Part::Runs, None);
        assert_eq!(problems.shown(), problem("passing"));
        assert_eq!(problems.renew(), None);
    }
}
