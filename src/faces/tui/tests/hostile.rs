//! Control sequences in text from peers are escaped and never reach the terminal.

use super::*;
use crate::faces::tui::list_rows::chosen_agent;
use crate::faces::tui::model::HeadingsView;

const NASTY: &str = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{202e}evil\u{200b}\r\u{8}";

#[test]
fn nothing_of_a_peers_reaches_the_terminal_as_a_command() {
    let mut world = world();
    let peer = &mut world.peers[0];
    peer.status = Some(NASTY.to_string());
    peer.model = NASTY.to_string();
    peer.branch = Some(NASTY.to_string());
    peer.spec = Some(NASTY.to_string());
    peer.task = Some((NASTY.to_string(), Some(NASTY.to_string())));
    world.boards[0].spec = NASTY.to_string();
    world.boards[0].tasks[0].title = NASTY.to_string();
    world.boards[0].tasks[1].id = NASTY.to_string();
    world.boards[0].tasks[2].state = TaskStateView::Claimed { by: NASTY.to_string(), since: now() };
    world.boards.push(SpecView { trouble: Some(NASTY.to_string()), ..SpecView::default() });
    world.holds[0].pattern = NASTY.to_string();
    world.holds[0].holder = NASTY.to_string();
    world.holds[0].reason = Some(NASTY.to_string());
    world.holds[0].refused = vec![NASTY.to_string()];
    world.mesh = NASTY.to_string();
    let mut state = full(120, 40);
    state.hear(ChatUpdate::World(Box::new(world)));
    state.hear(ChatUpdate::Messages(vec![unread(50, NASTY, NASTY)]));
    state.hear(ChatUpdate::Events(vec![happened(1, NASTY, NASTY, Tone::Bad)]));
    state.hear(ChatUpdate::Notice(NASTY.to_string()));
    let mut near = near();
    near.place = NASTY.to_string();
    near.conflicts[0].file = NASTY.to_string();
    near.conflicts[0].sides[0].0 = NASTY.to_string();
    near.pairs[0].who = NASTY.to_string();
    near.pairs[0].file = Some(NASTY.to_string());
    near.pairs[0].why = Some(NASTY.to_string());
    near.pairs[0].signals = vec![NASTY.to_string()];
    near.told[0].with = NASTY.to_string();
    near.told[0].file = NASTY.to_string();
    near.told[0].id = NASTY.to_string();
    state.hear(ChatUpdate::Overlaps(Box::new(near)));
    let name = chosen_agent(&state).unwrap().to_string();
    let rows = vec![("about", vec![NASTY.to_string()])];
    state.hear(ChatUpdate::Headings(Some(Box::new(HeadingsView { name, asked: None, rows }))));
    let is_escaped = |state: &ChatState| {
        let shown = picture(state);
        let obeyed = |c: char| (c.is_control() && c != '\n') || "\u{202e}\u{200b}".contains(c);
        assert!(!shown.contains(obeyed), "{shown:?}");
        // The screen drops control characters itself: text that was not escaped would appear without them.
        assert!(shown.contains("\\u{1b}]0;"), "it is shown, written out: {shown}");
        assert!(!shown.replace("\\u{1b}]0;", "").contains("]0;"), "{shown}");
    };
    for _ in 0..state.tabs().len() {
        is_escaped(&state);
        press(&mut state, KeyCode::Char(' '));
        is_escaped(&state);
        press(&mut state, KeyCode::Esc);
        press(&mut state, KeyCode::Tab);
    }
    state.open(NASTY);
    is_escaped(&state);
    press(&mut state, KeyCode::Char(' '));
    is_escaped(&state);
}

#[test]
fn a_size_bomb_is_cut() {
    let mut state = empty(80, 24);
    state.hear(ChatUpdate::World(Box::new(world())));
    state.hear(ChatUpdate::Messages(vec![unread(1, "SwiftRaven", &"bomb ".repeat(200_000))]));
    go(&mut state, "SwiftRaven");
    press(&mut state, KeyCode::End);
    assert!(picture(&state).contains("more bytes: `msg read`"), "{}", picture(&state));
    for _ in 0..40 {
        assert_eq!(state.update(ChatInput::Drawn), [], "what is not all there is not seen");
        press(&mut state, KeyCode::PageUp);
    }
}
