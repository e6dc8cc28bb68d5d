//! Finding the host of an agent: real shells on real terminals, and programs that look like harnesses.

use std::fs;
use std::process::Stdio;

use pty_process::blocking as pty;
use serde_json::Value;

use crate::support::environment::{TestEnvironment, end, put, wait_until};

use crate::support::terminal::{Terminal, harness, stand_in, surroundings};

#[test]
fn a_long_title_is_cut_on_a_terminal_and_whole_in_a_pipe() {
    let env = TestEnvironment::new();
    let title = "word-".repeat(30);
    put(&env.work().join("spec.md"), &format!("- [ ] TASK-01: {title}\n"));
    let piped = env.run(&["tasks", "--spec", "spec.md"]).expect_code(0).stdout;
    assert!(piped.contains(&title), "{piped}");
    let spec = env.work().join("spec.md");
    let shown = Terminal::open(&env).show(&format!("msg tasks --spec {}", spec.display()));
    assert!(shown.contains("word-…") && !shown.contains(&title), "{shown}");
}

#[test]
fn a_person_is_hosted_by_the_shell_of_the_terminal() {
    let env = TestEnvironment::new();
    let mut terminal = Terminal::open(&env);
    let shell = terminal.shell.pid();
    let agent = terminal.shell.msg("msg join Alice")["agent"].clone();
    assert_eq!((&agent["pid"], &agent["harness"]), (&shell.into(), &"terminal".into()));
    assert_eq!((&agent["isHuman"], &agent["model"]), (&true.into(), &"human".into()));
    assert_eq!(env.registration("Alice")["pid"], shell);
    assert_eq!(terminal.shell.msg("msg join")["arrival"], "already");
    let me = terminal.shell.msg("msg whoami -v");
    assert_eq!(me["agent"]["name"], "Alice");
    let host = me["host"].as_str().unwrap();
    assert!(host.starts_with(&format!("process {shell} ")), "{host}");
    assert!(host.ends_with("leads the session of this terminal"), "{host}");
    let listed = terminal.shell.msg("msg agents")["agents"][0].clone();
    assert_eq!((&listed["name"], &listed["me"]), (&"Alice".into(), &true.into()));
}

#[test]
fn a_script_in_a_script_is_still_in_that_shell() {
    let env = TestEnvironment::new();
    put(&env.work().join("outer.sh"), "sh inner.sh; true\n");
    put(&env.work().join("inner.sh"), "msg join Alice --json; true\n");
    let mut terminal = Terminal::open(&env);
    let agent = terminal.shell.run("sh outer.sh").expect_code(0).json()["agent"].clone();
    assert_eq!((&agent["pid"], &agent["harness"]), (&terminal.shell.pid().into(), &"terminal".into()));
    put(&env.work().join("inner.sh"), "msg whoami -q; true\n");
    assert_eq!(terminal.shell.run("sh outer.sh").stdout, "Alice\n");
}

#[test]
fn when_the_shell_is_gone_so_is_the_agent() {
    let env = TestEnvironment::new();
    let (mut first, mut second) = (Terminal::open(&env), Terminal::open(&env));
    first.shell.msg("msg join Alice");
    second.shell.msg("msg join Bob");
    assert_eq!(env.names(), ["Alice", "Bob"]);
    first.shell.kill();
    assert_eq!(env.names(), ["Bob"]);
    assert_eq!(second.shell.run("msg whoami -q").stdout, "Bob\n");
}

#[test]
fn colours_are_for_terminals() {
    const BOLD: &str = "\x1b[1m";
    let env = TestEnvironment::new();
    env.join("Alice");
    let mut terminal = Terminal::open(&env);
    let shown = terminal.show("msg whois Alice");
    assert!(shown.contains(&format!("{BOLD}Alice")), "{shown:?}");
    let shown = terminal.show("msg whois Nobody");
    assert!(shown.contains(BOLD) && shown.contains("error"), "errors too: {shown:?}");
    for line in [
        "msg whois Alice | cat",
        "NO_COLOR=1 msg whois Alice",
        "TERM=dumb msg whois Alice",
        "msg whois Alice --color never",
    ] {
        let shown = terminal.show(line);
        assert!(shown.contains("Alice") && !shown.contains('\x1b'), "{line}: {shown:?}");
    }
    let shown = terminal.show("msg whois Alice --color always | cat");
    assert!(shown.contains(BOLD), "{shown:?}");
    assert!(!env.run(&["whois", "Alice"]).stdout.contains('\x1b'));
}

