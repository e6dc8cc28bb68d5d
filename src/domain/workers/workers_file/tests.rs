//! What `workers.toml` may say, and what is told about what it may not.

use std::time::Duration;

use super::*;
use crate::domain::runs::MicroUsd;
use crate::domain::workers::{
    Budget, DialogAnswer, Instructions, Isolation, Profile, RestrictedKeys, Triage, WorkerProgram,
    WorkersLayer, merge_workers, shipped_profiles,
};

const ALPHA: Harness = Harness::named("alpha");
const BETA: Harness = Harness::named("beta");

fn parse(text: &str) -> WorkersFile {
    WorkersFile::parse(text, ProfileOrigin::Project, &[ALPHA, BETA])
}

/// The problems as `line:column message`.
fn problems(text: &str) -> Vec<String> {
    let shown = |problem: &WorkersFileProblem| {
        format!("{}:{} {}", problem.at.line, problem.at.column, problem.message)
    };
    parse(text).problems.iter().map(shown).collect()
}

/// The one profile of these files, the user's first.
fn merged(user: &str, project: &str, restricted: RestrictedKeys) -> Profile {
    let files = [user, project].map(parse);
    assert!(files.iter().all(|file| file.problems.is_empty()), "{:?}", files.map(|file| file.problems));
    let [user, project] = &files;
    let layers = [
        WorkersLayer { origin: ProfileOrigin::User, file: user, restricted: RestrictedKeys::Count },
        WorkersLayer { origin: ProfileOrigin::Project, file: project, restricted },
    ];
    let merged = merge_workers(&layers);
    assert_eq!(merged.profiles.len(), 1);
    merged.profiles.into_iter().next().unwrap()
}

#[test]
fn every_key_is_read() {
    let text = r#"
[fixer]
harness = "alpha"
model = "large"
instructions = "Fix it.\nAll of it."
readonly = false
tools = ["read", "write"]
timeout = "90m"
budget = { usd = 2.50, tokens = 200_000 }
isolation = "worktree"
retries = 2
env = { LANG = "C", EMPTY = "" }
args = ["--fast", ""]
triage = { answer = [{ dialog = "Do you want to proceed?", choice = "1" }] }
review = "fixer"
"#;
    let profile = merged(text, "", RestrictedKeys::Count);
    assert_eq!(profile.program, WorkerProgram::Harness(ALPHA));
    assert_eq!(profile.model.as_deref(), Some("large"));
    assert_eq!(profile.instructions, Some(Instructions::Text("Fix it.\nAll of it.".to_string())));
    assert_eq!(profile.timeout, Some(Duration::from_secs(5_400)));
    let budget = Budget { usd: Some(MicroUsd::from_micros(2_500_000)), tokens: Some(200_000) };
    assert_eq!(profile.budget, budget);
    assert_eq!((profile.isolation, profile.retries), (Isolation::Worktree, 2));
    assert_eq!(profile.env.get("LANG").map(String::as_str), Some("C"));
    assert_eq!(profile.args, ["--fast", ""]);
    let answer = DialogAnswer { dialog: "Do you want to proceed?".to_string(), choice: "1".to_string() };
    assert_eq!(profile.triage, Triage::Answer(vec![answer]));
    assert_eq!(profile.origins.len(), text.lines().filter(|line| line.contains(" = ")).count());
    assert!(!profile.is_readonly && !profile.needs_trust());
}

#[test]
fn other_ways_to_write_it() {
    let text = "fixer.timeout = 90\nfixer.budget = '1usd,5ktok'\n[fixer.env]\nA = 'b'\n";
    let profile = merged(text, "", RestrictedKeys::Count);
    assert_eq!(profile.timeout, Some(Duration::from_secs(90)));
    assert_eq!(profile.budget.to_string(), "1.00usd,5ktok");
    assert_eq!(profile.program, WorkerProgram::FirstInstalled);
    let file =
        parse("\u{feff}[worktree]\r\ncopy = '.env'\r\nlink = ['node_modules']\r\nsetup = ['a', 'b']\r\n");
    assert!(file.problems.is_empty());
    let lines: Vec<&[String]> = file.worktree.iter().map(|value| value.lines.as_slice()).collect();
    assert_eq!(lines, [&[".env".to_string()][..], &["node_modules".to_string()], &["a".into(), "b".into()]]);
    assert!(parse("").profiles.is_empty() && parse("# nothing\n").problems.is_empty());
    assert_eq!(parse("[a]\nbudget.usd = 0.1").profiles[0].values.len(), 1);
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let text = r#"[fixer]
harnes = "alpha"
harness = "gamma"
timeout = true
budget = { usd = -1, tokens = 0, eur = 2 }

[worktree]
setpu = "make"

[fixer-two]
retries = -1
zzz = 1
"#;
    assert_eq!(
        problems(text),
        [
            "2:1 there is no key `harnes`; did you mean `harness`?",
            "3:11 `gamma` is not a supported harness: use one of alpha, beta",
            "4:11 `timeout` must be a duration of at least 1 s, such as `\"90s\"`, `\"10m\"` or `\"2h\"`",
            "5:18 `usd` must be an amount such as 2.50, more than 0, with at most 6 decimal places",
            "5:31 `tokens` must be a whole number of tokens, more than 0",
            "5:34 there is no key `eur`; the keys are usd, tokens",
            "8:1 there is no key `setpu`; did you mean `setup`?",
            "11:11 `retries` must be a number from 0 to 10",
            "12:1 there is no key `zzz`; the keys are harness, command, model, instructions, instructions_file, \
             readonly, tools, timeout, budget, isolation, retries, env, args, triage, review",
        ]
    );
}

