//! Tests of the answers to missing, unusual or imprecise arguments.

use std::fs;

use serde_json::Value;

use crate::support::environment::{TestEnvironment, put};
use crate::texts::in_terminal;

fn with_spec(text: &str) -> TestEnvironment {
    let env = TestEnvironment::new();
    env.join("Alice");
    put(&env.work().join("spec.md"), text);
    env.ok(&["spec", "spec.md", "--as", "Alice"]);
    env
}

#[test]
fn a_missing_argument_is_answered_with_examples() {
    let env = TestEnvironment::new();
    for (args, needs, example) in [
        (&["whois"][..], "`msg whois` needs NAME", "msg whois GoldFalcon"),
        (&["claim"], "`msg claim` needs TASK or --next", "msg claim --next"),
        (&["reserve"], "`msg reserve` needs PATTERN", "msg reserve src/auth/ --reason \"new login\""),
        (&["config", "set", "mesh"], "`msg config set` needs VALUE", "msg config set nameTheme space"),
        (&["guard"], "`msg guard` needs one of: install, uninstall, check", "msg guard install"),
        (&["uninstall"], "`msg uninstall` needs HARNESS", "msg uninstall claude"),
    ] {
        let ended = env.run(args).expect_code(2);
        assert_eq!(ended.stdout, "", "{args:?}");
        assert!(ended.stderr.starts_with(&format!("error: {needs}\nExamples:\n")), "{args:?}: {ended}");
        assert!(ended.stderr.contains(&format!("\n  {example}")), "{args:?}: {ended}");
        assert!(ended.stderr.contains("\nhint: run `msg "), "{args:?}: {ended}");
        let error = env.run(&[args, &["--json"]].concat()).expect_code(2).json()["error"].clone();
        assert_eq!((&error["kind"], &error["message"]), (&"usage".into(), &needs.into()));
        let examples = error["examples"].as_array().unwrap();
        assert!(examples.iter().any(|line| line.as_str().unwrap().starts_with(example)), "{error}");
    }
}

#[test]
fn a_wrong_argument_is_answered_in_our_words() {
    let env = TestEnvironment::new();
    for (args, expected) in [
        (&["jion"][..], "error: there is no command `jion`\nhint: did you mean `join`?\n"),
        (&["agents", "--hree"], "error: `msg agents` has no option `--hree`\nhint: did you mean `--here`?\n"),
        (&["send", "Bob", "hi", "there"], "error: unexpected argument `there`\nExamples:\n"),
        (
            &["history", "--limit", "-1"],
            "error: invalid value `-1` for `--limit`: expected a whole number, 1 or more\n",
        ),
        (&["join", "--pid", "shell"], "error: invalid value `shell` for `--pid`: expected a number\n"),
        (&["completions", "tcsh"], "error: invalid value `tcsh` for SHELL\nhint: expected one of: bash, "),
        (&["complete", "T", "--notes"], "error: `--notes` needs a value\n"),
        (&["config", "nosuch"], "error: `msg config` has no command `nosuch`\n"),
    ] {
        let ended = env.run(args).expect_code(2);
        assert!(ended.stderr.starts_with(expected), "{args:?}: {ended}");
    }
    for args in [
        &["read", "-n", "0"][..],
        &["install", "nosuch"],
        &["agents", "--color", "x"],
        &["join", "--pid", "x"],
        &["completions", "x"],
        &["selftest", "--promise", "99"],
    ] {
        assert_eq!(env.fails(2, args), "invalid_value", "{args:?}");
    }
    let ended = env.run(&["send", "Bo", "--want-akc", "text"]).expect_code(2);
    assert!(ended.stderr.contains("hint: did you mean `--want-ack`?\n"), "{ended}");
    let ended = env.run(&["send", "Bo", "--", "-h", "--as", "Al"]).expect_code(2);
    assert!(
        ended.stderr.starts_with("error: unexpected argument `--as`: after `--` every word is text\n"),
        "{ended}"
    );
    assert!(ended.stderr.contains("hint: put options before `--`\n"), "{ended}");
    let ended = env.run(&["send", "Bob", "hi", "there"]);
    assert!(ended.stderr.contains("hint: put the text in quotes\n"), "{ended}");
}

#[test]
fn ack_alone_lists_what_waits_for_it() {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.join("Bob");
    assert_eq!(env.run(&["ack", "--as", "Bob"]).expect_code(0).stdout, "No message needs an ack.\n");
    let sent = env.ok(&["send", "Bob", "sign here", "--want-ack", "--as", "Alice"]);
    env.ok(&["read", "--as", "Bob"]);
    let owed = env.ok(&["ack", "--as", "Bob"]);
    assert_eq!(
        (&owed["oweAck"][0]["text"], &owed["acked"]),
        (&"sign here".into(), &Value::Array(Vec::new()))
    );
    let text = env.run(&["ack", "--as", "Bob"]).expect_code(0).stdout;
    assert!(
        text.contains("sign here") && text.contains(sent["sent"][0]["short"].as_str().unwrap()),
        "{text}"
    );
    let letters = env.run(&["ack", "-q", "--as", "Bob"]).expect_code(0).stdout;
    env.ok(&["ack", letters.trim(), "--as", "Bob"]);
    assert!(env.ok(&["ack", "--as", "Bob"])["oweAck"].as_array().unwrap().is_empty());
}

