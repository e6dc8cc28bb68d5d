//! Tests of the places of agents, what the selected one does in tmux, and the Enter that shows a pane.

use super::pictures::check;
use super::*;
use crate::faces::tui::model::{PlaceView, RunDetail, SightView};
use crate::faces::tui::places_state::{PaneCommand, PlacesCall, PlacesFocus, PlacesNews};
use crate::faces::tui::state::Tab;

const NASTY: &str = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{202e}evil\u{200b}";

fn place(text: &str, is_pane: bool) -> PlaceView {
    PlaceView { text: text.to_string(), is_pane }
}

pub(super) fn sight(name: &str) -> SightView {
    let lines = ["● Reading the old login.", "", "─────────", "❯ 1. Yes", "  2. No", "  Esc to cancel"];
    SightView {
        name: name.to_string(),
        state: "waiting (by its screen)".to_string(),
        place: Some("shop:2.0, top-left".to_string()),
        question: Some(("Do you want to proceed?".to_string(), vec!["› 1. Yes".into(), "  2. No".into()])),
        answer: Some("msg tell GoldFalcon --answer CHOICE --question 0a1b2c3d".to_string()),
        screen: lines.map(str::to_string).to_vec(),
        no_screen: None,
    }
}

/// GoldFalcon, the first in the list, is in tmux, and SwiftRaven in a window.
fn news() -> PlacesNews {
    let places = [("GoldFalcon", place("shop:2.0, top-left", true)), ("SwiftRaven", place("bottom", false))];
    let places = places.into_iter().map(|(name, place)| (name.to_string(), place)).collect();
    PlacesNews { places, sight: Some(sight("GoldFalcon")) }
}

fn placed(width: u16, height: u16) -> ChatState {
    let mut state = full(width, height);
    state.hear(ChatUpdate::Places(Box::new(news())));
    state
}

fn calls(effects: Vec<ChatEffect>) -> Vec<PlacesCall> {
    let call = |effect| match effect {
        ChatEffect::Places(call) => Some(call),
        _ => None,
    };
    effects.into_iter().filter_map(call).collect()
}

fn drawn(state: &mut ChatState) -> Vec<PlacesCall> {
    calls(state.update(ChatInput::Drawn))
}

fn shows(selected: Option<&str>) -> Vec<PlacesCall> {
    let names = ["CalmOwl", "GoldFalcon", "SwiftRaven"].map(str::to_string).to_vec();
    vec![PlacesCall::Show(PlacesFocus::Agents { names, selected: selected.map(str::to_string) })]
}

#[test]
fn places_at_every_size() {
    for (width, height) in [(80, 24), (120, 40), (40, 10)] {
        check("places", &mut placed(width, height));
        let mut state = placed(width, height);
        state.hear(command(&["tmux", "-S", "/tmp/tmux-1000/default", "attach", "-t", "=shop:2.0"]));
        check("pane-command", &mut state);
    }
}

#[test]
fn only_what_is_shown_is_asked_for() {
    let mut state = empty(80, 24);
    assert_eq!(drawn(&mut state), [], "there is nobody");
    let mut state = full(80, 24);
    assert_eq!(drawn(&mut state), shows(None), "nobody is known to be in tmux");
    state.hear(ChatUpdate::Places(Box::new(news())));
    assert_eq!(drawn(&mut state), shows(Some("GoldFalcon")));
    assert_eq!(drawn(&mut state), [], "once");
    press(&mut state, KeyCode::Down);
    assert_eq!(drawn(&mut state), shows(None), "this one is not in tmux");
    press(&mut state, KeyCode::Tab);
    assert_eq!(drawn(&mut state), [PlacesCall::Show(PlacesFocus::Nothing)]);
    let mut state = placed(80, 12);
    assert_eq!(drawn(&mut state), shows(None), "there is no room for its screen");
}

#[test]
fn a_screen_is_only_shown_for_its_agent() {
    let mut state = placed(80, 24);
    assert!(picture(&state).contains("its screen  │ "), "{}", picture(&state));
    press(&mut state, KeyCode::Down);
    let other = picture(&state);
    assert!(other.contains("─ SwiftRaven ─") && !other.contains("waiting (by its screen)"), "{other}");
    state.hear(ChatUpdate::Places(Box::new(PlacesNews { sight: None, ..news() })));
    assert!(!picture(&state).contains("─ SwiftRaven ─"), "{}", picture(&state));
}

