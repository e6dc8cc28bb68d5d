//! `spec`, `tasks`, `claim`, `unclaim`, `complete` and `handoff`: their exact answers.

use std::fs;

use serde_json::{Value, json};

use super::fixture::{SPEC, assert_state, claim, key, on_disk, refused, run_at, states, three};
use crate::support::environment::{TestEnvironment, put};

const NOON: &str = "2026-11-15T12:00:00.000Z";
const LATER: &str = "2026-11-15T12:30:00.000Z";

#[test]
fn a_spec_is_set_and_shown() {
    let env = TestEnvironment::new();
    env.join("Alice");
    assert_eq!(
        env.ok(&["spec", "--as", "Alice"]),
        json!({"ok": true, "spec": null, "tasks": 0, "boxesWithoutId": 0})
    );
    put(&env.work().join("spec.md"), SPEC);
    let set = json!({"ok": true, "spec": key(&env, "spec.md"), "tasks": 5, "boxesWithoutId": 0});
    assert_eq!(env.ok(&["spec", "./spec.md", "--as", "Alice"]), set);
    assert_eq!(env.ok(&["spec", "--as", "Alice"]), set);
    assert_eq!(env.registration("Alice")["spec"], json!(key(&env, "spec.md")));
    for bad in ["nowhere.md", ".", ""] {
        assert_eq!(env.fails(2, &["spec", bad, "--as", "Alice"]), "invalid_value", "{bad:?}");
    }
    assert_eq!(env.ok(&["spec", "--as", "Alice"]), set, "what is no spec changes nothing");
    assert_eq!(env.fails(3, &["spec"]), "not_joined");
    assert_eq!(env.fails(3, &["tasks"]), "not_joined");
}

#[test]
fn every_task_with_its_state() {
    let env = three();
    run_at(&env, NOON, &["claim", "TASK-01", "--as", "Alice"]).expect_code(0);
    run_at(&env, LATER, &["complete", "TASK-01", "--notes", "see src/", "--as", "Alice"]).expect_code(0);
    run_at(&env, NOON, &["claim", "TASK-02", "--as", "Bob"]).expect_code(0);
    run_at(&env, NOON, &["claim", "sweep", "--adhoc", "--as", "Carol"]).expect_code(0);
    let row = |id: &str, title: &str, state: &str, line: Value| {
        json!({
            "id": id, "title": title, "state": state, "agent": null, "since": null, "notes": null,
            "dependsOn": [], "blockedBy": [], "line": line, "proof": null, "evidence": null, "reopened": [],
        })
    };
    let with = |mut row: Value, more: Value| {
        row.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        row
    };
    let tasks = json!([
        with(
            row("TASK-01", "the form", "done", json!(3)),
            json!({"agent": "Alice", "since": LATER, "notes": "see src/", "proof": "said"}),
        ),
        with(row("TASK-02", "the session", "claimed", json!(4)), json!({"agent": "Bob", "since": NOON}),),
        with(
            row("TASK-03", "the glue", "blocked", json!(5)),
            json!({"dependsOn": ["TASK-01", "TASK-02"], "blockedBy": ["TASK-02"]}),
        ),
        with(row("TASK-04", "the plan", "done", json!(6)), json!({"proof": "said"})),
        with(row("TASK-05", "the text", "open", json!(7)), json!({"dependsOn": ["TASK-04"]}),),
        with(row("sweep", "", "claimed", Value::Null), json!({"agent": "Carol", "since": NOON})),
    ]);
    let said = env.ok(&["tasks", "--as", "Carol"]);
    assert_eq!(said["tasks"], tasks);
    assert_eq!(said["spec"], json!(key(&env, "spec.md")));
    assert_eq!(said["progress"], json!({"done": 2, "claimed": 2, "open": 1, "blocked": 1}));
    assert_eq!(said["problems"], json!([]));
    assert_eq!(env.ok(&["swarm", "--as", "Carol"]), said);
    assert_eq!(env.ok(&["tasks", "--spec", "spec.md"]), said, "whoever asks");
    let ready = env.ok(&["tasks", "--ready", "--as", "Carol"]);
    assert_eq!(ready["tasks"], json!([tasks[4]]));
    let mine = env.ok(&["tasks", "--mine", "--as", "Alice"]);
    assert_eq!(mine["tasks"], json!([tasks[0]]));
}

