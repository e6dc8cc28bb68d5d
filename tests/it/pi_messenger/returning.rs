//! Tests of coming back after pi-messenger has removed the registration of a dead agent, and of burials next to it.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use ravenry::domain::AgentName;
use ravenry::store::GoneReason;
use serde_json::json;

use super::{pi, pi_removes, texts, write_pi};
use crate::support::environment::{TestEnvironment, date};

fn come_back(env: &TestEnvironment, session: &str) -> serde_json::Value {
    env.ok(&["join", "--pid", &env.host().to_string(), "--session", session])
}

#[test]
fn a_session_gets_its_mail_after_pi_removed_its_registration() {
    let env = TestEnvironment::new();
    env.join("Wren");
    let host = env.join("Robin");
    let sent = env.ok(&["send", "Robin", "unread", "--as", "Wren"]);
    env.kill(host);
    pi_removes(&env, "Robin");
    let back = come_back(&env, "session of Robin");
    assert_eq!((&back["agent"]["name"], &back["arrival"]), (&json!("Robin"), &json!("back")));
    assert_eq!(back["agent"]["unread"], 1);
    assert_eq!(texts(&env, "Robin"), ["unread"]);
    let receipt = env.ok(&["receipt", sent["sent"][0]["id"].as_str().unwrap(), "--as", "Wren"]);
    assert_eq!(receipt["state"], "surfaced");
}

#[test]
fn a_session_that_comes_back_under_another_name_gets_the_mail_of_all_its_names() {
    let env = TestEnvironment::new();
    let host = env.join("Robin");
    env.drop_mail("Robin", "one");
    env.ok(&["rename", "Raven", "--as", "Robin"]);
    env.drop_mail("Raven", "two");
    env.kill(host);
    pi_removes(&env, "Raven");
    let join = ["join", "Rook", "--pid", &env.host().to_string(), "--session", "session of Robin"];
    assert_eq!(env.ok(&join)["agent"]["unread"], 2);
}

#[test]
fn mail_is_for_the_session_that_had_the_name_last() {
    let env = TestEnvironment::new();
    let first = env.join("Robin");
    env.drop_mail("Robin", "for-the-first");
    env.kill(first);
    let second = env.host();
    env.ok(&["join", "Robin", "--pid", &second.to_string(), "--session", "second"]);
    env.drop_mail("Robin", "for-the-second");
    env.kill(second);
    pi_removes(&env, "Robin");
    let back = come_back(&env, "session of Robin");
    assert_eq!((&back["agent"]["name"], &back["agent"]["unread"]), (&json!("Robin"), &json!(1)));
    assert_eq!(env.ok(&["inbox", "--as", "Robin"])["messages"][0]["id"], "for-the-first");
    let other = come_back(&env, "second");
    assert_eq!(other["agent"]["unread"], 1, "{other}");
}

#[test]
fn lost_mail_that_an_older_version_put_aside_comes_back() {
    let env = TestEnvironment::new();
    let host = env.join("Robin");
    env.join("Wren");
    let sent = env.ok(&["send", "Robin", "unread", "--as", "Wren"]);
    let id = sent["sent"][0]["id"].as_str().unwrap();
    env.kill(host);
    pi_removes(&env, "Robin");
    let at = jiff::Timestamp::now();
    let grave = env.mesh().join(format!("graves/Robin-lost-{}", at.as_millisecond()));
    fs::create_dir(&grave).unwrap();
    fs::write(grave.join("grave.json"), json!({ "why": "lost", "at": at.to_string() }).to_string()).unwrap();
    fs::rename(env.mesh().join("inbox/Robin"), grave.join("inbox")).unwrap();
    let receipt = env.ok(&["receipt", id, "--as", "Wren"]);
    assert_eq!(receipt["reason"], "Robin is gone; it gets the message when it comes back");
    assert_eq!(come_back(&env, "session of Robin")["agent"]["unread"], 1);
    assert_eq!(texts(&env, "Robin"), ["unread"]);
    assert!(!grave.exists());
}

