//! The mesh on disk: how things are kept, never whether they should be.
//!
//! Nothing outside this layer knows a path inside the mesh. What may be done only under a lock is a method of the
//! guard that taking the lock returns: [`Locked`] for names and registrations, [`Swarm`] for claims.

mod archive;
mod completions;
pub mod config;
mod correspondence;
mod error;
mod feed;
mod graves;
mod hooks;
mod inbox;
mod index;
mod installs;
mod layout;
mod locate;
mod locked;
mod mail;
mod marks;
mod mesh;
mod outbox;
mod patience;
mod quarantine;
mod registry;
mod rest;
mod sessions;
mod spot;
mod stuck;
mod swarm;
mod swarm_lock;
mod tally;
mod wire;

pub use archive::{Filed, Place, Whereabouts};
pub use completions::{Completion, Completions, Finished};
pub use correspondence::Sealed;
pub use error::StoreError;
pub use feed::{FeedPlace, Given, Project, ProjectPlace};
pub use graves::{Grave, GraveId, Graves, Why};
pub use hooks::{Before, Trouble, Turns};
pub use inbox::{Contacts, Delivery, Scan, Unripe, Waiting};
pub use index::{Listed, Near, Survey, patterns};
pub use installs::{Install, Installs, InstallsLock, hash};
pub use locate::{Location, Reason};
pub use locked::Locked;
pub use mail::{Seen, Sent, Stem, Via};
pub use marks::Marks;
pub use mesh::{Mesh, Options, Tightened};
pub use outbox::{Outbox, Posted};
pub use patience::be_quick;
pub use registry::{Census, Record, Unreadable};
pub use rest::{Activity, Attendant};
pub use sessions::{Eviction, SessionRecord, Sessions};
pub use spot::Spot;
pub use swarm::{Claim, Claims, Salvaged, Swarm};
pub use swarm_lock::{Obstacle, SwarmLock};
pub use tally::{Account, is_rewrite_due};
pub use wire::event::parse as parse_event;
pub use wire::time::iso;
