//! Tests of `knowledge pack`, `erase`, `export`, `import`, `log` and `--as-of`.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::log_files::log_files;
use super::{at, git, listed, repository};
use crate::support::environment::{Ended, TestEnvironment, end, put};
use crate::support::terminal::harness;

fn said(env: &TestEnvironment, time: &str, args: &[&str]) -> String {
    env.redact(at(env, time, args).expect_code(0).stdout)
}

fn learn(env: &TestEnvironment, time: &str, name: &str, text: &str) {
    said(env, time, &["learn", text, "--name", name]);
}

/// Every file below a directory that contains this text.
pub(super) fn files_with(dir: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_with(&path, text));
        } else if fs::read(&path).unwrap().windows(text.len()).any(|part| part == text.as_bytes()) {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn packing_keeps_what_counts() {
    let env = repository();
    insta::assert_snapshot!(said(&env, "15T12:00:00", &["knowledge", "pack"]), @"There is nothing to pack.");
    learn(&env, "15T12:00:00", "one-lock", "One lock guards all names");
    learn(&env, "15T12:01:00", "one-lock", "One lock guards all names and paths");
    let bob = ["learn", "Tests run with two jobs", "--name", "jobs"];
    end(env.msg().args(bob).env("USER", "bob")).expect_code(0);
    let before = env.ok(&["knowledge", "list"]);
    assert_eq!(log_files(&env.work()).len(), 2);
    insta::assert_snapshot!(said(&env, "15T12:02:00", &["knowledge", "pack"]), @"Packed 2 files into one; 1 replaced entry was left out.");
    assert_eq!(env.ok(&["knowledge", "list"]), before);
    assert_eq!(log_files(&env.work()).len(), 1);
    let again = env.ok(&["knowledge", "pack"]);
    assert_eq!(
        again,
        json!({ "ok": true, "folded": 0, "overwritten": 0, "quarantined": [], "untouched": [] })
    );
}

#[test]
fn what_is_erased_is_in_no_file() {
    let env = repository();
    let secret = "correct horse battery";
    learn(&env, "15T12:00:00", "stays", "This one stays");
    learn(&env, "15T12:00:00", "passphrase", &format!("The passphrase is {secret}"));
    learn(&env, "15T12:01:00", "passphrase", &format!("The new passphrase is {secret} staple"));
    said(&env, "15T12:02:00", &["know", "passphrase"]);
    assert!(!files_with(env.path(), secret).is_empty(), "the cache and the log have it");
    let retire = at(&env, "15T12:02:00", &["knowledge", "erase", "passphrase"]).expect_code(2);
    assert!(
        retire.stderr.contains("msg knowledge retire") && retire.stderr.contains("--for-good"),
        "{retire}"
    );
    said(&env, "15T12:03:00", &["knowledge", "retire", "passphrase"]);
    insta::assert_snapshot!(said(&env, "15T12:04:00", &["knowledge", "erase", "passphrase", "--for-good"]), @r"
    Erased note/passphrase: 3 entries are gone from the log and its caches.
    No commit has its page.
    ");
    assert_eq!(files_with(env.path(), secret), [] as [&str; 0]);
    assert_eq!(files_with(env.path(), "passphrase"), [] as [&str; 0]);
    assert_eq!(listed(&at(&env, "15T12:05:00", &["knowledge", "list", "--json"])), ["stays"]);
    assert_eq!(files_with(env.path(), secret), [] as [&str; 0], "a new cache does not have it");
    assert_eq!(env.fails(1, &["knowledge", "erase", "passphrase", "--for-good"]), "unknown_record");
}

#[test]
fn erasing_tells_what_git_still_holds() {
    let env = repository();
    learn(&env, "15T12:00:00", "passphrase", "The passphrase is correct horse");
    let page = env.work().join("docs/knowledge/note/passphrase.md");
    put(&page, "# The passphrase\n");
    git(&env.work(), &["add", "-A"]);
    git(&env.work(), &["commit", "-q", "-m", "publish the passphrase"]);
    let erased = env.ok(&["knowledge", "erase", "note/passphrase", "--for-good"]);
    assert_eq!(erased["page"], "docs/knowledge/note/passphrase.md");
    assert_eq!(erased["commits"][0]["title"], "publish the passphrase");
    assert_eq!(erased["commits"].as_array().unwrap().len(), 1);
    learn(&env, "15T12:00:00", "passphrase", "The passphrase is correct horse");
    let told = said(&env, "15T12:04:00", &["knowledge", "erase", "note/passphrase", "--for-good"]);
    assert!(told.contains("Its page is still there") && told.contains("“publish the passphrase”"), "{told}");
}

/// What is only in a page, or in a page that is not committed, is told as it is.
#[test]
fn erasing_tells_what_its_page_still_shows() {
    let env = repository();
    let erase = ["knowledge", "erase", "passphrase", "--for-good"];
    learn(&env, "15T12:00:00", "passphrase", "The passphrase is correct horse");
    said(&env, "15T12:00:00", &["knowledge", "publish", "passphrase"]);
    insta::assert_snapshot!(said(&env, "15T12:01:00", &erase), @r"
    Erased note/passphrase: 2 entries are gone from the log and its caches.
    Its page is still there: remove docs/knowledge/note/passphrase.md.
    No commit has its page.
    ");
    insta::assert_snapshot!(said(&env, "15T12:01:00", &erase), @r"
    The log and its caches have nothing about note/passphrase any more.
    Its page is still there: remove docs/knowledge/note/passphrase.md.
    No commit has its page.
    ");
    git(&env.work(), &["add", "-A"]);
    git(&env.work(), &["commit", "-q", "-m", "publish the passphrase"]);
    let told = said(&env, "15T12:02:00", &erase);
    let shown = "It is still shown, from its committed page: remove docs/knowledge/note/passphrase.md and commit that.";
    assert!(told.contains(shown) && told.contains("“publish the passphrase”"), "{told}");
    assert_eq!(env.ok(&erase)["shown"], true);
    git(&env.work(), &["rm", "-q", "docs/knowledge/note/passphrase.md"]);
    git(&env.work(), &["commit", "-q", "-m", "remove it"]);
    assert_eq!(listed(&at(&env, "15T12:05:00", &["knowledge", "list", "--json"])), [] as [&str; 0]);
    assert_eq!(env.fails(1, &erase), "unknown_record");
}

#[test]
fn erasing_what_is_only_a_page_begins_no_log() {
    let env = repository();
    learn(&env, "15T12:00:00", "passphrase", "The passphrase is correct horse");
    said(&env, "15T12:00:00", &["knowledge", "publish", "passphrase"]);
    git(&env.work(), &["add", "-A"]);
    git(&env.work(), &["commit", "-q", "-m", "publish the passphrase"]);
    let clone = env.path().join("clone");
    git(env.path(), &["clone", "-q", env.work().to_str().unwrap(), clone.to_str().unwrap()]);
    let erased = in_dir(&env, &clone, &["knowledge", "erase", "passphrase", "--for-good"]).expect_code(0);
    assert!(erased.stdout.contains("It is still shown, from its committed page"), "{erased}");
    assert!(!clone.join(".ravenry").exists(), "git would add it");
}

#[test]
fn two_kinds_of_one_name_are_not_erased_together() {
    let env = repository();
    learn(&env, "15T12:00:00", "lock", "A note");
    said(&env, "15T12:00:00", &["learn", "A decision", "--kind", "decision", "--name", "lock"]);
    let refused = at(&env, "15T12:01:00", &["knowledge", "erase", "lock", "--for-good"]).expect_code(2);
    assert!(refused.stderr.contains("note/lock, decision/lock"), "{refused}");
    said(&env, "15T12:01:00", &["knowledge", "erase", "note/lock", "--for-good"]);
    assert_eq!(env.ok(&["knowledge", "list"])["records"][0]["kind"], "decision");
}

#[test]
fn a_model_does_not_erase_and_does_not_choose_a_file() {
    let env = repository();
    learn(&env, "15T12:00:00", "kept", "This one is kept");
    let mut shell = harness(&env, "claude");
    for line in [
        "msg knowledge erase kept --for-good --json",
        "msg knowledge export --yjs out.yjs --json",
        "msg knowledge export --markdown out.md --json",
    ] {
        assert_eq!(shell.run(line).expect_code(1).kind(), "in_harness", "{line}");
    }
    shell.run("msg knowledge export --markdown --json").expect_code(0);
    shell.run("msg knowledge pack --json").expect_code(0);
    assert_eq!(listed(&at(&env, "15T12:05:00", &["knowledge", "list", "--json"])), ["kept"]);
    assert!(!env.work().join("out.yjs").exists() && !env.work().join("out.md").exists());
}

fn in_dir(env: &TestEnvironment, dir: &Path, args: &[&str]) -> Ended {
    end(env.msg().args(args).current_dir(dir).env("USER", "bob"))
}

#[test]
fn what_is_exported_is_imported_once() {
    let env = repository();
    learn(&env, "15T12:00:00", "one-lock", "One lock guards all names");
    said(&env, "15T12:01:00", &["learn", "Two locks", "--kind", "decision", "--at", "src/flock.rs#lock"]);
    insta::assert_snapshot!(said(&env, "15T12:01:00", &["knowledge", "export", "--yjs", "out.yjs", "--json"]).replace(|digit: char| digit.is_ascii_digit(), "9"), @r#"{"ok":true,"file":"[DIR]/work/out.yjs","bytes":999}"#);
    let other = env.path().join("other");
    fs::create_dir(&other).unwrap();
    let file = env.work().join("out.yjs");
    let file = file.to_str().unwrap();
    let imported = in_dir(&env, &other, &["knowledge", "import", file, "--json"]).expect_code(0).json();
    assert_eq!((&imported["removed"], &imported["newer"]), (&json!(0), &json!(0)));
    let texts = |ended: Ended| -> Vec<Value> {
        let answer = ended.expect_code(0).json();
        let records = answer["records"].as_array().unwrap();
        let mut texts: Vec<Value> = records.iter().map(|record| record["description"].clone()).collect();
        // Where an anchored file is missing, its record comes later.
        texts.sort_by_key(ToString::to_string);
        texts
    };
    let here = texts(env.run(&["knowledge", "list", "--json"]));
    assert_eq!(texts(in_dir(&env, &other, &["knowledge", "list", "--json"])), here);
    let again = in_dir(&env, &other, &["knowledge", "import", file]).expect_code(0);
    assert_eq!(again.stdout, "All of it was here already.\n");
    assert_eq!(texts(in_dir(&env, &other, &["knowledge", "list", "--json"])), here);
    let update =
        end(env.msg().args(["knowledge", "export", "--yjs", "-"]).stdout(std::process::Stdio::null()));
    update.expect_code(0);
}

#[test]
fn a_damaged_update_is_refused_whole() {
    let env = repository();
    learn(&env, "15T12:00:00", "one-lock", "One lock guards all names");
    env.ok(&["knowledge", "export", "--yjs", "out.yjs"]);
    let update = fs::read(env.work().join("out.yjs")).unwrap();
    let other = env.path().join("other");
    fs::create_dir(&other).unwrap();
    for (number, bad) in
        [&b""[..], b"\0\0", b"text", &update[..update.len() - 3], &[0xff; 99]].iter().enumerate()
    {
        fs::write(other.join("bad"), bad).unwrap();
        let refused = in_dir(&env, &other, &["knowledge", "import", "bad"]).expect_code(2);
        assert!(refused.stderr.contains("was not imported"), "{number}: {refused}");
        assert_eq!(log_files(&other).len(), 0, "{number}");
    }
    fs::write(other.join("bad"), "{\"actions\": []}").unwrap();
    let refused = in_dir(&env, &other, &["knowledge", "import", "bad"]).expect_code(2);
    assert!(refused.stderr.contains("msg record bad"), "{refused}");
    in_dir(&env, &other, &["knowledge", "import", "absent"]).expect_code(2);
    in_dir(&env, &other, &["knowledge", "import"]).expect_code(2);
    in_dir(&env, &other, &["knowledge", "export"]).expect_code(2);
    in_dir(&env, &other, &["knowledge", "export", "--yjs", "a", "--markdown", "b"]).expect_code(2);
    in_dir(&env, &other, &["knowledge", "export", "--yjs", "-", "--json"]).expect_code(2);
}

#[test]
fn a_document_for_people() {
    let env = repository();
    let text = "One lock guards all names.\n\n# Not a heading <b>";
    said(
        &env,
        "15T12:00:00",
        &[
            "learn",
            text,
            "--name",
            "one-lock",
            "--kind",
            "decision",
            "--why",
            "two deadlocked",
            "--at",
            "src/flock.rs#lock",
            "--tag",
            "area=store",
        ],
    );
    said(&env, "15T12:01:00", &["learn", "--tried", "a lock per name", "--why", "too slow"]);
    let document = said(&env, "15T12:02:00", &["knowledge", "export", "--markdown"]);
    insta::assert_snapshot!(document, @r"
    # Knowledge

    ## Tried, and failed

    ### a-lock-per-name

    a lock per name

    Why: too slow

    - by ann on 2026-11-15, told, confidence 0.7

    ## Decisions

    ### one-lock

    One lock guards all names. # Not a heading \<b>

    Why: two deadlocked

    - status: active
    - at: `src/flock.rs#lock`
    - tags: `area=store`
    - by ann on 2026-11-15, told, confidence 0.7
    ");
    said(&env, "15T12:02:00", &["knowledge", "export", "--markdown", "."]);
    assert_eq!(fs::read_to_string(env.work().join("knowledge.md")).unwrap(), document);
    said(&env, "15T12:02:00", &["knowledge", "export", "--markdown", "all.md"]);
    assert_eq!(fs::read_to_string(env.work().join("all.md")).unwrap(), document);
    let refused = at(&env, "15T12:02:00", &["knowledge", "export", "--markdown", "none/all.md"]);
    insta::assert_snapshot!(env.redact(refused.expect_code(2).stderr), @r"
    error: there is no directory `[DIR]/work/none`
    hint: create it first
    ");
    let refused = at(&env, "15T12:02:00", &["knowledge", "export"]).expect_code(2).stderr;
    assert!(refused.contains("needs --yjs <FILE> or --markdown [<FILE>]"), "{refused}");
    let known = said(&env, "15T12:02:00", &["know", "deadlocked", "--markdown"]);
    assert!(known.contains("### one-lock") && !known.contains("per-name"), "{known}");
}

#[test]
fn what_was_recorded_by_whom_and_when() {
    let env = repository();
    insta::assert_snapshot!(said(&env, "15T12:00:00", &["knowledge", "log"]), @"Nothing was recorded. `msg learn TEXT --at PATH` records something.");
    said(&env, "15T12:00:00", &["learn", "Two locks", "--name", "locks", "--why", "it was so"]);
    learn(&env, "15T12:30:00", "locks", "One lock");
    learn(&env, "16T09:00:00", "jobs", "Two jobs are enough");
    end(env
        .msg()
        .args(["knowledge", "confirm", "locks"])
        .env("USER", "bob")
        .env(ravenry::sys::test_switches::NOW, "2026-11-16T10:00:00Z"))
    .expect_code(0);
    said(&env, "16T11:00:00", &["knowledge", "retire", "jobs"]);
    insta::assert_snapshot!(said(&env, "16T12:00:00", &["knowledge", "log"]), @r"
    11:00 ann retired note/jobs
    10:00 bob confirmed note/locks
    09:00 ann recorded note/jobs “Two jobs are enough”
    Nov 15 12:30 ann updated note/locks “One lock”, why: “it was so”
    Nov 15 12:00 ann recorded note/locks “Two locks”, why: “it was so”
    ");
    let log = |args: &[&str]| said(&env, "16T12:00:00", &[&["knowledge", "log"], args].concat());
    assert_eq!(log(&["jobs"]).lines().count(), 2);
    assert_eq!(log(&["--since", "4h"]).lines().count(), 3);
    assert_eq!(log(&["--limit", "1"]), "11:00 ann retired note/jobs\n4 more; --limit 5 shows all.\n");
    let events = env.ok(&["knowledge", "log", "note/locks", "-n", "1"]);
    assert_eq!(events["total"], 3);
    assert_eq!(events["events"][0]["event"], "confirmed");
    assert_eq!(events["events"][0]["author"], "bob");
    assert_eq!(env.fails(1, &["knowledge", "log", "lock"]), "unknown_record");
    assert_eq!(env.fails(2, &["knowledge", "log", "--since", "soon"]), "invalid_value");
    said(&env, "16T12:00:00", &["knowledge", "pack"]);
    assert_eq!(log(&["locks"]).lines().count(), 2, "the replaced text is gone");
}

#[test]
fn a_retired_record_is_shown_as_it_was() {
    let env = repository();
    learn(&env, "15T12:00:00", "locks", "Two locks");
    said(&env, "15T12:01:00", &["knowledge", "publish", "locks"]);
    said(&env, "15T12:02:00", &["knowledge", "retire", "locks"]);
    insta::assert_snapshot!(said(&env, "15T12:03:00", &["knowledge", "show", "locks"]), @r"
    note/locks (retired)
      “Two locks”
      by ann on 2026-11-15, told, confidence 0.7
    ");
    assert_eq!(env.ok(&["knowledge", "show", "locks"])["records"][0]["retired"], true);
    insta::assert_snapshot!(said(&env, "15T12:03:00", &["knowledge", "log"]), @r"
    12:02 ann retired note/locks
    12:01 ann published note/locks
    12:00 ann recorded note/locks “Two locks”
    ");
    assert_eq!(env.fails(1, &["knowledge", "show", "lock"]), "unknown_record");
}

#[test]
fn what_was_recorded_by_then() {
    let env = repository();
    learn(&env, "15T12:00:00", "locks", "Two locks are taken");
    learn(&env, "16T12:00:00", "locks", "One lock is taken");
    learn(&env, "17T12:00:00", "jobs", "Two jobs are enough");
    said(&env, "18T12:00:00", &["knowledge", "retire", "locks"]);
    let texts = |args: &[&str]| -> Vec<String> {
        let answer = at(&env, "19T12:00:00", &[args, &["--json"]].concat()).expect_code(0).json();
        let records = answer["records"].as_array().unwrap().clone();
        records.iter().map(|record| record["description"].as_str().unwrap().to_string()).collect()
    };
    assert_eq!(texts(&["knowledge", "list", "--as-of", "2026-11-14"]), [] as [&str; 0]);
    assert_eq!(texts(&["knowledge", "list", "--as-of", "2026-11-15"]), ["Two locks are taken"]);
    assert_eq!(texts(&["know", "locks", "taken", "--as-of", "2026-11-16"]), ["One lock is taken"]);
    assert_eq!(texts(&["know", "locks", "--as-of", "2026-11-16T11:00"]), ["Two locks are taken"]);
    assert_eq!(
        texts(&["knowledge", "show", "locks", "--as-of", "2026-11-17T13:00:00+01:00"]),
        ["One lock is taken"]
    );
    assert_eq!(texts(&["knowledge", "list"]), ["Two jobs are enough"]);
    let value =
        at(&env, "19T12:00:00", &["know", "(map :name (get-notes))", "--as-of", "2026-11-16", "--json"]);
    assert_eq!(value.expect_code(0).json()["value"], json!(["locks"]));
    assert_eq!(env.fails(1, &["knowledge", "show", "jobs", "--as-of", "2026-11-16"]), "unknown_record");
    for bad in ["soon", "7d", "2026-13-01"] {
        assert_eq!(env.fails(2, &["know", "x", "--as-of", bad]), "invalid_value", "{bad}");
    }
}
