//! Snapshots of every error that a person can cause, with the hint.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use ravenry::sys::flock::FileLock;
use serde_json::json;

use crate::support::environment::{put, put_old};
use crate::texts::{Scene, Voice, check, one_object, spoken};

#[test]
fn arguments_that_are_none() {
    check("errors-usage", |scene| {
        for args in [
            &["nosuch"][..],
            &["jion"],
            &["whois"],
            &["evict"],
            &["rename"],
            &["config", "set", "mesh"],
            &["config", "nosuch"],
            &["join", "Alice", "Bob"],
            &["agents", "--all"],
            &["agents", "--color", "sometimes"],
            &["join", "--pid", "shell"],
            &["set-status", "busy", "--file", "status.txt"],
            &["completions", "tcsh"],
        ] {
            scene.msg(args);
        }
    });
}

#[test]
fn names_and_values_that_cannot_be() {
    check("errors-values", |scene| {
        let pid = scene.host();
        let long = "x".repeat(51);
        for name in ["../x", ".hidden", "a/b", "-a", "", &long, "Ärger", "two words", "a\u{7}b", "All"] {
            scene.msg(&["join", "--pid", &pid, "--", name]);
        }
        scene.msg_with(&[("MSG_AGENT", "../x")], &["join", "--pid", &pid]);
        scene.msg_with(&[("PI_AGENT_NAME", "a/b")], &["join", "--pid", &pid]);
        scene.msg(&["agents", "--as", "../x"]);
        scene.msg(&["whois", "../x"]);
        for bad in ["0", "-1", "99999999", "4194304"] {
            scene.msg(&["join", "Alice", "--pid", bad]);
        }
        scene.msg(&["join", "Alice", "--pid", &pid, "--harness", "emacs"]);
        scene.msg(&["join", "Alice", "--pid", &pid, "--spec", "nosuch.md"]);
        scene.msg(&["join", "Alice", "--pid", &pid, "--session", ""]);
        assert!(!scene.mesh().exists(), "nothing is written");
        scene.joined("Alice", "claude");
        scene.msg(&["set-status", "--as", "Alice", &"x".repeat(201)]);
        scene.msg(&["set-status", "--as", "Alice", "a\u{1b}[31mb"]);
        scene.msg(&["set-status", "--as", "Alice", "--file", "nosuch.txt"]);
        scene.msg(&["rename", "../x", "--as", "Alice"]);
    });
}

#[test]
fn names_that_are_taken() {
    check("errors-taken", |scene| {
        let alice = scene.host();
        let other = scene.host();
        scene.msg(&["join", "Alice", "--pid", &alice]);
        scene.msg(&["join", "Alice", "--pid", &other]);
        scene.msg(&["join", "ALICE", "--pid", &other]);
        scene.msg(&["join", "Bob", "--pid", &alice]);
        scene.msg_with(&[("MSG_AGENT", "Alice")], &["join", "--pid", &other]);
        scene.msg(&["rename", "Carol", "--as", "Alice"]);
        scene.msg(&["join", "Alice", "--pid", &other]);
        scene.msg(&["rename", "CAROL", "--as", "Carol"]);
        put_old(&scene.mesh().join("registry/Eve.json"), "{");
        scene.msg(&["join", "Eve", "--pid", &other]);
        scene.meanwhile("One name can be made up, with all the numbers behind it, and all are taken.");
        for number in std::iter::once(String::new()).chain((2..=99).map(|number| number.to_string())) {
            put_old(&scene.mesh().join(format!("registry/RedFox{number}.json")), "");
        }
        let words = r#"{"adjectives": ["Red"], "nouns": ["Fox"]}"#;
        let custom = [("MSG_NAME_THEME", "custom"), ("MSG_NAME_WORDS", words)];
        scene.msg_with(&custom, &["join", "--pid", &other]);
    });
}

#[test]
fn whom_it_is_about() {
    check("errors-who", |scene| {
        scene.msg(&["whoami"]);
        scene.msg(&["join"]);
        scene.msg(&["whois", "Alice"]);
        let alice = scene.joined("Alice", "claude");
        scene.joined("Bob", "codex");
        scene.joined("Carol", "gemini");
        scene.msg(&["whoami"]);
        scene.msg(&["leave"]);
        scene.msg(&["whois", "Alcie"]);
        scene.msg(&["whois", "Zed"]);
        scene.msg(&["whoami", "--as", "Alcie"]);
        scene.msg_with(&[("MSG_AGENT", "Alcie")], &["whoami"]);
        scene.msg(&["evict", "Alcie", "--as", "Bob"]);
        scene.msg(&["evict", "Bob", "--as", "Bob"]);
        scene.pi_messengers("RedIce");
        scene.meanwhile("RedIce is an agent of pi-messenger.");
        scene.msg(&["set-status", "busy", "--as", "RedIce"]);
        scene.msg(&["rename", "BlueIce", "--as", "RedIce"]);
        scene.msg(&["leave", "--as", "RedIce"]);
        scene.msg(&["evict", "RedIce", "--as", "Bob", "--force"]);
        scene.meanwhile("Alice's process ends. Bob leaves.");
        scene.env.kill(alice);
        scene.msg(&["whoami", "--as", "Alice"]);
        scene.msg(&["leave", "--as", "Bob"]);
        scene.msg(&["whoami", "--as", "Bob"]);
        scene.msg(&["whois", "Bob"]);
        scene.meanwhile("A stranger removes Carol's registration.");
        fs::remove_file(scene.mesh().join("registry/Carol.json")).unwrap();
        scene.msg(&["whoami", "--as", "Carol"]);
    });
}

