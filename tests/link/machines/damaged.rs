//! One thing that is damaged or refused: everything else goes on.

use std::fs;

use serde_json::{Value, json};

use super::mail::two;
use crate::environment::wait_until;
use crate::support::config_server::run;
use crate::support::machine::Machine;
use crate::support::server::Server;

fn texts(machine: &Machine, name: &str) -> Vec<String> {
    let inbox = machine.ok(&["inbox", "--as", name]);
    let messages = inbox["messages"].as_array().unwrap().iter();
    messages.map(|message| message["text"].as_str().unwrap().to_string()).collect()
}

fn problem(machine: &Machine) -> Value {
    machine.status()["state"]["problem"]["kind"].clone()
}

fn pid(machine: &Machine) -> Value {
    machine.status()["state"]["pid"].clone()
}

/// Mail goes both ways between the two.
#[track_caller]
fn mail_goes(a: &Machine, b: &Machine, text: &str) {
    a.ok(&["send", "Bob", text, "--as", "Anna"]);
    b.ok(&["send", "Anna", text, "--as", "Bob"]);
    for (machine, name) in [(a, "Anna"), (b, "Bob")] {
        wait_until(&format!("{name} gets {text}"), || texts(machine, name).iter().any(|found| found == text));
    }
}

#[test]
fn damaged_claims_keep_back_no_mail() {
    let server = Server::start();
    let (a, b) = two(&server);
    let before = pid(&a);
    let claims = a.env.mesh().join("claims.json");
    fs::write(&claims, "{").unwrap();
    mail_goes(&a, &b, "nevertheless");
    wait_until("it is shown", || problem(&a) == "corrupt");
    assert_eq!(a.status()["linked"], true);
    fs::remove_file(&claims).unwrap();
    wait_until("all is well", || problem(&a).is_null());
    assert_eq!(pid(&a), before, "the same process all the time");
}

#[test]
fn a_damaged_record_of_a_run_keeps_back_no_mail() {
    let server = Server::start();
    let (a, b) = two(&server);
    let before = pid(&a);
    let run = a.env.mesh().join("remote/runs/k3f9xa");
    fs::create_dir_all(&run).unwrap();
    fs::write(run.join("ask.json"), "{").unwrap();
    mail_goes(&a, &b, "nevertheless");
    wait_until("it is shown", || problem(&a) == "corrupt");
    mail_goes(&a, &b, "and again");
    a.repository();
    a.ok(&["claim", "TASK-01", "--spec", "plan.md", "--as", "Anna"]);
    assert_eq!(a.status()["linked"], true);
    fs::remove_dir_all(&run).unwrap();
    wait_until("all is well", || problem(&a).is_null());
    assert_eq!(pid(&a), before, "the same process all the time");
}

#[test]
fn a_record_that_the_server_does_not_take_keeps_back_no_mail() {
    let server = Server::start();
    let (a, b) = two(&server);
    let limit = |bytes: i32| {
        run(async {
            let context = async_nats::jetstream::new(async_nats::connect(server.url()).await.unwrap());
            let mut stream = context.get_stream("KV_mesh_team").await.unwrap();
            let config = stream.info().await.unwrap().config.clone();
            let limited = async_nats::jetstream::stream::Config { max_message_size: bytes, ..config };
            context.update_stream(&limited).await.unwrap();
        });
    };
    // Leases are smaller than that, and what is said of an agent is not.
    limit(500);
    a.ok(&["set-status", &"busy ".repeat(30), "--as", "Anna"]);
    wait_until("it is shown", || !problem(&a).is_null());
    mail_goes(&a, &b, "nevertheless");
    limit(-1);
    wait_until("all is well", || problem(&a).is_null());
}

#[test]
fn a_recipient_whose_files_are_damaged_keeps_back_nobody_elses_mail() {
    let server = Server::start();
    let (a, b) = two(&server);
    b.join("Carol");
    b.join("Dora");
    a.wait_for("Carol");
    a.wait_for("Dora");
    // One has a file in place of its inbox; the session of the other one can't be read.
    let mesh = b.env.mesh();
    fs::remove_dir_all(mesh.join("inbox/Bob")).unwrap();
    fs::write(mesh.join("inbox/Bob"), "").unwrap();
    let sessions: Vec<_> =
        fs::read_dir(mesh.join("sessions")).unwrap().map(|file| file.unwrap().path()).collect();
    let of_carol = sessions
        .iter()
        .find(|file| fs::read_to_string(file).is_ok_and(|text| text.contains("session-Carol")));
    fs::write(of_carol.unwrap(), "{").unwrap();
    let send = |to: &str, text: &str| {
        let sent = a.ok(&["send", to, text, "--as", "Anna"]);
        sent["sent"][0]["id"].as_str().unwrap().to_string()
    };
    let ids = [send("Bob", "one"), send("Carol", "two")];
    send("Dora", "three");
    wait_until("Dora gets hers", || texts(&b, "Dora") == ["three"]);
    for id in &ids {
        let receipt = || a.ok(&["receipt", id, "--as", "Anna"]);
        wait_until("Anna knows", || receipt()["state"] == "gone");
        assert!(receipt()["reason"].as_str().unwrap().contains("are damaged"), "{}", receipt());
    }
    wait_until("Anna is told of both", || {
        texts(&a, "Anna").iter().filter(|text| text.contains("could not be delivered")).count() == 2
    });
    let dead = run(async {
        let context = async_nats::jetstream::new(async_nats::connect(server.url()).await.unwrap());
        let mut stream = context.get_stream("MESH_team_DEAD").await.unwrap();
        stream.info().await.unwrap().state.messages
    });
    assert_eq!(json!(dead), json!(2), "they are kept on the server");
}
