//! What comes next for a task of a crew, decided from the runs that there were for it. Nothing else is remembered, so
//! whoever starts the crew again comes to the same decision.

use crate::domain::runs::{
    CrewEnd, CrewTest, ReviewFinding, ReviewOutcome, ReviewVerdict, Run, RunId, RunState,
};

/// How often a worker is sent back for each kind of reason, before the task is blocked.
const MOST_REWORKS: usize = 2;
const MOST_UNPROVEN: usize = 2;
const MOST_CONFLICTS: usize = 3;
const MOST_FAILURES: usize = 2;

/// What comes next.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum TaskStep {
    /// A first run.
    Begin,
    /// A run of it goes on.
    Follow(RunId),
    /// Its worker was done when the supervisor died: only what comes after is missing.
    Finish(RunId),
    /// Another run, with what that one left.
    Again { after: RunId, why: AgainReason },
    /// It is on the branch.
    Merged(RunId),
    /// A person has to look at it.
    Blocked(String),
}

/// Why there is another run, as its worker is told.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum AgainReason {
    /// It was cut short or stopped.
    GoOn,
    /// It ended so, for this reason.
    Failed(String),
    /// The commands that prove the task failed.
    Unproven(CrewTest),
    /// A reviewer found this.
    Rework(Vec<ReviewFinding>),
    /// It conflicts with what others did, in these files.
    Conflict(Vec<String>),
    /// It was right apart, and is not together with what others did.
    RedTogether(CrewTest),
}

/// What comes next for a task with these runs, the oldest first. `is_new` tells of a run whether it has ended since this
/// crew was started: one that somebody stopped meanwhile stays stopped.
pub fn next_step(runs: &[Run], is_new: impl Fn(&Run) -> bool) -> TaskStep {
    let Some(last) = runs.last() else { return TaskStep::Begin };
    let id = last.id.clone();
    if !last.state.is_final() {
        return TaskStep::Follow(id);
    }
    let part = last.crew.as_ref();
    let end = part.and_then(|part| part.end.as_ref());
    let again = |why: AgainReason, most: usize, is_such: &dyn Fn(&Run) -> bool, blocked: String| match runs
        .iter()
        .filter(|run| is_such(run))
        .count()
        > most
    {
        true => TaskStep::Blocked(blocked),
        false => TaskStep::Again { after: id.clone(), why },
    };
    match (last.state, end) {
        (_, Some(CrewEnd::Merged { .. })) => TaskStep::Merged(id),
        (RunState::Stopped, _) if is_new(last) => {
            TaskStep::Blocked(last.reason.clone().unwrap_or_else(|| "it was stopped".to_string()))
        }
        (RunState::Done | RunState::Interrupted | RunState::Stopped, None)
            if part.is_some_and(|part| part.is_worked) =>
        {
            TaskStep::Finish(id)
        }
        (RunState::Interrupted | RunState::Stopped, _) => {
            TaskStep::Again { after: id, why: AgainReason::GoOn }
        }
        (RunState::Done, Some(CrewEnd::Unproven(test))) => again(
            AgainReason::Unproven(test.clone()),
            MOST_UNPROVEN,
            &|run| matches!(end_of(run), Some(CrewEnd::Unproven(_))),
            format!("`{}` ended with {} each time", test.command, test.how),
        ),
        (RunState::Done, Some(CrewEnd::RedTogether(test))) => again(
            AgainReason::RedTogether(test.clone()),
            MOST_CONFLICTS,
            &is_in_the_way,
            format!("together with what others did, `{}` ends with {}", test.command, test.how),
        ),
        (RunState::Done, Some(CrewEnd::Conflict(files))) => again(
            AgainReason::Conflict(files.clone()),
            MOST_CONFLICTS,
            &is_in_the_way,
            format!("it conflicts with what others did, in {}", files.join(", ")),
        ),
        (RunState::Done, Some(CrewEnd::NotShipped)) => after_review(last, again),
        (_, Some(CrewEnd::GivenAway(why) | CrewEnd::Stuck(why))) => TaskStep::Blocked(why.clone()),
        (state, _) => {
            let reason = last.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
            let how = format!("{}{reason}", state.name().replace('_', " "));
            again(
                AgainReason::Failed(how.clone()),
                MOST_FAILURES,
                &|run| {
                    run.state.is_final()
                        && !matches!(run.state, RunState::Done | RunState::Interrupted | RunState::Stopped)
                },
                format!("its runs failed; the last one ended as {how}"),
            )
        }
    }
}

type Again<'a> = dyn Fn(AgainReason, usize, &dyn Fn(&Run) -> bool, String) -> TaskStep + 'a;

fn after_review(
    last: &Run,
    again: impl Fn(AgainReason, usize, &dyn Fn(&Run) -> bool, String) -> TaskStep,
) -> TaskStep {
    let again: &Again<'_> = &again;
    let outcome = last.review.as_ref().map(|review| &review.outcome);
    match outcome {
        Some(ReviewOutcome::Given(review)) if review.verdict == ReviewVerdict::Rework => {
            let first = review.findings.first().map(ReviewFinding::sentence).unwrap_or_default();
            let is_rework = |run: &Run| matches!(end_of(run), Some(CrewEnd::NotShipped));
            let blocked = format!("the reviewer asked for rework each time: {first}");
            again(AgainReason::Rework(review.findings.clone()), MOST_REWORKS, &is_rework, blocked)
        }
        Some(ReviewOutcome::Given(review)) => {
            let first = review.findings.first().map(ReviewFinding::sentence);
            TaskStep::Blocked(match first {
                Some(first) => format!("the reviewer says that the task itself is wrong: {first}"),
                None => "the reviewer says that the task itself is wrong".to_string(),
            })
        }
        Some(ReviewOutcome::Missing(why)) => TaskStep::Blocked(format!("there is no review of it: {why}")),
        _ => TaskStep::Blocked("there is no review of it".to_string()),
    }
}

fn end_of(run: &Run) -> Option<&CrewEnd> {
    run.crew.as_ref()?.end.as_ref()
}

fn is_in_the_way(run: &Run) -> bool {
    matches!(end_of(run), Some(CrewEnd::Conflict(_) | CrewEnd::RedTogether(_)))
}
