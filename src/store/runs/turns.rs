//! `turns.json`: what the hooks of a worker in a tmux pane report about its turns. They, its supervisor and whoever types
//! a prompt for it write it, one at a time.

use serde::{Deserialize, Serialize};

use crate::domain::runs::RunId;
use crate::domain::{Liveness, RecordedProcess, SessionId};
use crate::store::error::StoreError;
use crate::store::handles::RunLedger;
use crate::store::wire::pretty;
use crate::sys::flock::FileLock;
use crate::sys::{files, process};

/// The most bytes of a worker's last words that are kept.
const MOST_WORDS: usize = 256 * 1024;

/// The turns of a worker, by its hooks.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkerTurns {
    /// Whether its session has begun.
    pub has_started: bool,
    /// The first session that began.
    pub session: Option<String>,
    /// How many prompts it has taken, whoever typed them.
    pub prompts: u32,
    /// How many turns are over.
    pub over: u32,
    /// The prompt of ours that is expected.
    pub announced: Option<AnnouncedPrompt>,
    /// Whether its last prompt was ours.
    pub is_ours: bool,
    /// How many turns of our prompts are over.
    pub ours_over: u32,
    /// What it said at the end of the last turn that was reported as over, if its harness tells that.
    pub words: Option<String>,
}

/// A prompt that one of us types, or has typed.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AnnouncedPrompt {
    /// The mark of its text ([`crate::domain::screens::HookStep::mark_of`]).
    pub mark: String,
    /// The mark of the process that types it, as long as it does. Meanwhile whatever is taken is that prompt, also if the
    /// program reports it in other words.
    pub by: Option<String>,
}

impl AnnouncedPrompt {
    /// Whether the prompt with that mark is this one.
    fn is_meant(&self, mark: &str) -> bool {
        self.mark == mark || self.by.as_deref().is_some_and(is_alive)
    }
}

/// Whether the process with that mark may be alive.
fn is_alive(mark: &str) -> bool {
    let owner = files::owner_of(mark).map(RecordedProcess::Pinned);
    owner.is_some_and(|owner| process::liveness(&owner) != Liveness::Gone)
}

impl WorkerTurns {
    /// Whether it is in a turn, by its hooks.
    pub fn is_in_turn(&self) -> bool {
        self.prompts > self.over
    }

    fn begin(&mut self, mark: &str) {
        // A turn that its user ended was not reported as over.
        self.over = self.prompts;
        self.prompts += 1;
        self.is_ours = self.announced.take_if(|announced| announced.is_meant(mark)).is_some();
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

    /// Records that a session of it has begun.
    pub fn note_session_start(self, id: &RunId, session: Option<&SessionId>) -> Result<(), StoreError> {
        self.change_turns(id, |turns| {
            turns.has_started = true;
            turns.session = turns.session.take().or_else(|| session.map(ToString::to_string));
        })
    }

    /// Records that it has taken the prompt with that mark.
    pub fn note_prompt(self, id: &RunId, mark: &str) -> Result<(), StoreError> {
        self.change_turns(id, |turns| turns.begin(mark))
    }

    /// Records that its turn is over, and what it said last.
    pub fn note_turn_end(self, id: &RunId, words: Option<&str>) -> Result<(), StoreError> {
        self.change_turns(id, |turns| turns.end(words))
    }

    /// Says that this process is about to type the prompt with that mark, so that it counts as ours.
    pub fn announce_prompt(self, id: &RunId, mark: &str) -> Result<(), StoreError> {
        let by = Some(files::own_mark().to_string());
        self.change_turns(id, |turns| turns.announced = Some(AnnouncedPrompt { mark: mark.to_string(), by }))
    }

    /// Says that it was sent. If no hook has reported it so far, only that very text counts as ours from now on.
    pub fn note_prompt_sent(self, id: &RunId) -> Result<(), StoreError> {
        self.change_turns(id, |turns| {
            if let Some(announced) = &mut turns.announced {
                announced.by = None;
            }
        })
    }

    /// Takes the announcement back, because it was not sent.
    pub fn withdraw_prompt(self, id: &RunId) -> Result<(), StoreError> {
        self.change_turns(id, |turns| turns.announced = None)
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

    fn announced(mark: &str, by: Option<&str>) -> WorkerTurns {
        let announced = AnnouncedPrompt { mark: mark.to_string(), by: by.map(str::to_string) };
        WorkerTurns { announced: Some(announced), ..WorkerTurns::default() }
    }

    #[test]
    fn only_turns_of_our_prompts_are_counted_as_ours() {
        let mut turns = announced("ours", None);
        turns.begin("ours");
        assert!(turns.is_in_turn() && turns.is_ours);
        turns.end(Some("one"));
        assert_eq!((turns.ours_over, turns.over, turns.words.as_deref()), (1, 1, Some("one")));
        turns.end(None);
        assert_eq!((turns.ours_over, turns.words.as_deref()), (1, Some("one")), "an end is counted once");
        turns.begin("ours");
        assert_eq!(turns.words.as_deref(), Some("one"), "its last words, if this turn has no end");
        turns.end(Some("for somebody else"));
        assert_eq!((turns.ours_over, turns.over), (1, 2));
    }

    #[test]
    fn a_prompt_is_ours_by_its_words_or_while_it_is_typed() {
        let place = files::own_mark().splitn(3, '.').nth(2).unwrap();
        let dead = format!("{}.1.{place}", process::own_pid());
        let is_ours = |by: Option<&str>| {
            let mut turns = announced("ours", by);
            turns.begin("other words");
            turns.is_ours
        };
        assert!(is_ours(Some(files::own_mark())));
        assert!(!is_ours(Some(&dead)), "whoever announced it was killed");
        assert!(!is_ours(None), "it was sent long ago");
        let mut turns = announced("ours", Some(&dead));
        turns.begin("a person's");
        turns.begin("ours");
        assert!(turns.is_ours && turns.announced.is_none());
    }

    #[test]
    fn a_turn_that_was_not_reported_as_over_is_not_counted() {
        let mut turns = announced("ours", None);
        turns.begin("ours");
        turns.begin("another");
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
