//! Tests of `msg mcp`: the real program, over real pipes, with hand-written JSON-RPC.

mod cancelling;
mod ending;
mod hostile;
mod identity;
mod knowledge;
mod mail;
mod protocol;
mod runs;
mod screens;
mod tools;
mod waking;
