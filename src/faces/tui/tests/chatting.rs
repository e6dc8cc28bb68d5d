//! Tests of conversations: scrolling, and what counts as seen.

use super::*;

/// A conversation of `count` short messages.
fn long(count: usize, height: u16) -> ChatState {
    let mut state = empty(60, height);
    state.hear(ChatUpdate::World(Box::new(world())));
    let messages = (0..count).map(|number| received(number, "SwiftRaven", &format!("message {number}.")));
    state.hear(ChatUpdate::Messages(messages.collect()));
    state.open("SwiftRaven");
    state
}

fn shows(state: &ChatState, text: &str) -> bool {
    picture(state).contains(text)
}

#[test]
fn the_latest_is_in_sight_until_somebody_looks_back() {
    let mut state = long(100, 24);
    assert!(shows(&state, "message 99."));
    press(&mut state, KeyCode::PageUp);
    assert!(!shows(&state, "message 99."));
    let before = picture(&state).replace('█', "│");
    state.hear(ChatUpdate::Messages(vec![received(100, "SwiftRaven", "message 100.")]));
    assert_eq!(picture(&state).replace('█', "│"), before, "what is read does not move");
    press(&mut state, KeyCode::End);
    assert!(shows(&state, "message 100."));
    state.hear(ChatUpdate::Messages(vec![received(101, "SwiftRaven", "message 101.")]));
    assert!(shows(&state, "message 101."), "at the end it follows");
}

#[test]
fn every_row_is_passed_by_pages_and_by_lines() {
    for (key, most) in [(KeyCode::PageUp, 20), (KeyCode::Up, 100)] {
        let mut state = long(30, 14);
        let mut seen = vec![false; 30];
        for _ in 0..most {
            let shown = picture(&state);
            for (number, seen) in seen.iter_mut().enumerate() {
                *seen |= shown.contains(&format!("message {number}."));
            }
            press(&mut state, key);
        }
        assert!(seen.iter().all(|seen| *seen), "{seen:?}");
        assert!(shows(&state, "message 0."));
        let top = picture(&state);
        press(&mut state, key);
        assert_eq!(picture(&state), top, "there is nothing above the first");
    }
}

#[test]
fn down_undoes_up() {
    let mut state = long(50, 14);
    let mut pictures = Vec::new();
    for _ in 0..30 {
        pictures.push(picture(&state));
        press(&mut state, KeyCode::Up);
    }
    for expected in pictures.into_iter().rev() {
        press(&mut state, KeyCode::Down);
        assert_eq!(picture(&state), expected);
    }
}

#[test]
fn at_the_beginning_older_ones_are_asked_for() {
    let mut state = long(30, 14);
    assert_eq!(press(&mut state, KeyCode::Home), [], "there are none");
    state.hear(ChatUpdate::Older(true));
    press(&mut state, KeyCode::End);
    assert_eq!(press(&mut state, KeyCode::Home), [ChatEffect::LoadOlder]);
    assert_eq!(press(&mut state, KeyCode::Home), [], "they are on their way");
    let before = picture(&state).replace('█', "│");
    let older =
        ChatMessage { key: "0000000000001-aaaaaa".to_string(), ..received(0, "SwiftRaven", "long ago") };
    state.hear(ChatUpdate::Messages(vec![older]));
    assert_eq!(picture(&state).replace('█', "│"), before, "what is read does not move");
    press(&mut state, KeyCode::Up);
    press(&mut state, KeyCode::Up);
    press(&mut state, KeyCode::Up);
    assert!(shows(&state, "long ago"));
}

#[test]
fn only_what_was_on_the_screen_counts_as_seen() {
    let surfaced = |state: &mut ChatState| {
        let is_seen = |effect: &ChatEffect| matches!(effect, ChatEffect::Surface(_));
        state.update(ChatInput::Drawn).into_iter().filter(is_seen).collect::<Vec<_>>()
    };
    let mut state = long(0, 14);
    state.hear(ChatUpdate::Messages(vec![unread(1, "SwiftRaven", "short")]));
    state.tab = super::super::state::Tab::Agents;
    assert_eq!(surfaced(&mut state), [], "another tab is open");
    go(&mut state, "SwiftRaven");
    state.is_help_open = true;
    assert_eq!(surfaced(&mut state), [], "the keys lie on top");
    state.is_help_open = false;
    type_in(&mut state, "@");
    assert_eq!(surfaced(&mut state), [], "names that are offered lie on top");
    press(&mut state, KeyCode::Backspace);
    let seen = ChatEffect::Surface(vec![unread(1, "", "").key]);
    assert_eq!(surfaced(&mut state), [seen]);
    assert_eq!(surfaced(&mut state), [], "once");
    state.hear(ChatUpdate::Messages(vec![received(1, "SwiftRaven", "short")]));
    assert_eq!(state.unread(), 0);
}

