//! Finds the harnesses that are installed, by looking only.

use std::path::PathBuf;

use crate::domain::Harness;
use crate::harness::worker::LoginState;
use crate::harness::{self, HarnessSupport, SUPPORTED};
use crate::store::ProbedHarness;
use crate::sys::environment::{Home, variable};
use crate::sys::files::{self, FileStamp};
use crate::sys::program;

/// A harness that is installed.
#[derive(Clone, Debug)]
pub struct FoundHarness {
    pub harness: Harness,
    pub path: PathBuf,
    /// `None`: not asked yet, or it did not tell.
    pub version: Option<String>,
    /// Whether the adapter knows that version; `None` if the version is not known.
    pub is_known: Option<bool>,
    pub login: LoginState,
    /// Whether it can be started as a worker at all.
    pub can_work: bool,
    /// Why it did not tell its version.
    pub trouble: Option<String>,
}

/// A program on `PATH`.
#[derive(Clone)]
pub(super) struct InstalledProgram {
    pub(super) support: &'static dyn HarnessSupport,
    pub(super) path: PathBuf,
    pub(super) stamp: FileStamp,
}

impl InstalledProgram {
    /// Whether this is what was found out about it, and not about an earlier or another program.
    pub(super) fn is_probed_in(&self, record: &ProbedHarness) -> bool {
        record.name == self.support.id().name() && record.path == self.path && record.stamp == self.stamp
    }

    /// What is known about it.
    pub(super) fn found(self, home: &Home, probed: Option<&ProbedHarness>) -> FoundHarness {
        let adapter = self.support.worker();
        let version = probed.and_then(|probed| probed.version.clone());
        let is_known = version.as_deref().map(|version| adapter.is_some_and(|it| it.is_known(version)));
        FoundHarness {
            harness: self.support.id(),
            path: self.path,
            is_known,
            version,
            login: adapter.map_or(LoginState::Unknown, |it| it.login(home, &variable)),
            can_work: adapter.is_some(),
            trouble: probed.and_then(|probed| probed.trouble.clone()),
        }
    }
}

/// The harnesses on `PATH`, in the order in which lists name them.
pub(super) fn installed() -> Vec<InstalledProgram> {
    SUPPORTED.iter().filter_map(|support| find(*support)).collect()
}

fn find(support: &'static dyn HarnessSupport) -> Option<InstalledProgram> {
    let names = std::iter::once(support.id().name()).chain(support.other_names().iter().copied());
    let path = names.into_iter().find_map(program::on_path)?;
    let metadata = files::metadata(&path).ok()??;
    Some(InstalledProgram { support, path, stamp: FileStamp::of(&metadata) })
}

/// The program of a harness on `PATH`.
pub fn harness_program(harness: Harness) -> Option<PathBuf> {
    Some(find(harness::support(harness)?)?.path)
}

/// The harness of a profile that names none: the first that is installed and can be started as a worker.
pub fn first_installed() -> Option<(Harness, PathBuf)> {
    let mut workers = SUPPORTED.iter().filter(|support| support.worker().is_some());
    let found = workers.find_map(|support| find(*support))?;
    Some((found.support.id(), found.path))
}