#[test]
fn enter_opens_the_conversation_and_then_shows_the_pane() {
    let mut state = placed(80, 24);
    assert_eq!(press(&mut state, KeyCode::Enter), []);
    assert_eq!(state.tab, Tab::Conversation("GoldFalcon".to_string()));
    assert!(picture(&state).contains("press Enter again to go to its tmux pane (shop:2.0, top-left)"));
    let go = [PlacesCall::GoToAgent("GoldFalcon".to_string())];
    assert_eq!(calls(press(&mut state, KeyCode::Enter)), go);
    // It is offered once more before the next.
    assert_eq!(press(&mut state, KeyCode::Enter), []);
    assert_eq!(calls(press(&mut state, KeyCode::Enter)), go);
}

#[test]
fn an_enter_too_many_takes_nobody_elsewhere() {
    let mut state = placed(80, 24);
    press(&mut state, KeyCode::Enter);
    // Whatever else is pressed or said, the offer is over.
    type_in(&mut state, "go on");
    assert_eq!(press(&mut state, KeyCode::Enter).len(), 1, "it is sent");
    assert_eq!(press(&mut state, KeyCode::Enter), [], "it is offered");
    state.hear(ChatUpdate::Sent("stored for GoldFalcon".to_string()));
    assert_eq!(press(&mut state, KeyCode::Enter), [], "it is offered again, because nobody saw it");
    assert_eq!(calls(press(&mut state, KeyCode::Enter)).len(), 1);
    // Whoever is not in tmux has nothing to show.
    let mut state = placed(80, 24);
    press(&mut state, KeyCode::Down);
    for _ in 0..3 {
        assert_eq!(press(&mut state, KeyCode::Enter), []);
    }
    assert_eq!(
        (state.tab.clone(), state.notice.clone()),
        (Tab::Conversation("SwiftRaven".to_string()), None)
    );
}

#[test]
fn a_command_is_shown_in_full_until_it_is_closed() {
    let mut state = placed(40, 10);
    let socket = format!("/{}", "long/".repeat(12));
    state.hear(command(&["tmux", "-S", &socket, "attach", "-t", "=shop:2.0"]));
    let shown = picture(&state);
    let rows: Vec<&str> = shown.lines().map(str::trim_end).collect();
    let first = rows.iter().position(|row| row.starts_with("tmux -S \\")).unwrap();
    let last = rows.iter().position(|row| row.ends_with("'=shop:2.0'")).unwrap();
    assert!(rows[first..last].iter().all(|row| row.ends_with('\\')), "{shown}");
    assert!(rows[first..=last].concat().replace('\\', "").contains(&socket), "{shown}");
    for key in [KeyCode::Enter, KeyCode::Esc, KeyCode::Down] {
        state.hear(command(&["tmux", "attach"]));
        assert_eq!(press(&mut state, key), []);
        assert_eq!(
            (state.places.command.clone(), state.tab.clone()),
            (None, Tab::Agents),
            "the key only closes it"
        );
    }
}

/// It comes when tmux has answered, and somebody may be in the middle of a sentence by then.
#[test]
fn a_command_swallows_nothing_that_is_typed() {
    let mut state = placed(80, 24);
    press(&mut state, KeyCode::Enter);
    type_in(&mut state, "go");
    state.hear(command(&["tmux", "attach"]));
    type_in(&mut state, "x on /?");
    press(&mut state, KeyCode::Backspace);
    assert!(state.places.command.is_some(), "it stays");
    press(&mut state, KeyCode::Esc);
    assert_eq!((state.places.command.clone(), state.draft().text()), (None, "gox on /"));
    // Where a letter begins no message, it does nothing.
    let mut state = reading(detail(true, true), (80, 24));
    state.hear(command(&["tmux", "attach"]));
    type_in(&mut state, "sy");
    assert!(state.places.command.is_some() && state.runs.stopping.is_none() && state.draft().is_empty());
}

fn command(words: &[&str]) -> ChatUpdate {
    let words = words.iter().map(|word| word.to_string()).collect();
    ChatUpdate::PaneCommand(PaneCommand {
        words,
        why: "this terminal does not show that tmux server".to_string(),
    })
}