#[test]
fn a_long_message_has_to_be_seen_as_a_whole() {
    let mut state = long(0, 14);
    let text = (0..100).map(|line| format!("line {line}")).collect::<Vec<_>>().join("\n");
    state.hear(ChatUpdate::Messages(vec![unread(1, "SwiftRaven", &text)]));
    go(&mut state, "SwiftRaven");
    let mut effects = Vec::new();
    for _ in 0..20 {
        assert_eq!(effects, [], "not yet");
        effects = state.update(ChatInput::Drawn);
        if !effects.is_empty() {
            break;
        }
        press(&mut state, KeyCode::PageUp);
    }
    assert_eq!(effects, [ChatEffect::Surface(vec![unread(1, "", "").key])]);
    assert!(shows(&state, "line 0"));
}

#[test]
fn a_burst_beyond_the_screen_is_seen_bit_by_bit() {
    let mut state = long(0, 14);
    state.hear(ChatUpdate::Messages((0..20).map(|number| unread(number, "SwiftRaven", "hi")).collect()));
    go(&mut state, "SwiftRaven");
    let Some(ChatEffect::Surface(first)) = state.update(ChatInput::Drawn).pop() else {
        panic!("something is in sight")
    };
    assert!(first.len() < 20);
    let mut seen = first.len();
    for _ in 0..20 {
        press(&mut state, KeyCode::PageUp);
        for effect in state.update(ChatInput::Drawn) {
            let ChatEffect::Surface(more) = effect else { panic!("{effect:?}") };
            seen += more.len();
        }
    }
    assert_eq!(seen, 20, "each once");
}

#[test]
fn a_receipt_changes_and_copies_are_one_message() {
    let mut state = full(80, 24);
    go(&mut state, "All");
    assert!(shows(&state, "1 of 2 acked"), "{}", picture(&state));
    assert_eq!(picture(&state).matches("Commit by six").count(), 1);
    let copy = sent(9, "GoldFalcon", "", ReceiptView::Stored).key;
    state.hear(ChatUpdate::Receipts(vec![(copy, ReceiptView::Acked)]));
    assert!(shows(&state, "acked by 2"), "{}", picture(&state));
}

#[test]
fn messages_go_where_they_belong() {
    let mut state = full(80, 24);
    assert_eq!(
        state.conversations.iter().map(|conversation| conversation.with.as_str()).collect::<Vec<_>>(),
        ["SwiftRaven", "GoldFalcon"]
    );
    assert_eq!(state.all.messages.len(), 2);
    assert_eq!(state.unread(), 2);
    let key = unread(6, "", "").key;
    state.hear(ChatUpdate::Forget(vec![key]));
    assert_eq!(state.unread(), 1);
}

#[test]
fn what_nobody_could_see_has_to_be_seen_again() {
    let mut state = long(0, 14);
    state.hear(ChatUpdate::Messages((0..20).map(|number| unread(number, "SwiftRaven", "hi")).collect()));
    let Some(ChatEffect::Surface(hidden)) = state.update(ChatInput::Drawn).pop() else {
        panic!("something is drawn")
    };
    assert_eq!(state.update(ChatInput::Drawn), []);
    press(&mut state, KeyCode::Home);
    state.hear(ChatUpdate::Unseen(hidden.clone()));
    let Some(ChatEffect::Surface(seen)) = state.update(ChatInput::Drawn).pop() else {
        panic!("something is in sight")
    };
    assert!(!seen.iter().any(|key| hidden.contains(key)), "only what is in sight now: {seen:?}");
    press(&mut state, KeyCode::End);
    assert_eq!(state.update(ChatInput::Drawn), [ChatEffect::Surface(hidden)]);
}

#[test]
fn the_same_said_twice_is_two_messages() {
    let mut state = full(80, 24);
    let again = |number, to| ChatMessage {
        is_broadcast: true,
        at: ago(1),
        ..sent(number, to, "ping", ReceiptView::Stored)
    };
    let messages = vec![
        again(70, "SwiftRaven"),
        again(71, "GoldFalcon"),
        again(72, "SwiftRaven"),
        again(73, "GoldFalcon"),
    ];
    state.hear(ChatUpdate::Messages(messages.clone()));
    go(&mut state, "All");
    assert_eq!(picture(&state).matches("ping").count(), 2, "{}", picture(&state));
    state.hear(ChatUpdate::Messages(messages));
    assert_eq!(picture(&state).matches("ping").count(), 2, "told again, they are the same");
}
