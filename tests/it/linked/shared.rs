//! What other machines say between two changes of the records: how their agents do, and what happened there.

use jiff::SignedDuration;
use ravenry::domain::link::{HeardAgent, MachineName};
use ravenry::domain::{AnyEventKind, Event, EventKind, SessionId};
use ravenry::store::ReceivedEntry;
use serde_json::json;

use super::{Linked, NOW, at, away, name};
use crate::support::mcp_client::Client;

fn laptop() -> MachineName {
    MachineName::new("laptop").unwrap()
}

/// What laptop said of Anna that many seconds ago.
fn heard(seconds: i64, activity: Option<&str>) -> HeardAgent {
    let heard_at = at(NOW) - SignedDuration::from_secs(seconds);
    HeardAgent {
        name: name("Anna"),
        session: SessionId::new("session of Anna").unwrap(),
        last_sign: heard_at - SignedDuration::from_secs(1),
        heard_at,
        activity: activity.map(str::to_string),
    }
}

fn say(linked: &Linked, heard: &HeardAgent) {
    linked.env.store().remote().set_presence(&laptop(), [heard]).unwrap();
}

#[test]
fn presence_is_what_the_machine_said_last() {
    let linked = Linked::new();
    let _link = linked.link_up();
    assert_eq!(linked.ok(&["whois", "Anna"])["agent"]["presence"], "idle");
    say(&linked, &heard(5, Some("editing src/a.rs")));
    let anna = linked.ok(&["whois", "Anna"])["agent"].clone();
    assert_eq!(
        (&anna["presence"], &anna["activity"], &anna["heardAt"], &anna["lastActivityAt"]),
        (
            &json!("active"),
            &json!("editing src/a.rs"),
            &json!("2030-01-02T11:59:55.000Z"),
            &json!("2030-01-02T11:59:54.000Z")
        )
    );
    insta::assert_snapshot!(linked.text(&["agents"]), @r"
    Bob*  active  other  [DIR]/shop  main  just arrived
    Anna  laptop  active  claude  /home/anna/shop  main  editing src/a.rs
    Otto  tower  idle  claude  /home/otto/shop  main
    ");
    // Nothing was heard for a while, although the machine has its lease.
    say(&linked, &heard(50, Some("editing src/a.rs")));
    insta::assert_snapshot!(linked.text(&["whois", "Anna"]), @r"
    Anna on laptop  idle
    machine  laptop, seen 50s ago
    harness  claude (opus)
    folder  /home/anna/shop on main
    here for  1h
    now  editing src/a.rs
    ");
    assert!(linked.text(&["agents"]).contains("seen 50s ago, editing src/a.rs"));
    linked.set(&[away(linked.anna())]);
    assert!(linked.text(&["agents"]).contains("unreachable  claude  /home/anna/shop  main  since 11:30"));
    // What was said of somebody else of that name is not about her.
    linked.set(&[linked.anna()]);
    say(&linked, &HeardAgent { session: SessionId::new("another").unwrap(), ..heard(5, Some("x")) });
    let anna = linked.ok(&["whois", "Anna"])["agent"].clone();
    assert_eq!((&anna["activity"], anna.get("heardAt")), (&json!(null), None));
}

#[test]
fn damage_in_the_files_of_presence_hides_nobody() {
    let linked = Linked::new();
    say(&linked, &heard(5, None));
    let file = linked.env.mesh().join("remote/presence/laptop.jsonl");
    for content in ["", "{", "{\"name\":\"Anna\",", "{\"name\":\"Anna\",\"session\":1}\n", "\0\n\n"] {
        std::fs::write(&file, content).unwrap();
        assert_eq!(linked.ok(&["whois", "Anna"])["agent"]["name"], "Anna", "{content}");
    }
}

fn edit(minute: i64, file: &str) -> Event {
    edit_on("laptop", minute, file)
}

fn edit_on(machine: &str, minute: i64, file: &str) -> Event {
    Event {
        at: at(NOW) - SignedDuration::from_mins(minute),
        what: AnyEventKind::Ours(EventKind::Edit),
        agent: "Anna".to_string(),
        target: Some(file.to_string()),
        preview: None,
        message_kind: None,
        machine: Some(MachineName::new(machine).unwrap()),
    }
}

fn entry(sequence: u64, number: u64, missed: u64, events: Vec<Event>) -> ReceivedEntry {
    ReceivedEntry { machine: laptop(), sequence, run: "r".to_string(), number, missed, events }
}

fn store(linked: &Linked, entries: &[ReceivedEntry], removed: u64) {
    let mesh = linked.env.store();
    let mut received = mesh.remote().received_feed().unwrap();
    let up_to = entries.last().unwrap().sequence;
    mesh.remote().store_feed(&mut received, entries, removed, up_to, 1_000, at(NOW)).unwrap();
}

fn shown(linked: &Linked, args: &[&str]) -> Vec<String> {
    let feed = linked.ok(&[&["feed", "--kind", "edit,gap"], args].concat());
    let text = |event: &serde_json::Value| {
        let what = event["target"].as_str().or(event["preview"].as_str()).unwrap();
        format!("{} {what}", event["machine"].as_str().unwrap_or("here"))
    };
    feed["events"].as_array().unwrap().iter().map(text).collect()
}

#[test]
fn what_happened_elsewhere_is_merged_by_time() {
    let linked = Linked::new();
    let here = |minute, file| Event { machine: None, agent: "Bob".to_string(), ..edit(minute, file) };
    linked.env.store().feed().append(&[here(30, "b30"), here(10, "b10")], 1_000).unwrap();
    store(&linked, &[entry(1, 0, 0, vec![edit(20, "a20"), edit(5, "a5")])], 0);
    // The tower was away, and tells later.
    let tower = MachineName::new("tower").unwrap();
    let late = entry(3, 0, 0, vec![edit_on("tower", 25, "t25"), edit_on("tower", 8, "t8")]);
    store(&linked, &[ReceivedEntry { machine: tower, ..late }], 0);
    let all = ["here b30", "tower t25", "laptop a20", "here b10", "tower t8", "laptop a5"];
    assert_eq!(shown(&linked, &[]), all);
    assert_eq!(shown(&linked, &["--limit", "3"]), all[3..]);
    assert_eq!(shown(&linked, &["--local"]), ["here b30", "here b10"]);
    let text = linked.text(&["feed", "--kind", "edit", "--agent", "Anna", "--limit", "1"]);
    assert_eq!(text, "5min ago  Anna on laptop edited a5");
    // Models and other commands get what they got before.
    let mut client = Client::of(&linked.env, "codex");
    let said = client.ok("feed", json!({ "limit": 100 }));
    assert!(said.text.contains("b10") && !said.text.contains("laptop"), "{}", said.text);
    client.hang_up();
    assert!(!linked.run(&["log", "Bob"]).expect_code(0).stdout.contains("laptop"));
}

#[test]
fn an_entry_that_comes_again_is_not_stored_again() {
    let linked = Linked::new();
    let first = entry(1, 0, 0, vec![edit(20, "one"), edit(19, "two")]);
    store(&linked, std::slice::from_ref(&first), 0);
    // The process died before it noted how far it was, and, once, in the middle of an entry.
    std::fs::remove_file(linked.env.mesh().join("remote/feed-received.json")).unwrap();
    store(&linked, &[first], 0);
    let segment = linked.env.mesh().join("remote/feed/000000000000.jsonl");
    let lines = std::fs::read_to_string(&segment).unwrap();
    std::fs::write(&segment, lines.lines().next().unwrap().to_string() + "\n").unwrap();
    std::fs::remove_file(linked.env.mesh().join("remote/feed-received.json")).unwrap();
    let received = linked.env.store().remote().received_feed().unwrap();
    assert_eq!(received.sequence(), None, "the entry of the last line is read once more");
    store(&linked, &[entry(1, 0, 0, vec![edit(20, "one"), edit(19, "two")])], 0);
    assert_eq!(shown(&linked, &[]), ["laptop one", "laptop two"]);
    // The server may have an entry twice, if its machine was away between sending it and noting that.
    store(&linked, &[entry(7, 0, 0, vec![edit(20, "one"), edit(19, "two")])], 0);
    assert_eq!(shown(&linked, &[]), ["laptop one", "laptop two"]);
    store(&linked, &[entry(9, 1, 3, vec![edit(2, "three")])], 4);
    assert_eq!(
        shown(&linked, &[]),
        [
            "laptop one",
            "laptop two",
            "laptop 3 events were removed before they were sent",
            "laptop three",
            "here 4 entries of other machines were removed before they came here"
        ]
    );
}

#[test]
fn what_is_sent_is_each_line_once_and_the_same_entry_again_after_a_crash() {
    let linked = Linked::unlinked();
    let mesh = linked.env.store();
    let here = |file: String| Event { machine: None, ..edit(0, &file) };
    mesh.feed().append(&[here("before".to_string())], 1_000).unwrap();
    mesh.remote().begin_feed().unwrap();
    assert!(mesh.remote().next_feed_batch().unwrap().is_none(), "what was before stays here");
    let targets = |batch: &ravenry::store::FeedBatch| -> Vec<String> {
        batch.events.iter().map(|event| event.target.clone().unwrap()).collect()
    };
    for number in 0..3 {
        mesh.feed().append(&[here(format!("a{number}"))], 1_000).unwrap();
    }
    let first = mesh.remote().next_feed_batch().unwrap().unwrap();
    assert_eq!(targets(&first), ["a0", "a1", "a2"]);
    // It was killed now, and more happened.
    mesh.feed().append(&[here("a3".to_string())], 1_000).unwrap();
    let again = mesh.remote().next_feed_batch().unwrap().unwrap();
    assert_eq!((again.id(), targets(&again)), (first.id(), targets(&first)));
    mesh.remote().note_feed_batch(&again).unwrap();
    let rest = mesh.remote().next_feed_batch().unwrap().unwrap();
    assert_eq!((targets(&rest), rest.missed), (vec!["a3".to_string()], 0));
    assert_ne!(rest.id(), first.id());
    mesh.remote().note_feed_batch(&rest).unwrap();
    assert!(mesh.remote().next_feed_batch().unwrap().is_none());
    // Over many segments, each event once; what was removed before is counted.
    let mut sent = Vec::new();
    for number in 0..500 {
        mesh.feed().append(&[here(format!("b{number}"))], 50).unwrap();
        if number % 7 == 0
            && let Some(batch) = mesh.remote().next_feed_batch().unwrap()
        {
            assert_eq!(batch.missed, 0);
            sent.extend(targets(&batch));
            mesh.remote().note_feed_batch(&batch).unwrap();
        }
    }
    assert_eq!(sent, (0..=497).map(|number| format!("b{number}")).collect::<Vec<_>>());
    for number in 0..500 {
        mesh.feed().append(&[here(format!("c{number}"))], 20).unwrap();
    }
    let (mut missed, mut count) = (0, 0);
    while let Some(batch) = mesh.remote().next_feed_batch().unwrap() {
        missed += batch.missed;
        count += batch.events.len() as u64;
        mesh.remote().note_feed_batch(&batch).unwrap();
    }
    assert!(missed > 300 && missed + count == 502, "{missed} + {count}");
}

#[test]
fn an_unlinked_mesh_forgets_what_others_said() {
    let linked = Linked::new();
    say(&linked, &heard(5, None));
    store(&linked, &[entry(1, 0, 0, vec![edit(20, "a20")])], 0);
    let mesh = linked.env.store();
    mesh.remote().begin_feed().unwrap();
    mesh.remote().forget_others().unwrap();
    assert!(shown(&linked, &[]).is_empty());
    let left = crate::support::environment::files_in(&linked.env.mesh().join("remote"));
    assert!(left.iter().all(|path| path.ends_with("index")), "{left:?}");
}
