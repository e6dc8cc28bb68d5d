//! `msg crew plan`: what a planner is told, what is checked, and when something is written.

use std::fs;
use std::process::Stdio;

use nix::sys::signal::{SIGINT, SIGKILL, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};
use ravenry::sys::test_switches::CRASH_AT;
use serde_json::{Value, json};

use super::{GOOD, answer, names, plan_file, runs, set_answers, texts, told, with_planner};
use crate::runs::worktrees::git;
use crate::runs::{left_of, put_profiles, script, wait_for_state};
use crate::support::environment::{TestEnvironment, end, wait_until};
use crate::support::terminal::{Terminal, harness};

#[test]
fn a_good_plan_is_written_as_a_spec() {
    let env = with_planner(&[&answer(GOOD)]);
    let before = names(&env);
    let words = "Add a login form\nwith a \u{1b}[31mred button";
    let plan = env.ok(&["crew", "plan", words, "--yes"]);
    let path = env.work().join("add-a-login-form.plan.md");
    assert_eq!((&plan["written"], plan["file"].as_str()), (&json!(true), path.to_str()));
    assert_eq!(texts(&plan["added"]), ["TASK-01", "TASK-02", "TASK-03"]);
    assert_eq!(
        plan["tasks"][1],
        json!({"id": "TASK-02", "title": "Log in", "state": "open", "change": "added", "needs": ["TASK-01"],
               "paths": ["src/auth/**"], "verify": ["cargo test login"]})
    );
    assert_eq!(texts(&plan["warnings"]), ["`TASK-03`: no command proves that it is done"]);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("<!-- msg crew plan") && text.ends_with(&format!("\n\n{GOOD}\n")), "{text}");
    assert_eq!(plan["text"], text.as_str());
    let tasks = env.ok(&["tasks", "--spec", path.to_str().unwrap()]);
    let states: Vec<&str> =
        tasks["tasks"].as_array().unwrap().iter().map(|task| task["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["open", "blocked", "open"]);
    let [told] = &told(&env)[..] else { panic!("one attempt") };
    for part in [
        "> Add a login form\n> with a \\u{1b}[31mred button\n",
        "- [ ] TASK-01: ",
        "(needs TASK-01)",
        "paths: ",
        "verify: ",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let [run] = &runs(&env)[..] else { panic!("one run") };
    assert_eq!(
        (&run["profile"], &run["state"], texts(&plan["runs"])[0]),
        (&json!("planner"), &json!("done"), run["id"].as_str().unwrap())
    );
    let mut after = names(&env);
    after.retain(|name| !before.contains(name));
    assert_eq!(after, ["add-a-login-form.plan.md"]);
}

#[test]
fn the_source_may_be_a_file_or_standard_input() {
    let env = with_planner(&[&answer(GOOD)]);
    fs::create_dir(env.work().join("docs")).unwrap();
    fs::write(env.work().join("docs/login form.md"), "# Login\n\nPlease.\n").unwrap();
    let plan = env.ok(&["crew", "plan", "docs/login form.md", "--yes"]);
    assert_eq!(plan["file"].as_str(), env.work().join("login form.plan.md").to_str());
    assert!(told(&env)[0].contains("> # Login\n> \n> Please."), "{}", told(&env)[0]);
    let mut piped = env.msg();
    piped
        .args(["crew", "plan", "-", "--yes", "--json"])
        .stdin(fs::File::open(env.work().join("docs/login form.md")).unwrap());
    let plan = end(&mut piped).expect_code(0).json();
    assert_eq!(plan["file"].as_str(), env.work().join("login.plan.md").to_str());
    let quiet = env.run(&["crew", "plan", "x", "--out", "docs/mine.md", "--yes", "-q"]).expect_code(0).stdout;
    assert_eq!(quiet.trim_end(), env.work().join("docs/mine.md").to_str().unwrap());
    // A plan of a plan is that plan.
    let again = env.ok(&["crew", "plan", "login.plan.md", "--yes"]);
    assert_eq!(
        (&again["written"], again["file"].as_str()),
        (&json!(false), env.work().join("login.plan.md").to_str())
    );
}

#[test]
fn what_is_wrong_goes_back_to_the_planner() {
    let circle = "- [ ] TASK-01: a (needs TASK-02)\n- [ ] TASK-02: b (needs TASK-01)";
    let env = with_planner(&["I need more time.", &answer(circle), &answer(GOOD)]);
    let ended = env.run(&["crew", "plan", "Login", "--yes", "--json"]).expect_code(0);
    let plan = ended.json();
    assert_eq!((&plan["written"], texts(&plan["runs"]).len()), (&json!(true), 3));
    assert!(
        ended.stderr.contains("(2 of at most 3 times)") && ended.stderr.contains("wait for each other"),
        "{ended}"
    );
    let told = told(&env);
    assert_eq!(told.len(), 3);
    assert!(
        told[1].contains("- the answer has no fenced block with a plan\n")
            && told[1].contains("> I need more time.")
    );
    let fault = "- tasks wait for each other: `TASK-01` → `TASK-02` → `TASK-01`\n";
    assert!(told[2].contains(fault) && told[2].contains("> - [ ] TASK-02: b (needs TASK-01)"), "{}", told[2]);
    assert!(told.iter().all(|told| told.contains("> Login\n")));
    assert!(plan_file(&env, "login.plan.md").is_some());
}

#[test]
fn a_plan_that_stays_wrong_is_shown_and_not_used() {
    let overlap = "- [ ] TASK-01: a\n  paths: src/\n- [ ] TASK-02: \u{1b}[2Jb\n  paths: src/a.rs";
    let env = with_planner(&[&answer(overlap), &answer(&overlap.replace('\u{1b}', ""))]);
    let before = names(&env);
    let ended = env.run(&["crew", "plan", "Login", "--yes"]).expect_code(1);
    assert_eq!((runs(&env).len(), told(&env).len()), (4, 4));
    assert!(told(&env)[1].contains("line 3 contains a control or invisible character"), "{}", told(&env)[1]);
    for part in [
        "which is not used: 2 tasks",
        "[2Jb",
        "What is wrong with it:",
        "`TASK-01` and `TASK-02` could be worked on at the same time",
    ] {
        assert!(ended.stdout.contains(part), "{part}: {ended}");
    }
    assert!(!ended.stdout.contains('\u{1b}'), "{ended}");
    assert!(
        ended.stderr.contains("the plan has 1 fault, after the planner was asked 3 more times"),
        "{ended}"
    );
    assert_eq!(names(&env), before);
    let id = runs(&env)[0]["id"].as_str().unwrap().to_string();
    let refused = env.run(&["crew", "plan", "--run", &id, "--out", "x.md", "--yes", "--json"]).expect_code(1);
    assert_eq!((refused.kind().as_str(), &refused.json()["written"]), ("invalid_plan", &json!(false)));
    assert_eq!((runs(&env).len(), names(&env)), (4, before), "without a source nothing goes back");
}

/// The faults of a plan that some run has made.
#[track_caller]
fn faults(env: &TestEnvironment, plan: &str) -> Vec<String> {
    set_answers(env, &[&answer(plan)]);
    let id = env.ok(&["run", "planner", "x"])["run"]["id"].as_str().unwrap().to_string();
    let ended = env.run(&["crew", "plan", "--run", &id, "--out", "x.md", "--yes", "--json"]).expect_code(1);
    assert_eq!((ended.kind().as_str(), plan_file(env, "x.md")), ("invalid_plan", None));
    let faults = ended.json()["error"]["faults"].clone();
    assert_eq!(ended.json()["faults"], faults);
    texts(&faults).into_iter().map(str::to_string).collect()
}

#[test]
fn every_rule_is_checked() {
    let env = with_planner(&[]);
    let check = |plan: &str, part: &str| {
        let faults = faults(&env, plan);
        assert!(faults.len() == 1 && faults[0].contains(part), "{part}: {faults:#?}");
    };
    check("Nothing to do.", "no tasks");
    check("- [ ] T-1: a (needs T-1)", "`T-1` needs itself");
    check(
        "- [ ] T-1: a (needs T-2)\n- [ ] T-2: b (needs T-3)\n- [ ] T-3: c (needs T-1)",
        "wait for each other",
    );
    check("- [ ] T-1: a (needs T-9)", "`T-9`, which is not a task of the plan");
    check("- [ ] T-1: a\n- [ ] T-1: b", "more than one task");
    check("- [ ] T-1: a\n  paths: ../x", "leaves the repository");
    check("- [ ] T-1: a\n  paths: /etc/passwd", "leaves the repository");
    check("- [ ] T-1: a\n  paths: src/**\n- [ ] T-2: b\n  paths: src/*/x.rs", "at the same time");
    check("- [x] T-1: a", "nobody has done it");
    check("- [ ] T-1: a\n\nMore text.", "neither a task nor indented");
}

#[test]
fn without_a_terminal_it_is_shown_and_the_line_to_type_writes_it() {
    let env = with_planner(&[&answer(GOOD)]);
    let before = names(&env);
    let ended = env.run(&["crew", "plan", "Add it, it's \"new\"", "--json"]).expect_code(1);
    let answer = ended.json();
    assert_eq!(
        (ended.kind().as_str(), &answer["written"], answer["tasks"].as_array().unwrap().len()),
        ("not_confirmed", &json!(false), 3)
    );
    assert_eq!(names(&env), before);
    let hint = answer["error"]["hints"][0].as_str().unwrap().to_string();
    let line = hint.strip_prefix("to write it: msg ").unwrap();
    let msg = env!("CARGO_BIN_EXE_msg");
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &format!("{msg} {line}")]).current_dir(env.work()).env_clear();
    shell.envs(env.msg().get_envs().filter_map(|(name, value)| Some((name, value?))));
    end(&mut shell).expect_code(0);
    assert!(plan_file(&env, "add-it-it-s-new.plan.md").unwrap().ends_with(&format!("{GOOD}\n")));
    assert_eq!(runs(&env).len(), 1, "nothing was planned again");
}

