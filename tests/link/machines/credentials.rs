//! Who a machine says it is: passwords, keys and signed users in `.creds` files.

use std::path::Path;

use nkeys::KeyPair;

use super::server_troubles::meets;
use crate::environment::wait_until;
use crate::support::files::private;
use crate::support::jwt::Operator;
use crate::support::machine::Machine;
use crate::support::server::Server;

/// Links a machine with these credentials, and lets an agent join.
fn joined(name: &'static str, server: &Server, credentials: &Path, agent: &str) -> Machine {
    let machine = Machine::new(name, server.port);
    machine.ok(&["link", &machine.url(), "--machine", name, "--credentials", credentials.to_str().unwrap()]);
    machine.join(agent);
    machine.wait_until_linked();
    machine
}

/// A message from one machine to the other.
#[track_caller]
fn talk(a: &Machine, b: &Machine) {
    a.wait_for("Bob");
    b.wait_for("Anna");
    a.ok(&["send", "Bob", "hello", "--as", "Anna"]);
    wait_until("it arrives", || b.ok(&["inbox", "--as", "Bob"])["messages"][0]["text"] == "hello");
}

#[test]
fn users_that_an_operator_signed_are_linked() {
    let operator = Operator::new();
    let server = Server::with(&operator.config());
    let laptop = operator.user(server.dir(), "laptop");
    let a = joined("laptop", &server, &laptop, "Anna");
    let b = joined("buildbox", &server, &operator.user(server.dir(), "buildbox"), "Bob");
    talk(&a, &b);
    // The path alone is kept, never what the file says.
    let kept = std::fs::read_to_string(a.env.mesh().join("link/config.json")).unwrap();
    assert!(kept.contains("laptop.creds") && !kept.contains("BEGIN") && !kept.contains("eyJ"), "{kept}");
}

#[test]
fn a_signed_user_that_is_not_accepted_is_told() {
    let operator = Operator::new();
    let server = Server::with(&operator.config());
    for (file, why) in [
        (operator.expired_user(server.dir(), "expired"), "expired"),
        (operator.stranger(server.dir(), "stranger"), "a stranger"),
    ] {
        let machine = Machine::new("laptop", server.port);
        let args = [&*machine.url(), "--credentials", file.to_str().unwrap()];
        let told = meets(&machine, &args, "wrong_credentials", "refuses the credentials");
        assert!(told.contains("--credentials FILE"), "{why}: {told}");
    }
}

#[test]
fn a_file_that_has_no_credentials_is_told() {
    let server = Server::start();
    for (name, text, says) in [
        ("notes.creds", "what?\n", "no BEGIN NATS USER JWT"),
        ("half.creds", "-----BEGIN NATS USER JWT-----\nx\n------END NATS USER JWT------\n", "cannot use"),
        ("three.user", "a\nb\nc\n", "expected a user and a password on two lines"),
    ] {
        let machine = Machine::new("laptop", server.port);
        let file = private(&machine.env.path().join(name), text);
        let args = [&*machine.url(), "--credentials", file.to_str().unwrap()];
        meets(&machine, &args, "credentials", says);
    }
}

#[test]
fn a_key_in_place_of_a_password() {
    let (right, wrong) = (KeyPair::new_user(), KeyPair::new_user());
    let users =
        format!("accounts {{ T {{ jetstream: enabled, users: [{{nkey: {}}}] }} }}", right.public_key());
    let server = Server::with(&users);
    let file = private(&server.dir().join("right.seed"), &format!("{}\n", right.seed().unwrap()));
    joined("laptop", &server, &file, "Anna");
    let machine = Machine::new("buildbox", server.port);
    let file = private(&server.dir().join("wrong.seed"), &format!("{}\n", wrong.seed().unwrap()));
    let args = [&*machine.url(), "--credentials", file.to_str().unwrap()];
    meets(&machine, &args, "wrong_credentials", "refuses the credentials");
}

#[test]
fn a_wrong_password_is_told() {
    let server =
        Server::with("accounts { T { jetstream: enabled, users: [{user: laptop, password: right}] } }");
    let machine = Machine::new("laptop", server.port);
    let file = private(&machine.env.path().join("laptop.user"), "laptop\nwrong\n");
    let args = [&*machine.url(), "--credentials", file.to_str().unwrap()];
    meets(&machine, &args, "wrong_credentials", "refuses the credentials");
}
