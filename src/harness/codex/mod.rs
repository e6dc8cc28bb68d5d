//! Codex.

mod codec;

use crate::domain::Harness;

use super::{HarnessSupport, HookCodec};

pub(crate) const ID: Harness = Harness::named("codex");

pub(super) struct Codex;

impl HarnessSupport for Codex {
    fn id(&self) -> Harness {
        ID
    }

    fn title(&self) -> &'static str {
        "Codex"
    }

    fn packages(&self) -> &'static [&'static str] {
        &["@openai/codex"]
    }

    fn session_variables(&self) -> &'static [&'static str] {
        &["CODEX_THREAD_ID", "CODEX_SESSION_ID"]
    }

    fn codec(&self) -> &'static dyn HookCodec {
        &codec::Codec
    }

    /// Its daemon hosts several threads.
    fn hosts_many(&self) -> bool {
        true
    }

    fn runs_hooks_in_login_shell(&self) -> bool {
        true
    }
}
