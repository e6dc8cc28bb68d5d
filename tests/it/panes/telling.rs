//! `msg tell`: what is typed into a terminal arrives once and whole, and nothing is typed where it does not belong.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use ravenry::sys::test_switches::{KEY_HELD, PASTE_HELD};
use serde_json::{Value, json};

use super::Tmux;
use super::launching::Clients;
use super::stand_in::StandIn;
use crate::runs::{put_profiles, script, wait_for_run};
use crate::support::environment::{TestEnvironment, end, wait_until};
use crate::support::hook_fixture::{ended, in_shell};

/// How many prompts a sender has.
const PROMPTS: usize = 60;

/// Tells it, and returns the error.
#[track_caller]
pub fn refused(env: &TestEnvironment, args: &[&str]) -> Value {
    let args = [&["tell"], args, &["--json"]].concat();
    env.run(&args).expect_code(1).json()["error"].clone()
}

/// A `tell` that waits at a pipe.
pub fn held(tmux: &Tmux, variable: &str, args: &[&str]) -> (Child, PathBuf) {
    let pipe = tmux.env.path().join("held");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let mut command = tmux.env.msg();
    command.args(["tell", "--json"]).args(args).env(variable, &pipe);
    (command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap(), pipe)
}

/// Waits until it is at the pipe, does something, and lets it go on. Returns the error.
#[track_caller]
pub fn meanwhile(child: Child, pipe: &Path, act: impl FnOnce()) -> Value {
    let open = File::options().write(true).open(pipe).unwrap();
    act();
    drop(open);
    ended(child).expect_code(1).json()["error"].clone()
}

#[test]
fn a_prompt_is_taken_once_and_whole() {
    let Some(tmux) = Tmux::start() else { return };
    let robin = StandIn::start(&tmux, "Robin");
    let line = "größer → 日本語 🙂 0123456789 abcdefghijklmnopqrstuvw\n";
    let texts = [
        "ends in a semicolon;".to_string(),
        "first\nC-c\nEnter\ngrößer → 日本語 🙂\n-l".to_string(),
        "Enter".to_string(),
        "'one' \"two\" $HOME `three` #{pane_id} \\n".to_string(),
        "x".repeat(3000),
        line.repeat(60 * 1024 / line.len() + 1).trim_end().to_string(),
    ];
    for text in &texts {
        let told = tmux.env.ok(&["tell", "Robin", text])["told"].clone();
        let expected = json!({"agent": "Robin", "characters": text.chars().count(), "confirmedBy": "hook"});
        assert_eq!(told, expected);
        wait_until("its turn is over", || robin.screen().contains("? for shortcuts"));
    }
    let expected: Vec<Value> = texts.iter().map(|text| json!({"prompt": text})).collect();
    assert_eq!(robin.log(), expected);
    assert_eq!(tmux.ask(&["list-buffers"]), "", "no text is left in the server");
}

#[test]
fn a_small_terminal_takes_prompts_too() {
    let Some(tmux) = Tmux::start() else { return };
    let robin = StandIn::start(&tmux, "Robin");
    tmux.ask(&["resize-window", "-t", robin.pane.id().as_str(), "-x", "80", "-y", "24"]);
    wait_until("it is small", || robin.pane.capture().is_ok_and(|capture| capture.size == (80, 24)));
    let texts = [
        "one line of some length, and not longer".to_string(),
        "a\nb\nc".to_string(),
        "x ".repeat(1500) + "y",
    ];
    for text in &texts {
        tmux.env.ok(&["tell", "Robin", text]);
        wait_until("its turn is over", || robin.screen().contains("? for shortcuts"));
    }
    let expected: Vec<Value> = texts.iter().map(|text| json!({"prompt": text})).collect();
    assert_eq!(robin.log(), expected);
}

#[test]
fn a_server_that_is_killed_before_the_paste_is_told() {
    let Some(tmux) = Tmux::start() else { return };
    let _robin = StandIn::start(&tmux, "Robin");
    let (child, pipe) = held(&tmux, PASTE_HELD, &["Robin", "go on"]);
    let error = meanwhile(child, &pipe, || {
        tmux.ask(&["kill-server"]);
    });
    assert_eq!(error["kind"], "not_running", "{error}");
}

