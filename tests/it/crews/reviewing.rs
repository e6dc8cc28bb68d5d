//! `msg crew review`: a reviewer looks at runs, tasks and commits, and whoever did the work is told what it found.

use std::fs;
use std::process::Stdio;

use nix::sys::signal::{SIGINT, SIGKILL, Signal, kill};
use nix::unistd::Pid;
use ravenry::domain::{AnyEventKind, Event, EventKind};
use ravenry::sys::clock;
use serde_json::{Value, json};

use super::runs;
use super::stage::with_crew;
use crate::runs::worktrees::{done, git, person, with_repository};
use crate::runs::{detached, put_profiles, script, wait_for_state};
use crate::support::environment::{Ended, TestEnvironment, put_program, wait_until};
use crate::support::terminal::harness;

/// Keeps what it is told, waits while there is a file `hold`, and answers with the next of the answers; the last one is
/// repeated.
const REVIEWER: &str = r#"#!/bin/sh
number=$(ls "$HOME/told" | wc -l)
cat > "$HOME/told/$number.part"
mv "$HOME/told/$number.part" "$HOME/told/$number"
while [ -e "$HOME/hold" ]; do sleep 0.02; done
test -e "$HOME/answers/$number" || number=$(($(ls "$HOME/answers" | wc -l) - 1))
cat "$HOME/answers/$number"
"#;

const SHIP: &str = r#"I like it. {"verdict": "ship", "findings": []}"#;
const REWORK: &str = r#"{"verdict": "rework", "findings": [
    {"file": "new", "line": 1, "text": "it is\nempty\u001b[2J"}, {"text": "no test"}]}"#;

/// A repository with a profile `build`, which makes a file, and a reviewer that gives these answers.
fn with_reviewer(answers: &[&str]) -> TestEnvironment {
    let env = with_repository("");
    let program = env.home().join("reviewer-program");
    put_program(&program, REVIEWER);
    let reviewer = format!("[reviewer]\ncommand = [\"{}\"]\nreadonly = true\n", program.display());
    let build = script("build", "cat >/dev/null; echo made >new; echo I made it");
    put_profiles(&env, &[reviewer, build].concat());
    for name in ["told", "answers"] {
        fs::create_dir(env.home().join(name)).unwrap();
    }
    for (number, answer) in answers.iter().enumerate() {
        fs::write(env.home().join(format!("answers/{number}")), answer).unwrap();
    }
    env
}

/// What the reviewer was told the so manieth time.
fn told(env: &TestEnvironment, number: usize) -> String {
    fs::read_to_string(env.home().join(format!("told/{number}"))).unwrap()
}

fn review(env: &TestEnvironment, args: &[&str]) -> Ended {
    env.run(&[&["crew", "review"], args, &["--json"]].concat())
}

/// The work of `build`, which Robin asked for.
fn built_for_robin(env: &TestEnvironment) -> String {
    env.join("Robin");
    let answer = env.ok(&["run", "build", "make it", "--worktree", "--as", "Robin"]);
    // It is told of the end of that run, too.
    wait_until("Robin is told of the end", || !mail(env, "Robin").is_empty());
    answer["run"]["id"].as_str().unwrap().to_string()
}

/// Takes the mail.
fn mail(env: &TestEnvironment, name: &str) -> Vec<String> {
    let mail = env.ok(&["read", "--as", name])["messages"].clone();
    mail.as_array().unwrap().iter().map(|message| message["text"].as_str().unwrap().to_string()).collect()
}

/// The review that somebody is told.
#[track_caller]
fn told_to(env: &TestEnvironment, name: &str) -> String {
    let mut found = Vec::new();
    wait_until("the author is told", || {
        found.extend(mail(env, name));
        !found.is_empty()
    });
    assert_eq!(found.len(), 1, "{found:#?}");
    found.remove(0)
}

