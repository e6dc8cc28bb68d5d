//! Mail for a busy agent: delivered by the next hook that can carry it, once, and never lost.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use ravenry::domain::hook::HookAnswer;
use ravenry::harness::{HookLine, MsgProgram};
use ravenry::sys::test_switches::CRASH_AT;
use serde_json::json;

use crate::support::environment::{TestEnvironment, end, wait_until_unheard};
use crate::support::hook_call::{Call, receipt, send, session_of};
use crate::support::running::{inbox, post, two};
use crate::support::terminal::harness;

/// Hooks that can give context to a model; observed to arrive.
const CARRIERS: [&str; 19] = [
    "claude/SessionStart",
    "claude/UserPromptSubmit",
    "claude/PostToolUse-Edit",
    "claude/PostToolUse-Bash",
    "claude/PostToolUseFailure-Bash",
    "codex/UserPromptSubmit",
    "codex/PreToolUse-apply_patch",
    "codex/PreToolUse-Bash",
    "codex/PostToolUse-Bash",
    "gemini/BeforeAgent",
    "gemini/AfterTool-write_file",
    "gemini/AfterTool-run_shell_command",
    "copilot/userPromptSubmitted",
    "copilot/postToolUse-bash",
    "copilot-pascal/PostToolUse-Bash",
    "opencode/tool.execute.after-bash",
    "pi/before_agent_start",
    "pi/tool_result-bash",
    "pi/tool_result-edit",
];

/// Hooks that cannot.
const OTHERS: [&str; 9] = [
    "claude/PreToolUse-Read",
    "claude/PreToolUse-Bash",
    "claude/PostToolBatch-Edit",
    "claude/SubagentStop",
    "gemini/BeforeTool-write_file",
    "gemini/BeforeTool-run_shell_command",
    "copilot/preToolUse-bash",
    "opencode/tool.execute.before-bash",
    "pi/tool_call-bash",
];

/// A call of Bob's session.
fn bobs(env: &TestEnvironment, fixture: &str) -> Call {
    Call::new(env, fixture, &session_of("Bob"))
}

/// Bob's model uses a tool, which shows that it has the earlier context.
fn goes_on(env: &TestEnvironment) -> Call {
    bobs(env, "gemini/BeforeTool-write_file")
}

#[test]
fn handed_over_where_it_can_be_carried_and_once() {
    let env = two();
    for fixture in CARRIERS {
        let id = send(&env, "hello\nBob");
        let call = bobs(&env, fixture);
        let text = call.context(&env);
        let letter = text.lines().rev().take(3).collect::<Vec<_>>();
        assert_eq!(letter[..2], ["> Bob", "> hello"], "{fixture}: {text}");
        let header = letter[2];
        assert!(header.starts_with("[peer Alice, ") && header.ends_with(" TEXT]"), "{fixture}: {text}");
        let short = header.rsplit(' ').nth(1).unwrap();
        assert_eq!(env.ok(&["show", short, "--as", "Bob"])["message"]["id"], id.as_str(), "{fixture}");
        let via = format!("hook {} {}", call.harness, call.event);
        assert_eq!(
            receipt(&env, &id),
            ("stored".to_string(), None),
            "{fixture}: nobody knows whether it has it"
        );
        assert_eq!(goes_on(&env).answer(&env), HookAnswer::Silence, "{fixture}: once");
        assert_eq!(receipt(&env, &id), ("surfaced".to_string(), Some(via)), "{fixture}");
        if !fixture.ends_with("SessionStart") {
            assert_eq!(call.answer(&env), HookAnswer::Silence, "{fixture}: once");
        }
    }
    assert!(inbox(&env).is_empty());
}

#[test]
fn not_handed_over_where_it_would_not_arrive() {
    let env = two();
    let id = send(&env, "hello");
    for fixture in OTHERS {
        assert_eq!(bobs(&env, fixture).answer(&env), HookAnswer::Silence, "{fixture}");
        assert_eq!(receipt(&env, &id), ("stored".to_string(), None), "{fixture}");
    }
    assert_eq!(inbox(&env).len(), 1);
}

