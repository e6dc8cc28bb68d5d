//! Tests of the tab *Knowledge*: searching, reading, confirming, retiring, and what each screen looks like.

use super::pictures::check;
use super::*;
use crate::faces::tui::knowledge_state::{KnowledgeCall, KnowledgeFocus};

const ID: &str = "decision/one-lock-guards-all-names";

fn calls(effects: Vec<ChatEffect>) -> Vec<KnowledgeCall> {
    let call = |effect| match effect {
        ChatEffect::Knowledge(call) => Some(call),
        _ => None,
    };
    effects.into_iter().filter_map(call).collect()
}

fn drawn(state: &mut ChatState) -> Vec<KnowledgeCall> {
    calls(state.update(ChatInput::Drawn))
}

fn search(words: &str) -> Vec<KnowledgeCall> {
    vec![KnowledgeCall::Show(KnowledgeFocus::Search(words.to_string()))]
}

fn in_tab(width: u16, height: u16) -> ChatState {
    let mut state = full(width, height);
    go(&mut state, "Knowledge");
    state
}

/// With the first record open.
fn reading(width: u16, height: u16) -> ChatState {
    let mut state = in_tab(width, height);
    press(&mut state, KeyCode::Enter);
    state.hear(ChatUpdate::Record { id: ID.to_string(), page: Some(Box::new(page())) });
    state
}

#[test]
fn every_screen_at_three_sizes() {
    for (width, height) in [(60, 15), (80, 24), (200, 60)] {
        check("knowledge", &mut in_tab(width, height));
        let mut state = in_tab(width, height);
        type_in(&mut state, "lock");
        check("knowledge-searching", &mut state);
        let found = records().items.into_iter().filter(|item| item.name.contains("lock")).collect();
        let found = KnowledgeList { words: "lock".to_string(), items: found, total: 340 };
        state.hear(ChatUpdate::Records(Box::new(found)));
        press(&mut state, KeyCode::Down);
        check("knowledge-found", &mut state);
        state.hear(ChatUpdate::Records(Box::new(KnowledgeList {
            words: "lock".to_string(),
            ..empty_list(340)
        })));
        check("knowledge-no-match", &mut state);
        let mut state = reading(width, height);
        check("knowledge-record", &mut state);
        press(&mut state, KeyCode::Char('r'));
        check("knowledge-retiring", &mut state);
        let mut state = empty(width, height);
        state.hear(ChatUpdate::Records(Box::new(empty_list(0))));
        go(&mut state, "Knowledge");
        check("knowledge-empty", &mut state);
    }
}

fn empty_list(total: usize) -> KnowledgeList {
    KnowledgeList { total, ..KnowledgeList::default() }
}

#[test]
fn only_what_is_shown_is_read() {
    let mut state = full(80, 24);
    assert_eq!(drawn(&mut state), [], "nothing is read before the tab is open");
    go(&mut state, "Knowledge");
    assert_eq!(drawn(&mut state), search(""));
    assert_eq!(drawn(&mut state), [], "once");
    type_in(&mut state, "one lock");
    assert_eq!(drawn(&mut state), search("one lock"), "only the last of what was typed");
    press(&mut state, KeyCode::Backspace);
    assert_eq!(drawn(&mut state), search("one loc"));
    answer(&mut state, "one loc");
    press(&mut state, KeyCode::Enter);
    assert_eq!(drawn(&mut state), [KnowledgeCall::Show(KnowledgeFocus::Record(ID.to_string()))]);
    press(&mut state, KeyCode::Esc);
    assert_eq!(drawn(&mut state), search("one loc"), "the search is still there");
    type_in(&mut state, "k");
    assert_eq!(drawn(&mut state), search("one lock"), "and goes on");
    press(&mut state, KeyCode::Esc);
    assert_eq!(drawn(&mut state), search(""));
    press(&mut state, KeyCode::Tab);
    assert_eq!(drawn(&mut state), [KnowledgeCall::Show(KnowledgeFocus::Nothing)]);
}

#[test]
fn a_search_begins_at_the_best() {
    let mut state = in_tab(80, 24);
    press(&mut state, KeyCode::End);
    assert_eq!(state.list().at, 4);
    type_in(&mut state, "l");
    assert_eq!(state.list().at, 0);
    press(&mut state, KeyCode::Down);
    type_in(&mut state, "o");
    assert_eq!(state.list().at, 0);
    answer(&mut state, "lo");
    for key in [KeyCode::Down, KeyCode::Down, KeyCode::Enter] {
        press(&mut state, key);
    }
    let open = state.knowledge.open.as_ref().map(|open| open.id.as_str());
    assert_eq!(open, Some("note/tests-run-locked"));
}

/// All records answer these words.
fn answer(state: &mut ChatState, words: &str) {
    let list = KnowledgeList { words: words.to_string(), ..records() };
    state.hear(ChatUpdate::Records(Box::new(list)));
}

