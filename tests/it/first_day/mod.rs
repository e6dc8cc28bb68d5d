//! The first day of somebody who has just got the program, in real tmux and from an empty home: set up, two clients that
//! coordinate, a conflict, a message answered in the chat, a task handed over, found again, written down, and set back.
//! The clients are scripts that run the hooks which the setup wrote.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ravenry::domain::{Liveness, SessionId};
use ravenry::sys::tmux::TmuxPane;
use ravenry::sys::{process, test_switches};

use crate::panes::Tmux;
use crate::support::environment::{files_in, put, put_program, wait_until};
use crate::support::skip::skip;
use crate::texts::{NOW, snapshot};

const CLIENT: &str = include_str!("client.py");
const LOGIN: &str = "fn log_in() {}\n";
const SPEC: &str = "- [ ] TASK-01: Log in with a passkey\n- [ ] TASK-02: Log out everywhere\n";
/// The time of the person: what it writes is an answer, so it is later.
const LATER: &str = "2024-05-17T09:31:00.000Z";
/// The names that the clients get with the seed that they are started with.
const CLAUDE: &str = "StormyDolphin";
const CODEX: &str = "SteadyFalcon";

/// A line with a path of this test, without the blanks that depend on how long that is.
fn without_length_of_dir(line: &str) -> String {
    let words: Vec<&str> = line.split("  ").map(str::trim).filter(|word| !word.is_empty()).collect();
    if line.contains("[DIR]") { words.join("  ") } else { line.to_string() }
}

/// A person with a terminal, in a project.
struct Day {
    tmux: Tmux,
    path: String,
    person: TmuxPane,
}

impl Day {
    /// `None`: tmux or Python is missing here.
    fn begin() -> Option<Self> {
        let tmux = Tmux::start()?;
        if !Command::new("python3").arg("-V").output().is_ok_and(|output| output.status.success()) {
            skip("python3 is missing");
            return None;
        }
        let bin = tmux.env.path().join("bin");
        fs::create_dir(&bin).unwrap();
        put(&tmux.env.path().join("client.py"), CLIENT);
        for (name, config) in [("claude", ".claude/settings.json"), ("codex", ".codex/hooks.json")] {
            let client = tmux.env.path().join("client.py");
            // Python itself: what stands for it on the PATH may be a script.
            let python = "$(python3 -c 'import sys; print(sys.executable)')";
            let line = format!("exec -a {name} \"{python}\" '{}' {name} '~/{config}'", client.display());
            put_program(&bin.join(name), &format!("#!/bin/bash\n{line}\n"));
        }
        let msg = Path::new(env!("CARGO_BIN_EXE_msg")).parent().unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{}:{path}", bin.display(), msg.display());
        let project = tmux.env.work();
        put(&project.join("SPEC.md"), SPEC);
        put(&project.join("src/auth/login.rs"), LOGIN);
        let person = Self::pane(&tmux, &path, LATER, "PS1='$ ' exec bash --norc --noprofile");
        let day = Self { tmux, path, person };
        day.type_line("git init -q -b main . && git add . && git -c user.name=R -c user.email=r@example.org commit -qm begin && echo begun");
        day.wait_for(&day.person, "\nbegun");
        Some(day)
    }

    /// A window of 120 columns and 30 lines that has nothing of what surrounds the tests.
    fn pane(tmux: &Tmux, path: &str, now: &str, script: &str) -> TmuxPane {
        let mesh = tmux.env.mesh();
        let variables = [
            ("HOME", tmux.env.home().display().to_string()),
            ("PATH", path.to_string()),
            ("MSG_MESH", mesh.display().to_string()),
            ("TERM", "screen-256color".to_string()),
            ("LC_ALL", "C.UTF-8".to_string()),
            (test_switches::NOW, now.to_string()),
            (test_switches::BACKGROUND, "off".to_string()),
            (test_switches::NO_HOOK_LIMIT, "1".to_string()),
        ];
        let mut line = "exec env -i TMUX=\"$TMUX\" TMUX_PANE=\"$TMUX_PANE\" TZ=UTC".to_string();
        for (name, value) in variables {
            line += &format!(" {name}='{value}'");
        }
        let pane = tmux.window(&format!("{line} sh -c '{}'", script.replace('\'', "'\\''")), &[]);
        tmux.ask(&["resize-window", "-t", pane.id().as_str(), "-x", "120", "-y", "30"]);
        pane
    }

