//! Tasks of a spec: who gets them, with which paths, and what others are told; also while everyone is killed.

mod commands;
mod crowd;
mod evidence;
pub mod fixture;
mod foreign;
mod lives;
mod model;
mod paths;
mod races;
mod reopening;
mod storm;
mod ticking;
mod torn;
mod words;
