//! Servers that can't be used, or not as they should be: each is met with a sentence and a way out in `msg link URL`,
//! `msg link status` and `msg doctor`.

use std::time::Duration;

use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy};
use jiff::Timestamp;
use serde_json::Value;

use super::mail::two;
use crate::environment::{end, wait_until};
use crate::support::config_server::run;
use crate::support::files::private;
use crate::support::impostor::{OLD, impostor};
use crate::support::machine::Machine;
use crate::support::server::Server;
use crate::support::tls::{Authority, Wanted};

/// Expects that this machine can't be linked with these arguments, and is told so wherever it looks. Afterwards it is
/// linked by force, so that its link process tries again and again. Returns the way out.
#[track_caller]
pub fn meets(machine: &Machine, args: &[&str], problem: &str, says: &str) -> String {
    let link = [&["link"], args, &["--machine", machine.name]].concat();
    let error = machine.fails(5, &link);
    assert_eq!((&error["kind"], &error["problem"]), (&"not_linked".into(), &problem.into()), "{error}");
    assert!(error["message"].as_str().unwrap().contains(says), "{error}");
    let way_out = error["hints"][0].as_str().unwrap().to_string();
    assert!(machine.status()["config"].is_null(), "nothing was saved");

    machine.ok(&[&link[..], &["--force"]].concat());
    machine.join("Anna");
    wait_until("the link process has met it", || machine.status()["state"]["problem"]["kind"] == problem);
    let shown = machine.run(&["link"]).expect_code(0).stdout;
    assert!(shown.contains(says) && shown.contains(&way_out), "{shown}");
    let check = finding(machine, says);
    assert!(check["state"] == "fail" || check["state"] == "warn", "{check}");
    assert_eq!(check["fix"], way_out.as_str(), "{check}");
    way_out
}

/// What the doctor says of it.
#[track_caller]
fn finding(machine: &Machine, says: &str) -> Value {
    let answer = machine.run(&["doctor", "--json"]).json();
    let checks = answer["checks"].as_array().unwrap();
    let of_link = |check: &&Value| {
        check["name"] == "link" && check["message"].as_str().is_some_and(|message| message.contains(says))
    };
    checks.iter().find(of_link).unwrap_or_else(|| panic!("no check says {says:?}: {answer:#}")).clone()
}

/// A server with a certificate, and the address of it on the machine that is linked with it.
fn with_certificate(authority: &Authority, wanted: &Wanted<'_>) -> (tempfile::TempDir, Server, Machine) {
    let dir = tempfile::tempdir().unwrap();
    let files = authority.sign(dir.path(), "server", wanted);
    let server =
        Server::with(&format!("tls {{ cert_file: {:?}, key_file: {:?} }}", files.certificate, files.key));
    let machine = Machine::new("laptop", server.port);
    (dir, server, machine)
}

fn tls_url(machine: &Machine) -> String {
    format!("tls://127.0.0.1:{}/team", machine.network.port)
}

#[test]
fn a_certificate_that_can_not_be_trusted() {
    const HERE: &str = "127.0.0.1";
    let (ours, other) = (Authority::new("ours"), Authority::new("other"));
    for (signer, wanted, says, way_out) in [
        (&ours, Wanted { host: HERE, expired: true }, "has expired", "renew"),
        (
            &ours,
            Wanted { host: "elsewhere.example", expired: false },
            "is for another name",
            "certificate for this host",
        ),
        (&other, Wanted { host: HERE, expired: false }, "does not trust", "--ca FILE"),
    ] {
        let (dir, _server, machine) = with_certificate(signer, &wanted);
        let ca = private(&dir.path().join("ours-ca.pem"), &ours.pem);
        let url = tls_url(&machine);
        let told = meets(&machine, &[&url, "--ca", ca.to_str().unwrap()], "tls", says);
        assert!(told.contains(way_out), "{says}: {told}");
    }
}

#[test]
fn a_certificate_that_is_good_again_links_without_a_person() {
    let ours = Authority::new("ours");
    let (dir, mut server, machine) = with_certificate(&ours, &Wanted { host: "127.0.0.1", expired: true });
    let ca = private(&dir.path().join("ours-ca.pem"), &ours.pem);
    meets(&machine, &[&tls_url(&machine), "--ca", ca.to_str().unwrap()], "tls", "has expired");
    ours.sign(dir.path(), "server", &Wanted { host: "127.0.0.1", expired: false });
    server.restart();
    machine.wait_until_linked();
    assert_eq!(machine.status()["state"]["server"]["encrypted"], true);
    assert!(machine.status()["state"]["problem"].is_null());
}

#[test]
fn a_server_without_tls_where_it_is_asked_for() {
    let server = Server::start();
    let machine = Machine::new("laptop", server.port);
    let told = meets(&machine, &[&tls_url(&machine)], "tls", "does not speak TLS");
    assert!(told.contains("--tls"), "{told}");
}

#[test]
fn a_server_that_is_too_old() {
    let machine = Machine::new("laptop", impostor(OLD));
    let says = "the server has version 2.9.10, but version 2.11 is needed";
    let told = meets(&machine, &[&machine.url()], "too_old", says);
    assert!(told.contains("install nats-server 2.11 or later"), "{told}");
}

