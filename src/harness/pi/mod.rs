//! pi.

mod codec;

use crate::domain::Harness;

use super::{HarnessSupport, HookCodec, WaiterCall, WaiterSupport};

pub(crate) const ID: Harness = Harness::named("pi");

pub(super) struct Pi;

impl HarnessSupport for Pi {
    fn id(&self) -> Harness {
        ID
    }

    fn title(&self) -> &'static str {
        "pi"
    }

    fn packages(&self) -> &'static [&'static str] {
        &["pi-coding-agent"]
    }

    fn session_variables(&self) -> &'static [&'static str] {
        &["PI_SESSION_ID"]
    }

    fn codec(&self) -> &'static dyn HookCodec {
        &codec::Codec
    }

    fn waiter(&self) -> Option<WaiterSupport> {
        Some(WaiterSupport { event: "agent_before_settle", route: "extension", call: WaiterCall::Json })
    }
}
