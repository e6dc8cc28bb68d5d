//! `awareness/`: for each repository the track of what agents do, and the counts made from it.
//!
//! ```text
//! awareness/<repository>          the counts
//! awareness/<repository>.track    what agents did: the window that forecasts look at, and what is not counted yet
//! awareness/<repository>.predictions   collisions that were foretold, and what became of them
//! awareness/<repository>.lock     held by the process that counts
//! awareness/<repository>.conflicts        files that two agents changed in different work trees and that can't be merged
//! awareness/<repository>.conflicts.lock   held by the process that looks for them
//! ```

pub(super) mod conflict_file;
pub(super) mod counter_entry;
pub(super) mod counter_file;
mod fields;
pub(super) mod predictions;
pub(super) mod repository_counts;
pub(super) mod track_file;
