//! Tests of the terminal chat: the real program on a pseudoterminal, read through a terminal emulator.

mod jumping;
mod knowledge;
mod overlaps;
mod runs;

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use std::{fs, thread};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use pty_process::Size;
use pty_process::blocking as pty;
use ravenry::domain::hook::HookAnswer;
use ravenry::sys::test_switches;
use serde_json::json;

use crate::effects::block_notices;
use crate::hooks::codex::Codex;
use crate::support::environment::{TestEnvironment, put, wait_until};
use crate::support::hook_call::{Call, session_of};

const ENTER_SCREEN: &str = "\x1b[?1049h";
const LEAVE_SCREEN: &str = "\x1b[?1049l";
const SHOW_CURSOR: &str = "\x1b[?25h";

struct Screen {
    child: Child,
    terminal: Option<pty::Pty>,
    emulator: Arc<Mutex<vt100::Parser>>,
    /// Everything that was written, unchanged.
    written: Arc<Mutex<String>>,
    reader: thread::JoinHandle<()>,
}

impl Screen {
    fn open(env: &TestEnvironment, args: &[&str]) -> Self {
        Self::open_with(env, args, &[])
    }

    fn open_with(env: &TestEnvironment, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let tests = env.msg();
        let mut command = pty::Command::new(env!("CARGO_BIN_EXE_msg")).env_clear().current_dir(env.work());
        for (name, value) in tests.get_envs() {
            command = command.env(name, value.unwrap_or_default());
        }
        command = command.env("TERM", "xterm-256color").envs(variables.iter().copied());
        Self::start(command.arg("tui").args(args))
    }