#[test]
fn texts_that_would_act_as_keys_are_refused() {
    let Some(tmux) = Tmux::start() else { return };
    let robin = StandIn::start(&tmux, "Robin");
    for (text, kind) in [("end\u{1b}[201~\r", "invalid_value"), (" \n", "empty")] {
        assert_eq!(tmux.env.fails(2, &["tell", "Robin", text]), kind);
    }
    std::fs::write(tmux.env.work().join("long"), "x".repeat(300_000)).unwrap();
    assert_eq!(tmux.env.fails(2, &["tell", "Robin", "--file", "long"]), "too_large");
    assert_eq!(tmux.env.fails(2, &["tell", "Robin"]), "usage");
    assert_eq!(tmux.env.fails(1, &["tell", "Nobody", "x"]), "unknown_agent");
    tmux.env.join("Wren");
    assert_eq!(refused(&tmux.env, &["Wren", "x"])["kind"], "no_screen");
    assert!(robin.log().is_empty());
}

#[test]
fn whoever_is_killed_before_the_paste_leaves_nothing_that_stays() {
    let Some(tmux) = Tmux::start() else { return };
    let robin = StandIn::start(&tmux, "Robin");
    let (mut child, pipe) = held(&tmux, PASTE_HELD, &["Robin", "a secret"]);
    let open = File::options().write(true).open(pipe).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    drop(open);
    assert!(tmux.ask(&["list-buffers"]).contains("a secret"), "it was killed too early");
    tmux.env.ok(&["tell", "Robin", "go on"]);
    assert_eq!(tmux.ask(&["list-buffers"]), "");
    assert_eq!(robin.log(), [json!({"prompt": "go on"})]);
}

#[test]
fn two_senders_reach_two_panes_at_once() {
    let Some(tmux) = Tmux::start() else { return };
    let panes = [StandIn::start(&tmux, "Robin"), StandIn::start(&tmux, "Wren")];
    let text = |sender: usize, number: usize, name: &str| {
        let end = if number.is_multiple_of(3) { ";" } else { "\nEnter" };
        let more = if number.is_multiple_of(4) { "ü\n".repeat(number + 5) } else { String::new() };
        format!("prompt {number} of sender {sender} for {name}\n{more}{end}")
    };
    std::thread::scope(|scope| {
        for sender in 0..2 {
            let (panes, env) = (&panes, tmux.env.msg());
            let program = env.get_program().to_os_string();
            let variables: Vec<_> =
                env.get_envs().map(|(key, value)| (key.to_owned(), value.map(ToOwned::to_owned))).collect();
            let dir = tmux.env.work();
            scope.spawn(move || {
                for number in 0..PROMPTS {
                    let name = &panes[(sender + number) % 2].name;
                    let text = text(sender, number, name);
                    // It is refused while the turn of the other one's prompt runs.
                    wait_until("the prompt is taken", || {
                        let mut command = std::process::Command::new(&program);
                        command.env_clear().current_dir(&dir).stdin(Stdio::null());
                        command
                            .envs(variables.iter().filter_map(|(key, value)| Some((key, value.as_ref()?))));
                        let ended = end(command.args(["tell", name, "--json", "--", &text]));
                        let reason = || ended.json()["error"]["reason"].clone();
                        assert!(ended.code == Some(0) || reason() == "turn", "{ended}");
                        ended.code == Some(0)
                    });
                }
            });
        }
    });
    for (at, pane) in panes.iter().enumerate() {
        let all = (0..2).flat_map(|sender| (0..PROMPTS).map(move |number| (sender, number)));
        let its = all.filter(|(sender, number)| (sender + number) % 2 == at);
        let mut expected: Vec<Value> =
            its.map(|(sender, number)| json!({"prompt": text(sender, number, &pane.name)})).collect();
        let mut log = pane.log();
        for list in [&mut expected, &mut log] {
            list.sort_by_key(Value::to_string);
        }
        assert_eq!(log, expected);
    }
}

