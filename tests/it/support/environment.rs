//! The environment of every test: a mesh and a home of its own, no environment variables, and processes that host
//! agents.

use std::cell::RefCell;
use std::fs;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::statvfs::statvfs;
use ravenry::domain::settings::Durability;
use ravenry::store::{Mesh, MeshLocation, MeshOptions};
use ravenry::sys::test_switches;
use serde_json::Value;

/// The longest that a test waits for a state. Reaching it is a failure, so it may be generous.
pub const PATIENCE: Duration = Duration::from_secs(180);

/// With `RAVENRY_WHOLE_SWEEPS=N`, sweeps try one pair of deaths in N and leave out no single one, and
/// races run all their rounds.
pub fn sweep_stride() -> Option<usize> {
    let stride = std::env::var("RAVENRY_WHOLE_SWEEPS").ok()?;
    Some(stride.parse().expect("RAVENRY_WHOLE_SWEEPS is a number"))
}

pub fn is_whole() -> bool {
    sweep_stride().is_some()
}

/// All of the rounds, or an eighth of them.
pub fn rounds(whole: usize) -> usize {
    if is_whole() { whole } else { whole / 8 }
}

/// Every step of a sweep, or every other one.
pub fn steps() -> usize {
    if is_whole() { 1 } else { 2 }
}

/// Makes a program. Another process writes it: what a child of another test's thread still has open for writing could
/// not be started.
pub fn put_program(path: &Path, text: &str) {
    let mut command = Command::new("sh");
    command.args(["-c", "cat > \"$0\" && chmod 755 \"$0\""]).arg(path).stdin(Stdio::piped());
    let mut shell = command.spawn().unwrap();
    std::io::Write::write_all(&mut shell.stdin.take().unwrap(), text.as_bytes()).unwrap();
    assert!(shell.wait().unwrap().success());
}

/// A host is in no terminal, whoever runs the tests in one.
fn without_terminal(command: &mut Command) -> &mut Command {
    command.env_remove("TMUX").env_remove("WINDOWID").stdin(Stdio::null())
}

/// Waits until `is_so` returns true.
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let give_up = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < give_up, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Waits until nobody can read the process's standard output. The reader's end may be closed here and still be open in
/// a child of another test that has not yet called `exec`.
#[track_caller]
pub fn wait_until_unheard(pid: u32) {
    let output = PathBuf::from(format!("/proc/{pid}/fd/1"));
    wait_until("nobody reads", || has_no_reader(&output));
}

/// A pipe that nobody reads.
pub fn unheard() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let path = PathBuf::from(format!("/proc/self/fd/{}", writer.as_raw_fd()));
    wait_until("nobody reads", || has_no_reader(&path));
    writer.into()
}

fn has_no_reader(pipe: &Path) -> bool {
    let writer = fs::File::options().write(true).custom_flags(libc::O_NONBLOCK).open(pipe).unwrap();
    let mut polled = [PollFd::new(writer.as_fd(), PollFlags::POLLOUT)];
    poll(&mut polled, PollTimeout::ZERO).unwrap();
    polled[0].revents().is_some_and(|events| events.contains(PollFlags::POLLERR))
}

/// Where tests create their files: in `$TMPDIR`, or in memory if there is room. Tests kill processes, not machines, and
/// a disk takes twice as long.
fn ground() -> PathBuf {
    const ROOM: u64 = 4 << 30;
    let memory = Path::new("/dev/shm");
    let room = statvfs(memory).map_or(0, |there| there.blocks_available() * there.fragment_size());
    let is_chosen = std::env::var_os("TMPDIR").is_some();
    if !is_chosen && room >= ROOM { memory.to_path_buf() } else { std::env::temp_dir() }
}

/// A throw-away home and mesh. Nothing of the test's environment reaches the program: neither variables nor the harness
/// that may have started the tests.
pub struct TestEnvironment {
    dir: tempfile::TempDir,
    /// The mesh is named by the user's configuration, not by `$MSG_MESH`.
    is_configured: bool,
    /// The time for all commands, if it stands still.
    time: Option<&'static str>,
    hosts: RefCell<Vec<Child>>,
}

