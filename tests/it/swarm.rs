//! Tasks of a spec: who gets them, with which paths, and what others hear of it.

mod commands;
mod fixture;
mod lives;
mod paths;
mod words;
