//! Workers: the profiles that `workers.toml` describes, how its layers are merged, and which of its keys count only
//! after a person trusted the file.

mod budget;
mod merge;
mod profile;
mod profile_key;
mod shipped;
mod text_diff;
mod version;
mod workers_file;
mod worktree_setup;

pub use budget::{Budget, BudgetError};
pub use merge::{MergedWorkers, RestrictedKeys, WorkersLayer, merge_workers};
pub use profile::{
    DialogAnswer, Instructions, Isolation, Profile, ProfileOrigin, ProfileValue, Triage, WorkerProgram,
};
pub use profile_key::{ProfileKey, RestrictedKey};
pub use shipped::{VERDICT_FORMAT, shipped_profiles};
pub use text_diff::unified_diff;
pub use version::version_in;
pub use workers_file::{ProfileTable, WorkersFile, WorkersFileProblem};
pub use worktree_setup::{WorktreeKey, WorktreeSetup, WorktreeValue};
