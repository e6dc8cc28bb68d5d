//! Sending, reading and answering messages, and their receipts.

mod answers;
mod groups;
mod kinds;
mod odd_inboxes;
mod scope;
mod unread;

use std::fs;
use std::io::Write;
use std::process::Stdio;

use insta::assert_snapshot;
use ravenry::sys::test_switches::{NOW, SEED};
use serde_json::{Value, json};

use crate::support::environment::{TestEnvironment, end};

/// A mesh with Alice and Bob.
fn two() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.join("Bob");
    env
}

/// When messages are sent whose age matters.
const NOON: &str = "2030-01-02T12:00:00.000Z";

/// Runs a command at that time; returns its JSON answer.
#[track_caller]
fn at(env: &TestEnvironment, time: &str, args: &[&str]) -> Value {
    env.run_with(&[args, &["--json"]].concat(), &[(NOW, time)]).expect_code(0).json()
}

/// Sends to Bob as Alice at noon; returns what was sent.
#[track_caller]
fn sent_at_noon(env: &TestEnvironment, args: &[&str]) -> Value {
    at(env, NOON, &[&["send", "Bob"], args, &["--as", "Alice"]].concat())["sent"][0].clone()
}

fn send(env: &TestEnvironment, text: &str) -> String {
    env.ok(&["send", "Bob", text, "--as", "Alice"])["sent"][0]["id"].as_str().unwrap().to_string()
}

fn read(env: &TestEnvironment, name: &str) -> Vec<Value> {
    env.ok(&["read", "--as", name])["messages"].as_array().unwrap().clone()
}

fn texts(messages: &[Value]) -> Vec<&str> {
    messages.iter().map(|message| message["text"].as_str().unwrap()).collect()
}

fn state(env: &TestEnvironment, id: &str) -> Value {
    env.ok(&["receipt", id, "--as", "Alice"])
}

#[test]
fn a_message_goes_from_stored_to_surfaced_to_acked() {
    let env = two();
    let id = send(&env, "hello");
    assert_eq!(state(&env, &id)["state"], "stored");
    assert_eq!(env.ok(&["whois", "Bob"])["agent"]["unread"], 1);
    let looked = env.ok(&["inbox", "--as", "Bob"]);
    assert_eq!(looked["messages"][0]["text"], "hello");
    assert_eq!(state(&env, &id)["state"], "stored", "looking is not taking");
    let messages = read(&env, "Bob");
    let keys: Vec<&String> = messages[0].as_object().unwrap().keys().collect();
    let expected = [
        "id",
        "short",
        "from",
        "to",
        "text",
        "timestamp",
        "replyTo",
        "thread",
        "importance",
        "ackRequired",
        "broadcast",
    ];
    assert_eq!(keys, expected);
    assert_eq!(messages[0]["id"], id.as_str());
    let surfaced = state(&env, &id);
    assert_eq!(
        (&surfaced["state"], &surfaced["via"], &surfaced["to"]),
        (&json!("surfaced"), &json!("read"), &json!("Bob"))
    );
    assert!(read(&env, "Bob").is_empty(), "once");
    let letters = env.ok(&["history", "--as", "Bob"])["messages"][0]["id"].as_str().unwrap().to_string();
    assert_eq!(env.ok(&["ack", &letters, "--as", "Bob"])["acked"][0], id.as_str());
    assert_eq!(state(&env, &id)["state"], "acked");
    env.ok(&["ack", &id, "--as", "Bob"]);
}

#[test]
fn an_id_may_be_shortened_to_its_letters_or_a_prefix() {
    let env = two();
    let id = send(&env, "hello");
    let file = fs::read_dir(env.mesh().join("inbox/Bob")).unwrap().next().unwrap().unwrap().file_name();
    let letters = file.to_str().unwrap().trim_end_matches(".json").rsplit('-').next().unwrap().to_string();
    for short in [letters.as_str(), &id, &id[..20]] {
        assert_eq!(env.ok(&["show", short, "--as", "Bob"])["message"]["id"], id.as_str(), "{short}");
        assert_eq!(env.ok(&["show", short, "--as", "Alice"])["message"]["id"], id.as_str(), "{short}");
    }
    send(&env, "again");
    assert_eq!(env.fails(1, &["show", &id[..4], "--as", "Bob"]), "ambiguous_message");
    assert_eq!(env.fails(1, &["show", "zzzzzz", "--as", "Bob"]), "unknown_message");
    assert_eq!(env.fails(1, &["receipt", &id, "--as", "Bob"]), "unknown_message", "it is not Bob's to ask");
    assert_eq!(env.fails(1, &["ack", &id, "--as", "Alice"]), "unknown_message", "nor Alice's to ack");
}

