//! `msg wait --for`: blocks until an agent is in a state. Its hooks are watched, and its screen is looked at only when
//! they say that it may be there, and at the intervals of the plan: that costs nearly nothing.

use std::time::{Duration, Instant};

use crate::domain::runs::{Run, RunId, RunState};
use crate::domain::screens::{
    HookSign, LookPlan, LookReason, ProcessSign, ScreenChange, ScreenState, VerdictBasis,
};
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::watcher::mesh_watcher::{MeshWatcher, WatchWakeup, current};
use crate::store::{Mesh, WatchTarget};
use crate::sys::signals::StopRequest;
use crate::sys::{clock, test_switches};

use super::hook_facts::HookFacts;
use super::look::watch_again_in;
use super::sight::{AgentSight, process_sign, see_before_join, see_in, verdict_with_run};
use super::stall::StallEye;
use super::watched::{self, Watched};

/// How often to look whether its process is there: nothing tells of a death.
const TICK: Duration = Duration::from_secs(1);
/// How often to look at everything although no change was reported.
const SAFEGUARD: Duration = Duration::from_secs(10);
/// Several hooks may run at once.
const GATHERS_FOR: Duration = Duration::from_millis(20);
/// The time between the two looks that a turn has to be over at.
const CONFIRMS_AFTER: Duration = Duration::from_millis(500);
/// What an agent does whose turn is over, or that is gone, is worth a look that often.
const REST: Duration = Duration::from_secs(120);

/// The state that is waited for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WaitGoal {
    /// It takes a prompt.
    Idle,
    /// It asks something.
    Waiting,
    /// Its turn, or its run, is over.
    Done,
    /// It gets nowhere: stuck, or spinning.
    Stuck,
    Limited,
    Ended,
}

impl WaitGoal {
    pub const ALL: [Self; 6] =
        [Self::Idle, Self::Waiting, Self::Done, Self::Stuck, Self::Limited, Self::Ended];

    pub fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Waiting => "waiting",
            Self::Done => "done",
            Self::Stuck => "stuck",
            Self::Limited => "limited",
            Self::Ended => "ended",
        }
    }

    /// The state with that name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|goal| goal.name() == name)
    }

    /// Whether a look is worth it at once, now that the hooks have said that.
    fn is_near(self, sign: Option<HookSign>) -> bool {
        match self {
            Self::Idle | Self::Done | Self::Limited => is_between_turns(sign),
            Self::Waiting => sign == Some(HookSign::AsksLeave),
            Self::Stuck | Self::Ended => false,
        }
    }
}

/// Whether no turn runs, as far as the hooks tell.
fn is_between_turns(sign: Option<HookSign>) -> bool {
    matches!(sign, Some(HookSign::SessionStarted | HookSign::TurnOver | HookSign::TurnFailed) | None)
}

/// Whom to wait for, and for how long.
#[derive(Clone, Debug)]
pub struct WaitRequest {
    /// An agent, or a run.
    pub name: String,
    pub goal: WaitGoal,
    pub timeout: Option<Duration>,
}

/// The state that was reached.
#[derive(Clone, Debug)]
pub struct WaitOutcome {
    pub name: String,
    /// `done`, or the name of the state.
    pub state: &'static str,
    /// What the agent is doing then: a turn may be over while something of it runs in the background. `None`: its run
    /// has ended.
    pub agent_state: Option<ScreenState>,
    pub basis: VerdictBasis,
    /// The run whose worker it is.
    pub run: Option<RunId>,
    /// How that run has ended.
    pub run_end: Option<RunState>,
}

impl WaitOutcome {
    /// In one line: `Robin is done`.
    pub fn text(&self) -> String {
        let more = match (self.run_end, self.agent_state) {
            (Some(end), _) => format!(": its run has ended ({})", end.name().replace('_', " ")),
            (None, Some(ScreenState::Background)) => {
                ", and something of it runs in the background".to_string()
            }
            (None, _) => String::new(),
        };
        format!("{} is {}{more}", self.name, self.state)
    }
}

