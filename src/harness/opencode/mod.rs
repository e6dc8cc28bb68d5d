//! OpenCode.

mod codec;
#[cfg(test)]
mod codec_tests;
mod install;
mod permission;
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

    fn example_event(&self) -> &'static str {
        "tool.execute.before"
    }

    fn codec(&self) -> &'static dyn HookCodec {
        &codec::OpenCodeCodec
    }

    /// Its server hosts several sessions.
    fn hosts_several_sessions(&self) -> bool {
        true
    }

    fn waiter(&self) -> Option<WaiterSupport> {
        Some(WaiterSupport { event: "session.idle", route: "plugin", call: WaiterCall::Json })
    }

    fn screen(&self) -> Option<&'static dyn ScreenReader> {
        Some(&screen::OpenCodeScreen)
    }

    fn worker(&self) -> Option<&'static dyn WorkerAdapter> {
        Some(&worker::OpenCodeWorker)
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
        install::members()
    }
}
