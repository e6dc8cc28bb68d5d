//! What `msg hook` does: the real program is fed what real harnesses said.

mod damaged;
mod fixture;
mod harmless;
mod strict;
