//! `order.json`: what the supervisor of a run has to do, written by whoever asked for the run.

use serde::{Deserialize, Serialize};

use crate::domain::runs::RunId;
use crate::store::error::StoreError;
use crate::store::handles::RunLedger;
use crate::store::wire::pretty;

/// What a supervisor has to do.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunOrder {
    pub program: OrderedProgram,
    pub instructions: Option<String>,
    pub model: Option<String>,
    /// Whether its worker is to change files.
    pub is_to_write: bool,
    pub tools: Vec<String>,
    pub args: Vec<String>,
    /// Variables of the profile.
    pub env: Vec<(String, String)>,
    pub timeout_seconds: Option<u64>,
    /// The name that its worker is to have.
    pub name: Option<String>,
    /// The session that is to be continued.
    pub resumes: Option<String>,
    /// The most that it may cost, in millionths of a dollar.
    pub most_micros: Option<u64>,
    pub most_tokens: Option<u64>,
    /// What its worker is told instead of the task, if it has been told that already.
    #[serde(default)]
    pub go_on: Option<String>,
    /// The task of a batch that it does, by a hash.
    #[serde(default)]
    pub batch_task: Option<String>,
    /// What its own worktree needs; `None` if it works in the tree of its parent.
    #[serde(default)]
    pub worktree: Option<WorktreeOrder>,
    /// What is to be reserved for its worker, as patterns from the root of the work tree.
    #[serde(default)]
    pub reserve: Vec<String>,
    /// The task of a spec that is to be claimed for it.
    #[serde(default)]
    pub task: Option<TaskOrder>,
    /// Whether it waits until these are free.
    #[serde(default)]
    pub is_to_wait: bool,
    /// Variables that the worker must not inherit, because the harness of its parent set them for its own commands.
    #[serde(default)]
    pub left_out: Vec<String>,
    /// The tmux session in which its worker gets a window; `None`: it has no terminal.
    #[serde(default)]
    pub pane: Option<PaneOrder>,
    /// Who reviews what it did; `None`: nobody.
    #[serde(default)]
    pub review: Option<ReviewOrder>,
    /// Whether it is a review, or one that is begun anew or continued.
    #[serde(default)]
    pub is_review: bool,
    /// What is done with its work for a crew; `None`: it is for none.
    #[serde(default)]
    pub crew: Option<CrewOrder>,
    /// What it reviews, if somebody asked for that with `msg crew review`.
    #[serde(default)]
    pub reviewed: Option<ReviewedWork>,
}

/// Work that somebody wants to be reviewed, and by whom it is.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReviewedWork {
    /// As it was named: a run, a task or commits.
    pub named: String,
    /// The run whose work it is; `None`: it is commits.
    pub run: Option<String>,
    /// The task that the run was for.
    pub task: Option<String>,
    /// The trees that it lies between: commits, but `base` may be the empty tree.
    pub base: String,
    pub tip: String,
    /// How many commits it is, if it is not a run's, and how many files it changes.
    pub commits: usize,
    pub files: usize,
    /// The runs whose authors are told the verdict.
    pub by_runs: Vec<String>,
    /// The sessions of agents that are told it.
    pub by_sessions: Vec<String>,
    /// Whether a reviewer was asked before, and answered without a verdict.
    pub is_asked_again: bool,
}

/// What becomes of the work of a run for a crew: it is tested, reviewed, merged in memory, tested there, and put on the
/// crew's branch.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CrewOrder {
    /// The crew, by the end of its branch's name.
    pub crew: String,
    /// The commands that prove the task.
    pub verify: Vec<String>,
    /// How long these may take.
    pub verify_seconds: u64,
    /// The message of the commit.
    pub message: String,
    /// Whether the worker of the run that it continues was done, so that none is started.
    #[serde(default)]
    pub is_worked: bool,
}

/// Who reviews what a run did. It is decided before the run starts: its worker could change the profiles of the project.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ReviewOrder {
    /// A run of this profile.
    Planned { profile: String, harness: Option<String>, version: Option<String>, order: Box<RunOrder> },
    /// Nobody, for this reason.
    Impossible { profile: String, why: String },
}

/// Where the worker of a run gets a window.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PaneOrder {
    /// The socket of the tmux server.
    pub socket: String,
    /// Whether a dialog that asks whether the folder is trusted is to be answered with yes.
    #[serde(default)]
    pub is_trust_accepted: bool,
    /// The dialogs that are answered, each with its choice.
    #[serde(default)]
    pub triage: Vec<OrderedAnswer>,
}

/// A dialog that is answered without asking anybody.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct OrderedAnswer {
    /// Text that identifies the dialog.
    pub dialog: String,
    pub choice: String,
}

/// The task of a spec that a run is given.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct TaskOrder {
    /// The key of the spec.
    pub spec: String,
    /// The file that it is read from; `None`: the folder acts as a spec.
    pub file: Option<String>,
    pub id: String,
}

/// What the worktree of a run needs.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorktreeOrder {
    /// The run whose worktree is continued; `None` for a new one.
    pub continues: Option<String>,
    /// The crew whose branch a new one starts from; `None`: from the work tree as it is.
    pub crew: Option<String>,
    /// The commit that a new one starts from, whatever is in the work tree.
    pub commit: Option<String>,
    /// Patterns of files to copy and to link to.
    pub copy: Vec<String>,
    pub link: Vec<String>,
    /// Shell command lines.
    pub setup: Vec<String>,
    pub teardown: Vec<String>,
}

/// The program of a worker.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum OrderedProgram {
    /// These words; the task is its standard input.
    Command(Vec<String>),
    Harness {
        name: String,
        /// Its executable.
        path: String,
    },
}

impl RunOrder {
    /// Whether something is held for the worker before it starts.
    pub fn holds_something(&self) -> bool {
        !self.reserve.is_empty() || self.task.is_some()
    }
}

impl RunLedger<'_> {
    pub fn put_order(self, id: &RunId, order: &RunOrder) -> Result<(), StoreError> {
        self.write(id, "order.json", &pretty(order))
    }

    pub fn order(self, id: &RunId) -> Result<RunOrder, StoreError> {
        let path = self.dir(id).join("order.json");
        let content = self.read(id, "order.json")?.unwrap_or_default();
        let order = serde_json::from_slice(&content);
        order.map_err(|error| StoreError::Corrupt { path, reason: error.to_string() })
    }
}
