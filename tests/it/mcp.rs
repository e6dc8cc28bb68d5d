//! What `msg mcp` does: the real program, over real pipes, with JSON-RPC written by hand.

mod cancelling;
pub mod client;
mod ending;
mod hostile;
mod identity;
mod mail;
mod protocol;
mod tools;
mod waking;