#[test]
fn a_draft_is_never_touched() {
    let Some(tmux) = Tmux::start() else { return };
    let robin = StandIn::start(&tmux, "Robin");
    let draft = "half a thought";
    let (child, pipe) = held(&tmux, PASTE_HELD, &["Robin", "go on"]);
    let error = meanwhile(child, &pipe, || {
        tmux.ask(&["send-keys", "-t", robin.pane.id().as_str(), "-l", draft]);
        robin.wait_for(draft);
    });
    assert_eq!((&error["kind"], &error["reason"]), (&json!("not_at_prompt"), &json!("changed")));
    let error = refused(&tmux.env, &["Robin", "go on"]);
    assert_eq!((&error["kind"], &error["reason"]), (&json!("not_at_prompt"), &json!("draft")));
    assert_eq!(refused(&tmux.env, &["Robin", "--interrupt"])["kind"], "no_turn");
    assert!(robin.screen().contains(&format!("❯\u{a0}{draft}\n")), "{}", robin.screen());
    assert!(robin.log().is_empty());
}

#[test]
fn a_dialog_that_opens_in_between_is_not_answered() {
    let Some(tmux) = Tmux::start() else { return };
    let robin = StandIn::start(&tmux, "Robin");
    let opens = || {
        robin.order("dialog Do you want to proceed?|Yes|No");
        robin.wait_for("1. Yes");
    };
    let (child, pipe) = held(&tmux, PASTE_HELD, &["Robin", "go on"]);
    let error = meanwhile(child, &pipe, opens);
    assert_eq!((&error["kind"], &error["reason"]), (&json!("not_at_prompt"), &json!("changed")));
    let error = refused(&tmux.env, &["Robin", "go on"]);
    assert_eq!((&error["kind"], &error["reason"]), (&json!("not_at_prompt"), &json!("dialog")));
    assert!(robin.log().is_empty());
}

#[test]
fn enter_is_not_pressed_on_a_dialog_that_opens_after_the_paste() {
    let Some(tmux) = Tmux::start() else { return };
    let robin = StandIn::start(&tmux, "Robin");
    let (child, pipe) = held(&tmux, KEY_HELD, &["Robin", "go on"]);
    let error = meanwhile(child, &pipe, || {
        robin.order("dialog Do you want to proceed?|Yes|No");
        robin.wait_for("1. Yes");
    });
    assert_eq!(error["kind"], "not_confirmed");
    let message = error["message"].as_str().unwrap();
    assert!(message.ends_with("so it was not sent"), "{message}");
    assert!(robin.log().is_empty());
}

#[test]
fn enter_is_not_pressed_while_the_pane_is_scrolled_back_and_that_is_said() {
    let Some(tmux) = Tmux::start() else { return };
    let robin = StandIn::start(&tmux, "Robin");
    let (child, pipe) = held(&tmux, KEY_HELD, &["Robin", "go on"]);
    let error = meanwhile(child, &pipe, || {
        tmux.ask(&["copy-mode", "-t", robin.pane.id().as_str()]);
    });
    assert_eq!(error["kind"], "not_confirmed");
    let message = error["message"].as_str().unwrap();
    assert!(message.ends_with("so it was not sent"), "{message}");
    assert!(robin.log().is_empty());
}

