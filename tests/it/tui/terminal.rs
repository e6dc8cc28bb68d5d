//! Tests of the terminal that the chat draws on: it is taken and given back in order, whatever happens.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::sync::Arc;

use nix::sys::signal::Signal;
use ravenry::sys::test_switches;

use super::screen::{ENTER_SCREEN, LEAVE_SCREEN, Screen};
use crate::panes::Tmux;
use crate::support::environment::{TestEnvironment, wait_until};

/// What others still do for it may take a while after the terminal was given back.
#[test]
fn what_is_typed_after_leaving_is_for_the_next_program() {
    let Some(tmux) = Tmux::start() else { return };
    let env = &tmux.env;
    let mut args: Vec<OsString> = Vec::new();
    for (name, value) in env.msg().get_envs() {
        args.push([name, value.unwrap_or_default()].join(OsStr::new("=")));
    }
    args.extend([env!("CARGO_BIN_EXE_msg"), "tui", "Robin"].map(Into::into));
    let args: Vec<&OsStr> = args.iter().map(AsRef::as_ref).collect();
    let chat = "env -i TERM=\"$TERM\" \"$@\"; read -r line; echo \"heard $line\"; exec sleep 100000";
    let pane = tmux.window(chat, &args);
    let shows = |text: &str| pane.plain_text().is_ok_and(|screen| screen.contains(text));
    wait_until("the chat is drawn", || shows("Robin · nobody else"));
    // It can't leave the mesh while somebody else has the lock.
    let mesh = env.store();
    let locked = mesh.lock().unwrap();
    pane.press("C-c", 1).unwrap();
    wait_until("the terminal is given back", || !shows("Robin"));
    tmux.ask(&["send-keys", "-t", pane.id().as_str(), "hello", "Enter"]);
    // Without raw mode the terminal shows it itself.
    wait_until("it has arrived", || shows("hello"));
    drop(locked);
    wait_until("the next program has it", || shows("heard hello"));
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
