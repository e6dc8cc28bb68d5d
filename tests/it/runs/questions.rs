//! Permission questions of workers are mail. The worker is a stand-in for a harness whose hook asks.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use nix::sys::signal::{SIGKILL, kill};
use nix::unistd::Pid;
use ravenry::sys::test_switches::START_HELD;
use serde_json::{Value, json};

use super::{left_of, put_harness, put_profiles, shown, wait_for_run, wait_for_state};
use crate::support::environment::{TestEnvironment, end, wait_until};
use crate::support::hook_fixture::in_shell;
use crate::support::terminal::Terminal;

/// Calls its hook once for each question, and tells what it was answered.
const STAND_IN: &str = r#"#!/bin/sh
export MSG_TEST_NO_HOOK_LIMIT=1
[ -z "$BESIDE" ] || sh -c "$BESIDE" > "$HOME/beside" 2>&1 &
for what in $QUESTIONS; do
  answer=$(printf '{"session_id":"s","cwd":"%s","tool_name":"Bash","tool_input":{"command":"rm -r %s"}}' "$PWD" "$what" |
    msg hook claude PermissionRequest)
  case "$answer" in
    *'"behavior":"allow"'*) said="$said $what:allowed" ;;
    *'"behavior":"deny"'*) said="$said $what:denied"; echo "$answer" >&2 ;;
    *) said="$said $what:silent" ;;
  esac
done
printf '{"type":"result","subtype":"success","is_error":false,"result":"answers:%s"}\n' "$said"
"#;

struct Asking {
    env: TestEnvironment,
    path: String,
}

impl Asking {
    /// An environment in which a worker asks these questions, for so many seconds each.
    fn new(seconds: &str) -> Self {
        let env = TestEnvironment::new();
        put_profiles(&env, "[asker]\nharness = \"claude\"\n");
        env.ok(&["config", "set", "questionTimeout", seconds]);
        Self { path: put_harness(&env, STAND_IN), env }
    }

    fn start(&self, questions: &str, flags: &[&str]) -> String {
        let args = [&["run", "asker", "clean up", "--detach", "--json"], flags].concat();
        let variables = [("PATH", self.path.as_str()), ("QUESTIONS", questions)];
        let answer = self.env.run_with(&args, &variables).expect_code(0).json();
        answer["run"]["id"].as_str().unwrap().to_string()
    }

    /// Waits until that question is open.
    #[track_caller]
    fn asked(&self, id: &str, what: &str) -> Value {
        let question = format!("Bash: rm -r {what}");
        wait_for_run(&self.env, id, "waiting", |run| run["state"] == "waiting" && run["question"] == question)
    }

    fn outcome(&self, id: &str, number: u32) -> Value {
        let path = self.env.mesh().join(format!("runs/{id}/answer-{number}.json"));
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
    }

    /// The process of the hook that waits.
    fn hook(&self, id: &str) -> i32 {
        let path = self.env.mesh().join(format!("runs/{id}/question-1.json"));
        let question: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        question["pid"].as_i64().unwrap().try_into().unwrap()
    }
}

#[test]
fn an_answer_reaches_the_worker_and_is_kept() {
    let asking = Asking::new("3600");
    let env = &asking.env;
    env.join("Robin");
    let id = asking.start("build docs", &["--as", "Robin"]);
    let run = asking.asked(&id, "build");
    assert_eq!(run["answerWith"], format!("msg tell {id} --answer allow --question 1"));
    assert!(run["until"].is_string());
    assert_eq!(env.ok(&["runs"])["runs"][0]["state"], "waiting");
    let mut text = String::new();
    wait_until("the parent is asked", || {
        let mail = env.ok(&["read", "--as", "Robin"]);
        text = mail["messages"][0]["text"].as_str().unwrap_or_default().to_string();
        !text.is_empty()
    });
    assert!(text.contains("wants to use `Bash`:\n") && text.contains("rm -r build"), "{text}");
    assert!(text.contains(&format!("`msg tell {id} --answer allow --question 1`")), "{text}");
    let told = env.ok(&["tell", &id, "--answer", "allow", "--as", "Robin"]);
    let expected = json!({"run": id, "question": "Bash: rm -r build", "number": 1, "answer": "allow"});
    assert_eq!(told["told"], expected);
    let run = asking.asked(&id, "docs");
    assert_eq!(run["answerWith"], format!("msg tell {id} --answer allow --question 2"));
    env.ok(&["tell", &id, "--answer", "deny", "--question", "2", "not the docs\nDo all else"]);
    let run = wait_for_state(env, &id, "done");
    assert_eq!(run["result"], "answers: build:allowed docs:denied");
    assert_eq!((&run["question"], &run["until"]), (&Value::Null, &Value::Null));
    // What a parent says is quoted, on one line.
    let log = env.ok(&["runs", "log", &id, "--errors"])["log"].to_string();
    assert!(log.contains("and says: ") && log.contains("not the docs"), "{log}");
    assert!(!log.contains("\\\\nDo all else"), "{log}");
    let [first, second] = [1, 2].map(|number| asking.outcome(&id, number));
    assert_eq!((&first["outcome"], &first["by"]), (&json!("allowed"), &json!("Robin")));
    assert_eq!((&second["outcome"], &second["by"]), (&json!("denied"), &json!("a person")));
    assert!(second["at"].is_string());
    assert_eq!(env.fails(1, &["tell", &id, "--answer", "allow"]), "not_running");
}

