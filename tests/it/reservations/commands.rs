//! Tests of the exact answers of `reserve`, `release`, `reservations` and `check`.

use ravenry::ops::MAX_RESERVATIONS;
use serde_json::json;

use super::{assert_free, assert_held, listed, refused, reserve, root, run_at, two};
use crate::support::environment::TestEnvironment;

const NOON: &str = "2026-11-15T12:00:00.000Z";

#[test]
fn what_is_granted_is_told_and_listed() {
    let env = two();
    let reserve = ["reserve", "src/auth/", "*.md", "--reason", " new\n login ", "--ttl", "30m"];
    let said = run_at(&env, NOON, &[&reserve[..], &["--as", "Alice"]].concat()).expect_code(0).json();
    let row = |pattern: &str| {
        json!({
            "pattern": pattern, "root": root(&env), "holder": "Alice", "reason": "new login",
            "since": NOON, "expiresAt": "2026-11-15T12:30:00.000Z",
        })
    };
    let rows = json!([row("*.md"), row("src/auth/")]);
    assert_eq!(said, json!({"ok": true, "reservations": [row("src/auth/"), row("*.md")], "renewed": 0}));
    let listing = run_at(&env, NOON, &["reservations"]).expect_code(0).json();
    assert_eq!(listing, json!({"ok": true, "reservations": rows}));
    let mine = run_at(&env, NOON, &["reservations", "--mine", "--as", "Alice"]).expect_code(0).json();
    assert_eq!(mine, listing);
    let not_mine = run_at(&env, NOON, &["reservations", "--mine", "--as", "Bob"]).expect_code(0).json();
    assert_eq!(not_mine, json!({"ok": true, "reservations": []}));
    let on_disk = env.registration("Alice")["reservations"][0].clone();
    assert_eq!((&on_disk["pattern"], &on_disk["root"]), (&json!("src/auth/"), &json!(root(&env))));
}

#[test]
fn what_has_no_reason_and_no_end_says_so() {
    let env = two();
    let said = run_at(&env, NOON, &["reserve", "docs", "--as", "Alice"]).expect_code(0).json();
    let row = json!({
        "pattern": "docs", "root": root(&env), "holder": "Alice", "reason": null, "since": NOON,
        "expiresAt": null,
    });
    assert_eq!(said["reservations"], json!([row]));
}

#[test]
fn all_or_none_and_who_is_in_the_way() {
    let env = two();
    let reason = ["--reason", "new login", "--as", "Alice"];
    run_at(&env, NOON, &[&["reserve", "src/auth/"][..], &reason].concat()).expect_code(0);
    run_at(&env, NOON, &["reserve", "b*", "--as", "Alice"]).expect_code(0);
    let wish = ["reserve", "docs/", "src/**/*.rs", "bin", "--as", "Bob"];
    let said = run_at(&env, NOON, &wish).expect_code(1).json();
    let error = &said["error"];
    assert_eq!((&said["ok"], &error["kind"]), (&json!(false), &json!("reserved")));
    let row = |pattern: &str, wanted: &str, reason: serde_json::Value| {
        json!({
            "pattern": pattern, "wanted": wanted, "holder": "Alice", "reason": reason, "since": NOON,
            "root": root(&env), "expiresAt": null,
        })
    };
    let conflicts = [row("src/auth/", "src/**/*.rs", json!("new login")), row("b*", "bin", json!(null))];
    assert_eq!(error["conflicts"], json!(conflicts));
    insta::assert_snapshot!(
        error["message"].as_str().unwrap(),
        @"Alice holds `src/auth/` (0s), which overlaps `src/**/*.rs`: “new login”; also in the way: Alice (`b*`)"
    );
    assert_eq!(listed(&env), ["Alice b*", "Alice src/auth/"], "nothing of it was granted");
    assert_free(&env, "Alice", &["docs/x", "src/x.rs"]);
}

