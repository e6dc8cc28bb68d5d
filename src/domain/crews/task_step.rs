//! What comes next for a task of a crew, decided from the runs that there were for it. Nothing else is remembered, so
//! whoever starts the crew again comes to the same decision.

use crate::domain::runs::{
    CrewEnd, CrewTest, ReviewFinding, ReviewOutcome, ReviewVerdict, Run, RunId, RunState,
};

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
    /// It conflicts with what others did, in these files. Of the unmarked ones both sides are beside.
    Conflict { files: Vec<String>, unmarked: Vec<String> },
    /// It was right apart, and is not together with what others did.
    RedTogether(CrewTest),
}

/// What comes next for a task with these runs, the oldest first. `is_new` tells of a run whether it has ended since this
/// crew was started. Only those count for how often something was tried: whoever starts the crew again wants it to be
/// tried again.
pub fn next_step(runs: &[Run], is_new: impl Fn(&Run) -> bool) -> TaskStep {
    let Some(last) = runs.last() else { return TaskStep::Begin };
    let id = last.id.clone();
    if !last.state.is_final() {
        return TaskStep::Follow(id);
    }
    let again = |why: AgainReason| TaskStep::Again { after: id.clone(), why };
    let part = last.crew.as_ref();
    let is_worked = part.is_some_and(|part| part.is_worked);
    let Outcome { step, kind, blocked } = match (last.state, part.and_then(|part| part.end.as_ref())) {
        (_, Some(CrewEnd::Merged { .. })) => return TaskStep::Merged(id),
        (RunState::Stopped, _) if is_new(last) => {
            let reason = last.reason.clone();
            return TaskStep::Blocked(reason.unwrap_or_else(|| "it was stopped".to_string()));
        }
        (_, None) if is_worked => Outcome {
            step: TaskStep::Finish(id.clone()),
            kind: Kind::Unfinished,
            blocked: format!("what follows on its work was cut short, or failed{}", reason_of(last)),
        },
        (RunState::Interrupted | RunState::Stopped, _) => Outcome {
            step: again(AgainReason::GoOn),
            kind: Kind::CutShort,
            blocked: format!("its runs were cut short{}", reason_of(last)),
        },
        (_, Some(end)) => after_end(last, end, &again),
        (state, None) => {
            let how = format!("{}{}", state.name().replace('_', " "), reason_of(last));
            Outcome {
                step: again(AgainReason::Failed(how.clone())),
                kind: Kind::Failed,
                blocked: format!("its runs failed; the last one ended as {how}"),
            }
        }
    };
    let count = runs.iter().filter(|run| kind.is_of(run) && is_new(run)).count();
    if count > kind.most() { TaskStep::Blocked(blocked) } else { step }
}

/// What a run comes to: what is done about it, unless it was done too often.
struct Outcome {
    step: TaskStep,
    kind: Kind,
    blocked: String,
}

/// What work did not get through.
#[derive(Clone, Copy)]
enum Kind {
    Failed,
    CutShort,
    Unfinished,
    Unproven,
    NotShipped,
    InTheWay,
    GivenAway,
    /// A person has to look at it before it is tried again.
    ForPerson,
}

impl Kind {
    /// How often that may happen before the task is blocked.
    fn most(self) -> usize {
        match self {
            Self::Failed | Self::Unproven | Self::NotShipped => 2,
            Self::InTheWay => 3,
            Self::CutShort | Self::Unfinished | Self::GivenAway => 5,
            Self::ForPerson => 0,
        }
    }

    fn is_of(self, run: &Run) -> bool {
        let part = run.crew.as_ref();
        let end = part.and_then(|part| part.end.as_ref());
        let is_cut_short = matches!(run.state, RunState::Interrupted | RunState::Stopped);
        match self {
            Self::Failed => {
                end.is_none() && run.state.is_final() && run.state != RunState::Done && !is_cut_short
            }
            Self::CutShort => end.is_none() && is_cut_short,
            Self::Unfinished => end.is_none() && part.is_some_and(|part| part.is_worked),
            Self::Unproven => matches!(end, Some(CrewEnd::Unproven(_) | CrewEnd::Nothing)),
            Self::NotShipped => matches!(end, Some(CrewEnd::NotShipped)),
            Self::InTheWay => matches!(end, Some(CrewEnd::Conflict(_) | CrewEnd::RedTogether(_))),
            Self::GivenAway => matches!(end, Some(CrewEnd::GivenAway(_))),
            Self::ForPerson => matches!(end, Some(CrewEnd::NotShipped | CrewEnd::Stuck(_))),
        }
    }
}

fn after_end(last: &Run, end: &CrewEnd, again: &dyn Fn(AgainReason) -> TaskStep) -> Outcome {
    let finish = || TaskStep::Finish(last.id.clone());
    match end {
        CrewEnd::Merged { .. } => {
            Outcome { step: TaskStep::Merged(last.id.clone()), kind: Kind::ForPerson, blocked: String::new() }
        }
        CrewEnd::Unproven(test) => Outcome {
            step: again(AgainReason::Unproven(test.clone())),
            kind: Kind::Unproven,
            blocked: format!("`{}` ended with {} each time", test.command, test.how),
        },
        CrewEnd::Nothing => {
            let text = "it changed nothing, and nothing proves that the task was done already";
            let step = again(AgainReason::Failed(text.to_string()));
            Outcome { step, kind: Kind::Unproven, blocked: text.to_string() }
        }
        CrewEnd::RedTogether(test) => Outcome {
            step: again(AgainReason::RedTogether(test.clone())),
            kind: Kind::InTheWay,
            blocked: format!("together with what others did, `{}` ends with {}", test.command, test.how),
        },
        CrewEnd::Conflict(files) => Outcome {
            step: again(AgainReason::Conflict { files: files.clone(), unmarked: Vec::new() }),
            kind: Kind::InTheWay,
            blocked: format!("it conflicts with what others did, in {}", files.join(", ")),
        },
        // Whoever has the task now may complete it or give it back. Until then the task is held.
        CrewEnd::GivenAway(why) => Outcome { step: finish(), kind: Kind::GivenAway, blocked: why.clone() },
        // The work is there, and what was in the way may be gone.
        CrewEnd::Stuck(why) => Outcome { step: finish(), kind: Kind::ForPerson, blocked: why.clone() },
        CrewEnd::NotShipped => after_review(last, again),
    }
}

