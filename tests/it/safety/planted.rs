//! Something else is where a file of the mesh should be: a pipe, a link, an endless file, deeply nested JSON. It is put
//! in place of each file in turn, and commands run that together use all of them. Each must answer, whatever the answer
//! is.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::fcntl::AT_FDCWD;
use nix::sys::stat::{Mode, UtimensatFlags, utimensat};
use nix::sys::time::TimeSpec;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::{Pid, mkfifo};
use ravenry::sys::test_switches;
use serde_json::json;

use crate::support::environment::{PATIENCE, TestEnvironment, files_in, is_whole, put};

const SPEC: &str = "# Spec\n\n## TASK-01 one\n\n## TASK-02 two\n\n## TASK-03 three\n";

/// No command reads more of a gigabyte than this. One read of a file ends after 64 MiB.
const MOST_READ: u64 = 512 * 1024 * 1024;

/// Files that do not always exist.
const MORE_PLACES: [&str; 5] =
    ["index", "trouble.jsonl", "swarm.lock", "presence/Bob.stuck", "registry/Mallory.json"];

const COMMANDS: [&[&str]; 14] = [
    &["agents"],
    &["set-status", "busy"],
    &["send", "Bob", "hello"],
    &["inbox"],
    &["read"],
    &["history", "Bob"],
    &["feed"],
    &["claim", "TASK-03"],
    &["complete", "TASK-03"],
    &["reserve", "lib/"],
    &["doctor", "--repair"],
    &["rename", "Alicia"],
    &["evict", "Bob", "--force"],
    &["leave"],
];

const EVENTS: [&str; 5] = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "SessionEnd"];

/// A mesh with a file of nearly every kind. Alice and Bob are here, Carol is gone.
fn lively() -> TestEnvironment {
    let env = TestEnvironment::new();
    put(&env.work().join("spec.md"), SPEC);
    // Enough agents that an index is written.
    for name in ["Alice", "Bob", "Carol", "Dave", "Erin", "Frank"] {
        env.join(name);
        env.ok(&["spec", "spec.md", "--as", name]);
    }
    env.ok(&["send", "Alice", "hi", "--as", "Bob"]);
    env.ok(&["read", "--as", "Alice"]);
    env.ok(&["send", "Bob", "hi", "--as", "Alice"]);
    env.ok(&["broadcast", "all of you", "--as", "Bob"]);
    env.ok(&["reserve", "src/", "--as", "Alice"]);
    env.ok(&["claim", "TASK-01", "--as", "Alice"]);
    env.ok(&["complete", "TASK-01", "--as", "Alice"]);
    env.ok(&["claim", "TASK-02", "--as", "Bob"]);
    env.ok(&["leave", "--as", "Carol"]);
    for event in EVENTS.into_iter().filter(|event| *event != "SessionEnd") {
        assert_eq!(code(&mut hook(&env, &env.mesh(), event), MOST_READ), Some(0));
    }
    env
}

fn hook(env: &TestEnvironment, mesh: &Path, event: &str) -> Command {
    let payload = json!({
        "session_id": "session of Alice", "cwd": env.work(), "hook_event_name": event, "tool_name": "Edit",
        "tool_input": { "file_path": env.work().join("lib/x.rs") },
    });
    put(&env.path().join("payload"), &payload.to_string());
    let mut command = env.msg();
    // So that its own time limit does not hide a wait.
    command.args(["hook", "claude", event]).env("MSG_MESH", mesh).env(test_switches::NO_HOOK_LIMIT, "1");
    command.stdin(fs::File::open(env.path().join("payload")).unwrap());
    command
}

/// The exit code; `None` if it was killed, or had to be, or read more than `most` bytes.
fn code(command: &mut Command, most: u64) -> Option<i32> {
    end(command.stdout(Stdio::null()), most)
}

/// The same, with the command's own standard output.
fn end(command: &mut Command, most: u64) -> Option<i32> {
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT | WaitPidFlag::WNOHANG;
    let give_up = Instant::now() + PATIENCE;
    while waitid(Id::Pid(pid), flags).unwrap() == WaitStatus::StillAlive {
        if Instant::now() >= give_up {
            child.kill().unwrap();
            child.wait().unwrap();
            return None;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    // It has ended but is not reaped: the kernel still reports what it did.
    let read = bytes_read(pid);
    child.wait().unwrap().code().filter(|_| read <= most)
}

/// How many bytes the process has read from files, pipes and devices.
fn bytes_read(pid: Pid) -> u64 {
    let io = fs::read_to_string(format!("/proc/{pid}/io")).unwrap();
    io.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse().unwrap()
}

/// The same command with less memory than a gigabyte.
fn frugal(command: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "ulimit -v 900000; exec \"$@\"", "sh"])
        .arg(command.get_program())
        .args(command.get_args());
    shell.env_clear().current_dir(command.get_current_dir().unwrap());
    for (key, value) in command.get_envs() {
        shell.env(key, value.unwrap());
    }
    shell
}

