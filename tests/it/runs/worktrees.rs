//! Runs in worktrees of their own, of workers that are commands.

mod continued;
mod finishing;
mod killed;
mod places;
mod resumed;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::{put_profiles, script, wait_for_state};
use crate::support::environment::{TestEnvironment, wait_until};

#[track_caller]
pub fn git(dir: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.env_clear().env("PATH", std::env::var("PATH").unwrap()).env("HOME", dir.parent().unwrap());
    let output = command.arg("-C").arg(dir).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_string()
}

/// An environment whose working directory is a repository of a person, with these profiles.
pub fn with_repository(profiles: &str) -> TestEnvironment {
    let env = TestEnvironment::new();
    put_profiles(&env, profiles);
    let work = env.work();
    git(&work, &["init", "-q", "-b", "main"]);
    git(&work, &["config", "user.name", "Ann"]);
    git(&work, &["config", "user.email", "ann@example.org"]);
    for (path, text) in
        [("a", "1\n2\n3\n4\n5\n6\n7\n"), ("b", "one\n"), ("c", "one\n"), (".gitignore", "ignored\n")]
    {
        fs::write(work.join(path), text).unwrap();
    }
    git(&work, &["add", "-A"]);
    git(&work, &["commit", "-q", "-m", "first"]);
    env
}

/// Gives the person a stash, staged, changed, untracked and ignored files.
pub fn make_untidy(env: &TestEnvironment) {
    let work = env.work();
    fs::write(work.join("c"), "stashed\n").unwrap();
    git(&work, &["stash", "-q"]);
    fs::write(work.join("c"), "staged\n").unwrap();
    git(&work, &["add", "c"]);
    fs::write(work.join("c"), "not staged\n").unwrap();
    fs::write(work.join("new"), "untracked\n").unwrap();
    fs::write(work.join("ignored"), "ignored\n").unwrap();
    fs::write(work.join(".env"), "KEY=1\n").unwrap();
}

/// Files of the person, and all of git's directory that is theirs: content, mode and time.
pub fn person(env: &TestEnvironment) -> BTreeMap<PathBuf, (Vec<u8>, u32, i128)> {
    fn add(dir: &Path, top: &Path, all: &mut BTreeMap<PathBuf, (Vec<u8>, u32, i128)>) {
        for entry in fs::read_dir(dir).unwrap().flatten() {
            let path = entry.path();
            let name = path.strip_prefix(top).unwrap().to_path_buf();
            let ours = [".git/objects", ".git/refs/ravenry", ".git/refs/heads/ravenry", ".git/worktrees"];
            if ours.iter().any(|ours| name.starts_with(ours)) {
                continue;
            }
            let there = path.symlink_metadata().unwrap();
            if there.is_dir() {
                add(&path, top, all);
            } else {
                let time = i128::from(there.mtime()) * 1_000_000_000 + i128::from(there.mtime_nsec());
                all.insert(name, (fs::read(&path).unwrap(), there.mode(), time));
            }
        }
    }
    let mut all = BTreeMap::new();
    add(&env.work(), &env.work(), &mut all);
    all
}

/// Starts a run in a worktree of its own that nobody follows; returns its id.
#[track_caller]
pub fn detached(env: &TestEnvironment, profile: &str, task: &str) -> String {
    let answer = env.ok(&["run", profile, task, "--worktree", "--detach"]);
    answer["run"]["id"].as_str().unwrap().to_string()
}

/// Runs a worker in a worktree of its own to its end; returns the run.
#[track_caller]
pub fn done(env: &TestEnvironment, profile: &str) -> Value {
    let run = env.ok(&["run", profile, "Change something", "--worktree"])["run"].clone();
    assert_eq!(run["state"], "done", "{run}");
    run
}

fn id_of(run: &Value) -> &str {
    run["id"].as_str().unwrap()
}

