//! Tests of the demo, and of readers that close their end of the pipe.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::support::environment::{TestEnvironment, end, unheard, wait_until};
use crate::support::terminal::Terminal;
use crate::texts::{one_object, snapshot, spoken};

/// A demo whose temporary files are in a directory of its own.
pub fn demo(env: &TestEnvironment) -> (Command, PathBuf) {
    let tmp = env.path().join("tmp");
    fs::create_dir_all(&tmp).unwrap();
    let mut command = env.msg();
    command.arg("demo").env("TMPDIR", &tmp);
    (command, tmp)
}

/// No files and no processes are left. Every process of the demo has its directory in the environment.
#[track_caller]
pub fn assert_nothing_is_left(tmp: &Path) {
    assert_eq!(fs::read_dir(tmp).unwrap().count(), 0, "files are left in {}", tmp.display());
    let sign = tmp.display().to_string();
    for entry in fs::read_dir("/proc").into_iter().flatten() {
        let environment = fs::read(entry.unwrap().path().join("environ")).unwrap_or_default();
        assert!(!String::from_utf8_lossy(&environment).contains(&sign), "a process is left");
    }
}

#[test]
fn the_demo_shows_the_main_job_and_leaves_nothing_behind() {
    let env = TestEnvironment::new();
    let (mut command, tmp) = demo(&env);
    let (text, code) = spoken(&mut command);
    assert_eq!(code, Some(0), "{text}");
    assert_nothing_is_left(&tmp);
    assert!(
        !env.mesh().exists() && fs::read_dir(env.home()).unwrap().count() == 0,
        "neither here nor at home"
    );
    let filters = [
        (r"process \d+", "process [PID]"),
        (r"here for  \d+s", "here for  0s"),
        (r"\(\d+s\)", "(0s)"),
        (r"\b\d+s ago", "0s ago"),
        (r"\b(as|reply|ack|receipt) [0-9a-z]{6}\b", "$1 [ID]"),
        (r"(?m)^[0-9a-z]{6} to ", "[ID] to "),
        (r"ago, [0-9a-z]{6}\]", "ago, [ID]]"),
        (r"\bfor \d+s\b", "for 0s"),
    ];
    snapshot("demo", text.trim_end(), &filters);
}

