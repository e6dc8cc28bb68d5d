//! What a user meets when something is wrong: a sentence and a way out.

use crate::support::machine::Machine;
use crate::support::ports::free_port;
use crate::support::server::Server;

#[test]
fn without_a_server_nothing_is_saved() {
    let machine = Machine::new("laptop", free_port());
    let error = machine.fails(5, &["link", &machine.url(), "--machine", "laptop"]);
    assert_eq!(
        (error["kind"].as_str(), error["problem"].as_str()),
        (Some("not_linked"), Some("unreachable")),
        "{error}"
    );
    assert!(!error["hints"].as_array().unwrap().is_empty());
    assert!(machine.status()["config"].is_null());
}

#[test]
fn a_name_that_is_in_use_is_refused() {
    let server = Server::start();
    let first = Machine::linked("laptop", server.port);
    first.join("Anna");
    first.wait_until_linked();
    let second = Machine::new("laptop", server.port);
    let error = second.fails(5, &["link", &second.url(), "--machine", "laptop"]);
    assert_eq!(error["problem"], "machine_name_in_use", "{error}");
    second.ok(&["link", &second.url(), "--machine", "other"]);
}

#[test]
fn odd_addresses_are_refused_before_anything_is_tried() {
    let machine = Machine::new("laptop", free_port());
    for url in
        ["http://host/team", "nats://host", &["nats://me:", "secret@host/team"].concat(), "nats://host/Team"]
    {
        let error = machine.fails(2, &["link", url]);
        assert_eq!(error["kind"], "invalid_value", "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
    // Credentials don't cross a network in the clear.
    let file = machine.env.path().join("user");
    std::fs::write(&file, "laptop\nsecret\n").unwrap();
    let error = machine.fails(2, &["link", "nats://192.0.2.1/team", "--credentials", file.to_str().unwrap()]);
    assert!(error["message"].as_str().unwrap().contains("not encrypted"), "{error}");
}

#[test]
fn off_forgets_the_others() {
    let server = Server::start();
    let (a, b) = super::mail::two(&server);
    assert_eq!(a.ok(&["link", "off"])["unlinked"], true);
    assert!(a.agent("Bob").is_none());
    assert_eq!(a.status()["running"], false);
    b.wait_without("Anna");
    assert_eq!(a.ok(&["link", "off"])["unlinked"], false);
}