    /// Starts a client that joins, and waits until it is ready.
    fn client(&self, program: &str) -> TmuxPane {
        let pane = Self::pane(&self.tmux, &self.path, NOW, &format!("stty -echo; exec {program}"));
        self.wait_for(&pane, "· ready");
        pane
    }

    /// Gives a client a prompt, and waits until its turn is over.
    fn prompt(&self, pane: &TmuxPane, prompt: &str) -> String {
        self.clear(pane);
        self.keys(pane, &["-l", prompt]);
        self.keys(pane, &["Enter"]);
        self.wait_for(pane, "· done")
    }

    /// Types a line into the person's shell.
    fn type_line(&self, line: &str) {
        self.keys(&self.person, &["-l", line]);
        self.keys(&self.person, &["Enter"]);
    }

    /// Runs a line in the person's shell on an empty screen; returns the screen when it is done.
    fn run(&self, line: &str) -> String {
        // What is typed while a command runs would be shown twice.
        self.type_line("PS1='[ready] '");
        self.wait_for(&self.person, "\n[ready]");
        self.type_line("clear; PS1='$ '");
        wait_until("the screen is empty", || self.person.plain_text().is_ok_and(|text| text.trim() == "$"));
        self.type_line(&format!("{line}; PS1='[done] '"));
        self.wait_for(&self.person, "\n[done]")
    }

    fn keys(&self, pane: &TmuxPane, keys: &[&str]) {
        self.tmux.ask(&[&["send-keys", "-t", pane.id().as_str()], keys].concat());
    }

    /// Empties what is seen of a pane whose program does not draw.
    fn clear(&self, pane: &TmuxPane) {
        self.tmux.ask(&["send-keys", "-R", "-t", pane.id().as_str()]);
        wait_until("the pane is empty", || pane.plain_text().is_ok_and(|text| text.trim().is_empty()));
    }

    #[track_caller]
    fn wait_for(&self, pane: &TmuxPane, text: &str) -> String {
        let mut shown = String::new();
        wait_until(&format!("a pane shows {text:?}"), || {
            shown = format!("\n{}", pane.plain_text().unwrap_or_default());
            shown.contains(text)
        });
        shown
    }

    /// The files that a person keeps, with what is in them: not what `msg` keeps for itself.
    fn home(&self) -> Vec<(PathBuf, String)> {
        let home = self.tmux.env.home();
        let mut files = files_in(&home);
        files
            .retain(|file| !file.starts_with(home.join(".local/state")) && !file.ends_with("last-good.json"));
        files.sort();
        files.into_iter().map(|file| (file.clone(), fs::read_to_string(file).unwrap())).collect()
    }

    /// Compares what is on a screen with the snapshot of that name. Ids of messages are left out.
    fn compare(&self, name: &str, screen: &str) {
        let lines: Vec<&str> = screen.trim().lines().map(str::trim_end).collect();
        let text = self.tmux.env.redact(lines.join("\n"));
        let text: Vec<String> = text.lines().map(without_length_of_dir).collect();
        let text = text.join("\n");
        snapshot(
            &format!("first-day-{name}"),
            &text,
            &[(r"\b00[0-9a-z]{4}\b", "[a-id]"), (r"\(\d+ KB\)", "([N] KB)")],
        );
    }

    /// Waits for texts on the person's screen, and compares the screen as it is when it has stopped changing.
    #[track_caller]
    fn compare_chat(&self, name: &str, texts: &[&str]) {
        let mut last = String::new();
        wait_until("the chat is drawn", || {
            let now = self.person.plain_text().unwrap_or_default();
            let is_still = now == last && texts.iter().all(|text| now.contains(text));
            last = now;
            is_still
        });
        self.compare(name, &last);
    }
}

