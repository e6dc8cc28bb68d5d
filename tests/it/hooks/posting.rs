//! If no waiter runs, Claude Code's own inbox socket is the second way to wake a session. The test plays Claude Code:
//! its session record, its socket, its settings.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use insta::assert_snapshot;
use ravenry::domain::SessionId;
use ravenry::domain::hook::HookAnswer;
use ravenry::store::SessionState;
use serde_json::{Value, json};

use super::waking::send;
use crate::support::environment::{TestEnvironment, end, put, put_old, wait_until};
use crate::support::hook_call::{Call, session_of};

/// Longer than posting may take, and shorter than any timeout that waits for us.
const IN_TIME: Duration = Duration::from_secs(60);

/// Alice, and Bob in a Claude Code that this process plays.
pub struct Scene {
    pub env: TestEnvironment,
    heard: Arc<Mutex<Vec<Value>>>,
    /// Number of connections that were accepted and closed.
    visits: Arc<AtomicUsize>,
}

impl Scene {
    /// Bob is idle, and asks for permission before he acts.
    pub fn new() -> Self {
        let env = TestEnvironment::new();
        env.join("Alice");
        let pid = std::process::id().to_string();
        env.ok(&["join", "Bob", "--pid", &pid, "--session", &session_of("Bob"), "--harness", "claude"]);
        let scene = Self { env, heard: Arc::default(), visits: Arc::default() };
        fs::create_dir(scene.place()).unwrap();
        fs::set_permissions(scene.place(), PermissionsExt::from_mode(0o700)).unwrap();
        scene.record(&json!({}));
        scene.prompt("hello");
        scene.stop("default");
        scene
    }

    pub fn place(&self) -> PathBuf {
        self.env.path().join("sockets")
    }

    pub fn socket(&self) -> PathBuf {
        self.place().join("1.sock")
    }

    pub fn session() -> SessionId {
        SessionId::new(session_of("Bob")).unwrap()
    }

    /// Writes Claude Code's record of the session, with the members of `but` changed.
    pub fn record(&self, but: &Value) {
        let pid = std::process::id();
        let mut record = json!({
            "pid": pid, "sessionId": session_of("Bob"), "cwd": self.env.work(), "kind": "interactive",
            "messagingSocketPath": self.socket(), "status": "idle", "statusUpdatedAt": 1_794_743_708_487_u64,
        });
        for (key, value) in but.as_object().unwrap() {
            record[key] = value.clone();
        }
        put(&self.env.home().join(format!(".claude/sessions/{pid}.json")), &record.to_string());
    }

    /// Listens on the socket and collects what is posted.
    pub fn listen(&self) {
        let listener = UnixListener::bind(self.socket()).unwrap();
        let (heard, visits) = (Arc::clone(&self.heard), Arc::clone(&self.visits));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut text = String::new();
                let mut stream = stream.unwrap();
                stream.read_to_string(&mut text).unwrap();
                let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
                heard.lock().unwrap().extend(lines);
                visits.fetch_add(1, Ordering::SeqCst);
                // Only now does whoever posts go on.
                drop(stream);
            }
        });
    }

    pub fn heard(&self) -> Vec<Value> {
        self.heard.lock().unwrap().clone()
    }

    fn call(&self, fixture: &str) -> Call {
        Call::new(&self.env, fixture, &session_of("Bob"))
    }

    pub fn prompt(&self, text: &str) -> HookAnswer {
        self.call("claude/UserPromptSubmit").with("/prompt", text).answer(&self.env)
    }

    pub fn stop(&self, mode: &str) {
        let answer = self.call("claude/Stop").with("/permission_mode", mode).answer(&self.env);
        assert_eq!(answer, HookAnswer::Silence);
    }

    pub fn turns(&self) -> u32 {
        self.env.store().hooks().mail_turns(&Self::session()).unwrap().count
    }

    /// Asserts that nothing is posted, that Bob gets the mail with his next prompt, and that he does not count as
    /// woken.
    #[track_caller]
    fn is_left_alone(&self, why: &str) {
        assert_eq!(send(&self.env, &["anyone?"]), "prompt", "{why}");
        assert_eq!(self.heard(), [] as [Value; 0], "{why}");
        assert_eq!(
            self.env.store().session_states().get(&Self::session()).unwrap(),
            SessionState::Idle,
            "{why}"
        );
        assert_eq!(self.turns(), 0, "{why}");
    }
}

