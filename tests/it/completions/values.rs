//! Each kind of value.

use std::process::Command;

use super::{answer, values_of};
use crate::support::environment::{TestEnvironment, end, put};
use crate::tasks::fixture::{claim, three};

fn has(found: &[String], wanted: &[&str]) -> bool {
    wanted.iter().all(|wanted| found.iter().any(|value| value == wanted))
}

#[test]
fn commands_and_options() {
    let env = TestEnvironment::new();
    let (head, commands) = answer(&env, &[""]);
    assert_eq!(head, "none");
    let mut program = ravenry::faces::cli::grammar();
    program.build();
    for command in program.get_subcommands() {
        let found = commands.iter().find(|(name, _)| name == command.get_name());
        let (_, about) = found.unwrap_or_else(|| panic!("{} is not offered", command.get_name()));
        assert!(!about.is_empty(), "{}", command.get_name());
        // Each option of each command.
        for inner in std::iter::once(command).chain(command.get_subcommands()) {
            let name = [command.get_name(), inner.get_name()];
            let words = if inner.get_name() == command.get_name() { &name[..1] } else { &name[..] };
            if inner.get_name() == "help" || command.get_name() == "help" {
                continue;
            }
            let offered = values_of(&env, &[words, &["--"]].concat());
            for arg in inner.get_arguments() {
                let long = arg.get_long().map(|long| format!("--{long}"));
                assert_eq!(
                    long.as_ref().is_some_and(|long| offered.contains(long)),
                    long.is_some() && !arg.is_hide_set(),
                    "{words:?} {long:?}"
                );
            }
        }
    }
    assert_eq!(values_of(&env, &["knowledge", "pu"]), ["publish"]);
    assert_eq!(values_of(&env, &["help", "knowledge", "pu"]), ["publish"]);
    assert_eq!(values_of(&env, &["man", "knowledge", "pu"]), ["publish"]);
    assert_eq!(values_of(&env, &["man", "comple"]), ["complete", "completions"]);
    assert!(has(&values_of(&env, &["runs", ""]), &["show", "merge", "gc"]));
    assert!(has(&values_of(&env, &["crew", ""]), &["plan", "work", "review"]));
    // An option is offered once, unless it may be repeated.
    assert!(!has(&values_of(&env, &["reserve", "--ttl", "5m", "--"]), &["--ttl"]));
    assert!(has(&values_of(&env, &["learn", "--at", "x", "--"]), &["--at"]));
    // After `--` there are no options, and a text is not guessed.
    assert_eq!(answer(&env, &["send", "Bo", "--", "--"]), ("none".to_string(), Vec::new()));
    assert_eq!(answer(&env, &["send", "Bo", ""]), ("none".to_string(), Vec::new()));
    assert_eq!(answer(&env, &["nonsense", ""]), ("none".to_string(), Vec::new()));
}

#[test]
fn words_of_the_program() {
    let env = TestEnvironment::new();
    for (words, wanted) in [
        (&["send", "Bo", "--importance", ""][..], &["low", "normal", "high", "urgent"][..]),
        (&["send", "Bo", "--kind", ""], &["question", "block", "info"]),
        (&["feed", "--kind", ""], &["reserve", "refused", "complete"]),
        (&["learn", "--kind", ""], &["decision", "tried"]),
        (&["learn", "--known", ""], &["tested", "guessed"]),
        (&["install", ""], &["claude", "codex", "all", "tmux"]),
        (&["join", "--harness", ""], &["claude", "terminal"]),
        (&["hook", ""], &["gemini", "kimi"]),
        (&["config", "get", ""], &["mesh", "autoRegister", "nameTheme"]),
        (&["config", "set", "strict", ""], &["true", "false"]),
        (&["config", "set", "nameTheme", ""], &["space", "nature", "custom"]),
        (&["mode", ""], &["admin"]),
        (&["wait", "--for", "Bo", "--until", ""], &["idle"]),
        (&["completions", ""], &["bash", "zsh", "fish", "elvish", "powershell"]),
        (&["--color", ""], &["auto", "always", "never"]),
        (&["send", "--importance=", "--kind=q"], &["--kind=question"]),
    ] {
        let found = values_of(&env, words);
        assert!(has(&found, wanted), "{words:?}: {found:?}");
    }
    assert_eq!(values_of(&env, &["feed", "--kind", "reserve,refu"]), ["reserve,refused"]);
    assert_eq!(values_of(&env, &["config", "set", "stuckThreshold", ""]), [] as [&str; 0]);
    for (words, head) in [(&["batch", ""][..], "files"), (&["--mesh", ""], "dirs"), (&["join", ""], "none")] {
        assert_eq!(answer(&env, words).0, head, "{words:?}");
    }
}

