//! Things that are no files: `@git/index`, `@port:3000`, `@build`.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Barrier;

use ravenry::domain::hook::HookAnswer;
use serde_json::{Value, json};

use super::races::Caller;
use super::repositories::{Places, git};
use super::{ok_in, run_in, two};
use crate::support::environment::{TestEnvironment, put, rounds};
use crate::support::hook_call::{Call, session_of};
use crate::support::mcp_client::{Client, server};

/// The kind of the error, with the message and its hints.
#[track_caller]
fn refused(env: &TestEnvironment, dir: &Path, code: i32, args: &[&str]) -> (String, String) {
    let error = run_in(env, dir, args).expect_code(code).json()["error"].clone();
    let hints = error["hints"].as_array().map_or(&[][..], Vec::as_slice);
    let text: Vec<&str> = std::iter::once(&error["message"]).chain(hints).filter_map(Value::as_str).collect();
    (error["kind"].as_str().unwrap().to_string(), text.join("\n"))
}

/// The answer to an agent that is about to run the command there.
#[track_caller]
fn before(env: &TestEnvironment, dir: &Path, name: &str, command: &str) -> HookAnswer {
    Call::bash(env, "PreToolUse", &session_of(name), command).with("/cwd", json!(dir)).answer(env)
}

#[track_caller]
fn denied(env: &TestEnvironment, dir: &Path, name: &str, command: &str) -> String {
    match before(env, dir, name, command) {
        HookAnswer::Deny(text) => text,
        other => panic!("`{command}` in {}: {other:?}", dir.display()),
    }
}

#[track_caller]
fn let_through(env: &TestEnvironment, dir: &Path, name: &str, commands: &[&str]) {
    for command in commands {
        let answer = before(env, dir, name, command);
        assert!(!matches!(answer, HookAnswer::Deny(_)), "`{command}` in {}: {answer:?}", dir.display());
    }
}

#[test]
fn a_thing_has_one_holder_wherever_it_is_named() {
    let env = two();
    let elsewhere = env.path().join("elsewhere");
    put(&elsewhere.join("x"), "");
    for thing in ["@port:3000", "@db:test", "@build"] {
        let said = env.ok(&["reserve", thing, "--reason", "tests run", "--as", "Alice"]);
        let row = &said["reservations"][0];
        assert_eq!((&row["pattern"], &row["thing"]), (&json!(thing), &json!("machine")));
        let (kind, text) = refused(&env, &elsewhere, 1, &["reserve", thing, "--as", "Bob"]);
        assert_eq!(kind, "reserved");
        assert!(
            text.starts_with(&format!("Alice holds `{thing}` (")) && text.contains("“tests run”"),
            "{text}"
        );
        let check = run_in(&env, &elsewhere, &["check", thing, "--as", "Bob"]).expect_code(1).json();
        assert_eq!(
            (&check["paths"][0]["holder"], &check["paths"][0]["thing"]),
            (&json!("Alice"), &json!("machine"))
        );
        let claim = ["claim", "T", "--adhoc", "--reserve", thing, "--as", "Bob"];
        assert_eq!(refused(&env, &elsewhere, 1, &claim).0, "reserved");
        assert_eq!(run_in(&env, &elsewhere, &["check", thing, "--as", "Alice"]).code, Some(0));
    }
    // What is called alike is something else.
    for other in ["@port:300", "@port:30000", "@db:test2", "@builder", "./@build", "@build/", "@build/x"] {
        ok_in(&env, &elsewhere, &["reserve", other, "--as", "Bob"]);
    }
    ok_in(&env, &elsewhere, &["release", "@port:3000", "--as", "Alice"]);
    let mail = env.run(&["read", "--as", "Bob"]).expect_code(0).stdout;
    assert!(mail.contains("`@port:3000` is free") && mail.contains("msg reserve @port:3000"), "{mail}");
    ok_in(&env, &env.work(), &["reserve", "@port:3000", "--as", "Bob"]);
}