/// Waits until the agent is in that state. `None`: a signal asked to stop.
pub fn wait_for(
    op: &Op,
    request: &WaitRequest,
    stop: &StopRequest,
) -> Result<Option<WaitOutcome>, CommandError> {
    let mesh = watched::mesh(op, &request.name)?;
    let watched = watched::find(op, &mesh, &request.name)?;
    let mut wait = Wait::new(op, &mesh, watched, request);
    let mut watcher = MeshWatcher::new(op, &mesh);
    loop {
        // The watch comes before the look, so that nothing is missed in between.
        let run = wait.watched.its_run().map(|run| run.id.clone());
        let session = wait.watched.session()?;
        watcher.arm(WatchTarget::Hooks(&session, run.as_ref()))?;
        if let Some(outcome) = wait.look()? {
            return Ok(Some(outcome));
        }
        test_switches::count("wait-look");
        if wait.watched.session()? != session {
            // The watch was for another session.
            watcher = MeshWatcher::new(op, &mesh);
            continue;
        }
        let safeguard = Instant::now() + if watcher.sees_all_changes() { SAFEGUARD } else { TICK };
        loop {
            let now = Instant::now();
            if wait.until.is_some_and(|until| until <= now) {
                return Err(wait.timed_out());
            }
            if now >= wait.due(safeguard) || wait.is_gone() {
                break;
            }
            match watcher.wait(stop, Some(wait.next(safeguard))) {
                WatchWakeup::Stopped => return Ok(None),
                WatchWakeup::Hint => {
                    clock::pause(GATHERS_FOR);
                    break;
                }
                WatchWakeup::Deadline => {}
            }
        }
    }
}

/// A wait that goes on.
struct Wait<'a> {
    op: &'a Op,
    mesh: &'a Mesh,
    watched: Watched,
    goal: WaitGoal,
    until: Option<Instant>,
    next_look: Instant,
    /// What the hooks and the run said at the last look.
    told: Option<(Option<HookSign>, u64, Option<RunState>)>,
    /// What the screen showed at the last look, without what changes by itself.
    shown: String,
    eye: StallEye,
    /// Since when its turn is over at every look, and what the hooks had said then.
    over_since: Option<(Instant, u64)>,
    /// Whether it was at work at any look.
    has_worked: bool,
    last: Option<(ScreenState, VerdictBasis, String)>,
}

impl<'a> Wait<'a> {
    fn new(op: &'a Op, mesh: &'a Mesh, watched: Watched, request: &WaitRequest) -> Self {
        let now = Instant::now();
        Self {
            op,
            mesh,
            watched,
            goal: request.goal,
            until: request.timeout.and_then(|timeout| now.checked_add(timeout)),
            next_look: now,
            told: None,
            shown: String::new(),
            eye: StallEye::default(),
            over_since: None,
            has_worked: false,
            last: None,
        }
    }

    /// When to look again although nothing was reported. Whoever waits for the end of a process needs no screen.
    fn due(&self, safeguard: Instant) -> Instant {
        match self.goal {
            WaitGoal::Ended => safeguard,
            _ => self.next_look.min(safeguard),
        }
    }

    /// Until when to wait for a report.
    fn next(&self, safeguard: Instant) -> Instant {
        let tick = Instant::now() + TICK;
        self.until.map_or(tick, |until| until.min(tick)).min(self.due(safeguard))
    }

    /// Whether its process has ended while something else was waited for, or its end is still to be noticed.
    fn is_gone(&self) -> bool {
        let is_known = self.last.as_ref().is_some_and(|(state, ..)| *state == ScreenState::Ended);
        !is_known && self.has_no_process()
    }

    fn has_no_process(&self) -> bool {
        self.watched.agent().is_some_and(|agent| process_sign(agent) == ProcessSign::Gone)
    }