#[test]
fn agents_with_what_is_known_of_them() {
    let env = TestEnvironment::new();
    for name in ["Alice", "Robin", "Zoe"] {
        env.join(name);
    }
    env.ok(&["set-status", "fixes the login", "--as", "Robin"]);
    env.ok(&["leave", "--as", "Zoe"]);
    let (head, found) = answer(&env, &["whois", ""]);
    assert_eq!(head, "none");
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["Alice", "Robin", "Zoe"], "who is gone comes last");
    assert!(found[1].1.contains("fixes the login") && found[2].1.contains("gone"), "{found:?}");
    assert_eq!(values_of(&env, &["look", ""]), ["Alice", "Robin"]);
    assert_eq!(values_of(&env, &["history", "Z"]), ["Zoe"]);
    assert_eq!(values_of(&env, &["send", "Z"]), [] as [&str; 0]);
    assert_eq!(values_of(&env, &["send", "--hold", "Z"]), ["Zoe"]);
    assert_eq!(values_of(&env, &["--as", "R"]), ["Robin"]);
    let groups = values_of(&env, &["send", "@"]);
    assert!(
        has(&groups, &["@all", "@spec", "@branch"])
            && groups.iter().any(|name| name.starts_with("@harness:"))
    );
    // Another mesh is asked if the line names it.
    assert_eq!(values_of(&env, &["--mesh", "/nowhere", "whois", ""]), [] as [&str; 0]);
    let mesh = env.mesh().display().to_string();
    let words = ["completions", "--answer", "zsh", "msg", "--mesh", &mesh, "look", ""];
    let ended = env.run_with(&words, &[("MSG_MESH", "/nowhere")]).expect_code(0);
    assert!(ended.stdout.contains("\nAlice\t"), "{ended}");
}

#[test]
fn tasks_by_their_state() {
    let env = three();
    claim(&env, "Alice", &["TASK-01"]);
    let (_, open) = answer(&env, &["--as", "Bob", "claim", ""]);
    let about = |id: &str| open.iter().find(|(task, _)| task == id).map(|(_, about)| about.as_str());
    assert_eq!(open.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["TASK-02", "TASK-05"]);
    assert_eq!(about("TASK-02"), Some("the session (open)"));
    assert_eq!(values_of(&env, &["--as", "Alice", "unclaim", ""]), ["TASK-01"]);
    assert_eq!(values_of(&env, &["--as", "Bob", "unclaim", ""]), [] as [&str; 0]);
    assert_eq!(values_of(&env, &["--as", "Alice", "complete", ""])[0], "TASK-01");
    assert_eq!(values_of(&env, &["--as", "Alice", "reopen", ""]), ["TASK-04"]);
    // Who is not an agent gets those of all specs, or of the named one.
    assert_eq!(values_of(&env, &["run", "--task", ""]), ["TASK-02", "TASK-05"]);
    put(&env.work().join("docs/other.md"), "- [ ] OTHER-1: x\n");
    assert_eq!(values_of(&env, &["claim", "--spec", "docs/other.md", ""]), ["OTHER-1"]);
    // Markdown files and folders stand for specs.
    put(&env.work().join("notes.txt"), "");
    let specs = values_of(&env, &["tasks", "--spec", ""]);
    assert!(has(&specs, &["spec.md", "docs/"]) && !has(&specs, &["notes.txt"]), "{specs:?}");
    assert_eq!(answer(&env, &["spec", "do"]), ("files open".into(), vec![("docs/".into(), String::new())]));
    assert_eq!(values_of(&env, &["spec", "docs/"]), ["docs/other.md"]);
}

