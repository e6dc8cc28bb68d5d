//! Whole machines: the real program and the real server.

mod credentials;
mod damaged;
mod deciding;
mod failures;
mod feed;
mod foreign;
mod forgetting;
pub mod mail;
mod mail_order;
mod obstacles;
mod owning;
mod partition;
mod presence;
mod reopening;
mod runs;
mod senders;
mod server_troubles;
