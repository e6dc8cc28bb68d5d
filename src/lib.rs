//! `ravenry` lets coding agents that run side by side on one machine find each other, talk, reserve files and split a
//! spec into tasks. It builds one binary, `msg`.
//!
//! # Layers
//!
//! Imports go in one direction only, which a test checks: [`faces`] → [`ops`] → [`store`] → [`harness`] →
//! [`sys`] → [`domain`].
//!
//! # Which module owns which file
//!
//! | file in the mesh | module |
//! | --- | --- |
//! | `registry/<Name>.json` | `store::agents::registry`; changes: `store::staged_change`; format: `store::wire::registration` |
//! | `inbox/<Name>/` | `store::messages::inbox` (taking), `store::messages::offers` (mail given to a model), `store::messages::outbox` (posting), `store::locked_mesh` (moving it with its owner) |
//! | `seen/<Name>/.owner` | `store::messages::orphans` |
//! | `registry/.<Name>.taken` | `store::agents::burial` |
//! | `seen/<Name>/`, `sent/<Name>/` | `store::messages::archive`; file names: `store::messages::message_files` |
//! | `search/sent-<Name>`, `search/seen-<Name>` | `store::messages::mail_texts`; format: `store::messages::mail_pack` |
//! | `awareness/<repository>`, `.track`, `.predictions` and `.lock` | `store::awareness`; format of a line: `domain::awareness::track` |
//! | `awareness/<repository>.conflicts`, `.conflicts.lock` | `store::awareness::conflict_file`; format of a line: `domain::awareness::worktree_conflict` |
//! | `feed/<number>.jsonl`, `feed/.lock` | `store::feed`; format of a line: `store::wire::event` |
//! | `quarantine/` | `store::quarantine` |
//! | `sessions/<hash>.json` | `store::agents::sessions` |
//! | `graves/<Name>-<hash>/` | `store::agents::graves` |
//! | `presence/<Name>` | modification time: `store::agents::presence`; lines with the agent's activity: `store::agents::activity_log`, based on `sys::files::LockedLineFile` |
//! | `presence/<Name>.stuck`, `presence/.looked` | `store::agents::stuck_reports` |
//! | `index` | `store::agents::registry_index` |
//! | `repositories/<repository>` | `store::agents::repository_records` |
//! | `modes/<repository>` | `store::runs::modes` |
//! | `hooks/`, `trouble.jsonl` | `store::hooks::hook_state`; activity of a session and its waiter: `store::hooks::session_states`; what its hooks reported last: `store::hooks::hook_steps`; what it was offered: `store::hooks::knowledge_marks` |
//! | `contests/<id>.<round>` | `store::agents::contest_tokens` |
//! | `claims.json` | `store::tasks::claims`; changes: `store::staged_change` |
//! | `completions.json` | `store::tasks::completions`; changes: `store::staged_change` |
//! | `mesh.lock` | `store::locked_mesh`, based on `sys::flock` |
//! | `swarm.lock` | `store::tasks::swarm_lock` |
//! | `link/` | `store::link::config`, `store::link::state` |
//! | `remote/agents/`, `remote/tasks/`, `remote/index` | `store::link::mirror`; formats between machines: `store::wire::link` |
//! | `remote/presence/<machine>.jsonl` | `store::link::presence`; format: `store::wire::link_presence` |
//! | `remote/feed/`, `remote/feed-sent.json`, `remote/feed-received.json` | `store::feed`, `store::link::shared_feed`; format: `store::wire::link_feed` |
//! | `remote/runs/`, `remote/asked/` | `store::link::run_records`; formats between machines: `store::wire::link_runs` |
//! | `remote/queued/<To>/` and the further states, `remote/owed/` | `store::link::queue`; delivering: `store::link::delivery` |
//! | `told/<ms>-<hash>` | `store::told_alerts` |
//! | `tmp/` | `sys::files` |
//!
//! Outside the mesh:
//!
//! - `.ravenry/knowledge/` in a project: `store::knowledge`; what is derived from it in the user's cache directory:
//!   `store::knowledge::cache`, `store::knowledge::offer_index`; how records are used, and as whom
//!   people write who have not joined, in `ravenry-knowledge/` next to the mesh: `store::knowledge::use_counts`,
//!   `store::knowledge::person_id`;
//! - configuration files: `store::setup::config_files`; `last-good.json` next to the user's configuration:
//!   `store::setup::last_good`;
//! - `workers.toml`, the user's and a project's: `store::workers::worker_files`, which only reads; `ravenry-trust/` in the
//!   user's state directory: `store::workers::trust_records`; `workers.json` in the cache directory:
//!   `store::workers::probe_cache`;
//! - git's pre-commit hook: `ops::setup::guard`;
//! - settings of harnesses: `ops::setup::install`. `store::setup::installs` records in `ravenry-installs/`, next to the
//!   mesh, what `install` found and wrote there;
//! - in the directory that is given for runs: `run-<id>/` (a work tree), `run-<id>.files`, `run-<id>.lock`:
//!   `sys::git::run_tree::RunTree`; `git-locks/` and `git-tmp/`: `sys::git::run_tree::RunRepository`. In a repository, the refs
//!   `refs/ravenry/…` and branches `ravenry/run-<id>`: `sys::git::run_tree::RunRefs`;
//! - `ravenry/panes/` in the user's state directory: locks of tmux panes, `sys::tmux::pane_lock`;
//!   `ravenry-pane-…/` in the directory for temporary files, while a program is started in a pane: `sys::keeper::in_pane`;
//! - `.msg-selftest.<process>` next to the mesh, while `selftest` runs: the scratch directory of `sys::files`.

pub mod domain;
pub mod faces;
pub mod harness;
pub mod ops;
pub mod store;
pub mod sys;
