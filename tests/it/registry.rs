//! Registrations under concurrent readers, writers and other programs.

use std::fs;
use std::os::unix::fs::lchown;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use ravenry::domain::{AgentName, Liveness};
use ravenry::sys::process;
use ravenry::sys::test_switches::{ANCESTRY_END, CRASH_AT};
use serde_json::json;

use crate::support::environment::{Ended, TestEnvironment, end, files_in, open_mesh, put_old, wait_until};

/// A process of this binary that rewrites a registration until it is killed.
struct Writer(Child);

impl Writer {
    fn start(env: &TestEnvironment, manner: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "registry::a_rewritten_registration_is_whole", "--nocapture", "--quiet"]);
        command.env("REGISTRY_WRITER", manner).env("REGISTRY_WRITER_MESH", env.mesh());
        Self(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap())
    }

    /// The work of such a process.
    fn run(manner: &str) {
        let dir = PathBuf::from(std::env::var("REGISTRY_WRITER_MESH").unwrap());
        let path = dir.join("registry/Alice.json");
        match manner {
            "ours" => {
                let mesh = open_mesh(&dir, crate::support::environment::PATIENCE);
                let alice = mesh.registry().get(&AgentName::new("Alice").unwrap()).unwrap().unwrap().agent;
                for count in 0_u64.. {
                    let mut locked = mesh.lock().unwrap();
                    let mut change = locked.change();
                    change.edit(&alice, |agent| agent.status = Some(count.to_string())).unwrap();
                    change.commit().unwrap();
                }
            }
            // Like pi-messenger: the file is empty, then half written, then whole.
            _ => {
                let whole = fs::read(&path).unwrap();
                let (first, second) = whole.split_at(whole.len() / 2);
                loop {
                    let mut file = fs::File::create(&path).unwrap();
                    std::thread::yield_now();
                    std::io::Write::write_all(&mut file, first).unwrap();
                    std::thread::yield_now();
                    std::io::Write::write_all(&mut file, second).unwrap();
                    // It also does other things.
                    std::thread::sleep(std::time::Duration::from_micros(200));
                }
            }
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// The writers run this test too.
#[test]
fn a_rewritten_registration_is_whole() {
    if let Ok(manner) = std::env::var("REGISTRY_WRITER") {
        return Writer::run(&manner);
    }
    let env = TestEnvironment::new();
    env.join("Alice");
    // Its last activity is written too, every ten seconds.
    let alice = || {
        let mut registration = env.registration("Alice");
        registration["activity"].take();
        registration
    };
    let before = alice();
    env.ok(&["set-status", "x", "--as", "Alice"]);
    env.ok(&["set-status", "--as", "Alice"]);
    assert_eq!(alice(), before);
}

#[test]
fn whoever_rewrites_in_a_tight_loop_is_seen_by_every_read() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let writer = Writer::start(&env, "ours");
    let mesh = env.store();
    let status = || env.registration("Alice")["statusMessage"].as_str().map(str::to_string);
    wait_until("the writer writes", || status().is_some());
    let first = status();
    for read in 0..10_000 {
        let census = mesh.registry().census().unwrap();
        assert_eq!(census.records.len(), 1, "read {read}: {:?}", census.unreadable);
    }
    assert_ne!(status(), first, "it went on meanwhile");
    drop(writer);
}

#[test]
fn a_writer_that_truncates_in_place_is_never_taken_for_dead() {
    let env = TestEnvironment::new();
    env.join("Bob");
    let host = env.pi_host();
    let foreign = json!({
        "name": "Alice", "pid": host, "sessionId": "s", "cwd": "/", "model": "m",
        "startedAt": "2026-11-14T23:57:56.070Z",
    });
    let path = env.mesh().join("registry/Alice.json");
    fs::write(&path, foreign.to_string()).unwrap();
    let writer = Writer::start(&env, "foreign");
    let mesh = env.store();
    let (mut torn, mut whole) = (0, 0);
    for read in 0..2_000 {
        torn += usize::from(fs::read(&path).is_ok_and(|bytes| bytes.len() < foreign.to_string().len()));
        let census = mesh.registry().census().unwrap();
        // On a busy machine half a file may stay for longer than anyone waits for it. Then it is unreadable, not gone.
        match census.records.iter().find(|record| record.agent.name.as_str() == "Alice") {
            Some(alice) => {
                assert_eq!(process::liveness(&alice.agent.process), Liveness::Alive);
                whole += 1;
            }
            None => assert!(census.unreadable.iter().any(|file| file.stem == "Alice"), "read {read}"),
        }
    }
    assert!(torn > 0, "the writer was never caught in the act, so this proves nothing");
    assert!(whole > 0, "it was never read whole");
    for _ in 0..20 {
        assert!(env.names().contains(&"Bob".to_string()));
        let taken = env.run(&["join", "Alice", "--pid", &host.to_string(), "--session", "t"]);
        assert_ne!(taken.code, Some(0), "the name is taken, readable or not");
    }
    drop(writer);
    // It may have been killed half way through.
    fs::write(&path, foreign.to_string()).unwrap();
    assert_eq!(env.fails(1, &["set-status", "x", "--as", "Alice"]), "foreign_agent");
    assert_eq!(env.fails(1, &["rename", "Carol", "--as", "Alice"]), "foreign_agent");
    assert_eq!(env.fails(1, &["leave", "--as", "Alice"]), "foreign_agent");
    assert_eq!(env.fails(1, &["evict", "Alice", "--as", "Bob"]), "still_alive");
    env.ok(&["evict", "Alice", "--as", "Bob", "--force"]);
    assert_eq!(env.names(), ["Bob"]);
}

#[test]
fn two_commands_that_rewrite_one_registration_lose_nothing_of_either() {
    const TIMES: usize = 100;
    let env = TestEnvironment::new();
    let host = env.join("Alice").to_string();
    std::thread::scope(|scope| {
        let run = |command: &mut Command| end(command).expect_code(0).json()["agent"].clone();
        let mut statuses: Vec<Command> = (0..TIMES)
            .map(|count| {
                let mut command = env.msg();
                command.args(["set-status", &format!("status {count}"), "--as", "Alice", "--json"]);
                command
            })
            .collect();
        let mut models: Vec<Command> = (0..TIMES)
            .map(|count| {
                let mut command = env.msg();
                command.args(["join", "--pid", &host, "--model", &format!("model {count}"), "--json"]);
                command
            })
            .collect();
        scope.spawn(move || {
            for (count, command) in statuses.iter_mut().enumerate() {
                assert_eq!(run(command)["statusMessage"], format!("status {count}"));
            }
        });
        scope.spawn(move || {
            for (count, command) in models.iter_mut().enumerate() {
                assert_eq!(run(command)["model"], format!("model {count}"));
            }
        });
    });
    let registration = env.registration("Alice");
    assert_eq!(registration["statusMessage"], format!("status {}", TIMES - 1));
    assert_eq!(registration["model"], format!("model {}", TIMES - 1));
}

#[test]
fn keys_of_others_survive_our_rewrite() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let mut registration = env.registration("Alice");
    registration["later"] = json!({ "deep": [1, 2.5, null] });
    registration["session"] = json!({ "toolCalls": 3, "tokens": 12, "filesModified": [] });
    fs::write(env.mesh().join("registry/Alice.json"), registration.to_string()).unwrap();
    env.ok(&["set-status", "x", "--as", "Alice"]);
    env.ok(&["rename", "Bob", "--as", "Alice"]);
    let after = env.registration("Bob");
    assert_eq!((&after["later"], &after["session"]), (&registration["later"], &registration["session"]));
}

