//! Claude Code.

mod codec;

use crate::domain::Harness;

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

    fn packages(&self) -> &'static [&'static str] {
        &["@anthropic-ai/claude-code", "claude/versions"]
    }

    fn session_variables(&self) -> &'static [&'static str] {
        &["CLAUDE_CODE_SESSION_ID"]
    }

    fn codec(&self) -> &'static dyn HookCodec {
        &codec::Codec
    }

    /// It continues if an asynchronous hook exits with 2.
    fn waiter(&self) -> Option<WaiterSupport> {
        Some(WaiterSupport { event: "Stop", route: "rewake", call: WaiterCall::ExitCode })
    }
}
