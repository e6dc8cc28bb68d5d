//! Tests of keys and the mouse.

use super::*;
use crate::faces::tui::navigation::FIXED_TABS;
use crate::faces::tui::recipients::Recipients;
use crate::faces::tui::state::Tab;
use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};

/// The messages sent, without where they were typed.
fn sent(effects: Vec<ChatEffect>) -> Vec<(Recipients, String)> {
    let of = |effect| match effect {
        ChatEffect::Send { to, text, .. } => (to, text),
        other => panic!("{other:?}"),
    };
    effects.into_iter().map(of).collect()
}

fn to(name: &str, text: &str) -> Vec<(Recipients, String)> {
    vec![(Recipients::Named(vec![name.to_string()]), text.to_string())]
}

fn to_all(text: &str) -> Vec<(Recipients, String)> {
    vec![(Recipients::All, text.to_string())]
}

#[test]
fn tabs_go_round_both_ways() {
    let mut state = full(80, 24);
    let names = state.tabs();
    assert_eq!(names.len(), 9);
    for key in [KeyCode::Tab, KeyCode::Right] {
        for place in 1..=names.len() {
            press(&mut state, key);
            assert_eq!(state.tab, names[place % names.len()]);
        }
    }
    for key in [KeyCode::BackTab, KeyCode::Left] {
        for place in (0..names.len()).rev() {
            press(&mut state, key);
            assert_eq!(state.tab, names[place]);
        }
    }
}

#[test]
fn enter_sends_to_whom_the_tab_is_about() {
    let mut state = full(80, 24);
    go(&mut state, "SwiftRaven");
    type_in(&mut state, "go on");
    assert_eq!(sent(press(&mut state, KeyCode::Enter)), to("SwiftRaven", "go on"));
    assert!(state.draft().is_empty());
    go(&mut state, "All");
    type_in(&mut state, "hello");
    assert_eq!(sent(press(&mut state, KeyCode::Enter)), to_all("hello"));
}

#[test]
fn a_mention_sends_from_any_tab() {
    for tab in ["Agents", "SwiftRaven", "All", "Tasks", "Reservations", "Feed", "Knowledge", "Overlaps"] {
        let mut state = full(80, 24);
        go(&mut state, tab);
        type_in(&mut state, "@goldfalcon: are you there?");
        assert_eq!(sent(press(&mut state, KeyCode::Enter)), to("GoldFalcon", "are you there?"), "{tab}");
        type_in(&mut state, "@all lunch");
        assert_eq!(sent(press(&mut state, KeyCode::Enter)), to_all("lunch"), "{tab}");
        let before = state.tab.clone();
        go(&mut state, tab);
        assert_eq!(state.tab, before, "the tab stays");
    }
    let mut state = full(80, 24);
    type_in(&mut state, "@SwiftRaven @GoldFalcon both of you");
    let both = Recipients::Named(vec!["SwiftRaven".to_string(), "GoldFalcon".to_string()]);
    assert_eq!(sent(press(&mut state, KeyCode::Enter)), [(both, "both of you".to_string())]);
}

#[test]
fn a_group_is_sent_to_as_it_is_typed() {
    for group in ["@spec", "@Branch", "@harness:other", "@backend"] {
        let mut state = full(80, 24);
        type_in(&mut state, &format!("{group}: who has auth?"));
        assert_eq!(sent(press(&mut state, KeyCode::Enter)), to(group, "who has auth?"));
        type_in(&mut state, group);
        state.completion = None;
        assert_eq!(press(&mut state, KeyCode::Enter), [], "{group}: there is no conversation with a group");
        assert_eq!(state.tab, Tab::Agents);
    }
    let mut state = full(80, 24);
    type_in(&mut state, "@SwiftRaven @backend both of you");
    let both = Recipients::Named(vec!["SwiftRaven".to_string(), "@backend".to_string()]);
    assert_eq!(sent(press(&mut state, KeyCode::Enter)), [(both, "both of you".to_string())]);
}

#[test]
fn what_is_for_nobody_is_not_sent() {
    let mut state = full(80, 24);
    type_in(&mut state, "hello?");
    assert_eq!(press(&mut state, KeyCode::Enter), []);
    assert_eq!(state.draft().text(), "hello?", "nothing is lost");
    assert!(state.notice.as_ref().unwrap().text.contains("@Name"));
    go(&mut state, "SwiftRaven");
    state.update(ChatInput::Paste("@../x hi".to_string()));
    assert_eq!(press(&mut state, KeyCode::Enter), []);
    assert!(state.notice.as_ref().unwrap().is_error);
}