#[test]
fn one_line_of_ours_wakes_it_and_the_hook_brings_the_mail() {
    let scene = Scene::new();
    scene.listen();
    assert_eq!(send(&scene.env, &["no hurry", "--importance", "low"]), "none");
    let sent = scene.env.ok(&["send", "Bob", "wake up", "--as", "Alice"]);
    assert_eq!(sent["sent"][0]["wake"], "socket");
    let receipt = scene.env.ok(&["receipt", sent["sent"][0]["id"].as_str().unwrap(), "--as", "Alice"]);
    assert_eq!(receipt["wake"], "socket");
    assert_eq!(send(&scene.env, &["he is on his way"]), "hook");
    let [line] = scene.heard().try_into().unwrap();
    let said = line["message"]["content"].as_str().unwrap();
    assert!(said.starts_with("[msg] You have mail"), "{line}");
    assert_eq!(line, json!({ "type": "user", "message": { "role": "user", "content": said } }));
    let HookAnswer::Context(mail) = scene.prompt(said) else { panic!("no mail at the prompt") };
    for text in ["> no hurry", "> wake up", "> he is on his way"] {
        assert!(mail.contains(text) && mail.contains("[peer Alice"), "{mail}");
    }
    assert_eq!(scene.turns(), 1, "our own sentence is not the user's");
}

