//! A worker in a tmux pane: where it is, what it was given, and the dialog that it shows.

use jiff::Timestamp;

use super::id::RunId;
use crate::domain::RecordedProcess;
use crate::domain::screens::{Dialog, DialogKind};

/// The tmux pane of a worker.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RunPane {
    /// The socket of the tmux server.
    pub socket: String,
    /// The pane, as tmux names it: `%7`.
    pub id: String,
    /// Where it was at the last look: `session:window.pane`.
    pub place: String,
    /// The process between tmux and the worker. The worker is below it, not below its supervisor.
    pub keeper: RecordedProcess,
    /// Whether its worker has shown an empty prompt line.
    pub is_ready: bool,
    /// How many prompts of ours it has taken.
    pub prompts: u32,
    /// How many of their turns are over.
    pub turns: u32,
}

/// A dialog on the screen of a worker, which waits for an answer.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RunDialog {
    /// The id of [`Dialog::id`].
    pub id: String,
    /// What it asks for: the name of a [`crate::domain::screens::DialogKind`].
    pub kind: String,
    pub question: String,
    /// Every line above the choices.
    pub about: Vec<String>,
    /// Key and words of each choice.
    pub choices: Vec<String>,
    pub since: Timestamp,
}

impl RunDialog {
    /// What that dialog asks.
    pub fn of(dialog: &Dialog, since: Timestamp) -> Self {
        let choice = |choice: &crate::domain::screens::DialogChoice| match choice.key.is_empty() {
            true => choice.label.clone(),
            false => format!("{}. {}", choice.key, choice.label),
        };
        Self {
            id: dialog.id(),
            kind: dialog.kind.name().to_string(),
            question: dialog.question.clone(),
            about: dialog.about.clone(),
            choices: dialog.choices.iter().map(choice).collect(),
            since,
        }
    }

    /// Whether only people may answer it.
    pub fn is_for_people(&self) -> bool {
        DialogKind::FOR_PEOPLE.iter().any(|kind| kind.name() == self.kind)
    }

    /// The command that answers it.
    pub fn answer_command(&self, run: &RunId) -> String {
        format!("msg tell {run} --answer CHOICE --question {}", self.id)
    }

    /// The question in one line: `trust dialog: Do you trust the files in this folder?`.
    pub fn line(&self) -> String {
        format!("{} dialog: {}", self.kind, self.question)
    }
}