#[test]
fn checking() {
    let env = two();
    let reason = ["--reason", "new login", "--ttl", "1h", "--as", "Alice"];
    run_at(&env, NOON, &[&["reserve", "src/auth/"][..], &reason].concat()).expect_code(0);
    let free = |path: &str| {
        json!({
            "path": path, "free": true, "holder": null, "pattern": null, "root": null, "reason": null,
            "since": null, "expiresAt": null,
        })
    };
    let held = json!({
        "path": "./src/auth/x.rs", "free": false, "holder": "Alice", "pattern": "src/auth/",
        "root": root(&env), "reason": "new login", "since": NOON, "expiresAt": "2026-11-15T13:00:00.000Z",
    });
    let all = ["check", "src/main.rs", "./src/auth/x.rs"];
    // Bob may not change them, and neither may an unknown caller.
    for who in [&["--as", "Bob"][..], &[]] {
        let said = run_at(&env, NOON, &[&all[..], who].concat()).expect_code(1).json();
        assert_eq!((&said["ok"], &said["error"]["kind"]), (&json!(false), &json!("reserved")));
        assert_eq!(said["paths"], json!([free("src/main.rs"), held]));
    }
    let mine = run_at(&env, NOON, &[&all[..], &["--as", "Alice"]].concat()).expect_code(0).json();
    assert_eq!(mine, json!({"ok": true, "paths": [free("src/main.rs"), free("./src/auth/x.rs")]}));
}

/// A question about a directory includes everything in it.
#[test]
fn a_directory_is_asked_about_with_all_beneath_it() {
    let env = two();
    reserve(&env, "Alice", &["src/auth/login.rs"]);
    for held in ["src/", ".", "src/auth/", "src/auth/login.rs"] {
        assert_held(&env, "Bob", &[held], "Alice");
    }
    assert_free(&env, "Bob", &["docs/", "src/authors", "src/auth/logout.rs"]);
    assert_free(&env, "Alice", &["src/"]);
}

#[test]
fn checking_changes_nothing_and_needs_no_mesh() {
    let env = TestEnvironment::new();
    env.ok(&["check", "x"]);
    assert_eq!(env.ok(&["reservations"])["reservations"], json!([]));
    assert!(!env.mesh().exists());
}

#[test]
fn releasing_what_is_named_or_all() {
    let env = two();
    reserve(&env, "Alice", &["a/", "b", "c*", "d/*/"]);
    let said = env.ok(&["release", "./a", "a/", "--as", "Alice"]);
    let row = &said["released"][0];
    assert_eq!((&row["pattern"], &row["holder"]), (&json!("a/"), &json!("Alice")));
    assert_eq!(said["released"].as_array().unwrap().len(), 1, "named twice, released once: {said}");
    assert_eq!(listed(&env), ["Alice b", "Alice c*", "Alice d/*/"]);
    assert_eq!(env.fails(1, &["release", "b", "x", "--as", "Alice"]), "not_reserved");
    assert_eq!(env.fails(1, &["release", "b", "--as", "Bob"]), "not_reserved");
    assert_eq!(listed(&env), ["Alice b", "Alice c*", "Alice d/*/"], "if one is not mine, nothing changes");
    assert_eq!(env.fails(1, &["release", "cc", "--as", "Alice"]), "not_reserved", "covered is not reserved");
    assert_eq!(env.ok(&["release", "--as", "Alice"])["released"].as_array().unwrap().len(), 3);
    assert_eq!(env.ok(&["release", "--as", "Alice"]), json!({"ok": true, "released": []}));
    assert!(listed(&env).is_empty());
}

#[test]
fn renewing_keeps_the_age() {
    let env = two();
    let first = ["reserve", "src/", "--reason", "one", "--ttl", "1h", "--as", "Alice"];
    run_at(&env, NOON, &first).expect_code(0);
    let later = "2026-11-15T12:30:00.000Z";
    let renew = |more: &[&str]| {
        let said = run_at(&env, later, &[&["reserve", "src", "--as", "Alice"][..], more].concat());
        let said = said.expect_code(0).json();
        assert_eq!((said["renewed"].as_u64(), said["reservations"].as_array().unwrap().len()), (Some(1), 1));
        let row = said["reservations"][0].clone();
        assert_eq!((&row["pattern"], &row["since"]), (&json!("src/"), &json!(NOON)), "{row}");
        (row["reason"].clone(), row["expiresAt"].clone())
    };
    std::fs::create_dir(env.work().join("src")).unwrap();
    assert_eq!(renew(&["--reason", "two", "--ttl", "2h"]), (json!("two"), json!("2026-11-15T14:30:00.000Z")));
    assert_eq!(renew(&[]), (json!("two"), json!(null)), "a reason stays until there is another");
    assert_eq!(listed(&env), ["Alice src/"]);
}

