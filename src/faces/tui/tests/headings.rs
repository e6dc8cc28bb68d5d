//! Tests of what the selected agent is working on, below the list of agents.

use super::*;
use crate::faces::tui::list_rows::chosen_agent;
use crate::faces::tui::model::HeadingsView;

/// What GoldFalcon, the first in the list, is working on.
fn headings() -> HeadingsView {
    let words = |words: &[&str]| words.iter().map(|word| word.to_string()).collect::<Vec<_>>();
    HeadingsView {
        name: "GoldFalcon".to_string(),
        asked: Some(ago(4)),
        rows: vec![
            ("deepening", words(&["session"])),
            ("stable", words(&["login"])),
            ("emerging", words(&["expire", "cookie"])),
            ("changed", words(&["src/auth/session.rs", "src/auth/cookie.rs"])),
        ],
    }
}

fn with_headings(width: u16, height: u16) -> ChatState {
    let mut state = full(width, height);
    state.hear(ChatUpdate::Headings(Some(Box::new(headings()))));
    state
}

#[test]
fn what_the_selected_agent_is_working_on() {
    for (width, height) in [(80, 24), (120, 40), (40, 10)] {
        super::pictures::check("headings", &mut with_headings(width, height));
    }
}

#[test]
fn they_are_only_shown_for_their_agent() {
    let mut state = with_headings(80, 24);
    press(&mut state, KeyCode::Down);
    let loading = picture(&state);
    assert!(loading.contains("─ SwiftRaven ─") && !loading.contains("deepening"), "{loading}");
    state.hear(ChatUpdate::Headings(Some(Box::new(HeadingsView {
        name: "SwiftRaven".to_string(),
        ..HeadingsView::default()
    }))));
    assert!(!picture(&state).contains("─ SwiftRaven"), "nothing is known of it: {}", picture(&state));
    state.hear(ChatUpdate::Headings(None));
    assert!(!picture(&state).contains("deepening"));
}

#[test]
fn a_click_still_finds_the_agent() {
    use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
    let mut state = with_headings(80, 24);
    let picture = picture(&state);
    let row = picture.lines().position(|line| line.contains("CalmOwl")).unwrap();
    let click = MouseEvent {
        kind: MouseEventKind::Down(MouseButton::Left),
        column: 5,
        row: u16::try_from(row).unwrap(),
        modifiers: KeyModifiers::NONE,
    };
    state.update(ChatInput::Mouse(click));
    assert_eq!(chosen_agent(&state), Some("CalmOwl"), "{picture}");
    let below = MouseEvent { row: 20, ..click };
    state.update(ChatInput::Mouse(below));
    assert_eq!(chosen_agent(&state), Some("CalmOwl"), "a click below the list selects nothing");
}

#[test]
fn nothing_in_them_is_obeyed() {
    let mut state = full(80, 24);
    let evil = vec!["\u{1b}[2J\n漢字".to_string()];
    state.hear(ChatUpdate::Headings(Some(Box::new(HeadingsView {
        rows: vec![("about", evil)],
        ..headings()
    }))));
    let picture = picture(&state);
    assert!(picture.contains("\\u{1b}[2J"), "{picture}");
}
