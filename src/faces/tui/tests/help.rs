//! Every key of the help does what it says: a walk through all of them.

use super::*;
use crate::faces::tui::conversation::Conversation;
use crate::faces::tui::model::PlaceView;
use crate::faces::tui::navigation::FIXED_TABS;
use crate::faces::tui::places_state::{PlacesCall, PlacesNews};
use crate::faces::tui::runs_state::RunsCall;
use crate::faces::tui::state::Tab;
use crate::faces::tui::view::help::KEYS;
use crossterm::event::{KeyCode::Char, MouseButton, MouseEvent, MouseEventKind};

const CONTROL: KeyModifiers = KeyModifiers::CONTROL;

#[test]
fn every_key_of_the_help_does_what_it_says() {
    let mut section = "";
    for (keys, what) in KEYS {
        match keys {
            "" => section = what,
            _ => walk(section, keys, &mut full(80, 24)),
        }
    }
}

fn walk(section: &str, keys: &str, state: &mut ChatState) {
    match section {
        "" => everywhere(keys, state),
        "Messages" => messages(keys, state),
        "Runs" => runs(keys, state),
        "Knowledge" => knowledge(keys, state),
        "Mouse" => mouse(keys, state),
        other => panic!("no test for the section {other}"),
    }
}

fn at(state: &ChatState) -> usize {
    state.list().at
}

fn everywhere(keys: &str, state: &mut ChatState) {
    match keys {
        "Esc" => {
            go(state, "Feed");
            press(state, KeyCode::Esc);
            assert_eq!(state.tab, Tab::Agents);
            assert_eq!(press(state, KeyCode::Esc), []);
            assert_eq!(press(state, KeyCode::Esc), [ChatEffect::Quit]);
        }
        "Ctrl-C Ctrl-Q" => {
            assert_eq!(press_with(state, Char('c'), CONTROL), [ChatEffect::Quit]);
            assert_eq!(press_with(state, Char('q'), CONTROL), [ChatEffect::Quit]);
        }
        "1 … 9" => {
            for (digit, tab) in ('1'..='9').zip(FIXED_TABS) {
                // From every tab that is always there.
                for from in FIXED_TABS {
                    state.go_to(from.clone());
                    press(state, Char(digit));
                    assert_eq!(state.tab, tab, "from {from:?}");
                }
                go(state, "SwiftRaven");
                press_with(state, Char(digit), KeyModifiers::ALT);
                assert_eq!(state.tab, tab);
            }
        }
        "Tab ← →" => {
            press(state, KeyCode::Tab);
            press(state, KeyCode::Right);
            assert_eq!(state.tab, FIXED_TABS[2]);
            press(state, KeyCode::Left);
            press(state, KeyCode::BackTab);
            assert_eq!(state.tab, FIXED_TABS[0]);
        }
        "↑ ↓ PgUp PgDn" => {
            press(state, KeyCode::Down);
            press(state, KeyCode::Down);
            press(state, KeyCode::Up);
            assert_eq!(at(state), 1);
            press(state, KeyCode::PageDown);
            assert_eq!(at(state), 2);
            press(state, KeyCode::PageUp);
            assert_eq!(at(state), 0);
        }
        "Home End" => {
            press(state, KeyCode::End);
            assert_eq!(at(state), 2);
            press(state, KeyCode::Home);
            assert_eq!(at(state), 0);
        }
        "Enter" => {
            press(state, KeyCode::Enter);
            assert_eq!(state.tab, Tab::Conversation("GoldFalcon".to_string()));
            type_in(state, "hello");
            assert!(matches!(press(state, KeyCode::Enter).as_slice(), [ChatEffect::Send { .. }]));
        }
        "Space" => {
            press(state, Char(' '));
            assert!(state.menu.is_some() && picture(state).contains("e  evict"), "{}", picture(state));
        }
        "Ctrl-N" => {
            press_with(state, Char('n'), CONTROL);
            assert!(state.talk().is_some_and(|talk| talk.unread() > 0));
        }
        "/" => {
            type_in(state, "/owl");
            assert!(picture(state).contains("CalmOwl") && !picture(state).contains("SwiftRaven"));
        }
        "Ctrl-Z" => assert_eq!(press_with(state, Char('z'), CONTROL), [ChatEffect::Suspend]),
        "Ctrl-L" => assert_eq!(press_with(state, Char('l'), CONTROL), [ChatEffect::Redraw]),
        "?" => {
            press(state, Char('?'));
            assert!(state.is_help_open && picture(state).contains("Ctrl-C Ctrl-Q"));
        }
        other => panic!("no test for {other}"),
    }
}

