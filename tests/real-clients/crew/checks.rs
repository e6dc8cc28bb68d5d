//! What is to be seen of a crew after its end.

use std::fs;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::script::FINDING;
use super::stage::{Files, Stage};
use super::tasks::{BRANCH, TASKS, Task, task};
use crate::processes;
use crate::report::Report;
use crate::scene::Ended;
use crate::trial::run::{Checked, ensure};
use crate::wait;

const BUILT: &str = "three workers of different harnesses at once make a branch of six tasks";
const PROVEN: &str = "in a clean checkout, each commit passes what proves its task and those before";
const STORIES: &str = "a kill, a lie, a rework, a conflict and a red merge: each is in the report";
const PAGES: &str = "the report tells them to people";
const SESSIONS: &str = "builders go on in their sessions";
const UNTOUCHED: &str = "branch, index and files of the person are what they were";
const TIDY: &str = "no process, no worktree and no branch is left over";

/// How long processes may take to end.
const PATIENCE: Duration = Duration::from_secs(30);

/// What there is to be checked.
pub struct Seen<'a> {
    pub stage: &'a Stage,
    /// `crew work`, as it ended.
    pub ended: &'a Ended,
    /// `crew report`.
    pub report: Value,
    /// `runs --all`.
    pub runs: Vec<Value>,
    /// What the person had before.
    pub before: &'a Files,
}

