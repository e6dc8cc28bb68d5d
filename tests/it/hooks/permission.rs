//! Where a harness asks hooks for permission: `msg` may be run without asking the user, and nothing else.

use crate::support::environment::{TestEnvironment, end};
use crate::support::hook_call::{Call, session_of};

const ALLOWED: &str = "{\"behavior\":\"allow\"}\n";

#[track_caller]
fn check(env: &TestEnvironment, command: &str, expected: &str) {
    let call = Call::new(env, "copilot/permissionRequest-bash", &session_of("Bob"));
    let ended = end(&mut call.with("/toolInput/command", command).command(env)).expect_code(0);
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), (expected, ""), "{command}");
}

#[test]
fn nobody_is_asked_about_what_coordinates() {
    let env = TestEnvironment::new();
    check(&env, "msg join", ALLOWED);
    env.join("Bob");
    check(&env, "msg whoami --json", ALLOWED);
    check(&env, "msg send Alice \"it's done; all of it\"", ALLOWED);
}

#[test]
fn everything_else_is_for_the_user_to_decide() {
    let env = TestEnvironment::new();
    env.join("Bob");
    let commands = [
        "echo hi > out.txt",
        "msg whoami > out.txt",
        "msg whoami; rm -r .",
        "msg send Alice \"$(rm -r .)\"",
        "msgs whoami",
        "./msg whoami",
        "sudo msg whoami",
        // `--exec` can run anything.
        "msg watch --exec 'rm -r .'",
        "msg watch --exec='rm -r .'",
        // What starts workers, answers for a person or changes a work tree.
        "msg run scout 'look around'",
        "msg --json run scout 'look around'",
        "msg 'run' scout 'look around'",
        "msg runs merge k3",
        "msg runs --json merge k3",
        "msg complete t1 --verify",
        "",
    ];
    for command in commands {
        check(&env, command, "");
    }
    let edit = Call::new(&env, "copilot/permissionRequest-edit", &session_of("Bob"));
    assert_eq!(end(&mut edit.command(&env)).expect_code(0).stdout, "");
}
