//! The server ends with its client, however the client ends.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::support::environment::{TestEnvironment, wait_until, wait_until_unheard};
use crate::support::hook_fixture::in_shell;
use crate::support::mcp_client::{Client, greeting, server, server_of};

/// A server whose pipes this test holds, whatever happens to the process that started it.
fn start(command: &mut Command) -> Child {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

fn say(child: &mut Child, message: &Value) {
    writeln!(child.stdin.as_mut().unwrap(), "{message}").unwrap();
}

fn greet(child: &mut Child) {
    say(
        child,
        &json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": greeting("2025-11-25") }),
    );
}

/// Whether the process has ended, including a zombie.
fn is_gone(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(") ").next().unwrap_or_default();
    state.is_empty() || state.starts_with(['Z', 'X'])
}

/// The pipes of a killed client stay open as long as one of its other children has them.
#[test]
fn with_a_client_that_is_killed() {
    for harness in ["claude", "some-editor"] {
        let env = TestEnvironment::new();
        let mut child = start(&mut server(&env, harness));
        let pid = server_of(&child);
        greet(&mut child);
        child.kill().unwrap();
        child.wait().unwrap();
        wait_until("the server is gone", || is_gone(pid));
    }
}

#[test]
fn with_a_client_that_is_killed_while_it_waits_for_mail() {
    let env = TestEnvironment::new();
    let mut child = start(&mut server(&env, "claude"));
    let pid = server_of(&child);
    greet(&mut child);
    let call = json!({ "name": "inbox", "arguments": { "wait": 600 } });
    say(&mut child, &json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call }));
    wait_until("it joined", || env.mesh().exists() && !env.names().is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("the server is gone", || is_gone(pid));
}

#[test]
fn before_anybody_said_hello() {
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        let env = TestEnvironment::new();
        let mut child = start(&mut server(&env, "claude"));
        let pid = server_of(&child);
        // Before that it may still be the shell that is about to exec it, which ignores signals.
        wait_until("it listens to signals", || {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or_default();
            let caught = u64::from_str_radix(caught.trim(), 16).unwrap_or_default();
            status.starts_with("Name:\tmsg\n") && caught & (1 << (signal as i32 - 1)) != 0
        });
        kill(Pid::from_raw(pid), signal).unwrap();
        wait_until("the server is gone", || is_gone(pid));
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}

/// A client that closes the server's output is gone, even if it keeps writing.
#[test]
fn with_a_client_that_hears_nothing() {
    let env = TestEnvironment::new();
    let mut child = start(&mut server(&env, "claude"));
    let pid = server_of(&child);
    drop(child.stdout.take());
    wait_until_unheard(child.id());
    greet(&mut child);
    wait_until("the server is gone", || is_gone(pid));
    drop(child.stdin.take());
    child.wait().unwrap();
}

/// Between client and server there may be a process that only starts it.
#[test]
fn not_with_who_merely_started_it() {
    let env = TestEnvironment::new();
    let mut msg = env.msg();
    msg.arg("mcp");
    let mut command = in_shell("sh -c '\"$@\" <&3 3<&- &' sh \"$@\" 3<&0; exec sleep 3600", "claude", &msg);
    let mut client = Client::greeted({
        command.process_group(0);
        command
    });
    let name = client.name();
    let pid = server_in(&env);
    let before = looks(pid).expect("the thread that was just there");
    wait_until("its client was looked at several times", || looks(pid).unwrap() > before + 2);
    assert_eq!(client.name(), name);
}

/// The pid of the server in that environment, wherever it runs. Other processes can have its name too: a job that it
/// started, and for a moment any program it starts.
#[track_caller]
fn server_in(env: &TestEnvironment) -> i32 {
    let home = format!("HOME={}", env.home().display());
    let is_it = |pid: &i32| {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|it| it == home.as_bytes()) && looks(*pid).is_some()
    };
    let mut server = None;
    wait_until("the server watches its client", || {
        let pids = std::fs::read_dir("/proc").unwrap().flatten();
        let mut pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        server = pids.find(is_it);
        server.is_some()
    });
    server.expect("a server")
}

/// How often the thread that checks the client's process went to sleep, if the process has such a thread. A thread
/// that was just started does not have its name yet.
fn looks(pid: i32) -> Option<usize> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten();
    let statuses = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("status")).ok());
    let watching = statuses.into_iter().find(|status| status.starts_with("Name:\tmcp client\n"))?;
    let line = watching.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
    line.trim().parse().ok()
}
