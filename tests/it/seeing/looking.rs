//! `msg look`: the state of an agent, what it rests on, and its screen.

use std::fs;

use ravenry::store::{ProbeCache, ProbeRecord, ProbedHarness};
use ravenry::sys::environment::Home;
use ravenry::sys::files::FileStamp;
use serde_json::{Value, json};

use crate::runs::{detached, script, wait_for_state, with_profiles};
use crate::seeing::Painted;
use crate::support::environment::{TestEnvironment, wait_until};
use crate::support::hook_call::{Call, session_of};

#[test]
fn hooks_and_the_screen_tell_what_an_agent_does() {
    let Some(raven) = Painted::start() else { return };
    raven.draw("idle.ansi.txt");
    let look = raven.wait_for_state("idle");
    assert_eq!(look["restsOn"], "screen", "no hook has run");
    assert!(look["lookAgainIn"].is_null());

    raven.draw("working.ansi.txt");
    raven.hook("UserPromptSubmit");
    let look = raven.wait_for_state("working");
    assert_eq!(look["restsOn"], "hooks_and_screen");
    assert!(look["screen"].as_str().unwrap().contains("esc to interrupt"), "{look}");
    raven.bash("PreToolUse", "cargo test --locked");
    let seconds = raven.look()["lookAgainIn"].as_u64().unwrap();
    assert!((60..=120).contains(&seconds), "tests run: {seconds}");

    raven.draw("waiting-permission.txt");
    let look = raven.wait_for_state("waiting");
    assert_eq!((&look["restsOn"], &look["lookAgainIn"]), (&"screen".into(), &30.into()));
    let question = &look["question"];
    assert_eq!((&question["kind"], question["id"].as_str().unwrap().len()), (&"permission".into(), 8));
    assert_eq!(question["choices"][0]["label"], "Yes");
    raven.hook("PermissionRequest-Bash");
    assert_eq!(raven.look()["restsOn"], "hooks_and_screen");
    let text = raven.tmux.env.run(&["look", "Raven"]).stdout;
    assert!(text.contains(&format!("--question {}", question["id"].as_str().unwrap())), "{text}");

    raven.draw("limited.ansi.txt");
    assert!(raven.wait_for_state("limited")["limitedUntil"].is_string());
    raven.draw("idle.ansi.txt");
    raven.hook("Stop");
    let look = raven.wait_for_state("idle");
    assert_eq!(look["question"], Value::Null);

    // A killed program leaves its screen behind; only its process says that it has ended.
    raven.kill();
    let look = raven.look();
    assert_eq!((&look["state"], &look["restsOn"]), (&"ended".into(), &"process".into()));
    assert!(look["screen"].is_null() && look["noScreen"].is_string(), "{look}");
}

#[test]
fn an_agent_whose_pane_is_gone_has_not_ended() {
    let Some(raven) = Painted::start() else { return };
    raven.draw("working.ansi.txt");
    raven.hook("UserPromptSubmit");
    raven.wait_for_state("working");
    raven.tmux.ask(&["kill-pane", "-t", raven.pane.id().as_str()]);
    wait_until("its pane is gone", || raven.look()["screen"].is_null());
    let look = raven.look();
    assert_eq!((&look["state"], &look["restsOn"]), (&"working".into(), &"hooks".into()), "{look}");
    raven.kill();
    assert_eq!(raven.look()["state"], "ended");
}

#[test]
fn the_server_may_be_killed() {
    let Some(raven) = Painted::start() else { return };
    raven.draw("idle.ansi.txt");
    raven.wait_for_state("idle");
    let server = nix::unistd::Pid::from_raw(raven.tmux.pid());
    nix::sys::signal::kill(server, nix::sys::signal::Signal::SIGKILL).unwrap();
    wait_until("there is no screen", || raven.look()["screen"].is_null());
    assert_eq!(raven.look()["noScreen"], "its tmux pane is gone");
    raven.kill();
    assert_eq!(raven.look()["state"], "ended");
}

#[test]
fn an_agent_outside_of_tmux_has_hooks_alone() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let look = env.ok(&["look", "Alice"]);
    assert_eq!((&look["state"], &look["restsOn"]), (&"unknown".into(), &"nothing".into()));
    assert_eq!(look["noScreen"], "it does not run in tmux");
    Call::new(&env, "claude/UserPromptSubmit", &session_of("Alice")).answer(&env);
    let look = env.ok(&["look", "Alice"]);
    assert_eq!((&look["state"], &look["restsOn"]), (&"working".into(), &"hooks".into()));
    Call::new(&env, "claude/Stop", &session_of("Alice")).answer(&env);
    assert_eq!(env.ok(&["look", "Alice"])["state"], "idle");
    let text = env.run(&["look", "Alice"]).stdout;
    assert!(text.contains("none: it does not run in tmux"), "{text}");
    assert_eq!(env.fails(1, &["look", "Nobody"]), "unknown_agent");
}

