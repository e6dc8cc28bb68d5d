//! Tests of knowledge: what one session records, another one finds, in every work tree and whatever is killed.

mod branches;
mod commands;
mod questions;
mod secrets;
mod hooks;
