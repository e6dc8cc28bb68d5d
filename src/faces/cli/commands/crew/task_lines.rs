//! A task of a crew on a line, for `msg crew work` and `msg crew status`. At a terminal a line is as wide as that, and why a
//! task needs a person is on lines of its own; in a pipe everything is on one line.

use unicode_width::UnicodeWidthStr;

use crate::domain::escape_invisible_line;
use crate::domain::runs::{CrewEnd, ReviewOutcome, Run, RunState};
use crate::faces::cli::commands::run::{took, used};
use crate::faces::cli::progress_block::{cut, wrap};
use crate::faces::json::crew::end_reason;
use crate::ops::crew::{CrewTask, CrewTaskState};
use crate::ops::runs::tell::is_waiting;
use crate::sys::clock;

/// How long a title may be, and how much of it is shown if there is little room.
const LONGEST_TITLE: usize = 48;
const SHORTEST_TITLE: usize = 14;
/// How wide the column of the ids may be.
const IDS: std::ops::RangeInclusive<usize> = 4..=14;

/// How the lines of a crew's tasks look.
pub(super) struct TaskLines {
    /// The width of the column of the ids.
    ids: usize,
    /// `None`: in a pipe.
    width: Option<usize>,
}

impl TaskLines {
    /// `terminal` is the width of the terminal; `None`: they go to a pipe.
    pub(super) fn of(tasks: &[CrewTask], terminal: Option<usize>) -> Self {
        let ids = tasks.iter().map(|task| task.spec.id.width()).max().unwrap_or_default();
        let width = terminal.map(|width| width.saturating_sub(1));
        Self { ids: ids.clamp(*IDS.start(), *IDS.end()), width }
    }

    /// A task, with why it needs a person.
    pub(super) fn lines(&self, task: &CrewTask) -> Vec<String> {
        let why = reason(task).map(escape_invisible_line);
        match (why, self.width) {
            (None, _) => vec![self.line(task)],
            (Some(why), None) => vec![format!("{} · {why}", self.line(task))],
            (Some(why), Some(width)) => {
                let indent = " ".repeat(self.ids + 2);
                let why = wrap(&why, width.saturating_sub(indent.len()));
                let why = why.into_iter().map(|row| format!("{indent}{row}"));
                std::iter::once(self.line(task)).chain(why).collect()
            }
        }
    }

    /// A task on one line. What does not fit is taken from its title first.
    pub(super) fn line(&self, task: &CrewTask) -> String {
        let id = escape_invisible_line(&task.spec.id);
        let start = format!("{id:<ids$}  {:<7}  ", state(task), ids = self.ids);
        let facts = Self::facts(task).iter().map(|fact| format!(" · {fact}")).collect::<String>();
        let room = self.width.map_or(LONGEST_TITLE, |width| {
            width.saturating_sub(start.width() + facts.width()).clamp(SHORTEST_TITLE, LONGEST_TITLE)
        });
        let line = format!("{start}{}{facts}", cut(&escape_invisible_line(&task.spec.title), room));
        self.width.map_or_else(|| line.clone(), |width| cut(&line, width))
    }

    fn facts(task: &CrewTask) -> Vec<String> {
        let mut facts = Vec::new();
        match &task.state {
            CrewTaskState::Live => {
                facts.extend(attempt(task));
                if let Some(run) = task.runs.last() {
                    facts.push(took(run, clock::now()));
                    facts.extend(used(run));
                    facts.extend(doing(run));
                    facts.push(run.profile.clone());
                }
            }
            CrewTaskState::Done => {
                facts.extend(task.commit().map(|commit| commit.chars().take(10).collect()));
                if task.runs.len() > 1 {
                    facts.push(format!("{} attempts", task.runs.len()));
                }
            }
            CrewTaskState::Waiting(needs) => {
                facts.push(escape_invisible_line(&format!("needs {}", needs.join(", "))));
            }
            CrewTaskState::Blocked(why) if is_stopped(task) => {
                facts.push(escape_invisible_line(why.trim_start_matches("stopped ")));
            }
            CrewTaskState::Ready | CrewTaskState::Held(_) | CrewTaskState::Blocked(_) => {}
        }
        facts
    }
}

/// Which attempt it is, and what became of the one before: `attempt 2 (unproven)`.
fn attempt(task: &CrewTask) -> Option<String> {
    let before = before(task)?;
    let end = before.crew.as_ref().and_then(|part| part.end.as_ref());
    Some(format!("attempt {} ({})", task.runs.len(), word(before, end)))
}

/// What became of the attempt before, in a sentence.
pub(super) fn why_again(task: &CrewTask) -> Option<String> {
    let before = before(task)?;
    let end = before.crew.as_ref().and_then(|part| part.end.as_ref());
    end.and_then(end_reason).or_else(|| before.reason.clone()).map(|why| escape_invisible_line(&why))
}

