//! Where agents are heading: the topics of their prompts, and which files these usually lead to.
//!
//! Comparing the words of two prompts predicts nothing. What works is to ask which files the words of a prompt usually
//! lead to, and whether another agent is in those files now: [`forecast`].

pub mod counters;
pub mod forecast;
mod secrets;
mod stop_words;
pub mod topics;
pub mod trajectory;
