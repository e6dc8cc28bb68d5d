//! An MCP client that speaks JSON-RPC by hand.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::environment::{Ended, PATIENCE, TestEnvironment, wait_until};
use crate::support::hook_fixture::{ended, in_shell};

/// A running server and its output.
pub struct Client {
    child: Option<Child>,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    /// Messages that came while another was waited for.
    kept: Vec<Value>,
    next: i64,
}

/// `msg mcp`, started by a process with the name of that harness.
pub fn server(env: &TestEnvironment, harness: &str) -> Command {
    let mut msg = env.msg();
    msg.arg("mcp");
    in_shell("\"$@\"", harness, &msg)
}

impl Client {
    pub fn start(mut command: Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let lines = BufReader::new(stdout).lines().map_while(Result::ok);
            lines.for_each(|line| drop(sender.send(line)));
        });
        Self { child: Some(child), stdin, lines, kept: Vec::new(), next: 0 }
    }

    /// Starts a server in that harness and initializes it.
    #[track_caller]
    pub fn of(env: &TestEnvironment, harness: &str) -> Self {
        Self::greeted(server(env, harness))
    }

    #[track_caller]
    pub fn greeted(command: Command) -> Self {
        let mut client = Self::start(command);
        let answer = client.request("initialize", greeting("2025-11-25"));
        assert_eq!(answer["serverInfo"]["name"], "ravenry", "{answer}");
        client.notify("notifications/initialized", json!({}));
        client
    }

    pub fn write(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line.as_bytes()).and_then(|()| stdin.write_all(b"\n")).unwrap();
        stdin.flush().unwrap();
    }

    /// Writes raw bytes; the server may have stopped reading.
    pub fn pour(&mut self, bytes: &[u8]) {
        drop(self.stdin.as_mut().unwrap().write_all(bytes));
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string());
    }

    /// Sends a request without waiting for the answer. Returns its id.
    pub fn ask(&mut self, method: &str, params: Value) -> i64 {
        self.next += 1;
        let request = json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params });
        self.write(&request.to_string());
        self.next
    }

    pub fn ask_tool(&mut self, name: &str, arguments: Value) -> i64 {
        self.ask("tools/call", json!({ "name": name, "arguments": arguments }))
    }

    /// The next message that matches.
    #[track_caller]
    pub fn wait_for(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.kept.iter().position(&fits) {
            return self.kept.remove(at);
        }
        let give_up = Instant::now() + PATIENCE;
        loop {
            let left = give_up.saturating_duration_since(Instant::now());
            let line = self.lines.recv_timeout(left);
            let line =
                line.unwrap_or_else(|error| panic!("{error} while waiting for {what}: {:?}", self.kept));
            let message: Value =
                serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
            if fits(&message) {
                return message;
            }
            self.kept.push(message);
        }
    }

    /// A matching message that came while another was waited for.
    pub fn take_kept(&mut self, fits: impl Fn(&Value) -> bool) -> Option<Value> {
        let at = self.kept.iter().position(fits)?;
        Some(self.kept.remove(at))
    }

    /// The whole answer to a request.
    #[track_caller]
    pub fn answer(&mut self, id: i64) -> Value {
        self.wait_for(&format!("the answer to {id}"), |message| message["id"] == id)
    }

    /// The result of a request that must succeed.
    #[track_caller]
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        let answer = self.answer(id);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// The result of a tool call, successful or not.
    #[track_caller]
    pub fn call(&mut self, name: &str, arguments: Value) -> Said {
        let id = self.ask_tool(name, arguments);
        self.said(id)
    }

    #[track_caller]
    pub fn said(&mut self, id: i64) -> Said {
        let answer = self.answer(id);
        let result = answer.get("result").unwrap_or_else(|| panic!("{answer}"));
        let content = result["content"].as_array().unwrap();
        assert_eq!(content.len(), 1, "{answer}");
        assert!(result.get("structuredContent").is_none(), "a model would pay for it: {answer}");
        Said {
            text: content[0]["text"].as_str().unwrap().to_string(),
            structured: result["_meta"]["ravenry/result"].clone(),
            failed: result["isError"] == true,
        }
    }

    /// A tool call that must succeed.
    #[track_caller]
    pub fn ok(&mut self, name: &str, arguments: Value) -> Said {
        let said = self.call(name, arguments);
        assert!(!said.failed, "{}", said.text);
        said
    }

    /// A tool call that must fail; returns the kind of the error.
    #[track_caller]
    pub fn fails(&mut self, name: &str, arguments: Value) -> String {
        let said = self.call(name, arguments);
        assert!(said.failed, "{}", said.text);
        let error = &said.structured["error"];
        let kind = error["kind"].as_str().unwrap_or_else(|| panic!("{}", said.structured)).to_string();
        assert!(said.text.contains(&format!("error ({kind}): {}", error["message"].as_str().unwrap())));
        kind
    }

    /// The name that this client's agent has.
    #[track_caller]
    pub fn name(&mut self) -> String {
        let said = self.ok("agents", json!({ "action": "join" }));
        said.structured["agent"]["name"].as_str().unwrap().to_string()
    }

    /// Closes the server's input. Its output can still be read.
    pub fn hang_up(&mut self) {
        self.stdin = None;
    }

    /// Closes the server's input and waits until it exits.
    #[track_caller]
    pub fn end(mut self) -> Ended {
        self.hang_up();
        ended(self.child.take().unwrap())
    }

    /// Asserts that the server writes nothing for this long.
    #[track_caller]
    pub fn is_silent_for(&mut self, time: Duration) {
        let line = self.lines.recv_timeout(time);
        assert!(line.is_err(), "{line:?}");
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.stdin = None;
        if let Some(mut child) = self.child.take() {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

/// The server's pid: the only child of the shell that plays the harness.
#[track_caller]
pub fn server_of(harness: &Child) -> i32 {
    let children = format!("/proc/{0}/task/{0}/children", harness.id());
    let child = || std::fs::read_to_string(&children).ok()?.trim().parse().ok();
    wait_until("the server runs", || child().is_some());
    child().unwrap()
}

/// The result of a tool call.
pub struct Said {
    pub text: String,
    pub structured: Value,
    pub failed: bool,
}

impl Said {
    /// The quoted lines, which are text from peers.
    pub fn short_id(&self) -> Vec<String> {
        self.text.lines().filter_map(|line| line.strip_prefix("> ")).map(str::to_string).collect()
    }
}

pub fn greeting(version: &str) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": { "name": "by-hand", "version": "1" },
    })
}
