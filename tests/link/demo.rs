//! `msg link demo`: what it shows, and that nothing is left of it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::environment::{TestEnvironment, end, put_program, wait_until};
use crate::support::server::program;

/// A demo whose temporary files are in a directory of its own.
fn demo(env: &TestEnvironment) -> (Command, PathBuf) {
    let tmp = env.path().join("tmp");
    fs::create_dir_all(&tmp).unwrap();
    let mut command = env.msg();
    command.args(["link", "demo"]).env("TMPDIR", &tmp).env("RAVENRY_NATS_SERVER", program());
    (command, tmp)
}

/// The processes of the demo: each has its directory in its environment.
fn processes(tmp: &Path) -> Vec<String> {
    let sign = tmp.display().to_string();
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let of_demo = all.filter(|entry| {
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains(&sign)
    });
    of_demo
        .map(|entry| {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).replace('\0', " ")
        })
        .collect()
}

#[track_caller]
fn assert_nothing_is_left(env: &TestEnvironment, tmp: &Path) {
    assert_eq!(processes(tmp), Vec::<String>::new(), "processes are left");
    assert_eq!(fs::read_dir(tmp).unwrap().count(), 0, "files are left in {}", tmp.display());
    let is_untouched = !env.mesh().exists() && fs::read_dir(env.home()).unwrap().count() == 0;
    assert!(is_untouched, "the user's own mesh and home are not touched");
}

#[test]
fn it_shows_two_machines_and_leaves_nothing_behind() {
    let env = TestEnvironment::new();
    let (mut command, tmp) = demo(&env);
    let said = end(command.arg("--json")).expect_code(0).json();
    assert_nothing_is_left(&env, &tmp);
    let steps = said["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 10);
    let commands: Vec<&Value> = steps.iter().flat_map(|step| step["commands"].as_array().unwrap()).collect();
    let mut outputs = String::new();
    for command in &commands {
        assert!(["laptop", "tower"].contains(&command["machine"].as_str().unwrap()), "{command}");
        outputs += command["output"].as_str().unwrap();
        outputs += "\n";
    }
    assert!(!outputs.contains(tmp.to_str().unwrap()), "a home is shown as ~: {outputs}");
    let ended_with = |code: i32| -> Vec<String> {
        let those = commands.iter().filter(|command| command["exit"] == code);
        let words = |command: &&&Value| {
            let line: Vec<&str> = command["command"].as_str().unwrap().split(' ').take(2).collect();
            format!("{} {}", command["machine"].as_str().unwrap(), line.join(" "))
        };
        those.map(|command| words(&command)).collect()
    };
    let refused = ["tower msg claim", "tower msg reserve", "tower msg claim", "laptop msg complete"];
    assert_eq!(ended_with(1), refused, "{said}");
    assert_eq!(ended_with(5), ["laptop msg reserve"], "{said}");
    let others = commands.iter().filter(|command| command["exit"] != 0 && command["exit"].is_i64());
    assert_eq!(others.count(), 5, "{said}");
    for state in ["queued", "stored", "delivered"] {
        assert!(outputs.contains(state), "{state}: {outputs}");
    }
    for part in ["deny: ", "You lost `TASK-01`", "Anna", "Bob"] {
        assert!(outputs.contains(part), "{part}: {outputs}");
    }
}

/// Signals a demo when it shows that step. `None`: it was done before that.
fn signalled(step: &str, signal: Signal, whole_group: bool) -> Option<(Option<i32>, String)> {
    let env = TestEnvironment::new();
    let (mut command, tmp) = demo(&env);
    command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    if !lines.any(|line| line.starts_with(step)) {
        child.wait().unwrap();
        return None;
    }
    let pid = i32::try_from(child.id()).unwrap();
    // A process that has ended by now is not reaped yet, so the pid is still its own.
    kill(Pid::from_raw(if whole_group { -pid } else { pid }), signal).unwrap();
    // So that it is not held up by a full pipe.
    lines.for_each(drop);
    let output = child.wait_with_output().unwrap();
    if signal == Signal::SIGKILL {
        // Nobody removes its files, but what it has started ends by itself.
        wait_until("nothing of it runs any more", || processes(&tmp).is_empty());
        return Some((output.status.code(), String::new()));
    }
    assert_nothing_is_left(&env, &tmp);
    Some((output.status.code(), String::from_utf8(output.stderr).unwrap()))
}

#[test]
fn interrupted_it_leaves_nothing_behind() {
    let said = "error: interrupted; nothing is left behind\n";
    for (step, signal, whole_group) in [
        ("2. ", Signal::SIGINT, true),
        ("4. ", Signal::SIGTERM, false),
        ("8. ", Signal::SIGHUP, true),
        ("9. ", Signal::SIGINT, false),
    ] {
        let ended = signalled(step, signal, whole_group);
        assert_eq!(ended, Some((Some(130), said.to_string())), "{step}{signal}");
    }
}

#[test]
fn killed_it_leaves_no_process_behind() {
    assert_eq!(signalled("6. ", Signal::SIGKILL, false), Some((None, String::new())));
}

#[test]
fn without_a_server_it_says_what_to_install_and_where() {
    let env = TestEnvironment::new();
    let (mut none, tmp) = demo(&env);
    let empty = env.path().join("empty");
    fs::create_dir(&empty).unwrap();
    none.env_remove("RAVENRY_NATS_SERVER").env("PATH", &empty);
    let is_elsewhere = ["/usr/sbin", "/usr/local/sbin"].map(|dir| Path::new(dir).join("nats-server"));
    if !is_elsewhere.iter().any(|path| path.exists()) {
        let text = end(&mut none).expect_code(1).stderr;
        assert!(text.starts_with("error: the demo of linked machines needs `nats-server`"), "{text}");
        assert!(text.contains("https://github.com/nats-io/nats-server/releases"), "{text}");
        assert!(text.contains("RAVENRY_NATS_SERVER=/path/to/nats-server msg link demo"), "{text}");
    }

    let mut wrong = demo(&env).0;
    wrong.env("RAVENRY_NATS_SERVER", "/nowhere/nats-server").arg("--json");
    let error = end(&mut wrong).expect_code(1).json()["error"].clone();
    assert_eq!(error["kind"], "no_nats_server", "{error}");
    assert!(error["message"].as_str().unwrap().contains("/nowhere/nats-server"), "{error}");

    let old = env.path().join("old-server");
    put_program(&old, "#!/bin/sh\necho 'nats-server: v2.9.10'\n");
    let mut outdated = demo(&env).0;
    outdated.env("RAVENRY_NATS_SERVER", &old).arg("--json");
    let error = end(&mut outdated).expect_code(1).json()["error"].clone();
    assert_eq!(error["kind"], "no_nats_server", "{error}");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("2.11 or later") && message.contains("v2.9.10"), "{error}");
    assert_nothing_is_left(&env, &tmp);
}

#[test]
fn a_server_that_does_not_start_is_quoted() {
    let env = TestEnvironment::new();
    let broken = env.path().join("broken-server");
    let text = "#!/bin/sh\n[ \"$1\" = --version ] && echo 'nats-server: v2.15.1' && exit\necho 'out of order' >&2\nexit 1\n";
    put_program(&broken, text);
    let (mut command, tmp) = demo(&env);
    let error = end(command.env("RAVENRY_NATS_SERVER", &broken).arg("--json")).expect_code(4).json();
    assert!(error["error"]["message"].as_str().unwrap().contains("out of order"), "{error}");
    assert_nothing_is_left(&env, &tmp);
}
