//! How a task was proven: what was said, what was run and what hooks saw when it was completed.

use jiff::Timestamp;

/// What is recorded with a completion.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TaskEvidence {
    /// What whoever completed it said.
    pub text: Option<String>,
    /// The run of the commands of its `verify:` lines, if there was one.
    pub verified: Option<VerifyRun>,
    /// The commit of `HEAD` at that time.
    pub commit: Option<String>,
    /// When the commands were started; without any, when the task was completed.
    pub at: Timestamp,
    /// What hooks saw while the task was claimed.
    pub seen: SeenWork,
}

/// A run of the commands of `verify:` lines, made by `msg complete --verify`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct VerifyRun {
    /// One command a line.
    pub command: String,
    pub exit_code: i32,
    /// The last lines of the output.
    pub tail: String,
}

/// The last test run and the last edit of an agent that its hooks reported.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct SeenWork {
    pub test: Option<SeenTest>,
    pub edited_at: Option<Timestamp>,
}

/// A test run whose outcome is known.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SeenTest {
    /// Short form: `cargo test`.
    pub command: String,
    pub has_passed: bool,
    pub at: Timestamp,
}

impl SeenWork {
    /// Adds what was seen later, or at the same time.
    pub fn add(&mut self, later: Self) {
        self.test = later.test.or(self.test.take());
        self.edited_at = later.edited_at.or(self.edited_at);
    }

    /// What was seen at that time or later.
    #[must_use]
    pub fn since(self, start: Timestamp) -> Self {
        Self {
            test: self.test.filter(|test| test.at >= start),
            edited_at: self.edited_at.filter(|at| *at >= start),
        }
    }
}

/// How well it is proven that a task is done.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TaskProof {
    /// Tests passed, and no edit was seen since.
    Proven,
    /// Tests passed, and an edit was seen since.
    Stale { tested: Timestamp, edited: Timestamp },
    /// No test run that passed is known, or the last one failed.
    Said,
}

impl TaskProof {
    /// What the evidence proves. `edited_later` is the last edit that was seen after the completion.
    ///
    /// The last test run whose outcome is known decides. An edit at the same time as a test run counts as later: which
    /// of them was first is not known.
    pub fn of(evidence: Option<&TaskEvidence>, edited_later: Option<Timestamp>) -> Self {
        let Some(evidence) = evidence else { return Self::Said };
        let verified = evidence.verified.as_ref().map(|run| (evidence.at, run.exit_code == 0));
        let seen = evidence.seen.test.as_ref().map(|test| (test.at, test.has_passed));
        let Some((tested, true)) = verified.into_iter().chain(seen).max_by_key(|(at, _)| *at) else {
            return Self::Said;
        };
        match evidence.seen.edited_at.max(edited_later).filter(|edited| *edited >= tested) {
            Some(edited) => Self::Stale { tested, edited },
            None => Self::Proven,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Proven => "proven",
            Self::Stale { .. } => "stale",
            Self::Said => "said",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_794_700_000 + second).unwrap()
    }

    fn test(second: i64, has_passed: bool) -> Option<SeenTest> {
        Some(SeenTest { command: "cargo test".to_string(), has_passed, at: at(second) })
    }

    fn evidence(verified: Option<i32>, test: Option<SeenTest>, edited: Option<i64>) -> TaskEvidence {
        TaskEvidence {
            text: None,
            verified: verified.map(|exit_code| VerifyRun {
                command: "make test".to_string(),
                exit_code,
                tail: String::new(),
            }),
            commit: None,
            at: at(100),
            seen: SeenWork { test, edited_at: edited.map(at) },
        }
    }

    #[test]
    fn the_last_known_test_run_and_the_last_edit_decide() {
        let stale = |tested, edited| TaskProof::Stale { tested: at(tested), edited: at(edited) };
        for (verified, test, edited, later, expected) in [
            (None, None, None, None, TaskProof::Said),
            (None, None, Some(50), None, TaskProof::Said),
            (Some(0), None, None, None, TaskProof::Proven),
            (Some(0), None, Some(99), None, TaskProof::Proven),
            (Some(0), None, Some(100), None, stale(100, 100)),
            (Some(0), None, Some(50), Some(130), stale(100, 130)),
            (Some(1), None, None, None, TaskProof::Said),
            (Some(0), test(50, false), Some(40), None, TaskProof::Proven),
            (Some(0), test(101, false), None, None, TaskProof::Said),
            (None, test(50, true), Some(40), None, TaskProof::Proven),
            (None, test(50, true), Some(60), None, stale(50, 60)),
            (None, test(50, true), None, Some(110), stale(50, 110)),
            (None, test(50, false), None, None, TaskProof::Said),
        ] {
            let evidence = evidence(verified, test, edited);
            assert_eq!(TaskProof::of(Some(&evidence), later.map(at)), expected, "{evidence:?} {later:?}");
        }
        assert_eq!(TaskProof::of(None, Some(at(1))), TaskProof::Said);
    }

    #[test]
    fn what_was_seen_adds_up() {
        let mut seen = SeenWork { test: test(1, true), edited_at: Some(at(2)) };
        seen.add(SeenWork { test: None, edited_at: Some(at(3)) });
        assert_eq!(seen, SeenWork { test: test(1, true), edited_at: Some(at(3)) });
        seen.add(SeenWork { test: test(4, false), edited_at: None });
        assert_eq!(seen.clone().since(at(4)), SeenWork { test: test(4, false), edited_at: None });
        assert_eq!(seen.since(at(5)), SeenWork::default());
    }
}
