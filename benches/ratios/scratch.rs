//! A mesh to be thrown away, and processes for agents to live in.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ravenry::domain::settings::Durability;
use ravenry::store::{Location, Mesh, Options};
use tempfile::TempDir;

use crate::figure::Spread;

/// The program to measure: the one that Cargo built, or another that `$RAVENRY_BINARY` names, such as a release.
pub fn program() -> PathBuf {
    std::env::var_os("RAVENRY_BINARY").map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_msg")), PathBuf::from)
}

/// A directory that goes with its owner, and in it a mesh.
pub struct Scratch {
    home: TempDir,
    hosts: Vec<Host>,
}

impl Scratch {
    pub fn new() -> Self {
        Self { home: TempDir::new().unwrap(), hosts: Vec::new() }
    }

    /// Where there is such a place, in memory: what a disk takes for a new file depends on what others do to it, and on
    /// how many were removed a while ago. For figures whose baseline makes no file.
    pub fn in_memory() -> Self {
        let home = TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).unwrap();
        Self { home, hosts: Vec::new() }
    }

    pub fn mesh(&self) -> PathBuf {
        self.home.path().join("mesh")
    }

    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// The mesh, as the library has it.
    pub fn open(&self) -> Mesh {
        let options = Options { durability: Durability::Process, lock_timeout: Duration::from_secs(30) };
        Mesh::create(&Location::at(&self.mesh()), options).unwrap()
    }

    /// A program to run with nothing of our surroundings but this directory for a home.
    pub fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.env_clear().env("HOME", self.home.path()).current_dir(self.home.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// `msg` on this mesh.
    pub fn msg(&self, args: &[&str]) -> Command {
        let mut command = self.command(program());
        command.args(args).arg("--mesh").arg(self.mesh());
        command
    }

    /// Joins an agent with a process of its own.
    pub fn join(&mut self, name: &str) {
        let host = Host::start();
        let pid = host.0.id().to_string();
        assert!(self.msg(&["join", name, "--pid", &pid]).status().unwrap().success(), "{name} can't join");
        self.hosts.push(host);
    }
}

/// A process that does nothing, and ends with its owner.
struct Host(Child);

impl Host {
    fn start() -> Self {
        // Longer than all measurements together; if we are killed, it doesn't stay for long.
        Self(Command::new("sleep").arg("120").stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Lets the standard library start processes with `posix_spawn`. A static binary has that only if something in it asks
/// for it, and what is used instead copies the page tables: the more a measurement holds, the longer every start of a
/// process would take, ours and the baseline's.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn start_without_copying() {
    use nix::libc::{gnu_get_libc_version, posix_spawn_file_actions_addchdir_np};
    std::hint::black_box((
        gnu_get_libc_version as *const (),
        posix_spawn_file_actions_addchdir_np as *const (),
    ));
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn start_without_copying() {}

/// What it takes to start the least of programs, in milliseconds. If this grows, something here slows all starts down.
pub fn least_start() -> f64 {
    const REPETITIONS: usize = 101;
    let scratch = Scratch::in_memory();
    let mut nothing = scratch.command("/bin/true");
    Spread::of((0..REPETITIONS).map(|_| time(&mut nothing).as_secs_f64() * 1e3)).median
}

/// From the start of a process to its end.
pub fn time(command: &mut Command) -> Duration {
    let started = Instant::now();
    let status = command.status().unwrap();
    let taken = started.elapsed();
    assert!(status.success(), "{command:?}: {status}");
    taken
}
