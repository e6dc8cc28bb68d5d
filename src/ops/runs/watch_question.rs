//! The supervisor's view of the permission questions of its worker: takes them over into the run, tells whoever can
//! answer, and notices what became of them.

use jiff::Timestamp;

use crate::domain::Liveness;
use crate::domain::runs::{QuestionOutcome, RunParent, RunState};
use crate::store::{AskedQuestion, QuestionAnswer, StoreError};
use crate::sys::{clock, process};

use super::supervisor::Supervisor;
use super::telling;
use crate::ops::error::CommandError;
use crate::ops::runner::carry_out;

/// The questions of one worker.
#[derive(Debug)]
pub(super) struct QuestionWatch {
    /// The number of the next question.
    next: u32,
    open: Option<AskedQuestion>,
    /// Who is told next if nobody answers, and when.
    above: Option<(RunParent, Timestamp)>,
    /// The last question that nobody answered in time.
    pub(super) unanswered: Option<String>,
    /// Whether the last question was answered with no: a tool call that was refused by an answer.
    pub(super) is_last_denied: bool,
}

impl Default for QuestionWatch {
    fn default() -> Self {
        Self { next: 1, open: None, above: None, unanswered: None, is_last_denied: false }
    }
}

impl QuestionWatch {
    /// Looks whether a question was asked or answered. What can't be read or written now is looked at again: a worker must
    /// not end because of that. Only the record of the run itself has to be written.
    pub(super) fn look(&mut self, supervisor: &mut Supervisor<'_>) -> Result<(), CommandError> {
        match self.open.clone() {
            Some(asked) => self.look_for_answer(supervisor, &asked),
            None => self.look_for_question(supervisor),
        }
    }

    fn look_for_question(&mut self, supervisor: &mut Supervisor<'_>) -> Result<(), CommandError> {
        let (ledger, id) = (supervisor.mesh.runs(), supervisor.run.id.clone());
        let asked = match ledger.has_question(&id, self.next) {
            Ok(true) => ledger.question(&id, self.next),
            Ok(false) => return Ok(()),
            Err(error) => Err(error),
        };
        let asked = match asked {
            Ok(Some(asked)) => asked,
            Ok(None) => return Ok(()),
            Err(error @ StoreError::Corrupt { .. }) => {
                supervisor.op.warn(format!("a question can't be read: {error}"));
                if self.settle(supervisor, QuestionOutcome::Withdrawn, "it can't be read").is_some() {
                    self.next += 1;
                }
                return Ok(());
            }
            Err(error) => {
                tracing::debug!("whether run {id} asks something can't be read: {error}");
                return Ok(());
            }
        };
        if supervisor.run.state != RunState::Running {
            supervisor.set_state(RunState::Running)?;
        }
        supervisor.run.question = Some(asked.question.clone());
        supervisor.run.until = Some(asked.question.until);
        supervisor.set_state(RunState::Waiting)?;
        let parent = supervisor.run.parent.clone();
        self.open = Some(asked);
        self.tell(supervisor, &parent);
        Ok(())
    }

    fn look_for_answer(
        &mut self,
        supervisor: &mut Supervisor<'_>,
        asked: &AskedQuestion,
    ) -> Result<(), CommandError> {
        let (ledger, id) = (supervisor.mesh.runs(), supervisor.run.id.clone());
        let answer = match ledger.question_answer(&id, self.next) {
            Ok(answer) => answer,
            // The hook can't read it either, so it has no answer.
            Err(StoreError::Corrupt { .. }) => None,
            Err(error) => {
                tracing::debug!("the answer to run {id} can't be read: {error}");
                return Ok(());
            }
        };
        match answer {
            Some(answer) => self.close(supervisor, asked, answer.outcome),
            None if process::liveness(&asked.asker) == Liveness::Gone => {
                match self.settle(supervisor, QuestionOutcome::Withdrawn, "the hook that asked is gone") {
                    Some(outcome) => self.close(supervisor, asked, outcome),
                    None => Ok(()),
                }
            }
            None => {
                if let Some((above, _)) = self.above.take_if(|(_, at)| *at <= clock::now()) {
                    self.tell(supervisor, &above);
                }
                Ok(())
            }
        }
    }

    /// Tells the question, and arranges who is told next: a worker that does not answer in half of the time is not
    /// waited for.
    fn tell(&mut self, supervisor: &Supervisor<'_>, parent: &RunParent) {
        let Some(question) = &supervisor.run.question else { return };
        let told = telling::tell_question(supervisor.op, supervisor.mesh, &supervisor.run, parent);
        // Whoever looks at the run sees the question nevertheless.
        let above = told.unwrap_or_else(|error| {
            supervisor.op.warn(format!("the question of run {} was not told: {error}", supervisor.run.id));
            None
        });
        let now = clock::now();
        let half = now + question.until.duration_since(now) / 2;
        self.above = above.map(|above| (above, half));
        carry_out(supervisor.op);
    }

    fn close(
        &mut self,
        supervisor: &mut Supervisor<'_>,
        asked: &AskedQuestion,
        outcome: QuestionOutcome,
    ) -> Result<(), CommandError> {
        self.is_last_denied = outcome == QuestionOutcome::Denied;
        if outcome == QuestionOutcome::Unanswered {
            self.unanswered = Some(asked.question.line());
        }
        (self.open, self.above) = (None, None);
        self.next += 1;
        supervisor.run.question = None;
        supervisor.run.until = None;
        supervisor.set_state(RunState::Running)
    }

    /// The worker has ended: nobody waits for an answer any more.
    pub(super) fn end(&mut self, supervisor: &mut Supervisor<'_>) -> Result<(), CommandError> {
        self.look(supervisor)?;
        match self.open.clone() {
            Some(asked) => {
                let outcome = self.settle(supervisor, QuestionOutcome::Withdrawn, "the worker has ended");
                self.close(supervisor, &asked, outcome.unwrap_or(QuestionOutcome::Withdrawn))
            }
            None => Ok(()),
        }
    }

    /// Records what became of the question, and returns what counts; `None` if that can't be written now.
    fn settle(
        &self,
        supervisor: &Supervisor<'_>,
        outcome: QuestionOutcome,
        why: &str,
    ) -> Option<QuestionOutcome> {
        let answer = QuestionAnswer { outcome, by: why.to_string(), at: clock::now(), text: None };
        let id = &supervisor.run.id;
        match supervisor.mesh.runs().settle_question(id, self.next, &answer) {
            Ok((settled, _)) => Some(settled.outcome),
            Err(error) => {
                tracing::debug!("what became of a question of run {id} can't be written: {error}");
                None
            }
        }
    }
}