#[test]
fn a_registration_that_vanished_is_written_again_by_its_agent() {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.ok(&["set-status", "thinking", "--as", "Alice"]);
    fs::remove_file(env.mesh().join("registry/Alice.json")).unwrap();
    assert!(env.names().is_empty(), "nobody else can know");
    let agent = env.ok(&["whoami", "--as", "Alice"])["agent"].clone();
    assert_eq!((&agent["name"], &agent["statusMessage"]), (&json!("Alice"), &json!("thinking")));
    assert_eq!(env.names(), ["Alice"]);
}

#[test]
fn a_vanished_registration_does_not_come_back_over_a_stranger() {
    let env = TestEnvironment::new();
    env.join("Alice");
    fs::remove_file(env.mesh().join("registry/Alice.json")).unwrap();
    let stranger = env.host();
    env.ok(&["join", "Alice", "--pid", &stranger.to_string(), "--session", "stranger"]);
    assert_eq!(env.registration("Alice")["pid"], stranger);
    assert_eq!(env.ok(&["whoami", "--as", "Alice"])["agent"]["pid"], stranger);
}

#[test]
fn what_can_not_be_read_is_reported_keeps_its_name_and_stays() {
    let env = TestEnvironment::new();
    env.join("Bob");
    let registry = env.mesh().join("registry");
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    let damaged = [
        ("Alice", "{\"name\": \"Al"),
        ("Carol", ""),
        ("Dave", "{\"name\":\"Eve\",\"pid\":1}"),
        ("Frank", "[]"),
    ];
    for (name, content) in damaged {
        let path = registry.join(format!("{name}.json"));
        fs::write(&path, content).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
    }
    fs::create_dir(registry.join("Grace.json")).unwrap();
    let listing = env.ok(&["agents"]);
    // Dave's file at least says that process 1 wrote it, so it counts as an agent under some name.
    assert_eq!(listing["agents"].as_array().unwrap().len(), 2);
    assert_eq!(listing["unreadable"].as_array().unwrap().len(), 4);
    for name in ["Alice", "Carol", "Dave", "Frank", "Grace"] {
        assert_eq!(env.fails(1, &["join", name, "--pid", &env.host().to_string()]), "name_taken", "{name}");
        assert_eq!(env.fails(4, &["whoami", "--as", name]), "corrupt", "{name}");
        assert_eq!(env.fails(4, &["evict", name, "--as", "Bob"]), "corrupt", "{name}");
    }
    env.run(&["doctor", "--repair"]).expect_code(4);
    for (name, content) in damaged {
        assert_eq!(fs::read_to_string(registry.join(format!("{name}.json"))).unwrap(), content);
    }
}

