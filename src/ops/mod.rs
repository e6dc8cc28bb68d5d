//! One use case per file. An op decides; the store below it keeps, the faces above it speak.

mod agents;
mod bury;
mod claims;
pub mod config;
mod context;
pub mod doctor;
mod error;
mod evict;
mod identity;
mod join;
mod leave;
mod names;
mod profile;
mod rename;
mod set_status;

pub use agents::{Filter, Gone, Listing, agents, whois};
pub use context::{Context, Globals};
pub use error::{CommandError, Fact, Kind};
pub use evict::{Evicted, evict};
pub use identity::{Caller, caller, whoami};
pub use join::{Arrival, Joined, Request, join};
pub use leave::{Left, leave};
pub use profile::Profile;
pub use rename::rename;
pub use set_status::{MAX_STATUS, set_status};