fn detail(is_live: bool, has_pane: bool) -> RunDetail {
    let lines = |lines: &[&str]| lines.iter().map(|line| line.to_string()).collect();
    RunDetail {
        heading: "k3f9xa waiting".to_string(),
        lines: lines(&["scout · opus-5 · 3 min", "worker: GoldFalcon", "for Robin, in /code/shop"]),
        sight: has_pane.then(|| sight("k3f9xa")),
        texts: lines(&["", "Task:", "Remove the old login."]),
        is_live,
        has_pane,
    }
}

fn reading(detail: RunDetail, (width, height): (u16, u16)) -> ChatState {
    let mut state = full(width, height);
    go(&mut state, "Runs");
    press(&mut state, KeyCode::Enter);
    state.hear(ChatUpdate::Run { id: "k3f9xa".to_string(), detail: Some(Box::new(detail)) });
    state
}

#[test]
fn a_worker_in_tmux_at_every_size() {
    for size in [(60, 15), (80, 24), (200, 60)] {
        check("run-in-tmux", &mut reading(detail(true, true), size));
    }
    let gone = SightView {
        place: None,
        question: None,
        answer: None,
        screen: Vec::new(),
        no_screen: Some("its tmux pane is gone".to_string()),
        ..sight("k3f9xa")
    };
    let state = reading(RunDetail { sight: Some(gone), ..detail(true, true) }, (80, 24));
    assert!(picture(&state).contains("No screen: its tmux pane is gone."), "{}", picture(&state));
}

#[test]
fn enter_in_a_run_shows_the_pane_of_its_worker() {
    let mut state = reading(detail(true, true), (80, 24));
    let went = calls(press(&mut state, KeyCode::Enter));
    assert_eq!(went, [PlacesCall::GoToWorker("k3f9xa".to_string())]);
    assert!(state.runs.open.is_some(), "whoever comes back finds it open");
    let mut unread = full(80, 24);
    go(&mut unread, "Runs");
    press(&mut unread, KeyCode::Enter);
    assert_eq!(calls(press(&mut unread, KeyCode::Enter)), went, "before it was read, too");
    for (is_live, text) in [(true, "run k3f9xa: its worker does not run in tmux"), (false, "it has ended")] {
        let mut state = reading(detail(is_live, false), (80, 24));
        assert_eq!(press(&mut state, KeyCode::Enter), []);
        assert!(picture(&state).contains(text), "{}", picture(&state));
        assert!(!picture(&state).contains("its pane"), "{}", picture(&state));
    }
}

#[test]
fn nothing_on_a_screen_is_obeyed() {
    let evil = SightView {
        name: "GoldFalcon".to_string(),
        state: NASTY.to_string(),
        place: Some(NASTY.to_string()),
        question: Some((NASTY.to_string(), vec![NASTY.to_string()])),
        answer: Some(NASTY.to_string()),
        screen: vec![NASTY.to_string(); 20],
        no_screen: Some(NASTY.to_string()),
    };
    let places = [("GoldFalcon".to_string(), place(NASTY, true))].into_iter().collect();
    let mut list = full(120, 40);
    list.hear(ChatUpdate::Places(Box::new(PlacesNews { places, sight: Some(evil.clone()) })));
    let mut talk = full(120, 40);
    talk.hear(ChatUpdate::Places(Box::new(PlacesNews { sight: None, ..list.places.news.clone() })));
    press(&mut talk, KeyCode::Enter);
    let mut command = full(120, 40);
    command.hear(self::command(&[NASTY]));
    let run = reading(RunDetail { sight: Some(evil), ..detail(true, true) }, (120, 40));
    for state in [list, talk, command, run] {
        let shown = picture(&state);
        assert!(shown.contains("\\u{1b}]0;"), "it is shown, written out: {shown}");
        assert!(!shown.replace("\\u{1b}]0;", "").contains("]0;"), "{shown}");
        assert!(!shown.contains(|c: char| (c.is_control() && c != '\n') || "\u{202e}\u{200b}".contains(c)));
    }
}

#[test]
fn no_size_is_too_small() {
    for width in [0, 1, 2, 5, 20] {
        for height in 0..20 {
            let mut state = placed(width, height);
            picture(&state);
            state.hear(command(&["tmux", "attach"]));
            picture(&state);
            picture(&reading(detail(true, true), (width, height)));
        }
    }
}
