//! Wakes Codex with `codex queue`, which submits a prompt to a thread.

use std::process::Command;
use std::time::Duration;

use crate::domain::{Agent, Liveness};
use crate::harness::recognise;
use crate::harness::wake::{PromptQueue, QueueError};
use crate::sys::{process, program};

use super::ID;

/// Time limit of the command.
const LIMIT: Duration = Duration::from_secs(5);
/// Variables that tell Codex where its state is: the agent's own values are used, not the sender's.
const VARIABLES: [&str; 4] = ["HOME", "CODEX_HOME", "PATH", "XDG_RUNTIME_DIR"];

pub(super) struct CodexQueue;

impl PromptQueue for CodexQueue {
    fn command(&self) -> &'static str {
        "codex queue"
    }

    fn prompt(&self, agent: &Agent, text: &str) -> Result<(), QueueError> {
        run(agent, &["--thread", agent.session.as_str(), "--message", text])
    }

    fn probe(&self, agent: &Agent) -> Result<(), QueueError> {
        run(agent, &["--help"])
    }
}

fn run(agent: &Agent, args: &[&str]) -> Result<(), QueueError> {
    if process::liveness(&agent.process) == Liveness::Gone {
        return Err(QueueError::ProcessGone);
    }
    let pid = agent.process.pid();
    let look = process::details(pid).map(|details| details.look);
    if look.and_then(|look| recognise(&look)).is_none_or(|(harness, _)| harness != ID) {
        return Err(QueueError::AnotherProgram("Codex"));
    }
    // Use the very program that runs: another version may not know the thread.
    let program = program::of_process(pid).ok_or(QueueError::UnknownProgram)?;
    let mut command = Command::new(program);
    command.arg("queue").args(args);
    command.env_clear().envs(program::variables_of(pid, &VARIABLES)).current_dir("/");
    program::run_within(&mut command, LIMIT)?;
    Ok(())
}
