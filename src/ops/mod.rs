//! One use case per file. An op decides; the store below it keeps, the faces above it speak.

mod agents;
mod bury;
mod claims;
pub mod config;
mod context;
pub mod doctor;
mod error;
mod evict;
mod feed;
mod identity;
mod join;
mod leave;
mod letter;
mod messages;
mod names;
mod profile;
mod receive;
mod rename;
mod send;
mod set_status;
mod watch;

pub use agents::{Filter, Gone, Listing, agents, whois};
pub use context::{Context, Globals};
pub use error::{CommandError, Fact, Kind};
pub use evict::{Evicted, evict};
pub use identity::{Caller, caller, whoami};
pub use join::{Arrival, Joined, Request, join};
pub use leave::{Left, leave};
pub use letter::{Letter, Reader, age};
pub use messages::{InboxReport, Receipt, ack, history, inbox, receipt, show};
pub use profile::Profile;
pub use receive::{HandOver, Reached, Selection, read};
pub use rename::rename;
pub use send::{Accepted, Draft, Refused, SendReport, broadcast, reply, send};
pub use set_status::{MAX_STATUS, set_status};
pub use watch::{End, from_sender, wait, watch, watch_each};
