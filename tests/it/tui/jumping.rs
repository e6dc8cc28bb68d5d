//! Tests of the chat in real tmux: the places of agents, what their screens show, and the Enter that shows a pane.

use std::ffi::OsStr;
use std::process::{Child, Command};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use pty_process::blocking as pty;
use ravenry::sys::test_switches;
use ravenry::sys::tmux::TmuxPane;
use ravenry::sys::tmux::server::NewWindow;

use super::screen::Screen;
use crate::panes::launching::Clients;
use crate::panes::{SESSION, Tmux};
use crate::seeing::Painted;
use crate::support::environment::wait_until;

/// From the agents to the runs.
const TO_RUNS: &str = "\x1b[Z\x1b[Z\x1b[Z";

impl Screen {
    /// A person's terminal that shows a tmux session.
    fn attach(tmux: &Tmux, session: &str) -> Self {
        let command = pty::Command::new("tmux").env_clear().args(["-u", "-f", "/dev/null", "-S"]);
        let command = command.arg(tmux.socket()).args(["attach", "-t", &format!("={session}")]);
        let command = command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        Self::start(command.env("HOME", tmux.env.home()).env("TERM", "xterm-256color"))
    }
}

/// The chat in a window of that session.
fn chat_in(tmux: &Tmux, session: &str) -> TmuxPane {
    let msg = tmux.env.msg();
    let text = |text: &OsStr| text.to_str().unwrap().to_string();
    let variables = msg.get_envs().filter_map(|(key, value)| Some((text(key), text(value?))));
    let mut variables: Vec<(String, String)> = variables.collect();
    variables.push((test_switches::LOOK_MS.to_string(), "50".to_string()));
    let variables: Vec<(&str, &str)> =
        variables.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    let argv = [env!("CARGO_BIN_EXE_msg"), "tui", "Robin"].map(OsStr::new);
    let dir = tmux.env.work();
    let window = NewWindow { session, name: "chat", dir: &dir, argv: &argv, variables: &variables };
    tmux.server.pane(tmux.server.new_window(&window).unwrap().id)
}

/// Waits until the chat in that pane shows the text.
#[track_caller]
fn wait_for_text(chat: &TmuxPane, text: &str) {
    let what = format!("the chat shows {text}");
    wait_until(&what, || chat.plain_text().is_ok_and(|screen| screen.contains(text)));
}

/// Presses Enter twice: on an agent with that place, and in its conversation.
#[track_caller]
fn ask_for_pane(chat: &TmuxPane, place: &str) {
    wait_for_text(chat, place);
    chat.press("Enter", 1).unwrap();
    wait_for_text(chat, "press Enter again");
    chat.press("Enter", 1).unwrap();
}

/// What the terminals show: session and pane of each.
fn clients(tmux: &Tmux) -> String {
    tmux.ask(&["list-clients", "-F", "#{session_name} #{window_name} #{pane_id}"])
}

#[test]
fn a_workers_screen_is_in_its_detail_and_enter_shows_its_window() {
    let Some(at) = Clients::start() else { return };
    let (tmux, env) = (&at.tmux, &at.tmux.env);
    let session = env.ok(&["up"])["sessions"][0]["name"].as_str().unwrap().to_string();
    let run = at.started(&["ask something", "--detach", "--name", "Mason"]);
    let mut screen = Screen::attach(tmux, &session);
    screen.wait_for("1 peer");
    screen.write(TO_RUNS);
    screen.wait_for(run["id"].as_str().unwrap());
    screen.write("\r");
    screen.wait_for("asks: Do you want to proceed?");
    screen.wait_for("state: waiting (by ");
    screen.wait_for(&format!("place: {session}:1.0"));
    screen.wait_for("--answer CHOICE --question ");
    screen.wait_for("What its screen shows; others wrote it:");
    screen.wait_for("Enter goes to its pane · s stop");
    // The rest is below.
    screen.write("\x1b[F");
    screen.wait_for("│    rm -r build");
    screen.write("\r");
    wait_until("its window is in front", || clients(tmux).starts_with(&format!("{session} Mason ")));
    screen.wait_for("Enter to confirm");
    screen.wait_without("others wrote it");
    // Whoever comes back finds everything as it was.
    tmux.ask(&["select-window", "-t", &format!("={session}:0")]);
    screen.wait_for(&format!("{session}:1.0 is in front"));
    screen.wait_for("Task:");
    at.set("go");
}

