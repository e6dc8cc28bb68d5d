//! `runs/`: the ledger, a directory for each run; and `modes/`, what agents may do in each repository.
//!
//! ```text
//! runs/<id>/draft.json what its supervisor begins with
//! runs/<id>/run.json   what is known of it; only its supervisor writes it
//! runs/<id>/order.json what its supervisor has to do
//! runs/<id>/task       the text of its task
//! runs/<id>/stop       a request to stop it
//! runs/<id>/work.json  its worktree, and what became of the work in it
//! runs/<id>/setup, teardown  what the commands of its worktree printed
//! runs/<id>/settled    there once nothing is left to be saved of it after its supervisor died
//! runs/<id>/agent      the name of its worker, written by the worker's hook
//! runs/<id>/output     what its worker printed, with a mark where something was cut
//! runs/<id>/errors     the same of its standard error
//! runs/<id>/question-<number>.json, answer-<number>.json, asking.lock   see `questions`
//! runs/<id>/turns.json, turns.lock, screen.txt   of a worker in a tmux pane: see `turns`; its last screen
//! runs/<id>/outside.jsonl, tree-<call>, tree-slow                       see `outside`
//! runs/<id>/scratch/   files that belong to its worker's command line
//! runs/<id>/told.json  the agents that the verdict of `msg crew review` was told to
//! runs/<id>/result     its worker's last words, if the ledger has only the beginning of them
//! runs/resume.lock     held while a session is being continued
//! runs/budgets/        see `budgets`
//! ```

pub mod admission;
pub mod budgets;
mod crew_keys;
pub mod draining;
pub mod ledger;
pub mod limits;
pub mod modes;
pub mod order;
pub mod outside;
mod pane_keys;
mod place;
pub mod questions;
pub mod queue;
pub mod review_keys;
mod run_file;
pub mod slots;
pub mod turns;
pub mod work_record;
