//! Screens: what the terminal of an agent shows, what that means together with its hooks, and when to look again.

mod decision;
mod dialog;
mod hook_steps;
mod key;
mod key_target;
mod look_plan;
mod looked;
mod reading;
mod stall;
mod state;
mod steady_text;
mod text;
mod turn_progress;
mod typed_text;

pub use decision::{HookSign, HookSigns, ProcessSign, ScreenVerdict, VerdictBasis, decide};
pub use dialog::{ChoiceMeaning, Dialog, DialogChoice, DialogKind};
pub use hook_steps::{HookStep, HookStepKind, HookSteps};
pub use key::ScreenKey;
pub use look_plan::{LookPlan, LookReason, ScreenChange, ToolWork};
pub use looked::LookedLines;
pub use reading::{PromptLine, ScreenReading, ScreenTrouble};
pub use stall::{SpinWatch, StallLook, StallWatch};
pub use state::ScreenState;
pub use text::{CursorPlace, ScreenLine, ScreenText};
pub use turn_progress::TurnProgress;
pub use typed_text::{acting_character, reads_as_command, without_blanks};