#[test]
fn a_zombie_is_buried() {
    let env = TestEnvironment::new();
    let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
    env.ok(&["join", "Alice", "--pid", &child.id().to_string()]);
    child.kill().unwrap();
    // Not waited for: it stays a zombie until the end of the test.
    wait_until("it has ended", || env.names().is_empty());
    assert!(!env.mesh().join("registry/Alice.json").exists());
    child.wait().unwrap();
}

/// A user who is not root.
pub const NOBODY: u32 = 65534;

/// Root runs this as another user against a process of root; anyone else checks process 1.
#[test]
fn whom_we_may_not_signal_is_not_buried() {
    let env = TestEnvironment::new();
    let is_root = nix::unistd::geteuid().is_root();
    let host = env.join("Alice");
    let pid = if is_root { host } else { 1 };
    let mut registration = env.registration("Alice");
    if !is_root {
        registration["pid"] = json!(1);
        let ticks = process::identify(ravenry::domain::Pid::new(1).unwrap()).unwrap().start_ticks;
        registration["process"]["startTicks"] = json!(ticks);
    }
    for (name, pinned) in [("Alice", true), ("Bob", false)] {
        let mut theirs = registration.clone();
        theirs["name"] = json!(name);
        theirs["pid"] = json!(pid);
        if !pinned {
            theirs.as_object_mut().unwrap().remove("process");
        }
        fs::write(env.mesh().join(format!("registry/{name}.json")), theirs.to_string()).unwrap();
    }
    let mut look = env.msg();
    look.args(["agents", "--json"]);
    if is_root {
        give_to(env.path(), NOBODY);
        // The binary may be where only its owner has access.
        let copy = env.path().join("msg");
        fs::copy(env!("CARGO_BIN_EXE_msg"), &copy).unwrap();
        look = Command::new(copy);
        look.args(["agents", "--json"]).env_clear().env("HOME", env.home()).env("MSG_MESH", env.mesh());
        look.env(ravenry::sys::test_switches::ANCESTRY_END, std::process::id().to_string());
        look.current_dir(env.work()).uid(NOBODY).gid(NOBODY);
    }
    let listing = end(&mut look).expect_code(0).json();
    assert_eq!(listing["agents"].as_array().unwrap().len(), 2, "{listing}");
    assert!(env.mesh().join("registry/Alice.json").exists() && env.mesh().join("registry/Bob.json").exists());
    if is_root {
        give_to(env.path(), 0);
    }
}

pub fn give_to(path: &std::path::Path, user: u32) {
    lchown(path, Some(user), Some(user)).unwrap();
    if path.is_dir() && !path.is_symlink() {
        for entry in fs::read_dir(path).unwrap() {
            give_to(&entry.unwrap().path(), user);
        }
    }
}

