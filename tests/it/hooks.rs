//! What `msg hook` does: the real program is fed what real harnesses said.

mod damaged;
mod decisions;
mod fixture;
mod harmless;
mod holders;
mod spellings;
mod strict;
