//! Waking by a paste: an idle agent gets one line into its empty prompt, and nothing else is touched.

use std::fs::File;
use std::process::Stdio;

use ravenry::sys::test_switches::PASTE_HELD;
use serde_json::Value;

use super::Tmux;
use super::stand_in::StandIn;
use crate::support::environment::wait_until;
use crate::support::hook_fixture::ended;

const DRAFT: &str = "half a thought";
const NUDGE: &str = "[msg] You have mail";

/// Robin, who rests, in a program that nothing but a paste wakes, and Alice.
fn resting(tmux: &Tmux) -> StandIn {
    let env = &tmux.env;
    env.ok(&["config", "set", "wake", "{\"paste\": true}"]);
    env.join("Alice");
    let robin = StandIn::start_as("copilot", tmux, "Robin");
    robin.order("rest");
    robin.wait_for("Rested.");
    robin
}

/// Sends to Robin. Returns how it is woken, and what is said about it.
#[track_caller]
fn send(tmux: &Tmux) -> (Value, String) {
    let sent = tmux.env.run(&["send", "Robin", "hello", "--as", "Alice", "--json"]).expect_code(0);
    (sent.json()["sent"][0]["wake"].clone(), sent.stderr)
}

fn typed(tmux: &Tmux, robin: &StandIn, text: &str) {
    tmux.ask(&["send-keys", "-t", robin.pane.id().as_str(), "-l", text]);
    robin.wait_for(text);
}

#[test]
fn mail_is_pasted_into_an_empty_prompt() {
    let Some(tmux) = Tmux::start() else { return };
    let robin = resting(&tmux);
    let (wake, said) = send(&tmux);
    assert_eq!(wake, "paste", "{said}");
    let log = robin.log();
    assert_eq!(log.len(), 1, "{log:?}");
    assert!(log[0]["prompt"].as_str().unwrap().starts_with(NUDGE), "{log:?}");
}

#[test]
fn a_draft_is_left_alone() {
    let Some(tmux) = Tmux::start() else { return };
    let robin = resting(&tmux);
    typed(&tmux, &robin, DRAFT);
    let (wake, said) = send(&tmux);
    assert!(wake == "prompt" && said.contains("draft"), "{wake}: {said}");
    assert!(robin.screen().contains(&format!("❯\u{a0}{DRAFT}\n")), "{}", robin.screen());
    assert!(robin.log().is_empty(), "{:?}", robin.log());
}

#[test]
fn a_dialog_is_left_alone() {
    let Some(tmux) = Tmux::start() else { return };
    let robin = resting(&tmux);
    robin.order("dialog Do you want to proceed?|Yes|No");
    robin.wait_for("1. Yes");
    let (wake, said) = send(&tmux);
    assert_eq!(wake, "prompt", "{said}");
    assert!(robin.log().is_empty(), "{:?}", robin.log());
}

#[test]
fn a_draft_that_is_typed_before_the_paste_is_left_alone() {
    let Some(tmux) = Tmux::start() else { return };
    let robin = resting(&tmux);
    let pipe = tmux.env.path().join("held");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let mut command = tmux.env.msg();
    command.args(["send", "Robin", "hello", "--as", "Alice", "--json"]).env(PASTE_HELD, &pipe);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let open = File::options().write(true).open(&pipe).unwrap();
    typed(&tmux, &robin, DRAFT);
    drop(open);
    let sent = ended(child).expect_code(0).json();
    assert_eq!(sent["sent"][0]["wake"], "prompt", "{sent:#}");
    assert!(robin.screen().contains(&format!("❯\u{a0}{DRAFT}\n")), "{}", robin.screen());
    assert!(robin.log().is_empty(), "{:?}", robin.log());
    assert_eq!(tmux.ask(&["list-buffers"]), "", "no text is left in the server");
}

#[test]
fn what_is_not_sent_is_removed_again() {
    let Some(tmux) = Tmux::start() else { return };
    let robin = resting(&tmux);
    robin.order("no-enter");
    let (wake, said) = send(&tmux);
    assert!(wake == "prompt" && said.contains("removed again"), "{wake}: {said}");
    assert!(!robin.screen().contains("[msg]"), "{}", robin.screen());
    // Nothing was said, so it counts as idle and is woken by the next message.
    let (wake, _) = send(&tmux);
    assert_eq!(wake, "prompt");
}

#[test]
fn what_was_pasted_behind_a_draft_is_removed_again() {
    let Some(tmux) = Tmux::start() else { return };
    let robin = resting(&tmux);
    robin.order(&format!("type-at-paste {DRAFT}"));
    let (wake, said) = send(&tmux);
    assert!(wake == "prompt" && said.contains("removed again"), "{wake}: {said}");
    wait_until("only the draft is left", || robin.screen().contains(&format!("❯\u{a0}{DRAFT}\n")));
    assert!(robin.log().is_empty(), "{:?}", robin.log());
}

#[test]
fn who_types_while_it_is_removed_loses_nothing() {
    let Some(tmux) = Tmux::start() else { return };
    let robin = resting(&tmux);
    robin.order("no-enter");
    robin.order(&format!("type-at-removal {DRAFT}"));
    let (wake, said) = send(&tmux);
    assert!(wake == "prompt" && said.contains("may be left"), "{wake}: {said}");
    assert!(robin.screen().contains(DRAFT) && robin.screen().contains(NUDGE), "{}", robin.screen());
    assert!(robin.log().is_empty(), "{:?}", robin.log());
}