#[test]
fn a_claim_to_the_letter() {
    let env = three();
    let args = ["claim", "TASK-01", "--reason", "I know it", "--reserve", "src/", "--as", "Alice"];
    let said = run_at(&env, NOON, &args).expect_code(0).json();
    let registration = env.registration("Alice");
    let root = fs::canonicalize(env.work()).unwrap();
    let expected = json!({
        "task": "TASK-01", "spec": key(&env, "spec.md"), "agent": "Alice",
        "sessionId": "session of Alice", "pid": registration["pid"], "claimedAt": NOON,
        "reason": "I know it",
        "reservations": [{
            "pattern": "src/", "root": root, "reason": "I know it", "since": NOON, "expiresAt": null,
        }],
    });
    assert_eq!(said, json!({"ok": true, "claim": expected, "title": "the form"}));
    let entry = &on_disk(&env, "claims.json")[key(&env, "spec.md")]["TASK-01"];
    assert_eq!((&entry["agent"], &entry["pid"]), (&json!("Alice"), &registration["pid"]));
    assert_eq!((&entry["sessionId"], &entry["claimedAt"]), (&json!("session of Alice"), &json!(NOON)));
    let again = run_at(&env, LATER, &["claim", "TASK-01", "--as", "Alice"]).expect_code(0).json();
    assert_eq!(again["claim"], expected, "twice is once");
    let agents = env.ok(&["agents"]);
    let alice = agents["agents"].as_array().unwrap().iter().find(|agent| agent["name"] == "Alice");
    assert_eq!(alice.unwrap()["claim"], expected);
    let back = env.ok(&["unclaim", "--as", "Alice"]);
    assert_eq!((&back["claim"]["task"], &back["claim"]["agent"]), (&json!("TASK-01"), &json!("Alice")));
    assert_eq!(on_disk(&env, "claims.json"), json!({}));
}

#[test]
fn a_completion_to_the_letter() {
    let env = three();
    claim(&env, "Alice", &["TASK-01"]);
    claim(&env, "Bob", &["TASK-02"]);
    run_at(&env, NOON, &["complete", "TASK-01", "--as", "Alice"]).expect_code(0);
    let said = run_at(&env, NOON, &["complete", "TASK-02", "--notes", "a \"b\"\nc", "--as", "Bob"]);
    let completion = json!({
        "task": "TASK-02", "spec": key(&env, "spec.md"), "completedBy": "Bob", "completedAt": NOON,
        "notes": "a \"b\"\nc", "evidence": null,
    });
    let expected = json!({
        "ok": true, "completion": completion, "unblocked": ["TASK-03"], "ticked": false, "already": false,
    });
    assert_eq!(said.expect_code(0).json(), expected);
    let done = on_disk(&env, "completions.json");
    let theirs = json!({"completedBy": "Bob", "completedAt": NOON, "notes": "a \"b\"\nc"});
    assert_eq!(done[key(&env, "spec.md")]["TASK-02"], theirs);
    assert_eq!(on_disk(&env, "claims.json"), json!({}));
    claim(&env, "Alice", &["TASK-03"]);
    let long = "x".repeat(16 * 1024 + 1);
    assert_eq!(env.fails(2, &["complete", "TASK-03", "--notes", &long, "--as", "Alice"]), "too_large");
    assert_state(&env, "TASK-03 claimed Alice");
}