#[test]
fn a_dialog_is_answered_by_whoever_names_it() {
    let Some(tmux) = Tmux::start() else { return };
    let (env, robin) = (&tmux.env, StandIn::start(&tmux, "Robin"));
    assert_eq!(refused(env, &["Robin", "--answer", "1"])["kind"], "no_question");
    let asks = |question: &str| {
        robin.order(&format!("dialog {question}|Yes|Yes, and don't ask again|No"));
        robin.wait_for(question);
    };
    asks("Do you want to proceed?");
    let error = env.run(&["tell", "Robin", "--answer", "Y", "--json"]).expect_code(2).json()["error"].clone();
    assert_eq!(error["choices"], json!(["Yes", "Yes, and don't ask again", "No"]));
    let id = error["dialog"].as_str().unwrap().to_string();
    let told = env.ok(&["tell", "Robin", "--answer", "deny", "--question", &id])["told"].clone();
    let expected = json!({
        "agent": "Robin", "question": "Do you want to proceed?", "dialog": id, "answer": "No", "state": "idle",
        "next": null,
    });
    assert_eq!(told, expected);
    asks("Do you want to delete it?");
    assert_eq!(refused(env, &["Robin", "--answer", "1", "--question", &id])["kind"], "changed_meanwhile");
    env.ok(&["tell", "Robin", "--answer", "2"]);
    assert_eq!(robin.log(), [json!({"answer": "No"}), json!({"answer": "Yes, and don't ask again"})]);
}

#[test]
fn another_dialog_than_the_one_that_was_looked_at_is_not_answered() {
    let Some(tmux) = Tmux::start() else { return };
    let robin = StandIn::start(&tmux, "Robin");
    robin.order("dialog Do you want to proceed?|Yes|No");
    robin.wait_for("proceed");
    let (child, pipe) = held(&tmux, KEY_HELD, &["Robin", "--answer", "allow"]);
    let error = meanwhile(child, &pipe, || {
        robin.order("idle");
        robin.wait_for("for shortcuts");
        // Its cursor is in the same place.
        robin.order("dialog Do you want to delete it?|Yes|No");
        robin.wait_for("delete");
    });
    assert_eq!(error["kind"], "changed_meanwhile");
    assert!(robin.log().is_empty());
}

#[test]
fn a_turn_is_ended_and_nothing_else() {
    let Some(tmux) = Tmux::start() else { return };
    let (env, robin) = (&tmux.env, StandIn::start(&tmux, "Robin"));
    assert_eq!(refused(env, &["Robin", "--interrupt"])["kind"], "no_turn");
    env.ok(&["tell", "Robin", "work on it"]);
    robin.wait_for("esc to interrupt");
    assert_eq!(refused(env, &["Robin", "more"])["reason"], "turn");
    let told = env.ok(&["tell", "Robin", "--interrupt"])["told"].clone();
    assert_eq!(told, json!({"agent": "Robin", "interrupted": true, "state": "interrupted"}));
    assert_eq!(robin.log(), [json!({"prompt": "work on it"}), json!({"escape": "in a turn"})]);
    // Its hooks tell of its turn and not of the end, but its screen does.
    env.ok(&["tell", "Robin", "something else"]);
    assert_eq!(robin.log()[2], json!({"prompt": "something else"}));
}

#[test]
fn a_dialog_in_a_turn_that_has_just_begun_is_named() {
    let Some(tmux) = Tmux::start() else { return };
    let (env, robin) = (&tmux.env, StandIn::start(&tmux, "Robin"));
    env.ok(&["tell", "Robin", "work on it"]);
    robin.order("dialog Do you want to proceed?|Yes|No");
    robin.wait_for("1. Yes");
    let error = refused(env, &["Robin", "more"]);
    assert_eq!((&error["kind"], &error["reason"]), (&json!("not_at_prompt"), &json!("dialog")), "{error:#}");
}

#[test]
fn a_pane_that_is_scrolled_back_is_left_alone() {
    let Some(tmux) = Tmux::start() else { return };
    let robin = StandIn::start(&tmux, "Robin");
    tmux.ask(&["copy-mode", "-t", robin.pane.id().as_str()]);
    let error = refused(&tmux.env, &["Robin", "go on"]);
    assert_eq!((&error["kind"], &error["reason"]), (&json!("not_at_prompt"), &json!("scrolled_back")));
    assert!(robin.log().is_empty());
}

/// The settings of [`Clients`], with room for a run and those that it starts.
fn with_profiles(clients: &Clients, profiles: &[(&str, &str)]) {
    let socket = clients.tmux.socket();
    let settings =
        json!({"backOff": 0, "lookSeconds": 0.05, "tmuxSocket": socket, "slots": 8, "freeMemory": 0});
    clients.tmux.env.configure(&settings.to_string());
    let texts: Vec<String> = profiles.iter().map(|(name, text)| script(name, text)).collect();
    put_profiles(&clients.tmux.env, &texts.concat());
}