/// Its terminal is closed, and it goes on without one.
#[test]
fn without_a_harness_and_a_terminal_there_is_no_host() {
    let env = TestEnvironment::new();
    let (terminal, pts) = pty::open().unwrap();
    let command = surroundings(&env, "sh");
    let script = "trap '' HUP; echo >ready; read -r line
        msg join --json >out 2>err; echo $? >part; mv part code";
    let mut child = pty::Command::from(command).args(["-c", script]).spawn(pts).unwrap();
    wait_until("it would survive that", || env.work().join("ready").exists());
    drop(terminal);
    wait_until("it has tried to join", || env.work().join("code").exists());
    child.wait().unwrap();
    let read = |name: &str| fs::read_to_string(env.work().join(name)).unwrap();
    assert_eq!(read("code"), "3\n", "{}{}", read("out"), read("err"));
    let error = serde_json::from_str::<Value>(&read("out")).unwrap()["error"].clone();
    assert_eq!(error["kind"], "no_host");
    assert_eq!(env.fails(3, &["join", "Alice"]), "no_host");
    insta::assert_snapshot!(env.run(&["join", "Alice"]), @"
    [exit 3]
    --- stderr
    error: cannot tell which process to follow: neither a harness nor a terminal started this command
    hint: pass the process that stays with `--pid PID` (in a script: `--pid $$`)
    ");
    assert!(!env.mesh().exists());
}

#[test]
fn a_harness_among_the_ancestors_is_the_host() {
    let env = TestEnvironment::new();
    for name in ["claude", "codex", "gemini", "opencode", "pi", "copilot", "kimi", "qwen"] {
        let mut shell = harness(&env, name);
        let agent = shell.msg("msg join")["agent"].clone();
        assert_eq!((&agent["pid"], &agent["harness"]), (&shell.pid().into(), &name.into()));
        assert_eq!(agent["isHuman"], false);
        let deep = shell.run("sh -c 'sh -c \"msg whoami -q; true\"; true'").stdout;
        assert_eq!(deep.trim_end(), agent["name"]);
        shell.kill();
        assert!(env.names().is_empty(), "{name} is gone with its process");
    }
}

#[test]
fn a_harness_in_a_terminal_is_no_person() {
    let env = TestEnvironment::new();
    stand_in(&env, "claude");
    let mut terminal = Terminal::open(&env);
    terminal.shell.msg("msg join Person");
    let said = terminal.shell.run("claude -c 'echo $$ >pid; msg join Model --json; true'").expect_code(0);
    let agent = &said.json()["agent"];
    let pid = fs::read_to_string(env.work().join("pid")).unwrap();
    assert_eq!(agent["pid"].to_string(), pid.trim());
    assert_eq!((&agent["harness"], &agent["isHuman"]), (&"claude".into(), &false.into()));
    assert_eq!(terminal.shell.run("msg whoami -q").stdout, "Person\n");
}

#[test]
fn the_nearest_harness_counts_and_so_does_its_session_alone() {
    let env = TestEnvironment::new();
    stand_in(&env, "codex");
    let mut claude = harness(&env, "claude");
    claude.run("export CLAUDE_CODE_SESSION_ID=of-claude").expect_code(0);
    let agent = claude.msg("msg join Outer")["agent"].clone();
    assert_eq!((&agent["harness"], &agent["sessionId"]), (&"claude".into(), &"of-claude".into()));
    let in_codex = "codex -c 'echo $$ >pid; msg join --json; true'";
    let agent = claude.run(in_codex).expect_code(0).json()["agent"].clone();
    assert_eq!(agent["harness"], "codex");
    assert_eq!(agent["pid"].to_string(), fs::read_to_string(env.work().join("pid")).unwrap().trim());
    assert_ne!(agent["sessionId"], "of-claude", "that is the outer one's");
    let in_codex = "codex -c 'CODEX_THREAD_ID=of-codex msg join --json; true'";
    let agent = claude.run(&format!("CODEX_THREAD_ID=of-another {in_codex}")).json()["agent"].clone();
    assert_eq!((&agent["harness"], &agent["sessionId"]), (&"codex".into(), &"of-codex".into()));
    let name = claude.run("CODEX_THREAD_ID=of-codex msg whoami -q").stdout;
    assert_eq!(name, "Outer\n", "no codex is among the ancestors now");
}

#[test]
fn two_sessions_of_one_process_are_told_apart_by_their_variable() {
    let env = TestEnvironment::new();
    let mut codex = harness(&env, "codex");
    for (thread, name) in [("t1", "One"), ("t2", "Two")] {
        let joined = codex.msg(&format!("CODEX_THREAD_ID={thread} msg join {name}"));
        assert_eq!((&joined["arrival"], &joined["agent"]["pid"]), (&"new".into(), &codex.pid().into()));
    }
    for (thread, name) in [("t1", "One"), ("t2", "Two")] {
        let me = codex.msg(&format!("CODEX_THREAD_ID={thread} msg whoami"));
        assert_eq!(me["agent"]["name"], name);
        assert_eq!(me["how"], "$CODEX_THREAD_ID is its session");
    }
    let ended = codex.run("msg whoami --json").expect_code(3);
    assert_eq!(ended.kind(), "ambiguous_caller");
    assert_eq!(ended.json()["error"]["agents"], serde_json::json!(["One", "Two"]));
    assert_eq!(codex.run("msg join --json").expect_code(3).kind(), "ambiguous_caller");
    assert_eq!(codex.run("CODEX_THREAD_ID=t3 msg whoami --json").expect_code(3).kind(), "not_joined");
    assert_eq!(codex.run("msg whoami -q --as Two").stdout, "Two\n");
    codex.msg("CODEX_THREAD_ID=t1 msg leave");
    assert_eq!(codex.run("msg whoami -q").stdout, "Two\n", "only one is left");
}

#[test]
fn a_new_session_id_in_the_same_process_is_the_same_agent() {
    let env = TestEnvironment::new();
    let mut claude = harness(&env, "claude");
    claude.msg("CLAUDE_CODE_SESSION_ID=before msg join Alice");
    claude.msg("CLAUDE_CODE_SESSION_ID=before msg set-status busy");
    let me = claude.msg("CLAUDE_CODE_SESSION_ID=after msg whoami")["agent"].clone();
    assert_eq!((&me["name"], &me["sessionId"]), (&"Alice".into(), &"after".into()));
    assert_eq!(me["statusMessage"], "busy");
    assert_eq!(env.registration("Alice")["sessionId"], "after", "it is written down");
    assert_eq!(claude.msg("CLAUDE_CODE_SESSION_ID=after msg join")["arrival"], "already");
    claude.kill();
    assert!(env.names().is_empty());
    let mut claude = harness(&env, "claude");
    let back = claude.msg("CLAUDE_CODE_SESSION_ID=after msg join");
    assert_eq!((&back["arrival"], &back["agent"]["name"]), (&"back".into(), &"Alice".into()));
}

#[test]
fn a_harness_that_an_interpreter_runs() {
    let env = TestEnvironment::new();
    let node = stand_in(&env, "node");
    let join = "msg join --json; true\n";
    let run = |script: &str| {
        put(&env.work().join(script), join);
        end(surroundings(&env, &node).arg(env.work().join(script)).stdin(Stdio::null()))
    };
    for (script, name) in
        [("gemini", "gemini"), ("node_modules/@anthropic-ai/claude-code/cli.js", "claude"), ("pi.mjs", "pi")]
    {
        assert_eq!(run(script).expect_code(0).json()["agent"]["harness"], name, "{script}");
    }
    assert_eq!(run("server.js").kind(), "no_host");
}

/// `--pid` and `--harness` take precedence over what is found.
#[test]
fn a_host_that_is_named() {
    let env = TestEnvironment::new();
    let claude = harness(&env, "claude");
    let mut codex = harness(&env, "codex");
    let agent = codex.msg(&format!("msg join --pid {}", claude.pid()))["agent"].clone();
    assert_eq!((&agent["pid"], &agent["harness"]), (&claude.pid().into(), &"claude".into()));
    let agent = codex.msg("msg join --harness other")["agent"].clone();
    assert_eq!((&agent["pid"], &agent["harness"]), (&codex.pid().into(), &"other".into()));
}
