//! The surroundings of a client: a temporary home, repository and mesh, and another agent that holds a file.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use serde_json::Value;

/// A client that has not ended by then is killed, and its check has failed.
const LIMIT: Duration = Duration::from_secs(300);

/// A file that the other agent holds, and one that nobody holds.
pub const HELD: &str = "src/held.rs";
pub const FREE: &str = "src/free.rs";
/// The content of both files at the start; clients are told to change it.
pub const OLD: &str = "fn old() {}";
pub const NEW: &str = "fn new() {}";
/// The reason of the other agent's reservation.
pub const REASON: &str = "the parser is being rewritten";

pub struct Scene {
    dir: PathBuf,
    /// The directory of Node.js, for clients that need it.
    node: Option<PathBuf>,
    /// The process of the other agent.
    other: Child,
    /// The number of programs that were run.
    runs: AtomicUsize,
}

/// How a program ended.
#[derive(Debug)]
pub struct Ended {
    /// `None`: it had to be killed.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// A program that runs.
pub struct Running {
    pub child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl Running {
    /// Its output so far.
    pub fn said(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.out).unwrap()).into_owned()
    }

    fn signal(&self, signal: Signal) {
        let group = nix::unistd::Pid::from_raw(self.child.id().try_into().unwrap());
        killpg(group, signal).ok();
    }

    /// The same, without a code, with its errors.
    pub fn said_so_far(&self) -> Ended {
        let stderr = String::from_utf8_lossy(&fs::read(&self.err).unwrap()).into_owned();
        Ended { code: None, stdout: self.said(), stderr }
    }

    /// It ended with that code, or has to end now. Usually no process of it is left.
    pub fn end(mut self, code: Option<i32>) -> Ended {
        self.signal(Signal::SIGKILL);
        drop(self.child.wait());
        Ended { code, ..self.said_so_far() }
    }
}

impl Scene {
    pub fn new(dir: PathBuf, node: Option<PathBuf>) -> Self {
        for name in [
            "home/.config",
            "home/.local/state",
            "home/.local/share",
            "home/.cache",
            "tmp",
            "home/.local/bin",
            "repo/src",
        ] {
            fs::create_dir_all(dir.join(name)).unwrap();
        }
        let other = Command::new("sleep").arg("3600").stdin(Stdio::null()).spawn().unwrap();
        let scene = Self { dir, node, other, runs: AtomicUsize::new(0) };
        scene.put_msg_there();
        // Some models' shells are login shells.
        scene.write(".profile", "PATH=\"$HOME/.local/bin:$PATH\"\n");
        scene.restore();
        for args in [&["init", "-q", "-b", "main"][..], &["add", "-A"], &["commit", "-qm", "all of it"]] {
            scene.git(args);
        }
        scene
    }

    /// Runs git in the repository.
    pub fn git(&self, args: &[&str]) {
        let who = ["-c", "user.name=dev", "-c", "user.email=dev@example.org"];
        self.must(self.command("git").args(who).args(args));
    }

    /// Restores the files of the repository.
    pub fn restore(&self) {
        for file in [HELD, FREE] {
            fs::write(self.repo().join(file), format!("{OLD}\n")).unwrap();
        }
    }

    pub fn home(&self) -> PathBuf {
        self.dir.join("home")
    }

    pub fn repo(&self) -> PathBuf {
        self.dir.join("repo")
    }

    pub fn text(&self, file: &str) -> String {
        fs::read_to_string(self.repo().join(file)).unwrap_or_default()
    }

