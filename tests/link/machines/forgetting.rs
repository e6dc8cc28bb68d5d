//! A person gives up a machine that does not come back.

use super::mail::two_for;
use crate::environment::wait_until;
use crate::support::config_server::ConfigServer;
use crate::support::machine::{Machine, SHORT_LEASE};
use crate::support::server::Server;

fn receipt(machine: &Machine, from: &str, id: &str) -> String {
    machine.ok(&["receipt", id, "--as", from])["state"].as_str().unwrap().to_string()
}

#[track_caller]
fn send(machine: &Machine, from: &str, to: &str) -> String {
    let sent = machine.ok(&["send", to, "are you there?", "--as", from]);
    let id = sent["sent"][0]["id"].as_str().unwrap().to_string();
    wait_until("the server has it", || receipt(machine, from, &id) == "stored");
    id
}

#[test]
fn a_machine_that_does_not_come_back_is_forgotten() {
    let server = Server::start();
    let (a, b) = two_for(&server, SHORT_LEASE);
    a.repository();
    b.repository();
    a.ok(&["claim", "TASK-02", "--spec", "plan.md", "--as", "Anna"]);
    a.ok(&["complete", "TASK-02", "--spec", "plan.md", "--as", "Anna"]);
    a.ok(&["claim", "TASK-01", "--spec", "plan.md", "--as", "Anna"]);
    a.ok(&["reserve", "--repo", "src/", "--as", "Anna"]);
    let error = b.fails(1, &["link", "forget", "laptop", "--yes"]);
    assert_eq!(
        (error["kind"].as_str(), error["machine"].as_str()),
        (Some("at_work"), Some("laptop")),
        "{error}"
    );
    let error = b.fails(2, &["link", "forget", "buildbox", "--yes"]);
    assert_eq!(error["kind"], "invalid_value", "{error}");
    a.network.cut();
    wait_until("its lease is over", || {
        b.agent("Anna").is_some_and(|agent| agent["presence"] == "unreachable")
    });
    let id = send(&b, "Bob", "Anna");
    let error = b.run(&["link", "forget", "laptop", "--json"]).kind();
    assert_eq!(error, "not_confirmed");
    assert!(b.agent("Anna").is_some(), "nothing is removed without a word");
    let forgotten = b.ok(&["link", "forget", "laptop", "--yes"])["forgotten"].clone();
    let expected =
        serde_json::json!({ "machine": "laptop", "names": 1, "tasks": 1, "paths": 1, "messages": 1 });
    assert_eq!(forgotten, expected);
    b.wait_without("Anna");
    wait_until("the sender knows", || receipt(&b, "Bob", &id) == "gone");
    let tasks = b.ok(&["tasks", "--spec", "plan.md", "--as", "Bob"])["tasks"].to_string();
    assert!(tasks.contains("done"), "what it completed stays: {tasks}");
    b.ok(&["reserve", "--repo", "src/", "--as", "Bob"]);
    let again = b.ok(&["link", "forget", "laptop", "--yes"])["forgotten"].clone();
    assert_eq!((&again["names"], &again["messages"]), (&0.into(), &0.into()));
}

#[test]
fn mail_for_another_machine_is_removed_with_the_credentials_of_the_admin_alone() {
    let server = ConfigServer::start_roomy(&["laptop", "buildbox"]);
    let file = |user: &str| server.dir.path().join(format!("{user}.user")).to_str().unwrap().to_string();
    let link = |name: &'static str| {
        let machine = Machine::new_for(name, server.plan.listen.port, SHORT_LEASE);
        machine.ok(&["link", &machine.url(), "--machine", name, "--credentials", &file(name)]);
        machine
    };
    let (a, b) = (link("laptop"), link("buildbox"));
    a.join("Anna");
    b.join("Bob");
    b.wait_for("Anna");
    a.network.cut();
    wait_until("its lease is over", || {
        b.agent("Anna").is_some_and(|agent| agent["presence"] == "unreachable")
    });
    let id = send(&b, "Bob", "Anna");
    let error = b.fails(5, &["link", "forget", "laptop", "--yes"]);
    assert_eq!(error["problem"], "permission_missing", "{error}");
    assert!(b.agent("Anna").is_some(), "nothing is removed by halves");
    let admin = file("admin");
    let forgotten =
        b.ok(&["link", "forget", "laptop", "--credentials", &admin, "--yes"])["forgotten"].clone();
    assert_eq!((&forgotten["names"], &forgotten["messages"]), (&1.into(), &1.into()));
    b.wait_without("Anna");
    wait_until("the sender knows", || receipt(&b, "Bob", &id) == "gone");
}
