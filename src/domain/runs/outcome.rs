//! How a run is judged whose worker has ended: `done` is only what has a result and no error.

use super::state::RunState;

/// What is known of a worker that has ended by itself.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RunEvidence {
    pub result: Option<String>,
    /// The error that its harness reports.
    pub failure: Option<String>,
    /// Its last tool call, if that was refused for want of an answer.
    pub denied: Option<String>,
    /// Whether it changed a file; `None` if that is not known.
    pub has_changed: Option<bool>,
    /// Whether its profile is for changing files.
    pub is_to_write: bool,
}

/// The state of such a run, and a sentence if there is something to say.
pub fn judge_end(evidence: &RunEvidence) -> (RunState, Option<String>) {
    if let Some(failure) = &evidence.failure {
        return (RunState::Failed, Some(failure.clone()));
    }
    if let Some(denied) = &evidence.denied {
        let reason = format!("nobody allowed {denied}");
        return (RunState::Denied, Some(reason));
    }
    let result = evidence.result.as_deref().unwrap_or_default().trim();
    if result.is_empty() {
        return (RunState::Empty, Some("it ended without a result".to_string()));
    }
    if result.ends_with('?') && evidence.has_changed != Some(true) {
        return (RunState::Asks, Some("its last line is a question, and it changed nothing".to_string()));
    }
    let is_idle = evidence.is_to_write && evidence.has_changed == Some(false);
    (RunState::Done, is_idle.then(|| "it changed no file".to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(result: &str) -> RunEvidence {
        RunEvidence { result: Some(result.to_string()), has_changed: Some(false), ..RunEvidence::default() }
    }

    #[test]
    fn done_needs_a_result_and_no_error() {
        let state = |evidence: &RunEvidence| judge_end(evidence).0;
        assert_eq!(state(&evidence("It works.")), RunState::Done);
        assert_eq!(state(&evidence(" \n")), RunState::Empty);
        assert_eq!(state(&RunEvidence::default()), RunState::Empty);
        let failed = RunEvidence { failure: Some("no answer".into()), ..evidence("It works.") };
        assert_eq!(state(&failed), RunState::Failed);
        let denied =
            RunEvidence { denied: Some("`rm -r build`".into()), ..evidence("I was not allowed to.") };
        assert_eq!(judge_end(&denied), (RunState::Denied, Some("nobody allowed `rm -r build`".to_string())));
    }

    #[test]
    fn a_question_is_no_result_unless_something_was_done() {
        let asked = evidence("There are two ways.\nWhich one do you want?\n");
        assert_eq!(judge_end(&asked).0, RunState::Asks);
        assert_eq!(judge_end(&RunEvidence { has_changed: None, ..asked.clone() }).0, RunState::Asks);
        assert_eq!(judge_end(&RunEvidence { has_changed: Some(true), ..asked }).0, RunState::Done);
    }

    #[test]
    fn a_writer_that_changed_nothing_says_so() {
        let idle = RunEvidence { is_to_write: true, ..evidence("All done!") };
        assert_eq!(judge_end(&idle), (RunState::Done, Some("it changed no file".to_string())));
        assert_eq!(judge_end(&evidence("Read it.")).1, None);
    }
}
