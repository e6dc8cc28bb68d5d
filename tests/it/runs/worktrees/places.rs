//! Where no worktree can be made, and what is odd about a repository: a sentence each, and nothing half done.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use super::super::{script, with_profiles};
use super::{EDITS, directories, done, git, id_of, person, with_repository};
use crate::support::environment::TestEnvironment;
use crate::support::skip::skip;

#[track_caller]
fn refused(env: &TestEnvironment, code: i32) -> String {
    let ended = env.run(&["run", "edits", "x", "--worktree", "--json"]).expect_code(code);
    assert_eq!(env.ok(&["runs", "--all"])["runs"], json!([]), "a run that was refused is none");
    ended.json()["error"]["message"].as_str().unwrap().to_string()
}

#[test]
fn without_a_repository() {
    let env = with_profiles(&script("edits", EDITS));
    let message = refused(&env, 2);
    assert!(message.ends_with("is not in a git repository: a run's worktree needs one"), "{message}");
}

#[test]
fn without_a_commit() {
    let env = with_profiles(&script("edits", EDITS));
    git(&env.work(), &["init", "-q"]);
    let message = refused(&env, 2);
    assert!(message.ends_with("has no commits: make the first one, then try again"), "{message}");
}

#[test]
fn in_a_bare_repository() {
    let env = with_profiles(&script("edits", EDITS));
    git(&env.work(), &["init", "-q", "--bare"]);
    let message = refused(&env, 2);
    assert!(message.ends_with("is bare: there is no work tree to start from"), "{message}");
}

#[test]
fn with_a_pattern_that_leads_out() {
    let env = with_repository(&("[worktree]\ncopy = \"../x\"\n".to_string() + &script("edits", EDITS)));
    let ended = env.run(&["run", "edits", "x", "--worktree", "--json"]);
    assert!(ended.code == Some(2) || ended.code == Some(4), "{ended}");
    assert!(ended.stdout.contains(".."), "{ended}");
}

#[test]
fn in_a_subdirectory_it_starts_at_the_root() {
    let env = with_repository(&script("edits", "cat >/dev/null; ls; echo x > x"));
    let below = env.work().join("below");
    fs::create_dir(&below).unwrap();
    let ended = crate::support::environment::end(
        env.msg().args(["run", "edits", "x", "--worktree", "--json"]).current_dir(&below),
    );
    let run = ended.expect_code(0).json()["run"].clone();
    assert_eq!((&run["result"], &run["changed"]), (&json!("a\nb\nc"), &json!(["x"])));
}

#[test]
fn with_submodules() {
    let env = with_repository(&script("edits", "cat >/dev/null; ls -A sub | wc -l; echo x > x"));
    let other = env.path().join("other");
    fs::create_dir(&other).unwrap();
    git(&other, &["init", "-q", "-b", "main"]);
    git(
        &other,
        &["-c", "user.name=A", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "first"],
    );
    let add =
        ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", other.to_str().unwrap(), "sub"];
    git(&env.work(), &add);
    git(&env.work(), &["commit", "-q", "-m", "with a submodule"]);
    let before = person(&env);
    let ended = env.run(&["run", "edits", "x", "--worktree", "--json"]).expect_code(0);
    assert!(ended.stderr.contains("the submodules of this repository are empty directories"), "{ended}");
    let run = ended.json()["run"].clone();
    assert_eq!((&run["result"], &run["changed"]), (&json!("0"), &json!(["x"])), "{run}");
    assert_eq!(person(&env), before);
    assert!(directories(&env).is_empty());
    env.ok(&["runs", "merge", id_of(&run)]);
    assert_eq!(git(&env.work(), &["status", "--porcelain"]), "?? x");
}

/// Mounts a small file system; `false` if that is not allowed here.
fn mount(at: &Path, size: &str) -> bool {
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(at).stderr(Stdio::null());
    mount.status().is_ok_and(|status| status.success())
}

/// Unmounts it, whatever happens.
struct Mounted<'a>(&'a Path);

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(self.0).status().unwrap();
    }
}

#[test]
fn on_a_full_disk() {
    let env = with_repository(&script("edits", EDITS));
    let state = env.home().join(".local/state/ravenry/worktrees");
    fs::create_dir_all(&state).unwrap();
    if !mount(&state, "1m") {
        return skip("no file system can be mounted");
    }
    let _mounted = Mounted(&state);
    fs::write(env.work().join("large"), vec![b'x'; 3_000_000]).unwrap();
    git(&env.work(), &["add", "-A"]);
    git(&env.work(), &["commit", "-q", "-m", "large"]);
    let before = person(&env);
    let run = env.run(&["run", "edits", "x", "--worktree", "--json"]).expect_code(1).json()["run"].clone();
    assert_eq!(run["state"], "failed");
    assert!(run["reason"].as_str().unwrap().starts_with("the disk is full"), "{run}");
    assert!(directories(&env).is_empty());
    assert_eq!(person(&env), before);
    assert_eq!(git(&env.work(), &["for-each-ref", "--format=%(refname)"]), "refs/heads/main");
    // With room it works.
    git(&env.work(), &["rm", "-q", "--cached", "large"]);
    fs::remove_file(env.work().join("large")).unwrap();
    done(&env, "edits");
}