/// Not even an empty object: some harnesses show any output.
#[test]
fn nothing_to_say_is_no_output() {
    let env = two();
    for fixture in
        CARRIERS.into_iter().skip(1).chain(["claude/Stop", "gemini/AfterAgent", "claude/SessionEnd"])
    {
        let ended = end(&mut bobs(&env, fixture).command(&env)).expect_code(0);
        assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("", ""), "{fixture}");
    }
}

#[test]
fn a_subagent_gets_no_mail_and_is_held_to_what_its_parent_is() {
    let env = two();
    let id = send(&env, "for Bob himself");
    env.ok(&["reserve", "mine/", "--as", "Bob"]);
    env.ok(&["reserve", "theirs/", "--as", "Alice"]);
    let work = |path: &str| json!(env.work().join(path));
    let claude = |path: &str| {
        bobs(&env, "claude/PreToolUse-Write-in-subagent").with("/tool_input/file_path", work(path))
    };
    // OpenCode gives a subagent a session of its own.
    let opencode = |path: &str| {
        let call = Call::new(&env, "opencode/tool.execute.before-write", "of the subagent");
        call.with("/parentSessionID", session_of("Bob")).with("/output/args/filePath", work(path))
    };
    for subagent in [&claude as &dyn Fn(&str) -> Call, &opencode] {
        assert_eq!(subagent("mine/x").answer(&env), HookAnswer::Silence, "the parent's own");
        assert!(
            matches!(subagent("theirs/x").answer(&env), HookAnswer::Deny(reason) if reason.contains("Alice"))
        );
    }
    let after = Call::new(&env, "opencode/tool.execute.after-bash", "of the subagent");
    let after = [
        after.with("/parentSessionID", session_of("Bob")),
        bobs(&env, "claude/PostToolUse-Bash").with("/agent_id", "a12fb99e87c954384"),
        bobs(&env, "claude/PreToolUse-Bash").with("/agent_id", "a12fb99e87c954384"),
    ];
    for call in after {
        assert_eq!(call.answer(&env), HookAnswer::Silence, "{} {}", call.harness, call.event);
    }
    assert_eq!(receipt(&env, &id).0, "stored");
    assert!(bobs(&env, "claude/PostToolUse-Bash").context(&env).contains("for Bob himself"));
}

#[test]
fn a_session_that_never_joined_gets_none() {
    let env = two();
    send(&env, "for Bob");
    for fixture in CARRIERS.into_iter().chain(["claude/Stop", "gemini/AfterAgent"]) {
        assert_eq!(Call::new(&env, fixture, "a stranger").answer(&env), HookAnswer::Silence, "{fixture}");
    }
    assert_eq!(inbox(&env).len(), 1);
}

/// Delivers all mail, and checks that each answer is within the size limit. Every message begins with its number.
#[track_caller]
fn drain(env: &TestEnvironment, call: &Call) -> (Vec<usize>, usize) {
    let mut handed = Vec::new();
    let mut calls = 0;
    loop {
        let text = match call.answer(env) {
            HookAnswer::Silence => return (handed, calls),
            HookAnswer::Context(text) => text,
            other => panic!("{other:?}"),
        };
        calls += 1;
        let (length, room) = (text.chars().count(), call.room().unwrap());
        assert!(length <= room, "{} {}: {length} of {room} characters", call.harness, call.event);
        let numbers: Vec<usize> = text
            .split("\n\n[peer ")
            .map(|letter| letter.split("\n> #").nth(1).unwrap_or_else(|| panic!("no message: {letter}")))
            .map(|words| words.split_whitespace().next().unwrap().parse().unwrap())
            .collect();
        handed.extend(numbers);
        let left = inbox(env).iter().filter(|file| !file.starts_with('.')).count();
        let note = match left {
            0 => String::new(),
            1 => "\n\n[1 more message: msg read]".to_string(),
            left => format!("\n\n[{left} more messages: msg read]"),
        };
        assert!(
            text.ends_with(&note) && text.contains(" more message") == (left > 0),
            "{left} are left: {text}"
        );
    }
}

