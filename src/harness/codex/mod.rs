//! Codex.

mod codec;
#[cfg(test)]
mod codec_tests;
mod install;
mod login_shell;
mod prompt_queue;
mod screen;
#[cfg(test)]
mod screen_tests;
mod server_table;
mod trust;
mod worker;
#[cfg(test)]
mod worker_tests;

use std::path::{Path, PathBuf};

use crate::domain::Harness;
use crate::sys::environment::Home;

use super::install::{InstallContext, InstallTarget, NoProjectSettings};
use super::screen::ScreenReader;
use super::wake::PromptQueue;
use super::worker::WorkerAdapter;
use super::{HarnessSupport, HookCodec, SandboxSupport};

pub(crate) const ID: Harness = Harness::named("codex");

pub(super) struct Codex;

impl HarnessSupport for Codex {
    fn id(&self) -> Harness {
        ID
    }

    fn title(&self) -> &'static str {
        "Codex"
    }

    fn instruction_files(&self) -> &'static [&'static str] {
        &["AGENTS.md", "AGENTS.override.md"]
    }

    fn packages(&self) -> &'static [&'static str] {
        &["@openai/codex"]
    }

    fn session_variables(&self) -> &'static [&'static str] {
        &["CODEX_THREAD_ID", "CODEX_SESSION_ID"]
    }

    fn codec(&self) -> &'static dyn HookCodec {
        &codec::CodexCodec
    }

    /// Its daemon hosts several threads.
    fn hosts_several_sessions(&self) -> bool {
        true
    }

    fn runs_hooks_in_login_shell(&self) -> bool {
        true
    }

    fn screen(&self) -> Option<&'static dyn ScreenReader> {
        Some(&screen::CodexScreen)
    }

    fn worker(&self) -> Option<&'static dyn WorkerAdapter> {
        Some(&worker::CodexWorker)
    }

    fn config_dir(&self, home: &Home) -> PathBuf {
        install::config_dir(home)
    }

    /// The place that Codex documents, `~/.agents/skills`, is also read by others, which would have it twice then.
    fn skills_dir(&self, home: &Home) -> PathBuf {
        install::config_dir(home).join("skills")
    }

    fn user_targets(&self, place: &InstallContext<'_>) -> Vec<InstallTarget> {
        install::user_targets(place)
    }

    fn project_targets(
        &self,
        _: &InstallContext<'_>,
        _: &Path,
    ) -> Result<Vec<InstallTarget>, NoProjectSettings> {
        Err(NoProjectSettings::Shared(".codex/hooks.json"))
    }

    fn prompt_queue(&self) -> Option<&'static dyn PromptQueue> {
        Some(&prompt_queue::CodexQueue)
    }

    /// Codex runs a bare `msg` outside its sandbox, and everything else inside, where the mesh cannot be written.
    fn sandbox(&self) -> Option<SandboxSupport> {
        Some(SandboxSupport {
            variables: &["CODEX_THREAD_ID", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED"],
            hint: "Codex's sandbox is in the way: run `msg` alone in its command, without pipes, redirects, `&&`, \
                   `cd` or `$( )`, or use the MCP tools",
        })
    }

    fn outline(&self, content: &str) -> Option<String> {
        server_table::outline(content)
    }

    fn machine_trouble(&self) -> Option<(String, String)> {
        login_shell::trouble()
    }
}
