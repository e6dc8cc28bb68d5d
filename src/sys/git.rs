//! Finds the git work tree of a directory and its branch, usually without starting `git`.

mod checked_out;
mod file_history;
mod head_commit;
mod history;
mod last_commit;
mod named_commits;
mod path_versions;
mod project_files;
mod read_only;
mod reading_command;
mod repository;
mod root_commit;
pub mod run_tree;
mod shared_root;
mod user_name;
mod work_state;
mod work_tree_merge;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::files;

pub use file_history::{FileChanges, PathCommit, SearchText};
pub use history::{PastCommit, past_commits};
pub use last_commit::LastCommit;
pub use named_commits::{CommitNaming, CommitRange, NamedCommits, RangeDiff};
pub use path_versions::{CommittedFile, PathVersion, VersionCommit};
pub use project_files::CommitTitle;
pub use read_only::ReadOnlyGit;
pub use repository::{GitError, Repository, Staged};
pub use root_commit::{RepositoryStart, is_in_bare_repository};
pub use user_name::user_name_outside;
pub use work_state::{CommitChoice, GitCommitFiles, GitList, HeadLogEntry, UncommittedFile};
pub use work_tree_merge::{FileConflict, FileMerge, WorkTreePair};

/// A work tree: the main one or a linked one.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct WorkTree {
    pub root: PathBuf,
    /// The directory with this work tree's `HEAD`.
    git_dir: PathBuf,
}

impl WorkTree {
    /// The work tree that contains `dir`, if any.
    pub fn containing(dir: &Path) -> Option<Self> {
        dir.ancestors().find_map(Self::rooted_at)
    }

    /// The work tree whose root this directory is, if it is one.
    pub fn rooted_at(root: &Path) -> Option<Self> {
        let git_dir = git_dir_at(root)?;
        git_dir.join("HEAD").is_file().then(|| Self { root: root.to_path_buf(), git_dir })
    }

    /// The root of the main work tree, if this is a linked one.
    pub fn main_root(&self) -> Option<PathBuf> {
        let repository = self.repository()?;
        let is_usual = repository.file_name().is_some_and(|name| name == ".git");
        let main = repository.parent().filter(|_| is_usual && self.is_linked_to(&repository))?;
        Some(main.to_path_buf())
    }

    /// Whether it is not the main work tree of this repository.
    fn is_linked_to(&self, repository: &Path) -> bool {
        std::fs::canonicalize(&self.git_dir).is_ok_and(|own| own != repository)
    }

    /// The directory with the data that all work trees of the repository share (git's common directory).
    pub fn repository(&self) -> Option<PathBuf> {
        let common = match text_of(&self.git_dir.join("commondir")) {
            Some(text) => self.git_dir.join(text.trim()),
            None => self.git_dir.clone(),
        };
        std::fs::canonicalize(common).ok()
    }

    /// The roots of the other work trees of the repository.
    pub fn others(&self) -> Vec<PathBuf> {
        let Some(repository) = self.repository() else { return Vec::new() };
        let linked = std::fs::read_dir(repository.join("worktrees")).into_iter().flatten().flatten();
        let dot_git = |dir: PathBuf| {
            let text = text_of(&dir.join("gitdir"))?;
            Some(dir.join(text.trim_end_matches('\n')))
        };
        let mut roots: Vec<PathBuf> = linked
            .filter_map(|entry| dot_git(entry.path()))
            .chain([repository].into_iter().filter(|dir| dir.ends_with(".git")))
            .filter_map(|dot_git| std::fs::canonicalize(dot_git.parent()?).ok())
            .collect();
        let own = std::fs::canonicalize(&self.root).ok();
        roots.retain(|root| Some(root) != own.as_ref());
        roots
    }

    /// The branch that is checked out; `@` and seven digits of the commit if `HEAD` is detached.
    pub fn branch(&self) -> Option<String> {
        let head = text_of(&self.git_dir.join("HEAD"))?;
        match head.trim().strip_prefix("ref:").map(str::trim) {
            // Repositories with reftables have a `HEAD` that is not a branch, for older readers.
            Some("refs/heads/.invalid") => self.ask_git(),
            Some(reference) => Some(short(reference)),
            None => detached(head.trim()),
        }
    }

