//! Tests of the overlaps: what is read and when, why the tab is empty, and how it is filtered and scrolled.

use super::*;
use crate::faces::tui::state::{AwarenessFocus, Tab};

fn drawn(state: &mut ChatState) -> Vec<ChatEffect> {
    let effects = state.update(ChatInput::Drawn);
    effects.into_iter().filter(|effect| matches!(effect, ChatEffect::Follow(_))).collect()
}

fn follow(focus: AwarenessFocus) -> Vec<ChatEffect> {
    vec![ChatEffect::Follow(focus)]
}

#[test]
fn only_what_is_shown_is_read() {
    let mut state = full(80, 24);
    assert_eq!(drawn(&mut state), follow(AwarenessFocus::Agent("GoldFalcon".to_string())));
    assert_eq!(drawn(&mut state), [], "once");
    press(&mut state, KeyCode::Down);
    press(&mut state, KeyCode::Down);
    assert_eq!(drawn(&mut state), follow(AwarenessFocus::Agent("CalmOwl".to_string())), "the last one");
    go(&mut state, "Overlaps");
    assert_eq!(drawn(&mut state), follow(AwarenessFocus::Overlaps));
    type_in(&mut state, "hello");
    state.hear(ChatUpdate::Overlaps(Box::default()));
    assert_eq!(drawn(&mut state), []);
    for tab in ["Feed", "SwiftRaven", "All", "Tasks", "Reservations"] {
        go(&mut state, "Overlaps");
        drawn(&mut state);
        state.go_to(match tab {
            "SwiftRaven" => Tab::Conversation(tab.to_string()),
            "All" => Tab::All,
            "Tasks" => Tab::Tasks,
            "Reservations" => Tab::Reservations,
            _ => Tab::Feed,
        });
        assert_eq!(drawn(&mut state), follow(AwarenessFocus::Nothing), "{tab}");
    }
    let mut low = full(80, 10);
    assert_eq!(drawn(&mut low), [], "there is no room for what an agent is working on");
}

#[track_caller]
fn says(overlaps: Option<OverlapsView>, expected: &str) {
    let mut state = empty(100, 24);
    if let Some(overlaps) = overlaps {
        state.hear(ChatUpdate::Overlaps(Box::new(overlaps)));
    }
    go(&mut state, "Overlaps");
    let picture = picture(&state);
    assert!(picture.lines().any(|line| line.trim() == expected), "{picture}");
}

#[test]
fn an_empty_tab_says_why() {
    let seen = |agents| OverlapsView { place: "~/shop".to_string(), agents, ..OverlapsView::default() };
    says(None, "…");
    let off = OverlapsView { is_off: true, ..seen(2) };
    says(Some(off), "Awareness is off. To switch it on: `msg config set awareness warn`.");
    says(Some(seen(0)), "No agent works in ~/shop.");
    says(Some(seen(1)), "Only one agent works in ~/shop.");
    says(Some(seen(2)), "No agent in ~/shop seems to be heading for another's files.");
}

#[test]
fn a_filter_keeps_what_matches() {
    let shown = |filter: &str| {
        let mut state = full(100, 24);
        go(&mut state, "Overlaps");
        press(&mut state, KeyCode::Char('/'));
        filter.chars().for_each(|letter| drop(press(&mut state, KeyCode::Char(letter))));
        picture(&state)
    };
    let owl = shown("owl");
    assert!(owl.contains("CalmOwl → GoldFalcon") && !owl.contains("login.rs"), "{owl}");
    let removed = shown("hash.rs");
    assert!(removed.contains("SwiftRaven: lines 10–14, 20 · GoldFalcon: removed"), "{removed}");
    let prevented = shown("prevented");
    assert!(prevented.contains("58 %") && !prevented.contains("dismiss"), "{prevented}");
    let nothing = shown("nothing of that");
    assert!(nothing.contains("No overlap matches."), "{nothing}");
}

#[test]
fn many_pairs_are_scrolled() {
    let mut state = full(80, 24);
    let why = "prompts about `login` usually end there (7 of 9)";
    let file = |number: usize| format!("src/file{number}.rs");
    let pairs = (0..100).map(|number| pair("Alice", "Robin", 50, &file(number), why)).collect();
    state.hear(ChatUpdate::Overlaps(Box::new(OverlapsView { pairs, ..OverlapsView::default() })));
    go(&mut state, "Overlaps");
    assert!(picture(&state).contains("src/file0.rs") && !picture(&state).contains("src/file50.rs"));
    press(&mut state, KeyCode::End);
    assert!(picture(&state).contains("src/file99.rs"), "{}", picture(&state));
    press(&mut state, KeyCode::Home);
    assert!(picture(&state).contains("src/file0.rs"));
}