#[test]
fn enter_goes_to_an_agent_in_another_session() {
    let Some(raven) = Painted::start() else { return };
    let tmux = &raven.tmux;
    raven.draw_text("first line\nthe last line");
    tmux.ask(&["new-session", "-d", "-s", "other", "-x", "80", "-y", "24", "--", "sleep", "100000"]);
    let chat = chat_in(tmux, "other");
    chat.select().unwrap();
    let mut screen = Screen::attach(tmux, "other");
    let place = raven.pane.info().unwrap().address();
    screen.wait_for(&place);
    screen.wait_for("state ");
    screen.wait_for("│ the last line");
    screen.write("\r");
    screen.wait_for(&format!("press Enter again to go to its tmux pane ({place})"));
    assert!(clients(tmux).starts_with("other chat "), "the first Enter opens the conversation");
    screen.write("\r");
    wait_until("its pane is in front", || {
        clients(tmux).trim_end() == format!("{SESSION} window {}", raven.pane.id())
    });
    screen.wait_for(&format!("[{SESSION}] "));
}

#[test]
fn without_a_terminal_that_shows_it_a_window_is_selected_in_the_same_session_alone() {
    let Some(raven) = Painted::start() else { return };
    let tmux = &raven.tmux;
    let chat = chat_in(tmux, SESSION);
    let place = raven.pane.info().unwrap().address();
    ask_for_pane(&chat, &place);
    wait_until("its window is the current one", || raven.pane.info().unwrap().is_active);
    wait_for_text(&chat, &format!("{place} is in front"));
}

/// A session shows one window to all who are attached to it.
#[test]
fn nobody_elses_window_is_changed() {
    let Some(raven) = Painted::start() else { return };
    let tmux = &raven.tmux;
    let place = raven.pane.info().unwrap().address();
    let is_told_command = |chat: &TmuxPane| {
        ask_for_pane(chat, &place);
        wait_for_text(chat, "shows the pane in another terminal");
    };
    // Somebody else is attached to the agent's session, and looks at its first window.
    let _theirs = Screen::attach(tmux, SESSION);
    let first = || clients(tmux).lines().any(|line| line.starts_with(&format!("{SESSION} sleep ")));
    wait_until("they look at the first window", first);
    // The chat is in a window behind it, which nobody looks at.
    let behind = chat_in(tmux, SESSION);
    is_told_command(&behind);
    assert!(first() && !raven.pane.info().unwrap().is_active, "{}", clients(tmux));
    behind.close().unwrap();
    wait_until("it has left", || !tmux.env.names().contains(&"Robin".to_string()));
    // The chat is in another session, which a person looks at.
    tmux.ask(&["new-session", "-d", "-s", "other", "-x", "80", "-y", "24", "--", "sleep", "100000"]);
    let beside = chat_in(tmux, "other");
    beside.select().unwrap();
    let own = Screen::attach(tmux, "other");
    wait_until("a person looks at it", || clients(tmux).lines().any(|line| line.starts_with("other chat ")));
    is_told_command(&beside);
    own.wait_for("others look at another window");
    assert!(first(), "{}", clients(tmux));
}

/// Lets the server of tmux go on, whatever happens.
struct Stopped(Pid);

impl Stopped {
    fn stop(tmux: &Tmux) -> Self {
        let pid = Pid::from_raw(tmux.pid());
        kill(pid, Signal::SIGSTOP).unwrap();
        Self(pid)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        kill(self.0, Signal::SIGCONT).ok();
    }
}

