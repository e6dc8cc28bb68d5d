//! What is told, and what it looks like.

use ravenry::domain::EventKind;
use serde_json::Value;

use super::{command, happen, has_rung, lines, marks, on_terminal, watch, with_robin, written};
use crate::panes::Tmux;
use crate::runs::{put_profiles, script};
use crate::support::environment::{TestEnvironment, wait_until};
use crate::support::running::post;
use crate::tui::screen::Screen;
use nix::sys::signal::Signal;

const NASTY: &str = "a\u{7}\u{1b}]9;evil\u{7}\u{1b}\\\u{9c}b\r\nc\u{202e}d;e";

#[test]
fn mail_is_a_line_of_its_own_and_nothing_in_it_reaches_the_terminal() {
    let env = with_robin(r#"{"notify": {"mail": ["osc9"], "urgent": ["bell", "osc777"]}}"#);
    let screen = watch(&env, "Robin");
    post(&env.store(), "Robin", NASTY);
    let osc = "\u{1b}]9;msg: Alice: “a\\u{7}\\u{1b}]9;evil\\u{7}\\u{1b}\\\\u{9c}b c\\u{202e}d;e”\u{7}";
    wait_until("it is told", || written(&screen).contains(osc));
    assert!(!written(&screen).contains("]9;evil\u{7}"), "{:?}", written(&screen));
    env.ok(&["send", "Robin", "come; now", "--importance", "urgent", "--as", "Alice"]);
    let osc = "\u{1b}]777;notify;msg;urgent mail from Alice: “come, now”\u{7}";
    wait_until("it is told", || written(&screen).contains(osc));
    assert!(has_rung(&screen));
}

#[test]
fn events_are_told_beside_the_mail() {
    let env = with_robin(
        r#"{"notify": {"stuck": ["osc9"], "runs": ["osc9"], "conflicts": ["osc9"], "questions": ["osc9"]}}"#,
    );
    let screen = watch(&env, "Robin");
    assert!(!written(&screen).contains("]9;"), "mail is not set");
    for (what, target, line) in [
        (EventKind::Stuck, "TASK-01", "Alice seems stuck on TASK-01"),
        (EventKind::RunEnded, "k3f9xa", "run k3f9xa has ended: “”"),
        (EventKind::Contest, "src/", "Alice contested src/"),
        (EventKind::RunWaiting, "k3f9xb", "run k3f9xb waits for an answer: “”"),
    ] {
        happen(&env, what, target);
        wait_until(line, || written(&screen).contains(&format!("\u{1b}]9;msg: {line}\u{7}")));
    }
    happen(&env, EventKind::Reserve, "docs/");
    // Robin knows what Robin has done.
    env.ok(&["reserve", "lib/", "--as", "Alice"]);
    env.ok(&["contest", "lib/", "--as", "Robin"]);
    happen(&env, EventKind::Stuck, "TASK-02");
    wait_until("the next", || written(&screen).contains("]9;msg: Alice seems stuck on TASK-02"));
    env.ok(&["send", "Robin", "may I?", "--kind", "question", "--as", "Alice"]);
    wait_until("the question", || written(&screen).contains("]9;msg: Alice asks: “may I?”"));
    assert!(!written(&screen).contains("docs/") && !written(&screen).contains("Robin contested"));
}

#[test]
fn nothing_is_told_in_quiet_hours_but_what_is_named() {
    let env = with_robin(
        r#"{"notify": {"mail": ["bell"], "urgent": ["osc9"]}, "quietHours": "22:00-07:00 except urgent"}"#,
    );
    // The clock stands still, also for who sends.
    let send = |text: &str, importance: &str, now: &str| {
        let args = ["send", "Robin", text, "--importance", importance, "--as", "Alice"];
        let ended = env.run_with(&args, &[(ravenry::sys::test_switches::NOW, now)]);
        ended.expect_code(0);
    };
    let (night, noon) = ("2026-11-14T23:00:00Z", "2026-11-14T12:00:00Z");
    for (now, is_quiet) in [(night, true), (noon, false)] {
        let variables = [(ravenry::sys::test_switches::NOW, now), ("TZ", "UTC0")];
        let screen = on_terminal(&env, &["watch", "--as", "Robin"], &variables);
        send("good night", "normal", now);
        screen.wait_for("good night");
        send("fire", "urgent", now);
        wait_until("it is told", || written(&screen).contains("]9;msg: urgent mail from Alice: “fire”\u{7}"));
        let bells = written(&screen).replace("“fire”\u{7}", "").matches('\u{7}').count();
        assert_eq!(bells == 0, is_quiet, "{:?}", written(&screen));
    }
}

/// Mail that comes while the watch starts is shown and not told, so what is to be told is of another kind.
fn urgent(env: &TestEnvironment, text: &str) {
    env.ok(&["send", "Robin", text, "--importance", "urgent", "--as", "Alice"]);
}

#[test]
fn a_command_gets_each_alert_and_one_that_fails_is_reported_once() {
    let env = with_robin(r#"{"notify": {"urgent": ["command"]}}"#);
    let (program, log) = command(&env, "echo \"$# $1 $MSG_ALERT\" >>\"$log\"; cat >>\"$log\"; exit 3");
    env.ok(&["config", "set", "notifyCommand", &format!("[\"{program}\", \"an argument\"]")]);
    let mut screen = watch(&env, "Robin");
    urgent(&env, "$(touch owned); `touch owned`\u{7}");
    wait_until("it was told", || lines(&log).len() >= 2);
    urgent(&env, "again");
    screen.wait_for("again");
    wait_until("it was told", || lines(&log).len() >= 4);
    screen.signal(Signal::SIGINT);
    screen.end();
    let told = lines(&log);
    assert_eq!(told[0], "1 an argument urgent mail from Alice: “$(touch owned); `touch owned`\\u{7}”");
    let alert: Value = serde_json::from_str(&told[1]).unwrap();
    assert_eq!((&alert["kind"], &alert["from"]), (&"urgent".into(), &"Alice".into()));
    assert_eq!(alert["line"], "urgent mail from Alice: “$(touch owned); `touch owned`\\u{7}”");
    assert_eq!(alert["id"].as_str().unwrap().len(), 6);
    let text = written(&screen);
    let complaint = "`notify` can't use the way `command`: it ended with 3";
    assert_eq!(text.matches(complaint).count(), 1, "{text}");
    assert!(!env.home().join("owned").exists() && !env.work().join("owned").exists());
}

#[test]
fn a_command_that_hangs_delays_nobody() {
    let env = with_robin(r#"{"notify": {"urgent": ["command"]}}"#);
    let (program, log) = command(&env, "echo $$ >>\"$log\"; exec sleep 1000");
    env.ok(&["config", "set", "notifyCommand", &program]);
    let mut screen = watch(&env, "Robin");
    urgent(&env, "help");
    wait_until("it hangs", || !lines(&log).is_empty());
    urgent(&env, "still here");
    screen.wait_for("still here");
    screen.signal(Signal::SIGINT);
    screen.end();
    let pid: i32 = lines(&log)[0].parse().unwrap();
    wait_until("the command has ended", || !crate::panes::is_alive(pid));
}

#[test]
fn the_chat_tells_too() {
    let env = with_robin(r#"{"notify": {"mail": ["bell", "osc9"], "stuck": ["osc9"]}}"#);
    let screen = Screen::open(&env, &["--as", "Robin"]);
    screen.wait_for("Robin · 1 peer");
    post(&env.store(), "Robin", "hello");
    wait_until("it is told", || written(&screen).contains("\u{1b}]9;msg: Alice: “hello”\u{7}"));
    assert!(has_rung(&screen));
    happen(&env, EventKind::Stuck, "TASK-01");
    wait_until("it is told", || written(&screen).contains("]9;msg: Alice seems stuck on TASK-01\u{7}"));
    assert_eq!(marks(&env), 2);
}

/// With `runs` and `command`, the supervisor of a run starts the command, whether anybody watches or not.
#[test]
fn the_end_of_a_run_is_told_although_nobody_watches() {
    let env = with_robin(r#"{"notify": {"runs": ["command"]}, "backOff": 0}"#);
    put_profiles(&env, &script("echo", "cat"));
    let (program, log) =
        command(&env, "echo \"$@\" >>\"$log\"; echo \"$MSG_ALERT\" >>\"$log\"; cat >>\"$log\"");
    env.ok(&["config", "set", "notifyCommand", &program]);
    let run = env.ok(&["run", "echo", "hi", "--as", "Alice"])["run"].clone();
    let id = run["id"].as_str().unwrap();
    wait_until("it was told", || lines(&log).len() >= 3);
    let told = lines(&log);
    assert_eq!(told[..2], [format!("{id} done"), format!("run {id} has ended: done")]);
    let alert: Value = serde_json::from_str(&told[2]).unwrap();
    assert_eq!((&alert["kind"], &alert["id"], &alert["state"]), (&"runs".into(), &id.into(), &"done".into()));
    // In quiet hours it is not.
    env.ok(&["config", "set", "quietHours", "00:00-12:00"]);
    for now in ["2026-11-14T03:00:00Z", "2026-11-14T15:00:00Z"] {
        let variables = [(ravenry::sys::test_switches::NOW, now), ("TZ", "UTC0")];
        env.run_with(&["run", "echo", "hi", "--as", "Alice"], &variables).expect_code(0);
    }
    wait_until("it was told", || lines(&log).len() >= 6);
    assert!(lines(&log)[5].contains("2026-11-14T15:00"), "{:?}", lines(&log));
}

#[test]
fn tmux_shows_a_line_to_its_own_client() {
    let Some(tmux) = Tmux::start() else { return };
    // The line stands until a key is pressed.
    tmux.ask(&["set-option", "-g", "display-time", "0"]);
    let env = &tmux.env;
    env.configure(r#"{"notify": {"mail": ["tmux"]}}"#);
    env.join("Alice");
    super::join_person(env, "Robin");
    let client = attach(&tmux);
    client.wait_for("first");
    let mut args: Vec<std::ffi::OsString> = Vec::new();
    for (name, value) in env.msg().get_envs() {
        let mut pair = name.to_os_string();
        pair.push("=");
        pair.push(value.unwrap_or_default());
        args.push(pair);
    }
    args.extend([env!("CARGO_BIN_EXE_msg"), "watch", "--as", "Robin"].map(Into::into));
    let words: Vec<&std::ffi::OsStr> = args.iter().map(AsRef::as_ref).collect();
    let pane =
        tmux.window("exec env -i TERM=\"$TERM\" TMUX=\"$TMUX\" TMUX_PANE=\"$TMUX_PANE\" \"$@\"", &words);
    post(&env.store(), "Robin", "ready?");
    wait_until("it watches", || pane.capture().is_ok_and(|capture| capture.text.contains("ready?")));
    // The pane is not what the client shows, so this is the line of tmux.
    post(&env.store(), "Robin", "50% #(touch owned) #{pid} \u{1b}[2J");
    client.wait_for("msg: Alice: “50% #(touch owned) #{pid} \\u{1b}[2J”");
    assert!(!env.home().join("owned").exists() && !env.work().join("owned").exists());
}

fn attach(tmux: &Tmux) -> Screen {
    let socket = tmux.socket();
    let command = pty_process::blocking::Command::new("tmux")
        .args(["-u", "-S", socket.to_str().unwrap(), "attach", "-t", crate::panes::SESSION])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", tmux.env.home())
        .env("TERM", "xterm-256color")
        .env("LANG", "C.UTF-8");
    Screen::start(command)
}

#[test]
fn an_alert_whose_command_fails_does_not_take_others_along() {
    let env = with_robin(r#"{"notify": {"stuck": ["command"]}}"#);
    let go = env.path().join("go");
    let lines_of_it = format!(
        "echo \"$MSG_ALERT\" >>\"$log\"; until test -e '{}'; do sleep 0.02; done; case $MSG_ALERT in *-01) exit 1; esac",
        go.display()
    );
    let (program, log) = command(&env, &lines_of_it);
    env.ok(&["config", "set", "notifyCommand", &program]);
    let _screen = watch(&env, "Robin");
    happen(&env, EventKind::Stuck, "TASK-00");
    wait_until("the first is being told", || !lines(&log).is_empty());
    // The next ones are told together.
    for number in 1..5 {
        happen(&env, EventKind::Stuck, &format!("TASK-0{number}"));
    }
    wait_until("they are to be told", || marks(&env) == 5);
    std::fs::write(&go, "").unwrap();
    wait_until("all are told", || lines(&log).len() == 5);
}
