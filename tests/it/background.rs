//! Background jobs are processes of their own: nothing of whoever starts them reaches them, and nobody waits for them.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::libc::O_NONBLOCK;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use ravenry::sys::test_switches;
use serde_json::json;

use crate::hooks::harmless::troubles;
use crate::support::environment::{Ended, TestEnvironment, end, wait_until};
use crate::support::hook_call::{Call, session_of};
use crate::support::hook_fixture::in_shell;
use crate::support::mcp_client::Client;

/// The directory in which the job shows itself.
struct Probe {
    dir: PathBuf,
    /// Open for as long as the test runs: what a job writes is lost if the last reader goes away, and a child of another
    /// test may be one for a moment.
    said: File,
}

impl Probe {
    fn new(env: &TestEnvironment) -> Self {
        let dir = env.path().join("probe");
        fs::create_dir(&dir).unwrap();
        for pipe in ["said", "go"] {
            mkfifo(&dir.join(pipe), Mode::S_IRWXU).unwrap();
        }
        let said = File::options().read(true).custom_flags(O_NONBLOCK).open(dir.join("said")).unwrap();
        Self { dir, said }
    }

    /// A command from which the job follows.
    fn follows<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env_remove(test_switches::BACKGROUND).env(test_switches::PROBE, &self.dir)
    }

    /// Waits until the job runs; returns its pid.
    #[track_caller]
    fn pid(&self) -> u32 {
        let mut pipe = &self.said;
        let mut said = String::new();
        wait_until("the job runs", || {
            if let Err(error) = pipe.read_to_string(&mut said) {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
            }
            said.ends_with('\n')
        });
        said.trim().parse().unwrap()
    }

    /// Lets the job end.
    fn end(&self) {
        drop(File::options().write(true).open(self.dir.join("go")).unwrap());
    }
}

/// The fields of `/proc/PID/stat` from the state on, which is the third; `None` if the process is gone.
fn fields(pid: u32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    Some(fields.split_whitespace().map(str::to_string).collect())
}

/// Whether it has ended. Its parent may not have reaped it yet.
fn has_ended(pid: u32) -> bool {
    fields(pid).is_none_or(|fields| fields[0] == "Z")
}

fn hook(env: &TestEnvironment) -> Call {
    Call::new(env, "claude/UserPromptSubmit", &session_of("Alice"))
}

#[track_caller]
fn assert_silent(ended: &Ended) {
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(0), "", ""), "{ended}");
}

#[test]
fn a_hook_does_not_wait_for_its_job() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let probe = Probe::new(&env);
    // The output ends although the job has not even begun: it waits for a reader.
    assert_silent(&end(probe.follows(&mut hook(&env).command(&env))));
    let pid = probe.pid();
    assert!(!has_ended(pid));
    probe.end();
    wait_until("the job is over", || has_ended(pid));
    assert_eq!(troubles(&env).len(), 0);
}

#[test]
fn a_job_has_nothing_of_the_process_that_started_it() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let probe = Probe::new(&env);
    let call = hook(&env);
    let mut command = call.command(&env);
    probe.follows(&mut command).env("GIT_DIR", "/nowhere").env("GIT_INDEX_FILE", "/nowhere/index");
    // The harness has a file open that its hooks inherit.
    let line = format!("\"$@\" 7>{}", env.path().join("kept").display());
    let mut shell = in_shell(&line, "claude", &command);
    let payload = env.path().join("payload");
    fs::write(&payload, call.input()).unwrap();
    assert_silent(&end(shell.stdin(File::open(payload).unwrap())));

    let pid = probe.pid();
    let fields = fields(pid).unwrap();
    let (group, session, nice) = (&fields[2], &fields[3], &fields[16]);
    assert_eq!([group, session, nice], [&pid.to_string(), &pid.to_string(), "19"]);
    let (proc, null) = (PathBuf::from(format!("/proc/{pid}")), Path::new("/dev/null"));
    assert_eq!(fs::read_link(proc.join("cwd")).unwrap(), Path::new("/"));
    // It may not have closed the pipe to the test yet.
    wait_until("only the streams are open, and lead nowhere", || {
        let open = fs::read_dir(proc.join("fd")).unwrap().map(|fd| fd.unwrap().path());
        let is_null = |fd: PathBuf| fs::read_link(fd).is_ok_and(|to| to == null);
        open.map(is_null).collect::<Vec<_>>() == [true; 3]
    });
    let environment = String::from_utf8(fs::read(proc.join("environ")).unwrap()).unwrap();
    let has = |start: &str| environment.split('\0').any(|variable| variable.starts_with(start));
    let kept = ["GIT_NO_LAZY_FETCH=1", "HOME=", "PATH=", "MSG_TEST_ANCESTRY_END="];
    assert!(kept.into_iter().all(has), "{environment:?}");
    assert!(!["GIT_DIR=", "GIT_INDEX_FILE=", "MSG_TEST_PROBE="].into_iter().any(has), "{environment:?}");
    probe.end();
    wait_until("the job is over", || has_ended(pid));
}

#[test]
fn a_process_that_lives_on_leaves_no_zombie() {
    let env = TestEnvironment::new();
    let probe = Probe::new(&env);
    let mut server = env.msg();
    probe.follows(server.arg("mcp"));
    let mut client = Client::greeted(in_shell("\"$@\"", "claude", &server));
    client.request("tools/call", json!({ "name": "agents", "arguments": {} }));
    let pid = probe.pid();
    let parent = fields(pid).unwrap()[1].clone();
    assert!(fs::read(format!("/proc/{parent}/cmdline")).unwrap().ends_with(b"\0mcp\0"));
    probe.end();
    wait_until("the server has reaped its job", || fields(pid).is_none());
    client.request("tools/call", json!({ "name": "agents", "arguments": {} }));
    // That call had a job too.
    let next = probe.pid();
    probe.end();
    wait_until("the server has reaped its job", || fields(next).is_none());
}

#[test]
fn a_test_can_wait_for_a_job_or_switch_it_off() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let probe = Probe::new(&env);
    let mut command = hook(&env).command(&env);
    probe.follows(&mut command).env(test_switches::BACKGROUND, "wait");
    let mut waiting = command.stdout(Stdio::null()).spawn().unwrap();
    let pid = probe.pid();
    assert!(waiting.try_wait().unwrap().is_none());
    probe.end();
    assert!(waiting.wait().unwrap().success());
    assert!(fields(pid).is_none());
    // It would wait for ever.
    assert_silent(&end(probe.follows(&mut hook(&env).command(&env)).env(test_switches::BACKGROUND, "off")));
}

#[test]
fn a_job_that_fails_is_known_to_doctor() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let mut command = hook(&env).command(&env);
    command.env(test_switches::PROBE, env.path().join("nowhere")).env(test_switches::BACKGROUND, "wait");
    assert_silent(&end(&mut command));
    let [trouble] = troubles(&env).try_into().unwrap();
    assert_eq!([&trouble["harness"], &trouble["event"]], ["background", "probe"], "{trouble}");
    assert!(trouble["error"].as_str().unwrap().contains("the test can't be reached"), "{trouble}");
}

#[test]
fn nobody_else_knows_the_command() {
    let env = TestEnvironment::new();
    for args in [
        &["background"] as &[&str],
        &["background", "probe", "/"],
        &["--mesh", "/x", "background", "no", "/"],
    ] {
        assert_eq!(env.fails(2, args), "usage");
    }
    assert!(!env.run(&["--help"]).stdout.contains("background"));
    assert!(!env.run(&["completions", "bash"]).stdout.contains("background"));
}