fn before(task: &CrewTask) -> Option<&Run> {
    let [.., before, _] = task.runs.as_slice() else { return None };
    Some(before)
}

/// Whether a person has to look at the task, or somebody else has what it needs.
pub(super) fn needs_person(task: &CrewTask) -> bool {
    let is_asking = || task.runs.last().is_some_and(is_waiting);
    match task.state {
        CrewTaskState::Held(_) | CrewTaskState::Blocked(_) => true,
        CrewTaskState::Live => is_asking(),
        _ => false,
    }
}

/// Why a person has to look at it. Of a task that was stopped, its line says that.
fn reason(task: &CrewTask) -> Option<&str> {
    match &task.state {
        CrewTaskState::Held(why) | CrewTaskState::Blocked(why) if !is_stopped(task) => Some(why),
        _ => None,
    }
}

/// The state in a word. Whoever stopped the crew did not block its tasks.
pub(super) fn state(task: &CrewTask) -> &'static str {
    if is_stopped(task) { RunState::Stopped.name() } else { task.state.name() }
}

fn is_stopped(task: &CrewTask) -> bool {
    let is_stopped = || task.runs.last().is_some_and(|run| run.state == RunState::Stopped);
    matches!(task.state, CrewTaskState::Blocked(_)) && is_stopped()
}

fn doing(run: &Run) -> Option<String> {
    if let Some(question) = run.question.as_ref().filter(|_| is_waiting(run)) {
        return Some(escape_invisible_line(&format!("asks whether it may use {}", question.line())));
    }
    run.doing.as_deref().or(run.reason.as_deref()).map(escape_invisible_line)
}

/// What became of an attempt, in a word or two.
fn word(run: &Run, end: Option<&CrewEnd>) -> String {
    match (end, run.review.as_ref().map(|review| &review.outcome)) {
        (Some(CrewEnd::NotShipped), Some(ReviewOutcome::Given(review))) => review.verdict.name().to_string(),
        (Some(end), _) => end.name().to_string(),
        (None, _) => run.outcome(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::runs::{CrewPart, CrewTest, RunId};
    use crate::ops::tasks::CrewSpecTask;

    fn task(title: &str, state: CrewTaskState, runs: Vec<Run>) -> CrewTask {
        let spec = CrewSpecTask {
            id: "T-1".to_string(),
            title: title.to_string(),
            text: String::new(),
            paths: Vec::new(),
            verify: Vec::new(),
            needs: Vec::new(),
            is_done: false,
            claim: None,
            completion: None,
            reopened_at: None,
        };
        CrewTask { spec, state, runs, reviews: Vec::new() }
    }

    #[test]
    fn what_happens_is_seen_on_a_narrow_terminal_whatever_the_title() {
        let test = CrewTest {
            command: "make".to_string(),
            how: "exit code 2".to_string(),
            exit_code: Some(2),
            tail: String::new(),
        };
        let mut before = Run::queued(RunId::from_random(1));
        let end = Some(CrewEnd::Unproven(test));
        before.crew = Some(CrewPart { crew: "PLAN".to_string(), is_worked: true, proven: None, end });
        let mut now = Run { profile: "builder".to_string(), ..Run::queued(RunId::from_random(2)) };
        now.doing = Some("waiting for reviewer to review its work (run k3f9xa)".to_string());
        now.ended_at = Some(now.queued_at);
        let task = task(&"word ".repeat(30), CrewTaskState::Live, vec![before, now]);
        let narrow = TaskLines { ids: 4, width: Some(79) }.lines(&task);
        assert_eq!(
            narrow,
            ["T-1   working  word word wor… · attempt 2 (unproven) · 0s · waiting for review…"]
        );
        let piped = TaskLines { ids: 4, width: None }.lines(&task);
        assert!(piped[0].ends_with("review its work (run k3f9xa) · builder"), "{piped:?}");
        assert_eq!(why_again(&task).as_deref(), Some("`make` ended with exit code 2"));
    }

    #[test]
    fn why_a_task_is_blocked_is_read_to_the_end() {
        let why =
            "`make test` ended with exit code 2 each time, and nobody knows what else could be done about it";
        let blocked = task("One", CrewTaskState::Blocked(why.to_string()), Vec::new());
        assert_eq!(
            TaskLines { ids: 4, width: Some(59) }.lines(&blocked),
            [
                "T-1   blocked  One",
                "      `make test` ended with exit code 2 each time, and",
                "      nobody knows what else could be done about it"
            ]
        );
        assert_eq!(
            TaskLines { ids: 4, width: None }.lines(&blocked),
            [format!("T-1   blocked  One · {why}")]
        );
    }
}
