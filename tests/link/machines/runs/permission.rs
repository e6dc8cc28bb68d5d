//! What another machine may have started here, and what it is told if not.

use ravenry::sys::nats::{Cas, ConnectOptions, Nats};

use super::{allow_runs, beside, git, put_profiles, read, script, two_with};
use crate::machines::mail::{two, two_for};
use crate::support::machine::{Machine, SHORT_LEASE};
use crate::support::server::Server;

/// The error of a run that the other machine refuses.
#[track_caller]
fn refused(machine: &Machine, profile: &str) -> serde_json::Value {
    machine.fails(1, &["run", profile, "x", "--on", "buildbox", "--as", "Anna"])
}

#[test]
fn nothing_is_started_unless_a_person_there_allowed_it() {
    let server = Server::start();
    let (a, b) = two(&server);
    a.repository();
    let there = b.repository();
    let mark = beside(&b, "mark");
    put_profiles(&b, &script("touch", &format!("echo ran >> {}; echo ok", mark.display())));
    let error = refused(&a, "touch");
    assert_eq!((&error["kind"], &error["machine"]), (&"not_allowed".into(), &"buildbox".into()), "{error}");
    // Only for a machine that does not ask.
    b.ok(&["link", "--allow-runs", there.to_str().unwrap(), "--allow-runs-from", "server"]);
    let error = refused(&a, "touch");
    assert_eq!(error["kind"], "not_allowed", "{error}");
    assert!(error["message"].as_str().unwrap().contains("laptop"), "{error}");
    // In a checkout of another repository.
    let other = beside(&b, "other");
    std::fs::create_dir(&other).unwrap();
    git(&other, &["init", "-q", "-b", "main"]);
    git(&other, &["commit", "-q", "--allow-empty", "-m", "another start"]);
    b.ok(&["link", "--allow-runs", other.to_str().unwrap(), "--allow-runs-from", "all"]);
    let error = refused(&a, "touch");
    assert_eq!(error["kind"], "not_allowed", "{error}");
    assert!(error["message"].as_str().unwrap().contains("no checkout of this repository"), "{error}");
    // Taken back.
    b.ok(&["link", "--allow-runs", there.to_str().unwrap()]);
    assert_eq!(b.status()["config"]["allowRuns"][0], there.to_str().unwrap());
    b.ok(&["link", "--allow-runs", "none"]);
    assert_eq!(refused(&a, "touch")["kind"], "not_allowed");
    assert_eq!(read(&mark), "", "nothing ran");
    assert!(b.ok(&["runs"])["runs"].as_array().unwrap().is_empty());
    // What was refused was never a run here either.
    assert!(a.ok(&["runs"])["runs"].as_array().unwrap().is_empty());
    b.ok(&["link", "--allow-runs", there.to_str().unwrap()]);
    a.ok(&["run", "touch", "x", "--on", "buildbox", "--as", "Anna"]);
    assert_eq!(read(&mark), "ran\n");
}

#[test]
fn the_profiles_and_gates_of_that_machine_count() {
    let server = Server::start();
    let (a, b) = two_with(&server, &script("fine", "echo ok"));
    // A profile of this machine is none there.
    put_profiles(&a, &script("mine", "echo no"));
    let error = refused(&a, "mine");
    assert_eq!((&error["kind"], &error["gate"]), (&"gate".into(), &"profile".into()), "{error}");
    // What the project says there was trusted by nobody.
    let project = b.env.work().join(".ravenry");
    std::fs::create_dir_all(&project).unwrap();
    let mark = beside(&b, "mark");
    std::fs::write(project.join("workers.toml"), script("sly", &format!("touch {}", mark.display())))
        .unwrap();
    let error = refused(&a, "sly");
    assert_eq!((&error["kind"], &error["gate"]), (&"gate".into(), &"trust".into()), "{error}");
    assert!(!mark.exists());
    std::fs::remove_dir_all(project).unwrap();
    b.ok(&["mode", "plan"]);
    let error = refused(&a, "fine");
    assert_eq!((&error["kind"], &error["gate"]), (&"gate".into(), &"mode".into()), "{error}");
    b.ok(&["mode", "build"]);
    a.ok(&["run", "fine", "x", "--on", "buildbox", "--as", "Anna"]);
}

