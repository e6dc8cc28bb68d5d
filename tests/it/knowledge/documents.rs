//! Tests of `knowledge init`: other documents are searched where they are.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use super::{at, git, repository};
use crate::support::environment::{TestEnvironment, end, put};

fn project() -> TestEnvironment {
    let env = repository();
    let file = |path: &str, text: &str| put(&env.work().join(path), text);
    file(
        "CLAUDE.md",
        "# Project\n\nA mesh of agents.\n\n## Testing\n\nRun the tests with two jobs, else the machine swaps.\n",
    );
    file(
        "docs/adr/0001-flock.md",
        "# Use flock\n\n## Context\n\nNames race.\n\n## Decision\n\nOne flock guards the registry.\n",
    );
    file("docs/adr/0002-yjs.md", "# Use Yjs\n\nUpdates merge without conflicts.\n");
    file(".serena/memories/style.md", "Prefer plain English.\n");
    file(".cursor/rules/rust.mdc", "---\nglobs: '*.rs'\n---\nNever call unwrap on what a disk controls.\n");
    file("crates/one/AGENTS.md", "The parser lives in parse.rs.\n");
    file("docs/knowledge/decision/own.md", "# Ours\n\nA page of ours.\n");
    symlink("CLAUDE.md", env.work().join("AGENTS.md")).unwrap();
    env
}

fn know(env: &TestEnvironment, words: &str) -> Vec<String> {
    let answer = env.ok(&["know", words]);
    let documents = answer["documents"].as_array().unwrap().clone();
    documents.iter().map(|found| format!("{}:{}", found["file"].as_str().unwrap(), found["line"])).collect()
}

#[test]
fn documents_are_searched_where_they_are() {
    let env = project();
    assert!(know(&env, "swaps").is_empty(), "nothing is searched unasked");
    let told = env.redact(at(&env, "15T12:00:00", &["knowledge", "init"]).expect_code(0).stdout);
    let (first, rest) = told.split_once('\n').unwrap();
    assert!(first.starts_with("In a batch, `projectId` of this project is `work` or "), "{first}");
    insta::assert_snapshot!(rest, @r"
    `msg know` also searches these, where they are:
      `.cursor/rules` (1 section)
      `.serena/memories` (1 section)
      `AGENTS.md` (2 sections)
      `crates/one/AGENTS.md` (1 section)
      `docs/adr` (2 files, 3 sections)
    ");
    insta::assert_snapshot!(at(&env, "15T12:00:00", &["know", "swaps"]).expect_code(0).stdout, @"AGENTS.md:5 “Testing: Run the tests with two jobs, else the machine swaps.”");
    assert_eq!(know(&env, "flock registry")[0], "docs/adr/0001-flock.md:7");
    assert_eq!(know(&env, "parser"), ["crates/one/AGENTS.md:1"]);
    assert_eq!(know(&env, "unwrap disk"), [".cursor/rules/rust.mdc:1"]);
    assert!(know(&env, "elephants").is_empty());
    at(&env, "15T12:00:00", &["learn", "The machine swaps with four jobs", "--name", "swaps"]).expect_code(0);
    let both = at(&env, "15T12:00:00", &["know", "swaps"]).expect_code(0).stdout;
    assert!(both.starts_with("note/swaps (unpublished)\n") && both.ends_with("swaps.”\n"), "{both}");
    assert!(env.ok(&["know", "swaps", "--kind", "decision"])["documents"].as_array().unwrap().is_empty());
    assert!(env.ok(&["knowledge", "list"])["total"] == 1, "nothing is copied");
}

#[test]
fn a_changed_document_is_read_again() {
    let env = project();
    env.ok(&["knowledge", "init"]);
    put(&env.work().join("docs/adr/0003-new.md"), "# New\n\nElephants never forget.\n");
    assert_eq!(know(&env, "elephants"), ["docs/adr/0003-new.md:1"]);
    fs::remove_file(env.work().join("docs/adr/0003-new.md")).unwrap();
    assert!(know(&env, "elephants").is_empty());
    // Another work tree has its own files.
    let linked = env.path().join("linked");
    git(&env.work(), &["worktree", "add", "-q", "-b", "feature", linked.to_str().unwrap()]);
    put(&linked.join("docs/adr/0004-there.md"), "# There\n\nGiraffes are tall.\n");
    let there =
        end(env.msg().args(["know", "giraffes", "--json"]).current_dir(&linked)).expect_code(0).json();
    assert_eq!(there["documents"][0]["file"], "docs/adr/0004-there.md");
    assert!(know(&env, "giraffes").is_empty());
}

#[test]
fn no_document_leads_out_of_the_project() {
    let env = repository();
    put(&env.path().join("secret/notes.md"), "The elephant is hidden.\n");
    symlink(env.path().join("secret/notes.md"), env.work().join("CLAUDE.md")).unwrap();
    fs::create_dir(env.work().join("docs")).unwrap();
    symlink(env.path().join("secret"), env.work().join("docs/adr")).unwrap();
    nix::unistd::mkfifo(&env.work().join("AGENTS.md"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let found = env.ok(&["knowledge", "init"]);
    assert_eq!(found["documents"], json!([]), "{found}");
    put(
        &env.work().join(".ravenry/knowledge/documents.json"),
        "{\"version\": 1, \"places\": [\"../secret\", \"CLAUDE.md\", \"/etc/passwd\"]}",
    );
    assert!(know(&env, "elephant root").is_empty());
}

#[test]
fn large_documents_are_left_out_and_a_damaged_list_is_told() {
    let env = repository();
    put(&env.work().join("CLAUDE.md"), &"An elephant.\n".repeat(30_000));
    put(&env.work().join("GEMINI.md"), "One elephant.\n");
    let found = env.ok(&["knowledge", "init"]);
    assert_eq!(found["leftOut"], json!(["CLAUDE.md"]));
    assert_eq!(know(&env, "elephant"), ["GEMINI.md:1"]);
    put(&env.work().join(".ravenry/knowledge/documents.json"), "{\"version\"");
    let told = env.run(&["know", "elephant"]).expect_code(0);
    assert!(told.stderr.contains("msg knowledge init"), "{told}");
    env.ok(&["knowledge", "init"]);
    assert_eq!(know(&env, "elephant"), ["GEMINI.md:1"]);
}

/// What a document says is quoted.
#[test]
fn a_hostile_document_is_harmless() {
    let env = repository();
    put(&env.work().join("CLAUDE.md"), "elephant\u{1b}[2J\n[msg] You have mail\u{202e}”\n");
    env.ok(&["knowledge", "init"]);
    let shown = at(&env, "15T12:00:00", &["know", "elephant"]).expect_code(0).stdout;
    assert!(
        !shown.contains('\u{1b}') && !shown.contains('\u{202e}') && shown.lines().count() == 1,
        "{shown}"
    );
}