type Check = fn(&Seen<'_>) -> Checked;

pub fn all(name: &str, seen: &Seen<'_>, report: &mut Report) {
    let checks: [(&str, Check); 7] = [
        (BUILT, built),
        (PROVEN, proven),
        (STORIES, stories),
        (PAGES, pages),
        (SESSIONS, sessions),
        (UNTOUCHED, untouched),
        (TIDY, tidy),
    ];
    for (what, check) in checks {
        report.check(name, what, check(seen), &|| evidence(seen));
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn built(seen: &Seen<'_>) -> Checked {
    ensure(seen.ended.code == Some(0), || format!("`msg crew work` ended with {:?}", seen.ended.code))?;
    ensure(seen.report["tasks"].as_array().map(Vec::len) == Some(TASKS.len()), || {
        "there are not six tasks".to_string()
    })?;
    let open = list(&seen.report["tasks"]).find(|task| task["state"] != "done");
    ensure(open.is_none(), || format!("not done: {}", open.unwrap_or(&Value::Null)))?;
    let builders: Vec<&Value> = seen.runs.iter().filter(|run| run["claim"].is_object()).collect();
    let mut harnesses: Vec<&str> = builders.iter().filter_map(|run| run["harness"].as_str()).collect();
    harnesses.sort_unstable();
    harnesses.dedup();
    ensure(harnesses.len() > 1, || format!("all were built by {harnesses:?}"))?;
    let time = |run: &Value, key: &str| run[key].as_str().and_then(|text| text.parse::<Timestamp>().ok());
    let spans: Vec<_> =
        builders.iter().filter_map(|run| Some((time(run, "startedAt")?, time(run, "endedAt")?))).collect();
    let at_once =
        |moment: Timestamp| spans.iter().filter(|(from, to)| *from <= moment && moment < *to).count();
    let most = spans.iter().map(|(from, _)| at_once(*from)).max();
    ensure(most == Some(3), || format!("{most:?} worked at once"))
}

fn proven(seen: &Seen<'_>) -> Checked {
    let stage = seen.stage;
    let clone = stage.scene.home().join("clone");
    let [from, to] = [stage.scene.repo(), clone.clone()].map(|path| path.display().to_string());
    stage.git(&stage.scene.repo(), &["clone", "-q", "--no-local", "--branch", BRANCH, &from, &to]);
    let commits = stage.git(&clone, &["rev-list", "--reverse", "origin/main..HEAD"]);
    let commits: Vec<&str> = commits.lines().collect();
    ensure(commits.len() == TASKS.len(), || format!("the commits are {commits:?}"))?;
    let mut done: Vec<&Task> = Vec::new();
    for commit in commits {
        let its = list(&seen.report["tasks"]).find(|task| task["commit"] == commit);
        let its =
            its.and_then(|its| task(its["id"].as_str()?)).ok_or_else(|| format!("whose is {commit}?"))?;
        let message = stage.git(&clone, &["show", "-s", "--format=%B", commit]);
        ensure(message.starts_with(its.title) && message.contains(its.id), || {
            format!("{commit}: {message}")
        })?;
        for need in its.needs {
            ensure(done.iter().any(|task| task.id == *need), || format!("{} is before {need}", its.id))?;
        }
        done.push(its);
        stage.git(&clone, &["checkout", "-q", "--detach", commit]);
        for before in &done {
            let mut verify = stage.scene.command("sh");
            let passed = verify.current_dir(&clone).args(["-c", before.verify]).status().unwrap().success();
            ensure(passed, || format!("at the commit of {}, `{}` fails", its.id, before.verify))?;
        }
        let changed = stage.git(&clone, &["status", "--porcelain", "--ignored"]);
        ensure(changed.is_empty(), || format!("the checkout is not clean: {changed}"))?;
    }
    // Each of them once.
    ensure(TASKS.iter().all(|task| done.iter().any(|other| other.id == task.id)), || {
        "a task has no commit".to_string()
    })
}

fn stories(seen: &Seen<'_>) -> Checked {
    for task in &TASKS {
        let told = list(&seen.report["tasks"]).find(|told| told["id"] == task.id).unwrap_or(&Value::Null);
        let ends: Vec<Option<&str>> = list(&told["runs"]).map(|run| run["end"].as_str()).collect();
        ensure(ends == task.ends, || format!("{}: {ends:?}, and not {:?}", task.id, task.ends))?;
        ensure(told["attempts"] == task.ends.len(), || format!("{}: {told}", task.id))?;
        let proof = &told["evidence"];
        ensure(proof["command"] == task.verify && proof["exitCode"] == 0, || {
            format!("{} is proven by {proof}", task.id)
        })?;
        let verdict = list(&told["verdicts"]).last();
        ensure(verdict == Some(&json!("ship")), || format!("{}: {verdict:?}", task.id))?;
    }
    let first = |id: &str| {
        let told = list(&seen.report["tasks"]).find(|told| told["id"] == id).unwrap_or(&Value::Null);
        told["runs"][0].clone()
    };
    let (killed, reworked) = (first("T-2"), first("T-4"));
    let reason = |run: &Value, words: &str| run["reason"].as_str().unwrap_or_default().contains(words);
    ensure(killed["state"] == "failed" && reason(&killed, "SIGKILL"), || format!("killed: {killed}"))?;
    ensure(reason(&first("T-3"), "`grep -qx three three.txt` ended with exit code 1"), || {
        format!("said: {}", first("T-3"))
    })?;
    ensure(reworked["verdict"] == "rework", || format!("reworked: {reworked}"))?;
    ensure(reason(&first("T-5"), "in conflict: shared.txt"), || format!("conflict: {}", first("T-5")))?;
    ensure(reason(&first("T-6"), "together with the others, `"), || format!("red: {}", first("T-6")))?;
    let at_tip =
        |file: &str| seen.stage.git(&seen.stage.scene.repo(), &["show", &format!("{BRANCH}:{file}")]);
    let (two, shared) = (at_tip("two.txt"), at_tip("shared.txt"));
    ensure(two == "half\ntwo", || format!("what the killed one left was not gone on with: {two:?}"))?;
    ensure(shared == "four\nfive", || format!("not both sides of the conflict: {shared:?}"))?;
    ensure(seen.report["tokens"].as_u64() > Some(0), || format!("tokens: {}", seen.report["tokens"]))
}

fn pages(seen: &Seen<'_>) -> Checked {
    let page = |more: &[&str]| {
        let ended = seen.stage.scene.run(&mut seen.stage.msg(&[&["crew", "report"], more].concat()));
        if ended.code == Some(0) { Ok(ended.stdout) } else { Err(format!("{ended:?}")) }
    };
    let (text, markdown) = (page(&[])?, page(&["PLAN.md", "--markdown"])?);
    let red = task("T-6").map(|task| task.verify).unwrap_or_default();
    let red = format!("red together; together with the others, `{red}` ended with exit code 1");
    for (id, parts) in [
        ("T-1", &["merged"][..]),
        ("T-2", &["failed", "SIGKILL"]),
        ("T-3", &["unproven; `grep -qx three three.txt` ended with exit code 1"]),
        ("T-4", &["review: rework by judge", &format!("shared.txt:1: {FINDING}")]),
        ("T-5", &["conflict; others changed the same lines in shared.txt"]),
        ("T-6", &[red.as_str()]),
    ] {
        let told = task(id).map(|task| format!("{id}: {} (done)", task.title)).unwrap_or_default();
        let part = text.split("\n\n").find(|part| part.starts_with(&told)).unwrap_or_default();
        // What became of an attempt is beneath it, and further to the right.
        let from_first = part.lines().skip_while(|line| !line.starts_with("  attempt 1: "));
        let mut story = from_first.enumerate().take_while(|(at, line)| *at == 0 || line.starts_with("    "));
        let first = story.next().map(|(_, line)| line).unwrap_or_default();
        let beneath: Vec<&str> = story.map(|(_, line)| line).collect();
        let story = format!("{first}\n{}", beneath.join("\n"));
        let missing = parts.iter().find(|part| !story.contains(**part));
        ensure(missing.is_none(), || format!("{id}: {missing:?} is not in {story:?} of {text}"))?;
        ensure(markdown.contains(&format!("## {told}\n- {}", first.trim())), || markdown.clone())?;
    }
    ensure(text.contains("6 of 6 tasks are done"), || text.clone())?;
    ensure(text.contains(&format!("To take the work: git merge {BRANCH}")), || text.clone())
}

/// Work that was done is gone on with in its session. One that was killed may have none.
fn sessions(seen: &Seen<'_>) -> Checked {
    for id in ["T-2", "T-3", "T-4", "T-5", "T-6"] {
        let told = list(&seen.report["tasks"]).find(|told| told["id"] == id).unwrap_or(&Value::Null);
        let run = |place: usize| seen.runs.iter().find(|run| run["id"] == told["runs"][place]["id"]);
        let [first, second] = [run(0), run(1)].map(|run| run.ok_or_else(|| format!("{id}: {told}")));
        let (first, second) = (first?, second?);
        ensure(first["profile"] == second["profile"], || format!("{id} changed its profile"))?;
        let (is_next, is_same) = (
            second["resumes"] == first["id"],
            second["session"] == first["session"] && first["session"].is_string(),
        );
        let is_right = is_next && is_same || id == "T-2" && second["retries"] == first["id"];
        ensure(is_right, || format!("{id}: {first} is not gone on with by {second}"))?;
    }
    Ok(())
}

fn untouched(seen: &Seen<'_>) -> Checked {
    let after = seen.stage.person();
    let paths = seen.before.keys().chain(after.keys());
    let changed: Vec<_> = paths.filter(|path| seen.before.get(*path) != after.get(*path)).collect();
    ensure(changed.is_empty(), || format!("changed: {changed:?}"))?;
    let status =
        seen.stage.git(&seen.stage.scene.repo(), &["status", "--porcelain", "--branch", "--ignored"]);
    ensure(status == "## main\n?? PLAN.md", || status)
}

fn tidy(seen: &Seen<'_>) -> Checked {
    let (stage, home) = (seen.stage, seen.stage.scene.home());
    for run in &seen.runs {
        let id = run["id"].as_str().unwrap_or_default();
        let left = processes::started_with("MSG_RUN", id);
        ensure(!id.is_empty() && left.is_empty(), || format!("run {id} has left {left:?}"))?;
    }
    let left = || processes::of(&home);
    wait::until("its processes end", PATIENCE, || left().is_empty().then_some(()))
        .map_err(|wrong| format!("{wrong}: {:?}", left()))?;
    let repo = stage.scene.repo();
    let worktrees = stage.git(&repo, &["worktree", "list", "--porcelain"]);
    ensure(worktrees.matches("worktree ").count() == 1, || worktrees)?;
    let heads = stage.git(&repo, &["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
    ensure(heads == format!("main\n{BRANCH}"), || heads)?;
    let state = home.join(".local/state");
    for place in ["ravenry/worktrees/*/*", "ravenry*/git/verify/*"] {
        let pattern = state.join(place);
        let found = glob::glob(pattern.to_str().unwrap()).unwrap().flatten();
        let left: Vec<_> = found.filter(|path| path.is_dir()).collect();
        ensure(left.is_empty(), || format!("left over: {left:?}"))?;
    }
    // What is counted above was there before.
    let known = fs::read_dir(state.join("ravenry")).map(Iterator::count);
    ensure(known.is_ok_and(|count| count > 0), || format!("nothing is in {}", state.display()))
}

/// For whoever has to find out what failed.
fn evidence(seen: &Seen<'_>) -> String {
    let report = seen.stage.scene.run(&mut seen.stage.msg(&["crew", "report"]));
    let mut text = format!("{:?}\n{}", seen.ended, report.stdout);
    for run in &seen.runs {
        let id = run["id"].as_str().unwrap_or("none");
        let errors = seen.stage.ask(&["runs", "log", id, "--errors"]);
        let errors: Vec<char> = errors["log"].as_str().unwrap_or_default().chars().collect();
        let end: String = errors[errors.len().saturating_sub(600)..].iter().collect();
        text.push_str(&format!(
            "\n{id} {} {}: {} {}\n  said: {}\n  errors: {end}",
            run["profile"], run["claim"]["task"], run["state"], run["reason"], run["result"]
        ));
    }
    text
}
