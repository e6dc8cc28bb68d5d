//! The locks under processes that start, end and are killed while they hold them.
//!
//! The oracle is a journal that is independent of the locks: a worker inside the lock appends a line when it enters,
//! and one when it leaves or is about to kill itself. Lines are appended whole and in order, so two workers inside at
//! once show as an `enter` that follows another `enter`. A killed worker writes nothing after its `killed` line, so
//! what follows that is not an overlap.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use insta::{allow_duplicates, assert_snapshot};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ravenry::store::StoreError;
use ravenry::sys::flock::FileLock;

use crate::support::environment::{TestEnvironment, open_mesh, rounds, wait_until};

const SLOTS: usize = 8;
const ACQUISITIONS: usize = 20_000;
/// How often a worker acquires the lock before a new process replaces it.
const LIFE: usize = 50;

#[derive(Clone, Copy, PartialEq)]
enum Protocol {
    Mesh,
    Swarm,
    /// The obvious first attempt: unlink a dead pid's lock file and create one's own.
    Naive,
}

impl Protocol {
    fn name(self) -> &'static str {
        match self {
            Self::Mesh => "mesh",
            Self::Swarm => "swarm",
            Self::Naive => "naive",
        }
    }

    /// Holds the lock while `inside` runs.
    fn hold(self, dir: &Path, inside: impl FnOnce()) {
        match self {
            Self::Mesh => {
                let mesh = open_mesh(&dir.join("mesh"), Duration::from_secs(60));
                let _locked = mesh.lock().unwrap();
                inside();
            }
            Self::Swarm => {
                let mesh = open_mesh(&dir.join("mesh"), Duration::from_secs(60));
                let locked = mesh.lock().unwrap();
                let _swarm = locked.lock_claims().unwrap();
                inside();
            }
            Self::Naive => {
                let lock = dir.join("naive.lock");
                while let Err(_exists) =
                    File::create_new(&lock).and_then(|mut file| write!(file, "{}", std::process::id()))
                {
                    let holder = fs::read_to_string(&lock).ok().and_then(|text| text.parse().ok());
                    if let Some(pid) = holder
                        && kill(Pid::from_raw(pid), None).is_err()
                    {
                        fs::remove_file(&lock).ok();
                    }
                    std::thread::yield_now();
                }
                inside();
                fs::remove_file(&lock).ok();
            }
        }
    }
}

/// The task of a worker process.
struct Work {
    protocol: Protocol,
    dir: PathBuf,
    slot: usize,
    /// At which acquisition it kills itself, holding the lock.
    dies_at: Option<usize>,
}

impl Work {
    fn from_environment() -> Option<Self> {
        let value = |name: &str| std::env::var(format!("LOCK_WORKER_{name}")).ok();
        let protocol = [Protocol::Mesh, Protocol::Swarm, Protocol::Naive];
        let named = value("PROTOCOL")?;
        Some(Self {
            protocol: protocol.into_iter().find(|protocol| protocol.name() == named).unwrap(),
            dir: value("DIR")?.into(),
            slot: value("SLOT")?.parse().unwrap(),
            dies_at: value("DIES_AT").map(|text| text.parse().unwrap()),
        })
    }

    fn spawn(&self) -> Worker {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "locks::a_worker_alone_is_never_inside_twice", "--nocapture", "--quiet"]);
        command.env("LOCK_WORKER_PROTOCOL", self.protocol.name());
        command.env("LOCK_WORKER_DIR", &self.dir).env("LOCK_WORKER_SLOT", self.slot.to_string());
        if let Some(at) = self.dies_at {
            command.env("LOCK_WORKER_DIES_AT", at.to_string());
        }
        Worker(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap())
    }

    fn run(&self) {
        let mut journal = Journal::open(&self.dir);
        for acquisition in 1..=LIFE {
            self.protocol.hold(&self.dir, || {
                journal.write("enter", self.slot);
                // Another worker may run now, if the lock allows it.
                std::thread::yield_now();
                if self.dies_at == Some(acquisition) {
                    journal.write("killed", self.slot);
                    kill(Pid::this(), Signal::SIGKILL).unwrap();
                }
                journal.write("leave", self.slot);
            });
        }
    }
}

/// A worker process; it is killed with the test, however that ends.
struct Worker(Child);

impl Worker {
    fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

struct Journal(File);

impl Journal {
    fn path(dir: &Path) -> PathBuf {
        dir.join("journal")
    }

    fn open(dir: &Path) -> Self {
        Self(OpenOptions::new().append(true).create(true).open(Self::path(dir)).unwrap())
    }

    fn write(&mut self, event: &str, slot: usize) {
        self.0.write_all(format!("{event} {slot} {}\n", std::process::id()).as_bytes()).unwrap();
    }

