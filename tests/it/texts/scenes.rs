//! Snapshots of each command when it succeeds.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::support::environment::{put, put_old};
use crate::texts::{NOW, Scene, Voice, check, snapshot, spoken};

#[test]
fn joining_and_leaving() {
    check("join-and-leave", |scene| {
        let (alice, bob, carol) = (scene.host(), scene.host(), scene.host());
        scene.msg(&["join", "Alice", "--pid", &alice, "--session", "one"]);
        scene.msg(&["join", "Alice", "--pid", &alice, "--session", "one"]);
        scene.msg(&["join", "Bob", "--pid", &bob, "--session", "two", "--harness", "codex", "-v"]);
        scene.msg_with(&[("MSG_TEST_SEED", "7")], &["join", "--pid", &carol]);
        scene.msg(&["leave", "--as", "Alice"]);
        scene.msg(&["join", "--pid", &alice, "--session", "one"]);
        scene.meanwhile("Alice holds two paths and a task, has mail, and leaves.");
        scene.rewrite("Alice", |alice| {
            let hold = |pattern| json!({"pattern": pattern, "since": "2024-05-17T09:00:00.000Z"});
            alice["reservations"] = json!([hold("src/auth/"), hold("docs/")]);
        });
        scene.claim("Alice", "TASK-01", "the login flow");
        scene.mail("Alice", 2);
        scene.msg(&["leave", "--as", "Alice"]);
        scene.msg(&["agents", "--gone"]);
        scene.msg(&["join", "--pid", &alice, "--session", "one"]);
        scene.msg(&["leave", "-q", "--as", "Alice"]);
        scene.meanwhile("Nobody has told which mesh it is.");
        let mut command = scene.command();
        command.env_remove("MSG_MESH");
        scene.run(command, &format!("msg join Dave --pid {alice}"), &["join", "Dave", "--pid", &alice]);
    });
}

#[test]
fn who_is_there() {
    check("agents", |scene| {
        scene.msg(&["agents"]);
        scene.msg(&["agents", "-q"]);
        put(&scene.project().join(".git/HEAD"), "ref: refs/heads/feature/login\n");
        scene.now = "2024-05-17T07:30:00.000Z".to_string();
        scene.joined("Alice", "claude");
        scene.joined("Bob", "codex");
        scene.joined("Carol", "terminal");
        scene.joined("Dave", "gemini");
        scene.pi_messengers("RedIce");
        scene.now = NOW.to_string();
        scene.meanwhile("Five are there now. RedIce runs in pi, Dave on another machine.");
        scene.rewrite("Alice", |alice| alice["statusMessage"] = json!("reviewing the login flow"));
        scene.mail("Alice", 2);
        scene.rewrite("Bob", |bob| {
            let since = "2024-05-17T09:00:00.000Z";
            bob["reservations"] = json!([{"pattern": "src/auth/", "reason": "new login", "since": since}]);
        });
        scene.claim("Bob", "TASK-01", "the login flow");
        scene.rewrite("Carol", |carol| carol["cwd"] = json!(scene.env.home().join("other")));
        scene.rewrite("Dave", |dave| {
            dave["process"]["bootId"] = json!("elsewhere");
            dave["process"]["machineId"] = json!("elsewhere");
        });
        scene.quiet_for("Bob", 60);
        scene.quiet_for("Carol", 3600);
        scene.msg(&["agents"]);
        scene.msg(&["agents", "--as", "Alice"]);
        scene.msg(&["agents", "--here"]);
        scene.msg(&["agents", "-q"]);
        scene.msg(&["ls", "--gone"]);
    });
}

#[test]
fn who_is_at_what() {
    check("presence", |scene| {
        put(&scene.project().join("spec.md"), "- [ ] TASK-01: the form\n- [ ] TASK-02: the session\n");
        scene.now = "2024-05-17T07:30:00.000Z".to_string();
        for (name, harness) in
            [("Alice", "claude"), ("Bob", "codex"), ("Carol", "gemini"), ("Robin", "terminal")]
        {
            scene.joined(name, harness);
            scene.rewrite(name, |agent| agent["spec"] = json!(scene.project().join("spec.md")));
        }
        scene.now = NOW.to_string();
        scene.meanwhile("Alice works, Bob works on a task and has said so, Carol has been quiet for long.");
        scene.claim("Carol", "TASK-01", "the login flow");
        scene.rewrite("Bob", |bob| bob["statusMessage"] = json!("reviewing"));
        let files: Vec<String> = (1..=8).map(|number| format!("src/part{number}.rs")).collect();
        let alice = json!({
            "calls": 41, "files": files, "now": "editing src/part8.rs", "last": "edit: src/part8.rs",
        });
        put(&scene.mesh().join("presence/Alice"), &format!("{alice}\n"));
        put(
            &scene.mesh().join("presence/Carol"),
            "{\"calls\":7,\"now\":\"running tests\",\"last\":\"test: failed\"}\n",
        );
        for (name, seconds) in [("Alice", 5), ("Bob", 45), ("Carol", 1000), ("Robin", 400)] {
            scene.quiet_for(name, seconds);
        }
        scene.msg(&["agents"]);
        scene.msg(&["whois", "Alice"]);
        scene.msg(&["whois", "Carol"]);
    });
}