#[test]
fn names_are_completed() {
    let mut state = full(80, 24);
    type_in(&mut state, "@a");
    let offered = state.completion.clone().unwrap().names;
    assert_eq!(offered, ["all", "CalmOwl", "GoldFalcon", "SwiftRaven"], "what begins so comes first");
    let mut with_groups = full(80, 24);
    type_in(&mut with_groups, "@b");
    assert_eq!(with_groups.completion.clone().unwrap().names, ["branch", "backend"]);
    type_in(&mut with_groups, "ack");
    press(&mut with_groups, KeyCode::Tab);
    assert_eq!(with_groups.draft().text(), "@backend ");
    let mut crowded = full(80, 24);
    let known = crowded.world.peers[0].clone();
    let more = (0..50).map(|number| PeerItem { name: format!("Zebra{number:02}"), ..known.clone() });
    crowded.world.peers.extend(more);
    type_in(&mut crowded, "@");
    let offered = crowded.completion.clone().unwrap().names;
    assert_eq!(offered, ["CalmOwl", "GoldFalcon", "SwiftRaven", "all", "spec", "branch"]);
    type_in(&mut crowded, "z");
    assert_eq!(crowded.completion.clone().unwrap().names.len(), 6);
    press(&mut state, KeyCode::Down);
    press(&mut state, KeyCode::Down);
    assert_eq!(press(&mut state, KeyCode::Tab), []);
    assert_eq!(state.draft().text(), "@GoldFalcon ");
    assert_eq!(state.tab, Tab::Agents, "Tab chose the name");
    type_in(&mut state, "hi");
    assert_eq!(sent(press(&mut state, KeyCode::Enter)), to("GoldFalcon", "hi"));
    type_in(&mut state, "@s");
    press(&mut state, KeyCode::Enter);
    assert_eq!(press(&mut state, KeyCode::Enter), [], "a name alone opens the conversation");
    assert_eq!(state.tab, Tab::Conversation("SwiftRaven".to_string()));
}

#[test]
fn escape_closes_one_thing_at_a_time() {
    let mut state = full(80, 24);
    press(&mut state, KeyCode::Char('?'));
    assert!(state.is_help_open);
    assert_eq!(press(&mut state, KeyCode::Esc), []);
    assert!(!state.is_help_open);
    type_in(&mut state, "/owl");
    assert_eq!(press(&mut state, KeyCode::Esc), []);
    assert_eq!(state.filter, Default::default());
    type_in(&mut state, "@s");
    assert_eq!(press(&mut state, KeyCode::Esc), []);
    assert_eq!(state.completion, None);
    assert_eq!(press(&mut state, KeyCode::Esc), []);
    assert!(state.draft().is_empty());
    press_with(&mut state, KeyCode::Char('y'), KeyModifiers::CONTROL);
    assert_eq!(state.draft().text(), "@s", "what was written can be had back");
    assert_eq!(press(&mut state, KeyCode::Esc), []);
    assert_eq!(press(&mut state, KeyCode::Esc), []);
    assert_eq!(press(&mut state, KeyCode::Esc), []);
    assert!(state.notice.as_ref().unwrap().text.contains("Esc again"));
    // The second Esc counts only while the notice is shown.
    state.say("something else");
    assert_eq!(press(&mut state, KeyCode::Esc), []);
    assert_eq!(press(&mut state, KeyCode::Esc), [ChatEffect::Quit]);
}

#[test]
fn escape_goes_back_to_the_agents_and_quits_only_when_pressed_twice_there() {
    for tab in ["SwiftRaven", "All", "Tasks", "Reservations", "Feed", "Knowledge", "Overlaps"] {
        let mut state = full(80, 24);
        go(&mut state, tab);
        assert_eq!(press(&mut state, KeyCode::Esc), [], "{tab}");
        assert_eq!(state.tab, Tab::Agents, "{tab}");
        assert_eq!(press(&mut state, KeyCode::Esc), [], "{tab}");
        press(&mut state, KeyCode::Down);
        assert_eq!(press(&mut state, KeyCode::Esc), [], "another key was pressed in between");
        assert_eq!(press(&mut state, KeyCode::Esc), [ChatEffect::Quit], "{tab}");
    }
    let mut state = full(80, 24);
    assert_eq!(press_with(&mut state, KeyCode::Char('q'), KeyModifiers::CONTROL), [ChatEffect::Quit]);
}

