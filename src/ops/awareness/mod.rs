//! Awareness: what agents are working on, and who is about to collide with whom.
//!
//! Hooks record in passing what each agent is asked and which files it changes (`record`). A background job counts which
//! words led to which files (`count`). At a prompt that probably leads to a file in which another agent is, the model
//! gets one sentence about it (`heads_up`). At its start it is told who is in which file (`nearby`). Agents that changed the same lines of a file in different work trees are told
//! (`worktree_conflicts`).

pub mod agent_topics;
pub mod brief;
pub(super) mod count;
pub mod delegate;
pub mod domains;
pub(super) mod heads_up;
pub(super) mod nearby;
pub mod overlaps;
mod place;
pub(super) mod record;
mod reported;
mod resolve;
mod view;
pub(super) mod worktree_conflicts;

pub(super) use place::WorkPlace;
pub(super) use reported::reported_changes;
