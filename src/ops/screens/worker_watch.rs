//! Watching over a worker in a terminal: whether it gets anywhere. What is found is told once.

use std::time::{Duration, Instant};

use crate::domain::runs::Run;
use crate::domain::screens::{LookedLines, ScreenState, TurnProgress};
use crate::ops::error::CommandError;
use crate::store::Mesh;
use crate::sys::test_switches;

use super::look::watch_again_in;
use super::sight::AgentSight;
use super::stall::StallEye;

/// How often whoever is between two turns is looked at.
const REST: Duration = Duration::from_secs(60);

/// What is wrong with a worker that is at work.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::ops) enum WorkerFinding {
    /// Three looks showed the same, and nothing says that something goes on.
    Stuck,
    /// It calls the same tool with the same arguments again and again.
    SameCall,
    /// It is to write, and has ended many turns without a write or a new test result.
    NoProgress,
}

/// Looks at one worker, at the intervals that are worth it.
#[derive(Debug, Default)]
pub(in crate::ops) struct WorkerWatch {
    eye: StallEye,
    progress: TurnProgress,
    /// What was told, with the number of the hook that was the last one then.
    told: Vec<(WorkerFinding, u64)>,
    looked: Option<LookedLines>,
    due: Option<Instant>,
}

impl WorkerWatch {
    /// Whether it is time for the next look.
    pub(in crate::ops) fn is_due(&self) -> bool {
        self.due.is_none_or(|due| due <= Instant::now())
    }

    /// Adds a look. Returns what was found and not told yet: whoever tells it says so with [`Self::note_told`]. `interval`
    /// makes the time to the next look of the usual one.
    pub(in crate::ops) fn look(
        &mut self,
        mesh: &Mesh,
        sight: &AgentSight,
        run: &Run,
        (is_to_write, interval): (bool, impl Fn(Duration) -> Duration),
    ) -> Result<Vec<WorkerFinding>, CommandError> {
        test_switches::count("worker-look");
        let state = self.eye.state_after(mesh, sight, Some(run))?;
        self.progress.add(&sight.hooks.steps);
        let found = match state {
            ScreenState::Stuck => Some(WorkerFinding::Stuck),
            ScreenState::Spinning => Some(WorkerFinding::SameCall),
            _ => None,
        };
        let idle = (is_to_write && self.progress.is_spinning()).then_some(WorkerFinding::NoProgress);
        let holds: Vec<WorkerFinding> = found.into_iter().chain(idle).collect();
        let news = self.news(&holds, sight.hooks.hook_number());
        self.due = Some(Instant::now() + interval(self.usual_interval(sight)));
        Ok(news)
    }

    /// What of that was not told yet. What does not hold any more may be told again, but a worker that was stuck still is
    /// unless a hook has run since: a line of its screen that changes by itself begins nothing new.
    fn news(&mut self, holds: &[WorkerFinding], hooks: u64) -> Vec<WorkerFinding> {
        self.told.retain(|(it, then)| holds.contains(it) || *it == WorkerFinding::Stuck && *then == hooks);
        holds.iter().filter(|it| !self.told.iter().any(|(told, _)| told == *it)).copied().collect()
    }

    /// Notes that the parent was told of this, as it was at that look.
    pub(in crate::ops) fn note_told(&mut self, finding: WorkerFinding, sight: &AgentSight) {
        self.told.push((finding, sight.hooks.hook_number()));
    }

    fn usual_interval(&mut self, sight: &AgentSight) -> Duration {
        let now = sight.screen().map(LookedLines::of).unwrap_or_default();
        let before = self.looked.replace(now.clone()).unwrap_or_default();
        watch_again_in(sight, now.change_since(&before), &self.eye).unwrap_or(REST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_told_is_told_again_only_after_something_has_happened() {
        use WorkerFinding::{NoProgress, SameCall, Stuck};
        let mut watch = WorkerWatch::default();
        let mut told = |holds: &[WorkerFinding], hooks: u64| {
            let news = watch.news(holds, hooks);
            assert_eq!(watch.news(holds, hooks), news, "what could not be told is told later");
            watch.told.extend(news.iter().map(|finding| (*finding, hooks)));
            news
        };
        assert_eq!(told(&[Stuck], 7), [Stuck]);
        assert_eq!(told(&[], 7), [], "another tip on its screen");
        assert_eq!(told(&[Stuck], 7), []);
        assert_eq!(told(&[], 8), []);
        assert_eq!(told(&[Stuck], 8), [Stuck], "a hook ran in between");
        assert_eq!(told(&[SameCall], 9), [SameCall]);
        assert_eq!(told(&[SameCall, NoProgress], 10), [NoProgress], "it goes on calling the same");
        assert_eq!(told(&[], 11), []);
        assert_eq!(told(&[SameCall], 12), [SameCall]);
    }
}
