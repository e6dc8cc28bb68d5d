//! The mesh on disk: how things are kept, never whether they should be.
//!
//! Nothing outside this layer knows a path inside the mesh. What may be done only under a lock is a method of the
//! guard that taking the lock returns: [`Locked`] for names and registrations, [`Swarm`] for claims.

pub mod config;
mod error;
mod graves;
mod layout;
mod locate;
mod locked;
mod mesh;
mod patience;
mod registry;
mod sessions;
mod swarm;
mod swarm_lock;
mod wire;

pub use error::StoreError;
pub use graves::{Grave, GraveId, Why};
pub use locate::{Location, Reason};
pub use locked::Locked;
pub use mesh::{Mesh, Options, Tightened};
pub use registry::{Census, Record, Unreadable};
pub use sessions::{Eviction, SessionRecord, Sessions};
pub use swarm::{Claim, Claims, Swarm};
pub use swarm_lock::{Obstacle, SwarmLock};
pub use wire::time::iso;
