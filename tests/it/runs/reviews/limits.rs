//! How long a review takes at most, and how it is stopped.

use super::*;
use crate::runs::path_with_msg;

#[test]
fn the_time_of_a_review_includes_its_wait_for_a_slot() {
    // What the worker left running has the slot that the review would get.
    let leaves = "msg run holds x --detach -q >/dev/null; until [ -e held ]; do sleep 0.05; done; echo done";
    let build = reviewed("build", leaves);
    let holds = script("holds", "touch held; until [ -e free ]; do sleep 0.05; done; echo over");
    let judge = judge(SHIP).replacen('\n', "\ntimeout = 2\n", 1);
    let env = with_profiles(&[build, holds, judge].concat());
    env.ok(&["config", "set", "slots", "1"]);
    let path = path_with_msg();
    let ended = env.run_with(&["run", "build", "make it", "--json"], &[("PATH", &path)]).expect_code(0);
    let run = ended.json()["run"].clone();
    assert_eq!((&run["state"], &run["review"]["verdict"]), (&json!("done"), &Value::Null), "{run:#}");
    assert_eq!(run["review"]["reason"], "it ended as stopped: it waited until its 2 s were over");
    let reviewer = shown(&env, run["review"]["run"].as_str().unwrap());
    assert_eq!((&reviewer["state"], &reviewer["startedAt"]), (&json!("stopped"), &Value::Null));
    fs::write(env.work().join("free"), "").unwrap();
    let held = runs(&env).into_iter().find(|run| run["profile"] == "holds").unwrap();
    wait_for_state(&env, held["id"].as_str().unwrap(), "done");
}
