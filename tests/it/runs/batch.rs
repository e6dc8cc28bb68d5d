//! `batch` and `chain`: many tasks, each a run of its own.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use nix::fcntl::OFlag;
use nix::sys::signal::{SIGINT, SIGKILL, Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};
use serde_json::{Value, json};

use super::{left_of, script, wait_for_state, with_profiles};
use crate::support::environment::{Ended, TestEnvironment, rounds, wait_until};

/// Writes a file with tasks into the working directory.
fn tasks(env: &TestEnvironment, name: &str, lines: &[String]) -> PathBuf {
    let path = env.work().join(name);
    fs::write(&path, lines.join("\n") + "\n").unwrap();
    path
}

fn plain(lines: &[&str]) -> Vec<String> {
    lines.iter().map(ToString::to_string).collect()
}

#[track_caller]
fn batch(env: &TestEnvironment, code: i32, args: &[&str]) -> Ended {
    env.run(&[args, &["--json"]].concat()).expect_code(code)
}

fn column<'a>(answer: &'a Value, key: &str) -> Vec<&'a Value> {
    answer["runs"].as_array().unwrap().iter().map(|run| &run[key]).collect()
}

fn all_runs(env: &TestEnvironment) -> Vec<Value> {
    env.ok(&["runs", "--all"])["runs"].as_array().unwrap().clone()
}

fn signal(child: &Child, signal: Signal) {
    kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
}

#[test]
fn each_task_has_a_run_and_what_is_done_is_not_done_again() {
    let env = with_profiles(&script("echo", "printf 'did '; cat"));
    tasks(&env, "list", &plain(&["a", "", "  b c  ", "a"]));
    let first = batch(&env, 0, &["batch", "list", "--profile", "echo"]).json();
    assert_eq!(column(&first, "result"), ["did a", "did b c", "did a"]);
    assert_eq!(column(&first, "line"), [1, 3, 4]);
    assert_eq!(column(&first, "fromBefore"), [false, false, false]);
    let again = batch(&env, 0, &["batch", "list", "--profile", "echo"]).json();
    assert_eq!(column(&again, "id"), column(&first, "id"));
    assert_eq!(column(&again, "fromBefore"), [true, true, true]);
    assert_eq!(all_runs(&env).len(), 3, "the same task twice is done twice, and then never again");
    tasks(&env, "list", &plain(&["b c", "d"]));
    let more = batch(&env, 0, &["batch", "list", "--profile", "echo"]).json();
    assert_eq!(column(&more, "fromBefore"), [true, false]);
    // Another kind of worker has not done it.
    super::put_profiles(&env, &script("echo", "printf 'really did '; cat"));
    let other = batch(&env, 0, &["batch", "list", "--profile", "echo"]).json();
    assert_eq!(column(&other, "result"), ["really did b c", "really did d"]);
}

#[test]
fn everything_that_is_wrong_is_told_before_anything_is_started() {
    let env = with_profiles(&script("echo", "cat"));
    let lines = [
        json!({"task": "x", "profile": "echo"}).to_string(),
        json!({"task": " ", "profile": "echo"}).to_string(),
        json!({"task": "x"}).to_string(),
        json!({"task": "x", "profile": "ehco"}).to_string(),
        "{".to_string(),
        json!({"task": "x", "profile": "echo", "needs": ["nobody"]}).to_string(),
    ];
    tasks(&env, "list", &lines);
    let ended = batch(&env, 1, &["batch", "list"]);
    assert_eq!(ended.kind(), "invalid_batch");
    let problems = ended.json()["error"]["problems"].clone();
    let problems: Vec<(u64, &str)> = problems
        .as_array()
        .unwrap()
        .iter()
        .map(|problem| (problem["line"].as_u64().unwrap(), problem["message"].as_str().unwrap()))
        .collect();
    assert_eq!(problems.iter().map(|problem| problem.0).collect::<Vec<_>>(), [2, 3, 4, 5, 6]);
    assert_eq!(problems[0].1, "the task is empty");
    assert_eq!(problems[2].1, "there is no profile or harness `ehco`");
    assert!(all_runs(&env).is_empty());
    let told = env.run(&["batch", "list"]).expect_code(1).stderr;
    let list = "because the batch is wrong\n  line 2: the task is empty\n  line 3: ";
    assert!(told.contains(list), "{told}");
    tasks(&env, "list", &[]);
    assert_eq!(batch(&env, 1, &["batch", "list"]).kind(), "invalid_batch");
    assert_eq!(batch(&env, 2, &["batch", "nowhere"]).kind(), "invalid_value");
}

