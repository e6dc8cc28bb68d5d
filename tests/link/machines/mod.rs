//! Whole machines: the real program and the real server.

mod credentials;
mod deciding;
mod failures;
mod feed;
mod foreign;
mod forgetting;
pub mod mail;
mod obstacles;
mod owning;
mod partition;
mod presence;
mod reopening;
mod runs;
mod server_troubles;