/// The worktrees that git and the state directory know.
pub fn directories(env: &TestEnvironment) -> Vec<PathBuf> {
    let top = env.home().join(".local/state/ravenry/worktrees");
    let repositories = fs::read_dir(top).into_iter().flatten().flatten().map(|entry| entry.path());
    let below = repositories.flat_map(|dir| fs::read_dir(dir).unwrap().flatten().map(|entry| entry.path()));
    below.filter(|path| path.is_dir()).collect()
}

/// A worker that changes, adds and removes files in the directory that it is started in.
pub const EDITS: &str =
    "cat >/dev/null; sed -i s/7/SEVEN/ a; mkdir -p deep; echo made > deep/made; rm b; echo k > key.pem; pwd";

#[test]
fn the_work_of_a_run_is_on_a_branch_and_the_person_keeps_everything() {
    let env = with_repository(&script("edits", EDITS));
    make_untidy(&env);
    let before = person(&env);
    let run = done(&env, "edits");
    let id = id_of(&run);
    assert_eq!(person(&env), before);
    assert_eq!(run["branch"], format!("ravenry/run-{id}"));
    assert_eq!(run["changed"], json!(["a", "b", "deep/made"]));
    assert_eq!(run["saved"], json!(["key.pem (it looks like a secret by its name)"]));
    let project = fs::canonicalize(env.work()).unwrap();
    assert_eq!(run["project"], project.to_str().unwrap());
    assert_eq!(run["result"], run["root"], "the worker was in its worktree");
    assert!(!Path::new(run["root"].as_str().unwrap()).starts_with(&project));
    assert!(directories(&env).is_empty(), "the directory is freed");
    // The branch has what the run did on top of HEAD, and nothing that the person had not committed.
    let branch = run["branch"].as_str().unwrap();
    assert_eq!(git(&env.work(), &["log", "--format=%s", branch]), "Change something\nfirst");
    assert_eq!(git(&env.work(), &["show", &format!("{branch}:a")]), "1\n2\n3\n4\n5\n6\nSEVEN");
    assert_eq!(git(&env.work(), &["ls-tree", "-r", "--name-only", branch]), ".gitignore\na\nc\ndeep/made");
    let saved = format!("refs/ravenry/saved/{id}");
    assert_eq!(git(&env.work(), &["ls-tree", "-r", "--name-only", &saved]), "key.pem");
}

#[test]
fn a_worktree_is_as_the_tree_was() {
    let env =
        with_repository(&script("looks", "cat >/dev/null; cat c new .env; ls -A; echo $RAVENRY_PROJECT"));
    make_untidy(&env);
    let run = done(&env, "looks");
    let project = fs::canonicalize(env.work()).unwrap();
    let expected =
        format!("not staged\nuntracked\nKEY=1\n.env\n.git\n.gitignore\na\nb\nc\nnew\n{}", project.display());
    assert_eq!(run["result"], expected);
    assert_eq!((&run["branch"], &run["changed"]), (&Value::Null, &json!([])));
    assert_eq!(run["reason"], "it changed no file");
}

#[test]
fn work_that_needs_what_is_not_committed_has_no_branch_and_is_merged_all_the_same() {
    let env = with_repository(&script("edits", "cat >/dev/null; echo more >> c; echo done"));
    make_untidy(&env);
    let run = done(&env, "edits");
    assert_eq!((&run["branch"], &run["changed"]), (&Value::Null, &json!(["c"])));
    assert_eq!(env.fails(1, &["runs", "pr", id_of(&run)]), "no_work");
    env.ok(&["runs", "merge", id_of(&run)]);
    assert_eq!(fs::read_to_string(env.work().join("c")).unwrap(), "not staged\nmore\n");
}

#[test]
fn a_profile_may_want_a_worktree() {
    let isolated = script("edits", EDITS) + "isolation = \"worktree\"\n";
    let env = with_repository(&isolated);
    let run = env.ok(&["run", "edits", "x"])["run"].clone();
    assert_eq!(run["changed"], json!(["a", "b", "deep/made"]));
    assert_eq!(fs::read_to_string(env.work().join("b")).unwrap(), "one\n");
}