    /// Whether git tracks the file. `false` if there is no `git`.
    pub fn tracks(&self, path: &Path) -> bool {
        path.to_str().is_some_and(|path| self.git(&["ls-files", "--", path]).is_some())
    }

    fn ask_git(&self) -> Option<String> {
        let symbolic = self.git(&["symbolic-ref", "-q", "HEAD"]).map(|reference| short(&reference));
        symbolic.or_else(|| detached(&self.git(&["rev-parse", "--verify", "-q", "HEAD"])?))
    }

    fn git(&self, args: &[&str]) -> Option<String> {
        let output =
            Command::new("git").arg("-C").arg(&self.root).args(args).stderr(Stdio::null()).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?.trim().to_string();
        (output.status.success() && !text.is_empty()).then_some(text)
    }
}

/// The git directory: `.git` itself, or the directory that the file `.git` names in a linked work tree or a submodule.
fn git_dir_at(root: &Path) -> Option<PathBuf> {
    let dot_git = root.join(".git");
    let metadata = std::fs::metadata(&dot_git).ok()?;
    if metadata.is_dir() {
        return Some(dot_git);
    }
    let text = text_of(&dot_git)?;
    Some(root.join(text.strip_prefix("gitdir:")?.trim()))
}

/// The text of a file of git's; `None` if it is not text, which a downloaded directory may contain.
fn text_of(path: &Path) -> Option<String> {
    String::from_utf8(files::read(path).ok()??).ok()
}

fn short(reference: &str) -> String {
    reference.strip_prefix("refs/heads/").unwrap_or(reference).to_string()
}

fn detached(commit: &str) -> Option<String> {
    let is_hash = commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| format!("@{}", &commit[..7]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "makes a repository, not a mesh")]
    fn write(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn branch_in(dir: &Path) -> Option<String> {
        WorkTree::containing(dir)?.branch()
    }

    #[test]
    fn plain_repositories() {
        let dir = tempfile::tempdir().unwrap();
        let sub = dir.path().join("src/deep");
        write(&sub.join("x"), "");
        assert_eq!(branch_in(&sub), None, "no repository");
        write(&dir.path().join(".git/HEAD"), "ref: refs/heads/feature/login\n");
        assert_eq!(branch_in(&sub).as_deref(), Some("feature/login"));
        write(&dir.path().join(".git/HEAD"), "3890d112605d372894a6fab37e3f056c89ad692c\n");
        assert_eq!(branch_in(&sub).as_deref(), Some("@3890d11"));
        write(&dir.path().join(".git/HEAD"), "garbage");
        assert_eq!(branch_in(&sub), None);
    }

    #[test]
    fn linked_work_trees_have_a_head_of_their_own() {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("main");
        let linked = dir.path().join("linked");
        write(&main.join(".git/HEAD"), "ref: refs/heads/main\n");
        write(&main.join(".git/worktrees/linked/HEAD"), "ref: refs/heads/topic\n");
        write(&linked.join(".git"), "gitdir: ../main/.git/worktrees/linked\n");
        assert_eq!(branch_in(&main).as_deref(), Some("main"));
        assert_eq!(branch_in(&linked).as_deref(), Some("topic"));
    }

    /// Uses the real `git` if it is installed and knows reftables (2.45); otherwise the branch is not known.
    #[test]
    fn reftables() {
        let dir = tempfile::tempdir().unwrap();
        let init = Command::new("git")
            .args(["init", "-q", "-b", "topic", "--ref-format=reftable"])
            .arg(dir.path())
            .stderr(Stdio::null())
            .status();
        if init.is_ok_and(|status| status.success()) {
            assert_eq!(branch_in(dir.path()).as_deref(), Some("topic"));
        } else {
            write(&dir.path().join(".git/HEAD"), "ref: refs/heads/.invalid\n");
            assert_eq!(branch_in(dir.path()), None);
        }
    }
}
