//! `msg selftest`: it reports the truth, also when a promise breaks, and leaves nothing behind.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ravenry::sys::{signals, test_switches};
use serde_json::Value;

use crate::support::environment::{Ended, TestEnvironment, end, wait_until};
use crate::texts::{snapshot, spoken};

/// The directory for the throw-away meshes.
fn place(env: &TestEnvironment) -> PathBuf {
    let place = env.path().join("disk");
    fs::create_dir_all(&place).unwrap();
    place
}

fn selftest(env: &TestEnvironment, promises: &[u8]) -> Command {
    let mut command = env.msg();
    command.arg("selftest").arg("--in").arg(place(env));
    for promise in promises {
        command.args(["--promise", &promise.to_string()]);
    }
    command
}

/// How many processes were started in a directory of the test: whatever the selftest starts has its home there.
fn processes(place: &Path) -> usize {
    let sign = place.display().to_string();
    let entries = fs::read_dir("/proc").into_iter().flatten().map(|entry| entry.unwrap().path());
    let has_sign = |path: PathBuf| {
        let environment = fs::read(path.join("environ")).unwrap_or_default();
        String::from_utf8_lossy(&environment).contains(&sign)
    };
    entries.filter(|path| has_sign(path.clone())).count()
}

#[track_caller]
fn assert_nothing_is_left(env: &TestEnvironment) {
    let left: Vec<_> = fs::read_dir(place(env)).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(left, Vec::<PathBuf>::new(), "files are left");
    assert_eq!(processes(&place(env)), 0, "processes are left");
    assert!(
        !env.mesh().exists() && fs::read_dir(env.home()).unwrap().count() == 0,
        "the user's own is touched"
    );
}

fn checks(said: &Value) -> Vec<(u64, String, bool)> {
    let check = |check: &Value| {
        assert!(check["message"].is_string() && check["ms"].is_u64(), "{check}");
        let held = check["held"].as_bool().unwrap();
        assert_eq!(check["state"] == "fail", !held, "{check}");
        (check["promise"].as_u64().unwrap(), check["name"].as_str().unwrap().to_string(), held)
    };
    said["checks"].as_array().unwrap().iter().map(check).collect()
}

#[test]
fn the_promises_hold_here() {
    let env = TestEnvironment::new();
    let said = end(selftest(&env, &[]).arg("--json")).expect_code(0).json();
    assert_eq!(said["ok"], true);
    assert_eq!(said["directory"], place(&env).to_str().unwrap());
    assert!(said["fileSystem"].is_string(), "{said}");
    let checks = checks(&said);
    assert!(checks.iter().all(|(_, _, held)| *held), "{said}");
    let mut promises: Vec<u64> = checks.iter().map(|(promise, ..)| *promise).collect();
    promises.dedup();
    assert_eq!(promises, [1, 2, 3, 4, 5, 6, 7]);
    assert_nothing_is_left(&env);
}

/// The meshes are on the disk of the mesh, even if neither it nor its parent directory exists yet.
#[test]
fn it_is_made_beside_the_mesh() {
    let env = TestEnvironment::new();
    let said = env.ok(&["selftest", "--promise", "3"]);
    assert_eq!(said["directory"], env.path().to_str().unwrap());
    let deep = env.path().join("not/there/yet");
    let said = env.ok(&["selftest", "--promise", "3", "--mesh", deep.to_str().unwrap()]);
    assert_eq!(said["directory"], env.path().to_str().unwrap());
    let names =
        |dir: &Path| -> Vec<_> { fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name()).collect() };
    assert_eq!(names(env.path()).len(), 2, "{:?}", names(env.path()));
}

#[test]
#[cfg(target_os = "linux")]
fn it_tells_the_file_system() {
    let env = TestEnvironment::new();
    let shm = Path::new("/dev/shm");
    if shm.is_dir() {
        let said = env.ok(&["selftest", "--promise", "2", "--in", "/dev/shm"]);
        assert_eq!(said["fileSystem"], "tmpfs");
    }
}

