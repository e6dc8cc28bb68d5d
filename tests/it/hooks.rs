//! What `msg hook` does: the real program is fed what real harnesses said.

mod aftermath;
mod call;
mod index;
mod mail;
mod sessions;
mod stopping;
mod waiting;