#[test]
fn what_a_screen_shows_is_escaped_and_bounded() {
    let Some(raven) = Painted::start() else { return };
    let lines: String = (0..40).map(|i| format!("line {i}\n")).collect();
    raven.draw_text(&format!("{lines}evil \u{202e}text\u{200b}\n\u{1b}[31mred\u{1b}[0m"));
    wait_until("it is drawn", || raven.look()["screen"].as_str().unwrap().contains("red"));
    let text = raven.tmux.env.run(&["look", "Raven", "--lines", "2"]).stdout;
    assert!(!text.contains('\u{202e}') && !text.contains('\u{1b}') && text.contains("│ red"), "{text}");
    let screen = |lines: &str| raven.tmux.env.ok(&["look", "Raven", "--lines", lines])["screen"].clone();
    assert_eq!(screen("2").as_str().unwrap().lines().count(), 2);
    assert!(screen("2000").as_str().unwrap().contains("line 0\n"));
    raven.tmux.env.run(&["look", "Raven", "--lines", "0"]).expect_code(2);
    // What was seen before is kept without its words.
    let hooks = raven.tmux.env.mesh().join("hooks");
    let files = fs::read_dir(hooks).unwrap().map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
    assert!(files.into_iter().all(|content| !content.contains("line 1")));
}

#[test]
fn in_a_narrow_terminal_every_line_of_a_screen_has_its_mark() {
    let Some(raven) = Painted::start() else { return };
    raven.draw_text(&format!("{}\n{}\nthe end of it", "obey me ".repeat(20), "日本語".repeat(20)));
    wait_until("it is drawn", || raven.look()["screen"].as_str().unwrap().contains("the end of it"));
    let tmux = &raven.tmux;
    let line = format!("{} look Raven; exec sleep 100000", env!("CARGO_BIN_EXE_msg"));
    let mesh = format!("MSG_MESH={}", tmux.env.mesh().display());
    let dir = tmux.env.work();
    tmux.ask(&[
        "new-session",
        "-d",
        "-s",
        "narrow",
        "-x",
        "40",
        "-y",
        "60",
        "-e",
        &mesh,
        "-c",
        dir.to_str().unwrap(),
        &line,
    ]);
    let shown = || tmux.ask(&["capture-pane", "-p", "-t", "narrow"]);
    wait_until("it is shown", || shown().contains("│ the end of it"));
    let shown = shown();
    let screen = shown.lines().skip_while(|line| !line.starts_with('│')).filter(|line| !line.is_empty());
    let screen: Vec<&str> = screen.collect();
    assert!(screen.iter().all(|line| line.starts_with('│')), "{shown}");
    assert!(screen[0].ends_with("obey …") && screen[1].ends_with("語…"), "{shown}");
}

#[test]
fn rows_of_a_screen_are_quoted_and_bounded() {
    let Some(raven) = Painted::start() else { return };
    let rule = "─".repeat(100);
    let draft = "obey ”me. ".repeat(300);
    raven.draw_text(&format!("● Said.\n\n{rule}\n❯\u{a0}{draft}\n{rule}\n  ? for shortcuts"));
    wait_until("it is drawn", || raven.look()["draft"].is_string());
    let text = raven.tmux.env.run(&["look", "Raven"]).stdout;
    let row = text.lines().find(|line| line.trim_start().starts_with("draft")).unwrap();
    assert!(row.contains("draft     “obey \"me. obey") && row.ends_with("…”"), "{row}");
    assert!(row.chars().count() < 1020 && row.matches('”').count() == 1, "{row}");
}

/// What `msg workers --probe` would have found out about the program of an agent.
fn probed(raven: &Painted, version: &str) {
    let env = &raven.tmux.env;
    let path = fs::read_link(format!("/proc/{}/exe", raven.pid)).unwrap();
    let stamp = FileStamp::of(&fs::metadata(&path).unwrap());
    let version = Some(version.to_string());
    let probed = ProbedHarness { name: "claude".to_string(), path, stamp, version, trouble: None };
    let [config, state, cache] = [".config", ".local/state", ".cache"].map(|name| env.home().join(name));
    let home = Home { home: env.home(), config, state, cache };
    ProbeCache::of(&home).keep(&ProbeRecord::new(jiff::Timestamp::now(), vec![probed], Vec::new())).unwrap();
}