#[test]
fn a_failed_task_skips_those_that_need_it_and_the_rest_goes_on() {
    let env = with_profiles(&script(
        "work",
        "read task; test ! -e \"no-$task\" || exit 1; echo \"$task\" >> order; echo did $task",
    ));
    fs::write(env.work().join("no-b"), "").unwrap();
    let line = |id: &str, needs: &[&str]| {
        json!({"id": id, "task": id, "profile": "work", "needs": needs}).to_string()
    };
    let lines = [line("d", &["c"]), line("c", &["b"]), line("b", &["a"]), line("a", &[]), line("e", &["a"])];
    tasks(&env, "list", &lines);
    let ended = batch(&env, 1, &["batch", "list"]);
    assert_eq!(ended.kind(), "run_failed");
    let answer = ended.json();
    assert_eq!(column(&answer, "state"), ["skipped", "skipped", "failed", "done", "done"]);
    assert_eq!(answer["runs"][0]["reason"], "it needs `c`, which is skipped");
    assert_eq!(answer["runs"][1]["reason"], "it needs `b`, which is failed");
    assert_eq!((&answer["runs"][1]["id"], &answer["runs"][1]["taskId"]), (&Value::Null, &json!("c")));
    fs::remove_file(env.work().join("no-b")).unwrap();
    let answer = batch(&env, 0, &["batch", "list"]).json();
    assert_eq!(column(&answer, "fromBefore"), [false, false, false, true, true]);
    let order = fs::read_to_string(env.work().join("order")).unwrap();
    assert_eq!(order, "a\ne\nb\nc\nd\n");
}

#[test]
fn a_chain_passes_results_on_literally() {
    let million = "head -c 1000000 /dev/zero | tr '\\0' y";
    let env = with_profiles(
        &[
            script("say", "cat > said; printf '%s' '$ORIGINAL $INPUT $$ $& \\1'; echo; echo second"),
            script("long", &format!("cat >/dev/null; {million}")),
            script("echo", "cat"),
        ]
        .concat(),
    );
    let step = |profile: &str, task: &str| json!({"profile": profile, "task": task}).to_string();
    tasks(&env, "steps", &[step("say", "begin $INPUT"), step("echo", "<$INPUT> <$ORIGINAL>$$")]);
    let answer = batch(&env, 0, &["chain", "steps"]).json();
    assert_eq!(answer["result"], "<$ORIGINAL $INPUT $$ $& \\1\nsecond> <begin $INPUT>$$");
    assert_eq!(fs::read_to_string(env.work().join("said")).unwrap(), "begin $INPUT");
    tasks(&env, "steps", &[step("long", "x"), step("echo", "<$INPUT>")]);
    let answer = batch(&env, 0, &["chain", "steps"]).json();
    let result = answer["result"].as_str().unwrap();
    assert!(result == format!("<{}>", "y".repeat(1_000_000)), "{} bytes", result.len());
}

#[test]
fn a_chain_stops_at_the_first_failure_and_goes_on_from_there() {
    let env = with_profiles(&script(
        "step",
        "read task; echo $task >> order; test ! -e \"no-$task\" || exit 1; echo did $task",
    ));
    fs::write(env.work().join("no-b"), "").unwrap();
    tasks(&env, "steps", &plain(&["a", "b", "c"]));
    let ended = batch(&env, 1, &["chain", "steps", "--profile", "step"]);
    let answer = ended.json();
    assert_eq!(column(&answer, "state"), ["done", "failed", "skipped"]);
    assert_eq!(answer["result"], Value::Null);
    fs::remove_file(env.work().join("no-b")).unwrap();
    let answer = batch(&env, 0, &["chain", "steps", "--profile", "step"]).json();
    assert_eq!(answer["result"], "did c");
    assert_eq!(fs::read_to_string(env.work().join("order")).unwrap(), "a\nb\nb\nc\n");
}

