//! Which alerts there are, and that nothing in them is obeyed.

use super::*;
use crate::domain::{AgentName, MessageKind, MessageStamp};

const NASTY: &str = "a\u{7}\u{1b}]9;evil\u{7}\u{1b}\\\u{9c}\u{9b}2J\r\nb\u{202e}c;d\0";

fn message(from: &str, text: &str) -> Message {
    let stamp = MessageStamp::new(1_794_700_676_113_042, 7);
    let to = AgentName::new("Robin").unwrap();
    Message { from: from.to_string(), ..Message::new(stamp, &to, &to, text) }
}

fn of(message: &Message) -> Alert {
    Alert::of_message(message, "160007")
}

fn event(what: EventKind, target: &str, preview: &str) -> Event {
    Event {
        at: "2026-11-14T23:57:56Z".parse().unwrap(),
        what: AnyEventKind::Ours(what),
        agent: "Wren".to_string(),
        target: Some(target.to_string()),
        preview: Some(preview.to_string()),
        message_kind: None,
        machine: None,
    }
}

#[test]
fn names_lead_back() {
    for kind in AlertKind::ALL {
        assert_eq!(AlertKind::named(kind.name()), Some(kind));
    }
    for way in AlertWay::ALL {
        assert_eq!(AlertWay::named(way.name()), Some(way));
    }
    assert_eq!((AlertKind::named("Mail"), AlertWay::named("")), (None, None));
}

#[test]
fn the_kinds_of_a_message() {
    use AlertKind::{Mail, Questions, Urgent};
    let plain = message("Wren", "hello");
    assert_eq!((of(&plain).kinds, of(&plain).line), (vec![Mail], "Wren: “hello”".to_string()));
    let urgent = Message { importance: Importance::Urgent, ..plain.clone() };
    assert_eq!(of(&urgent).kinds, [Urgent, Mail]);
    assert_eq!(of(&urgent).line, "urgent mail from Wren: “hello”");
    let important = Message { importance: Importance::High, ..plain.clone() };
    assert_eq!(of(&important).line, "important mail from Wren: “hello”");
    let question = Message { kind: Some(MessageKind::Question), ..plain };
    assert_eq!(
        (of(&question).kinds, of(&question).line),
        (vec![Questions, Mail], "Wren asks: “hello”".into())
    );
    let both = Message { importance: Importance::High, ..question };
    assert_eq!(of(&both).kinds, [Urgent, Questions, Mail]);
}

#[test]
fn a_notice_is_known_by_its_words_and_a_peer_that_uses_them_is_not() {
    use AlertKind::{Conflicts, Mail, Questions, Runs, Stuck};
    let cases = [
        ("Run `k3f9xa` (`scout`: “look”) has ended: `failed`.", vec![Runs, Mail], Some(Runs)),
        (
            "Run `k3f9xa` (`scout`: “look”) waits for your answer. Its worker wants to use `Bash`:",
            vec![Questions, Mail],
            Some(Questions),
        ),
        (
            "Run `k3f9xa` (`scout`) waits for an answer on its screen:\n> ?",
            vec![Questions, Mail],
            Some(Questions),
        ),
        ("Wren seems to be stuck: it has been quiet for 20 min", vec![Stuck, Mail], Some(Stuck)),
        ("Wren contests `src/`, which you hold.", vec![Conflicts, Mail], Some(Conflicts)),
        (
            "Wren has taken `src/` from you: you gave no answer in time.",
            vec![Conflicts, Mail],
            Some(Conflicts),
        ),
        ("Conflict: your `a.rs`", vec![Conflicts, Mail], None),
        ("TASK-02 is ready: Wren completed what it depends on.", vec![Mail], None),
    ];
    for (text, kinds, told_by_feed) in cases {
        let notice = of(&message("ravenry", text));
        assert_eq!((notice.kinds, notice.told_by_feed), (kinds, told_by_feed), "{text}");
        let peer = of(&message("Wren", text));
        assert_eq!((peer.kinds, peer.told_by_feed), (vec![Mail], None), "{text}");
    }
}

#[test]
fn the_events_that_a_person_is_told() {
    let line = |what, target, preview| Alert::of_event(&event(what, target, preview)).map(|alert| alert.line);
    let told = |text: &str| Some(text.to_string());
    assert_eq!(line(EventKind::RunEnded, "k3f9xa", "failed, no"), told("run k3f9xa has ended: “failed, no”"));
    assert_eq!(
        line(EventKind::RunWaiting, "k3f9xa", "may I?"),
        told("run k3f9xa waits for an answer: “may I?”")
    );
    assert_eq!(line(EventKind::Stuck, "TASK-01", ""), told("Wren seems stuck on TASK-01"));
    assert_eq!(line(EventKind::Contest, "src/", "Robin"), told("Wren contested src/, held by Robin"));
    assert_eq!(line(EventKind::Take, "src/", "Robin"), told("Wren took src/ from Robin"));
    let met = EventKind::HeadsUpEnded(PredictionEnd::Occurred);
    assert_eq!(line(met, "Robin", "a.rs"), told("Wren and Robin met in a.rs, as the heads-up said"));
    for what in
        [EventKind::Message, EventKind::Refused, EventKind::Edit, EventKind::HeadsUp, EventKind::RunStarted]
    {
        assert_eq!(line(what, "x", "y"), None, "{what:?}");
    }
}

#[test]
fn nothing_of_a_peer_is_obeyed_and_all_of_it_is_bounded() {
    let mail = of(&message(NASTY, NASTY));
    let ended = Alert::of_event(&event(EventKind::RunEnded, NASTY, NASTY)).unwrap();
    let stuck = Alert::of_event(&event(EventKind::Stuck, NASTY, NASTY)).unwrap();
    let notice = of(&message("ravenry", NASTY));
    for text in [&mail.line, &mail.from, &ended.line, ended.id.as_ref().unwrap(), &stuck.line, &notice.line] {
        assert!(!text.chars().any(|c| c.is_control() || c == '\u{202e}'), "{text:?}");
    }
    for text in ["x".repeat(1 << 20), "\u{1b}".repeat(1 << 20), "é ".repeat(1 << 19)] {
        assert!(of(&message("Wren", &text)).line.chars().count() <= MOST_LINE + 1);
        assert!(of(&message("ravenry", &text)).line.chars().count() <= MOST_LINE + 1);
    }
}

#[test]
fn several_are_one_line() {
    assert_eq!(summary(&["a"]), "a");
    assert_eq!(summary(&["a", "b", "c"]), "a (and 2 more)");
}
