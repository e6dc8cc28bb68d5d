//! The permission question of a worker that somebody follows: shown once, and answered right there by a person at a
//! terminal.

use std::io::{self, IsTerminal};
use std::thread;

use crossbeam_channel::{Receiver, unbounded};

use crate::domain::runs::{Run, RunQuestion};
use crate::faces::cli::output::Ui;
use crate::ops::Op;
use crate::ops::runs::tell::{AnswerChoice, AnswerRequest, answer, answer_command, is_waiting};
use crate::sys::stdin;

/// Whether the question has the line of the terminal.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum PromptState {
    /// A person is being asked.
    Asking,
    Silent,
}

pub(super) struct QuestionPrompt<'a> {
    op: &'a Op,
    ui: &'a Ui,
    /// The question that was shown last.
    shown: u32,
    /// Lines that the person types.
    lines: Option<Receiver<String>>,
}

impl<'a> QuestionPrompt<'a> {
    pub(super) fn new(op: &'a Op, ui: &'a Ui) -> Self {
        Self { op, ui, shown: 0, lines: None }
    }

    /// Shows the question if it is new, and passes on what the person has typed.
    pub(super) fn show(&mut self, run: &Run) -> PromptState {
        let Some(question) = run.question.as_ref().filter(|_| is_waiting(run)) else {
            return PromptState::Silent;
        };
        if self.shown != question.number {
            self.shown = question.number;
            self.announce(run, question);
        }
        let Some(lines) = &self.lines else { return PromptState::Silent };
        if let Ok(line) = lines.try_recv() {
            self.pass_on(run, question, &line);
        }
        PromptState::Asking
    }

    fn announce(&mut self, run: &Run, question: &RunQuestion) {
        if io::stdin().is_terminal() && io::stderr().is_terminal() && !self.ui.is_json() {
            // What was typed before the question is no answer to it. If that can't be forgotten, nobody is asked here.
            let lines = self.lines.take().or_else(typed_lines).filter(|_| stdin::forget_typed().is_ok());
            lines.iter().for_each(|lines| lines.try_iter().for_each(drop));
            self.lines = lines;
        }
        let how = match self.lines {
            Some(_) => "Allow it? Type y or n.".to_string(),
            None => format!("To allow it: {}", answer_command(run, question, AnswerChoice::Allow)),
        };
        self.ui.progress_line("");
        self.ui.note(&format!(
            "run {} wants to use {}:\n{}\n{how}",
            run.id,
            question.tool,
            indented(&question.text)
        ));
    }

    fn pass_on(&self, run: &Run, question: &RunQuestion, line: &str) {
        let choice = match line.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => AnswerChoice::Allow,
            "n" | "no" => AnswerChoice::Deny,
            _ => return self.ui.note("type y to allow it, or n to refuse it"),
        };
        let request =
            AnswerRequest { name: run.id.to_string(), choice, number: Some(question.number), text: None };
        if let Err(error) = answer(self.op, &request) {
            self.ui.note(&error.message);
        }
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

/// What is typed from now on. `None`: there is no thread for that.
fn typed_lines() -> Option<Receiver<String>> {
    let (sender, lines) = unbounded();
    let read = move || {
        for line in io::stdin().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().name("answers".to_string()).spawn(read).ok()?;
    Some(lines)
}
