//! `msg crew work`, its supervisors and its workers are killed at many moments: nothing is lost, repeated or left over.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::{Child, Command};

use nix::sys::signal::{SIGKILL, kill};
use nix::unistd::Pid;
use ravenry::sys::test_switches::CRASH_AT;
use serde_json::{Value, json};

use super::stage::{
    ONE, SIX, WORK, assert_all_six, assert_tidy, attempts, crew_work, ends, processes, six, start, strings,
    subjects, task, with_crew,
};
use crate::runs::left_of;
use crate::runs::worktrees::{directories, git};
use crate::support::chance::Chance;
use crate::support::environment::{TestEnvironment, end, put_program, rounds, wait_until};

/// How many marks a crew leaves on its way through all six tasks, at least.
const MARKS: usize = 60;

/// Everything that has been seen of a crew so far: how each run stood, each attempt of a worker, each commit.
#[derive(Default)]
struct Progress(BTreeSet<String>);

impl Progress {
    /// Looks again. Returns how many marks were seen so far.
    fn look(&mut self, env: &TestEnvironment) -> usize {
        for (id, run) in records(env) {
            let part = &run["crew"];
            let parts = [&run["state"], &run["doing"], &part["isWorked"], &part["end"]["is"], &run["review"]];
            self.0.insert(format!("{id} {parts:?}"));
        }
        let attempts = fs::read_to_string(env.home().join("attempts")).unwrap_or_default().lines().count();
        let tip =
            fs::read_to_string(env.work().join(".git/refs/heads/ravenry/crew-PLAN")).unwrap_or_default();
        self.0.extend([format!("attempt {attempts}"), format!("commit {tip}")]);
        self.0.len()
    }

    /// Looks until that many marks were seen or the crew has ended.
    fn wait_for(&mut self, env: &TestEnvironment, crew: &mut Child, marks: usize) {
        wait_until("the crew gets on", || crew.try_wait().unwrap().is_some() || self.look(env) >= marks);
    }
}

/// The records of all runs, by id, as they are on disk.
fn records(env: &TestEnvironment) -> BTreeMap<String, Value> {
    let dirs = fs::read_dir(env.mesh().join("runs")).into_iter().flatten().flatten();
    let read = |dir: fs::DirEntry| {
        let text = fs::read_to_string(dir.path().join("run.json")).ok()?;
        Some((dir.file_name().into_string().unwrap(), serde_json::from_str(&text).unwrap()))
    };
    dirs.filter_map(read).collect()
}

fn kill_pid(pid: i32) {
    // It may have ended by itself.
    kill(Pid::from_raw(pid), SIGKILL).ok();
}

/// Runs the crew to its end.
fn finish(env: &TestEnvironment) -> crate::support::environment::Ended {
    end(crew_work(env).arg("--json"))
}

#[track_caller]
fn assert_nothing_left(env: &TestEnvironment) {
    wait_until("every process has ended", || processes(env).is_empty());
    wait_until("everything is tidied up", || directories(env).is_empty());
    assert_tidy(env);
}