#[test]
fn more_than_fits_comes_bit_by_bit_and_all_of_it() {
    let env = two();
    let carriers = ["claude/PostToolUse-Bash", "codex/PreToolUse-Bash", "gemini/AfterTool-write_file"];
    for fixture in carriers.into_iter().chain(["copilot/postToolUse-bash", "pi/tool_result-bash"]) {
        let mesh = env.store();
        for number in 0..40 {
            post(&mesh, "Bob", &format!("#{number} {}", "word ".repeat(20 * (number % 9) + 1)));
        }
        let (handed, calls) = drain(&env, &bobs(&env, fixture));
        assert_eq!(handed, (0..40).collect::<Vec<_>>(), "{fixture}");
        assert!((2..20).contains(&calls), "{fixture}: {calls} calls");
    }
}

/// Quoted text is longer than the original: each line has a prefix, and invisible characters are escaped.
#[test]
fn lines_and_control_characters_count_as_what_they_become() {
    let env = two();
    let call = bobs(&env, "claude/PostToolUse-Bash");
    let mesh = env.store();
    let texts =
        ["a\n".repeat(4_000), "\u{1b}".repeat(3_000), "\u{202e}\n".repeat(600), "ü\n\n\n".repeat(900)];
    for (number, text) in texts.iter().cycle().take(12).enumerate() {
        post(&mesh, "Bob", &format!("#{number} {text}"));
    }
    let (handed, _) = drain(&env, &call);
    assert_eq!(handed, (0..12).collect::<Vec<_>>());
}

/// The header introduces the sender, whose directory may have a long name.
#[test]
fn an_introduction_does_not_break_the_bounds() {
    let env = TestEnvironment::new();
    env.join("Bob");
    let deep = (0..12).fold(env.work(), |dir, _| dir.join("d".repeat(200)));
    fs::create_dir_all(&deep).unwrap();
    let host = env.host().to_string();
    assert!(
        env.msg()
            .args(["join", "Alice", "--pid", &host])
            .current_dir(deep)
            .output()
            .unwrap()
            .status
            .success()
    );
    for number in 0..4 {
        post(&env.store(), "Bob", &format!("#{number} {}", "word ".repeat(1_400)));
    }
    let (handed, _) = drain(&env, &bobs(&env, "claude/PostToolUse-Bash"));
    assert_eq!(handed, [0, 1, 2, 3]);
}

#[test]
fn many_short_ones_come_in_portions() {
    let env = two();
    let mesh = env.store();
    for number in 0..120 {
        post(&mesh, "Bob", &format!("#{number}"));
    }
    let (handed, calls) = drain(&env, &bobs(&env, "claude/PostToolUse-Bash"));
    assert_eq!((handed, calls > 1), ((0..120).collect(), true));
}

#[test]
fn one_that_is_too_long_is_cut_with_a_way_to_the_rest() {
    let env = two();
    for fixture in ["claude/PostToolUse-Bash", "codex/PreToolUse-Bash", "pi/tool_result-bash"] {
        let whole = format!("#7 {}", "0123456789".repeat(3_000));
        post(&env.store(), "Bob", &whole);
        let call = bobs(&env, fixture);
        let text = call.context(&env);
        assert!(text.chars().count() <= call.room().unwrap(), "{fixture}");
        assert!(text.chars().count() > call.room().unwrap() / 2, "{fixture}: no more is cut than need be");
        let note = text.lines().last().unwrap();
        let (count, way) = note.split_once(" more characters: msg show ").unwrap_or_else(|| panic!("{note}"));
        let shown = text.lines().nth(1).unwrap().trim_start_matches("> ");
        assert_eq!(shown.len() + count[1..].parse::<usize>().unwrap(), whole.len(), "{fixture}");
        let message = env.ok(&["show", way.trim_end_matches(']'), "--as", "Bob"]);
        assert_eq!(message["message"]["text"], whole.as_str());
        assert_eq!(call.answer(&env), HookAnswer::Silence, "{fixture}");
    }
}

/// The command line that `install` writes, run in a shell.
fn installed(env: &TestEnvironment, call: &Call) -> Command {
    let msg = MsgProgram::At(env!("CARGO_BIN_EXE_msg").to_string());
    let mut command = Command::new("sh");
    command.args(["-c", &HookLine::telling(&msg, call.harness, &call.event).render()]);
    let plain = env.msg();
    let given = plain.get_envs().filter_map(|(name, value)| Some((name, value?)));
    command.env_clear().envs(given).current_dir(env.work());
    command
}

