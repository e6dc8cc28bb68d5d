//! Snapshots of each tab at three sizes, and of overlays.

use super::*;

pub(super) fn check(name: &str, state: &mut ChatState) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../../../snapshots/tui");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let Size { width, height } = state.size;
    settings.bind(|| insta::assert_snapshot!(format!("{name}-{width}x{height}"), picture(state)));
}

#[test]
fn every_tab_at_every_size() {
    for (width, height) in [(80, 24), (120, 40), (40, 10), (60, 15), (200, 60)] {
        for tab in [
            "Agents",
            "Chats",
            "SwiftRaven",
            "All",
            "Tasks",
            "Reservations",
            "Feed",
            "Knowledge",
            "Overlaps",
            "Runs",
        ] {
            let mut state = full(width, height);
            go(&mut state, tab);
            check(&tab.to_lowercase(), &mut state);
        }
    }
}

#[test]
fn what_lies_on_top() {
    for (width, height) in [(80, 24), (40, 10), (60, 15), (120, 40), (200, 60)] {
        let mut state = full(width, height);
        press(&mut state, KeyCode::Char('?'));
        check("help", &mut state);
        press(&mut state, KeyCode::Esc);
        press(&mut state, KeyCode::Char(' '));
        check("menu", &mut state);
        press(&mut state, KeyCode::Esc);
        type_in(&mut state, "@");
        check("completion", &mut state);
        press(&mut state, KeyCode::Esc);
        press(&mut state, KeyCode::Esc);
        type_in(&mut state, "/gold");
        check("filter", &mut state);
    }
}

#[test]
fn before_anything_is_known() {
    let mut state = empty(80, 24);
    check("starting", &mut state);
    state.hear(ChatUpdate::World(Box::new(MeshSnapshot {
        mesh: "~/.local/state/ravenry".to_string(),
        me: "Robin".to_string(),
        ..MeshSnapshot::default()
    })));
    check("alone", &mut state);
}

#[test]
fn no_size_is_too_small() {
    for width in [0, 1, 2, 3, 5, 8, 13, 20] {
        for height in 0..8 {
            for tab in [
                "Agents",
                "Chats",
                "SwiftRaven",
                "All",
                "Tasks",
                "Reservations",
                "Feed",
                "Knowledge",
                "Overlaps",
                "Runs",
            ] {
                let mut state = full(width, height);
                go(&mut state, tab);
                picture(&state);
                press(&mut state, KeyCode::Char('?'));
                picture(&state);
                press(&mut state, KeyCode::Esc);
                press(&mut state, KeyCode::Char(' '));
                picture(&state);
                press(&mut state, KeyCode::Down);
                picture(&state);
                press(&mut state, KeyCode::Esc);
                type_in(&mut state, "@s漢字 more than fits\u{301}");
                state.complain("something is wrong");
                picture(&state);
                for key in [KeyCode::PageUp, KeyCode::Up, KeyCode::Home, KeyCode::End, KeyCode::PageDown] {
                    press(&mut state, key);
                    picture(&state);
                }
            }
        }
    }
}

#[test]
fn the_input_grows_and_the_body_keeps_its_place() {
    let mut state = full(40, 10);
    go(&mut state, "SwiftRaven");
    state.update(ChatInput::Paste("one\ntwo\nthree\nfour\nfive\nsix\nseven\neight".to_string()));
    check("long-draft", &mut state);
}

#[test]
fn without_colour_nothing_is_coloured() {
    let mut state = full(80, 24);
    for tab in [
        "Agents",
        "Chats",
        "SwiftRaven",
        "All",
        "Tasks",
        "Reservations",
        "Feed",
        "Knowledge",
        "Overlaps",
        "Runs",
    ] {
        go(&mut state, tab);
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        terminal.draw(|frame| view::draw(frame, &state, Theme::PLAIN)).unwrap();
        let buffer = terminal.backend().buffer();
        let is_plain = |cell: &ratatui::buffer::Cell| {
            use ratatui::style::Color::Reset;
            cell.fg == Reset && cell.bg == Reset
        };
        assert!(buffer.content.iter().all(is_plain), "{tab}");
    }
}

#[test]
fn a_reservation_in_every_work_tree_says_so() {
    let mut world = world();
    world.holds[0].reach_note = " (every work tree)";
    let shown = format!("{} (every work tree)", world.holds[0].pattern);
    let mut state = full(120, 40);
    state.hear(ChatUpdate::World(Box::new(world)));
    go(&mut state, "Reservations");
    let picture = picture(&state);
    assert_eq!(picture.matches("(every work tree)").count(), 1, "{picture}");
    assert!(picture.contains(&shown), "{picture}");
}