#[test]
fn why_a_task_is_refused() {
    let env = three();
    run_at(&env, NOON, &["claim", "TASK-01", "--reason", "mine", "--as", "Alice"]).expect_code(0);
    let error = |args: &[&str]| {
        let said = run_at(&env, LATER, &[&["claim", "--as", "Bob"][..], args].concat()).expect_code(1);
        said.json()["error"].clone()
    };
    let taken = error(&["TASK-01"]);
    assert_eq!(taken["kind"], "already_claimed");
    assert_eq!((&taken["agent"], &taken["since"]), (&json!("Alice"), &json!(NOON)));
    insta::assert_snapshot!(
        taken["message"].as_str().unwrap(),
        @"`TASK-01` is claimed by Alice (30min ago): “mine”"
    );
    let blocked = error(&["TASK-03"]);
    assert_eq!(
        (&blocked["kind"], &blocked["blockedBy"]),
        (&json!("blocked"), &json!(["TASK-01", "TASK-02"]))
    );
    let unknown = error(&["TASK-06"]);
    assert_eq!(unknown["kind"], "unknown_task");
    assert!(unknown["nearest"].as_array().unwrap().contains(&json!("TASK-01")), "{unknown}");
    assert_eq!(error(&["TASK-04"])["kind"], "already_completed", "it is ticked");
    env.ok(&["complete", "TASK-01", "--as", "Alice"]);
    let done = error(&["TASK-01"]);
    assert_eq!((&done["kind"], &done["agent"]), (&json!("already_completed"), &json!("Alice")));
    run_at(&env, NOON, &["claim", "TASK-02", "--as", "Bob"]).expect_code(0);
    let second = error(&["TASK-05"]);
    assert_eq!((&second["kind"], &second["task"]), (&json!("already_have_claim"), &json!("TASK-02")));
    assert_eq!(second["spec"], json!(key(&env, "spec.md")));
    assert_eq!(error(&["--next"])["kind"], "already_have_claim");
    let expected =
        ["TASK-01 done Alice", "TASK-02 claimed Bob", "TASK-03 blocked", "TASK-04 done", "TASK-05 open"];
    assert_eq!(states(&env), expected, "none of that changed anything");
}

#[test]
fn one_claim_per_agent_over_all_specs() {
    let env = three();
    put(&env.work().join("other.md"), "- [ ] TASK-01: another\n- [ ] OTHER-1: one\n");
    claim(&env, "Alice", &["TASK-01"]);
    for wish in [["OTHER-1"], ["TASK-01"], ["--next"]] {
        let args = [&["--spec", "other.md"][..], &wish].concat();
        assert_eq!(refused(&env, "Alice", &args), "already_have_claim", "{wish:?}");
    }
    assert_eq!(refused(&env, "Alice", &["x", "--adhoc"]), "already_have_claim");
    // The same id in another spec is another task.
    assert_eq!(claim(&env, "Bob", &["TASK-01", "--spec", "other.md"])["spec"], json!(key(&env, "other.md")));
    // It is found without naming the spec again.
    env.ok(&["complete", "TASK-01", "--as", "Bob"]);
    assert_state(&env, "TASK-01 claimed Alice");
}

#[test]
fn who_may_complete_and_give_back() {
    let env = three();
    claim(&env, "Alice", &["TASK-01"]);
    for command in [&["complete", "TASK-01"][..], &["unclaim", "TASK-01"], &["handoff", "TASK-01", "Carol"]] {
        assert_eq!(env.fails(1, &[command, &["--as", "Bob"]].concat()), "not_yours", "{command:?}");
    }
    for command in [&["complete", "TASK-02"][..], &["unclaim", "TASK-02"], &["handoff", "TASK-02", "Carol"]] {
        assert_eq!(env.fails(1, &[command, &["--as", "Bob"]].concat()), "not_claimed", "{command:?}");
    }
    assert_eq!(env.fails(1, &["unclaim", "--as", "Bob"]), "not_claimed");
    env.ok(&["complete", "TASK-01", "--as", "Alice"]);
    for command in [&["complete", "TASK-01"][..], &["unclaim", "TASK-01"], &["handoff", "TASK-01", "Carol"]] {
        // The agent that completed it may say so again.
        let is_again = |name: &str| name == "Alice" && command[0] == "complete";
        for name in ["Alice", "Bob"].into_iter().filter(|name| !is_again(name)) {
            let kind = env.fails(1, &[command, &["--as", name]].concat());
            assert_eq!(kind, "already_completed", "{command:?}");
        }
    }
    assert_eq!(env.fails(3, &["complete", "TASK-02"]), "not_joined");
}

