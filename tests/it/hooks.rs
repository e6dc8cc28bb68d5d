//! Tests of `msg hook`: the real program gets payloads of real harnesses.

mod aftermath;
pub mod codex;
mod damaged;
mod decisions;
pub mod harmless;
mod holders;
mod index;
mod judging;
mod kimi;
mod limits;
mod links;
mod mail;
mod offers;
mod permission;
pub mod posting;
mod queue;
mod qwen;
mod resting;
mod sessions;
mod spellings;
mod stopping;
mod strict;
mod waiters;
mod waiting;
pub mod waking;
