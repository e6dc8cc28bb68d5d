//! Cost of an MCP server: starting it, its memory, and a call.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use ravenry::ops::{self, AgentFilter, Context, GlobalOptions};
use serde_json::{Value, json};

use crate::figure::{Aim, Figure, Spread};
use crate::scratch::Scratch;

const CALLS: usize = 1000;
const STARTS: usize = 50;
const LIMIT: Duration = Duration::from_secs(10);

/// A server, with its client's ends of the pipes.
struct Server {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    line: String,
}

impl Server {
    fn start(scratch: &Scratch) -> Self {
        let mut child = scratch.msg(&["mcp"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut server = Self { child, stdin, stdout, line: String::new() };
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "bench", "version": "1" },
        });
        server.ask("initialize", params);
        server
    }

    fn ask(&mut self, method: &str, params: Value) {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        writeln!(self.stdin, "{request}").unwrap();
        self.line.clear();
        self.stdout.read_line(&mut self.line).unwrap();
        assert!(self.line.contains("\"result\""), "{}", self.line);
    }

    /// Resident memory in MiB.
    fn resident(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
    }

    fn end(mut self) {
        drop(self.stdin);
        self.child.wait().unwrap();
    }
}

pub fn measure() -> Vec<Figure> {
    let mut scratch = Scratch::new();
    for name in ["Anna", "Berta", "Carla"] {
        scratch.join(name);
    }
    let mesh = scratch.mesh().to_string_lossy().into_owned();
    let in_process = || {
        let globals = GlobalOptions { mesh: Some(mesh.clone()), ..GlobalOptions::default() };
        let ctx = Context::new(globals).unwrap();
        let listing = ops::run(ctx, |op| ops::agents(op, AgentFilter::default())).into_parts().0.unwrap();
        assert_eq!(listing.agents.len(), 3);
    };
    let mut server = Server::start(&scratch);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let started = Instant::now();
    while ours.len() < CALLS && started.elapsed() < LIMIT {
        ours.push(seconds(|| server.ask("tools/call", json!({ "name": "agents", "arguments": {} }))));
        theirs.push(seconds(in_process));
    }
    let resident = server.resident();
    server.end();
    let mut starts = Vec::new();
    for _ in 0..STARTS {
        let mut server = None;
        starts.push(seconds(|| server = Some(Server::start(&scratch))));
        server.unwrap().end();
    }
    let milliseconds = |values: &[f64]| format!("{:.2} ms", Spread::of(values.iter().copied()).median * 1e3);
    vec![
        Figure {
            name: "mcp: added to a call of an op",
            ours: milliseconds(&ours),
            baseline: milliseconds(&theirs),
            result: Spread::of_pairs(&ours, &theirs, |ours, theirs| (ours - theirs) * 1e3),
            unit: " ms",
            aim: Aim::Below(1.0),
        },
        Figure {
            name: "mcp: memory after a thousand calls",
            ours: format!("{resident:.1} MiB"),
            baseline: String::new(),
            result: Spread::of([resident]),
            unit: " MiB",
            aim: Aim::Below(15.0),
        },
        Figure {
            name: "mcp: start to initialize answered",
            ours: milliseconds(&starts),
            baseline: String::new(),
            result: Spread::of(starts.iter().map(|start| start * 1e3)),
            unit: " ms",
            aim: Aim::Below(20.0),
        },
    ]
}

fn seconds(run: impl FnOnce()) -> f64 {
    let start = Instant::now();
    run();
    start.elapsed().as_secs_f64()
}
