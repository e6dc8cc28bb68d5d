//! A terminal for the tests of the chat.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use pty_process::{Size, blocking as pty};

use crate::support::environment::{PATIENCE, TestEnvironment, wait_until};

pub const ENTER_SCREEN: &str = "\x1b[?1049h";
pub const LEAVE_SCREEN: &str = "\x1b[?1049l";
const SHOW_CURSOR: &str = "\x1b[?25h";

/// A program on a terminal, and what the terminal shows.
pub struct Screen {
    pub child: Child,
    pub terminal: Option<pty::Pty>,
    pub emulator: Arc<Mutex<vt100::Parser>>,
    /// Everything that was written, unchanged.
    pub written: Arc<Mutex<String>>,
    reader: thread::JoinHandle<()>,
}

impl Screen {
    pub fn open(env: &TestEnvironment, args: &[&str]) -> Self {
        Self::open_with(env, args, &[])
    }

    pub fn open_with(env: &TestEnvironment, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let tests = env.msg();
        let mut command = pty::Command::new(env!("CARGO_BIN_EXE_msg")).env_clear().current_dir(env.work());
        for (name, value) in tests.get_envs() {
            command = command.env(name, value.unwrap_or_default());
        }
        command = command.env("TERM", "xterm-256color").envs(variables.iter().copied());
        Self::start(command.arg("tui").args(args))
    }

    /// Starts any program on a terminal.
    pub fn start(command: pty::Command) -> Self {
        let (terminal, pts) = pty::open().unwrap();
        terminal.resize(Size::new(24, 80)).unwrap();
        let child = command.spawn(pts).unwrap();
        let emulator = Arc::new(Mutex::new(vt100::Parser::new(24, 80, 0)));
        let written = Arc::<Mutex<String>>::default();
        let mut output = File::from(terminal.as_fd().try_clone_to_owned().unwrap());
        let (seen, said) = (Arc::clone(&emulator), Arc::clone(&written));
        let reader = thread::spawn(move || {
            let mut bytes = [0; 65536];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                // First: who waits for a text on the screen may then look at how it was written.
                said.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
                seen.lock().unwrap().process(&bytes[..count]);
            }
        });
        Self { child, terminal: Some(terminal), emulator, written, reader }
    }

    pub fn text(&self) -> String {
        self.emulator.lock().unwrap().screen().contents()
    }

    #[track_caller]
    pub fn wait_for(&self, text: &str) {
        let shows = || self.text().contains(text);
        let started = Instant::now();
        while !shows() {
            assert!(started.elapsed() < PATIENCE, "no {text:?} in:\n{}", self.text());
            thread::sleep(Duration::from_millis(2));
        }
    }

    #[track_caller]
    pub fn wait_without(&self, text: &str) {
        wait_until(&format!("{text:?} is off the screen"), || !self.text().contains(text));
    }

    pub fn write(&mut self, keys: &str) {
        let terminal = self.terminal.as_mut().unwrap();
        terminal.write_all(keys.as_bytes()).unwrap();
        terminal.flush().unwrap();
    }

    pub fn resize(&self, width: u16, height: u16) {
        // The emulator has no place for a wide letter in one column.
        self.emulator.lock().unwrap().screen_mut().set_size(height, width.max(2));
        self.terminal.as_ref().unwrap().resize(Size::new(height, width)).unwrap();
    }

    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().cast_signed()), signal).unwrap();
    }

    pub fn end(&mut self) -> ExitStatus {
        let mut status = None;
        wait_until("it has ended", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        wait_until("all that it wrote was read", || self.reader.is_finished());
        status.unwrap()
    }

    /// Whether the terminal was restored after it was last taken over.
    pub fn is_restored(&self) -> bool {
        let written = self.written.lock().unwrap();
        let (taken, given) = (written.rfind(ENTER_SCREEN), written.rfind(LEAVE_SCREEN));
        given > taken && written.rfind(SHOW_CURSOR) > taken
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