/// How a command ended.
pub struct Ended {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self}"))
    }

    /// The kind of the error that it answered with.
    #[track_caller]
    pub fn kind(&self) -> String {
        self.json()["error"]["kind"].as_str().unwrap_or_else(|| panic!("no error: {self}")).to_string()
    }

    #[track_caller]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.code, self.signal) {
            (Some(0), _) => {}
            (Some(code), _) => writeln!(f, "[exit {code}]")?,
            (None, signal) => writeln!(f, "[signal {signal:?}]")?,
        }
        write!(f, "{}", self.stdout)?;
        if !self.stderr.is_empty() {
            write!(f, "--- stderr\n{}", self.stderr)?;
        }
        Ok(())
    }
}

impl TestEnvironment {
    /// With `RAVENRY_TEST_MESH=config` in the environment of the tests, all of them find the mesh by the user's
    /// configuration, as most users do.
    pub fn new() -> Self {
        Self::make(std::env::var_os("RAVENRY_TEST_MESH").is_some_and(|from| from == "config"))
    }

    /// An environment whose mesh is named by the user's configuration.
    pub fn configured() -> Self {
        Self::make(true)
    }

    /// An environment in which it is always this time.
    pub fn at(time: &'static str) -> Self {
        let mut env = Self::new();
        env.time = Some(time);
        env
    }