/// pi-messenger does not know former names: what it does under one is its own.
#[test]
fn mail_of_a_foreign_agent_under_a_former_name_is_left_alone() {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.ok(&["rename", "Carol", "--as", "Alice"]);
    let foreign = json!({
        "name": "Alice", "pid": env.host(), "sessionId": "s", "cwd": "/", "model": "m",
        "startedAt": "2036-11-14T23:57:56.070Z",
    });
    fs::write(env.mesh().join("registry/Alice.json"), foreign.to_string()).unwrap();
    env.drop_mail("Alice", "theirs");
    assert_eq!(env.ok(&["whois", "Carol"])["agent"]["unread"], 0);
    assert!(env.ok(&["read", "--as", "Carol"])["messages"].as_array().unwrap().is_empty());
    env.ok(&["leave", "--as", "Carol"]);
    assert_eq!(env.mail(), ["inbox/Alice/theirs.json"]);
}

#[test]
fn a_reused_pid_does_not_make_us_a_dead_foreign_agent() {
    let env = TestEnvironment::new();
    let host = env.host();
    env.join("Bob");
    let foreign = json!({
        "name": "RedIce", "pid": host, "sessionId": "s", "cwd": "/", "model": "m",
        "startedAt": "2020-01-01T00:00:00.000Z",
    });
    fs::write(env.mesh().join("registry/RedIce.json"), foreign.to_string()).unwrap();
    let joined =
        env.ok(&["join", "Fred", "--pid", &host.to_string(), "--session", "new", "--harness", "claude"]);
    assert_eq!(joined["agent"]["name"], "Fred");
}

#[test]
fn links_that_lead_nowhere_hold_up_nobody() {
    let env = TestEnvironment::new();
    env.join("Bob");
    std::os::unix::fs::symlink("/nonexistent", env.mesh().join("registry/Foo.json")).unwrap();
    assert_eq!(env.fails(1, &["join", "Foo", "--pid", &env.host().to_string()]), "name_taken");
    std::os::unix::fs::symlink("/nonexistent", env.mesh().join("swarm.lock")).unwrap();
    let mesh = open_mesh(&env.mesh(), std::time::Duration::from_millis(50));
    let locked = mesh.lock().unwrap();
    let error = locked.lock_claims().unwrap_err();
    assert!(matches!(error, ravenry::store::StoreError::SwarmLockTimedOut { .. }), "{error}");
}

#[test]
fn a_mesh_that_pi_messenger_made_is_enough() {
    let env = TestEnvironment::new();
    for dir in ["registry", "inbox"] {
        fs::create_dir_all(env.mesh().join(dir)).unwrap();
    }
    let foreign = json!({
        "name": "RedIce", "pid": env.host(), "sessionId": "s", "cwd": "/", "model": "m",
        "startedAt": "2036-11-14T23:57:56.070Z",
    });
    fs::write(env.mesh().join("registry/RedIce.json"), foreign.to_string()).unwrap();
    assert_eq!(env.ok(&["whoami", "--as", "RedIce"])["agent"]["name"], "RedIce");
    env.join("Bob");
    fs::remove_dir(env.mesh().join("inbox/Bob")).unwrap();
    env.ok(&["leave", "--as", "Bob"]);
}

#[test]
fn damaged_claims_stop_what_needs_them_and_nothing_else() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let path = env.mesh().join("claims.json");
    put_old(&path, "{\"/spec.md\": {\"TASK-01\": null}}");
    assert_eq!(env.fails(4, &["rename", "Carol", "--as", "Alice"]), "corrupt");
    assert_eq!(env.names(), ["Alice"], "nothing was changed");
    env.ok(&["set-status", "x", "--as", "Alice"]);
    env.join("Bob");
    assert_eq!(env.fails(4, &["leave", "--as", "Alice"]), "corrupt");
    env.run(&["doctor"]).expect_code(4);
    env.run(&["doctor", "--repair"]).expect_code(0);
    env.ok(&["leave", "--as", "Alice"]);
}

