//! What an agent is doing, decided from its hooks, its screen and its process together.

use std::time::Duration;

use super::reading::ScreenReading;
use super::state::ScreenState;

/// How long a screen may lag behind a hook. Only what it shows after that may contradict the hook.
const SETTLES_IN: Duration = Duration::from_secs(2);

/// How long a permission question counts as open by its hook alone. No hook runs when it is answered.
const ASKS_FOR: Duration = Duration::from_secs(60);

/// What an agent's hooks said last.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct HookSigns {
    pub last: Option<HookSign>,
    /// How long ago that was.
    pub age: Duration,
}

impl HookSigns {
    /// Whether a hook has begun a turn so lately that the screen may not show it yet. Later the screen decides: no hook
    /// runs when a turn is interrupted.
    pub fn has_just_begun_turn(&self) -> bool {
        let has_begun = matches!(
            self.last,
            Some(HookSign::BeingWoken | HookSign::PromptTaken | HookSign::ToolUsed | HookSign::AsksLeave)
        );
        has_begun && self.age < SETTLES_IN
    }
}

/// What a hook says about a turn.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HookSign {
    SessionStarted,
    /// A message is to wake it, and its turn has not begun yet.
    BeingWoken,
    PromptTaken,
    /// A tool is about to be used, or was.
    ToolUsed,
    /// It is about to ask for permission.
    AsksLeave,
    TurnOver,
    /// The turn ended because the model could not be asked.
    TurnFailed,
}

/// Whether the agent's process is there.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ProcessSign {
    Alive,
    Gone,
    /// Nobody knows its process.
    Unknown,
}

/// What an agent is doing, and how that is known.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ScreenVerdict {
    pub state: ScreenState,
    pub basis: VerdictBasis,
}

/// What a verdict rests on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum VerdictBasis {
    Process,
    Hooks,
    Screen,
    HooksAndScreen,
    /// What the supervisor of its run has recorded.
    Run,
    Nothing,
}

impl VerdictBasis {
    pub fn name(self) -> &'static str {
        match self {
            Self::Process => "process",
            Self::Hooks => "hooks",
            Self::Screen => "screen",
            Self::HooksAndScreen => "hooks_and_screen",
            Self::Run => "run",
            Self::Nothing => "nothing",
        }
    }

    /// The same for people.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Process => "by its process",
            Self::Hooks => "by its hooks",
            Self::Screen => "by its screen",
            Self::HooksAndScreen => "by its hooks and its screen",
            Self::Run => "by its run",
            Self::Nothing => "no hooks, no screen",
        }
    }
}

/// Decides what an agent is doing. Its process comes first, because a killed program leaves its screen behind. Then a
/// dialog, which only the screen shows. Then the hooks, which say exactly when a turn begins and ends; the screen
/// contradicts them only where they are known to be silent: when a turn is interrupted, a limit is reached, or a
/// program runs no hooks.
pub fn decide(hooks: HookSigns, screen: Option<&ScreenReading>, process: ProcessSign) -> ScreenVerdict {
    if process == ProcessSign::Gone {
        return verdict(ScreenState::Ended, VerdictBasis::Process);
    }
    let Some(reading) = screen else { return by_hooks(hooks) };
    if reading.dialog.is_some() {
        let state = reading.state.unwrap_or(ScreenState::Waiting);
        let is_told = hooks.last == Some(HookSign::AsksLeave);
        return verdict(state, if is_told { VerdictBasis::HooksAndScreen } else { VerdictBasis::Screen });
    }
    let Some(seen) = reading.state else { return by_hooks(hooks) };
    let is_settled = hooks.age >= SETTLES_IN;
    match hooks.last {
        None | Some(HookSign::SessionStarted) => verdict(seen, VerdictBasis::Screen),
        // Its screen shows the end of the turn before.
        Some(HookSign::BeingWoken) => match seen {
            ScreenState::Working => verdict(seen, VerdictBasis::HooksAndScreen),
            ScreenState::Limited => verdict(seen, VerdictBasis::Screen),
            _ => verdict(ScreenState::Working, VerdictBasis::Hooks),
        },
        // After the answer, no hook runs until the tool has been used.
        Some(HookSign::AsksLeave) if !is_settled && seen != ScreenState::Working => {
            verdict(ScreenState::Waiting, VerdictBasis::Hooks)
        }
        Some(HookSign::PromptTaken | HookSign::ToolUsed | HookSign::AsksLeave) => match seen {
            ScreenState::Working => verdict(seen, VerdictBasis::HooksAndScreen),
            _ if !is_settled => verdict(ScreenState::Working, VerdictBasis::Hooks),
            // No hook has ended the turn, but it is over: its user ended it. Before its first word nothing on the
            // screen says so.
            ScreenState::Idle if reading.trouble.is_none() => {
                verdict(ScreenState::Interrupted, VerdictBasis::HooksAndScreen)
            }
            _ => verdict(seen, VerdictBasis::Screen),
        },
        Some(HookSign::TurnOver | HookSign::TurnFailed) => match seen {
            ScreenState::Working if !is_settled => verdict(ScreenState::Idle, VerdictBasis::Hooks),
            ScreenState::Working => verdict(seen, VerdictBasis::Screen),
            _ => verdict(seen, VerdictBasis::HooksAndScreen),
        },
    }
}

