//! Where the outside world comes in: each face turns it into an op and back. No face knows another.

pub mod cli;
pub mod hook;