#[test]
fn an_account_without_jetstream() {
    let server = Server::with("accounts { T { users: [{user: laptop, password: right}] } }");
    let machine = Machine::new("laptop", server.port);
    let file = private(&machine.env.path().join("laptop.user"), "laptop\nright\n");
    let args = [&*machine.url(), "--credentials", file.to_str().unwrap()];
    meets(&machine, &args, "no_jetstream", "the account of this user has no JetStream");
}

#[test]
fn a_permission_that_is_missing() {
    let server = Server::with(
        "accounts { T { jetstream: enabled, users: [{user: laptop, password: right,
            permissions: {publish: {deny: [\"$JS.API.STREAM.CREATE.>\"]}}}] } }",
    );
    let machine = Machine::new("laptop", server.port);
    let file = private(&machine.env.path().join("laptop.user"), "laptop\nright\n");
    let args = [&*machine.url(), "--credentials", file.to_str().unwrap()];
    let says = "no permission to publish to `$JS.API.STREAM.CREATE.KV_mesh_team`";
    let told = meets(&machine, &args, "permission_missing", says);
    assert!(told.contains("msg link config --server --machine NAME"), "{told}");
}

#[test]
fn a_server_without_room_for_the_mesh() {
    let mut server = Server::start();
    let small = "jetstream { max_file_store: 1MB, ";
    server.configure(|text| text.replace("jetstream { ", small));
    server.restart();
    let machine = Machine::new("laptop", server.port);
    let told = meets(&machine, &[&machine.url()], "server_disk_full", "the server has no space left");
    assert!(told.contains("max_file_store"), "{told}");
    // As soon as there is room, nobody needs to do anything.
    server.configure(|text| text.replace(small, "jetstream { "));
    server.restart();
    machine.wait_until_linked();
}

/// Another machine has been away for long, and its mail fills what the server has for messages.
#[test]
fn what_a_full_server_does_not_take_stays_queued_and_goes_out_later() {
    let server = Server::start();
    run(async {
        let raw = async_nats::jetstream::new(async_nats::connect(server.url()).await.unwrap());
        let inbox = Config {
            name: "MESH_team_INBOX".to_string(),
            subjects: vec!["mesh.team.inbox.*.*".to_string()],
            retention: RetentionPolicy::WorkQueue,
            discard: DiscardPolicy::New,
            max_bytes: 8_000,
            duplicate_window: Duration::from_secs(120),
            ..Default::default()
        };
        raw.create_stream(inbox).await.unwrap();
    });
    let (a, b) = two(&server);
    b.ok(&["link", "stop"]);
    let texts: Vec<String> = (0..12).map(|number| format!("{number} {}", "x".repeat(1_000))).collect();
    for text in &texts {
        a.ok(&["send", "Bob", text, "--as", "Anna"]);
    }
    wait_until("the server takes no more", || {
        a.status()["state"]["problem"]["kind"] == "server_full" && a.status()["queued"].as_u64() > Some(0)
    });
    let shown = a.run(&["link"]).expect_code(0).stdout;
    let says = "the stream MESH_team_INBOX is full";
    assert!(shown.contains(says) && shown.contains("max_bytes"), "{shown}");
    assert!(shown.contains("messages wait here until the server takes them"), "{shown}");
    let check = finding(&a, says);
    assert_eq!(check["state"], "warn", "{check}");
    assert!(check["fix"].as_str().unwrap().contains("max_bytes"), "{check}");
    // What is decided by the server is not held up by mail.
    a.repository();
    a.ok(&["claim", "TASK-01", "--spec", "plan.md", "--as", "Anna"]);

    // The machine that was away fetches its mail.
    b.ok(&["agents"]);
    let inbox = || b.ok(&["inbox", "--as", "Bob"])["messages"].as_array().unwrap().clone();
    wait_until("all have arrived", || inbox().len() == texts.len());
    let arrived: Vec<String> =
        inbox().iter().map(|message| message["text"].as_str().unwrap().to_string()).collect();
    assert_eq!(arrived, texts, "in their order, and once");
    wait_until("nothing is queued, and nothing is wrong", || {
        let status = a.status();
        status["queued"] == 0 && status["state"]["problem"].is_null()
    });
}

/// The clock of this machine is an hour behind. It stands still for the test, because it is the one that can be set.
#[test]
fn a_clock_that_is_off_by_an_hour() {
    let server = Server::start();
    let machine = Machine::new("laptop", server.port);
    let behind = Timestamp::now() - jiff::SignedDuration::from_hours(1);
    let at_that_time = |args: &[&str]| {
        let mut command = machine.msg();
        end(command.args(args).env("MSG_TEST_NOW", behind.to_string())).expect_code(0)
    };
    let link = ["link", &machine.url(), "--machine", "laptop"];
    let warned = at_that_time(&link).stderr;
    let says = " ahead of the one of this machine";
    assert!(warned.contains("the clock of the server is 36") && warned.contains(says), "{warned}");
    assert!(warned.contains("NTP"), "{warned}");
    let host = machine.env.host().to_string();
    at_that_time(&["join", "Anna", "--pid", &host, "--session", "session-Anna", "--harness", "claude"]);
    wait_until("it is linked nevertheless", || at_that_time(&["link", "status"]).stdout.contains(": linked"));
    let shown = at_that_time(&["link"]).stdout;
    assert!(shown.contains(says) && shown.contains("NTP"), "{shown}");
    let check = finding(&machine, says);
    assert_eq!(check["state"], "warn", "{check}");
    assert!(check["fix"].as_str().unwrap().contains("NTP"), "{check}");
}
