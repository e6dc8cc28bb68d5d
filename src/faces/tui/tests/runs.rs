//! Tests of the tab *Runs*: what needs somebody first, reading one, stopping one, and what each screen looks like.

use super::pictures::check;
use super::*;
use crate::faces::tui::model::{RunDetail, RunItem};
use crate::faces::tui::runs_state::{RunsCall, RunsFocus};

fn run(id: &str, state: &str, tone: Tone, title: &str, doing: &str) -> RunItem {
    RunItem {
        id: id.to_string(),
        state: state.to_string(),
        tone,
        is_live: ["waiting", "running", "queued"].contains(&state),
        profile: "scout".to_string(),
        title: title.to_string(),
        doing: (!doing.is_empty()).then(|| doing.to_string()),
        took: "3 min".to_string(),
        used: if state == "queued" { String::new() } else { "12.3k tokens, $0.02".to_string() },
    }
}

/// Runs of every kind.
pub(super) fn list() -> Vec<RunItem> {
    vec![
        run("k3f9xa", "waiting", Tone::Bad, "Remove the old login", "may it run `rm -r build`?"),
        run("q8m2bd", "denied", Tone::Bad, "Clean up", "nobody allowed `git push`"),
        run("a7c4ef", "running", Tone::Plain, "Where are sessions refreshed?", "reading src/auth/session.rs"),
        run("z5t1gh", "queued", Tone::Plain, "漢字 and é in passwords", ""),
        run("m2n3pq", "done", Tone::Good, "List the TODOs of the store and say which are old", ""),
    ]
}

fn detail() -> RunDetail {
    let lines: &[&str] = &[
        "scout · opus-5 · 3 min · 12.3k tokens · $0.02",
        "why: may it run `rm -r build`?",
        "worker: BusyHeron",
        "for Robin, in /code/shop",
    ];
    let texts: &[&str] = &[
        "",
        "Task:",
        "Remove the old login. It is in src/auth/old.rs and in everything that names it; leave the tests of the new one as they are.",
        "",
        "Result:",
        "Nothing uses it.\u{1b}[2J",
    ];
    let owned = |lines: &[&str]| lines.iter().map(|line| line.to_string()).collect();
    RunDetail {
        heading: "k3f9xa waiting".to_string(),
        lines: owned(lines),
        texts: owned(texts),
        is_live: true,
        ..RunDetail::default()
    }
}

fn calls(effects: Vec<ChatEffect>) -> Vec<RunsCall> {
    let call = |effect| match effect {
        ChatEffect::Runs(call) => Some(call),
        _ => None,
    };
    effects.into_iter().filter_map(call).collect()
}

fn drawn(state: &mut ChatState) -> Vec<RunsCall> {
    calls(state.update(ChatInput::Drawn))
}

fn in_tab(width: u16, height: u16) -> ChatState {
    let mut state = full(width, height);
    go(&mut state, "Runs");
    state
}

/// With the first run open.
fn reading(width: u16, height: u16) -> ChatState {
    let mut state = in_tab(width, height);
    press(&mut state, KeyCode::Enter);
    state.hear(ChatUpdate::Run { id: "k3f9xa".to_string(), detail: Some(Box::new(detail())) });
    state
}

#[test]
fn every_screen_at_three_sizes() {
    for (width, height) in [(60, 15), (80, 24), (200, 60)] {
        let mut state = in_tab(width, height);
        press(&mut state, KeyCode::Down);
        check("runs-list", &mut state);
        check("run", &mut reading(width, height));
        let mut state = reading(width, height);
        press(&mut state, KeyCode::Char('s'));
        check("run-stopping", &mut state);
        let mut state = empty(width, height);
        go(&mut state, "Runs");
        check("runs-starting", &mut state);
        state.hear(ChatUpdate::Runs(Vec::new()));
        check("runs-empty", &mut state);
    }
}

#[test]
fn only_what_is_shown_is_read() {
    let mut state = full(80, 24);
    assert_eq!(drawn(&mut state), [], "nothing is read before the tab is open");
    go(&mut state, "Runs");
    assert_eq!(drawn(&mut state), [RunsCall::Show(RunsFocus::List)]);
    assert_eq!(drawn(&mut state), [], "once");
    press(&mut state, KeyCode::Enter);
    assert_eq!(drawn(&mut state), [RunsCall::Show(RunsFocus::Run("k3f9xa".to_string()))]);
    press(&mut state, KeyCode::Esc);
    assert_eq!(drawn(&mut state), [RunsCall::Show(RunsFocus::List)]);
    press(&mut state, KeyCode::Tab);
    assert_eq!(drawn(&mut state), [RunsCall::Show(RunsFocus::Nothing)]);
}

#[test]
fn a_run_is_stopped_after_a_question() {
    for is_open in [false, true] {
        let mut state = if is_open { reading(80, 24) } else { in_tab(80, 24) };
        assert_eq!(press(&mut state, KeyCode::Char('s')), []);
        assert!(picture(&state).contains("Stop run k3f9xa? y: yes"));
        assert_eq!(press(&mut state, KeyCode::Char('n')), []);
        assert!(picture(&state).contains("run k3f9xa goes on"), "{}", picture(&state));
        press(&mut state, KeyCode::Char('s'));
        let stopped = calls(press(&mut state, KeyCode::Char('y')));
        assert_eq!(stopped, [RunsCall::Stop("k3f9xa".to_string())]);
        assert!(state.runs.question().is_none());
    }
    let mut state = in_tab(80, 24);
    press(&mut state, KeyCode::Down);
    press(&mut state, KeyCode::Char('s'));
    assert!(state.runs.question().is_none(), "it has ended");
    assert!(picture(&state).contains("run q8m2bd has ended"));
}

#[test]
fn keys_that_come_before_it_was_read_count() {
    let mut state = in_tab(80, 24);
    press(&mut state, KeyCode::Enter);
    press(&mut state, KeyCode::Char('s'));
    assert!(picture(&state).contains("Stop run k3f9xa? y: yes"), "{}", picture(&state));
}

#[test]
fn a_filter_chooses_among_what_it_shows() {
    let mut state = in_tab(80, 24);
    type_in(&mut state, "/todos");
    press(&mut state, KeyCode::Enter);
    press(&mut state, KeyCode::Enter);
    assert_eq!(state.runs_focus(), RunsFocus::Run("m2n3pq".to_string()));
    press(&mut state, KeyCode::Char('x'));
    assert!(state.draft().is_empty(), "no letter begins a message to nobody");
    press(&mut state, KeyCode::Esc);
    press(&mut state, KeyCode::Esc);
    type_in(&mut state, "/nothing like it");
    assert!(picture(&state).contains("No run matches."));
}

#[test]
fn a_run_that_is_gone_is_closed_and_another_is_not_confused_with_it() {
    let mut state = reading(80, 24);
    state.hear(ChatUpdate::Run { id: "q8m2bd".to_string(), detail: None });
    assert!(state.runs.open.is_some());
    state.hear(ChatUpdate::Run { id: "k3f9xa".to_string(), detail: None });
    assert!(state.runs.open.is_none());
}