#[test]
fn whoever_kills_the_crew_at_any_moment_loses_and_repeats_nothing() {
    let env = six();
    fs::write(env.home().join("rework-T-4"), "").unwrap();
    let (mut chance, mut progress, mut killed) = (Chance(7), Progress::default(), 0);
    let all = rounds(25);
    for round in 0..all {
        let mut command = crew_work(&env);
        // Every other one may also die between two of its own steps.
        if round % 2 == 1 {
            command.env(CRASH_AT, (1 + chance.below(200)).to_string());
        }
        let mut crew = start(&mut command);
        let span = MARKS / all;
        let moment = span * round + usize::try_from(chance.below(span as u64)).unwrap();
        progress.wait_for(&env, &mut crew, moment);
        crew.kill().ok();
        killed += usize::from(!crew.wait().unwrap().success());
    }
    assert!(killed * 4 > all * 3, "only {killed} of {all} were killed before their end");
    let report = finish(&env).expect_code(0).json();
    assert!(report["tasks"].as_array().unwrap().iter().all(|task| task["state"] == "done"), "{report:#}");
    for (id, expected) in [
        ("T-1", strings(["merged"])),
        ("T-2", strings(["none", "merged"])),
        ("T-3", strings(["unproven", "merged"])),
        ("T-4", strings(["not_shipped", "merged"])),
        ("T-5", strings(["conflict", "merged"])),
        ("T-6", strings(["red_together", "merged"])),
    ] {
        assert_eq!(
            (ends(&report, id), attempts(&env, id)),
            (expected.clone(), expected.len()),
            "{id}: {report:#}"
        );
    }
    assert_eq!(task(&report, "T-4")["verdicts"], json!(["rework", "ship"]));
    assert_eq!(git(&env.work(), &["show", "ravenry/crew-PLAN:shared"]), "four\nfive");
    assert_all_six(&env);
    assert_each_proof(&env, &report);
    assert_nothing_left(&env);
    let reviews = records(&env).into_values().filter(|run| run["reviews"].is_string()).count();
    assert_eq!(reviews, 9, "no review is repeated");
}

/// Does what the script of its task says, however often it is killed. Notes each run, and two at once at one task. It does
/// not wait for ever for another task, which may be blocked.
const ENDURING: &str = r#"#!/bin/sh
brief=$(cat)
id=$(printf '%s\n' "$brief" | sed -n 's/^This is task `\([^`]*\)`.*/\1/p' | head -n 1)
exec 9>> "$HOME/lock-$id"
flock -n 9 || echo "$id" >> "$HOME/two-at-once"
echo "$MSG_RUN" >> "$HOME/attempts"
touch "$HOME/begun-$id"
merged() { git cat-file -e "ravenry/crew-PLAN:$1" 2>/dev/null; }
begun() { [ -e "$HOME/begun-$1" ]; }
patiently() { left=100; until "$@" || [ $left = 0 ]; do left=$((left - 1)); sleep 0.05; done; }
. "$HOME/tasks/$id"
echo "$id is done."
"#;

/// The six tasks, of which each looks at what there is.
fn six_enduring() -> TestEnvironment {
    let both = "if grep -q '<<<<' shared; then printf 'four\\nfive\\n' > shared";
    let four = format!("patiently begun T-5; {both}; else grep -q four shared || echo four >> shared; fi");
    let five =
        format!("patiently merged shared; {both}; else grep -q five shared || echo five >> shared; fi");
    let env = with_crew(
        SIX,
        &[
            ("T-1", "echo base > base"),
            (
                "T-2",
                "mkdir \"$HOME/died\" 2>/dev/null && { echo half > two; kill -9 $$; }\n\
                 printf 'half\\ntwo\\n' > two",
            ),
            ("T-3", "patiently begun T-6\nmkdir \"$HOME/said-so\" 2>/dev/null || echo three > three"),
            ("T-4", &four),
            ("T-5", &five),
            ("T-6", "patiently merged three\necho six > six\n[ -e three ] && echo > agreed"),
        ],
    );
    put_program(&env.home().join("builder"), ENDURING);
    fs::write(env.home().join("rework-T-4"), "").unwrap();
    env
}

/// Kills a process of a run that goes on: its supervisor, its keeper, its worker, or whatever that or it has started.
fn kill_one_of_a_run(env: &TestEnvironment, chance: &mut Chance) -> Option<String> {
    let runs = super::runs(env);
    let is_live = |run: &&Value| ["queued", "starting", "running"].map(Value::from).contains(&run["state"]);
    let live: Vec<&Value> = runs.iter().filter(is_live).collect();
    let run = live.get(usize::try_from(chance.below(live.len().max(1) as u64)).unwrap())?;
    let id = run["id"].as_str().unwrap();
    let pid = if chance.one_in(2) {
        i32::try_from(run["supervisorPid"].as_i64()?).unwrap()
    } else {
        let pids = left_of(id);
        pids.get(usize::try_from(chance.below(pids.len().max(1) as u64)).unwrap())?.parse().unwrap()
    };
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    // The pid of a run that has just ended may be that of another process.
    let is_ours = processes(env).iter().any(|process| process.starts_with(&format!("/proc/{pid}:")));
    if is_ours {
        kill_pid(pid);
    }
    Some(format!("{id} {}: {}", run["state"], String::from_utf8_lossy(&line).replace('\0', " ")))
}

