//! A hook before a tool decides about the path first. Whatever else fails, paths that a readable registration of
//! another agent reserves are refused, the agent's own reservations are not, and the housekeeping is done at a later
//! hook.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use ravenry::domain::hook::HookAnswer;
use serde_json::json;

use super::damaged::Stopped;
use super::harmless::troubles;
use crate::support::environment::{TestEnvironment, files_in, put, put_old};
use crate::support::hook_call::Call;
use crate::support::running::two;
use crate::support::terminal::{Shell, harness};

/// Alice has reserved `src/`. Carol's process is the shell; she has session `s1` and has reserved `own/`.
fn scene() -> (TestEnvironment, Shell) {
    let env = two();
    env.ok(&["reserve", "src/", "--as", "Alice"]);
    let mut shell = harness(&env, "claude");
    shell.msg("CLAUDE_CODE_SESSION_ID=s1 msg join Carol");
    shell.msg("CLAUDE_CODE_SESSION_ID=s1 msg reserve own/");
    (env, shell)
}

#[track_caller]
fn denied(env: &TestEnvironment, shell: &mut Shell, session: &str, what: &str) -> String {
    match Call::edit(env, session, "src/x").answer_in(env, shell) {
        HookAnswer::Deny(reason) if reason.contains("by Alice") => reason,
        other => panic!("{what}: a path of Alice's is not refused: {other:?}"),
    }
}

#[track_caller]
fn allowed(env: &TestEnvironment, shell: &mut Shell, session: &str, what: &str) {
    for path in ["own/x", "free"] {
        let answer = Call::edit(env, session, path).answer_in(env, shell);
        assert!(!matches!(answer, HookAnswer::Deny(_)), "{what}: {path}: {answer:?}");
    }
}

fn last_trouble(env: &TestEnvironment) -> String {
    troubles(env).last().map(|line| line["error"].as_str().unwrap().to_string()).unwrap_or_default()
}

#[test]
fn a_new_session_id_while_another_process_holds_the_lock() {
    let (env, mut shell) = scene();
    let stopped = Stopped::holding(&env.mesh().join("mesh.lock"));
    denied(&env, &mut shell, "s2", "locked");
    assert!(last_trouble(&env).contains("lock"), "{}", last_trouble(&env));
    allowed(&env, &mut shell, "s2", "locked");
    assert_eq!(env.registration("Carol")["sessionId"], "s1", "nothing could be written");
    drop(stopped);
    let lines = troubles(&env).len();
    allowed(&env, &mut shell, "s2", "the lock is free");
    assert_eq!(env.registration("Carol")["sessionId"], "s2");
    denied(&env, &mut shell, "s2", "the lock is free");
    assert_eq!(troubles(&env).len(), lines);
}

#[test]
fn a_new_session_id_and_claims_that_can_not_be_read() {
    let (env, mut shell) = scene();
    let claims = env.mesh().join("claims.json");
    put_old(&claims, "{");
    denied(&env, &mut shell, "s2", "claims");
    assert!(last_trouble(&env).contains("claims.json"), "{}", last_trouble(&env));
    allowed(&env, &mut shell, "s2", "claims");
    assert_eq!(env.registration("Carol")["sessionId"], "s1");
    // A hook that decides nothing works too.
    env.ok(&["send", "Carol", "hello", "--as", "Alice"]);
    let prompt = Call::new(&env, "claude/UserPromptSubmit", "s2");
    let answer = prompt.answer_in(&env, &mut shell);
    assert!(matches!(&answer, HookAnswer::Context(text) if text.contains("hello")), "{answer:?}");
    fs::remove_file(&claims).unwrap();
    allowed(&env, &mut shell, "s2", "repaired");
    assert_eq!(env.registration("Carol")["sessionId"], "s2");
    assert_eq!(env.registration("Carol")["reservations"][0]["pattern"], "own/");
}

#[test]
fn a_vanished_registration_while_another_process_holds_the_lock() {
    let (env, mut shell) = scene();
    fs::remove_file(env.mesh().join("registry/Carol.json")).unwrap();
    let stopped = Stopped::holding(&env.mesh().join("mesh.lock"));
    let reason = denied(&env, &mut shell, "s1", "locked");
    assert!(reason.contains("ask with `msg send Alice") && !reason.contains("msg join"), "{reason}");
    assert!(last_trouble(&env).contains("lock"), "{}", last_trouble(&env));
    allowed(&env, &mut shell, "s1", "locked");
    drop(stopped);
    denied(&env, &mut shell, "s1", "the lock is free");
    assert_eq!(env.registration("Carol")["sessionId"], "s1", "it is written again");
    assert_eq!(env.registration("Carol")["waitsFor"][0]["holder"], "Alice");
    allowed(&env, &mut shell, "s1", "the lock is free");
}