/// What the hooks say alone.
fn by_hooks(hooks: HookSigns) -> ScreenVerdict {
    let state = match hooks.last {
        None => return verdict(ScreenState::Unknown, VerdictBasis::Nothing),
        Some(HookSign::SessionStarted | HookSign::TurnOver | HookSign::TurnFailed) => ScreenState::Idle,
        Some(HookSign::BeingWoken | HookSign::PromptTaken | HookSign::ToolUsed) => ScreenState::Working,
        Some(HookSign::AsksLeave) if hooks.age < ASKS_FOR => ScreenState::Waiting,
        // It still waits, or uses the tool.
        Some(HookSign::AsksLeave) => ScreenState::Unknown,
    };
    verdict(state, VerdictBasis::Hooks)
}

fn verdict(state: ScreenState, basis: VerdictBasis) -> ScreenVerdict {
    ScreenVerdict { state, basis }
}

#[cfg(test)]
mod tests {
    use super::super::dialog::{Dialog, DialogKind};
    use super::super::reading::{PromptLine, ScreenTrouble};
    use super::*;

    #[test]
    fn a_turn_has_just_begun_until_the_screen_must_show_it() {
        let signs = |last, age| HookSigns { last: Some(last), age: Duration::from_secs(age) };
        assert!(signs(HookSign::PromptTaken, 1).has_just_begun_turn());
        assert!(!signs(HookSign::PromptTaken, 2).has_just_begun_turn());
        assert!(!signs(HookSign::TurnOver, 0).has_just_begun_turn());
    }

    fn seen(state: ScreenState) -> ScreenReading {
        ScreenReading { state: Some(state), prompt: PromptLine::Empty, ..ScreenReading::default() }
    }

    fn dialog() -> ScreenReading {
        let dialog = Dialog {
            kind: DialogKind::Permission,
            question: "Do you want to proceed?".into(),
            about: Vec::new(),
            choices: Vec::new(),
        };
        ScreenReading { state: Some(ScreenState::Waiting), dialog: Some(dialog), ..ScreenReading::default() }
    }

    #[track_caller]
    fn check(
        last: Option<HookSign>,
        age: u64,
        screen: Option<&ScreenReading>,
        state: ScreenState,
        basis: VerdictBasis,
    ) {
        let hooks = HookSigns { last, age: Duration::from_secs(age) };
        assert_eq!(decide(hooks, screen, ProcessSign::Alive), verdict(state, basis));
    }

    #[test]
    fn a_process_that_is_gone_has_ended_whatever_its_screen_shows() {
        let hooks = HookSigns { last: Some(HookSign::PromptTaken), age: Duration::ZERO };
        for screen in [None, Some(&seen(ScreenState::Working)), Some(&dialog())] {
            let decided = decide(hooks, screen, ProcessSign::Gone);
            assert_eq!(decided, verdict(ScreenState::Ended, VerdictBasis::Process));
        }
    }

