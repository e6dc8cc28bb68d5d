//! What `msg` can do: one folder per capability, one file per use case. An op decides; the store below it keeps the
//! data, the faces above it print.

pub mod agents;
mod context;
pub mod doctor;
mod duration;
mod error;
pub mod feed;
mod health_check;
pub mod hook;
pub mod messages;
pub mod overview;
mod person;
pub mod reservations;
pub mod selftest;
pub mod setup;
mod statusline;
pub mod tasks;
pub mod wake;
pub mod watcher;

pub use agents::evict::{Evicted, evict};
pub use agents::identity::{Caller, caller, whoami};
pub use agents::join::{Arrival, Joined, Request, join};
pub use agents::leave::{Left, leave};
pub use agents::list::{Filter, Gone, Listing, agents, whois};
pub use agents::profile::Profile;
pub use agents::rename::rename;
pub use agents::set_status::{MAX_STATUS, set_status};
pub use context::{Client, Context, Globals};
pub use duration::duration;
pub use error::{CommandError, Fact, Kind};
pub use messages::mailbox::{InboxReport, Receipt, ack, history, inbox, owed_acks, receipt, show};
pub use messages::receive::{HandOver, Reached, Selection, read};
pub use messages::rendered_message::{Letter, Reader, age, quotation};
pub use messages::send::{Accepted, Draft, Refused, SendReport, broadcast, importance, reply, send};
pub use messages::watch::{End, from_sender, wait, watch, watch_each};
pub use person::text_file;
pub use reservations::check::{Verdict, check, verdict};
pub use reservations::holdings::Holding;
pub use reservations::list::reservations;
pub use reservations::release::{Released, release};
pub use reservations::reserve::{Granted, MAX_RESERVATIONS, Wish, reserve, time_to_live};
pub use statusline::{Asked, StatusLine, statusline};
pub use watcher::changes::{Matter, look_out};