#[test]
fn only_people_allow_runs() {
    let server = Server::start();
    let (_a, b) = two(&server);
    let there = b.repository();
    let mut command = b.msg();
    command.args(["link", "--allow-runs", there.to_str().unwrap(), "--json"]).env("MSG_RUN", "abcdef");
    let ended = crate::environment::end(&mut command);
    assert_eq!(ended.expect_code(1).kind(), "in_harness");
    assert!(b.status()["config"]["allowRuns"].as_array().unwrap().is_empty());
}

#[test]
fn what_can_not_be_asked_is_said_at_once() {
    let server = Server::start();
    let alone = Machine::new("alone", server.port);
    alone.repository();
    let error = alone.fails(5, &["run", "x", "y", "--on", "buildbox"]);
    assert_eq!(error["kind"], "not_linked", "{error}");
    let (a, b) = two_for(&server, SHORT_LEASE);
    allow_runs(&a, &b, &script("fine", "echo ok"));
    let error = a.fails(1, &["run", "fine", "x", "--on", "attic", "--as", "Anna"]);
    assert_eq!(error["kind"], "unknown_machine", "{error}");
    assert!(error["hints"].to_string().contains("buildbox"), "{error}");
    let error = a.fails(2, &["run", "fine", "x", "--on", "laptop", "--as", "Anna"]);
    assert_eq!(error["kind"], "invalid_value", "{error}");
    let dry = a.ok(&["run", "fine", "x", "--on", "buildbox", "--dry-run", "--as", "Anna"]);
    assert_eq!((&dry["machine"], &dry["uncommitted"]), (&"buildbox".into(), &0.into()), "{dry}");
    // The other machine is away: nothing is queued for later.
    b.network.cut();
    crate::environment::wait_until("it is away", || {
        let error = a.run(&["run", "fine", "x", "--on", "buildbox", "--as", "Anna", "--detach", "--json"]);
        error.code == Some(5)
    });
    let error = a.fails(5, &["run", "fine", "x", "--on", "buildbox", "--as", "Anna"]);
    assert!(error["message"].as_str().unwrap().contains("buildbox"), "{error}");
    // Our own link does not reach the server.
    a.network.cut();
    a.wait_until_unlinked();
    let error = a.fails(5, &["run", "fine", "x", "--on", "buildbox", "--as", "Anna"]);
    assert_eq!(error["kind"], "not_linked", "{error}");
}

#[test]
fn a_machine_with_an_older_msg_is_not_asked() {
    let server = Server::start();
    let (a, _b) = two_with(&server, &script("fine", "echo ok"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let options = ConnectOptions::new(vec![server.url()], "team", "attic");
        let nats = Nats::connect(options).await.unwrap();
        // The lease of a link that does not say that it knows runs.
        let lease = serde_json::json!({
            "version": 1, "machine": "attic", "epoch": "e1", "installation": "x", "msg": "0.1.0",
            "since": "2026-11-14T12:00:00.000Z",
        });
        let created = nats.create("machine.attic", lease.to_string().into(), None).await.unwrap();
        assert!(matches!(created, Cas::Done(_)), "{created:?}");
        nats.close().await;
    });
    crate::environment::wait_until("it is seen", || {
        a.status()["state"]["machines"].to_string().contains("attic")
    });
    let error = a.fails(1, &["run", "fine", "x", "--on", "attic", "--as", "Anna"]);
    assert_eq!(error["kind"], "not_built_in", "{error}");
    assert!(error["message"].as_str().unwrap().contains("0.1.0"), "{error}");
}