#[test]
fn who_is_gone() {
    check("agents-gone", |scene| {
        scene.joined("Alice", "claude");
        let bob = scene.joined("Bob", "codex");
        scene.joined("Carol", "terminal");
        scene.joined("Dave", "gemini");
        scene.mail("Bob", 3);
        scene.mail("Zoe", 1);
        scene.now = "2024-05-17T07:29:00.000Z".to_string();
        scene.msg(&["leave", "--as", "Carol"]);
        scene.now = "2024-05-17T09:25:00.000Z".to_string();
        scene.msg(&["evict", "Dave", "--force", "--as", "Alice"]);
        scene.meanwhile(
            "Bob's process is killed. Somebody wrote to Zoe, who is not there, and then one joins.",
        );
        scene.env.kill(bob);
        scene.msg(&["agents"]);
        scene.joined("Zoe", "claude");
        scene.now = NOW.to_string();
        scene.msg(&["agents", "--gone"]);
    });
}

#[test]
fn one_agent_in_full() {
    check("whoami-and-whois", |scene| {
        let alice = scene.host();
        put(&scene.project().join(".git/HEAD"), "ref: refs/heads/main\n");
        put(&scene.project().join("spec.md"), "");
        let join = ["join", "Alice", "--pid", &alice, "--session", "one", "--harness", "claude"];
        scene.msg(&[&join[..], &["--model", "opus-5", "--spec", "spec.md"]].concat());
        scene.rewrite("Alice", |alice| {
            let hold = |pattern, reason| json!({"pattern": pattern, "reason": reason, "since": NOW});
            alice["reservations"] =
                json!([hold("src/auth/", json!("new login")), hold("docs/", json!(null))]);
        });
        scene.claim("Alice", "TASK-01", "the login flow");
        scene.mail("Alice", 1);
        scene.msg(&["set-status", "--as", "Alice", "reviewing the login flow"]);
        scene.now = "2024-05-17T11:45:00.000Z".to_string();
        scene.msg(&["whoami", "--as", "Alice"]);
        scene.msg(&["whoami", "--as", "Alice", "-v"]);
        scene.msg(&["whoami", "--as", "Alice", "-q"]);
        scene.pi_messengers("RedIce");
        scene.msg(&["whois", "RedIce"]);
        scene.joined("Bob", "terminal");
        scene.msg(&["whois", "bob"]);
    });
}

#[test]
fn names_statuses_and_evictions() {
    check("rename-status-evict", |scene| {
        scene.joined("Alice", "claude");
        scene.msg(&["rename", "Eve", "--as", "Alice"]);
        scene.msg(&["rename", "Eve", "--as", "Alice"]);
        scene.msg(&["whois", "Alice"]);
        scene.msg(&["set-status", "--as", "Eve", "reviewing the login flow"]);
        scene.msg(&["set-status", "--as", "Eve"]);
        scene.joined("Bob", "codex");
        scene.joined("Carol", "gemini");
        scene.claim("Bob", "TASK-01", "the login flow");
        scene.rewrite("Carol", |carol| {
            carol["process"]["bootId"] = json!("elsewhere");
            carol["process"]["machineId"] = json!("elsewhere");
        });
        scene.meanwhile("Bob is alive. Of Carol, who is on another machine, nobody can tell.");
        scene.msg(&["evict", "Bob", "--as", "Eve"]);
        scene.msg(&["evict", "Bob", "--as", "Eve", "--force"]);
        scene.msg(&["evict", "Carol", "--as", "Eve"]);
        scene.meanwhile("What Bob is told.");
        scene.msg(&["whoami", "--as", "Bob"]);
    });
}

#[test]
fn configuring() {
    check("config", |scene| {
        scene.msg(&["config"]);
        scene.msg(&["config", "set", "nameTheme", "space"]);
        scene.msg(&["config", "set", "--project", "nameTheme", "nature"]);
        scene.msg(&["config", "set", "nameTheme", "minimal"]);
        scene.msg(&["config", "set", "wake", "false"]);
        scene.msg(&["config", "set", "mesh", "/srv/mesh"]);
        scene.msg(&["config", "set", "contextMode", "minimal"]);
        scene.msg_with(&[("MSG_MAIL_TURNS", "9")], &["config", "list", "--mesh", "/tmp/mesh"]);
        scene.msg(&["config", "get", "nameTheme"]);
        scene.msg(&["config", "get", "nameWords"]);
        scene.msg(&["config", "unset", "wake"]);
        scene.msg(&["config", "unset", "--project", "nameTheme"]);
        scene.msg(&["config", "list", "-v"]);
    });
}

/// Replaces what depends on the machine that the tests run on.
const MACHINE: [(&str, &str); 6] = [
    (r"(?m)^ok +", "ok    "),
    (r"(?m)^warn +", "warn  "),
    (r"(?m)^fail +", "fail  "),
    (r"(?m)^\w+ +(file system +).*$", "ok    $1[KIND]"),
    (r"(?m)^\w+ +(git +).*$", "ok    $1[VERSION]"),
    (r"(?m)^\w+ +(inotify +).*$", "ok    $1[LIMITS]"),
];

