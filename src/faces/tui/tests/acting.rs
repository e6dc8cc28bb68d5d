//! Tests of the menu of actions, the selection, and what is seen first in a conversation.

use super::*;
use crate::faces::tui::action_menu::ActionCall;
use crate::faces::tui::list_rows::chosen_agent;
use crate::faces::tui::state::Tab;

/// The entries of the open menu: `key label`.
fn entries(state: &ChatState) -> Vec<String> {
    let items = state.menu.iter().flat_map(|menu| &menu.items);
    items.map(|item| format!("{} {}", item.key, item.label)).collect()
}

/// A state in which I hold a path and have a task.
fn mine(width: u16, height: u16) -> ChatState {
    let mut state = full(width, height);
    let mut world = world();
    world.boards[0].tasks[1].state = TaskStateView::Claimed { by: "Robin".into(), since: ago(1) };
    world.holds.push(ReservationItem { holder: "Robin".into(), reason: None, ..world.holds[0].clone() });
    state.hear(ChatUpdate::World(Box::new(world)));
    state
}

fn open_menu(state: &mut ChatState) -> Vec<String> {
    assert_eq!(press(state, KeyCode::Char(' ')), []);
    entries(state)
}

fn choose(state: &mut ChatState, key: char) -> Vec<ChatEffect> {
    press(state, KeyCode::Char(key))
}

#[test]
fn the_menu_of_an_agent_has_what_is_possible() {
    let mut state = mine(80, 24);
    assert_eq!(
        open_menu(&mut state),
        ["m message", "y copy the last message", "h hand TASK-02 over to GoldFalcon", "e evict"]
    );
    press(&mut state, KeyCode::Esc);
    assert_eq!((state.menu.as_ref(), &state.tab), (None, &Tab::Agents), "Esc closes the menu only");
    // Without a modifier alone.
    for key in [' ', '?', '/'] {
        for held in [KeyModifiers::CONTROL, KeyModifiers::ALT] {
            press_with(&mut state, KeyCode::Char(key), held);
        }
    }
    assert_eq!((state.menu.as_ref(), state.is_help_open, state.filter.is_open), (None, false, false));
    assert_eq!((&state.tab, state.draft().text()), (&Tab::Agents, ""));
    press(&mut state, KeyCode::Down);
    let of_swift = open_menu(&mut state);
    assert!(of_swift.contains(&"r show what it has reserved (2)".to_string()), "{of_swift:?}");
    assert_eq!(choose(&mut state, 'r'), []);
    assert_eq!((&state.tab, state.filter.text.as_str()), (&Tab::Reservations, "SwiftRaven"));
}

#[test]
fn a_task_is_handed_over_from_either_side() {
    let spec = "/shop/docs/login.md".to_string();
    let to = |name: &str| {
        let (task, to) = ("TASK-02".to_string(), name.to_string());
        [ChatEffect::Act(ActionCall::HandOff { task, spec: spec.clone(), to })]
    };
    let mut state = mine(80, 24);
    open_menu(&mut state);
    assert_eq!(choose(&mut state, 'h'), to("GoldFalcon"));
    go(&mut state, "Tasks");
    press(&mut state, KeyCode::Down);
    assert_eq!(
        open_menu(&mut state),
        ["u give it back", "h hand it over to …", "o open the spec in your editor", "y copy its id"]
    );
    assert_eq!(choose(&mut state, 'h'), []);
    assert_eq!(entries(&state), ["1 CalmOwl (away)", "2 GoldFalcon (idle)", "3 SwiftRaven (active)"]);
    assert_eq!(choose(&mut state, '3'), to("SwiftRaven"));
    assert_eq!(state.menu, None);

    // More agents than there are keys: the rest is chosen with the arrows.
    let known = state.world.peers[0].clone();
    let more = (0..50).map(|number| PeerItem { name: format!("Zebra{number:02}"), ..known.clone() });
    state.world.peers.extend(more);
    open_menu(&mut state);
    choose(&mut state, 'h');
    assert_eq!(entries(&state).len(), 53);
    press(&mut state, KeyCode::End);
    assert_eq!(press(&mut state, KeyCode::Enter), to("Zebra49"));
}

