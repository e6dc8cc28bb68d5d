//! Answers that are owed: to questions in `seen/` whose names do not say that they were answered.
//!
//! A reply marks its question. A process that dies between the two leaves the mark out; whoever asks for what is owed can
//! find the reply in `sent/` ([`Archive::has_reply`]).

use jiff::Timestamp;

use super::archive::{MessageLocation, StoredMessage, read};
use super::message_files::{AnswerMark, SeenRecord};
use crate::domain::Agent;
use crate::store::error::StoreError;
use crate::store::handles::Archive;
use crate::sys::files;

impl Archive<'_> {
    /// Messages that the agent has and has not answered although they want an answer, oldest first. The names of files
    /// tell which; only those are read.
    pub fn owed_answers(self, agent: &Agent) -> Result<Vec<StoredMessage>, StoreError> {
        let mut owed = Vec::new();
        for name in agent.all_names() {
            let dir = self.mesh.layout.seen(name);
            for file in files::list(&dir)? {
                let Some(seen) = SeenRecord::of_file(&file) else { continue };
                if seen.owes_answer()
                    && seen.at >= agent.joined_at
                    && let Some(message) = read(&dir.join(&file))?
                {
                    let stem = seen.stem.clone();
                    owed.push(StoredMessage { stem, message, place: MessageLocation::Seen(seen) });
                }
            }
        }
        owed.sort_by(|a, b| a.stem.cmp(&b.stem));
        Ok(owed)
    }

    /// Whether one of the agent's messages that `is_wanted` selects replies to the question.
    pub fn has_reply(
        self,
        agent: &Agent,
        question: &StoredMessage,
        is_wanted: impl Fn(&MessageLocation) -> bool,
    ) -> Result<bool, StoreError> {
        for (path, _, place) in self.files_of(agent, Some(&question.stem))? {
            let is_reply = |reply_to| reply_to == question.message.id;
            if is_wanted(&place) && read(&path)?.and_then(|message| message.reply_to).is_some_and(is_reply) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Records that the question was answered, which confirms it, too. By one rename.
    pub fn settle_answer(self, agent: &Agent, seen: &SeenRecord, at: Timestamp) -> Result<(), StoreError> {
        let acked = Some(seen.acked.unwrap_or(at));
        self.replace_record(agent, seen, &SeenRecord { answer: AnswerMark::Given, acked, ..seen.clone() })
            .map(drop)
    }

    /// Records that the agent was reminded of the question. `false`: it was before, or the question was answered.
    pub fn note_reminder(self, agent: &Agent, seen: &SeenRecord) -> Result<bool, StoreError> {
        match seen.answer {
            AnswerMark::None => {
                let reminded = SeenRecord { answer: AnswerMark::Reminded, ..seen.clone() };
                self.replace_record(agent, seen, &reminded)
            }
            AnswerMark::Reminded | AnswerMark::Given => Ok(false),
        }
    }
}