#[test]
fn work_is_committed_however_the_run_ends() {
    let env = with_repository(
        &[
            script("fails", "cat >/dev/null; echo half > half; exit 3"),
            script("slow", "cat >/dev/null; echo half > half; sleep 1000"),
            script("asks", "cat >/dev/null; echo half > half; echo 'Shall I go on?'"),
        ]
        .concat(),
    );
    let ended = env.run(&["run", "fails", "x", "--worktree", "--json"]).expect_code(1).json();
    assert_eq!((&ended["run"]["state"], &ended["run"]["changed"]), (&json!("failed"), &json!(["half"])));
    let ended =
        env.run(&["run", "slow", "x", "--worktree", "--timeout", "15", "--json"]).expect_code(1).json();
    assert_eq!((&ended["run"]["state"], &ended["run"]["changed"]), (&json!("timeout"), &json!(["half"])));
    // A question is an end if something was done.
    assert_eq!(done(&env, "asks")["changed"], json!(["half"]));
    let id = detached(&env, "slow", "y");
    let root = wait_for_state(&env, &id, "running")["root"].as_str().unwrap().to_string();
    wait_until("it has begun", || Path::new(&root).join("half").exists());
    assert!(env.run(&["runs", "diff", &id]).expect_code(1).stderr.contains("is not committed yet"));
    assert_eq!(env.fails(1, &["runs", "merge", &id]), "at_work");
    env.ok(&["runs", "stop", &id, "--now"]);
    assert_eq!(wait_for_state(&env, &id, "stopped")["changed"], json!(["half"]));
    assert!(directories(&env).is_empty());
}

#[test]
fn the_parent_is_told_what_changed_and_how_to_go_on() {
    let env = with_repository(&script("edits", EDITS));
    env.join("Robin");
    let answer = env.ok(&["run", "edits", "x", "--worktree", "--as", "Robin"]);
    let id = id_of(&answer["run"]);
    let mut text = String::new();
    wait_until("its parent is told", || {
        let mail = env.ok(&["read", "--as", "Robin"])["messages"][0].clone();
        text = mail["text"].as_str().unwrap_or_default().to_string();
        !text.is_empty()
    });
    let expected = format!(
        "It changed `a`, `b`, `deep/made`, on the branch `ravenry/run-{id}`. Nothing of it is in your tree yet: \
         `msg runs diff {id}` shows it, `msg runs merge {id}` brings it there, `msg runs discard {id}` gives it up. \
         Saved apart, and never merged or pushed: `key.pem (it looks like a secret by its name)`."
    );
    assert!(text.contains(&expected), "{text}");
}

#[test]
fn setup_and_teardown_run_in_the_worktree() {
    let setup = "[worktree]\ncopy = \"ignored\"\nlink = [\"shared\"]\n\
                 setup = [\"echo $RAVENRY_SLOT > slot\", \"test $RAVENRY_PROJECT/a -ef $RAVENRY_PROJECT/a\"]\n\
                 teardown = \"cat slot > $RAVENRY_PROJECT/../torn\"\n";
    let look = script("looks", "cat >/dev/null; cat ignored slot; readlink shared; echo x > made");
    let env = with_repository(&(setup.to_string() + &look));
    fs::create_dir(env.work().join("shared")).unwrap();
    fs::write(env.work().join("ignored"), "secret\n").unwrap();
    fs::write(env.work().join(".gitignore"), "ignored\nshared\nslot\n").unwrap();
    let run = done(&env, "looks");
    let shared = fs::canonicalize(env.work().join("shared")).unwrap();
    assert_eq!(run["result"], format!("secret\n0\n{}", shared.display()));
    assert_eq!(run["changed"], json!(["made"]));
    assert_eq!(fs::read_to_string(env.path().join("torn")).unwrap(), "0\n");
    assert!(directories(&env).is_empty());
}

