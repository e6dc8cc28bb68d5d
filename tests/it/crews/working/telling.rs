//! What a person sees of a crew at work, and after Ctrl-C.

use std::process::Stdio;

use nix::sys::signal::{SIGINT, kill};
use nix::unistd::Pid;

use super::{ONE, WORK, assert_tidy, with_crew};
use crate::runs::worktrees::{directories, git, person};
use crate::support::environment::wait_until;

#[test]
fn in_a_pipe_there_is_a_line_for_each_change() {
    let env = with_crew(ONE, &[("T-1.1", ":"), ("T-1.2", "echo one > one")]);
    let said = env.run(&WORK).expect_code(0).stdout;
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[0].starts_with("T-1   working  One · ") && lines[0].contains(" · builder"), "{said}");
    let (again, why) =
        ("T-1   working  One · attempt 2 (unproven) · ", " · `test -f one` ended with exit code 1");
    let is_told = |line: &&&str| line.starts_with(again) && line.ends_with(why);
    assert_eq!(lines.iter().filter(is_told).count(), 1, "once: {said}");
    let commit = git(&env.work(), &["rev-parse", "ravenry/crew-PLAN"]);
    let done = format!("T-1   done     One · {} · 2 attempts", &commit[..10]);
    assert_eq!(lines.iter().filter(|line| **line == done).count(), 1, "{said}");
    assert!(!said.contains('\x1b'), "{said}");
    let page = env.run(&["crew", "report"]).expect_code(0).stdout;
    let proof = format!("  proof: `test -f one` ended with exit code 0 on commit {}\n", &commit[..10]);
    assert!(page.contains(&proof), "{page}");
    let markdown = env.run(&["crew", "report", "--markdown"]).expect_code(0).stdout;
    assert!(markdown.contains(&format!("- {}", proof.trim_start())), "{markdown}");
}

#[test]
fn ctrl_c_stops_the_workers_and_the_same_command_goes_on() {
    let wait = "echo half > one; touch \"$HOME/at-work\"; sleep 600";
    let env = with_crew(ONE, &[("T-1.1", wait), ("T-1.2", "grep -q half one && echo whole >> one")]);
    let before = person(&env);
    let mut command = env.msg();
    let crew = command.args(WORK).stdout(Stdio::piped()).spawn().unwrap();
    wait_until("the worker is at work", || env.home().join("at-work").exists());
    kill(Pid::from_raw(crew.id().cast_signed()), SIGINT).unwrap();
    let output = crew.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(said.contains("T-1   stopped  One · by a person\n"), "{said}");
    assert!(said.ends_with("Stopped; no worker is left. The same command goes on where it was.\n"), "{said}");
    assert_eq!((directories(&env), person(&env)), (Vec::new(), before));
    env.run(&WORK).expect_code(0);
    assert_eq!(git(&env.work(), &["show", "ravenry/crew-PLAN:one"]), "half\nwhole");
    assert_tidy(&env);
}
