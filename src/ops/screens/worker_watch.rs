//! Watching over a worker in a terminal: whether it gets anywhere. What is found is told once.

use std::time::{Duration, Instant};

use crate::domain::runs::Run;
use crate::domain::screens::{LookPlan, LookedLines, ScreenState, TurnProgress, WatchedWork};
use crate::ops::error::CommandError;
use crate::store::Mesh;
use crate::sys::test_switches;

use super::sight::AgentSight;
use super::stall::StallEye;

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
    /// What holds, and was told.
    told: Vec<WorkerFinding>,
    looked: Option<LookedLines>,
    due: Option<Instant>,
}

impl WorkerWatch {
    /// Whether it is time for the next look.
    pub(in crate::ops) fn is_due(&self) -> bool {
        self.due.is_none_or(|due| due <= Instant::now())
    }

    /// Adds a look. Returns what was found at this one and not at the one before. `interval` makes the time to the next
    /// look of the usual one.
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
        let news = holds.iter().filter(|it| !self.told.contains(it)).copied().collect();
        self.told = holds;
        self.due = Some(Instant::now() + interval(self.usual_interval(sight)));
        Ok(news)
    }

    fn usual_interval(&mut self, sight: &AgentSight) -> Duration {
        let open = sight.hooks.steps.open_calls().last().and_then(|call| call.work);
        let plan = LookPlan::new(open.unwrap_or(WatchedWork::Stall));
        let now = sight.screen().map(LookedLines::of).unwrap_or_default();
        let before = self.looked.replace(now.clone()).unwrap_or_default();
        plan.next(now.change_since(&before))
    }
}
