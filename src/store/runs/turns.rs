//! `turns.json`: what the hooks of a worker in a tmux pane report about its turns. They, its supervisor and whoever types
//! a prompt for it write it, one at a time.

use serde::{Deserialize, Serialize};

use crate::domain::runs::RunId;
use crate::store::error::StoreError;
use crate::store::handles::RunLedger;
use crate::store::wire::pretty;
use crate::sys::files;
use crate::sys::flock::FileLock;

/// The most bytes of a worker's last words that are kept.
const MOST_WORDS: usize = 256 * 1024;

/// The turns of a worker, by its hooks.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkerTurns {
    /// Whether its session has begun.
    pub has_started: bool,
    /// How many prompts it has taken, whoever typed them.
    pub prompts: u32,
    /// How many turns are over.
    pub over: u32,
    /// Whether somebody of us is typing a prompt, so that the next one is ours.
    pub is_ours_next: bool,
    /// Whether its last prompt was ours.
    pub is_ours: bool,
    /// How many turns of our prompts are over.
    pub ours_over: u32,
    /// What it said last, if its harness tells that.
    pub words: Option<String>,
}

impl WorkerTurns {
    /// Whether it is in a turn, by its hooks.
    pub fn is_in_turn(&self) -> bool {
        self.prompts > self.over
    }

    fn begin(&mut self) {
        // A turn that its user ended was not reported as over.
        self.over = self.prompts;
        self.prompts += 1;
        self.is_ours = std::mem::take(&mut self.is_ours_next);
        self.words = None;
    }

    fn end(&mut self, words: Option<&str>) {
        if !self.is_in_turn() {
            // It was counted, or began before anybody looked. What it said last counts.
            self.words = words.map(bounded).or(self.words.take());
            return;
        }
        self.over = self.prompts;
        self.ours_over += u32::from(self.is_ours);
        self.words = words.map(bounded);
    }
}

impl RunLedger<'_> {
    /// What the hooks of the worker said about its turns. What can't be read is as if there was nothing.
    pub fn turns(self, id: &RunId) -> Result<WorkerTurns, StoreError> {
        let content = files::read(&self.dir(id).join("turns.json"))?.unwrap_or_default();
        Ok(serde_json::from_slice(&content).unwrap_or_default())
    }

    /// Records that its session has begun.
    pub fn note_session_start(self, id: &RunId) -> Result<(), StoreError> {
        self.change_turns(id, |turns| turns.has_started = true)
    }

    /// Records that it has taken a prompt.
    pub fn note_prompt(self, id: &RunId) -> Result<(), StoreError> {
        self.change_turns(id, WorkerTurns::begin)
    }

    /// Records that its turn is over, and what it said last.
    pub fn note_turn_end(self, id: &RunId, words: Option<&str>) -> Result<(), StoreError> {
        self.change_turns(id, |turns| turns.end(words))
    }

    /// Says that the next prompt that it takes is ours. To be called right before it is sent.
    pub fn announce_prompt(self, id: &RunId) -> Result<(), StoreError> {
        self.change_turns(id, |turns| turns.is_ours_next = true)
    }

    /// Takes that back, because it was not sent.
    pub fn withdraw_prompt(self, id: &RunId) -> Result<(), StoreError> {
        self.change_turns(id, |turns| turns.is_ours_next = false)
    }

    fn change_turns(self, id: &RunId, change: impl FnOnce(&mut WorkerTurns)) -> Result<(), StoreError> {
        let _lock = FileLock::acquire(&self.dir(id).join("turns.lock"), self.mesh.options.lock_timeout)?;
        let mut turns = self.turns(id)?;
        change(&mut turns);
        self.write(id, "turns.json", &pretty(&turns))
    }
}

fn bounded(text: &str) -> String {
    let end = (0..=MOST_WORDS.min(text.len())).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    let mark = if end < text.len() { "\n[cut here]" } else { "" };
    format!("{}{mark}", &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_turns_of_our_prompts_are_counted_as_ours() {
        let mut turns = WorkerTurns { is_ours_next: true, ..WorkerTurns::default() };
        turns.begin();
        assert!(turns.is_in_turn() && turns.is_ours);
        turns.end(Some("one"));
        assert_eq!((turns.ours_over, turns.over, turns.words.as_deref()), (1, 1, Some("one")));
        turns.end(None);
        assert_eq!((turns.ours_over, turns.words.as_deref()), (1, Some("one")), "an end is counted once");
        turns.begin();
        turns.end(Some("for somebody else"));
        assert_eq!((turns.ours_over, turns.over), (1, 2));
    }

    #[test]
    fn a_turn_that_was_not_reported_as_over_is_not_counted() {
        let mut turns = WorkerTurns { is_ours_next: true, ..WorkerTurns::default() };
        turns.begin();
        turns.begin();
        assert_eq!((turns.prompts, turns.over, turns.ours_over), (2, 1, 0));
        turns.end(None);
        assert!(!turns.is_in_turn());
    }

    #[test]
    fn long_words_are_cut_at_a_character() {
        let words = bounded(&"ü".repeat(MOST_WORDS));
        assert!(words.len() < MOST_WORDS + 20 && words.ends_with("ü\n[cut here]"));
        assert_eq!(bounded("short"), "short");
    }
}
