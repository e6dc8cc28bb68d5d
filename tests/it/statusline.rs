//! `msg statusline`: short, correct, and never blocking.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use crate::support::environment::{Ended, TestEnvironment, date, end, put, wait_until};

/// Runs `msg statusline` with that on its standard input, which then ends.
fn told(env: &TestEnvironment, args: &[&str], input: &str) -> Ended {
    // It does not wait for what is written later.
    let (stdin, mut writer) = std::io::pipe().unwrap();
    writer.write_all(input.as_bytes()).unwrap();
    drop(writer);
    let mut command = env.msg();
    command.arg("statusline").args(args).stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = command.spawn().unwrap().wait_with_output().unwrap();
    Ended {
        code: output.status.code(),
        signal: None,
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[track_caller]
fn line(env: &TestEnvironment, args: &[&str]) -> String {
    let ended = env.run(&[&["statusline"], args].concat()).expect_code(0);
    assert_eq!(ended.stderr, "");
    ended.stdout
}

#[test]
fn it_tells_what_there_is_and_nothing_else() {
    let env = TestEnvironment::new();
    assert_eq!(line(&env, &[]), "", "nobody ever joined");
    assert!(!env.mesh().exists());
    env.join("Alice");
    assert_eq!(line(&env, &["--as", "Alice"]), "Alice\n");
    assert_eq!(line(&env, &[]), "1 peer\n", "who has not joined may want to know");
    let bob = env.join("Bob");
    env.join("Cleo");
    env.ok(&["send", "Alice", "hello", "--as", "Bob"]);
    assert_eq!(line(&env, &["--as", "Alice"]), "Alice · 2 peers · 1 unread\n");
    assert_eq!(line(&env, &["--as", "Bob"]), "Bob · 2 peers\n");
    let json = env.ok(&["statusline", "--as", "Alice"]);
    assert_eq!(json["text"], "Alice · 2 peers · 1 unread");
    assert_eq!((&json["name"], &json["peers"], &json["unread"]), (&"Alice".into(), &2.into(), &1.into()));
    env.ok(&["read", "--as", "Alice"]);
    env.kill(bob);
    assert_eq!(line(&env, &["--as", "Alice"]), "Alice · 1 peer\n", "who is gone does not count");
}

#[test]
fn who_is_asked_about_is_told_by_the_harness() {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.join("Bob");
    let claude = r#"{"hook_event_name":"Status","session_id":"session of Bob","cwd":"/","model":{"id":"x"}}"#;
    assert_eq!(told(&env, &[], claude).expect_code(0).stdout, "Bob · 1 peer\n");
    assert_eq!(told(&env, &["--as", "Alice"], claude).stdout, "Alice · 1 peer\n", "`--as` comes first");
    for other in ["", "nonsense", "{\"session_id\": 7}", "{\"session_id\": \"nobody's\"}", "[]"] {
        let ended = told(&env, &[], other).expect_code(0);
        assert_eq!(ended.stdout, "2 peers\n", "{other}");
        assert_eq!(ended.stderr, "");
    }
}

#[test]
fn a_standard_input_without_end_is_not_waited_for() {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.join("Bob");
    let said = r#"{"session_id":"session of Bob"}"#;
    for (input, expected) in [(said, "Bob · 1 peer\n"), ("{\"session_id\":", "2 peers\n"), ("", "2 peers\n")]
    {
        let (stdin, mut writer) = std::io::pipe().unwrap();
        writer.write_all(input.as_bytes()).unwrap();
        let child = env.msg().arg("statusline").stdin(stdin).stdout(Stdio::piped()).spawn().unwrap();
        // It ends although its standard input is still open.
        let ended = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8(ended.stdout).unwrap(), expected, "{input}");
        drop(writer);
    }
}

#[test]
fn a_pane_is_known_by_its_first_process() {
    let env = TestEnvironment::new();
    let alice = env.join("Alice");
    env.join("Bob");
    assert_eq!(line(&env, &["--tmux", "--pane", &alice.to_string()]), "Alice · 1 peer\n");
    let mut shell =
        Command::new("sh").args(["-c", "sleep 1000 & echo $!; wait"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut pid = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(shell.stdout.take().unwrap()), &mut pid)
        .unwrap();
    env.ok(&["join", "Cleo", "--pid", pid.trim(), "--session", "c"]);
    assert_eq!(
        line(&env, &["--tmux", "--pane", &shell.id().to_string()]),
        "Cleo · 2 peers\n",
        "beneath a shell"
    );
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(pid.trim().parse().unwrap()),
        nix::sys::signal::SIGKILL,
    )
    .unwrap();
    shell.wait().unwrap();
    assert_eq!(line(&env, &["--pane", &shell.id().to_string()]), "2 peers\n");
    assert_eq!(env.fails(2, &["statusline", "--pane", "%3"]), "invalid_value");
    assert_eq!(env.fails(2, &["statusline", "--pane=-1"]), "invalid_value");
}

#[test]
fn it_counts_by_the_index_and_still_rightly() {
    let env = TestEnvironment::new();
    let hosts: Vec<u32> =
        ["Alice", "Bob", "Cleo", "Dora", "Emil", "Fritz"].map(|name| env.join(name)).to_vec();
    let old = SystemTime::now() - Duration::from_secs(60);
    for name in ["Alice", "Bob", "Cleo", "Dora", "Emil"] {
        date(&env.mesh().join(format!("registry/{name}.json")), old);
    }
    // A hook writes the index.
    let edit =
        r#"{"session_id":"session of Alice","tool_name":"Write","tool_input":{"file_path":"x"},"cwd":"/"}"#;
    wait_until("there is an index", || {
        let mut hook = env.msg();
        hook.args(["hook", "claude", "PreToolUse"]).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut hook = hook.spawn().unwrap();
        hook.stdin.take().unwrap().write_all(edit.as_bytes()).unwrap();
        hook.wait().unwrap();
        env.mesh().join("index").exists()
    });
    assert_eq!(line(&env, &["--as", "Alice"]), "Alice · 5 peers\n");
    env.kill(hosts[1]);
    assert_eq!(line(&env, &["--as", "Alice"]), "Alice · 4 peers\n", "one that the index knows");
    // From before the machine was booted: its pid belongs to another process now.
    date(&env.mesh().join("registry/Cleo.json"), SystemTime::UNIX_EPOCH + Duration::from_secs(1));
    assert_eq!(line(&env, &["--as", "Alice"]), "Alice · 4 peers\n", "it is read, and lives");
}

#[test]
fn it_is_coloured_only_where_that_is_wanted() {
    let env = TestEnvironment::new();
    env.join("Alice");
    assert!(!line(&env, &["--as", "Alice"]).contains('\u{1b}'));
    assert!(line(&env, &["--as", "Alice", "--color", "always"]).contains('\u{1b}'));
    assert!(!line(&env, &["--as", "Alice", "--color", "always", "--tmux"]).contains('\u{1b}'));
}

#[test]
fn a_broken_configuration_is_not_for_a_status_bar_to_say() {
    let env = TestEnvironment::new();
    env.join("Alice");
    put(&env.home().join(".config/ravenry/config.json"), "{ nonsense");
    assert_eq!(line(&env, &["--as", "Alice"]), "Alice\n");
    put(&env.work().join(".ravenry/config.json"), "{\"scopeToFolder\": true}");
    assert_eq!(line(&env, &["--as", "Alice"]), "Alice\n");
}

#[test]
fn those_elsewhere_don_t_count_where_only_this_folder_does() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let host = env.host().to_string();
    let elsewhere = env.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let join = ["join", "Bob", "--pid", &host, "--session", "b"];
    end(env.msg().args(join).current_dir(elsewhere)).expect_code(0);
    assert_eq!(line(&env, &["--as", "Alice"]), "Alice · 1 peer\n");
    env.ok(&["config", "set", "scopeToFolder", "true"]);
    assert_eq!(line(&env, &["--as", "Alice"]), "Alice\n");
}
