//! Crash sweeps of joining, coming back, burying, leaving, renaming and evicting.

use std::fs;

use serde_json::{Value, json};

use crate::crashes::{Scene, Sweep};
use crate::support::environment::TestEnvironment;

fn claim(env: &TestEnvironment, name: &str) {
    let registration = env.registration(name);
    let entry = json!({
        "agent": name, "sessionId": registration["sessionId"], "pid": registration["pid"],
        "claimedAt": "2026-11-14T23:57:56.081Z", "process": registration["process"],
    });
    fs::write(env.mesh().join("claims.json"), json!({ "/spec.md": { "TASK-01": entry } }).to_string())
        .unwrap();
}

fn claims(env: &TestEnvironment) -> Value {
    serde_json::from_str(&fs::read_to_string(env.mesh().join("claims.json")).unwrap()).unwrap()
}

/// Alice and Bob are there; Alice has mail and a claim.
fn alice_and_bob() -> Scene {
    Scene::new(|env| {
        env.join("Alice");
        env.join("Bob");
        env.drop_mail("Alice", "one");
        env.drop_mail("Alice", "two");
        claim(env, "Alice");
    })
}

/// Alice is dead and has mail.
fn dead_alice(env: &TestEnvironment) {
    let host = env.join("Alice");
    env.join("Bob");
    env.drop_mail("Alice", "one");
    env.drop_mail("Alice", "two");
    env.kill(host);
}

#[test]
fn joining() {
    let scene = Scene::new(|env| {
        env.join("Bob");
    });
    let host = scene.env.host().to_string();
    let join = ["join", "Alice", "--pid", &host, "--session", "new"];
    scene.sweep(&Sweep {
        command: &join,
        recovery: &join,
        codes: &[0],
        settled: &|env| {
            assert_eq!(env.names(), ["Alice", "Bob"]);
            assert_eq!(fs::read_dir(env.mesh().join("tmp")).unwrap().count(), 0, "swept");
            assert!(env.mesh().join("inbox/Alice").is_dir());
        },
    });
}

#[test]
fn coming_back() {
    let scene = Scene::new(|env| {
        dead_alice(env);
        assert_eq!(env.names(), ["Bob"]);
    });
    let host = scene.env.host().to_string();
    let join = ["join", "--pid", &host, "--session", "session of Alice"];
    let settled = |env: &TestEnvironment| {
        assert_eq!(env.names(), ["Alice", "Bob"]);
        assert_eq!(env.mail(), ["inbox/Alice/one.json", "inbox/Alice/two.json"]);
        assert_eq!(fs::read_dir(env.mesh().join("graves")).unwrap().count(), 0);
        assert!(env.registration("Alice").get("restores").is_none());
    };
    scene.sweep(&Sweep { command: &join, recovery: &join, codes: &[0], settled: &settled });
}

/// An agent that returns need not join again to get its mail: any command of its own finishes the return.
#[test]
fn coming_back_is_finished_by_any_command() {
    let scene = Scene::new(|env| {
        dead_alice(env);
        assert_eq!(env.names(), ["Bob"]);
    });
    let host = scene.env.host().to_string();
    let join = ["join", "--pid", &host, "--session", "session of Alice"];
    let mut half_way = 0;
    for n in 1.. {
        scene.reset();
        if scene.crash(&join, n).is_some() {
            break;
        }
        if scene.env.mesh().join("registry/Alice.json").exists() {
            half_way += 1;
            scene.env.ok(&["whoami", "--as", "Alice"]);
            assert_eq!(scene.env.mail(), ["inbox/Alice/one.json", "inbox/Alice/two.json"], "killed at {n}");
        }
    }
    assert!(half_way > 0);
}

#[test]
fn taking_a_dead_ones_name() {
    let scene = Scene::new(dead_alice);
    let host = scene.env.host().to_string();
    let join = ["join", "Alice", "--pid", &host, "--session", "stranger"];
    scene.sweep(&Sweep {
        command: &join,
        recovery: &join,
        codes: &[0],
        settled: &|env| {
            assert_eq!(env.names(), ["Alice", "Bob"]);
            assert_eq!(env.ok(&["whois", "Alice"])["agent"]["unread"], 0, "{:?}", env.mail());
            assert!(env.mail().iter().all(|path| path.starts_with("graves/Alice-")), "{:?}", env.mail());
        },
    });
}

#[test]
fn burying() {
    let scene = Scene::new(dead_alice);
    scene.sweep(&Sweep {
        command: &["agents"],
        recovery: &["agents"],
        codes: &[0],
        settled: &|env| {
            assert_eq!(env.names(), ["Bob"]);
            assert!(!env.mesh().join("registry/Alice.json").exists());
            assert_eq!(env.ok(&["agents", "--gone"])["agents"][0]["unread"], 2);
        },
    });
}

#[test]
fn leaving() {
    let scene = alice_and_bob();
    let leave = ["leave", "--as", "Alice"];
    scene.sweep(&Sweep {
        command: &leave,
        recovery: &leave,
        codes: &[0, 3],
        settled: &|env| {
            assert_eq!(env.names(), ["Bob"]);
            assert_eq!(claims(env), json!({}));
            assert!(env.mail().iter().all(|path| path.starts_with("graves/Alice-")), "{:?}", env.mail());
        },
    });
}

