//! What knowledge adds to the hook after a tool: where nothing fits, and where a record is offered.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::figure::{Aim, Figure, Spread};
use crate::know::project;
use crate::scratch::{Scratch, time};

const RECORDS: usize = 10_000;
const REPETITIONS: usize = 400;
const LIMIT: Duration = Duration::from_secs(8);

/// Whether hooks offer knowledge.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Offers {
    Off,
    On,
}

pub fn measure() -> Vec<Figure> {
    let mut scratch = Scratch::in_memory();
    scratch.join_here("Reader");
    project(&scratch, RECORDS);
    fs::write(scratch.home().join("free.rs"), "fn free() {}\n").unwrap();
    let mut off = scratch.msg(&["config", "set", "knowledge", "off"]);
    assert!(off.env("XDG_CONFIG_HOME", scratch.home().join("off")).status().unwrap().success());
    // Makes the index that hooks read.
    assert!(scratch.msg(&["know", "lock"]).status().unwrap().success());
    let payload = payload(&scratch, "free.rs");
    let (mut with, mut without) = (Vec::new(), Vec::new());
    let started = Instant::now();
    while with.len() < REPETITIONS && started.elapsed() < LIMIT {
        with.push(time(&mut hook(&scratch, &payload, Offers::On)).as_secs_f64());
        without.push(time(&mut hook(&scratch, &payload, Offers::Off)).as_secs_f64());
    }
    let milliseconds = |values: &[f64]| format!("{:.2} ms", Spread::of(values.iter().copied()).median * 1e3);
    vec![Figure {
        name: "hook: what knowledge adds where nothing fits, 10,000 records",
        ours: milliseconds(&with),
        baseline: milliseconds(&without),
        result: Spread::of_pairs(&with, &without, |with, without| (with - without) * 1e3),
        unit: " ms",
        aim: Aim::Below(0.2),
    }]
}

/// What Claude Code sends after it read a file.
fn payload(scratch: &Scratch, path: &str) -> PathBuf {
    let registration = fs::read(scratch.mesh().join("registry/Reader.json")).unwrap();
    let session = serde_json::from_slice::<Value>(&registration).unwrap()["sessionId"].clone();
    let file = scratch.home().join("payload.json");
    let path = scratch.home().join(path);
    let text = json!({
        "session_id": session,
        "transcript_path": "/home/dev/.claude/projects/x.jsonl",
        "cwd": scratch.home(),
        "permission_mode": "default",
        "hook_event_name": "PostToolUse",
        "tool_name": "Read",
        "tool_input": { "file_path": path },
        "tool_response": { "type": "text", "file": { "filePath": path, "content": "fn free() {}\n" } },
        "tool_use_id": "toolu_1",
    });
    fs::write(&file, text.to_string()).unwrap();
    file
}

fn hook(scratch: &Scratch, payload: &Path, offers: Offers) -> Command {
    let mut hook = scratch.msg(&["hook", "claude", "PostToolUse"]);
    hook.stdin(File::open(payload).unwrap()).stdout(Stdio::null());
    if offers == Offers::Off {
        hook.env("XDG_CONFIG_HOME", scratch.home().join("off"));
    }
    hook
}