    /// Looks at what costs little, and at the screen if that is worth it. Returns the state if it is the right one.
    fn look(&mut self) -> Result<Option<WaitOutcome>, CommandError> {
        let hooks = match &mut self.watched {
            Watched::Agent(agent, _) => {
                let hooks = HookFacts::read(self.mesh, agent)?;
                if hooks.signs.last.is_none()
                    && let Ok(Some(now)) = current(self.mesh, agent)
                {
                    // Its user may have begun a new conversation, which is another session.
                    **agent = now;
                }
                hooks
            }
            Watched::Run(_) => HookFacts::default(),
        };
        self.watched.refresh(self.mesh)?;
        if let Some(run) = self.watched.its_run().filter(|run| run.state.is_final()) {
            return self.after_run(run);
        }
        let run_state = self.watched.its_run().map(|run| run.state);
        let told = (hooks.signs.last, hooks.hook_number(), run_state);
        let is_news = self.told != Some(told);
        let is_gone = self.has_no_process();
        let is_spinning = self.goal == WaitGoal::Stuck && is_news && hooks.steps.is_spinning();
        let is_near = is_news && (self.goal.is_near(told.0) || run_state != self.told.and_then(|it| it.2));
        let begins = !is_between_turns(told.0) && self.told.is_some_and(|before| is_between_turns(before.0));
        if begins {
            // While it was idle, the next look was far away.
            let soon = LookPlan::new(LookReason::HasBegun).next(ScreenChange::Something);
            self.next_look = self.next_look.min(Instant::now() + self.op.settings.paced(soon));
        }
        self.told = Some(told);
        let is_due = Instant::now() >= self.next_look && self.goal != WaitGoal::Ended;
        if !is_gone && !is_spinning && !is_near && !is_due {
            return Ok(None);
        }
        let sight = match &self.watched {
            Watched::Agent(agent, _) => see_in(self.mesh, agent)?,
            Watched::Run(run) => see_before_join(run),
        };
        self.judge(sight)
    }

    fn judge(&mut self, mut sight: AgentSight) -> Result<Option<WaitOutcome>, CommandError> {
        let run = self.watched.its_run().cloned();
        sight.verdict = verdict_with_run(self.mesh, &sight, run.as_ref())?;
        // Whoever waits for something else does not pay for a look at all processes.
        let state = match self.goal {
            WaitGoal::Stuck => self.eye.state_after(self.mesh, &sight, run.as_ref())?,
            _ => sight.verdict.state,
        };
        let basis = sight.verdict.basis;
        let why = sight.pane.as_ref().err().map(ToString::to_string).unwrap_or_default();
        self.last = Some((state, basis, why));
        self.has_worked |= state == ScreenState::Working;
        self.plan_next(&sight);
        let is_there = match self.goal {
            WaitGoal::Idle => state.is_between_turns(),
            WaitGoal::Waiting => state == ScreenState::Waiting,
            WaitGoal::Limited => state == ScreenState::Limited,
            WaitGoal::Stuck => matches!(state, ScreenState::Stuck | ScreenState::Spinning),
            WaitGoal::Ended => state == ScreenState::Ended,
            WaitGoal::Done => return self.judge_done(&sight, state),
        };
        if is_there {
            return Ok(Some(self.outcome(state.name(), state, basis)));
        }
        // Whoever has ended gets into no other state. The end of a run is still to be recorded.
        match state == ScreenState::Ended && run.is_none() {
            true => Err(self.has_ended()),
            false => Ok(None),
        }
    }

    /// Its turn has to be over at two looks, without a hook in between: mail may keep it going.
    fn judge_done(
        &mut self,
        sight: &AgentSight,
        state: ScreenState,
    ) -> Result<Option<WaitOutcome>, CommandError> {
        let trouble = sight.reading.as_ref().and_then(|reading| reading.trouble.as_ref());
        let is_over = match (state, sight.hooks.signs.last) {
            (ScreenState::Idle | ScreenState::Background, Some(HookSign::SessionStarted)) => false,
            // Without hooks, whoever never did anything looks the same as whoever has just ended a turn.
            (ScreenState::Idle | ScreenState::Background, None) => self.has_worked || trouble.is_some(),
            (ScreenState::Idle | ScreenState::Interrupted, _) => true,
            // What it has left running does not belong to its turn.
            (ScreenState::Background, last) => is_between_turns(last) || trouble.is_some(),
            (ScreenState::Ended, _) if self.watched.its_run().is_none() => return Err(self.has_ended()),
            _ => false,
        };
        let number = sight.hooks.hook_number();
        match self.over_since {
            _ if !is_over => self.over_since = None,
            Some((since, hooks)) if hooks == number && since.elapsed() >= CONFIRMS_AFTER => {
                return match (state, trouble) {
                    (ScreenState::Interrupted, _) => Err(self.failed("its user has ended its turn", state)),
                    (_, Some(trouble)) => Err(self.failed(&trouble.sentence(), state)),
                    _ if sight.hooks.signs.last == Some(HookSign::TurnFailed) => {
                        Err(self.failed("its turn has failed: the model could not be asked", state))
                    }
                    _ => Ok(Some(self.outcome(WaitGoal::Done.name(), state, sight.verdict.basis))),
                };
            }
            Some((_, hooks)) if hooks == number => {}
            _ => self.over_since = Some((Instant::now(), number)),
        }
        if self.over_since.is_some() {
            self.next_look = Instant::now() + CONFIRMS_AFTER;
        }
        Ok(None)
    }