#[test]
fn a_question_counts_that_is_asked_before_the_start_is_known() {
    let asking = Asking::new("3600");
    let env = &asking.env;
    let pipe = env.home().join("held");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let held = [(START_HELD, pipe.to_str().unwrap()), ("PATH", &asking.path), ("QUESTIONS", "build")];
    let started = env.run_with(&["run", "asker", "clean up", "--detach", "--json"], &held);
    let id = text_of(&started.expect_code(0).json()["run"]["id"]);
    asking.asked(&id, "build");
    // Opened, its keeper is there; closed, the keeper tells of the start.
    drop(fs::OpenOptions::new().write(true).open(&pipe).unwrap());
    assert_eq!(shown(env, &id)["state"], "waiting");
    env.ok(&["tell", &id, "--answer", "allow"]);
    assert_eq!(wait_for_state(env, &id, "done")["result"], "answers: build:allowed");
}

#[test]
fn who_follows_inside_a_harness_returns_with_the_question() {
    let asking = Asking::new("3600");
    let mut msg = asking.env.msg();
    msg.args(["run", "asker", "clean up", "--json"]);
    msg.env("PATH", &asking.path).env("QUESTIONS", "build");
    let ended = end(&mut in_shell("\"$@\"", "codex", &msg)).expect_code(0);
    let run = ended.json()["run"].clone();
    assert_eq!((&run["state"], &run["question"]), (&json!("waiting"), &json!("Bash: rm -r build")));
    let id = run["id"].as_str().unwrap();
    asking.env.ok(&["tell", id, "--answer", "allow"]);
    wait_for_state(&asking.env, id, "done");
}

#[test]
fn who_follows_elsewhere_is_told_the_command() {
    let asking = Asking::new("3600");
    let mut msg = asking.env.msg();
    msg.args(["run", "asker", "clean up"]).env("PATH", &asking.path).env("QUESTIONS", "build");
    let mut follower = msg.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut id = String::new();
    wait_until("it is there", || {
        let runs = asking.env.ok(&["runs"])["runs"].clone();
        id = runs[0]["id"].as_str().unwrap_or_default().to_string();
        !id.is_empty()
    });
    wait_for_state(&asking.env, &id, "waiting");
    let list = asking.env.run(&["runs"]).expect_code(0).stdout;
    assert!(list.contains("asks: Bash: rm -r build"), "{list}");
    let mut told = String::new();
    let mut errors = BufReader::new(follower.stderr.take().unwrap());
    while !told.contains(&format!("To allow it: msg tell {id} --answer allow --question 1")) {
        assert_ne!(errors.read_line(&mut told).unwrap(), 0, "it has ended: {told}");
    }
    assert!(told.contains("rm -r build"), "{told}");
    asking.env.ok(&["tell", &id, "--answer", "allow"]);
    assert!(follower.wait().unwrap().success());
}

#[test]
fn who_started_a_batch_is_told_the_question_and_the_commands() {
    let asking = Asking::new("3600");
    let env = &asking.env;
    fs::write(env.work().join("list"), "clean up\n").unwrap();
    let mut msg = env.msg();
    msg.args(["batch", "list", "--profile", "asker"]).env("PATH", &asking.path).env("QUESTIONS", "build");
    let told = env.path().join("told");
    let follower = msg.stdout(Stdio::piped()).stderr(fs::File::create(&told).unwrap()).spawn().unwrap();
    let mut run = Value::Null;
    wait_until("it waits", || {
        run = env.ok(&["runs"])["runs"][0].clone();
        run["state"] == "waiting"
    });
    let id = run["id"].as_str().unwrap().to_string();
    let expected =
        [format!("run {id} asks whether it may use Bash: rm -r build"), text_of(&run["answerWith"])];
    let text = || fs::read_to_string(&told).unwrap();
    wait_until("the person is told", || expected.iter().all(|line| text().contains(line)));
    // Inside a harness it returns, with both.
    let ended = end(&mut in_shell("\"$@\"", "codex", &msg)).expect_code(0);
    for line in &expected {
        assert!(ended.stdout.to_lowercase().contains(&line.to_lowercase()), "{line}: {ended}");
    }
    env.ok(&["tell", &id, "--answer", "allow", "--question", "1"]);
    assert!(follower.wait_with_output().unwrap().status.success());
    assert_eq!(text().matches("asks whether").count(), 1, "it is told once");
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap().to_string()
}

