//! What hooks keep between calls: the state of sessions, and failures.

pub(super) mod hook_state;
pub(super) mod hook_steps;
pub(super) mod knowledge_marks;
pub(super) mod session_states;