#[test]
fn complete_alone_completes_the_one_task() {
    let env = with_spec("- [ ] T-1: One\n");
    assert_eq!(env.fails(1, &["complete", "--as", "Alice"]), "not_claimed");
    env.ok(&["claim", "--next", "--as", "Alice"]);
    assert_eq!(env.ok(&["complete", "--as", "Alice"])["completion"]["task"], "T-1");
}

#[test]
fn a_task_is_found_in_any_case_and_without_zeros() {
    let env = with_spec("- [ ] TASK-01: One\n- [ ] TASK-02: Two\n- [ ] TASK-10: Ten\n");
    env.join("Bob");
    assert_eq!(env.ok(&["claim", "task-1", "--as", "Alice"])["claim"]["task"], "TASK-01");
    assert_eq!(env.ok(&["claim", "Task-01", "--as", "Alice"])["claim"]["task"], "TASK-01", "it is hers");
    assert_eq!(env.ok(&["unclaim", "task-01", "--as", "Alice"])["claim"]["task"], "TASK-01");
    env.ok(&["claim", "TASK-1", "--as", "Alice"]);
    assert_eq!(env.ok(&["handoff", "task-1", "Bob", "--as", "Alice"])["claim"]["task"], "TASK-01");
    assert_eq!(env.ok(&["complete", "task-001", "--as", "Bob"])["completion"]["task"], "TASK-01");
    assert_eq!(env.fails(1, &["claim", "task-3", "--as", "Alice"]), "unknown_task");
    assert_eq!(env.ok(&["claim", "task-2", "--adhoc", "--as", "Alice"])["claim"]["task"], "task-2");
}

#[test]
fn boxes_without_an_id_are_told() {
    let env = with_spec("- [ ] Add tests\n- [x] Write it\n");
    let spec = env.ok(&["spec", "--as", "Alice"]);
    assert_eq!((&spec["tasks"], &spec["boxesWithoutId"]), (&0.into(), &2.into()));
    for command in ["spec", "tasks"] {
        let told = env.run(&[command, "--as", "Alice"]).expect_code(0);
        assert!(
            told.stderr.contains("2 boxes have no id") && told.stderr.contains("`- [ ] TASK-01: …`"),
            "{told}"
        );
    }
    // Steps of a task are not tasks.
    put(&env.work().join("spec.md"), "- [ ] T-1: One\n  - [ ] first this\n\n## T-2: Two\n\n- [ ] and that\n");
    assert_eq!(env.ok(&["spec", "--as", "Alice"])["boxesWithoutId"], 0);
    assert!(env.run(&["spec", "--help"]).stdout.contains("- [ ] TASK-01: "));
}

#[test]
fn tasks_without_a_spec_say_so() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let told = env.run(&["tasks", "--as", "Alice"]).expect_code(0);
    assert_eq!(told.stdout, "You have no spec. Set one with `msg spec PATH`.\n");
}

#[test]
fn titles_are_cut_on_a_terminal_only() {
    let title = "A title that goes on and on, well beyond what fits into a line with all the rest of it";
    let env = with_spec(&format!("- [ ] T-1: {title}\n"));
    assert!(env.run(&["tasks", "--as", "Alice"]).stdout.contains(title));
    assert_eq!(env.ok(&["tasks", "--as", "Alice"])["tasks"][0]["title"], title);
    let mut command = env.msg();
    command.args(["tasks", "--as", "Alice"]);
    let (shown, _) = in_terminal(command);
    assert!(!shown.contains(title) && shown.contains('…'), "{shown}");
}

#[test]
fn the_summary_counts_every_task_that_is_listed() {
    let env = with_spec("- [ ] T-1: One\n- [ ] T-2: Two\n");
    env.ok(&["claim", "cleanup", "--adhoc", "--as", "Alice"]);
    let text = env.run(&["tasks", "--as", "Alice"]).stdout;
    assert!(text.contains("0 of 3 done, 1 claimed, 2 ready, 0 blocked"), "{text}");
    assert_eq!(text.matches("  ready").count(), 2, "{text}");
    env.ok(&["complete", "--as", "Alice"]);
    assert!(env.run(&["tasks", "--as", "Alice"]).stdout.contains("1 of 3 done"));
    // Whether everything is done depends on the spec.
    put(&env.work().join("spec.md"), "- [x] T-1: One\n");
    env.join("Bob");
    env.ok(&["claim", "more", "--adhoc", "--as", "Alice"]);
    assert_eq!(env.fails(1, &["claim", "--next", "--spec", "spec.md", "--as", "Bob"]), "all_done");
}

