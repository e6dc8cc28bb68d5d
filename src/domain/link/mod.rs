//! Linked meshes: several machines that share one mesh through a server (NATS JetStream).
//!
//! The server decides what must be unique over all machines: names, tasks and paths of repositories. Each of them is a
//! record that names its owner, and an owner counts as long as the lease of its machine has the same epoch.

mod address;
mod leases;
mod machine;
mod outside_paths;
mod path_table;
mod presence;
mod records;
mod run_letters;
pub mod server_config;
mod tokens;

pub use address::{LinkAddress, LinkAddressError};
pub use leases::{Leases, OwnerState};
pub use machine::{LeaseEpoch, MachineName, MachineNameError, RemoteMachine, on_machine};
pub use outside_paths::{has_outside_path, without_outside_paths};
pub use path_table::{PathConflict, PathTable, SharedPath, by_clock, later, shared};
pub use presence::{AgentPresence, HeardAgent, PresenceReport};
pub use records::{MachineRecord, NameRecord, RecordOwner, TaskHolding, TaskKey, TaskRecord, TaskReopening};
pub use run_letters::{
    BranchPush, MAX_FILES, MAX_LOG, MAX_WORDS, REQUEST_LIFE, RemoteAsker, RunAsk, RunAskRefusal, RunAsker,
    RunLetter, RunNews, is_too_late,
};
pub use tokens::{name_token, paths_token, task_token};
