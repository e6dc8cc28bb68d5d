//! `workers.toml`: the user's, beside their configuration, and the project's, in `.ravenry/` at the root of the work
//! tree (without git: of the directory). Neither is ever written by us.
//!
//! What the project's file says about programs and permissions counts only after a person trusted it.

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};

use super::trust_records::{TrustKind, TrustRecords, TrustVerdict};
use crate::domain::TextPosition;
use crate::domain::workers::{
    Instructions, MergedWorkers, Profile, ProfileKey, ProfileOrigin, RestrictedKey, RestrictedKeys,
    WorkersFile, WorkersLayer, WorktreeSetup, merge_workers, shipped_profiles,
};
use crate::harness;
use crate::store::error::StoreError;
use crate::sys::environment::Home;
use crate::sys::files::{self, BoundedRead};
use crate::sys::git::WorkTree;

/// The project's file, relative to its root.
pub const PROJECT_FILE: &str = ".ravenry/workers.toml";
/// The largest file that is read, in bytes.
const LARGEST: u64 = 1 << 20;
/// The largest file of instructions.
const LARGEST_INSTRUCTIONS: u64 = 256 << 10;

/// Everything that the files say together, without what nobody trusted.
#[derive(Clone, Debug)]
pub struct LoadedWorkers {
    pub profiles: Vec<Profile>,
    pub worktree: WorktreeSetup,
    /// Keys of `[worktree]` that do not count because nobody trusted the project's file.
    pub untrusted_worktree: Vec<RestrictedKey>,
    /// What is wrong with the files. A run is refused until it is fixed.
    pub problems: Vec<WorkersProblem>,
    /// What a person should know although everything goes on.
    pub warnings: Vec<String>,
    pub trust: FileTrust,
    pub user_file: PathBuf,
    pub project_file: PathBuf,
    /// The root of the work tree, or the directory.
    pub root: PathBuf,
}

/// Whether the project's file counts.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum FileTrust {
    /// There is no such file, or it has no key that needs trust.
    NotNeeded,
    Trusted {
        keys: Vec<RestrictedKey>,
    },
    Untrusted(UntrustedFile),
}

/// A project's file whose restricted keys do not count.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UntrustedFile {
    pub path: PathBuf,
    /// What would count.
    pub keys: Vec<RestrictedKey>,
    /// The whole text, as it was read.
    pub text: String,
    /// What changed since it was trusted; the whole text if it never was.
    pub diff: String,
    pub was_trusted_before: bool,
}

/// Something that is wrong with a file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct WorkersProblem {
    pub path: PathBuf,
    /// `None` if the file could not be read at all.
    pub at: Option<TextPosition>,
    pub message: String,
}

impl fmt::Display for WorkersProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Some(TextPosition { line, column }) => {
                write!(f, "{}:{line}:{column}: {}", self.path.display(), self.message)
            }
            None => write!(f, "{}: {}", self.path.display(), self.message),
        }
    }
}

/// Reads the user's file and that of the project that `cwd` is in, and merges them with the shipped profiles.
pub fn load(home: &Home, cwd: &Path) -> LoadedWorkers {
    let root = WorkTree::containing(cwd).map_or_else(|| cwd.to_path_buf(), |tree| tree.root);
    let (user_file, project_file) = (user_file(home), root.join(PROJECT_FILE));
    let mut problems = Vec::new();
    let (user, _) = read(&user_file, None, ProfileOrigin::User, &mut problems);
    let (project, text) = read(&project_file, Some(&root), ProfileOrigin::Project, &mut problems);
    let mut warnings = Vec::new();
    let trust = judge(home, &root, &project, text, &mut warnings);
    let restricted = match &trust {
        FileTrust::Untrusted(_) => RestrictedKeys::Withheld,
        FileTrust::NotNeeded | FileTrust::Trusted { .. } => RestrictedKeys::Count,
    };
    let shipped = shipped_profiles();
    let count = RestrictedKeys::Count;
    let MergedWorkers { profiles, worktree, untrusted_worktree, problems: between } = merge_workers(&[
        WorkersLayer { origin: ProfileOrigin::Shipped, file: &shipped, restricted: count },
        WorkersLayer { origin: ProfileOrigin::User, file: &user, restricted: count },
        WorkersLayer { origin: ProfileOrigin::Project, file: &project, restricted },
    ]);
    problems.extend(between.into_iter().map(|(origin, at, message)| {
        let path = if origin == ProfileOrigin::User { &user_file } else { &project_file };
        WorkersProblem { path: path.clone(), at: Some(at), message }
    }));
    LoadedWorkers {
        profiles,
        worktree,
        untrusted_worktree,
        problems,
        warnings,
        trust,
        user_file,
        project_file,
        root,
    }
}

/// The user's file.
pub fn user_file(home: &Home) -> PathBuf {
    home.config.join("ravenry/workers.toml")
}

/// What a person trusted in the project with this root. All work trees of a repository are one project.
pub fn trust_records(home: &Home, root: &Path) -> TrustRecords {
    TrustRecords::of(home, &main_root(root).unwrap_or_else(|| root.to_path_buf()))
}

/// The main work tree, if it knows this one: a directory could name any repository as its own.
fn main_root(root: &Path) -> Option<PathBuf> {
    let main = WorkTree::containing(root)?.main_root()?;
    let own = fs_err::canonicalize(root).ok()?;
    WorkTree::containing(&main)?.others().contains(&own).then_some(main)
}

