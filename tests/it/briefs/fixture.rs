//! A repository with a few files, and agents in it or in its worktrees.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ravenry::sys::test_switches;

use crate::support::environment::{Ended, TestEnvironment, end, put};

pub struct Project {
    pub env: TestEnvironment,
}

pub fn words(text: &str) -> usize {
    text.split_whitespace().count()
}

impl Project {
    /// With one commit.
    pub fn new() -> Self {
        let project = Self::empty();
        for name in ["src/old.rs", "src/removed.rs", "README.md"] {
            project.write(&project.root().join(name), "one\n");
        }
        project.commit(&project.root(), "begin");
        project
    }

    /// Without a commit.
    pub fn empty() -> Self {
        let project = Self { env: TestEnvironment::new() };
        project.git(&project.root(), &["init", "-q", "-b", "main"]);
        project
    }

    pub fn root(&self) -> PathBuf {
        self.env.work()
    }

    pub fn write(&self, path: &Path, text: &str) {
        put(path, text);
    }

    pub fn git_command(&self, dir: &Path) -> Command {
        let mut command = Command::new("git");
        command.env_clear().current_dir(dir).stdin(Stdio::null());
        command.env("HOME", self.env.home()).env("PATH", std::env::var("PATH").unwrap());
        command.env("GIT_CONFIG_NOSYSTEM", "1");
        for who in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{who}_NAME"), "Robin")
                .env(format!("GIT_{who}_EMAIL"), "robin@example.org");
        }
        command
    }

    #[track_caller]
    pub fn git(&self, dir: &Path, args: &[&str]) -> String {
        end(self.git_command(dir).args(args)).expect_code(0).stdout
    }

    pub fn commit(&self, dir: &Path, subject: &str) {
        self.git(dir, &["add", "-A"]);
        self.git(dir, &["commit", "-qm", subject]);
    }

    /// A linked worktree on a new branch.
    pub fn worktree(&self, branch: &str) -> PathBuf {
        let tree = self.env.path().join(format!("tree-{branch}"));
        self.git(&self.root(), &["worktree", "add", "-q", "-b", branch, tree.to_str().unwrap()]);
        tree
    }

    /// Joins in that directory. Returns the host.
    pub fn join(&self, name: &str, dir: &Path) -> u32 {
        let host = self.env.host();
        let session = format!("session of {name}");
        self.msg(dir, &["join", name, "--pid", &host.to_string(), "--session", &session]).expect_code(0);
        host
    }

    pub fn msg(&self, dir: &Path, args: &[&str]) -> Ended {
        end(self.env.msg().args(args).current_dir(dir).env_remove(test_switches::NOW))
    }

    /// The answer as a snapshot has it: without ids of commits and times.
    pub fn shown(&self, dir: &Path, args: &[&str]) -> String {
        let text = self.env.redact(self.msg(dir, args));
        let words = text.split_inclusive([' ', '\n', ',', ')', ':']).map(|word| {
            let is_id = |word: &str| {
                word.len() == 10
                    && word.starts_with('`')
                    && word.bytes().filter(u8::is_ascii_hexdigit).count() == 8
            };
            let is_age = |word: &str| {
                let digits = word.trim_end_matches(['s', 'm']);
                !digits.is_empty()
                    && digits.len() < word.len()
                    && digits.bytes().all(|byte| byte.is_ascii_digit())
            };
            let bare = word.trim_end_matches([' ', '\n', ',', ')', ':']);
            match bare {
                bare if is_id(bare) => word.replace(bare, "`[ID]`"),
                bare if is_age(bare) => word.replace(bare, "[AGE]"),
                _ => word.to_string(),
            }
        });
        words.collect()
    }
}