/// A program that behaves like ours except for one fault. `$msg` is ours.
fn impostor(env: &TestEnvironment, fault: &str) -> String {
    let path = env.path().join("impostor");
    let msg = env!("CARGO_BIN_EXE_msg");
    fs::write(&path, format!("#!/bin/sh\nmsg={msg}\n{fault}\nexec $msg \"$@\"\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_string()
}

/// How often a fault may go unseen.
const TRIES: usize = 8;

/// Runs it against the impostor: that check of that promise must break, and no other.
#[track_caller]
fn breaks(promise: u8, name: &str, fault: &str, complaint: &str) -> Ended {
    let env = TestEnvironment::new();
    let program = impostor(&env, fault);
    let run = || end(selftest(&env, &[promise]).arg("--json").env(test_switches::PROGRAM, &program));
    // A race may end well by chance, the more so the busier the machine is.
    let mut ended = run();
    for _ in 1..TRIES {
        if ended.code == Some(0) {
            ended = run();
        }
    }
    let ended = ended.expect_code(4);
    assert_eq!(ended.kind(), "broken_promise");
    let said = ended.json();
    let message = said["error"]["message"].as_str().unwrap();
    assert!(message.starts_with(&format!("promise {promise} ({name}) does not hold")), "{message}");
    let broken: Vec<_> = checks(&said).into_iter().filter(|(_, _, held)| !held).collect();
    assert_eq!(broken, [(u64::from(promise), name.to_string(), false)], "{ended}");
    let row = said["checks"].as_array().unwrap().iter().find(|check| check["name"] == name).unwrap().clone();
    assert!(row["message"].as_str().unwrap().contains(complaint), "{row}");
    assert_nothing_is_left(&env);
    ended
}

#[test]
fn a_lost_message_is_seen() {
    let fault = "[ \"$1\" = read ] && rm -f $(ls -d $MSG_MESH/inbox/Cleo/*.json | head -n 1)";
    breaks(1, "messages", fault, "are lost");
}

#[test]
fn a_message_that_comes_twice_is_seen() {
    // Puts back what was recorded, once there is some.
    let fault = "seen=$MSG_MESH/seen/Cleo\n\
                 if [ \"$1\" = read ] && [ ! -e $HOME/again ] && [ $(ls $seen | wc -l) -gt 8 ]; then\n\
                 for file in $(ls $seen); do cp $seen/$file $MSG_MESH/inbox/Cleo/${file%%,*}.json; done\n\
                 mkdir $HOME/again; fi";
    breaks(1, "messages", fault, "came twice");
}

#[test]
fn two_owners_are_seen() {
    // A command that is refused removes what is in the way until it succeeds.
    let steal = |command: &str, file: &str| {
        let again = format!("until $msg \"$@\" >/dev/null; do rm -f $MSG_MESH/{file}; done");
        format!("[ \"$1\" = {command} ] && {{ {again}; echo '{{\"ok\":true}}'; exit 0; }}")
    };
    breaks(2, "names", &steal("join", "registry/Robin.json"), "the name `Robin`");
    breaks(2, "tasks", &steal("claim", "claims.json"), "the task");
    let fault = "[ \"$1\" = reserve ] && { echo '{\"ok\":true}'; exit 0; }";
    breaks(2, "paths", fault, "was given to");
}

/// A file system that grants a lock to everyone, and one that has no locks.
#[test]
fn locks_that_are_none_are_seen() {
    for flock in ["useless", "unsupported"] {
        let env = TestEnvironment::new();
        let ended = end(selftest(&env, &[2]).arg("--json").env(test_switches::FLOCK, flock)).expect_code(4);
        let broken: Vec<_> = checks(&ended.json()).into_iter().filter(|(_, _, held)| !held).collect();
        assert_eq!(broken, [(2, "locks".to_string(), false)], "{ended}");
    }
}

#[test]
fn the_dead_who_are_said_to_live_are_seen() {
    let fault = "[ \"$1\" = agents ] && { echo '{\"ok\":true,\"agents\":[{\"name\":\"Ada\"}]}'; exit 0; }";
    breaks(3, "liveness", fault, "zombie is said to be there");
    let fault = "[ \"$1\" = agents ] && { echo '{\"ok\":true,\"agents\":[]}'; exit 0; }";
    breaks(3, "liveness", fault, "lives is said to be gone");
}

#[test]
fn damage_that_is_taken_for_nothing_is_seen() {
    let fault =
        "[ \"$1\" = claim ] && for dir in $(dirname $MSG_MESH)/mesh-*; do echo '{}' > $dir/claims.json; done";
    breaks(4, "damage", fault, "");
}

/// It is told to wait for 0.3 s, and waits for ten.
#[test]
fn a_limit_that_is_not_kept_is_seen() {
    breaks(5, "answers", "unset MSG_LOCK_TIMEOUT", "a limit of 0.3 s took");
}

#[test]
fn a_watcher_that_tells_nothing_is_seen() {
    breaks(5, "watching", "[ \"$1\" = watch ] && exit 0", "was not told");
}

#[test]
fn what_a_terminal_would_obey_is_seen() {
    breaks(6, "confinement", "[ \"$1\" = read ] && { printf 'evil \\033[2J'; exit 0; }", "\\u{1b} through");
    let fault = "[ \"$2\" = rename ] && { touch $HOME/../../outside; }";
    breaks(6, "confinement", fault, "got out of the mesh");
}

#[test]
fn a_hook_that_fails_is_seen() {
    breaks(7, "hooks", "[ \"$1\" = hook ] && exit 2", "exit code 2");
    breaks(7, "hooks", "[ \"$1\" = hook ] && { echo '{}'; exit 0; }", "says something");
}

/// No test switch is used: nothing can be written, so no promise about what is written can be shown to hold.
#[test]
fn a_disk_that_takes_nothing_is_no_place_for_a_mesh() {
    let env = TestEnvironment::new();
    let real = selftest(&env, &[1]);
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -f 0; exec \"$@\"", "sh"]).arg(real.get_program()).args(real.get_args());
    shell.arg("--json").env_clear().env("HOME", env.home()).env("MSG_MESH", env.mesh());
    let ended = end(shell.current_dir(env.work())).expect_code(4);
    assert_eq!(ended.kind(), "broken_promise");
    assert_nothing_is_left(&env);
}

