//! The mesh on disk: its files, their formats and the locks that protect them. Decisions are made in `ops`.
//!
//! Nothing outside this layer knows a path inside the mesh. Operations that need a lock are methods of the guard that
//! taking the lock returns: [`LockedMesh`] for names and registrations, [`LockedClaims`] for claims. What a command
//! decides under a lock is staged in a [`StagedChange`] and committed in one call.

mod activity_log;
mod archive;
mod burial;
mod claims;
mod completions;
pub mod config_files;
mod directory_kind;
mod error;
mod feed;
mod fingerprint;
mod grave_id;
mod graves;
mod handles;
mod hook_state;
mod inbox;
mod installs;
mod last_good;
mod layout;
mod location;
mod lock_order;
mod locked_claims;
mod locked_mesh;
mod mesh;
mod message_files;
mod message_list;
mod offers;
mod orphans;
mod outbox;
mod presence;
mod pruning;
mod quarantine;
mod registry;
mod registry_index;
mod retrying_read;
mod session_hash;
mod session_states;
mod sessions;
mod staged_change;
mod stuck_reports;
mod swarm_lock;
mod watch_target;
mod wire;

pub use activity_log::{LockedActivityLog, is_rewrite_due};
pub use archive::{MessageLocation, SentMessageLocation, StoredMessage};
pub use claims::{Claim, Claims};
pub use completions::{Completion, Completions, SpecCompletions};
pub use directory_kind::mesh_around;
pub use error::StoreError;
pub use feed::{EventBatch, FeedPosition, ProjectFeedPosition, ProjectFeeds};
pub use fingerprint::Fingerprint;
pub use grave_id::GraveId;
pub use graves::{GoneReason, Grave, GraveScan};
pub use handles::{
    ActivityLogs, Archive, FeedLog, GraveRecords, HookStates, Inboxes, Outboxes, PresenceFiles, Registry,
    SessionRecords, SessionStates, TaskRecords, Upkeep,
};
pub use hook_state::{HookFailure, MailTurns, StampsBefore, SubagentChange};
pub use inbox::{Acknowledge, InboxScan, KnownSenders, TakenMessages, UnparsableFile, UnreadMessage};
pub use installs::{
    InstallRecord, InstallRecords, InstallsLock, OriginalFile, OriginalOutline, RestoredFile, WrittenFile,
};
pub use location::{LocationReason, MeshLocation};
pub use lock_order::holds_a_lock;
pub use locked_claims::{LockedClaims, Salvaged};
pub use locked_mesh::LockedMesh;
pub use mesh::{Mesh, MeshOptions, PermissionChange};
pub use message_files::{MessageStem, Offer, OfferRetention, SeenRecord, SentRecord, Via};
pub use message_list::MessageRef;
pub use offers::OfferedMessage;
pub use orphans::OwnerlessInbox;
pub use outbox::{Outbox, Posted};
pub use registry::{Census, Registration, UnreadableFile};
pub use registry_index::{IndexedRegistry, ListedAgent, RegistryQuery, resolved_patterns};
pub use retrying_read::limit_read_retries;
pub use session_states::{ChannelState, SessionServer, SessionState};
pub use sessions::{Eviction, SessionRecord, SessionScan};
pub use staged_change::{Committed, StagedChange};
pub use swarm_lock::{SwarmLock, SwarmLockState};
pub use watch_target::WatchTarget;
pub use wire::event::parse as parse_event;
pub use wire::time::iso;