/// A directory is written `src/`, and a path that does not exist yet `src`; both are the same.
#[test]
fn renewing_what_has_become_a_directory() {
    let env = two();
    run_at(&env, NOON, &["reserve", "src", "--as", "Alice"]).expect_code(0);
    std::fs::create_dir(env.work().join("src")).unwrap();
    let again = reserve(&env, "Alice", &["src"]);
    assert_eq!((&again["renewed"], &again["reservations"][0]["since"]), (&json!(1), &json!(NOON)));
    assert_eq!(listed(&env), ["Alice src/"]);
    env.ok(&["release", "src", "--as", "Alice"]);
    assert!(listed(&env).is_empty());
}

#[test]
fn what_is_over_binds_nobody_and_is_seen_by_nobody() {
    let env = two();
    let wish = ["reserve", "src/", "--ttl", "30m", "--reason", "one", "--as", "Alice"];
    run_at(&env, NOON, &wish).expect_code(0);
    let (before, after) = ("2026-11-15T12:29:59.999Z", "2026-11-15T12:30:00.000Z");
    let check = ["check", "src/x", "--as", "Bob"];
    run_at(&env, before, &check).expect_code(1);
    run_at(&env, before, &["reserve", "src/x", "--as", "Bob"]).expect_code(1);
    run_at(&env, after, &check).expect_code(0);
    assert_eq!(env.registration("Alice")["reservations"][0]["pattern"], "src/", "looking writes nothing");
    for command in [&["reservations"][..], &["reservations", "--mine", "--as", "Alice"]] {
        let listing = run_at(&env, after, command).expect_code(0).json();
        assert_eq!(listing["reservations"], json!([]), "{command:?}");
    }
    let alice = run_at(&env, after, &["whois", "Alice"]).expect_code(0).json();
    assert_eq!(alice["agent"]["reservations"], json!([]), "nobody is told that it holds it");
    assert!(env.registration("Alice")["reservations"].is_null(), "the owner's own command took it out");
    let said = run_at(&env, after, &["reserve", "src/x", "--as", "Bob"]).expect_code(0).json();
    assert_eq!(said["reservations"][0]["since"], after);
    run_at(&env, after, &["reserve", "src/", "--as", "Alice"]).expect_code(1);
}

#[test]
fn what_is_over_is_not_renewed_but_new() {
    let env = two();
    let wish = ["reserve", "src/", "--ttl", "30m", "--reason", "one", "--as", "Alice"];
    run_at(&env, NOON, &wish).expect_code(0);
    let later = "2026-11-15T13:00:00.000Z";
    let said = run_at(&env, later, &["reserve", "src/", "--as", "Alice"]).expect_code(0).json();
    let row = &said["reservations"][0];
    assert_eq!((&said["renewed"], &row["since"], &row["reason"]), (&json!(0), &json!(later), &json!(null)));
    assert_eq!(env.registration("Alice")["reservations"].as_array().unwrap().len(), 1);
}