#[test]
fn the_demo_in_json() {
    let env = TestEnvironment::new();
    let ended = end(demo(&env).0.arg("--json")).expect_code(0);
    let said = one_object("msg demo", &ended.stdout, ended.code);
    let steps = said["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 9);
    assert!(said["kept"].is_null() && said.get("agents").is_none());
    for step in steps {
        assert!(step["title"].is_string());
        for command in step["commands"].as_array().unwrap() {
            assert!(command["command"].as_str().unwrap().starts_with("msg "), "{command}");
            // The command that follows the inbox is stopped after it has shown what it should.
            let is_followed = command["command"].as_str().unwrap().starts_with("msg watch ");
            // One command is refused, as intended.
            let is_refused = command["command"].as_str().unwrap() == "msg claim TASK-01 --as Robin";
            let expected = if is_refused { 1 } else { 0 };
            assert!(command["exit"] == expected || is_followed && command["exit"].is_null(), "{command}");
        }
    }
}

const PAUSE: &str = "Press Enter for the next step";

#[test]
fn a_build_that_can_not_link_says_so_instead_of_showing_it() {
    if cfg!(feature = "link") {
        return;
    }
    assert_eq!(TestEnvironment::new().fails(1, &["link", "demo"]), "not_built_in");
}

/// Runs `msg demo` with these arguments at a terminal, and answers each pause. Returns what is shown, and checks that
/// nothing is left behind.
fn demo_at_terminal(args: &str, answers: &[&str]) -> String {
    let env = TestEnvironment::new();
    let tmp = env.path().join("tmp");
    fs::create_dir_all(&tmp).unwrap();
    // Ctrl-C reaches the shell, too.
    let line = format!("trap : INT\nTMPDIR={} msg demo {args}\necho \"code $?\"", tmp.display());
    let shown = Terminal::open(&env).show_and_answer_all(&line, PAUSE, answers);
    assert_nothing_is_left(&tmp);
    shown
}

#[test]
fn at_a_terminal_the_demo_waits_after_each_step() {
    let shown = demo_at_terminal("--color never", &["\n"; 8]);
    let places: Vec<usize> = (1..=9)
        .map(|step| shown.find(&format!("\n{step}. ")).unwrap_or_else(|| panic!("{step}: {shown}")))
        .collect();
    assert!(places.is_sorted(), "{shown}");
    for (step, place) in places.iter().enumerate().skip(1) {
        let before = &shown[places[step - 1]..*place];
        assert_eq!(before.matches(PAUSE).count(), 1, "between {step} and the next: {shown}");
    }
    let last = &shown[places[8]..];
    assert!(!last.contains(PAUSE) && last.contains("That was a mesh of its own"), "{shown}");
    assert!(shown.contains("q and Enter end the demo") && shown.contains("code 0"), "{shown}");
}

#[test]
fn a_reader_ends_the_demo_between_two_steps() {
    for (answer, code, said) in
        [("q\n", 0, "Nothing is left behind."), ("\x03", 130, "error: interrupted; nothing is left behind")]
    {
        let shown = demo_at_terminal("--color never", &["\n", answer]);
        assert!(shown.contains("\n2. ") && !shown.contains("\n3. "), "{answer:?}: {shown}");
        assert!(shown.contains(said) && shown.contains(&format!("code {code}")), "{answer:?}: {shown}");
    }
}

#[test]
fn the_demo_does_not_wait_if_it_is_to_be_fast_or_nobody_reads_it() {
    for args in ["--fast", "| cat", "< /dev/null", "--keep tour", "--json", "-q"] {
        let shown = demo_at_terminal(args, &[]);
        assert!(!shown.contains(PAUSE) && shown.contains("code 0"), "{args}: {shown}");
    }
}

#[test]
fn the_demo_of_a_crew_waits_after_each_step_too() {
    let shown = demo_at_terminal("--crew --color never", &["\n", "q\n"]);
    assert!(shown.contains("\n2. ") && !shown.contains("\n3. ") && shown.contains("code 0"), "{shown}");
}

/// Interrupts a demo that has begun; returns how it ended and what it printed. `None`: it was finished before that.
fn interrupted(signal: Signal, whole_group: bool) -> Option<(Option<i32>, String)> {
    let env = TestEnvironment::new();
    let (mut command, tmp) = demo(&env);
    command.process_group(0).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    wait_until("the demo has begun or is done", || {
        fs::read_dir(&tmp).unwrap().count() > 0 || child.try_wait().unwrap().is_some()
    });
    if child.try_wait().unwrap().is_none() {
        let pid = i32::try_from(child.id()).unwrap();
        // A process that has ended by now is not reaped yet, so the pid is still its own.
        kill(Pid::from_raw(if whole_group { -pid } else { pid }), signal).unwrap();
    }
    let output = child.wait_with_output().unwrap();
    assert_nothing_is_left(&tmp);
    let said = String::from_utf8(output.stderr).unwrap();
    (!output.status.success()).then(|| (output.status.code(), said))
}

#[test]
fn a_demo_that_is_interrupted_leaves_nothing_behind() {
    const TRIES: usize = 20;
    // Ctrl-C in a terminal also reaches everything that the demo has started, and so does closing it.
    for (signal, whole_group) in [
        (Signal::SIGINT, false),
        (Signal::SIGINT, true),
        (Signal::SIGTERM, false),
        (Signal::SIGHUP, false),
        (Signal::SIGHUP, true),
    ] {
        let ended = (0..TRIES).find_map(|_| interrupted(signal, whole_group));
        let said = "error: interrupted; nothing is left behind\n".to_string();
        assert_eq!(ended, Some((Some(130), said)), "{signal}");
    }
}

/// Whether a process runs that has this among its arguments. Always `false` without `/proc`.
fn is_running(argument: &Path) -> bool {
    let argument = argument.to_str().unwrap();
    let mut processes = fs::read_dir("/proc").into_iter().flatten();
    processes.any(|entry| {
        let line = fs::read(entry.unwrap().path().join("cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|word| word == argument.as_bytes())
    })
}

#[test]
fn a_demo_leaves_a_project_where_it_is_told_to() {
    let env = TestEnvironment::new();
    let (mut command, tmp) = demo(&env);
    let dir = env.work().join("a tour");
    let ended = end(command.args(["--keep", "a tour", "--json"])).expect_code(0);
    assert_nothing_is_left(&tmp);
    let said = one_object("msg demo", &ended.stdout, ended.code);
    let mesh = dir.join(".mesh");
    assert_eq!((&said["kept"], &said["mesh"]), (&json!(dir), &json!(mesh)));
    assert_eq!(said["remove"], format!("rm -r '{}'", dir.display()));
    let next: Vec<&str> =
        said["next"].as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect();
    let enter = format!("cd '{}'", dir.display());
    let name_mesh = format!("export MSG_MESH='{}'", mesh.display());
    assert_eq!(next, [enter.as_str(), name_mesh.as_str(), "msg agents"]);
    assert!(!env.mesh().exists(), "the user's own mesh is not touched");

    // The agents are alive, and have what the demo says.
    let in_project =
        |args: &[&str]| end(env.msg().args(args).arg("--json").env("MSG_MESH", &mesh).current_dir(&dir));
    let agents = in_project(&["agents"]).expect_code(0).json();
    let names: Vec<&Value> =
        agents["agents"].as_array().unwrap().iter().map(|agent| &agent["name"]).collect();
    assert_eq!(names, ["Alice", "Bob"]);
    let tasks = in_project(&["tasks", "--spec", "spec.md"]).expect_code(0).json();
    assert_eq!(
        (&tasks["tasks"][0]["agent"], &tasks["tasks"][1]["state"]),
        (&json!("Alice"), &json!("blocked"))
    );
    assert_eq!(in_project(&["check", "src/auth/login.rs"]).expect_code(1).kind(), "reserved");

    // An existing project is not written to again, and is removed by the command that the demo prints.
    let second = end(demo(&env).0.args(["--keep", "a tour", "--json"])).expect_code(2);
    assert_eq!(second.kind(), "invalid_value");
    assert_eq!(is_running(&mesh), cfg!(target_os = "linux"));
    fs::remove_dir_all(&dir).unwrap();
    wait_until("the processes of the agents have ended", || !is_running(&mesh));
}

#[test]
fn a_demo_leaves_a_project_in_a_new_or_empty_directory_only() {
    let env = TestEnvironment::new();
    fs::create_dir(env.work().join("full")).unwrap();
    fs::write(env.work().join("full/notes"), "mine").unwrap();
    for (place, why) in [
        ("full", "the directory is not empty"),
        ("full/notes", "this is not a directory"),
        ("no/such/place", "the directory above it does not exist"),
    ] {
        let ended = end(demo(&env).0.args(["--keep", place])).expect_code(2);
        let hint = "pass a directory that is new or empty, for example `--keep ~/ravenry-tour`";
        assert_eq!(ended.stderr, format!("error: `--keep {place}`: {why}\nhint: {hint}\n"));
        assert_eq!(ended.stdout, "", "nothing was played");
    }
    assert_eq!(fs::read_to_string(env.work().join("full/notes")).unwrap(), "mine");
    assert!(!env.work().join("no").exists());
}

#[test]
fn a_demo_leaves_no_project_inside_a_mesh() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let mesh = env.mesh().canonicalize().unwrap();
    let names = || {
        let mut names: Vec<_> =
            fs::read_dir(&mesh).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    let elsewhere = env.work().join("tour");
    std::os::unix::fs::symlink(mesh.join("inbox"), env.work().join("link")).unwrap();
    let outside = "pass a directory outside of it, for example `--keep ~/ravenry-tour`";
    let cd = "change to a directory outside of it first, for example by `cd ~`";
    let cases = [
        (mesh.join("tour"), env.work(), "this", outside),
        (mesh.join("inbox/tour"), env.work(), "this", outside),
        (env.work().join("link/tour"), env.work(), "this", outside),
        (PathBuf::from("tour"), mesh.clone(), "this", outside),
        (elsewhere.clone(), mesh.clone(), "the current directory", cd),
        (elsewhere.clone(), mesh.join("registry"), "the current directory", cd),
    ];
    for (keep, cwd, what, hint) in cases {
        let ended = end(demo(&env).0.arg("--keep").arg(&keep).current_dir(cwd)).expect_code(2);
        let keep = keep.display();
        let said =
            format!("error: `--keep {keep}`: {what} is inside the mesh `{}`\nhint: {hint}\n", mesh.display());
        assert_eq!((ended.stderr, ended.stdout), (said, String::new()));
    }
    assert!(!elsewhere.exists() && names() == before, "nothing was made");
}

/// Whether or not the directory existed before.
#[test]
fn a_project_that_is_interrupted_is_taken_away_again() {
    const TRIES: usize = 20;
    for (is_new, signal) in [
        (true, Signal::SIGINT),
        (false, Signal::SIGINT),
        (true, Signal::SIGTERM),
        (true, Signal::SIGHUP),
        (false, Signal::SIGHUP),
    ] {
        let interrupted = (0..TRIES).any(|_| {
            let env = TestEnvironment::new();
            let (mut command, tmp) = demo(&env);
            let dir = env.work().join("tour");
            if !is_new {
                fs::create_dir(&dir).unwrap();
            }
            command.args(["--keep", "tour"]).stdout(Stdio::null()).stderr(Stdio::piped());
            let mut child = command.spawn().unwrap();
            let mesh = dir.join(".mesh");
            wait_until("the project has begun", || mesh.exists() || child.try_wait().unwrap().is_some());
            if child.try_wait().unwrap().is_none() {
                kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
            }
            let output = child.wait_with_output().unwrap();
            assert_nothing_is_left(&tmp);
            if output.status.success() {
                return false;
            }
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(
                (output.status.code(), said.as_str()),
                (Some(130), "error: interrupted; nothing is left behind\n")
            );
            assert!(!is_running(&mesh), "a process is left");
            assert!(if is_new { !dir.exists() } else { fs::read_dir(&dir).unwrap().count() == 0 });
            true
        });
        assert!(interrupted, "it was done each time before the signal came");
    }
}

#[test]
fn a_reader_that_has_had_enough_is_no_error() {
    let env = TestEnvironment::new();
    env.join("Alice");
    for args in [
        &["agents"][..],
        &["agents", "--json"],
        &["config"],
        &["help"],
        &["join", "--help"],
        &["completions", "bash"],
    ] {
        let mut child = env.msg().args(args).stdout(unheard()).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut said).unwrap();
        assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""), "{args:?}");
    }
    let mut failing = env.msg();
    failing.args(["whois", "Nobody"]).stdout(unheard()).stderr(unheard());
    assert_eq!(failing.status().unwrap().code(), Some(1), "the exit code still tells");
}

/// An answer that cannot be written is an error.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_no_reader() {
    let env = TestEnvironment::new();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    assert_eq!(env.msg().arg("config").stdout(full).status().unwrap().code(), Some(4));
}