#[test]
fn examining() {
    let play = |scene: &mut Scene| {
        scene.msg(&["doctor"]);
        let (dead, gone) = (scene.joined("Alice", "claude"), scene.joined("Bob", "codex"));
        scene.joined("Carol", "gemini");
        scene.joined("Dave", "gemini");
        scene.msg(&["doctor"]);
        scene.meanwhile("Much goes wrong.");
        scene.env.kill(dead);
        scene.env.kill(gone);
        scene.rewrite("Carol", |carol| {
            carol["process"]["bootId"] = json!("elsewhere");
            carol["process"]["machineId"] = json!("elsewhere");
        });
        put(&scene.env.home().join(".config/ravenry/config.json"), "{\"mailTurn\": 7}");
        put_old(&scene.mesh().join("registry/Eve.json"), "{\"name\": ");
        put_old(&scene.mesh().join("claims.json"), "{");
        put(&scene.mesh().join("swarm.lock"), &dead.to_string());
        put(&scene.mesh().join("tmp/notes.txt"), "");
        let trouble = json!({"ts": "2024-05-17T09:25:00.000Z", "harness": "claude", "event": "PreToolUse",
            "error": "the payload ends too early"});
        put(&scene.mesh().join("trouble.jsonl"), &format!("{trouble}\n{trouble}\n"));
        scene.msg(&["doctor"]);
        scene.msg(&["doctor", "--repair"]);
        scene.msg(&["doctor", "--repair", "-q"]);
    };
    let words = Scene::play(Voice::Words, &play);
    assert_eq!(words.exits, Scene::play(Voice::Json, &play).exits);
    let text = words.transcript.replace(&words.env.path().display().to_string(), "[DIR]");
    let pids = (r"process \d+", "process [PID]");
    snapshot("doctor", text.trim_end(), &[&MACHINE[..], &[pids]].concat());
}

#[test]
fn in_colour() {
    let play = |scene: &mut Scene| {
        scene.now = "2024-05-17T07:30:00.000Z".to_string();
        scene.joined("Alice", "claude");
        scene.joined("Bob", "codex");
        scene.quiet_for("Bob", 60);
        scene.now = NOW.to_string();
        scene.rewrite("Alice", |alice| alice["statusMessage"] = json!("reviewing"));
        for args in [&["agents", "--as", "Alice"][..], &["whois", "Bob"], &["whois", "Bpb"], &["nosuch"]] {
            scene.msg(&[args, &["--color", "always"]].concat());
        }
        put(&scene.env.home().join(".config/ravenry/config.json"), "{\"mailTurn\": 7}");
        scene.msg(&["agents", "-q", "--color", "always"]);
        scene.msg(&["config", "get", "mailTurns", "--color", "always"]);
    };
    let words = Scene::play(Voice::Words, &play);
    let visible = words.transcript.replace('\x1b', "ESC");
    let pids = (r"process \d+", "process [PID]");
    snapshot("colour", visible.trim_end(), &[pids]);
}

/// A text can also come from standard input or a file.
#[test]
fn a_status_from_elsewhere() {
    let scene = Scene::play(Voice::Words, &|scene: &mut Scene| {
        scene.joined("Alice", "claude");
    });
    let file = scene.project().join("status.txt");
    put(&file, "  from\n a file\n");
    let (text, _) = spoken(scene.command().args(["set-status", "--as", "Alice", "--file", "status.txt"]));
    assert_eq!(text, "Alice: “from a file”\n");
    let mut command = scene.command();
    command.args(["set-status", "-", "--as", "Alice"]).stdin(fs::File::open(&file).unwrap());
    assert_eq!(spoken(&mut command).0, "Alice: “from a file”\n");
}

/// `msg` without a command: before anybody joined, without having joined, and as an agent.
#[test]
fn the_front_door() {
    check("welcome", |scene| {
        scene.msg(&[]);
        scene.meanwhile("Alice and Bob join.");
        scene.joined("Alice", "claude");
        scene.joined("Bob", "codex");
        scene.msg(&[]);
        scene.msg(&["--as", "Alice"]);
        scene.meanwhile("Alice has a spec, mail, and then a task; more come.");
        put(&scene.project().join("spec.md"), "- [ ] TASK-01: the form\n- [ ] TASK-02: the session\n");
        scene.rewrite("Alice", |alice| alice["spec"] = json!(scene.project().join("spec.md")));
        scene.mail("Alice", 1);
        scene.msg(&["--as", "Alice"]);
        scene.claim("Alice", "TASK-01", "the login flow");
        scene.mail("Alice", 3);
        for name in ["Carol", "Dave", "Erin", "Faye", "Gus", "Hugo"] {
            scene.joined(name, "pi");
        }
        scene.msg(&["--as", "Alice"]);
        scene.meanwhile("The mesh is open to everybody.");
        fs::set_permissions(scene.mesh(), fs::Permissions::from_mode(0o777)).unwrap();
        scene.msg(&[]);
    });
}