impl LoadedWorkers {
    pub fn profile(&self, name: &str) -> Option<&Profile> {
        self.profiles.iter().find(|profile| profile.name == name)
    }

    /// The project's file, if this profile can't be run there before a person trusted it.
    pub fn untrusted_for(&self, profile: &Profile, place: RunPlace) -> Option<&UntrustedFile> {
        let needs_worktree = place == RunPlace::OwnWorktree && !self.untrusted_worktree.is_empty();
        match &self.trust {
            FileTrust::Untrusted(file) if profile.needs_trust() || needs_worktree => Some(file),
            _ => None,
        }
    }

    /// The instructions of a profile, read from its file if they are in one.
    pub fn instructions(&self, home: &Home, profile: &Profile) -> Result<Option<String>, StoreError> {
        let name = match &profile.instructions {
            None => return Ok(None),
            Some(Instructions::Text(text)) => return Ok(Some(text.clone())),
            Some(Instructions::File(name)) => name,
        };
        let origin = profile.origins.get(&ProfileKey::InstructionsFile);
        let is_project = origin == Some(&ProfileOrigin::Project);
        let path = match is_project {
            true => self.root.join(name),
            false => self.user_file.parent().unwrap_or(Path::new("/")).join(home.expand(name)),
        };
        let unusable =
            |reason: &str| StoreError::BadSetting { path: path.clone(), reason: reason.to_string() };
        let within = is_project.then_some(self.root.as_path());
        match read_bounded(&path, within, LARGEST_INSTRUCTIONS) {
            Ok(Some(bytes)) => match String::from_utf8(bytes) {
                Ok(text) => Ok(Some(text)),
                Err(_) => Err(unusable("the instructions are not UTF-8 text")),
            },
            Ok(None) => {
                Err(unusable(&format!("there are no instructions for the profile `{}`", profile.name)))
            }
            Err(reason) => Err(unusable(&reason.to_string())),
        }
    }
}

/// Where a run takes place.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RunPlace {
    /// In the tree of its parent.
    ParentTree,
    OwnWorktree,
}

/// Why a file was not read.
#[derive(Debug, thiserror::Error)]
enum UnreadableFile {
    #[error("it is not a plain file")]
    NotPlain,
    #[error("it is larger than {} KiB", .0 >> 10)]
    TooLarge(u64),
    #[error("it leads out of the project")]
    Outside,
    #[error("it can't be read: {0}")]
    Io(std::io::Error),
}

/// A plain file, also through a link, but a project's only inside of it. `None` if there is none.
fn read_bounded(path: &Path, within: Option<&Path>, most: u64) -> Result<Option<Vec<u8>>, UnreadableFile> {
    let is_absent = |kind| matches!(kind, std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory);
    let real = match std::fs::canonicalize(path) {
        Err(error) if is_absent(error.kind()) => return Ok(None),
        real => real.map_err(UnreadableFile::Io)?,
    };
    if let Some(root) = within {
        let root = std::fs::canonicalize(root).map_err(UnreadableFile::Io)?;
        if !real.starts_with(root) {
            return Err(UnreadableFile::Outside);
        }
    }
    // What follows a link was resolved above. Without this look, opening a device might do something.
    if !std::fs::metadata(&real).map_err(UnreadableFile::Io)?.is_file() {
        return Err(UnreadableFile::NotPlain);
    }
    match files::read_at_most(&real, most).map_err(|error| UnreadableFile::Io(error.source))? {
        BoundedRead::Absent => Ok(None),
        BoundedRead::TooLarge => Err(UnreadableFile::TooLarge(most)),
        BoundedRead::Content(bytes) => Ok(Some(bytes)),
    }
}

/// What a file says, and its text; nothing if there is no such file.
fn read(
    path: &Path,
    within: Option<&Path>,
    origin: ProfileOrigin,
    problems: &mut Vec<WorkersProblem>,
) -> (WorkersFile, Option<String>) {
    let bytes = match read_bounded(path, within, LARGEST) {
        Ok(Some(bytes)) => bytes,
        Ok(None) => return (WorkersFile::default(), None),
        Err(reason) => {
            problems.push(WorkersProblem { path: path.to_path_buf(), at: None, message: reason.to_string() });
            return (WorkersFile::default(), None);
        }
    };
    let harnesses: Vec<_> = harness::supported().collect();
    let file = WorkersFile::from_bytes(&bytes, origin, &harnesses);
    problems.extend(file.problems.iter().map(|problem| WorkersProblem {
        path: path.to_path_buf(),
        at: Some(problem.at),
        message: problem.message.clone(),
    }));
    (file, String::from_utf8(bytes).ok())
}

/// Whether the restricted keys of the project's file count.
fn judge(
    home: &Home,
    root: &Path,
    file: &WorkersFile,
    text: Option<String>,
    warnings: &mut Vec<String>,
) -> FileTrust {
    let keys = file.restricted();
    let Some(text) = text.filter(|_| !keys.is_empty()) else { return FileTrust::NotNeeded };
    let (verdict, trouble) = trust_records(home, root).judge(TrustKind::Workers, PROJECT_FILE, &text);
    warnings.extend(trouble.map(|trouble| format!("{trouble}; so nothing counts as trusted")));
    match verdict {
        TrustVerdict::Trusted => FileTrust::Trusted { keys },
        TrustVerdict::Untrusted { trusted, diff } => FileTrust::Untrusted(UntrustedFile {
            path: root.join(PROJECT_FILE),
            keys,
            text,
            diff,
            was_trusted_before: trusted.is_some(),
        }),
    }
}
