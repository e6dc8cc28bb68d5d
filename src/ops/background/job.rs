//! A background job: what it does, and for which directory.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use crate::sys::test_switches;

/// The command that a detached process runs: `msg --mesh MESH background JOB DIR`. It is not in the help: only `msg`
/// calls it.
const COMMAND: &str = "background";

/// What a job does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum JobKind {
    /// Shows itself to a test; see `test_switches::PROBE`.
    Probe,
    /// Counts which words led to which files of a repository.
    Counts,
    /// Makes the index of what is recorded in a project, for hooks.
    KnowledgeIndex,
    /// Finds files that agents changed in different work trees and that can't be merged.
    WorktreeConflicts,
    /// Asks harnesses for their versions, and local model servers for their models.
    Workers,
}

impl JobKind {
    const ALL: [Self; 5] =
        [Self::Probe, Self::Counts, Self::KnowledgeIndex, Self::WorktreeConflicts, Self::Workers];

    pub fn name(self) -> &'static str {
        match self {
            Self::Probe => "probe",
            Self::Counts => "counts",
            Self::KnowledgeIndex => "knowledge-index",
            Self::WorktreeConflicts => "worktree-conflicts",
            Self::Workers => "workers",
        }
    }

    fn exists(self) -> bool {
        self != Self::Probe || cfg!(debug_assertions)
    }
}

/// A job to do.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BackgroundJob {
    pub kind: JobKind,
    /// The directory that it is about, such as a work tree. Its settings apply.
    pub dir: PathBuf,
}

impl BackgroundJob {
    /// The arguments of the process that does it.
    pub(super) fn to_args(&self, mesh: &str) -> Vec<OsString> {
        let words = ["--mesh", mesh, COMMAND, self.kind.name()].map(OsString::from);
        words.into_iter().chain([self.dir.clone().into_os_string()]).collect()
    }

    /// The mesh and the job that such arguments name; `None` if they are others.
    pub fn from_args(args: &[OsString]) -> Option<(String, Self)> {
        let [flag, mesh, command, name, dir] = args else { return None };
        let is_named = |kind: &JobKind| kind.exists() && name == OsStr::new(kind.name());
        let kind = JobKind::ALL.into_iter().find(is_named)?;
        let is_call = flag == "--mesh" && command == COMMAND;
        let job = Self { kind, dir: dir.into() };
        is_call.then_some((mesh.to_str()?.to_string(), job))
    }

    /// The job that a test wants to follow from everything.
    pub fn for_test() -> Option<Self> {
        let dir = test_switches::value(test_switches::PROBE)?;
        Some(Self { kind: JobKind::Probe, dir: dir.into() })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;

    use super::*;

    #[test]
    fn a_job_is_what_its_arguments_say() {
        let dir = PathBuf::from(OsString::from_vec(b"/a b/\xff".to_vec()));
        for kind in JobKind::ALL {
            let job = BackgroundJob { kind, dir: dir.clone() };
            let args = job.to_args("/mesh");
            assert_eq!(BackgroundJob::from_args(&args), Some(("/mesh".to_string(), job)));
            assert_eq!(BackgroundJob::from_args(&args[..4]), None);
        }
        let others = ["--mesh", "/mesh", "background", "nothing", "/"].map(OsString::from);
        assert_eq!(BackgroundJob::from_args(&others), None);
    }
}
