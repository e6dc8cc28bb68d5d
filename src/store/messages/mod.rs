//! Messages on disk: unread, handed over, sent and offered.

pub(super) mod answers;
pub(super) mod archive;
pub(super) mod dropped;
pub(super) mod every_message;
pub(super) mod expiry;
pub(super) mod inbox;
pub(super) mod mail_pack;
pub(super) mod mail_texts;
pub(super) mod message_files;
pub(super) mod message_list;
pub(super) mod offers;
pub(super) mod orphans;
pub(super) mod outbox;
mod sent_since;
pub(super) mod unread_reports;
