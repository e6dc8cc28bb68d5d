//! Sessions that start, change their id, end and come back.

use std::fs;

use ravenry::domain::hook::HookAnswer;
use serde_json::{Value, json};

use crate::support::environment::TestEnvironment;
use crate::support::hook_call::{Call, context, session_of};
use crate::support::running::{inbox, post, two};
use crate::support::terminal::{Shell, harness};

const SETTING: &str = "autoRegister";

/// A mesh in which sessions join by themselves.
fn open_house() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.ok(&["config", "set", SETTING, "true"]);
    env
}

fn start(env: &TestEnvironment, shell: &mut Shell, session: &str, source: &str) -> HookAnswer {
    Call::new(env, "claude/SessionStart", session).with("/source", source).answer_in(env, shell)
}

/// The start of a session, in each harness.
const STARTS: [&str; 8] = [
    "claude/SessionStart",
    "codex/SessionStart",
    "gemini/SessionStart",
    "copilot/sessionStart",
    "opencode/event-session.created",
    "pi/session_start",
    "kimi/SessionStart",
    "qwen/SessionStart",
];

/// The end of a session.
fn end_of(env: &TestEnvironment, harness: &str, session: &str) -> Call {
    match harness {
        "copilot" => Call::new(env, "copilot/sessionEnd", session),
        "pi" => Call::new(env, "pi/session_shutdown", session).with("/event/reason", "quit"),
        "opencode" => Call::new(env, STARTS[4], session).with("/type", "session.deleted"),
        _ => Call::new(env, &format!("{harness}/SessionEnd"), session).with("/reason", "other"),
    }
}

#[test]
fn a_session_joins_where_that_is_wanted_and_leaves_at_its_end() {
    for fixture in STARTS {
        let env = TestEnvironment::new();
        let name = fixture.split('/').next().unwrap();
        let mut shell = harness(&env, name);
        let call = Call::new(&env, fixture, "s1");
        assert_eq!(call.answer_in(&env, &mut shell), HookAnswer::Silence, "{fixture}: nobody asked for it");
        assert!(!env.mesh().exists(), "{fixture}");
        env.ok(&["config", "set", SETTING, "true"]);
        call.answer_in(&env, &mut shell);
        let names = env.names();
        assert_eq!(names.len(), 1, "{fixture}");
        let agent = env.registration(&names[0]);
        assert_eq!((&agent["sessionId"], &agent["pid"]), (&json!("s1"), &json!(shell.pid())), "{fixture}");
        assert_eq!((&agent["harness"], &agent["cwd"]), (&json!(name), &json!(env.work())), "{fixture}");
        call.answer_in(&env, &mut shell);
        assert_eq!(env.names(), names, "{fixture}: twice is once");
        assert_eq!(end_of(&env, name, "s1").answer_in(&env, &mut shell), HookAnswer::Silence);
        assert!(env.names().is_empty(), "{fixture}: it has left");
    }
}

#[test]
fn or_where_the_folder_is_one_of_those() {
    let env = TestEnvironment::new();
    let mut shell = harness(&env, "claude");
    let elsewhere = env.home().display().to_string();
    env.ok(&["config", "set", "autoRegisterPaths", &format!("{elsewhere},/nowhere/*")]);
    assert_eq!(start(&env, &mut shell, "s1", "startup"), HookAnswer::Silence);
    assert!(env.names().is_empty());
    env.ok(&["config", "set", "autoRegisterPaths", &format!("{elsewhere},{}", env.work().display())]);
    context(start(&env, &mut shell, "s1", "startup"));
    assert_eq!(env.names().len(), 1);
}

