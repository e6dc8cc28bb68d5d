//! What can be done in the chat, with keys only.

use std::fs;

use crate::support::environment::{TestEnvironment, end, put, wait_until};

use super::screen::Screen;

const SPEC: &str = "- [ ] TASK-01: Log in\n- [ ] TASK-02: Log out\n";

#[test]
fn what_is_selected_is_claimed_handed_over_released_and_evicted() {
    let env = TestEnvironment::new();
    put(&env.work().join("spec.md"), SPEC);
    env.join("SwiftRaven");
    env.ok(&["spec", "spec.md", "--as", "SwiftRaven"]);
    env.ok(&["reserve", "src/", "--as", "SwiftRaven"]);
    let mut screen = Screen::open(&env, &["Robin"]);
    screen.wait_for("./spec.md:");

    screen.write("4");
    screen.wait_for("0 of 2 done, 2 ready");
    screen.write(" ");
    screen.wait_for("c  claim");
    screen.write("c");
    screen.wait_for("you have claimed TASK-01");
    screen.wait_for("Robin · now");
    screen.write(" h");
    screen.wait_for("1  SwiftRaven");
    screen.write("1");
    screen.wait_for("SwiftRaven has TASK-01 now");
    screen.wait_for("SwiftRaven · now");

    screen.write("5");
    screen.wait_for("holder");
    screen.write(" r");
    screen.wait_for("y / n: take from SwiftRaven, who is told, src/?");
    screen.write("n");
    screen.wait_for("nothing was changed");
    assert_eq!(env.ok(&["reservations"])["reservations"].as_array().unwrap().len(), 1);
    screen.write(" ry");
    screen.wait_for("src/ is released from SwiftRaven");
    screen.wait_for("Nothing is reserved.");

    screen.write("1");
    screen.wait_for("./spec.md:");
    screen.write(" e");
    screen.wait_for("evict SwiftRaven?");
    screen.write("y");
    screen.wait_for("SwiftRaven is evicted");
    screen.wait_for("Robin · nobody else");
    assert_eq!(env.names(), ["Robin"]);
}

#[test]
fn the_reservation_that_is_selected_is_released_and_no_other() {
    let env = TestEnvironment::new();
    let mut screen = Screen::open(&env, &["Robin"]);
    screen.wait_for("Robin · nobody else");
    for name in ["a", "b"] {
        let dir = env.path().join(name);
        fs::create_dir(&dir).unwrap();
        end(env.msg().args(["reserve", "src/", "--as", "Robin"]).current_dir(dir)).expect_code(0);
    }
    screen.write("5");
    wait_until("both are listed", || screen.text().matches("src/").count() >= 2);
    screen.write(" r");
    screen.wait_for("src/ is released");
    assert_eq!(env.ok(&["reservations"])["reservations"].as_array().unwrap().len(), 1);
}

/// What is typed while the editor is open is for the editor, and afterwards for the chat again.
#[test]
fn a_file_is_opened_in_the_editor() {
    let env = TestEnvironment::new();
    put(&env.work().join("spec.md"), SPEC);
    env.join("SwiftRaven");
    env.ok(&["spec", "spec.md", "--as", "SwiftRaven"]);
    let (script, opened, typed) =
        (env.path().join("editor"), env.path().join("opened"), env.path().join("typed"));
    let lines = format!(
        "printf '%s' \"$2\" >'{}'\necho it is open\nread -r line\nprintf '%s' \"$1 $line\" >'{}'\n",
        opened.display(),
        typed.display()
    );
    put(&script, &lines);
    let editor = format!("sh '{}' --wait", script.display());
    let mut screen = Screen::open_with(&env, &["Robin"], &[("EDITOR", &editor)]);
    screen.wait_for("./spec.md:");
    screen.write("4 ");
    screen.wait_for("o  open the spec in your editor");
    screen.write("o");
    screen.wait_for("it is open");
    let path = fs::read_to_string(&opened).unwrap();
    assert_eq!(path, env.work().join("spec.md").to_string_lossy());
    screen.write("4 words for it\n");
    wait_until("the editor has read a line", || {
        fs::read_to_string(&typed).is_ok_and(|text| text == "--wait 4 words for it")
    });
    screen.wait_for("0 of 2 done, 2 ready");
    screen.write("6");
    screen.wait_for("SwiftRaven joined");
    screen.write("\x03");
    assert!(screen.end().success());
}