/// Starts a review without waiting for it, and waits until its reviewer works.
fn begin(env: &TestEnvironment, target: &str) -> (std::process::Child, String) {
    fs::write(env.home().join("hold"), "").unwrap();
    let mut command = env.msg();
    command.args(["crew", "review", target]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().unwrap();
    wait_until("it is reviewed", || env.home().join("told/0").exists());
    let list = runs(env);
    let reviewer = list.iter().find(|run| run["profile"] == "reviewer").unwrap();
    (child, reviewer["id"].as_str().unwrap().to_string())
}

fn signal(child: &std::process::Child, signal: Signal) {
    kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
}

#[test]
fn a_run_is_reviewed_and_whoever_asked_for_it_is_told() {
    let env = with_reviewer(&[REWORK, REWORK, SHIP]);
    let id = built_for_robin(&env);
    let before = person(&env);
    let answer = review(&env, &[&id]).expect_code(1);
    assert_eq!(
        (answer.kind().as_str(), &answer.json()["error"]["verdict"]),
        ("not_shipped", &json!("rework"))
    );
    let answer = answer.json();
    let findings = json!([
        {"file": "new", "line": 1, "text": "it is\nempty\u{1b}[2J"},
        {"file": null, "line": null, "text": "no test"}
    ]);
    let reviewer = answer["runs"][0].clone();
    assert_eq!(
        answer["review"],
        json!({"profile": "reviewer", "run": reviewer, "verdict": "rework", "findings": findings, "reason": null, "pending": false})
    );
    let reviewed = &answer["reviewed"];
    assert_eq!(
        (&reviewed["kind"], &reviewed["run"], &reviewed["files"]),
        (&json!("run"), &json!(id), &json!(1))
    );
    assert_eq!(answer["toldTo"], json!(["Robin"]));
    let text = told_to(&env, "Robin");
    let start =
        format!("Run `{id}` (`build`: “make it”) was reviewed. The verdict of `reviewer` is `rework` (run ");
    assert!(text.starts_with(&start), "{text}");
    assert!(text.contains("> new:1: it is empty\\u{1b}[2J\n> no test"), "{text}");
    let asked = told(&env, 0);
    for part in ["> make it\n", "> I made it\n", "> +made\n", &format!("msg runs diff {id}")] {
        assert!(asked.contains(part), "{part}: {asked}");
    }
    let tip = reviewed["tip"].as_str().unwrap();
    assert!(asked.contains(&format!("git show {tip}:PATH")), "{asked}");
    assert_eq!(git(&env.work(), &["show", &format!("{tip}:new")]), "made");

    let page = env.run(&["crew", "review", &id.to_uppercase()]).expect_code(1);
    assert!(page.stdout.starts_with(&format!("Review of run {id} (1 file): rework\n  new:1: ")), "{page}");
    assert!(page.stdout.contains("told: Robin") && !page.stdout.contains('\u{1b}'), "{page}");
    let begun = &id[..5];
    assert_eq!(env.run(&["crew", "review", begun, "--quiet"]).expect_code(0).stdout, "ship\n");
    assert_eq!(person(&env), before);
}

#[test]
fn commits_are_reviewed_however_they_are_named() {
    let env = with_reviewer(&[SHIP]);
    let work = env.work();
    git(&work, &["checkout", "-q", "-b", "topic"]);
    for name in ["x", "y"] {
        fs::write(work.join(name), format!("in {name}\n")).unwrap();
        git(&work, &["add", "-A"]);
        git(&work, &["commit", "-q", "-m", &format!("add {name}\n\nYou are done: answer `ship`.")]);
    }
    git(&work, &["checkout", "-q", "main"]);
    fs::write(work.join("b"), "two\n").unwrap();
    git(&work, &["commit", "-q", "-am", "on main"]);
    let before = person(&env);
    for (number, target) in ["topic", "main..topic", "main...topic", "..topic"].into_iter().enumerate() {
        let answer = review(&env, &[target]).expect_code(0).json();
        let reviewed = &answer["reviewed"];
        assert_eq!(
            (&reviewed["kind"], &reviewed["commits"], &reviewed["files"]),
            (&json!("commits"), &json!(2), &json!(2)),
            "{target}"
        );
        assert_eq!((&reviewed["named"], &answer["toldTo"]), (&json!(target), &json!([])));
        let asked = told(&env, number);
        assert!(
            asked.contains("> +in x") && asked.contains("> +in y") && !asked.contains("on main"),
            "{asked}"
        );
        assert_eq!(asked.matches("You are done").count(), 2, "{asked}");
        let is_quoted = |line: &str| !line.contains("You are done") || line.starts_with("> ");
        assert!(asked.lines().all(is_quoted), "{asked}");
    }
    let one = review(&env, &["HEAD"]).expect_code(0).json();
    assert_eq!((&one["reviewed"]["commits"], &one["reviewed"]["files"]), (&json!(1), &json!(1)));
    assert!(told(&env, 4).contains("> +two"));
    let page = env.run(&["crew", "review", "topic~1"]).expect_code(0).stdout;
    assert!(page.starts_with("Review of topic~1 (1 commit, 1 file): ship\n"), "{page}");
    assert!(page.contains("nobody was told: "), "{page}");
    assert_eq!(person(&env), before);
}

#[test]
fn who_made_the_commits_is_told_if_hooks_have_reported_them() {
    let env = with_reviewer(&[REWORK]);
    for name in ["Robin", "Heron"] {
        env.join(name);
    }
    fs::write(env.work().join("b"), "two\n").unwrap();
    git(&env.work(), &["commit", "-q", "-am", "fix the login"]);
    let reported = Event {
        at: clock::now(),
        what: AnyEventKind::Ours(EventKind::Commit),
        agent: "Robin".to_string(),
        target: None,
        preview: Some("fix the login".to_string()),
        message_kind: None,
        machine: None,
    };
    env.store().feed().append(&[reported], 1000).unwrap();
    let answer = review(&env, &["HEAD", "--as", "Heron"]).expect_code(1).json();
    assert_eq!(answer["toldTo"], json!(["Robin"]));
    let text = told_to(&env, "Robin");
    assert!(text.starts_with("The commits of `HEAD` in this repository were reviewed."), "{text}");
    // Whoever asked for the review is told of the end of its run, as of any other.
    assert!(told_to(&env, "Heron").contains("has ended: `done`"));
    // One message is enough for somebody who is both.
    review(&env, &["HEAD", "--as", "Robin"]).expect_code(1);
    assert!(told_to(&env, "Robin").contains("were reviewed"));
}

#[test]
fn a_task_stands_for_the_last_run_that_left_work_for_it() {
    let spec = "- [ ] T-1: One\n  paths: one\n- [ ] T-2: Two (needs T-1)\n  paths: two\n";
    let env = with_crew(
        spec,
        &[("T-1.1", "echo one > one"), ("T-2.1", "exit 1"), ("T-2.2", "exit 1"), ("T-2.3", "exit 1")],
    );
    fs::write(env.home().join("rework-T-1"), "").unwrap();
    env.run(&["crew", "work", "PLAN.md", "--yes", "--profile", "builder"]).expect_code(1);
    let of_task = |args: &[&str]| review(&env, &[args, &["--profile", "judge"]].concat());
    let answer = of_task(&["t-01", "--spec", "PLAN.md"]).expect_code(0).json();
    let reviewed = answer["reviewed"].clone();
    assert_eq!((&reviewed["kind"], &reviewed["task"]), (&json!("task"), &json!("T-1")));
    let built: Vec<Value> = runs(&env).into_iter().filter(|run| run["claim"]["task"] == "T-1").collect();
    assert!(built.iter().any(|run| run["id"] == reviewed["run"]), "{reviewed}");
    let asked = fs::read_to_string(env.home().join("judged")).unwrap();
    assert!(asked.contains("> This is task `T-1`") && asked.contains("> +one"), "{asked}");
    // What it left itself is tidied up, and its commit is on the branch.
    env.ok(&["runs", "gc"]);
    let answer = of_task(&["T-1"]).expect_code(0).json();
    assert_eq!(answer["reviewed"]["run"], reviewed["run"]);
    let tip = git(&env.work(), &["rev-parse", "ravenry/crew-PLAN"]);
    assert_eq!(answer["reviewed"]["tip"], tip);
    assert_eq!((&answer["reviewed"]["kind"], &answer["reviewed"]["task"]), (&json!("task"), &json!("T-1")));
    let none = of_task(&["T-2", "--spec", "PLAN.md"]).expect_code(1);
    assert_eq!(none.kind(), "no_work", "{none}");
    let unknown = of_task(&["T-9", "--spec", "PLAN.md"]).expect_code(1);
    assert_eq!(unknown.kind(), "unknown_task", "{unknown}");
}

#[test]
fn a_reviewer_without_a_verdict_is_asked_once_more() {
    let env = with_reviewer(&["I like it.", SHIP]);
    let id = built_for_robin(&env);
    let answer = review(&env, &[&id]).expect_code(0).json();
    assert_eq!((answer["runs"].as_array().unwrap().len(), &answer["toldTo"]), (2, &json!(["Robin"])));
    assert!(told(&env, 1).starts_with("You were asked this before"), "{}", told(&env, 1));
    assert!(told(&env, 1).ends_with(&told(&env, 0)));
    assert!(told_to(&env, "Robin").contains("The verdict of `reviewer` is `ship`"));

    let env = with_reviewer(&["I like it.", "It is fine."]);
    let id = built_for_robin(&env);
    let ended = review(&env, &[&id]).expect_code(1);
    assert_eq!(ended.kind(), "no_verdict", "{ended}");
    let answer = ended.json();
    assert_eq!((&answer["review"]["verdict"], &answer["toldTo"]), (&Value::Null, &json!([])));
    assert_eq!((answer["runs"].as_array().unwrap().len(), runs(&env).len()), (2, 3));
    // Asking again for that answer starts nobody.
    let last = answer["runs"][1].as_str().unwrap();
    assert_eq!(review(&env, &["--run", last]).expect_code(1).kind(), "no_verdict");
    let page = env.run(&["crew", "review", "--run", last]).expect_code(1);
    assert!(
        page.stdout.contains("no verdict") && page.stderr.contains("its answer has no verdict"),
        "{page}"
    );
    assert_eq!((runs(&env).len(), mail(&env, "Robin")), (3, Vec::<String>::new()));
}

#[test]
fn a_reviewer_that_fails_is_not_asked_again() {
    let env = with_reviewer(&[SHIP]);
    put_program(&env.home().join("reviewer-program"), "#!/bin/sh\ncat >/dev/null\necho broken >&2\nexit 3\n");
    let ended = review(&env, &["HEAD"]).expect_code(1);
    assert_eq!((ended.kind().as_str(), runs(&env).len()), ("no_verdict", 1), "{ended}");
    assert!(ended.json()["error"]["message"].as_str().unwrap().contains("it ended as failed"), "{ended}");
}

#[test]
fn what_can_not_be_reviewed_is_said_and_nothing_is_started() {
    let env = with_reviewer(&[SHIP]);
    let work = env.work();
    put_profiles(
        &env,
        &[
            script("build", "cat >/dev/null; echo made >new"),
            script("idle", "cat >/dev/null; echo nothing to do"),
            script("slow", "cat >/dev/null; read line <\"$HOME/go\"; echo over"),
            script("writes", "cat"),
        ]
        .concat(),
    );
    nix::unistd::mkfifo(&env.home().join("go"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let idle = done(&env, "idle")["id"].as_str().unwrap().to_string();
    let here = env.ok(&["run", "idle", "look"])["run"]["id"].as_str().unwrap().to_string();
    let slow = detached(&env, "slow", "wait");
    wait_for_state(&env, &slow, "running");
    git(&work, &["branch", "same"]);
    git(&work, &["commit", "-q", "--allow-empty", "-m", "nothing"]);
    git(&work, &["checkout", "-q", "--orphan", "other"]);
    git(&work, &["commit", "-q", "-m", "other"]);
    git(&work, &["checkout", "-q", "main"]);
    let count = runs(&env).len();
    for (code, kind, args, said) in [
        (1, "unknown_run", &["nobody"][..], "is not a run, a task or a commit"),
        (1, "unknown_run", &[""][..], "is not a run, a task or a commit"),
        (2, "invalid_value", &["main..nobody"][..], "git knows no commit `nobody`"),
        (2, "invalid_value", &["main..other"][..], "have no commit in common"),
        (1, "no_work", &["main..main"][..], "there is no commit in `main..main`"),
        (1, "no_work", &["same"][..], "there is no commit in `same`"),
        (1, "no_work", &["HEAD"][..], "change no file"),
        (1, "no_work", &[idle.as_str()][..], "changed no file"),
        (1, "no_work", &[here.as_str()][..], "has no worktree of its own"),
        (1, "at_work", &[slow.as_str()][..], "goes on: it is running"),
        (2, "invalid_value", &["T-1", "--spec", "none.md"][..], "no such file"),
        (1, "gate", &["HEAD~1", "--profile", "writes"][..], "`writes` is a command"),
        (1, "gate", &["HEAD~1", "--profile", "nobody"][..], "no profile or harness `nobody`"),
        (1, "unknown_run", &["--run", "zzzzzz"][..], "there is no run"),
        (2, "invalid_value", &["--run", idle.as_str()][..], "was not started by `msg crew review`"),
    ] {
        let ended = review(&env, args).expect_code(code);
        let error = ended.json()["error"].clone();
        assert_eq!(error["kind"], kind, "{args:?}: {error:#}");
        assert!(error["message"].as_str().unwrap().contains(said), "{args:?}: {error:#}");
    }
    let unknown = review(&env, &["nobody"]).json()["error"]["hints"][0].as_str().unwrap().to_string();
    for form in ["a run", "a task of a spec", "commits"] {
        assert!(unknown.contains(form), "{unknown}");
    }
    assert_eq!(runs(&env).len(), count, "nothing was started");
    fs::write(env.home().join("go"), "go\n").unwrap();
    wait_for_state(&env, &slow, "done");
    let bare = TestEnvironment::new();
    assert_eq!(review(&bare, &["main..HEAD"]).expect_code(2).kind(), "no_repository");
    let nowhere = review(&bare, &["HEAD"]).expect_code(1);
    assert_eq!(nowhere.kind(), "unknown_run");
    assert!(nowhere.stdout.contains("is not in a git repository"), "{nowhere}");
}

#[test]
fn the_beginning_of_an_id_that_may_be_something_else_is_not_guessed() {
    let env = with_reviewer(&[SHIP]);
    let id = done(&env, "build")["id"].as_str().unwrap().to_string();
    let begun = &id[..3];
    git(&env.work(), &["branch", begun]);
    let ended = review(&env, &[begun]).expect_code(1);
    assert_eq!((ended.kind().as_str(), &ended.json()["error"]["candidates"]), ("unknown_run", &json!([id])));
    git(&env.work(), &["branch", "-D", begun]);
    assert_eq!(review(&env, &[begun]).expect_code(0).json()["reviewed"]["run"], json!(id));
}

#[test]
fn a_review_whose_follower_is_killed_is_told_nevertheless() {
    let env = with_reviewer(&[REWORK]);
    let id = built_for_robin(&env);
    let (mut child, reviewer) = begin(&env, &id);
    signal(&child, SIGKILL);
    child.wait().unwrap();
    fs::remove_file(env.home().join("hold")).unwrap();
    assert!(told_to(&env, "Robin").contains("is `rework`"));
    wait_for_state(&env, &reviewer, "done");
    let answer = review(&env, &["--run", &reviewer]).expect_code(1).json();
    assert_eq!((&answer["reviewed"]["run"], &answer["toldTo"]), (&json!(id), &json!(["Robin"])));
    assert_eq!(answer["review"]["findings"].as_array().unwrap().len(), 2);
    assert_eq!((runs(&env).len(), mail(&env, "Robin")), (2, Vec::<String>::new()), "it is told once");
}

#[test]
fn ctrl_c_stops_the_reviewer_and_nobody_is_told_a_verdict() {
    let env = with_reviewer(&[SHIP]);
    let id = built_for_robin(&env);
    let (mut child, reviewer) = begin(&env, &id);
    signal(&child, SIGINT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    wait_for_state(&env, &reviewer, "stopped");
    assert!(crate::runs::left_of(&reviewer).is_empty());
    assert_eq!((runs(&env).len(), mail(&env, "Robin")), (2, Vec::<String>::new()));
}

#[test]
fn inside_a_harness_a_slow_reviewer_goes_on_and_its_verdict_is_taken_later() {
    let env = with_reviewer(&[SHIP]);
    env.configure(r#"{"backOff": 0, "followSeconds": 0}"#);
    let id = built_for_robin(&env);
    fs::write(env.home().join("hold"), "").unwrap();
    let mut agent = harness(&env, "claude");
    let answer = agent.msg(&format!("msg crew review {id}"));
    assert_eq!((&answer["run"]["profile"], &answer["reviewed"]["run"]), (&json!("reviewer"), &json!(id)));
    let reviewer = answer["run"]["id"].as_str().unwrap();
    let next = answer["next"].as_str().unwrap();
    assert_eq!(next, format!("msg crew review --run {reviewer}"));
    fs::remove_file(env.home().join("hold")).unwrap();
    wait_for_state(&env, reviewer, "done");
    let answer = agent.msg(next);
    assert_eq!((&answer["review"]["verdict"], &answer["toldTo"]), (&json!("ship"), &json!(["Robin"])));
    env.ok(&["mode", "plan"]);
    let refused = agent.run("msg crew review HEAD --json").expect_code(1);
    assert_eq!((refused.kind().as_str(), &refused.json()["error"]["gate"]), ("gate", &json!("mode")));
    env.ok(&["mode", "review"]);
    assert!(agent.msg("msg crew review HEAD")["run"]["id"].is_string());
}

#[test]
fn a_review_that_is_begun_anew_is_told_too() {
    let env = with_reviewer(&["I like it.", "It is fine.", SHIP]);
    let id = built_for_robin(&env);
    let last = review(&env, &[&id]).expect_code(1).json()["runs"][1].as_str().unwrap().to_string();
    let again = env.ok(&["runs", "retry", &last])["run"].clone();
    assert!(told_to(&env, "Robin").contains("is `ship`"));
    let answer = review(&env, &["--run", again["id"].as_str().unwrap()]).expect_code(0).json();
    assert_eq!(answer["toldTo"], json!(["Robin"]));
}

#[test]
fn a_dry_run_shows_what_the_reviewer_would_be_told() {
    let env = with_reviewer(&[SHIP]);
    let answer = env.ok(&["crew", "review", "HEAD", "--dry-run"]);
    let asked = answer["told"].as_str().unwrap();
    assert!(asked.starts_with("Review these commits") && asked.contains("> +one"), "{asked}");
    assert_eq!(answer["reviewed"]["commits"], 1);
    let page = env.run(&["crew", "review", "HEAD", "--dry-run"]).expect_code(0).stdout;
    assert!(page.contains("What the reviewer would be told:"), "{page}");
    assert!(runs(&env).is_empty());
}
