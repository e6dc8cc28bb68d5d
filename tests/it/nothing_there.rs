//! Where there is nothing to show, a command says what to do next.

use std::fs;

use crate::support::environment::{TestEnvironment, end};

/// Commands that need nobody, on a mesh that nobody has joined.
const BY_ANYBODY: &[&[&str]] = &[
    &["agents"],
    &["agents", "--gone"],
    &["agents", "--here"],
    &["whois", "Nobody"],
    &["feed"],
    &["log", "src/login.rs"],
    &["log", "src/login.rs", "--since", "1h"],
    &["log", "."],
    &["search", "login"],
    &["search", "login", "--all"],
    &["search", "login", "--since", "1h"],
    &["reservations"],
    &["contest", "src/"],
    &["topics"],
    &["topics", "--domains"],
    &["overlaps"],
    &["overlaps", "--all"],
    &["overlaps", "--accuracy"],
    &["overlaps", "dismiss", "1c2d3e4f"],
    &["brief", "Nobody"],
    &["suggest"],
    &["delegate", "write the tests"],
    &["know"],
    &["know", "lock"],
    &["know", "--as-of", "2001-01-01"],
    &["know", "--path", "src/login.rs"],
    &["knowledge", "list"],
    &["knowledge", "list", "--as-of", "2001-01-01"],
    &["knowledge", "show", "one-lock"],
    &["knowledge", "log"],
    &["knowledge", "stats"],
    &["knowledge", "publish"],
    &["workers"],
    &["runs"],
    &["runs", "--all"],
    &["runs", "--bill"],
    &["runs", "show", "4f2k9d"],
    &["runs", "resume"],
    &["runs", "gc"],
    &["budget"],
    &["crew", "status"],
    &["crew", "report"],
    &["look", "Nobody"],
    &["tell", "Nobody", "go on"],
    &["wait", "--for", "Nobody", "--until", "idle", "--timeout", "0"],
    &["tasks"],
    &["evict", "Nobody"],
    &["inbox"],
    &["read"],
    &["whoami"],
];

/// Commands of an agent that is alone and has nothing.
const BY_ALICE: &[&[&str]] = &[
    &["inbox"],
    &["history"],
    &["history", "Nobody"],
    &["history", "--grep", "login"],
    &["history", "--threads"],
    &["ack"],
    &["show", "jo2wxd"],
    &["receipt", "jo2wxd"],
    &["wait", "--timeout", "0"],
    &["send", "Nobody", "hello"],
    &["broadcast", "hello"],
    &["reservations"],
    &["reservations", "--mine"],
    &["release"],
    &["release", "src/"],
    &["spec"],
    &["tasks"],
    &["tasks", "--mine"],
    &["tasks", "--ready"],
    &["tasks", "--spec", "empty.md"],
    &["tasks", "--spec", "empty.md", "--mine"],
    &["tasks", "--spec", "empty.md", "--ready"],
    &["claim", "--next"],
    &["claim", "--next", "--spec", "empty.md"],
    &["unclaim"],
    &["search", "login"],
    &["log", "Alice", "--since", "0"],
    &["suggest"],
];

/// What somebody could type next: a command, an option, or a line of a spec, in backquotes.
fn has_next_step(text: &str) -> bool {
    ["`msg ", "`git ", "`--", "`- ["].iter().any(|start| text.contains(start))
}

#[test]
fn what_has_nothing_to_show_says_what_to_do_next() {
    let env = TestEnvironment::new();
    fs::write(env.work().join("empty.md"), "# Nothing yet\n").unwrap();
    let mut bare = String::new();
    let mut check = |args: &[&str]| {
        let mut command = env.msg();
        if args[0] == "workers" {
            // No harness is found there.
            command.env("PATH", env.work());
        }
        let ended = end(command.args(args));
        assert!(ended.code.is_some_and(|code| code < 70), "{args:?}: {ended}");
        if !has_next_step(&format!("{}{}", ended.stdout, ended.stderr)) {
            bare.push_str(&format!("{args:?}: {ended}\n"));
        }
    };
    BY_ANYBODY.iter().for_each(|args| check(args));
    env.join("Alice");
    BY_ALICE.iter().for_each(|args| check(&[args, &["--as", "Alice"][..]].concat()));
    assert_eq!(bare, "");
}

/// A script that asks quietly gets nothing where there is nothing.
#[test]
fn a_quiet_command_with_nothing_to_show_says_nothing() {
    let env = TestEnvironment::new();
    env.join("Alice");
    for args in [
        &["agents", "--gone"][..],
        &["inbox"],
        &["history"],
        &["history", "--threads"],
        &["reservations"],
        &["runs"],
        &["know"],
        &["knowledge", "list"],
        &["overlaps"],
        &["search", "login"],
        &["spec"],
        &["suggest"],
    ] {
        let ended = env.run(&[args, &["-q", "--as", "Alice"]].concat()).expect_code(0);
        assert_eq!(ended.stdout, "", "{args:?}");
    }
}
