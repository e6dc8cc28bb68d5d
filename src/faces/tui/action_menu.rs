//! What can be done with the selected thing, as a menu: each entry has a key, and those that take something from others
//! ask first.

use crossterm::event::KeyCode;

/// A change that a menu asks for. The same operations as those of the commands carry it out.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum ActionCall {
    Claim {
        task: String,
        spec: String,
    },
    Unclaim {
        task: String,
        spec: String,
    },
    HandOff {
        task: String,
        spec: String,
        to: String,
    },
    /// Gives up a reservation of one's own.
    Release {
        pattern: String,
        root: Option<String>,
    },
    ReleaseFrom {
        target: String,
        holder: String,
    },
    Evict {
        name: String,
    },
}

/// What an entry of a menu does.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum ActionStep {
    /// Opens the conversation with this agent.
    Open(String),
    Ack(Vec<String>),
    Copy(String),
    Edit(String),
    /// Goes to the tmux pane of this agent.
    Pane(String),
    /// Shows what this agent has reserved.
    ShowHeld(String),
    Menu(Box<ActionMenu>),
    Act(ActionCall),
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct ActionItem {
    pub(super) key: char,
    pub(super) label: String,
    /// What is asked before it is done.
    pub(super) question: Option<String>,
    pub(super) step: ActionStep,
}

impl ActionItem {
    pub(super) fn new(key: char, label: impl Into<String>, step: ActionStep) -> Self {
        Self { key, label: label.into(), question: None, step }
    }

    pub(super) fn asking(self, question: impl Into<String>) -> Self {
        Self { question: Some(question.into()), ..self }
    }
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct ActionMenu {
    /// What the entries are about.
    pub(super) title: String,
    pub(super) items: Vec<ActionItem>,
    pub(super) at: usize,
    /// The entry whose question is on the screen.
    pub(super) asked: Option<usize>,
}

/// What follows from a key in a menu.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum MenuAnswer {
    StaysOpen,
    Closed,
    /// The question was not answered with yes.
    Declined,
    Chosen(ActionStep),
}

impl ActionMenu {
    pub(super) fn new(title: impl Into<String>, items: Vec<ActionItem>) -> Self {
        Self { title: title.into(), items, at: 0, asked: None }
    }

    /// The question that waits for an answer.
    pub(super) fn question(&self) -> Option<&str> {
        self.items.get(self.asked?)?.question.as_deref()
    }

    pub(super) fn key(&mut self, code: KeyCode) -> MenuAnswer {
        if let Some(asked) = self.asked.take() {
            return match (code, self.items.get(asked)) {
                (KeyCode::Char('y'), Some(item)) => MenuAnswer::Chosen(item.step.clone()),
                _ => MenuAnswer::Declined,
            };
        }
        let last = self.items.len().saturating_sub(1);
        match code {
            KeyCode::Up => self.at = self.at.saturating_sub(1),
            KeyCode::Down => self.at = (self.at + 1).min(last),
            KeyCode::Home | KeyCode::PageUp => self.at = 0,
            KeyCode::End | KeyCode::PageDown => self.at = last,
            KeyCode::Enter => return self.choose(self.at),
            KeyCode::Esc | KeyCode::Char(' ') => return MenuAnswer::Closed,
            KeyCode::Char(letter) => {
                if let Some(place) = self.items.iter().position(|item| item.key == letter) {
                    return self.choose(place);
                }
            }
            _ => {}
        }
        MenuAnswer::StaysOpen
    }

    fn choose(&mut self, place: usize) -> MenuAnswer {
        let Some(item) = self.items.get(place) else { return MenuAnswer::Closed };
        if item.question.is_none() {
            return MenuAnswer::Chosen(item.step.clone());
        }
        (self.at, self.asked) = (place, Some(place));
        MenuAnswer::StaysOpen
    }
}
