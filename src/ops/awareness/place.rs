//! Where an agent works: a repository, and one of its work trees.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::domain::awareness::RepositoryId;
use crate::domain::awareness::counters::PathId;
use crate::domain::awareness::track::TreeId;
use crate::sys::git::WorkTree;

/// A work tree of a repository. Outside of git, a folder is its own repository.
#[derive(Clone, Debug)]
pub(in crate::ops) struct WorkPlace {
    pub(in crate::ops) repository: RepositoryId,
    pub(in crate::ops) tree: TreeId,
    pub(in crate::ops) root: PathBuf,
    pub(in crate::ops) is_git: bool,
    /// The directory that all work trees of the repository share.
    shared: PathBuf,
}

impl WorkPlace {
    pub(in crate::ops) fn of(dir: &Path) -> Self {
        let found = WorkTree::containing(dir).and_then(|tree| Some((tree.repository()?, tree.root)));
        let is_git = found.is_some();
        let (shared, root) = found.unwrap_or_else(|| (dir.to_path_buf(), dir.to_path_buf()));
        let root = std::fs::canonicalize(&root).unwrap_or(root);
        let repository = RepositoryId::of(shared.as_os_str().as_bytes());
        Self { repository, tree: tree_id(&root), root, is_git, shared }
    }

    /// Whether the repository may have more than one work tree.
    pub(super) fn has_linked_trees(&self) -> bool {
        self.is_git && self.shared.join("worktrees").is_dir()
    }

    /// The file relative to the root of its work tree; `None` if it is in none of this repository.
    pub(in crate::ops) fn relative(&self, path: &Path) -> Option<(TreeId, Vec<u8>)> {
        // The file may be gone; its directory usually is not.
        let (dir, name) = (path.parent()?, path.file_name()?);
        let real = std::fs::canonicalize(dir).map_or_else(|_| path.to_path_buf(), |dir| dir.join(name));
        if let Ok(inside) = real.strip_prefix(&self.root) {
            return Some((self.tree, inside.as_os_str().as_bytes().to_vec()))
                .filter(|(_, path)| !path.is_empty());
        }
        let other = Self::of(real.parent()?);
        let inside =
            real.strip_prefix(&other.root).ok().filter(|_| other.shared == self.shared && self.is_git)?;
        Some((other.tree, inside.as_os_str().as_bytes().to_vec()))
    }
}

/// The hash of the work tree's root, cut to the size of its place in a line.
pub(in crate::ops) fn tree_id(root: &Path) -> TreeId {
    TreeId(PathId::of(root.as_os_str().as_bytes()).0 as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::files;

    #[test]
    fn a_folder_outside_of_git_is_a_place_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let dir = std::fs::canonicalize(dir.path()).unwrap();
        let (one, two) = (dir.join("one"), dir.join("two"));
        files::create_dir(&one).unwrap();
        files::create_dir(&two).unwrap();
        let place = WorkPlace::of(&one);
        assert!(!place.is_git && place.repository != WorkPlace::of(&two).repository);
        assert_eq!(place.relative(&one.join("src/new.rs")), Some((place.tree, b"src/new.rs".to_vec())));
        assert_eq!(place.relative(&two.join("a")), None);
        assert_eq!(place.relative(&one.join("../two/a")), None);
    }

    #[test]
    fn work_trees_share_a_repository() {
        let dir = tempfile::tempdir().unwrap();
        let (main, linked) = (dir.path().join("main"), dir.path().join("linked"));
        files::create_dir(&main).unwrap();
        let git = |args: &[&str]| {
            let mut command = std::process::Command::new("git");
            command.arg("-C").arg(&main).args(["-c", "user.name=J", "-c", "user.email=j@x"]).args(args);
            assert!(command.output().unwrap().status.success(), "{args:?}");
        };
        git(&["init", "-q"]);
        git(&["commit", "-q", "--allow-empty", "-m", "x"]);
        git(&["worktree", "add", "-q", "../linked"]);
        let (here, there) = (WorkPlace::of(&main), WorkPlace::of(&linked));
        assert!(here.repository == there.repository && here.tree != there.tree && here.is_git);
        assert_eq!(here.relative(&linked.join("a")), Some((there.tree, b"a".to_vec())));
        assert_eq!(here.relative(&main.join("b/c")), Some((here.tree, b"b/c".to_vec())));
        assert_eq!(here.relative(&dir.path().join("x")), None);
    }
}