#[test]
fn wrong_things_are_refused_with_a_way_out() {
    let env = two();
    for (thing, hint) in [
        ("@git/nothing", "there are `@git/index`"),
        ("@git/Head", "did you mean `@git/HEAD`?"),
        ("@port:abc", "for example `@port:3000`"),
        ("@port:70000", "ports are 1 to 65535"),
        ("@", "for example `@git/index`"),
        ("@redis:1", "not a kind of thing"),
        ("@git/branch:a..b", "for example `@git/branch:main`"),
    ] {
        for command in ["reserve", "check", "contest"] {
            let (kind, text) = refused(&env, &env.work(), 2, &[command, thing, "--as", "Alice"]);
            assert!(kind == "invalid_pattern" && text.contains(hint), "{command} {thing}: {kind}: {text}");
            assert!(text.contains("./@"), "{command} {thing}: {text}");
        }
    }
    for thing in ["@git/index", "@git/HEAD", "@git/branch:main"] {
        let (kind, text) = refused(&env, &env.work(), 2, &["reserve", thing, "--as", "Alice"]);
        assert!(
            kind == "no_repository" && text.contains("not in a git work tree"),
            "{thing}: {kind}: {text}"
        );
    }
    assert_eq!(env.ok(&["reservations"])["reservations"], json!([]));
}

#[test]
fn the_index_and_head_are_of_a_work_tree_and_a_branch_of_a_repository() {
    let Places { env, main, linked, clone, .. } = Places::new();
    let parts = ["@git/index", "@git/HEAD", "@git/branch:main"];
    let said = ok_in(&env, &main.join("src"), &[&["reserve", "--as", "Alice"][..], &parts].concat());
    let row = |number: usize, key: &str| said["reservations"][number][key].clone();
    assert_eq!([row(0, "thing"), row(1, "thing"), row(2, "thing")], ["workTree", "workTree", "repository"]);
    assert_eq!(row(0, "root"), json!(main.join(".git")));
    for part in parts {
        assert_eq!(refused(&env, &main, 1, &["reserve", part, "--as", "Bob"]).0, "reserved", "{part}");
    }
    let (kind, text) = refused(&env, &linked, 1, &["reserve", "@git/branch:main", "--as", "Bob"]);
    assert!(kind == "reserved" && text.contains("Alice holds `@git/branch:main`"), "{text}");
    ok_in(&env, &linked, &["reserve", "@git/index", "@git/HEAD", "@git/branch:topic", "--as", "Bob"]);
    ok_in(&env, &clone, &["reserve", "@git/index", "@git/branch:main", "--as", "Bob"]);
    // They are listed with their places, and given back as a whole.
    let listed = env.run(&["reservations"]).expect_code(0).stdout;
    assert!(listed.contains("@git/index") && listed.contains(".git/worktrees/linked"), "{listed}");
    ok_in(&env, &env.work(), &["release", "--as", "Alice"]);
    for part in parts {
        ok_in(&env, &main, &["check", part, "--as", "Alice"]);
    }
    ok_in(&env, &main, &["release", "@git/branch:topic", "--as", "Bob"]);
    let held = env.ok(&["reservations", "--as", "Bob", "--mine"]);
    assert_eq!(held["reservations"].as_array().unwrap().len(), 4, "{held}");
}

