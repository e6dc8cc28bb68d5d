//! Tests of how the command line parses its arguments, and what it answers.

mod answers;
mod contract;
mod hyphens;
mod words;
