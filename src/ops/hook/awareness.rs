//! What hooks do for awareness: look ahead at a prompt, and record what the agent does.
//!
//! None of it is worth failing for: an error is logged for `doctor`, and the hook goes on.

use std::path::PathBuf;

use crate::domain::Agent;
use crate::domain::hook::{ToolOutcome, ToolUse};
use crate::ops::awareness::heads_up::{self, HeadsUpReader, Outlook};
use crate::ops::awareness::record::{self, KnownPrompt};
use crate::ops::error::CommandError;

use super::HookRun;

/// How every text begins that `msg` gives to a harness as a prompt.
const OURS: &str = "[msg]";

impl HookRun<'_> {
    /// Where the prompt leads. `None` if it is not its user's: a text of ours, a command of the harness, or a subagent's.
    pub(super) fn look_ahead(&self, prompt: &str) -> Option<Outlook> {
        let me = self.followed().filter(|_| is_users(prompt))?;
        let reader = match self.call.max_answer_chars {
            Some(_) => HeadsUpReader::Model,
            None => HeadsUpReader::Nobody,
        };
        let looked = heads_up::look_ahead(self.op, self.mesh, &self.registry, me, (prompt, reader));
        looked.unwrap_or_else(|error| {
            self.leave_trouble(&error);
            None
        })
    }

    pub(super) fn record_outlook(&self, outlook: Option<&Outlook>, text: &str) {
        let (Some(me), Some(outlook)) = (self.followed(), outlook) else { return };
        let prompt = KnownPrompt { topics: &outlook.topics, text };
        self.log(record::prompt(self.op, self.mesh, me, &outlook.place, &prompt));
    }

    /// Records the files that a tool call changed and read.
    pub(super) fn record_files(&self, tool: &ToolUse) {
        let Some(me) = self.followed().filter(|_| tool.outcome != Some(ToolOutcome::Failed)) else { return };
        let whole = |path: &String| self.op.cwd.join(self.op.home.expand(path));
        let changed: Vec<PathBuf> =
            tool.edits.iter().chain(tool.changed.iter().flatten()).map(whole).collect();
        let read: Vec<PathBuf> = tool.reads.iter().map(whole).collect();
        let (changed, read) = (changed.iter().map(PathBuf::as_path), read.iter().map(PathBuf::as_path));
        self.log(record::files(self.op, self.mesh, me, changed, read));
    }

    /// The agent, unless it is pi-messenger's. What a subagent does is its parent's doing, but its prompts are not.
    fn followed(&self) -> Option<&Agent> {
        let is_prompt =
            matches!(self.call.event.moment, crate::domain::hook::HookMoment::PromptSubmitted { .. });
        let is_subagents_prompt = is_prompt && self.call.event.in_subagent;
        self.me.as_ref().filter(|me| !me.is_foreign() && !is_subagents_prompt)
    }

    fn log(&self, done: Result<(), CommandError>) {
        if let Err(error) = done {
            self.leave_trouble(&error);
        }
    }
}

/// Whether its user wrote the prompt: it is neither a text of ours nor a command of the harness.
pub(super) fn is_users(prompt: &str) -> bool {
    !prompt.trim_start().starts_with(OURS) && !is_slash_command(prompt)
}

/// A command of the harness, such as `/clear`; a path is none.
fn is_slash_command(prompt: &str) -> bool {
    let Some(rest) = prompt.trim_start().strip_prefix('/') else { return false };
    let word = rest.split_whitespace().next().unwrap_or_default();
    !word.is_empty() && !word.contains('/') && !word.contains('.')
}

#[cfg(test)]
mod tests {
    use super::is_slash_command;

    #[test]
    fn commands_of_the_harness() {
        for prompt in ["/clear", " /model opus", "/mcp__msg__send hi", "/plugin:cmd x"] {
            assert!(is_slash_command(prompt), "{prompt}");
        }
        for prompt in ["/home/x/a.rs is wrong", "fix /etc", "/", "", "/notes.md is old"] {
            assert!(!is_slash_command(prompt), "{prompt}");
        }
    }
}
