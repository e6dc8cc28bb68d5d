//! `msg crew work`: tasks become commits of a branch, whatever becomes of their workers.

mod telling;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::signal::{SIGKILL, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::runs::put_profiles;
use crate::runs::worktrees::{directories, git, person, with_repository};
use crate::support::chance::Chance;
use crate::support::environment::{TestEnvironment, end, put_program, wait_until};

/// Does what a file with the name of its task says. The file is gone at the second attempt, unless another follows it.
const BUILDER: &str = r#"#!/bin/sh
brief=$(cat)
id=$(printf '%s\n' "$brief" | sed -n 's/^This is task `\([^`]*\)`.*/\1/p' | head -n 1)
echo "$id" >> "$HOME/attempts"
printf '%s\n' "$brief" > "$HOME/brief-$id"
for number in 1 2 3 4; do
  script="$HOME/tasks/$id.$number"
  if [ -e "$script" ] && mkdir "$HOME/tasks/$id.$number.taken" 2>/dev/null; then
    . "$script"
    break
  fi
done
echo "$id is done."
"#;

/// Waits while there is a file `hold`. Says that it used what is in a file `judge-usage`. Answers nonsense once if there is a file `nonsense`, and asks for rework once for each
/// file `rework-ID`.
pub const JUDGE: &str = r#"#!/bin/sh
cat > "$HOME/judged"
while [ -e "$HOME/hold" ]; do sleep 0.05; done
cp "$HOME/judge-usage" "$MSG_USAGE" 2>/dev/null
if mv "$HOME/nonsense" "$HOME/said" 2>/dev/null; then
  echo 'I like it.'
  exit
fi
for wish in "$HOME"/rework-*; do
  id=${wish##*rework-}
  if [ -e "$wish" ] && grep -q "task .$id." "$HOME/judged" && mv "$wish" "$HOME/asked-$id" 2>/dev/null; then
    echo '{"verdict": "rework", "findings": [{"file": "x", "line": 1, "text": "do it better"}]}'
    exit
  fi
done
echo '{"verdict": "ship", "findings": []}'
"#;

/// A repository with a spec, and builders that do this at their attempts.
pub(super) fn with_crew(spec: &str, scripts: &[(&str, &str)]) -> TestEnvironment {
    let env = with_repository("");
    let program = |name: &str, text: &str| {
        let path = env.home().join(name);
        put_program(&path, text);
        path.display().to_string()
    };
    let (builder, judge) = (program("builder", BUILDER), program("judge", JUDGE));
    put_profiles(
        &env,
        &format!(
            "[builder]\ncommand = [\"{builder}\"]\nisolation = \"worktree\"\nreview = \"judge\"\n\
             [other]\ncommand = [\"{builder}\"]\nisolation = \"worktree\"\nreview = \"judge\"\n\
             [judge]\ncommand = [\"{judge}\"]\nreadonly = true\n"
        ),
    );
    fs::create_dir_all(env.home().join("tasks")).unwrap();
    for (name, text) in scripts {
        fs::write(env.home().join("tasks").join(name), text).unwrap();
    }
    fs::write(env.work().join("PLAN.md"), spec).unwrap();
    if spec.contains("verify:") {
        env.ok(&["workers", "trust", "--spec", "PLAN.md", "--yes"]);
    }
    env
}

pub(super) fn attempts(env: &TestEnvironment, id: &str) -> usize {
    let all = fs::read_to_string(env.home().join("attempts")).unwrap_or_default();
    all.lines().filter(|line| *line == id).count()
}

pub(super) fn subjects(env: &TestEnvironment) -> Vec<String> {
    let log = git(&env.work(), &["log", "--reverse", "--format=%s", "main..ravenry/crew-PLAN"]);
    log.lines().map(str::to_string).collect()
}

pub(super) fn strings<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_string).to_vec()
}

pub(super) fn task<'a>(report: &'a Value, id: &str) -> &'a Value {
    report["tasks"].as_array().unwrap().iter().find(|task| task["id"] == id).unwrap()
}

