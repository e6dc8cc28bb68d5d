//! Which budgets a run counts in: where it works, who started it, and what the ledger forgets.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{COSTS, WAIT, asked_by_worker, cents, let_go, runs};
use crate::runs::worktrees::git;
use crate::runs::{path_with_msg, put_profiles, script, wait_for_state, with_profiles};
use crate::support::environment::{TestEnvironment, end};

fn ok_in(env: &TestEnvironment, dir: &Path, args: &[&str]) -> Value {
    let mut msg = env.msg();
    msg.args(args).arg("--json").env("PATH", path_with_msg()).current_dir(dir);
    end(&mut msg).expect_code(0).json()
}

fn amounts(budget: &Value) -> (i64, i64) {
    (cents(&budget["budget"]["granted"]["usd"]), cents(&budget["budget"]["left"]["usd"]))
}

#[test]
fn a_run_started_from_elsewhere_counts_in_the_budget_of_the_repository() {
    let env = TestEnvironment::new();
    let hop = format!(
        "cat >/dev/null; cd '{}'; msg run leaf unnamed --detach --json; for amount in 1.01usd 0.60usd 0.50usd 0.40usd; do \
         msg run leaf $amount --budget $amount --detach --json; done; true",
        env.work().display()
    );
    let leaf = format!("cat >/dev/null; {WAIT}; {COSTS}");
    put_profiles(&env, &[script("hop", &hop), script("leaf", &leaf)].concat());
    env.configure(r#"{"backOff": 0, "slots": 64, "freeMemory": 0}"#);
    env.ok(&["budget", "set", "1usd"]);
    let other = env.home().join("other");
    fs::create_dir(&other).unwrap();
    let hop = ok_in(&env, &other, &["run", "hop", "x", "--budget", "1000usd"])["run"].clone();
    let answers: Vec<Value> =
        hop["result"].as_str().unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [unnamed, most, first, more, rest] = &answers[..] else { panic!("{hop}") };
    assert_eq!(unnamed["error"]["gate"], "budget", "{unnamed}");
    assert_eq!((&most["error"]["gate"], &most["error"]["left"]), (&json!("budget"), &json!("1.00usd")));
    assert_eq!((&first["ok"], &first["run"]["granted"]["usdBy"]), (&json!(true), &hop["id"]), "{first}");
    assert_eq!(
        (&more["error"]["left"], &more["error"]["heldBy"]),
        (&json!("0.40usd"), &json!([first["run"]["id"]]))
    );
    assert_eq!(rest["ok"], true, "{rest}");
    assert_eq!(amounts(&env.ok(&["budget"])), (100, 0));
    let page = env.run(&["runs", "show", first["run"]["id"].as_str().unwrap()]).stdout;
    assert!(page.contains("and by the budget that a person set"), "{page}");
    let_go(&env);
    for run in runs(&env, "leaf") {
        wait_for_state(&env, run["id"].as_str().unwrap(), "done");
    }
    assert_eq!(amounts(&env.ok(&["budget"])), (0, 90), "each used 5 cents");
}

#[test]
fn a_run_that_is_only_named_grants_nothing() {
    let leaf = format!("cat >/dev/null; {WAIT}; {COSTS}");
    let middle = "msg run leaf below --budget 0.10usd --detach --json";
    let env = with_profiles(&[script("leaf", &leaf), script("middle", middle)].concat());
    env.configure(r#"{"backOff": 0, "slots": 64, "freeMemory": 0}"#);
    env.ok(&["budget", "set", "1usd"]);
    let named = env.ok(&["run", "leaf", "x", "--budget", "1usd", "--detach"])["run"]["id"].clone();
    let start = |args: &[&str]| {
        let variables = [("MSG_RUN", named.as_str().unwrap()), ("PATH", &path_with_msg())];
        env.run_with(&[&["run"], args, &["--json"]].concat(), &variables)
    };
    for more in [&["--dry-run"][..], &["--detach"]] {
        let refused = start(&[&["leaf", "y", "--budget", "0.60usd"], more].concat()).expect_code(1).json();
        let error = &refused["error"];
        assert_eq!((&error["gate"], &error["left"]), (&json!("budget"), &json!("0.00usd")), "{refused}");
        assert_eq!(error["heldBy"], json!([named]), "that of the folder is asked: {refused}");
    }
    // Without a budget of the repository nothing limits it, nor what its worker starts.
    env.ok(&["budget", "set", "none"]);
    let free = start(&["leaf", "y", "--budget", "0.60usd", "--detach"]).expect_code(0).json();
    assert_eq!((cents(&free["run"]["granted"]["usd"]), &free["run"]["granted"]["usdBy"]), (60, &Value::Null));
    let middle = start(&["middle", "y"]).expect_code(0).json()["run"]["result"].clone();
    let below: Value = serde_json::from_str(middle.as_str().unwrap()).unwrap();
    assert_eq!(
        (cents(&below["run"]["granted"]["usd"]), &below["run"]["granted"]["usdBy"]),
        (10, &Value::Null)
    );
    let_go(&env);
    for run in runs(&env, "leaf") {
        wait_for_state(&env, run["id"].as_str().unwrap(), "done");
    }
}

#[test]
fn the_ledger_forgets_nothing_that_a_run_that_goes_on_has_granted() {
    let uses = r#"cat >/dev/null; echo '{"costUsd": 0.5}' > "$MSG_USAGE"; echo did it"#;
    let root = format!("cat >/dev/null; {WAIT}; echo did it");
    let env = with_profiles(&[script("root", &root), script("uses", uses), script("free", "cat")].concat());
    let root = ok_in(&env, &env.work(), &["run", "root", "x", "--budget", "1usd", "--detach"]);
    let root = root["run"]["id"].as_str().unwrap().to_string();
    let below = |task: &str| asked_by_worker(&env, &root, &["run", "uses", task, "--budget", "0.50usd"]);
    for task in ["one", "two"] {
        assert_eq!(below(task)["ok"], true);
    }
    assert_eq!(below("three")["error"]["left"], "0.00usd");
    // Many newer ones, all alike.
    let newer = env.ok(&["run", "free", "x"])["run"]["id"].as_str().unwrap().to_string();
    let ledger = env.mesh().join("runs");
    let record = fs::read_to_string(ledger.join(&newer).join("run.json")).unwrap();
    for number in 0..520 {
        let digits: Vec<char> = "abcdefgh".chars().collect();
        let id: String = (0..6).map(|place| digits[number >> (3 * place) & 7]).collect();
        fs::create_dir(ledger.join(&id)).unwrap();
        fs::write(ledger.join(&id).join("run.json"), record.replace(&newer, &id)).unwrap();
    }
    let forgotten = |steps: &Value| {
        let all = steps["steps"].as_array().unwrap().iter();
        all.filter(|step| step["action"] == "forget").count()
    };
    assert!(forgotten(&env.ok(&["runs", "gc"])) > 0);
    assert_eq!(runs(&env, "uses").len(), 2);
    assert_eq!(below("three")["error"]["left"], "0.00usd");
    let_go(&env);
    wait_for_state(&env, &root, "done");
    env.ok(&["runs", "gc"]);
    assert!(runs(&env, "uses").is_empty(), "nobody counts them any more");
}

#[test]
fn a_budget_of_a_folder_carries_only_runs_that_it_applies_to() {
    // Each waits where it works.
    let env = with_profiles(&script("leaf", &format!("cat >/dev/null; {WAIT}; echo did it")));
    let folder = env.home().join("folder");
    let repositories = ["own", "none"].map(|name| {
        let repository = folder.join(name);
        fs::create_dir_all(&repository).unwrap();
        git(&repository, &["init", "-q", "-b", "main"]);
        repository
    });
    let [own, none] = &repositories;
    let set = ok_in(&env, own, &["budget", "set", "5usd"]);
    assert_eq!(amounts(&set), (0, 500));
    let start = |dir: &Path, amount: &str| {
        let run = ok_in(&env, dir, &["run", "leaf", amount, "--budget", amount, "--detach"]);
        run["run"]["id"].as_str().unwrap().to_string()
    };
    let ids = [start(own, "2usd"), start(none, "0.30usd")];
    assert_eq!(amounts(&ok_in(&env, &folder, &["budget", "set", "1usd"])), (30, 70));
    assert_eq!(amounts(&ok_in(&env, none, &["budget"])), (30, 70));
    assert_eq!(amounts(&ok_in(&env, own, &["budget"])), (200, 300));
    let said = |dir: &Path, args: &[&str]| {
        let ended = end(env.msg().args(args).current_dir(dir));
        ended.stdout + &ended.stderr
    };
    let place = format!("the folder `{}`", folder.canonicalize().unwrap().display());
    assert!(said(none, &["budget"]).contains(&format!("all runs in {place}")));
    assert!(said(own, &["budget"]).contains("all runs of this repository"));
    let refused = said(none, &["run", "leaf", "x", "--budget", "0.71usd"]);
    assert!(refused.contains(&format!("of the budget of {place} only 0.70usd is left")), "{refused}");
    for (repository, id) in repositories.iter().zip(ids) {
        fs::write(repository.join("go"), "").unwrap();
        wait_for_state(&env, &id, "done");
    }
}
