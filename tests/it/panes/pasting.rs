//! What is pasted arrives as it is, in the pane that it is for, and not in one that takes no keys.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use ravenry::sys::tmux::pane_lock::PaneLock;
use ravenry::sys::tmux::{PaneId, TmuxError, TmuxPane, TmuxSocket};

use super::Tmux;
use crate::support::environment::{PATIENCE, wait_until};

const START: &str = "\u{1b}[200~";
const END: &str = "\u{1b}[201~";
/// How many texts a sender has.
const TEXTS: usize = 60;

/// Texts that have gone wrong somewhere.
fn texts() -> Vec<String> {
    let line = "größer → 日本語 🙂 0123456789 abcdefghijklmnopqrstuvw\n";
    vec![
        "ends in a semicolon;".to_string(),
        r"ends in a marked one\;".to_string(),
        ";".to_string(),
        "C-c\nEnter\nEscape\n-l".to_string(),
        "größer → 日本語 🙂\n\ttabs and  blanks ".to_string(),
        "'one' \"two\" $HOME `three` #{pane_id} %if ~ {four} \\n".to_string(),
        "Enter".to_string(),
        "-t %0".to_string(),
        "\n".to_string(),
        "x".repeat(5000),
        line.repeat(60 * 1024 / line.len() + 1),
    ]
}

#[track_caller]
fn wait_for_content(file: &Path, expected: &str) {
    let read = || String::from_utf8_lossy(&fs::read(file).unwrap()).into_owned();
    wait_until("all has arrived", || fs::metadata(file).unwrap().len() >= expected.len() as u64);
    let read = read();
    let differs = read.bytes().zip(expected.bytes()).position(|(is, should)| is != should);
    assert!(read == expected, "{} of {} bytes, different from {differs:?} on", read.len(), expected.len());
}

#[test]
fn a_paste_arrives_as_it_is() {
    let Some(tmux) = Tmux::start() else { return };
    let (pane, file) = tmux.reader("read");
    let mut expected = String::new();
    for text in texts() {
        pane.load(&text).unwrap().paste().unwrap();
        pane.press("Enter", 1).unwrap();
        expected += &format!("{START}{text}{END}\r");
        wait_for_content(&file, &expected);
    }
    assert_eq!(tmux.ask(&["list-buffers"]), "", "no text is left in the server");
}

#[test]
fn a_program_that_knows_no_pastes_gets_the_text_alone() {
    let Some(tmux) = Tmux::start() else { return };
    let (pane, file) = tmux.reader_in_mode("read", "l");
    let mut expected = String::new();
    for text in texts() {
        pane.load(&text).unwrap().paste().unwrap();
        expected += &text;
        wait_for_content(&file, &expected);
    }
}

#[test]
fn keys_are_pressed_as_often_as_wanted() {
    let Some(tmux) = Tmux::start() else { return };
    let (pane, file) = tmux.reader("read");
    for (key, times) in [("BSpace", 20), ("Escape", 1), ("y", 2), (";", 1), ("'", 1), ("C-c", 1), ("Down", 1)]
    {
        pane.press(key, times).unwrap();
    }
    wait_for_content(&file, &format!("{}\u{1b}yy;'\u{3}\u{1b}[B", "\u{7f}".repeat(20)));
}

#[test]
fn a_text_that_is_not_pasted_is_removed() {
    let Some(tmux) = Tmux::start() else { return };
    let (pane, file) = tmux.reader("read");
    drop(pane.load("dropped").unwrap());
    pane.load("discarded").unwrap().discard().unwrap();
    assert_eq!(tmux.ask(&["list-buffers"]), "");
    pane.load("").unwrap().paste().unwrap();
    pane.load("").unwrap().discard().unwrap();
    pane.load("pasted").unwrap().paste().unwrap();
    wait_for_content(&file, &format!("{START}pasted{END}"));
}