#[test]
fn while_tmux_does_not_answer_no_old_screen_is_shown() {
    let Some(raven) = Painted::start() else { return };
    let env = &raven.tmux.env;
    raven.draw("waiting-permission.txt");
    raven.wait_for_state("waiting");
    let mut screen = Screen::open_with(env, &["Robin"], &[(test_switches::LOOK_MS, "50")]);
    screen.wait_for("Do you want to proceed?");
    let stopped = Stopped::stop(&raven.tmux);
    screen.wait_without("Do you want to proceed?");
    screen.wait_for("no screen");
    drop(stopped);
    screen.wait_for("Do you want to proceed?");
    screen.write("\x03");
    assert!(screen.end().success());
}

#[test]
fn outside_of_tmux_the_command_is_told_and_a_pane_that_is_gone_too() {
    let Some(raven) = Painted::start() else { return };
    let (tmux, env) = (&raven.tmux, &raven.tmux.env);
    let mut screen = Screen::open_with(env, &["Robin"], &[(test_switches::LOOK_MS, "50")]);
    let place = raven.pane.info().unwrap().address();
    screen.wait_for(&place);
    tmux.ask(&["split-window", "-d", "-h", "-t", raven.pane.id().as_str(), "--", "sleep", "1000"]);
    screen.wait_for(&format!("{place}, left"));
    screen.write("\r");
    screen.wait_for("press Enter again");
    screen.write("\r");
    screen.wait_for("shows the pane in another terminal");
    let command = format!("tmux-S{}attach-t'={place}'", tmux.socket().canonicalize().unwrap().display());
    let shown = screen.text().replace([' ', '\n', '\\'], "");
    assert!(shown.contains(&command), "{command} in:\n{}", screen.text());
    assert!(
        !raven.pane.info().unwrap().is_active,
        "nothing is changed in a server that nobody looks at from here"
    );
    screen.write("\x1b");
    screen.wait_without("shows the pane in another terminal");
    raven.pane.close().unwrap();
    screen.write("\r");
    screen.wait_for("press Enter again");
    screen.write("\r");
    screen.wait_for("there is no pane of Raven to show: its tmux pane is gone");
    screen.write("\x03");
    assert!(screen.end().success());
}

/// Whoever starts a process can give it any variables.
#[test]
fn a_pane_that_an_agent_only_claims_is_not_its_place() {
    let Some(raven) = Painted::start() else { return };
    let (tmux, env) = (&raven.tmux, &raven.tmux.env);
    let claim = |name: &str, pane: &str| {
        let socket = format!("{},1,0", tmux.socket().display());
        let mut crow = Command::new("sleep");
        let crow = crow.arg("100000").env("TMUX", &socket).env("TMUX_PANE", pane).spawn().unwrap();
        // A shell that joins records the pane, too.
        let join = ["join", name, "--harness", "claude", "--pid", &crow.id().to_string()];
        env.run_with(&join, &[("TMUX", &socket), ("TMUX_PANE", pane)]).expect_code(0);
        Crow(crow)
    };
    let _crow = claim("Crow", raven.pane.id().as_str());
    let screen = Screen::open_with(env, &["Robin"], &[(test_switches::LOOK_MS, "50")]);
    let place = raven.pane.info().unwrap().address();
    screen.wait_for("2 peers");
    screen.wait_for(&place);
    let line = |name: &str| {
        let text = screen.text();
        text.lines().find(|line| line.contains(name)).unwrap().to_string()
    };
    assert!(line("Raven").contains(&place) && !line("Crow").contains(&place), "{}", screen.text());
}

/// A process that ends with the test.
struct Crow(Child);

impl Drop for Crow {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// The chat goes on, and says what it knows without tmux.
#[test]
fn the_server_may_be_killed_while_its_panes_are_shown() {
    let Some(raven) = Painted::start() else { return };
    let env = &raven.tmux.env;
    raven.draw_text("a line");
    let mut screen = Screen::open_with(env, &["Robin"], &[(test_switches::LOOK_MS, "50")]);
    let place = raven.pane.info().unwrap().address();
    screen.wait_for(&place);
    screen.wait_for("its screen");
    raven.tmux.ask(&["kill-server"]);
    screen.wait_without(&place);
    env.ok(&["set-status", "still here", "--as", "Raven"]);
    screen.wait_for("still here");
    screen.write("\x03");
    assert!(screen.end().success());
}