/// Reading skips keys of others that it does not know, including what could not be written again. In that case nothing
/// is written: what others keep there is theirs.
#[test]
fn what_can_not_be_kept_is_not_dropped() {
    for odd in ["1e999", "-1e999"] {
        let env = TestEnvironment::new();
        env.join("Alice");
        let path = env.mesh().join("registry/Alice.json");
        let text = fs::read_to_string(&path).unwrap();
        let text = text.replacen('{', &format!(r#"{{"theirs": "kept", "note": {odd},"#), 1);
        fs::write(&path, &text).unwrap();
        assert_eq!(env.fails(4, &["set-status", "busy", "--as", "Alice"]), "corrupt", "{odd}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "{odd}");
    }
}

/// A peer claims to be our own parent process, started at the end of time.
#[test]
fn times_from_the_end_of_time_are_no_end_of_us() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let mallory = json!({
        "name": "Mallory", "pid": std::process::id(), "sessionId": "s", "cwd": "/", "model": "m",
        "startedAt": "9999-12-30T22:00:00Z", "gitBranch": "main", "isHuman": false,
        "session": { "toolCalls": 0, "tokens": 0, "filesModified": [] },
        "activity": { "lastActivityAt": "9999-12-30T22:00:00Z" },
    });
    put_old(&env.mesh().join("registry/Mallory.json"), &mallory.to_string());
    for args in
        [&["whoami"][..], &["agents"], &["join", "Zed"], &["leave"], &["statusline"], &["reserve", "src/"]]
    {
        let code = run_as_child(&env, args).code;
        assert!(code.is_some_and(|code| code < 6), "{args:?}: {code:?}");
    }
}

/// A registration that can't be rewritten can still be buried: the file is moved to the grave as it is.
#[test]
fn what_can_not_be_kept_keeps_no_name_from_others() {
    let env = TestEnvironment::new();
    env.join("Bob");
    let host = env.pi_host();
    let gone = format!(
        r#"{{"name": "Alice", "pid": {host}, "sessionId": "s", "cwd": "/", "model": "m",
            "startedAt": "2026-11-14T23:57:56.070Z", "note": "\ud83d"}}"#
    );
    put_old(&env.mesh().join("registry/Alice.json"), &gone);
    assert_eq!(env.names(), ["Alice", "Bob"]);
    env.kill(host);
    env.join("Alice");
    let graves: Vec<String> = files_in(&env.mesh().join("graves"))
        .iter()
        .filter(|path| path.ends_with("registration.json"))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    assert_eq!(graves, [gone]);
}

/// Runs a command that looks for its caller among its ancestors, of which this process is the last.
fn run_as_child(env: &TestEnvironment, args: &[&str]) -> Ended {
    let end = nix::unistd::getppid().to_string();
    env.run_with(&[args, &["--json"]].concat(), &[(ANCESTRY_END, &end)])
}

/// An agent whose own registration is damaged has still joined.
#[test]
fn ones_own_damaged_registration_is_named() {
    let env = TestEnvironment::new();
    let pid = std::process::id().to_string();
    env.ok(&["join", "Alice", "--pid", &pid]);
    put_old(&env.mesh().join("registry/Alice.json"), "{");
    for args in [&["whoami"][..], &["reserve", "src/"], &["send", "Alice", "hi"]] {
        let ended = run_as_child(&env, args);
        assert_eq!((ended.code, ended.kind().as_str()), (Some(4), "corrupt"), "{args:?}");
    }
    assert_eq!(env.names().len(), 0);
}

/// A rename that was cut short leaves the agent under both names; a burial buries both.
#[test]
fn an_agent_is_gone_under_all_its_names() {
    let mut half_way = 0;
    for step in 1.. {
        let env = TestEnvironment::new();
        env.join("Alice");
        env.join("Bob");
        env.ok(&["reserve", "src/", "--as", "Alice"]);
        let rename = ["rename", "Anna", "--as", "Alice"];
        let ended = env.run_with(&rename, &[(CRASH_AT, &step.to_string())]);
        let is_there = |name: &str| env.mesh().join(format!("registry/{name}.json")).exists();
        half_way += usize::from(ended.code.is_none() && is_there("Alice") && is_there("Anna"));
        let name = if env.names().iter().any(|name| name == "Anna") { "Anna" } else { "Alice" };
        env.ok(&["evict", name, "--force", "--as", "Bob"]);
        assert_eq!(env.names(), ["Bob"], "killed before step {step}");
        env.ok(&["reserve", "src/", "--as", "Bob"]);
        if ended.code.is_some() {
            ended.expect_code(0);
            break;
        }
    }
    assert!(half_way > 0, "nobody died under both names");
}