#[test]
fn the_next_task_in_the_order_of_the_file() {
    let env = three();
    put(
        &env.work().join("spec.md"),
        "- [ ] B-2: b (after A-1)\n- [ ] C-3: c\n- [ ] A-1: a\n- [ ] B-10: last\n",
    );
    assert_eq!(claim(&env, "Alice", &["--next"])["task"], "C-3");
    assert_eq!(claim(&env, "Bob", &["--next"])["task"], "A-1");
    env.ok(&["complete", "A-1", "--as", "Bob"]);
    assert_eq!(claim(&env, "Bob", &["--next"])["task"], "B-2");
    assert_eq!(claim(&env, "Carol", &["--next"])["task"], "B-10");
    env.ok(&["complete", "B-10", "--as", "Carol"]);
    assert_eq!(refused(&env, "Carol", &["--next"]), "nothing_ready");
    env.ok(&["complete", "B-2", "--as", "Bob"]);
    env.ok(&["complete", "C-3", "--as", "Alice"]);
    assert_eq!(refused(&env, "Carol", &["--next"]), "all_done");
    put(&env.work().join("spec.md"), "Nothing but prose about TASK-01.\n");
    assert_eq!(refused(&env, "Carol", &["--next"]), "nothing_ready");
}

#[test]
fn dependencies_may_be_advice_only() {
    let env = three();
    let advisory = [("MSG_DEPENDENCIES", "advisory")];
    put(&env.work().join("spec.md"), "- [ ] A-1: a (after B-2)\n- [ ] B-2: b\n- [ ] C-3: c (after D-4)\n");
    let run = |name: &str, wish: &str| {
        env.run_with(&["claim", wish, "--as", name, "--json"], &advisory).expect_code(0).json()
    };
    assert_eq!(run("Alice", "--next")["claim"]["task"], "B-2", "what is ready comes first");
    assert_eq!(run("Bob", "--next")["claim"]["task"], "A-1", "but what is not is better than nothing");
    assert_eq!(refused(&env, "Carol", &["C-3"]), "blocked");
    assert_eq!(run("Carol", "C-3")["claim"]["task"], "C-3");
}

#[test]
fn tasks_that_stand_nowhere() {
    let env = three();
    assert_eq!(refused(&env, "Alice", &["sweep"]), "unknown_task");
    assert_eq!(claim(&env, "Alice", &["sweep", "--adhoc"])["spec"], json!(key(&env, "spec.md")));
    assert_eq!(refused(&env, "Bob", &["sweep", "--adhoc"]), "already_claimed");
    assert_eq!(refused(&env, "Bob", &["sweep"]), "already_claimed", "it is known by now");
    env.ok(&["complete", "sweep", "--as", "Alice"]);
    assert_state(&env, "sweep done Alice");
    assert_eq!(refused(&env, "Bob", &["sweep", "--adhoc"]), "already_completed");
    assert_eq!(env.fails(2, &["claim", "--next", "--adhoc", "--as", "Bob"]), "usage");
    assert_eq!(env.fails(2, &["claim", "--as", "Bob"]), "usage");
    assert_eq!(
        refused(&env, "Bob", &["TASK-03", "--adhoc"]),
        "blocked",
        "one that stands there is what it is"
    );
}

#[test]
fn tasks_without_any_spec() {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.join("Bob");
    assert_eq!(refused(&env, "Alice", &["--next"]), "nothing_ready");
    assert_eq!(refused(&env, "Alice", &["sweep"]), "unknown_task");
    let folder = fs::canonicalize(env.work()).unwrap();
    assert_eq!(claim(&env, "Alice", &["sweep", "--adhoc"])["spec"], json!(folder));
    assert_eq!(refused(&env, "Bob", &["sweep", "--adhoc"]), "already_claimed");
    let said = env.ok(&["tasks", "--as", "Bob"]);
    assert_eq!((&said["spec"], &said["tasks"][0]["id"]), (&Value::Null, &json!("sweep")));
    env.ok(&["complete", "sweep", "--as", "Alice"]);
    assert_eq!(refused(&env, "Bob", &["sweep", "--adhoc"]), "already_completed");
}

