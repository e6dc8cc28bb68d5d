//! The work tree of a run: a directory outside of the repository, checked out at the run's base.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::brought_files::{BroughtFile, WantedFiles, bring_files};
use super::error::RunTreeError;
use super::git_call::failed;
use super::repository::RunRepository;
use super::run_refs::RunRefs;
use super::snapshot::TreeSnapshot;
use super::status_entry::path_of;
use crate::sys::flock::FileLock;
use crate::sys::{files, paths};

/// How long to wait for another process that works on the same run.
const LOCK_LIMIT: Duration = Duration::from_secs(600);

/// The work tree of one run, whether it is there or not.
#[derive(Clone, Debug)]
pub struct RunTree {
    pub(super) repository: RunRepository,
    pub(super) refs: RunRefs,
    /// A directory of ours, outside of every repository.
    place: PathBuf,
    /// Whether its branch begins where the run started, wherever `HEAD` is by then.
    pub(super) stays_on_start: bool,
}

/// A work tree that is ready for a worker.
#[derive(Clone, Debug)]
pub struct MadeTree {
    pub path: PathBuf,
    pub base: String,
    /// Files that git did not put there, and what could not be brought.
    pub brought: Vec<BroughtFile>,
}

impl RunTree {
    /// The tree of the run `id`, in the directory `place`.
    pub fn new(repository: &RunRepository, id: &str, place: &Path) -> Result<Self, RunTreeError> {
        let refs = RunRefs::of(id)?;
        Ok(Self { repository: repository.clone(), refs, place: place.to_path_buf(), stays_on_start: false })
    }

    /// The same, with a branch that begins at the commit that the run started from: whoever asked for it has that one,
    /// and not what the person here has committed.
    #[must_use]
    pub fn on_its_start(self) -> Self {
        Self { stays_on_start: true, ..self }
    }

    /// The root of the work tree.
    pub fn path(&self) -> PathBuf {
        self.place.join(format!("run-{}", self.refs.id()))
    }

    pub fn refs(&self) -> &RunRefs {
        &self.refs
    }

    pub fn repository(&self) -> &RunRepository {
        &self.repository
    }

    /// The commit that the run started from.
    pub fn base(&self) -> Result<String, RunTreeError> {
        self.known(&self.refs.base())
    }

    /// What the run left, as far as it was recorded.
    pub fn tip(&self) -> Result<String, RunTreeError> {
        self.known(&self.refs.tip())
    }

    /// Whether everything that the run left was merged.
    pub fn is_merged(&self) -> Result<bool, RunTreeError> {
        Ok(self.repository.object_at(&self.refs.merged())? == Some(self.tip()?))
    }

    /// Whether there are files of the run that no merge brings anywhere.
    pub fn has_saved_files(&self) -> Result<bool, RunTreeError> {
        Ok(self.repository.object_at(&self.refs.saved())?.is_some())
    }

    fn known(&self, name: &str) -> Result<String, RunTreeError> {
        let object = self.repository.object_at(name)?;
        object.ok_or_else(|| RunTreeError::NoRun(self.refs.id().to_string()))
    }

    /// Makes the work tree. Base and tip are held by refs before there is a directory. What a killed process left of an
    /// earlier attempt is removed first: no worker was in it.
    pub fn create(&self, snapshot: &TreeSnapshot, wanted: &WantedFiles) -> Result<MadeTree, RunTreeError> {
        wanted.check()?;
        let path = self.path();
        self.require_outside()?;
        let _own = self.lock()?;
        let is_ready = self.repository.object_at(&self.refs.ready())?.is_some();
        let [base, tip] = [self.refs.base(), self.refs.tip()].map(|name| self.repository.object_at(&name));
        let (base, tip) = (base?, tip?);
        if is_ready || tip.is_some() && tip != base {
            return Err(RunTreeError::Exists(self.refs.id().to_string()));
        }
        self.clear()?;
        let made = self.hold(snapshot).and_then(|()| self.check_out(&snapshot.commit)).and_then(|()| {
            let brought = bring_files(&self.repository, &path, &snapshot.left_out, wanted, &self.manifest())?;
            self.repository.set_ref(&self.refs.ready(), &snapshot.commit)?;
            Ok(MadeTree { path, base: snapshot.commit.clone(), brought })
        });
        if made.is_err() {
            // The first error tells what is wrong. What is left is removed by the next attempt.
            drop(self.clear());
        }
        made
    }

    /// Makes the work tree of a run again, at its tip, if the directory is gone, with the files that were saved apart.
    pub fn reopen(&self, wanted: &WantedFiles) -> Result<MadeTree, RunTreeError> {
        wanted.check()?;
        let _own = self.lock()?;
        let (base, tip, path) = (self.base()?, self.tip()?, self.path());
        let is_ready = self.repository.object_at(&self.refs.ready())?.is_some();
        if is_ready && files::link_metadata(&path)?.is_some() {
            return Ok(MadeTree { path, base, brought: Vec::new() });
        }
        // Without this ref, a work tree that is not complete is not taken for the worker's.
        self.repository.drop_ref(&self.refs.ready())?;
        self.remove_directory()?;
        self.check_out(&tip)?;
        if let Some(saved) = self.repository.object_at(&self.refs.saved())? {
            self.write_tree_into(&saved, &path)?;
        }
        let left_out = self.repository.snapshot()?.left_out;
        let brought = bring_files(&self.repository, &path, &left_out, wanted, &self.manifest())?;
        self.repository.set_ref(&self.refs.ready(), &base)?;
        Ok(MadeTree { path, base, brought })
    }

