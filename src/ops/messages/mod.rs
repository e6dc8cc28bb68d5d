//! Messages: sending them, handing them over, and what became of them.

pub(super) mod ack;
pub(super) mod answers;
mod broadcast_reach;
pub(super) mod history;
pub mod mail_tracker;
pub(super) mod post_to_agent;
pub(super) mod receipt;
pub(super) mod receive;
pub(super) mod recipients;
pub(super) mod rendered_message;
pub(super) mod send;
pub(super) mod stored_messages;
pub(super) mod unread_reports;
pub(super) mod watch;
