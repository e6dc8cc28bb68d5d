//! Copilot CLI.

mod codec;

use crate::domain::Harness;

use super::prompt_shape::PromptShape;
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

    fn packages(&self) -> &'static [&'static str] {
        &["@github/copilot", "@github/copilot-linux-x64"]
    }

    fn session_variables(&self) -> &'static [&'static str] {
        &["COPILOT_AGENT_SESSION_ID"]
    }

    fn codec(&self) -> &'static dyn HookCodec {
        &codec::Codec
    }

    fn prompt_shape(&self) -> Option<PromptShape> {
        Some(PromptShape { marks: &["❯"], placeholder: "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed() {
        let prompt = CopilotCli.prompt_shape().unwrap();
        let screen =
            |text: &str| format!(" ● Done.\n ~/x [main]\n─────\n{text}\n─────\n / commands · ? help\n");
        assert_eq!(prompt.content(&screen("❯")).as_deref(), Some(""));
        assert_eq!(prompt.content(&screen("❯ half a thought")).as_deref(), Some("halfathought"));
        assert_eq!(prompt.content(&screen("Do you want this? (y/n)")), None);
        assert_eq!(prompt.content(""), None);
    }
}