#[test]
fn a_place_that_is_none_is_an_error() {
    let env = TestEnvironment::new();
    assert_eq!(env.fails(2, &["selftest", "--in", "not/there"]), "invalid_value");
    fs::write(env.work().join("file"), "").unwrap();
    assert_eq!(env.fails(2, &["selftest", "--in", "file"]), "invalid_value");
    if cfg!(target_os = "linux") {
        // Not even root can create a directory there.
        let ended = env.run(&["selftest", "--in", "/proc", "--json"]).expect_code(4);
        assert_eq!(ended.kind(), "io");
        assert!(ended.stdout.contains("nothing can be tested in `/proc`"), "{ended}");
    }
    assert_eq!(env.run(&["selftest", "--promise", "8"]).code, Some(2));
}

#[test]
fn what_broke_is_kept_if_that_is_wanted() {
    let env = TestEnvironment::new();
    let program = impostor(&env, "[ \"$1\" = hook ] && exit 2");
    let mut command = selftest(&env, &[7]);
    let said =
        end(command.args(["--keep", "--json"]).env(test_switches::PROGRAM, program)).expect_code(4).json();
    let kept = Path::new(said["kept"].as_str().unwrap());
    assert!(kept.join("hooks/mesh/registry/Ada.json").is_file(), "{said}");
    // The kept meshes of an earlier run are not in the way, and stay.
    end(selftest(&env, &[7]).args(["--keep", "--json"])).expect_code(0);
    let left: Vec<_> = fs::read_dir(place(&env)).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(left, [kept]);
}

/// Starts a selftest and waits until it is in the middle.
fn begun(env: &TestEnvironment) -> std::process::Child {
    begin(env, selftest(env, &[1]))
}

fn begin(env: &TestEnvironment, mut command: Command) -> std::process::Child {
    command.process_group(0).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    // Two of ours, and some that come and go.
    wait_until("agents are there", || processes(&place(env)) > 2);
    child
}

