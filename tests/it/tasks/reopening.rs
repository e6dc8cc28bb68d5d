//! Completions that are taken back.

use std::fs;

use serde_json::{Value, json};

use super::fixture::{assert_state, claim, mail, on_disk, three};
use crate::support::environment::{TestEnvironment, put};

#[track_caller]
fn complete(env: &TestEnvironment, name: &str, task: &str, args: &[&str]) -> Value {
    claim(env, name, &[task]);
    env.ok(&[&["complete", task, "--as", name][..], args].concat())["completion"].clone()
}

#[track_caller]
fn reopen(env: &TestEnvironment, name: &str, task: &str, reason: &str) -> Value {
    env.ok(&["reopen", task, "--reason", reason, "--as", name])
}

#[track_caller]
fn history(env: &TestEnvironment, id: &str) -> Value {
    let listing = env.ok(&["tasks", "--as", "Carol"]);
    listing["tasks"].as_array().unwrap().iter().find(|row| row["id"] == id).unwrap()["reopened"].clone()
}

#[test]
fn a_task_is_open_again_and_its_history_stays() {
    let env = three();
    let first = complete(&env, "Alice", "TASK-01", &["--notes", "well", "--evidence", "I saw it"]);
    complete(&env, "Alice", "TASK-02", &[]);
    assert_state(&env, "TASK-03 open");
    let said = reopen(&env, "Bob", "task-1", "  it is lost\n on reload ");
    assert_eq!(said["reopened"]["completion"], first);
    assert_eq!(
        (&said["reopened"]["by"], &said["reopened"]["reason"]),
        (&json!("Bob"), &json!("it is lost on reload"))
    );
    assert_eq!(
        (&said["blocked"], &said["begun"], &said["done"]),
        (&json!(["TASK-03"]), &json!([]), &json!([]))
    );
    assert_eq!((&said["unticked"], &said["told"]), (&json!(false), &json!(true)));
    for state in ["TASK-01 open", "TASK-02 done Alice", "TASK-03 blocked"] {
        assert_state(&env, state);
    }
    assert_eq!(
        mail(&env, "Alice"),
        ["Bob reopened `TASK-01`, which you completed: “it is lost on reload” It is open again: msg tasks"]
    );
    assert_eq!(history(&env, "TASK-01"), json!([said["reopened"]]));
    let text = env.run(&["tasks", "--ready", "--as", "Carol"]).expect_code(0).stdout;
    assert!(text.contains("reopened by Bob: it is lost on reload"), "{text}");
    // Somebody else does it, and it is taken back again.
    let second = complete(&env, "Bob", "TASK-01", &[]);
    reopen(&env, "Carol", "TASK-01", "still");
    let known = history(&env, "TASK-01");
    assert_eq!(known.as_array().unwrap().len(), 2);
    assert_eq!((&known[0]["completion"], &known[1]["completion"]), (&first, &second));
    assert_eq!(known[0]["completion"]["evidence"]["text"], "I saw it");
    assert_eq!((&known[1]["by"], &known[1]["reason"]), (&json!("Carol"), &json!("still")));
    let events = env.ok(&["feed"])["events"].clone();
    let reopened: Vec<&Value> =
        events.as_array().unwrap().iter().filter(|event| event["type"] == "reopen").collect();
    assert_eq!(reopened.len(), 2);
    assert_eq!(
        (&reopened[1]["agent"], &reopened[1]["target"], &reopened[1]["preview"]),
        (&json!("Carol"), &json!("TASK-01"), &json!("still"))
    );
}

#[test]
fn what_is_begun_goes_on_and_what_is_done_stays_done() {
    let env = three();
    put(
        &env.work().join("spec.md"),
        "- [ ] A-1: one\n- [ ] A-2: two (needs A-1)\n- [ ] A-3: three (needs A-1)\n- [ ] A-4: four (needs A-1)\n",
    );
    complete(&env, "Alice", "A-1", &[]);
    complete(&env, "Alice", "A-2", &[]);
    claim(&env, "Bob", &["A-3", "--reserve", "src/"]);
    let said = reopen(&env, "Carol", "A-1", "no");
    assert_eq!(said["blocked"], json!(["A-4"]));
    assert_eq!(said["begun"], json!([{ "task": "A-3", "agent": "Bob" }]));
    assert_eq!(said["done"], json!(["A-2"]));
    for state in ["A-1 open", "A-2 done Alice", "A-3 claimed Bob", "A-4 blocked"] {
        assert_state(&env, state);
    }
    assert_eq!(mail(&env, "Bob"), ["Carol reopened `A-1`, which your task `A-3` needs: “no”"]);
    assert_eq!(env.fails(1, &["claim", "A-4", "--as", "Carol"]), "blocked");
    let text = env.run(&["reopen", "A-2", "--reason", "no", "--as", "Alice"]).expect_code(0).stdout;
    assert_eq!(text, "A-2 is open again; Alice had completed it.\n", "nobody tells herself");
    env.ok(&["complete", "A-3", "--as", "Bob"]);
}