/// Every commit of the branch passes these commands in a clean tree.
fn assert_every_commit(env: &TestEnvironment, commands: impl Fn(&str) -> Vec<&'static str>) {
    for line in git(&env.work(), &["log", "--format=%H %s", "main..ravenry/crew-PLAN"]).lines() {
        let (commit, subject) = line.split_once(' ').unwrap();
        let dir = env.path().join(format!("out-{}", &commit[..8]));
        fs::create_dir_all(&dir).unwrap();
        let archive =
            format!("git -C '{}' archive {commit} | tar -x -C '{}'", env.work().display(), dir.display());
        assert!(Command::new("sh").args(["-c", &archive]).status().unwrap().success());
        for command in commands(subject) {
            let passed =
                Command::new("sh").args(["-c", command]).current_dir(&dir).status().unwrap().success();
            assert!(passed, "{subject}: {command}");
        }
    }
}

/// What must be left over of a crew: nothing but the branch, and the spec.
pub(super) fn assert_tidy(env: &TestEnvironment) {
    assert_eq!(directories(env), Vec::<std::path::PathBuf>::new());
    assert_eq!(git(&env.work(), &["worktree", "list"]).lines().count(), 1);
    let heads = git(&env.work(), &["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
    assert_eq!(heads.lines().collect::<Vec<_>>(), ["main", "ravenry/crew-PLAN"]);
}

const SIX: &str = "\
- [ ] T-1: Base
  paths: base
  verify: test -f base
- [ ] T-2: Dies (needs T-1)
  paths: two
  verify: grep -q two two
- [ ] T-3: Says done
  paths: three
  verify: grep -q three three
- [ ] T-4: Is reworked (needs T-1)
- [ ] T-5: Conflicts (needs T-1)
  verify: grep -q five shared && ! grep -q '<<<<' shared
- [ ] T-6: Red together
  paths: six, agreed
  verify: test -f six && { ! test -f three || test -f agreed; }
";

/// Waits until this file is on the branch.
const MERGED: &str = "until git cat-file -e ravenry/crew-PLAN:NAME 2>/dev/null; do sleep 0.05; done; ";

/// T-4 and T-5 write the same file from the same base. T-6 starts before T-3 is on the branch, and ends after it.
fn six() -> TestEnvironment {
    let merged = |name: &str| MERGED.replace("NAME", name);
    let five = format!("{}echo five > shared", merged("shared"));
    let red = format!("{}echo six > six", merged("three"));
    with_crew(
        SIX,
        &[
            ("T-1.1", "echo base > base"),
            ("T-2.1", "echo half > two; kill -9 $$"),
            ("T-2.2", "echo two >> two"),
            ("T-3.1", "until [ -e \"$HOME/tasks/T-6.1.taken\" ]; do sleep 0.05; done"),
            ("T-3.2", "echo three > three"),
            ("T-4.1", "echo 4 > shared"),
            ("T-4.2", "until [ -e \"$HOME/tasks/T-5.1.taken\" ]; do sleep 0.05; done; echo four > shared"),
            ("T-5.1", &five),
            ("T-5.2", "grep -q '<<<<' shared && printf 'four\\nfive\\n' > shared"),
            ("T-6.1", &red),
            ("T-6.2", "echo > agreed"),
        ],
    )
}

#[test]
fn a_spec_becomes_a_branch_and_each_story_is_told() {
    let env = six();
    fs::write(env.home().join("rework-T-4"), "").unwrap();
    let before = person(&env);
    let ended = env.run(&[
        "crew",
        "work",
        "PLAN.md",
        "--workers",
        "3",
        "--profile",
        "builder,other",
        "--yes",
        "--json",
    ]);
    let report = ended.expect_code(0).json();
    assert_eq!(report["branch"], "ravenry/crew-PLAN");
    assert!(report["tasks"].as_array().unwrap().iter().all(|task| task["state"] == "done"), "{report:#}");
    assert_eq!(person(&env), before, "the person notices nothing");
    assert_eq!(git(&env.work(), &["status", "--porcelain"]), "?? PLAN.md");
    let dead = task(&report, "T-2");
    assert_eq!((&dead["attempts"], &dead["runs"][0]["state"]), (&json!(2), &json!("failed")), "{dead:#}");
    assert_eq!(git(&env.work(), &["show", "ravenry/crew-PLAN:two"]), "half\ntwo", "what was left goes on");
    let said = task(&report, "T-3");
    assert_eq!((&said["runs"][0]["end"], &said["runs"][1]["end"]), (&json!("unproven"), &json!("merged")));
    let reworked = task(&report, "T-4");
    assert_eq!(reworked["verdicts"], json!(["rework", "ship"]));
    let told = fs::read_to_string(env.home().join("brief-T-4")).unwrap();
    assert!(told.contains("> - x:1: do it better"), "{told}");
    let ends = |id: &str| -> Vec<String> {
        let runs = task(&report, id)["runs"].as_array().unwrap();
        runs.iter().map(|run| run["end"].as_str().unwrap_or("none").to_string()).collect()
    };
    assert_eq!(
        (ends("T-5"), ends("T-6")),
        (strings(["conflict", "merged"]), strings(["red_together", "merged"]))
    );
    assert_eq!(git(&env.work(), &["show", "ravenry/crew-PLAN:shared"]), "four\nfive");
    assert_eq!(subjects(&env).len(), 6, "{:?}", subjects(&env));
    assert_every_commit(&env, |subject| match subject {
        "Base" => vec!["test -f base"],
        "Dies" => vec!["grep -q two two"],
        "Says done" => vec!["grep -q three three"],
        "Conflicts" => vec!["grep -q five shared && ! grep -q '<<<<' shared"],
        "Red together" => vec!["test -f six && { ! test -f three || test -f agreed; }"],
        _ => vec![],
    });
    assert_tidy(&env);
    let page = env.run(&["crew", "report"]).expect_code(0).stdout;
    for part in [
        "unproven; `grep -q three three` ended with",
        "review: rework by judge",
        "x:1: do it better",
        "git merge ravenry/crew-PLAN",
        "6 of 6 tasks are done",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let markdown = env.run(&["crew", "report", "PLAN.md", "--markdown"]).expect_code(0).stdout;
    assert!(
        markdown.starts_with("# What became of ") && markdown.contains("\n## T-1: Base (done)\n- attempt 1"),
        "{markdown}"
    );
    let status = env.ok(&["crew", "status"]);
    assert_eq!((&status["commits"], &task(&status, "T-5")["state"]), (&json!(6), &json!("done")));
    // Nothing is left to do, and nothing is done again.
    let again = env.ok(&["crew", "work", "PLAN.md", "--yes", "--profile", "builder"]);
    assert_eq!((task(&again, "T-1")["attempts"].clone(), attempts(&env, "T-1")), (json!(1), 1));
}

#[test]
fn what_fails_for_good_is_blocked_and_the_rest_goes_on() {
    let spec = "- [ ] T-1: Never\n  paths: one\n  verify: false\n- [ ] T-2: After (needs T-1)\n- [ ] T-3: Fine\n  paths: three\n  verify: test -f three\n";
    let env = with_crew(spec, &[("T-3.1", "echo three > three")]);
    let ended =
        env.run(&["crew", "work", "PLAN.md", "--yes", "--profile", "builder", "--json"]).expect_code(1);
    let report = ended.json();
    let never = task(&report, "T-1");
    assert_eq!((&never["state"], &never["attempts"]), (&json!("blocked"), &json!(3)));
    assert_eq!(never["reason"], "`false` ended with exit code 1 each time");
    assert_eq!(task(&report, "T-2")["state"], "waiting");
    assert_eq!(task(&report, "T-3")["state"], "done");
    assert_eq!(subjects(&env), ["Fine"]);
    assert_eq!(report["error"]["message"], "2 of 3 tasks did not get done");
}

#[test]
fn a_worker_does_not_complete_the_task_itself() {
    let spec = "- [ ] T-1: One\n  paths: one\n  verify: test -f one\n";
    let text = "msg complete T-1 > \"$HOME/said\" 2>&1; echo one > one";
    let env = with_crew(spec, &[("T-1.1", text)]);
    let path = crate::runs::path_with_msg();
    let work = ["crew", "work", "PLAN.md", "--yes", "--profile", "builder", "--json"];
    env.run_with(&work, &[("PATH", &path)]).expect_code(0);
    let said = fs::read_to_string(env.home().join("said")).unwrap();
    assert!(said.contains("its crew completes it"), "{said}");
    let done = env.ok(&["tasks", "--spec", "PLAN.md"]);
    assert_eq!(
        (&done["tasks"][0]["state"], &done["tasks"][0]["proof"]),
        (&json!("done"), &json!("proven")),
        "{done:#}"
    );
}

#[test]
fn what_can_not_be_is_said_before_anything_is_started() {
    let env = with_crew("no tasks\n", &[]);
    let refused = |args: &[&str]| {
        let ended = env.run(&[&["crew", "work"], args, &["--profile", "builder", "--json"]].concat());
        (ended.code, ended.json()["error"]["message"].as_str().unwrap_or_default().to_string())
    };
    assert!(refused(&["PLAN.md", "--yes"]).1.starts_with("there is no task in `"));
    assert!(refused(&["nothing.md", "--yes"]).1.contains("no such file"));
    fs::write(env.work().join("PLAN.md"), "- [ ] T-1: a (needs T-2)\n- [ ] T-2: b (needs T-1)\n").unwrap();
    assert!(refused(&["PLAN.md", "--yes"]).1.contains("has faults, so nothing was started"));
    fs::write(env.work().join("PLAN.md"), "- [ ] T-1: a\n  verify: true\n").unwrap();
    assert!(refused(&["PLAN.md", "--yes"]).1.contains("were not trusted by a person"));
    fs::write(env.work().join("PLAN.md"), "- [ ] T-1: a\n").unwrap();
    assert_eq!(refused(&["PLAN.md"]).1, "nobody can be asked whether the workers are to start");
    fs::write(env.work().join("a"), "changed\n").unwrap();
    assert!(refused(&["PLAN.md", "--yes"]).1.starts_with("the work tree is not clean"));
    git(&env.work(), &["checkout", "-q", "a"]);
    let nobody = env.run(&["crew", "work", "PLAN.md", "--yes", "--profile", "nobody", "--json"]);
    assert!(nobody.json()["error"]["message"].as_str().unwrap().contains("no profile or harness `nobody`"));
    let heads = git(&env.work(), &["for-each-ref", "--format=%(refname:short)"]);
    assert_eq!(heads, "main", "nothing is left of it");
    let bare = TestEnvironment::new();
    fs::write(bare.work().join("PLAN.md"), "- [ ] T-1: a\n").unwrap();
    assert_eq!(bare.run(&["crew", "work", "PLAN.md", "--yes", "--json"]).kind(), "no_repository");
}

/// Starts `crew work` without waiting for it.
pub(super) fn start(env: &TestEnvironment) -> std::process::Child {
    let mut command = env.msg();
    command.args(["crew", "work", "PLAN.md", "--workers", "3", "--profile", "builder,other", "--yes"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// How far the crew is: how many commits and attempts there are. Each of these is a moment to kill at.
fn progress(env: &TestEnvironment) -> usize {
    let attempts = fs::read_to_string(env.home().join("attempts")).unwrap_or_default().lines().count();
    let refs = Path::new(".git/refs/heads/ravenry/crew-PLAN");
    attempts + usize::from(env.work().join(refs).exists())
}

#[test]
fn whoever_kills_it_at_any_moment_loses_and_repeats_nothing() {
    let spec = "\
- [ ] T-1: One\n  paths: one\n  verify: test -f one
- [ ] T-2: Two (needs T-1)\n  paths: two\n  verify: test -f two
- [ ] T-3: Three\n  paths: three\n  verify: grep -q three three
- [ ] T-4: Four (needs T-2)\n  paths: four
";
    let scripts = [
        ("T-1.1", "echo > one"),
        ("T-2.1", "echo > two"),
        ("T-3.1", ":"),
        ("T-3.2", "echo three > three"),
        ("T-4.1", "echo > four"),
    ];
    let env = with_crew(spec, &scripts);
    let mut chance = Chance(7);
    for _ in 0..crate::support::environment::rounds(25) {
        let mut crew = start(&env);
        let at = progress(&env);
        let wait = usize::try_from(chance.below(3)).unwrap();
        // It is killed after some more steps, or at once.
        for _ in 0..wait * 40 {
            if crew.try_wait().unwrap().is_some() || progress(&env) >= at + wait {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        kill(Pid::from_raw(crew.id().cast_signed()), SIGKILL).ok();
        crew.wait().unwrap();
    }
    let mut last = env.msg();
    last.args(["crew", "work", "PLAN.md", "--workers", "3", "--profile", "builder,other", "--yes", "--json"]);
    let report = end(&mut last).expect_code(0).json();
    assert!(report["tasks"].as_array().unwrap().iter().all(|task| task["state"] == "done"), "{report:#}");
    let mut done = subjects(&env);
    done.sort();
    assert_eq!(done, ["Four", "One", "Three", "Two"], "each once");
    for (id, count) in [("T-1", 1), ("T-2", 1), ("T-3", 2), ("T-4", 1)] {
        assert_eq!(attempts(&env, id), count, "{id}: no worker that ended is started again");
    }
    wait_until("everything is tidied up", || directories(&env).is_empty());
    assert_tidy(&env);
}

pub(super) const ONE: &str = "- [ ] T-1: One\n  paths: one\n  verify: test -f one\n";
pub(super) const WORK: [&str; 6] = ["crew", "work", "PLAN.md", "--yes", "--profile", "builder"];

#[test]
fn a_supervisor_that_dies_during_the_review_costs_nothing() {
    let env = with_crew(ONE, &[("T-1.1", "echo one > one")]);
    fs::write(env.home().join("hold"), "").unwrap();
    let mut crew = start(&env);
    wait_until("it is reviewed", || env.home().join("judged").exists());
    let runs = env.ok(&["runs"])["runs"].clone();
    let built = runs.as_array().unwrap().iter().find(|run| run["profile"] != "judge").unwrap();
    let supervisor = i32::try_from(built["supervisorPid"].as_i64().unwrap()).unwrap();
    kill(Pid::from_raw(supervisor), SIGKILL).unwrap();
    wait_until("somebody waits for the verdict", || {
        let held = env.ok(&["runs", "show", built["id"].as_str().unwrap()])["run"].clone();
        held["state"] == "done" && held["review"]["pending"] == true
    });
    fs::remove_file(env.home().join("hold")).unwrap();
    assert!(crew.wait().unwrap().success());
    assert_eq!((attempts(&env, "T-1"), subjects(&env)), (1, strings(["One"])));
    let status = env.ok(&["crew", "status"]);
    assert_eq!(task(&status, "T-1")["verdicts"].as_array().unwrap().last(), Some(&json!("ship")));
    let reviews = env.ok(&["runs", "--all"])["runs"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|run| run["profile"] == "judge")
        .count();
    assert_eq!(reviews, 1, "its verdict counts");
}

#[test]
fn a_blocked_task_is_tried_again_when_the_crew_is_started_again() {
    let env = with_crew("- [ ] T-1: One\n  paths: one\n  verify: false\n", &[("T-1.1", "echo one > one")]);
    env.run(&WORK).expect_code(1);
    assert_eq!(
        (attempts(&env, "T-1"), task(&env.ok(&["crew", "status"]), "T-1")["state"].clone()),
        (3, json!("blocked"))
    );
    fs::write(env.work().join("PLAN.md"), ONE).unwrap();
    env.ok(&["workers", "trust", "--spec", "PLAN.md", "--yes"]);
    env.run(&WORK).expect_code(0);
    assert_eq!((attempts(&env, "T-1"), subjects(&env)), (4, strings(["One"])));
}

#[test]
fn a_reviewer_that_answers_nonsense_is_asked_once_more() {
    let env = with_crew(ONE, &[("T-1.1", "echo one > one")]);
    fs::write(env.home().join("nonsense"), "").unwrap();
    env.run(&WORK).expect_code(0);
    assert_eq!((attempts(&env, "T-1"), subjects(&env)), (1, strings(["One"])));
    assert!(env.home().join("said").exists());
    let refused = env.run(&[&WORK[..], &["--review", "nobody", "--json"]].concat()).expect_code(2);
    assert!(
        refused.json()["error"]["message"].as_str().unwrap().starts_with("`nobody` can't review the work: "),
        "{refused}"
    );
}

#[test]
fn a_task_that_is_reopened_is_built_again() {
    let env = with_crew(ONE, &[("T-1.1", "echo one > one"), ("T-1.2", "echo better > one")]);
    let report = env.ok(&WORK);
    let run = task(&report, "T-1")["runs"][0]["id"].as_str().unwrap().to_string();
    assert_eq!(env.run(&["runs", "retry", &run, "--json"]).kind(), "invalid_value");
    env.join("Robin");
    env.ok(&["reopen", "T-1", "--spec", "PLAN.md", "--reason", "not good enough", "--as", "Robin"]);
    let report = env.ok(&WORK);
    assert_eq!((attempts(&env, "T-1"), &task(&report, "T-1")["state"]), (2, &json!("done")), "{report:#}");
    assert_eq!(
        (subjects(&env), git(&env.work(), &["show", "ravenry/crew-PLAN:one"])),
        (strings(["One", "One"]), "better".to_string())
    );
}