#[test]
fn the_help_shows_every_key_however_low_the_screen_is() {
    for (width, height) in [(60, 15), (40, 10), (80, 24), (30, 6)] {
        let mut state = full(width, height);
        press(&mut state, KeyCode::Char('?'));
        let mut shown = picture(&state);
        assert!(shown.contains("Ctrl-Q"), "how to quit comes first: {shown}");
        for _ in 0..60 {
            press(&mut state, KeyCode::Down);
            shown.push_str(&picture(&state));
        }
        assert!(state.is_help_open, "keys that scroll don't close it");
        for key in ["Esc", "Alt-Enter", "@all", "Ctrl-Z", "these keys"] {
            assert!(shown.contains(key), "{width}x{height}: {key}");
        }
        press(&mut state, KeyCode::Char('x'));
        assert!(!state.is_help_open);
        press(&mut state, KeyCode::Char('?'));
        assert!(picture(&state).contains("Ctrl-Q"), "it starts at the top again");
    }
}

#[test]
fn control_a_acks_what_was_read_in_the_open_conversation() {
    let mut state = full(80, 24);
    let held = KeyModifiers::CONTROL;
    let wanted = ChatMessage { wants_ack: true, ..received(20, "SwiftRaven", "ready?") };
    let unseen = ChatMessage { wants_ack: true, ..unread(21, "SwiftRaven", "and now?") };
    let other = ChatMessage { wants_ack: true, ..received(22, "GoldFalcon", "you?") };
    state.hear(ChatUpdate::Messages(vec![
        ChatMessage { key: "0000000001020-bbbbbb".into(), ..wanted },
        unseen,
        other,
    ]));
    assert_eq!(press_with(&mut state, KeyCode::Char('a'), held), [], "no conversation is open");
    go(&mut state, "SwiftRaven");
    let shown = picture(&state);
    assert!(shown.contains("wants an ack (Ctrl-A) · bbbbbb"), "{shown}");
    let acked = press_with(&mut state, KeyCode::Char('a'), held);
    assert_eq!(acked, [ChatEffect::Ack(vec!["bbbbbb".to_string()])]);
    type_in(&mut state, "text");
    assert_eq!(press_with(&mut state, KeyCode::Char('a'), held), [], "in a text it goes to its start");
}

#[test]
fn notices_of_the_program_are_not_answered() {
    let mut state = full(80, 24);
    state.hear(ChatUpdate::Messages(vec![received(30, "ravenry", "`src/` is free")]));
    go(&mut state, "ravenry");
    let shown = picture(&state);
    assert!(shown.contains(" msg ") && shown.contains("msg · "), "{shown}");
    assert_eq!(shown.matches("ravenry").count(), 2, "only in the title: {shown}");
    type_in(&mut state, "thanks");
    assert_eq!(press(&mut state, KeyCode::Enter), []);
    assert!(state.notice.as_ref().unwrap().text.contains("nobody to answer"));
    assert_eq!(state.draft().text(), "thanks");
}

#[test]
fn the_fixed_tabs_have_keys_and_counts_and_come_first() {
    let strip = |state: &ChatState| picture(state).lines().nth(1).unwrap().to_string();
    let mut state = full(120, 24);
    assert_eq!(
        strip(&state).trim_end(),
        " 1 Agents ▲1  2 Chats (2)  3 All  4 Tasks 1/4  5 Reserved 2  6 Feed  7 Runs ▲2  8 Knowledge  9 Overlaps ▲1"
    );
    state.size = Size::new(80, 24);
    let row = strip(&state);
    assert!(row == " 1 Agents▲1 2 Chats(2) 3 All 4 Tasks 5 Held 6 Feed 7 Runs▲2 8 Know 9 Overlaps", "{row}");
    let names = ["Alfa", "Bravo", "Charlie", "Delta", "Echo", "Foxtrot", "Golf", "Hotel"];
    state.hear(ChatUpdate::Messages(names.iter().map(|name| unread(40, name, "hi")).collect()));
    assert!(
        strip(&state).contains("2 Chats(10)"),
        "conversations don't push the tabs away: {}",
        strip(&state)
    );
    for name in names {
        go(&mut state, name);
        let row = strip(&state);
        assert!(row.starts_with('‹') && row.contains(&format!("· {name}(1)")), "{row}");
        assert_eq!(row.matches('(').count(), row.matches(')').count(), "no label is cut: {row}");
    }
}