#[test]
fn one_that_is_interrupted_leaves_nothing_behind() {
    for (signal, whole_group) in [
        (Signal::SIGINT, false),
        (Signal::SIGINT, true),
        (Signal::SIGTERM, false),
        (Signal::SIGHUP, false),
        (Signal::SIGHUP, true),
    ] {
        // If these tests are run with `nohup`, so is the selftest.
        if signal == Signal::SIGHUP && signals::is_hangup_ignored() {
            continue;
        }
        let env = TestEnvironment::new();
        let mut child = begun(&env);
        let pid = i32::try_from(child.id()).unwrap();
        kill(Pid::from_raw(if whole_group { -pid } else { pid }), signal).unwrap();
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{signal}: {said}");
        assert_eq!(said, "error: interrupted; nothing is left behind\n");
        assert_nothing_is_left(&env);
    }
}

/// As `nohup` starts it.
#[test]
fn one_that_ignores_hangups_goes_on() {
    let env = TestEnvironment::new();
    let own = selftest(&env, &[1]);
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' HUP; exec \"$@\"", "sh"]).arg(own.get_program()).args(own.get_args());
    command.env_clear().envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut child = begin(&env, command);
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGHUP).unwrap();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{said}");
}

/// A killed selftest can't clean up: its children end by themselves, and the next one removes its files.
#[test]
fn one_that_is_killed_is_cleaned_up_after() {
    let env = TestEnvironment::new();
    let mut child = begun(&env);
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("its children are gone", || processes(&place(&env)) == 0);
    assert_eq!(fs::read_dir(place(&env)).unwrap().count(), 1);
    end(selftest(&env, &[3]).arg("--json")).expect_code(0);
    assert_nothing_is_left(&env);
}

#[test]
fn what_it_says() {
    let env = TestEnvironment::new();
    let (mut text, code) = spoken(&mut selftest(&env, &[]));
    assert_eq!(code, Some(0), "{text}");
    let env = TestEnvironment::new();
    let program = impostor(&env, "[ \"$1\" = hook ] && exit 2");
    let (broken, code) = spoken(selftest(&env, &[6, 7]).env(test_switches::PROGRAM, program));
    assert_eq!(code, Some(4), "{broken}");
    text.push_str("\n# of a program whose hooks fail\n\n");
    text.push_str(&broken);
    let filters = [
        (r"(in |`)/.*/disk", "$1[DIR]"),
        (r", on [a-z0-9]+", ", on ext4"),
        (r"\([a-z0-9]+\)\n", "(ext4)\n"),
        (r" +\d+\.\d s ", "  0.0 s "),
        (r", in \d+ s", ", in 0 s"),
        (r", \d+ again after a reader died", ""),
        (r"(?m)^(\d  [a-z]+ +held  0\.0 s  )\d+ (accepted|races|messages)", "${1}N $2"),
        (r"; \d+ (senders|of)", "; N $1"),
        (r"and \d+ readers", "and N readers"),
        (r"of \d+ commands", "of N commands"),
        (r"\d+ ms", "N ms"),
    ];
    snapshot("selftest", text.trim_end(), &filters);
}

/// A progress bar at a terminal, and only there; without colours if they are not wanted.
#[test]
fn progress_is_for_terminals() {
    use pty_process::blocking as pty;
    for (no_colour, has_escapes) in [("", true), ("1", false)] {
        let env = TestEnvironment::new();
        let (master, slave) = pty::open().unwrap();
        let real = selftest(&env, &[3]);
        let mut command = pty::Command::new(real.get_program());
        command = command.args(real.get_args()).env_clear().env("HOME", env.home()).env("TERM", "xterm");
        command = command.env("NO_COLOR", no_colour).current_dir(env.work()).stdout(Stdio::null());
        let mut child = command.spawn(slave).unwrap();
        let mut shown = Vec::new();
        let mut master = master;
        let mut buffer = [0; 4096];
        // On Linux the end of a terminal is reported as an error.
        while let Ok(length @ 1..) = master.read(&mut buffer) {
            shown.extend_from_slice(&buffer[..length]);
        }
        assert!(child.wait().unwrap().success());
        let shown = String::from_utf8(shown).unwrap();
        assert!(shown.contains(" 0 of 1  liveness"), "{shown:?}");
        assert!(shown.ends_with(" \r"), "it is taken away again: {shown:?}");
        assert_eq!(shown.contains('\u{1b}'), has_escapes, "{shown:?}");
        assert_nothing_is_left(&env);
    }
}
