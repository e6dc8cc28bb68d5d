//! Claude Code.

mod channel;
mod codec;
#[cfg(test)]
mod codec_tests;
mod inbox_permission;
mod install;
mod screen;
#[cfg(test)]
mod screen_tests;
mod session_inbox;
mod worker;
#[cfg(test)]
mod worker_tests;

use std::path::{Path, PathBuf};

use crate::domain::Harness;
use crate::sys::environment::Home;

use super::install::{InstallContext, InstallTarget, NoProjectSettings};
use super::screen::ScreenReader;
use super::wake::{ChannelSupport, SessionInboxes};
use super::worker::WorkerAdapter;
use super::{HarnessSupport, HookCodec, WaiterCall, WaiterSupport};

pub(crate) const ID: Harness = Harness::named("claude");

pub(super) struct ClaudeCode;

impl HarnessSupport for ClaudeCode {
    fn id(&self) -> Harness {
        ID
    }

    fn title(&self) -> &'static str {
        "Claude Code"
    }

    fn instruction_files(&self) -> &'static [&'static str] {
        &["CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", ".claude/rules"]
    }

    fn packages(&self) -> &'static [&'static str] {
        &["@anthropic-ai/claude-code", "claude/versions"]
    }

    fn session_variables(&self) -> &'static [&'static str] {
        &["CLAUDE_CODE_SESSION_ID"]
    }

    fn example_event(&self) -> &'static str {
        "PreToolUse"
    }

    fn codec(&self) -> &'static dyn HookCodec {
        &codec::ClaudeCodec
    }

    fn inboxes(&self) -> Option<&'static dyn SessionInboxes> {
        Some(&session_inbox::ClaudeInboxes)
    }

    fn channel(&self) -> Option<ChannelSupport> {
        Some(channel::CHANNEL)
    }

    /// It continues if an asynchronous hook exits with 2.
    fn waiter(&self) -> Option<WaiterSupport> {
        Some(WaiterSupport { event: "Stop", route: "rewake", call: WaiterCall::ExitCode })
    }

    fn config_dir(&self, home: &Home) -> PathBuf {
        install::config_dir(home)
    }

    fn skills_dir(&self, home: &Home) -> PathBuf {
        install::config_dir(home).join("skills")
    }

    fn user_targets(&self, place: &InstallContext<'_>) -> Vec<InstallTarget> {
        install::user_targets(place)
    }

    fn project_targets(
        &self,
        place: &InstallContext<'_>,
        root: &Path,
    ) -> Result<Vec<InstallTarget>, NoProjectSettings> {
        Ok(install::project_targets(place, root))
    }

    fn server_targets(&self, place: &InstallContext<'_>) -> Vec<InstallTarget> {
        install::server_targets(place)
    }

    fn recorded_members(&self) -> Vec<Vec<String>> {
        install::members()
    }

    fn records_item(&self, text: &str) -> bool {
        install::is_item(text)
    }

    fn screen(&self) -> Option<&'static dyn ScreenReader> {
        Some(&screen::ClaudeScreen)
    }

    fn worker(&self) -> Option<&'static dyn WorkerAdapter> {
        Some(&worker::ClaudeWorker)
    }

    fn has_status_line(&self) -> bool {
        true
    }
}
