//! A temporary mesh, and host processes for its agents.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ravenry::domain::settings::Durability;
use ravenry::store::{Mesh, MeshLocation, MeshOptions};
use tempfile::TempDir;

use crate::figure::Spread;

/// The program to measure: the one that Cargo built, or the one that `$RAVENRY_BINARY` names, such as a release.
pub fn program() -> PathBuf {
    std::env::var_os("RAVENRY_BINARY").map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_msg")), PathBuf::from)
}

/// A temporary directory with a mesh in it; dropping it removes it.
pub struct Scratch {
    home: TempDir,
    hosts: Vec<Host>,
}

impl Scratch {
    pub fn new() -> Self {
        Self { home: TempDir::new().unwrap(), hosts: Vec::new() }
    }

    /// In memory, where `/dev/shm` exists: how long a disk takes to create a file depends on other processes and on
    /// how many files were removed recently. For figures whose baseline creates no file.
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

    /// The mesh, opened with the library.
    pub fn open(&self) -> Mesh {
        let options = MeshOptions { durability: Durability::Process, lock_timeout: Duration::from_secs(30) };
        Mesh::create(&MeshLocation::at(&self.mesh()), options).unwrap()
    }

    /// A command with an empty environment and this directory as its home.
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

    /// Joins an agent with its own host process.
    pub fn join(&mut self, name: &str) {
        let host = Host::start();
        let pid = host.0.id().to_string();
        assert!(self.msg(&["join", name, "--pid", &pid]).status().unwrap().success(), "{name} can't join");
        self.hosts.push(host);
    }

    /// Joins an agent whose host is this process, which starts its hooks as a harness does.
    pub fn join_here(&mut self, name: &str) {
        let pid = std::process::id().to_string();
        assert!(self.msg(&["join", name, "--pid", &pid]).status().unwrap().success(), "{name} can't join");
    }
}

/// A process that does nothing; dropping it kills it.
struct Host(Child);

impl Host {
    fn start() -> Self {
        // Longer than any measurement needs it; if we are killed, it ends soon.
        Self(Command::new("sleep").arg("120").stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Makes the standard library start processes with `posix_spawn`. A static binary contains it only if something
/// refers to it; the fallback copies the page tables, so that the more memory a measurement holds, the longer every
/// process start takes, ours and the baseline's.
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

/// Time to start a minimal program, in milliseconds. If it grows, something in here slows down all process starts.
pub fn least_start() -> f64 {
    const REPETITIONS: usize = 101;
    let scratch = Scratch::in_memory();
    let mut nothing = scratch.command("/bin/true");
    Spread::of((0..REPETITIONS).map(|_| time(&mut nothing).as_secs_f64() * 1e3)).median
}

/// Time from the start of a process to its exit.
pub fn time(command: &mut Command) -> Duration {
    let started = Instant::now();
    let status = command.status().unwrap();
    let taken = started.elapsed();
    assert!(status.success(), "{command:?}: {status}");
    taken
}
