//! The closing commit: what is in a run's work tree becomes its tip, in whatever state the worker left it.
//!
//! Neither the worker's index nor its `HEAD` decide anything, so it does not matter whether it committed, stopped in the
//! middle of a merge, left a lock behind or removed `.git`. New files that are large or look like secrets go to a commit
//! that is never merged or pushed.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::branch::RunBranch;
use super::brought_files::BroughtManifest;
use super::error::RunTreeError;
use super::git_call::GitCaller;
use super::left_out::{LeftOutFile, LeftOutReason};
use super::private_index::PrivateIndex;
use super::record_tree::{RecordedTree, add_files, indexed, record_tree};
use super::work_tree::RunTree;
use crate::sys::files;

/// The largest file that is saved; larger ones keep the directory.
const MAX_SAVED_FILE: u64 = 1024 * 1024 * 1024;

/// What a run left.
#[derive(Clone, Debug)]
pub struct ClosedTree {
    pub base: String,
    pub tip: String,
    /// Whether the tip differs from the base.
    pub is_changed: bool,
    pub branch: RunBranch,
    /// Files that are saved, but not part of the work.
    pub saved: Vec<LeftOutFile>,
    /// What is only in the directory: while there is any, the directory must stay.
    pub unsaved: Vec<LeftOutFile>,
    /// Whether the directory is there. Without it, the tip is what was recorded before.
    pub has_directory: bool,
    /// Whether the work was recorded before, so that nothing is known of the files that are there.
    pub is_as_recorded: bool,
}

/// What the files in a work tree are that is closed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum ClosingFiles {
    Work,
    /// The work is recorded already. They go with the directory.
    LeftByOthers,
}

impl RunTree {
    /// Records what is in the work tree as the tip of the run, and makes its branch with that commit message. Doing it
    /// again changes nothing, unless the files have changed.
    pub fn close(&self, message: &str) -> Result<ClosedTree, RunTreeError> {
        self.close_with(message, ClosingFiles::Work)
    }

    /// Like [`RunTree::close`] for a run whose work was recorded before: what other commands left in the work tree since
    /// does not become part of it.
    pub fn close_as_recorded(&self, message: &str) -> Result<ClosedTree, RunTreeError> {
        self.close_with(message, ClosingFiles::LeftByOthers)
    }

    fn close_with(&self, message: &str, files: ClosingFiles) -> Result<ClosedTree, RunTreeError> {
        let _own = self.lock()?;
        let base = self.base()?;
        let path = self.path();
        let mut tip = self.tip()?;
        let (mut saved, mut unsaved) = (Vec::new(), Vec::new());
        let was_made = self.repository.object_at(&self.refs.ready())?.is_some();
        let has_directory = was_made && has_entries(&path)?;
        if has_directory && files == ClosingFiles::Work {
            self.keep_worker_commit(&base)?;
            let recorded = self.record(&base)?;
            (saved, unsaved) = recorded.left_out.into_iter().partition(is_savable);
            self.save(&saved)?;
            if recorded.tree != self.repository.tree_of(&tip)? {
                let commit = self.repository.commit(&recorded.tree, &[&base], message, None)?;
                self.repository.change_refs(&[format!("update {} {commit} {tip}", self.refs.tip())])?;
                tip = commit;
            }
        }
        let branch = self.make_branch(message)?;
        let is_changed = self.repository.tree_of(&base)? != self.repository.tree_of(&tip)?;
        let is_as_recorded = files == ClosingFiles::LeftByOthers;
        Ok(ClosedTree { base, tip, is_changed, branch, saved, unsaved, has_directory, is_as_recorded })
    }

    /// What is only in the directory and belongs to the work: no merge brings it anywhere. New files in a submodule do
    /// not belong to it, because no commit of that would have them either.
    pub fn unmergeable(&self, closed: &ClosedTree) -> Result<Vec<LeftOutFile>, RunTreeError> {
        let mut left = Vec::new();
        for file in &closed.unsaved {
            if file.reason != LeftOutReason::Submodule
                || self.is_submodule_changed(&closed.base, &file.path)?
            {
                left.push(file.clone());
            }
        }
        Ok(left)
    }

    /// Whether a submodule has another commit than in `base`, or changed files that it knows.
    fn is_submodule_changed(&self, base: &str, path: &Path) -> Result<bool, RunTreeError> {
        let git = GitCaller::at(&self.path()).with("GIT_LITERAL_PATHSPECS", "1");
        let args = ["diff", "--name-only", "--no-ext-diff", "--ignore-submodules=untracked", base, "--"];
        let args: Vec<&OsStr> = args.iter().map(OsStr::new).chain([path.as_os_str()]).collect();
        let answer = git.answer(&args, Vec::new())?;
        // If git can't tell, a person has to look at it.
        Ok(answer.code != Some(0) || !answer.output.is_empty())
    }

