//! Commits and branches travel by git: a run starts from a commit, whatever is in the tree there, and its branch goes to a
//! remote that both machines have.

use std::path::PathBuf;

use super::{git, script, two_with};
use crate::support::machine::Machine;
use crate::support::server::Server;

/// A repository that both machines have as their `origin`.
fn shared_remote(server: &Server, machines: [&Machine; 2]) -> PathBuf {
    let remote = server.dir().join("shared.git");
    git(server.dir(), &["init", "-q", "--bare", "-b", "main", remote.to_str().unwrap()]);
    for machine in machines {
        git(&machine.env.work(), &["remote", "add", "origin", remote.to_str().unwrap()]);
    }
    git(&machines[0].env.work(), &["push", "-q", "origin", "main"]);
    remote
}

fn commit(machine: &Machine, file: &str, text: &str) -> String {
    let work = machine.env.work();
    std::fs::write(work.join(file), text).unwrap();
    git(&work, &["add", "."]);
    git(&work, &["commit", "-q", "-m", file]);
    git(&work, &["rev-parse", "HEAD"])
}

#[test]
fn a_run_starts_at_the_commit_of_who_asks_and_its_branch_comes_back() {
    let server = Server::start();
    let (a, b) = two_with(&server, &script("build", "ls; cat new.txt; echo built > built.txt"));
    let remote = shared_remote(&server, [&a, &b]);
    let asked = commit(&a, "new.txt", "new here\n");
    // What is there on the other machine stays there: a commit that nobody pushed, and a file that nobody committed.
    commit(&b, "unpushed.txt", "private\n");
    std::fs::write(b.env.work().join("uncommitted.txt"), "private\n").unwrap();
    let error = a.fails(1, &["run", "build", "x", "--on", "buildbox", "--as", "Anna"]);
    assert_eq!(error["kind"], "no_commit", "{error}");
    assert!(error["message"].as_str().unwrap().contains(&asked[..12]), "{error}");
    assert!(error["hints"].to_string().contains("push"), "{error}");
    b.ok(&["link", "--push-runs", "origin"]);
    let error = a.fails(1, &["run", "build", "x", "--on", "buildbox", "--as", "Anna"]);
    assert_eq!(error["kind"], "no_commit", "{error}");
    git(&a.env.work(), &["push", "-q", "origin", "main"]);
    let ended = a.run(&["run", "build", "x", "--on", "buildbox", "--as", "Anna", "--json"]);
    let run = ended.expect_code(0).json()["run"].clone();
    let result = run["result"].as_str().unwrap();
    assert!(result.contains("new here") && !result.contains("unpushed") && !result.contains("uncommitted"));
    assert_eq!(
        (&run["push"]["remote"], &run["push"]["problem"]),
        (&"origin".into(), &serde_json::Value::Null)
    );
    assert_eq!(run["changed"], serde_json::json!(["built.txt"]));
    let branch = run["branch"].as_str().unwrap();
    let work = a.env.work();
    git(&work, &["fetch", "-q", "origin", branch]);
    // One commit on top of ours, without what the person there has not pushed.
    assert_eq!(git(&work, &["rev-parse", "FETCH_HEAD^"]), asked);
    git(&work, &["merge", "-q", "FETCH_HEAD"]);
    assert_eq!(std::fs::read_to_string(work.join("built.txt")).unwrap(), "built\n");
    assert!(git(&remote, &["branch", "--list"]).contains(branch));
    // Nothing of it is in the tree there, or on its branch.
    assert!(!b.env.work().join("built.txt").exists() && !b.env.work().join("new.txt").exists());
}

#[test]
fn what_is_not_committed_is_told_and_not_there() {
    let server = Server::start();
    let (a, _b) = two_with(&server, &script("list", "ls"));
    std::fs::write(a.env.work().join("draft.txt"), "x").unwrap();
    let ended = a.run(&["run", "list", "x", "--on", "buildbox", "--as", "Anna"]).expect_code(0);
    assert!(ended.stderr.contains("1 file") && ended.stderr.contains("not committed"), "{ended}");
    assert!(!ended.stdout.contains("draft.txt"), "{ended}");
}

#[test]
fn without_a_remote_the_branch_stays_there_and_the_answer_says_how_to_get_it() {
    let server = Server::start();
    let (a, b) = two_with(&server, &script("build", "echo built > built.txt; echo ok"));
    let ended = a.run(&["run", "build", "x", "--on", "buildbox", "--as", "Anna"]).expect_code(0);
    assert!(ended.stdout.contains("git push") && ended.stdout.contains("ravenry/run-"), "{ended}");
    assert!(git(&b.env.work(), &["branch", "--list"]).contains("ravenry/run-"));
}

#[test]
fn a_task_of_a_spec_is_claimed_for_the_worker_there() {
    let server = Server::start();
    let (a, _b) = two_with(&server, &script("work", "cat"));
    let args = ["run", "work", "--task", "TASK-01", "--spec", "plan.md", "--on", "buildbox", "--as", "Anna"];
    let run = a.ok(&args)["run"].clone();
    assert!(run["result"].as_str().unwrap().contains("TASK-01"), "{run:#}");
    assert_eq!(run["claim"]["task"], "TASK-01");
}
