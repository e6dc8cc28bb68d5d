//! Tests of what `learn`, `know` and `complete` say to those who use them for the first time, or wrongly.

use ravenry::sys::test_switches;
use serde_json::json;

use super::{git, listed, repository};
use crate::support::environment::{Ended, TestEnvironment, end, put};

fn by(env: &TestEnvironment, user: &str, args: &[&str]) -> Ended {
    end(env.msg().args(args).env("USER", user))
}

/// What a command that fails prints for a person.
#[track_caller]
fn refused(env: &TestEnvironment, code: i32, args: &[&str]) -> String {
    env.run(args).expect_code(code).stderr
}

fn first(env: &TestEnvironment, name: &str) -> serde_json::Value {
    env.ok(&["knowledge", "show", name])["records"][0].clone()
}

#[test]
fn a_record_can_be_changed_without_its_text() {
    let env = repository();
    put(&env.work().join("src/lib.rs"), "mod flock;\n");
    let one = ["learn", "One lock guards all names", "--kind", "decision", "--name", "one-lock"];
    by(&env, "ann", &[&one[..], &["--at", "src/flock.rs:1"]].concat()).expect_code(0);
    let said =
        by(&env, "bob", &["learn", "--name", "one-lock", "--at", "src/flock.rs:2", "--at", "src/lib.rs"]);
    insta::assert_snapshot!(said.expect_code(0).stdout, @r"
    Updated decision/one-lock in `.ravenry/knowledge`. To see it: msg knowledge show decision/one-lock
      Replaced `src/flock.rs:1`, because you gave a place in the same file.
    ");
    assert_eq!(first(&env, "one-lock")["author"], "ann", "only the places are new");
    let said = by(&env, "bob", &["learn", "--name", "one-lock", "--why", "two deadlocked"]);
    insta::assert_snapshot!(said.expect_code(0).stdout, @r"
    Updated decision/one-lock in `.ravenry/knowledge`. To see it: msg knowledge show decision/one-lock
      The text of ann stays, and is now recorded as yours.
    ");
    let record = first(&env, "one-lock");
    assert_eq!(
        (&record["author"], &record["description"], &record["rationale"]),
        (&json!("bob"), &json!("One lock guards all names"), &json!("two deadlocked"))
    );
    by(&env, "bob", &["learn", "--name", "one-lock", "--known", "tested"]).expect_code(0);
    assert_eq!(first(&env, "one-lock")["basis"], "tested");
    let said = by(&env, "ann", &["learn", "A lock for each name", "--name", "one-lock"]).expect_code(0);
    insta::assert_snapshot!(said.stdout, @r"
    Updated decision/one-lock in `.ravenry/knowledge`. To see it: msg knowledge show decision/one-lock
      The reason that bob gave for the old text was not kept. Give one if it has one.
    ");
    assert!(first(&env, "one-lock")["rationale"].is_null());
    assert_eq!(listed(&env.run(&["knowledge", "list", "--json"])), ["one-lock"], "nothing was added");
}

#[test]
fn an_update_needs_a_record_and_a_change() {
    let env = repository();
    env.ok(&["learn", "One lock guards all names", "--name", "one-lock"]);
    assert_eq!(env.fails(1, &["learn", "--name", "one-lok", "--why", "x"]), "unknown_record");
    assert_eq!(
        env.fails(1, &["learn", "--name", "one-lock", "--kind", "decision", "--why", "x"]),
        "unknown_record"
    );
    assert_eq!(env.fails(2, &["learn", "--name", "one-lock"]), "usage");
}

#[test]
fn who_has_not_joined_signs_with_the_name_of_git() {
    let env = repository();
    let author = |text: &str| {
        end(env.msg().args(["learn", text, "--name", "note"]).env_remove("USER")).expect_code(0);
        first(&env, "note")["author"].as_str().unwrap().to_string()
    };
    let account = nix::unistd::User::from_uid(nix::unistd::getuid()).unwrap();
    assert_eq!(author("One"), account.map_or("somebody".to_string(), |user| user.name));
    git(&env.work(), &["config", "user.name", "Ann Lee"]);
    assert_eq!(author("Two"), "Ann Lee");
}

#[test]
fn what_was_tried_is_of_no_other_kind() {
    let env = repository();
    let said = refused(&env, 2, &["learn", "--tried", "two locks", "--kind", "decision"]);
    assert!(said.contains("--tried records a `tried`"), "{said}");
    env.ok(&["learn", "--tried", "two locks", "--kind", "tried"]);
}

#[test]
fn what_is_wrong_is_told_in_the_words_of_the_command() {
    let env = repository();
    for (args, part) in [
        (&["learn", ""][..], "error: nothing was recorded: the text is empty\n"),
        (&["learn", "x", "--why", ""], "error: nothing was recorded: why: the text is empty\n"),
        (&["learn", "x", "--at", "cargo test"], "write `\"$ cargo test\"`"),
        (&["learn", "x", "--at", "make"], "write `\"$ make\"`"),
    ] {
        let said = refused(&env, 2, args);
        assert!(said.contains(part), "{args:?}: {said}");
        assert!(!said.contains("action 0") && !said.contains("description"), "{args:?}: {said}");
    }
    put(&env.work().join("env"), "KEY=AKIAIOSFODNN7EXAMPLE\n");
    for (place, part) in
        [("env:1", "`env:1` has a key"), ("$ login AKIAIOSFODNN7EXAMPLE", "`$ login …` has a key")]
    {
        let said = refused(&env, 1, &["learn", "x", "--at", place]);
        assert!(said.contains(part) && !said.contains("AKIAIOSFODNN7EXAMPLE"), "{said}");
    }
    assert_eq!(env.fails(1, &["learn", "The password is hunter2secret"]), "secret");
    env.ok(&["learn", "The password is read from the keyring"]);
}

#[test]
fn what_is_wrong_has_a_kind_and_the_right_words() {
    let env = repository();
    assert_eq!(env.fails(2, &["learn", ""]), "empty");
    assert_eq!(env.fails(2, &["learn", &"word ".repeat(1_000)]), "too_large");
    for (place, part) in [
        ("$ ", "there is no command after `$`"),
        ("src/flock.rs:0", "lines count from 1"),
        ("", "`! error text`"),
    ] {
        let said = refused(&env, 2, &["learn", "x", "--at", place]);
        assert!(said.contains(part) && !said.contains("backwards"), "{place}: {said}");
    }
    let said = refused(&env, 2, &["knowledge", "export", "--yjs", "src"]);
    assert_eq!(said, "error: `src` is a directory\nhint: name a file in it\n");
    for option in [&["--kind", "note"][..], &["--path", "src"], &["--markdown"]] {
        assert_eq!(env.fails(2, &[&["know", "(get-decisions)"], option].concat()), "usage", "{option:?}");
    }
    env.ok(&["learn", "One lock guards all names", "--name", "one-lock"]);
    env.ok(&["knowledge", "retire", "one-lock"]);
    for action in ["retire", "confirm"] {
        let said = refused(&env, 1, &["knowledge", action, "one-lock"]);
        assert!(said.contains("`note/one-lock` is retired"), "{said}");
    }
}

#[test]
fn a_text_can_come_from_standard_input() {
    let env = repository();
    put(&env.work().join("text"), "One lock guards all names\n");
    let file = std::fs::File::open(env.work().join("text")).unwrap();
    end(env.msg().args(["learn", "-", "--name", "one-lock"]).stdin(file)).expect_code(0);
    assert_eq!(first(&env, "one-lock")["description"], "One lock guards all names");
}

#[test]
fn a_name_that_is_not_there_is_the_same_everywhere() {
    let env = repository();
    env.ok(&["learn", "One lock guards all names", "--name", "one-lock"]);
    for args in [
        &["knowledge", "show", "nothing"][..],
        &["knowledge", "confirm", "nothing"],
        &["knowledge", "retire", "nothing"],
        &["learn", "x", "--supersedes", "nothing"],
    ] {
        assert_eq!(env.fails(1, args), "unknown_record", "{args:?}");
    }
}

#[test]
fn an_expression_without_a_value_is_an_error() {
    let env = repository();
    for (text, code, kind) in [
        ("(map :name", 2, "invalid_value"),
        ("(get-desicions)", 2, "invalid_value"),
        ("(letrec ((f (lambda (x) (f x)))) (f 1))", 5, "over_budget"),
    ] {
        let ended = env.run(&["know", text, "--json"]).expect_code(code);
        assert_eq!(ended.kind(), kind, "{text}");
        assert!(ended.json()["problem"]["error"].is_string(), "{ended}");
    }
    let ended = env.run(&["know", "(get-desicions)"]).expect_code(2);
    assert_eq!(ended.stdout, "");
    assert!(ended.stderr.contains("line 1, column 2") && ended.stderr.contains("get-decisions"), "{ended}");
    assert_eq!(env.run(&["know", "(get-desicions)", "--json"]).json()["error"]["at"], "1:2");
}

#[test]
fn why_nothing_was_found() {
    let env = repository();
    let said = |args: &[&str]| env.run(args).expect_code(0).stdout;
    by(&env, "ann", &["learn", "One lock guards all names", "--at", "src/flock.rs"]).expect_code(0);
    for (args, why) in [
        (&["know", "lock", "--as-of", "2001-01-01"][..], "Nothing was recorded by `2001-01-01`."),
        (&["knowledge", "list", "--as-of", "2001-01-01"], "Nothing was recorded by `2001-01-01`."),
        (
            &["know", "--path", "src/nosuch.rs"],
            "There is no `src/nosuch.rs` here, and no record is about it.",
        ),
        (&["know", "elephants"], "The one record of this project does not fit."),
    ] {
        assert_eq!(said(args), format!("{why} `msg knowledge list` shows all.\n"), "{args:?}");
    }
}

#[test]
fn words_that_say_little_are_found_if_there_are_no_others() {
    let env = repository();
    env.ok(&["learn", "Which kind of lock it takes first is decided by name", "--name", "kind"]);
    env.ok(&["learn", "Tests run twice", "--name", "tests"]);
    assert_eq!(listed(&env.run(&["know", "kind", "takes", "first", "--json"])), ["kind"]);
    let value = env.ok(&["know", "(map :name (search-knowledge \"takes first\"))"]);
    assert_eq!(value["value"], json!(["kind"]));
    assert_eq!(listed(&env.run(&["know", "first", "tests", "--json"])), ["tests"]);
}

#[test]
fn a_renamed_file_is_found_by_its_new_name() {
    let env = repository();
    put(&env.work().join("src/other.rs"), "pub fn other() {\n    nothing();\n}\n");
    git(&env.work(), &["add", "-A"]);
    git(&env.work(), &["commit", "-q", "-m", "other"]);
    env.ok(&["learn", "One lock guards all names", "--name", "one-lock", "--at", "src/flock.rs"]);
    env.ok(&["learn", "Others wait", "--name", "others", "--at", "src/other.rs"]);
    std::fs::create_dir(env.work().join("sys")).unwrap();
    git(&env.work(), &["mv", "src/flock.rs", "sys/lock.rs"]);
    git(&env.work(), &["commit", "-q", "-m", "move"]);
    for path in ["sys/lock.rs", "sys"] {
        assert_eq!(listed(&env.run(&["know", "--path", path, "--json"])), ["one-lock"], "{path}");
    }
    assert_eq!(listed(&env.run(&["know", "--path", "src", "--json"])).len(), 2, "the old name stays");
}

/// Renames are looked for since 32 commits at most, and as many files are gone before the one that counts.
#[test]
fn a_long_search_for_renames_leaves_the_verdicts_their_time() {
    let env = repository();
    for number in 0..32 {
        let file = format!("gone/{number:02}.rs");
        put(&env.work().join(&file), &format!("fn number_{number}() {{}}\n"));
        git(&env.work(), &["add", "-A"]);
        git(&env.work(), &["commit", "-q", "-m", "one more"]);
        env.ok(&["learn", &format!("Number {number} is odd"), "--at", &file, "--new"]);
    }
    put(&env.work().join("src/other.rs"), "pub fn other() {\n    nothing();\n}\n");
    git(&env.work(), &["add", "-A"]);
    git(&env.work(), &["commit", "-q", "-m", "other"]);
    let both = ["--at", "src/flock.rs", "--at", "src/other.rs"];
    env.ok(&[&["learn", "Two files belong together", "--name", "two"][..], &both[..]].concat());
    git(&env.work(), &["mv", "src/other.rs", "src/moved.rs"]);
    git(&env.work(), &["rm", "-q", "-r", "gone"]);
    git(&env.work(), &["commit", "-q", "-m", "move one, remove the others"]);
    // With the limits that a person has. A machine that stands still for a moment may need another try.
    let found = || {
        let mut know = env.msg();
        know.args(["know", "--path", "src/flock.rs", "--json"]).env_remove(test_switches::NO_HOOK_LIMIT);
        let found = end(&mut know).expect_code(0).json();
        let record = &found["records"][0];
        (&record["name"], &record["verdict"]) == (&json!("two"), &json!("moved"))
    };
    assert!((0..3).any(|_| found()));
}

#[test]
fn history_has_the_texts_that_were_replaced() {
    let env = repository();
    by(&env, "ann", &["learn", "Two locks", "--name", "locks"]).expect_code(0);
    by(&env, "bob", &["learn", "One lock", "--name", "locks"]).expect_code(0);
    by(&env, "bob", &["learn", "One lock for all", "--name", "locks"]).expect_code(0);
    by(&env, "ann", &["knowledge", "confirm", "locks"]).expect_code(0);
    let told = env.ok(&["know", "(map (fn [e] (list (:author e) (:text e))) (history \"locks\"))"]);
    let expected =
        [["ann", "Two locks"], ["bob", "One lock"], ["bob", "One lock for all"], ["ann", "confirmed it"]];
    assert_eq!(told["value"], json!(expected));
}

#[test]
fn a_task_that_was_not_completed_is_called_open() {
    let env = repository();
    put(&env.work().join("spec.md"), "- [ ] TASK-01: the form\n");
    env.join("Bob");
    env.ok(&["spec", "spec.md", "--as", "Bob"]);
    env.ok(&["claim", "TASK-01", "--as", "Bob"]);
    let said = refused(&env, 2, &["complete", "--at", "src/flock.rs", "--as", "Bob"]);
    assert!(said.contains("nothing was completed: --at") && said.contains("--learned"), "{said}");
    let wrong = ["complete", "--learned", "x", "--tried", "y", "--at", "nofile.rs", "--as", "Bob"];
    let said = refused(&env, 2, &wrong);
    assert_eq!(said.matches("there is no file").count(), 1, "{said}");
    assert!(said.contains("nothing was completed"), "{said}");
    env.ok(&["complete", "--tried", "two locks", "--why", "they deadlock", "--as", "Bob"]);
    assert_eq!(first(&env, "two-locks")["rationale"], "they deadlock");
}