    /// Writes a file of the user in the home.
    pub fn write(&self, file: &str, text: &str) {
        let path = self.home().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn msg_path(&self) -> PathBuf {
        self.home().join(".local/bin/msg")
    }

    pub fn put_msg_there(&self) {
        self.remove_msg();
        fs::copy(env!("CARGO_BIN_EXE_msg"), self.msg_path()).unwrap();
    }

    pub fn remove_msg(&self) {
        drop(fs::remove_file(self.msg_path()));
    }

    /// Replaces `msg` by what an interrupted update leaves behind.
    pub fn break_msg(&self) {
        self.put_msg_there();
        let bytes = fs::read(self.msg_path()).unwrap();
        fs::write(self.msg_path(), &bytes[..64 * 1024]).unwrap();
    }

    /// A program in the repository, without our own environment.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let home = self.home();
        let mut path = vec![home.join(".local/bin")];
        path.extend(self.node.clone());
        path.extend(["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from));
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.repo()).stdin(Stdio::null());
        command.env("HOME", &home).env("PATH", std::env::join_paths(path).unwrap());
        command.env("LANG", "C.UTF-8").env("TERM", "xterm-256color").env("TMPDIR", self.dir.join("tmp"));
        command.env("XDG_CONFIG_HOME", home.join(".config")).env("XDG_CACHE_HOME", home.join(".cache"));
        // The harness that runs these tests is not one of theirs.
        command.env(ravenry::sys::test_switches::ANCESTRY_END, std::process::id().to_string());
        command
            .env("XDG_STATE_HOME", home.join(".local/state"))
            .env("XDG_DATA_HOME", home.join(".local/share"));
        command
    }

    /// Runs it to its end.
    pub fn run(&self, command: &mut Command) -> Ended {
        self.run_while(command, |_| true)
    }

    /// Runs it until it ends, or until `is_so` is false for its output so far; then it is told to end.
    pub fn run_while(&self, command: &mut Command, mut is_so: impl FnMut(&str) -> bool) -> Ended {
        let mut running = self.start(command);
        let give_up = Instant::now() + LIMIT;
        let mut is_told = false;
        let code = loop {
            match running.child.try_wait().unwrap() {
                Some(status) => break status.code(),
                None if Instant::now() > give_up => break None,
                None => std::thread::sleep(Duration::from_millis(10)),
            }
            if !is_told && !is_so(&running.said()) {
                running.signal(Signal::SIGTERM);
                is_told = true;
            }
        };
        running.end(code)
    }

    /// Waits for its end.
    pub fn wait_for(&self, mut running: Running) -> Ended {
        let give_up = Instant::now() + LIMIT;
        let code = loop {
            match running.child.try_wait().unwrap() {
                Some(status) => break status.code(),
                None if Instant::now() > give_up => break None,
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        };
        running.end(code)
    }

    /// Starts it as the leader of a process group.
    pub fn start(&self, command: &mut Command) -> Running {
        // Several may run at once, each with its own output files.
        let number = self.runs.fetch_add(1, Ordering::Relaxed);
        let [out, err] = ["stdout", "stderr"].map(|name| self.dir.join(format!("{name}-{number}")));
        let open = |path: &Path| fs::File::create(path).unwrap();
        command.stdout(open(&out)).stderr(open(&err)).process_group(0);
        let child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        Running { child, out, err }
    }

    fn must(&self, command: &mut Command) -> String {
        let output = command.output().unwrap();
        assert!(output.status.success(), "{command:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs `msg`, which must succeed, and returns its answer.
    pub fn msg(&self, args: &[&str]) -> Value {
        let text = self.must(self.command(env!("CARGO_BIN_EXE_msg")).args(args).arg("--json"));
        serde_json::from_str(&text).unwrap()
    }

    /// The other agent joins and reserves a file.
    pub fn let_other_in(&self) {
        self.msg(&["join", "Alice", "--pid", &self.other.id().to_string(), "--session", "session of Alice"]);
        self.msg(&["reserve", HELD, "--reason", REASON, "--as", "Alice"]);
    }

    /// The names of all agents except the other one.
    pub fn names(&self) -> Vec<String> {
        let listing = self.msg(&["agents"]);
        let names = listing["agents"].as_array().unwrap().iter().map(|agent| agent["name"].as_str().unwrap());
        names.filter(|name| *name != "Alice").map(str::to_string).collect()
    }

    /// Everything in the home and the repository except our files and git's: kind, mode and content.
    pub fn files(&self) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
        let state = self.home().join(".local/state");
        let is_ours = |dir: &Path| {
            let name = dir.file_name().unwrap_or_default().as_encoded_bytes();
            dir.parent() == Some(&state) && name.starts_with(b"ravenry") || dir == self.repo().join(".git")
        };
        let mut found = BTreeMap::new();
        let mut dirs = vec![self.home(), self.repo()];
        while let Some(dir) = dirs.pop() {
            for path in fs::read_dir(&dir).into_iter().flatten().flatten().map(|entry| entry.path()) {
                // A file that disappears meanwhile does not count.
                let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
                let content = if metadata.is_dir() {
                    if is_ours(&path) {
                        continue;
                    }
                    dirs.push(path.clone());
                    Vec::new()
                } else if metadata.is_file() {
                    fs::read(&path).unwrap_or_default()
                } else {
                    fs::read_link(&path).unwrap_or_default().into_os_string().into_encoded_bytes()
                };
                found.insert(path, (metadata.mode(), content));
            }
        }
        found
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        drop(self.other.kill());
        drop(self.other.wait());
    }
}
