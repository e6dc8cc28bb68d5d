//! The operations of `msg`, one folder per capability and one file per command. An op decides; `store` keeps the data,
//! `faces` print.

pub mod agents;
pub mod alerts;
pub mod awareness;
pub mod background;
mod budget;
mod context;
pub mod crew;
pub mod doctor;
mod duration;
mod effects;
mod error;
pub mod export;
pub mod feed;
pub mod find;
mod health_check;
pub mod hook;
pub mod knowledge;
pub mod link;
mod live_values;
pub mod messages;
mod mode;
mod moment;
mod notices;
pub mod overview;
mod person_required;
mod project_scope;
pub mod reservations;
mod runner;
pub mod runs;
pub mod screens;
pub mod selftest;
pub mod setup;
mod statusline;
pub mod tasks;
pub mod wake;
pub mod watcher;
pub mod workers;

pub use agents::evict::{EvictOutcome, EvictPolicy, evict};
pub use agents::identity::{Caller, caller, whoami};
pub use agents::join::{JoinKind, JoinOutcome, JoinRequest, join};
pub use agents::leave::{LeaveOutcome, leave};
pub use agents::list::{AgentFilter, AgentList, AgentRelation, GoneAgent, agents, whois};
pub use agents::profile::AgentProfile;
pub use agents::rename::rename;
pub use agents::set_status::{MAX_STATUS, set_status};
pub use budget::{BudgetPart, BudgetView, CurrentBudget, OwnGrant, OwnGrantPart, budget, set_budget};
pub use context::{Context, FolderScope, GlobalOptions, McpClient};
pub use duration::parse_duration;
pub use effects::Op;
pub use error::{CommandError, CommandErrorKind, ErrorDetail};
pub use live_values::{LiveCandidate, LiveQuestion, LiveValue, MOST_VALUES, live_values};
pub use messages::ack::ack;
pub use messages::answers::{AnswerState, latest_question};
pub use messages::history::{HistoryEntry, HistoryFilter, ThreadSummary, history, threads};
pub use messages::receipt::{Receipt, receipt};
pub use messages::receive::{HandoverFn, HandoverOutcome, ReadOptions, read};
pub use messages::recipients::{BroadcastSummary, ResolvedGroup};
pub use messages::rendered_message::{ReaderKind, RenderedMessage, format_age, quote_peer_text};
pub use messages::send::{
    AcceptedCopy, MessageDraft, QueuedElsewhere, RefusedCopy, SendReport, broadcast, parse_importance,
    parse_kind, reply, send,
};
pub use messages::stored_messages::{InboxReport, inbox, owed_acks, show, show_of_everybody};
pub use messages::watch::{WatchEnd, from_sender, wait, watch, watch_each};
pub use mode::{CurrentMode, mode, set_mode};
pub use moment::parse_moment;
pub use person_required::{is_inside_harness, readable_text_file, required as require_person};
pub use reservations::check::{PathVerdict, check, conflict_error};
pub use reservations::contest::{ContestOutcome, contest};
pub use reservations::contest_target::ContestState;
pub use reservations::holdings::Holding;
pub use reservations::list::{ContestView, HolderScope, contests, reservations};
pub use reservations::release::{ReleaseOutcome, ReleaseScope, release, release_listed};
pub use reservations::repository_reach::RequestedReach;
pub use reservations::reserve::{
    BroadPatterns, MAX_RESERVATIONS, ReserveOutcome, ReserveRequest, parse_time_to_live, reserve,
};
pub use reservations::take_over::{TakeOverOutcome, release_from};
pub use reservations::things::scope_text;
pub use runner::{OpOutcome, carry_out, run, run_at_hook};
pub use statusline::{StatusLine, StatusLineSubject, statusline};
pub use watcher::changes::{MeshChange, watch_changes};