    fn make(is_configured: bool) -> Self {
        let dir = tempfile::Builder::new().prefix("ravenry-").tempdir_in(ground()).unwrap();
        for name in ["home", "work"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        let env = Self { dir, is_configured, time: None, hosts: RefCell::default() };
        if is_configured {
            env.configure("{}");
        }
        env
    }

    /// The user's configuration file.
    pub fn config_file(&self) -> PathBuf {
        self.home().join(".config/ravenry/config.json")
    }

    /// Writes the user's configuration, including the mesh if it is to be found there.
    pub fn configure(&self, text: &str) {
        let mut config: Value = serde_json::from_str(text).unwrap();
        if self.is_configured {
            config["mesh"] = self.mesh().to_str().unwrap().into();
        }
        put(&self.config_file(), &config.to_string());
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn home(&self) -> PathBuf {
        self.path().join("home")
    }

    /// The directory that commands run in.
    pub fn work(&self) -> PathBuf {
        self.path().join("work")
    }

    pub fn mesh(&self) -> PathBuf {
        self.path().join("mesh")
    }

    /// Opens the mesh through the library.
    pub fn store(&self) -> Mesh {
        open_mesh(&self.mesh(), Duration::from_secs(30))
    }

    /// `msg`, confined to this environment. It waits long for a lock, and starts no background jobs, unless a test
    /// wants it to.
    pub fn msg(&self) -> Command {
        link_fast_spawning();
        let mut command = Command::new(env!("CARGO_BIN_EXE_msg"));
        command.env_clear().env("HOME", self.home()).env("PATH", path()).env("TZ", "UTC0");
        if !self.is_configured {
            command.env("MSG_MESH", self.mesh());
        }
        command.env(test_switches::ANCESTRY_END, std::process::id().to_string());
        command.env(test_switches::BACKGROUND, "off");
        // A hook that is cut off on a busy machine answers nothing. Tests of the limit take this back.
        command.env(test_switches::NO_HOOK_LIMIT, "1");
        // A disk that stands still for a while must not end a test.
        command.env("MSG_LOCK_TIMEOUT", PATIENCE.as_secs().to_string());
        command.envs(self.time.map(|time| (test_switches::NOW, time)));
        command.current_dir(self.work()).stdin(Stdio::null());
        command
    }

    pub fn run(&self, args: &[&str]) -> Ended {
        end(self.msg().args(args))
    }

    pub fn run_with(&self, args: &[&str], variables: &[(&str, &str)]) -> Ended {
        end(self.msg().args(args).envs(variables.iter().copied()))
    }

    /// Runs a command that must succeed; returns its JSON answer.
    #[track_caller]
    pub fn ok(&self, args: &[&str]) -> Value {
        self.run(&[args, &["--json"]].concat()).expect_code(0).json()
    }

    /// Runs a command that must fail with that exit code; returns the kind of the error.
    #[track_caller]
    pub fn fails(&self, code: i32, args: &[&str]) -> String {
        self.run(&[args, &["--json"]].concat()).expect_code(code).kind()
    }

    /// The text as a snapshot has it: `[DIR]` is the directory of this test, `[MSG]` the program, `[PID]` a live host.
    pub fn redact(&self, text: impl std::fmt::Display) -> String {
        let mut text = text.to_string();
        for pid in self.hosts.borrow().iter().map(Child::id) {
            let named = format!("process {pid}");
            // It may be the beginning of another pid.
            let is_other = |rest: &str| rest.starts_with(|next: char| next.is_ascii_digit());
            let put_back =
                |rest: &str| if is_other(rest) { &named } else { "process [PID]" }.to_string() + rest;
            let mut parts = text.split(&named);
            let first = parts.next().unwrap_or_default().to_string();
            text = parts.fold(first, |text, rest| text + &put_back(rest));
        }
        for dir in [fs::canonicalize(self.path()).unwrap(), self.path().to_path_buf()] {
            text = text.replace(dir.to_str().unwrap(), "[DIR]");
        }
        text.replace(env!("CARGO_BIN_EXE_msg"), "[MSG]")
    }

    /// Commands with their answers, as a snapshot has them.
    pub fn transcript(&self, commands: &[&[&str]]) -> String {
        let answers = commands.iter().map(|args| format!("$ msg {}\n{}", args.join(" "), self.run(args)));
        self.redact(answers.collect::<Vec<_>>().join("\n"))
    }

    /// What `doctor` reports under that name, as a snapshot has it.
    #[track_caller]
    pub fn doctor_says(&self, name: &str) -> String {
        self.findings(&self.run(&["doctor", "--json"]), name)
    }

    /// The checks of that name in an answer of `doctor --json`, each with its fix.
    #[track_caller]
    pub fn findings(&self, ended: &Ended, name: &str) -> String {
        let answer = ended.json();
        let is_well = answer["checks"].as_array().unwrap().iter().all(|check| check["state"] != "fail");
        assert_eq!(
            (ended.code, &answer["ok"]),
            (Some(if is_well { 0 } else { 4 }), &is_well.into()),
            "{ended}"
        );
        let of_name = answer["checks"].as_array().unwrap().iter().filter(|check| check["name"] == name);
        let text = of_name.map(|check| {
            let [state, message, fix] = ["state", "message", "fix"].map(|key| check[key].as_str());
            let fix = fix.map(|fix| format!("\nfix: {fix}")).unwrap_or_default();
            format!("{}: {}{fix}", state.unwrap(), message.unwrap())
        });
        self.redact(text.collect::<Vec<_>>().join("\n"))
    }

    /// A process that lives until it is killed or the test is over.
    pub fn host(&self) -> u32 {
        let child =
            without_terminal(Command::new("sleep").arg("1000")).stdout(Stdio::null()).spawn().unwrap();
        let pid = child.id();
        self.hosts.borrow_mut().push(child);
        pid
    }

    /// Like [`Self::host`], but looks like pi: so it is not taken for another process that reused a dead agent's pid,
    /// however long ago the agent says it started.
    pub fn pi_host(&self) -> u32 {
        let mut command = Command::new("sleep");
        without_terminal(command.arg0("pi").arg("1000")).stdout(Stdio::null());
        let child = command.spawn().unwrap();
        let pid = child.id();
        self.hosts.borrow_mut().push(child);
        // The arguments are visible a moment after the program itself.
        wait_until("it looks like pi", || {
            fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.starts_with(b"pi\0"))
        });
        pid
    }

    /// Kills a host with SIGKILL and reaps it.
    pub fn kill(&self, pid: u32) {
        let mut hosts = self.hosts.borrow_mut();
        let at = hosts.iter().position(|child| child.id() == pid).expect("a host of this test");
        let mut child = hosts.remove(at);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Joins under that name, with a host and a session of its own. Returns the host.
    #[track_caller]
    pub fn join(&self, name: &str) -> u32 {
        let host = self.host();
        self.ok(&["join", name, "--pid", &host.to_string(), "--session", &format!("session of {name}")]);
        host
    }

    /// The names of the live agents, as listed by `agents`.
    #[track_caller]
    pub fn names(&self) -> Vec<String> {
        let listing = self.ok(&["agents"]);
        let agents = listing["agents"].as_array().unwrap();
        agents.iter().map(|agent| agent["name"].as_str().unwrap().to_string()).collect()
    }

    /// A registration as it is on disk.
    #[track_caller]
    pub fn registration(&self, name: &str) -> Value {
        let text = fs::read_to_string(self.mesh().join(format!("registry/{name}.json"))).unwrap();
        serde_json::from_str(&text).unwrap()
    }

    /// Puts a message as pi-messenger would write it into an inbox.
    pub fn drop_mail(&self, name: &str, file: &str) {
        let inbox = self.mesh().join("inbox").join(name);
        fs::create_dir_all(&inbox).unwrap();
        let text = format!(
            "{{\"id\":\"{file}\",\"from\":\"X\",\"to\":\"{name}\",\"text\":\"hi\",\
             \"timestamp\":\"2026-11-14T23:57:56.113Z\",\"replyTo\":null}}"
        );
        fs::write(inbox.join(format!("{file}.json")), text).unwrap();
    }

    /// Every message in the mesh, wherever it is: `inbox/<Name>/x.json`, `graves/<Name>-…/inbox/x.json`.
    pub fn mail(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut look = |dir: PathBuf| {
            let Ok(entries) = fs::read_dir(&dir) else { return };
            for entry in entries {
                let path = entry.unwrap().path();
                let shown = path.strip_prefix(self.mesh()).unwrap().display().to_string();
                found.push(shown);
            }
        };
        for place in ["inbox", "graves"] {
            for entry in fs::read_dir(self.mesh().join(place)).unwrap() {
                let dir = entry.unwrap().path();
                look(if place == "graves" { dir.join("inbox") } else { dir });
            }
        }
        found.sort();
        found
    }
}

impl Drop for TestEnvironment {
    fn drop(&mut self) {
        for child in self.hosts.get_mut() {
            child.kill().ok();
            child.wait().ok();
        }
    }
}

/// Makes commands with a working directory start without copying this process, which is large. The standard library
/// does so only where this function exists, and a static program has it only if something refers to it.
fn link_fast_spawning() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    std::hint::black_box(libc::posix_spawn_file_actions_addchdir_np as *const ());
}

pub fn end(command: &mut Command) -> Ended {
    let output = loop {
        match command.output() {
            // The program was just copied, and another thread forked while it was being written.
            Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            ended => break ended.unwrap(),
        }
    };
    Ended {
        code: output.status.code(),
        signal: output.status.signal(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

pub fn open_mesh(dir: &Path, lock_timeout: Duration) -> Mesh {
    let options = MeshOptions { durability: Durability::Process, lock_timeout };
    Mesh::create(&MeshLocation::at(dir), options).unwrap()
}

fn path() -> String {
    std::env::var("PATH").unwrap_or_default()
}

/// All files beneath a directory, in order.
pub fn files_in(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files_in(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// Writes a file, and creates its parent directories.
pub fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Writes a file that looks an hour old: one younger than a second may be half written, so it is read again and again
/// before it counts as damaged.
pub fn put_old(path: &Path, text: &str) {
    put(path, text);
    date(path, std::time::SystemTime::now() - Duration::from_secs(3600));
}

/// Sets a file's modification time.
pub fn date(path: &Path, time: std::time::SystemTime) {
    fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}