#[test]
fn a_command_that_needs_a_held_part_is_refused() {
    let Places { env, main, linked, clone, .. } = Places::new();
    ok_in(&env, &main, &["reserve", "@git/index", "--reason", "staging the release", "--as", "Alice"]);
    let said = denied(&env, &main, "Bob", "git add . && git commit -m x");
    for part in [
        "This command needs `@git/index` (`git add`), which is reserved (for ",
        "by Alice, who says: “staging the release”",
        "ask with `msg send Alice",
        "you should get a message when it is free",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    for command in [
        "git stash",
        "git rm src/b.rs",
        "git commit -am x",
        "git reset",
        "cd src && git add .",
        "git -C src mv a.rs c.rs",
    ] {
        assert!(denied(&env, &main, "Bob", command).contains("`@git/index`"), "{command}");
    }
    assert!(denied(&env, &linked, "Bob", &format!("git -C {} add .", main.display())).contains("@git/index"));
    let free = [
        "git status",
        "git diff --cached",
        "git add -n .",
        "git stash list",
        "git push",
        "git commit --dry-run",
    ];
    let_through(&env, &main, "Bob", &free);
    let_through(&env, &main, "Alice", &["git add .", "git commit -m x"]);
    let_through(&env, &linked, "Bob", &["git add .", "git commit -m x"]);
    let_through(&env, &clone, "Bob", &["git add .", "git commit -m x"]);
    ok_in(&env, &main, &["release", "--as", "Alice"]);
    let mail = env.run(&["read", "--as", "Bob"]).expect_code(0).stdout;
    assert!(mail.contains("`@git/index`") && mail.contains("free"), "{mail}");
    let_through(&env, &main, "Bob", &["git add ."]);
}

#[test]
fn head_and_branches() {
    let Places { env, main, linked, clone, .. } = Places::new();
    ok_in(&env, &main, &["reserve", "@git/HEAD", "--as", "Alice"]);
    for command in [
        "git checkout -b new",
        "git switch --detach",
        "git bisect start",
        "git commit -m x",
        "git rebase topic",
    ] {
        assert!(denied(&env, &main, "Bob", command).contains("needs `@git/HEAD`"), "{command}");
    }
    let_through(&env, &main, "Bob", &["git add .", "git branch new", "git branch -f other main", "git log"]);
    let_through(&env, &linked, "Bob", &["git checkout -b new"]);
    ok_in(&env, &main, &["release", "--as", "Alice"]);

    // The branch that is checked out in another work tree.
    ok_in(&env, &main, &["reserve", "@git/branch:topic", "--as", "Alice"]);
    for command in ["git commit -m x", "git reset --hard HEAD~1", "git update-ref HEAD main"] {
        assert!(denied(&env, &linked, "Bob", command).contains("needs `@git/branch:topic`"), "{command}");
        let_through(&env, &main, "Bob", &[command]);
    }
    for command in [
        "git branch -f topic HEAD~1",
        "git branch -D topic",
        "git branch -m topic t",
        "git update-ref refs/heads/topic main",
        "git fetch . main:topic",
        "git rebase main topic",
    ] {
        for dir in [&main, &linked] {
            assert!(denied(&env, dir, "Bob", command).contains("needs `@git/branch:topic`"), "{command}");
        }
        let_through(&env, &clone, "Bob", &[command]);
    }
    let_through(
        &env,
        &linked,
        "Bob",
        &["git switch -c next && git commit -m x", "git push origin topic", "git branch"],
    );
    git(&linked, &["checkout", "-q", "--detach"]);
    let_through(&env, &linked, "Bob", &["git commit -m x"]);
}

#[test]
fn what_a_dead_holder_had_is_free() {
    let env = TestEnvironment::new();
    let alice = env.join("Alice");
    env.join("Bob");
    env.ok(&["reserve", "@port:3000", "--as", "Alice"]);
    assert_eq!(refused(&env, &env.work(), 1, &["reserve", "@port:3000", "--as", "Bob"]).0, "reserved");
    env.kill(alice);
    env.ok(&["reserve", "@port:3000", "--as", "Bob"]);
    // It goes with its holder's name, and comes back with nobody else.
    env.ok(&["rename", "Robert", "--as", "Bob"]);
    let row = env.ok(&["reservations"])["reservations"][0].clone();
    assert_eq!((&row["holder"], &row["thing"]), (&json!("Robert"), &json!("machine")));
    env.ok(&["leave", "--as", "Robert"]);
    assert_eq!(env.ok(&["reservations"])["reservations"], json!([]));
}

#[test]
fn of_two_at_once_one_gets_it() {
    let env = two();
    let dirs: [PathBuf; 2] = [env.work(), env.path().join("other")];
    put(&dirs[1].join("x"), "");
    let caller = Caller::of(&env);
    let names = ["Alice", "Bob"];
    for round in 0..rounds(40) {
        let port = format!("@port:{}", 3000 + round);
        let barrier = Barrier::new(names.len());
        let reserve = |number: usize| {
            let mut command = caller.msg(&["reserve", &port, "--as", names[number]]);
            command.current_dir(&dirs[number]).stdout(Stdio::null()).stderr(Stdio::null());
            barrier.wait();
            command.status().unwrap().code()
        };
        let codes: Vec<_> = std::thread::scope(|scope| {
            let reserve = &reserve;
            let threads: Vec<_> = (0..2).map(|number| scope.spawn(move || reserve(number))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let mut sorted = codes.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [Some(0), Some(1)], "{port}: {codes:?}");
        let winner = names[codes.iter().position(|code| *code == Some(0)).unwrap()];
        let listed = env.ok(&["reservations"]);
        let rows = listed["reservations"].as_array().unwrap();
        let holders: Vec<&str> = rows
            .iter()
            .filter(|row| row["pattern"] == port.as_str())
            .map(|row| row["holder"].as_str().unwrap())
            .collect();
        assert_eq!(holders, [winner], "{port}");
    }
}

#[test]
fn a_contested_thing_is_passed_on() {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.join("Bob");
    env.ok(&["reserve", "@db:test", "--as", "Alice"]);
    let said =
        env.run(&["contest", "@db:test", "--reason", "migration", "--as", "Bob"]).expect_code(0).stdout;
    assert!(said.contains("If it does not answer for 2min"), "{said}");
    // No hook sees who uses a database, so nothing else can save it.
    let told = env.run(&["inbox", "--as", "Alice"]).expect_code(0).stdout;
    assert!(told.contains("If you do not answer, Bob may take it"), "{told}");
    let early = env.run(&["release", "@db:test", "--from", "Alice", "--as", "Bob"]).expect_code(1);
    assert!(early.stderr.contains("an answer keeps it") && !early.stderr.contains("edit"), "{early}");
    env.ok(&["release", "@db:test", "--as", "Alice"]);
    let row = env.ok(&["reservations"])["reservations"][0].clone();
    assert_eq!(
        (&row["holder"], &row["pattern"], &row["thing"]),
        (&json!("Bob"), &json!("@db:test"), &json!("machine"))
    );
}

#[test]
fn a_thing_goes_along_with_its_task_and_is_told_at_the_start_of_a_session() {
    let Places { env, main, linked, .. } = Places::new();
    ok_in(
        &env,
        &main,
        &["claim", "T", "--adhoc", "--reserve", "@build", "--reserve", "@git/index", "--as", "Alice"],
    );
    ok_in(&env, &main, &["handoff", "T", "Bob", "--as", "Alice"]);
    let check =
        run_in(&env, &main, &["check", "@build", "@git/index", "--as", "Alice"]).expect_code(1).json();
    assert_eq!([&check["paths"][0]["holder"], &check["paths"][1]["holder"]], ["Bob", "Bob"]);
    // Carol is told of what others hold where she begins: the index there, and what is of the machine.
    env.join("Carol");
    let start = |dir: &Path| {
        let call = Call::new(&env, "claude/SessionStart", &session_of("Carol"));
        call.with("/cwd", json!(dir)).context(&env)
    };
    let told = start(&main);
    assert!(told.contains("`@build` (Bob)") && told.contains("`@git/index` (Bob)"), "{told}");
    let told = start(&linked);
    assert!(told.contains("`@build` (Bob)") && !told.contains("`@git/index`"), "{told}");
    ok_in(&env, &main, &["complete", "T", "--as", "Bob"]);
    assert_eq!(env.ok(&["reservations"])["reservations"], json!([]));
}

#[test]
fn what_happened_with_a_thing_is_found() {
    let Places { env, main, .. } = Places::new();
    ok_in(&env, &main, &["reserve", "@port:3000", "--as", "Alice"]);
    refused(&env, &main, 1, &["reserve", "@port:3000", "--as", "Bob"]);
    let log = ok_in(&env, &main.join("src"), &["log", "@port:3000"]);
    let kinds: Vec<&str> =
        log["entries"].as_array().unwrap().iter().map(|entry| entry["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["reserve", "refused"], "{log}");
}

/// Another program, and an older `msg`, must find a path at which there is no file.
#[test]
fn how_it_is_stored() {
    let Places { env, main, .. } = Places::new();
    ok_in(&env, &main, &["reserve", "@git/branch:feature/{a}", "@port:3000", "--as", "Alice"]);
    let stored = env.registration("Alice")["reservations"].clone();
    let text = |number: usize, key: &str| stored[number][key].clone();
    assert_eq!(
        (text(0, "pattern"), text(0, "root")),
        (json!("@git/branch:feature/{a}"), json!(main.join(".git")))
    );
    assert_eq!((text(0, "thing"), text(0, "literal")), (json!(true), json!(true)));
    assert_eq!((text(1, "pattern"), text(1, "root")), (json!("@port:3000"), json!("/")));
    assert!(stored[1].get("literal").is_none(), "{stored}");
    // A path that an older release reserved stays a path.
    let file = env.mesh().join("registry/Alice.json");
    let mut registration = env.registration("Alice");
    registration["reservations"] = json!([{
        "pattern": "@build", "root": main, "since": "2026-01-01T00:00:00.000Z",
    }]);
    put(&file, &registration.to_string());
    ok_in(&env, &main, &["reserve", "@build", "--as", "Bob"]);
    let check = run_in(&env, &main, &["check", "./@build", "--as", "Bob"]).expect_code(1).json();
    assert_eq!(check["paths"][0]["holder"], "Alice");
}

#[test]
fn mcp_and_commands_tell_the_same() {
    let env = two();
    env.ok(&["reserve", "@build", "--as", "Alice"]);
    let mut client = Client::greeted(server(&env, "claude"));
    let reserve = |paths: &str| json!({ "paths": [paths] });
    assert_eq!(client.fails("reserve", reserve("@build")), "reserved");
    assert_eq!(client.fails("reserve", reserve("@port:abc")), "invalid_pattern");
    let taken = client.ok("reserve", reserve("@port:3000"));
    assert_eq!(taken.text, "`@port:3000` is yours");
    let said = env.run(&["reserve", "@db:x", "--as", "Bob"]).expect_code(0).stdout;
    assert_eq!(said, "@db:x is yours on this machine.\n");
    let said = env.run(&["reservations"]).expect_code(0).stdout;
    assert!(said.contains("@db:x") && said.contains("this machine"), "{said}");
}

#[test]
fn a_file_of_the_same_name_is_pointed_out() {
    let env = two();
    put(&env.work().join("@app"), "");
    let said = env.run(&["reserve", "@app", "--as", "Alice"]).expect_code(0);
    assert!(said.stderr.contains("`./@app`"), "{said}");
    let file = env.ok(&["reserve", "./@app", "--as", "Bob"]);
    assert!(file["reservations"][0].get("thing").is_none(), "{file}");
    // Wherever it is named, the file is what can be typed, and wherever one is.
    let listed = env.run(&["reservations"]).expect_code(0).stdout;
    assert!(listed.contains("./@app"), "{listed}");
    env.ok(&["contest", "./@app", "--as", "Alice"]);
    let told = env.run(&["inbox", "--as", "Bob"]).expect_code(0).stdout;
    assert!(told.contains("msg release ./@app"), "{told}");
    let below = env.work().join("below");
    std::fs::create_dir(&below).unwrap();
    ok_in(&env, &below, &["release", "./@app", "--as", "Bob"]);
    assert_eq!(
        env.run(&["release", "./@app", "--as", "Bob", "--json"]).expect_code(1).kind(),
        "not_reserved"
    );
}
