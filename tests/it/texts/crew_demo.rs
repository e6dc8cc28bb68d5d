//! Tests of `msg demo --crew`.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::support::environment::{TestEnvironment, end, put_program, wait_until};
use crate::texts::demo::{assert_nothing_is_left, demo};
use crate::texts::{one_object, spoken};

fn crew_demo(env: &TestEnvironment) -> (Command, PathBuf) {
    let (mut command, tmp) = demo(env);
    command.arg("--crew");
    (command, tmp)
}

#[test]
fn the_demo_of_a_crew_tells_what_happens_and_leaves_nothing_behind() {
    let env = TestEnvironment::new();
    let (mut command, tmp) = crew_demo(&env);
    let (text, code) = spoken(&mut command);
    assert_eq!(code, Some(0), "{text}");
    assert_nothing_is_left(&tmp);
    assert!(
        !env.mesh().exists() && fs::read_dir(env.home()).unwrap().count() == 0,
        "neither here nor at home"
    );
    for fact in [
        "→ B-1: its builder was killed in the middle: it was ended by SIGKILL.\n",
        "→ B-2: its builder says done and is not: `grep -q Monday shop/hours.txt` ended with exit code",
        "→ B-3: it was right apart, and is wrong together",
        "→ B-4: its reviewer wants something changed",
        "→ B-5: somebody else changed the same lines (in conflict: page.txt).\n",
        "5 of 5 tasks are done",
        "outside of the plan: page.txt",
        "\n$ git status --short --branch\n## main\n",
        "\n$ git merge ravenry/crew-PLAN\n",
        "Shell scripts stand in for the models",
    ] {
        assert!(text.contains(fact), "{fact}: {text}");
    }
    // No path of the directory that is gone.
    assert!(!text.contains(tmp.to_str().unwrap()), "{text}");
}

#[test]
fn the_demo_of_a_crew_in_json() {
    let env = TestEnvironment::new();
    let (mut command, tmp) = crew_demo(&env);
    let ended = end(command.arg("--json")).expect_code(0);
    assert_nothing_is_left(&tmp);
    let said = one_object("msg demo --crew", &ended.stdout, ended.code);
    assert!(said["kept"].is_null());
    let of = |list: &Value, key: &str| -> Vec<String> {
        let list = list.as_array().unwrap().iter();
        list.map(|one| one[key].as_str().unwrap().to_string()).collect()
    };
    let mut stories: Vec<(String, String)> =
        of(&said["stories"], "task").into_iter().zip(of(&said["stories"], "story")).collect();
    stories.sort();
    let expected = [
        ("B-1", "killed"),
        ("B-2", "unproven"),
        ("B-3", "red_together"),
        ("B-4", "rework"),
        ("B-5", "conflict"),
    ];
    assert_eq!(stories, expected.map(|(task, story)| (task.to_string(), story.to_string())));
    let steps = said["steps"].as_array().unwrap();
    let commands: Vec<&Value> = steps.iter().flat_map(|step| step["commands"].as_array().unwrap()).collect();
    assert!(commands.iter().all(|command| command["exit"] == 0), "{said:#}");
    let output = |start: &str| -> &str {
        let starts = |command: &&&Value| command["command"].as_str().unwrap().starts_with(start);
        commands.iter().find(starts).unwrap()["output"].as_str().unwrap()
    };
    // A commit for each task, in the order in which they were done.
    let log = output("git log");
    let mut titles: Vec<&str> = log.lines().map(|line| line.split_once(' ').unwrap().1).collect();
    titles.sort_unstable();
    let expected = [
        "Describe the way",
        "List the files of the shop",
        "List the prices",
        "Welcome the customers",
        "Write down the opening hours",
    ];
    assert_eq!(titles, expected, "{log}");
    assert_eq!((output("git status"), output("git worktree").lines().count()), ("## main", 1));
    assert!(output("git merge").contains("Fast-forward"), "nobody moved the branch of the person");
}

#[test]
fn the_demo_of_a_crew_is_interrupted_and_leaves_nothing_behind() {
    // Ctrl-C in a terminal also reaches everything that is in the same group.
    for (signal, whole_group) in [(Signal::SIGINT, true), (Signal::SIGTERM, false), (Signal::SIGHUP, false)] {
        let env = TestEnvironment::new();
        let (mut command, tmp) = crew_demo(&env);
        command.process_group(0).stdout(Stdio::null()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        wait_until("the first builder is at work", || has_begun(&tmp));
        let pid = i32::try_from(child.id()).unwrap();
        kill(Pid::from_raw(if whole_group { -pid } else { pid }), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            (output.status.code(), said.as_str()),
            (Some(130), "error: interrupted; nothing is left behind\n"),
            "{signal}"
        );
        assert_nothing_is_left(&tmp);
    }
}

/// Whether a builder of the demo is at work.
fn has_begun(tmp: &Path) -> bool {
    let homes = fs::read_dir(tmp).unwrap().flatten();
    let begun = homes.map(|home| home.path().join("begun"));
    begun.filter_map(|begun| fs::read_dir(begun).ok()).any(|begun| begun.count() > 0)
}

#[test]
fn the_demo_of_a_crew_says_what_it_needs() {
    let env = TestEnvironment::new();
    let bin = env.path().join("bin");
    fs::create_dir(&bin).unwrap();
    put_program(&bin.join("git"), "#!/bin/sh\necho git version 2.39.5\n");
    let refused = |code: i32, name: &str, value: &Path| {
        let (mut command, tmp) = crew_demo(&env);
        let ended = end(command.env(name, value)).expect_code(code);
        assert_nothing_is_left(&tmp);
        assert_eq!(ended.stdout, "", "nothing was shown");
        ended.stderr
    };
    let old = refused(4, "PATH", &bin);
    assert!(
        old.starts_with("error: the demo of a crew needs git: git 2.39.5 cannot merge in memory")
            && old.contains("hint: install git 2.40 or newer; `msg demo` shows the rest without it"),
        "{old}"
    );
    let worker = refused(1, "MSG_RUN", Path::new("k3f9xa"));
    assert!(worker.starts_with("error: `msg demo --crew` needs a person"), "{worker}");
    let none = refused(4, "PATH", &env.path().join("nothing"));
    assert!(none.starts_with("error: the demo of a crew needs git: cannot run git: "), "{none}");
}