#[test]
fn without_an_answer_it_is_refused_and_the_run_is_denied() {
    let asking = Asking::new("1");
    let id = asking.start("build", &[]);
    let run = wait_for_state(&asking.env, &id, "denied");
    assert_eq!(run["reason"], "nobody answered its question in time: Bash: rm -r build");
    assert_eq!(run["result"], "answers: build:denied");
    assert_eq!(asking.outcome(&id, 1)["outcome"], "unanswered");
}

#[test]
fn only_the_parent_and_people_may_answer() {
    let asking = Asking::new("3600");
    let env = &asking.env;
    env.join("Robin");
    env.join("Mallory");
    let id = asking.start("build", &["--as", "Robin"]);
    asking.asked(&id, "build");
    // A name is only what an agent says of itself.
    for agent in ["Mallory", "Robin"] {
        let mut msg = env.msg();
        msg.args(["tell", &id, "--answer", "allow", "--question", "1", "--as", agent, "--json"]);
        let ended = end(&mut in_shell("\"$@\"", "codex", &msg));
        assert_eq!(ended.expect_code(1).kind(), "not_yours");
    }
    for agent in ["Robin", "Mallory"] {
        let args = ["tell", &id, "--answer", "allow", "--question", "1", "--as", agent, "--json"];
        assert_eq!(env.run_with(&args, &[("MSG_RUN", &id)]).expect_code(1).kind(), "not_yours");
    }
    assert_eq!(shown(env, &id)["state"], "waiting");
    env.ok(&["tell", &id, "--answer", "allow"]);
    assert_eq!(wait_for_state(env, &id, "done")["result"], "answers: build:allowed");
}

#[test]
fn a_parent_in_its_harness_answers_by_number() {
    let asking = Asking::new("3600");
    let env = &asking.env;
    let mut msg = env.msg();
    msg.args(["run", "asker", "clean up", "--detach", "-q"]);
    msg.env("PATH", &asking.path).env("QUESTIONS", "build");
    let line = r#"msg join Robin -q >&2 && "$@" >&2 && id=$(basename "$MESH"/runs/??????)
        until msg runs show "$id" --json | grep -q '"waiting"'; do :; done
        msg tell "$id" --answer allow --json >&2
        msg tell "$id" --answer allow --question 1 --json"#;
    let ended = end(in_shell(line, "codex", &msg).env("MESH", env.mesh())).expect_code(0);
    assert!(ended.stderr.contains("which question of run"), "without a number: {ended}");
    assert_eq!(ended.json()["told"]["number"], 1);
    let id = ended.json()["told"]["run"].as_str().unwrap().to_string();
    assert_eq!(wait_for_state(env, &id, "done")["result"], "answers: build:allowed");
    assert_eq!(asking.outcome(&id, 1)["by"], "Robin");
}

