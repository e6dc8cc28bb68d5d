//! Coding agents that run side by side on one machine find each other, talk, keep out of each other's files and split
//! a spec into tasks. `ravenry` is the package; `msg` is the one binary it builds.
//!
//! # Layers
//!
//! Imports run one way, and a test holds that line: [`faces`] → [`ops`] → [`store`] → [`sys`] → [`domain`].
//!
//! # Which module owns which file
//!
//! | in the mesh | module |
//! | --- | --- |
//! | `registry/<Name>.json` | `store::registry`, `store::wire::registration` |
//! | `inbox/<Name>/` | `store::inbox` (taking), `store::offers` (what a model was given), `store::outbox` (posting), `store::locked` (moving with its owner) |
//! | `seen/<Name>/.owner` | `store::orphans` |
//! | `registry/.<Name>.taken` | `store::burial` |
//! | `seen/<Name>/`, `sent/<Name>/` | `store::archive`; their file names are `store::mail`'s |
//! | `feed/<number>.jsonl`, `feed/.lock` | `store::feed`; a line is `store::wire::event`'s |
//! | `quarantine/` | `store::quarantine` |
//! | `sessions/<hash>.json` | `store::sessions` |
//! | `graves/<Name>-<hash>/` | `store::graves` |
//! | `presence/<Name>` | its time: `store::mesh`; its lines, what the agent did: `store::activity_log`, on `sys::files`' ledger |
//! | `presence/<Name>.stuck`, `presence/.looked` | `store::stuck` |
//! | `index` | `store::index` |
//! | `hooks/`, `trouble.jsonl` | `store::hooks`; what a session is at, and who waits at its side, `store::session_activity` |
//! | `claims.json` | `store::swarm` |
//! | `completions.json` | `store::completions`, `store::swarm` |
//! | `mesh.lock` | `store::locked`, on `sys::flock` |
//! | `swarm.lock` | `store::swarm_lock` |
//! | `tmp/` | `sys::files` |
//!
//! Configuration files are `store::config`'s, and `last-good.json` beside the user's is `store::last_good`'s; git's pre-commit hook is `ops::setup::guard`'s. What `install` found in the settings
//! of harnesses, and what it wrote there, is kept by `store::installs` in `ravenry-installs/` beside the mesh; what it
//! writes there is `ops::setup::install`'s. `.msg-selftest.<process>` beside the mesh is `sys::files`' scratch directory, while
//! `selftest` runs.

pub mod domain;
pub mod faces;
pub mod ops;
pub mod store;
pub mod sys;