/// An editor such as `code --wait` leaves Ctrl-C to the terminal.
#[test]
fn ctrl_c_while_the_editor_is_open_is_for_the_editor() {
    let env = TestEnvironment::new();
    put(&env.work().join("spec.md"), SPEC);
    env.join("SwiftRaven");
    env.ok(&["spec", "spec.md", "--as", "SwiftRaven"]);
    let script = env.path().join("editor");
    let lines = "trap 'echo interrupted; n=$((n+1))' INT\necho it is open\nwhile [ \"${n:-0}\" -lt 2 ]; do sleep 0.01; done\n";
    put(&script, lines);
    let editor = format!("sh '{}'", script.display());
    let mut screen = Screen::open_with(&env, &["Robin"], &[("EDITOR", &editor)]);
    screen.wait_for("./spec.md:");
    screen.write("4 ");
    screen.wait_for("o  open the spec in your editor");
    screen.write("o");
    screen.wait_for("it is open");
    screen.write("\x03");
    screen.wait_for("interrupted");
    screen.write("\x03");
    screen.wait_for("0 of 2 done, 2 ready");
    screen.write("6");
    screen.wait_for("SwiftRaven joined");
    screen.write("\x03");
    assert!(screen.end().success());
}

#[test]
fn what_is_copied_goes_to_the_clipboard_of_the_terminal() {
    let env = TestEnvironment::new();
    put(&env.work().join("spec.md"), SPEC);
    env.join("SwiftRaven");
    env.ok(&["spec", "spec.md", "--as", "SwiftRaven"]);
    let mut screen = Screen::open(&env, &["Robin"]);
    screen.wait_for("./spec.md:");
    screen.write("4 y");
    screen.wait_for("copied");
    let written = screen.written.lock().unwrap().clone();
    assert!(written.contains("\x1b]52;c;VEFTSy0wMQ==\x07"), "{written:?}");
}

#[test]
fn a_light_background_has_colours_of_its_own() {
    let env = TestEnvironment::new();
    env.join("SwiftRaven");
    for (theme, yellow, magenta) in [("dark", true, false), ("light", false, true)] {
        env.ok(&["config", "set", "theme", theme]);
        let mut screen = Screen::open(&env, &["Robin"]);
        screen.wait_for("Robin · 1 peer");
        env.ok(&["send", "Robin", "hello", "--as", "SwiftRaven"]);
        screen.wait_for("Chats(1)");
        let written = screen.written.lock().unwrap().clone();
        assert!(!written.contains("\x1b]11;?"), "it is not asked: {written:?}");
        let has = |colour: &str| written.contains(&format!("\x1b[38;5;{colour}"));
        assert_eq!(
            (has("3;") || has("3m"), has("5;") || has("5m")),
            (yellow, magenta),
            "{theme}: {written:?}"
        );
        screen.write("\x03");
        assert!(screen.end().success());
    }
}

/// A slow terminal answers when nobody waits for it any more.
#[test]
fn an_answer_of_the_terminal_is_no_key() {
    let env = TestEnvironment::new();
    let mut screen = Screen::open(&env, &["Robin"]);
    screen.wait_for("Robin · nobody else");
    assert!(screen.written.lock().unwrap().contains("\x1b]11;?\x07"));
    for end in ["\x07", "\x1b\\"] {
        screen.write(&format!("\x1b]11;rgb:ffff/0a0b/1111{end}\x1b[?62;22c"));
        screen.write("@all x");
        wait_until("only that is typed", || screen.text().trim_end().ends_with("› @all x"));
        screen.write("\x15");
        screen.wait_without("@all x");
    }
    screen.wait_for("Nobody else is here.");
}
