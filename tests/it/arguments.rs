//! How the command line reads its arguments, and what it answers.

mod answers;
mod contract;
mod hyphens;
mod words;
