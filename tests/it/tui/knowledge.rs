//! Tests of the tab *Knowledge* on a terminal.

use ravenry::sys::test_switches;

use super::screen::Screen;
use crate::support::environment::{TestEnvironment, put};

/// From the agents to the records.
const TO_KNOWLEDGE: &str = "\x1b[Z\x1b[Z";

fn learn(env: &TestEnvironment, text: &str, name: &str) {
    env.ok(&["learn", text, "--name", name, "--at", "lock.rs", "--new"]);
}

#[test]
fn a_person_searches_reads_confirms_and_retires() {
    let env = TestEnvironment::new();
    put(&env.work().join("lock.rs"), "fn lock() {}\n");
    let mut screen = Screen::open_with(&env, &["Robin"], &[(test_switches::LOOK_MS, "50")]);
    screen.wait_for("Robin · nobody else");
    screen.write(TO_KNOWLEDGE);
    screen.wait_for("Nothing is recorded in this project yet.");
    screen.wait_for("msg learn");
    // What others record appears by itself.
    learn(&env, "One lock guards all names", "one-lock");
    learn(&env, "Elephants never forget", "elephants");
    screen.wait_for("2 records, the latest first:");
    screen.write("guards");
    screen.wait_for("2 records, 1 found, the best first:");
    screen.wait_without("elephants");
    screen.write("\r");
    screen.wait_for("“One lock guards all names”");
    screen.wait_for("c confirm · r retire");
    screen.write("c");
    screen.wait_for("confirmed note/one-lock");
    screen.wait_for("confirmed by Robin");
    assert!(
        env.ok(&["knowledge", "show", "one-lock"])["records"][0]["confirmations"][0]["author"] == "Robin"
    );
    screen.write("r");
    screen.wait_for("Retire it? y: yes");
    screen.write("n");
    screen.wait_for("note/one-lock is kept");
    screen.write("ry");
    screen.wait_for("note/one-lock is retired");
    screen.wait_for("No record matches.");
    assert_eq!(env.ok(&["knowledge", "list"])["total"], 1);
    screen.write("\x1b");
    screen.wait_for("1 record, the latest first:");
    // Where nobody has the log, a page is all that counts.
    env.ok(&["knowledge", "publish", "elephants"]);
    screen.write("\r");
    // Only what was read can be retired.
    screen.wait_for("at: lock.rs fresh");
    screen.write("ry");
    screen.wait_for("Nothing is recorded in this project yet.");
    screen.wait_for("note/elephants is retired; remove its page `docs/knowledge/note/elephants.");
    screen.write("\x03");
    assert!(screen.end().success());
}

/// Whoever closes the chat right after a key has done what the key says.
#[test]
fn what_was_confirmed_last_is_written() {
    let env = TestEnvironment::new();
    put(&env.work().join("lock.rs"), "fn lock() {}\n");
    learn(&env, "One lock guards all names", "one-lock");
    let mut screen = Screen::open(&env, &["Robin"]);
    screen.wait_for("Robin · nobody else");
    screen.write(TO_KNOWLEDGE);
    screen.wait_for("1 record, the latest first:");
    screen.write("\r");
    screen.wait_for("“One lock guards all names”");
    screen.write("c\x03");
    assert!(screen.end().success());
    assert_eq!(
        env.ok(&["knowledge", "show", "one-lock"])["records"][0]["confirmations"][0]["author"],
        "Robin"
    );
}