#[test]
fn what_is_over_takes_no_room_and_is_not_given_up() {
    let env = two();
    let many: Vec<String> = (0..MAX_RESERVATIONS).map(|number| format!("f{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let wish = [&["reserve", "--ttl", "30m", "--as", "Alice"][..], &many].concat();
    run_at(&env, NOON, &wish).expect_code(0);
    let one_more = ["reserve", "one-more", "--as", "Alice"];
    assert_eq!(run_at(&env, NOON, &one_more).expect_code(1).kind(), "too_many");
    let later = "2026-11-15T13:00:00.000Z";
    run_at(&env, later, &one_more).expect_code(0);
    let released = run_at(&env, later, &["release", "--as", "Alice"]).expect_code(0).json();
    assert_eq!(released["released"].as_array().unwrap().len(), 1, "{released}");
}

#[test]
fn who_left_is_told_how_many_it_gave_up() {
    let env = two();
    run_at(&env, NOON, &["reserve", "a", "--ttl", "30m", "--as", "Alice"]).expect_code(0);
    run_at(&env, NOON, &["reserve", "b", "c", "--as", "Alice"]).expect_code(0);
    let left = run_at(&env, "2026-11-15T13:00:00.000Z", &["leave", "--as", "Alice"]).expect_code(0).json();
    assert_eq!(left["released"], 2, "what was over is not counted");
}

#[test]
fn the_listing_is_in_order() {
    let env = two();
    reserve(&env, "Bob", &["z", "y/"]);
    reserve(&env, "Alice", &["q", "c"]);
    reserve(&env, "Alice", &["b"]);
    assert_eq!(listed(&env), ["Alice b", "Alice c", "Alice q", "Bob y/", "Bob z"]);
}

#[test]
fn usage() {
    let env = two();
    for bad in ["", "a\nb", "src/[a", "src/{a", "src/*/../x", &"a".repeat(2000)] {
        assert_eq!(env.fails(2, &["reserve", "x", bad, "--as", "Alice"]), "invalid_pattern", "{bad:?}");
    }
    for bad in ["", "soon", "0", "-5m", "500ms", "1000d", "9999999999999999999"] {
        let ttl = format!("--ttl={bad}");
        assert_eq!(env.fails(2, &["reserve", "x", &ttl, "--as", "Alice"]), "invalid_value", "{bad:?}");
    }
    for good in ["45s", "30m", "2h", "1d", "90"] {
        env.ok(&["reserve", "good", "--ttl", good, "--as", "Alice"]);
    }
    for reason in ["a\u{1b}b", &"x".repeat(301)] {
        assert_eq!(env.fails(2, &["reserve", "x", "--reason", reason, "--as", "Alice"]), "invalid_value");
    }
    assert_eq!(env.fails(2, &["reserve", "--as", "Alice"]), "usage");
    assert_eq!(env.fails(2, &["check"]), "usage");
    assert_eq!(env.fails(2, &["check", "x", ""]), "invalid_value");
    assert_eq!(listed(&env), ["Alice good"]);
}

#[test]
fn who_did_not_join_reserves_nothing() {
    let env = two();
    for args in [&["reserve", "x"][..], &["release"], &["release", "x"], &["reservations", "--mine"]] {
        assert_eq!(env.fails(3, args), "not_joined", "{args:?}");
        assert_eq!(env.fails(3, &[args, &["--as", "Nobody"]].concat()), "not_joined", "{args:?}");
    }
    env.ok(&["check", "x", "--as", "Nobody"]);
}

#[test]
fn overlaps_of_all_kinds_are_refused() {
    let env = two();
    let meet = [
        ("src/auth/", "src/auth/login.rs"),
        ("src/auth/login.rs", "src/auth/"),
        ("src/**", "src/a/b/c"),
        ("src/*.rs", "src/a*"),
        ("{a,b}/x", "{b,c}/x"),
        ("[a-c]x", "[c-e]x"),
        ("**/mod.rs", "lib"),
        (".", "x"),
    ];
    let part = [
        ("src/auth", "src/author"),
        ("src/*.rs", "src/*.md"),
        ("*", "a/b"),
        ("[ab]*", "[!ab]*"),
        ("a?", "a??"),
        ("src/*/a.rs", "src/*/b.rs"),
    ];
    for (mine, theirs) in meet {
        reserve(&env, "Alice", &[mine]);
        refused(&env, "Bob", &[theirs]);
        env.ok(&["release", "--as", "Alice"]);
    }
    for (mine, theirs) in part {
        reserve(&env, "Alice", &[mine]);
        reserve(&env, "Bob", &[theirs]);
        env.ok(&["release", "--as", "Alice"]);
        env.ok(&["release", "--as", "Bob"]);
    }
    // A holder of a part may reserve the whole, and vice versa.
    reserve(&env, "Alice", &["src/auth/"]);
    reserve(&env, "Alice", &["src/", "src/auth/login.rs"]);
    assert_held(&env, "Bob", &["src/x"], "Alice");
}
