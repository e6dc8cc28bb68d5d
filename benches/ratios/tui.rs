//! The terminal chat on a crowded mesh with a long history: time to start, time to answer a key, and cost while idle.
//! The aims are what a person notices.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use pty_process::Size;
use pty_process::blocking as pty;

use crate::agents::crowd;
use crate::figure::{Aim, Figure, Spread};
use crate::post::{name, post};
use crate::scratch::{Scratch, time};

const AGENTS: usize = 500;
/// Half of them sent, half received.
const MESSAGES: usize = 50_000;
const STARTS: usize = 10;
const KEYS: usize = 200;
const MESSAGES_SEEN: usize = 10;
const LIMIT: Duration = Duration::from_secs(60);
/// Every frame ends with this: it shows the cursor again.
const END_OF_FRAME: &str = "\x1b[?25h";

pub fn measure() -> Vec<Figure> {
    let scratch = history();
    let mut listing = scratch.msg(&["agents", "--json"]);
    let (mut first, mut whole, mut agents) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..STARTS {
        agents.push(time(&mut listing).as_secs_f64() * 1e3);
        let started = Instant::now();
        let mut screen = Screen::open(&scratch);
        screen.wait_for(END_OF_FRAME);
        first.push(started.elapsed().as_secs_f64() * 1e3);
        screen.wait_for("499");
        whole.push(started.elapsed().as_secs_f64() * 1e3);
    }
    let mut screen = Screen::open(&scratch);
    screen.wait_for("499");
    screen.write("@Copy1\r\r");
    screen.wait_for("to");
    screen.settle();
    let (mut letters, mut pages) = (Vec::new(), Vec::new());
    for _ in 0..KEYS {
        letters.push(screen.answer("x"));
        letters.push(screen.answer("\x7f"));
        pages.push(screen.answer("\x1b[5~"));
    }
    screen.write("\x1b[F");
    screen.settle();
    let (mesh, friend, me) = (scratch.open(), name("Copy1"), name("Original"));
    let mut outbox = mesh.outboxes().lock(&friend).unwrap();
    let mut messages = Vec::new();
    for _ in 0..MESSAGES_SEEN {
        let before = Instant::now();
        post(&mut outbox, &friend, &me);
        screen.wait_for(END_OF_FRAME);
        messages.push(before.elapsed().as_secs_f64() * 1e3);
        screen.settle();
    }
    let baseline = format!("agents {:.0} ms", Spread::of(agents).median);
    let figure = |name, values: Vec<f64>, limit| {
        let result = Spread::of(values);
        let ours = format!("{:.1} ms", result.median);
        Figure { name, ours, baseline: baseline.clone(), result, unit: " ms", aim: Aim::Below(limit) }
    };
    let resident = screen.resident() as f64 / 1024.0;
    vec![
        figure("tui: to the first frame", first, 150.0),
        figure("tui: to the first frame with all 500", whole, 150.0),
        figure("tui: a letter to its frame", letters, 16.0),
        figure("tui: a page up to its frame", pages, 16.0),
        figure("tui: a message to its frame", messages, 100.0),
        Figure {
            name: "tui: resident",
            ours: format!("{resident:.1} MiB"),
            baseline: String::new(),
            result: Spread::of([resident]),
            unit: " MiB",
            aim: Aim::Below(60.0),
        },
    ]
}

/// Processor time in one idle minute, with 10 agents and with 500.
pub fn idle_long() -> Vec<Figure> {
    let names = ["tui: idle for a minute, 10 agents", "tui: idle for a minute, 500 agents"];
    let figure = |(name, agents): (&'static str, usize)| {
        let scratch = crowd(agents);
        let mut screen = Screen::open(&scratch);
        screen.wait_for(&format!("{}", agents - 1));
        screen.settle();
        let before = screen.clock_ticks();
        std::thread::sleep(Duration::from_secs(60));
        let ticks = (screen.clock_ticks() - before) as f64;
        Figure {
            name,
            ours: format!("{ticks} clock ticks"),
            baseline: "6000 in a minute".to_string(),
            result: Spread::of([ticks / 60.0]),
            unit: " %",
            aim: Aim::Below(0.1),
        }
    };
    names.into_iter().zip([10, AGENTS]).map(figure).collect()
}

/// A crowd in which one agent has a long history: what it sent to all others, and what one of them sent to it.
fn history() -> Scratch {
    let scratch = crowd(AGENTS);
    let mesh = scratch.open();
    let (me, friend) = (name("Original"), name("Copy1"));
    let mut outbox = mesh.outboxes().lock(&me).unwrap();
    for number in 0..MESSAGES / 2 {
        post(&mut outbox, &me, &name(&format!("Copy{}", number % (AGENTS - 1) + 1)));
    }
    drop(outbox);
    let mut outbox = mesh.outboxes().lock(&friend).unwrap();
    (0..MESSAGES / 2).for_each(|_| post(&mut outbox, &friend, &me));
    drop(outbox);
    // Pruning runs at random and would remove some of it.
    let agent = mesh.registry().get(&me).unwrap().unwrap().agent;
    let waiting = mesh.inboxes().scan(&agent).unwrap().waiting;
    let now = ravenry::sys::clock::now();
    mesh.inboxes()
        .take(waiting)
        .unwrap()
        .record(&ravenry::store::Via::new("read"), now, ravenry::store::Acknowledge::Later)
        .unwrap();
    scratch
}

struct Screen {
    child: Child,
    terminal: pty::Pty,
    output: Receiver<Vec<u8>>,
}

impl Screen {
    fn open(scratch: &Scratch) -> Self {
        let (terminal, pts) = pty::open().unwrap();
        terminal.resize(Size::new(40, 120)).unwrap();
        let command = pty::Command::new(crate::scratch::program()).env_clear();
        let command = command.env("HOME", scratch.home()).env("TERM", "xterm-256color");
        let command = command.args(["tui", "--as", "Original", "--mesh"]).arg(scratch.mesh());
        let child = command.current_dir(scratch.home()).spawn(pts).unwrap();
        let mut reader = File::from(terminal.as_fd().try_clone_to_owned().unwrap());
        let (sender, output) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 65536];
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { child, terminal, output }
    }

    fn wait_for(&mut self, text: &str) {
        let mut seen = String::new();
        while !seen.contains(text) {
            let bytes = self.output.recv_timeout(LIMIT).unwrap_or_else(|_| panic!("no {text:?} in {seen:?}"));
            seen.push_str(&String::from_utf8_lossy(&bytes));
        }
    }

    /// Waits until nothing more is drawn.
    fn settle(&mut self) {
        while self.output.recv_timeout(Duration::from_millis(500)).is_ok() {}
    }

    fn write(&mut self, keys: &str) {
        self.terminal.write_all(keys.as_bytes()).unwrap();
        self.terminal.flush().unwrap();
    }

    /// Milliseconds from a key to the end of the frame that answers it.
    fn answer(&mut self, key: &str) -> f64 {
        while self.output.try_recv().is_ok() {}
        let before = Instant::now();
        self.write(key);
        self.wait_for(END_OF_FRAME);
        before.elapsed().as_secs_f64() * 1e3
    }

    /// In KiB.
    fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    fn clock_ticks(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let fields: Vec<&str> = stat[stat.rfind(')').unwrap() + 1..].split_whitespace().collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