#[test]
fn tasks_are_claimed_and_given_back() {
    let spec = "/shop/docs/login.md".to_string();
    let mut state = full(80, 24);
    go(&mut state, "Tasks");
    press(&mut state, KeyCode::Down);
    assert_eq!(open_menu(&mut state)[0], "c claim");
    let task = "TASK-02".to_string();
    let claimed = [ChatEffect::Act(ActionCall::Claim { task: task.clone(), spec: spec.clone() })];
    assert_eq!(press(&mut state, KeyCode::Enter), claimed, "Enter takes the selected entry");
    press(&mut state, KeyCode::Down);
    let other = open_menu(&mut state);
    assert_eq!(other[0], "m message SwiftRaven", "the task of another agent");
    assert!(!other.iter().any(|entry| entry.starts_with(['c', 'u', 'h'])), "{other:?}");
    let mut state = mine(80, 24);
    go(&mut state, "Tasks");
    press(&mut state, KeyCode::Down);
    press(&mut state, KeyCode::Enter);
    assert_eq!(choose(&mut state, 'u'), [ChatEffect::Act(ActionCall::Unclaim { task, spec })]);
}

#[test]
fn reservations_are_released_and_those_of_others_after_a_question() {
    let mut state = mine(80, 24);
    go(&mut state, "Reservations");
    open_menu(&mut state);
    assert_eq!(choose(&mut state, 'o'), [ChatEffect::Edit("/shop/src/auth/".to_string())]);
    open_menu(&mut state);
    assert_eq!(choose(&mut state, 'y'), [ChatEffect::Copy("src/auth/".to_string())]);
    open_menu(&mut state);
    assert_eq!(choose(&mut state, 'r'), []);
    assert!(
        picture(&state).contains("y / n: take from SwiftRaven, who is told, src/auth/?"),
        "{}",
        picture(&state)
    );
    assert_eq!(choose(&mut state, 'r'), [], "only y is yes");
    assert_eq!(state.notice.as_ref().unwrap().text, "nothing was changed");
    open_menu(&mut state);
    choose(&mut state, 'r');
    let (target, holder) = ("/shop/src/auth/".to_string(), "SwiftRaven".to_string());
    assert_eq!(choose(&mut state, 'y'), [ChatEffect::Act(ActionCall::ReleaseFrom { target, holder })]);
    press(&mut state, KeyCode::Down);
    let of_pattern = open_menu(&mut state);
    assert!(!of_pattern.iter().any(|entry| entry.starts_with('o')), "a glob is no file: {of_pattern:?}");
    press(&mut state, KeyCode::Esc);
    press(&mut state, KeyCode::End);
    assert_eq!(open_menu(&mut state)[0], "r release");
    let (pattern, root) = ("src/auth/".to_string(), Some("/shop".to_string()));
    assert_eq!(choose(&mut state, 'r'), [ChatEffect::Act(ActionCall::Release { pattern, root })]);
}

#[test]
fn an_agent_is_evicted_after_a_question() {
    let mut state = full(80, 24);
    open_menu(&mut state);
    assert_eq!(choose(&mut state, 'e'), []);
    let shown = picture(&state);
    assert!(shown.contains("evict GoldFalcon? It loses its name"), "{shown}");
    assert_eq!(press(&mut state, KeyCode::Enter), [], "Enter is not yes");
    assert_eq!(state.menu, None);
    open_menu(&mut state);
    choose(&mut state, 'e');
    let evicted = ActionCall::Evict { name: "GoldFalcon".to_string() };
    assert_eq!(choose(&mut state, 'y'), [ChatEffect::Act(evicted)]);
}

#[test]
fn what_is_owed_is_acked_from_the_list() {
    let mut state = full(80, 24);
    let wanted = ChatMessage { wants_ack: true, ..received(20, "GoldFalcon", "ready?") };
    state.hear(ChatUpdate::Messages(vec![ChatMessage { key: "0000000001020-bbbbbb".into(), ..wanted }]));
    assert!(open_menu(&mut state).contains(&"a acknowledge (1)".to_string()));
    assert_eq!(choose(&mut state, 'a'), [ChatEffect::Ack(vec!["bbbbbb".to_string()])]);
}

