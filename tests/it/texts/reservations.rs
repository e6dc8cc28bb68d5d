//! Snapshots of `reserve`, `release`, `reservations` and `check`, and of how other commands show reservations.

use std::fs;

use ravenry::sys::test_switches;
use serde_json::json;

use crate::support::environment::{put, put_old};
use crate::texts::{NOW, Scene, Voice, check, shown};

impl Scene {
    /// A project under git, with Alice and Bob in it.
    fn at_work(&mut self) -> u32 {
        put(&self.project().join(".git/HEAD"), "ref: refs/heads/main\n");
        let alice = self.joined("Alice", "claude");
        self.joined("Bob", "codex");
        alice
    }

    /// Runs `msg` in another directory of the home.
    fn msg_in(&mut self, dir: &str, args: &[&str]) {
        let mut command = self.command();
        command.current_dir(self.env.home().join(dir));
        self.run(command, &format!("(in ~/{dir}) msg {}", shown(args)), args);
    }

    /// Runs `msg` with a fixed random seed.
    fn with_seed(&mut self, args: &[&str]) {
        let mut command = self.command();
        command.env(test_switches::SEED, "3");
        self.run(command, &format!("msg {}", shown(args)), args);
    }
}

#[test]
fn reserving_and_releasing() {
    check("reservations", |scene| {
        scene.msg(&["reservations"]);
        scene.at_work();
        for args in [&["reservations"][..], &["reservations", "--mine"], &["release"]] {
            scene.msg(&[args, &["--as", "Alice"]].concat());
        }
        scene.msg(&["reserve", "src/auth/", "--reason", "new login", "--as", "Alice"]);
        scene.msg(&["reserve", "src/**/*.sql", "Cargo.toml", "--ttl", "30m", "--as", "Alice"]);
        scene.msg(&["reserve", "docs/", "-q", "--as", "Bob"]);
        scene.now = "2024-05-17T09:42:00.000Z".to_string();
        scene.msg(&["reserve", "src/auth/", "--reason", "new login, part two", "--as", "Alice"]);
        scene.msg(&["reservations"]);
        scene.msg(&["reservations", "-q"]);
        scene.msg(&["reservations", "--mine", "--as", "Alice"]);
        scene.msg(&["agents"]);
        scene.msg(&["whois", "Alice"]);
        scene.msg(&["check", "src/main.rs", "--as", "Bob"]);
        scene.msg(&["check", "src/auth/login.rs", "--as", "Bob"]);
        scene.msg(&["check", "src/auth/login.rs", "-q", "--as", "Bob"]);
        scene.msg(&["check", "src/main.rs", "src/auth/login.rs", "Cargo.toml", "docs/x", "--as", "Bob"]);
        scene.msg(&["check", "src/auth/login.rs", "--as", "Alice"]);
        scene.meanwhile("One of whom nobody knows who it is.");
        scene.msg(&["check", "docs/x"]);
        scene.meanwhile("Bob wants what Alice has.");
        scene.msg(&["reserve", "src/auth/", "--as", "Bob"]);
        scene.msg(&["reserve", "src/", "test/", "Cargo.toml", "--as", "Bob"]);
        scene.with_seed(&["release", "Cargo.toml", "--as", "Alice"]);
        scene.with_seed(&["read", "--as", "Bob"]);
        scene.with_seed(&["release", "--as", "Alice"]);
        scene.with_seed(&["read", "--as", "Bob"]);
        scene.msg(&["reserve", "src/", "--as", "Bob"]);
    });
}

#[test]
fn contesting() {
    check("contests", |scene| {
        scene.at_work();
        scene.joined("Carol", "gemini");
        scene.msg(&["reserve", "src/", "--reason", "new login", "--as", "Alice"]);
        scene.msg(&["contest", "src/auth/", "--reason", "the release waits", "--as", "Bob"]);
        scene.msg(&["contest", "src/", "--as", "Carol"]);
        scene.meanwhile("What can't be contested.");
        for path in ["docs/", ".", "../.."] {
            scene.msg(&["contest", path, "--as", "Bob"]);
        }
        scene.msg(&["contest", "src/x", "--as", "Alice"]);
        scene.meanwhile("What can't be taken.");
        scene.msg(&["release", "src/", "--from", "Alice", "--as", "Carol"]);
        scene.msg(&["release", "docs/", "--from", "Alice", "--as", "Bob"]);
        scene.msg(&["release", "src/", "--from", "Alic", "--as", "Bob"]);
        scene.msg(&["release", "src/", "test/", "--from", "Alice", "--as", "Bob"]);
        scene.with_seed(&["read", "--as", "Alice"]);
        scene.meanwhile("The time is over.");
        for name in ["Bob", "Carol"] {
            let file = scene.mesh().join(format!("registry/{name}.json"));
            let mut agent: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
            agent["contests"][0]["started"]["millis"] = json!(0);
            fs::write(&file, agent.to_string()).unwrap();
        }
        scene.msg(&["contest", "src/auth/", "--as", "Bob"]);
        scene.msg(&["reservations"]);
        scene.msg(&["release", "src/auth/", "--from", "Alice", "--as", "Bob"]);
        scene.with_seed(&["read", "--as", "Alice"]);
        scene.msg(&["release", "src/", "--as", "Carol"]);
        scene.msg(&["release", "src/auth/", "--from", "Bob"]);
        scene.msg(&["feed"]);
    });
}