#[test]
fn equal_steps_and_tasks_are_done_as_often_as_they_are_there() {
    let env = with_profiles(&script("count", "cat >> order; echo >> order; wc -l < order"));
    tasks(&env, "steps", &plain(&["review", "fix", "review"]));
    let first = batch(&env, 0, &["chain", "steps", "--profile", "count"]).json();
    assert_eq!(fs::read_to_string(env.work().join("order")).unwrap(), "review\nfix\nreview\n");
    assert_eq!(column(&first, "result"), ["1", "2", "3"]);
    let again = batch(&env, 0, &["chain", "steps", "--profile", "count"]).json();
    assert_eq!(column(&again, "id"), column(&first, "id"));
    assert_eq!(column(&again, "fromBefore"), [true, true, true]);
    let lines = [json!({"task": "$INPUT", "input": "x"}), json!({"task": "x"}), json!({"task": "x"})];
    tasks(&env, "list", &lines.map(|line| line.to_string()));
    let answer = batch(&env, 0, &["batch", "list", "--profile", "count", "--jobs", "1"]).json();
    assert_eq!(column(&answer, "result"), ["4", "5", "6"]);
}

#[test]
fn what_one_task_meets_does_not_end_the_batch() {
    let env = TestEnvironment::new();
    let file = env.home().join(".config/ravenry/workers.toml");
    // Somebody is in the middle of editing the profiles when the second task is begun.
    let profiles = script("edits", &format!("read task; echo '[' >> '{}'; echo did $task", file.display()));
    super::put_profiles(&env, &profiles);
    tasks(&env, "list", &plain(&["a", "b"]));
    let ended = batch(&env, 1, &["batch", "list", "--profile", "edits", "--jobs", "1"]);
    assert_eq!(ended.kind(), "run_failed");
    let answer = ended.json();
    assert_eq!(column(&answer, "state"), ["done", "refused"]);
    assert_eq!(answer["runs"][0]["result"], "did a");
    assert!(answer["runs"][1]["error"]["kind"].is_string(), "{answer}");
    super::put_profiles(&env, &profiles);
    let answer = batch(&env, 0, &["batch", "list", "--profile", "edits", "--jobs", "1"]).json();
    assert_eq!(column(&answer, "fromBefore"), [true, false]);
}

#[test]
fn a_run_that_cannot_be_stopped_or_read_does_not_keep_the_others_from_it() {
    let env = with_profiles(&script("slow", "cat; sleep 1000"));
    tasks(&env, "list", &plain(&["a", "b", "c"]));
    let interrupted = start_batch(&env, "list", "slow", "3");
    wait_until("all are being done", || {
        all_runs(&env).iter().filter(|run| run["state"] == "running").count() == 3
    });
    let runs = all_runs(&env);
    let of_task = |task: &str| runs.iter().find(|run| run["task"] == task).unwrap();
    let supervisor =
        |task: &str| Pid::from_raw(i32::try_from(of_task(task)["supervisorPid"].as_i64().unwrap()).unwrap());
    let dir = |task: &str| env.mesh().join("runs").join(of_task(task)["id"].as_str().unwrap());
    // Whoever is stopped while it tells the feed keeps the others from that.
    wait_until("the feed has all starts", || {
        let feed = env.ok(&["feed", "--kind", "run-started"]);
        feed["events"].as_array().unwrap().len() == 3
    });
    // Their supervisors see and write nothing meanwhile.
    kill(supervisor("a"), Signal::SIGSTOP).unwrap();
    kill(supervisor("b"), Signal::SIGSTOP).unwrap();
    fs::create_dir(dir("a").join("stop")).unwrap();
    let record = fs::read(dir("b").join("run.json")).unwrap();
    fs::write(dir("b").join("run.json"), "{").unwrap();
    signal(&interrupted, SIGINT);
    let output = interrupted.wait_with_output().unwrap();
    fs::remove_dir(dir("a").join("stop")).unwrap();
    fs::write(dir("b").join("run.json"), record).unwrap();
    kill(supervisor("a"), Signal::SIGCONT).unwrap();
    kill(supervisor("b"), Signal::SIGCONT).unwrap();
    for task in ["a", "b"] {
        env.ok(&["runs", "stop", of_task(task)["id"].as_str().unwrap(), "--now"]);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(column(&answer, "state"), ["refused", "refused", "stopped"], "{answer}");
    let why = answer["runs"][0]["reason"].as_str().unwrap();
    assert!(
        why.starts_with(&format!("run {} can't be stopped: ", of_task("a")["id"].as_str().unwrap())),
        "{why}"
    );
}

/// Notes in `twice` if another one of its kind is alive, whatever it was asked to do about its end.
const STUBBORN: &str = r#"read task; mkdir -p pids
for file in pids/*; do test -e "$file" && kill -0 "${file##*/}" 2>/dev/null && echo "$file" >> twice; done
trap '' TERM; : > pids/$$; read x < go; echo did $task"#;