#[test]
fn durations_are_written_one_way_everywhere() {
    let env = TestEnvironment::new();
    env.join("Alice");
    for (text, seconds) in [("90", 90), ("90s", 90), ("10m", 600), ("2h", 7200)] {
        let held = env.ok(&["reserve", "x", "--ttl", text, "--as", "Alice"])["reservations"][0].clone();
        let at = |key: &str| held[key].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
        assert_eq!(at("expiresAt").duration_since(at("since")).as_secs(), seconds, "{text}");
        env.ok(&["release", "--as", "Alice"]);
        // With unread mail, `wait` returns at once.
        env.ok(&["send", "Alice", "hi", "--as", "Alice"]);
        env.ok(&["wait", "--timeout", text, "--as", "Alice"]);
    }
    for bad in ["5x", "-1", "soon"] {
        for args in [&["reserve", "x", "--ttl"][..], &["wait", "--timeout"]] {
            let ended = env.run(&[args, &[bad, "--as", "Alice"]].concat()).expect_code(2);
            assert!(!ended.stderr.contains("literal"), "{ended}");
        }
        assert_eq!(env.fails(2, &["wait", "--timeout", bad, "--as", "Alice"]), "invalid_value");
    }
}

#[test]
fn quiet_prints_the_bare_answer() {
    let env = with_spec("- [ ] T-1: One\n");
    let quiet = |args: &[&str]| env.run(&[args, &["-q", "--as", "Alice"]].concat()).expect_code(0).stdout;
    let host = env.host().to_string();
    let joined = env.run(&["join", "-q", "--pid", &host]).expect_code(0).stdout;
    assert!(env.names().contains(&joined.trim().to_string()), "{joined}");
    assert_eq!(quiet(&["whois", "Alice"]), "Alice\n");
    assert_eq!(quiet(&["tasks"]), "T-1\n");
    assert_eq!(quiet(&["claim", "--next"]), "T-1\n");
    assert_eq!(quiet(&["reserve", "src/"]), "");
    assert_eq!(quiet(&["reservations"]), "src/\n");
    let spec = fs::canonicalize(env.work().join("spec.md")).unwrap();
    assert_eq!(quiet(&["spec"]), format!("{}\n", spec.display()));
    let sent = |from: &str, to: &str| {
        let sent = env.ok(&["send", to, "hi", "--as", from])["sent"][0]["short"].clone();
        format!("{}\n", sent.as_str().unwrap())
    };
    let id = quiet(&["send", joined.trim(), "hi"]);
    assert_eq!(quiet(&["receipt", id.trim()]), "stored\n");
    assert_eq!(quiet(&["history", "--limit", "1"]), id);
    assert_eq!(quiet(&["broadcast", "hi"]).lines().count(), 1);
    assert_eq!(quiet(&["receipt", sent("Alice", joined.trim()).trim()]), "stored\n");
    assert_eq!(sent(joined.trim(), "Alice"), quiet(&["inbox"]));
    env.ok(&["leave", "--as", joined.trim()]);
    assert_eq!(quiet(&["agents", "--gone"]), joined);
}

#[test]
fn here_is_the_folder_above_and_below_without_git() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let (below, beside) = (env.work().join("a/b"), env.path().join("other"));
    fs::create_dir_all(&below).unwrap();
    fs::create_dir_all(&beside).unwrap();
    let here = |dir: &std::path::Path| {
        let mut command = env.msg();
        let ended =
            crate::support::environment::end(command.args(["agents", "--here", "-q"]).current_dir(dir));
        ended.expect_code(0).stdout
    };
    assert_eq!(here(&below), "Alice\n");
    assert_eq!(here(env.path()), "Alice\n");
    assert_eq!(here(&beside), "");
    fs::create_dir(below.join(".git")).unwrap();
    put(&below.join(".git/HEAD"), "ref: refs/heads/main\n");
    assert_eq!(here(&below), "", "a work tree of its own");
}

#[test]
fn a_refusal_names_what_is_in_the_way() {
    let env = TestEnvironment::new();
    for name in ["Alice", "Bob", "Carol"] {
        env.join(name);
    }
    env.ok(&["reserve", "src/auth/", "--reason", "login", "--as", "Alice"]);
    env.ok(&["reserve", "docs/", "--as", "Bob"]);
    let refused = |args: &[&str]| env.run(&[args, &["--as", "Carol"]].concat()).expect_code(1).stderr;
    let text = refused(&["reserve", "src/auth/x.rs"]);
    assert!(text.starts_with("error: Alice holds `src/auth/` ("), "{text}");
    assert!(text.contains("s), which covers `src/auth/x.rs`: “login”\n"), "{text}");
    let text = refused(&["reserve", "src/auth"]);
    assert!(text.contains("s): “login”\n"), "{text}");
    let text = refused(&["reserve", "src/", "docs/x"]);
    assert!(text.contains("which overlaps `src/`: “login”; also in the way: Bob (`docs/`)\n"), "{text}");
    let text = refused(&["reserve", "../work"]);
    assert!(text.contains("/work`") && !text.contains("`.`"), "{text}");
    assert!(refused(&["check", "docs/a", "src/auth/b"]).contains("also in the way: Alice (`src/auth/`)"));
}