/// Replaces a directory by a file, or the other way round.
fn spoil(path: &Path) {
    if path.is_dir() {
        fs::remove_dir_all(path).unwrap();
        put(path, "");
    } else {
        fs::remove_file(path).ok();
        fs::create_dir_all(path).unwrap();
    }
}

/// Damage to something unrelated to the path.
type Damage = (&'static str, fn(&TestEnvironment));

const ELSEWHERE: [Damage; 20] = [
    ("inbox", |env| spoil(&env.mesh().join("inbox/Carol"))),
    ("own presence", |env| spoil(&env.mesh().join("presence/Carol"))),
    ("presence", |env| spoil(&env.mesh().join("presence"))),
    ("hooks", |env| {
        fs::remove_dir_all(env.mesh().join("hooks")).ok();
        put(&env.mesh().join("hooks"), "");
    }),
    ("torn index", |env| put(&env.mesh().join("index"), "ravenry index 2\n7\t")),
    ("index", |env| spoil(&env.mesh().join("index"))),
    ("session records", |env| {
        for record in files_in(&env.mesh().join("sessions")) {
            put_old(&record, "{\"sessionId\": ");
        }
    }),
    ("sessions", |env| spoil(&env.mesh().join("sessions"))),
    ("claims", |env| put_old(&env.mesh().join("claims.json"), "{")),
    ("completions", |env| put_old(&env.mesh().join("completions.json"), "[]")),
    ("feed lock", |env| spoil(&env.mesh().join("feed/.lock"))),
    ("feed", |env| spoil(&env.mesh().join("feed"))),
    ("swarm lock", |env| spoil(&env.mesh().join("swarm.lock"))),
    ("mesh lock", |env| spoil(&env.mesh().join("mesh.lock"))),
    ("trouble", |env| spoil(&env.mesh().join("trouble.jsonl"))),
    ("tmp", |env| spoil(&env.mesh().join("tmp"))),
    ("graves", |env| spoil(&env.mesh().join("graves"))),
    ("seen", |env| spoil(&env.mesh().join("seen"))),
    ("sent", |env| spoil(&env.mesh().join("sent"))),
    ("git", |env| {
        fs::remove_dir_all(env.work().join(".git")).ok();
        put(&env.work().join(".git"), "gitdir: ");
    }),
];

#[test]
fn whatever_else_is_damaged() {
    for strict in [false, true] {
        let (env, mut shell) = scene();
        for name in ["Dora", "Emil"] {
            env.join(name);
        }
        env.ok(&["send", "Carol", "hello", "--as", "Alice"]);
        if strict {
            env.configure("{\"strict\": true}");
        }
        // One after the other, so that in the end everything is damaged.
        for (what, damage) in ELSEWHERE {
            damage(&env);
            denied(&env, &mut shell, "s1", what);
            allowed(&env, &mut shell, "s1", what);
        }
    }
}

/// A registration that cannot even be opened affects at most its own agent.
#[test]
fn a_registration_that_leads_nowhere() {
    for bystanders in [0, 5] {
        for target in ["Torn.json", "/proc/self/mem"] {
            let (env, mut shell) = scene();
            for number in 0..bystanders {
                env.join(&format!("Bystander{number}"));
            }
            symlink(target, env.mesh().join("registry/Torn.json")).unwrap();
            denied(&env, &mut shell, "s1", target);
            allowed(&env, &mut shell, "s1", target);
        }
    }
}

#[test]
fn what_is_let_through_in_doubt_leaves_a_line() {
    let (env, mut shell) = scene();
    put_old(&env.mesh().join("registry/PiBird.json"), "{\"name\": \"PiBird\", \"pid\": ");
    let edit = Call::edit(&env, "s1", "free");
    assert_eq!(edit.answer_in(&env, &mut shell), HookAnswer::Silence);
    let lines = troubles(&env);
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(last_trouble(&env).contains("PiBird.json"), "{}", last_trouble(&env));
    denied(&env, &mut shell, "s1", "what is known to be reserved");
    assert_eq!(troubles(&env).len(), 1, "a refusal is no doubt");
    env.configure("{\"strict\": true}");
    let ended = shell.run(&edit.line(&env)).expect_code(0);
    assert!(ended.stdout.contains("\"deny\"") && ended.stdout.contains("PiBird.json"), "{ended}");
    assert_eq!(troubles(&env)[0]["event"], json!("PreToolUse"));
}

#[test]
fn a_command_that_changes_a_whole_tree_is_refused_for_what_is_reserved_in_it() {
    let (env, mut shell) = scene();
    put(&env.work().join(".git/HEAD"), "ref: refs/heads/main\n");
    let call = Call::bash(&env, "PreToolUse", "s1", "git switch main");
    let HookAnswer::Deny(reason) = call.answer_in(&env, &mut shell) else { panic!("it is let through") };
    assert!(reason.contains("(`git switch`), and `src/` in it is reserved (for "), "{reason}");
}
