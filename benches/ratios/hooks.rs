//! Cost of the hook that runs before every tool call: a whole process that decides about an edit, against `true`,
//! among more and more agents with ten reservations each.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::agents::crowd_here;
use crate::figure::{Aim, Figure, Spread};
use crate::scratch::{Scratch, time};

/// Number of agents, name of the figure, and maximum ratio.
const SIZES: [(usize, &str, f64); 3] = [
    (10, "hook: 10 agents × 10 reservations / true", 1.3),
    (100, "hook: 100 agents × 10 reservations / true", 2.5),
    (1000, "hook: 1,000 agents × 10 reservations / true", 4.0),
];

const REPETITIONS: usize = 400;
const LIMIT: Duration = Duration::from_secs(8);

pub fn measure() -> Vec<Figure> {
    let mut figures: Vec<Figure> = SIZES.iter().map(|(size, name, aim)| of_size(*size, name, *aim)).collect();
    figures.push(with_history());
    figures
}

/// Old messages and events must not make a hook slower.
fn with_history() -> Figure {
    let (young, old) = (reserving(10), reserving(10));
    age(&old.mesh());
    let payloads = [&young, &old].map(|scratch| payload(scratch, "free", "/srv/project/src/free.rs"));
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let started = Instant::now();
    while ours.len() < REPETITIONS && started.elapsed() < LIMIT {
        ours.push(time(hook(&old, &payloads[1]).stdout(Stdio::null())).as_secs_f64());
        theirs.push(time(hook(&young, &payloads[0]).stdout(Stdio::null())).as_secs_f64());
    }
    Figure {
        name: "hook: with 20,000 old messages and 50,000 events / without",
        ours: milliseconds(&ours),
        baseline: milliseconds(&theirs),
        result: Spread::of_pairs(&ours, &theirs, |ours, theirs| ours / theirs),
        unit: "",
        aim: Aim::Below(1.1),
    }
}

/// Fills a mesh with old messages and events.
fn age(mesh: &Path) {
    let message =
        json!({ "id": "x", "from": "A", "to": "B", "text": "long ago", "timestamp": "2026-01-01T00:00:00Z" });
    for (dir, name) in [("seen", "1794700676200,read"), ("sent", "Copy1")] {
        let dir = mesh.join(dir).join("Original");
        std::fs::create_dir_all(&dir).unwrap();
        for number in 0..10_000 {
            let file = dir.join(format!("1794700{number:06}-gpvjoz,{name}.json"));
            std::fs::write(file, message.to_string()).unwrap();
        }
    }
    std::fs::create_dir_all(mesh.join("feed")).unwrap();
    let line = "{\"ts\":\"2026-01-01T00:00:00.000Z\",\"type\":\"join\",\"agent\":\"A\"}\n";
    std::fs::write(mesh.join("feed/1.jsonl"), line.repeat(50_000)).unwrap();
}

fn milliseconds(values: &[f64]) -> String {
    format!("{:.2} ms", Spread::of(values.iter().copied()).median * 1e3)
}

fn of_size(size: usize, name: &'static str, aim: f64) -> Figure {
    let scratch = reserving(size);
    let free = payload(&scratch, "free", "/srv/project/src/free.rs");
    let held = payload(&scratch, "held", "/srv/project/src/copy3/part4/login.rs");
    assert!(answer(&scratch, &free).is_empty(), "a free path is let through in silence");
    let mut nothing = scratch.command("/bin/true");
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let started = Instant::now();
    while ours.len() < REPETITIONS && started.elapsed() < LIMIT {
        ours.push(time(hook(&scratch, &free).stdout(Stdio::null())).as_secs_f64());
        theirs.push(time(&mut nothing).as_secs_f64());
    }
    // Last, because an agent that was refused a path checks at each call whether it is free.
    assert!(answer(&scratch, &held).contains("Copy3"), "a reserved path is refused");
    Figure {
        name,
        ours: milliseconds(&ours),
        baseline: milliseconds(&theirs),
        result: Spread::of_pairs(&ours, &theirs, |ours, theirs| ours / theirs),
        unit: "",
        aim: Aim::Below(aim),
    }
}

/// A mesh in which each agent has ten reservations: nine directories and one glob.
pub fn reserving(size: usize) -> Scratch {
    let scratch = crowd_here(size);
    for number in 1..size {
        let path = scratch.mesh().join(format!("registry/Copy{number}.json"));
        let mut registration: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        let pattern = |part: usize| match part {
            9 => format!("src/copy{number}/**/*.sql"),
            part => format!("src/copy{number}/part{part}/"),
        };
        let reservation = |part| {
            json!({
                "pattern": pattern(part),
                "reason": "a reason of usual length",
                "since": "2026-11-15T00:00:00.000Z",
                "root": "/srv/project",
            })
        };
        registration["reservations"] = (0..10).map(reservation).collect();
        std::fs::write(&path, serde_json::to_string_pretty(&registration).unwrap()).unwrap();
    }
    settle(&scratch.mesh().join("registry"));
    scratch
}

/// Waits until the registrations are 3 s old, as most are in practice: the index does not trust newer ones.
fn settle(registry: &Path) {
    let young = Duration::from_secs(3);
    let newest = || {
        let files = std::fs::read_dir(registry).unwrap();
        files.map(|file| file.unwrap().metadata().unwrap().modified().unwrap()).max().unwrap()
    };
    while newest().elapsed().unwrap_or_default() < young {
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// What Claude Code sends before an edit.
pub fn payload(scratch: &Scratch, name: &str, path: &str) -> PathBuf {
    let file = scratch.mesh().join(format!("../{name}.json"));
    let text = json!({
        "session_id": session(scratch),
        "transcript_path": "/home/dev/.claude/projects/x.jsonl",
        "cwd": "/srv/project",
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": "Edit",
        "tool_input": { "file_path": path, "old_string": "fn main() {}", "new_string": "fn main() { todo!() }" },
        "tool_use_id": "toolu_1",
    });
    std::fs::write(&file, text.to_string()).unwrap();
    file
}

/// The session of the one agent that really joined.
fn session(scratch: &Scratch) -> Value {
    let registration = std::fs::read(scratch.mesh().join("registry/Original.json")).unwrap();
    serde_json::from_slice::<Value>(&registration).unwrap()["sessionId"].clone()
}

pub fn hook(scratch: &Scratch, payload: &Path) -> Command {
    let mut hook = scratch.msg(&["hook", "claude", "PreToolUse"]);
    hook.stdin(File::open(payload).unwrap());
    hook
}

fn answer(scratch: &Scratch, payload: &Path) -> String {
    let output = hook(scratch, payload).stdout(Stdio::piped()).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}
