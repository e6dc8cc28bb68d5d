//! The tour (`docs/tour.md`), followed word for word: each command is typed into bash on a real terminal, in order, and
//! must print what the page shows. Times, ids, process numbers and the home directory may differ.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::thread;

use pty_process::Size;
use pty_process::blocking as pty;
use ravenry::sys::{process, test_switches};

use crate::support::environment::{TestEnvironment, wait_until};

/// Stands for lines that the page leaves out.
const LEFT_OUT: &str = "…";
/// Around the exit code, which follows what a command prints.
const MARK: char = '\x1e';
/// Runs files whose names it reads; nothing that is typed is echoed.
const LOOP: &str = "stty -echo; printf '\\036ready\\036'; while read -r file; do . \"$file\"; done";

/// What the page tells its reader to do.
#[derive(Debug)]
enum Step {
    Type {
        command: String,
        shown: Vec<String>,
    },
    /// Keys for the program that runs, and words that are on the screen afterwards.
    Press {
        keys: String,
        words: Vec<String>,
    },
}

fn steps(page: &str) -> Vec<Step> {
    let (mut steps, mut in_block) = (Vec::new(), false);
    for line in page.lines() {
        if line.starts_with("```") {
            in_block = line == "```console";
        } else if let Some(command) = line.strip_prefix("$ ").filter(|_| in_block) {
            steps.push(Step::Type { command: command.to_string(), shown: Vec::new() });
        } else if let Some(Step::Type { shown, .. }) = steps.last_mut().filter(|_| in_block) {
            shown.push(line.to_string());
        } else if let Some((keys, screen)) = row(line) {
            let words = screen.split('`').skip(1).step_by(2).map(str::to_string).collect();
            steps.push(Step::Press { keys, words });
        }
    }
    steps
}

/// A row of the table of keys: what to press, and what is seen then.
fn row(line: &str) -> Option<(String, &str)> {
    let (keys, screen) = line.strip_prefix("| ")?.strip_suffix(" |")?.split_once(" | ")?;
    if keys == "press or type" || keys == "---" {
        return None;
    }
    let key = |key: &str| match key {
        "nothing yet" => String::new(),
        "Tab" => "\t".to_string(),
        "Enter" => "\r".to_string(),
        "Ctrl-C" => "\x03".to_string(),
        typed => typed.trim_matches('`').to_string(),
    };
    Some((keys.split(", ").map(key).collect(), screen))
}

/// A line without what may differ: times are `1s`, ids and processes are named so, and columns are one blank apart.
fn normal(line: &str, home: &Path) -> String {
    let line = line.replace(&home.display().to_string(), "/home/you");
    let indent = &line[..line.len() - line.trim_start().len()];
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_id =
        |word: &str| word.len() == 6 && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    let mut normal = Vec::new();
    for (number, word) in words.iter().enumerate() {
        let before = number.checked_sub(1).map_or("", |before| words[before]);
        let after = words.get(number + 1).copied().unwrap_or_default();
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
        normal.push(if bare.strip_suffix('s').is_some_and(is_number) {
            word.replace(bare, "1s")
        } else if is_number(bare) && after == "for" {
            word.replace(bare, "[pid]")
        } else if is_id(bare) && (["ago", "as"].contains(&before) || number == 0 && after == "to") {
            word.replace(bare, "[id]")
        } else {
            (*word).to_string()
        });
    }
    format!("{indent}{}", normal.join(" "))
}

/// bash on a terminal, in the home of the test.
struct Shell {
    child: Child,
    terminal: pty::Pty,
    /// All that was printed.
    printed: Arc<Mutex<String>>,
    emulator: Arc<Mutex<vt100::Parser>>,
    /// How much of it belongs to earlier commands.
    seen: usize,
}

