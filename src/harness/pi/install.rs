//! What is installed into pi: our extension.

use std::path::{Path, PathBuf};

use crate::harness::install::{InstallContext, InstallTarget};
use crate::sys::environment::{Home, variable};

pub(super) const EXTENSION: &str = concat!(include_str!("ravenry.ts"), "\n", include_str!("../shim/run.js"));

pub(super) fn config_dir(home: &Home) -> PathBuf {
    let told = variable("PI_CODING_AGENT_DIR").map(|dir| home.expand(&dir));
    told.filter(|path| path.is_absolute()).unwrap_or_else(|| home.home.join(".pi/agent"))
}

pub(super) fn user_targets(place: &InstallContext<'_>) -> Vec<InstallTarget> {
    vec![place.plugin(EXTENSION, config_dir(place.home).join("extensions/ravenry.ts"))]
}

pub(super) fn project_targets(place: &InstallContext<'_>, root: &Path) -> Vec<InstallTarget> {
    vec![place.plugin(EXTENSION, root.join(".pi/extensions/ravenry.ts"))]
}
