//! The permission question of a worker that somebody follows: shown once, and answered right there by a person at a
//! terminal.

use std::io::{self, IsTerminal};

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
    /// The person may answer here.
    is_asking: bool,
    /// What the person has typed of a line.
    typed: Vec<u8>,
}

impl<'a> QuestionPrompt<'a> {
    pub(super) fn new(op: &'a Op, ui: &'a Ui) -> Self {
        Self { op, ui, shown: 0, is_asking: false, typed: Vec::new() }
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
        if !self.is_asking {
            return PromptState::Silent;
        }
        match stdin::typed() {
            Ok(bytes) => self.typed.extend(bytes),
            Err(error) => {
                self.is_asking = false;
                self.ui.note(&format!("what you type can't be read: {error}"));
                self.ui.note(&by_command(run, question));
            }
        }
        while let Some(end) = self.typed.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.typed.drain(..=end).collect();
            self.pass_on(run, question, &String::from_utf8_lossy(&line));
        }
        PromptState::Asking
    }

    fn announce(&mut self, run: &Run, question: &RunQuestion) {
        if io::stdin().is_terminal() && io::stderr().is_terminal() && !self.ui.is_json() {
            // What was typed before the question is no answer to it. If that can't be forgotten, nobody is asked here.
            self.is_asking = stdin::forget_typed().is_ok();
            self.typed.clear();
        }
        let how = match self.is_asking {
            true => "Allow it? Type y or n.".to_string(),
            false => by_command(run, question),
        };
        self.ui.progress_line("");
        self.ui.note_text(&format!("run {} wants to use {}:", run.id, question.tool), &question.text);
        self.ui.note(&how);
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

fn by_command(run: &Run, question: &RunQuestion) -> String {
    format!("To allow it: {}", answer_command(run, question, AnswerChoice::Allow))
}
