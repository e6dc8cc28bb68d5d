//! Tests of messages in the chat: written, sent, received, acknowledged.

use std::fs::File;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use ravenry::domain::hook::HookAnswer;
use serde_json::json;

use super::screen::Screen;
use crate::hooks::codex::Codex;
use crate::support::environment::{TestEnvironment, put, wait_until};
use crate::support::hook_call::{Call, session_of};

fn hook(env: &TestEnvironment, session: &str, event: &str, payload: serde_json::Value) -> String {
    let mut payload = payload;
    payload["session_id"] = json!(session);
    payload["cwd"] = json!(env.work());
    payload["hook_event_name"] = json!(event);
    let path = env.path().join("payload.json");
    put(&path, &payload.to_string());
    let mut command = env.msg();
    let output = command.args(["hook", "claude", event]).stdin(File::open(path).unwrap()).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn two_agents_chat_a_task_is_claimed_and_an_edit_is_refused() {
    let env = TestEnvironment::new();
    put(&env.work().join("spec.md"), "- [ ] TASK-01: Log in\n- [ ] TASK-02: Log out, needs TASK-01\n");
    env.join("SwiftRaven");
    env.join("GoldFalcon");
    let mut screen = Screen::open(&env, &["Robin"]);
    screen.wait_for("Robin · 2 peers");
    screen.wait_for("No spec:");

    // A peer sends a message, which is unread until its conversation is open.
    let id = env.ok(&["send", "Robin", "the login flow is mine", "--as", "SwiftRaven"]);
    let id = id["sent"][0]["id"].as_str().unwrap().to_string();
    let standing = || env.ok(&["receipt", &id, "--as", "SwiftRaven"]);
    screen.wait_for("2 Chats(1)");
    assert_eq!(standing()["state"], "stored");
    screen.write("2");
    screen.wait_for("the login flow is mine");
    assert_eq!(standing()["state"], "stored", "the list has only its beginning");
    screen.write("\r");
    screen.wait_for("to SwiftRaven");
    wait_until("it counts as surfaced", || standing()["state"] == "surfaced");
    assert_eq!(standing()["via"], "tui");
    screen.wait_without("Chats(1)");

    // The answer, and its receipt.
    screen.write("go on\r");
    screen.wait_for("go on ▐");
    screen.wait_for("stored · now");
    let read = env.ok(&["read", "--ack", "--as", "SwiftRaven"]);
    assert_eq!(read["messages"][0]["text"], "go on");
    screen.wait_for("acked · now");

    // Other agents work meanwhile.
    for name in ["SwiftRaven", "GoldFalcon"] {
        env.ok(&["spec", "spec.md", "--as", name]);
    }
    env.ok(&["claim", "TASK-01", "--reserve", "src/", "--as", "SwiftRaven"]);
    let edit = json!({"tool_name": "Write", "tool_input": {"file_path": env.work().join("src/a.rs"), "content": ""}});
    let answer = hook(&env, "session of GoldFalcon", "PreToolUse", edit);
    assert!(answer.contains("deny"), "{answer}");
    screen.write("\t");
    screen.wait_for("./spec.md:");
    screen.wait_for("TASK-01");
    screen.wait_for("Stuck or waiting:");
    screen.write("4");
    screen.wait_for("0 of 2 done, 1 claimed, 1 blocked");
    screen.wait_for("waits for TASK-01");
    screen.write("5");
    screen.wait_for("src/");
    screen.wait_for("GoldFalcon");
    screen.write("6");
    screen.wait_for("SwiftRaven claimed TASK-01");
    screen.wait_for("GoldFalcon was refused src/a.rs");

    screen.write("\x1b");
    screen.wait_for("./spec.md:");
    screen.write("\x1b");
    screen.wait_for("press Esc again to quit");
    screen.write("\x1b");
    assert_eq!(screen.end().code(), Some(0));
    assert!(screen.is_restored());
    assert_eq!(env.names(), ["GoldFalcon", "SwiftRaven"], "who joined for this leaves");
}

#[test]
fn what_wants_an_ack_is_acked_with_a_key() {
    let env = TestEnvironment::new();
    env.join("SwiftRaven");
    let mut screen = Screen::open(&env, &["Robin"]);
    screen.wait_for("Robin · 1 peer");
    let sent = env.ok(&["send", "Robin", "ready?", "--want-ack", "--as", "SwiftRaven"]);
    let id = sent["sent"][0]["id"].as_str().unwrap().to_string();
    let state = || env.ok(&["receipt", &id, "--as", "SwiftRaven"])["state"].clone();
    screen.wait_for("Chats(1)");
    screen.write("2\r");
    screen.wait_for("wants an ack (Ctrl-A)");
    wait_until("it counts as surfaced", || state() == "surfaced");
    screen.wait_without("Chats(1)");
    screen.write("\x01");
    wait_until("it is acked", || state() == "acked");
    screen.wait_without("wants an ack");
}

#[test]
fn everyone_hears_what_is_said_to_all() {
    let env = TestEnvironment::new();
    env.join("SwiftRaven");
    env.join("GoldFalcon");
    let mut screen = Screen::open(&env, &["Robin"]);
    screen.wait_for("2 peers");
    screen.write("@all lunch?\r");
    screen.wait_for("stored for 2");
    for name in ["SwiftRaven", "GoldFalcon"] {
        assert_eq!(env.ok(&["read", "--as", name])["messages"][0]["text"], "lunch?");
    }
    screen.write("3");
    screen.wait_for("lunch? ▐");
    screen.wait_for("surfaced by 2");
    screen.write("@Nobody hello\r");
    screen.wait_for("no agent is called Nobody");
    screen.wait_for("› @Nobody hello");
}

#[test]
fn a_paste_is_text() {
    let env = TestEnvironment::new();
    env.join("SwiftRaven");
    let mut screen = Screen::open(&env, &["Robin"]);
    screen.wait_for("1 peer");
    screen.write("\r");
    screen.wait_for("goes to SwiftRaven");
    screen.write("\x1b[200~first\nsecond\x1b[201~");
    screen.wait_for("second");
    assert_eq!(env.ok(&["inbox", "--as", "SwiftRaven"])["messages"], json!([]), "nothing is sent by a paste");
    screen.write("\r");
    screen.wait_for("second ▐");
    let messages = env.ok(&["read", "--as", "SwiftRaven"])["messages"].clone();
    assert_eq!(messages[0]["text"], "first\nsecond");
}

/// Waking an agent may take long; the chat stays responsive.
#[test]
fn nothing_waits_for_a_peer_to_wake_up() {
    let env = TestEnvironment::new();
    let (begun, go_on) = (env.path().join("begun"), env.path().join("go-on"));
    let queue =
        format!(": >'{}'\nuntil [ -e '{}' ]; do sleep 0.01; done\n", begun.display(), go_on.display());
    let mut codex = Codex::new(&env, &queue);
    codex.join(&env, "Bob");
    assert_eq!(Call::new(&env, "claude/Stop", &session_of("Bob")).answer(&env), HookAnswer::Silence);
    let mut screen = Screen::open(&env, &["Robin"]);
    screen.wait_for("Robin · 1 peer");
    screen.write("@Bob wake up\r");
    wait_until("Bob is being woken", || begun.exists());
    env.ok(&["set-status", "still asleep", "--as", "Bob"]);
    screen.wait_for("still asleep");
    assert!(!screen.text().contains("stored for Bob"), "{}", screen.text());
    put(&go_on, "");
    screen.wait_for("stored for Bob");
}

#[test]
fn history_stays_when_something_comes() {
    let env = TestEnvironment::new();
    let host = env.host();
    env.ok(&["join", "Robin", "--pid", &host.to_string(), "--harness", "terminal"]);
    env.join("SwiftRaven");
    let mesh = env.store();
    let names = ["SwiftRaven", "Robin"].map(|name| ravenry::domain::AgentName::new(name).unwrap());
    let mut outbox = mesh.outboxes().lock(&names[0]).unwrap();
    for number in 0..900 {
        let stamp = outbox.stamp().unwrap();
        let text = format!("number {number}.");
        let message = ravenry::domain::Message::new(stamp, &names[0], &names[1], text);
        outbox.post(stamp, &names[1], message).unwrap().unwrap();
    }
    drop(outbox);
    env.ok(&["read", "--as", "Robin"]);
    let mut screen = Screen::open(&env, &["--as", "Robin"]);
    screen.wait_for("Robin · 1 peer");
    screen.write("2");
    screen.wait_for("number 899.");
    screen.write("\r");
    screen.wait_for("to SwiftRaven");
    // Each time the beginning is reached, older messages are loaded.
    wait_until("the first is on the screen", || {
        screen.write("\x1b[H");
        screen.text().contains("number 0.")
    });
    env.ok(&["send", "Robin", "something new", "--as", "SwiftRaven"]);
    screen.wait_for("SwiftRaven(1)");
    assert!(screen.text().contains("number 0."), "{}", screen.text());
}

/// Keys that come in one piece are read together. None of them waits for the next key if the chat gets no time to run.
#[test]
fn what_is_typed_at_once_is_there_at_once() {
    let env = TestEnvironment::new();
    let mut screen = Screen::open(&env, &["Robin"]);
    screen.wait_for("Robin · nobody else");
    for round in 0..100 {
        let text = format!("@a{round} Who types fast is read fast, whatever else there is to do.");
        screen.write(&text);
        let started = Instant::now();
        while started.elapsed() < Duration::from_micros(20 * round) {}
        screen.signal(Signal::SIGSTOP);
        thread::sleep(Duration::from_millis(3));
        screen.signal(Signal::SIGCONT);
        screen.wait_for(&text);
        // Ctrl-U empties the line.
        screen.write("\x15");
        screen.wait_without(&text);
    }
}
