//! Paths and slots together: who gives way to whom, and what keeps nobody from going on.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{held, let_go, started, with_holder};
use crate::runs::{limits, path_with_msg, put_harness, script, shown, wait_for_state};
use crate::support::environment::{TestEnvironment, wait_until};

/// How often a run without a slot looks whether it has to give way, and more.
const LOOKED: Duration = Duration::from_secs(4);

/// Starts a run whose worker finds this on its PATH; returns its id.
#[track_caller]
fn started_with(env: &TestEnvironment, path: &str, args: &[&str]) -> String {
    let args = [&["run"], args, &["--detach", "--json"]].concat();
    let answer = env.run_with(&args, &[("PATH", path)]).expect_code(0).json();
    answer["run"]["id"].as_str().unwrap().to_string()
}

fn wait_for_reason(env: &TestEnvironment, id: &str, beginning: &str) {
    wait_until(&format!("run {id} says: {beginning}"), || {
        let run = shown(env, id);
        assert_eq!(run["state"], "queued", "{run}");
        run["reason"].as_str().is_some_and(|reason| reason.starts_with(beginning))
    });
}

#[test]
fn whoever_has_no_slot_does_not_keep_paths_from_who_has_one() {
    let asks = "read x < \"$HOME/go\"; msg run quick c --reserve a --wait -q";
    for more in [&[][..], &["--wait"]] {
        let env = with_holder(&[script("asks", asks), script("quick", "cat")].concat());
        env.ok(&["config", "set", "slots", "1"]);
        let parent = started_with(&env, &path_with_msg(), &["asks", "x"]);
        wait_for_state(&env, &parent, "running");
        // They have the path and no slot, or wait for the path; the parent has the slot, and waits for who waits for the
        // path.
        let queued = started(&env, &[&["quick", "q", "--reserve", "a"], more].concat());
        let behind = started(&env, &["quick", "b", "--reserve", "a", "--wait"]);
        wait_until("it holds the path", || held(&env).len() == 1);
        let_go(&env);
        assert_eq!(wait_for_state(&env, &parent, "done")["result"], "c");
        assert_eq!(wait_for_state(&env, &queued, "done")["result"], "q");
        assert_eq!(wait_for_state(&env, &behind, "done")["result"], "b");
        assert_eq!(held(&env), []);
    }
}

#[test]
fn several_that_have_no_slot_give_way_together() {
    let asks = "read x < \"$HOME/go\"; msg run quick c --reserve a --reserve b --reserve c --wait -q";
    let env = with_holder(&[script("asks", asks), script("quick", "cat")].concat());
    env.ok(&["config", "set", "slots", "1"]);
    let parent = started_with(&env, &path_with_msg(), &["asks", "x"]);
    wait_for_state(&env, &parent, "running");
    let queued = ["a", "b", "c"].map(|path| started(&env, &["quick", path, "--reserve", path]));
    for id in &queued {
        wait_for_reason(&env, id, "waits for a slot");
    }
    let_go(&env);
    assert_eq!(wait_for_state(&env, &parent, "done")["result"], "c");
    for id in &queued {
        wait_for_state(&env, id, "done");
    }
    assert_eq!(held(&env), []);
}

#[test]
fn a_damaged_record_of_another_keeps_nobody_from_going_on() {
    let asks = "msg run quick d --reserve z --wait --detach -q";
    let env = with_holder(&[script("asks", asks), script("quick", "cat")].concat());
    env.ok(&["config", "set", "slots", "1"]);
    env.join("Robin");
    env.ok(&["reserve", "y", "z", "--as", "Robin"]);
    let parent = started_with(&env, &path_with_msg(), &["asks", "x"]);
    let below = wait_for_state(&env, &parent, "done")["result"].as_str().unwrap().to_string();
    wait_for_reason(&env, &below, "waits for its paths");
    fs::write(env.mesh().join(format!("runs/{parent}/run.json")), "{").unwrap();
    let busy = started(&env, &["holds", "x"]);
    wait_for_state(&env, &busy, "running");
    let queued = started(&env, &["quick", "q", "--reserve", "a"]);
    let waiting = started(&env, &["quick", "w", "--reserve", "y", "--wait"]);
    env.ok(&["release", "y", "--as", "Robin"]);
    wait_for_reason(&env, &waiting, "waits for a slot");
    let since = Instant::now();
    wait_until("they have looked whether they have to give way", || {
        for id in [&queued, &waiting] {
            let run = shown(&env, id);
            assert_eq!(run["state"], "queued", "{run}");
        }
        since.elapsed() > LOOKED
    });
    // Nor does the record of its own parent, which lends nothing any more.
    env.ok(&["release", "z", "--as", "Robin"]);
    wait_for_reason(&env, &below, "waits for a slot");
    let_go(&env);
    for id in [&queued, &waiting, &below] {
        wait_for_state(&env, id, "done");
    }
}