#[test]
fn a_task_is_begun_again_only_when_nothing_is_left_of_its_dead_run() {
    let env = with_profiles(&script("stubborn", STUBBORN));
    mkfifo(&env.work().join("go"), Mode::S_IRWXU).unwrap();
    tasks(&env, "list", &plain(&["a"]));
    let begun = |count: usize| {
        let pids = fs::read_dir(env.work().join("pids"));
        pids.is_ok_and(|pids| pids.count() == count)
    };
    let first = start_batch(&env, "list", "stubborn", "1");
    wait_until("the task is begun", || begun(1));
    // The second time only the supervisor of the next run looks: it may be the first to see the death.
    for round in 1..=2 {
        let mut run = Value::Null;
        wait_until("its run goes on", || {
            let found = all_runs(&env).into_iter().find(|run| run["state"] == "running");
            found.map(|found| run = found).is_some()
        });
        let pid = i32::try_from(run["supervisorPid"].as_i64().unwrap()).unwrap();
        kill(Pid::from_raw(pid), SIGKILL).unwrap();
        let id = run["id"].as_str().unwrap();
        wait_for_state(&env, id, "interrupted");
        if round == 2 {
            let settled = format!("runs/{id}/settled");
            fs::write(env.mesh().join(settled), "").unwrap();
        }
        let mut next = start_batch(&env, "list", "stubborn", "1");
        wait_until("the task is begun again", || begun(1 + round));
        assert!(!env.work().join("twice").exists(), "round {round}");
        signal(&next, SIGKILL);
        next.wait().unwrap();
    }
    assert_eq!(first.wait_with_output().unwrap().status.code(), Some(1), "its run was interrupted");
    let mut last = None;
    wait_until("the last run goes on", || {
        last = all_runs(&env).into_iter().find(|run| run["state"] == "running");
        last.is_some()
    });
    env.ok(&["runs", "stop", last.unwrap()["id"].as_str().unwrap(), "--now"]);
    wait_until("nothing is left", || {
        all_runs(&env).iter().all(|run| left_of(run["id"].as_str().unwrap()).is_empty())
    });
}