#[test]
fn a_pane_whose_program_has_ended_takes_nothing() {
    let Some(tmux) = Tmux::start() else { return };
    tmux.ask(&["set-option", "-g", "remain-on-exit", "on"]);
    let pane = tmux.window("exit 3", &[]);
    wait_until("it has ended", || pane.info().unwrap().is_dead);
    for _ in 0..3 {
        assert!(matches!(pane.load("x").unwrap().paste(), Err(TmuxError::Dead(_))));
        assert!(matches!(pane.press("Enter", 1), Err(TmuxError::Dead(_))));
    }
    assert!(pane.capture().unwrap().is_dead);
    assert_eq!(tmux.ask(&["list-buffers"]), "");
    assert!(tmux.server.is_running().unwrap(), "tmux 3.3 crashes if it pastes into such a pane");
    pane.close().unwrap();
    assert!(matches!(pane.load("x").unwrap().paste(), Err(TmuxError::NoPane(_))));
    assert!(matches!(pane.press("Enter", 1), Err(TmuxError::NoPane(_))));
    assert!(matches!(pane.capture(), Err(TmuxError::NoPane(_))));
    assert!(matches!(pane.info(), Err(TmuxError::NoPane(_))));
    tmux.ask(&["kill-server"]);
    wait_until("the server is gone", || !tmux.server.is_running().unwrap());
    assert!(matches!(pane.load("x"), Err(TmuxError::NoServer(_))));
    assert!(matches!(pane.press("Enter", 1), Err(TmuxError::NoServer(_))));
    assert!(matches!(pane.capture(), Err(TmuxError::NoServer(_))));
}

#[test]
fn a_pane_that_is_scrolled_back_takes_nothing() {
    let Some(tmux) = Tmux::start() else { return };
    let (pane, file) = tmux.reader("read");
    tmux.ask(&["copy-mode", "-t", pane.id().as_str()]);
    assert!(matches!(pane.load("lost").unwrap().paste(), Err(TmuxError::InMode(_))));
    assert!(matches!(pane.press("Enter", 1), Err(TmuxError::InMode(_))));
    assert!(pane.capture().unwrap().is_in_mode && pane.info().unwrap().is_in_mode);
    tmux.ask(&["send-keys", "-t", pane.id().as_str(), "-X", "cancel"]);
    pane.load("kept").unwrap().paste().unwrap();
    wait_for_content(&file, &format!("{START}kept{END}"));
}

#[test]
fn what_was_looked_at_must_still_be_there() {
    let Some(tmux) = Tmux::start() else { return };
    let file = tmux.env.path().join("read");
    let script = r#"stty raw -echo; printf ready; read -r x <go; printf dialog; cat >"$1""#;
    let go = tmux.env.work().join("go");
    nix::unistd::mkfifo(&go, nix::sys::stat::Mode::S_IRWXU).unwrap();
    let pane = tmux.window(script, &[file.as_os_str()]);
    wait_until("it is ready", || pane.capture().unwrap().text.contains("ready"));
    let look = pane.capture().unwrap();
    assert_eq!((look.cursor, look.size), ((5, 0), (200, 50)));
    fs::write(&go, "go\n").unwrap();
    wait_until("the dialog is open", || pane.capture().unwrap().text.contains("dialog") && file.exists());
    assert!(matches!(pane.load("never").unwrap().paste_if_still(&look), Err(TmuxError::Changed(_))));
    assert!(matches!(pane.press_if_still("Enter", &look), Err(TmuxError::Changed(_))));
    let look = pane.capture().unwrap();
    pane.load("now").unwrap().paste_if_still(&look).unwrap();
    pane.press_if_still("Enter", &look).unwrap();
    wait_for_content(&file, "now\r");
}

/// The text with that number of a sender, for that pane.
fn text_of(sender: usize, number: usize, pane: &TmuxPane) -> String {
    let end = if number.is_multiple_of(3) { ";" } else { "\nEnter" };
    format!("text {number} of sender {sender} for {}\n{}{end}", pane.id(), "ü".repeat(number * 40))
}

/// A sender's next pane.
fn pane_for(sender: usize, number: usize, panes: &[TmuxPane; 2]) -> &TmuxPane {
    &panes[(sender + number) % 2]
}

