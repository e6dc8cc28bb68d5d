//! Agents in terminals: what one is doing, decided from its hooks, its screen and its process together, and what is
//! typed into its terminal.

pub(in crate::ops) mod agent_pane;
pub mod down;
pub mod hook_facts;
pub(in crate::ops) mod project_session;
pub mod sight;
pub mod tell;
pub(in crate::ops) mod typing;
pub mod up;

pub use hook_facts::HookFacts;
pub use sight::{AgentSight, NoScreen, see};
pub use typing::{PromptObstacle, PromptProof};
