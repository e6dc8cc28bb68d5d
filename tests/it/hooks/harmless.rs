//! A hook is never in the way: whatever is wrong with the call, the mesh or `msg` itself, it exits with 0, refuses
//! nothing for it, and records a line for `doctor`. Only with `strict` a call is refused if it cannot be checked.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::process::Stdio;
use std::time::Duration;

use ravenry::sys::test_switches;
use serde_json::{Value, json};

use crate::presence::age;
use crate::support::environment::{Ended, TestEnvironment, end, put, steps, unheard};
use crate::support::hook_fixture::{
    Fixture, HARNESSES, ended, feed, fixtures, hook, in_shell, play, project,
};

/// An edit in each format; below, the start and the end of a session.
pub const EDITS: [&str; 7] = [
    "claude/PreToolUse-Write",
    "codex/PreToolUse-apply_patch",
    "copilot/preToolUse-create",
    "copilot-pascal/PreToolUse-Write",
    "gemini/BeforeTool-write_file",
    "opencode/tool.execute.before-write",
    "pi/tool_call-write",
];
pub const STARTS: [&str; 7] = [
    "claude/SessionStart",
    "codex/SessionStart",
    "copilot/sessionStart",
    "copilot-pascal/SessionStart",
    "gemini/SessionStart",
    "opencode/event-session.created",
    "pi/session_start",
];
pub const ENDS: [&str; 6] = [
    "claude/SessionEnd",
    "codex/SessionEnd",
    "copilot/sessionEnd",
    "copilot-pascal/SessionEnd",
    "gemini/SessionEnd",
    "pi/session_shutdown",
];
/// The files that the payloads edit.
const HELD: [&str; 7] =
    ["src/lib.rs", "src/new.rs", "src/other.rs", "out.txt", "notes.txt", "n.ipynb", "sub.txt"];

/// GoldFalcon has joined, and holds the files that the payloads edit.
pub fn held() -> TestEnvironment {
    let env = TestEnvironment::new();
    hold(&env);
    env
}

#[track_caller]
pub fn hold(env: &TestEnvironment) {
    let project = project(env);
    env.join("GoldFalcon");
    let mut reserve = env.msg();
    reserve.args(["reserve", "--as", "GoldFalcon"]).args(HELD).current_dir(project);
    end(&mut reserve).expect_code(0);
}

/// GoldFalcon has joined and holds nothing.
pub fn free() -> TestEnvironment {
    let env = TestEnvironment::new();
    project(&env);
    env.join("GoldFalcon");
    env
}

pub fn of(env: &TestEnvironment, name: &str) -> Fixture {
    Fixture::of(&env.home(), name)
}

