//! A repository in which Alice, who is alive, has reserved `src/`, `odd/`, `lib/` and `*.lock`.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ravenry::sys::test_switches;
use serde_json::Value;

use crate::support::environment::{Ended, TestEnvironment, end, put};

pub struct Repo {
    pub env: TestEnvironment,
    /// Alice's process.
    pub alice: u32,
}

/// A repository with two commits and nothing staged.
pub fn repo() -> Repo {
    let repo = bare_of_commits();
    for file in ["src/a.rs", "src/deep/b.rs", "docs/c.md", "d.txt"] {
        repo.write(file, "one\n");
    }
    repo.git(&["add", "."]).expect_code(0);
    repo.git(&["commit", "-qm", "one"]).expect_code(0);
    repo
}

/// A repository without commits.
pub fn bare_of_commits() -> Repo {
    let env = TestEnvironment::new();
    let alice = env.join("Alice");
    let repo = Repo { env, alice };
    repo.git(&["init", "-q", "-b", "main"]).expect_code(0);
    let reserve = ["reserve", "src/", "odd/", "lib/", "*.lock", "--reason", "new login", "--as", "Alice"];
    repo.env.ok(&reserve);
    repo
}

/// A repository with the guard installed.
pub fn guarded() -> Repo {
    let repo = repo();
    repo.env.ok(&["guard", "install"]);
    repo
}

impl Repo {
    pub fn root(&self) -> PathBuf {
        self.env.work()
    }

    pub fn write(&self, file: &str, text: &str) {
        put(&self.root().join(file), text);
    }

    pub fn git_command(&self, dir: &Path) -> Command {
        let mut command = Command::new("git");
        command.env_clear().current_dir(dir).stdin(Stdio::null());
        command.env("HOME", self.env.home()).env("PATH", std::env::var("PATH").unwrap());
        command.env("MSG_MESH", self.env.mesh()).env("GIT_CONFIG_NOSYSTEM", "1");
        for who in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{who}_NAME"), "Robin")
                .env(format!("GIT_{who}_EMAIL"), "robin@example.org");
        }
        command.env(test_switches::ANCESTRY_END, std::process::id().to_string());
        command
    }

    pub fn git(&self, args: &[&str]) -> Ended {
        self.git_in(&self.root(), args)
    }

    pub fn git_in(&self, dir: &Path, args: &[&str]) -> Ended {
        end(self.git_command(dir).args(args))
    }

    /// The commit that is checked out.
    pub fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"]).stdout
    }

    /// Git refuses this commit because of the guard, which names the path.
    #[track_caller]
    pub fn refused(&self, args: &[&str], path: &str) -> Ended {
        self.refused_in(&self.root(), args, path)
    }

    #[track_caller]
    pub fn refused_in(&self, dir: &Path, args: &[&str], path: &str) -> Ended {
        let before = self.head();
        let ended = self.git_in(dir, args).expect_code(1);
        assert!(ended.stderr.contains("refused: "), "{args:?}: {ended}");
        assert!(ended.stderr.contains(path) && ended.stderr.contains("Alice"), "{args:?}: {path}: {ended}");
        assert_eq!(self.head(), before, "{args:?}: nothing is committed");
        ended
    }

    /// Git commits, and the guard prints nothing.
    #[track_caller]
    pub fn committed(&self, args: &[&str]) {
        self.committed_in(&self.root(), args);
    }

    #[track_caller]
    pub fn committed_in(&self, dir: &Path, args: &[&str]) {
        let before = self.git_in(dir, &["rev-parse", "HEAD"]).stdout;
        let ended = self.git_in(dir, args).expect_code(0);
        assert_eq!(ended.stderr, "", "{args:?}");
        assert_ne!(self.git_in(dir, &["rev-parse", "HEAD"]).stdout, before, "{args:?}: it is committed");
    }

    /// What `guard check` reports about the staged changes: the paths, and who holds each.
    #[track_caller]
    pub fn checked(&self) -> Vec<(String, Option<String>)> {
        let ended = self.env.run(&["guard", "check", "--json"]);
        let json = ended.json();
        let text = |value: &Value| value.as_str().map(str::to_string);
        let rows = json["paths"].as_array().unwrap();
        let rows: Vec<_> =
            rows.iter().map(|row| (text(&row["path"]).unwrap(), text(&row["holder"]))).collect();
        let is_free = rows.iter().all(|(_, holder)| holder.is_none());
        assert_eq!(ended.code, Some(if is_free { 0 } else { 1 }), "{ended}");
        rows
    }

    pub fn hook(&self) -> PathBuf {
        self.root().join(".git/hooks/pre-commit")
    }

    /// Writes a hook that git runs.
    pub fn put_hook(&self, text: &str) {
        put_program(&self.hook(), text);
    }
}

/// A hook in a language other than shell that is available wherever git is.
pub fn awk(commands: &str) -> String {
    format!("#!/usr/bin/env -S awk -f\nBEGIN {{ {commands} }}\n")
}

pub fn put_program(path: &Path, text: &str) {
    put(path, text);
    set_mode(path, 0o755);
}

pub fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Everything beneath a directory: names, modes, contents and link targets.
pub fn everything(dir: &Path) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(dir) else { return found };
    for entry in entries {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        let content = if metadata.is_symlink() {
            fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes()
        } else if metadata.is_file() {
            fs::read(&path).unwrap()
        } else {
            found.extend(everything(&path));
            Vec::new()
        };
        // For a link only its target matters.
        let mode = if metadata.is_symlink() { 0 } else { metadata.permissions().mode() };
        found.push((path, mode, content));
    }
    found.sort();
    found
}

/// The names in a directory that are not git's samples.
pub fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
    let shown = entries.map(|name| AsRef::<OsStr>::as_ref(&name).to_string_lossy().into_owned());
    let mut names: Vec<String> = shown.filter(|name| !name.ends_with(".sample")).collect();
    names.sort();
    names
}