#[test]
fn renaming() {
    let scene = alice_and_bob();
    let rename = ["rename", "Carol", "--as", "Alice"];
    scene.sweep(&Sweep {
        command: &rename,
        recovery: &rename,
        codes: &[0],
        settled: &|env| {
            assert_eq!(env.names(), ["Bob", "Carol"]);
            assert!(!env.mesh().join("registry/Alice.json").exists());
            let carol = env.ok(&["whois", "Carol"])["agent"].clone();
            assert_eq!((&carol["unread"], &carol["claim"]["agent"]), (&json!(2), &json!("Carol")));
        },
    });
}

/// Each of the two names is a former one of the other.
#[test]
fn renaming_back() {
    let scene = Scene::new(|env| {
        env.join("Alice");
        env.join("Bob");
        env.drop_mail("Alice", "one");
        env.ok(&["rename", "Carol", "--as", "Alice"]);
        env.drop_mail("Carol", "two");
        claim(env, "Carol");
    });
    let rename = ["rename", "Alice", "--as", "Carol"];
    scene.sweep(&Sweep {
        command: &rename,
        recovery: &rename,
        codes: &[0],
        settled: &|env| {
            assert_eq!(env.names(), ["Alice", "Bob"]);
            let alice = env.ok(&["whois", "Alice"])["agent"].clone();
            assert_eq!((&alice["unread"], &alice["claim"]["agent"]), (&json!(2), &json!("Alice")));
        },
    });
}

/// If the evicting command dies half way, the victim is still alive and keeps everything.
#[test]
fn an_eviction_cut_short_costs_its_victim_nothing() {
    let scene = alice_and_bob();
    let mut half_way = 0;
    for n in 1.. {
        scene.reset();
        if scene.crash(&["evict", "Alice", "--as", "Bob", "--force"], n).is_some() {
            break;
        }
        if scene.env.mesh().join("registry/Alice.json").exists() {
            half_way += usize::from(scene.env.mail()[0].starts_with("graves"));
            scene.env.ok(&["whoami", "--as", "Alice"]);
            assert_eq!(scene.env.mail(), ["inbox/Alice/one.json", "inbox/Alice/two.json"], "killed at {n}");
            scene.env.ok(&["whoami", "--as", "Alice"]);
        }
    }
    assert!(half_way > 0);
}

/// An agent that joined and died before its session was recorded is still recognised.
#[test]
fn a_join_cut_short_keeps_its_name() {
    let scene = Scene::new(|env| {
        env.join("Bob");
    });
    let mut half_way = 0;
    for n in 1.. {
        scene.reset();
        let host = scene.env.host();
        let survived = scene.crash(&["join", "Alice", "--pid", &host.to_string(), "--session", "new"], n);
        let registered = scene.env.mesh().join("registry/Alice.json").exists();
        scene.env.kill(host);
        assert_eq!(scene.env.names(), ["Bob"]);
        if registered {
            let again = scene.env.host().to_string();
            let back = scene.env.ok(&["join", "--pid", &again, "--session", "new"]);
            assert_eq!(back["agent"]["name"], "Alice", "killed at {n}");
        }
        half_way += usize::from(registered && survived.is_none());
        if let Some(ended) = survived {
            ended.expect_code(0);
            break;
        }
    }
    assert!(half_way > 0, "nobody died with the name taken");
}

/// At every step others see one agent under one name.
#[test]
fn renaming_is_never_seen_half_done() {
    let scene = alice_and_bob();
    let mut half_way = 0;
    for n in 1.. {
        scene.reset();
        let survived = scene.crash(&["rename", "Carol", "--as", "Alice"], n);
        let is_there = |name: &str| scene.env.mesh().join(format!("registry/{name}.json")).exists();
        half_way += usize::from(survived.is_none() && is_there("Alice") && is_there("Carol"));
        let names = scene.env.names();
        assert!(names == ["Alice", "Bob"] || names == ["Bob", "Carol"], "killed at {n}: {names:?}");
        let alice = scene.env.ok(&["whois", "Alice"])["agent"].clone();
        assert_eq!(
            (&alice["unread"], &alice["claim"]["task"]),
            (&json!(2), &json!("TASK-01")),
            "killed at {n}"
        );
        if let Some(ended) = survived {
            ended.expect_code(0);
            assert_eq!(names, ["Bob", "Carol"]);
            break;
        }
    }
    assert!(half_way > 0, "nobody died under both names");
}

#[test]
fn evicting() {
    let scene = alice_and_bob();
    let evict = ["evict", "Alice", "--as", "Bob", "--force"];
    scene.sweep(&Sweep {
        command: &evict,
        recovery: &evict,
        codes: &[0, 1],
        settled: &|env| {
            assert_eq!(env.names(), ["Bob"]);
            assert_eq!(claims(env), json!({}));
            assert_eq!(env.fails(3, &["whoami", "--as", "Alice"]), "evicted");
        },
    });
}

#[test]
fn a_new_session_id() {
    let scene = alice_and_bob();
    let pid = scene.env.registration("Alice")["pid"].to_string();
    let join = ["join", "--pid", &pid, "--session", "after clear"];
    scene.sweep(&Sweep {
        command: &join,
        recovery: &join,
        codes: &[0],
        settled: &|env| {
            let alice = env.ok(&["whois", "Alice"])["agent"].clone();
            assert_eq!(
                (&alice["sessionId"], &alice["claim"]["sessionId"]),
                (&json!("after clear"), &json!("after clear"))
            );
        },
    });
}

#[test]
fn setting_a_status() {
    let scene = alice_and_bob();
    let command = ["set-status", "thinking", "--as", "Alice"];
    scene.sweep(&Sweep {
        command: &command,
        recovery: &command,
        codes: &[0],
        settled: &|env| assert_eq!(env.registration("Alice")["statusMessage"], "thinking"),
    });
}
