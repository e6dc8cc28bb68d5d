//! The supervisor of a run is killed while its work is reviewed: the work is done, and is not done again.

use nix::sys::signal::{SIGKILL, kill};
use nix::unistd::Pid;

use super::*;

const HOLD: &str = "cat >/dev/null; until [ -e free ]; do sleep 0.05; done; echo '{\"verdict\": \"rework\"}'";

fn kill_supervisor(env: &TestEnvironment, id: &str) {
    let pid = shown(env, id)["supervisorPid"].as_i64().unwrap();
    kill(Pid::from_raw(i32::try_from(pid).unwrap()), SIGKILL).unwrap();
}

/// A run that is being reviewed, and the run of its reviewer.
fn under_review(env: &TestEnvironment, args: &[&str]) -> (String, String) {
    let args = [&["run", "build", "make it", "--detach"], args].concat();
    let id = env.ok(&args)["run"]["id"].as_str().unwrap().to_string();
    let run = wait_for_run(env, &id, "reviewed", is_being_reviewed);
    let reviewer = run["review"]["run"].as_str().unwrap().to_string();
    wait_for_state(env, &reviewer, "running");
    (id, reviewer)
}

#[test]
fn the_work_is_done_and_the_verdict_counts_when_it_comes() {
    let env = with_profiles(&[reviewed("build", "echo made >new; echo I did it"), judge(HOLD)].concat());
    env.join("Robin");
    let (id, reviewer) = under_review(&env, &["--as", "Robin"]);
    kill_supervisor(&env, &id);
    let run = wait_for_state(&env, &id, "done");
    assert_eq!((&run["result"], &run["review"]["pending"]), (&json!("I did it"), &json!(true)), "{run:#}");
    assert!(run["endedAt"].is_string() && run["doing"].is_null(), "{run:#}");
    let resumed = env.ok(&["runs", "resume", "--all"]);
    assert_eq!((&resumed["runs"], &resumed["left"]), (&json!([]), &json!([])), "nothing is left to do");
    assert_eq!(runs(&env).len(), 2);
    fs::write(env.work().join("free"), "").unwrap();
    wait_for_state(&env, &reviewer, "done");
    let review = shown(&env, &id)["review"].clone();
    assert_eq!((&review["verdict"], &review["pending"]), (&json!("rework"), &json!(false)), "{review:#}");
    let mut told = String::new();
    wait_until("the parent is told", || {
        let mail = env.ok(&["read", "--as", "Robin"])["messages"].clone();
        told = mail[0]["text"].as_str().unwrap_or_default().to_string();
        !told.is_empty()
    });
    let begin = format!("Run `{id}` (`build`: “make it”) has ended: `done`.");
    assert!(told.contains(&begin) && told.contains("The verdict of `judge` is `rework`"), "{told}");
}

#[test]
fn the_review_alone_is_missing_if_its_supervisor_died_too() {
    let env = with_repository(&[reviewed("build", "echo made >new; echo I did it"), judge(HOLD)].concat());
    let (id, reviewer) = under_review(&env, &["--worktree"]);
    kill_supervisor(&env, &id);
    kill_supervisor(&env, &reviewer);
    wait_for_state(&env, &reviewer, "interrupted");
    let run = wait_for_state(&env, &id, "done");
    let reason = run["review"]["reason"].as_str().unwrap();
    assert!(reason.starts_with("it ended as interrupted: its supervisor died"), "{reason}");
    let resumed = env.ok(&["runs", "resume", "--all"]);
    assert_eq!((&resumed["runs"], &resumed["left"]), (&json!([]), &json!([])));
    let text = env.run(&["runs", "show", &id]).expect_code(0).stdout;
    assert!(text.contains("none by judge"), "{text}");
    env.ok(&["runs", "merge", &id]);
    assert_eq!(fs::read_to_string(env.work().join("new")).unwrap(), "made\n", "what was done is there");
}