impl Shell {
    fn open(env: &TestEnvironment) -> Self {
        let (terminal, pts) = pty::open().unwrap();
        terminal.resize(Size::new(24, 100)).unwrap();
        let msg = Path::new(env!("CARGO_BIN_EXE_msg")).parent().unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        let command = pty::Command::new("bash").args(["--norc", "--noprofile", "-c", LOOP]).env_clear();
        let command = command.env("HOME", env.home()).env("PATH", format!("{}:{path}", msg.display()));
        let command = command.env("TERM", "xterm-256color").env("NO_COLOR", "1").current_dir(env.home());
        let command = command.env(test_switches::ANCESTRY_END, std::process::id().to_string());
        let child = command.spawn(pts).unwrap();
        let mut output = File::from(terminal.as_fd().try_clone_to_owned().unwrap());
        let printed = Arc::<Mutex<String>>::default();
        let emulator = Arc::new(Mutex::new(vt100::Parser::new(24, 100, 0)));
        let (text, screen) = (Arc::clone(&printed), Arc::clone(&emulator));
        thread::spawn(move || {
            let (mut bytes, mut pending) = ([0; 65536], Vec::new());
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                screen.lock().unwrap().process(&bytes[..count]);
                pending.extend_from_slice(&bytes[..count]);
                // A character may come in two pieces.
                let whole = match std::str::from_utf8(&pending) {
                    Ok(_) => pending.len(),
                    Err(error) => error.valid_up_to(),
                };
                let rest = pending.split_off(whole);
                text.lock().unwrap().push_str(&String::from_utf8(pending).unwrap());
                pending = rest;
            }
        });
        let mut shell = Self { child, terminal, printed, emulator, seen: 0 };
        assert_eq!(shell.end(), (String::new(), "ready".to_string()));
        shell
    }

    /// Runs the command; its output is on the terminal.
    fn type_in(&mut self, env: &TestEnvironment, number: usize, command: &str) {
        let file = env.path().join(format!("{number}.sh"));
        fs::write(&file, format!("{command}\nprintf '\\036%s\\036' \"$?\"\n")).unwrap();
        self.press(&format!("{}\n", file.display()));
    }

    fn press(&mut self, keys: &str) {
        self.terminal.write_all(keys.as_bytes()).unwrap();
        self.terminal.flush().unwrap();
    }

    /// Does a program have the whole screen, with this on it?
    fn shows(&self, word: &str) -> bool {
        let emulator = self.emulator.lock().unwrap();
        emulator.screen().alternate_screen() && emulator.screen().contents().contains(word)
    }

    /// Waits for the end of the command; returns what it printed, and its exit code.
    fn end(&mut self) -> (String, String) {
        let unseen = || self.printed.lock().unwrap()[self.seen..].to_string();
        wait_until("the command has ended", || unseen().matches(MARK).count() == 2);
        let text = unseen();
        let mut parts = text.split(MARK);
        let (said, code) = (parts.next().unwrap(), parts.next().unwrap());
        let ended = (said.replace("\r\n", "\n"), code.to_string());
        self.seen += text.len();
        ended
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[track_caller]
fn assert_shown(command: &str, shown: &[String], said: &str, home: &Path) {
    let mut said: Vec<String> = said.lines().map(|line| normal(line, home)).collect();
    let mut shown: Vec<String> = shown.iter().map(|line| normal(line, home)).collect();
    if shown.first().is_some_and(|line| line == LEFT_OUT) {
        shown.remove(0);
        said.drain(..said.len().saturating_sub(shown.len()));
    }
    assert_eq!(shown.join("\n"), said.join("\n"), "docs/tour.md is not up to date: `{command}`");
}

/// Has the process ended? One that nobody has waited for yet has, too.
fn is_gone(pid: &str) -> bool {
    let pid = ravenry::domain::Pid::new(pid.parse().unwrap()).unwrap();
    process::details(pid).is_none_or(|details| details.is_zombie)
}

#[test]
fn the_tour_can_be_followed_word_for_word() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/tour.md")).unwrap();
    let steps = steps(&page);
    assert!(steps.len() > 25, "{steps:?}");
    let env = TestEnvironment::new();
    let home = env.home();
    let mut shell = Shell::open(&env);
    let mut stand_ins: Vec<String> = Vec::new();
    let mut steps = steps.iter().enumerate().peekable();
    while let Some((number, step)) = steps.next() {
        let Step::Type { command, shown } = step else { panic!("no program runs for {step:?}") };
        shell.type_in(&env, number, command);
        while let Some((_, Step::Press { keys, words })) =
            steps.next_if(|(_, next)| matches!(next, Step::Press { .. }))
        {
            shell.press(keys);
            for word in words {
                wait_until(&format!("{word:?} is on the screen"), || shell.shows(word));
            }
        }
        let (said, code) = shell.end();
        if command != "msg tui" {
            assert_shown(command, shown, &said, &home);
        }
        let fails = shown.iter().any(|line| line.starts_with("error: "));
        assert_eq!(code != "0", fails, "`{command}` ended with {code}:\n{said}");
        if command.starts_with("msg demo") {
            let line = said.lines().find(|line| line.starts_with("A process")).unwrap();
            let numbers = line.split(|c: char| !c.is_ascii_digit()).filter(|text| text.len() > 1);
            stand_ins.extend(numbers.map(str::to_string));
            assert!(stand_ins.len() == 2 && !stand_ins.iter().any(|pid| is_gone(pid)), "{stand_ins:?}");
        }
    }
    assert!(!home.join("ravenry-tour").exists());
    assert!(!home.join(".local/state/ravenry").exists(), "the user's own mesh is not touched");
    for pid in stand_ins {
        wait_until(&format!("the process {pid} of an agent has ended"), || is_gone(&pid));
    }
}

#[test]
fn what_may_differ_is_told_from_what_may_not() {
    let normal = |line: &str| normal(line, Path::new("/tmp/home"));
    assert_eq!(normal("3eyl6c to Alice: stored 12s ago"), "[id] to Alice: stored 1s ago");
    assert_eq!(
        normal("Robin → Bob  0s ago  kq5rmd  in /tmp/home/x"),
        "Robin → Bob 1s ago [id] in /home/you/x"
    );
    assert_eq!(normal("each (815 for Alice, 816 for Bob)"), "each ([pid] for Alice, [pid] for Bob)");
    assert_eq!(normal("  held (3s) for master"), "  held (1s) for master");
}
