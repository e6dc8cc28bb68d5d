//! Whether an agent that works gets anywhere, by several looks at it.

use std::time::{Duration, Instant};

use crate::domain::runs::Run;
use crate::domain::screens::{HookStep, LookedLines, ScreenState, StallLook, StallWatch, ToolWork};
use crate::domain::{Agent, Pid};
use crate::ops::error::CommandError;
use crate::store::Mesh;
use crate::sys::{clock, process};

use super::sight::AgentSight;

/// The share of the time between two looks that the processes below an agent may use without counting as at work. Servers
/// that it keeps use a little all the time.
const IDLE_SHARE: f64 = 0.01;
/// The clock of CPU time is that coarse.
const LEAST_CPU: Duration = Duration::from_millis(20);

/// Looks at one agent that belong together.
#[derive(Debug, Default)]
pub(in crate::ops) struct StallEye {
    watch: StallWatch,
    cpu: Option<CpuLook>,
}

/// The CPU time of the processes below an agent, at one moment.
#[derive(Debug)]
struct CpuLook {
    at: Instant,
    used: Vec<(Pid, Duration)>,
}

impl StallEye {
    /// The state of the agent with this look, stuck and spinning included. Without a screen nobody is stuck: a model may
    /// think for minutes between two hooks.
    pub(in crate::ops) fn state_after(
        &mut self,
        mesh: &Mesh,
        sight: &AgentSight,
        run: Option<&Run>,
    ) -> Result<ScreenState, CommandError> {
        let state = sight.verdict.state;
        if state == ScreenState::Working && sight.hooks.steps.is_spinning() {
            return Ok(ScreenState::Spinning);
        }
        let (Some(screen), Some(agent)) = (sight.screen(), &sight.agent) else { return Ok(state) };
        let is_working = state == ScreenState::Working;
        let look = StallLook {
            screen,
            state,
            hooks: sight.hooks.hook_number(),
            has_open_call: sight.hooks.steps.open_calls().into_iter().any(is_within_limit),
            uses_cpu: is_working && self.uses_cpu(agent),
            has_child_run: is_working && has_child_run(mesh, agent, run)?,
        };
        if !self.watch.is_stuck_after(&look) {
            return Ok(state);
        }
        // Whoever looks once learns it, too. It is so without that.
        let noted = mesh.hooks().note_stall(&agent.session, look.hooks, &LookedLines::of(screen));
        if let Err(error) = noted {
            tracing::debug!("that {} is stuck could not be noted: {error}", agent.name);
        }
        Ok(ScreenState::Stuck)
    }

    /// Whether the next look may show that it is stuck.
    pub(in crate::ops) fn is_doubtful(&self) -> bool {
        self.watch.is_doubtful()
    }

    /// Whether the processes below the agent have used CPU time since the last look.
    fn uses_cpu(&mut self, agent: &Agent) -> bool {
        let below = process::descendants_but(agent.process.pid(), |_| false);
        let used = below.into_iter().filter_map(|pid| Some((pid, process::cpu_time(pid)?))).collect();
        let now = CpuLook { at: Instant::now(), used };
        let is_used = self.cpu.as_ref().is_some_and(|before| now.is_more_than(before));
        self.cpu = Some(now);
        is_used
    }
}

/// The state of an agent that is looked at once: spinning by its hooks, and stuck if whoever watches it has found that and
/// nothing has changed since.
pub(super) fn state_at_once(mesh: &Mesh, sight: &AgentSight) -> Result<ScreenState, CommandError> {
    let state = sight.verdict.state;
    if state != ScreenState::Working {
        return Ok(state);
    }
    if sight.hooks.steps.is_spinning() {
        return Ok(ScreenState::Spinning);
    }
    let (Some(screen), Some(agent)) = (sight.screen(), &sight.agent) else { return Ok(state) };
    let (hooks, seen) = (sight.hooks.hook_number(), LookedLines::of(screen));
    let is_stuck = mesh.hooks().has_stall(&agent.session, hooks, &seen)?;
    Ok(if is_stuck { ScreenState::Stuck } else { state })
}

impl CpuLook {
    fn is_more_than(&self, before: &Self) -> bool {
        let earlier =
            |pid: Pid| before.used.iter().find(|(it, _)| *it == pid).map_or(Duration::ZERO, |it| it.1);
        let used: Duration = self.used.iter().map(|(pid, used)| used.saturating_sub(earlier(*pid))).sum();
        used >= LEAST_CPU.max(self.at.duration_since(before.at).mul_f64(IDLE_SHARE))
    }
}

/// Whether the call may take longer than it has taken.
fn is_within_limit(call: &HookStep) -> bool {
    let minutes = match call.work {
        Some(ToolWork::TestsOrBuild | ToolWork::Install | ToolWork::Subagent) => 30,
        Some(ToolWork::Edits) => 2,
        _ => 10,
    };
    clock::now().duration_since(call.at).as_mins() < minutes
}

/// Whether a run that it started goes on.
fn has_child_run(mesh: &Mesh, agent: &Agent, own: Option<&Run>) -> Result<bool, CommandError> {
    let is_child = |run: &Run| {
        let is_by_session = run.parent.session.as_ref() == Some(&agent.session);
        let is_by_run = own.is_some_and(|own| run.parent.run.as_ref() == Some(&own.id));
        !run.state.is_final() && (is_by_session || is_by_run)
    };
    Ok(mesh.runs().list()?.runs.iter().any(is_child))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_that_do_little_are_not_at_work() {
        let pid = |number: i64| Pid::new(number).unwrap();
        let start = Instant::now();
        let look = |seconds: u64, used: &[(i64, u64)]| CpuLook {
            at: start + Duration::from_secs(seconds),
            used: used.iter().map(|(id, millis)| (pid(*id), Duration::from_millis(*millis))).collect(),
        };
        let before = look(0, &[(7, 5000), (8, 100)]);
        assert!(!look(20, &[(7, 5090), (8, 190)]).is_more_than(&before), "one hundredth");
        assert!(look(20, &[(7, 5150), (8, 200)]).is_more_than(&before));
        assert!(look(20, &[(9, 400)]).is_more_than(&before), "a new process");
        assert!(!look(20, &[]).is_more_than(&before));
    }
}