#[test]
fn a_box_is_unticked() {
    let env = three();
    let before = fs::read_to_string(env.work().join("spec.md")).unwrap();
    complete(&env, "Alice", "TASK-01", &["--tick"]);
    assert_eq!(reopen(&env, "Bob", "TASK-01", "no")["unticked"], true);
    assert_eq!(fs::read_to_string(env.work().join("spec.md")).unwrap(), before);
    assert_state(&env, "TASK-01 open");
    claim(&env, "Bob", &["TASK-01"]);
    // A box that was ticked by hand is the business of whoever did that.
    let ended = env.run(&["reopen", "TASK-04", "--reason", "no", "--json", "--as", "Bob"]).expect_code(1);
    assert_eq!(ended.kind(), "not_completed");
    assert!(ended.json()["error"]["hints"][0].as_str().unwrap().contains("line 6"));
}

#[test]
fn bad_input() {
    let env = three();
    claim(&env, "Alice", &["TASK-01"]);
    let refused = |task: &str| env.fails(1, &["reopen", task, "--reason", "x", "--as", "Bob"]);
    assert_eq!(refused("TASK-01"), "not_completed");
    assert_eq!(refused("TASK-02"), "not_completed");
    assert_eq!(refused("TASK-99"), "unknown_task");
    assert_eq!(refused("TASK-03"), "not_completed");
    env.ok(&["complete", "TASK-01", "--as", "Alice"]);
    for reason in ["", " \n "] {
        assert_eq!(env.fails(2, &["reopen", "TASK-01", "--reason", reason, "--as", "Bob"]), "invalid_value");
    }
    let long = "x".repeat(10_000);
    assert_eq!(env.fails(2, &["reopen", "TASK-01", "--reason", &long, "--as", "Bob"]), "invalid_value");
    assert_eq!(env.fails(2, &["reopen", "TASK-01", "--as", "Bob"]), "usage");
    assert_eq!(env.fails(3, &["reopen", "TASK-01", "--reason", "x"]), "not_joined");
    assert_eq!(
        env.fails(2, &["reopen", "TASK-01", "--reason", "x", "--spec", "none.md", "--as", "Bob"]),
        "invalid_value"
    );
    assert_state(&env, "TASK-01 done Alice");
    assert_eq!(history(&env, "TASK-01"), json!([]));
}

#[test]
fn who_completed_it_and_is_gone_is_not_told() {
    let env = three();
    complete(&env, "Alice", "TASK-01", &[]);
    env.ok(&["leave", "--as", "Alice"]);
    // Another agent of that name has done nothing.
    env.join("Alice");
    assert_eq!(reopen(&env, "Bob", "TASK-01", "no")["told"], false);
    assert_eq!(mail(&env, "Alice"), [""; 0]);
    assert_state(&env, "TASK-01 open");
}

#[test]
fn what_others_wrote_stays() {
    let env = three();
    complete(&env, "Alice", "TASK-01", &[]);
    complete(&env, "Alice", "TASK-02", &[]);
    let file = env.mesh().join("completions.json");
    let mut completions = on_disk(&env, "completions.json");
    let spec = completions.as_object().unwrap().keys().next().unwrap().clone();
    completions[&spec]["TASK-02"]["theirs"] = json!("x");
    completions[&spec]["TASK-02"]["evidence"] = json!([1]);
    fs::write(&file, completions.to_string()).unwrap();
    reopen(&env, "Bob", "TASK-01", "no");
    let after = on_disk(&env, "completions.json");
    assert_eq!(after[&spec], json!({ "TASK-02": completions[&spec]["TASK-02"] }));
    assert_state(&env, "TASK-02 done Alice");
}