#[test]
fn what_is_owed_is_said_until_it_is_acked() {
    let env = two();
    env.ok(&["send", "Bob", "sign here", "--want-ack", "--as", "Alice"]);
    assert!(env.ok(&["inbox", "--as", "Bob"])["oweAck"].as_array().unwrap().is_empty(), "not read yet");
    let id = read(&env, "Bob")[0]["id"].as_str().unwrap().to_string();
    assert_eq!(env.ok(&["inbox", "--as", "Bob"])["oweAck"][0]["id"], id.as_str());
    env.ok(&["ack", &id, "--as", "Bob"]);
    assert!(env.ok(&["inbox", "--as", "Bob"])["oweAck"].as_array().unwrap().is_empty());
    let id = send(&env, "unread");
    env.ok(&["ack", &id, "--as", "Bob"]);
    let acked = state(&env, &id);
    assert_eq!((&acked["state"], &acked["via"]), (&json!("acked"), &json!("ack")), "acking is seeing");
    let id = send(&env, "named twice");
    let said = env.ok(&["ack", &id, &id, "--as", "Bob"]);
    assert_eq!(said["acked"].as_array().unwrap().len(), 1, "{said}");
    let id = send(&env, "both at once");
    env.ok(&["read", "--ack", "--as", "Bob"]);
    assert_eq!(state(&env, &id)["state"], "acked");
}

