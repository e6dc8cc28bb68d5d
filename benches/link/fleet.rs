//! Ten machines with more and more agents: how long commands take, what a link needs, and what the server sees.

use std::time::{Duration, Instant};

use crate::figure::{Aim, Figure, Spread};
use crate::machine::{Machine, memory, processor_time, wait_until};
use crate::scratch::time;
use crate::server::Server;

const MACHINES: usize = 10;
/// The numbers of agents on all machines together.
const SIZES: [usize; 3] = [10, 100, 1_000];
const REPETITIONS: usize = 40;
const LIMIT: Duration = Duration::from_secs(20);
/// How long nothing happens while the server is listened to.
const IDLE: Duration = Duration::from_secs(60);

pub fn measure() -> Vec<Figure> {
    SIZES.into_iter().flat_map(of_size).collect()
}

struct Fleet {
    server: Server,
    machines: Vec<Machine>,
    unlinked: Machine,
    size: usize,
}

fn of_size(size: usize) -> Vec<Figure> {
    let server = Server::start();
    let each = size / MACHINES;
    let mut machines: Vec<Machine> =
        (0..MACHINES).map(|number| Machine::new(&format!("machine-{number}"))).collect();
    for (number, machine) in machines.iter().enumerate() {
        let first = format!("M{number}First");
        machine.join(&first);
        machine.copy(&first, (1..each).map(|copy| format!("M{number}Copy{copy}")), |_, _| {});
    }
    let unlinked = Machine::new("alone");
    unlinked.join("M0First");
    unlinked.copy("M0First", (1..size).map(|copy| format!("Copy{copy}")), |_, _| {});
    let began = Instant::now();
    machines.iter_mut().for_each(|machine| machine.link(&server.url()));
    let others = size - each;
    wait_until("all know all", || machines.iter().all(|machine| machine.known_elsewhere() == others));
    let settled = began.elapsed();
    let fleet = Fleet { server, machines, unlinked, size };
    let mut figures = vec![fleet.plain("until all know all", "s", settled.as_secs_f64(), Aim::None)];
    figures.extend(fleet.commands());
    figures.extend(fleet.idle());
    figures
}

