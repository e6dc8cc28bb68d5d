//! pi.

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

    fn example_event(&self) -> &'static str {
        "tool_call"
    }

    fn codec(&self) -> &'static dyn HookCodec {
        &codec::PiCodec
    }

    fn waiter(&self) -> Option<WaiterSupport> {
        Some(WaiterSupport { event: "agent_before_settle", route: "extension", call: WaiterCall::Json })
    }

    fn screen(&self) -> Option<&'static dyn ScreenReader> {
        Some(&screen::PiScreen)
    }

    fn worker(&self) -> Option<&'static dyn WorkerAdapter> {
        Some(&worker::PiWorker)
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
}
