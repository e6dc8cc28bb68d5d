//! A client of NATS JetStream, which connects the machines of a mesh.
//!
//! It speaks the protocol of the engine by itself where `async-nats` hides what a user must be told: requests are sent as
//! they are documented, so that an answer keeps its error code, a forbidden subject is named, and a write whose answer is
//! missing is called unknown and not failed. Connecting, reconnecting, TLS and the wire format are those of `async-nats`.
//!
//! Nothing here knows what a record or a message means.
//!
//! # What a machine's user must be allowed to do
//!
//! For the mesh `M` and the machine `m`. It publishes to
//! - `$JS.API.INFO`, `$JS.API.STREAM.INFO.KV_mesh_M`, `$JS.API.STREAM.INFO.MESH_M_*`,
//! - `$JS.API.STREAM.MSG.GET.KV_mesh_M`, `$JS.API.STREAM.MSG.GET.MESH_M_INBOX`,
//! - `$JS.API.CONSUMER.CREATE.KV_mesh_M.watch_m_*.>`, `$JS.FC.KV_mesh_M.>`,
//! - `$JS.API.CONSUMER.INFO.MESH_M_INBOX.inbox_m`, `$JS.API.CONSUMER.CREATE.MESH_M_INBOX.inbox_m.>`,
//!   `$JS.API.CONSUMER.DELETE.MESH_M_INBOX.inbox_m`, `$JS.API.CONSUMER.MSG.NEXT.MESH_M_INBOX.inbox_m`,
//!   `$JS.ACK.MESH_M_INBOX.inbox_m.>`,
//! - `$JS.API.CONSUMER.CREATE.MESH_M_FEED.feed_m_*.>`, `$JS.API.CONSUMER.MSG.NEXT.MESH_M_FEED.feed_m_*`,
//! - `$KV.mesh_M.>`, `mesh.M.inbox.*.m`, `mesh.M.dead.m`, `mesh.M.feed.m`, `mesh.M.presence.m`.
//!
//! `$JS.API.STREAM.MSG.GET.MESH_M_INBOX` is for tests and admins: whoever has it can read everybody's messages. Without it
//! only the number of a message that a process may have died of is unknown.
//!
//! It subscribes to `_INBOX_m.>` and `mesh.M.presence.*`. Whoever creates the streams also publishes to
//! `$JS.API.STREAM.CREATE.KV_mesh_M` and `$JS.API.STREAM.CREATE.MESH_M_*`. Tokens with a part that varies
//! (`watch_m_*`) cannot be matched by a server; allow any token there.

mod client;
mod connection;
mod credentials;
mod durability;
mod error;
mod feed;
mod inbox;
mod inbox_consumer;
mod inbox_order;
mod inbox_stored;
mod incoming;
mod layout;
mod options;
mod place;
mod prepare;
mod presence;
mod records;
mod requests;
mod tls;
mod watch;

pub use client::{Nats, ServerFacts};
pub use connection::ServerConnection;
pub use durability::{SyncPolicy, durability};
pub use error::{DeniedAction, NatsError};
pub use feed::{FeedEntries, FeedEntry, FeedRange, FeedReader};
pub use inbox::Stored;
pub use inbox_stored::StoredForMachine;
pub use incoming::Incoming;
pub use options::{ConnectOptions, Credentials};
pub use presence::PresenceMessages;
pub use records::{Cas, KeyRecord};
pub use tls::TlsProblem;
pub use watch::{Change, Changes};
