//! No input makes the server crash or grow.

use std::io::Write;
use std::process::Stdio;

use serde_json::json;

use crate::support::environment::TestEnvironment;
use crate::support::hook_fixture::{ended, feed};
use crate::support::mcp_client::{Client, server, server_of};

const GARBAGE: [&str; 18] = [
    "",
    " ",
    "nonsense",
    "{",
    "[]",
    "[1,2,3]",
    "null",
    "42",
    "\"text\"",
    "{}",
    "{\"jsonrpc\":\"1.0\",\"id\":97,\"method\":\"ping\"}",
    "{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}",
    "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"tools/list\"}",
    "{\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}",
    "{\"jsonrpc\":\"2.0\",\"id\":99,\"error\":{\"code\":1,\"message\":\"x\"}}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/no/such\",\"params\":{}}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":12345}}",
    "{\"jsonrpc\":\"2.0\",\"id\":98,\"method\":\"initialize\",\"params\":{}}",
];

#[test]
fn garbage_does_not_end_it() {
    let env = TestEnvironment::new();
    let mut client = Client::start(server(&env, "claude"));
    GARBAGE.iter().for_each(|line| client.write(line));
    client.pour(b"\xff\xfe\x00\n");
    client.request("initialize", crate::support::mcp_client::greeting("2025-11-25"));
    GARBAGE.iter().for_each(|line| client.write(line));
    client.pour(b"\xff\xfe\x00\n");
    client.write(&format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)));
    client.ok("agents", json!({}));
    client.end().expect_code(0);
}

#[test]
fn a_line_that_is_cut_off_is_no_line() {
    let env = TestEnvironment::new();
    let half =
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"pi";
    let ended = feed(&mut server(&env, "claude"), half);
    assert_eq!(ended.code, Some(0), "{ended}");
    assert_eq!(ended.stdout.lines().count(), 1, "{ended}");
}

#[test]
fn ten_megabytes_are_refused_and_forgotten() {
    let env = TestEnvironment::new();
    env.join("Peer");
    let mut client = Client::of(&env, "claude");
    let text = "x".repeat(10 * 1024 * 1024);
    assert_eq!(client.fails("message", json!({ "to": ["Peer"], "text": text })), "too_large");
    assert_eq!(client.fails("agents", json!({ "action": text })), "usage");
    assert_eq!(client.fails("agents", json!({ text.as_str(): 1 })), "usage");
    let id = client.ask("tools/call", json!({ "name": text }));
    assert_eq!(client.answer(id)["error"]["code"], -32602);
    client.ok("agents", json!({}));
}

#[test]
fn a_line_without_end_costs_no_more_than_its_bound() {
    let env = TestEnvironment::new();
    let mut client = Client::of(&env, "claude");
    let part = vec![b'x'; 1024 * 1024];
    (0..64).for_each(|_| client.pour(&part));
    client.pour(b"\n");
    let refused = client.wait_for("a refusal", |message| message["error"]["code"] == -32600);
    insta::assert_snapshot!(refused["error"]["message"].as_str().unwrap(), @"the line is longer than 16 MiB");
    client.ok("agents", json!({}));
}

#[test]
fn one_id_for_all_is_survived() {
    let env = TestEnvironment::new();
    env.join("Peer");
    let mut client = Client::of(&env, "claude");
    let me = client.name();
    env.ok(&["send", &me, "hi", "--as", "Peer"]);
    let call = json!({
        "jsonrpc": "2.0", "id": "same", "method": "tools/call",
        "params": { "name": "inbox", "arguments": {} },
    });
    (0..20).for_each(|_| client.write(&call.to_string()));
    client.ok("agents", json!({}));
    client.end().expect_code(0);
}

/// A client that sends requests and never reads: the number of open requests is limited.
#[test]
fn a_flood_that_is_never_read_is_not_kept() {
    flood(|id| id);
}

/// The limit also holds if all requests have the same id.
#[test]
fn a_flood_with_one_id_is_not_kept() {
    flood(|_| 1);
}

fn flood(id_of: fn(i64) -> i64) {
    let env = TestEnvironment::new();
    let mut command = server(&env, "claude");
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let flood = std::thread::spawn(move || {
        let greeting = crate::support::mcp_client::greeting("2025-11-25");
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": greeting });
        let mut sent = 0;
        let lines = std::iter::once(hello)
            .chain((1..).map(|id| json!({ "jsonrpc": "2.0", "id": id_of(id), "method": "tools/list" })));
        for line in lines {
            if writeln!(stdin, "{line}").is_err() {
                break;
            }
            sent += 1;
        }
        sent
    });
    // When the server makes no more progress, the pipes are full, long before the client has sent everything.
    let pid = server_of(&child);
    let sleeps = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap().contains(") S ");
    let bytes = || {
        let io = std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap();
        io.lines().next().unwrap().to_string()
    };
    let mut before = String::new();
    crate::support::environment::wait_until("it stands still", || {
        std::thread::sleep(std::time::Duration::from_millis(200));
        let now = bytes();
        let still = sleeps() && now == before && now != "rchar: 0";
        before = now;
        still
    });
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let resident = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    let kibibytes: usize = resident.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(kibibytes < 64 * 1024, "{resident}");
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::Signal::SIGTERM).unwrap();
    ended(child);
    assert!(flood.join().unwrap() > 0);
}

#[test]
fn what_it_does_not_understand_is_for_the_command_line() {
    let env = TestEnvironment::new();
    assert_eq!(env.run(&["mcp", "--json"]).expect_code(2).kind(), "usage");
    // Its input is closed, so it exits normally.
    env.run(&["mcp", "--as=Bob", "--mesh=elsewhere"]).expect_code(0);
    env.run(&["mcp", "--no-such"]).expect_code(2);
    env.run(&["mcp", "more"]).expect_code(2);
    assert!(env.run(&["mcp", "--help"]).expect_code(0).stdout.contains("msg mcp"));
}