#[test]
fn where_nothing_is_selected_there_is_no_menu() {
    for tab in ["Feed", "Overlaps"] {
        let mut state = full(80, 24);
        go(&mut state, tab);
        assert!(open_menu(&mut state).is_empty(), "{tab}");
        assert!(state.notice.as_ref().unwrap().text.starts_with("there is nothing to do"), "{tab}");
        assert_eq!(state.draft().text(), "", "{tab}");
    }
    let mut state = full(80, 24);
    type_in(&mut state, "@all a b");
    assert_eq!(state.draft().text(), "@all a b", "in a message it is a space");
}

#[test]
fn what_is_too_long_is_not_copied() {
    let mut state = full(80, 24);
    state.hear(ChatUpdate::Messages(vec![received(30, "GoldFalcon", &"x".repeat(70 * 1024))]));
    open_menu(&mut state);
    assert_eq!(choose(&mut state, 'y'), []);
    assert!(state.notice.as_ref().unwrap().is_error);
}

#[test]
fn what_is_selected_stays_selected_when_the_list_changes() {
    let mut state = full(80, 24);
    press(&mut state, KeyCode::Down);
    assert_eq!(chosen_agent(&state), Some("SwiftRaven"));
    let mut world = world();
    world.peers.push(peer("AmberFox", Presence::Stuck));
    state.hear(ChatUpdate::World(Box::new(world.clone())));
    assert_eq!(chosen_agent(&state), Some("SwiftRaven"), "another one is above it now");
    world.peers.retain(|peer| peer.name != "SwiftRaven");
    state.hear(ChatUpdate::World(Box::new(world)));
    assert!(chosen_agent(&state).is_some());
}

#[test]
fn a_conversation_opens_at_the_first_unread_message() {
    let mut state = full(80, 24);
    let messages = (0..60).map(|number| {
        let key = format!("{:013}-cccccc", 5_000 + number);
        let text = format!("number {number}.");
        let message = if number < 20 { received(1, "Alfa", &text) } else { unread(1, "Alfa", &text) };
        ChatMessage { key, ..message }
    });
    state.hear(ChatUpdate::Messages(messages.collect()));
    go(&mut state, "Alfa");
    let shown = picture(&state);
    assert!(shown.contains("number 20.") && !shown.contains("number 19."), "{shown}");
    assert!(shown.contains("End: the latest") && shown.contains('█'), "{shown}");
    press(&mut state, KeyCode::End);
    assert!(picture(&state).contains("number 59."));
    // If all of it fits, it is at its end, and follows it.
    go(&mut state, "GoldFalcon");
    assert!(!picture(&state).contains("End: the latest"), "{}", picture(&state));
}

#[test]
fn a_light_background_has_no_yellow() {
    use ratatui::style::Color::{Cyan, Magenta, Yellow};
    let colours = |is_light: bool| {
        let state = full(120, 40);
        let mut terminal = Terminal::new(TestBackend::new(120, 40)).unwrap();
        let theme = Theme { has_colour: true, is_light };
        terminal.draw(|frame| view::draw(frame, &state, theme)).unwrap();
        let buffer = terminal.backend().buffer().clone();
        buffer.content.iter().map(|cell| cell.fg).collect::<Vec<_>>()
    };
    let (dark, light) = (colours(false), colours(true));
    assert!(dark.contains(&Yellow) && !dark.contains(&Magenta));
    assert!(light.contains(&Magenta) && !light.contains(&Yellow) && !light.contains(&Cyan));
}

#[test]
fn a_wide_screen_shows_the_selected_agent_in_full() {
    let mut state = full(120, 40);
    press(&mut state, KeyCode::Down);
    let shown = picture(&state);
    for text in [
        "│ ● SwiftRaven  active",
        " · opus-5 · main",
        "TASK-03: the hashes are done",
        "1 message to you",
        "src/auth/ · 12min · new login flow",
        "2min  completed TASK-01",
    ] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    press(&mut state, KeyCode::Up);
    assert!(picture(&state).contains("waits for   src/auth/ (SwiftRaven holds it)"), "{}", picture(&state));
    go(&mut state, "SwiftRaven");
    assert!(
        picture(&state).contains("│ ● SwiftRaven  active"),
        "beside the conversation too: {}",
        picture(&state)
    );
    let mut state = full(100, 40);
    press(&mut state, KeyCode::Down);
    assert!(!picture(&state).contains("│ ● SwiftRaven"), "{}", picture(&state));
}