#[test]
fn a_worker_does_not_answer_its_own_question_but_its_parent_does() {
    let asking = Asking::new("3600");
    let env = &asking.env;
    let middle = super::script(
        "middle",
        r#"PARENT=$MSG_RUN msg run asker 'clean up' --detach -q; read id < "$HOME/go"
        msg tell "$id" --answer allow --question 1"#,
    );
    put_profiles(env, &["[asker]\nharness = \"claude\"\n", &middle].concat());
    nix::unistd::mkfifo(&env.home().join("go"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    env.join("Robin");
    // Inside the worker, while its hook waits.
    let ways = r#"own=$MSG_RUN; tell="msg tell $own --answer allow --question 1 --json"
        until msg runs show "$own" --json | grep -q '"waiting"'; do :; done
        $tell --as Robin; MSG_AGENT=Robin $tell; MSG_RUN=$PARENT $tell; MSG_RUN=$PARENT $tell --as Middle
        env -u MSG_RUN $tell --as Robin; MSG_RUN=$PARENT sh -c "$tell; :"; env -u MSG_RUN setsid $tell; echo tried"#;
    let args = ["run", "middle", "x", "--detach", "--json", "--as", "Robin", "--name", "Middle"];
    let variables = [("PATH", asking.path.as_str()), ("QUESTIONS", "build"), ("BESIDE", ways)];
    let middle = env.run_with(&args, &variables).expect_code(0).json()["run"]["id"].clone();
    let mut said = String::new();
    wait_until("it has tried all", || {
        said = fs::read_to_string(env.home().join("beside")).unwrap_or_default();
        said.ends_with("tried\n")
    });
    assert_eq!(said.matches("\"not_yours\"").count(), 7, "{said}");
    let runs = env.ok(&["runs"])["runs"].clone();
    let asker = runs.as_array().unwrap().iter().find(|run| run["parentRun"] == middle).unwrap().clone();
    assert_eq!(asker["state"], "waiting");
    let id = asker["id"].as_str().unwrap();
    fs::write(env.home().join("go"), format!("{id}\n")).unwrap();
    assert_eq!(wait_for_state(env, id, "done")["result"], "answers: build:allowed");
    wait_for_state(env, middle.as_str().unwrap(), "done");
}

#[test]
fn only_the_beginning_of_what_a_parent_says_reaches_the_worker() {
    let asking = Asking::new("3600");
    let id = asking.start("build", &[]);
    asking.asked(&id, "build");
    let words = "é".repeat(1_500);
    asking.env.ok(&["tell", &id, "--answer", "deny", "--question", "1", &words]);
    wait_for_state(&asking.env, &id, "done");
    let log = asking.env.ok(&["runs", "log", &id, "--errors"])["log"].to_string();
    assert_eq!(log.matches('é').count(), 1_000, "{log}");
    // The ledger has all of it.
    assert_eq!(asking.outcome(&id, 1)["text"], words);
}

#[test]
fn a_question_that_can_not_be_told_is_shown_and_the_trouble_is_recorded() {
    let asking = Asking::new("3600");
    let env = &asking.env;
    env.join("Robin");
    // Nobody can write to its inbox.
    let inbox = env.mesh().join("inbox/Robin");
    fs::remove_dir_all(&inbox).ok();
    fs::write(&inbox, "").unwrap();
    let id = asking.start("build", &["--as", "Robin"]);
    let run = asking.asked(&id, "build");
    assert_eq!(env.ok(&["runs"])["runs"][0]["id"], run["id"], "whoever looks sees it");
    env.ok(&["tell", &id, "--answer", "allow"]);
    assert_eq!(wait_for_state(env, &id, "done")["result"], "answers: build:allowed");
    let told = format!("Robin was not told of the question of run {id}");
    wait_until("the trouble is recorded", || {
        let text = fs::read_to_string(env.mesh().join("trouble.jsonl")).unwrap_or_default();
        text.contains(&told) && text.contains("was not told of its end")
    });
    // `doctor` tells the last one: nobody could be told of the end either.
    let doctor = env.run(&["doctor"]).stdout;
    assert!(doctor.contains("was not told of its end"), "{doctor}");
}

#[test]
fn an_answer_to_another_question_is_not_taken() {
    let asking = Asking::new("3600");
    let env = &asking.env;
    let id = asking.start("build docs", &[]);
    asking.asked(&id, "build");
    assert_eq!(env.fails(1, &["tell", &id, "--answer", "allow", "--question", "2"]), "no_question");
    // Of many answers at once, one counts.
    let answers: Vec<_> = (0..8)
        .map(|number| {
            let choice = if number % 2 == 0 { "allow" } else { "deny" };
            let mut msg = env.msg();
            msg.args(["tell", &id, "--answer", choice, "--question", "1", "--json"]);
            (choice, msg.stdout(Stdio::piped()).spawn().unwrap())
        })
        .collect();
    let mut taken = Vec::new();
    for (choice, child) in answers {
        if child.wait_with_output().unwrap().status.success() {
            taken.push(choice);
        }
    }
    assert_eq!(taken.len(), 1, "{taken:?}");
    asking.asked(&id, "docs");
    assert_eq!(env.fails(1, &["tell", &id, "--answer", "allow", "--question", "1"]), "no_question");
    env.ok(&["tell", &id, "--answer", "allow"]);
    let said = if taken == ["allow"] { "allowed" } else { "denied" };
    assert_eq!(wait_for_state(env, &id, "done")["result"], format!("answers: build:{said} docs:allowed"));
}

#[test]
fn a_killed_hook_withdraws_its_question() {
    let asking = Asking::new("3600");
    let id = asking.start("build docs", &[]);
    asking.asked(&id, "build");
    kill(Pid::from_raw(asking.hook(&id)), SIGKILL).unwrap();
    asking.asked(&id, "docs");
    assert_eq!(asking.outcome(&id, 1)["outcome"], "withdrawn");
    asking.env.ok(&["tell", &id, "--answer", "allow"]);
    assert_eq!(wait_for_state(&asking.env, &id, "done")["result"], "answers: build:silent docs:allowed");
}

#[test]
fn a_killed_supervisor_leaves_no_hook_and_no_question() {
    let asking = Asking::new("3600");
    let id = asking.start("build", &[]);
    let run = asking.asked(&id, "build");
    let supervisor = run["supervisorPid"].as_i64().unwrap();
    kill(Pid::from_raw(supervisor.try_into().unwrap()), SIGKILL).unwrap();
    let run = wait_for_state(&asking.env, &id, "interrupted");
    assert_eq!(run["reason"], "its supervisor died while it was waiting");
    wait_until("nothing is left", || left_of(&id).is_empty());
    assert_eq!(asking.env.fails(1, &["tell", &id, "--answer", "allow"]), "not_running");
}

#[test]
fn a_run_that_waits_can_be_stopped() {
    let asking = Asking::new("3600");
    let id = asking.start("build", &[]);
    asking.asked(&id, "build");
    asking.env.ok(&["runs", "stop", &id, "--now"]);
    wait_for_state(&asking.env, &id, "stopped");
    assert!(left_of(&id).is_empty());
    assert_eq!(asking.outcome(&id, 1)["outcome"], "withdrawn");
}

#[test]
fn a_worker_that_does_not_answer_is_passed_over() {
    let asking = Asking::new("90");
    let env = &asking.env;
    let deeper = super::script(
        "middle",
        "cat >/dev/null; msg run asker 'clean up' --detach -q; read x < \"$HOME/go\"; echo over",
    );
    put_profiles(env, &["[asker]\nharness = \"claude\"\n", &deeper].concat());
    nix::unistd::mkfifo(&env.home().join("go"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    env.join("Robin");
    let args = ["run", "middle", "x", "--detach", "--json", "--as", "Robin", "--name", "Middle"];
    let variables = [("PATH", asking.path.as_str()), ("QUESTIONS", "build")];
    let middle = env.run_with(&args, &variables).expect_code(0).json()["run"]["id"].clone();
    let mut id = String::new();
    wait_until("it asks", || {
        let runs = env.ok(&["runs"])["runs"].clone();
        let asker = runs.as_array().unwrap().iter().find(|run| run["state"] == "waiting").cloned();
        id = asker.as_ref().and_then(|run| run["id"].as_str()).unwrap_or_default().to_string();
        asker.is_some_and(|run| run["parentRun"] == middle)
    });
    let asked = |name: &str| {
        let mail = env.ok(&["inbox", "--as", name])["messages"].clone();
        mail.as_array()
            .unwrap()
            .iter()
            .any(|message| message["text"].as_str().unwrap().contains("rm -r build"))
    };
    wait_until("its parent is asked first", || asked("Middle"));
    wait_until("whoever is above is asked", || asked("Robin"));
    env.ok(&["tell", &id, "--answer", "allow", "--as", "Robin"]);
    wait_for_state(env, &id, "done");
    fs::write(env.home().join("go"), "go\n").unwrap();
    wait_for_state(env, middle.as_str().unwrap(), "done");
}

#[test]
fn nobody_else_waits() {
    // Without a run, the harness asks its user as ever.
    let asking = Asking::new("3600");
    let mut msg = asking.env.msg();
    msg.args(["hook", "claude", "PermissionRequest"]);
    let input = br#"{"session_id":"s","tool_name":"Bash","tool_input":{"command":"ls"}}"#;
    assert_eq!(crate::support::hook_fixture::feed(&mut msg, input).stdout, "");
}

#[test]
fn a_person_at_a_terminal_answers_right_there() {
    let asking = Asking::new("3600");
    let mut terminal = Terminal::open(&asking.env);
    let run =
        |questions: &str| format!("PATH='{}' QUESTIONS={questions} msg run asker 'clean up'", asking.path);
    let ask = "Allow it? Type y or n.";
    let shown = terminal.show_and_answer(&run("build"), ask, "what?\nyes\n");
    assert!(shown.contains("rm -r build") && shown.contains("answers: build:allowed"), "{shown}");
    let shown = terminal.show_and_answer(&run("docs"), ask, "n\n");
    assert!(shown.contains("answers: docs:denied"), "{shown}");
}