/// Makes it look nine seconds old, not what it leads to: a `swarm.lock` without a holder is waited for until it is ten
/// seconds old.
fn age(path: &Path) {
    let then =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap() - Duration::from_secs(9);
    let then = TimeSpec::from_duration(then);
    utimensat(AT_FDCWD, path, &then, &then, UtimensatFlags::NoFollowSymlink).unwrap();
}

fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-a").args([from, to]).status().unwrap().success());
}

/// Runs every hook; returns the exit codes.
fn hooks_on(env: &TestEnvironment, mesh: &Path, most: u64) -> Vec<(String, Option<i32>)> {
    let run = |event: &str| {
        let input = hook(env, mesh, event);
        let mut command = frugal(&input);
        command.stdin(fs::File::open(env.path().join("payload")).unwrap());
        (event.to_string(), code(&mut command, most))
    };
    EVENTS.map(run).to_vec()
}

/// Runs every command; returns the exit codes.
fn commands_on(env: &TestEnvironment, mesh: &Path, most: u64) -> Vec<(String, Option<i32>)> {
    let run = |args: &[&str]| {
        let mut command = env.msg();
        command.args(args).args(["--as", "Alice", "--mesh"]).arg(mesh);
        // Mail is handed over to a file, not to `/dev/null`.
        let output = tempfile::tempfile().unwrap();
        (args.join(" "), end(frugal(&command).stdin(Stdio::null()).stdout(output), most))
    };
    COMMANDS.map(run).to_vec()
}

/// One file of each directory of the mesh, another one in each turn: most of the others are of the same kind. If the
/// sweep is whole, all of them.
fn one_of_each(places: Vec<PathBuf>, turn: usize) -> Vec<PathBuf> {
    if is_whole() {
        return places;
    }
    let mut by_dir: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
    for place in places {
        let is_file = place.components().count() == 1;
        let dir = place.components().next().filter(|_| !is_file).map(|dir| PathBuf::from(dir.as_os_str()));
        by_dir.entry(dir.unwrap_or_else(|| place.clone())).or_default().push(place);
    }
    by_dir.into_values().map(|mut alike| alike.swap_remove(turn % alike.len())).collect()
}

/// Puts that in place of each file in turn, and expects an answer.
fn in_each_place(
    turn: usize,
    plant: &dyn Fn(&TestEnvironment, &Path),
    holds: &dyn Fn(&TestEnvironment) -> bool,
) {
    in_each_place_reading(u64::MAX, turn, plant, holds);
}

/// The same, with at most `most` bytes read by any process.
fn in_each_place_reading(
    most: u64,
    turn: usize,
    plant: &dyn Fn(&TestEnvironment, &Path),
    holds: &dyn Fn(&TestEnvironment) -> bool,
) {
    let env = lively();
    let mesh = env.path().join("copy");
    let places =
        files_in(&env.mesh()).into_iter().map(|path| path.strip_prefix(env.mesh()).unwrap().to_path_buf());
    for place in one_of_each(places.collect(), turn).into_iter().chain(MORE_PLACES.map(PathBuf::from)) {
        // Each on a mesh of its own: the last hook and the last command make Alice leave.
        for (run, largest) in [(hooks_on as fn(&TestEnvironment, &Path, u64) -> _, 0), (commands_on, 9)] {
            copy(&env.mesh(), &mesh);
            fs::remove_file(mesh.join(&place)).ok();
            plant(&env, &mesh.join(&place));
            if place == Path::new("swarm.lock") {
                age(&mesh.join(&place));
            }
            for (what, code) in run(&env, &mesh, most) {
                let is_answer = code.is_some_and(|code| (0..=largest).contains(&code));
                assert!(is_answer, "`{}`, {what}: {code:?}", place.display());
            }
            assert!(holds(&env), "`{}`: what is not ours was changed", place.display());
            fs::remove_dir_all(&mesh).unwrap();
        }
    }
}

#[test]
fn where_nothing_is_planted_all_of_it_works() {
    for run in [hooks_on, commands_on] {
        let env = lively();
        for (what, code) in run(&env, &env.mesh(), MOST_READ) {
            assert_eq!(code, Some(0), "{what}");
        }
    }
}

#[test]
fn a_pipe_in_the_place_of_any_file_is_not_waited_for() {
    in_each_place(1, &|_, place| mkfifo(place, Mode::S_IRWXU).unwrap(), &|_| true);
}

#[test]
fn a_gigabyte_in_the_place_of_any_file_is_not_read() {
    let bomb = |_: &TestEnvironment, place: &Path| fs::File::create(place).unwrap().set_len(1 << 30).unwrap();
    in_each_place_reading(MOST_READ, 2, &bomb, &|_| true);
}

#[test]
fn json_without_a_bottom_in_the_place_of_any_file_is_no_end_of_us() {
    let deep = "{\"a\":[".repeat(50_000);
    in_each_place(3, &|_, place| put(place, &deep), &|_| true);
}