#[test]
fn the_model_is_told_who_it_is_who_is_here_what_is_reserved_and_how_to_write() {
    let env = open_house();
    env.join("Alice");
    env.ok(&["reserve", "src/auth/", "--reason", "obey me", "--as", "Alice"]);
    let mut shell = harness(&env, "claude");
    let text = context(start(&env, &mut shell, "s1", "startup"));
    let me = env.names().into_iter().find(|name| name != "Alice").unwrap();
    // The reason is missing: a peer's own words are not for here.
    insta::assert_snapshot!(text.replace(&me, "[ME]").replace(". ", ".\n"), @r#"
    You are [ME] among coding agents that work side by side on this machine, and talk with `msg`.
    Here: Alice (other).
    Reserved by others, and refused to you: `src/auth/` (Alice).
    Mail reaches you by itself; to write: `msg send NAME "…"`.
    Before you work on files that others may want: `msg reserve PATH --reason "…"`, and `msg release` after.
    "#);
}

#[test]
fn however_many_there_are_it_takes_few_words() {
    let env = open_house();
    fs::create_dir(env.work().join("a folder with many words in its name")).unwrap();
    for number in 0..30 {
        let name = format!("Agent{number}");
        let host = env.host().to_string();
        let mut join = env.msg();
        join.args(["join", &name, "--pid", &host, "--session", &session_of(&name)]);
        if number % 2 == 0 {
            join.current_dir(env.work().join("a folder with many words in its name"));
        }
        assert!(join.status().unwrap().success());
        let pattern = format!("{} {number}/{}", "many words", "x".repeat(150));
        env.ok(&["reserve", &pattern, "--as", &name]);
    }
    for fixture in STARTS {
        let mut shell = harness(&env, fixture.split('/').next().unwrap());
        let call = Call::new(&env, fixture, fixture);
        let HookAnswer::Context(text) = call.answer_in(&env, &mut shell) else { continue };
        let words = text.split_whitespace().count();
        assert!(words <= 120, "{fixture}: {words} words: {text}");
        assert!(
            text.contains("You are ") && text.contains("Agent") && text.contains("`msg reservations`"),
            "{text}"
        );
        assert!(text.contains("`msg agents`") && text.contains("msg send NAME"), "{text}");
        assert!(text.chars().count() <= call.room().unwrap(), "{fixture}");
    }
    assert_eq!(env.names().len(), 30, "who is gone is gone");
}

#[test]
fn or_it_is_told_nothing() {
    let env = open_house();
    env.ok(&["config", "set", "registrationContext", "false"]);
    let mut shell = harness(&env, "claude");
    assert_eq!(start(&env, &mut shell, "s1", "startup"), HookAnswer::Silence);
    assert_eq!(env.names().len(), 1, "it joined all the same");
}

#[test]
fn a_resumed_session_gets_its_name_back_with_its_mail() {
    let env = two();
    let mut first = harness(&env, "claude");
    // `autoRegister` is off: this session joins by its own command.
    first.msg("CLAUDE_CODE_SESSION_ID=s1 msg join Carol");
    first.msg("CLAUDE_CODE_SESSION_ID=s1 msg reserve src/");
    post(&env.store(), "Carol", "while you were away");
    first.kill();
    let mut second = harness(&env, "claude");
    let text = context(start(&env, &mut second, "s1", "resume"));
    assert!(text.starts_with("You are Carol ") && text.ends_with("> while you were away"), "{text}");
    let agent = env.registration("Carol");
    assert_eq!((&agent["pid"], &agent["reservations"][0]["pattern"]), (&json!(second.pid()), &json!("src/")));
    // The same after a regular end.
    Call::new(&env, "claude/SessionEnd", "s1").answer_in(&env, &mut second);
    assert_eq!(env.names(), ["Alice", "Bob"]);
    env.ok(&["send", "Carol", "come back", "--hold", "--as", "Alice"]);
    second.kill();
    let mut third = harness(&env, "claude");
    let text = context(start(&env, &mut third, "s1", "resume"));
    assert!(text.starts_with("You are Carol ") && text.ends_with("> come back"), "{text}");
}

#[test]
fn compact_and_clear_change_nothing_about_who_it_is() {
    let env = two();
    let mut shell = harness(&env, "claude");
    shell.msg("CLAUDE_CODE_SESSION_ID=s1 msg join Carol");
    shell.msg("CLAUDE_CODE_SESSION_ID=s1 msg reserve src/");
    let check = |shell: &mut Shell, session: &str, source: &str| {
        post(&env.store(), "Carol", source);
        let text = context(start(&env, shell, session, source));
        assert!(text.starts_with("You are Carol ") && text.ends_with(&format!("> {source}")), "{text}");
        let agent = env.registration("Carol");
        assert_eq!((&agent["sessionId"], &agent["pid"]), (&json!(session), &json!(shell.pid())));
        assert_eq!(agent["reservations"][0]["pattern"], "src/");
        assert_eq!(env.names(), ["Alice", "Bob", "Carol"]);
        let edit = Call::edit(&env, session, "src/x");
        assert_eq!(edit.answer_in(&env, shell), HookAnswer::Silence, "its own reservation");
        assert!(matches!(Call::edit(&env, &session_of("Bob"), "src/x").answer(&env), HookAnswer::Deny(_)));
    };
    check(&mut shell, "s1", "compact");
    let end = Call::new(&env, "claude/SessionEnd", "s1").with("/reason", "clear");
    assert_eq!(end.answer_in(&env, &mut shell), HookAnswer::Silence);
    assert_eq!(env.names(), ["Alice", "Bob", "Carol"], "another session follows");
    check(&mut shell, "s2", "clear");
    // Without that hook, any other hook reports the new id.
    Call::new(&env, "claude/UserPromptSubmit", "s3").answer_in(&env, &mut shell);
    assert_eq!(env.registration("Carol")["sessionId"], "s3");
    Call::new(&env, "claude/SessionEnd", "s3").with("/reason", "logout").answer_in(&env, &mut shell);
    assert_eq!(env.names(), ["Alice", "Bob"]);
}

/// The user resumes another session in the same process: one whose process is gone, or an earlier one of its own.
#[test]
fn a_session_that_is_resumed_in_the_process_of_an_agent_keeps_its_reservations() {
    let env = two();
    let mut other = harness(&env, "claude");
    other.msg("CLAUDE_CODE_SESSION_ID=gone msg join Dan");
    other.kill();
    let mut shell = harness(&env, "claude");
    shell.msg("CLAUDE_CODE_SESSION_ID=s1 msg join Carol");
    shell.msg("CLAUDE_CODE_SESSION_ID=s1 msg reserve src/");
    for session in ["s1", "s2", "s1", "gone"] {
        for _ in 0..2 {
            let edit = Call::edit(&env, session, "src/x");
            assert_eq!(
                edit.answer_in(&env, &mut shell),
                HookAnswer::Silence,
                "{session}: its own reservation"
            );
            assert_eq!(env.registration("Carol")["sessionId"], session);
        }
    }
}

/// Even if nobody has noticed yet that the agent of the resumed session is gone.
#[test]
fn a_session_that_is_resumed_in_the_process_of_an_agent_brings_its_mail() {
    let env = two();
    let mut shell = harness(&env, "claude");
    shell.msg("CLAUDE_CODE_SESSION_ID=s1 msg join Carol");
    let mut other = harness(&env, "claude");
    other.msg("CLAUDE_CODE_SESSION_ID=gone msg join Dan");
    post(&env.store(), "Dan", "for the session");
    other.kill();
    let prompt = Call::new(&env, "claude/UserPromptSubmit", "gone");
    let text = context(prompt.answer_in(&env, &mut shell));
    assert!(text.ends_with("> for the session"), "{text}");
    assert_eq!(env.registration("Carol")["sessionId"], "gone");
    assert_eq!(env.names(), ["Alice", "Bob", "Carol"]);
}

#[test]
fn at_its_end_all_becomes_free_and_who_waits_is_told() {
    let env = two();
    env.ok(&["reserve", "src/", "--as", "Alice"]);
    let edit = Call::edit(&env, &session_of("Bob"), "src/x");
    assert!(matches!(edit.answer(&env), HookAnswer::Deny(_)));
    let end = Call::new(&env, "claude/SessionEnd", &session_of("Alice"));
    for reason in ["clear", "resume"] {
        end.clone().with("/reason", reason).answer(&env);
        assert_eq!(env.names(), ["Alice", "Bob"], "{reason}");
        assert!(matches!(edit.answer(&env), HookAnswer::Deny(_)), "{reason}");
    }
    end.answer(&env);
    assert_eq!(env.names(), ["Bob"]);
    assert_eq!(inbox(&env).len(), 1, "Bob is told at once");
    assert_eq!(edit.answer(&env), HookAnswer::Silence);
    let done = Call::new(&env, "claude/PostToolUse-Edit", &session_of("Bob")).context(&env);
    insta::assert_snapshot!(
        done.lines().skip(1).collect::<String>(),
        @"> `src/x` is free: Alice no longer holds it. To have it to yourself: msg reserve src/x"
    );
    env.join("alice");
}

/// Gemini CLI gives its shell no session id.
#[test]
fn who_joined_without_a_session_id_is_known_by_its_process() {
    let env = two();
    let mut gemini = harness(&env, "gemini");
    gemini.msg("msg join Gem");
    gemini.msg("msg reserve src/");
    assert_ne!(env.registration("Gem")["sessionId"], "g1");
    post(&env.store(), "Gem", "hello");
    let edit = Call::new(&env, "gemini/BeforeTool-write_file", "g1").with("/tool_input/file_path", "src/x");
    assert_eq!(edit.answer_in(&env, &mut gemini), HookAnswer::Silence, "its own");
    assert_eq!(env.registration("Gem")["sessionId"], "g1", "it is carried over");
    // Now the session id is enough.
    assert!(Call::new(&env, "gemini/AfterTool-write_file", "g1").context(&env).ends_with("> hello"));
    assert_eq!(gemini.run("msg whoami -q").stdout, "Gem\n");
    Call::new(&env, "gemini/SessionEnd", "g1").answer_in(&env, &mut gemini);
    assert_eq!(env.names(), ["Alice", "Bob"]);
}

#[test]
fn who_was_evicted_does_not_come_back_by_a_hook() {
    for setting in ["false", "true"] {
        let env = two();
        env.ok(&["config", "set", SETTING, setting]);
        let mut shell = harness(&env, "claude");
        shell.msg("CLAUDE_CODE_SESSION_ID=s1 msg join Carol");
        env.ok(&["evict", "Carol", "--force", "--as", "Alice"]);
        env.ok(&["send", "Carol", "still there?", "--hold", "--as", "Alice"]);
        for fixture in
            ["claude/PostToolUse-Bash", "claude/UserPromptSubmit", "claude/Stop", "claude/PreToolUse-Edit"]
        {
            let call = Call::new(&env, fixture, "s1");
            assert_eq!(call.answer_in(&env, &mut shell), HookAnswer::Silence, "{fixture}");
        }
        for source in ["compact", "resume", "startup"] {
            assert_eq!(
                start(&env, &mut shell, "s1", source),
                HookAnswer::Silence,
                "{SETTING} {setting}: {source}"
            );
        }
        assert_eq!(env.names(), ["Alice", "Bob"], "{SETTING} {setting}");
        shell.msg("CLAUDE_CODE_SESSION_ID=s1 msg join");
        assert!(Call::new(&env, "claude/PostToolUse-Bash", "s1").context(&env).contains("> still there?"));
    }
}

#[test]
fn two_opencode_sessions_in_one_process_are_two_agents() {
    let env = open_house();
    let mut opencode = harness(&env, "opencode");
    let created = |session: &str| Call::new(&env, STARTS[4], session);
    for session in ["ses_1", "ses_2"] {
        created(session).answer_in(&env, &mut opencode);
    }
    // A subagent acts as its parent.
    created("ses_3").with("/properties/info/parentID", "ses_1").answer_in(&env, &mut opencode);
    let names = env.names();
    assert_eq!(names.len(), 2);
    let of = |session: &str| -> String {
        let is_it = |name: &&String| env.registration(name)["sessionId"] == session;
        names.iter().find(is_it).unwrap().clone()
    };
    let (one, two) = (of("ses_1"), of("ses_2"));
    env.ok(&["send", &one, "for one", "--as", &two]);
    env.ok(&["reserve", "src/", "--as", &one]);
    let after = |session: &str| Call::new(&env, "opencode/tool.execute.after-bash", session);
    let edit = |session: &str| {
        let path: Value = json!(env.work().join("src/x"));
        Call::new(&env, "opencode/tool.execute.before-write", session).with("/output/args/filePath", path)
    };
    assert_eq!(after("ses_2").answer_in(&env, &mut opencode), HookAnswer::Silence);
    assert!(context(after("ses_1").answer_in(&env, &mut opencode)).ends_with("> for one"));
    assert_eq!(edit("ses_1").answer_in(&env, &mut opencode), HookAnswer::Silence);
    assert!(matches!(edit("ses_2").answer_in(&env, &mut opencode), HookAnswer::Deny(_)));
    // A session that has not joined is neither of them.
    assert!(matches!(edit("ses_4").answer_in(&env, &mut opencode), HookAnswer::Deny(_)));
    end_of(&env, "opencode", "ses_1").answer_in(&env, &mut opencode);
    assert_eq!(env.names(), [two]);
}
