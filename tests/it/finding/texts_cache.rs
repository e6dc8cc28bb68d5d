//! The texts that a search keeps below `search/` are never wrong: whatever comes and goes, and whoever is killed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use ravenry::sys::test_switches::CRASH_AT;

use super::texts;
use crate::support::environment::{TestEnvironment, files_in, wait_until};
use crate::support::running::post;

/// So many that they are kept.
const MANY: usize = 80;

fn stage() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.join("Bob");
    let mesh = env.store();
    for number in 0..MANY {
        post(&mesh, "Bob", &format!("walrus number{number}"));
    }
    env
}

fn kept(env: &TestEnvironment) -> Vec<PathBuf> {
    let dir = env.mesh().join("search");
    if dir.exists() { files_in(&dir) } else { Vec::new() }
}

#[track_caller]
fn count(env: &TestEnvironment) -> usize {
    texts(env, &["walrus", "--as", "Alice", "--limit", "1000"]).len()
}

/// Removes the record of one message that Alice sent, as it is when it is old.
fn forget_one(env: &TestEnvironment) {
    let sent = files_in(&env.mesh().join("sent/Alice"));
    fs::remove_file(sent.iter().find(|path| path.extension().is_some_and(|end| end == "json")).unwrap())
        .unwrap();
}

#[test]
fn it_follows_what_comes_and_goes() {
    let env = stage();
    assert_eq!(count(&env), MANY);
    let caches = kept(&env);
    assert!(!caches.is_empty());
    for path in &caches {
        assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600, "{}", path.display());
    }
    assert_eq!(count(&env), MANY);
    post(&env.store(), "Bob", "walrus too");
    assert_eq!(count(&env), MANY + 1);
    let written = || kept(&env).iter().map(|path| fs::metadata(path).unwrap().modified().unwrap()).max();
    let before = written();
    forget_one(&env);
    assert_eq!(count(&env), MANY, "what is not kept any more is not found");
    // Once the directory is left alone for a while, what is kept is of its present state.
    wait_until("it is kept", || count(&env) == MANY && written() > before);
    assert_eq!(count(&env), MANY);
    forget_one(&env);
    assert_eq!(count(&env), MANY - 1);
    env.ok(&["read", "--as", "Bob", "--limit", "1000"]);
    let bobs = || texts(&env, &["walrus", "--as", "Bob", "--limit", "1000"]).len();
    assert_eq!(bobs(), MANY + 1);
    assert_eq!(bobs(), MANY + 1);
}

#[test]
fn it_can_be_damaged_or_removed() {
    let env = stage();
    assert_eq!(count(&env), MANY);
    for damage in [&b""[..], b"ravenry-mail-texts 1\n", b"something else", &[0xff; 4096]] {
        for path in kept(&env) {
            fs::write(path, damage).unwrap();
        }
        assert_eq!(count(&env), MANY);
    }
    for path in kept(&env) {
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(path, bytes).unwrap();
    }
    assert_eq!(count(&env), MANY);
    fs::remove_dir_all(env.mesh().join("search")).unwrap();
    assert_eq!(count(&env), MANY);
    // Without it the search is slower, and says so.
    fs::remove_dir_all(env.mesh().join("search")).unwrap();
    fs::write(env.mesh().join("search"), "in the way").unwrap();
    let ended = env.run(&["search", "walrus", "--as", "Alice", "--limit", "1000"]).expect_code(0);
    assert_eq!(ended.stdout.lines().count(), MANY, "{ended}");
    assert!(ended.stderr.contains("could not be kept"), "{ended}");
}

#[test]
fn whoever_is_killed_while_it_is_written() {
    let env = stage();
    let mut survived = false;
    for step in 1..40 {
        if env.mesh().join("search").exists() {
            fs::remove_dir_all(env.mesh().join("search")).unwrap();
        }
        let step = step.to_string();
        let ended = env.run_with(&["search", "walrus", "--as", "Alice"], &[(CRASH_AT, step.as_str())]);
        assert_eq!(count(&env), MANY, "killed before change {step}");
        if ended.code == Some(0) {
            survived = true;
            break;
        }
    }
    assert!(survived, "every change was tried");
}
