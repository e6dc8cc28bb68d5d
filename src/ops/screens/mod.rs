//! Watching agents in terminals: what one is doing, decided from its hooks, its screen and its process together.

pub(in crate::ops) mod agent_pane;
pub mod hook_facts;
pub mod sight;

pub use hook_facts::HookFacts;
pub use sight::{AgentSight, NoScreen, see};
