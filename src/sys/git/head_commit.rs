//! The commit of `HEAD` and the state of the index, usually without starting `git`.

use std::path::Path;

use super::{WorkTree, text_of};
use crate::sys::files::{self, FileStamp};

impl WorkTree {
    /// The id of the commit that `HEAD` leads to; `None` if there is no commit yet.
    pub fn head_commit(&self) -> Option<String> {
        let head = text_of(&self.git_dir.join("HEAD"))?;
        match head.trim().strip_prefix("ref:").map(str::trim) {
            Some("refs/heads/.invalid") => {
                self.git(&["rev-parse", "--verify", "-q", "HEAD"]).and_then(|id| id_of(&id))
            }
            Some(reference) => self.commit_of(reference),
            None => id_of(&head),
        }
    }

    /// The `stat` of the index, which every command of git that adds, moves or removes a file changes.
    pub fn index_stamp(&self) -> Option<FileStamp> {
        let metadata = files::link_metadata(&self.git_dir.join("index")).ok()??;
        Some(FileStamp::of(&metadata))
    }

    /// Whether that is a branch which was never checked out in this work tree.
    pub fn is_branch_of_others(&self, name: &str) -> bool {
        if self.commit_of(&format!("refs/heads/{name}")).is_none() || self.branch().as_deref() == Some(name) {
            return false;
        }
        let end = format!(" to {name}");
        let is_taken = |line: &str| line.contains("checkout: moving from ") && line.ends_with(&end);
        let log = match self.has_reftable() {
            true => self.git(&["reflog", "show", "--format=%gs", "HEAD", "--"]),
            false => text_of(&self.git_dir.join("logs/HEAD")),
        };
        !log.is_some_and(|log| log.lines().any(is_taken))
    }

    /// Whether refs and reflogs are in a format that only git reads.
    fn has_reftable(&self) -> bool {
        self.repository().is_some_and(|repository| repository.join("reftable").is_dir())
    }

    fn commit_of(&self, reference: &str) -> Option<String> {
        // A name that leads out of the directory is not one of git's.
        if reference.split('/').any(|part| part == "..") || !reference.starts_with("refs/") {
            return None;
        }
        if self.has_reftable() {
            return self.git(&["rev-parse", "--verify", "-q", reference]).and_then(|id| id_of(&id));
        }
        let repository = self.repository()?;
        let loose = |dir: &Path| id_of(&text_of(&dir.join(reference))?);
        loose(&self.git_dir).or_else(|| loose(&repository)).or_else(|| {
            let packed = text_of(&repository.join("packed-refs"))?;
            let line = |line: &str| {
                line.split_once(' ').filter(|(_, name)| *name == reference).map(|(id, _)| id.to_string())
            };
            id_of(&packed.lines().find_map(line)?)
        })
    }
}

/// The text, if it is the id of a commit.
fn id_of(text: &str) -> Option<String> {
    let id = text.trim();
    (id.len() >= 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| id.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_git_says() {
        let dir = tempfile::tempdir().unwrap();
        let linked = dir.path().join("linked");
        let main = dir.path().join("main");
        crate::sys::files::create_dir(&main).unwrap();
        let git = |at: &Path, args: &[&str]| {
            let mut command = std::process::Command::new("git");
            command.arg("-C").arg(at).args(["-c", "user.name=J", "-c", "user.email=j@x"]).args(args);
            let output = command.output().unwrap();
            assert!(output.status.success(), "{args:?}");
            String::from_utf8(output.stdout).unwrap().trim().to_string()
        };
        let head = |at: &Path| WorkTree::containing(at).and_then(|tree| tree.head_commit());
        git(&main, &["init", "-q", "-b", "main"]);
        assert_eq!(head(&main), None, "no commit yet");
        git(&main, &["commit", "-q", "--allow-empty", "-m", "one"]);
        git(&main, &["worktree", "add", "-q", "-b", "topic", linked.to_str().unwrap()]);
        git(&linked, &["commit", "-q", "--allow-empty", "-m", "two"]);
        for command in [&["status"][..], &["pack-refs", "--all"], &["checkout", "-q", "--detach"]] {
            git(&main, command);
            for at in [&main, &linked] {
                assert_eq!(head(at), Some(git(at, &["rev-parse", "HEAD"])), "after {command:?}");
            }
        }
        assert_ne!(head(&main), head(&linked));
    }

    #[test]
    fn branches_of_others_are_known_in_every_format_of_refs() {
        for format in ["files", "reftable"] {
            let dir = tempfile::tempdir().unwrap();
            let (main, linked) = (dir.path().join("main"), dir.path().join("linked"));
            crate::sys::files::create_dir(&main).unwrap();
            let git = |at: &Path, args: &[&str]| {
                let mut command = std::process::Command::new("git");
                command.arg("-C").arg(at).args(["-c", "user.name=J", "-c", "user.email=j@x"]).args(args);
                command.output().unwrap().status.success()
            };
            if !git(&main, &["init", "-q", "-b", "main", &format!("--ref-format={format}")]) {
                // Older than 2.45, which has only the first format, and no flag for it.
                assert!(git(&main, &["init", "-q", "-b", "main"]));
            }
            assert!(git(&main, &["commit", "-q", "--allow-empty", "-m", "one"]));
            assert!(git(&main, &["branch", "other"]));
            assert!(git(&main, &["worktree", "add", "-q", "--detach", linked.to_str().unwrap()]));
            assert!(git(&linked, &["checkout", "-q", "-b", "own"]));
            assert!(git(&linked, &["checkout", "-q", "--detach"]));
            let tree = WorkTree::containing(&linked).unwrap();
            let is_of_others = |name: &str| tree.is_branch_of_others(name);
            let found = ["main", "other", "own", "nosuch", "../x"].map(is_of_others);
            assert_eq!(found, [true, true, false, false, false], "{format}");
        }
    }
}