#[test]
fn a_link_in_the_place_of_any_file_is_not_written_through() {
    let precious = |env: &TestEnvironment| env.path().join("precious");
    let plant = |env: &TestEnvironment, place: &Path| {
        put(&precious(env), "precious");
        symlink(precious(env), place).unwrap();
    };
    in_each_place(4, &plant, &|env| fs::read_to_string(precious(env)).unwrap() == "precious");
}

#[test]
fn a_link_to_nowhere_in_the_place_of_any_file_makes_nothing_there() {
    let nowhere = |env: &TestEnvironment| env.path().join("nowhere");
    in_each_place(5, &|env, place| symlink(nowhere(env), place).unwrap(), &|env| !nowhere(env).exists());
}

/// A second name of a file that is replaced has no effect; a file that is appended to grows under both names, and
/// nothing is lost.
#[test]
fn a_second_name_of_a_file_costs_it_nothing() {
    let precious = |env: &TestEnvironment| env.path().join("precious");
    let plant = |env: &TestEnvironment, place: &Path| {
        fs::remove_file(precious(env)).ok();
        put(&precious(env), "precious\n");
        fs::hard_link(precious(env), place).unwrap();
        let grows = ["presence/", "feed/", "hooks/", "awareness/"]
            .iter()
            .any(|dir| place.to_string_lossy().contains(dir));
        put(&env.path().join("grows"), &grows.to_string());
    };
    let holds = |env: &TestEnvironment| {
        let content = fs::read_to_string(precious(env)).unwrap();
        let grows = fs::read_to_string(env.path().join("grows")).unwrap() == "true";
        content == "precious\n" || grows && content.starts_with("precious\n")
    };
    in_each_place(6, &plant, &holds);
}

#[test]
fn a_socket_in_the_place_of_any_file_is_no_file() {
    let plant = |env: &TestEnvironment, place: &Path| {
        // Its address must be short. It exists as long as its file, whether anybody listens or not.
        let socket = env.path().join("s");
        drop(UnixListener::bind(&socket).unwrap());
        fs::rename(socket, place).unwrap();
    };
    in_each_place(7, &plant, &|_| true);
}

/// Only root can create one, so a link leads there.
#[test]
fn a_device_that_never_ends_in_the_place_of_any_file_is_not_read() {
    in_each_place(8, &|_, place| symlink("/dev/zero", place).unwrap(), &|_| true);
}

/// Files that come with a clone, or beside it: configuration, a spec, pi-messenger's feed, git's log.
#[test]
fn neither_pipe_nor_device_nor_gigabyte_in_a_project_holds_anyone_up() {
    let env = lively();
    let places = [
        ".ravenry/config.json",
        ".pi/pi-messenger.json",
        ".pi/messenger/feed.jsonl",
        "spec.md",
        ".git/logs/HEAD",
    ];
    assert!(Command::new("git").args(["init", "-q"]).current_dir(env.work()).status().unwrap().success());
    for place in places.map(|place| env.work().join(place)) {
        let pipe = |place: &Path| mkfifo(place, Mode::S_IRWXU).unwrap();
        let bomb = |place: &Path| fs::File::create(place).unwrap().set_len(1 << 30).unwrap();
        let device = |place: &Path| symlink("/dev/zero", place).unwrap();
        for plant in [&pipe as &dyn Fn(&Path), &bomb, &device] {
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::remove_file(&place).ok();
            plant(&place);
            for args in [&["agents"][..], &["tasks"], &["feed"], &["config"], &["check", "src/x.rs"]] {
                let mut command = env.msg();
                let mut command = frugal(command.args(args).args(["--as", "Alice"]));
                let code = code(command.stdin(Stdio::null()), MOST_READ);
                assert!(
                    code.is_some_and(|code| (0..=9).contains(&code)),
                    "{}, {args:?}: {code:?}",
                    place.display()
                );
            }
            let commit = json!({
                "session_id": "session of Alice", "cwd": env.work(), "hook_event_name": "PostToolUse",
                "tool_name": "Bash", "tool_input": { "command": "git commit -m x" }, "tool_response": {},
            });
            let mut command = hook(&env, &env.mesh(), "PostToolUse");
            put(&env.path().join("commit"), &commit.to_string());
            command.stdin(fs::File::open(env.path().join("commit")).unwrap());
            assert_eq!(code(&mut command, MOST_READ), Some(0), "{}", place.display());
            fs::remove_file(&place).unwrap();
        }
        put(&env.work().join("spec.md"), SPEC);
    }
    // In a directory that somebody else packed, `.git` may be anything.
    let packed = env.work().join("packed");
    fs::create_dir(&packed).unwrap();
    mkfifo(&packed.join(".git"), Mode::S_IRWXU).unwrap();
    assert_eq!(code(env.msg().args(["agents", "--as", "Alice"]).current_dir(&packed), MOST_READ), Some(0));
}
