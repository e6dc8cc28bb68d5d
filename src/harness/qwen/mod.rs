//! Qwen Code, a descendant of Gemini CLI whose hooks are Claude Code's.

mod codec;
#[cfg(test)]
mod codec_tests;
mod install;
mod session_inbox;

use std::path::{Path, PathBuf};

use crate::domain::Harness;
use crate::sys::environment::Home;

use super::install::{InstallContext, InstallTarget, NoProjectSettings, member};
use super::prompt_shape::{PromptFrame, PromptShape};
use super::screen::ScreenReader;
use super::wake::SessionInboxes;
use super::{HarnessSupport, HookCodec};

pub(crate) const ID: Harness = Harness::named("qwen");

pub(super) struct QwenCode;

static PROMPT: PromptShape = PromptShape {
    marks: &[">", "*", "!"],
    placeholder: "Type your message or @path/to/file",
    frame: PromptFrame::Rules,
};

impl HarnessSupport for QwenCode {
    fn id(&self) -> Harness {
        ID
    }

    fn title(&self) -> &'static str {
        "Qwen Code"
    }

    fn instruction_files(&self) -> &'static [&'static str] {
        &["QWEN.md"]
    }

    fn packages(&self) -> &'static [&'static str] {
        &["@qwen-code/qwen-code"]
    }

    fn session_variables(&self) -> &'static [&'static str] {
        &["QWEN_CODE_SESSION_ID"]
    }

    fn codec(&self) -> &'static dyn HookCodec {
        &codec::QwenCodec
    }

    fn paste_reader(&self) -> Option<&'static dyn ScreenReader> {
        Some(&PROMPT)
    }

    fn inboxes(&self) -> Option<&'static dyn SessionInboxes> {
        Some(&session_inbox::QwenInboxes)
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
        Err(NoProjectSettings::Shared(".qwen/settings.json"))
    }

    fn recorded_members(&self) -> Vec<Vec<String>> {
        vec![member(&["permissions", "ask"])]
    }

    fn records_item(&self, text: &str) -> bool {
        text == install::ASKED_ITEM
    }

    fn gaps(&self) -> &'static [&'static str] {
        &[
            "in a terminal its user is asked about an edit before our hook can refuse it",
            "without a terminal it refuses `msg`, unless it runs with `--approval-mode yolo`",
            "without a terminal it may lose the output of a command that ends quickly, also of `msg read`",
            "its inbox wakes it without a hook: the mail comes with its first tool call, or when it stops",
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::screens::without_blanks;

    #[test]
    fn what_is_typed() {
        let prompt = PROMPT;
        let screen = |text: &str| format!("  ◆ Done.\n────────\n{text}\n────────\n  ➜ repo · git:(main)\n");
        let placeholder = without_blanks(prompt.placeholder);
        let empty = screen(">   Type your message or @path/to/file");
        assert_eq!(prompt.content(&empty).as_deref(), Some(placeholder.as_str()));
        // The cursor is a space without width.
        assert_eq!(prompt.content(&screen("> half a thought \u{200b}")).as_deref(), Some("halfathought"));
        assert_eq!(prompt.content("  › 1. Yes, allow once\n  ⠏ Waiting for user confirmation...\n"), None);
    }
}
