//! The feed over all machines: each event once, with its machine, and nothing that concerns nobody there.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use jiff::SignedDuration;
use ravenry::domain::{AnyEventKind, Event, EventKind};
use ravenry::sys::clock;
use serde_json::Value;

use super::mail::two;
use super::presence::{linked_as_user, roomy};
use crate::environment::wait_until;
use crate::support::config_server::{MESH, run};
use crate::support::machine::Machine;
use crate::support::server::Server;

fn event(kind: EventKind, agent: &str, target: &str, preview: Option<&str>) -> Event {
    Event {
        at: clock::now(),
        what: AnyEventKind::Ours(kind),
        agent: agent.to_string(),
        target: Some(target.to_string()),
        preview: preview.map(str::to_string),
        message_kind: None,
        machine: None,
    }
}

fn append(machine: &Machine, events: &[Event], keep: u64) {
    machine.env.store().feed().append(events, keep).unwrap();
}

fn edit(machine: &Machine, agent: &str, file: &str) {
    append(machine, &[event(EventKind::Edit, agent, file, None)], 10_000);
}

fn events(machine: &Machine, args: &[&str]) -> Vec<Value> {
    let feed = machine.ok(&[&["feed", "--limit", "100000"], args].concat());
    assert_eq!(feed["unreadable"], 0);
    feed["events"].as_array().unwrap().clone()
}

/// The targets of the edits that came from another machine, in their order.
fn edits_from(machine: &Machine, other: &str) -> Vec<String> {
    let all = events(machine, &["--kind", "edit"]);
    let of_other = all.iter().filter(|event| event["machine"] == other);
    of_other.map(|event| event["target"].as_str().unwrap().to_string()).collect()
}

#[track_caller]
fn wait_for_edit(machine: &Machine, other: &str, file: &str) {
    wait_until(&format!("{} has {file} of {other}", machine.name), || {
        edits_from(machine, other).iter().any(|edit| edit == file)
    });
}

#[test]
fn what_happens_elsewhere_is_in_the_feed_with_its_machine() {
    let server = Server::start();
    let (a, b) = two(&server);
    a.ok(&["reserve", "src/", "--reason", "new login", "--as", "Anna"]);
    a.ok(&["send", "Bob", "for your eyes", "--as", "Anna"]);
    edit(&a, "Anna", "/home/anna/.ssh/config");
    edit(&a, "Anna", "src/a.rs");
    wait_for_edit(&b, "laptop", "src/a.rs");
    let seen = events(&b, &[]);
    let of_laptop: Vec<&Value> = seen.iter().filter(|event| event["machine"] == "laptop").collect();
    let said: Vec<(&str, Option<&str>)> =
        of_laptop.iter().map(|event| (event["type"].as_str().unwrap(), event["target"].as_str())).collect();
    // Her own join is the first that happened after the mesh was linked.
    assert_eq!(
        said,
        [("join", None), ("reserve", Some("src/")), ("message", Some("Bob")), ("edit", Some("src/a.rs"))]
    );
    assert_eq!((&of_laptop[1]["preview"], &of_laptop[2]["preview"]), (&"new login".into(), &Value::Null));
    assert!(events(&b, &["--local"]).iter().all(|event| event.get("machine").is_none()));
    assert!(!events(&b, &["--local"]).is_empty());
    let text = b.run(&["feed"]).expect_code(0).stdout;
    assert!(text.contains("Anna on laptop reserved src/: “new login”"), "{text}");
    assert_eq!(events(&b, &["--agent", "Anna", "--kind", "reserve"]).len(), 1);
    // What came from the others does not go back to them.
    edit(&b, "Bob", "src/b.rs");
    wait_for_edit(&a, "buildbox", "src/b.rs");
    assert!(events(&a, &[]).iter().all(|event| event["agent"] != "Anna" || event.get("machine").is_none()));
}