#[test]
fn from_an_empty_home_to_two_agents_that_coordinate() {
    let Some(day) = Day::begin() else { return };
    let env = &day.tmux.env;
    let file = env.work().join("src/auth/login.rs");
    let before = day.home();

    day.compare("1-setup", &day.run("msg setup --yes"));
    let (claude, codex) = (day.client("claude"), day.client("codex"));
    day.compare("2-agents", &day.run("msg agents"));

    // One has the directory, and the other is refused.
    let claim = "run msg spec SPEC.md && msg claim TASK-01 --reserve src/auth/ --reason 'the passkeys'";
    day.compare("3-claimed", &day.prompt(&claude, claim));
    day.compare("4-refused", &day.prompt(&codex, "edit src/auth/login.rs"));
    assert_eq!(fs::read_to_string(&file).unwrap(), LOGIN, "nothing was written");

    // A question is answered in the chat, and wakes who asked.
    day.type_line("clear; msg tui Robin");
    day.wait_for(&day.person, "2 peers");
    day.prompt(&claude, "run msg send Robin 'May I change the billing form too?' --kind question");
    let asked = ["1 unread", "waits for", "was refused", "ething else, or ask", "about ", "joined"];
    day.compare_chat("5-asked", &[&asked[..], &["idle (by its hooks)"]].concat());
    let session = SessionId::new("5b0b2a2e-6d3c-4a57-9d0f-111111111111").unwrap();
    wait_until("a waiter is beside it", || {
        let waiter = env.store().session_states().waiter(&session).unwrap();
        waiter.is_some_and(|waiter| process::liveness(&waiter) == Liveness::Alive)
    });
    day.clear(&claude);
    for keys in [["2"].as_slice(), &["Enter"], &["-l", "Yes, but keep its address."], &["Enter"]] {
        day.keys(&day.person, keys);
    }
    day.compare_chat("6-answered", &["surfaced", "which is notified", "→ Robin (question)"]);
    day.compare("7-woken", &day.wait_for(&claude, "· done"));

    // The task goes to the other one, and the directory with it.
    day.keys(&day.person, &["Escape"]);
    // Read together, the two would be one key.
    wait_until("it is taken", || !day.person.plain_text().unwrap().contains("which is notified"));
    day.keys(&day.person, &["4"]);
    day.wait_for(&day.person, "Log out everywhere");
    day.prompt(&claude, &format!("run msg handoff TASK-01 {CODEX} --notes 'the form is next'"));
    day.compare_chat("8-handed-over", &[CODEX, "1 claimed", "2 peers · 1 unread"]);
    day.prompt(&codex, "edit src/auth/login.rs");
    assert_eq!(fs::read_to_string(&file).unwrap(), format!("{LOGIN}// by codex\n"));
    day.keys(&day.person, &["C-c"]);
    wait_until("the chat has ended", || !env.names().iter().any(|name| name == "Robin"));
    day.wait_for(&day.person, "\n[done]");

    // It is found again, and written down.
    day.compare("9-found", &day.run("msg search --all billing form"));
    day.compare("10-exported", &day.run("msg export --output page.html"));
    let page = fs::read_to_string(env.work().join("page.html")).unwrap();
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..roxmltree::ParsingOptions::default() };
    let page = roxmltree::Document::parse_with_options(&page, options).unwrap();
    let text: String = page.descendants().filter_map(|node| node.text()).collect();
    for told in
        [CLAUDE, CODEX, "Robin", "src/auth/", "was refused", "TASK-01", "May I change the billing form too?"]
    {
        assert!(text.contains(told), "{told}");
    }

    // And nothing of it stays, if that is wanted.
    day.compare("11-undone", &day.run("msg setup --undo"));
    assert_eq!(day.home(), before);
}