#[test]
fn a_receipt_does_not_promise_mail_to_nobody() {
    let env = TestEnvironment::new();
    env.join("Wren");
    let host = env.join("Robin");
    let sent = env.ok(&["send", "Robin", "unread", "--as", "Wren"]);
    let id = sent["sent"][0]["id"].as_str().unwrap();
    env.kill(host);
    pi_removes(&env, "Robin");
    // Now nothing says whose mail it was.
    fs::remove_dir_all(env.mesh().join("sessions")).unwrap();
    env.ok(&["join", "Robin", "--pid", &env.host().to_string(), "--session", "stranger"]);
    let receipt = env.ok(&["receipt", id, "--as", "Wren"]);
    assert_eq!(receipt["state"], "gone");
    let reason = receipt["reason"].as_str().unwrap();
    assert!(reason.contains("kept in `graves/Robin-lost-"), "{reason}");
}

/// An agent that takes the name later may have joined before the mail was put aside, under another name.
#[test]
fn mail_of_nobody_is_not_for_whoever_takes_the_name_later() {
    let env = TestEnvironment::new();
    env.join("Wren");
    let host = env.join("Robin");
    env.ok(&["send", "Robin", "unread", "--as", "Wren"]);
    env.kill(host);
    pi_removes(&env, "Robin");
    fs::remove_dir_all(env.mesh().join("sessions")).unwrap();
    let old = env.join("Crow");
    let stranger = env.host();
    env.ok(&["join", "Robin", "--pid", &stranger.to_string(), "--session", "stranger"]);
    env.ok(&["rename", "Rook", "--as", "Robin"]);
    env.ok(&["leave", "--as", "Rook"]);
    env.ok(&["leave", "--as", "Crow"]);
    let join = ["join", "Robin", "--pid", &old.to_string(), "--session", "session of Crow"];
    assert_eq!(env.ok(&join)["agent"]["unread"], 0);
    assert_eq!(env.mail().iter().filter(|path| path.starts_with("graves/Robin-lost-")).count(), 1);
}

/// A burial after the census was read and a pi took the name.
#[test]
fn burying_leaves_the_registration_of_whoever_took_the_name() {
    let env = TestEnvironment::new();
    let host = env.join("Falcon");
    env.drop_mail("Falcon", "for-the-dead");
    let an_hour_ago = SystemTime::now() - Duration::from_secs(3600);
    date(&env.mesh().join("inbox/Falcon/for-the-dead.json"), an_hour_ago);
    env.kill(host);
    let mesh = env.store();
    let mut locked = mesh.lock().unwrap();
    let census = locked.census().unwrap();
    let host = pi(&env, "Falcon", json!({}));
    env.drop_mail("Falcon", "for-the-pi");
    locked.bury(&census.records[0], GoneReason::Died, jiff::Timestamp::now(), None).unwrap();
    drop(locked);
    assert_eq!(env.registration("Falcon")["pid"], host);
    assert_eq!(env.names(), ["Falcon"]);
    let mail = env.mail();
    assert_eq!(
        mail.iter().filter(|path| path.as_str() == "inbox/Falcon/for-the-pi.json").count(),
        1,
        "{mail:?}"
    );
    let back = come_back(&env, "session of Falcon");
    assert_ne!(back["agent"]["name"], "Falcon");
    assert_eq!(back["agent"]["unread"], 1, "the mail of the dead agent");
}