    /// The tree of the files that are there. A file is new if the base does not have it.
    fn record(&self, base: &str) -> Result<RecordedTree, RunTreeError> {
        let (path, person) = (self.path(), self.repository.root());
        let admin = self.admin_dir()?;
        // Without git's directory of this work tree, that of the repository does.
        let own = admin.as_deref().filter(|dir| is_usable(dir, &path));
        let git_dir = own.unwrap_or(self.repository.common_dir());
        let git = GitCaller::at(&path).with("GIT_DIR", git_dir).with("GIT_WORK_TREE", &path);
        let index = match &admin {
            Some(dir) => PrivateIndex::copy_of(&dir.join("index"), self.repository.state())?,
            None => PrivateIndex::empty(self.repository.state())?,
        };
        let git = index.caller(&git);
        // What the worker added counts, even if it is ignored. Else its index only saves git from reading unchanged
        // files. It may be damaged.
        let added = indexed(&git).unwrap_or_default();
        if git.ask(&["read-tree", "--reset", base]).is_err() {
            index.clear()?;
            git.ask(&["read-tree", "--reset", base])?;
        }
        let known = indexed(&git)?;
        let mut wanted = Vec::new();
        for file in added.difference(&known) {
            let there = files::link_metadata(&path.join(file))?;
            if there.is_some_and(|there| there.is_file() || there.is_symlink()) {
                wanted.push(file.clone());
            }
        }
        let manifest = BroughtManifest::read(&self.manifest())?;
        record_tree(&git, &path, &wanted, &|file| manifest.has_unchanged(file, &path, person))
    }

    /// Holds what the worker committed by itself, so that nothing of it is lost with the directory.
    fn keep_worker_commit(&self, base: &str) -> Result<(), RunTreeError> {
        let Some(admin) = self.admin_dir()?.filter(|dir| is_usable(dir, &self.path())) else { return Ok(()) };
        let git = GitCaller::at(self.repository.root()).with("GIT_DIR", admin);
        // A `HEAD` that leads nowhere holds nothing.
        let head = git.line_or_none(&["rev-parse", "--verify", "-q", "HEAD^{commit}"]).ok().flatten();
        match head.filter(|head| head != base) {
            Some(head) => self.repository.set_ref(&self.refs.worker(), &head),
            None => Ok(()),
        }
    }

    /// Puts files into the commit that is never merged.
    fn save(&self, files: &[LeftOutFile]) -> Result<(), RunTreeError> {
        if files.is_empty() {
            return Ok(());
        }
        let repository = &self.repository;
        let index = PrivateIndex::empty(repository.state())?;
        let git = GitCaller::at(&self.path())
            .with("GIT_DIR", repository.common_dir())
            .with("GIT_WORK_TREE", self.path());
        let git = index.caller(&git);
        let paths: Vec<PathBuf> = files.iter().map(|file| file.path.clone()).collect();
        add_files(&git, &paths)?;
        let tree = git.line(&["write-tree"])?;
        let before = repository.object_at(&self.refs.saved())?;
        if let Some(before) = &before
            && repository.tree_of(before)? == tree
        {
            return Ok(());
        }
        let parents: Vec<&str> = before.iter().map(String::as_str).collect();
        let message = format!("ravenry: files that run {} left, never merged\n", self.refs.id());
        let commit = repository.own_commit(&tree, &parents, &message)?;
        repository.set_ref(&self.refs.saved(), &commit)
    }
}

fn is_savable(file: &LeftOutFile) -> bool {
    match file.reason {
        LeftOutReason::TooLarge(size) => size <= MAX_SAVED_FILE,
        LeftOutReason::Secret(_) => true,
        LeftOutReason::Unreadable | LeftOutReason::Repository | LeftOutReason::Submodule => false,
    }
}

/// Whether git can work with its directory of a work tree.
fn is_usable(admin: &Path, path: &Path) -> bool {
    let git = GitCaller::at(path).with("GIT_DIR", admin).with("GIT_WORK_TREE", path);
    git.ask(&["rev-parse", "--git-dir"]).is_ok()
}

/// Whether it is a directory with something in it. One that was emptied holds no work.
fn has_entries(path: &Path) -> Result<bool, RunTreeError> {
    if !files::link_metadata(path)?.is_some_and(|there| there.is_dir()) {
        return Ok(false);
    }
    Ok(!files::has_only_names(path, |name| name == ".git")?)
}