fn start_batch(env: &TestEnvironment, file: &str, profile: &str, jobs: &str) -> Child {
    let args = ["batch", file, "--profile", profile, "--jobs", jobs, "--json"];
    env.msg().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn a_killed_batch_goes_on_when_it_is_started_again() {
    let env = with_profiles(&script("waits", "read task; echo $task >> begun; read x < go; echo did $task"));
    mkfifo(&env.work().join("go"), Mode::S_IRWXU).unwrap();
    tasks(&env, "list", &plain(&["a", "b", "c"]));
    let running = || all_runs(&env).iter().filter(|run| run["state"] == "running").count();
    let mut killed = start_batch(&env, "list", "waits", "2");
    wait_until("two tasks are being done", || running() == 2);
    signal(&killed, SIGKILL);
    killed.wait().unwrap();
    let second = start_batch(&env, "list", "waits", "3");
    wait_until("the third one, too", || running() == 3);
    wait_until("all have read", || {
        // Without a reader at this moment there is nobody to write to.
        let pipe = fs::OpenOptions::new()
            .write(true)
            .custom_flags(OFlag::O_NONBLOCK.bits())
            .open(env.work().join("go"));
        pipe.ok().map(|mut pipe| pipe.write_all(b"go\n").ok());
        running() == 0
    });
    let answer: Value = serde_json::from_slice(&second.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(column(&answer, "result"), ["did a", "did b", "did c"]);
    assert_eq!(column(&answer, "fromBefore"), [true, true, false]);
    let mut begun: Vec<String> =
        fs::read_to_string(env.work().join("begun")).unwrap().lines().map(ToString::to_string).collect();
    begun.sort();
    assert_eq!(begun, ["a", "b", "c"], "each task was begun once");
}

#[test]
fn ctrl_c_stops_what_a_batch_started_and_leaves_nothing() {
    let env = with_profiles(&script("slow", "cat; sleep 1000 & sleep 1000"));
    tasks(&env, "list", &plain(&["a", "b", "c"]));
    let running = || all_runs(&env).iter().filter(|run| run["state"] == "running").count();
    let interrupted = start_batch(&env, "list", "slow", "2");
    wait_until("two tasks are being done", || running() == 2);
    signal(&interrupted, SIGINT);
    let output = interrupted.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(column(&answer, "state"), ["stopped", "stopped", "skipped"]);
    for run in all_runs(&env) {
        assert!(left_of(run["id"].as_str().unwrap()).is_empty());
    }
    // The next one takes over what a killed one began.
    let mut killed = start_batch(&env, "list", "slow", "2");
    wait_until("two tasks are being done again", || running() == 2);
    signal(&killed, SIGKILL);
    killed.wait().unwrap();
    let next = start_batch(&env, "list", "slow", "3");
    wait_until("all are being done", || running() == 3);
    signal(&next, SIGINT);
    assert_eq!(next.wait_with_output().unwrap().status.code(), Some(130));
    assert_eq!(running(), 0);
}

#[test]
fn a_pipe_gets_one_line_for_each_change() {
    let env = with_profiles(&script("echo", "cat"));
    tasks(&env, "list", &plain(&["only one"]));
    let ended = env.run(&["batch", "list", "--profile", "echo"]).expect_code(0);
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert!(lines.iter().any(|line| line.contains("done") && line.contains("only one")), "{ended}");
    assert!(lines.iter().any(|line| line.contains("1 done")), "{ended}");
    assert!(!ended.stdout.contains('\x1b') && !ended.stderr.contains('█'), "{ended}");
}

/// The most runs that the ledger says went on at once.
fn most_at_once(runs: &[Value]) -> usize {
    let mut moments: Vec<(&str, i32)> = Vec::new();
    for run in runs {
        moments.push((run["startedAt"].as_str().unwrap(), 1));
        moments.push((run["endedAt"].as_str().unwrap(), -1));
    }
    // At the same moment the end counts first.
    moments.sort();
    let (mut now, mut most) = (0, 0);
    for (_, change) in moments {
        now += change;
        most = most.max(now);
    }
    usize::try_from(most).unwrap()
}

#[test]
fn two_batches_at_once_share_the_slots_and_nothing_else() {
    let env = with_profiles(&script(
        "counts",
        "mkdir slot-$RAVENRY_SLOT && cat && rmdir slot-$RAVENRY_SLOT || echo \"slot $RAVENRY_SLOT is shared\"",
    ));
    env.ok(&["config", "set", "slots", "16"]);
    let count = rounds(200);
    let halves = ["one", "two"].map(|name| {
        let lines: Vec<String> = (0..count / 2).map(|number| format!("task {number} of {name}")).collect();
        tasks(&env, name, &lines);
        (name, lines)
    });
    let start = |name: &str| start_batch(&env, name, "counts", "16");
    let (mut first, second) = (start("one"), start("two"));
    wait_until("some tasks of each are done", || {
        let done = all_runs(&env).into_iter().filter(|run| run["state"] == "done");
        done.filter(|run| run["task"].as_str().unwrap().ends_with("one")).count() >= 3
    });
    signal(&first, SIGKILL);
    first.wait().unwrap();
    let again = start("one");
    for (child, (_, lines)) in [again, second].into_iter().zip(&halves) {
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(column(&answer, "result"), lines.iter().map(String::as_str).collect::<Vec<_>>());
    }
    let runs = all_runs(&env);
    assert_eq!(runs.len(), count / 2 * 2, "no task was done twice");
    assert!(most_at_once(&runs) <= 16, "{}", most_at_once(&runs));
    let mut tasks: Vec<&str> = runs.iter().map(|run| run["task"].as_str().unwrap()).collect();
    tasks.sort_unstable();
    tasks.dedup();
    assert_eq!(tasks.len(), runs.len());
}