#[test]
fn a_failing_setup_starts_no_worker() {
    let setup =
        "[worktree]\nsetup = [\"echo junk > junk\", \"echo no compiler >&2; exit 7\", \"touch never\"]\n";
    let env = with_repository(&(setup.to_string() + &script("echo", "cat")));
    let before = person(&env);
    let run = env.run(&["run", "echo", "x", "--worktree", "--json"]).expect_code(1).json()["run"].clone();
    assert_eq!(run["state"], "failed");
    assert_eq!(
        run["reason"], "setup: `echo no compiler >&2; exit 7` ended with exit code 7:\nno compiler",
        "{run}"
    );
    assert_eq!((&run["result"], &run["branch"]), (&Value::Null, &Value::Null));
    assert!(directories(&env).is_empty());
    assert_eq!(git(&env.work(), &["for-each-ref", "--format=%(refname)"]), "refs/heads/main");
    assert_eq!(person(&env), before);
    let log = fs::read_to_string(env.mesh().join(format!("runs/{}/setup", id_of(&run)))).unwrap();
    assert_eq!(log, "$ echo junk > junk\n$ echo no compiler >&2; exit 7\nno compiler\n[exit code 7]\n");
    assert_eq!(env.fails(1, &["runs", "merge", id_of(&run)]), "no_work");
}

#[test]
fn a_setup_can_be_stopped_and_leaves_nothing() {
    let setup = "[worktree]\nsetup = \"setsid sleep 1000 & touch $RAVENRY_PROJECT/../begun; sleep 1000\"\n";
    let env = with_repository(&(setup.to_string() + &script("echo", "cat")));
    let id = detached(&env, "echo", "x");
    wait_until("its setup has begun", || env.path().join("begun").exists());
    env.ok(&["runs", "stop", &id]);
    assert_eq!(wait_for_state(&env, &id, "stopped")["reason"], "stopped by a person");
    assert!(super::left_of(&id).is_empty());
    assert!(directories(&env).is_empty());
}

#[test]
fn a_projects_setup_needs_trust() {
    let env = with_repository(&script("echo", "cat"));
    fs::create_dir(env.work().join(".ravenry")).unwrap();
    fs::write(env.work().join(".ravenry/workers.toml"), "[worktree]\nsetup = \"touch ran\"\n").unwrap();
    let ended = env.run(&["run", "echo", "x", "--worktree", "--json"]).expect_code(1);
    assert_eq!(ended.json()["error"]["gate"], "trust", "{ended}");
    env.ok(&["run", "echo", "x"]);
    env.ok(&["workers", "trust", "--yes"]);
    let run = env.ok(&["run", "echo", "x", "--worktree"])["run"].clone();
    assert_eq!(run["changed"], json!(["ran"]));
}

#[test]
fn a_worker_of_a_worker_works_for_its_worktree() {
    let outer = "cat >/dev/null; echo outer > outer; inner=$(msg run inner x --worktree --detach -q); \
                 msg runs show $inner --follow -q; msg runs merge $inner -q";
    let env = with_repository(&[script("outer", outer), script("inner", "cat; echo inner > inner")].concat());
    let path = super::path_with_msg();
    let args = ["run", "outer", "x", "--worktree", "--json"];
    let answer = env.run_with(&args, &[("PATH", &path)]).expect_code(0).json();
    assert_eq!(answer["run"]["changed"], json!(["inner", "outer"]), "{answer}");
    assert!(directories(&env).is_empty());
}

#[test]
fn tasks_of_a_batch_may_have_worktrees() {
    let env = with_repository(&script("edits", "cat > task; cat task"));
    let lines = [json!({"task": "apart", "worktree": true}), json!({"task": "here", "worktree": false})];
    fs::write(env.path().join("batch"), format!("{}\n{}\n", lines[0], lines[1])).unwrap();
    let file = env.path().join("batch");
    let answer = env.ok(&["batch", file.to_str().unwrap(), "--profile", "edits"]);
    assert_eq!(answer["runs"][0]["changed"], json!(["task"]), "{answer}");
    assert_eq!(answer["runs"][1]["project"], Value::Null);
    assert_eq!(fs::read_to_string(env.work().join("task")).unwrap(), "here");
}
