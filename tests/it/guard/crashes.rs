//! Crash sweeps of `guard install` and `guard uninstall`; unless the sweep is whole, at every other step. At any time
//! git finds a working hook and the previous hook runs, and the next call completes the change.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use ravenry::sys::test_switches::CRASH_AT;

use super::fixture::{Repo, awk, everything, put_program, repo};
use crate::support::environment::{put, steps};

/// The hook that is there before, and whether git runs it.
type Case = (&'static str, fn(&Repo), bool);

const CASES: [Case; 6] = [
    ("nothing", |_| (), false),
    ("a script", |repo| repo.put_hook("#!/bin/sh\necho the other\n"), true),
    ("another language", |repo| repo.put_hook(&awk("print \"the other\"")), true),
    (
        "a script that reads itself",
        |repo| repo.put_hook("#!/bin/sh\ntail -n +4 \"$0\" | sh\nexit\necho the other\n"),
        true,
    ),
    (
        "a link",
        |repo| {
            put_program(&repo.root().join("tools/run"), "#!/bin/sh\necho the other\n");
            symlink("../../tools/run", repo.hook()).unwrap();
        },
        true,
    ),
    ("what git ignores", |repo| put(&repo.hook(), "#!/bin/sh\necho the other\n"), false),
];

struct Scene {
    repo: Repo,
    runs: bool,
    before: Vec<(PathBuf, u32, Vec<u8>)>,
}

impl Scene {
    fn new((_, put_hook, runs): &Case, is_guarded: bool) -> Self {
        let repo = repo();
        put_hook(&repo);
        repo.git(&["config", "advice.ignoredHook", "false"]).expect_code(0);
        let before = everything(&repo.root().join(".git/hooks"));
        if is_guarded {
            repo.env.ok(&["guard", "install"]);
        }
        copy(&repo.root().join(".git/hooks"), &repo.env.path().join("hooks"));
        Self { repo, runs: *runs, before }
    }

    fn hooks(&self) -> PathBuf {
        self.repo.root().join(".git/hooks")
    }

    fn reset(&self) {
        fs::remove_dir_all(self.hooks()).unwrap();
        copy(&self.repo.env.path().join("hooks"), &self.hooks());
    }

    /// Runs the command with a kill before its n-th change. `false`: it was not killed.
    fn dies(&self, action: &str, n: usize) -> bool {
        let ended = self.repo.env.run_with(&["guard", action], &[(CRASH_AT, &n.to_string())]);
        assert!(ended.signal == Some(9) || ended.code == Some(0), "{ended}");
        ended.signal == Some(9)
    }

    /// Git commits a free path, and the other hook runs once if git runs it at all.
    #[track_caller]
    fn assert_works(&self, when: &str) {
        let ended = self.repo.git(&["commit", "--allow-empty", "-qm", when]).expect_code(0);
        assert_eq!(ended.stderr.matches("the other").count(), usize::from(self.runs), "{when}: {ended}");
        assert_eq!(ended.stderr.replace("the other\n", ""), "", "{when}");
    }

    #[track_caller]
    fn assert_guarded(&self, when: &str) {
        self.assert_works(when);
        self.repo.write("src/a.rs", when);
        let ended = self.repo.refused(&["commit", "-qam", when], "src/a.rs");
        assert_eq!(ended.stderr.matches("the other").count(), usize::from(self.runs), "{when}: {ended}");
        self.repo.git(&["checkout", "-q", "HEAD", "src"]).expect_code(0);
    }

    #[track_caller]
    fn assert_restored(&self, when: &str) {
        assert_eq!(everything(&self.hooks()), self.before, "{when}");
    }

    fn sweep(&self, action: &str, first: usize) {
        for n in (first..).step_by(steps()) {
            self.reset();
            let died = self.dies(action, n);
            let when = format!("{action} killed at {n}");
            self.assert_works(&when);
            self.repo.env.ok(&["guard", "install"]);
            self.assert_guarded(&when);
            self.repo.env.ok(&["guard", "uninstall"]);
            self.assert_restored(&when);
            self.reset();
            self.dies(action, n);
            self.repo.env.ok(&["guard", "uninstall"]);
            self.assert_restored(&format!("{when}, and uninstalled"));
            if !died {
                assert!(n > 2, "{action} changes something");
                break;
            }
        }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_symlink() {
            symlink(fs::read_link(&path).unwrap(), target).unwrap();
        } else if path.is_dir() {
            copy(&path, &target);
            fs::set_permissions(target, fs::metadata(&path).unwrap().permissions()).unwrap();
        } else {
            fs::copy(&path, target).unwrap();
        }
    }
}

/// The steps that are left out of one case are in the next one.
fn sweep(action: &str, is_guarded: bool) {
    for (number, case) in CASES.iter().enumerate() {
        Scene::new(case, is_guarded).sweep(action, 1 + number % steps());
    }
}

#[test]
fn installing() {
    sweep("install", false);
}

#[test]
fn uninstalling() {
    sweep("uninstall", true);
}

/// Many processes install and uninstall at once, and nothing is lost.
#[test]
fn racing() {
    for case in &CASES {
        let scene = Scene::new(case, false);
        for round in 0..4 {
            std::thread::scope(|scope| {
                for number in 0..6 {
                    let action = if round % 2 == 1 && number % 2 == 1 { "uninstall" } else { "install" };
                    let repo = &scene.repo.env;
                    let mut command = repo.msg();
                    scope.spawn(move || {
                        let ended = command.args(["guard", action]).output().unwrap();
                        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
                    });
                }
            });
            scene.assert_works(case.0);
            scene.repo.env.ok(&["guard", "install"]);
            scene.assert_guarded(case.0);
            scene.repo.env.ok(&["guard", "uninstall"]);
            scene.assert_restored(case.0);
        }
    }
}
