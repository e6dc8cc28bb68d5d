//! Runs on other machines of a linked mesh: asking for one, the copy of it here, and starting one that another machine
//! asked for.
//!
//! Whoever asks writes the request down, and the link process brings it to the other machine. There the link process
//! only writes it down, too; a process of its own decides (`starting`), with the profiles, gates and budget of that
//! machine. What becomes of the run comes back as news, of which the last is kept here (`copies`).

pub mod asking;
pub(in crate::ops) mod copies;
pub mod listing;
#[cfg(feature = "link")]
pub(in crate::ops) mod news;
pub mod starting;
pub(in crate::ops::runs) mod wishes;