/// Each is one line below `[p]`, with the beginning of what is told.
#[test]
fn what_a_key_may_not_be() {
    for (line, told) in [
        ("harness = 5", "2:11 `harness` must be a string, not an integer"),
        ("harness = ''", "2:11 `harness` is empty"),
        ("command = []", "2:11 `command` is empty: it needs at least a program"),
        ("command = ['', 'x']", "2:11 `command` must begin with a program"),
        ("command = 'make'", "2:11 `command` must be an array of strings, not a string"),
        ("command = ['make', 1]", "2:20 `command` must be an array of strings, and this is an integer"),
        ("command = [\"a\\u0000b\"]", "2:12 `command` has the control character `\\u{0}`"),
        ("model = \"a\\nb\"", "2:9 `model` has the control character `\\n`"),
        ("instructions = \"\\u001b[31m\"", "2:16 `instructions` has the control character `\\u{1b}`"),
        ("instructions_file = '/etc/passwd'", "2:21 `instructions_file` is `/etc/passwd`"),
        ("instructions_file = 'a/../../b'", "2:21 `instructions_file` is `a/../../b`"),
        ("instructions_file = '~/x'", "2:21 `instructions_file` is `~/x`"),
        ("readonly = 'yes'", "2:12 `readonly` must be true or false, not a string"),
        ("tools = 'read'", "2:9 `tools` must be an array of strings, not a string"),
        ("tools = ['']", "2:9 `tools` has an empty string"),
        ("timeout = 0", "2:11 `timeout` must be a duration"),
        ("timeout = -5", "2:11 `timeout` must be a duration"),
        ("timeout = 'soon'", "2:11 `timeout` must be a duration"),
        ("budget = 5", "2:10 `budget` must be a table"),
        ("budget = '5'", "2:10 `budget`: `5` is not a budget"),
        ("budget = {}", "2:10 `budget` is empty"),
        ("budget = { usd = 1e3 }", "2:18 `usd` must be an amount"),
        ("budget = { usd = nan }", "2:18 `usd` must be an amount"),
        ("budget = { usd = -inf }", "2:18 `usd` must be an amount"),
        ("budget = { usd = 0.0000001 }", "2:18 `usd` must be an amount"),
        ("budget = { usd = '2' }", "2:18 `usd` must be an amount"),
        ("budget = { tokens = 1.5 }", "2:21 `tokens` must be a whole number"),
        ("isolation = 'container'", "2:13 `isolation` must be `\"none\"` or `\"worktree\"`"),
        ("isolation = true", "2:13 `isolation` must be"),
        ("retries = 11", "2:11 `retries` must be"),
        ("retries = 1.5", "2:11 `retries` must be"),
        ("env = ['A=b']", "2:7 `env` must be a table"),
        ("env = { A = 1 }", "2:13 `env.A` must be a string, not an integer"),
        ("env = { 'A=B' = '1' }", "2:9 `A=B` can't be the name of a variable"),
        ("env = { '' = '1' }", "2:9 `` can't be the name of a variable"),
        ("env = { 1A = '1' }", "2:9 `1A` can't be the name of a variable"),
        ("env = { MSG_RUN = '1' }", "2:9 `MSG_RUN` is a variable that msg sets itself"),
        ("env = { A = \"\\u0000\" }", "2:13 `env` has the control character"),
        ("triage = 'answer'", "2:10 `triage` must be `\"report\"`, or `{ answer"),
        ("triage = { answer = [] }", "2:10 `triage` must be"),
        ("triage = { answer = [{ dialog = 'x' }] }", "2:22 `triage` must be"),
        ("triage = { answer = [{ dialog = 'x', choice = 'y', z = 1 }] }", "2:22 `triage` must be"),
        ("review = ['a']", "2:10 `review` must be a string, not an array"),
        ("copy = ['x']", "2:1 `copy` is a key of `[worktree]`, not of the profile `p`"),
        ("harness = 'alpha'\ncommand = ['x']", "3:1 `command` and `harness` replace each other"),
        ("command = ['x']\nharness = 'alpha'", "3:1 `harness` and `command` replace each other"),
        ("instructions = 'x'\ninstructions_file = 'y'", "3:1 `instructions_file` and `instructions` replace"),
        ("model = 'a'\nmodel = 'b'", "3:1 duplicate key"),
        ("model = ", "2:9 "),
    ] {
        let found = problems(&format!("[p]\n{line}\n"));
        assert_eq!(found.len(), 1, "{line}: {found:?}");
        assert!(found[0].starts_with(told), "{line}: {found:?}");
        assert!(!found[0].contains(['\u{0}', '\u{1b}', '\n']), "{found:?}");
    }
}

