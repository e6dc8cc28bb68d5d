//! The mesh on disk: its files, their formats and the locks that protect them. Decisions are made in `ops`.
//!
//! Nothing outside this layer knows a path inside the mesh. Operations that need a lock are methods of the guard that
//! taking the lock returns: [`LockedMesh`] for names and registrations, [`LockedClaims`] for claims. What a command
//! decides under a lock is staged in a [`StagedChange`] and committed in one call.

mod agents;
mod awareness;
mod directory_kind;
mod error;
mod feed;
mod fingerprint;
mod handles;
mod hooks;
mod knowledge;
mod layout;
mod link;
mod location;
mod lock_order;
mod locked_mesh;
mod mesh;
mod messages;
mod quarantine;
mod retrying_read;
mod runs;
mod setup;
mod staged_change;
mod tasks;
mod told_alerts;
mod watch_target;
mod wire;
mod workers;

pub use agents::activity_log::{LockedActivityLog, is_rewrite_due};
pub use agents::contest_tokens::ContestEnd;
pub use agents::grave_id::GraveId;
pub use agents::graves::{GoneReason, Grave, GraveScan};
pub use agents::registry::{Census, Registration, UnreadableFile};
pub use agents::registry_index::{IndexedRegistry, ListedAgent, RegistryQuery};
pub use agents::repository_places::RepositoryPlaces;
pub use agents::repository_records::RepositoryRecord;
pub use agents::resolved_patterns::{patterns_seen, resolved_patterns};
pub use agents::sessions::{Eviction, SessionRecord, SessionScan};
pub use awareness::conflict_file::ConflictLock;
pub use awareness::counter_entry::FileSelection;
pub use awareness::counter_file::{CountedPart, CounterFile};
pub use awareness::predictions::{Prediction, Recorded};
pub use awareness::repository_counts::RepositoryCounts;
pub use awareness::track_file::{CountedTrack, CountingLock, Track, TrackText};
pub use directory_kind::mesh_around;
pub use error::{ParseError, StoreError};
pub use feed::{EventBatch, FeedLog, FeedPosition, ProjectFeedPosition, ProjectFeeds};
pub use fingerprint::Fingerprint;
pub use handles::{
    ActivityLogs, Archive, AwarenessFiles, ContestTokens, GraveRecords, HookStates, Inboxes, LinkFiles,
    ModeRecords, Outboxes, PresenceFiles, Registry, RemoteRecords, RepositoryRecords, RunLedger,
    SessionRecords, SessionStates, TaskRecords, ToldAlerts, Upkeep,
};
pub use hooks::hook_state::{HookFailure, MailTurns, StampsBefore, SubagentChange};
pub use hooks::knowledge_marks::{AskMoment, KnowledgeMark, KnowledgeMarks, OfferedRecord};
pub use hooks::session_states::{ChannelState, SessionServer, SessionState};
pub use knowledge::{
    AppendedFrame, ImportReport, KnowledgeCache, KnowledgeLog, KnowledgeUse, LockedKnowledgeLog, LogContent,
    LogProblem, LogProblemKind, LogStamp, OfferIndex, OfferIndexState, OpenOfferIndex, PackReport, PageCache,
    PageFile, PageFiles, PageWrite, SourceKey, StoredRecords, UseCounts, UseLog, exclude_knowledge_from_git,
    person_id,
};
pub use link::config::{LinkConfig, LinkCredentials, RunPermission};
pub use link::mirror::{MirroredAgent, MirroredTasks};
pub use link::queue::{OwedReceipt, QueuedContent, QueuedMessage};
pub use link::remote_delivery::RemoteDelivery;
pub use link::run_records::{RunAnswer, RunAskedElsewhere, RunAskedHere, RunDecision, StopWish, ToldNews};
pub use link::shared_feed::{FeedBatch, ReceivedEntry, ReceivedFeed};
pub use link::state::{LinkProblem, LinkStage, LinkState, ServerSummary};
pub use location::{LocationReason, MeshLocation, machine_state};
pub use lock_order::holds_a_lock;
pub use locked_mesh::LockedMesh;
pub use mesh::{Mesh, MeshOptions, PermissionChange};
pub use messages::archive::{
    MESSAGES_KEPT, MESSAGES_KEPT_AT_MOST, MessageLocation, SentMessageLocation, StoredMessage,
};
pub use messages::every_message::{AnyMessage, MessageProgress};
pub use messages::inbox::{
    Acknowledge, InboxScan, KnownSenders, TakenMessages, UnparsableFile, UnreadMessage,
};
pub use messages::mail_texts::{MailRecord, MailTexts, SearchedMail};
pub use messages::message_files::{
    AnswerMark, MessageStem, Offer, OfferRetention, SeenRecord, SentRecord, Via,
};
pub use messages::message_list::MessageRef;
pub use messages::offers::OfferedMessage;
pub use messages::orphans::OwnerlessInbox;
pub use messages::outbox::{Outbox, Posted};
pub use messages::unread_reports::UnreadReport;
pub use retrying_read::limit_read_retries;
pub use runs::admission::{AdmissionLock, BatchTaskRecord, BudgetRefusal, RunRefusal};
pub use runs::budgets::RecordedBudget;
pub use runs::draining::DrainingMark;
pub use runs::ledger::{LedgerList, StopOrder, StopUrgency};
pub use runs::limits::{HarnessLimit, HarnessLimits};
pub use runs::modes::RecordedMode;
pub use runs::order::{
    CrewOrder, OrderedAnswer, OrderedProgram, PaneOrder, ReviewOrder, ReviewedWork, RunOrder, TaskOrder,
    WorktreeOrder,
};
pub use runs::outside::OutsideChange;
pub use runs::questions::{AskedQuestion, QuestionAnswer};
pub use runs::queue::{QueuePlace, RunQueue};
pub use runs::review_keys::review_in;
pub use runs::slots::{HeldSlot, RunSlots};
pub use runs::turns::{AnnouncedPrompt, WorkerTurns};
pub use runs::work_record::{WorkRecord, WorkStage};
pub use setup::config_files;
pub use setup::config_undo::{ConfigUndo, OriginalConfig};
pub use setup::installs::{
    InstallRecord, InstallRecords, InstallsLock, OriginalFile, OriginalOutline, RestoredFile, WrittenFile,
};
pub use setup::setup_record::{SetupFile, SetupPlace, SetupRecord};
pub use staged_change::{Committed, StagedChange};
pub use tasks::claim_numbers::{ClaimNumber, ClaimNumbers, Reopening, TaskNote};
pub use tasks::claims::{Claim, Claims};
pub use tasks::completions::{Completion, Completions, SpecCompletions};
pub use tasks::locked_claims::{LockedClaims, Salvaged};
pub use tasks::swarm_lock::{SwarmLock, SwarmLockState};
pub use told_alerts::AlertMark;
pub use watch_target::WatchTarget;
pub use wire::event::parse as parse_event;
pub use wire::link_feed as feed_format;
pub use wire::link_presence as presence_format;
pub use wire::link_protocol;
pub use wire::time::iso;
pub use workers::probe_cache::{ProbeCache, ProbeRecord, ProbedHarness, ProbedServer};
pub use workers::trust_records::{TrustKind, TrustRecords, TrustVerdict};
pub use workers::worker_files;

/// The formats between machines.
pub mod link_format {
    pub use super::wire::link::*;
    pub use super::wire::link_tasks::{parse_task, task_bytes};
}
