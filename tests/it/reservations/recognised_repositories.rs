//! How a repository is recognised for `reserve --repo`: git is asked rarely, and runs nothing of the repository.

use std::fs;
use std::path::Path;
use std::process::Command;

use ravenry::domain::hook::HookAnswer;
use serde_json::json;

use super::repositories::{FILE, Places, committed, git};
use crate::support::environment::{Ended, end, put, wait_until};
use crate::support::hook_call::{Call, session_of};

/// Runs a hook of Bob's with a `git` that leaves a mark.
fn edit_with_marked_git(places: &Places, dir: &Path) -> (HookAnswer, bool) {
    let bin = places.env.path().join("bin");
    let mark = places.env.path().join("git was started");
    let real = String::from_utf8(Command::new("sh").args(["-c", "command -v git"]).output().unwrap().stdout);
    put(
        &bin.join("git"),
        &format!("#!/bin/sh\ntouch '{}'\nexec {} \"$@\"\n", mark.display(), real.unwrap().trim()),
    );
    std::process::Command::new("chmod").arg("+x").arg(bin.join("git")).status().unwrap();
    let call = Call::edit(&places.env, &session_of("Bob"), FILE).with("/cwd", json!(dir));
    let call = call.with("/tool_input/file_path", json!(dir.join(FILE)));
    let mut command = call.command(&places.env);
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let ended: Ended = end(command.env("PATH", path).env(ravenry::sys::test_switches::NO_HOOK_LIMIT, "1"));
    let started = mark.exists();
    fs::remove_file(&mark).ok();
    (call.understand(&ended), started)
}

#[test]
fn git_is_asked_once_and_only_if_somebody_holds_something_everywhere() {
    let places = Places::new();
    places.reserve(&places.main, "Alice", &["src/b.rs"]);
    assert_eq!(edit_with_marked_git(&places, &places.clone), (HookAnswer::Silence, false));
    assert!(!places.env.mesh().join("repositories").exists());
    places.reserve(&places.main, "Alice", &["--repo", FILE]);
    let is_refused = |dir: &Path| {
        let (answer, started) = edit_with_marked_git(&places, dir);
        assert!(matches!(answer, HookAnswer::Deny(_)), "{}: {answer:?}", dir.display());
        started
    };
    assert!(!is_refused(&places.linked), "known since it was reserved");
    assert!(is_refused(&places.clone), "asked once");
    assert!(!is_refused(&places.clone));
    // A damaged record, and one of a repository that is another one by now, are made again.
    for entry in fs::read_dir(places.env.mesh().join("repositories")).unwrap() {
        fs::write(entry.unwrap().path(), "ravenry repository 1\nx").unwrap();
    }
    assert!(is_refused(&places.clone) && !is_refused(&places.clone));
    fs::remove_dir_all(&places.clone).unwrap();
    committed(&places.clone);
    git(&places.clone, &["commit", "-q", "--amend", "-m", "another beginning"]);
    assert_eq!(edit_with_marked_git(&places, &places.clone), (HookAnswer::Silence, true));
}

/// A repository that names programs, and one that is looked at because of somebody else's reservation.
#[test]
fn nothing_of_a_repository_is_run_to_recognise_it() {
    let places = Places::new();
    let trace = places.env.path().join("trace");
    let program = format!("echo ran >> '{}'; cat #", trace.display());
    for key in ["core.fsmonitor", "core.pager", "core.sshCommand", "core.alternateRefsCommand", "gpg.program"]
    {
        git(&places.clone, &["-c", "core.fsmonitor=", "config", key, &program]);
    }
    places.reserve(&places.main, "Alice", &["--repo", FILE]);
    assert!(matches!(places.edit(&places.clone, "Bob"), HookAnswer::Deny(_)));
    places.reserve(&places.clone, "Bob", &["--repo", "docs/"]);
    assert!(!trace.exists(), "{}", fs::read_to_string(&trace).unwrap());
}

/// With many agents hooks read only those near the path: those who hold something in another repository are not.
#[test]
fn a_hook_reads_only_holders_in_its_own_repositories() {
    let places = Places::new();
    let elsewhere = places.env.path().join("another");
    committed(&elsewhere);
    git(&elsewhere, &["commit", "-q", "--amend", "-m", "another beginning"]);
    for number in 0..12 {
        let name = format!("Agent{number}");
        places.env.join(&name);
        places.reserve(&elsewhere, &name, &["--repo", &format!("d{number}/")]);
    }
    places.reserve(&places.main, "Alice", &["--repo", FILE]);
    let index = places.env.mesh().join("index");
    wait_until("the index has everybody", || {
        fs::remove_file(&index).ok();
        places.edit(&places.linked, "Bob");
        let text = fs::read_to_string(&index).unwrap_or_default();
        text.lines().filter(|line| line.matches('\t').count() == 8).count() == 14
    });
    let counted = |dir: &Path| {
        let file = places.env.path().join("count.registration");
        fs::write(&file, "").unwrap();
        let call = Call::edit(&places.env, "a stranger", FILE).with("/cwd", json!(dir));
        let call = call.with("/tool_input/file_path", json!(dir.join(FILE)));
        let mut command = call.command(&places.env);
        let count = places.env.path().join("count");
        let answer = call.understand(&end(command.env(ravenry::sys::test_switches::COUNT, count)));
        (matches!(answer, HookAnswer::Deny(_)), fs::metadata(&file).unwrap().len())
    };
    for dir in places.others() {
        let (is_refused, read) = counted(dir);
        assert!(is_refused && read <= 4, "{}: {is_refused}, {read} registrations", dir.display());
    }
    let (is_refused, read) = counted(&places.env.work());
    assert!(
        !is_refused && read <= 3,
        "{is_refused}, {read} registrations were read outside of all repositories"
    );
}