#[test]
fn a_version_without_recorded_screens_is_said() {
    let Some(raven) = Painted::start() else { return };
    raven.draw("idle.ansi.txt");
    let look = raven.wait_for_state("idle");
    assert_eq!(look.get("notice"), None, "its version is not known");
    probed(&raven, "2.1.999");
    assert_eq!(raven.look().get("notice"), None, "2.1 is known");
    probed(&raven, "2.2.0");
    let look = raven.look();
    let notice = look["notice"].as_str().unwrap();
    assert!(notice.contains("Claude Code 2.2.0") && notice.contains("hooks count first"), "{notice}");
    assert_eq!(look["state"], "idle", "it is read nevertheless");
    let text = raven.tmux.env.run(&["look", "Raven"]).stdout;
    assert!(text.contains(notice), "{text}");
    // Another program of that name says nothing about this one.
    let file = raven.tmux.env.home().join(".cache/ravenry/workers.json");
    let mut record: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    record["harnesses"][0]["path"] = json!("/bin/true");
    fs::write(&file, record.to_string()).unwrap();
    assert_eq!(raven.look().get("notice"), None);
    probed(&raven, "2.2.0");
    raven.kill();
    assert_eq!(raven.look().get("notice"), None, "there is no screen to misread");
}

#[test]
fn the_guide_needs_no_agent() {
    let env = TestEnvironment::new();
    let guide = env.ok(&["look", "--guide"])["guide"].as_str().unwrap().to_string();
    assert!(guide.contains("msg wait --for"));
    assert_eq!(env.run(&["look", "--guide"]).stdout, guide);
    env.run(&["look"]).expect_code(2);
}

#[test]
fn a_process_of_another_machine_is_not_looked_up_here() {
    let Some(raven) = Painted::start() else { return };
    raven.draw("working.ansi.txt");
    raven.hook("UserPromptSubmit");
    raven.wait_for_state("working");
    assert!(raven.tmux.env.ok(&["whois", "Raven"])["agent"]["place"].is_string());
    // Its id is that of the painter here, which is another process then.
    let path = raven.tmux.env.mesh().join("registry/Raven.json");
    let mut registration: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    registration["process"]["machineId"] = json!("another");
    registration["process"]["bootId"] = json!("another");
    fs::write(&path, registration.to_string()).unwrap();
    let look = raven.look();
    assert_eq!((&look["screen"], &look["restsOn"]), (&Value::Null, &"hooks".into()), "{look}");
    assert!(look["noScreen"].as_str().unwrap().contains("can't be seen from here"), "{look}");
    assert_eq!(raven.tmux.env.ok(&["whois", "Raven"])["agent"].get("place"), None);
}

#[test]
fn a_page_without_choices_has_no_answer() {
    let Some(raven) = Painted::start() else { return };
    raven.draw("waiting-help-80x24.txt");
    raven.wait_for_state("waiting");
    let text = raven.tmux.env.run(&["look", "Raven"]).stdout;
    assert!(text.contains("it has no choices that msg knows") && !text.contains("--answer"), "{text}");
}

#[test]
fn a_run_whose_record_is_damaged_is_not_an_unknown_agent() {
    let env = with_profiles(&script("echo", "cat"));
    let id = detached(&env, "echo", "hello");
    wait_for_state(&env, &id, "done");
    fs::write(env.mesh().join(format!("runs/{id}/run.json")), "{").unwrap();
    let told = env.run(&["look", &id, "--json"]);
    assert_ne!(told.kind(), "unknown_agent", "{told}");
    assert!(told.json()["error"]["message"].as_str().unwrap().contains("run.json"), "{told}");
}

#[test]
fn whoever_is_not_there_is_answered_with_what_to_do() {
    let env = TestEnvironment::new();
    for args in [&["look", "Raven", "--json"][..], &["wait", "--for", "Raven", "--until", "done", "--json"]] {
        let error = env.run(args).expect_code(1).json()["error"].clone();
        assert_eq!(error["kind"], "unknown_agent", "{error}");
        let hints = error["hints"].to_string();
        assert!(hints.contains("nobody has joined this mesh yet") && hints.contains("`msg join`"), "{hints}");
    }
    env.join("Robin");
    let hints = |name: &str| {
        let error = env.run(&["look", name, "--json"]).expect_code(1).json()["error"].clone();
        error["hints"].to_string()
    };
    assert!(hints("Raven").contains("`msg agents` lists who is here"), "{}", hints("Raven"));
    assert!(hints("Raven").contains("`msg runs` lists runs"), "{}", hints("Raven"));
    assert!(hints("Robn").contains("did you mean Robin?"), "{}", hints("Robn"));
}
