//! Tests of knowledge: what one session records, another one finds, in every work tree and whatever is killed.

mod commands;
mod questions;