/// What was killed is a reason for a task to be blocked, and nothing else is.
fn assert_blocked_by_kills(report: &Value) {
    for task in report["tasks"].as_array().unwrap() {
        let reason = task["reason"].as_str().unwrap_or_default();
        let is_explained = ["SIGKILL", "signal", "keeper", "cut short", "no review", "died", "each time"];
        let is_waiting = task["state"] == "waiting" || task["state"] == "done";
        assert!(is_waiting || is_explained.iter().any(|part| reason.contains(part)), "{task:#}");
    }
}

#[test]
fn whoever_kills_supervisors_and_workers_at_any_moment_loses_nothing() {
    let env = six_enduring();
    let (mut chance, mut progress, mut told) = (Chance(11), Progress::default(), Vec::new());
    let mut crew = start(&mut crew_work(&env));
    for _ in 0..rounds(40) {
        let next = progress.look(&env) + usize::try_from(chance.below(6)).unwrap();
        progress.wait_for(&env, &mut crew, next);
        wait_until("somebody can be killed", || {
            let victim = kill_one_of_a_run(&env, &mut chance);
            let is_killed = victim.is_some();
            told.extend(victim);
            is_killed || crew.try_wait().unwrap().is_some()
        });
        if crew.try_wait().unwrap().is_some() || chance.one_in(4) {
            crew.kill().ok();
            crew.wait().unwrap();
            crew = start(&mut crew_work(&env));
        }
    }
    crew.kill().ok();
    crew.wait().unwrap();
    // A crew that has ended meanwhile has nobody to kill.
    assert!(told.len() * 5 >= rounds(40), "{told:#?}");
    let mut last = finish(&env);
    for _ in 0..3 {
        if last.code == Some(0) {
            break;
        }
        assert_blocked_by_kills(&last.json());
        last = finish(&env);
    }
    let killed = told.join("\n");
    let report = last.expect_code(0).json();
    assert!(
        report["tasks"].as_array().unwrap().iter().all(|task| task["state"] == "done"),
        "{killed}\n{report:#}"
    );
    assert_all_six(&env);
    let shared = git(&env.work(), &["show", "ravenry/crew-PLAN:shared"]);
    assert!(shared.contains("four") && shared.contains("five"), "{shared}\n{killed}");
    assert_each_once(&env, &report, &killed);
    assert_each_proof(&env, &report);
    assert_nothing_left(&env);
}

/// Whatever has commands that prove it is recorded with that proof.
#[track_caller]
fn assert_each_proof(env: &TestEnvironment, report: &Value) {
    let tasks = env.ok(&["tasks", "--spec", "PLAN.md"]);
    for id in ["T-1", "T-2", "T-3", "T-5", "T-6"] {
        let done = tasks["tasks"].as_array().unwrap().iter().find(|task| task["id"] == id).unwrap();
        assert_eq!(done["evidence"]["exitCode"], 0, "{id}: {done:#}\n{report:#}");
        assert_eq!(task(report, id)["evidence"]["exitCode"], 0, "{id}: {report:#}");
    }
}

