//! The supported harnesses: one folder each, with everything that changes when that program changes.
//!
//! The rest of `msg` knows a [`Harness`] by its id and asks [`HarnessSupport`] for what differs. A new harness is a
//! folder with an implementation of that trait, and a line in [`SUPPORTED`].
//!
//! What several harnesses share is here, too: `hook_codec/` reads and writes hook payloads, `install/` has the parts
//! that are put into settings, `shim/` what our plugins have in common, `hook_line` is the command that a hook runs, `recognise` and `ancestry` find the harness
//! that a process belongs to, `worker` says how one is started without a terminal, `worker_output` has what the readers of
//! their output share, `screen` says how one is read and answered in a terminal, `screen_parts` has what those readers
//! share.

pub mod ancestry;
mod claude;
mod codex;
mod copilot;
mod gemini;
pub mod hook_codec;
mod hook_line;
mod inbox_socket;
pub mod install;
mod kimi;
mod opencode;
mod pi;
mod prompt_shape;
mod qwen;
mod recognise;
pub mod screen;
#[cfg(test)]
mod screen_fixture;
mod screen_parts;
pub mod texts;
pub mod wake;
pub mod worker;
#[cfg(test)]
mod worker_fixture;
mod worker_output;

use std::path::{Path, PathBuf};

use crate::domain::{Harness, ProgramNames};
use crate::sys::environment::Home;

use install::{InstallContext, InstallTarget, NoProjectSettings};
use screen::ScreenReader;
use wake::{ChannelSupport, PromptQueue, SessionInboxes};
use worker::WorkerAdapter;

pub use hook_codec::HookCodec;
pub use hook_line::{HookLine, HookPurpose, MsgProgram};
pub use recognise::recognise;

/// Every supported harness, in the order in which lists name them.
pub static SUPPORTED: &[&dyn HarnessSupport] = &[
    &claude::ClaudeCode,
    &codex::Codex,
    &gemini::GeminiCli,
    &opencode::OpenCode,
    &pi::Pi,
    &copilot::CopilotCli,
    &kimi::KimiCode,
    &qwen::QwenCode,
];

/// What `msg` has to know about one harness. The defaults are those of a harness that can do little.
pub trait HarnessSupport: Sync {
    /// The id, whose name is what people type: `claude`.
    fn id(&self) -> Harness;

    /// The name of the program as its makers write it: `Claude Code`.
    fn title(&self) -> &'static str;

    /// Package directories, for a program that runs under an interpreter or from a versions folder. Its executable has
    /// the name of the id.
    fn packages(&self) -> &'static [&'static str];

    /// Other names of its program than that of the id.
    fn other_names(&self) -> &'static [&'static str] {
        &[]
    }

    /// Variables that contain the session id in the model's shell, most reliable first. Without one, callers are known
    /// by its process.
    fn session_variables(&self) -> &'static [&'static str];

    /// Whether one process may host several sessions at once. Then a new session id is a new agent, not the same one
    /// after its user began a new conversation.
    fn hosts_several_sessions(&self) -> bool {
        false
    }

    /// One of its events, for the help.
    fn example_event(&self) -> &'static str {
        "Stop"
    }

    /// The format of its hooks.
    fn codec(&self) -> &'static dyn HookCodec;

    /// Whether it runs hooks in the user's login shell, which may not understand the syntax of `sh`.
    fn runs_hooks_in_login_shell(&self) -> bool {
        false
    }

    /// The directory of the user's settings.
    fn config_dir(&self, home: &Home) -> PathBuf;

    /// The directory of the user's skills: a folder for each, with `SKILL.md` in it.
    fn skills_dir(&self, home: &Home) -> PathBuf;

    /// The user's files that get our hooks, in the order in which they are written.
    fn user_targets(&self, place: &InstallContext<'_>) -> Vec<InstallTarget>;

    /// The files of the project in this directory that stay out of its repository.
    fn project_targets(
        &self,
        place: &InstallContext<'_>,
        root: &Path,
    ) -> Result<Vec<InstallTarget>, NoProjectSettings>;

    /// The user's files that hold our MCP server and nothing else of ours.
    fn server_targets(&self, _place: &InstallContext<'_>) -> Vec<InstallTarget> {
        Vec::new()
    }

    /// Members of its JSON settings that we add to or create, besides the common ones: an install record keeps which of
    /// them were there. `*` stands for any name.
    fn recorded_members(&self) -> Vec<Vec<String>> {
        Vec::new()
    }

    /// Whether a text in a list of its JSON settings is one of ours.
    fn records_item(&self, _text: &str) -> bool {
        false
    }

    /// What an install record keeps of a settings file that is not JSON; `None` if nothing.
    fn outline(&self, _content: &str) -> Option<String> {
        None
    }

    /// Whether it has a status line that can be told what to show.
    fn has_status_line(&self) -> bool {
        false
    }

    /// What on this machine keeps its model from running `msg`, and what to do about it.
    fn machine_trouble(&self) -> Option<(String, String)> {
        None
    }

    /// How a waiter beside an idle session is kept and heard; `None` if the harness can't keep one.
    fn waiter(&self) -> Option<WaiterSupport> {
        None
    }

    /// How its prompt line is read before it is woken by a paste; `None` if something else wakes it, or nothing can be pasted
    /// there safely.
    fn paste_reader(&self) -> Option<&'static dyn ScreenReader> {
        None
    }

    /// The command by which a sender gives an idle session a prompt, if there is one.
    fn prompt_queue(&self) -> Option<&'static dyn PromptQueue> {
        None
    }

    /// The inboxes that it keeps for its sessions, if it does.
    fn inboxes(&self) -> Option<&'static dyn SessionInboxes> {
        None
    }

    /// How an MCP server may tell a session something unasked, if it may.
    fn channel(&self) -> Option<ChannelSupport> {
        None
    }

    /// How it is started as a worker, if it can be.
    fn worker(&self) -> Option<&'static dyn WorkerAdapter> {
        None
    }

    /// How its screen is read, if it is known.
    fn screen(&self) -> Option<&'static dyn ScreenReader> {
        None
    }

    /// The sandbox that it runs its model's commands in, if `msg` may fail in it.
    fn sandbox(&self) -> Option<SandboxSupport> {
        None
    }

    /// Files and directories of a project that instruct its model, relative to the root.
    fn instruction_files(&self) -> &'static [&'static str] {
        &[]
    }

    /// What users should know that its hooks can't do, a sentence each.
    fn gaps(&self) -> &'static [&'static str] {
        &[]
    }

    fn program_names(&self) -> ProgramNames {
        ProgramNames { name: self.id().name(), other_names: self.other_names(), packages: self.packages() }
    }
}

