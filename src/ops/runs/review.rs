//! The review of what a run did, by the profile that its own profile names: a run of its own that only reads, between the
//! end of the worker and the end of the reviewed run.

use std::path::PathBuf;
use std::time::Duration;

use crossbeam_channel::{after, never, select};

use crate::domain::runs::{ReviewOutcome, RunId, RunReview, RunState};
use crate::store::{ReviewOrder, WatchTarget};
use crate::sys::clock;
use crate::sys::git::run_tree::DiffColour;

use super::list::as_it_is;
use super::review_outcome::review_outcome;
use super::review_task::{ReviewFacts, ReviewedChanges, review_task};
use super::start::{NewRun, start};
use super::supervisor::Supervisor;
use crate::ops::error::{CommandError, CommandErrorKind};

/// How often to look although nothing changed: no file reports a death.
const TICK: Duration = Duration::from_secs(1);

impl Supervisor<'_> {
    /// Lets the work be reviewed, if the profile says so. The run goes on meanwhile, and whatever happens to the review,
    /// its work is done.
    pub(super) fn review(&mut self) {
        if let Some(review) = self.review_of_earlier() {
            self.run.review = Some(review);
            return;
        }
        let review = match self.order.review.clone() {
            None => return,
            Some(ReviewOrder::Impossible { profile, why }) => {
                RunReview { profile, run: None, outcome: ReviewOutcome::missing(why) }
            }
            Some(ReviewOrder::Planned { profile, harness, version, order }) => {
                let new = NewRun {
                    asked: None,
                    task: self.task_of_review(),
                    profile,
                    harness,
                    version,
                    root: PathBuf::from(&self.run.root),
                    earlier: None,
                    reviews: Some(self.run.id.clone()),
                    order: *order,
                };
                self.review_by(new)
            }
        };
        self.run.review = Some(review);
        self.run.doing = None;
    }

    /// The verdict on the same work that was given to the run which this one takes over from.
    fn review_of_earlier(&self) -> Option<RunReview> {
        let earlier = self.run.earlier.as_ref().filter(|_| {
            let crew = self.order.crew.as_ref();
            crew.is_some_and(|crew| crew.is_worked)
        })?;
        let run = as_it_is(self.mesh, self.mesh.runs().get(earlier.id()).ok().flatten()?);
        run.review.filter(|review| matches!(review.outcome, ReviewOutcome::Given(_)))
    }

    /// Starts the reviewer, and waits for its end.
    fn review_by(&mut self, new: NewRun) -> RunReview {
        let profile = new.profile.clone();
        let pending = ReviewOutcome::Pending { since: clock::now() };
        let mut review = RunReview { profile: profile.clone(), run: None, outcome: pending };
        let missing = |error: CommandError| ReviewOutcome::missing(error.message);
        self.note_review(&review, format!("waiting for {profile} to review its work"));
        match start(self.op, new) {
            Err(error) => review.outcome = missing(error),
            Ok(started) => {
                review.run = Some(started.id.clone());
                let doing = format!("waiting for {profile} to review its work (run {})", started.id);
                self.note_review(&review, doing);
                review.outcome = self.outcome_of(&started.id).unwrap_or_else(missing);
            }
        }
        review
    }

    /// Writes down that the work is done and its review is not: whoever finds us dead does not let it be done again. What
    /// the worker used is known from then on, so that no more is granted than is left.
    fn note_review(&mut self, review: &RunReview, doing: String) {
        self.run.review = Some(review.clone());
        self.run.until = None;
        (self.run.question, self.run.dialog) = (None, None);
        self.run.doing = Some(doing);
        let noted = match self.run.state.may_become(RunState::Running) {
            true => self.set_state(RunState::Running),
            false => self.mesh.runs().put(&self.run).map_err(CommandError::from),
        };
        if let Err(error) = noted {
            let text = format!("that run {} is being reviewed could not be written: {error}", self.run.id);
            self.op.warn(text);
        }
    }

    /// Waits for the end of that review. If this run is to stop, so is the review.
    fn outcome_of(&self, id: &RunId) -> Result<ReviewOutcome, CommandError> {
        let gone = || CommandError::new(CommandErrorKind::UnknownRun, format!("run {id} is gone"));
        let ledger = self.mesh.runs();
        // Without a watch it looks every second.
        let watch = self.mesh.watch(WatchTarget::Run(id))?.ok();
        let own = self.mesh.watch(WatchTarget::Run(&self.run.id))?.ok();
        let mut passed_on = None;
        loop {
            let run = as_it_is(self.mesh, ledger.get(id)?.ok_or_else(gone)?);
            if run.state.is_final() {
                return review_outcome(self.mesh, &run);
            }
            // A second request may be more urgent.
            let order = ledger.stop_order(&self.run.id)?;
            if let Some(order) = order.filter(|order| passed_on.as_ref() != Some(order)) {
                ledger.ask_to_stop(id, &order)?;
                passed_on = Some(order);
            }
            let hints =
                [&watch, &own].map(|watch| watch.as_ref().map_or_else(never, |it| it.hints().clone()));
            select! {
                recv(hints[0]) -> _ => {}
                recv(hints[1]) -> _ => {}
                recv(after(TICK)) -> _ => {}
            }
        }
    }

    /// What the reviewer is told.
    fn task_of_review(&self) -> String {
        let changes = self.changes_since_review().unwrap_or_else(|| self.reviewed_changes());
        let facts = ReviewFacts::of_run(self.mesh, &self.run, changes);
        review_task(&ReviewFacts { planned: self.planned_work(), ..facts })
    }

    fn reviewed_changes(&self) -> ReviewedChanges {
        let Some(work) = &self.work else { return ReviewedChanges::InPlace };
        match work.tree.diff_text(DiffColour::Never) {
            Err(error) => ReviewedChanges::Unknown(error.to_string()),
            Ok(diff) => match String::from_utf8_lossy(&diff).into_owned() {
                diff if diff.trim().is_empty() => ReviewedChanges::Nothing,
                text => ReviewedChanges::Diff { run: self.run.id.clone(), text },
            },
        }
    }
}