/// The lines for `doctor`.
pub fn troubles(env: &TestEnvironment) -> Vec<Value> {
    let text = fs::read_to_string(env.mesh().join("trouble.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Asserts that it wrote and refused nothing.
#[track_caller]
pub fn quiet(ended: &Ended, what: &str) {
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""), "{what}: {ended}");
}

/// The same, and that it recorded a line; returns the error.
#[track_caller]
pub fn quiet_trouble(env: &TestEnvironment, before: usize, ended: &Ended, what: &str) -> String {
    quiet(ended, what);
    let troubles = troubles(env);
    assert_eq!(troubles.len(), before + 1, "{what}: {ended}");
    let last = &troubles[before];
    assert!(last["ts"].is_string() && last["harness"].is_string() && last["event"].is_string(), "{last}");
    last["error"].as_str().unwrap().to_string()
}

/// Asserts that it refuses for this reason.
#[track_caller]
pub fn refused(ended: &Ended, reason: &str, what: &str) {
    assert_eq!(ended.code, Some(0), "{what}: {ended}");
    let said = ended.json().to_string();
    assert!(said.contains("deny") || said.contains("\"block\""), "{what}: {ended}");
    assert!(said.contains(reason), "{what}: {ended}");
}

pub const BY_FALCON: &str = "by GoldFalcon";

#[test]
fn calls_that_make_no_sense() {
    let env = held();
    let edit = of(&env, "claude/PreToolUse-Edit");
    for (number, args) in [
        ["hook"].as_slice(),
        &["hook", "claude"],
        &["hook", "claude", "PreToolUse", "now"],
        &["hook", "--help-me"],
        &["hook", "cursor", "preToolUse"],
        &["hook", "terminal", "PreToolUse"],
        &["hook", "", ""],
        &["hook", "\u{1b}[31mclaude", "\n\n"],
        &["-q", "hook", "--as"],
    ]
    .into_iter()
    .enumerate()
    {
        let ended = feed(env.msg().args(args), edit.payload.as_bytes());
        quiet_trouble(&env, number, &ended, &format!("{args:?}"));
        assert!(ended.stderr.starts_with("msg hook: "), "{ended}");
    }
    let lines = troubles(&env).len();
    let bytes = std::ffi::OsString::from_vec(vec![0xff, 0xfe]);
    let ended = feed(env.msg().args(["hook", "claude"]).arg(bytes), edit.payload.as_bytes());
    quiet(&ended, "an event that is no text");
    for event in ["Nothing", "PreCompact", "pretooluse"] {
        quiet(&feed(&mut hook(&env, "claude", event), edit.payload.as_bytes()), event);
    }
    assert_eq!(troubles(&env).len(), lines, "events that come tomorrow are no trouble");
    refused(&play(&env, &edit), BY_FALCON, "and all along");
    let flags = ["--json", "-q", "--color", "never", "hook", "claude", "PreToolUse", "--as", "Nobody", "-x"];
    refused(&feed(env.msg().args(flags), edit.payload.as_bytes()), BY_FALCON, "flags are nothing to it");
    let holder = ["hook", "claude", "PreToolUse", "--as", "GoldFalcon"];
    quiet(&feed(env.msg().args(holder), edit.payload.as_bytes()), "but who it is");
    // An unknown or invalid name makes the caller a stranger: every reservation binds it.
    for name in ["Nobody", "code reviewer", ""] {
        let ended = feed(hook(&env, "claude", "PreToolUse").env("MSG_AGENT", name), edit.payload.as_bytes());
        refused(&ended, BY_FALCON, name);
        let stranger = edit.payload.replace("session_id", "sessionless");
        let ended = feed(hook(&env, "claude", "PreToolUse").env("MSG_AGENT", name), stranger.as_bytes());
        refused(&ended, BY_FALCON, name);
    }
}

/// A flag that a harness adds does not change the answer or the exit code 0.
#[test]
fn flags_that_ask_for_help_or_the_version() {
    let env = held();
    let edit = of(&env, "claude/PreToolUse-Edit");
    for flag in ["--version", "-V", "--help", "-h"] {
        let ended = feed(env.msg().args(["hook", "claude", "PreToolUse", flag]), edit.payload.as_bytes());
        refused(&ended, BY_FALCON, flag);
        for args in [["hook", flag], [flag, "hook"]] {
            let ended = feed(env.msg().args(args), edit.payload.as_bytes());
            assert_eq!(ended.code, Some(0), "{args:?}: {ended}");
        }
    }
    let help = end(env.msg().args(["hook", "--help"])).expect_code(0);
    assert!(help.stdout.contains("Usage"), "{help}");
}

#[test]
fn input_that_makes_no_sense() {
    let env = held();
    let deep = "[".repeat(100_000);
    let mut lines = 0;
    for name in EDITS {
        let edit = of(&env, name);
        let cut = &edit.payload[..edit.payload.len() / 2];
        for input in [
            b"".as_slice(),
            b" \n",
            b"oops",
            b"\x00\xff\xfe",
            cut.as_bytes(),
            b"[]",
            b"null",
            b"7",
            deep.as_bytes(),
        ] {
            let ended = feed(&mut hook(&env, edit.harness, &edit.event), input);
            let what = format!("{name}: {:.20}", String::from_utf8_lossy(input));
            quiet_trouble(&env, lines, &ended, &what);
            lines += 1;
        }
        refused(&play(&env, &edit), BY_FALCON, name);
    }
}

/// Runs every payload with each of its fields changed: the answer is the same, or there is none. Unless the sweep is
/// whole, half of the fields, the other half with the next payload: most payloads of a harness have the same fields.
/// One thread per harness, because there are many.
fn with_each_field(change: &(dyn Fn(&mut Value, &str) + Sync)) {
    std::thread::scope(|scope| {
        for (dir, _) in HARNESSES {
            scope.spawn(move || {
                let env = held();
                // A holder that was active while a command ran is not told of it: how long ago that was must not
                // matter.
                age(&env, "GoldFalcon", Duration::from_secs(3600));
                let mut refusals = 0;
                for (number, fixture) in fixtures(&env.home(), dir).into_iter().enumerate() {
                    let play = |payload: &str| {
                        let mut command = hook(&env, fixture.harness, &fixture.event);
                        // A fixed time, so that ages in the answers do not change between runs.
                        feed(command.env(test_switches::NOW, "2999-05-17T09:30:00.000Z"), payload.as_bytes())
                    };
                    let whole = play(&fixture.payload).expect_code(0).stdout;
                    refusals += usize::from(!whole.is_empty());
                    let value = fixture.value();
                    let keys = value.as_object().unwrap().keys();
                    for key in keys.skip(number % steps()).step_by(steps()) {
                        let mut changed = value.clone();
                        change(&mut changed, key);
                        let ended = play(&changed.to_string());
                        let fits = ended.stdout.is_empty() || ended.stdout == whole;
                        assert!(ended.code == Some(0) && fits, "{dir}/{}: {key}: {ended}", fixture.name);
                        assert_eq!(ended.stderr, "", "{dir}/{}: {key}", fixture.name);
                    }
                }
                assert!(refusals > 2, "{dir}: the whole ones are refused");
                assert_eq!(troubles(&env), [] as [Value; 0], "{dir}");
            });
        }
    });
}

#[test]
fn no_field_is_needed() {
    with_each_field(&|payload, key| {
        payload.as_object_mut().unwrap().remove(key);
    });
}

#[test]
fn fields_of_another_type() {
    with_each_field(&|payload, key| {
        // One of them for each field, so that all are used in every payload.
        let others = [json!(null), json!(7), json!("x"), json!([[]]), json!({"x": {}}), json!(true)];
        payload[key] = others[key.len() % others.len()].clone();
    });
}

#[test]
fn long_payloads() {
    let env = held();
    let write = |path: &str, length: usize| {
        let mut payload = of(&env, "claude/PreToolUse-Write").value();
        payload["tool_input"] = json!({ "content": "x".repeat(length), "file_path": path });
        feed(&mut hook(&env, "claude", "PreToolUse"), payload.to_string().as_bytes())
    };
    quiet(&write("free.rs", 2 << 20), "two megabytes");
    refused(&write("src/lib.rs", 2 << 20), BY_FALCON, "two megabytes");
    assert!(troubles(&env).is_empty());
    let error = quiet_trouble(&env, 0, &write("src/lib.rs", 17 << 20), "more than anyone sends");
    assert!(error.contains("longer than"), "{error}");
}

#[test]
fn input_that_does_not_end() {
    let env = held();
    for (lines, input) in ["", "{\"session_id\":"].into_iter().enumerate() {
        let mut command = hook(&env, "claude", "PreToolUse");
        command.env_remove(test_switches::NO_HOOK_LIMIT);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(input.as_bytes()).unwrap();
        let ended = ended(child);
        let error = quiet_trouble(&env, lines, &ended, input);
        assert!(error.contains("stalled before its end"), "{error}");
        drop(stdin);
    }
}

/// On a file system that does not answer, for example. Before a tool nothing is recorded: no thread of the hook is left.
#[test]
fn a_hook_that_hangs() {
    let env = free();
    let hang = |name: &str| {
        let fixture = of(&env, name);
        let mut command = hook(&env, fixture.harness, &fixture.event);
        command.env_remove(test_switches::NO_HOOK_LIMIT).env(test_switches::HANG, "1");
        feed(&mut command, fixture.payload.as_bytes())
    };
    for (lines, name) in
        ["claude/SessionStart", "codex/UserPromptSubmit", "pi/session_shutdown"].into_iter().enumerate()
    {
        assert_eq!(quiet_trouble(&env, lines, &hang(name), name), "it took more than 0.9 s");
    }
    quiet(&hang(EDITS[0]), "it ends all the same");
    env.configure("{\"strict\": true}");
    refused(&hang(EDITS[0]), "it took more than 0.9 s", "the strict are refused");
}

#[test]
fn a_bug_of_ours() {
    let env = free();
    for (lines, name) in EDITS.into_iter().chain(STARTS).chain(ENDS).enumerate() {
        let fixture = of(&env, name);
        let mut command = hook(&env, fixture.harness, &fixture.event);
        let ended = feed(command.env(test_switches::PANIC, "oh no"), fixture.payload.as_bytes());
        let error = quiet_trouble(&env, lines, &ended, name);
        assert_eq!(error, "a bug in msg: oh no");
        assert_eq!(troubles(&env)[lines]["harness"], fixture.harness);
        assert_eq!(troubles(&env)[lines]["event"], fixture.event);
    }
}

#[test]
fn nobody_hears_the_answer() {
    let env = held();
    for (lines, name) in EDITS.into_iter().enumerate() {
        let edit = of(&env, name);
        let input = env.path().join("input");
        put(&input, &edit.payload);
        let run = |stdout: Stdio| {
            let mut command = hook(&env, edit.harness, &edit.event);
            command.stdin(File::open(&input).unwrap()).stdout(stdout).stderr(Stdio::piped());
            ended(command.spawn().unwrap()).expect_code(0);
        };
        run(unheard());
        run(File::options().write(true).open("/dev/full").unwrap().into());
        let told = troubles(&env);
        assert_eq!(told.len(), 2 * lines + 2, "{name}");
        assert!(
            told.iter().all(|line| line["error"].as_str().unwrap().contains("the answer can't be written")),
            "{told:?}"
        );
        let msg = hook(&env, edit.harness, &edit.event);
        let mut command = in_shell("\"$@\" >&- 2>&-", edit.harness, &msg);
        quiet(&feed(&mut command, edit.payload.as_bytes()), name);
    }
}

/// The error cannot be reported either.
#[test]
fn nobody_hears_the_complaint() {
    let env = free();
    let edit = of(&env, "claude/PreToolUse-Edit");
    let msg = hook(&env, "claude", "PreToolUse");
    for (lines, line) in
        ["\"$@\" 2>/dev/full", "\"$@\" 2>&-", "\"$@\" <&-", "\"$@\" </"].into_iter().enumerate()
    {
        let mut command = in_shell(line, "claude", &msg);
        let ended = feed(command.env(test_switches::PANIC, "oh no"), edit.payload.as_bytes());
        quiet_trouble(&env, lines, &ended, line);
    }
}

/// A hook that has nothing to say and no error records nothing.
#[test]
fn no_trouble_no_line() {
    let env = free();
    for name in EDITS.into_iter().chain(STARTS).chain(ENDS) {
        let ended = play(&env, &of(&env, name));
        quiet(&ended, name);
        assert_eq!(ended.stderr, "", "{name}");
    }
    assert!(!env.mesh().join("trouble.jsonl").exists());
    let nobody = TestEnvironment::new();
    project(&nobody);
    for name in EDITS.into_iter().chain(STARTS).chain(ENDS) {
        quiet(&play(&nobody, &of(&nobody, name)), name);
    }
    assert!(!nobody.mesh().exists(), "a hook makes no mesh");
}
