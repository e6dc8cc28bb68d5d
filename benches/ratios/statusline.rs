//! Cost of the status line. Every pane requests it every few seconds, so it should take hardly longer than starting
//! any process, with few agents and with many.

use std::fs::File;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use crate::figure::{Aim, Figure, Spread};
use crate::scratch::{Scratch, time};

const REPETITIONS: usize = 500;
const LIMIT: Duration = Duration::from_secs(8);

pub fn measure() -> Vec<Figure> {
    vec![against_true("statusline: 3 agents / true", 3), against_true("statusline: 100 agents / true", 100)]
}

/// As Claude Code calls it, with its session on standard input.
fn against_true(name: &'static str, agents: usize) -> Figure {
    let mut scratch = Scratch::new();
    for number in 0..agents {
        scratch.join(&format!("Agent{number}"));
    }
    let session = session(&scratch, "Agent1");
    settle(&scratch, &session);
    let mut ours_command = scratch.msg(&["statusline"]);
    let mut nothing = scratch.command("/bin/true");
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let started = Instant::now();
    while ours.len() < REPETITIONS && started.elapsed() < LIMIT {
        ours.push(told(&mut ours_command, &session).as_secs_f64());
        nothing.stdin(Stdio::null());
        theirs.push(time(&mut nothing).as_secs_f64());
    }
    let milliseconds = |values: &[f64]| format!("{:.2} ms", Spread::of(values.iter().copied()).median * 1e3);
    Figure {
        name,
        ours: milliseconds(&ours),
        baseline: milliseconds(&theirs),
        result: Spread::of_pairs(&ours, &theirs, |ours, theirs| ours / theirs),
        unit: "",
        aim: Aim::Below(3.0),
    }
}

/// The state after a while: the registrations are old enough to be trusted, and a hook has written the index.
fn settle(scratch: &Scratch, session: &str) {
    let old = SystemTime::now() - Duration::from_secs(60);
    for entry in std::fs::read_dir(scratch.mesh().join("registry")).unwrap() {
        File::options().write(true).open(entry.unwrap().path()).unwrap().set_modified(old).unwrap();
    }
    // The change time (ctime) cannot be set, and counts too.
    std::thread::sleep(Duration::from_millis(2100));
    let edit = session.replace('}', ",\"tool_name\":\"Write\",\"tool_input\":{\"file_path\":\"x\"}}");
    told(&mut scratch.msg(&["hook", "claude", "PreToolUse"]), &edit);
}

fn session(scratch: &Scratch, name: &str) -> String {
    let output = scratch.msg(&["whois", name, "--json"]).stdout(Stdio::piped()).output().unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    format!("{{\"session_id\":{}}}", answer["agent"]["sessionId"])
}

/// Time from the start of the process to its exit, with `input` on its standard input.
fn told(command: &mut Command, input: &str) -> Duration {
    let started = Instant::now();
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    started.elapsed()
}
