//! Gemini CLI.

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

use super::install::{InstallContext, InstallTarget, NoProjectSettings};
use super::screen::ScreenReader;
use super::worker::WorkerAdapter;
use super::{HarnessSupport, HookCodec};

pub(crate) const ID: Harness = Harness::named("gemini");

pub(super) struct GeminiCli;

impl HarnessSupport for GeminiCli {
    fn id(&self) -> Harness {
        ID
    }

    fn title(&self) -> &'static str {
        "Gemini CLI"
    }

    fn instruction_files(&self) -> &'static [&'static str] {
        &["GEMINI.md"]
    }

    fn packages(&self) -> &'static [&'static str] {
        &["@google/gemini-cli"]
    }

    fn session_variables(&self) -> &'static [&'static str] {
        &["GEMINI_SESSION_ID"]
    }

    fn example_event(&self) -> &'static str {
        "BeforeTool"
    }

    fn codec(&self) -> &'static dyn HookCodec {
        &codec::GeminiCodec
    }

    fn paste_reader(&self) -> Option<&'static dyn ScreenReader> {
        self.screen()
    }

    fn screen(&self) -> Option<&'static dyn ScreenReader> {
        Some(&screen::GeminiScreen)
    }

    fn worker(&self) -> Option<&'static dyn WorkerAdapter> {
        Some(&worker::GeminiWorker)
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
        _: &InstallContext<'_>,
        _: &Path,
    ) -> Result<Vec<InstallTarget>, NoProjectSettings> {
        Err(NoProjectSettings::Shared(".gemini/settings.json"))
    }
}
