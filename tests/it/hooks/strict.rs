//! With `strict`, a call that cannot be checked is refused in the harness's own format, and nothing else is.

use ravenry::sys::test_switches;

use super::damaged::{DAMAGES, spoilt};
use super::harmless::{
    BY_FALCON, EDITS, ENDS, STARTS, free, held, of, quiet, quiet_trouble, refused, troubles,
};
use crate::support::environment::{TestEnvironment, put};
use crate::support::hook_fixture::{feed, hook, play, project};

const NOT_KNOWN: &str = "could not find out whether this is reserved";

fn strict(env: &TestEnvironment) {
    env.configure("{\"strict\": true}");
}

#[test]
fn the_strict_are_refused_what_can_not_be_found_out() {
    for (why, env) in spoilt() {
        strict(&env);
        for name in EDITS {
            let ended = play(&env, &of(&env, name));
            refused(&ended, NOT_KNOWN, name);
            refused(&ended, why, name);
        }
        for name in STARTS.into_iter().chain(ENDS) {
            quiet(&play(&env, &of(&env, name)), name);
        }
        quiet(&play(&env, &of(&env, "claude/PreToolUse-Read")), "who only looks is not stopped");
        let bash = |command: &str| {
            let payload = of(&env, "claude/PreToolUse-Bash").payload.replace("echo hi > out.txt", command);
            feed(&mut hook(&env, "claude", "PreToolUse"), payload.as_bytes())
        };
        for command in ["cat src/lib.rs", "git status", "cargo test", "msg doctor --repair"] {
            quiet(&bash(command), command);
        }
        for command in ["rm src/lib.rs", "cargo test > log", "sh -c 'rm -r src'"] {
            refused(&bash(command), NOT_KNOWN, command);
        }
    }
}

#[test]
fn the_strict_are_refused_where_a_registration_is_damaged() {
    for (what, damage) in DAMAGES {
        let env = free();
        strict(&env);
        for name in EDITS {
            quiet(&play(&env, &of(&env, name)), name);
        }
        damage(&env.mesh().join("registry/Torn.json"));
        for (lines, name) in EDITS.into_iter().enumerate() {
            let ended = play(&env, &of(&env, name));
            refused(&ended, NOT_KNOWN, &format!("{what}: {name}"));
            refused(&ended, "Torn.json", name);
            assert_eq!(troubles(&env).len(), lines + 1, "{what}: {name}");
        }
        quiet(&play(&env, &of(&env, "claude/PreToolUse-Read")), what);
    }
}

#[test]
fn the_strict_are_refused_for_a_bug_of_ours() {
    let env = free();
    strict(&env);
    for (lines, name) in EDITS.into_iter().enumerate() {
        let edit = of(&env, name);
        let mut command = hook(&env, edit.harness, &edit.event);
        let ended = feed(command.env(test_switches::PANIC, "oh no"), edit.payload.as_bytes());
        refused(&ended, NOT_KNOWN, name);
        refused(&ended, "oh no", name);
        assert_eq!(troubles(&env).len(), lines + 1, "{name}");
    }
    for name in STARTS.into_iter().chain(ENDS).chain(["claude/PreToolUse-Read"]) {
        let fixture = of(&env, name);
        let mut command = hook(&env, fixture.harness, &fixture.event);
        quiet(&feed(command.env(test_switches::PANIC, "oh no"), fixture.payload.as_bytes()), name);
    }
}

/// A typing error in the configuration does not turn `strict` off.
#[test]
fn a_broken_configuration_stays_as_strict_as_it_was() {
    for broken in ["{ oops", "{\"strict\": \"perhaps\"}"] {
        let env = TestEnvironment::configured();
        project(&env);
        env.join("GoldFalcon");
        strict(&env);
        let edit = of(&env, EDITS[0]);
        quiet(&play(&env, &edit), "the hook reads the configuration");
        put(&env.config_file(), &broken.replace('}', &format!(", \"mesh\": {:?}}}", env.mesh())));
        DAMAGES[0].1(&env.mesh().join("registry/Torn.json"));
        refused(&play(&env, &edit), NOT_KNOWN, broken);
    }
}

/// An invalid payload cannot be refused: it may not even be about a tool.
#[test]
fn the_strict_are_not_refused_what_makes_no_sense() {
    let env = held();
    strict(&env);
    let mut lines = 0;
    for name in EDITS {
        let edit = of(&env, name);
        for input in [b"".as_slice(), b"oops", &edit.payload.as_bytes()[..40]] {
            let ended = feed(&mut hook(&env, edit.harness, &edit.event), input);
            quiet_trouble(&env, lines, &ended, name);
            lines += 1;
        }
        refused(&play(&env, &edit), BY_FALCON, name);
    }
}