#[test]
fn a_follower_sees_both() {
    let server = Server::start();
    let (a, b) = two(&server);
    let mut follower = b
        .msg()
        .args(["feed", "--follow", "--json", "--kind", "edit"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    edit(&b, "Bob", "src/b.rs");
    let mut next = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    assert_eq!(next()["target"], "src/b.rs");
    edit(&a, "Anna", "src/a.rs");
    let of_anna = next();
    assert_eq!((&of_anna["target"], &of_anna["machine"]), (&"src/a.rs".into(), &"laptop".into()));
    follower.kill().unwrap();
    follower.wait().unwrap();
}

#[test]
fn a_killed_link_tells_nothing_twice_and_forgets_nothing() {
    let server = Server::start();
    let (a, b) = two(&server);
    let mut expected = Vec::new();
    for round in 0..8 {
        for number in 0..30 {
            let file = format!("src/{round}-{number}.rs");
            edit(&a, "Anna", &file);
            expected.push(file);
            // Somewhere in the middle, at another moment in each round.
            if number == 3 * round {
                (if round % 2 == 0 { &a } else { &b }).kill_link();
            }
        }
        // Any command starts it again; in some rounds this one meets it at work.
        wait_until("the link is back", || {
            a.ok(&["agents"]);
            b.ok(&["agents"]);
            a.is_linked() && b.is_linked()
        });
    }
    wait_for_edit(&b, "laptop", expected.last().unwrap());
    assert_eq!(edits_from(&b, "laptop"), expected);
}

#[test]
fn what_happened_without_the_server_comes_later_in_its_place() {
    let server = Server::start();
    let (a, b) = two(&server);
    // Further apart than an entry takes to the server on a busy machine: times are no more exact than that.
    let earlier = |machine: &Machine, agent: &str, file: &str, minutes: i64| {
        let at = clock::now() - SignedDuration::from_mins(minutes);
        append(machine, &[Event { at, ..event(EventKind::Edit, agent, file, None) }], 10_000);
    };
    earlier(&a, "Anna", "src/first.rs", 9);
    wait_for_edit(&b, "laptop", "src/first.rs");
    a.network.cut();
    a.wait_until_unlinked();
    earlier(&a, "Anna", "src/meanwhile.rs", 6);
    earlier(&b, "Bob", "src/after.rs", 3);
    a.network.heal();
    wait_for_edit(&b, "laptop", "src/meanwhile.rs");
    let order: Vec<Value> =
        events(&b, &["--kind", "edit"]).iter().map(|event| event["target"].clone()).collect();
    assert_eq!(order, ["src/first.rs", "src/meanwhile.rs", "src/after.rs"]);
}

#[test]
fn what_was_removed_before_it_could_be_told_is_a_gap() {
    let server = Server::start();
    let (a, b) = two(&server);
    edit(&a, "Anna", "src/first.rs");
    wait_for_edit(&b, "laptop", "src/first.rs");
    a.network.cut();
    a.wait_until_unlinked();
    for number in 0..200 {
        append(&a, &[event(EventKind::Edit, "Anna", &format!("src/{number}.rs"), None)], 5);
    }
    a.network.heal();
    wait_for_edit(&b, "laptop", "src/199.rs");
    let gaps = events(&b, &["--kind", "gap"]);
    assert_eq!(gaps.len(), 1, "{gaps:?}");
    assert_eq!(gaps[0]["machine"], "laptop");
    let missing: usize = gaps[0]["preview"].as_str().unwrap().split(' ').next().unwrap().parse().unwrap();
    assert_eq!(edits_from(&b, "laptop").len() + missing, 201, "{gaps:?}");
    let text = b.run(&["feed", "--kind", "gap"]).expect_code(0).stdout;
    assert!(text.contains("feed on laptop has a gap"), "{text}");
}

/// With the permissions that `msg link config` prints, and with a machine that makes things up.
#[test]
fn a_hostile_machine_writes_in_its_own_name_alone() {
    let server = roomy(&["laptop", "buildbox"]);
    let [laptop, buildbox] = ["laptop", "buildbox"].map(|name| linked_as_user(&server, name));
    laptop.join("Anna");
    buildbox.join("Bob");
    edit(&laptop, "Anna", "src/a.rs");
    wait_for_edit(&buildbox, "laptop", "src/a.rs");
    run(async {
        let context = async_nats::jetstream::new(server.connect("laptop").await);
        let entry = |agent: &str, target: &str| {
            serde_json::json!({ "version": 1, "run": "x", "number": 1, "sentAt": "2026-11-14T12:00:00Z",
                "machine": "buildbox", "events": [{ "ts": "2026-11-14T12:00:00Z", "type": "edit", "agent": agent,
                "target": target, "machine": "buildbox" }] })
            .to_string()
        };
        let publish = async |machine: &str, text: String| {
            let sent = context.publish(format!("mesh.{MESH}.feed.{machine}"), text.into()).await.unwrap();
            sent.await.map(drop)
        };
        publish("buildbox", entry("Bob", "src/forged.rs")).await.unwrap_err();
        publish("laptop", "{".to_string()).await.unwrap();
        publish("laptop", entry("Bob\u{1b}[2J\nObey", "src/odd.rs")).await.unwrap();
    });
    wait_for_edit(&buildbox, "laptop", "src/odd.rs");
    edit(&laptop, "Anna", "src/z.rs");
    wait_for_edit(&buildbox, "laptop", "src/z.rs");
    assert_eq!(edits_from(&buildbox, "laptop"), ["src/a.rs", "src/odd.rs", "src/z.rs"]);
    let text = buildbox.run(&["feed"]).expect_code(0).stdout;
    assert!(!text.contains('\u{1b}') && text.contains(" on laptop edited src/odd.rs"), "{text}");
}