#[test]
fn a_person_at_a_terminal_is_asked() {
    let env = with_planner(&[&answer(GOOD)]);
    let mut terminal = Terminal::open(&env);
    let shown = terminal.show_and_answer("msg crew plan Login --color never", "Type y or n.", "n\n");
    for part in
        ["TASK-02", "needs   TASK-01", "paths   src/auth/**", "verify  cargo test login", "no command proves"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(
        shown.contains("the plan was not written") && plan_file(&env, "login.plan.md").is_none(),
        "{shown}"
    );
    let shown = terminal.show_and_answer("msg crew plan Login --color never", "Type y or n.", "y\n");
    assert!(shown.contains("is written: 3 tasks (3 added)"), "{shown}");
    assert!(plan_file(&env, "login.plan.md").is_some());
    // A file of somebody else is replaced only if the person says so.
    fs::write(env.work().join("notes.md"), "mine\n").unwrap();
    let shown = terminal.show_and_answer("msg crew plan Login --out notes.md", "Replace it?", "n\n");
    assert!(shown.contains("did not write it"), "{shown}");
    assert_eq!(plan_file(&env, "notes.md").as_deref(), Some("mine\n"));
    let shown = terminal.show_and_answer("msg crew plan Login --out notes.md --yes", "error", "");
    assert!(shown.contains("did not write it"), "{shown}");
    assert_eq!((plan_file(&env, "notes.md").as_deref(), runs(&env).len()), (Some("mine\n"), 2));
}

/// A planner that waits until it is told to go on.
fn with_slow_planner() -> TestEnvironment {
    let env = with_planner(&[&answer(GOOD)]);
    put_profiles(
        &env,
        &script("planner", "read go < \"$HOME/go\"; cat > /dev/null; cat \"$HOME/answers/0\""),
    );
    mkfifo(&env.home().join("go"), Mode::S_IRWXU).unwrap();
    env
}

fn running(env: &TestEnvironment) -> String {
    let mut id = String::new();
    wait_until("the planner works", || {
        let list = runs(env);
        id = list.first().map_or_else(String::new, |run| run["id"].as_str().unwrap().to_string());
        list.first().is_some_and(|run| run["state"] == "running")
    });
    id
}

#[test]
fn killed_while_the_planner_works_it_leaves_nothing_half_written() {
    let env = with_slow_planner();
    let before = names(&env);
    let mut child = env
        .msg()
        .args(["crew", "plan", "Login", "--yes"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let id = running(&env);
    kill(Pid::from_raw(child.id().cast_signed()), SIGKILL).unwrap();
    child.wait().unwrap();
    assert_eq!(names(&env), before);
    fs::write(env.home().join("go"), "go\n").unwrap();
    wait_for_state(&env, &id, "done");
    assert_eq!(names(&env), before, "nobody is there who would write it");
    let plan = env.ok(&["crew", "plan", "Login", "--run", &id, "--yes"]);
    assert_eq!((&plan["written"], runs(&env).len()), (&json!(true), 1));
}

#[test]
fn killed_while_it_writes_the_old_plan_or_the_new_one_is_there() {
    let env = with_planner(&[&answer(GOOD)]);
    let old = env.ok(&["crew", "plan", "Login", "--yes"])["text"].as_str().unwrap().to_string();
    set_answers(&env, &[&answer(&GOOD.replace("As hashes", "With salt"))]);
    let id = env.ok(&["run", "planner", "x"])["run"]["id"].as_str().unwrap().to_string();
    let args = ["crew", "plan", "--run", &id, "--out", "login.plan.md", "--yes"];
    let mut deaths = 0;
    for step in 1.. {
        let ended = env.run_with(&args, &[(CRASH_AT, &step.to_string())]);
        let text = plan_file(&env, "login.plan.md").unwrap();
        assert!(text == old || text == old.replace("As hashes", "With salt"), "{step}: {text}");
        if ended.signal.is_none() {
            ended.expect_code(0);
            break;
        }
        deaths += 1;
    }
    assert!(deaths > 2, "{deaths}");
    assert!(plan_file(&env, "login.plan.md").unwrap().contains("With salt"));
    let left: Vec<String> = names(&env).into_iter().filter(|name| name.ends_with(".msg")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn ctrl_c_stops_the_planner_and_leaves_nothing_behind() {
    let env = with_slow_planner();
    let before = names(&env);
    let child =
        env.msg().args(["crew", "plan", "Login", "--yes", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
    let id = running(&env);
    kill(Pid::from_raw(child.id().cast_signed()), SIGINT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert_eq!(wait_for_state(&env, &id, "stopped")["state"], "stopped");
    assert!(left_of(&id).is_empty());
    assert_eq!((names(&env), runs(&env).len()), (before, 1));
}

#[test]
fn a_planner_that_fails_or_asks_is_told_as_such() {
    let env = with_planner(&["Which login do you mean?"]);
    let asks = env.run(&["crew", "plan", "Login", "--yes"]).expect_code(1);
    assert!(asks.stdout.contains("Which login do you mean?"), "{asks}");
    assert!(asks.stderr.contains("answer the question in the text"), "{asks}");
    // A question after a plan is one for the person who reads it.
    set_answers(&env, &[&format!("{}Is that what you want?", answer(GOOD))]);
    assert_eq!(env.ok(&["crew", "plan", "Login", "--yes"])["written"], true);
    put_profiles(&env, &script("planner", "cat >/dev/null; echo no; exit 3"));
    assert_eq!(env.fails(1, &["crew", "plan", "Other", "--yes"]), "run_failed");
}

#[test]
fn bad_input_is_told_before_anything_is_started() {
    let env = with_planner(&[&answer(GOOD)]);
    let fails = |code: i32, args: &[&str], kind: &str, part: &str| {
        let ended = env.run(&[&["crew", "plan"], args, &["--yes", "--json"]].concat()).expect_code(code);
        let message = ended.json()["error"].to_string();
        assert!(ended.kind() == kind && message.contains(part), "{kind}, {part}: {message}");
    };
    fails(2, &[" "], "empty", "nothing to plan");
    fs::write(env.work().join("empty.md"), "\n").unwrap();
    fails(2, &["empty.md"], "empty", "nothing to plan");
    fails(2, &["docs/none.md"], "invalid_value", "no such file");
    fails(2, &["nowhere.txt"], "invalid_value", "no such file");
    fails(2, &["."], "invalid_value", "is a directory");
    fails(2, &["Login", "--out", "."], "invalid_value", "is a directory");
    fails(2, &["Login", "--out", "no/dir/x.md"], "invalid_value", "no directory");
    fails(1, &["Login", "--run", "zzzzzz"], "unknown_run", "no run");
    fails(2, &["--run", "zzzzzz"], "usage", "--out FILE");
    fails(2, &[], "usage", "SOURCE");
    fails(1, &["Login", "--profile", "nobody"], "gate", "no profile or harness");
    fs::write(env.work().join("b.plan.md"), "mine\n").unwrap();
    fails(1, &["b.plan.md"], "not_confirmed", "did not write it");
    fs::write(env.work().join("long.md"), "x\n".repeat(20_000)).unwrap();
    fails(2, &["long.md"], "too_large", "is the most");
    assert!(env.run(&["runs", "--all", "--json"]).json()["runs"].as_array().unwrap().is_empty());
    put_profiles(&env, &script("writer", "cat"));
    fails(1, &["Login", "--profile", "writer"], "gate", "readonly = true");
    put_profiles(&env, "");
    let nobody =
        env.run_with(&["crew", "plan", "Login", "--yes", "--json"], &[("PATH", "/nowhere")]).expect_code(1);
    assert!(
        nobody.json()["error"]["hints"].to_string().contains("install one, or give the profile a `command`"),
        "{nobody}"
    );
    let elsewhere = TestEnvironment::new();
    assert_eq!(elsewhere.fails(2, &["crew", "plan", "Login", "--yes"]), "no_repository");
    git(&elsewhere.work(), &["init", "-q"]);
    let ended = elsewhere.run(&["crew", "plan", "Login", "--yes", "--json"]).expect_code(2);
    assert!(ended.kind() == "no_repository" && ended.stdout.contains("no commits"), "{ended}");
}

#[test]
fn a_dry_run_shows_what_the_planner_would_be_told() {
    let env = with_planner(&[&answer(GOOD)]);
    let answer = env.ok(&["crew", "plan", "Login", "--dry-run"]);
    assert!(answer["told"].as_str().unwrap().contains("> Login\n"), "{answer:#}");
    assert_eq!(answer["command"][0].as_str(), env.home().join("planner").to_str());
    assert_eq!(answer["file"].as_str(), env.work().join("login.plan.md").to_str());
    let text = env.run(&["crew", "plan", "Login", "--dry-run"]).expect_code(0).stdout;
    assert!(
        text.contains("What the planner would be told:") && text.contains("Nothing was started."),
        "{text}"
    );
    assert!(runs(&env).is_empty() && plan_file(&env, "login.plan.md").is_none());
}

#[test]
fn an_agent_may_plan_in_its_own_work_tree_as_far_as_the_mode_allows() {
    let env = with_planner(&[&answer(GOOD)]);
    let mut agent = harness(&env, "claude");
    let plan = agent.msg("msg crew plan Login --yes");
    assert_eq!(plan["written"], true);
    let outside = env.path().join("x.md");
    let refused =
        agent.run(&format!("msg crew plan Login --yes --json --out {}", outside.display())).expect_code(1);
    assert_eq!((refused.kind().as_str(), outside.exists()), ("in_harness", false));
    fs::write(env.path().join("secret.txt"), "secret").unwrap();
    let refused = agent.run("msg crew plan ../secret.txt --yes --json").expect_code(1);
    assert_eq!(refused.kind(), "in_harness");
    let shown = agent.run("msg crew plan Other --json").expect_code(1);
    assert_eq!((shown.kind().as_str(), plan_file(&env, "other.plan.md")), ("not_confirmed", None));
    env.ok(&["mode", "review"]);
    let refused = agent.run("msg crew plan Third --yes --json").expect_code(1);
    assert_eq!((refused.kind().as_str(), &refused.json()["error"]["gate"]), ("gate", &json!("mode")));
    assert_eq!(env.ok(&["crew", "plan", "Third", "--yes"])["written"], true, "a person may");
}

#[test]
fn what_another_agent_has_reserved_is_not_written() {
    let env = with_planner(&[&answer(GOOD)]);
    env.join("Alice");
    env.ok(&["reserve", "login.plan.md", "--as", "Alice"]);
    assert_eq!(env.fails(1, &["crew", "plan", "Login", "--yes"]), "reserved");
    assert!(runs(&env).is_empty());
    assert_eq!(env.ok(&["crew", "plan", "Login", "--yes", "--as", "Alice"])["written"], true);
}

#[test]
fn inside_a_harness_a_slow_planner_goes_on_and_its_plan_is_taken_later() {
    let env = with_slow_planner();
    env.configure(r#"{"backOff": 0, "followSeconds": 0}"#);
    let mut agent = harness(&env, "claude");
    let answer = agent.msg("msg crew plan Login --yes");
    assert_eq!((&answer["written"], &answer["run"]["profile"]), (&json!(false), &json!("planner")));
    let id = answer["run"]["id"].as_str().unwrap();
    let next = answer["next"].as_str().unwrap().to_string();
    assert_eq!(next, format!("msg crew plan Login --run {id} --out login.plan.md --yes"));
    running(&env);
    fs::write(env.home().join("go"), "go\n").unwrap();
    wait_for_state(&env, id, "done");
    assert_eq!(agent.msg(&next)["written"], true);
    let list: Vec<Value> = runs(&env);
    assert_eq!(list.len(), 1);
}

#[test]
fn a_repository_that_is_untidy_stays_as_it_is() {
    let env = with_planner(&[&answer(GOOD)]);
    crate::runs::worktrees::make_untidy(&env);
    let before = crate::runs::worktrees::person(&env);
    env.ok(&["crew", "plan", "Login", "--yes"]);
    let mut after = crate::runs::worktrees::person(&env);
    assert!(after.remove(std::path::Path::new("login.plan.md")).is_some());
    assert_eq!(after, before);
}
