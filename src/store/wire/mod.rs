//! The formats on disk: serialisable counterparts of domain types. Keys are camelCase, as in pi-messenger.

pub mod event;
pub(super) mod evidence;
pub mod link;
pub mod link_feed;
pub mod link_presence;
pub mod link_protocol;
pub(in crate::store) mod link_runs;
pub mod link_tasks;
pub(super) mod message;
pub(super) mod odd_registration;
pub(super) mod process;
pub(super) mod registration;
pub(super) mod surrogates;
pub mod time;

use serde::Serialize;

/// Indented JSON with a newline at the end.
#[expect(clippy::expect_used, reason = "these values hold nothing that JSON can't say")]
pub(super) fn pretty(value: &impl Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec_pretty(value).expect("plain data");
    bytes.push(b'\n');
    bytes
}
