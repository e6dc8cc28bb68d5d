//! Cost of following an inbox: time until a message is delivered, and cost while none arrives.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use notify::event::{EventKind, ModifyKind, RenameMode};
use notify::{RecursiveMode, Watcher};

use crate::figure::{Aim, Figure, Spread};
use crate::post::{Bare, fill, name, post};
use crate::scratch::Scratch;

/// Argument that starts this program as a bare follower.
pub const FLAG: &str = "--follow";

const REPETITIONS: usize = 500;
const LIMIT: Duration = Duration::from_secs(8);
/// Long enough for a follower to finish the last message and fall asleep.
const PAUSE: Duration = Duration::from_millis(3);

/// Time from just before a message is posted until the watcher prints it, against a bare inotify loop.
pub fn hand_over() -> Vec<Figure> {
    let (scratch, mut watcher) = watcher();
    let (mesh, berta, anna) = (scratch.open(), name("Berta"), name("Anna"));
    let content = fill(&mesh, &scratch.mesh(), &berta, &anna, 1);
    watcher.line();
    let mut bare = Bare::new(scratch.home(), content.clone());
    let mut follower = Follower::bare(Way::Inotify, &bare.inbox());
    let mut by_notify = Bare::new(scratch.home(), content);
    let mut notified = Follower::bare(Way::Notify, &by_notify.inbox());
    let mut outbox = mesh.outboxes().lock(&berta).unwrap();
    let (mut ours, mut posting) = (Vec::new(), Vec::new());
    let (mut created, mut renamed, mut renamed_for_notify) = (Vec::new(), Vec::new(), Vec::new());
    let started = Instant::now();
    while ours.len() < REPETITIONS && started.elapsed() < LIMIT {
        std::thread::sleep(PAUSE);
        let before = Instant::now();
        post(&mut outbox, &berta, &anna);
        posting.push(before.elapsed().as_secs_f64());
        watcher.line();
        ours.push(before.elapsed().as_secs_f64());

        std::thread::sleep(PAUSE);
        let before_create = Instant::now();
        bare.create();
        let before_rename = Instant::now();
        bare.rename();
        follower.bytes(bare.length());
        renamed.push(before_rename.elapsed().as_secs_f64());
        created.push(before_create.elapsed().as_secs_f64());

        std::thread::sleep(PAUSE);
        by_notify.create();
        let before_rename = Instant::now();
        by_notify.rename();
        notified.bytes(by_notify.length());
        renamed_for_notify.push(before_rename.elapsed().as_secs_f64());
    }
    let microseconds = |times: &[f64]| format!("{:.0} µs", Spread::of(times.iter().copied()).median * 1e6);
    // Compare with their median: pairing has no meaning here, because each measurement waits until all is quiet.
    let against = |name, ours: &[f64], theirs: &[f64], aim| {
        let median = Spread::of(theirs.iter().copied()).median;
        let result = Spread::of(ours.iter().map(|ours| ours / median));
        Figure { name, ours: microseconds(ours), baseline: microseconds(theirs), result, unit: "", aim }
    };
    vec![
        against("hand-over: post to watch / rename to bare inotify", &ours, &renamed, Aim::Below(3.0)),
        against("hand-over: post to watch / create, rename to bare inotify", &ours, &created, Aim::None),
        // The minimum for any watcher that uses `notify`.
        against("hand-over: bare notify / bare inotify", &renamed_for_notify, &renamed, Aim::None),
        against("hand-over: the post's share", &posting, &ours, Aim::None),
    ]
}

/// A watcher that receives no message.
pub fn idle() -> Vec<Figure> {
    idle_for(Duration::from_secs(10))
}

/// The same for a minute; runs only on request.
pub fn idle_long() -> Vec<Figure> {
    idle_for(Duration::from_secs(60))
}

fn idle_for(time: Duration) -> Vec<Figure> {
    /// Interval at which the watcher looks by itself.
    const TICK: Duration = Duration::from_secs(5);
    let (scratch, mut watcher) = watcher();
    // Initialises everything that is created at the first message.
    fill(&scratch.open(), &scratch.mesh(), &name("Berta"), &name("Anna"), 1);
    watcher.line();
    std::thread::sleep(Duration::from_millis(200));
    let before = watcher.usage();
    std::thread::sleep(time);
    let after = watcher.usage();
    let ticks = time.as_secs_f64() / TICK.as_secs_f64();
    let cpu = (after.cpu - before.cpu).as_secs_f64() * 1e6;
    let wakeups = (after.wakeups - before.wakeups) as f64;
    let resident = after.resident as f64 / 1024.0;
    let one = |name, ours, baseline, result, unit, aim| Figure {
        name,
        ours,
        baseline,
        result: Spread::of([result]),
        unit,
        aim,
    };
    vec![
        one(
            "idle watch: time of the processor for each tick",
            format!("{cpu:.0} µs, {} ms by clock ticks", (after.clock_ticks - before.clock_ticks) * 10),
            format!("{ticks:.0} ticks"),
            cpu / ticks,
            " µs",
            Aim::Below(1000.0),
        ),
        one(
            "idle watch: wake-ups for each tick",
            format!("{wakeups:.0}"),
            format!("{ticks:.0} ticks"),
            wakeups / ticks,
            "",
            // The thread that looks, and the thread that it notifies.
            Aim::Below(3.0),
        ),
        one("idle watch: resident", String::new(), String::new(), resident, " MiB", Aim::Below(8.0)),
    ]
}