#[test]
fn what_is_opened_while_searching_is_the_answer() {
    let opened = |state: &ChatState| state.knowledge.open.as_ref().map(|open| open.id.clone());
    let mut state = in_tab(80, 24);
    type_in(&mut state, "tests");
    press(&mut state, KeyCode::Enter);
    assert_eq!(opened(&state), None, "the list is still that of earlier words");
    answer(&mut state, "test");
    assert_eq!(opened(&state), None);
    let found = records().items.into_iter().filter(|item| item.name.contains("tests")).collect();
    let found = KnowledgeList { words: "tests".to_string(), items: found, total: 340 };
    state.hear(ChatUpdate::Records(Box::new(found)));
    assert_eq!(opened(&state).as_deref(), Some("note/tests-run-locked"));
    // Nor is it said that nothing matches before that is known.
    let mut state = in_tab(80, 24);
    state.hear(ChatUpdate::Records(Box::new(KnowledgeList { words: "x".to_string(), ..empty_list(340) })));
    assert!(!picture(&state).contains("No record matches"), "{}", picture(&state));
    // Who goes on typing does not wait any more.
    let mut state = in_tab(80, 24);
    type_in(&mut state, "test");
    press(&mut state, KeyCode::Enter);
    type_in(&mut state, "s");
    answer(&mut state, "test");
    answer(&mut state, "tests");
    assert_eq!(opened(&state), None);
}

#[test]
fn nothing_is_written_without_its_key() {
    let mut state = reading(80, 24);
    let others = [
        KeyCode::Enter,
        KeyCode::Char('y'),
        KeyCode::Char('x'),
        KeyCode::Char('C'),
        KeyCode::Char('R'),
        KeyCode::Delete,
        KeyCode::Backspace,
        KeyCode::Down,
        KeyCode::End,
    ];
    for key in others {
        assert_eq!(press(&mut state, key), [], "{key:?}");
    }
    for letter in ['c', 'r'] {
        let held = press_with(&mut state, KeyCode::Char(letter), KeyModifiers::ALT);
        assert_eq!(held, [], "{letter}");
    }
    assert!(state.knowledge.question().is_none());
    let confirmed = calls(press(&mut state, KeyCode::Char('c')));
    assert_eq!(confirmed, [KnowledgeCall::Confirm(ID.to_string())]);
    // In the list, the same letters search.
    let mut state = in_tab(80, 24);
    type_in(&mut state, "cry");
    assert_eq!(state.filter.text, "cry");
}

#[test]
fn retiring_asks_once() {
    let mut state = reading(80, 24);
    assert_eq!(press(&mut state, KeyCode::Char('r')), []);
    state.complain("something else is wrong");
    assert!(picture(&state).contains("Retire it? y: yes"), "{}", picture(&state));
    for key in [KeyCode::Char('n'), KeyCode::Esc, KeyCode::Enter, KeyCode::Char('c')] {
        assert_eq!(press(&mut state, key), [], "{key:?} keeps it");
        assert!(picture(&state).contains("is kept"), "{}", picture(&state));
        assert_eq!(press(&mut state, KeyCode::Char('y')), [], "it asks again");
        press(&mut state, KeyCode::Char('r'));
    }
    let retired = calls(press(&mut state, KeyCode::Char('y')));
    assert_eq!(retired, [KnowledgeCall::Retire(ID.to_string())]);
    assert_eq!(press(&mut state, KeyCode::Char('y')), [], "once");
    state.hear(ChatUpdate::Record { id: ID.to_string(), page: None });
    assert!(state.knowledge.open.is_none());
    assert!(picture(&state).contains("340 records"), "{}", picture(&state));
}

#[test]
fn a_record_that_is_not_read_yet_is_not_changed() {
    let mut state = in_tab(80, 24);
    press(&mut state, KeyCode::Enter);
    assert_eq!(press(&mut state, KeyCode::Char('c')), []);
    press(&mut state, KeyCode::Char('r'));
    assert!(state.knowledge.question().is_none());
    // What belongs to another record is not shown in its place.
    state.hear(ChatUpdate::Record { id: "note/other".to_string(), page: Some(Box::new(page())) });
    assert!(state.knowledge.open.as_ref().is_some_and(|open| open.page.is_none()));
    state.hear(ChatUpdate::Record { id: "note/other".to_string(), page: None });
    assert!(state.knowledge.open.is_some());
}

#[test]
fn messages_are_sent_from_here_too() {
    let mut state = reading(80, 24);
    type_in(&mut state, "@");
    press(&mut state, KeyCode::Esc);
    type_in(&mut state, "SwiftRaven cry");
    let sent = press(&mut state, KeyCode::Enter);
    assert!(matches!(sent.as_slice(), [ChatEffect::Send { text, .. }] if text == "cry"), "{sent:?}");
    press(&mut state, KeyCode::Char('?'));
    assert!(state.is_help_open);
}

#[test]
fn a_long_record_is_scrolled() {
    let mut state = reading(60, 15);
    let lines = (0..100).map(|number| format!("line {number}")).collect();
    let long = KnowledgePage { heading: "note/long".to_string(), lines };
    state.hear(ChatUpdate::Record { id: ID.to_string(), page: Some(Box::new(long)) });
    assert!(picture(&state).contains("note/long"));
    press(&mut state, KeyCode::PageDown);
    assert!(!picture(&state).contains("note/long"));
    press(&mut state, KeyCode::End);
    assert!(picture(&state).contains("line 99"));
    press(&mut state, KeyCode::Down);
    press(&mut state, KeyCode::Up);
    assert!(!picture(&state).contains("line 99"), "one row up from the end");
}

#[test]
fn a_hostile_record_draws_nothing_else() {
    let mut state = in_tab(80, 24);
    let hostile = item("note/x", &["\u{1b}[2Jstale"], "a\u{1b}[2J\nb\u{202e}c", "src/\u{7}x.rs");
    let list = KnowledgeList { items: vec![hostile], ..empty_list(1) };
    state.hear(ChatUpdate::Records(Box::new(list)));
    let shown = picture(&state);
    assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{shown:?}");
}
