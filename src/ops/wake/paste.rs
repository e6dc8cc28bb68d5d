//! A paste into a tmux pane: for harnesses that nothing else wakes, and only where the user said so.
//!
//! The pane must be the agent's own and show an empty prompt, so that nobody's half-written words are sent and no dialog
//! is answered; and it must show our sentence alone before it is sent. What is not taken is taken back.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::domain::{Agent, Harness};
use crate::store::Mesh;
use crate::sys::{ancestry, process, program};

use super::Failure;

const LIMIT: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// So long a prompt may take to be sent, or to be drawn anew.
const PAUSE: Duration = Duration::from_millis(300);
/// What tells where an agent's terminal is.
const VARIABLES: [&str; 2] = ["TMUX", "TMUX_PANE"];

/// What stands in front of what a user types, and what stands there as long as that is nothing.
struct Prompt {
    marks: &'static [&'static str],
    placeholder: &'static str,
}

fn prompt_of(harness: Harness) -> Option<Prompt> {
    match harness {
        Harness::Gemini => {
            Some(Prompt { marks: &[">", "*", "!"], placeholder: "Type your message or @path/to/file" })
        }
        Harness::Copilot => Some(Prompt { marks: &["❯"], placeholder: "" }),
        _ => None,
    }
}

impl Prompt {
    /// What stands in the prompt, without its mark and without blanks: a narrow pane wraps it. It is what the last two rules
    /// of the screen enclose.
    fn content(&self, screen: &str) -> Option<String> {
        let lines: Vec<&str> = screen.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let bottom = lines.iter().rposition(|line| is_rule(line))?;
        let top = lines[..bottom].iter().rposition(|line| is_rule(line))?;
        let typed = lines[top + 1..bottom].concat();
        self.marks.iter().find_map(|mark| typed.strip_prefix(mark)).map(without_blanks)
    }
}

fn without_blanks(text: &str) -> String {
    text.split_whitespace().collect()
}

fn is_rule(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && line.chars().all(|c| matches!(c, '─' | '▀' | '▄' | '━'))
}

/// Is it a harness that is woken like this, in a pane that we know?
pub(super) fn is_possible(agent: &Agent) -> bool {
    agent.harness.and_then(prompt_of).is_some() && Pane::of(agent).is_some()
}

/// Types that sentence for the agent.
pub(super) fn paste(mesh: &Mesh, agent: &Agent, text: &str) -> Result<(), Failure> {
    let place = Place::of(agent).map_err(Failure::Unsaid)?;
    place.until_empty(agent).and_then(|()| place.put(text)).map_err(Failure::Unsaid)?;
    let has_begun =
        || mesh.is_roused(&agent.session).map(|is_roused| !is_roused).map_err(|error| error.to_string());
    place.enter(text, has_begun).map_err(|reason| match place.take_back(text) {
        Ok(true) => Failure::Unsaid(reason),
        // Whoever is at that prompt may send it.
        Ok(false) | Err(_) => Failure::Unheard(format!("{reason}; our sentence may stand in its prompt")),
    })
}

/// A prompt in a pane.
struct Place {
    prompt: Prompt,
    pane: Pane,
}

impl Place {
    fn of(agent: &Agent) -> Result<Self, String> {
        let prompt = agent.harness.and_then(prompt_of).ok_or("it is not known what its prompt looks like")?;
        Ok(Self { prompt, pane: Pane::of(agent).ok_or("it is in no tmux pane")? })
    }

    fn shows(&self, text: &str) -> Result<bool, String> {
        Ok(self.prompt.content(&self.pane.screen()?) == Some(without_blanks(text)))
    }

    /// At the end of a turn it is drawn anew.
    fn until_empty(&self, agent: &Agent) -> Result<(), String> {
        self.pane.check(agent)?;
        match until(PAUSE, || self.shows(self.prompt.placeholder))? {
            true => Ok(()),
            false => Err("its pane shows no empty prompt".to_string()),
        }
    }

    fn put(&self, text: &str) -> Result<(), String> {
        let buffer = format!("ravenry-{}", process::own_pid());
        self.pane.tmux(&["set-buffer", "-b", &buffer, text])?;
        self.pane.tmux(&["paste-buffer", "-p", "-r", "-d", "-b", &buffer, "-t", &self.pane.id]).map(drop)
    }