#[test]
fn what_a_table_may_not_be() {
    for (text, told) in [
        ("p = 5", "1:1 `p` must be a table, not an integer"),
        ("[[p]]\nmodel = 'x'", "1:3 `p` must be a table, not an array of tables"),
        ("worktree = ['x']", "1:1 `worktree` must be a table, not an array"),
        ("[worktree]\nmodel = 'x'", "2:1 `model` is a key of a profile, not of `[worktree]`"),
        (
            "[worktree]\nsetup = {}",
            "2:9 `setup` must be a string or an array of strings, not an inline table",
        ),
        ("[worktree]\ncopy = ['/etc/*']", "2:8 `copy` has `/etc/*`: patterns are relative"),
        ("[worktree]\nlink = ['a/../..']", "2:8 `link` has `a/../..`"),
        ("[alpha]\nmodel = 'x'", "1:2 a profile can't have the name of a harness"),
        ("['a b']\nmodel = 'x'", "1:2 `a b` is not a name of a profile"),
        ("[\"\\u001b\"]\nmodel = 'x'", "1:2 `\\u{1b}` is not a name of a profile"),
        ("['']\nmodel = 'x'", "1:2 `` is not a name of a profile"),
        ("[-x]\nmodel = 'x'", "1:2 `-x` is not a name of a profile"),
        ("[p", "1:3 "),
        ("\u{1}", "1:2 "),
    ] {
        let found = problems(text);
        assert_eq!(found.len(), 1, "{text}: {found:?}");
        assert!(found[0].starts_with(told), "{text}: {found:?}");
    }
    let long = format!("[{}]\nmodel = 'x'", "a".repeat(65));
    assert!(problems(&long)[0].contains("is not a name of a profile"));
    let file = WorkersFile::from_bytes(b"[p]\nmodel = '\xff'", ProfileOrigin::User, &[]);
    assert_eq!(file.problems[0].to_string(), "this is not UTF-8 text (line 2, column 10)");
    // Deep nesting neither ends the process nor takes long.
    assert_eq!(problems(&format!("a = {}", "[".repeat(100_000))).len(), 1);
}

#[test]
fn what_is_right_counts_beside_what_is_wrong() {
    let file = parse("[p]\nmodel = 'x'\nretries = 'y'\n[q]\nreadonly = true\n");
    assert_eq!((file.problems.len(), file.profiles.len()), (1, 2));
    assert_eq!(file.profiles[0].values[0].0, ProfileValue::Model("x".to_string()));
}

#[test]
fn a_users_instructions_may_be_anywhere() {
    let file = WorkersFile::parse("[p]\ninstructions_file = '~/p.md'", ProfileOrigin::User, &[]);
    assert!(file.problems.is_empty());
}

#[test]
fn the_project_wins_key_by_key() {
    let user = "[p]\nmodel = 'small'\ntimeout = '1h'\ninstructions = 'x'";
    let profile = merged(user, "[p]\nmodel = 'large'\ninstructions_file = 'y'", RestrictedKeys::Count);
    assert_eq!((profile.model.as_deref(), profile.timeout), (Some("large"), Some(Duration::from_secs(3600))));
    assert_eq!(profile.instructions, Some(Instructions::File("y".to_string())));
    let origins: Vec<(&str, &str)> =
        profile.origins.iter().map(|(key, origin)| (key.name(), origin.name())).collect();
    assert_eq!(origins, [("model", "project"), ("instructions_file", "project"), ("timeout", "user")]);
    assert_eq!(profile.described_in, [ProfileOrigin::User, ProfileOrigin::Project]);
}

