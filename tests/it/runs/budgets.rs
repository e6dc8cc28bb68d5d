//! Budgets: granted out of the one above, given back at the end, and billed.

mod places;

use std::fs;

use nix::sys::signal::{SIGKILL, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};
use ravenry::domain::runs::RunId;
use ravenry::sys::test_switches::{ANCESTRY_HIDDEN, COUNT};
use serde_json::{Value, json};

use super::{detached, path_with_msg, script, shown, wait_for_state, with_profiles};
use crate::support::environment::{TestEnvironment, end, files_in, put_program, wait_until};

fn runs(env: &TestEnvironment, profile: &str) -> Vec<Value> {
    let all = env.ok(&["runs", "--all"])["runs"].clone();
    all.as_array().unwrap().iter().filter(|run| run["profile"] == profile).cloned().collect()
}

fn cents(amount: &Value) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "these are few cents")]
    let cents = (amount.as_f64().unwrap_or_default() * 100.0).round() as i64;
    cents
}

/// What the runs were granted, in cents.
fn granted(runs: &[Value]) -> i64 {
    runs.iter().map(|run| cents(&run["granted"]["usd"])).sum()
}

fn left(env: &TestEnvironment) -> i64 {
    cents(&env.ok(&["budget"])["budget"]["left"]["usd"])
}

/// Lets all workers go on that wait for it, and those that will.
fn let_go(env: &TestEnvironment) {
    fs::write(env.work().join("go"), "").unwrap();
}

/// A worker waits for a file. Until then it does what it is asked to (`asked_by_worker`).
const WAIT: &str = "while ! test -e go; do if test -e ask-$MSG_RUN; then mv ask-$MSG_RUN asked; \
                    sh ./asked > answer; mv answer answer-$MSG_RUN; fi; sleep 0.1; done";
const COSTS: &str =
    r#"echo '{"usage": {"input": 10, "output": 1}, "costUsd": 0.05}' > "$MSG_USAGE"; echo did it"#;

