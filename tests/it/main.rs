//! One binary for all integration tests. They run the real `msg` in real processes, some of which are really killed.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a test may fail loudly, and makes the files that it needs"
)]

mod alerts;
mod arguments;
mod awareness;
mod background;
mod briefs;
mod completions;
mod configuration;
mod corpus;
mod crashes;
mod crews;
mod deciding;
mod doctor;
mod effects;
mod export;
mod feed;
mod finding;
mod first_day;
mod formats;
mod full_disk;
mod full_size;
mod guard;
mod hooks;
mod inbox_under_kills;
mod install;
mod joining;
mod knowledge;
mod knowledge_search;
mod layering;
mod linked;
mod lock_order;
mod locks;
mod man;
mod mcp;
mod messages;
mod needs_a_person;
mod nothing_there;
mod pages;
mod panes;
mod pi_messenger;
mod picture;
mod presence;
mod registry;
mod reservations;
mod run_trees;
mod runs;
mod safety;
mod scripted_model;
mod seeing;
mod selftest;
mod statusline;
mod support;
mod tasks;
mod terminal;
mod texts;
mod times;
mod tour;
mod tui;
mod waiting;
mod watching;
mod work_done;
mod workers;