#[test]
fn ids_are_only_keys() {
    let env = three();
    let (longest, longer) = ("x".repeat(200), "ä".repeat(101));
    for bad in ["", "a\nb", "\u{1b}[31m", "a\u{7f}", &longer] {
        for command in [
            &["claim", "--adhoc", "--", bad][..],
            &["complete", "--", bad],
            &["unclaim", "--", bad],
            &["handoff", "--", bad, "Bob"],
        ] {
            let args = [&["--json", "--as", "Alice"][..], command].concat();
            let ended = env.run(&args).expect_code(2);
            assert_eq!(ended.kind(), "invalid_value", "{args:?}");
        }
    }
    let strange = ["__proto__", "constructor", "..", "../../x", "/", "-x", "a b", "\"", "ä", "'; rm -rf /"];
    for id in strange.iter().copied().chain([longest.as_str()]) {
        env.run(&["claim", "--adhoc", "--as", "Alice", "--json", "--", id]).expect_code(0);
        let entry = on_disk(&env, "claims.json")[key(&env, "spec.md")].clone();
        assert_eq!(entry.as_object().unwrap().keys().collect::<Vec<_>>(), [id]);
        env.run(&["complete", "--as", "Alice", "--json", "--", id]).expect_code(0);
        assert_state(&env, &format!("{id} done Alice"));
    }
    assert_eq!(fs::read_dir(env.work()).unwrap().count(), 1, "only the spec");
}

#[test]
fn ticking_the_box() {
    let env = three();
    let spec = env.work().join("spec.md");
    claim(&env, "Alice", &["TASK-01"]);
    assert_eq!(env.ok(&["complete", "TASK-01", "--as", "Alice"])["ticked"], json!(false));
    assert_eq!(fs::read_to_string(&spec).unwrap(), SPEC, "nobody asked");
    claim(&env, "Alice", &["TASK-02"]);
    assert_eq!(env.ok(&["complete", "TASK-02", "--tick", "--as", "Alice"])["ticked"], json!(true));
    let ticked = SPEC.replace("- [ ] TASK-02", "- [x] TASK-02");
    assert_eq!(fs::read_to_string(&spec).unwrap(), ticked);
    claim(&env, "Alice", &["sweep", "--adhoc"]);
    assert_eq!(env.ok(&["complete", "sweep", "--tick", "--as", "Alice"])["ticked"], json!(false));
    assert_eq!(fs::read_to_string(&spec).unwrap(), ticked);
    put(&spec, "### TASK-09 — no box\n");
    claim(&env, "Alice", &["TASK-09"]);
    assert_eq!(env.ok(&["complete", "TASK-09", "--tick", "--as", "Alice"])["ticked"], json!(false));
    assert_state(&env, "TASK-09 done Alice");
}

#[test]
fn what_one_did_under_another_name_is_ones_own() {
    let env = three();
    claim(&env, "Alice", &["TASK-01"]);
    env.ok(&["complete", "TASK-01", "--as", "Alice"]);
    env.ok(&["rename", "Ann", "--as", "Alice"]);
    let mine = env.ok(&["tasks", "--mine", "--as", "Ann"])["tasks"].clone();
    assert_eq!(mine.as_array().unwrap().len(), 1, "{mine}");
    assert_eq!(mine[0]["id"], "TASK-01");
}

#[test]
fn problems_of_a_spec_are_told_with_their_lines() {
    let env = three();
    put(
        &env.work().join("spec.md"),
        "- [ ] A-1: a (after B-2)\n- [ ] B-2: b (after A-1)\n- [ ] C-3: c (after X-9)\n- [ ] C-3: again\n",
    );
    let said = env.ok(&["tasks", "--as", "Carol"]);
    let problems: Vec<&str> =
        said["problems"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    for part in ["line 4: `C-3`", "line 3: `C-3` depends on `X-9`", "A-1"] {
        assert!(problems.iter().any(|text| text.contains(part)), "no `{part}` in {problems:?}");
    }
    assert_eq!(refused(&env, "Carol", &["--next"]), "nothing_ready", "and nothing hangs");
}