#[test]
fn messages_by_what_can_be_done_with_them() {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.join("Bob");
    let send = |words: &[&str]| env.ok(words)["sent"][0]["short"].as_str().unwrap().to_string();
    let read = send(&["send", "Bob", "the first", "--want-ack", "--as", "Alice"]);
    env.ok(&["read", "--as", "Bob"]);
    let unread = send(&["send", "Bob", "the second\nline", "--as", "Alice"]);
    let own = send(&["send", "Alice", "an answer", "--as", "Bob"]);
    let (_, all) = answer(&env, &["--as", "Bob", "show", ""]);
    let ids: Vec<&str> = all.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids[0], unread, "what is unread comes first");
    assert_eq!(all[0].1, "from Alice: the second line");
    assert!(ids.contains(&&*read) && ids.contains(&&*own));
    let replies = values_of(&env, &["--as", "Bob", "reply", ""]);
    assert!(has(&replies, &[&read, &unread]) && !replies.contains(&own));
    assert_eq!(values_of(&env, &["--as", "Bob", "ack", ""]), [read.as_str()]);
    assert_eq!(values_of(&env, &["--as", "Bob", "receipt", ""]), [own.as_str()]);
    assert_eq!(values_of(&env, &["--as", "Bob", "send", "Alice", "x", "--reply-to", &unread[..3]]), [unread]);
    // Whose they are is not known.
    assert_eq!(values_of(&env, &["show", ""]), [] as [&str; 0]);
    assert_eq!(values_of(&env, &["--as", "Bob", "show", "zzzzzz"]), [] as [&str; 0]);
}

#[test]
fn reservations_profiles_records_and_branches() {
    let env = TestEnvironment::new();
    let git = |args: &[&str]| end(Command::new("git").arg("-C").arg(env.work()).args(args)).expect_code(0);
    git(&["init", "-q", "-b", "main"]);
    git(&["-c", "user.name=J", "-c", "user.email=j@x", "commit", "-q", "--allow-empty", "-m", "begin"]);
    git(&["branch", "topic/one"]);
    git(&["branch", "packed"]);
    git(&["pack-refs", "--all"]);
    git(&["branch", "loose/two"]);
    env.join("Alice");
    env.join("Bob");
    env.ok(&["reserve", "src/", "--reason", "the parser", "--as", "Alice"]);
    env.ok(&["reserve", "docs/", "--as", "Bob"]);
    assert_eq!(values_of(&env, &["--as", "Alice", "release", ""]), ["src/"]);
    assert_eq!(values_of(&env, &["--as", "Alice", "release", "--from", "Bob", ""]), ["docs/"]);
    let (head, held) = answer(&env, &["check", ""]);
    assert!(held.contains(&("src/".to_string(), "Alice: the parser".to_string())), "{head} {held:?}");
    let targets = values_of(&env, &["crew", "review", ""]);
    assert!(has(&targets, &["main", "topic/one", "packed", "loose/two"]), "{targets:?}");
    assert!(has(&values_of(&env, &["run", ""]), &["scout", "claude"]));
    env.ok(&["learn", "One lock guards all names", "--name", "one-lock", "--as", "Alice"]);
    let (_, records) = answer(&env, &["knowledge", "show", ""]);
    assert_eq!(records, [("one-lock".to_string(), "note: One lock guards all names".to_string())]);
}
