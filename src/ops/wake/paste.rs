//! A paste into a tmux pane: for harnesses that nothing else wakes, and only where the user said so.
//!
//! The pane must be the agent's own and show an empty prompt, so that nobody's half-written words are sent and no dialog
//! is answered; and it must show our sentence alone before it is sent.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::domain::{Agent, Harness};
use crate::sys::{ancestry, process, program};

const LIMIT: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(20);
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
    /// The last line of the screen that is a prompt, without its mark. What stands beneath it is the harness's own.
    fn line<'s>(&self, screen: &'s str) -> Option<&'s str> {
        let is_blank = |line: &&str| !line.trim().is_empty();
        let lines: Vec<&str> = screen.lines().filter(is_blank).collect();
        // It stands between rules.
        let framed = lines.windows(3).rev().find(|lines| is_rule(lines[0]) && is_rule(lines[2]))?;
        self.marks.iter().find_map(|mark| framed[1].trim().strip_prefix(mark)).map(str::trim)
    }
}

fn is_rule(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && line.chars().all(|c| matches!(c, '─' | '▀' | '▄' | '━'))
}

/// Is it a harness that is woken like this, in a pane that we know?
pub(super) fn is_possible(agent: &Agent) -> bool {
    agent.harness.and_then(prompt_of).is_some() && Pane::of(agent).is_some()
}

/// Types that sentence for the agent. The error says why that was not possible.
pub(super) fn paste(agent: &Agent, text: &str) -> Result<(), String> {
    let prompt = agent.harness.and_then(prompt_of).ok_or("it is not known what its prompt looks like")?;
    let pane = Pane::of(agent).ok_or("it is in no tmux pane")?;
    pane.check(agent)?;
    if prompt.line(&pane.screen()?) != Some(prompt.placeholder) {
        return Err("its pane shows no empty prompt".to_string());
    }
    let buffer = format!("ravenry-{}", process::own_pid());
    pane.tmux(&["set-buffer", "-b", &buffer, text])?;
    pane.tmux(&["paste-buffer", "-p", "-r", "-d", "-b", &buffer, "-t", &pane.id])?;
    let started = Instant::now();
    // It may be wider than the pane.
    let is_shown = |line: &str| line.len() > 20 && text.starts_with(line.trim_end_matches('…'));
    while !prompt.line(&pane.screen()?).is_some_and(is_shown) {
        if started.elapsed() > LIMIT {
            return Err("its pane does not show what was pasted, alone".to_string());
        }
        std::thread::sleep(LOOK_EVERY);
    }
    pane.tmux(&["send-keys", "-t", &pane.id, "Enter"]).map(drop)
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
        if !above.iter().any(|ancestor| ancestor.to_string() == pid) {
            return Err("its pane is another's by now".to_string());
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

    fn line(harness: Harness, screen: &str) -> Option<&str> {
        let prompt = prompt_of(harness).unwrap();
        prompt.line(screen)
    }

    #[test]
    fn what_is_typed() {
        let gemini = |text: &str| {
            format!(
                "✦ Done.\n   ? for shortcuts\n──────\n YOLO Ctrl+Y\n▄▄▄▄▄▄\n {text}\n▀▀▀▀▀▀\n workspace\n ~/x\n\n"
            )
        };
        let empty = gemini("*   Type your message or @path/to/file");
        assert_eq!(line(Harness::Gemini, &empty), Some("Type your message or @path/to/file"));
        let typed = gemini("> half a thought");
        assert_eq!(line(Harness::Gemini, &typed), Some("half a thought"));
        let dialog = "▄▄▄▄\n > hello\n▀▀▀▀\n│ Allow once │\n│ ● 1. Yes │\n";
        assert_ne!(line(Harness::Gemini, dialog), Some("Type your message or @path/to/file"));
        let copilot =
            |text: &str| format!(" ● Done.\n ~/x [main]\n─────\n{text}\n─────\n / commands · ? help\n");
        let empty = copilot("❯");
        assert_eq!(line(Harness::Copilot, &empty), Some(""));
        let typed = copilot("❯ half a thought");
        assert_eq!(line(Harness::Copilot, &typed), Some("half a thought"));
        assert_eq!(line(Harness::Copilot, &copilot("Do you want this? (y/n)")), None);
        assert_eq!(line(Harness::Copilot, ""), None);
    }
}