/// What `msg` answers to the worker of that run, which waits and has `msg` on its PATH.
fn asked_by_worker(env: &TestEnvironment, run: &str, args: &[&str]) -> Value {
    let place = |name: String| env.work().join(name);
    let (part, answer) = (place("ask".to_string()), place(format!("answer-{run}")));
    fs::write(&part, format!("msg {} --json", args.join(" "))).unwrap();
    fs::rename(part, place(format!("ask-{run}"))).unwrap();
    wait_until("the worker has its answer", || answer.exists());
    let text = fs::read_to_string(&answer).unwrap();
    fs::remove_file(answer).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Profiles whose workers start others: three levels, each of which asks for more than there is, all at once.
fn tree_of_workers() -> TestEnvironment {
    // Each answer is a file of its own, which is there when it is whole.
    let ask = |below: &str, amount: &str| {
        format!(
            "cat >/dev/null; ask() {{ msg run {below} \"$MSG_RUN $1\" --budget {amount} --detach --json \
             >answers/$MSG_RUN-$1.part 2>/dev/null; mv answers/$MSG_RUN-$1.part answers/$MSG_RUN-$1.json; }}; \
             for i in 1 2 3 4; do ask $i & done; wait; {WAIT}; {COSTS}"
        )
    };
    let env = with_profiles(
        &[
            script("top", &ask("middle", "0.40usd")),
            script("middle", &ask("leaf", "0.15usd")),
            script("leaf", &format!("cat >/dev/null; {WAIT}; {COSTS}")),
        ]
        .concat(),
    );
    env.configure(r#"{"backOff": 0, "slots": 64, "freeMemory": 0}"#);
    fs::create_dir(env.work().join("answers")).unwrap();
    env
}

/// The answers to all that was asked for: the gates that said no, and how many said yes.
fn answers(env: &TestEnvironment) -> (Vec<String>, usize) {
    let files = files_in(&env.work().join("answers"));
    let whole = files.into_iter().filter(|path| path.extension().is_some_and(|it| it == "json"));
    let all: Vec<Value> =
        whole.map(|path| serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()).collect();
    let gates =
        all.iter().filter_map(|answer| answer["error"]["gate"].as_str()).map(str::to_string).collect();
    (gates, all.iter().filter(|answer| answer["ok"] == true).count())
}

#[test]
fn a_tree_is_never_granted_more_than_its_root() {
    let env = tree_of_workers();
    env.ok(&["budget", "set", "2usd"]);
    // Three ask at once for 1 of 2 dollars.
    let start = |task: &'static str| {
        let mut msg = env.msg();
        msg.args(["run", "top", task, "--budget", "1usd", "--detach", "--json"]).env("PATH", path_with_msg());
        msg
    };
    let racing = ["a", "b", "c"].map(|task| {
        let mut msg = start(task);
        std::thread::spawn(move || end(&mut msg).code)
    });
    let codes: Vec<Option<i32>> = racing.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert_eq!(codes.iter().filter(|code| **code == Some(0)).count(), 2, "{codes:?}");
    // Of four, two fit each time: 2 of 1 dollar, and 2 of 40 cents.
    wait_until("everybody has an answer", || {
        let (no, yes) = answers(&env);
        (no.len(), yes) == (4 + 8, 4 + 8)
    });
    assert!(answers(&env).0.iter().all(|gate| gate == "budget"));
    let (top, middle, leaves) = (runs(&env, "top"), runs(&env, "middle"), runs(&env, "leaf"));
    assert_eq!((top.len(), middle.len(), leaves.len()), (2, 4, 8));
    assert_eq!((granted(&top), left(&env)), (200, 0));
    for (above, below, sum) in [(&top, &middle, 80), (&middle, &leaves, 30)] {
        for run in above {
            let own: Vec<Value> =
                below.iter().filter(|other| other["granted"]["usdBy"] == run["id"]).cloned().collect();
            assert_eq!((own.len(), granted(&own)), (2, sum), "{run}");
        }
    }
    let_go(&env);
    wait_until("all have ended", || {
        let all = env.ok(&["runs", "--all"])["runs"].clone();
        all.as_array().unwrap().iter().all(|run| run["endedAt"].is_string())
    });
    // Fourteen runs of 5 cents.
    assert_eq!(left(&env), 200 - 70);
    assert_eq!(cents(&env.ok(&["budget"])["budget"]["used"]["usd"]), 70);
}

#[test]
fn a_killed_supervisor_gives_nothing_back_that_nobody_knows_of() {
    let env = tree_of_workers();
    env.ok(&["budget", "set", "1usd"]);
    let args = ["run", "top", "x", "--budget", "1usd", "--detach", "--json"];
    let answer = env.run_with(&args, &[("PATH", &path_with_msg())]).expect_code(0).json();
    let top = answer["run"]["id"].as_str().unwrap().to_string();
    wait_until("everybody has an answer", || {
        let (no, yes) = answers(&env);
        (no.len(), yes) == (2 + 4, 2 + 4)
    });
    let kill_one = |run: &Value| {
        let pid = i32::try_from(run["supervisorPid"].as_i64().unwrap()).unwrap();
        kill(Pid::from_raw(pid), SIGKILL).unwrap();
        wait_for_state(&env, run["id"].as_str().unwrap(), "interrupted");
    };
    // One in the middle: nobody knows what it used, so all of it counts, and what it granted is a part of that.
    kill_one(&runs(&env, "middle")[0]);
    let again = |amount: &str| {
        asked_by_worker(&env, &top, &["run", "leaf", "again", "--budget", amount, "--dry-run"])
    };
    assert_eq!(again("0.21usd")["error"]["left"], "0.20usd");
    let shown = again("0.20usd");
    let gates = shown["gates"].as_array().unwrap().clone();
    let budget = gates.iter().find(|gate| gate["gate"] == "budget").unwrap();
    assert!(budget["answer"].as_str().unwrap().contains(&format!("the budget of run {top}")), "{budget}");
    assert_eq!(left(&env), 0);
    // The one at the top, too.
    kill_one(&runs(&env, "top")[0]);
    assert_eq!(left(&env), 0);
    let refused = env.run(&["run", "leaf", "x", "--budget", "0.01usd", "--json"]).expect_code(1).json();
    assert_eq!(refused["error"]["gate"], "budget", "{refused}");
    let_go(&env);
    wait_until("all have ended", || {
        let all = env.ok(&["runs", "--all"])["runs"].clone();
        let has_ended = |run: &Value| run["endedAt"].is_string() || run["state"] == "interrupted";
        all.as_array().unwrap().iter().all(has_ended)
    });
    assert_eq!(env.ok(&["budget"])["budget"]["unknownRuns"], 1);
    assert_eq!(left(&env), 0, "nobody knows what the one at the top used");
    // A person begins anew.
    env.ok(&["budget", "set", "3usd"]);
    assert_eq!(left(&env), 300);
}

#[test]
fn what_a_person_sets_holds_for_all_runs() {
    let env = with_profiles(&script("work", &format!("cat >/dev/null; read x < go; {COSTS}")));
    mkfifo(&env.work().join("go"), Mode::S_IRWXU).unwrap();
    assert_eq!(env.ok(&["budget"]), json!({"ok": true, "budget": null, "run": null}));
    let set = env.ok(&["budget", "set", "1usd"])["budget"].clone();
    let usd = |amount: f64| json!({"usd": amount, "tokens": null});
    assert_eq!((&set["set"], &set["left"], &set["used"]), (&usd(1.0), &usd(1.0), &usd(0.0)));
    let refused = env.run(&["run", "work", "x", "--json"]).expect_code(1).json();
    assert_eq!(refused["error"]["gate"], "budget", "{refused}");
    assert!(refused["error"]["hints"].to_string().contains("--budget 0.50usd"), "{refused}");
    let start = |amount: &str| env.run(&["run", "work", amount, "--budget", amount, "--detach", "--json"]);
    let first = start("0.60usd").expect_code(0).json()["run"]["id"].as_str().unwrap().to_string();
    let refused = start("0.50usd").expect_code(1).json()["error"].clone();
    assert_eq!((&refused["gate"], &refused["left"]), (&json!("budget"), &json!("0.40usd")));
    assert_eq!(refused["heldBy"], json!([first]));
    assert_eq!(env.ok(&["runs", "--all"])["runs"].as_array().unwrap().len(), 1, "what is refused is no run");
    let text = env.run(&["budget"]).stdout;
    assert!(text.contains("0.60usd to runs that go on") && text.contains(&first), "{text}");
    wait_for_state(&env, &first, "running");
    // What goes on counts in a budget that is set anew.
    env.ok(&["budget", "set", "2usd"]);
    assert_eq!(left(&env), 140);
    fs::write(env.work().join("go"), "go\n").unwrap();
    let granted = wait_for_state(&env, &first, "done")["granted"].clone();
    assert_eq!(granted, json!({"usd": 0.6, "usdBy": "budget", "tokens": null, "tokensBy": null}));
    assert_eq!(left(&env), 195, "the rest is given back");
    start("1.95usd").expect_code(0);
    assert_eq!(env.run(&["budget", "-q"]).stdout, "0.00usd\n");
    assert_eq!(env.ok(&["budget", "set", "none"])["budget"], Value::Null);
    env.ok(&["run", "work", "free", "--dry-run"]);
    for id in runs(&env, "work").iter().map(|run| run["id"].as_str().unwrap()) {
        end(env.msg().args(["runs", "stop", id, "--now"]));
    }
}

#[test]
fn each_repository_has_its_own_and_each_task_of_a_batch_is_granted_alike() {
    let env = with_profiles(&script("work", &format!("cat >/dev/null; {COSTS}")));
    env.ok(&["budget", "set", "100tok"]);
    let other = env.home().join("other");
    fs::create_dir(&other).unwrap();
    end(env.msg().args(["run", "work", "x", "--json"]).current_dir(&other)).expect_code(0);
    fs::write(env.work().join("tasks"), "one\ntwo\nthree\n").unwrap();
    let batch = |budget: &str| {
        let args = ["batch", "tasks", "--profile", "work", "--jobs", "1", "--budget", budget, "--json"];
        env.run(&args)
    };
    // Each used 11 tokens, so 78 are left for the third.
    let done = batch("79tok").expect_code(1).json();
    let states: Vec<&Value> = done["runs"].as_array().unwrap().iter().map(|run| &run["state"]).collect();
    assert_eq!(states[..2], ["done", "done"], "{done}");
    assert!(done.to_string().contains("only 78tok is left"), "{done}");
    batch("78tok").expect_code(0);
    assert_eq!(env.ok(&["budget"])["budget"]["left"], json!({"usd": null, "tokens": 67}));
    let dollars = env.run(&["run", "work", "x", "--budget", "1usd", "--json"]).expect_code(1).json();
    assert!(dollars["error"]["message"].as_str().unwrap().contains("limits tokens"), "{dollars}");
}

#[test]
fn only_a_person_sets_it() {
    let asks =
        "msg budget set 1usd --json; env -u MSG_RUN msg budget set none --json; msg budget --json; true";
    let env = with_profiles(&script("asks", asks));
    let harness = [("CLAUDE_CODE_SESSION_ID", "session-1"), (ANCESTRY_HIDDEN, "1")];
    let refused =
        env.run_with(&["budget", "set", "1usd", "--as", "Robin", "--json"], &harness).expect_code(1);
    assert_eq!(refused.kind(), "in_harness");
    assert!(refused.stdout.contains("msg budget set 1usd"), "{refused}");
    env.run_with(&["budget", "--json"], &harness).expect_code(0);
    env.ok(&["budget", "set", "3usd"]);
    let args = ["run", "asks", "x", "--budget", "2usd", "--json"];
    let result =
        env.run_with(&args, &[("PATH", &path_with_msg())]).expect_code(0).json()["run"]["result"].clone();
    let result = result.as_str().unwrap();
    assert_eq!(result.matches("in_harness").count(), 2, "{result}");
    let own: Value = serde_json::from_str(result.lines().last().unwrap()).unwrap();
    assert_eq!((&own["run"]["granted"]["usd"], &own["run"]["left"]["usd"]), (&json!(2.0), &json!(2.0)));
    assert_eq!(env.ok(&["budget"])["budget"]["set"]["usd"], 3.0);
}

#[test]
fn what_is_no_budget_is_told() {
    let env = with_profiles("");
    for wrong in ["-1usd", "0", "0usd", "abc", "2.5", "99999999999999999999usd", "1usd,2usd", "1.5tok", ""] {
        let ended = env.run(&["budget", "set", wrong, "--json"]).expect_code(2);
        assert_eq!(ended.kind(), "invalid_value", "{wrong}: {ended}");
    }
    assert_eq!(env.fails(2, &["budget", "set"]), "usage");
    assert_eq!(env.ok(&["budget"])["budget"], Value::Null);
}

#[test]
fn a_damaged_budget_is_told_and_grants_nothing() {
    let env = with_profiles(&script("work", "cat"));
    env.ok(&["budget", "set", "1usd"]);
    let dir = env.mesh().join("runs/budgets");
    let record = fs::read_dir(&dir).unwrap().next().unwrap().unwrap().path();
    fs::write(&record, "{").unwrap();
    let ended = env.run(&["budget", "--json"]).expect_code(0);
    assert_eq!(ended.json()["budget"]["set"], Value::Null);
    assert!(ended.json()["budget"]["problem"].is_string(), "{ended}");
    assert!(ended.stderr.contains("the budget can't be read"), "{ended}");
    let refused = env.run(&["run", "work", "x", "--budget", "0.10usd", "--json"]).expect_code(1).json();
    assert_eq!(refused["error"]["gate"], "budget", "{refused}");
    env.ok(&["runs", "gc"]);
    env.ok(&["budget", "set", "2usd"]);
    assert_eq!(fs::read_to_string(record.with_extension("damaged")).unwrap(), "{", "it is set aside");
    assert_eq!(left(&env), 200);
    env.ok(&["run", "work", "x", "--budget", "0.10usd"]);
    assert_eq!(left(&env), 190, "nobody knows what it cost");
}

#[test]
fn what_is_not_reported_is_computed_from_prices() {
    let usage = r#"echo '{"usage": {"input": 1000000, "output": 100000}}' > "$MSG_USAGE"; echo did it"#;
    let env = with_profiles(&script("work", usage).replace("[work]", "[work]\nmodel = \"m-1\""));
    let run = env.ok(&["run", "work", "x"])["run"].clone();
    assert_eq!((&run["costUsd"], &run["costIs"]), (&Value::Null, &json!("unknown")));
    assert!(env.run(&["runs"]).stdout.contains("cost unknown"));
    let prices = r#"{"m-*": {"input": 3, "output": 15}}"#;
    env.ok(&["config", "set", "prices", prices]);
    let run = env.ok(&["run", "work", "x"])["run"].clone();
    assert_eq!((&run["costUsd"], &run["costIs"]), (&json!(4.5), &json!("computed")));
    let page = env.run(&["runs", "show", run["id"].as_str().unwrap()]).stdout;
    assert!(page.contains("$4.50, computed from the setting `prices`"), "{page}");
    let over = env.run(&["run", "work", "y", "--budget", "4usd", "--json"]).expect_code(1).json();
    assert_eq!(over["run"]["state"], "over_budget");
    let shown = env.ok(&["config", "get", "prices"]).to_string();
    assert!(shown.contains(r#"{"m-*":{"input":3,"output":15}}"#), "{shown}");
    for wrong in ["3", r#"{"m": 3}"#, r#"{"m": {"input": 3}}"#, r#"{"m": {"input": -1, "output": 1}}"#] {
        env.run(&["config", "set", "prices", wrong]).expect_code(2);
    }
    assert_eq!(env.fails(2, &["config", "set", "prices", prices, "--project"]), "invalid_value");
}

#[test]
fn the_bill_tells_rework_and_lost_attempts_apart() {
    let work = format!(
        "cat >/dev/null; test -e ok || {{ echo '{{\"costUsd\": 0.5}}' > \"$MSG_USAGE\"; exit 1; }}; {COSTS}"
    );
    let env = with_profiles(&[script("work", &work), script("free", "cat")].concat());
    assert_eq!(env.ok(&["runs", "--bill"])["bill"]["all"]["runs"], 0);
    env.fails(1, &["run", "work", "the task"]);
    let first = runs(&env, "work")[0]["id"].as_str().unwrap().to_string();
    env.fails(1, &["runs", "retry", &first]);
    fs::write(env.work().join("ok"), "").unwrap();
    env.ok(&["run", "work", "the task"]);
    env.ok(&["run", "work", "the task"]);
    env.ok(&["run", "free", "another"]);
    let bill = env.ok(&["runs", "--bill"])["bill"].clone();
    let titles: Vec<&Value> = bill["tasks"].as_array().unwrap().iter().map(|task| &task["task"]).collect();
    assert_eq!(titles, ["another", "the task", "the task"], "what is done is not done again: {bill}");
    let task = &bill["tasks"][2];
    assert_eq!((&task["outcome"], &task["all"]["runs"]), (&json!("done"), &json!(3)));
    assert_eq!((&task["all"]["costUsd"], &task["all"]["costUnknown"]), (&json!(1.05), &json!(0)));
    assert_eq!((&task["rework"]["costUsd"], &task["lost"]["costUsd"]), (&json!(0.55), &json!(1.0)));
    assert_eq!((&task["runs"][0], task["runs"].as_array().unwrap().len()), (&json!(first), 3));
    assert_eq!((&bill["all"]["runs"], &bill["all"]["costUnknown"]), (&json!(5), &json!(1)));
    assert_eq!(bill["tasks"][0]["all"]["costUsd"], Value::Null, "unknown is not 0");
    assert_eq!(bill["outcomes"]["failed"]["costUsd"], json!(1.0));
    assert_eq!(bill["harnesses"]["command"]["runs"], json!(5));
    let text = env.run(&["runs", "--bill"]).stdout;
    assert!(text.contains("$1.00 in 2 runs") && text.contains("1 run whose cost is unknown"), "{text}");
    assert_eq!(env.ok(&["runs", "--bill", "--since", "1d"])["bill"]["all"]["runs"], 5);
    let all = env.ok(&["runs", "--all", "--bill"]);
    assert_eq!(all["bill"]["all"], bill["all"], "it is of all anyway");
    let billed: Vec<&Value> = all["runs"].as_array().unwrap().iter().map(|run| &run["id"]).collect();
    assert_eq!((billed.len(), billed[4]), (5, &json!(first)), "the newest first");
    assert_eq!(all["bill"]["ledgerSince"], all["runs"][4]["queuedAt"], "as far as the ledger goes back");
    assert!(text.contains("older runs are not in the ledger"), "{text}");
    env.fails(2, &["runs", "--bill", "--since", "soon"]);
    env.fails(2, &["runs", "--since", "1d"]);
    assert_eq!(shown(&env, &first)["granted"], Value::Null);
}

#[test]
fn a_worker_that_uses_what_it_has_granted_is_over_its_budget() {
    let top = format!("cat >/dev/null; msg run below x --budget 0.40usd --detach -q >/dev/null; {COSTS}");
    let below = format!("cat >/dev/null; {WAIT}; {COSTS}");
    let env = with_profiles(&[script("top", &top), script("below", &below)].concat());
    let run = |budget: &str, code: i32| {
        let args = ["run", "top", budget, "--budget", budget, "--json"];
        env.run_with(&args, &[("PATH", &path_with_msg())]).expect_code(code).json()["run"]["state"].clone()
    };
    assert_eq!(run("0.45usd", 0), "done");
    assert_eq!(run("0.44usd", 1), "over_budget");
    let_go(&env);
    for id in runs(&env, "below").iter().map(|run| run["id"].as_str().unwrap()) {
        wait_for_state(&env, id, "done");
    }
    let last = detached(&env, "below", "alone");
    wait_for_state(&env, &last, "done");
}

/// A harness that reports tokens while it works, and no cost, and then does not end by itself.
const STREAMS: &str = r#"#!/bin/sh
while [ $# -gt 1 ]; do case "$1" in --session-id) id=$2 ;; esac; shift; done
echo '{"type":"system","subtype":"init","session_id":"'$id'","model":"m-1"}'
echo '{"type":"assistant","session_id":"'$id'","message":{"id":"1","role":"assistant","content":[],"usage":{"input_tokens":1000000,"output_tokens":100000}}}'
sleep 1000
"#;

#[test]
fn a_computed_cost_ends_a_worker_that_is_over_its_budget() {
    let env = with_profiles("[streams]\nharness = \"claude\"\nreadonly = true\n");
    let bin = env.path().join("bin");
    fs::create_dir(&bin).unwrap();
    put_program(&bin.join("claude"), STREAMS);
    env.ok(&["config", "set", "prices", r#"{"m-1": {"input": 3, "output": 15}}"#]);
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let args = ["run", "streams", "x", "--budget", "4usd", "--json"];
    let run = env.run_with(&args, &[("PATH", &path)]).expect_code(1).json()["run"].clone();
    assert_eq!((&run["state"], &run["costIs"]), (&json!("over_budget"), &json!("computed")), "{run}");
    assert_eq!(cents(&run["costUsd"]), 450);
}

#[test]
fn whoever_is_admitted_reads_the_runs_that_have_ended_before_it_keeps_others_waiting() {
    let env = with_profiles(&script("quick", "cat"));
    env.ok(&["budget", "set", "9usd"]);
    let args = ["run", "quick", "x", "--budget", "0.01usd", "--json"];
    let first = env.run(&args).expect_code(0).json()["run"]["id"].as_str().unwrap().to_string();
    let record = fs::read_to_string(env.mesh().join("runs").join(&first).join("run.json")).unwrap();
    let mut ended = 1;
    for number in 0..200 {
        let id = RunId::from_random(1 + number * 7919).to_string();
        let dir = env.mesh().join("runs").join(&id);
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("run.json"), record.replace(&first, &id)).unwrap();
        ended += 1;
    }
    let counts = env.home().join("counts");
    env.run_with(&args, &[(COUNT, counts.to_str().unwrap())]).expect_code(0);
    let count = |kind: &str| fs::read(counts.with_extension(kind)).unwrap_or_default().len();
    assert!(count("run") >= ended, "{} of {ended}", count("run"));
    // Its own directory is there, but nothing in the ledger.
    assert!((1..5).contains(&count("run-again")), "{}", count("run-again"));
    // They count as before: 201 that ended, and the last.
    assert_eq!(env.ok(&["runs", "--all"])["runs"].as_array().unwrap().len(), 202);
}
