//! The crash sweep: killed before its first change to the file system, before its second, and so on; unless the sweep
//! is whole, before every other one, and with the next harness before the others. Afterwards each file has its old or
//! its new content, and both `install` and `uninstall` work from there.

use std::fs;

use ravenry::sys::test_switches::CRASH_AT;

use super::*;
use crate::support::environment::steps;

/// A home that can be reset.
struct Scene {
    env: TestEnvironment,
    harness: &'static str,
    /// The files before, and with everything installed.
    before: Tree,
    with: Tree,
}

impl Scene {
    fn new(harness: &'static str, build: impl Fn(&TestEnvironment)) -> Self {
        let env = TestEnvironment::new();
        build(&env);
        let before = tree(&env.home());
        install(&env, harness);
        let with = tree(&env.home());
        let scene = Self { env, harness, before, with };
        scene.keep("installed");
        uninstall(&scene.env, harness);
        fs::remove_dir_all(at(&scene.env, ".local")).unwrap();
        scene.keep("fresh");
        scene
    }

    fn keep(&self, name: &str) {
        copy(&self.env.home(), &self.env.path().join(name));
    }

    fn reset(&self, name: &str) {
        fs::remove_dir_all(self.env.home()).unwrap();
        copy(&self.env.path().join(name), &self.env.home());
    }

    /// Runs a command that is killed before its n-th change. Returns whether it was killed.
    fn crash(&self, verb: &str, n: usize) -> bool {
        let ended = self.env.run_with(&[verb, self.harness], &[(CRASH_AT, &n.to_string())]);
        assert!(ended.signal == Some(9) || ended.code == Some(0), "{ended}");
        ended.signal == Some(9)
    }

    /// Each file is complete: the old or the new version.
    #[track_caller]
    fn assert_whole(&self, when: &str) {
        for (name, (_, content)) in tree(&self.env.home()) {
            let is_private = name.ends_with(".msg");
            let known =
                [&self.before, &self.with].map(|tree| tree.get(&name).map(|(_, content)| content.clone()));
            assert!(is_private || known.contains(&Some(content)), "{when}: {name}");
        }
        for name in self.before.keys() {
            assert!(at(&self.env, name).exists(), "{when}: {name} is gone");
        }
    }

    fn sweep(&self, first: usize, verb: &str, start: &str) {
        let mut deaths = 0;
        for n in (first..).step_by(steps()) {
            let when = format!("{verb} {} killed at {n}", self.harness);
            self.reset(start);
            let died = self.crash(verb, n);
            self.assert_whole(&when);
            uninstall(&self.env, self.harness);
            assert_eq!(tree(&self.env.home()), self.before, "{when}, then uninstall");
            self.reset(start);
            self.crash(verb, n);
            install(&self.env, self.harness);
            assert_eq!(tree(&self.env.home()), self.with, "{when}, then install");
            uninstall(&self.env, self.harness);
            assert_eq!(tree(&self.env.home()), self.before, "{when}, then install and uninstall");
            if !died {
                break;
            }
            deaths = n;
        }
        assert!(deaths >= 5, "{verb} {} changes more than {deaths} things", self.harness);
    }
}

fn copy(from: &Path, to: &Path) {
    let mut copy = std::process::Command::new("cp");
    assert!(copy.arg("-a").arg(from).arg(to).status().unwrap().success());
}

fn settings(env: &TestEnvironment) {
    for (_, file) in SETTINGS {
        give(env, file, "{\n  \"model\": \"x\"\n}\n");
    }
    give(env, ".codex/config.toml", "model = \"x\"\n");
}

#[test]
fn where_there_are_settings() {
    for (number, harness) in ["claude", "codex"].into_iter().enumerate() {
        let first = 1 + number % steps();
        let scene = Scene::new(harness, settings);
        scene.sweep(first, "install", "fresh");
        scene.sweep(first, "uninstall", "installed");
    }
}

#[test]
fn where_there_is_nothing() {
    for (number, harness) in ["codex", "opencode"].into_iter().enumerate() {
        let first = 1 + number % steps();
        let scene = Scene::new(harness, |_| {});
        scene.sweep(first, "install", "fresh");
        scene.sweep(first, "uninstall", "installed");
    }
}

/// The recovery is killed too, at every other step.
#[test]
fn and_the_recovery_as_well() {
    let scene = Scene::new("gemini", settings);
    for (verb, start) in [("install", "fresh"), ("uninstall", "installed")] {
        for recovery in ["install", "uninstall"] {
            for n in (1..).step_by(3) {
                let mut m = 1 + n / 3 % 2;
                let died = loop {
                    scene.reset(start);
                    let died = scene.crash(verb, n);
                    let again = scene.crash(recovery, m);
                    let when = format!("{verb} killed at {n}, {recovery} at {m}");
                    scene.assert_whole(&when);
                    uninstall(&scene.env, "gemini");
                    assert_eq!(tree(&scene.env.home()), scene.before, "{when}");
                    if !again {
                        break died;
                    }
                    m += 2;
                };
                if !died {
                    break;
                }
            }
        }
    }
}

/// A newer binary dies while it replaces an older one's entries: the first original is still what is restored.
#[test]
fn taking_over_from_another_binary() {
    let env = TestEnvironment::new();
    settings(&env);
    let before = tree(&env.home());
    let old = env.path().join("old/msg");
    copy_of_program(&old);
    for n in 1.. {
        run_program(&env, &old, &["install", "codex"]).expect_code(0);
        let ended = env.run_with(&["install", "codex"], &[(CRASH_AT, &n.to_string())]);
        uninstall(&env, "codex");
        assert_eq!(tree(&env.home()), before, "killed at {n}");
        if ended.signal.is_none() {
            ended.expect_code(0);
            assert!(n > 5, "there are steps to die at");
            break;
        }
    }
}
