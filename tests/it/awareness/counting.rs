//! Tests of the counts: made from history by a process that nobody waits for, and made again if they are damaged.

use std::fs;

use ravenry::sys::test_switches::BACKGROUND;

use super::{commit, counts, edit, files, git, join, prompt, repository};
use crate::hooks::harmless::troubles;
use crate::support::environment::{TestEnvironment, date, end, wait_until};
use crate::support::hook_call::session_of;

/// What hooks and background jobs left for `doctor`.
pub(super) fn errors(env: &TestEnvironment) -> Vec<String> {
    troubles(env).iter().map(|trouble| trouble["error"].as_str().unwrap().to_string()).collect()
}

/// Lets another count begin at once.
fn let_count(env: &TestEnvironment) {
    for lock in files(env, ".lock") {
        date(&lock, std::time::SystemTime::UNIX_EPOCH);
    }
}

#[test]
fn a_join_starts_it_and_does_not_wait() {
    let env = repository();
    let host = env.host().to_string();
    let args = ["join", "Alice", "--harness", "claude", "--session", &session_of("Alice"), "--pid", &host];
    end(env.msg().args(args).env_remove(BACKGROUND)).expect_code(0);
    wait_until("the history is counted", || counts(&env).is_some());
}

#[test]
fn a_damaged_file_is_counted_again_and_that_is_said_once() {
    let env = repository();
    join(&env, "Alice");
    let path = counts(&env).unwrap();
    let whole = fs::read(&path).unwrap();
    // A part that this prompt needs.
    let at = whole.windows(5).position(|bytes| bytes == b"login").unwrap();
    let mut damaged = whole.clone();
    damaged[at] ^= 1;
    fs::write(&path, damaged).unwrap();
    let_count(&env);
    prompt(&env, "Alice", "about the login");
    assert_eq!(fs::read(&path).unwrap().len(), whole.len());
    let said: Vec<String> = errors(&env).into_iter().filter(|text| text.contains("counted again")).collect();
    assert_eq!(said.len(), 1, "{said:?}");
    let_count(&env);
    prompt(&env, "Alice", "about the login");
    assert_eq!(errors(&env).len(), 1);
}

#[test]
fn histories_that_say_little() {
    for kind in ["none", "empty", "shallow"] {
        let env = TestEnvironment::new();
        match kind {
            "empty" => git(&env.work(), &["init", "-q"]),
            "shallow" => {
                let origin = repository();
                let url = format!("file://{}", origin.work().display());
                git(&env.path().join("."), &["clone", "-q", "--depth", "1", &url, "work/clone"]);
                git(&env.work().join("clone"), &["log"]);
            }
            _ => {}
        }
        join(&env, "Alice");
        assert_eq!(prompt(&env, "Alice", "about the login"), "", "{kind}");
        edit(&env, "Alice", "src/auth/login.rs");
        assert_eq!(errors(&env), [""; 0], "{kind}");
    }
}

#[test]
fn work_trees_share_the_counts() {
    let env = repository();
    join(&env, "Alice");
    git(&env.work(), &["worktree", "add", "-q", "../linked"]);
    let host = env.host().to_string();
    let args = ["join", "Robin", "--harness", "claude", "--session", &session_of("Robin"), "--pid", &host];
    let linked = env.path().join("linked");
    end(env.msg().args(args).current_dir(linked).env(BACKGROUND, "wait")).expect_code(0);
    assert_eq!(files(&env, "").iter().filter(|path| path.extension().is_none()).count(), 1);
}

#[test]
fn names_that_are_not_utf8() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let env = repository();
    let name = env.work().join(OsStr::from_bytes(b"src/\xff\nlogin.rs"));
    fs::write(name, "x").unwrap();
    commit(&env, "src/x.rs", "x", "about the login");
    join(&env, "Alice");
    assert!(counts(&env).is_some());
    assert_eq!(prompt(&env, "Alice", "about the login"), "");
    assert_eq!(errors(&env), [""; 0]);
}
