//! Shells, on a terminal or without one, and programs that look like harnesses.
//!
//! A shell here reads lines and runs them, like the shell of a person or the tool of a harness. The output and the exit
//! code of each line are returned in files, so that the shell may have a terminal or none.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::{fs, thread};

use pty_process::blocking as pty;
use serde_json::Value;

use crate::support::environment::{Ended, TestEnvironment, wait_until};

/// A process that runs lines until it is killed or told to stop.
const LOOP: &str = "while read -r line; do eval \"$line\"; done";

pub struct Shell {
    child: Child,
    input: Box<dyn Write>,
    dir: PathBuf,
    lines: usize,
}

impl Shell {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Runs a line; its output goes to files.
    pub fn run(&mut self, line: &str) -> Ended {
        self.run_while_typing(line, "")
    }

    /// The same, while something is typed for it to read.
    fn run_while_typing(&mut self, line: &str, typed: &str) -> Ended {
        self.lines += 1;
        let file = |name: &str| self.dir.join(format!("{}.{}.{name}", self.child.id(), self.lines));
        let [out, err, code, script] = ["out", "err", "code", "sh"].map(file);
        let [to, errors, done] = [&out, &err, &code].map(|path| path.display());
        // The code is written last, by a rename, so that its presence means that the rest is there.
        let text = format!("{{ {line}\n}} >{to} 2>{errors}\necho $? >{done}.part\nmv {done}.part {done}\n");
        fs::write(&script, text).unwrap();
        write!(self.input, ". {}\n{typed}", script.display()).unwrap();
        self.input.flush().unwrap();
        wait_until("the line was run", || code.exists());
        let read = |path: &Path| fs::read_to_string(path).unwrap();
        Ended { code: read(&code).trim().parse().ok(), signal: None, stdout: read(&out), stderr: read(&err) }
    }

    /// Runs a `msg` command that must succeed.
    #[track_caller]
    pub fn msg(&mut self, line: &str) -> Value {
        self.run(&format!("{line} --json")).expect_code(0).json()
    }

    pub fn kill(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The environment of a shell: that of every test, with `msg` and the stand-ins in the `PATH`.
pub fn surroundings(env: &TestEnvironment, program: impl AsRef<std::ffi::OsStr>) -> Command {
    let tests = env.msg();
    let mut command = Command::new(program);
    command.env_clear().current_dir(env.work()).env("TERM", "xterm");
    let given = tests.get_envs().filter_map(|(name, value)| Some((name, value?)));
    command.envs(given);
    let msg = Path::new(env!("CARGO_BIN_EXE_msg")).parent().unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{}:{path}", env.path().join("bin").display(), msg.display()));
    command
}

/// A copy of `sh` under another name. Another process copies it: if this one had it open for writing while another test
/// forks, it could not be executed.
pub fn stand_in(env: &TestEnvironment, name: &str) -> PathBuf {
    let bin = env.path().join("bin");
    fs::create_dir_all(&bin).unwrap();
    let program = bin.join(name);
    if !program.exists() {
        let copied = Command::new("cp").args(["-L", "/bin/sh"]).arg(&program).status();
        assert!(copied.unwrap().success());
    }
    program
}

/// A process that looks like that harness, without a terminal of its own.
pub fn harness(env: &TestEnvironment, name: &str) -> Shell {
    harness_with(env, name, &[])
}

/// The same, started with these variables.
pub fn harness_with(env: &TestEnvironment, name: &str, variables: &[(&str, &str)]) -> Shell {
    let program = stand_in(env, name);
    let mut command = surroundings(env, program);
    command.envs(variables.iter().copied());
    let mut child = command.args(["-c", LOOP]).stdin(Stdio::piped()).spawn().unwrap();
    let input = Box::new(child.stdin.take().unwrap());
    Shell { child, input, dir: env.path().to_path_buf(), lines: 0 }
}

/// A shell that leads the session of a terminal.
pub struct Terminal {
    pub shell: Shell,
    screen: Arc<Mutex<String>>,
}

impl Terminal {
    pub fn open(env: &TestEnvironment) -> Self {
        let (terminal, pts) = pty::open().unwrap();
        let mut command = surroundings(env, "sh");
        command.args(["-c", LOOP]);
        let child = pty::Command::from(command).spawn(pts).unwrap();
        let mut output = File::from(std::os::fd::AsFd::as_fd(&terminal).try_clone_to_owned().unwrap());
        let screen = Arc::<Mutex<String>>::default();
        let shown = Arc::clone(&screen);
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                shown.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        let shell = Shell { child, input: Box::new(terminal), dir: env.path().to_path_buf(), lines: 0 };
        Self { shell, screen }
    }

    /// Runs a line whose output goes to the terminal; returns what appears there.
    pub fn show(&mut self, line: &str) -> String {
        self.show_while_typing(line, "")
    }

    /// The same; as soon as `question` is shown, `typed` is typed.
    pub fn show_and_answer(&mut self, line: &str, question: &str, typed: &str) -> String {
        self.show_and_answer_each(line, &[(question, typed)])
    }

    /// The same for a question that comes again: each time the next answer is typed.
    pub fn show_and_answer_all(&mut self, line: &str, question: &str, answers: &[&str]) -> String {
        let answers: Vec<(&str, &str)> = answers.iter().map(|typed| (question, *typed)).collect();
        self.show_and_answer_each(line, &answers)
    }

    /// The same with several questions, one after the other.
    pub fn show_and_answer_each(&mut self, line: &str, answers: &[(&str, &str)]) -> String {
        let script = self.shell.dir.join("asking.sh");
        fs::write(&script, format!("{line}\necho end of the line\n")).unwrap();
        let before = self.screen.lock().unwrap().len();
        writeln!(self.shell.input, ". {}", script.display()).unwrap();
        self.shell.input.flush().unwrap();
        let text = || self.screen.lock().unwrap()[before..].to_string();
        for (number, (question, typed)) in answers.iter().enumerate() {
            let before = answers[..number].iter().filter(|(asked, _)| asked == question).count();
            wait_until("the question is shown", || text().matches(question).count() > before);
            write!(self.shell.input, "{typed}").unwrap();
            self.shell.input.flush().unwrap();
        }
        let give_up = std::time::Instant::now() + super::environment::PATIENCE;
        while !text().contains("end of the line") {
            assert!(std::time::Instant::now() < give_up, "waited in vain for the end: {}", text());
            thread::sleep(std::time::Duration::from_millis(1));
        }
        text()
    }

    /// The same, while something is typed for it to read.
    pub fn show_while_typing(&mut self, line: &str, typed: &str) -> String {
        let before = self.screen.lock().unwrap().len();
        let line = format!("{{ {line}; echo end of the line; }} >/dev/tty 2>&1");
        self.shell.run_while_typing(&line, typed);
        let text = || self.screen.lock().unwrap()[before..].to_string();
        wait_until("the terminal shows it", || text().contains("end of the line"));
        text()
    }
}
