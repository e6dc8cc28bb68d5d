//! `msg look`: an agent's screen, what it is doing, and when looking again is worth it.

use std::time::Duration;

use crate::domain::runs::{Run, RunQuestion, RunState};
use crate::domain::screens::{
    HookStepKind, LookPlan, LookReason, LookedLines, ScreenChange, ScreenState, ScreenText, ToolWork,
};
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::store::Mesh;

use super::client_version::unknown_version;
use super::hook_facts::HookFacts;
use super::sight::{AgentSight, see_before_join, see_in, verdict_with_run};
use super::stall::{StallEye, state_at_once};
use super::watched::{self, Watched, check_not_over};

/// The most lines that are shown, and the most characters of one.
pub const MOST_LINES: u32 = 2000;
pub const MOST_COLUMNS: usize = 1000;
/// A turn that is younger than this has just begun.
const JUST_STARTED: Duration = Duration::from_secs(15);
/// How often an account at its limit is worth a look.
const LIMITED: Duration = Duration::from_secs(300);

/// Whom to look at, and how much of the screen is wanted.
#[derive(Clone, Debug)]
pub struct LookRequest {
    /// An agent, or a run.
    pub name: String,
    /// That many lines at the end; more than the screen has come from above it. `None`: the screen.
    pub lines: Option<u32>,
}

/// What a look showed.
#[derive(Debug)]
pub struct LookOutcome {
    /// Its name, or the id of the run whose worker has not joined yet.
    pub name: String,
    pub sight: AgentSight,
    /// The lines of the screen that were asked for; `None` if there is no screen to look at.
    pub screen: Option<String>,
    /// The run whose worker it is.
    pub run: Option<Run>,
    /// Whether the caller asked for that run, and will be told.
    pub is_callers_worker: bool,
    /// That screens of its version are not known, if they are not.
    pub notice: Option<String>,
    /// When looking again is worth it; `None` if it is not, because nothing changes by itself, or the caller is told.
    pub look_again_in: Option<Duration>,
}

impl LookOutcome {
    /// The question that was sent to the parent of its run and has no answer yet.
    pub fn open_question(&self) -> Option<&RunQuestion> {
        let run = self.run.as_ref().filter(|run| run.state == RunState::Waiting)?;
        run.question.as_ref()
    }
}

/// Looks at an agent.
pub fn look(op: &Op, request: &LookRequest) -> Result<LookOutcome, CommandError> {
    let mesh = watched::mesh(op, &request.name)?;
    let watched = watched::find(op, &mesh, &request.name)?;
    let mut sight = match &watched {
        Watched::Agent(agent, _) => see_in(&mesh, agent)?,
        Watched::Run(run) => {
            check_not_over(run)?;
            see_before_join(run)
        }
    };
    sight.verdict = verdict_with_run(&mesh, &sight, watched.its_run())?;
    sight.verdict.state = state_at_once(&mesh, &sight)?;
    let is_callers_worker = watched.is_callers_worker(op, &mesh)?;
    let change = change_since_last_look(op, &mesh, &sight);
    let look_again_in = if is_callers_worker { None } else { look_again_in(&sight, change) };
    let screen = shown(op, &sight, request.lines);
    let notice = unknown_version(op, &sight, watched.its_run());
    let (name, run) = (watched.name().to_string(), watched.its_run().cloned());
    Ok(LookOutcome { name, sight, screen, run, is_callers_worker, notice, look_again_in })
}

/// The last lines of the screen, and of what is above it if more are wanted.
fn shown(op: &Op, sight: &AgentSight, lines: Option<u32>) -> Option<String> {
    let Ok(seen) = &sight.pane else { return None };
    let above = lines.unwrap_or(0).min(MOST_LINES).saturating_sub(seen.capture.size.1);
    let text = match above {
        0 => seen.screen.text(),
        above => match seen.pane.capture_with_history(above) {
            Ok(capture) => ScreenText::of_capture(&capture.text).text(),
            Err(error) => {
                op.warn(format!("what is above the screen can't be read: {error}"));
                seen.screen.text()
            }
        },
    };
    let rows: Vec<&str> = text.lines().collect();
    let wanted = lines.unwrap_or(MOST_LINES).min(MOST_LINES) as usize;
    let cut = |row: &&str| format!("{}\n", row.chars().take(MOST_COLUMNS).collect::<String>());
    Some(rows[rows.len().saturating_sub(wanted)..].iter().map(cut).collect())
}

/// How much has changed since somebody looked last. The look is remembered for the next.
fn change_since_last_look(op: &Op, mesh: &Mesh, sight: &AgentSight) -> ScreenChange {
    let (Some(screen), Some(agent)) = (sight.screen(), &sight.agent) else { return ScreenChange::Something };
    let now = LookedLines::of(screen);
    let before = mesh.hooks().exchange_look(&agent.session, &now);
    match before {
        Ok(Some(before)) => now.change_since(&before),
        Ok(None) => ScreenChange::Something,
        Err(error) => {
            op.warn(format!("this look could not be recorded: {error}"));
            ScreenChange::Something
        }
    }
}

/// When looking again is worth it.
pub(super) fn look_again_in(sight: &AgentSight, change: ScreenChange) -> Option<Duration> {
    interval(sight.verdict.state, &sight.hooks, change)
}

/// The same for whoever looks whether it gets anywhere: sooner while that is in doubt, and not before.
pub(super) fn watch_again_in(sight: &AgentSight, change: ScreenChange, eye: &StallEye) -> Option<Duration> {
    match eye.is_doubtful() {
        true => Some(LookPlan::new(LookReason::MayBeStuck).next(change)),
        false => look_again_in(sight, change),
    }
}

fn interval(state: ScreenState, hooks: &HookFacts, change: ScreenChange) -> Option<Duration> {
    match state {
        ScreenState::Idle | ScreenState::Interrupted | ScreenState::Ended => None,
        ScreenState::Limited => Some(LIMITED),
        _ => Some(LookPlan::new(reason(state, hooks)).next(change)),
    }
}

/// Why to look again.
fn reason(state: ScreenState, hooks: &HookFacts) -> LookReason {
    let steps = &hooks.steps;
    match state {
        ScreenState::Starting => return LookReason::HasBegun,
        ScreenState::Waiting => return LookReason::Asks,
        ScreenState::Stuck | ScreenState::Spinning => return LookReason::MayBeStuck,
        _ => {}
    }
    if hooks.has_subagents {
        return LookReason::Works(ToolWork::Subagent);
    }
    let open = steps.open_calls().into_iter().filter_map(|call| call.work).next_back();
    let used = steps.last_turn().iter().rev().find(|step| step.kind == HookStepKind::ToolEnds);
    match open.or_else(|| used.and_then(|step| step.work)) {
        Some(work) => LookReason::Works(work),
        None if hooks.signs.last.is_some() && hooks.signs.age < JUST_STARTED => LookReason::HasBegun,
        None => LookReason::Works(ToolWork::ReadsOrPlans),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::screens::{HookSign, HookSigns};

    #[test]
    fn a_thought_is_given_time() {
        let signs = HookSigns { last: Some(HookSign::PromptTaken), age: Duration::from_secs(40) };
        let thinking = HookFacts { signs, ..HookFacts::default() };
        let after = |state| interval(state, &thinking, ScreenChange::Nothing);
        assert_eq!(after(ScreenState::Working), Some(Duration::from_secs(60)));
        assert_eq!(after(ScreenState::Idle), None);
        assert!(!StallEye::default().is_doubtful(), "before two looks alike");
    }
}
