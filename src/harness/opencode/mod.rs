//! OpenCode.

mod codec;

use crate::domain::Harness;

use super::{HarnessSupport, HookCodec, WaiterCall, WaiterSupport};

pub(crate) const ID: Harness = Harness::named("opencode");

pub(super) struct OpenCode;

impl HarnessSupport for OpenCode {
    fn id(&self) -> Harness {
        ID
    }

    fn title(&self) -> &'static str {
        "OpenCode"
    }

    fn packages(&self) -> &'static [&'static str] {
        &["opencode-ai"]
    }

    /// OpenCode does not set a session variable in its shell; our plugin sets this one.
    fn session_variables(&self) -> &'static [&'static str] {
        &["OPENCODE_SESSION_ID"]
    }

    fn codec(&self) -> &'static dyn HookCodec {
        &codec::Codec
    }

    /// Its server hosts several sessions.
    fn hosts_many(&self) -> bool {
        true
    }

    fn waiter(&self) -> Option<WaiterSupport> {
        Some(WaiterSupport { event: "session.idle", route: "plugin", call: WaiterCall::Json })
    }
}
