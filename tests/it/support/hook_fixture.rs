//! Captured payloads of real harnesses (`fixtures/hooks/`), and hooks that are run with them.

use std::fs;
use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ravenry::sys::test_switches;
use serde_json::Value;

use crate::support::environment::{Ended, PATIENCE, TestEnvironment};

/// The directories of fixtures, each with the harness of its payloads.
pub const HARNESSES: [(&str, &str); 9] = [
    ("claude", "claude"),
    ("codex", "codex"),
    ("copilot", "copilot"),
    ("copilot-pascal", "copilot"),
    ("gemini", "gemini"),
    ("kimi", "kimi"),
    ("opencode", "opencode"),
    ("pi", "pi"),
    ("qwen", "qwen"),
];

/// One payload.
pub struct Fixture {
    /// The file name without directory and extension.
    pub name: String,
    pub harness: &'static str,
    pub event: String,
    pub payload: String,
}

impl Fixture {
    /// The payload of that name, such as `claude/PreToolUse-Edit`, with `home` as the home directory.
    #[track_caller]
    pub fn of(home: &Path, name: &str) -> Self {
        let (dir, name) = name.split_once('/').unwrap();
        let mut fixtures = fixtures(home, dir).into_iter();
        fixtures.find(|fixture| fixture.name == name).unwrap_or_else(|| panic!("no fixture {dir}/{name}"))
    }

    pub fn value(&self) -> Value {
        serde_json::from_str(&self.payload).unwrap()
    }

    /// The session id in the payload.
    pub fn session(&self) -> Option<String> {
        fn find(value: &Value) -> Option<String> {
            let Value::Object(object) = value else { return None };
            let own =
                ["session_id", "sessionId", "sessionID"].iter().find_map(|key| object.get(*key)?.as_str());
            own.map(str::to_string).or_else(|| object.values().find_map(find))
        }
        find(&self.value())
    }
}

/// All payloads in a directory of fixtures, by name. Their home `/home/dev` is replaced by `home`.
pub fn fixtures(home: &Path, dir: &str) -> Vec<Fixture> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/hooks").join(dir);
    let (_, harness) = HARNESSES.into_iter().find(|(name, _)| *name == dir).unwrap();
    let mut paths = Vec::new();
    collect(&root, &mut paths);
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.strip_prefix(&root).unwrap().with_extension("").to_str().unwrap().to_string();
        let file = name.rsplit('/').next().unwrap();
        let event = file.split('-').next().unwrap().to_string();
        let payload = fs::read_to_string(&path).unwrap().replace("/home/dev", home.to_str().unwrap());
        Fixture { name, harness, event, payload }
    };
    let fixtures: Vec<Fixture> = paths.into_iter().map(read).collect();
    assert!(fixtures.len() > 5, "{dir}: {}", fixtures.len());
    fixtures
}

fn collect(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => collect(&path, found),
            false => found.push(path),
        }
    }
}

/// Creates the project that all payloads are about, with the files they touch.
pub fn project(env: &TestEnvironment) -> PathBuf {
    let project = env.home().join("project");
    fs::create_dir_all(project.join("src")).unwrap();
    fs::create_dir_all(project.join(".git")).unwrap();
    fs::write(project.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    for file in ["src/lib.rs", "notes.txt", "n.ipynb"] {
        fs::write(project.join(file), "").unwrap();
    }
    project
}

/// `msg hook HARNESS EVENT` in the project, which takes the time that a busy machine needs.
pub fn hook(env: &TestEnvironment, harness: &str, event: &str) -> Command {
    let mut command = env.msg();
    command.args(["hook", harness, event]).current_dir(env.home().join("project"));
    command.env(test_switches::NO_HOOK_LIMIT, "1");
    command
}

/// Runs a command with `input` on its standard input.
#[track_caller]
pub fn feed(command: &mut Command, input: &[u8]) -> Ended {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // It need not read all of it.
    let writer = std::thread::spawn({
        let input = input.to_vec();
        move || drop(stdin.write_all(&input))
    });
    let ended = ended(child);
    writer.join().unwrap();
    ended
}

/// Waits until it exits. Its output is small enough to fit into the pipes.
#[track_caller]
pub fn ended(mut child: Child) -> Ended {
    let give_up = Instant::now() + PATIENCE;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > give_up {
            child.kill().unwrap();
            panic!("it does not end: {:?}", child.wait_with_output());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let output = child.wait_with_output().unwrap();
    Ended {
        code: output.status.code(),
        signal: output.status.signal(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs the payload's hook.
#[track_caller]
pub fn play(env: &TestEnvironment, fixture: &Fixture) -> Ended {
    feed(&mut hook(env, fixture.harness, &fixture.event), fixture.payload.as_bytes())
}

/// The same command, run by a shell with the name of its harness: joining looks for a harness among the ancestors. In
/// `line`, `"$@"` is the command.
pub fn in_shell(line: &str, harness: &str, msg: &Command) -> Command {
    let mut command = Command::new("sh");
    command.arg0(harness).args(["-c", &format!("{line}; exit $?"), harness]);
    command.arg(msg.get_program()).args(msg.get_args());
    command.env_clear().envs(msg.get_envs().filter_map(|(name, value)| Some((name, value?))));
    if let Some(dir) = msg.get_current_dir() {
        command.current_dir(dir);
    }
    command
}