fn after_review(last: &Run, again: &dyn Fn(AgainReason) -> TaskStep) -> Outcome {
    let finish = TaskStep::Finish(last.id.clone());
    match last.review.as_ref().map(|review| &review.outcome) {
        Some(ReviewOutcome::Given(review)) => {
            let first = review.findings.first().map(|finding| format!(": {}", finding.sentence()));
            let first = first.unwrap_or_default();
            let (kind, blocked) = match review.verdict {
                ReviewVerdict::Rework => {
                    (Kind::NotShipped, format!("the reviewer asked for rework each time{first}"))
                }
                _ => (Kind::ForPerson, format!("the reviewer says that the task itself is wrong{first}")),
            };
            Outcome { step: again(AgainReason::Rework(review.findings.clone())), kind, blocked }
        }
        Some(ReviewOutcome::Missing(why)) => Outcome {
            step: finish,
            kind: Kind::ForPerson,
            blocked: format!("there is no review of it: {why}"),
        },
        _ => Outcome { step: finish, kind: Kind::ForPerson, blocked: "there is no review of it".to_string() },
    }
}

fn reason_of(run: &Run) -> String {
    run.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::runs::{CrewPart, Review, RunReview};

    fn run(state: RunState, is_worked: bool, end: Option<CrewEnd>) -> Run {
        let crew = Some(CrewPart { crew: "plan".to_string(), is_worked, proven: None, end });
        Run { state, crew, ..Run::queued(RunId::from_random(7)) }
    }

    fn reviewed(verdict: ReviewVerdict) -> Run {
        let outcome = ReviewOutcome::Given(Review { verdict, findings: Vec::new() });
        let review = Some(RunReview { profile: "judge".to_string(), run: None, outcome });
        Run { review, ..run(RunState::Done, true, Some(CrewEnd::NotShipped)) }
    }

    fn test() -> CrewTest {
        let (command, how) = ("make".to_string(), "exit code 1".to_string());
        CrewTest { command, how, exit_code: Some(1), tail: String::new() }
    }

    /// In a word.
    fn step(runs: &[Run], is_new: bool) -> &'static str {
        match next_step(runs, |_| is_new) {
            TaskStep::Begin => "begin",
            TaskStep::Follow(_) => "follow",
            TaskStep::Finish(_) => "finish",
            TaskStep::Again { why: AgainReason::GoOn, .. } => "go on",
            TaskStep::Again { .. } => "again",
            TaskStep::Merged(_) => "merged",
            TaskStep::Blocked(_) => "blocked",
        }
    }

    #[test]
    fn what_comes_next_follows_from_the_last_run() {
        let merged = CrewEnd::Merged { commit: None, proof: None };
        assert_eq!(step(&[], true), "begin");
        for (last, expected) in [
            (run(RunState::Running, false, None), "follow"),
            (run(RunState::Done, true, Some(merged)), "merged"),
            (run(RunState::Interrupted, false, None), "go on"),
            (run(RunState::Interrupted, true, None), "finish"),
            (run(RunState::Failed, true, None), "finish"),
            (run(RunState::Done, true, None), "finish"),
            (run(RunState::Failed, false, None), "again"),
            (run(RunState::Done, true, Some(CrewEnd::Unproven(test()))), "again"),
            (run(RunState::Done, true, Some(CrewEnd::Conflict(Vec::new()))), "again"),
            (run(RunState::Done, true, Some(CrewEnd::Stuck(String::new()))), "blocked"),
            (run(RunState::Stopped, false, None), "blocked"),
            (reviewed(ReviewVerdict::Rework), "again"),
            (reviewed(ReviewVerdict::Replan), "blocked"),
        ] {
            assert_eq!(step(std::slice::from_ref(&last), true), expected, "{last:?}");
        }
    }

    #[test]
    fn what_is_tried_too_often_is_blocked_until_somebody_starts_the_crew_again() {
        let unproven = run(RunState::Done, true, Some(CrewEnd::Unproven(test())));
        let stopped = run(RunState::Stopped, false, None);
        let given_away = run(RunState::Done, true, Some(CrewEnd::GivenAway(String::new())));
        for (runs, now, later) in [
            (vec![unproven.clone(); 2], "again", "again"),
            (vec![unproven; 3], "blocked", "again"),
            (vec![reviewed(ReviewVerdict::Rework); 3], "blocked", "again"),
            (vec![reviewed(ReviewVerdict::Replan)], "blocked", "again"),
            (vec![run(RunState::Failed, false, None); 3], "blocked", "again"),
            (vec![run(RunState::Interrupted, true, None); 6], "blocked", "finish"),
            (vec![run(RunState::Interrupted, false, None); 6], "blocked", "go on"),
            (vec![stopped], "blocked", "go on"),
            (vec![given_away.clone()], "finish", "finish"),
            (vec![given_away; 6], "blocked", "finish"),
        ] {
            assert_eq!((step(&runs, true), step(&runs, false)), (now, later), "{runs:?}");
        }
    }
}
