//! Tests with real repositories.

#![expect(clippy::disallowed_methods, reason = "makes the files of a person and of a worker")]

mod closings;
mod conflicts;
mod crashes;
mod crews;
mod merges;
mod snapshots;
mod trees;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::*;
use crate::domain::sha256;

/// A repository of a person, and directories of ours outside of it.
struct Scene {
    dir: PathBuf,
    _held: Option<tempfile::TempDir>,
}

impl Scene {
    /// With files in a first commit.
    fn new(files: &[(&str, &str)]) -> Self {
        let held = tempfile::tempdir().unwrap();
        let scene = Self { dir: held.path().canonicalize().unwrap(), _held: Some(held) };
        std::fs::create_dir_all(scene.repo()).unwrap();
        scene.git(&["init", "-q", "-b", "main"]);
        scene.git(&["config", "user.name", "Ann"]);
        scene.git(&["config", "user.email", "ann@example.org"]);
        for (path, text) in files {
            scene.put(path, text);
        }
        scene.commit("first");
        scene
    }

    /// The scene that another process made.
    fn at(dir: &Path) -> Self {
        Self { dir: dir.to_path_buf(), _held: None }
    }

    fn repo(&self) -> PathBuf {
        self.dir.join("repo")
    }

    fn repository(&self) -> RunRepository {
        RunRepository::open(&self.repo(), &self.dir.join("state")).unwrap()
    }

    fn tree(&self, id: &str) -> RunTree {
        RunTree::new(&self.repository(), id, &self.dir.join("place")).unwrap()
    }

    /// A run whose work tree is made.
    fn run(&self, id: &str) -> RunTree {
        let tree = self.tree(id);
        let snapshot = self.repository().snapshot().unwrap();
        tree.create(&snapshot, &WantedFiles::default()).unwrap();
        tree
    }

    fn crew(&self) -> CrewBranch {
        CrewBranch::of(&self.repository(), "plan").unwrap()
    }

    /// A run for the crew that has ended, with these files changed.
    fn crew_run(&self, id: &str, changes: &[(&str, &str)]) -> RunTree {
        let tree = self.tree(id);
        tree.create(&self.crew().base().unwrap(), &WantedFiles::default()).unwrap();
        for (path, text) in changes {
            put(&tree.path().join(path), text.as_bytes());
        }
        tree.free(&tree.close(&format!("work of {id}")).unwrap()).unwrap();
        tree
    }

    /// Puts the work of a run on the branch of the crew.
    #[track_caller]
    fn advance(&self, id: &str) -> CrewMove {
        match self.crew().prepare(&self.tree(id)).unwrap() {
            CrewMerge::Ready(step) => {
                self.crew().advance(&self.tree(id), &step, &format!("work of {id}")).unwrap()
            }
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn git(&self, args: &[&str]) -> String {
        git_at(&self.repo(), args)
    }

    fn commit(&self, title: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", title]);
    }

    fn put(&self, path: &str, text: &str) {
        put(&self.repo().join(path), text.as_bytes());
    }

    #[track_caller]
    fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.repo().join(path)).unwrap()
    }

    /// Files of the person, and all of git's directory that is theirs: a hash of the content, mode and time.
    fn person(&self) -> BTreeMap<PathBuf, (String, u32, i64)> {
        let mut all = BTreeMap::new();
        for path in files_below(&self.repo()) {
            let name = path.strip_prefix(self.repo()).unwrap().to_path_buf();
            let ours = [
                ".git/objects",
                ".git/refs/ravenry",
                ".git/refs/heads/ravenry",
                ".git/worktrees",
                ".git/hooks",
            ];
            if ours.iter().any(|ours| name.starts_with(ours)) {
                continue;
            }
            let metadata = path.symlink_metadata().unwrap();
            let time = metadata.mtime() * 1_000_000_000 + metadata.mtime_nsec();
            all.insert(name, (sha256(&content(&path))[..12].to_string(), metadata.mode(), time));
        }
        all
    }

    /// The files of a tree object: mode and content.
    fn listing(&self, tree: &str) -> BTreeMap<PathBuf, (String, Vec<u8>)> {
        let listed = output_at(&self.repo(), &["ls-tree", "-r", "-z", tree]);
        let mut all = BTreeMap::new();
        for line in listed.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
            let tab = line.iter().position(|byte| *byte == b'\t').unwrap();
            let about = std::str::from_utf8(&line[..tab]).unwrap();
            let words: Vec<&str> = about.split(' ').collect();
            let content = match words[1] {
                "blob" => output_at(&self.repo(), &["cat-file", "blob", words[2]]),
                _ => words[2].as_bytes().to_vec(),
            };
            all.insert(OsStr::from_bytes(&line[tab + 1..]).into(), (words[0].to_string(), content));
        }
        all
    }

    fn names(&self, tree: &str) -> Vec<String> {
        self.listing(tree).keys().map(|path| path.to_string_lossy().into_owned()).collect()
    }

    fn refs(&self) -> Vec<String> {
        self.git(&["for-each-ref", "--format=%(refname)"]).lines().map(str::to_string).collect()
    }
}

fn put(path: &Path, content: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

fn content(path: &Path) -> Vec<u8> {
    match path.read_link() {
        Ok(text) => text.as_os_str().as_bytes().to_vec(),
        Err(_) => std::fs::read(path).unwrap(),
    }
}

fn output_at(dir: &Path, args: &[&str]) -> Vec<u8> {
    let output = Command::new("git").arg("-C").arg(dir).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

#[track_caller]
fn git_at(dir: &Path, args: &[&str]) -> String {
    String::from_utf8(output_at(dir, args)).unwrap().trim_end().to_string()
}

/// Everything but directories.
fn files_below(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            found.extend(files_below(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}
