//! Work trees of runs on a full disk, and made by many at once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ravenry::sys::git::run_tree::{RunRepository, RunTree, RunTreeError, WantedFiles};

use crate::support::skip::skip;

fn git(dir: &Path, args: &[&str]) -> String {
    let output = Command::new("git").arg("-C").arg(dir).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_string()
}

/// A repository with files of that many bytes in all.
fn repository(dir: &Path, bytes: usize) -> PathBuf {
    let repo = dir.join("repo");
    fs::create_dir(&repo).unwrap();
    git(&repo, &["init", "-q", "-b", "main"]);
    for number in 0..8 {
        fs::write(repo.join(format!("file{number}")), format!("{number}\n").repeat(bytes / 16)).unwrap();
    }
    git(&repo, &["add", "-A"]);
    git(&repo, &["-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "-m", "first"]);
    repo
}

struct Mount(PathBuf);

impl Drop for Mount {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(&self.0).status().ok();
    }
}

#[test]
fn a_full_disk_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let repo = repository(dir.path(), 4 << 20);
    let place = dir.path().join("place");
    fs::create_dir(&place).unwrap();
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"]).arg(&place);
    if !mount.output().is_ok_and(|output| output.status.success()) {
        skip("a small disk can't be mounted here");
        return;
    }
    let _mount = Mount(place.clone());
    let repository = RunRepository::open(&repo, &dir.path().join("state")).unwrap();
    let tree = RunTree::new(&repository, "r1", &place).unwrap();
    let refused = tree.create(&repository.snapshot().unwrap(), &WantedFiles::default()).unwrap_err();
    assert!(matches!(refused, RunTreeError::DiskFull(_)), "{refused}");
    assert!(refused.to_string().starts_with("the disk is full: "), "{refused}");
    assert_eq!(git(&repo, &["for-each-ref", "--format=%(refname)"]), "refs/heads/main");
    assert!(!tree.path().exists() && !repo.join(".git/worktrees").exists());
    // The same where our own files are: nothing is recorded.
    let refused = RunRepository::open(&repo, &place.join("state")).and_then(|repository| {
        fs::write(place.join("fill"), vec![1; 4 << 20]).ok();
        repository.snapshot()
    });
    assert!(matches!(refused, Err(RunTreeError::DiskFull(_))), "{refused:?}");
}

#[test]
fn many_at_once_in_one_repository() {
    let dir = tempfile::tempdir().unwrap();
    let repo = repository(dir.path(), 4096);
    let (repo, state, place) = (&repo, &dir.path().join("state"), &dir.path().join("place"));
    std::thread::scope(|scope| {
        for number in 0..8 {
            scope.spawn(move || {
                let repository = RunRepository::open(repo, state).unwrap();
                let tree = RunTree::new(&repository, &format!("r{number}"), place).unwrap();
                let made = tree.create(&repository.snapshot().unwrap(), &WantedFiles::default()).unwrap();
                fs::write(made.path.join(format!("file{number}")), "worker\n").unwrap();
                let closed = tree.close(&format!("work {number}")).unwrap();
                tree.free(&closed).unwrap();
            });
        }
    });
    for number in 0..8 {
        let branch = format!("ravenry/run-r{number}");
        assert_eq!(git(repo, &["diff", "--name-only", "main", &branch]), format!("file{number}"));
    }
    assert!(!repo.join(".git/worktrees").exists());
    assert_eq!(git(repo, &["status", "--porcelain"]), "");
}
