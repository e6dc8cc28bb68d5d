//! Planning again: by id, without losing what has begun.

use std::fs;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::json;

use super::{GOOD, answer, plan_file, set_answers, texts, told, with_planner};
use crate::runs::{put_profiles, script};
use crate::support::environment::{TestEnvironment, wait_until};

/// TASK-01 is done by Alice, and TASK-03 is claimed by Bob.
fn begun() -> TestEnvironment {
    let env = with_planner(&[&answer(GOOD)]);
    env.ok(&["crew", "plan", "Login", "--yes"]);
    for (name, task) in [("Alice", "TASK-01"), ("Bob", "TASK-03")] {
        env.join(name);
        env.ok(&["spec", "login.plan.md", "--as", name]);
        env.ok(&["claim", task, "--as", name]);
    }
    env.ok(&["complete", "TASK-01", "--as", "Alice"]);
    env
}

const NEW: &str = "\
# Login, again

- [ ] TASK-03: Describe it better
  paths: docs/**
- [ ] TASK-02: Log in and out (needs TASK-01)
  paths: src/auth/**
- [ ] TASK-04: Remember it (needs TASK-02)
  paths: src/auth/cookie.rs
  verify: cargo test cookie";

#[test]
fn tasks_that_have_begun_stay_and_the_others_are_replaced() {
    let env = begun();
    set_answers(&env, &[&answer(NEW)]);
    let plan = env.ok(&["crew", "plan", "Login", "--yes"]);
    assert_eq!(texts(&plan["added"]), ["TASK-04"]);
    assert_eq!(texts(&plan["changed"]), ["TASK-02"]);
    assert_eq!(texts(&plan["kept"]), ["TASK-01", "TASK-03"]);
    assert!(texts(&plan["dropped"]).is_empty() && texts(&plan["same"]).is_empty());
    let states: Vec<_> = plan["tasks"].as_array().unwrap().iter().map(|task| task["state"].clone()).collect();
    assert_eq!(states, [json!("done"), json!("claimed"), json!("open"), json!("open")]);
    let text = plan_file(&env, "login.plan.md").unwrap();
    let expected = "# Login, again\n\n\
        - [ ] TASK-01: Store passwords\n  As hashes.\n  paths: src/auth/hash.rs\n  verify: cargo test hash\n\
        - [ ] TASK-03: Describe it\n  paths: docs/login.md\n\
        - [ ] TASK-02: Log in and out (needs TASK-01)\n  paths: src/auth/**\n\
        - [ ] TASK-04: Remember it (needs TASK-02)\n  paths: src/auth/cookie.rs\n  verify: cargo test cookie\n";
    assert!(text.ends_with(expected), "{text}");
    let told = told(&env);
    assert!(told[0].contains("`TASK-01` (done), `TASK-03` (claimed)"), "{}", told[0]);
    assert!(told[0].contains("> - [ ] TASK-02: Log in (needs TASK-01)"), "{}", told[0]);
    let again = env.ok(&["crew", "plan", "Login", "--yes"]);
    assert_eq!(
        (&again["written"], plan_file(&env, "login.plan.md")),
        (&json!(false), Some(text)),
        "nothing twice"
    );
    let tasks = env.ok(&["tasks", "--as", "Bob"])["tasks"].clone();
    assert_eq!(tasks.as_array().unwrap().len(), 4);
}

#[test]
fn what_is_not_planned_any_more_is_dropped_and_told() {
    let env = begun();
    set_answers(&env, &[&answer("- [ ] TASK-05: Something else\n  paths: x\n  verify: make")]);
    let ended = env.run(&["crew", "plan", "Login", "--yes"]).expect_code(0);
    assert!(ended.stdout.contains("(1 added, 2 kept, 1 dropped)"), "{ended}");
    assert!(ended.stdout.contains("Dropped: TASK-02") && ended.stdout.contains("kept: claimed"), "{ended}");
    let text = plan_file(&env, "login.plan.md").unwrap();
    assert!(text.contains("TASK-01") && text.contains("TASK-03") && !text.contains("TASK-02"), "{text}");
}

#[test]
fn a_task_that_is_worked_on_keeps_what_it_needs_and_its_paths() {
    let env = with_planner(&[&answer("- [ ] A-1: one\n  paths: a\n- [ ] A-2: two (needs A-1)\n  paths: b")]);
    env.configure(r#"{"backOff": 0, "dependencies": "advisory"}"#);
    env.ok(&["crew", "plan", "Login", "--yes"]);
    env.join("Alice");
    env.ok(&["claim", "A-2", "--spec", "login.plan.md", "--as", "Alice"]);
    set_answers(&env, &[&answer("- [ ] A-3: three\n  paths: b/c"), &answer("- [ ] A-1: other\n  paths: a")]);
    let plan = env.ok(&["crew", "plan", "Login", "--yes"]);
    assert_eq!((texts(&plan["kept"]), texts(&plan["changed"])), (vec!["A-2"], vec!["A-1"]));
    let told = told(&env);
    assert!(told[1].contains("`A-2` needs `A-1`, which is not a task of the plan"), "{}", told[1]);
    assert!(told[1].contains("`A-2` and `A-3` could be worked on at the same time"), "{}", told[1]);
}

#[test]
fn an_id_of_a_task_that_was_done_is_not_used_again() {
    let env = begun();
    fs::remove_file(env.work().join("login.plan.md")).unwrap();
    set_answers(&env, &[&answer(GOOD), &answer(&GOOD.replace("TASK-0", "TASK-1"))]);
    let plan = env.ok(&["crew", "plan", "Login", "--yes"]);
    assert_eq!(texts(&plan["added"]), ["TASK-11", "TASK-12", "TASK-13"]);
    let told = told(&env);
    assert!(told[0].contains("`TASK-01` (done)"), "{}", told[0]);
    assert!(
        told[1].contains("`TASK-01` was the id of a task that is not in the plan any more"),
        "{}",
        told[1]
    );
}

#[test]
fn what_is_begun_while_the_planner_works_is_kept() {
    let env = begun();
    set_answers(&env, &[&answer(NEW)]);
    put_profiles(
        &env,
        &script("planner", "read go < \"$HOME/go\"; cat > \"$HOME/told/0\"; cat \"$HOME/answers/0\""),
    );
    mkfifo(&env.home().join("go"), Mode::S_IRWXU).unwrap();
    let child = env
        .msg()
        .args(["crew", "plan", "Login", "--yes", "--json"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("the planner works", || super::runs(&env).iter().any(|run| run["state"] == "running"));
    env.ok(&["claim", "TASK-02", "--as", "Alice"]);
    fs::write(env.home().join("go"), "go\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let plan: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (output.status.code(), texts(&plan["kept"])),
        (Some(0), vec!["TASK-01", "TASK-03", "TASK-02"]),
        "{plan:#}"
    );
    assert!(plan_file(&env, "login.plan.md").unwrap().contains("- [ ] TASK-02: Log in (needs TASK-01)\n"));
}

#[test]
fn a_plan_that_a_person_has_edited_is_updated_or_refused() {
    let env = with_planner(&[&answer(GOOD)]);
    env.ok(&["crew", "plan", "Login", "--yes"]);
    let file = env.work().join("login.plan.md");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("TASK-02: Log in", "TASK-02: Log in, please")).unwrap();
    assert_eq!(texts(&env.ok(&["crew", "plan", "Login", "--yes"])["changed"]), ["TASK-02"]);
    let odd = format!("{text}\n## Later\n\nMore.\n");
    fs::write(&file, &odd).unwrap();
    let ended = env.run(&["crew", "plan", "Login", "--yes", "--json"]).expect_code(2);
    assert!(ended.kind() == "invalid_value" && ended.stdout.contains("can't be updated"), "{ended}");
    assert_eq!(fs::read_to_string(&file).unwrap(), odd);
    assert_eq!(super::runs(&env).len(), 2, "no planner was started");
}