#[test]
fn only_the_parent_of_a_worker_may_type_into_its_terminal() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    let middle = r#"msg run claude 'ask first' --tmux --detach -q
        read id dialog < "$HOME/go"
        msg tell "$id" --answer 2 --json > "$HOME/unnamed"
        msg tell "$id" --answer 2 --question "$dialog" --json > "$HOME/named"
        echo tried > "$HOME/tried"; read id < "$HOME/go""#;
    with_profiles(&clients, &[("middle", middle)]);
    nix::unistd::mkfifo(&env.home().join("go"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    clients.run(&["run", "middle", "x", "--detach", "--json"]).expect_code(0);
    let mut worker = Value::Null;
    wait_until("its worker asks", || {
        let runs = env.ok(&["runs"])["runs"].as_array().unwrap().clone();
        let asks = |run: &&Value| run["profile"] == "claude" && run["state"] == "waiting";
        worker = runs.iter().find(asks).cloned().unwrap_or_default();
        worker.is_object()
    });
    let id = worker["id"].as_str().unwrap();
    let dialog = worker["answerWith"].as_str().unwrap().rsplit(' ').next().unwrap();
    // Another agent, whatever it calls itself.
    env.join("Robin");
    for args in
        [&["x"][..], &["--answer", "2", "--question", dialog], &["--interrupt"], &["x", "--as", "Robin"]]
    {
        let mut msg = env.msg();
        msg.args(["tell", id, "--json"]).args(args);
        let ended = end(&mut in_shell("\"$@\"", "codex", &msg)).expect_code(1);
        assert_eq!(ended.kind(), "not_yours", "{args:?}: {ended}");
    }
    std::fs::write(env.home().join("go"), format!("{id} {dialog}\n")).unwrap();
    wait_until("its parent has tried", || env.home().join("tried").exists());
    let told = |name: &str| -> Value {
        serde_json::from_slice(&std::fs::read(env.home().join(name)).unwrap()).unwrap()
    };
    assert_eq!(told("unnamed")["error"]["kind"], "no_question", "it may mean an earlier one");
    assert_eq!(told("named")["told"]["answer"], "No", "{}", told("named"));
    let run = wait_for_run(env, id, "at the end of its turn", |run| run["tmux"]["turns"] == 1);
    assert_eq!(run["result"], "chosen: 1");
    std::fs::write(env.home().join("go"), "\n").unwrap();
}

#[test]
fn a_worker_types_neither_for_itself_nor_for_whoever_started_it() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    with_profiles(&clients, &[("upwards", "msg tell \"$ABOVE\" x --json || true")]);
    clients.started(&["self test"]);
    let said = |name: &str| -> Value {
        serde_json::from_slice(&std::fs::read(env.work().join(name)).unwrap()).unwrap()
    };
    assert_eq!(said("self")["error"]["kind"], "not_yours", "{}", said("self"));
    let child = said("child");
    assert!(child["run"]["result"].as_str().unwrap().contains("not_yours"), "{child:#}");
    assert_eq!(clients.prompts(), ["self test"]);
}

#[test]
fn an_agent_that_is_not_its_parent_types_nothing() {
    let Some(tmux) = Tmux::start() else { return };
    let robin = StandIn::start(&tmux, "Robin");
    robin.order("dialog Do you want to proceed?|Yes|No");
    robin.wait_for("1. Yes");
    for args in [&["Robin", "x"][..], &["Robin", "--answer", "allow"], &["Robin", "--interrupt"]] {
        let mut msg = tmux.env.msg();
        msg.args(["tell", "--json"]).args(args);
        let ended = end(&mut in_shell("\"$@\"", "claude", &msg)).expect_code(1);
        assert_eq!(ended.kind(), "in_harness", "{ended}");
    }
    assert!(robin.log().is_empty());
}