#[test]
fn what_becomes_of_it() {
    check("reservations-lost-and-found", |scene| {
        let alice = scene.at_work();
        scene.msg(&["reserve", "src/", "docs/", "--as", "Alice"]);
        scene.meanwhile("Alice's process is killed, and Bob is faster than she is.");
        scene.env.kill(alice);
        scene.msg(&["reservations"]);
        scene.msg(&["reserve", "docs/manual.md", "--as", "Bob"]);
        let pid = scene.host();
        scene.msg(&["join", "--pid", &pid, "--session", "session-of-Alice"]);
        scene.msg(&["reservations"]);
        scene.meanwhile("A stranger removes her registration, and Bob takes some of it again.");
        fs::remove_file(scene.mesh().join("registry/Alice.json")).unwrap();
        scene.msg(&["reserve", "src/main.rs", "--as", "Bob"]);
        scene.msg(&["whoami", "--as", "Alice"]);
        scene.meanwhile("Another work tree of the same repository.");
        put(&scene.project().join(".git/worktrees/linked/HEAD"), "ref: refs/heads/topic\n");
        put(&scene.project().join(".git/worktrees/linked/commondir"), "../..\n");
        put(&scene.env.home().join("linked/.git"), "gitdir: ../project/.git/worktrees/linked\n");
        scene.msg_in("linked", &["reserve", "src/*.rs", "--as", "Alice"]);
        scene.meanwhile("RedIce is an agent of pi-messenger, and Eve's registration is torn.");
        scene.pi_messengers("RedIce");
        put_old(&scene.mesh().join("registry/Eve.json"), "{\"name\": \"Eve\", ");
        scene.now = NOW.to_string();
        scene.msg(&["reservations"]);
        scene.msg(&["check", "src/auth/login.ts", "--as", "Bob"]);
        scene.msg(&["leave", "--as", "Bob"]);
    });
}

/// No control character of a foreign registration reaches a terminal.
#[test]
fn what_a_peer_reserves() {
    const TRICKS: &str = "a\u{1b}[31mred\u{1b}]0;title\u{7} b\u{202e}c\u{200b}d\r e";
    let scene = Scene::play(Voice::Words, &|scene: &mut Scene| {
        scene.at_work();
        scene.pi_messengers("RedIce");
        scene.rewrite("RedIce", |ice| {
            ice["reservations"][0] =
                json!({"pattern": format!("src/{TRICKS}"), "reason": TRICKS, "since": NOW});
        });
        scene.msg(&["reserve", "src/", "--as", "Bob"]);
        scene.msg(&["check", &format!("src/{TRICKS}"), "x", "--as", "Bob"]);
        scene.msg(&["reservations"]);
        scene.msg(&["agents"]);
        scene.msg(&["whois", "RedIce"]);
    });
    assert_eq!(scene.exits, [Some(1), Some(1), Some(0), Some(0), Some(0)]);
    let bad = |c: char| c != '\n' && c.is_control() || matches!(c, '\u{202e}' | '\u{200b}');
    let answers: Vec<&str> = scene.transcript.lines().filter(|line| !line.starts_with("$ ")).collect();
    assert!(!answers.concat().contains(bad), "{answers:?}");
    assert!(scene.transcript.contains("a\\u{1b}[31mred"), "{}", scene.transcript);
}

#[test]
fn reservations_that_cannot_be() {
    check("errors-reservations", |scene| {
        scene.msg(&["reserve", "src/"]);
        scene.msg(&["release"]);
        scene.msg(&["reservations", "--mine"]);
        scene.at_work();
        scene.msg(&["reserve", "--as", "Alice"]);
        for pattern in ["", "src/[a", "src/{a,b", "src/*/../x", "a\u{7}b"] {
            scene.msg(&["reserve", pattern, "--as", "Alice"]);
        }
        for ttl in ["soon", "0s", "-5m", "1000d"] {
            scene.msg(&["reserve", "src/", &format!("--ttl={ttl}"), "--as", "Alice"]);
        }
        scene.msg(&["reserve", "src/", "--reason", &"x".repeat(301), "--as", "Alice"]);
        scene.msg(&["reserve", "src/", "--reason", "a\u{1b}[31mb", "--as", "Alice"]);
        let outside = scene.env.path().join("elsewhere").display().to_string();
        for pattern in ["/", "/*", "~", "..", "../other/*.rs", &outside] {
            scene.msg(&["reserve", pattern, "--as", "Alice"]);
        }
        scene.msg(&["reserve", "../other/*.rs", &outside, "--force-broad", "--as", "Alice"]);
        scene.msg(&["release", "src/", "--as", "Alice"]);
        scene.msg(&["release", "src/", "--as", "Bob"]);
        let many: Vec<String> = (0..500).map(|number| format!("f{number}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let mut command = scene.command();
        command.args(["--as", "Alice"]);
        scene.run(command, "msg reserve f0 f1 f2 … f499 --as Alice", &[&["reserve"], &many[..]].concat());
        scene.msg(&["check"]);
        scene.msg(&["check", ""]);
        scene.pi_messengers("RedIce");
        scene.meanwhile("RedIce is an agent of pi-messenger.");
        scene.msg(&["reserve", "lib/", "--as", "RedIce"]);
        scene.msg(&["release", "--as", "RedIce"]);
        scene.msg(&["reserve", "config.yaml", "--as", "Bob"]);
    });
}
