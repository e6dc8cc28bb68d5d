//! What the demo tells: steps with the commands that were run, and what they said.

use serde_json::{Value, json};

use super::pace::Pace;
use crate::faces::cli::output::style;
use crate::ops::CommandError;

pub(super) struct DemoStep {
    pub(super) title: &'static str,
    pub(super) lines: Vec<Line>,
}

pub(super) struct Line {
    /// Where it was run, if there are several machines.
    pub(super) machine: Option<&'static str>,
    pub(super) command: String,
    pub(super) exit: Option<i32>,
    pub(super) output: String,
}

impl DemoStep {
    pub(super) fn json(&self) -> Value {
        let line = |line: &Line| {
            let mut keys = json!({ "command": line.command, "exit": line.exit, "output": line.output });
            if let Some(machine) = line.machine {
                keys["machine"] = machine.into();
            }
            keys
        };
        json!({ "title": self.title, "commands": self.lines.iter().map(line).collect::<Vec<_>>() })
    }
}

/// The title of a step, as people read it.
pub(super) fn title_text(number: usize, title: &str) -> String {
    style::bold(&format!("{number}. {title}"))
}

impl Line {
    /// The command and its output, as people read them.
    pub(super) fn texts(&self) -> Vec<String> {
        let output = self.output.lines().map(str::to_string);
        let command = match self.machine {
            Some(machine) => format!("{} {}", style::dim(&format!("{machine}$")), style::good(&self.command)),
            None => command_text(&self.command),
        };
        std::iter::once(command).chain(output).collect()
    }
}

/// A command, as people read it.
pub(super) fn command_text(command: &str) -> String {
    format!("{} {}", style::dim("$"), style::good(command))
}

/// The steps so far, shown as they come if the pace says so.
pub(super) struct DemoTold<'a> {
    pub(super) pace: &'a Pace<'a>,
    pub(super) steps: Vec<DemoStep>,
}

impl<'a> DemoTold<'a> {
    pub(super) fn new(pace: &'a Pace<'a>) -> Self {
        Self { pace, steps: Vec::new() }
    }

    /// Begins the next step.
    pub(super) fn step(&mut self, title: &'static str) -> Result<(), CommandError> {
        if !self.steps.is_empty() {
            self.pace.next_step()?;
        }
        self.steps.push(DemoStep { title, lines: Vec::new() });
        self.pace.show(&title_text(self.steps.len(), title));
        Ok(())
    }

    /// Commands of this step.
    pub(super) fn lines(&mut self, lines: impl IntoIterator<Item = Line>) {
        let Some(step) = self.steps.last_mut() else { return };
        for line in lines {
            line.texts().iter().for_each(|text| self.pace.show(text));
            step.lines.push(line);
        }
    }
}

/// A command with these arguments, as it is typed.
pub(super) fn shown(args: &[&str]) -> String {
    let quoted =
        args.iter().map(|arg| if arg.contains(' ') { format!("\"{arg}\"") } else { (*arg).to_string() });
    std::iter::once("msg".to_string()).chain(quoted).collect::<Vec<_>>().join(" ")
}