    /// What follows from the end of its run.
    fn after_run(&self, run: &Run) -> Result<Option<WaitOutcome>, CommandError> {
        let name = self.watched.name().to_string();
        let outcome = |state| WaitOutcome {
            name,
            state,
            agent_state: None,
            basis: VerdictBasis::Run,
            run: Some(run.id.clone()),
            run_end: Some(run.state),
        };
        match (self.goal, run.state) {
            (WaitGoal::Done, RunState::Done) => Ok(Some(outcome(WaitGoal::Done.name()))),
            (WaitGoal::Done, _) => {
                let text =
                    format!("{} is not done: its run has ended: {}", self.watched.name(), run.outcome());
                let error = CommandError::new(CommandErrorKind::RunFailed, text)
                    .hint(format!("`msg runs log {}` shows what the worker printed", run.id))
                    .fact("state", ScreenState::Ended.name())
                    .fact("run", run.id.as_str());
                Err(error.fact("outcome", run.state.name()))
            }
            (WaitGoal::Ended, _) => Ok(Some(outcome(ScreenState::Ended.name()))),
            _ => Err(self.has_ended().fact("outcome", run.state.name())),
        }
    }

    fn plan_next(&mut self, sight: &AgentSight) {
        let change = match sight.screen() {
            Some(screen) => {
                let before = std::mem::replace(&mut self.shown, screen.still_text());
                ScreenChange::between(&before, &self.shown)
            }
            None => ScreenChange::Nothing,
        };
        let usual = watch_again_in(sight, change, &self.eye).unwrap_or(REST);
        self.next_look = Instant::now() + self.op.settings.paced(usual);
    }

    fn outcome(&self, state: &'static str, is: ScreenState, basis: VerdictBasis) -> WaitOutcome {
        let run = self.watched.its_run().map(|run| run.id.clone());
        let name = self.watched.name().to_string();
        WaitOutcome { name, state, agent_state: Some(is), basis, run, run_end: None }
    }

    fn has_ended(&self) -> CommandError {
        let text = format!("{} has ended", self.watched.name());
        CommandError::new(CommandErrorKind::NotRunning, text).fact("state", ScreenState::Ended.name())
    }

    fn failed(&self, why: &str, state: ScreenState) -> CommandError {
        let name = self.watched.name();
        let text = format!("{name} is not done: {why}");
        let error = CommandError::new(CommandErrorKind::RunFailed, text).fact("state", state.name());
        error.hint(format!("look at it with `msg look {name}`"))
    }

    fn timed_out(&self) -> CommandError {
        let name = self.watched.name();
        let (state, basis, why) = match &self.last {
            Some((state, basis, why)) => (*state, *basis, why.as_str()),
            None => (ScreenState::Unknown, VerdictBasis::Nothing, ""),
        };
        let why = match basis {
            VerdictBasis::Nothing if !why.is_empty() => format!(" ({why}, and its hooks have said nothing)"),
            _ => String::new(),
        };
        let text = format!("timed out: {name} is {}{why}", state.name());
        CommandError::new(CommandErrorKind::TimedOut, text).fact("state", state.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_have_names() {
        for goal in WaitGoal::ALL {
            assert_eq!(WaitGoal::of_name(goal.name()), Some(goal));
        }
    }
}