    #[test]
    fn a_dialog_is_waiting_even_if_no_hook_told() {
        use HookSign::{AsksLeave, PromptTaken, SessionStarted, TurnOver};
        for last in [None, Some(SessionStarted), Some(PromptTaken), Some(TurnOver)] {
            check(last, 0, Some(&dialog()), ScreenState::Waiting, VerdictBasis::Screen);
        }
        check(Some(AsksLeave), 0, Some(&dialog()), ScreenState::Waiting, VerdictBasis::HooksAndScreen);
        check(Some(AsksLeave), 0, Some(&seen(ScreenState::Idle)), ScreenState::Waiting, VerdictBasis::Hooks);
        let working = seen(ScreenState::Working);
        check(Some(AsksLeave), 0, Some(&working), ScreenState::Working, VerdictBasis::HooksAndScreen);
    }

    #[test]
    fn hooks_come_first_while_the_screen_lags() {
        let (idle, working) = (seen(ScreenState::Idle), seen(ScreenState::Working));
        check(Some(HookSign::PromptTaken), 0, Some(&idle), ScreenState::Working, VerdictBasis::Hooks);
        check(Some(HookSign::TurnOver), 0, Some(&working), ScreenState::Idle, VerdictBasis::Hooks);
        check(Some(HookSign::TurnOver), 60, Some(&working), ScreenState::Working, VerdictBasis::Screen);
        check(Some(HookSign::TurnOver), 60, Some(&idle), ScreenState::Idle, VerdictBasis::HooksAndScreen);
    }

    #[test]
    fn escape_runs_no_hook_but_ends_the_turn() {
        let interrupted = seen(ScreenState::Interrupted);
        let idle = seen(ScreenState::Idle);
        check(
            Some(HookSign::ToolUsed),
            5,
            Some(&interrupted),
            ScreenState::Interrupted,
            VerdictBasis::Screen,
        );
        check(
            Some(HookSign::PromptTaken),
            5,
            Some(&idle),
            ScreenState::Interrupted,
            VerdictBasis::HooksAndScreen,
        );
        let failed = ScreenReading { trouble: Some(ScreenTrouble::Error("500".into())), ..idle };
        check(Some(HookSign::PromptTaken), 5, Some(&failed), ScreenState::Idle, VerdictBasis::Screen);
        let limited = seen(ScreenState::Limited);
        check(
            Some(HookSign::TurnFailed),
            0,
            Some(&limited),
            ScreenState::Limited,
            VerdictBasis::HooksAndScreen,
        );
    }

    #[test]
    fn whoever_is_being_woken_was_not_interrupted() {
        let woken = Some(HookSign::BeingWoken);
        for state in [ScreenState::Idle, ScreenState::Interrupted, ScreenState::Background] {
            check(woken, 25, Some(&seen(state)), ScreenState::Working, VerdictBasis::Hooks);
        }
        let working = seen(ScreenState::Working);
        check(woken, 25, Some(&working), ScreenState::Working, VerdictBasis::HooksAndScreen);
        check(woken, 25, Some(&seen(ScreenState::Limited)), ScreenState::Limited, VerdictBasis::Screen);
        check(woken, 25, None, ScreenState::Working, VerdictBasis::Hooks);
    }

    #[test]
    fn hooks_alone_and_nothing_at_all() {
        let unread = ScreenReading::default();
        for screen in [None, Some(&unread)] {
            check(None, 0, screen, ScreenState::Unknown, VerdictBasis::Nothing);
            check(Some(HookSign::SessionStarted), 0, screen, ScreenState::Idle, VerdictBasis::Hooks);
            check(Some(HookSign::TurnFailed), 90, screen, ScreenState::Idle, VerdictBasis::Hooks);
            check(Some(HookSign::AsksLeave), 30, screen, ScreenState::Waiting, VerdictBasis::Hooks);
            check(Some(HookSign::AsksLeave), 90, screen, ScreenState::Unknown, VerdictBasis::Hooks);
            check(Some(HookSign::ToolUsed), 90, screen, ScreenState::Working, VerdictBasis::Hooks);
            check(Some(HookSign::TurnOver), 90, screen, ScreenState::Idle, VerdictBasis::Hooks);
        }
    }
}
