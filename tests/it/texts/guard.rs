//! Snapshots of the git guard, as a person or a model sees it.

use std::process::{Command, Stdio};

use crate::guard::put_program;
use crate::support::environment::{end, put, put_old};
use crate::texts::{Scene, Voice, check, shown, spoken};

impl Scene {
    /// Runs git, with the command and its output in the transcript.
    fn git(&mut self, args: &[&str]) {
        let mut command = self.git_command();
        command.args(args);
        if self.voice == Voice::Json {
            self.exits.push(end(&mut command).code);
            return;
        }
        let (text, code) = spoken(&mut command);
        self.exits.push(code);
        self.transcript.push_str(&format!("$ git {}\n{text}", shown(args)));
        if code != Some(0) {
            self.transcript.push_str(&format!("[exit {}]\n", code.unwrap()));
        }
        self.transcript.push('\n');
    }

    fn git_command(&self) -> Command {
        let mut command = Command::new("git");
        command.env_clear().current_dir(self.project()).stdin(Stdio::null()).env("GIT_CONFIG_NOSYSTEM", "1");
        for who in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{who}_NAME"), "Robin")
                .env(format!("GIT_{who}_EMAIL"), "robin@example.org");
        }
        for (name, value) in self.command().get_envs() {
            command.env(name, value.unwrap());
        }
        command
    }

    /// A repository with a commit, in which Alice and Bob hold something.
    fn at_work_in_git(&mut self) {
        for args in [&["init", "-q", "-b", "main"][..], &["commit", "-q", "--allow-empty", "-m", "start"]] {
            end(self.git_command().args(args)).expect_code(0);
        }
        self.now = "2024-05-17T09:10:00.000Z".to_string();
        self.joined("Alice", "claude");
        self.joined("Bob", "codex");
        let reserve = |args: &[&str]| drop(end(self.command().arg("reserve").args(args)).expect_code(0));
        reserve(&["src/auth/", "--reason", "new login flow", "--as", "Alice"]);
        reserve(&["*.lock", "--as", "Bob"]);
        self.now = crate::texts::NOW.to_string();
    }
}

#[test]
fn a_commit_that_is_refused() {
    check("guard", |scene| {
        scene.at_work_in_git();
        scene.meanwhile("Alice has src/auth/, Bob has *.lock.");
        scene.msg(&["guard", "install", "--dry-run"]);
        scene.msg(&["guard", "install"]);
        scene.msg(&["guard", "install"]);
        scene.msg(&["guard", "check"]);
        for file in ["src/auth/login.rs", "README.md"] {
            put(&scene.project().join(file), "");
        }
        scene.git(&["add", "."]);
        scene.msg(&["guard", "check"]);
        scene.git(&["commit", "-qm", "log in"]);
        scene.msg(&["guard", "check", "--as", "Alice"]);
        for file in ["src/auth/\u{1b}[31mred.rs", "Cargo.lock"] {
            put(&scene.project().join(file), "");
        }
        scene.git(&["add", "."]);
        scene.git(&["commit", "-qm", "log in"]);
        for number in 0..30 {
            put(&scene.project().join(format!("src/auth/{number:02}.rs")), "");
        }
        scene.git(&["add", "."]);
        scene.msg(&["guard", "check"]);
        scene.git(&["commit", "--no-verify", "-qm", "log in"]);
        scene.msg(&["guard", "uninstall", "--dry-run"]);
        scene.msg(&["guard", "uninstall"]);
        scene.msg(&["guard", "uninstall"]);
        scene.meanwhile("husky is there.");
        put(&scene.project().join(".husky/_/.gitignore"), "*");
        put_program(
            &scene.project().join(".husky/_/pre-commit"),
            "#!/usr/bin/env sh\n. \"$(dirname \"$0\")/husky\"\n",
        );
        scene.git(&["config", "core.hooksPath", ".husky/_"]);
        scene.msg(&["guard", "install"]);
        scene.msg(&["guard", "uninstall"]);
    });
}

#[test]
fn guards_that_cannot_be() {
    check("errors-guard", |scene| {
        scene.msg(&["guard"]);
        scene.msg(&["guard", "install"]);
        scene.msg(&["guard", "check"]);
        scene.at_work_in_git();
        scene.meanwhile("Hooks that are committed, that are for all repositories, and none at all.");
        put(&scene.project().join(".githooks/README"), "");
        scene.git(&["config", "core.hooksPath", ".githooks"]);
        scene.msg(&["guard", "install"]);
        scene.git(&["config", "core.hooksPath", "~/hooks"]);
        scene.msg(&["guard", "install"]);
        scene.git(&["config", "core.hooksPath", "/dev/null"]);
        scene.msg(&["guard", "install"]);
        scene.git(&["config", "--unset", "core.hooksPath"]);
        scene.meanwhile("A hook in Python, behind ours, to which somebody adds a line.");
        let hook = scene.project().join(".git/hooks/pre-commit");
        put_program(&hook, "#!/usr/bin/env python3\n");
        scene.msg(&["guard", "install"]);
        let ours = std::fs::read_to_string(&hook).unwrap();
        put_program(&hook, &format!("{ours}echo added\n"));
        scene.msg(&["guard", "uninstall"]);
        scene.meanwhile("Another program writes the hook anew; then somebody removes it.");
        put_program(&hook, "#!/usr/bin/env ruby\n");
        scene.msg(&["guard", "uninstall"]);
        scene.msg(&["guard", "install"]);
        std::fs::remove_file(&hook).unwrap();
        scene.msg(&["guard", "install"]);
        scene.meanwhile("Somebody has cut our block in two.");
        put_program(&hook, "#!/bin/sh\n# >>> ravenry guard >>>\n");
        scene.msg(&["guard", "uninstall"]);
        scene.meanwhile("A registration is torn, `strict` is set, and then the registry is none.");
        put(&scene.project().join("README.md"), "");
        scene.git(&["add", "README.md"]);
        put_old(&scene.mesh().join("registry/Eve.json"), "{\"name\": \"Eve\", ");
        scene.msg(&["guard", "check"]);
        put(&scene.env.home().join(".config/ravenry/config.json"), "{\"strict\": true}");
        scene.msg(&["guard", "check"]);
        std::fs::rename(scene.mesh().join("registry"), scene.mesh().join("away")).unwrap();
        put(&scene.mesh().join("registry"), "");
        scene.msg(&["guard", "check"]);
        put(&scene.env.home().join(".config/ravenry/config.json"), "{\"strict\": false}");
        scene.msg(&["guard", "check"]);
    });
}
