//! `msg tell --interrupt`: a turn is ended or not, and what is said about it is so.

use std::ffi::OsStr;
use std::path::Path;

use ravenry::sys::test_switches::KEY_HELD;
use serde_json::{Value, json};

use super::Tmux;
use super::stand_in::StandIn;
use super::telling::{held, meanwhile, refused};

const ASKS: &str = "Do you want to proceed?|Yes|No";

fn working(tmux: &Tmux) -> StandIn {
    let robin = StandIn::start(tmux, "Robin");
    robin.order("work");
    robin.wait_for("esc to interrupt");
    robin
}

#[test]
fn keys_that_were_not_heard_are_pressed_again() {
    let Some(tmux) = Tmux::start() else { return };
    let robin = working(&tmux);
    robin.order("deaf");
    let told = tmux.env.ok(&["tell", "Robin", "--interrupt"])["told"].clone();
    assert_eq!(told, json!({"agent": "Robin", "interrupted": true, "state": "interrupted"}));
    assert_eq!(robin.log(), [json!({"escape": "not heard"}), json!({"escape": "in a turn"})]);
}

#[test]
fn a_turn_that_asks_something_instead_has_not_ended() {
    let Some(tmux) = Tmux::start() else { return };
    let robin = working(&tmux);
    robin.order(&format!("ask-on-escape {ASKS}"));
    let error = refused(&tmux.env, &["Robin", "--interrupt"]);
    assert_eq!(
        (&error["kind"], &error["choices"]),
        (&json!("not_confirmed"), &json!(["Yes", "No"])),
        "{error:#}"
    );
    let look = tmux.env.ok(&["look", "Robin"]);
    assert_eq!(error["dialog"], look["question"]["id"], "{look:#}");
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("“Do you want to proceed?”"), "{message}");
    assert!(robin.log().is_empty(), "{:?}", robin.log());
}

/// Some programs have one place for the cursor in a turn and in a dialog.
#[test]
fn escape_does_not_reach_a_dialog_that_opens_before_it() {
    let Some(tmux) = Tmux::start() else { return };
    let robin = working(&tmux);
    let cursor = || robin.pane.capture().unwrap().cursor;
    let before = cursor();
    let (child, pipe) = held(&tmux, KEY_HELD, &["Robin", "--interrupt"]);
    let error = meanwhile(child, &pipe, || {
        robin.order(&format!("dialog-there {ASKS}"));
        robin.wait_for("1. Yes");
        assert_eq!(cursor(), before);
    });
    assert_eq!((&error["kind"], &error["reason"]), (&json!("not_at_prompt"), &json!("dialog")), "{error:#}");
    assert!(robin.log().is_empty(), "{:?}", robin.log());
}

#[test]
fn a_draft_is_not_removed_with_the_turn() {
    let Some(tmux) = Tmux::start() else { return };
    let robin = working(&tmux);
    tmux.ask(&["send-keys", "-t", robin.pane.id().as_str(), "-l", "half a thought"]);
    robin.wait_for("half a thought");
    let error = refused(&tmux.env, &["Robin", "--interrupt"]);
    assert_eq!((&error["kind"], &error["reason"]), (&json!("not_at_prompt"), &json!("draft")));
    assert!(robin.log().is_empty(), "{:?}", robin.log());
}

/// Draws screens of OpenCode: it asks its model again and again because of a limit, until Escape was pressed twice.
const RETRYING: &str = r#"stty -icanon -echo
draw() { printf '\033[0m\033[2J\033[H%s\033[%s;6H' "$(sed "$2" "$1")" "$3"; }
draw "$1" '' 45
dd bs=1 count=1 status=none >"$3"
draw "$1" 's/esc interrupt/esc again to interrupt/' 45
dd bs=1 count=1 status=none >>"$3"
draw "$2" '' 19
exec sleep 100000"#;

#[test]
fn a_turn_that_is_tried_again_at_a_limit_is_ended() {
    let Some(tmux) = Tmux::start() else { return };
    let env = &tmux.env;
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/screens/opencode-1.18.33");
    let (limited, interrupted) = (fixtures.join("limited.txt"), fixtures.join("interrupted-80x24.txt"));
    let keys = env.path().join("keys");
    let args: [&OsStr; 3] = [limited.as_os_str(), interrupted.as_os_str(), keys.as_os_str()];
    let pane = tmux.window(RETRYING, &args);
    let pid = pane.info().unwrap().pid.to_string();
    env.ok(&["join", "Robin", "--harness", "opencode", "--session", "one", "--pid", &pid]);
    let look = || -> Value { env.ok(&["look", "Robin"]) };
    crate::support::environment::wait_until("it is at its limit", || look()["state"] == "limited");
    let error = refused(env, &["Robin", "go on"]);
    assert_eq!((&error["kind"], &error["reason"]), (&json!("not_at_prompt"), &json!("limit")));
    let told = env.ok(&["tell", "Robin", "--interrupt"])["told"].clone();
    assert_eq!(told, json!({"agent": "Robin", "interrupted": true, "state": "interrupted"}));
    assert_eq!(std::fs::read(&keys).unwrap(), b"\x1b\x1b");
    assert_eq!(refused(env, &["Robin", "--interrupt"])["kind"], "no_turn");
}
