//! `msg wait --for`: blocks until an agent is in a state. Its hooks are watched, and its screen is looked at only when
//! they say that it may be there, and at the intervals of the plan: that costs nearly nothing.

use std::time::{Duration, Instant};

use crate::domain::runs::RunState;
use crate::domain::screens::{HookSign, ProcessSign, ScreenChange, ScreenState, ScreenTrouble, VerdictBasis};
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::runs::list::as_it_is;
use crate::ops::watcher::mesh_watcher::{MeshWatcher, WatchWakeup, current};
use crate::store::{Mesh, WatchTarget};
use crate::sys::clock;
use crate::sys::signals::StopRequest;

use super::hook_facts::HookFacts;
use super::look::look_again_in;
use super::sight::{AgentSight, process_sign, see_in, verdict_with_run};
use super::stall::StallEye;
use super::watched::{self, WatchedAgent};

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
        let is_over =
            matches!(sign, Some(HookSign::SessionStarted | HookSign::TurnOver | HookSign::TurnFailed) | None);
        match self {
            Self::Idle | Self::Done | Self::Limited => is_over,
            Self::Waiting => sign == Some(HookSign::AsksLeave),
            Self::Stuck | Self::Ended => false,
        }
    }
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
    pub basis: VerdictBasis,
}

/// Waits until the agent is in that state. `None`: a signal asked to stop.
pub fn wait_for(
    op: &Op,
    request: &WaitRequest,
    stop: &StopRequest,
) -> Result<Option<WaitOutcome>, CommandError> {
    let unknown =
        || CommandError::new(CommandErrorKind::UnknownAgent, format!("no agent is called {}", request.name));
    let mesh = op.mesh()?.ok_or_else(unknown)?;
    let watched = watched::find(op, &mesh, &request.name)?;
    let mut wait = Wait::new(op, &mesh, watched, request);
    let mut watcher = MeshWatcher::new(op, &mesh);
    loop {
        // The watch comes before the look, so that nothing is missed in between.
        let run = wait.watched.run.as_ref().map(|run| run.id.clone());
        watcher.arm(WatchTarget::Hooks(run.as_ref()))?;
        if let Some(outcome) = wait.look()? {
            return Ok(Some(outcome));
        }
        let safeguard = Instant::now() + if watcher.sees_all_changes() { SAFEGUARD } else { TICK };
        loop {
            let now = Instant::now();
            if wait.until.is_some_and(|until| until <= now) {
                return Err(wait.timed_out());
            }
            if now >= wait.next_look.min(safeguard) || wait.is_gone() {
                break;
            }
            match watcher.wait(stop, Some(wait.next())) {
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
    watched: WatchedAgent,
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
    last: Option<(ScreenState, VerdictBasis, String)>,
}

impl<'a> Wait<'a> {
    fn new(op: &'a Op, mesh: &'a Mesh, watched: WatchedAgent, request: &WaitRequest) -> Self {
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
            last: None,
        }
    }

    fn next(&self) -> Instant {
        let tick = Instant::now() + TICK;
        self.until.map_or(tick, |until| until.min(tick)).min(self.next_look)
    }

    /// Whether its process has ended while something else was waited for, or its end is still to be noticed.
    fn is_gone(&self) -> bool {
        let is_known = self.last.as_ref().is_some_and(|(state, ..)| *state == ScreenState::Ended);
        !is_known && process_sign(&self.watched.agent) == ProcessSign::Gone
    }

    /// Looks at what costs little, and at the screen if that is worth it. Returns the state if it is the right one.
    fn look(&mut self) -> Result<Option<WaitOutcome>, CommandError> {
        let hooks = HookFacts::read(self.mesh, &self.watched.agent)?;
        if hooks.signs.last.is_none()
            && let Ok(Some(now)) = current(self.mesh, &self.watched.agent)
        {
            // Its user may have begun a new conversation, which is another session.
            self.watched.agent = now;
        }
        self.refresh_run()?;
        if let Some(run) = self.watched.run.as_ref().filter(|run| run.state.is_final()) {
            return self.after_run(run.state);
        }
        let run_state = self.watched.run.as_ref().map(|run| run.state);
        let told = (hooks.signs.last, hooks.hook_number(), run_state);
        let is_news = self.told != Some(told);
        let is_gone = process_sign(&self.watched.agent) == ProcessSign::Gone;
        let is_spinning = self.goal == WaitGoal::Stuck && is_news && hooks.steps.spin_watch().is_spinning();
        let is_near = is_news && (self.goal.is_near(told.0) || run_state != self.told.and_then(|it| it.2));
        self.told = Some(told);
        let is_due = Instant::now() >= self.next_look && self.goal != WaitGoal::Ended;
        if !is_gone && !is_spinning && !is_near && !is_due {
            return Ok(None);
        }
        let sight = see_in(self.mesh, &self.watched.agent)?;
        self.judge(sight)
    }

    /// Reads the record of its run again.
    fn refresh_run(&mut self) -> Result<(), CommandError> {
        if let Some(run) = &self.watched.run {
            self.watched.run = self.mesh.runs().get(&run.id)?.map(|run| as_it_is(self.mesh, run));
        }
        Ok(())
    }

    fn judge(&mut self, mut sight: AgentSight) -> Result<Option<WaitOutcome>, CommandError> {
        let run = self.watched.run.clone();
        sight.verdict = verdict_with_run(&sight, run.as_ref());
        // Whoever waits for something else does not pay for a look at all processes.
        let state = match self.goal {
            WaitGoal::Stuck => self.eye.state_after(self.mesh, &sight, run.as_ref())?,
            _ => sight.verdict.state,
        };
        let basis = sight.verdict.basis;
        let why = sight.pane.as_ref().err().map(ToString::to_string).unwrap_or_default();
        self.last = Some((state, basis, why));
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
            return Ok(Some(self.outcome(state.name(), basis)));
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
            (ScreenState::Idle, last) => last != Some(HookSign::SessionStarted),
            (ScreenState::Interrupted, _) => true,
            (ScreenState::Ended, _) if self.watched.run.is_none() => return Err(self.has_ended()),
            _ => false,
        };
        let number = sight.hooks.hook_number();
        match self.over_since {
            _ if !is_over => self.over_since = None,
            Some((since, hooks)) if hooks == number && since.elapsed() >= CONFIRMS_AFTER => {
                return match (state, trouble) {
                    (ScreenState::Interrupted, _) => Err(self.failed("its user has ended its turn", state)),
                    (_, Some(trouble)) => Err(self.failed(trouble_words(trouble), state)),
                    _ => Ok(Some(self.outcome(WaitGoal::Done.name(), sight.verdict.basis))),
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
    fn after_run(&self, state: RunState) -> Result<Option<WaitOutcome>, CommandError> {
        match self.goal {
            WaitGoal::Done => Ok(Some(self.outcome(WaitGoal::Done.name(), VerdictBasis::Run))),
            WaitGoal::Ended => Ok(Some(self.outcome(ScreenState::Ended.name(), VerdictBasis::Run))),
            _ => Err(self.has_ended().fact("outcome", state.name())),
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
        let usual = look_again_in(sight, change).unwrap_or(REST);
        self.next_look = Instant::now() + self.op.settings.paced(usual);
    }

    fn outcome(&self, state: &'static str, basis: VerdictBasis) -> WaitOutcome {
        WaitOutcome { name: self.watched.agent.name.to_string(), state, basis }
    }

    fn has_ended(&self) -> CommandError {
        let text = format!("{} has ended", self.watched.agent.name);
        CommandError::new(CommandErrorKind::NotRunning, text).fact("state", ScreenState::Ended.name())
    }

    fn failed(&self, why: &str, state: ScreenState) -> CommandError {
        let name = &self.watched.agent.name;
        let text = format!("{name} is not done: {why}");
        let error = CommandError::new(CommandErrorKind::RunFailed, text).fact("state", state.name());
        error.hint(format!("look at it with `msg look {name}`"))
    }

    fn timed_out(&self) -> CommandError {
        let name = &self.watched.agent.name;
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

fn trouble_words(trouble: &ScreenTrouble) -> &str {
    match trouble.words().trim() {
        "" => "its turn has failed",
        words => words,
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
