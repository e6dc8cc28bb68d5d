//! Processes that contend for one lock.
//!
//! Each contender is this program, started again: threads of one process would share state that processes do not.
//! They get ready, wait for a common start signal, and then take and release the lock until the time is up.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::fcntl::{Flock, FlockArg};
use ravenry::domain::settings::Durability;
use ravenry::store::{Mesh, MeshLocation, MeshOptions};

/// Argument that starts this program as a contender.
pub const FLAG: &str = "--contend";

const CONTENDERS: usize = 8;
const WALL_TIME: Duration = Duration::from_millis(500);
/// About the time it takes to write a small file and rename it.
const HOLD: Duration = Duration::from_micros(20);

/// What a contender repeats.
#[derive(Clone, Copy, Debug)]
pub enum Way {
    MeshLock,
    MeshLockHeld,
    /// `flock` on a file that stays open.
    Flock,
    FlockHeld,
    /// `flock` on a file that is opened each time.
    OpenAndFlock,
    SwarmLock,
    /// `flock` on a file that stays open; while it is held, another file is created and removed.
    FlockAndFile,
}

impl Way {
    const ALL: [Self; 7] = [
        Self::MeshLock,
        Self::MeshLockHeld,
        Self::Flock,
        Self::FlockHeld,
        Self::OpenAndFlock,
        Self::SwarmLock,
        Self::FlockAndFile,
    ];
}

/// Result of one run with all contenders.
pub struct Run {
    /// Lock acquisitions per second, of all contenders together.
    pub rate: f64,
    /// Acquisitions of the contender with the fewest, divided by the mean.
    pub slowest: f64,
}

/// Lets the contenders compete for the lock in `dir`.
pub fn contend(way: Way, dir: &Path) -> Run {
    // Closing the write end starts all contenders, which read from the other end.
    let (gate, closed) = std::io::pipe().unwrap();
    let mut contenders: Vec<Contender> = (0..CONTENDERS)
        .map(|_| {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.arg(FLAG).arg(format!("{way:?}")).arg(dir);
            command.stdin(gate.try_clone().unwrap()).stdout(Stdio::piped());
            Contender(command.spawn().unwrap())
        })
        .collect();
    contenders.iter_mut().for_each(Contender::wait_until_ready);
    drop(closed);
    let counts: Vec<f64> = contenders.iter_mut().map(Contender::count).collect();
    let sum: f64 = counts.iter().sum();
    let least = counts.iter().copied().fold(f64::INFINITY, f64::min);
    Run { rate: sum / WALL_TIME.as_secs_f64(), slowest: least / (sum / CONTENDERS as f64) }
}

struct Contender(Child);

impl Contender {
    fn wait_until_ready(&mut self) {
        self.0.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    }

    fn count(&mut self) -> f64 {
        let mut count = String::new();
        self.0.stdout.as_mut().unwrap().read_to_string(&mut count).unwrap();
        count.parse().unwrap()
    }
}

impl Drop for Contender {
    fn drop(&mut self) {
        // It has exited already, unless something went wrong.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Main function of a contender.
pub fn run(args: &[String]) {
    let [way, dir] = args else { panic!("a contender is told what to do and where") };
    let way = Way::ALL.into_iter().find(|known| format!("{known:?}") == *way).unwrap();
    let dir = Path::new(dir);
    let options = MeshOptions { durability: Durability::Process, lock_timeout: Duration::from_secs(30) };
    let mesh = Mesh::create(&MeshLocation::at(dir), options).unwrap();
    let lock_file = dir.join("plain.lock");
    match way {
        Way::MeshLock => repeat(|| drop(mesh.lock().unwrap())),
        Way::MeshLockHeld => repeat(|| {
            let locked = mesh.lock().unwrap();
            hold();
            drop(locked);
        }),
        Way::SwarmLock => repeat(|| drop(mesh.lock().unwrap().lock_claims().unwrap())),
        Way::OpenAndFlock => repeat(|| drop(lock(open(&lock_file)))),
        Way::Flock => repeat_with(open(&lock_file), || {}),
        Way::FlockHeld => repeat_with(open(&lock_file), hold),
        Way::FlockAndFile => {
            let file = dir.join("plain.swarm");
            repeat_with(open(&lock_file), || {
                drop(OpenOptions::new().write(true).create_new(true).open(&file).unwrap());
                std::fs::remove_file(&file).unwrap();
            });
        }
    }
}

fn repeat_with(lock_file: File, mut work: impl FnMut()) {
    let mut free = Some(lock_file);
    repeat(|| {
        let held = lock(free.take().unwrap());
        work();
        free = Some(held.unlock().unwrap());
    });
}

fn repeat(mut once: impl FnMut()) {
    // Initialises everything that is created at first use.
    once();
    let mut stdout = std::io::stdout();
    stdout.write_all(b"!").unwrap();
    stdout.flush().unwrap();
    // Nothing is ever written to it: end of file is the start signal.
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    let started = Instant::now();
    let mut count = 0_u64;
    while started.elapsed() < WALL_TIME {
        once();
        count += 1;
    }
    write!(stdout, "{count}").unwrap();
}

fn hold() {
    let started = Instant::now();
    while started.elapsed() < HOLD {
        std::hint::spin_loop();
    }
}

fn open(path: &Path) -> File {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).unwrap()
}

fn lock(file: File) -> Flock<File> {
    Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, errno)| errno).unwrap()
}
