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
use super::prompt_shape::{PromptFrame, PromptShape};
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

    fn prompt_shape(&self) -> Option<PromptShape> {
        Some(PromptShape {
            marks: &[">", "*", "!"],
            placeholder: "Type your message or @path/to/file",
            frame: PromptFrame::Rules,
        })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::prompt_shape::without_blanks;

    #[test]
    fn what_is_typed() {
        let prompt = GeminiCli.prompt_shape().unwrap();
        let screen = |text: &str| {
            format!("✦ Done.\n──────\n YOLO Ctrl+Y\n▄▄▄▄▄▄\n {text}\n▀▀▀▀▀▀\n workspace\n ~/x\n\n")
        };
        let empty = screen("*   Type your message or @path/to/file");
        let placeholder = without_blanks(prompt.placeholder);
        assert_eq!(prompt.content(&empty).as_deref(), Some(placeholder.as_str()));
        assert_eq!(prompt.content(&screen("> half a\n   thought")).as_deref(), Some("halfathought"));
        let dialog = "▄▄▄▄\n > hello\n▀▀▀▀\n│ Allow once │\n│ ● 1. Yes │\n";
        assert_ne!(prompt.content(dialog), Some(placeholder));
    }
}
