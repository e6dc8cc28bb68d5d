//! Copilot CLI.

mod codec;
#[cfg(test)]
mod codec_tests;
mod install;
mod screen;
#[cfg(test)]
mod screen_tests;
mod worker;
#[cfg(test)]
mod worker_tests;

use std::path::{Path, PathBuf};

use crate::domain::Harness;
use crate::sys::environment::Home;

use super::install::{InstallContext, InstallTarget, NoProjectSettings, member};
use super::screen::ScreenReader;
use super::worker::WorkerAdapter;
use super::{HarnessSupport, HookCodec};

pub(crate) const ID: Harness = Harness::named("copilot");

pub(super) struct CopilotCli;

impl HarnessSupport for CopilotCli {
    fn id(&self) -> Harness {
        ID
    }

    fn title(&self) -> &'static str {
        "Copilot CLI"
    }

    fn instruction_files(&self) -> &'static [&'static str] {
        &[".github/copilot-instructions.md", ".github/instructions"]
    }

    fn packages(&self) -> &'static [&'static str] {
        &["@github/copilot", "@github/copilot-linux-x64"]
    }

    fn session_variables(&self) -> &'static [&'static str] {
        &["COPILOT_AGENT_SESSION_ID"]
    }

    fn example_event(&self) -> &'static str {
        "preToolUse"
    }

    fn codec(&self) -> &'static dyn HookCodec {
        &codec::CopilotCodec
    }

    fn paste_reader(&self) -> Option<&'static dyn ScreenReader> {
        self.screen()
    }

    fn screen(&self) -> Option<&'static dyn ScreenReader> {
        Some(&screen::CopilotScreen)
    }

    fn worker(&self) -> Option<&'static dyn WorkerAdapter> {
        Some(&worker::CopilotWorker)
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
        vec![member(&["version"])]
    }
}