/// No two workers were at one task, no worker whose work was done was started again, and each task was merged once.
fn assert_each_once(env: &TestEnvironment, report: &Value, killed: &str) {
    assert!(!env.home().join("two-at-once").exists(), "{killed}");
    let started = fs::read_to_string(env.home().join("attempts")).unwrap();
    let started: Vec<&str> = started.lines().collect();
    let once: BTreeSet<&&str> = started.iter().collect();
    assert_eq!(once.len(), started.len(), "a run starts its worker once: {started:?}\n{killed}");
    let records = records(env);
    for (id, run) in records.iter().filter(|(_, run)| run["crew"].is_object()) {
        let earlier = run["retries"].as_str().and_then(|earlier| records.get(earlier));
        let is_worked = earlier
            .is_some_and(|earlier| earlier["crew"]["isWorked"] == true && earlier["crew"]["end"].is_null());
        assert!(
            !is_worked || !started.contains(&id.as_str()),
            "{id} repeats what was done: {run:#}\n{killed}"
        );
    }
    let tip = git(&env.work(), &["log", "--format=%H", "main..ravenry/crew-PLAN"]);
    let commits: BTreeSet<&str> = tip.lines().collect();
    let tasks = report["tasks"].as_array().unwrap();
    let told: BTreeSet<&str> = tasks.iter().filter_map(|task| task["commit"].as_str()).collect();
    assert_eq!(told, commits, "{report:#}\n{killed}");
    for task in tasks {
        let merged = ends(report, task["id"].as_str().unwrap()).iter().filter(|end| *end == "merged").count();
        // None, if its supervisor died between completing the task and its own end.
        assert!(merged <= 1, "{task:#}\n{killed}");
    }
}

#[test]
fn the_proof_of_a_commit_outlives_the_supervisor_that_made_it() {
    let env = with_crew(ONE, &[("T-1.1", "echo one > one")]);
    let bin = env.path().join("bin");
    fs::create_dir(&bin).unwrap();
    let real = String::from_utf8(Command::new("which").arg("git").output().unwrap().stdout).unwrap();
    // Whoever has just moved the branch is killed, once.
    let deadly = format!(
        "#!/bin/sh\n{real} \"$@\"\ncode=$?\ncase \" $* \" in *\" update-ref \"*)\n\
         {real} -C \"$2\" cat-file -e ravenry/crew-PLAN:one 2>/dev/null && mkdir \"$HOME/killed\" 2>/dev/null && kill -9 $PPID ;;\n\
         esac\nexit $code\n",
        real = real.trim()
    );
    put_program(&bin.join("git"), &deadly);
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let report = end(crew_work(&env).arg("--json").env("PATH", path)).expect_code(0).json();
    assert!(env.home().join("killed").exists(), "{report:#}");
    let done = task(&report, "T-1");
    assert_eq!((ends(&report, "T-1"), attempts(&env, "T-1")), (strings(["none", "merged"]), 1), "{done:#}");
    assert_eq!(done["evidence"]["command"], "test -f one", "{done:#}");
    let recorded = &env.ok(&["tasks", "--spec", "PLAN.md"])["tasks"][0];
    assert_eq!(
        (&recorded["proof"], &recorded["evidence"]["command"]),
        (&json!("proven"), &json!("test -f one")),
        "{recorded:#}"
    );
    assert_nothing_left(&env);
}

#[test]
fn a_task_whose_supervisor_always_dies_is_blocked() {
    let env = with_crew(ONE, &[]);
    // The worker kills the one above its keeper, as a machine without memory would.
    let murder = "#!/bin/sh\ncat > \"$HOME/brief\"\necho T-1 >> \"$HOME/attempts\"\n\
                  keeper=$PPID\nkill -9 \"$(sed -n 's/^PPid:\\t//p' \"/proc/$keeper/status\")\"\nsleep 1000\n";
    put_program(&env.home().join("builder"), murder);
    let report = end(env.msg().args(WORK).arg("--json")).expect_code(1).json();
    let blocked = task(&report, "T-1");
    assert_eq!((&blocked["state"], attempts(&env, "T-1")), (&json!("blocked"), 6), "{blocked:#}");
    assert!(
        blocked["reason"].as_str().unwrap().starts_with("its runs were cut short: its supervisor died"),
        "{blocked:#}"
    );
    wait_until("every process has ended", || processes(&env).is_empty());
    // Whoever starts it again wants it to be tried again.
    put_program(
        &env.home().join("builder"),
        "#!/bin/sh\ncat > \"$HOME/brief\"\necho one > one\necho done.\n",
    );
    env.run(&WORK).expect_code(0);
    assert_eq!(subjects(&env), ["One"]);
    assert_nothing_left(&env);
}
