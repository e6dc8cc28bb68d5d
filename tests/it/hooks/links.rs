//! Hard links count as names of a reserved file, and links that a command makes are followed.

use std::fs;
use std::os::unix::fs::symlink;

use ravenry::domain::hook::HookAnswer;

use super::harmless::troubles;
use crate::support::environment::{TestEnvironment, put};
use crate::support::hook_call::{Call, session_of};
use crate::support::running::two;

/// `src/deep/h.rs` and `other.rs` are one file, and so are `a` and `b`.
fn scene() -> TestEnvironment {
    let env = two();
    let work = env.work();
    put(&work.join("src/deep/h.rs"), "");
    put(&work.join("src/deep/k.txt"), "");
    put(&work.join("a"), "");
    for (file, name) in [("src/deep/h.rs", "other.rs"), ("a", "b")] {
        fs::hard_link(work.join(file), work.join(name)).unwrap();
    }
    env
}

fn edit(env: &TestEnvironment, name: &str, path: &str) -> HookAnswer {
    Call::edit(env, &session_of(name), path).answer(env)
}

fn run(env: &TestEnvironment, command: &str) -> HookAnswer {
    Call::bash(env, "PreToolUse", &session_of("Bob"), command).answer(env)
}

fn is_denied(answer: &HookAnswer) -> bool {
    matches!(answer, HookAnswer::Deny(reason) if reason.contains("by Alice"))
}

#[test]
fn a_reserved_file_is_refused_under_its_other_name() {
    for pattern in ["src/deep/h.rs", "src/", "src/**/*.rs", "src/deep/h.*"] {
        let env = scene();
        symlink("other.rs", env.work().join("link.rs")).unwrap();
        env.ok(&["reserve", pattern, "--as", "Alice"]);
        for path in ["other.rs", "link.rs"] {
            assert!(is_denied(&edit(&env, "Bob", path)), "{pattern}: {path}");
        }
        assert!(is_denied(&run(&env, "echo x >> other.rs")), "{pattern}");
        assert_eq!(env.fails(1, &["check", "other.rs", "--as", "Bob"]), "reserved");
        assert_eq!(edit(&env, "Alice", "other.rs"), HookAnswer::Silence, "{pattern}: it is Alice's own");
        for path in ["a", "b", "free.rs"] {
            assert_eq!(edit(&env, "Bob", path), HookAnswer::Silence, "{pattern}: {path}");
        }
        env.ok(&["check", "a", "b", "--as", "Bob"]);
        env.ok(&["release", "--as", "Alice"]);
        assert_eq!(edit(&env, "Bob", "other.rs"), HookAnswer::Silence, "{pattern}");
        let told = env.ok(&["read", "--as", "Bob"])["messages"][0]["text"].as_str().unwrap().to_string();
        assert!(
            told.starts_with("`other.rs`, `link.rs` are free: Alice no longer holds them."),
            "{pattern}: {told}"
        );
        assert!(told.ends_with(": msg reserve other.rs link.rs"), "{pattern}: {told}");
        assert_eq!(troubles(&env).len(), 0);
    }
}

#[test]
fn a_glob_reserves_only_what_it_covers() {
    let env = scene();
    env.ok(&["reserve", "src/**/*.txt", "--as", "Alice"]);
    assert_eq!(edit(&env, "Bob", "other.rs"), HookAnswer::Silence);
}

/// The file remains, and so does its reserved name.
#[test]
fn another_name_of_a_reserved_file_may_be_removed() {
    let env = scene();
    env.ok(&["reserve", "src/", "--as", "Alice"]);
    for command in ["rm other.rs", "rm -f other.rs", "unlink other.rs"] {
        assert_eq!(run(&env, command), HookAnswer::Silence, "{command}");
    }
    for command in [
        "rm src/deep/h.rs",
        "rm other.rs src/deep/h.rs",
        "truncate -s 0 other.rs",
        "test -f nope && rm other.rs; echo x >> other.rs",
        "rm -i other.rs; echo x > other.rs",
        "rm other.rs | tee other.rs",
    ] {
        assert!(is_denied(&run(&env, command)), "{command}");
    }
}

#[test]
fn more_than_can_be_compared_is_a_doubt() {
    let env = scene();
    let many = env.work().join("many");
    fs::create_dir(&many).unwrap();
    for number in 0..5_100 {
        fs::write(many.join(number.to_string()), "").unwrap();
    }
    env.ok(&["reserve", "many/", "src/deep/h.rs", "--as", "Alice"]);
    assert!(is_denied(&edit(&env, "Bob", "other.rs")), "files that are reserved by name come first");
    assert_eq!(troubles(&env).len(), 0);
    assert_eq!(edit(&env, "Bob", "a"), HookAnswer::Silence);
    let told = troubles(&env);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0]["error"].as_str().unwrap().contains("`a` has other names"), "{told:?}");
    assert_eq!(
        edit(&env, "Bob", "src/free.rs"),
        HookAnswer::Silence,
        "a file with one name is never in doubt"
    );
    assert_eq!(troubles(&env).len(), 1);
    env.configure("{\"strict\": true}");
    let edit = Call::edit(&env, &session_of("Bob"), "a");
    let ended = crate::support::environment::end(&mut edit.command(&env)).expect_code(0);
    assert!(ended.stdout.contains("\"deny\"") && ended.stdout.contains("has other names"), "{ended}");
}

#[test]
fn a_link_that_the_command_makes_leads_where_it_leads() {
    let env = scene();
    env.ok(&["reserve", "src/", "--as", "Alice"]);
    for command in [
        "ln -sf src/deep/k.txt link; echo X > link",
        "ln -s src/deep d && echo X > d/k.txt",
        "ln -s src d; cd d/deep && echo X > k.txt",
        "ln -f src/deep/k.txt hard; echo X >> hard",
        "mkdir x; ln -s ../src/deep/k.txt x/; sed -i s/a/b/ x/k.txt",
        "ln -s src one; ln -s one two; touch two/k",
        "ln -s src d; cp free.rs d",
        "cp -l src/deep/k.txt hard; echo X >> hard",
        "ln -s src/deep d; echo X > d/../k.txt",
        "ln -s src one; ln -s one/deep two; echo X > two/../k.txt",
    ] {
        let answer = run(&env, command);
        assert!(is_denied(&answer), "{command}: {answer:?}");
    }
    for command in [
        "ln -s src/deep/k.txt link; cat link",
        "ln -s src/deep/k.txt link; rm link; echo X > link",
        "ln -s free.rs link; echo X > link",
        "echo X > link; ln -sf src/deep/k.txt link",
    ] {
        let answer = run(&env, command);
        assert!(!is_denied(&answer), "{command}: {answer:?}");
    }
}