#[test]
fn what_the_installed_line_passes_on_counts_as_given() {
    for fixture in ["claude/PostToolUse-Bash", "codex/PostToolUse-Bash"] {
        let env = two();
        let id = send(&env, "hello");
        let call = bobs(&env, fixture);
        let mut child = installed(&env, &call).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(call.input().as_bytes()).unwrap();
        let said = child.wait_with_output().unwrap().stdout;
        assert!(String::from_utf8(said).unwrap().contains("> hello"), "{fixture}");
        assert_eq!(call.answer(&env), HookAnswer::Silence, "{fixture}: once");
        assert_eq!(receipt(&env, &id).0, "surfaced", "{fixture}");
    }
}

#[test]
fn what_nobody_hears_is_still_there() {
    let env = two();
    let id = send(&env, "hello");
    let fixtures =
        ["claude/PostToolUse-Bash", "claude/Stop", "claude/SessionStart", "codex/PostToolUse-Bash"];
    for fixture in fixtures {
        let call = bobs(&env, fixture);
        for mut command in [call.command(&env), installed(&env, &call)] {
            let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
            drop(child.stdout.take());
            wait_until_unheard(child.id());
            // The payload is written after the reader has gone.
            child.stdin.take().unwrap().write_all(call.input().as_bytes()).unwrap();
            child.wait().unwrap();
            assert_eq!(receipt(&env, &id).0, "stored", "{fixture}: a pipe without a reader: {command:?}");
            let offered = inbox(&env).iter().filter(|file| file.contains(',')).count();
            assert_eq!(offered, 0, "{fixture}: a pipe without a reader: {command:?}");
        }
        let ended = harness(&env, "claude").run(&format!("{} >&-", call.line(&env)));
        assert_eq!(ended.code, Some(0), "{fixture}: {ended}");
        assert_eq!(receipt(&env, &id).0, "stored", "{fixture}: no standard output");
    }
    assert!(bobs(&env, "claude/PostToolUse-Bash").context(&env).ends_with("> hello"));
}

/// The hook is killed before each of its changes in turn. Only what was printed but not recorded may be delivered
/// twice.
#[test]
fn killed_at_any_step_a_hook_loses_nothing() {
    for (fixture, least) in [("claude/PostToolUse-Bash", 4), ("claude/Stop", 5)] {
        let mut deaths = 0;
        for n in 1.. {
            let env = two();
            let sent: BTreeSet<String> = ["one", "two"].iter().map(|text| send(&env, text)).collect();
            let call = bobs(&env, fixture);
            let first = end(call.command(&env).env(CRASH_AT, n.to_string()));
            let survived = first.signal.is_none();
            let seen = |id: &&String| receipt(&env, id).0 == "surfaced";
            assert_eq!(
                sent.iter().filter(seen).count(),
                0,
                "{fixture} at {n}: nothing shows that the model has it"
            );
            let kept = inbox(&env).iter().filter(|file| file.contains(',')).count();
            assert!(kept == 0 || first.stdout.contains("> two"), "{fixture} at {n}: first said, then kept");
            let second = end(&mut bobs(&env, "claude/UserPromptSubmit").command(&env)).expect_code(0);
            let when = format!("{fixture} killed at {n}: {first}, then {second}");
            assert_eq!(second.stdout.matches("[peer").count(), 2 - kept, "{when}");
            assert_eq!(goes_on(&env).answer(&env), HookAnswer::Silence, "{when}");
            assert_eq!(sent.iter().filter(seen).count(), 2, "{when}");
            assert!(inbox(&env).is_empty(), "{when}");
            let said = format!("{}{}", first.stdout, second.stdout);
            assert!(said.contains("> one") && said.contains("> two"), "{when}");
            if survived {
                first.expect_code(0);
                break;
            }
            deaths = n;
        }
        assert!(deaths >= least, "{fixture} changes more than {deaths} things");
    }
}

#[test]
fn what_is_urgent_comes_first() {
    let env = two();
    for (number, importance) in [(0, "low"), (1, "normal"), (2, "urgent")] {
        let text = format!("#{number} {}", "word ".repeat(1_000));
        env.ok(&["send", "Bob", &text, "--importance", importance, "--as", "Alice"]);
    }
    assert_eq!(drain(&env, &bobs(&env, "claude/PostToolUse-Bash")).0, [2, 0, 1]);
}