/// A sandbox in which the mesh may not be writable.
#[derive(Clone, Copy, Debug)]
pub struct SandboxSupport {
    /// Variables that the harness sets for the commands of its model.
    pub variables: &'static [&'static str],
    /// What to do about it.
    pub hint: &'static str,
}

/// How a harness keeps a waiter, which is a process of ours beside an idle session.
#[derive(Clone, Copy, Debug)]
pub struct WaiterSupport {
    /// The event whose payload the waiter gets.
    pub event: &'static str,
    /// The name of this way to wake an agent, in the answer to `send`.
    pub route: &'static str,
    pub call: WaiterCall,
}

/// How a waiter tells its harness to continue.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WaiterCall {
    /// It exits with 2, and its standard error is for the model.
    ExitCode,
    /// It prints a JSON object with a member `goOn`: our own plugins read that.
    Json,
}

/// What is known about a harness; `None` for a terminal and for programs that are not supported.
pub fn support(harness: Harness) -> Option<&'static dyn HarnessSupport> {
    SUPPORTED.iter().copied().find(|it| it.id() == harness)
}

/// The supported harnesses.
pub fn supported() -> impl Iterator<Item = Harness> {
    SUPPORTED.iter().map(|it| it.id())
}

/// Every harness that an agent may have: the supported ones, then a terminal, then any other program.
pub fn all() -> impl Iterator<Item = Harness> {
    supported().chain([Harness::TERMINAL, Harness::OTHER])
}

/// The harness with this name.
pub fn parse(name: &str) -> Option<Harness> {
    all().find(|harness| harness.name() == name)
}

/// Variables that contain the session id in the model's shell.
pub fn session_variables(harness: Harness) -> &'static [&'static str] {
    support(harness).map_or(&[], HarnessSupport::session_variables)
}

/// Whether one process of this harness may host several sessions.
pub fn hosts_several_sessions(harness: Harness) -> bool {
    support(harness).is_some_and(HarnessSupport::hosts_several_sessions)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_can_be_parsed() {
        let names: HashSet<&str> = all().map(Harness::name).collect();
        assert_eq!(names.len(), all().count());
        assert!(all().all(|harness| parse(harness.name()) == Some(harness)));
        assert_eq!(parse("emacs"), None);
    }

    #[test]
    fn every_supported_harness_can_be_recognised() {
        for harness in SUPPORTED {
            assert!(!harness.packages().is_empty(), "{}", harness.id());
            assert!(!harness.title().is_empty());
        }
    }
}