#[test]
fn who_sets_the_program_drops_what_belongs_to_the_other() {
    let user =
        "[p]\nharness = 'alpha'\nmodel = 'a'\nargs = ['-a']\ntools = ['t']\ntimeout = '1h'\nenv = {A='b'}";
    for (project, program) in [
        ("command = ['make']", WorkerProgram::Command(vec!["make".to_string()])),
        ("harness = 'beta'", WorkerProgram::Harness(BETA)),
        ("harness = 'alpha'", WorkerProgram::Harness(ALPHA)),
    ] {
        let profile = merged(user, &format!("[p]\n{project}"), RestrictedKeys::Count);
        assert_eq!(profile.program, program);
        assert_eq!((profile.model, profile.args.len(), profile.tools), (None, 0, None), "{project}");
        assert_eq!((profile.timeout.is_some(), profile.env.len()), (true, 1));
        // Its own stay, wherever they are in the table.
        let profile = merged(user, &format!("[p]\nmodel = 'b'\n{project}"), RestrictedKeys::Count);
        assert_eq!((profile.model.as_deref(), profile.tools), (Some("b"), None));
    }
    let back = merged("[p]\ncommand = ['x']", "[p]\nharness = 'beta'", RestrictedKeys::Count);
    assert_eq!(back.program, WorkerProgram::Harness(BETA));
    assert_eq!(back.origins.keys().map(|key| key.name()).collect::<Vec<_>>(), ["harness"]);
}

#[test]
fn what_nobody_trusted_does_not_count() {
    let user = "[p]\nharness = 'alpha'\nmodel = 'a'\ntools = ['read']";
    let project = "[p]\ncommand = ['evil']\nargs = ['x']\nenv = {A='b'}\ntools = ['all']\n\
                   triage = {answer = [{dialog = 'd', choice = 'c'}]}\nmodel = 'm'\nreadonly = true";
    let profile = merged(user, project, RestrictedKeys::Withheld);
    assert_eq!(profile.program, WorkerProgram::Harness(ALPHA));
    assert_eq!((profile.model.as_deref(), profile.tools), (Some("m"), Some(vec!["read".to_string()])));
    assert!(profile.is_readonly && profile.args.is_empty() && profile.env.is_empty());
    assert_eq!(profile.triage, Triage::Report);
    let untrusted: Vec<&str> = profile.untrusted.iter().map(|key| key.name()).collect();
    assert_eq!(untrusted, ["command", "args", "env", "tools", "triage"]);

    let file = parse(
        "[p]\nharness = 'alpha'\nmodel = 'x'\n[worktree]\ncopy = 'c'\nlink = 'l'\nsetup = 's'\nteardown = 't'",
    );
    let restricted: Vec<String> = file.restricted().iter().map(ToString::to_string).collect();
    assert_eq!(restricted, ["p.harness", "worktree.link", "worktree.setup", "worktree.teardown"]);
    let layer = |restricted| WorkersLayer { origin: ProfileOrigin::Project, file: &file, restricted };
    let merged = merge_workers(&[layer(RestrictedKeys::Withheld)]);
    assert_eq!((merged.worktree.copy.len(), merged.worktree.link.len()), (1, 0));
    assert!(merged.worktree.setup.is_empty() && merged.worktree.teardown.is_empty());
    assert_eq!(merged.untrusted_worktree.len(), 3);
    assert_eq!(merge_workers(&[layer(RestrictedKeys::Count)]).worktree.setup, ["s"]);
}

#[test]
fn a_reviewer_must_be_a_profile() {
    let shipped = shipped_profiles();
    let project = parse("[builder]\nreview = 'reviewr'\n[p]\nreview = 'reviewer'");
    let layers = [(ProfileOrigin::Shipped, &shipped), (ProfileOrigin::Project, &project)]
        .map(|(origin, file)| WorkersLayer { origin, file, restricted: RestrictedKeys::Count });
    let merged = merge_workers(&layers);
    let [(origin, at, message)] = merged.problems.as_slice() else { panic!("{:?}", merged.problems) };
    assert_eq!((*origin, at.line, at.column), (ProfileOrigin::Project, 2, 1));
    assert_eq!(message, "`review` names `reviewr`, which is not a profile; did you mean `reviewer`?");
    let names: Vec<&str> = merged.profiles.iter().map(|profile| profile.name.as_str()).collect();
    assert_eq!(names, ["scout", "planner", "builder", "reviewer", "documenter", "p"]);
    let builder = &merged.profiles[2];
    assert_eq!(builder.isolation, Isolation::Worktree);
    assert_eq!(builder.origins.get(&ProfileKey::Review), Some(&ProfileOrigin::Project));
}
