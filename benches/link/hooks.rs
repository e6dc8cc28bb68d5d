//! The hook before an edit, beside a thousand agents of another machine that hold paths of the repository: against an
//! unlinked mesh with as many agents here. Also while the link, the server or the network is away.

use std::fs::File;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::json;

use crate::figure::{Aim, Figure, Spread};
use crate::machine::{Machine, wait_until};
use crate::scratch::time;
use crate::server::Server;

const AGENTS: usize = 1_000;
/// All paths of a repository are one record of at most a mebibyte.
const PATHS: usize = 2;
const REPETITIONS: usize = 300;
const LIMIT: Duration = Duration::from_secs(8);

pub fn measure() -> Vec<Figure> {
    let mut server = Server::start();
    let mut here = Machine::new("laptop");
    let mut there = Machine::new("tower");
    let unlinked = Machine::new("alone");
    here.join("Anna");
    unlinked.join("Anna");
    there.join("Bob");
    for machine in [&there, &unlinked] {
        crowd(machine, if machine.name == "tower" { "Bob" } else { "Anna" });
    }
    there.link(&server.url());
    here.link(&server.url());
    wait_until("all are known", || here.known_elsewhere() == AGENTS + 1);
    wait_until("so are their paths", || {
        let agents = here.mesh.remote().agents().unwrap();
        agents.iter().map(|record| record.agent.reservations.len()).sum::<usize>() == AGENTS * PATHS
    });
    // What is younger than two seconds is not trusted by the index, and in practice most registrations are older.
    std::thread::sleep(Duration::from_secs(3));
    let mut figures = vec![compare("hook: 1,000 agents elsewhere / as many here", &here, &unlinked)];
    kill(Pid::from_raw(server.pid().cast_signed()), Signal::SIGSTOP).unwrap();
    figures.push(compare("hook: the same, the server does not answer", &here, &unlinked));
    kill(Pid::from_raw(server.pid().cast_signed()), Signal::SIGCONT).unwrap();
    server.kill();
    figures.push(compare("hook: the same, the server is down", &here, &unlinked));
    here.end_link();
    figures.push(compare("hook: the same, the link is down", &here, &unlinked));
    // The hooks have started another one.
    drop(here.msg(&["link", "stop"]).status());
    server.restart();
    figures
}

/// Agents that hold paths of the repository.
fn crowd(machine: &Machine, original: &str) {
    let (commit, root) = (machine.root_commit(), machine.repository());
    machine.copy(original, (0..AGENTS).map(|number| format!("Copy{number}")), |name, registration| {
        let held = |part: usize| {
            json!({
                "pattern": format!("src/{name}/part{part}/"),
                "reason": "a reason of usual length",
                "since": "2026-11-15T00:00:00.000Z",
                "root": root,
                "head": root.join(format!("src/{name}/part{part}")),
                "repository": commit.as_str(),
            })
        };
        registration["reservations"] = (0..PATHS).map(held).collect();
    });
}

fn compare(name: &'static str, linked: &Machine, unlinked: &Machine) -> Figure {
    let (ours_payload, theirs_payload) = (payload(linked), payload(unlinked));
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let started = Instant::now();
    while ours.len() < REPETITIONS && started.elapsed() < LIMIT {
        ours.push(time(&mut hook(linked, &ours_payload)).as_secs_f64());
        theirs.push(time(&mut hook(unlinked, &theirs_payload)).as_secs_f64());
    }
    let milliseconds = |values: &[f64]| format!("{:.2} ms", Spread::of(values.iter().copied()).median * 1e3);
    Figure {
        name,
        ours: milliseconds(&ours),
        baseline: milliseconds(&theirs),
        result: Spread::of_pairs(&ours, &theirs, |ours, theirs| ours / theirs),
        unit: "",
        aim: Aim::Below(1.2),
    }
}

fn hook(machine: &Machine, payload: &PathBuf) -> Command {
    let mut hook = machine.msg(&["hook", "claude", "PreToolUse"]);
    hook.stdin(File::open(payload).unwrap());
    hook
}

/// What Claude Code sends before an edit of a path that is free.
fn payload(machine: &Machine) -> PathBuf {
    let file = machine.scratch.home().join("edit.json");
    let text = json!({
        "session_id": "session-of-Anna",
        "transcript_path": "/home/dev/.claude/projects/x.jsonl",
        "cwd": machine.repository(),
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": "Edit",
        "tool_input": {
            "file_path": machine.repository().join("src/free.rs"),
            "old_string": "fn main() {}",
            "new_string": "fn main() { run() }",
        },
        "tool_use_id": "toolu_1",
    });
    std::fs::write(&file, text.to_string()).unwrap();
    file
}
