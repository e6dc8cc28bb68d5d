//! Kimi Code.

mod accepted_hooks;
mod codec;
#[cfg(test)]
mod codec_tests;
mod hook_tables;
mod install;

use std::path::{Path, PathBuf};

use crate::domain::Harness;
use crate::sys::environment::Home;

use super::install::{InstallContext, InstallTarget, NoProjectSettings};
use super::prompt_shape::{PromptFrame, PromptShape};
use super::screen::ScreenReader;
use super::{HarnessSupport, HookCodec};

pub(crate) const ID: Harness = Harness::named("kimi");

pub(super) struct KimiCode;

static PROMPT: PromptShape = PromptShape { marks: &[">"], placeholder: "", frame: PromptFrame::Box };

impl HarnessSupport for KimiCode {
    fn id(&self) -> Harness {
        ID
    }

    fn title(&self) -> &'static str {
        "Kimi Code"
    }

    fn packages(&self) -> &'static [&'static str] {
        &["@moonshot-ai/kimi-code"]
    }

    /// It gives its process this name, and takes its arguments away.
    fn other_names(&self) -> &'static [&'static str] {
        &["kimi-code"]
    }

    /// Nothing in the environment of its children tells the session; they are known by its process.
    fn session_variables(&self) -> &'static [&'static str] {
        &[]
    }

    fn codec(&self) -> &'static dyn HookCodec {
        &codec::KimiCodec
    }

    fn paste_reader(&self) -> Option<&'static dyn ScreenReader> {
        Some(&PROMPT)
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
        Err(NoProjectSettings::UserOnly)
    }

    fn server_targets(&self, place: &InstallContext<'_>) -> Vec<InstallTarget> {
        install::server_targets(place)
    }

    fn gaps(&self) -> &'static [&'static str] {
        &[
            "mail comes with a prompt, or when a turn ends: its hooks can tell the model nothing after a tool",
            "mail continues a turn once, whatever `mailTurns` says",
            "outside of `--auto` and `--yolo` it asks before each `msg`: it has no rule that could allow it",
            "only a paste in tmux wakes it",
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed() {
        let prompt = PROMPT;
        let welcome = " ╭────╮\n │ Welcome to Kimi Code! │\n ╰────╯\n";
        let screen = |text: &str| {
            format!(
                "{welcome} ● Done.\n ╭────────╮\n │ {text}      │\n ╰────────╯\n model  ~/x  context: 1%\n\n"
            )
        };
        assert_eq!(prompt.content(&screen(">")).as_deref(), Some(""));
        assert_eq!(prompt.content(&screen("> half a    │\n │   thought")).as_deref(), Some("halfathought"));
        let dialog = "────────\n ▶ Run this command?\n ▶ 1. Approve once\n────────\n ↑/↓ select\n";
        assert_eq!(prompt.content(&format!("{welcome}{dialog}")), None);
        assert_eq!(prompt.content(""), None);
    }
}