#[test]
fn a_burst_is_one_line_and_mail_turns_ends_a_chain() {
    let scene = Scene::new();
    scene.listen();
    scene.env.ok(&["config", "set", "mailTurns", "2"]);
    let senders: Vec<Child> = (0..20)
        .map(|number| {
            let text = format!("number {number}");
            let mut command = scene.env.msg();
            command.args(["send", "Bob", &text, "--as", "Alice"]).stdout(Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut sender in senders {
        assert!(sender.wait().unwrap().success());
    }
    assert_eq!(scene.heard().len(), 1);
    let said = scene.heard()[0]["message"]["content"].as_str().unwrap().to_string();
    scene.prompt(&said);
    scene.stop("default");
    assert_eq!(send(&scene.env, &["again"]), "socket");
    scene.prompt(&said);
    scene.stop("default");
    assert_eq!(send(&scene.env, &["too much"]), "prompt");
    assert_eq!(scene.heard().len(), 2);
    scene.prompt("the user speaks");
    scene.stop("default");
    assert_eq!(send(&scene.env, &["there may be a chain again"]), "socket");
}

#[test]
fn who_does_not_rest_is_not_posted_to() {
    let scene = Scene::new();
    scene.listen();
    scene.prompt("go on");
    assert_eq!(send(&scene.env, &["at your next step"]), "hook");
    assert_eq!(scene.heard(), [] as [Value; 0]);
}

/// No hook reports an interruption, but Claude Code's record does.
#[test]
fn who_was_interrupted_is_not_said_to_be_at_work() {
    let scene = Scene::new();
    scene.listen();
    let idle = |since: SystemTime| {
        let since = since.duration_since(UNIX_EPOCH).unwrap().as_millis();
        scene.record(&json!({ "statusUpdatedAt": u64::try_from(since).unwrap() }));
    };
    let before = SystemTime::now() - Duration::from_secs(1);
    scene.prompt("go on");
    idle(before);
    assert_eq!(send(&scene.env, &["it has not said yet that it works"]), "hook");
    idle(SystemTime::now() + Duration::from_secs(1));
    assert_eq!(send(&scene.env, &["its user has stopped it"]), "prompt");
    assert_snapshot!(scene.env.doctor_says("waking"), @"
    warn: Bob (claude) was interrupted by its user; nothing wakes it: mail arrives with its next prompt
    fix: prompt it to hand it its mail; docs/waking.md lists what wakes it
    ");
    scene.record(&json!({ "status": "waiting", "statusUpdatedAt": u64::MAX / 2 }));
    assert_eq!(send(&scene.env, &["it asks its user"]), "hook");
    assert_eq!(scene.heard(), [] as [Value; 0], "a user who has stopped it is not talked over");
}

#[test]
fn a_record_of_something_else_is_not_followed() {
    let scene = Scene::new();
    scene.listen();
    for but in [
        json!({ "sessionId": "another" }),
        json!({ "pid": 1 }),
        json!({ "kind": "bg" }),
        json!({ "status": "waiting" }),
        json!({ "status": "something new" }),
        json!({ "status": null }),
        json!({ "messagingSocketPath": null }),
        json!({ "messagingSocketPath": "1.sock" }),
        json!({ "messagingSocketPath": scene.place() }),
        json!({ "messagingSocketPath": scene.place().join("nothing") }),
    ] {
        scene.record(&but);
        scene.is_left_alone(&but.to_string());
    }
    let record = scene.env.home().join(format!(".claude/sessions/{}.json", std::process::id()));
    put(&record, "{\"pid\"");
    scene.is_left_alone("half a record");
    fs::remove_file(&record).unwrap();
    scene.is_left_alone("no record");
    // The hooks reported the end of the turn; the record follows a moment later.
    scene.record(&json!({ "status": "busy" }));
    assert_eq!(send(&scene.env, &["now"]), "socket");
}

/// The sender is told the reason, and the session stays idle.
#[test]
fn what_lies_in_the_place_of_the_socket_is_looked_at_first() {
    let scene = Scene::new();
    let refused = |scene: &Scene| {
        let mut command = scene.env.msg();
        let sent = end(command.args(["send", "Bob", "hello?", "--as", "Alice", "--json"])).expect_code(0);
        assert_eq!(sent.json()["sent"][0]["wake"], "prompt");
        assert_eq!(scene.env.store().session_states().get(&Scene::session()).unwrap(), SessionState::Idle);
        assert_eq!(scene.turns(), 0, "that was no turn");
        scene.env.redact(sent.stderr)
    };
    assert_snapshot!(
        refused(&scene),
        @"note: Bob could not be woken: the socket of its inbox: there is no socket"
    );
    put(&scene.socket(), "a file");
    assert_snapshot!(
        refused(&scene),
        @"note: Bob could not be woken: the socket of its inbox: what is there is not a socket of msg"
    );
    assert_eq!(fs::read_to_string(scene.socket()).unwrap(), "a file");
    fs::remove_file(scene.socket()).unwrap();
    symlink("/dev/null", scene.socket()).unwrap();
    assert!(refused(&scene).contains("not a socket of msg"));
    fs::remove_file(scene.socket()).unwrap();
    scene.listen();
    // Other users could have put it there.
    fs::set_permissions(scene.place(), PermissionsExt::from_mode(0o777)).unwrap();
    assert_snapshot!(
        refused(&scene),
        @"note: Bob could not be woken: the socket of its inbox: `[DIR]/sockets` may be written to by other users (mode 777)"
    );
    fs::set_permissions(scene.place(), PermissionsExt::from_mode(0o700)).unwrap();
    if nix::unistd::geteuid().is_root() {
        nix::unistd::chown(&scene.socket(), Some(12345.into()), None).unwrap();
        assert!(refused(&scene).contains("not a socket of msg"));
        nix::unistd::chown(&scene.socket(), Some(0.into()), None).unwrap();
    } else {
        crate::support::skip::skip("only root can give a socket away");
    }
    assert_eq!(scene.heard(), [] as [Value; 0]);
    assert_eq!(send(&scene.env, &["now"]), "socket");
}

/// If another process listens on the socket, it is not the agent.
#[test]
fn only_the_agent_itself_is_posted_to() {
    let scene = Scene::new();
    scene.listen();
    let host = scene.env.host().to_string();
    let session = session_of("Carol");
    scene.env.ok(&["join", "Carol", "--pid", &host, "--session", &session, "--harness", "claude"]);
    let record = json!({
        "pid": host.parse::<u32>().unwrap(), "sessionId": session, "cwd": scene.env.work(),
        "kind": "interactive", "messagingSocketPath": scene.socket(), "status": "idle",
    });
    put(&scene.env.home().join(format!(".claude/sessions/{host}.json")), &record.to_string());
    Call::new(&scene.env, "claude/Stop", &session).with("/permission_mode", "default").answer(&scene.env);
    let mut command = scene.env.msg();
    let sent = end(command.args(["send", "Carol", "hello?", "--as", "Alice", "--json"])).expect_code(0);
    assert_eq!(sent.json()["sent"][0]["wake"], "prompt");
    assert_snapshot!(
        scene.env.redact(sent.stderr),
        @"note: Carol could not be woken: the socket of its inbox: another process listens there"
    );
    assert_eq!(scene.heard(), [] as [Value; 0]);
}

/// It is posted once, and may be read later; meanwhile nobody is delayed, and nothing more is posted.
#[test]
fn who_does_not_read_holds_nobody_up() {
    let scene = Scene::new();
    let listener = UnixListener::bind(scene.socket()).unwrap();
    let since = Instant::now();
    let mut command = scene.env.msg();
    let sent = end(command.args(["send", "Bob", "hello?", "--as", "Alice", "--json"])).expect_code(0);
    assert!(since.elapsed() < IN_TIME);
    assert_eq!(sent.json()["sent"][0]["wake"], "prompt");
    assert_snapshot!(
        scene.env.redact(sent.stderr),
        @"note: Bob could not be woken: it does not read what is sent to it"
    );
    assert_eq!(send(&scene.env, &["and another"]), "hook", "it may begin any moment");
    assert_eq!(scene.turns(), 1, "our sentence lies there");
    listener.set_nonblocking(true).unwrap();
    let waiting = std::iter::from_fn(|| listener.accept().ok()).count();
    assert_eq!(waiting, 1);
}

/// A session that acts without asking would hold the post behind a dialog.
#[test]
fn where_a_dialog_would_come_nothing_is_posted() {
    let scene = Scene::new();
    scene.listen();
    let settings = scene.env.home().join(".claude/settings.json");
    let project = scene.env.work().join(".claude/settings.json");
    scene.prompt("go on");
    scene.stop("bypassPermissions");
    scene.is_left_alone("it asks for nothing");
    put_old(&settings, r#"{"crossSessionInbound": "accept"}"#);
    put_old(&project, r#"{"crossSessionInbound": "hold"}"#);
    scene.is_left_alone("the project forbids it");
    put_old(&project, "{");
    scene.is_left_alone("what the project says can't be read");
    fs::remove_file(&project).unwrap();
    put_old(&settings, r#"{"crossSessionInbound": "refuse"}"#);
    scene.is_left_alone("the user refuses it");
    put(&settings, r#"{"crossSessionInbound": "accept"}"#);
    scene.is_left_alone("the session may not know it yet");
    put_old(&settings, r#"{"crossSessionInbound": "accept"}"#);
    assert_eq!(send(&scene.env, &["the user accepts it"]), "socket");
    put_old(&settings, "{}");
    scene.prompt("go on");
    scene.stop("acceptEdits");
    assert_eq!(send(&scene.env, &["it asks again"]), "socket");
}

#[test]
fn doctor_tells_of_it_and_knocks_without_a_word() {
    let scene = Scene::new();
    let knock = || scene.env.ok(&["doctor", "--wake", "Bob"])["checks"][0].clone();
    assert_snapshot!(
        scene.env.doctor_says("waking"),
        @"ok: Bob (claude) rests; the sender wakes it by a line to its inbox socket"
    );
    assert_eq!(knock()["state"], "warn", "nobody listens");
    scene.listen();
    let check = knock();
    assert_eq!(check["state"], "ok", "{check}");
    assert_snapshot!(
        scene.env.redact(check["message"].as_str().unwrap()),
        @"Bob's inbox socket accepts connections; nothing was posted"
    );
    wait_until("somebody came and went", || scene.visits.load(Ordering::SeqCst) == 1);
    assert_eq!(scene.heard(), [] as [Value; 0]);
    scene.prompt("go on");
    scene.stop("bypassPermissions");
    assert_snapshot!(scene.env.doctor_says("waking"), @r#"
    warn: Bob (claude) rests; nothing wakes it: mail arrives with its next prompt (it may act without asking, and then holds what comes from outside behind a dialog; `"crossSessionInbound": "accept"` in `[DIR]/home/.claude/settings.json` would end that)
    fix: prompt it to hand it its mail; docs/waking.md lists what wakes it
    "#);
    assert_eq!(knock()["state"], "warn");
}