    /// Brings into another directory the files that git would not put there.
    pub fn bring_into(&self, dir: &Path, wanted: &WantedFiles) -> Result<(), RunTreeError> {
        let left_out = self.repository.snapshot()?.left_out;
        bring_files(&self.repository, dir, &left_out, wanted, &dir.with_extension("files")).map(drop)
    }

    fn hold(&self, snapshot: &TreeSnapshot) -> Result<(), RunTreeError> {
        let base = &snapshot.commit;
        let create = [self.refs.base(), self.refs.tip()].map(|name| format!("create {name} {base}"));
        self.repository.change_refs(&create)
    }

    fn check_out(&self, base: &str) -> Result<(), RunTreeError> {
        let path = self.path();
        let _lock = self.repository.lock()?;
        let args =
            [OsStr::new("worktree"), "add".as_ref(), "--detach".as_ref(), "-f".as_ref(), "-q".as_ref()];
        let args = [&args[..], &[path.as_os_str(), base.as_ref()]].concat();
        let answer = self.repository.git().answer(&args, Vec::new())?;
        match failed(&args, &answer) {
            _ if answer.code == Some(0) => Ok(()),
            RunTreeError::Failed { said, .. } if self.lacks_room(base)? => Err(RunTreeError::DiskFull(said)),
            error => Err(error),
        }
    }

    /// Whether the files of a commit need more room than there is. git does not say why it could not write a file.
    fn lacks_room(&self, commit: &str) -> Result<bool, RunTreeError> {
        /// The least room that a file takes.
        const BLOCK: u64 = 4096;
        // `<mode> <type> <object> <size>`, a tab, and the path.
        let listed = match self.repository.git().ask(&["ls-tree", "-r", "-z", "-l", commit]) {
            // There is no such commit, so that is what is wrong.
            Err(RunTreeError::Failed { .. }) => return Ok(false),
            listed => listed?,
        };
        let size = |line: &[u8]| {
            let about = line.split(|byte| *byte == b'\t').next().unwrap_or_default();
            let size = String::from_utf8_lossy(about).split_whitespace().nth(3)?.parse::<u64>().ok()?;
            Some(size.next_multiple_of(BLOCK))
        };
        let needed: u64 = listed.split(|byte| *byte == 0).filter_map(size).sum();
        let room =
            nix::sys::statvfs::statvfs(&self.place).map_err(|errno| RunTreeError::NotRun(errno.into()))?;
        Ok(needed > room.blocks_available() as u64 * room.fragment_size() as u64)
    }

    /// Removes what is left of an attempt to make the work tree.
    fn clear(&self) -> Result<(), RunTreeError> {
        self.remove_directory()?;
        for name in [self.refs.tip(), self.refs.base()] {
            self.repository.drop_ref(&name)?;
        }
        Ok(())
    }

    fn require_outside(&self) -> Result<(), RunTreeError> {
        let (place, root) = (paths::follow(&self.place), paths::follow(self.repository.root()));
        let is_inside = place.starts_with(root) || place.starts_with(self.repository.common_dir());
        if is_inside { Err(RunTreeError::Inside(self.path())) } else { Ok(()) }
    }

    /// Keeps other processes from changing this run's tree and refs.
    pub(super) fn lock(&self) -> Result<FileLock, RunTreeError> {
        files::create_dir(&self.place)?;
        Ok(FileLock::acquire(&self.beside("lock"), LOCK_LIMIT)?)
    }

    /// The list of files that we brought into the work tree.
    pub(super) fn manifest(&self) -> PathBuf {
        self.beside("files")
    }

    /// Where the directory is while it is removed.
    pub(super) fn removed_path(&self) -> PathBuf {
        self.beside("removed")
    }

    fn beside(&self, ending: &str) -> PathBuf {
        self.place.join(format!("run-{}.{ending}", self.refs.id()))
    }

    /// git's own directory of the work tree, if there is one. It is found by the path that it names.
    pub(super) fn admin_dir(&self) -> Result<Option<PathBuf>, RunTreeError> {
        let worktrees = self.repository.common_dir().join("worktrees");
        let own = paths::follow(&self.path().join(".git"));
        for name in files::list(&worktrees)? {
            let dir = worktrees.join(name);
            let Some(text) = files::read_note(&dir.join("gitdir"))? else { continue };
            let text = text.strip_suffix(b"\n").unwrap_or(&text);
            // git may name it relative to its own directory.
            if paths::follow(&dir.join(path_of(text))) == own {
                return Ok(Some(dir));
            }
        }
        Ok(None)
    }
}
