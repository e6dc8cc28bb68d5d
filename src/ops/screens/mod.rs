//! Agents in terminals: what one is doing, decided from its hooks, its screen and its process together, and what is
//! typed into its terminal.

pub(in crate::ops) mod agent_pane;
mod answering;
mod client_version;
pub mod down;
pub mod glance;
pub mod guide;
pub mod hook_facts;
mod interrupting;
pub mod jump;
pub mod look;
pub(in crate::ops) mod pane_look;
pub(in crate::ops) mod project_session;
pub mod sight;
pub(in crate::ops) mod stall;
mod taking_back;
pub mod tell;
mod tell_error;
pub mod terminal_place;
pub(in crate::ops) mod typing;
pub(in crate::ops) mod typing_error;
pub mod up;
pub mod wait_for;
mod watched;
pub(in crate::ops) mod worker_watch;

pub use hook_facts::HookFacts;
pub use sight::{AgentSight, NoScreen, see};
pub use typing_error::{PromptObstacle, PromptProof};