    fn read(dir: &Path) -> Verdict {
        let mut verdict = Verdict::default();
        let mut inside: Option<String> = None;
        for line in fs::read_to_string(Self::path(dir)).unwrap().lines() {
            let (event, who) = line.split_once(' ').unwrap();
            if event == "enter" {
                verdict.overlaps += usize::from(inside.replace(who.to_string()).is_some());
                let slot = who.split(' ').next().unwrap().parse().unwrap();
                *verdict.per_slot.entry(slot).or_default() += 1;
            } else {
                verdict.kills += usize::from(event == "killed");
                verdict.overlaps += usize::from(inside.take().as_deref() != Some(who));
            }
        }
        verdict
    }
}

#[derive(Debug, Default)]
struct Verdict {
    overlaps: usize,
    kills: usize,
    per_slot: BTreeMap<usize, usize>,
}

impl Verdict {
    fn acquisitions(&self) -> usize {
        self.per_slot.values().sum()
    }
}

/// Runs eight processes at a time, one in four of them killed while it holds the lock, until it was acquired this
/// often.
fn storm(protocol: Protocol, acquisitions: usize) -> Verdict {
    let env = TestEnvironment::new();
    let mut lives = 0;
    let mut start = |slot: usize| {
        lives += 1;
        // Which one dies, and when, varies within a run but is the same in every run.
        let dies_at = (lives % 4 == 0).then_some(1 + lives * 7 % LIFE);
        Work { protocol, dir: env.path().to_path_buf(), slot, dies_at }.spawn()
    };
    let mut workers: Vec<Worker> = (0..SLOTS).map(&mut start).collect();
    let journal = || fs::metadata(Journal::path(env.path())).map_or(0, |metadata| metadata.len());
    // Each acquisition is two lines of about 15 bytes; the oracle counts them exactly.
    let enough = acquisitions as u64 * 2 * 14;
    wait_until("the lock was acquired often enough", || {
        for (slot, worker) in workers.iter_mut().enumerate() {
            if worker.has_ended() && journal() < enough {
                *worker = start(slot);
            }
        }
        journal() >= enough
    });
    // All of them together: the naive protocol takes a dead worker for alive until it is reaped.
    wait_until("the last workers are done", || {
        workers.iter_mut().map(Worker::has_ended).filter(|ended| !ended).count() == 0
    });
    Journal::read(env.path())
}

fn assert_held_by_one(protocol: Protocol) {
    let acquisitions = rounds(ACQUISITIONS);
    let verdict = storm(protocol, acquisitions);
    assert_eq!(verdict.overlaps, 0, "{verdict:?}");
    assert!(verdict.acquisitions() >= acquisitions, "{verdict:?}");
    assert!(verdict.kills >= acquisitions / LIFE / 5, "{verdict:?}");
    // How many each got is up to the scheduler.
    assert_eq!(verdict.per_slot.len(), SLOTS, "every slot got it: {verdict:?}");
}

/// The storms run this test as their workers.
#[test]
fn a_worker_alone_is_never_inside_twice() {
    if let Some(work) = Work::from_environment() {
        return work.run();
    }
    for protocol in [Protocol::Mesh, Protocol::Swarm, Protocol::Naive] {
        let env = TestEnvironment::new();
        Work { protocol, dir: env.path().to_path_buf(), slot: 0, dies_at: None }.run();
        let verdict = Journal::read(env.path());
        assert_eq!((verdict.overlaps, verdict.acquisitions()), (0, LIFE));
    }
}

#[test]
fn mesh_lock_has_one_holder_through_kills() {
    assert_held_by_one(Protocol::Mesh);
}

#[test]
fn swarm_lock_has_one_holder_through_kills() {
    assert_held_by_one(Protocol::Swarm);
}

/// Without this, the two tests above would prove nothing. A race needs luck, so there are several storms.
#[test]
fn the_oracle_sees_what_the_naive_protocol_does() {
    const STORMS: usize = 40;
    let is_seen = (0..STORMS).any(|_| storm(Protocol::Naive, ACQUISITIONS / 8).overlaps > 0);
    assert!(is_seen, "no overlap in {STORMS} storms");
}

/// A process that does not wait at all gets the lock of a killed holder.
#[test]
fn a_crashed_holder_delays_nobody() {
    for protocol in [Protocol::Mesh, Protocol::Swarm] {
        let env = TestEnvironment::new();
        let dir = env.path().to_path_buf();
        let mut holder = Work { protocol, dir: dir.clone(), slot: 0, dies_at: Some(1) }.spawn();
        wait_until("the holder has killed itself", || holder.has_ended());
        assert!(fs::read_to_string(Journal::path(&dir)).unwrap().contains("killed"), "it held the lock");
        let mesh = open_mesh(&dir.join("mesh"), Duration::ZERO);
        let locked = mesh.lock().unwrap_or_else(|error| panic!("{}: {error}", protocol.name()));
        drop(locked.lock_claims().unwrap_or_else(|error| panic!("{}: {error}", protocol.name())));
    }
}

/// Takes `swarm.lock` with a file of this content in the way. The error says who holds it.
fn swarm_with(content: &str, age: Duration) -> Result<(), StoreError> {
    let env = TestEnvironment::new();
    let mesh = open_mesh(&env.mesh(), Duration::from_millis(50));
    let path = env.mesh().join("swarm.lock");
    fs::write(&path, content).unwrap();
    let then = std::time::SystemTime::now() - age;
    File::options().write(true).open(&path).unwrap().set_modified(then).unwrap();
    let locked = mesh.lock()?;
    let swarm = locked.lock_claims()?;
    let ours = fs::read_to_string(&path).unwrap();
    assert_eq!(
        ours.lines().next(),
        Some(std::process::id().to_string().as_str()),
        "as pi-messenger reads it"
    );
    drop(swarm);
    assert!(!path.exists());
    Ok(())
}

#[test]
fn what_pi_messenger_leaves_in_the_way() {
    let env = TestEnvironment::new();
    let (live, dead) = (env.host(), env.host());
    env.kill(dead);
    let (now, long_ago) = (Duration::ZERO, Duration::from_secs(3600));
    swarm_with(&dead.to_string(), now).expect("a dead one's is broken");
    swarm_with(&live.to_string(), long_ago)
        .expect("the process is younger than the lock: its pid was reused");
    swarm_with("", Duration::from_secs(11)).expect("an empty one is broken after ten seconds");
    swarm_with("garbage", Duration::from_secs(11)).expect("an unreadable one too");
    for held in [live.to_string(), format!("{live}\n"), String::new(), "garbage".to_string()] {
        let error = swarm_with(&held, now).unwrap_err();
        assert!(matches!(error, StoreError::SwarmLockTimedOut { .. }), "{held:?}: {error}");
    }
}

#[test]
fn pi_messengers_own_lock_file_is_understood() {
    let pi = include_str!("../../fixtures/pi-messenger/swarm.lock");
    assert_eq!(pi.trim(), "12706", "a bare pid");
    let mine = std::process::id().to_string();
    let error = swarm_with(&pi.replace("12706", &mine), Duration::ZERO).unwrap_err();
    assert!(error.to_string().contains(&format!("held by process {mine}")), "{error}");
}

/// An owner removes only its own lock.
#[test]
fn a_lock_that_somebody_broke_and_took_is_not_removed() {
    let env = TestEnvironment::new();
    let mesh = env.store();
    let path = env.mesh().join("swarm.lock");
    let locked = mesh.lock().unwrap();
    let swarm = locked.lock_claims().unwrap();
    fs::remove_file(&path).unwrap();
    fs::write(&path, "1").unwrap();
    drop(swarm);
    assert_eq!(fs::read_to_string(&path).unwrap(), "1");
}

#[test]
fn waiting_has_a_limit_and_the_error_names_lock_and_holder() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let held = FileLock::acquire(&env.mesh().join("mesh.lock"), Duration::ZERO).unwrap();
    let ended =
        env.run_with(&["set-status", "x", "--as", "Alice", "--json"], &[("MSG_LOCK_TIMEOUT", "0.05")]);
    let error = &ended.expect_code(5).json()["error"];
    assert_eq!(error["kind"], "lock_timeout");
    assert!(error["lock"].as_str().unwrap().ends_with("mesh.lock"));
    if cfg!(target_os = "linux") {
        assert_eq!(error["holder"], std::process::id());
    }
    drop(held);
    env.ok(&["set-status", "x", "--as", "Alice"]);
}

#[test]
fn a_file_system_without_flock_is_refused() {
    let env = TestEnvironment::new();
    let host = env.host().to_string();
    for answer in ["unsupported", "useless"] {
        let ended = env
            .run_with(&["join", "--pid", &host, "--json"], &[(ravenry::sys::test_switches::FLOCK, answer)]);
        let ended = ended.expect_code(4);
        assert_eq!(ended.kind(), "no_flock", "{answer}");
        let hint = ended.json()["error"]["hints"][0].clone();
        allow_duplicates! { assert_snapshot!(
            hint.as_str().unwrap(),
            @"put the mesh on a local disk: `msg config set mesh DIR`, or `--mesh DIR`"
        ) };
        assert!(env.names().is_empty());
    }
}
