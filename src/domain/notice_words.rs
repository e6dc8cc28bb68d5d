//! Words of notices by which their alerts are known. Whoever writes such a notice uses these words, so that the two do
//! not drift apart (`tests/it/alerts.rs`).

/// Of the end of a run.
pub const RUN_HAS_ENDED: &str = ") has ended: ";
/// Of a permission question of a worker.
pub const RUN_WAITS_FOR_ANSWER: &str = ") waits for your answer. Its worker wants to use ";
/// Of a dialog on the screen of a worker.
pub const RUN_SHOWS_DIALOG: &str = " waits for an answer on its screen:";
/// Of an agent that holds something and has been quiet for long.
pub const AGENT_IS_QUIET: &str = " seems to be stuck: it has been quiet for ";
/// Of a worker whose turn gets nowhere.
pub const WORKER_IS_STUCK: &str = " seems to be stuck: it is in a turn, three looks at its screen in a row showed the same, no hook ran in between, and nothing that it started is at work.";
/// Of a worker that calls the same tool again and again.
pub const WORKER_REPEATS_ITSELF: &str =
    " repeats itself: it has called the same tool with the same arguments four times in a row.";
/// Of a worker whose turns change nothing.
pub const WORKER_HAS_NO_PROGRESS: &str = " has ended ten turns without a new write or another test result.";
/// Of a path of the recipient that another agent wants.
pub const PATH_IS_CONTESTED: &str = ", which you hold";
/// Of a path that another agent has taken from the recipient.
pub const PATH_WAS_TAKEN: &str = " from you: you gave no answer in time.";
/// Of a file that cannot be merged.
pub const FILES_CONFLICT: &str = "Conflict: ";
/// Of a reserved path that a command of another agent has changed.
pub const RESERVED_PATH_CHANGED: &str = "Reserved by you, and changed while a command of ";