#[test]
fn digits_open_tabs_and_in_a_conversation_they_are_text() {
    let mut state = full(80, 24);
    for (digit, tab) in ('1'..='9').zip(FIXED_TABS) {
        assert_eq!(press_with(&mut state, KeyCode::Char(digit), KeyModifiers::ALT), []);
        assert_eq!(state.tab, tab);
        press_with(&mut state, KeyCode::Char('4'), KeyModifiers::ALT);
        assert_eq!(press(&mut state, KeyCode::Char(digit)), []);
        assert_eq!(state.tab, tab);
    }
    go(&mut state, "SwiftRaven");
    type_in(&mut state, "2 of 3");
    assert_eq!(state.draft().text(), "2 of 3");
    press_with(&mut state, KeyCode::Char('1'), KeyModifiers::ALT);
    assert_eq!(state.tab, Tab::Agents);
    go(&mut state, "Tasks");
    type_in(&mut state, "@all 12");
    assert_eq!((&state.tab, state.draft().text()), (&Tab::Tasks, "@all 12"), "in a message they are text");
    state.draft_mut().cut_to_start();
    go(&mut state, "Knowledge");
    type_in(&mut state, "/1");
    assert_eq!((&state.tab, state.filter.text.as_str()), (&Tab::Knowledge, "1"), "in a search they are text");
    press(&mut state, KeyCode::Esc);
    type_in(&mut state, "a1");
    assert_eq!((&state.tab, state.filter.text.as_str()), (&Tab::Knowledge, "a1"));
}

#[test]
fn escape_goes_back_to_where_the_conversation_was_opened() {
    let mut state = full(80, 24);
    go(&mut state, "Chats");
    assert_eq!(press(&mut state, KeyCode::Enter), []);
    assert_eq!(state.tab, Tab::Conversation("GoldFalcon".to_string()), "the latest unread message is first");
    press_with(&mut state, KeyCode::Char('n'), KeyModifiers::CONTROL);
    assert_eq!(state.tab, Tab::Conversation("SwiftRaven".to_string()));
    assert_eq!(press(&mut state, KeyCode::Esc), []);
    assert_eq!(state.tab, Tab::Chats);
    assert_eq!(press(&mut state, KeyCode::Esc), []);
    assert_eq!(state.tab, Tab::Agents);
    // However often it is pressed, it does not quit from a conversation.
    go(&mut state, "SwiftRaven");
    state.say("press Esc again to quit");
    assert_eq!(press(&mut state, KeyCode::Esc), []);
}

#[test]
fn who_needs_somebody_comes_first() {
    let mut world = world();
    world.peers.push(peer("ZuluHawk", Presence::Stuck));
    let mut state = full(80, 24);
    state.hear(ChatUpdate::World(Box::new(world)));
    let shown = picture(&state);
    let place = |name: &str| shown.lines().position(|line| line.contains(name)).unwrap();
    assert!(place("Stuck or waiting:") < place("▲ ZuluHawk"), "{shown}");
    assert!(
        place("▲ ZuluHawk") < place("◐ GoldFalcon") && place("◐ GoldFalcon") < place("./docs/login.md:"),
        "{shown}"
    );
    assert!(shown.lines().next().unwrap().contains(" peers · 1 stuck · 1 waits · 2 unread"), "{shown}");
}

#[test]
fn equal_events_in_a_row_are_one_line() {
    let mut state = empty(80, 24);
    let sent = || happened(3, "Alice", "→ Robin", Tone::Plain);
    state.hear(ChatUpdate::Events(vec![sent(); 39]));
    state.hear(ChatUpdate::Events(vec![sent(), happened(2, "Bob", &"x".repeat(100), Tone::Plain)]));
    go(&mut state, "Feed");
    let shown = picture(&state);
    assert!(shown.contains("Alice → Robin ×40") && shown.matches("Alice").count() == 1, "{shown}");
    assert!(shown.contains("xxx…"), "what is cut says so: {shown}");
}

#[test]
fn control_c_and_control_z_always_work() {
    let mut state = full(80, 24);
    type_in(&mut state, "half a thought");
    let held = KeyModifiers::CONTROL;
    assert_eq!(press_with(&mut state, KeyCode::Char('z'), held), [ChatEffect::Suspend]);
    assert_eq!(press_with(&mut state, KeyCode::Char('c'), held), [ChatEffect::Quit]);
    state.is_help_open = true;
    assert_eq!(press_with(&mut state, KeyCode::Char('c'), held), [ChatEffect::Quit]);
}

