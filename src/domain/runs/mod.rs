//! Runs: one life of one worker on one task, what it used, and how it ended.

mod money;
mod usage;

pub use money::{MicroUsd, MoneyError};
pub use usage::{Cost, Usage};
