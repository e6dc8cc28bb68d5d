//! What can be set, what is refused, and what `msg notify` and `msg doctor` say about it.

use serde_json::json;

use super::{command, marks, on_terminal, with_robin, written};
use crate::support::environment::{TestEnvironment, end, put};
use crate::support::running::{Running, post};
use crate::support::terminal::{harness, stand_in, surroundings};
use crate::tui::screen::Screen;

#[test]
fn the_new_form_is_checked_and_the_old_one_stays() {
    let env = TestEnvironment::new();
    env.ok(&["config", "set", "notify", r#"{"urgent": ["bell", "osc9"], "mail": "bell", "runs": []}"#]);
    let shown = env.run(&["config", "get", "notify"]).stdout;
    assert_eq!(shown, "{\"mail\":[\"bell\"],\"urgent\":[\"bell\",\"osc9\"],\"runs\":[]}\n");
    env.ok(&["config", "set", "notify", "notify-send msg"]);
    assert_eq!(env.run(&["config", "get", "notify"]).stdout, "[\"notify-send\",\"msg\"]\n");
    for (value, wrong) in [
        (r#"{"mial": ["bell"]}"#, "there is no kind `mial`"),
        (r#"{"mail": ["ring"]}"#, "there is no way `ring`"),
        (r#"{"mail": [3]}"#, "the ways of `mail` are not a list of names"),
        (r#"{"mail": true}"#, "the ways of `mail` are not a list of names"),
        ("3", "it is neither"),
    ] {
        let ended = env.run(&["config", "set", "notify", value]).expect_code(2);
        let names = "the kinds are `mail`, `urgent`, `questions`, `runs`, `stuck`, `conflicts`, \
                     the ways `bell`, `osc9`, `osc777`, `tmux`, `command`";
        assert!(ended.stderr.contains(wrong) && ended.stderr.contains(names), "{value}: {ended}");
    }
    let ended = env.run(&["config", "set", "quietHours", "22-7"]).expect_code(2);
    assert_eq!(
        ended.stderr,
        "error: `quietHours` must be hours such as `22:00-07:00` or `22:00-07:00 except urgent`, but `22` is not a \
         time such as `22:00`\n"
    );
    env.ok(&["config", "set", "quietHours", "22:00-7:00 except urgent,questions"]);
    assert_eq!(env.run(&["config", "get", "quietHours"]).stdout, "22:00-07:00 except urgent, questions\n");
}

#[test]
fn a_project_sets_none_of_it() {
    let env = with_robin("{}");
    put(
        &env.work().join(".ravenry/config.json"),
        &json!({ "notify": {"mail": ["command"]}, "notifyCommand": "touch owned", "quietHours": "00:00-23:59" })
            .to_string(),
    );
    let overview = env.run(&["notify", "--json"]).expect_code(0);
    for key in ["notify", "notifyCommand", "quietHours"] {
        let note = format!("`{key}` is ignored, because a project may not set it");
        assert!(overview.stderr.contains(&note), "{overview}");
        assert_eq!(env.fails(2, &["config", "set", "--project", key, "touch x"]), "invalid_value", "{key}");
    }
    let overview = overview.json();
    assert_eq!(
        (&overview["kinds"]["mail"], &overview["command"], &overview["quiet"]),
        (&json!(null), &json!([]), &json!(null))
    );
}

#[test]
fn what_is_set_is_listed() {
    let env = TestEnvironment::at("2026-11-14T23:00:00Z");
    insta::assert_snapshot!(env.transcript(&[&["notify"]]), @r#"
    $ msg notify
    You are not told of anything. To hear a bell for what is urgent:
      msg config set notify '{"urgent": ["bell"], "questions": ["bell"]}'

    bell     does not work here  standard output is not a terminal; run it in a terminal, without a pipe
    osc9     does not work here  standard output is not a terminal; run it in a terminal, without a pipe
    osc777   does not work here  standard output is not a terminal; run it in a terminal, without a pipe
    tmux     does not work here  this terminal is not in tmux; run `msg watch` and `msg tui` inside tmux, or use another way, such as `bell`
    command  does not work here  no command is set; set one: `msg config set notifyCommand '["sh", "-c", "notify-send msg \"$MSG_ALERT\""]'`
    "#);
    env.configure(
        r#"{"notify": {"urgent": ["bell", "command"], "mail": [], "runs": ["tmux"]},
            "notifyCommand": ["no-such-program", "-x"], "quietHours": "00:00-23:59 except urgent"}"#,
    );
    insta::assert_snapshot!(env.transcript(&[&["notify"]]), @"
    $ msg notify
    While `msg watch` or `msg tui` is open, you are told of:
    mail       -              a message to you
    urgent     bell, command  a message to you of high or urgent importance
    questions  -              a question that waits for your answer, by mail or from a run
    runs       tmux           a run that has ended or failed
    stuck      -              an agent that seems to be stuck
    conflicts  -              a contested or taken path, and changes that collide
    The command: no-such-program -x
    Quiet hours: 00:00-23:59 except urgent; it is quiet now

    bell     does not work here  standard output is not a terminal; run it in a terminal, without a pipe
    osc9     does not work here  standard output is not a terminal; run it in a terminal, without a pipe
    osc777   does not work here  standard output is not a terminal; run it in a terminal, without a pipe
    tmux     does not work here  this terminal is not in tmux; run `msg watch` and `msg tui` inside tmux, or use another way, such as `bell`
    command  does not work here  there is no program `no-such-program`; correct it: `msg config set notifyCommand COMMAND`
    ");
    assert_eq!(env.ok(&["notify"])["quiet"], json!({ "hours": "00:00-23:59 except urgent", "now": true }));
}

#[test]
fn doctor_warns_of_a_way_that_cannot_work() {
    let env = TestEnvironment::new();
    assert_eq!(env.doctor_says("notify"), "", "nothing is set");
    env.configure(r#"{"notify": {"urgent": ["bell"]}}"#);
    assert_eq!(env.doctor_says("notify"), "ok: you are told by bell");
    env.configure(r#"{"notify": {"urgent": ["bell", "command"]}}"#);
    insta::assert_snapshot!(env.doctor_says("notify"), @r#"
    warn: the way `command` can't work: no command is set
    fix: set one: `msg config set notifyCommand '["sh", "-c", "notify-send msg \"$MSG_ALERT\""]'`
    "#);
    env.configure(r#"{"notify": {"urgent": ["command"]}, "notifyCommand": "/no/such/program"}"#);
    insta::assert_snapshot!(env.doctor_says("notify"), @"
    warn: the way `command` can't work: there is no program `/no/such/program`
    fix: correct it: `msg config set notifyCommand COMMAND`
    ");
    env.configure(r#"{"notify": "/no/such/program"}"#);
    insta::assert_snapshot!(env.doctor_says("notify"), @"
    warn: the command that hears of runs can't work: there is no program `/no/such/program`
    fix: correct it: `msg config set notify COMMAND`
    ");
    let shown = env.run(&["notify"]).expect_code(0).stdout;
    assert!(shown.contains("It does not work: there is no program `/no/such/program`"), "{shown}");
    env.configure(r#"{"notify": {"urgent": ["tmux"]}}"#);
    let without_tmux = end(env.msg().args(["doctor", "--json"]).env("PATH", "/nowhere"));
    insta::assert_snapshot!(env.findings(&without_tmux, "notify"), @"
    warn: the way `tmux` can't work: tmux is not installed
    fix: install tmux, or use another way, such as `bell`
    ");
}

#[test]
fn the_test_tries_what_works_here() {
    let env = with_robin("{}");
    let (program, log) = command(&env, "echo \"$MSG_ALERT\" >>\"$log\"; cat >>\"$log\"");
    env.ok(&["config", "set", "notifyCommand", &program]);
    let mut screen = on_terminal(&env, &["notify", "--test"], &[]);
    assert!(screen.end().success());
    let text = written(&screen);
    assert!(text.contains("\u{7}\u{1b}]9;msg: this is a test of msg notify\u{7}"), "{text:?}");
    assert!(text.contains("\u{1b}]777;notify;msg;this is a test of msg notify\u{7}"), "{text:?}");
    assert!(text.contains("not tried: this terminal is not in tmux"), "{text:?}");
    let told = super::lines(&log);
    assert_eq!(told[0], "this is a test of msg notify");
    assert_eq!(serde_json::from_str::<serde_json::Value>(&told[1]).unwrap()["kind"], "mail");
    // Without a terminal, only the command is left.
    let piped = env.run(&["notify", "--test"]).expect_code(0).stdout;
    assert!(!piped.contains(['\u{7}', '\u{1b}']), "{piped:?}");
    assert!(piped.contains("not tried: standard output is not a terminal"), "{piped}");
    assert_eq!(super::lines(&log).len(), 4);
}

#[test]
fn nobody_is_told_in_a_pipe_or_inside_a_harness() {
    let env = with_robin(r#"{"notify": {"mail": ["bell", "command"]}, "notifyCommand": "touch owned"}"#);
    let watcher = Running::start(&env, env.msg().args(["watch", "--json", "--as", "Robin"]));
    post(&env.store(), "Robin", "hello");
    watcher.wait_for(1);
    drop(watcher);
    assert_eq!(marks(&env), 0);
    // The program that looks like a harness stays above it.
    let mut program = surroundings(&env, stand_in(&env, "claude"));
    program.args(["-c", "msg watch --as Robin; true"]);
    let screen = Screen::start(pty_process::blocking::Command::from(program));
    post(&env.store(), "Robin", "in a harness");
    screen.wait_for("in a harness");
    assert!(!written(&screen).contains('\u{7}'));
    assert_eq!(marks(&env), 0);
    let mut harness = harness(&env, "claude");
    let refused = harness.run("msg notify --test");
    assert!(refused.code == Some(1) && refused.stderr.contains("needs a person"), "{refused}");
    assert!(!env.home().join("owned").exists());
}
