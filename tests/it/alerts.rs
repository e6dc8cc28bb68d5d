//! Telling a person: the setting `notify`, by the real program on real terminals.

mod settings;
mod telling;
mod twice;

use std::fs;
use std::path::PathBuf;

use pty_process::blocking as pty;
use ravenry::domain::{AnyEventKind, Event, EventKind};
use ravenry::sys::clock;

use crate::support::environment::{TestEnvironment, put_program};
use crate::tui::screen::Screen;

/// A mesh with the agent Alice and the person Robin.
fn with_robin(config: &str) -> TestEnvironment {
    let env = TestEnvironment::new();
    env.configure(config);
    env.join("Alice");
    join_person(&env, "Robin");
    env
}

fn join_person(env: &TestEnvironment, name: &str) {
    let host = env.host().to_string();
    env.ok(&["join", name, "--pid", &host, "--harness", "terminal", "--session", name]);
}

/// `msg` on a terminal.
fn on_terminal(env: &TestEnvironment, args: &[&str], variables: &[(&str, &str)]) -> Screen {
    let tests = env.msg();
    let mut command = pty::Command::new(env!("CARGO_BIN_EXE_msg")).env_clear().current_dir(env.work());
    for (name, value) in tests.get_envs() {
        command = command.env(name, value.unwrap_or_default());
    }
    command = command.env("TERM", "xterm-256color").envs(variables.iter().copied());
    Screen::start(command.args(args))
}

/// `msg watch` as this person, certainly at work: it has shown a message.
fn watch(env: &TestEnvironment, name: &str) -> Screen {
    let screen = on_terminal(env, &["watch", "--as", name], &[]);
    env.ok(&["send", name, "are you there?", "--importance", "low", "--as", "Alice"]);
    screen.wait_for("are you there?");
    screen
}

fn written(screen: &Screen) -> String {
    screen.written.lock().unwrap().clone()
}

/// Whether the bell was rung: a character that also ends a notification, and that others may write something after.
fn has_rung(screen: &Screen) -> bool {
    let text = written(screen);
    let mut parts = text.split("\u{1b}]");
    let first = parts.next().unwrap_or_default().to_string();
    let after = |part: &str| part.split_once('\u{7}').map_or(String::new(), |(_, after)| after.to_string());
    std::iter::once(first).chain(parts.map(after)).any(|part| part.contains('\u{7}'))
}

/// An event of the feed that happens now.
fn happen(env: &TestEnvironment, what: EventKind, target: &str) {
    let event = Event {
        at: clock::now(),
        what: AnyEventKind::Ours(what),
        agent: "Alice".to_string(),
        target: Some(target.to_string()),
        preview: None,
        message_kind: None,
        machine: None,
    };
    env.store().feed().append(&[event], 10_000).unwrap();
}

/// A command for `notifyCommand` with these lines, and the file `log` beside it, which it knows as `$log`.
fn command(env: &TestEnvironment, lines: &str) -> (String, PathBuf) {
    let (program, log) = (env.path().join("tell"), env.path().join("log"));
    put_program(&program, &format!("#!/bin/sh\nlog='{}'\n{lines}\n", log.display()));
    (program.to_str().unwrap().to_string(), log)
}

fn lines(log: &PathBuf) -> Vec<String> {
    fs::read_to_string(log).unwrap_or_default().lines().map(str::to_string).collect()
}

/// The marks of what was told.
fn marks(env: &TestEnvironment) -> usize {
    fs::read_dir(env.mesh().join("told")).map_or(0, Iterator::count)
}

/// Every sentence by which a notice is known is written where the notice is made, so that neither changes alone.
#[test]
fn the_words_of_notices_are_used_where_notices_are_made() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src");
    let words = fs::read_to_string(root.join("domain/notice_words.rs")).unwrap();
    let names: Vec<&str> =
        words.lines().filter_map(|line| line.strip_prefix("pub const ")?.split(':').next()).collect();
    assert!(names.len() > 5, "{names:?}");
    let mut pending = vec![root.join("ops")];
    let mut makers = String::new();
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()) {
            match entry.is_dir() {
                true => pending.push(entry),
                false => makers.push_str(&fs::read_to_string(entry).unwrap()),
            }
        }
    }
    let kinds = fs::read_to_string(root.join("domain/alert/mod.rs")).unwrap();
    for name in names {
        let word = format!("notice_words::{name}");
        assert!(makers.contains(&format!(".say({word})")), "no notice says {name}");
        assert!(kinds.contains(&word), "{name} has no kind");
    }
}