fn messages(keys: &str, state: &mut ChatState) {
    let sends = |state: &mut ChatState, text: &str| {
        type_in(state, text);
        match press(state, KeyCode::Enter).as_slice() {
            [ChatEffect::Send { text, .. }] => text.clone(),
            other => panic!("{other:?}"),
        }
    };
    match keys {
        "@Name text" => {
            go(state, "Tasks");
            assert_eq!(sends(state, "@GoldFalcon go on"), "go on");
        }
        "@all text" => assert_eq!(sends(state, "@all lunch"), "lunch"),
        "@Na Tab" => {
            type_in(state, "@Gol");
            press(state, KeyCode::Tab);
            assert_eq!(state.draft().text(), "@GoldFalcon ");
        }
        "Alt-Enter" => {
            go(state, "SwiftRaven");
            type_in(state, "a");
            press_with(state, KeyCode::Enter, KeyModifiers::ALT);
            type_in(state, "b");
            press_with(state, Char('j'), CONTROL);
            assert_eq!(sends(state, "c"), "a\nb\nc");
        }
        "Ctrl-A" => {
            let wanted = ChatMessage { wants_ack: true, ..received(20, "SwiftRaven", "ready?") };
            state.hear(ChatUpdate::Messages(vec![wanted]));
            go(state, "SwiftRaven");
            assert!(matches!(press_with(state, Char('a'), CONTROL).as_slice(), [ChatEffect::Ack(_)]));
        }
        "Enter twice" => {
            let place = PlaceView { text: "shop:2.0".to_string(), is_pane: true };
            let places = [("SwiftRaven".to_string(), place)].into_iter().collect();
            state.hear(ChatUpdate::Places(Box::new(PlacesNews { places, sight: None })));
            go(state, "SwiftRaven");
            assert_eq!(press(state, KeyCode::Enter), []);
            let call = PlacesCall::GoToAgent("SwiftRaven".to_string());
            assert_eq!(press(state, KeyCode::Enter), [ChatEffect::Places(call)]);
        }
        "//" => {
            go(state, "SwiftRaven");
            assert_eq!(sends(state, "//etc"), "/etc");
        }
        "Ctrl-W U K Y" => {
            go(state, "SwiftRaven");
            type_in(state, "one two");
            press_with(state, Char('w'), CONTROL);
            assert_eq!(state.draft().text(), "one ");
            press_with(state, Char('u'), CONTROL);
            assert_eq!(state.draft().text(), "");
            press_with(state, Char('y'), CONTROL);
            assert_eq!(state.draft().text(), "one ");
            press_with(state, Char('a'), CONTROL);
            press_with(state, Char('k'), CONTROL);
            assert_eq!(state.draft().text(), "");
        }
        other => panic!("no test for {other}"),
    }
}

fn runs(keys: &str, state: &mut ChatState) {
    go(state, "Runs");
    match keys {
        "Enter Enter" => {
            press(state, KeyCode::Enter);
            let id = state.runs.open.as_ref().unwrap().id.clone();
            assert_eq!(press(state, KeyCode::Enter), [ChatEffect::Places(PlacesCall::GoToWorker(id))]);
        }
        "s" => {
            assert_eq!(press(state, Char('s')), []);
            assert!(matches!(press(state, Char('y')).as_slice(), [ChatEffect::Runs(RunsCall::Stop(_))]));
        }
        other => panic!("no test for {other}"),
    }
}

fn knowledge(keys: &str, state: &mut ChatState) {
    use crate::faces::tui::knowledge_state::KnowledgeCall;
    go(state, "Knowledge");
    match keys {
        "letters" => {
            type_in(state, "lock");
            assert_eq!(state.filter.text, "lock");
        }
        "Enter c r" => {
            press(state, KeyCode::Enter);
            let id = state.knowledge.open.as_ref().unwrap().id.clone();
            state.hear(ChatUpdate::Record { id: id.clone(), page: Some(Box::new(page())) });
            let confirms = [ChatEffect::Knowledge(KnowledgeCall::Confirm(id.clone()))];
            assert_eq!(press(state, Char('c')), confirms);
            assert_eq!(press(state, Char('r')), []);
            assert_eq!(press(state, Char('y')), [ChatEffect::Knowledge(KnowledgeCall::Retire(id))]);
        }
        other => panic!("no test for {other}"),
    }
}

fn mouse(keys: &str, state: &mut ChatState) {
    let event =
        |kind, row| ChatInput::Mouse(MouseEvent { kind, column: 5, row, modifiers: KeyModifiers::NONE });
    let row = |state: &ChatState, text: &str| {
        u16::try_from(picture(state).lines().position(|line| line.contains(text)).unwrap()).unwrap()
    };
    match keys {
        "click" => {
            let click = MouseEventKind::Down(MouseButton::Left);
            for (tab, text) in [
                ("Agents", "● SwiftRaven"),
                ("Chats", "● SwiftRaven"),
                ("Tasks", "TASK-03"),
                ("Reservations", "src/session/"),
            ] {
                let mut state = full(80, 24);
                go(&mut state, tab);
                let row = row(&state, text);
                state.update(event(click, row));
                assert_eq!(
                    (at(&state), state.menu.is_some()),
                    (if tab == "Tasks" { 2 } else { 1 }, false),
                    "{tab}"
                );
                state.update(event(click, row));
                assert!(
                    state.menu.is_some() || state.talk().is_some_and(|talk| talk.is_with("SwiftRaven")),
                    "{tab}"
                );
            }
        }
        "wheel" => {
            let lines = (0..40).map(|number| received(20 + number, "Alfa", &format!("number {number}.")));
            state.hear(ChatUpdate::Messages(lines.collect()));
            go(state, "Alfa");
            state.update(event(MouseEventKind::ScrollUp, 5));
            assert!(!state.talk().is_some_and(Conversation::is_at_end));
            state.update(event(MouseEventKind::ScrollDown, 5));
            assert!(state.talk().is_some_and(Conversation::is_at_end));
        }
        // The terminal does that itself: with Shift, it does not tell the chat.
        "Shift-drag" => {}
        other => panic!("no test for {other}"),
    }
}
