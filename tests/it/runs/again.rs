//! Runs that are begun anew, continued and opened, with a stand-in for a harness.

use std::fs;

use nix::sys::signal::{SIGKILL, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::{left_of, put_harness, put_profiles, script, shown, wait_for_state};
use crate::support::environment::{TestEnvironment, end, wait_until};
use crate::support::hook_call::Call;
use crate::support::hook_fixture::in_shell;

/// Prints what the real one prints. What it reports as its cost is that of the whole session. If there is a file `hang`,
/// it hangs.
const STAND_IN: &str = r#"#!/bin/sh
printf '%s\n' "$@" > "$HOME/args"
env > "$HOME/env"
while [ $# -gt 1 ]; do case "$1" in --session-id | --resume) id=$2 ;; esac; shift; done
cost=$(($(cat "$HOME/cost" 2>/dev/null || echo 0) + 25)); echo $cost > "$HOME/cost"
echo '{"type":"system","subtype":"init","session_id":"'$id'","model":"m"}'
[ -e "$HOME/hang" ] && sleep 1000
echo '{"type":"result","subtype":"success","is_error":false,"result":"it is done","session_id":"'$id'","num_turns":1,"total_cost_usd":0.'$cost',"usage":{"input_tokens":100,"output_tokens":10}}'
"#;

/// An environment with a harness on its PATH.
struct Scene {
    env: TestEnvironment,
    path: String,
}

impl Scene {
    fn new(profiles: &str) -> Self {
        let env = TestEnvironment::new();
        put_profiles(&env, profiles);
        Self { path: put_harness(&env, STAND_IN), env }
    }

    #[track_caller]
    fn ends(&self, code: i32, args: &[&str]) -> Value {
        let args = [args, &["--json"]].concat();
        self.env.run_with(&args, &[("PATH", &self.path)]).expect_code(code).json()
    }

    #[track_caller]
    fn run(&self, args: &[&str]) -> Value {
        self.ends(0, args)["run"].clone()
    }

    /// The arguments that the harness was last called with.
    fn called(&self) -> String {
        fs::read_to_string(self.env.home().join("args")).unwrap()
    }

    /// Starts a run that hangs, and kills its supervisor. Returns its id.
    fn interrupted(&self, task: &str) -> String {
        fs::write(self.env.home().join("hang"), "").unwrap();
        let id = text(&self.run(&["run", "reads", task, "--detach"]), "id");
        wait_until("it works", || shown(&self.env, &id)["model"] == "m");
        let pid = shown(&self.env, &id)["supervisorPid"].as_i64().unwrap();
        kill(Pid::from_raw(i32::try_from(pid).unwrap()), SIGKILL).unwrap();
        wait_for_state(&self.env, &id, "interrupted");
        wait_until("nothing is left", || left_of(&id).is_empty());
        fs::remove_file(self.env.home().join("hang")).unwrap();
        id
    }
}

fn text(run: &Value, key: &str) -> String {
    run[key].as_str().unwrap_or_else(|| panic!("no {key}: {run}")).to_string()
}

const READS: &str = "[reads]\nharness = \"claude\"\nreadonly = true\n";

#[test]
fn a_retry_has_the_same_task_and_begins_anew() {
    let scene = Scene::new(READS);
    let first = scene.run(&["run", "reads", "look at it", "--timeout", "90", "--budget", "9usd"]);
    let again = scene.run(&["runs", "retry", &text(&first, "id")]);
    assert_eq!(
        (&again["state"], &again["retries"], &again["resumes"]),
        (&json!("done"), &first["id"], &Value::Null)
    );
    assert_eq!((&again["task"], &again["profile"]), (&json!("look at it"), &json!("reads")));
    assert_ne!(again["session"], first["session"]);
    let order: Value = serde_json::from_slice(
        &fs::read(scene.env.mesh().join(format!("runs/{}/order.json", text(&again, "id")))).unwrap(),
    )
    .unwrap();
    assert_eq!((&order["timeoutSeconds"], &order["mostMicros"]), (&json!(90), &json!(9_000_000)));
    let page = scene.env.run(&["runs", "show", &text(&again, "id")]).expect_code(0).stdout;
    assert!(page.contains(&format!("retries    {}", text(&first, "id"))), "{page}");
}

#[test]
fn a_session_is_continued_and_only_what_is_new_is_counted() {
    let scene = Scene::new(READS);
    let first = scene.run(&["run", "reads", "look at it", "--budget", "9usd"]);
    assert_eq!(first["costUsd"], 0.25);
    assert!(scene.called().contains("--max-budget-usd\n9\n"), "{}", scene.called());
    let second = scene.run(&["runs", "resume", &text(&first, "id"), "and now the rest"]);
    assert_eq!((&second["session"], &second["resumes"]), (&first["session"], &first["id"]));
    let called = scene.called();
    assert!(called.contains(&format!("--resume\n{}\n", text(&first, "session"))), "{called}");
    assert!(called.ends_with("--\nand now the rest\n"), "{called}");
    // The harness compares its limit with what the session costs.
    assert!(called.contains("--max-budget-usd\n9.25\n"), "{called}");
    // The harness reported $0.50 for the session, and tokens of this run alone.
    assert_eq!((&second["costUsd"], &second["usage"]["input"]), (&json!(0.25), &json!(100)));
    let third = scene.run(&["runs", "resume", &text(&second, "id")]);
    assert_eq!(third["costUsd"], 0.25);
    assert!(scene.called().contains("Go on with your task"), "{}", scene.called());
}

#[test]
fn what_was_interrupted_is_resumed_once() {
    let scene = Scene::new(&[READS, &script("own", "cat; sleep 1000")].concat());
    let ids = [scene.interrupted("one"), scene.interrupted("two")];
    let own = text(&scene.run(&["run", "own", "x", "--detach"]), "id");
    wait_for_state(&scene.env, &own, "running");
    let pid = shown(&scene.env, &own)["supervisorPid"].as_i64().unwrap();
    kill(Pid::from_raw(i32::try_from(pid).unwrap()), SIGKILL).unwrap();
    wait_for_state(&scene.env, &own, "interrupted");
    let all = scene.ends(0, &["runs", "resume", "--all"]);
    let runs = all["runs"].as_array().unwrap();
    assert_eq!(runs.iter().map(|run| text(run, "resumes")).collect::<Vec<_>>(), ids);
    assert_eq!(all["left"][0]["id"], own.as_str());
    assert!(text(&all["left"][0], "reason").contains("a command has no session"), "{all}");
    for run in runs {
        assert_eq!(wait_for_state(&scene.env, &text(run, "id"), "done")["result"], "it is done");
    }
    assert!(scene.called().contains("You were interrupted"), "{}", scene.called());
    assert_eq!(scene.ends(0, &["runs", "resume", "--all"])["runs"], json!([]));
}

#[test]
fn a_session_is_not_continued_twice_at_once() {
    let scene = Scene::new(READS);
    let id = scene.interrupted("one");
    fs::write(scene.env.home().join("hang"), "").unwrap();
    let calls: Vec<Value> = std::thread::scope(|scope| {
        let call = || {
            let args = ["runs", "resume", id.as_str(), "--detach", "--json"];
            let mut command = scene.env.msg();
            command.args(args).env("PATH", &scene.path);
            command
        };
        let threads: Vec<_> = (0..6)
            .map(|_| {
                let mut command = call();
                scope.spawn(move || command.output().unwrap().stdout)
            })
            .collect();
        threads.into_iter().map(|thread| serde_json::from_slice(&thread.join().unwrap()).unwrap()).collect()
    });
    let (won, lost): (Vec<&Value>, Vec<&Value>) = calls.iter().partition(|answer| answer["ok"] == true);
    assert_eq!(won.len(), 1, "{calls:?}");
    assert!(lost.iter().all(|answer| answer["error"]["kind"] == "at_work"), "{calls:?}");
    let running = text(&won[0]["run"], "id");
    for command in ["retry", "resume", "open"] {
        assert_eq!(scene.ends(1, &["runs", command, &running])["error"]["kind"], "at_work");
    }
    scene.env.ok(&["runs", "stop", &running, "--now"]);
    wait_for_state(&scene.env, &running, "stopped");
}

#[test]
fn a_command_has_no_session() {
    let scene = Scene::new(&script("own", "cat"));
    let run = scene.run(&["run", "own", "x"]);
    for command in ["resume", "open"] {
        let answer = scene.ends(2, &["runs", command, &text(&run, "id")]);
        assert!(text(&answer["error"], "message").contains("a command has no session"), "{answer}");
    }
    assert_eq!(scene.run(&["runs", "retry", &text(&run, "id")])["result"], "x");
}

#[test]
fn a_session_is_opened_where_it_was() {
    let scene = Scene::new(READS);
    let run = scene.run(&["run", "reads", "x"]);
    let id = text(&run, "id");
    let opened = scene.ends(0, &["runs", "open", &id]);
    let program = scene.env.home().join("bin/claude").display().to_string();
    assert_eq!(opened["command"], json!([program, "--resume", run["session"]]));
    assert_eq!(opened["dir"], run["root"]);
    // Without a terminal it is only printed.
    let line = scene.env.run(&["runs", "open", &id]).expect_code(0).stdout;
    assert_eq!(line, format!("cd {} && {program} --resume {}\n", text(&run, "root"), text(&run, "session")));
}

#[test]
fn the_gates_are_asked_again() {
    let scene = Scene::new(READS);
    let run = scene.run(&["run", "reads", "x"]);
    let id = text(&run, "id");
    put_profiles(&scene.env, &script("reads", "cat"));
    let answer = scene.ends(1, &["runs", "resume", &id]);
    assert_eq!((&answer["error"]["kind"], &answer["error"]["gate"]), (&json!("gate"), &json!("profile")));
    put_profiles(&scene.env, "");
    let answer = scene.ends(1, &["runs", "retry", &id]);
    assert_eq!((&answer["error"]["kind"], &answer["error"]["gate"]), (&json!("gate"), &json!("profile")));
    assert_eq!(scene.ends(1, &["runs", "retry", "zzzzzz"])["error"]["kind"], "unknown_run");
}

#[test]
fn a_reader_starts_only_readers() {
    let inner = "cat >/dev/null; msg run writes y --json; msg run looks y -q";
    let profiles = [
        script("outer", inner) + "readonly = true\n",
        script("writes", "echo wrote"),
        script("looks", "echo looked") + "readonly = true\n",
    ];
    let scene = Scene::new(&profiles.concat());
    let path = format!("{}:{}", super::path_with_msg(), scene.path);
    let answer =
        scene.env.run_with(&["run", "outer", "x", "--json"], &[("PATH", &path)]).expect_code(0).json();
    let result = text(&answer["run"], "result");
    assert!(result.contains("\"gate\": \"harness\"") || result.contains("\"gate\":\"harness\""), "{result}");
    assert!(result.contains("which only reads") && result.ends_with("looked"), "{result}");
    assert!(!result.contains("wrote"), "{result}");
}

#[test]
fn whoever_only_plans_starts_only_readers() {
    let scene = Scene::new(&[script("writes", "echo wrote"), READS.to_string()].concat());
    let env = &scene.env;
    env.join("Robin");
    let says = |mode: &str| {
        let call = Call::bash(env, "PreToolUse", "session of Robin", "msg run writes x");
        call.with("/permission_mode", mode).answer(env);
    };
    says("plan");
    let answer = scene.ends(1, &["run", "writes", "x", "--as", "Robin"]);
    assert_eq!((&answer["error"]["kind"], &answer["error"]["gate"]), (&json!("gate"), &json!("harness")));
    assert!(text(&answer["error"], "message").contains("you are in a mode that only plans"), "{answer}");
    assert_eq!(scene.run(&["run", "reads", "x", "--as", "Robin"])["state"], "done");
    // A person has approved the plan meanwhile.
    says("default");
    assert_eq!(scene.run(&["run", "writes", "x", "--as", "Robin"])["result"], "wrote");
}

#[test]
fn variables_that_a_harness_sets_for_its_commands_are_not_passed_on() {
    let scene = Scene::new(READS);
    let mut msg = scene.env.msg();
    msg.args(["run", "reads", "x", "--json"]).env("PATH", &scene.path).env("COREPACK_ENABLE_AUTO_PIN", "0");
    let passed_on = || {
        let env = fs::read_to_string(scene.env.home().join("env")).unwrap();
        env.lines().any(|line| line == "COREPACK_ENABLE_AUTO_PIN=0")
    };
    // That harness sets this one.
    end(&mut in_shell("\"$@\"", "claude", &msg)).expect_code(0);
    assert!(!passed_on());
    // Another one does not, so it is its user's own.
    end(&mut in_shell("\"$@\"", "codex", &msg)).expect_code(0);
    assert!(passed_on());
}

#[test]
fn a_run_goes_on_while_msg_is_upgraded() {
    let scene = Scene::new(&script("waits", "until [ -e go ]; do sleep 0.05; done; cat"));
    let copy = scene.env.path().join("msg");
    fs::copy(env!("CARGO_BIN_EXE_msg"), &copy).unwrap();
    // Every slot is taken, so that the supervisor starts its keeper only after the upgrade.
    let cores = std::thread::available_parallelism().unwrap().get();
    let holding: Vec<String> =
        (0..(2 * cores).max(4)).map(|n| super::detached(&scene.env, "waits", &n.to_string())).collect();
    holding.iter().for_each(|id| drop(wait_for_state(&scene.env, id, "running")));
    let mut command = std::process::Command::new(&copy);
    command.args(["run", "waits", "last", "--detach", "--json"]).env_clear();
    command.envs(scene.env.msg().get_envs().filter_map(|(name, value)| Some((name, value?))));
    let ended = end(command.current_dir(scene.env.work())).expect_code(0);
    let id = text(&ended.json()["run"], "id");
    fs::write(scene.env.path().join("new"), "#!/bin/sh\nexit 1\n").unwrap();
    fs::rename(scene.env.path().join("new"), &copy).unwrap();
    fs::write(scene.env.work().join("go"), "").unwrap();
    holding.iter().for_each(|id| drop(wait_for_state(&scene.env, id, "done")));
    assert_eq!(wait_for_state(&scene.env, &id, "done")["result"], "last");
}