#[test]
fn a_notice_of_the_program_has_nobody_to_answer() {
    let env = two();
    env.ok(&["reserve", "src/", "--as", "Alice"]);
    env.fails(1, &["reserve", "src/", "--as", "Bob"]);
    env.ok(&["release", "--as", "Alice"]);
    let notice = env.ok(&["inbox", "--as", "Bob"])["messages"][0].clone();
    assert_eq!((&notice["from"], &notice["notice"]), (&json!("ravenry"), &json!(true)));
    let id = notice["id"].as_str().unwrap();
    let refused = env.transcript(&[&["ack", id, "--as", "Bob"], &["reply", id, "thanks", "--as", "Bob"]]);
    assert_snapshot!(refused.replace(id, "[ID]"), @"
    $ msg ack [ID] --as Bob
    [exit 1]
    --- stderr
    error: that is a notice from msg itself: there is nobody to answer

    $ msg reply [ID] thanks --as Bob
    [exit 1]
    --- stderr
    error: that is a notice from msg itself: there is nobody to answer
    ");
    let shown = env.run(&["show", id, "--as", "Bob"]).expect_code(0).stdout;
    assert!(shown.starts_with("msg → Bob  "), "{shown}");
    let sent = env.ok(&["send", "Bob", "hi", "--as", "Alice"])["sent"][0]["id"].clone();
    let message = env.ok(&["show", sent.as_str().unwrap(), "--as", "Bob"])["message"].clone();
    assert!(message["notice"].is_null(), "{message}");
}

#[test]
fn names_are_taken_as_people_write_them() {
    let env = two();
    let sent = env.ok(&["send", "@Bob", "hi", "--as", "Alice"]);
    assert_eq!(sent["sent"][0]["to"], "Bob");
    let refused = ["all", "All", ","].map(|name| ["send", name, "hi", "--as", "Alice"]);
    assert_snapshot!(env.transcript(&refused.each_ref().map(|args| &args[..])), @"
    $ msg send all hi --as Alice
    [exit 2]
    --- stderr
    error: `all` is a reserved name
    hint: to everyone: `msg broadcast TEXT`, or `@all`

    $ msg send All hi --as Alice
    [exit 2]
    --- stderr
    error: `All` is a reserved name
    hint: to everyone: `msg broadcast TEXT`, or `@all`

    $ msg send , hi --as Alice
    [exit 2]
    --- stderr
    error: a name can't be empty
    hint: `msg agents` lists the names
    ");
}

#[test]
fn a_message_to_oneself_is_noticed() {
    let env = two();
    let notes = |to: &str| env.run(&["send", to, "hi", "--as", "Alice"]).expect_code(0).stderr;
    assert_snapshot!(notes("Alice,Bob"), @"note: Alice is you: the message is in your own inbox");
    assert_snapshot!(notes("Bob"), @"");
}

#[test]
fn a_message_to_oneself_has_a_receipt() {
    let env = two();
    let sent = env.ok(&["send", "Alice", "note to self", "--want-ack", "--as", "Alice"]);
    let id = sent["sent"][0]["id"].as_str().unwrap().to_string();
    assert_eq!(state(&env, &id)["state"], "stored");
    assert_eq!(read(&env, "Alice").len(), 1);
    assert_eq!(state(&env, &id)["state"], "surfaced");
    env.ok(&["ack", &id, "--as", "Alice"]);
    assert_eq!(state(&env, &id)["state"], "acked");
}

#[test]
fn what_was_not_sent_is_told_once_with_a_way_out() {
    let env = two();
    let fixed = [(NOW, "2024-05-17T09:30:00.000Z"), (SEED, "1")];
    assert_snapshot!(env.run_with(&["send", "Bob,Bobb", "hi", "--as", "Alice"], &fixed), @"
    [exit 1]
    Sent to Bob as 00hvtt.
    --- stderr
    error: sent to 1 of 2; not sent: no agent is called Bobb
    hint: did you mean Bob?
    ");
}

#[test]
fn one_who_is_not_there_stops_nobody_elses_copy() {
    let env = two();
    let dead = env.join("Carol");
    env.kill(dead);
    let ended = env
        .run(&["send", "Bob,Nobody,Carol,../x,bob", "hi", "--as", "Alice", "--json"])
        .expect_code(1)
        .json();
    assert_eq!(ended["error"]["kind"], "not_all_sent");
    assert_eq!(ended["sent"].as_array().unwrap().len(), 1);
    assert_eq!((&ended["sent"][0]["to"], &ended["sent"][0]["state"]), (&json!("Bob"), &json!("stored")));
    let failed: Vec<(&str, &str)> = ended["failed"]
        .as_array()
        .unwrap()
        .iter()
        .map(|failed| (failed["to"].as_str().unwrap(), failed["kind"].as_str().unwrap()))
        .collect();
    assert_eq!(failed, [("Nobody", "unknown_agent"), ("Carol", "not_running"), ("../x", "invalid_name")]);
    assert_eq!(env.fails(1, &["send", "Bobb", "hi", "--as", "Alice"]), "unknown_agent");
    let error = env.run(&["send", "Bobb", "hi", "--as", "Alice", "--json"]).json()["error"].clone();
    assert_eq!(error["nearest"], json!(["Bob"]));
    let error =
        env.run(&["send", "Carol", "hi", "--as", "Alice", "--json"]).expect_code(1).json()["error"].clone();
    assert!(error["since"].is_string(), "{error}");
    assert_eq!(env.fails(2, &["send", "Bob", " \n", "--as", "Alice"]), "empty");
    assert_eq!(env.fails(3, &["send", "Bob", "hi"]), "not_joined");
}

#[test]
fn up_to_a_mebibyte() {
    let env = two();
    let path = env.work().join("text");
    let file = path.to_str().unwrap();
    fs::write(&path, "x".repeat(1024 * 1024 + 1)).unwrap();
    assert_eq!(env.fails(2, &["send", "Bob", "--file", file, "--as", "Alice"]), "too_large");
    fs::write(&path, "x".repeat(1024 * 1024)).unwrap();
    env.ok(&["send", "Bob", "--file", file, "--as", "Alice"]);
    assert_eq!(read(&env, "Bob")[0]["text"].as_str().unwrap().len(), 1024 * 1024);
    let mut child = env
        .msg()
        .args(["send", "Bob", "-", "--as", "Alice"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all("from a pipe\n".as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(texts(&read(&env, "Bob")), ["from a pipe\n"]);
}

#[test]
fn everyone_but_oneself() {
    let env = two();
    env.join("Carol");
    let sent = env.ok(&["broadcast", "sync up", "--as", "Alice"]);
    assert_eq!(sent["sent"].as_array().unwrap().len(), 2);
    for name in ["Bob", "Carol"] {
        let message = &read(&env, name)[0];
        assert_eq!(
            (&message["text"], &message["broadcast"], &message["to"]),
            (&json!("sync up"), &json!(true), &json!(name))
        );
    }
    assert!(read(&env, "Alice").is_empty());
    let elsewhere = env.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let mut here = env.msg();
    here.args(["broadcast", "--here", "x", "--as", "Alice", "--json"]).current_dir(&elsewhere);
    assert!(end(&mut here).expect_code(0).json()["sent"].as_array().unwrap().is_empty());
}

#[test]
fn an_answer_goes_to_the_sender_in_the_thread() {
    let env = two();
    let id = send(&env, "shall we?");
    read(&env, "Bob");
    env.ok(&["reply", &id, "yes", "--as", "Bob"]);
    let answer = read(&env, "Alice").remove(0);
    assert_eq!((&answer["replyTo"], &answer["thread"]), (&json!(id), &json!(id)));
    env.ok(&["reply", answer["id"].as_str().unwrap(), "good", "--as", "Alice"]);
    assert_eq!(read(&env, "Bob")[0]["thread"], id.as_str(), "it stays in the thread");
    let history = env.ok(&["history", "Bob", "--as", "Alice"])["messages"].as_array().unwrap().clone();
    assert_eq!(texts(&history), ["shall we?", "yes", "good"]);
    let last = env.ok(&["history", "--limit", "1", "--as", "Alice"])["messages"].as_array().unwrap().clone();
    assert_eq!(texts(&last), ["good"]);
    assert_eq!(env.fails(1, &["history", "Carol", "--as", "Alice"]), "unknown_agent");
}

#[test]
fn what_matters_comes_first_and_the_rest_in_order() {
    let env = two();
    for (text, importance) in
        [("one", "low"), ("two", "normal"), ("three", "urgent"), ("four", "high"), ("five", "normal")]
    {
        env.ok(&["send", "Bob", text, "--importance", importance, "--as", "Alice"]);
    }
    assert_eq!(
        texts(&env.ok(&["read", "--limit", "3", "--as", "Bob"])["messages"].as_array().unwrap().clone()),
        ["three", "four", "one"]
    );
    assert_eq!(texts(&read(&env, "Bob")), ["two", "five"]);
    assert_eq!(
        env.fails(2, &["send", "Bob", "x", "--importance", "extreme", "--as", "Alice"]),
        "invalid_value"
    );
}

#[test]
fn a_held_message_waits_for_the_session_to_come_back() {
    let env = two();
    let host = env.join("Carol");
    env.kill(host);
    assert_eq!(env.fails(1, &["send", "Carol", "too late", "--as", "Alice"]), "not_running");
    env.names();
    let id = env.ok(&["send", "Carol", "for later", "--hold", "--as", "Alice"])["sent"][0]["id"]
        .as_str()
        .unwrap()
        .to_string();
    assert_eq!(state(&env, &id)["state"], "gone");
    env.ok(&["join", "--pid", &env.host().to_string(), "--session", "session of Carol"]);
    assert_eq!(texts(&read(&env, "Carol")), ["for later"]);
    assert_eq!(state(&env, &id)["state"], "surfaced");
    assert_eq!(env.fails(1, &["send", "Nobody", "x", "--hold", "--as", "Alice"]), "unknown_agent");
}

#[test]
fn mail_follows_a_new_name() {
    let env = two();
    let before = send(&env, "before");
    env.ok(&["rename", "Robert", "--as", "Bob"]);
    let after = send(&env, "after, to the old name");
    assert_eq!(texts(&read(&env, "Robert")), ["before", "after, to the old name"]);
    for id in [before, after] {
        assert_eq!(state(&env, &id)["state"], "surfaced");
    }
    let history = env.ok(&["history", "--as", "Robert"])["messages"].as_array().unwrap().clone();
    assert_eq!(history.len(), 2, "history follows too");
}

#[test]
fn two_names_of_one_agent_are_one_recipient() {
    let env = two();
    env.ok(&["rename", "Robert", "--as", "Bob"]);
    let said = env.ok(&["send", "Bob,Robert,bob", "hello", "--as", "Alice"]);
    assert_eq!(said["sent"].as_array().unwrap().len(), 1, "{said}");
    assert_eq!(texts(&read(&env, "Robert")), ["hello"]);
}

#[test]
fn a_stranger_under_an_old_name_sees_nothing_of_what_was_before() {
    let env = two();
    let host = env.join("Carol");
    env.ok(&["send", "Carol", "secret", "--as", "Alice"]);
    env.ok(&["send", "Alice", "secret too", "--as", "Carol"]);
    read(&env, "Carol");
    env.ok(&["send", "Carol", "unread secret", "--as", "Alice"]);
    env.kill(host);
    env.ok(&["join", "Carol", "--pid", &env.host().to_string(), "--session", "stranger"]);
    assert!(read(&env, "Carol").is_empty());
    assert!(env.ok(&["history", "--as", "Carol"])["messages"].as_array().unwrap().is_empty());
}

/// Stamps are kept by name, and a renamed sender is still the same.
#[test]
fn order_is_kept_through_another_name_also_when_the_clock_jumps_back() {
    let later = "2036-01-01T00:00:00Z";
    let env = two();
    env.run_with(&["send", "Bob", "one", "--as", "Alice"], &[(NOW, later)]).expect_code(0);
    env.ok(&["rename", "Ann", "--as", "Alice"]);
    env.ok(&["send", "Bob", "two", "--as", "Ann"]);
    assert_eq!(texts(&read(&env, "Bob")), ["one", "two"], "it has another name");
    // The same session in another process, under a name of its choice.
    env.run_with(&["send", "Bob", "three", "--as", "Ann"], &[(NOW, later)]).expect_code(0);
    env.ok(&["leave", "--as", "Ann"]);
    env.ok(&["join", "Amy", "--pid", &env.host().to_string(), "--session", "session of Alice"]);
    env.ok(&["send", "Bob", "four", "--as", "Amy"]);
    assert_eq!(texts(&read(&env, "Bob")), ["three", "four"], "it came back under another name");
}

#[test]
fn two_thousand_in_a_row_arrive_in_order_also_when_the_clock_jumps_back() {
    let env = two();
    let mesh = env.store();
    let expected: Vec<String> = (0..2_000).map(|number| number.to_string()).collect();
    expected.iter().for_each(|text| crate::support::running::post(&mesh, "Bob", text));
    assert_eq!(texts(&read(&env, "Bob")), expected);
    for (number, time) in
        ["2036-01-01T00:00:00Z", "2027-01-01T00:00:00Z", "2027-01-01T00:00:00Z"].into_iter().enumerate()
    {
        let args = ["send", "Bob", &number.to_string(), "--as", "Alice"];
        env.run_with(&args, &[(NOW, time), (SEED, "1")]).expect_code(0);
    }
    assert_eq!(texts(&read(&env, "Bob")), ["0", "1", "2"]);
}

#[test]
fn three_processes_of_one_sender_that_take_turns_keep_the_order() {
    let env = two();
    let expected: Vec<String> = (0..60).map(|number| number.to_string()).collect();
    for text in &expected {
        // Each is a process of its own, which has to know what the others did.
        send(&env, text);
    }
    assert_eq!(texts(&read(&env, "Bob")), expected);
}

#[test]
fn what_pi_messenger_sends_is_read_and_what_it_reads_is_taken() {
    let env = two();
    let pi = include_str!("../../fixtures/pi-messenger/message-1794700676113-gpvjoz.json");
    fs::write(env.mesh().join("inbox/Bob/1794700676113-gpvjoz.json"), pi).unwrap();
    let message = read(&env, "Bob").remove(0);
    assert_eq!(
        (&message["from"], &message["id"]),
        (&json!("RedIce"), &json!("41b974ba-1b11-4a81-8997-f6c972f1650b"))
    );
    let registration = json!({
        "name": "RedIce", "pid": env.pi_host(), "sessionId": "s", "cwd": "/", "model": "m",
        "startedAt": "2026-11-14T23:57:56.070Z",
    });
    fs::write(env.mesh().join("registry/RedIce.json"), registration.to_string()).unwrap();
    fs::create_dir(env.mesh().join("inbox/RedIce")).unwrap();
    let sent = env.ok(&["reply", "41b974ba", "done", "--as", "Bob"])["sent"][0].clone();
    let inbox = env.mesh().join("inbox/RedIce");
    let file = fs::read_dir(&inbox).unwrap().next().unwrap().unwrap().path();
    let written: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!((&written["from"], &written["replyTo"]), (&json!("Bob"), &message["id"]));
    let receipt = |env: &TestEnvironment| {
        env.ok(&["receipt", sent["id"].as_str().unwrap(), "--as", "Bob"])["state"].clone()
    };
    assert_eq!(receipt(&env), "stored");
    fs::remove_file(file).unwrap();
    assert_eq!(receipt(&env), "taken");
}

#[test]
fn an_answer_may_be_kept_for_one_who_is_gone() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let bob = env.join("Bob");
    let id = env.ok(&["send", "Alice", "hi", "--as", "Bob"])["sent"][0]["id"].as_str().unwrap().to_string();
    env.ok(&["read", "--as", "Alice"]);
    env.kill(bob);
    let refused = env.run(&["reply", &id, "hello", "--as", "Alice", "--json"]).expect_code(1);
    assert_snapshot!(
        refused.json()["error"]["hints"][0].as_str().unwrap().replace(&id, "[ID]"),
        @"`--hold` keeps the message until it comes back"
    );
    let kept = env.ok(&["reply", &id, "hello", "--hold", "--as", "Alice"]);
    assert_eq!(kept["sent"][0]["to"], "Bob", "{kept}");
    env.ok(&["join", "--pid", &env.host().to_string(), "--session", "session of Bob"]);
    assert_eq!(env.ok(&["read", "--as", "Bob"])["messages"][0]["text"], "hello");
}