    /// Starts any program on a terminal.
    fn start(command: pty::Command) -> Self {
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

    fn text(&self) -> String {
        self.emulator.lock().unwrap().screen().contents()
    }

    #[track_caller]
    fn wait_for(&self, text: &str) {
        let shows = || self.text().contains(text);
        let started = std::time::Instant::now();
        while !shows() {
            assert!(
                started.elapsed() < crate::support::environment::PATIENCE,
                "no {text:?} in:\n{}",
                self.text()
            );
            thread::sleep(std::time::Duration::from_millis(2));
        }
    }

    #[track_caller]
    fn wait_without(&self, text: &str) {
        wait_until(&format!("{text:?} is off the screen"), || !self.text().contains(text));
    }

    fn write(&mut self, keys: &str) {
        let terminal = self.terminal.as_mut().unwrap();
        terminal.write_all(keys.as_bytes()).unwrap();
        terminal.flush().unwrap();
    }

    fn resize(&self, width: u16, height: u16) {
        self.emulator.lock().unwrap().screen_mut().set_size(height, width);
        self.terminal.as_ref().unwrap().resize(Size::new(height, width)).unwrap();
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().cast_signed()), signal).unwrap();
    }

    fn end(&mut self) -> ExitStatus {
        let mut status = None;
        wait_until("it has ended", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        wait_until("all that it wrote was read", || self.reader.is_finished());
        status.unwrap()
    }

    /// Whether the terminal was restored after it was last taken over.
    fn is_restored(&self) -> bool {
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

fn hook(env: &TestEnvironment, session: &str, event: &str, payload: serde_json::Value) -> String {
    let mut payload = payload;
    payload["session_id"] = json!(session);
    payload["cwd"] = json!(env.work());
    payload["hook_event_name"] = json!(event);
    let path = env.path().join("payload.json");
    put(&path, &payload.to_string());
    let mut command = env.msg();
    let output = command.args(["hook", "claude", event]).stdin(File::open(path).unwrap()).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn two_agents_chat_a_task_is_claimed_and_an_edit_is_refused() {
    let env = TestEnvironment::new();
    put(&env.work().join("spec.md"), "- [ ] TASK-01: Log in\n- [ ] TASK-02: Log out, needs TASK-01\n");
    env.join("SwiftRaven");
    env.join("GoldFalcon");
    let mut screen = Screen::open(&env, &["Robin"]);
    screen.wait_for("Robin · 2 peers");
    screen.wait_for("No spec:");

    // A peer sends a message, which is unread until its conversation is open.
    let id = env.ok(&["send", "Robin", "the login flow is mine", "--as", "SwiftRaven"]);
    let id = id["sent"][0]["id"].as_str().unwrap().to_string();
    let standing = || env.ok(&["receipt", &id, "--as", "SwiftRaven"]);
    screen.wait_for("SwiftRaven (1)");
    assert_eq!(standing()["state"], "stored");
    screen.write("\x1b[Z");
    screen.wait_for("the login flow is mine");
    wait_until("it counts as surfaced", || standing()["state"] == "surfaced");
    assert_eq!(standing()["via"], "tui");
    screen.wait_without("SwiftRaven (1)");

    // The answer, and its receipt.
    screen.write("go on\r");
    screen.wait_for("go on ▐");
    screen.wait_for("stored · now");
    let read = env.ok(&["read", "--ack", "--as", "SwiftRaven"]);
    assert_eq!(read["messages"][0]["text"], "go on");
    screen.wait_for("acked · now");

    // Other agents work meanwhile.
    for name in ["SwiftRaven", "GoldFalcon"] {
        env.ok(&["spec", "spec.md", "--as", name]);
    }
    env.ok(&["claim", "TASK-01", "--reserve", "src/", "--as", "SwiftRaven"]);
    let edit = json!({"tool_name": "Write", "tool_input": {"file_path": env.work().join("src/a.rs"), "content": ""}});
    let answer = hook(&env, "session of GoldFalcon", "PreToolUse", edit);
    assert!(answer.contains("deny"), "{answer}");
    screen.write("\t");
    screen.wait_for("./spec.md:");
    screen.wait_for("TASK-01");
    screen.write("\t\t");
    screen.wait_for("0 of 2 done, 1 claimed, 1 blocked");
    screen.wait_for("waits for TASK-01");
    screen.write("\t");
    screen.wait_for("src/");
    screen.wait_for("GoldFalcon");
    screen.write("\t");
    screen.wait_for("SwiftRaven claimed TASK-01");
    screen.wait_for("GoldFalcon was refused src/a.rs");

    screen.write("\x1b");
    screen.wait_for("./spec.md:");
    screen.write("\x1b");
    screen.wait_for("press Esc again to quit");
    screen.write("\x1b");
    assert_eq!(screen.end().code(), Some(0));
    assert!(screen.is_restored());
    assert_eq!(env.names(), ["GoldFalcon", "SwiftRaven"], "who joined for this leaves");
}

#[test]
fn what_wants_an_ack_is_acked_with_a_key() {
    let env = TestEnvironment::new();
    env.join("SwiftRaven");
    let mut screen = Screen::open(&env, &["Robin"]);
    screen.wait_for("Robin · 1 peer");
    let sent = env.ok(&["send", "Robin", "ready?", "--want-ack", "--as", "SwiftRaven"]);
    let id = sent["sent"][0]["id"].as_str().unwrap().to_string();
    let state = || env.ok(&["receipt", &id, "--as", "SwiftRaven"])["state"].clone();
    screen.wait_for("SwiftRaven (1)");
    screen.write("\x1b[Z");
    screen.wait_for("wants an ack (Ctrl-A)");
    wait_until("it counts as surfaced", || state() == "surfaced");
    screen.wait_without("SwiftRaven (1)");
    screen.write("\x01");
    wait_until("it is acked", || state() == "acked");
    screen.wait_without("wants an ack");
}

/// What a terminal may have drawn in other columns than expected is redrawn.
#[test]
fn a_flag_leaves_nothing_behind() {
    let env = TestEnvironment::new();
    env.join("SwiftRaven");
    let mut screen = Screen::open(&env, &["Robin"]);
    screen.wait_for("Robin · 1 peer");
    let written = Arc::clone(&screen.written);
    let clears = || written.lock().unwrap().matches("\x1b[2J").count();
    let before = clears();
    env.ok(&["set-status", "from 🇩🇪", "--as", "SwiftRaven"]);
    screen.wait_for("from");
    env.ok(&["set-status", "gone", "--as", "SwiftRaven"]);
    screen.wait_for("gone");
    assert!(clears() > before, "the screen is drawn anew after a flag was on it");
    let before = clears();
    screen.write("\x0c");
    wait_until("Ctrl-L draws everything anew", || clears() > before);
}

#[test]
fn a_terminal_that_can_not_be_drawn_on_is_refused() {
    let env = TestEnvironment::new();
    let mut screen = Screen::open_with(&env, &["Robin"], &[("TERM", "dumb")]);
    assert_eq!(screen.end().code(), Some(2));
    let written = screen.written.lock().unwrap();
    assert!(written.contains("TERM is `dumb`") && !written.contains(ENTER_SCREEN), "{written}");
    assert!(env.names().is_empty());
}

#[test]
fn whoever_had_joined_stays() {
    let env = TestEnvironment::new();
    let host = env.host();
    env.ok(&["join", "Robin", "--pid", &host.to_string(), "--harness", "terminal"]);
    let mut screen = Screen::open(&env, &["--as", "Robin"]);
    screen.wait_for("Robin · nobody else");
    screen.write("\x03");
    assert_eq!(screen.end().code(), Some(0));
    assert!(screen.is_restored());
    assert_eq!(env.names(), ["Robin"]);
}

#[test]
fn a_person_is_registered_as_one_and_gone_with_the_program() {
    let env = TestEnvironment::new();
    let mut screen = Screen::open(&env, &["Robin"]);
    screen.wait_for("Robin · nobody else");
    let registration = env.registration("Robin");
    assert_eq!(registration["isHuman"], true);
    assert_eq!(registration["harness"], "terminal");
    assert_eq!(registration["pid"], screen.child.id());
    screen.child.kill().unwrap();
    screen.end();
    assert!(env.names().is_empty());
}

#[test]
fn everyone_hears_what_is_said_to_all() {
    let env = TestEnvironment::new();
    env.join("SwiftRaven");
    env.join("GoldFalcon");
    let mut screen = Screen::open(&env, &["Robin"]);
    screen.wait_for("2 peers");
    screen.write("@all lunch?\r");
    screen.wait_for("stored for 2");
    for name in ["SwiftRaven", "GoldFalcon"] {
        assert_eq!(env.ok(&["read", "--as", name])["messages"][0]["text"], "lunch?");
    }
    screen.write("\t");
    screen.wait_for("lunch? ▐");
    screen.wait_for("surfaced by 2");
    screen.write("@Nobody hello\r");
    screen.wait_for("no agent is called Nobody");
    screen.wait_for("› @Nobody hello");
}

#[test]
fn a_paste_is_text() {
    let env = TestEnvironment::new();
    env.join("SwiftRaven");
    let mut screen = Screen::open(&env, &["Robin"]);
    screen.wait_for("1 peer");
    screen.write("\r");
    screen.wait_for("goes to SwiftRaven");
    screen.write("\x1b[200~first\nsecond\x1b[201~");
    screen.wait_for("second");
    assert_eq!(env.ok(&["inbox", "--as", "SwiftRaven"])["messages"], json!([]), "nothing is sent by a paste");
    screen.write("\r");
    screen.wait_for("second ▐");
    let messages = env.ok(&["read", "--as", "SwiftRaven"])["messages"].clone();
    assert_eq!(messages[0]["text"], "first\nsecond");
}

#[test]
fn it_is_put_back_into_the_foreground() {
    let env = TestEnvironment::new();
    let mut screen = Screen::open(&env, &["Robin"]);
    screen.wait_for("Robin · nobody else");
    let pid = screen.child.id();
    let state = || fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let is_stopped = || state().rsplit(')').next().unwrap().trim_start().starts_with('T');
    for way in ["key", "signal"] {
        match way {
            "key" => screen.write("\x1a"),
            _ => screen.signal(Signal::SIGTSTP),
        }
        wait_until("it is stopped", is_stopped);
        wait_until("the terminal is given back", || screen.is_restored());
        env.join(&format!("Peer{way}"));
        screen.signal(Signal::SIGCONT);
        screen.wait_for(&format!("Peer{way}"));
        assert!(!screen.is_restored());
    }
    screen.write("\x03");
    assert_eq!(screen.end().code(), Some(0));
}

#[test]
fn every_size_is_survived() {
    let env = TestEnvironment::new();
    env.join("SwiftRaven");
    let mut screen = Screen::open(&env, &["Robin"]);
    screen.wait_for("SwiftRaven");
    for (width, height) in [(20, 5), (1, 1), (200, 60), (3, 2), (80, 24)] {
        screen.resize(width, height);
        screen.write("x");
    }
    screen.wait_for("› xxxxx");
    screen.wait_for("Robin · 1 peer");
}

#[test]
fn a_terminal_that_is_gone_ends_it() {
    let env = TestEnvironment::new();
    let mut screen = Screen::open(&env, &["Robin"]);
    screen.wait_for("Robin · nobody else");
    // The emulator's reader also holds the terminal open, so only the signal says that it is gone.
    screen.signal(Signal::SIGHUP);
    assert_eq!(screen.end().code(), Some(0));
    assert!(env.names().is_empty());
}

#[test]
fn a_terminal_that_is_gone_without_a_word_ends_it() {
    let env = TestEnvironment::new();
    let opened = nix::pty::openpty(None, None).unwrap();
    // Processes started by parallel tests must not keep it open.
    let closed = nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::FD_CLOEXEC);
    nix::fcntl::fcntl(&opened.master, closed).unwrap();
    let mut command = env.msg();
    let side = || std::process::Stdio::from(opened.slave.try_clone().unwrap());
    command.args(["tui", "Robin"]).env("TERM", "xterm").stdin(side()).stdout(side()).stderr(side());
    // A session of its own that this terminal does not control, so that it gets no SIGHUP.
    let mut child = std::process::Command::new("setsid");
    child.arg(command.get_program()).args(command.get_args()).env_clear().current_dir(env.work());
    child.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut child = child.stdin(side()).stdout(side()).stderr(side()).spawn().unwrap();
    let mut terminal = File::from(opened.master);
    drop(opened.slave);
    assert_ne!(terminal.read(&mut [0; 65536]).unwrap(), 0, "something is drawn");
    assert_eq!(env.names(), ["Robin"]);
    drop(terminal);
    wait_until("it has ended", || child.try_wait().unwrap().is_some());
    wait_until("nobody is here", || env.names().is_empty());
}

#[test]
fn a_signal_ends_it_in_order() {
    let env = TestEnvironment::new();
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let mut screen = Screen::open(&env, &["Robin"]);
        screen.wait_for("Robin · nobody else");
        screen.signal(signal);
        let status = screen.end();
        assert_eq!((status.code(), status.signal()), (Some(130), None), "{signal}");
        assert!(screen.is_restored());
        assert!(env.names().is_empty());
    }
}

#[test]
fn a_bug_gives_the_terminal_back_first() {
    let env = TestEnvironment::new();
    let mut screen =
        Screen::open_with(&env, &["Robin"], &[(test_switches::PANIC_ON_KEY, "a bug for a test")]);
    screen.wait_for("Robin · nobody else");
    screen.write("x");
    assert_eq!(screen.end().code(), Some(70));
    assert!(screen.is_restored());
    wait_until("it says what happened", || {
        let written = screen.written.lock().unwrap();
        let after = written.rsplit(LEAVE_SCREEN).next().unwrap_or_default().to_string();
        after.contains("a bug for a test") || written.contains("please report it")
    });
    assert!(env.names().is_empty());
}

#[test]
fn evicted_it_says_so() {
    let env = TestEnvironment::new();
    env.join("SwiftRaven");
    let mut screen = Screen::open(&env, &["Robin"]);
    screen.wait_for("Robin · 1 peer");
    env.ok(&["evict", "Robin", "--force", "--as", "SwiftRaven"]);
    assert_eq!(screen.end().code(), Some(3));
    assert!(screen.is_restored());
}

#[test]
fn without_a_terminal_it_says_what_else_there_is() {
    let env = TestEnvironment::new();
    assert_eq!(env.run(&["tui"]).expect_code(2).stdout, "");
    assert_eq!(env.fails(2, &["tui"]), "usage");
    assert!(!env.mesh().exists(), "nobody has joined");
}

#[test]
fn colours_only_where_they_are_wanted() {
    let env = TestEnvironment::new();
    env.join("SwiftRaven");
    let is_coloured = |screen: &Screen| screen.written.lock().unwrap().contains("\x1b[38;5;");
    let screen = Screen::open(&env, &["Robin"]);
    screen.wait_for("SwiftRaven");
    assert!(is_coloured(&screen), "{:?}", screen.written.lock().unwrap());
    drop(screen);
    let screen = Screen::open_with(&env, &["Alice"], &[("NO_COLOR", "1")]);
    screen.wait_for("SwiftRaven");
    assert!(!is_coloured(&screen), "{:?}", screen.written.lock().unwrap());
}

#[test]
fn looking_is_no_sign_of_life() {
    let env = TestEnvironment::new();
    env.join("SwiftRaven");
    let mut screen = Screen::open(&env, &["Robin"]);
    screen.wait_for("1 peer");
    let touched = || fs::metadata(env.mesh().join("presence/Robin")).unwrap().modified().unwrap();
    let before = touched();
    for status in ["one", "two", "three"] {
        env.ok(&["set-status", status, "--as", "SwiftRaven"]);
        screen.wait_for(status);
    }
    assert_eq!(touched(), before, "nobody was at the keyboard");
    screen.write("x");
    wait_until("a key is one", || touched() > before);
}

/// Waking an agent may take long; the chat stays responsive.
#[test]
fn nothing_waits_for_a_peer_to_wake_up() {
    let env = TestEnvironment::new();
    let (begun, go_on) = (env.path().join("begun"), env.path().join("go-on"));
    let queue =
        format!(": >'{}'\nuntil [ -e '{}' ]; do sleep 0.01; done\n", begun.display(), go_on.display());
    let mut codex = Codex::new(&env, &queue);
    codex.join(&env, "Bob");
    assert_eq!(Call::new(&env, "claude/Stop", &session_of("Bob")).answer(&env), HookAnswer::Silence);
    let mut screen = Screen::open(&env, &["Robin"]);
    screen.wait_for("Robin · 1 peer");
    screen.write("@Bob wake up\r");
    wait_until("Bob is being woken", || begun.exists());
    env.ok(&["set-status", "still asleep", "--as", "Bob"]);
    screen.wait_for("still asleep");
    assert!(!screen.text().contains("stored for Bob"), "{}", screen.text());
    put(&go_on, "");
    screen.wait_for("stored for Bob");
}

#[test]
fn history_stays_when_something_comes() {
    let env = TestEnvironment::new();
    let host = env.host();
    env.ok(&["join", "Robin", "--pid", &host.to_string(), "--harness", "terminal"]);
    env.join("SwiftRaven");
    let mesh = env.store();
    let names = ["SwiftRaven", "Robin"].map(|name| ravenry::domain::AgentName::new(name).unwrap());
    let mut outbox = mesh.outboxes().lock(&names[0]).unwrap();
    for number in 0..900 {
        let stamp = outbox.stamp().unwrap();
        let text = format!("number {number}.");
        let message = ravenry::domain::Message::new(stamp, &names[0], &names[1], text);
        outbox.post(stamp, &names[1], message).unwrap().unwrap();
    }
    drop(outbox);
    env.ok(&["read", "--as", "Robin"]);
    let mut screen = Screen::open(&env, &["--as", "Robin"]);
    screen.wait_for("Overlaps  ● SwiftRaven");
    screen.write("\x1b[Z");
    screen.wait_for("number 899.");
    // Each time the beginning is reached, older messages are loaded.
    wait_until("the first is on the screen", || {
        screen.write("\x1b[H");
        screen.text().contains("number 0.")
    });
    env.ok(&["send", "Robin", "something new", "--as", "SwiftRaven"]);
    screen.wait_for("SwiftRaven (1)");
    assert!(screen.text().contains("number 0."), "{}", screen.text());
}

#[test]
fn a_new_name_is_followed() {
    let env = TestEnvironment::new();
    env.join("SwiftRaven");
    let mut screen = Screen::open(&env, &["Robin"]);
    screen.wait_for("Robin · 1 peer");
    env.ok(&["rename", "Alice", "--as", "Robin"]);
    screen.wait_for("Alice · 1 peer");
    screen.write("@SwiftRaven it is me\r");
    screen.wait_for("stored for SwiftRaven");
    assert_eq!(env.ok(&["read", "--as", "SwiftRaven"])["messages"][0]["from"], "Alice");
    screen.write("\x03");
    assert_eq!(screen.end().code(), Some(0));
    assert_eq!(env.names(), ["SwiftRaven"]);
}

/// Keys that come in one piece are read together. None of them waits for the next key if the chat gets no time to run.
#[test]
fn what_is_typed_at_once_is_there_at_once() {
    let env = TestEnvironment::new();
    let mut screen = Screen::open(&env, &["Robin"]);
    screen.wait_for("Robin · nobody else");
    for round in 0..100 {
        let text = format!("@a{round} Who types fast is read fast, whatever else there is to do.");
        screen.write(&text);
        let started = Instant::now();
        while started.elapsed() < Duration::from_micros(20 * round) {}
        screen.signal(Signal::SIGSTOP);
        thread::sleep(Duration::from_millis(3));
        screen.signal(Signal::SIGCONT);
        screen.wait_for(&text);
        // Ctrl-U empties the line.
        screen.write("\x15");
        screen.wait_without(&text);
    }
}

/// Those of joining are on the screen, and those of leaving are printed when the terminal is given back.
#[test]
fn warnings_are_shown() {
    let env = TestEnvironment::new();
    let holder = env.join("SwiftRaven");
    env.join("GoldFalcon");
    env.ok(&["reserve", "src/", "--as", "SwiftRaven"]);
    env.fails(1, &["reserve", "src/x", "--as", "GoldFalcon"]);
    env.kill(holder);
    block_notices(&env);
    let mut screen = Screen::open(&env, &["Robin"]);
    screen.wait_for("could not tell GoldFalcon what is free");
    let on_screen = screen.written.lock().unwrap().len();
    screen.write("\x03");
    assert_eq!(screen.end().code(), Some(0));
    let written = screen.written.lock().unwrap()[on_screen..].to_string();
    let after = written.rsplit(LEAVE_SCREEN).next().unwrap();
    assert!(after.contains(": could not tell GoldFalcon what is free"), "{after}");
}
