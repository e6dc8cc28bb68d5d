//! Lists with agents on other machines.

use ravenry::domain::Agent;
use ravenry::store::LinkStage;
use serde_json::{Value, json};

use super::{Linked, agent, away, holding};
use crate::support::mcp_client::Client;

#[test]
fn without_a_link_nothing_mentions_machines() {
    let linked = Linked::unlinked();
    let before =
        [linked.text(&["agents"]), linked.text(&["whois", "Bob"]), linked.ok(&["agents"]).to_string()];
    linked.set(&[linked.anna()]);
    linked.set(&[]);
    let after =
        [linked.text(&["agents"]), linked.text(&["whois", "Bob"]), linked.ok(&["agents"]).to_string()];
    assert_eq!(before, after);
    for key in ["machine", "repository", "awaySince", "asOf"] {
        assert!(linked.ok(&["agents"])["agents"][0].get(key).is_none(), "{key}");
    }
}

#[test]
fn agents_elsewhere_are_listed_with_their_machine() {
    let linked = Linked::new();
    let link = linked.link_up();
    let anna = holding(linked.anna(), "src/");
    linked.set(&[anna.clone(), linked.otto()]);
    insta::assert_snapshot!(linked.text(&["agents"]), @r"
    Bob*  active  other  [DIR]/shop  main  just arrived
    Anna  laptop  idle  claude  /home/anna/shop  main  holds src/ (every work tree)
    Otto  tower  idle  claude  /home/otto/shop  main
    ");
    insta::assert_snapshot!(linked.text(&["whois", "Anna"]), @r"
    Anna on laptop  idle
    machine  laptop
    harness  claude (opus)
    folder  /home/anna/shop on main
    here for  1h
    holds  src/ (every work tree) – new login
    ");
    insta::assert_snapshot!(
        linked.text(&["reservations"]),
        @"src/  Anna on laptop  10min  (every work tree)  new login"
    );
    assert_eq!(linked.text(&["agents", "--here", "-q"]), "Bob\nAnna");
    let shown = linked.ok(&["whois", "Anna"])["agent"].clone();
    assert_eq!(shown["pid"], Value::Null, "there is no such process here");
    assert_eq!(
        (&shown["machine"], &shown["repository"], &shown["presence"], shown.get("asOf")),
        (&json!("laptop"), &json!(linked.commit), &json!("idle"), None)
    );
    assert_eq!(linked.ok(&["reservations"])["reservations"][0]["machine"], "laptop");
    assert_eq!(linked.ok(&["reservations"])["reservations"][0]["root"], Value::Null);
    assert_eq!(linked.run(&["whoami", "--as", "Bob"]).expect_code(0).code, Some(0));
    linked.set(&[away(anna)]);
    insta::assert_snapshot!(linked.text(&["agents"]), @r"
    Bob*  active  other  [DIR]/shop  main  just arrived
    Anna  laptop  unreachable  claude  /home/anna/shop  main  holds src/ (every work tree), since 11:30
    ");
    drop(link);
    linked.set(&[linked.anna()]);
    linked.state(LinkStage::Unreachable);
    insta::assert_snapshot!(linked.text(&["agents"]), @r"
    Bob*  active  other  [DIR]/shop  main  just arrived
    Anna  laptop  active  claude  /home/anna/shop  main  as of 11:58
    ");
    assert_eq!(linked.ok(&["whois", "Anna"])["agent"]["asOf"], "2030-01-02T11:58:00.000Z");
}

#[test]
fn nothing_is_concluded_from_what_is_not_known() {
    let linked = Linked::unlinked();
    let _link = linked.link_up();
    linked.set(&[Agent { last_activity: None, ..agent("Anna", "laptop", None) }]);
    assert_eq!(linked.ok(&["whois", "Anna"])["agent"]["presence"], "unknown");
}

#[test]
fn models_see_the_machine() {
    let linked = Linked::new();
    let anna = holding(linked.anna(), "src/");
    linked.set(&[anna, linked.otto()]);
    let mut client = Client::of(&linked.env, "codex");
    let said = client.ok("agents", json!({}));
    assert!(said.text.contains("Anna on laptop: "), "{}", said.text);
    client.hang_up();
}

#[test]
fn peers_elsewhere_are_counted() {
    let linked = Linked::new();
    let joined = linked.join("Carol").expect_code(0);
    assert!(joined.stdout.contains('3'), "Bob, Anna and Otto: {joined}");
    let line = linked.run(&["statusline", "--as", "Bob"]).expect_code(0).stdout;
    assert!(line.contains('3'), "Anna, Otto and Carol: {line}");
    // Nobody counts on who can't be reached.
    linked.set(&[away(linked.anna()), linked.otto()]);
    let line = linked.run(&["statusline", "--as", "Bob"]).expect_code(0).stdout;
    assert!(line.contains('2'), "{line}");
    linked.run(&["search", "login"]).expect_code(0);
    let page = linked.env.path().join("page.html");
    linked.run(&["export", "--output", page.to_str().unwrap()]).expect_code(0);
    linked.run(&["feed"]).expect_code(0);
    linked.run(&["log", "src/a.rs"]).expect_code(0);
    linked.run(&["overlaps"]).expect_code(0);
    linked.run(&["suggest"]).expect_code(0);
    linked.nothing_is_left_of("Anna");
}