fn send_all(sender: usize, panes: &[TmuxPane; 2], locks: &Path) {
    for number in 0..TEXTS {
        let pane = pane_for(sender, number, panes);
        let _lock = PaneLock::acquire(locks, pane, PATIENCE).unwrap();
        let look = pane.capture().unwrap();
        pane.load(&text_of(sender, number, pane)).unwrap().paste_if_still(&look).unwrap();
        pane.press("Enter", 1).unwrap();
    }
}

/// Waits until a pane has what the senders had for it, each text with its own Enter.
#[track_caller]
fn check_texts(senders: usize, panes: &[TmuxPane; 2], pane: &TmuxPane, file: &Path) {
    let all = (0..senders).flat_map(|sender| (0..TEXTS).map(move |number| (sender, number)));
    let its = all.filter(|(sender, number)| pane_for(*sender, *number, panes) == pane);
    let mut expected: Vec<String> =
        its.map(|(sender, number)| format!("{START}{}{END}\r", text_of(sender, number, pane))).collect();
    let length: usize = expected.iter().map(String::len).sum();
    wait_until("all has arrived", || fs::metadata(file).unwrap().len() >= length as u64);
    let read = fs::read_to_string(file).unwrap();
    let mut arrived: Vec<String> = read.split_inclusive(&format!("{END}\r")).map(str::to_string).collect();
    arrived.sort();
    expected.sort();
    assert!(arrived == expected, "{} texts instead of {}", arrived.len(), expected.len());
}

/// As another process, it is one of several senders.
#[test]
fn a_sender_alone_reaches_two_panes() {
    if let Ok(words) = std::env::var("PANE_SENDER") {
        let words: Vec<&str> = words.split('\n').collect();
        let socket = TmuxSocket::Path(words[1].into());
        let panes = [2, 3].map(|at| TmuxPane::new(socket.clone(), PaneId::new(words[at]).unwrap()));
        return send_all(words[0].parse().unwrap(), &panes, Path::new(words[4]));
    }
    let Some(tmux) = Tmux::start() else { return };
    let ((first, first_file), (second, second_file)) = (tmux.reader("first"), tmux.reader("second"));
    let panes = [first, second];
    send_all(0, &panes, &tmux.env.path().join("locks"));
    check_texts(1, &panes, &panes[0], &first_file);
    check_texts(1, &panes, &panes[1], &second_file);
}

#[test]
fn two_senders_do_not_mix_in_two_panes() {
    let Some(tmux) = Tmux::start() else { return };
    let ((first, first_file), (second, second_file)) = (tmux.reader("first"), tmux.reader("second"));
    let panes = [first, second];
    let senders = [0, 1].map(|sender| {
        let (socket, locks) = (tmux.socket(), tmux.env.path().join("locks"));
        let words = [
            &sender.to_string(),
            socket.to_str().unwrap(),
            panes[0].id().as_str(),
            panes[1].id().as_str(),
            locks.to_str().unwrap(),
        ];
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([
            "--exact",
            "panes::pasting::a_sender_alone_reaches_two_panes",
            "--nocapture",
            "--quiet",
        ]);
        command.env("PANE_SENDER", words.join("\n")).stdin(Stdio::null()).stdout(Stdio::null());
        command.spawn().unwrap()
    });
    for mut sender in senders {
        assert!(sender.wait().unwrap().success());
    }
    check_texts(2, &panes, &panes[0], &first_file);
    check_texts(2, &panes, &panes[1], &second_file);
}

#[test]
fn whoever_types_into_a_pane_keeps_others_out() {
    let Some(tmux) = Tmux::start() else { return };
    let (pane, _) = tmux.reader("read");
    let locks = tmux.env.path().join("locks");
    let held = PaneLock::acquire(&locks, &pane, PATIENCE).unwrap();
    assert!(PaneLock::acquire(&locks, &pane, Duration::from_millis(1)).is_err());
    drop(held);
    drop(PaneLock::acquire(&locks, &pane, PATIENCE).unwrap());
}
