//! A repository with a spec, and stand-ins for builders and a reviewer that do what a test says.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::runs::put_profiles;
use crate::runs::worktrees::{directories, git, with_repository};
use crate::support::environment::{TestEnvironment, put_program};

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

/// Waits while there is a file `hold`. Says that it used what is in a file `judge-usage`. Answers nonsense once if there is a
/// file `nonsense`, and asks for rework once for each file `rework-ID`.
pub const JUDGE: &str = r#"#!/bin/sh
told=$(cat)
printf '%s\n' "$told" > "$HOME/judged.$$" && mv "$HOME/judged.$$" "$HOME/judged"
while [ -e "$HOME/hold" ]; do sleep 0.05; done
cp "$HOME/judge-usage" "$MSG_USAGE" 2>/dev/null
if mv "$HOME/nonsense" "$HOME/said" 2>/dev/null; then
  echo 'I like it.'
  exit
fi
for wish in "$HOME"/rework-*; do
  id=${wish##*rework-}
  if [ -e "$wish" ] && printf '%s\n' "$told" | grep -q "task .$id." && mv "$wish" "$HOME/asked-$id" 2>/dev/null; then
    echo '{"verdict": "rework", "findings": [{"file": "x", "line": 1, "text": "do it better"}]}'
    exit
  fi
done
echo '{"verdict": "ship", "findings": []}'
"#;

/// A repository with a spec, and builders that do this at their attempts.
pub fn with_crew(spec: &str, scripts: &[(&str, &str)]) -> TestEnvironment {
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

pub fn attempts(env: &TestEnvironment, id: &str) -> usize {
    let all = fs::read_to_string(env.home().join("attempts")).unwrap_or_default();
    all.lines().filter(|line| *line == id).count()
}

pub fn subjects(env: &TestEnvironment) -> Vec<String> {
    let log = git(&env.work(), &["log", "--reverse", "--format=%s", "main..ravenry/crew-PLAN"]);
    log.lines().map(str::to_string).collect()
}

pub fn strings<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_string).to_vec()
}

pub fn task<'a>(report: &'a Value, id: &str) -> &'a Value {
    report["tasks"].as_array().unwrap().iter().find(|task| task["id"] == id).unwrap()
}

/// Every commit of the branch passes these commands in a clean tree.
pub fn assert_every_commit(env: &TestEnvironment, commands: impl Fn(&str) -> Vec<&'static str>) {
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
pub fn assert_tidy(env: &TestEnvironment) {
    assert_eq!(directories(env), Vec::<PathBuf>::new());
    assert_eq!(git(&env.work(), &["worktree", "list"]).lines().count(), 1);
    let heads = git(&env.work(), &["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
    assert_eq!(heads.lines().collect::<Vec<_>>(), ["main", "ravenry/crew-PLAN"]);
}

pub const SIX: &str = "\
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
pub fn six() -> TestEnvironment {
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

/// What became of each run for a task.
pub fn ends(report: &Value, id: &str) -> Vec<String> {
    let runs = task(report, id)["runs"].as_array().unwrap();
    runs.iter().map(|run| run["end"].as_str().unwrap_or("none").to_string()).collect()
}

/// The six tasks are on the branch, each in one commit, and every commit is right.
pub fn assert_all_six(env: &TestEnvironment) {
    let mut done = subjects(env);
    done.sort();
    assert_eq!(done, ["Base", "Conflicts", "Dies", "Is reworked", "Red together", "Says done"], "each once");
    assert_every_commit(env, |subject| match subject {
        "Base" => vec!["test -f base"],
        "Dies" => vec!["grep -q two two"],
        "Says done" => vec!["grep -q three three"],
        "Conflicts" => vec!["grep -q five shared && ! grep -q '<<<<' shared"],
        "Red together" => vec!["test -f six && { ! test -f three || test -f agreed; }"],
        _ => vec![],
    });
    let there = |name: &str| git(&env.work(), &["show", &format!("ravenry/crew-PLAN:{name}")]);
    assert_eq!(["base", "two", "three", "six"].map(there), ["base", "half\ntwo", "three", "six"]);
}

/// Processes of this environment: each has its home, or names a file of it.
pub fn processes(env: &TestEnvironment) -> Vec<String> {
    let (home, path) = (format!("HOME={}", env.home().display()), env.path().to_str().unwrap().to_string());
    let is_ours = |dir: &PathBuf| {
        let environ = fs::read(dir.join("environ")).unwrap_or_default();
        let line = fs::read(dir.join("cmdline")).unwrap_or_default();
        environ.split(|byte| *byte == 0).any(|variable| variable == home.as_bytes())
            || line.windows(path.len()).any(|part| part == path.as_bytes())
    };
    let entries = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let pids = entries.filter(|dir| dir.file_name().is_some_and(|name| is_number(&name.to_string_lossy())));
    let line = |dir: PathBuf| {
        let words = fs::read(dir.join("cmdline")).unwrap_or_default();
        format!("{}: {}", dir.display(), String::from_utf8_lossy(&words).replace('\0', " "))
    };
    pids.filter(is_ours).map(line).collect()
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Every ref, run, worktree and claim that there is: what a refusal must not change.
pub fn traces(env: &TestEnvironment) -> String {
    let refs = git(&env.work(), &["for-each-ref", "--format=%(refname) %(objectname)"]);
    let worktrees = git(&env.work(), &["worktree", "list", "--porcelain"]);
    let runs = super::runs(env);
    let claims = fs::read_to_string(env.mesh().join("claims.json")).unwrap_or_default();
    format!("{refs}\n{worktrees}\n{runs:?}\n{claims}\n{:?}", directories(env))
}

/// `crew work` with three workers of two profiles.
pub fn crew_work(env: &TestEnvironment) -> Command {
    let mut command = env.msg();
    command.args(["crew", "work", "PLAN.md", "--workers", "3", "--profile", "builder,other", "--yes"]);
    command
}

/// Starts it without waiting for it.
pub fn start(command: &mut Command) -> Child {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

pub const ONE: &str = "- [ ] T-1: One\n  paths: one\n  verify: test -f one\n";
pub const WORK: [&str; 6] = ["crew", "work", "PLAN.md", "--yes", "--profile", "builder"];