/// Two agents share a process, and nothing distinguishes them.
#[test]
fn it_is_not_clear_who_is_calling() {
    let script = |json: &str| {
        let join = |name: &str| format!("msg join {name} --pid $$ --session {name} >/dev/null");
        // Not the last command, because some shells would replace themselves by it instead of starting it.
        format!("{}; {}; msg whoami {json}; exit $?", join("One"), join("Two"))
    };
    let msg = std::path::Path::new(env!("CARGO_BIN_EXE_msg")).parent().unwrap();
    let play = |json: &str| {
        let scene = Scene::play(Voice::Words, &|_: &mut Scene| {});
        let mut shell = std::process::Command::new("sh");
        let given = scene.command();
        shell.env_clear().envs(given.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let path = format!("{}:{}", msg.display(), std::env::var("PATH").unwrap_or_default());
        shell.env("PATH", path).current_dir(scene.project()).args(["-c", &script(json)]);
        spoken(&mut shell)
    };
    let (text, code) = play("");
    assert_eq!(code, Some(3));
    assert_eq!(
        text,
        "error: several agents share this process: One, Two\nhint: say who you are with `--as NAME`\n"
    );
    let (text, code) = play("--json");
    let error = one_object("msg whoami", &text, code)["error"].clone();
    assert_eq!((&error["kind"], &error["agents"]), (&json!("ambiguous_caller"), &json!(["One", "Two"])));
}

#[test]
fn a_mesh_that_is_not_as_it_should_be() {
    check("errors-mesh", |scene| {
        let pid = scene.host();
        scene.msg_with(&[("MSG_TEST_FLOCK", "useless")], &["join", "Alice", "--pid", &pid]);
        scene.joined("Alice", "claude");
        scene.joined("Bob", "codex");
        let lock = scene.mesh().join("mesh.lock");
        let held = FileLock::acquire(&lock, Duration::ZERO).unwrap();
        scene.meanwhile("Somebody holds mesh.lock and does not let go of it.");
        scene.msg_with(&[("MSG_LOCK_TIMEOUT", "0.05")], &["set-status", "busy", "--as", "Alice"]);
        drop(held);
        scene.meanwhile("Now it is swarm.lock.");
        scene.claim("Bob", "TASK-01", "the login flow");
        put(&scene.mesh().join("swarm.lock"), &pid);
        scene.msg_with(&[("MSG_LOCK_TIMEOUT", "0.05")], &["leave", "--as", "Bob"]);
        fs::remove_file(scene.mesh().join("swarm.lock")).unwrap();
        scene
            .meanwhile("Registrations are damaged: Eve's is cut off, and Mallory's says that it is Alice's.");
        put_old(&scene.mesh().join("registry/Eve.json"), "{\"name\": \"Eve\", ");
        let of_alice = fs::read_to_string(scene.mesh().join("registry/Alice.json")).unwrap();
        put_old(&scene.mesh().join("registry/Mallory.json"), &of_alice);
        scene.msg(&["agents"]);
        scene.msg(&["whois", "Eve"]);
        scene.msg(&["whoami", "--as", "Eve"]);
        scene.msg(&["evict", "Eve", "--as", "Alice"]);
        scene.meanwhile("claims.json is damaged.");
        put_old(&scene.mesh().join("claims.json"), "{");
        scene.msg(&["agents"]);
        scene.msg(&["leave", "--as", "Bob"]);
        scene.meanwhile("Others may write to the mesh.");
        fs::set_permissions(scene.mesh(), fs::Permissions::from_mode(0o777)).unwrap();
        scene.msg(&["agents"]);
        scene.meanwhile("The mesh is a file.");
        put(&scene.env.home().join("file"), "");
        scene.msg(&["agents", "--mesh", "~/file"]);
        scene.msg(&["join", "Alice", "--pid", &pid, "--mesh", "~/file"]);
        scene.msg(&["join", "Alice", "--pid", &pid, "--mesh", "~/file/mesh"]);
    });
}

#[test]
fn configuration_that_is_not_as_it_should_be() {
    check("errors-config", |scene| {
        scene.msg(&["config", "get", "nametheme"]);
        scene.msg(&["config", "set", "zzz", "1"]);
        for (key, value) in [
            ("nameTheme", "Space"),
            ("mailTurns", "many"),
            ("strict", "yes"),
            ("wake", "{\"loud\": true}"),
            ("nameWords", "{\"adjectives\": [\"../x\"], \"nouns\": [\"Fox\"]}"),
            ("nameWords", "Red,Fox"),
            ("domains", "auth"),
            ("domains", "{\"auth\": {\"words\": [\"the\"]}}"),
            ("domains", "{\"auth\": {\"paths\": [\"../x\"]}}"),
        ] {
            scene.msg(&["config", "set", key, value]);
        }
        scene.msg(&["config", "set", "--project", "strict", "true"]);
        scene.msg_with(&[("MSG_STRICT", "yes")], &["agents"]);
        let config = scene.env.home().join(".config/ravenry/config.json");
        scene.meanwhile("A key that is none, and a project that asks for too much.");
        put(&config, "{\"mailTurn\": 7}");
        put(&scene.project().join(".ravenry/config.json"), "{\"mesh\": \"/elsewhere\"}");
        scene.msg(&["agents"]);
        scene.meanwhile("A value of the wrong kind.");
        put(&config, "{\"mailTurns\": \"many\"}");
        scene.msg(&["agents"]);
        scene.meanwhile("A file that can't be parsed.");
        put(&config, "{\n  \"mailTurns\": 7,\n  oops\n}\n");
        scene.msg(&["agents"]);
        scene.msg(&["config", "set", "mailTurns", "8"]);
    });
}
