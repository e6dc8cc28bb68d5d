//! Messages: sending them, handing them over, and what became of them.

pub mod mail_tracker;
pub(super) mod mailbox;
pub(super) mod post_to_agent;
pub(super) mod receive;
pub(super) mod rendered_message;
pub(super) mod send;
pub(super) mod watch;