/// The same at any instant: pi removes the dead agent's registration and writes its own during the burial.
#[test]
fn a_pi_that_takes_a_name_during_a_burial_stays_registered() {
    for round in 0..60_u64 {
        let env = TestEnvironment::new();
        let host = env.join("Falcon");
        for number in 0..20 {
            env.drop_mail("Falcon", &format!("mail-{number}"));
        }
        env.kill(host);
        let mesh = env.store();
        let mut locked = mesh.lock().unwrap();
        let census = locked.census().unwrap();
        let pi = env.host();
        let (starts, dir) = (AtomicBool::new(false), env.mesh());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !starts.load(Ordering::Acquire) {
                    std::hint::spin_loop();
                }
                (0..round * 400).for_each(|_| std::hint::spin_loop());
                fs::remove_file(dir.join("registry/Falcon.json")).ok();
                write_registration(&dir, pi);
            });
            starts.store(true, Ordering::Release);
            locked.bury(&census.records[0], GoneReason::Died, jiff::Timestamp::now(), None).unwrap();
        });
        drop(locked);
        assert_eq!(env.registration("Falcon")["pid"], pi, "round {round}");
    }
}

fn write_registration(mesh: &std::path::Path, host: u32) {
    let registration = json!({
        "name": "Falcon", "pid": host, "sessionId": "pi", "cwd": "/", "model": "m",
        "startedAt": jiff::Timestamp::now().to_string(),
    });
    fs::write(mesh.join("registry/Falcon.json"), registration.to_string()).unwrap();
}

/// A burial was killed after it moved a registration and before it checked whose that is.
#[test]
fn what_a_killed_burial_had_taken_is_put_back_or_buried() {
    let env = TestEnvironment::new();
    env.join("Wren");
    let host = pi(&env, "Falcon", json!({}));
    let registry = env.mesh().join("registry");
    fs::rename(registry.join("Falcon.json"), registry.join(".Falcon.taken")).unwrap();
    env.ok(&["agents"]);
    assert_eq!(env.names(), ["Falcon", "Wren"]);
    // An agent of that name is registered again, so the moved registration is the older one.
    fs::copy(registry.join("Falcon.json"), registry.join(".Falcon.taken")).unwrap();
    write_pi(&env, "Falcon", host, json!({ "sessionId": "newer" }));
    env.ok(&["doctor", "--repair"]);
    assert_eq!(env.registration("Falcon")["sessionId"], "newer");
    assert!(!registry.join(".Falcon.taken").exists());
    // An agent of ours that was being buried.
    let robin = env.join("Robin");
    env.kill(robin);
    let mesh = env.store();
    let name = AgentName::new("Robin").unwrap();
    let record = mesh.registry().get(&name).unwrap().unwrap();
    mesh.lock().unwrap().bury(&record, GoneReason::Died, jiff::Timestamp::now(), None).unwrap();
    let grave = fs::read_dir(env.mesh().join("graves")).unwrap().next().unwrap().unwrap().path();
    fs::rename(grave.join("registration.json"), registry.join(".Robin.taken")).unwrap();
    env.ok(&["doctor", "--repair"]);
    assert!(grave.join("registration.json").exists());
    assert_eq!(env.names(), ["Falcon", "Wren"]);
}

/// A killed burial left the registration of a live pi where no census finds it: the name is not free.
#[test]
fn a_name_whose_registration_a_killed_burial_had_taken_is_not_free() {
    let env = TestEnvironment::new();
    env.join("Wren");
    let host = pi(&env, "Fox", json!({}));
    env.ok(&["send", "Fox", "for the pi", "--as", "Wren"]);
    let registry = env.mesh().join("registry");
    let take = || fs::rename(registry.join("Fox.json"), registry.join(".Fox.taken")).unwrap();
    take();
    let join = ["join", "Fox", "--pid", &env.host().to_string(), "--session", "another"];
    assert_eq!(env.fails(1, &join), "name_taken");
    take();
    assert_eq!(env.fails(1, &["rename", "Fox", "--as", "Wren"]), "name_taken");
    assert_eq!(env.registration("Fox")["pid"], host);
    assert_eq!(
        env.mail().iter().filter(|path| path.starts_with("inbox/Fox/")).count(),
        1,
        "{:?}",
        env.mail()
    );
}
