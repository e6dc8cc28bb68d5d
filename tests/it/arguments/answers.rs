//! Tests of the answers to missing, unusual or imprecise arguments.

use std::fs;

use insta::assert_snapshot;
use serde_json::Value;

use crate::support::environment::{TestEnvironment, put};
use crate::texts::{NOW, in_terminal};

fn with_spec(text: &str) -> TestEnvironment {
    let env = TestEnvironment::at(NOW);
    env.join("Alice");
    put(&env.work().join("spec.md"), text);
    env.ok(&["spec", "spec.md", "--as", "Alice"]);
    env
}

#[test]
fn a_missing_argument_is_answered_with_examples() {
    let env = TestEnvironment::new();
    let commands =
        [&["whois"][..], &["claim"], &["reserve"], &["config", "set", "mesh"], &["guard"], &["uninstall"]];
    assert_snapshot!(env.transcript(&commands), @r#"
    $ msg whois
    [exit 2]
    --- stderr
    error: `msg whois` needs NAME
    Examples:
      msg whois GoldFalcon
      msg whois GoldFalcon --json
    hint: run `msg whois --help` for all options

    $ msg claim
    [exit 2]
    --- stderr
    error: `msg claim` needs TASK or --next
    Examples:
      msg claim --next                          the first that is ready
      msg claim TASK-03
      msg claim TASK-03 --reserve src/auth/     with the paths that it needs, or neither
      msg claim cleanup --adhoc                 a task that is not in the spec
    hint: run `msg claim --help` for all options

    $ msg reserve
    [exit 2]
    --- stderr
    error: `msg reserve` needs PATTERN
    Examples:
      msg reserve src/auth/ --reason "new login"
      msg reserve 'src/**/*.sql' Cargo.toml
      msg reserve docs/ --ttl 30m          for half an hour
      msg reserve --repo Cargo.lock        in every work tree of this repository
      msg reserve @git/index @port:3000    things that are not files
      msg reserve src/auth/                again: renews it
    hint: run `msg reserve --help` for all options

    $ msg config set mesh
    [exit 2]
    --- stderr
    error: `msg config set` needs VALUE
    Examples:
      msg config set nameTheme space
      msg config set --project stuckThreshold 600
    hint: run `msg config set --help` for all options

    $ msg guard
    [exit 2]
    --- stderr
    error: `msg guard` needs one of: install, uninstall, check
    Examples:
      msg guard install
      msg guard check             would a commit of what is staged be refused?
      msg guard uninstall         the hook is what it was before
    hint: run `msg guard --help` for all options

    $ msg uninstall
    [exit 2]
    --- stderr
    error: `msg uninstall` needs HARNESS
    Examples:
      msg uninstall claude
      msg uninstall all --dry-run     the changes as a diff; nothing is written
      msg uninstall claude --project
    hint: run `msg uninstall --help` for all options
    "#);
    for args in commands {
        let error = env.run(&[args, &["--json"]].concat()).expect_code(2).json()["error"].clone();
        assert_eq!(error["kind"], "usage");
        let examples = error["examples"].as_array().unwrap().iter().map(|line| line.as_str().unwrap());
        let start = format!("error: {}\nExamples:\n", error["message"].as_str().unwrap());
        let text = examples.fold(start, |text, example| format!("{text}  {example}\n"));
        assert!(env.run(args).stderr.starts_with(&text), "{text}");
    }
}

#[test]
fn a_wrong_argument_is_answered_in_our_words() {
    let env = TestEnvironment::new();
    let commands = [
        &["jion"][..],
        &["agents", "--hree"],
        &["send", "Bob", "hi", "there"],
        &["send", "Bo", "--want-akc", "text"],
        &["send", "Bo", "--", "-h", "--as", "Al"],
        &["history", "--limit", "-1"],
        &["join", "--pid", "shell"],
        &["completions", "tcsh"],
        &["complete", "T", "--notes"],
        &["config", "nosuch"],
    ];
    assert_snapshot!(env.transcript(&commands), @r#"
    $ msg jion
    [exit 2]
    --- stderr
    error: there is no command `jion`
    hint: did you mean `join`?
    hint: run `msg help` for the list of commands

    $ msg agents --hree
    [exit 2]
    --- stderr
    error: `msg agents` has no option `--hree`
    hint: did you mean `--here`?
    hint: run `msg agents --help` for all options

    $ msg send Bob hi there
    [exit 2]
    --- stderr
    error: unexpected argument `there`
    Examples:
      msg send GoldFalcon "auth is ready for review"
      msg send GoldFalcon,Robin "sync at noon?" --want-ack
      msg send GoldFalcon --file notes.md --importance high
      msg send @spec "TASK-04 needs a new field, see docs/plan.md"
      msg send GoldFalcon --kind question "may I change the login route?"
    hint: put the text in quotes
    hint: run `msg send --help` for all options

    $ msg send Bo --want-akc text
    [exit 2]
    --- stderr
    error: unexpected argument `text`
    Examples:
      msg send GoldFalcon "auth is ready for review"
      msg send GoldFalcon,Robin "sync at noon?" --want-ack
      msg send GoldFalcon --file notes.md --importance high
      msg send @spec "TASK-04 needs a new field, see docs/plan.md"
      msg send GoldFalcon --kind question "may I change the login route?"
    hint: did you mean `--want-ack`?
    hint: run `msg send --help` for all options

    $ msg send Bo -- -h --as Al
    [exit 2]
    --- stderr
    error: unexpected argument `--as`: after `--` every word is text
    Examples:
      msg send GoldFalcon "auth is ready for review"
      msg send GoldFalcon,Robin "sync at noon?" --want-ack
      msg send GoldFalcon --file notes.md --importance high
      msg send @spec "TASK-04 needs a new field, see docs/plan.md"
      msg send GoldFalcon --kind question "may I change the login route?"
    hint: put options before `--`
    hint: run `msg send --help` for all options

    $ msg history --limit -1
    [exit 2]
    --- stderr
    error: invalid value `-1` for `--limit`: expected a whole number, 1 or more
    hint: run `msg history --help` for all options

    $ msg join --pid shell
    [exit 2]
    --- stderr
    error: invalid value `shell` for `--pid`: expected a number
    hint: run `msg join --help` for all options

    $ msg completions tcsh
    [exit 2]
    --- stderr
    error: invalid value `tcsh` for SHELL
    hint: expected one of: bash, elvish, fish, powershell, zsh
    hint: did you mean `zsh`?
    hint: run `msg completions --help` for all options

    $ msg complete T --notes
    [exit 2]
    --- stderr
    error: `--notes` needs a value
    hint: run `msg complete --help` for all options

    $ msg config nosuch
    [exit 2]
    --- stderr
    error: `msg config` has no command `nosuch`
    hint: run `msg config --help` for all options
    "#);
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
}

#[test]
fn ack_alone_lists_what_waits_for_it() {
    let env = TestEnvironment::at(NOW);
    env.join("Alice");
    env.join("Bob");
    assert_eq!(
        env.run(&["ack", "--as", "Bob"]).expect_code(0).stdout,
        "No message needs an ack. `msg inbox` shows what is unread.\n"
    );
    let sent = env.ok(&["send", "Bob", "sign here", "--want-ack", "--as", "Alice"]);
    env.ok(&["read", "--as", "Bob"]);
    let owed = env.ok(&["ack", "--as", "Bob"]);
    assert_eq!(
        (&owed["oweAck"][0]["text"], &owed["acked"]),
        (&"sign here".into(), &Value::Array(Vec::new()))
    );
    let short = sent["sent"][0]["short"].as_str().unwrap();
    let list = env.run(&["ack", "--as", "Bob"]).to_string();
    assert_snapshot!(list.replace(short, "[ID]"), @"
    Alice → Bob  0s ago  [ID]  wants an ack
      sign here
    ");
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
    assert_snapshot!(env.transcript(&[&["spec", "--as", "Alice"], &["tasks", "--as", "Alice"]]), @"
    $ msg spec --as Alice
    [DIR]/work/spec.md: no tasks in it; a task is `- [ ] TASK-01: …`
    --- stderr
    note: 2 boxes have no id and are not tasks: write `- [ ] TASK-01: …`

    $ msg tasks --as Alice
    There are no tasks in the spec. A task is a line such as `- [ ] TASK-01: Log in`.
    --- stderr
    note: 2 boxes have no id and are not tasks: write `- [ ] TASK-01: …`
    ");
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
    assert_snapshot!(env.redact(env.run(&["tasks", "--as", "Alice"])), @"
    [DIR]/work/spec.md  ░░░░░░░░░░░░░░░░░░░░  0 of 3 done, 1 claimed, 2 ready, 0 blocked
    T-1      ready                  One
    T-2      ready                  Two
    cleanup  claimed  Alice for 0s
    ");
    env.ok(&["complete", "--as", "Alice"]);
    assert_snapshot!(env.redact(env.run(&["tasks", "--as", "Alice"])), @"
    [DIR]/work/spec.md  ██████░░░░░░░░░░░░░░  1 of 3 done, 0 claimed, 2 ready, 0 blocked
    T-1      ready                    One
    T-2      ready                    Two
    cleanup  done   Alice, only said
    ");
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
        assert_eq!(env.fails(2, &["wait", "--timeout", bad, "--as", "Alice"]), "invalid_value");
    }
    let wrong = [
        &["reserve", "x", "--ttl", "5x"][..],
        &["reserve", "x", "--ttl", "-1"],
        &["wait", "--timeout", "soon"],
    ];
    assert_snapshot!(env.transcript(&wrong), @"
    $ msg reserve x --ttl 5x
    [exit 2]
    --- stderr
    error: invalid duration `5x` for `--ttl`
    hint: expected for example 90s, 10m, 2h or 1d

    $ msg reserve x --ttl -1
    [exit 2]
    --- stderr
    error: `msg reserve` has no option `-1`
    hint: run `msg reserve --help` for all options

    $ msg wait --timeout soon
    [exit 2]
    --- stderr
    error: invalid duration `soon` for `--timeout`
    hint: expected for example 90s, 10m, 2h or 1d
    ");
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
fn quiet_prints_the_names_of_records() {
    let env = with_spec("- [ ] T-1: One\n");
    put(&env.work().join("docs/adr/0001.md"), "# Use flock\n\n## Context\n\nNames race.\n");
    put(
        &env.work().join("batch.json"),
        "{\"actions\": [[\"record-tried\", {\"description\": \"two locks\"}], [\"confirm\", {\"name\": \"two-locks\"}]]}",
    );
    let quiet = |args: &[&str]| env.run(&[args, &["-q", "--as", "Alice"]].concat()).expect_code(0).stdout;
    assert_eq!(quiet(&["learn", "One lock guards all names", "--name", "one-lock"]), "note/one-lock\n");
    assert_eq!(quiet(&["record", "batch.json"]), "tried/two-locks\n");
    env.ok(&["claim", "T-1", "--as", "Alice"]);
    assert_eq!(quiet(&["complete", "--learned", "Names race"]), "note/names-race\n");
    assert_eq!(quiet(&["know", "guards"]), "note/one-lock\n");
    assert_eq!(quiet(&["know", "elephants"]), "");
    let mut all: Vec<String> = quiet(&["knowledge", "list"]).lines().map(str::to_string).collect();
    all.sort();
    assert_eq!(all, ["note/names-race", "note/one-lock", "tried/two-locks"]);
    assert_eq!(quiet(&["knowledge", "show", "one-lock"]), "note/one-lock\n");
    assert_eq!(quiet(&["knowledge", "log", "one-lock"]), "note/one-lock\n");
    assert_eq!(quiet(&["knowledge", "stats"]), "");
    assert_eq!(quiet(&["knowledge", "init"]), "docs/adr\n");
    assert_eq!(quiet(&["know", "flock"]), "docs/adr/0001.md:1\n");
    assert_eq!(quiet(&["knowledge", "publish", "one-lock"]), "docs/knowledge/note/one-lock.md\n");
    assert_eq!(quiet(&["suggest"]), "");
    assert_eq!(quiet(&["knowledge", "retire", "two-locks"]), "");
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
    let env = TestEnvironment::at(NOW);
    for name in ["Alice", "Bob", "Carol"] {
        env.join(name);
    }
    env.ok(&["reserve", "src/auth/", "--reason", "login", "--as", "Alice"]);
    env.ok(&["reserve", "docs/", "--as", "Bob"]);
    let commands = [
        &["reserve", "src/auth/x.rs", "--as", "Carol"][..],
        &["reserve", "src/auth", "--as", "Carol"],
        &["reserve", "src/", "docs/x", "--as", "Carol"],
        &["reserve", "../work", "--as", "Carol"],
        &["check", "docs/a", "src/auth/b", "--as", "Carol"],
    ];
    assert_snapshot!(env.transcript(&commands), @r#"
    $ msg reserve src/auth/x.rs --as Carol
    [exit 1]
    --- stderr
    error: Alice holds `src/auth/` (0s), which covers `src/auth/x.rs`: “login”
    hint: ask: `msg send Alice "…"`; you get a message when it is free

    $ msg reserve src/auth --as Carol
    [exit 1]
    --- stderr
    error: Alice holds `src/auth/` (0s): “login”
    hint: ask: `msg send Alice "…"`; you get a message when it is free

    $ msg reserve src/ docs/x --as Carol
    [exit 1]
    --- stderr
    error: Alice holds `src/auth/` (0s), which overlaps `src/`: “login”; also in the way: Bob (`docs/`)
    hint: ask: `msg send Alice "…"`; you get a message when it is free

    $ msg reserve ../work --as Carol
    [exit 1]
    --- stderr
    error: Alice holds `src/auth/` (0s), which overlaps `[DIR]/work`: “login”; also in the way: Bob (`docs/`)
    hint: ask: `msg send Alice "…"`; you get a message when it is free

    $ msg check docs/a src/auth/b --as Carol
    [exit 1]
    held  docs/a  Bob
    held  src/auth/b  Alice
    --- stderr
    error: Bob holds `docs/` (0s), which covers `docs/a`; also in the way: Alice (`src/auth/`)
    hint: ask: `msg send Bob "…"`
    "#);
}