impl Fleet {
    fn name(&self, what: &str) -> &'static str {
        Box::leak(format!("{} agents on {MACHINES} machines: {what}", self.size).into_boxed_str())
    }

    fn plain(&self, what: &str, unit: &'static str, value: f64, aim: Aim) -> Figure {
        Figure {
            name: self.name(what),
            ours: String::new(),
            baseline: String::new(),
            result: Spread::of([value]),
            unit,
            aim,
        }
    }

    /// Whole commands on a linked machine, beside the same in an unlinked mesh with as many agents here.
    fn commands(&self) -> Vec<Figure> {
        let (first, last) = (&self.machines[0], &self.machines[MACHINES - 1]);
        let pid = std::process::id().to_string();
        let join = |machine: &Machine, number: usize| {
            let (name, session) = (format!("New{number}"), format!("session-of-New{number}"));
            let taken = time(&mut machine.msg(&["join", &name, "--pid", &pid, "--session", &session]));
            (taken, name)
        };
        let leave = |machine: &Machine, name: &str| machine.ok(&["leave", "--as", name]);
        let mut joins = (Vec::new(), Vec::new());
        let mut seen = Vec::new();
        let started = Instant::now();
        while joins.0.len() < REPETITIONS && started.elapsed() < LIMIT {
            let number = joins.0.len();
            let began = Instant::now();
            let (taken, name) = join(first, number);
            wait_until("the last machine sees it", || {
                last.mesh.remote().agent(&crate::machine::name(&name)).unwrap().is_some()
            });
            seen.push(began.elapsed().as_secs_f64() * 1e3);
            joins.0.push(taken.as_secs_f64());
            leave(first, &name);
            let (taken, name) = join(&self.unlinked, number);
            joins.1.push(taken.as_secs_f64());
            leave(&self.unlinked, &name);
        }
        let to = format!("M{}First", MACHINES - 1);
        let send = |machine: &Machine, _: usize| {
            let to = if machine.name == "alone" { "M0First" } else { &to };
            time(&mut machine.msg(&["send", to, "the parser is done", "--as", "M0First"])).as_secs_f64()
        };
        let reserve = |machine: &Machine, number: usize| {
            let pattern = format!("src/part{number}/");
            let taken = time(&mut machine.msg(&["reserve", "--repo", &pattern, "--as", "M0First"]));
            machine.ok(&["release", "--as", "M0First"]);
            taken.as_secs_f64()
        };
        let claim = |machine: &Machine, number: usize| {
            let task = format!("T-{number}");
            let taken = time(&mut machine.msg(&["claim", &task, "--spec", "plan.md", "--as", "M0First"]));
            machine.ok(&["unclaim", &task, "--spec", "plan.md", "--as", "M0First"]);
            taken.as_secs_f64()
        };
        let mut figures = vec![
            self.ratio("msg join / unlinked", &joins.0, &joins.1),
            self.plain("join until another machine sees it", " ms", Spread::of(seen).median, Aim::None),
        ];
        figures.push(self.compare("msg send elsewhere / to an agent here", &send));
        figures.push(self.compare("msg reserve --repo / unlinked", &reserve));
        figures.push(self.compare("msg claim / unlinked", &claim));
        figures
    }

    fn compare(&self, what: &str, run: &dyn Fn(&Machine, usize) -> f64) -> Figure {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let started = Instant::now();
        while ours.len() < REPETITIONS && started.elapsed() < LIMIT {
            ours.push(run(&self.machines[0], ours.len()));
            theirs.push(run(&self.unlinked, theirs.len()));
        }
        self.ratio(what, &ours, &theirs)
    }

    fn ratio(&self, what: &str, ours: &[f64], theirs: &[f64]) -> Figure {
        let milliseconds =
            |values: &[f64]| format!("{:.2} ms", Spread::of(values.iter().copied()).median * 1e3);
        Figure {
            name: self.name(what),
            ours: milliseconds(ours),
            baseline: milliseconds(theirs),
            result: Spread::of_pairs(ours, theirs, |ours, theirs| ours / theirs),
            unit: "",
            aim: Aim::None,
        }
    }

    /// What goes on while nobody does anything.
    fn idle(&self) -> Vec<Figure> {
        let pids: Vec<u32> = self.machines.iter().map(Machine::link_pid).collect();
        let busy = || -> f64 { pids.iter().map(|pid| processor_time(*pid)).sum() };
        let (before, server_before, counted) =
            (busy(), processor_time(self.server.pid()), self.server.counters());
        std::thread::sleep(IDLE);
        let seconds = IDLE.as_secs_f64();
        let after = self.server.counters();
        let rate = |index: usize| (after[index] - counted[index]) as f64 / seconds;
        let links = (busy() - before) / seconds / pids.len() as f64 / 10.0;
        let of_server = (processor_time(self.server.pid()) - server_before) / seconds / 10.0;
        let memories = || pids.iter().map(|pid| memory(*pid, "VmRSS"));
        let peak = pids.iter().map(|pid| memory(*pid, "VmHWM")).fold(0.0, f64::max);
        vec![
            self.plain("memory of a link", " MiB", Spread::of(memories()).median, Aim::Below(25.0)),
            self.plain("most memory of a link so far", " MiB", peak, Aim::None),
            self.plain("processor of an idle link", " %", links, Aim::None),
            self.plain("memory of the server", " MiB", memory(self.server.pid(), "VmRSS"), Aim::None),
            self.plain("processor of the server, idle", " %", of_server, Aim::None),
            self.plain("messages to the server, idle", "/s", rate(0), Aim::None),
            self.plain("messages from the server, idle", "/s", rate(1), Aim::None),
            self.plain("bytes to the server, idle", " B/s", rate(2), Aim::None),
            self.plain("bytes from the server, idle", " B/s", rate(3), Aim::None),
        ]
    }
}