    /// Sends what was pasted. That it is not to be seen proves nothing: a screen that is just being drawn shows no prompt at
    /// all. A turn that begins proves it.
    fn enter(&self, text: &str, has_begun: impl Fn() -> Result<bool, String>) -> Result<(), String> {
        if !until(LIMIT, || self.shows(text))? {
            return Err("its pane does not show what was pasted, alone".to_string());
        }
        // Right after a paste some take Enter for a part of it.
        let is_sent = || {
            if self.shows(text)? {
                self.pane.tmux(&["send-keys", "-t", &self.pane.id, "Enter"])?;
            }
            until(PAUSE, &has_begun)
        };
        // Its hook may take its time; what stays out of the prompt was sent all the same.
        match until(LIMIT, is_sent)? || !until(PAUSE, || self.shows(text))? {
            true => Ok(()),
            false => Err("its prompt takes no Enter".to_string()),
        }
    }

    /// Removes the sentence from a prompt that shows nothing else. `false`: it may be there still.
    fn take_back(&self, text: &str) -> Result<bool, String> {
        if self.shows(text)? {
            let length = text.chars().count().to_string();
            self.pane.tmux(&["send-keys", "-t", &self.pane.id, "-N", &length, "BSpace"])?;
        }
        until(LIMIT, || self.shows(self.prompt.placeholder))
    }
}

/// Waits until it is so, for that long.
fn until(limit: Duration, mut is_so: impl FnMut() -> Result<bool, String>) -> Result<bool, String> {
    let started = Instant::now();
    while !is_so()? {
        if started.elapsed() > limit {
            return Ok(false);
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(true)
}

struct Pane {
    socket: String,
    id: String,
}

impl Pane {
    /// The pane in which the agent's process was started.
    fn of(agent: &Agent) -> Option<Self> {
        let mut variables = program::variables_of(agent.process.pid(), &VARIABLES).into_iter();
        let (mut socket, mut id) = (None, None);
        for (name, value) in &mut variables {
            match name.as_str() {
                "TMUX" => socket = value.split(',').next().map(str::to_string),
                _ => id = Some(value),
            }
        }
        Some(Self { socket: socket?, id: id.filter(|id| id.starts_with('%'))? })
    }

    /// Is it still the agent's, and does it take keys as such?
    fn check(&self, agent: &Agent) -> Result<(), String> {
        let told = self.tmux(&["display-message", "-p", "-t", &self.id, "#{pane_pid} #{pane_in_mode}"])?;
        let (pid, mode) = told.trim().split_once(' ').ok_or("tmux told nothing of its pane")?;
        let above = ancestry::above(agent.process.pid());
        let is_in_front = process::is_in_front(agent.process.pid());
        if !is_in_front || !above.iter().any(|ancestor| ancestor.to_string() == pid) {
            return Err("its pane shows another program".to_string());
        }
        if mode != "0" {
            return Err("somebody looks back in its pane".to_string());
        }
        Ok(())
    }

    fn screen(&self) -> Result<String, String> {
        self.tmux(&["capture-pane", "-p", "-t", &self.id])
    }

    fn tmux(&self, args: &[&str]) -> Result<String, String> {
        let mut command = Command::new("tmux");
        command.args(["-S", &self.socket]).args(args).env_remove("TMUX");
        program::run_within(&mut command, LIMIT).map_err(|error| format!("tmux: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(harness: Harness, screen: &str) -> Option<String> {
        prompt_of(harness).unwrap().content(screen)
    }

    #[test]
    fn what_is_typed() {
        let gemini = |text: &str| {
            format!("✦ Done.\n──────\n YOLO Ctrl+Y\n▄▄▄▄▄▄\n {text}\n▀▀▀▀▀▀\n workspace\n ~/x\n\n")
        };
        let empty = gemini("*   Type your message or @path/to/file");
        let placeholder = without_blanks(prompt_of(Harness::Gemini).unwrap().placeholder);
        assert_eq!(content(Harness::Gemini, &empty).as_deref(), Some(placeholder.as_str()));
        assert_eq!(
            content(Harness::Gemini, &gemini("> half a\n   thought")).as_deref(),
            Some("halfathought")
        );
        let dialog = "▄▄▄▄\n > hello\n▀▀▀▀\n│ Allow once │\n│ ● 1. Yes │\n";
        assert_ne!(content(Harness::Gemini, dialog), Some(placeholder));
        let copilot =
            |text: &str| format!(" ● Done.\n ~/x [main]\n─────\n{text}\n─────\n / commands · ? help\n");
        assert_eq!(content(Harness::Copilot, &copilot("❯")).as_deref(), Some(""));
        assert_eq!(content(Harness::Copilot, &copilot("❯ half a thought")).as_deref(), Some("halfathought"));
        assert_eq!(content(Harness::Copilot, &copilot("Do you want this? (y/n)")), None);
        assert_eq!(content(Harness::Copilot, ""), None);
    }
}