/// A mesh in which `msg watch` follows Anna's inbox and Berta can write to her.
fn watcher() -> (Scratch, Follower) {
    let mut scratch = Scratch::in_memory();
    scratch.join("Anna");
    scratch.join("Berta");
    let follower = Follower::start(&mut scratch.msg(&["watch", "--json", "--as", "Anna"]));
    (scratch, follower)
}

/// A process that prints what arrives. Dropping it kills it.
struct Follower {
    child: Child,
    output: BufReader<ChildStdout>,
}

/// What a process has used so far.
struct Usage {
    cpu: Duration,
    /// As reported by `/proc/PID/stat`, in hundredths of a second.
    clock_ticks: u64,
    /// How often one of its threads went to sleep, which is as often as one was woken.
    wakeups: u64,
    /// In KiB.
    resident: u64,
}

impl Follower {
    fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    /// Starts this program as a bare follower.
    fn bare(way: Way, dir: &Path) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.arg(FLAG).arg(format!("{way:?}")).arg(dir).stdin(Stdio::null());
        let mut follower = Self::start(&mut command);
        follower.bytes(1);
        follower
    }

    fn line(&mut self) {
        let mut line = String::new();
        assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "the watcher has ended");
    }

    fn bytes(&mut self, length: usize) {
        self.output.read_exact(&mut vec![0; length]).unwrap();
    }

    fn usage(&self) -> Usage {
        let proc = Path::new("/proc").join(self.child.id().to_string());
        let text = |path: &Path| std::fs::read_to_string(path).unwrap();
        let number = |text: &str| text.split_whitespace().next().unwrap().parse::<u64>().unwrap();
        let field = |status: &str, name: &str| {
            number(status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim_start_matches(':'))
        };
        let (mut nanoseconds, mut wakeups) = (0, 0);
        for task in std::fs::read_dir(proc.join("task")).unwrap() {
            let task = task.unwrap().path();
            nanoseconds += number(&text(&task.join("schedstat")));
            wakeups += field(&text(&task.join("status")), "voluntary_ctxt_switches");
        }
        let stat = text(&proc.join("stat"));
        // The name may contain anything and ends at the last parenthesis; `utime` and `stime` are fields 12 and 13
        // after it.
        let fields: Vec<&str> = stat[stat.rfind(')').unwrap() + 1..].split_whitespace().collect();
        Usage {
            cpu: Duration::from_nanos(nanoseconds),
            clock_ticks: number(fields[11]) + number(fields[12]),
            wakeups,
            resident: field(&text(&proc.join("status")), "VmRSS"),
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// How a bare follower learns about a new file.
#[derive(Clone, Copy, Debug)]
enum Way {
    Inotify,
    /// Through a thread of `notify`, which informs the reading thread.
    Notify,
}

/// Main function of a bare follower: prints every file that is moved into the directory.
pub fn follow(args: &[String]) {
    let [way, dir] = args else { panic!("a follower is told how and what to follow") };
    let dir = Path::new(dir);
    // If the benchmark is killed, the follower dies with it.
    nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL).unwrap();
    match [Way::Inotify, Way::Notify].into_iter().find(|known| format!("{known:?}") == *way).unwrap() {
        Way::Inotify => follow_by_inotify(dir),
        Way::Notify => follow_by_notify(dir),
    }
}

fn follow_by_inotify(dir: &Path) {
    let inotify = Inotify::init(InitFlags::IN_CLOEXEC).unwrap();
    inotify.add_watch(dir, AddWatchFlags::IN_MOVED_TO).unwrap();
    print(b"!");
    loop {
        for event in inotify.read_events().unwrap() {
            print(&std::fs::read(dir.join(event.name.unwrap())).unwrap());
        }
    }
}

fn follow_by_notify(dir: &Path) {
    let (sender, moved) = crossbeam_channel::unbounded();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let event = event.unwrap();
        if event.kind == EventKind::Modify(ModifyKind::Name(RenameMode::To)) {
            event.paths.into_iter().for_each(|path| sender.send(path).unwrap());
        }
    })
    .unwrap();
    watcher.watch(dir, RecursiveMode::NonRecursive).unwrap();
    print(b"!");
    moved.iter().for_each(|path| print(&std::fs::read(path).unwrap()));
}

fn print(bytes: &[u8]) {
    let mut stdout = std::io::stdout();
    stdout.write_all(bytes).unwrap();
    stdout.flush().unwrap();
}