#[test]
fn a_draft_has_lines_and_belongs_to_its_tab() {
    let mut state = full(80, 24);
    go(&mut state, "SwiftRaven");
    type_in(&mut state, "one");
    press_with(&mut state, KeyCode::Enter, KeyModifiers::ALT);
    type_in(&mut state, "two");
    press(&mut state, KeyCode::Tab);
    assert!(state.draft().is_empty());
    go(&mut state, "SwiftRaven");
    press(&mut state, KeyCode::Up);
    type_in(&mut state, "!");
    assert_eq!(sent(press(&mut state, KeyCode::Enter)), to("SwiftRaven", "one!\ntwo"));
}

#[test]
fn a_paste_is_text_and_no_key() {
    let mut state = full(80, 24);
    go(&mut state, "SwiftRaven");
    let effects = state.update(ChatInput::Paste("/x?\n\u{1b}q\n".to_string()));
    assert_eq!(effects, [ChatEffect::SignOfLife]);
    assert_eq!(state.draft().text(), "/x?\nq\n");
    assert!(!state.filter.is_open && !state.is_help_open);
    assert_eq!(sent(press(&mut state, KeyCode::Enter)), to("SwiftRaven", "/x?\nq"));
    let huge = "x".repeat(1024 * 1024);
    state.update(ChatInput::Paste(huge));
    assert!(state.draft().is_empty());
    assert!(state.notice.as_ref().unwrap().is_error);
}

#[test]
fn a_slash_filters_and_two_are_a_letter() {
    let mut state = full(80, 24);
    type_in(&mut state, "/gold");
    press(&mut state, KeyCode::Enter);
    let shown = picture(&state);
    assert!(shown.contains("  ◐ GoldFalcon"), "{shown}");
    assert!(!shown.contains("CalmOwl"), "{shown}");
    press(&mut state, KeyCode::Esc);
    assert!(picture(&state).contains("CalmOwl"));
    go(&mut state, "SwiftRaven");
    type_in(&mut state, "//etc is not here");
    assert_eq!(sent(press(&mut state, KeyCode::Enter)), to("SwiftRaven", "/etc is not here"));
}

#[test]
fn an_agent_is_chosen_and_opened() {
    let mut state = full(80, 24);
    press(&mut state, KeyCode::Down);
    press(&mut state, KeyCode::Down);
    press(&mut state, KeyCode::Down);
    press(&mut state, KeyCode::Enter);
    assert_eq!(state.tab, Tab::Conversation("CalmOwl".to_string()), "those without a spec come last");
    assert_eq!(state.tabs().len(), 10, "it has a tab while it is open");
}

#[test]
fn the_mouse_chooses_opens_and_scrolls() {
    let mouse =
        |kind, column, row| ChatInput::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE });
    let click = |column, row| mouse(MouseEventKind::Down(MouseButton::Left), column, row);
    let mut state = full(80, 24);
    state.update(click(5, 5));
    assert_eq!(state.list().at, 1);
    state.update(click(5, 5));
    assert_eq!(state.tab, Tab::Conversation("SwiftRaven".to_string()));
    let row = picture(&state).lines().nth(1).unwrap().to_string();
    let column = row[..row.find("Feed").unwrap()].chars().count();
    state.update(click(u16::try_from(column).unwrap(), 1));
    assert_eq!(state.tab, Tab::Feed, "{row}");
    for _ in 0..50 {
        state.update(mouse(MouseEventKind::ScrollUp, 5, 5));
        state.update(mouse(MouseEventKind::ScrollDown, 5, 5));
        state.update(click(79, 23));
    }
    assert_eq!(state.tab, Tab::Feed);
}

#[test]
fn what_could_not_be_sent_comes_back_as_it_was() {
    let mut state = full(80, 24);
    go(&mut state, "SwiftRaven");
    type_in(&mut state, "@GoldFalcn the password");
    let Some(ChatEffect::Send { written, .. }) = press(&mut state, KeyCode::Enter).pop() else {
        panic!("it is sent")
    };
    let why = "no agent is called GoldFalcn".to_string();
    go(&mut state, "All");
    state.hear(ChatUpdate::NotSent { why: why.clone(), written: written.clone() });
    assert!(state.draft().is_empty(), "another tab is no place for it");
    assert_eq!(state.notice.as_ref().unwrap().text, why);
    go(&mut state, "SwiftRaven");
    assert_eq!(state.draft().text(), "@GoldFalcn the password", "with whom it is for");
    press(&mut state, KeyCode::Esc);
    type_in(&mut state, "x");
    state.hear(ChatUpdate::NotSent { why, written });
    assert_eq!(state.draft().text(), "x", "what is being written is not replaced");
    press_with(&mut state, KeyCode::Char('y'), KeyModifiers::CONTROL);
    assert_eq!(state.draft().text(), "x@GoldFalcn the password", "and nothing is lost");
}