#[test]
fn nobody_gives_way_to_a_run_that_is_held_back() {
    let asks = "read x < \"$HOME/go\"; msg run claude c --reserve a --wait --name Late --detach -q; \
                read x < \"$HOME/go\"; echo over";
    let env = with_holder(&[script("asks", asks), script("quick", "cat")].concat());
    let path = put_harness(&env, &limits::CLIENT.replace("+ 20", "+ 1000"));
    let limited = started_with(&env, &path, &["claude", "x"]);
    wait_for_state(&env, &limited, "limited");
    env.ok(&["runs", "stop", &limited]);
    wait_for_state(&env, &limited, "stopped");
    env.ok(&["config", "set", "slots", "1"]);
    env.join("Robin");
    env.ok(&["reserve", "a", "--as", "Robin"]);
    let parent = started_with(&env, &path, &["asks", "x"]);
    wait_for_state(&env, &parent, "running");
    let older = started(&env, &["quick", "q", "--reserve", "a", "--wait", "--name", "Early"]);
    wait_for_reason(&env, &older, "waits for its paths");
    let_go(&env);
    let mut late = String::new();
    wait_until("the run of the worker waits for its paths", || {
        let runs = env.ok(&["runs"])["runs"].clone();
        let found =
            runs.as_array().unwrap().iter().find(|run| run["profile"] == "claude" && run["id"] != limited);
        late = found.map(|run| run["id"].as_str().unwrap().to_string()).unwrap_or_default();
        found.is_some_and(|run| run["reason"].is_string())
    });
    env.ok(&["release", "a", "--as", "Robin"]);
    wait_until("one of them has the path", || held(&env).len() == 1);
    // The other has a slot at hand, but can't use it before the limit is reset.
    wait_for_reason(&env, &older, "waits for a slot");
    let since = Instant::now();
    wait_until("it has looked whether it has to give way", || {
        assert_eq!(held(&env), [("a".to_string(), "Early".to_string())]);
        since.elapsed() > LOOKED
    });
    let_go(&env);
    assert_eq!(wait_for_state(&env, &older, "done")["result"], "q");
    env.ok(&["runs", "stop", &late]);
    wait_for_state(&env, &late, "stopped");
}

#[test]
fn whoever_gives_way_keeps_its_name_and_its_task() {
    let asks = "read x < \"$HOME/go\"; msg run looks c --reserve a --wait -q";
    let looks = "msg agents --json; echo; msg tasks --spec plan.md --json";
    let env = with_holder(&[script("asks", asks), script("looks", looks), script("quick", "cat")].concat());
    fs::write(env.work().join("plan.md"), "# Plan\n\n- [ ] T-1: Say hello\n").unwrap();
    env.ok(&["config", "set", "slots", "1"]);
    let parent = started_with(&env, &path_with_msg(), &["asks", "x"]);
    wait_for_state(&env, &parent, "running");
    let more = ["--reserve", "a", "--task", "T-1", "--spec", "plan.md", "--name", "Polite"];
    let queued = started(&env, &[&["quick", "q"], &more[..]].concat());
    let number = shown(&env, &queued)["claim"]["number"].clone();
    let_go(&env);
    let seen = wait_for_state(&env, &parent, "done")["result"].clone();
    let seen: Vec<Value> = seen
        .as_str()
        .unwrap()
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let names = seen[0]["agents"].as_array().unwrap();
    assert!(names.iter().any(|agent| agent["name"] == "Polite"), "{seen:?}");
    assert_eq!(
        (&seen[1]["tasks"][0]["state"], &seen[1]["tasks"][0]["agent"]),
        (&"claimed".into(), &"Polite".into())
    );
    let ended = wait_for_state(&env, &queued, "done");
    assert_eq!((&ended["agent"], &ended["claim"]["number"]), (&"Polite".into(), &number), "{ended}");
    assert_eq!((held(&env), env.names()), (vec![], vec![]));
}

#[test]
fn whoever_has_given_way_can_be_stopped() {
    let asks = "read x < \"$HOME/go\"; msg run holds c --reserve a --wait --name Child -q";
    let env = with_holder(&script("asks", asks));
    env.ok(&["config", "set", "slots", "1"]);
    let parent = started_with(&env, &path_with_msg(), &["asks", "x"]);
    wait_for_state(&env, &parent, "running");
    let queued = started(&env, &["holds", "q", "--reserve", "a", "--name", "Polite"]);
    wait_for_reason(&env, &queued, "waits for a slot");
    let_go(&env);
    wait_until("the other has the path", || held(&env) == [("a".to_string(), "Child".to_string())]);
    wait_for_reason(&env, &queued, "waits for its paths");
    env.ok(&["runs", "stop", &queued]);
    wait_for_state(&env, &queued, "stopped");
    assert!(!env.names().contains(&"Polite".to_string()));
    let_go(&env);
    wait_for_state(&env, &parent, "done");
}
