//! Permission questions of a worker: `question-<number>.json`, written by the hook that asks, and
//! `answer-<number>.json`, which is made once, by whoever is first: who answers, the hook when the time is over, or the
//! supervisor when the hook is gone. So each question has exactly one outcome, and both files are the ledger of it.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::domain::RecordedProcess;
use crate::domain::runs::{QuestionOutcome, RunId, RunQuestion};
use crate::store::error::StoreError;
use crate::store::handles::RunLedger;
use crate::store::wire::process::{ProcessKey, recorded};
use crate::store::wire::{pretty, time};
use crate::sys::files::{self, Published};
use crate::sys::flock::FileLock;

/// A question, and the process that waits for the answer.
#[derive(Clone, Debug)]
pub struct AskedQuestion {
    pub question: RunQuestion,
    pub asker: RecordedProcess,
}

/// What became of a question, and by whom.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct QuestionAnswer {
    pub outcome: QuestionOutcome,
    /// Who decided, in a few words.
    pub by: String,
    pub at: Timestamp,
    /// What the worker is told with it.
    pub text: Option<String>,
}

/// A question as it is written in JSON.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct QuestionKeys {
    number: u32,
    tool: String,
    text: String,
    #[serde(with = "time")]
    since: Timestamp,
    #[serde(with = "time")]
    until: Timestamp,
}

impl QuestionKeys {
    pub(super) fn of(question: &RunQuestion) -> Self {
        let RunQuestion { number, tool, text, since, until } = question.clone();
        Self { number, tool, text, since, until }
    }

    pub(super) fn question(self) -> RunQuestion {
        let Self { number, tool, text, since, until } = self;
        RunQuestion { number, tool, text, since, until }
    }
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct AskedKeys {
    #[serde(flatten)]
    question: QuestionKeys,
    pid: i64,
    process: Option<ProcessKey>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct AnswerKeys {
    outcome: String,
    by: String,
    #[serde(with = "time")]
    at: Timestamp,
    text: Option<String>,
}

impl RunLedger<'_> {
    /// The turn to ask: one question of a run is open at a time. `None` while another hook asks. The turn is free as soon
    /// as its holder is dead.
    pub fn try_turn_to_ask(self, id: &RunId) -> Result<Option<FileLock>, StoreError> {
        Ok(FileLock::try_acquire(&self.dir(id).join("asking.lock"))?)
    }

    /// The number of the last question so far; 0 if there was none.
    pub fn last_question(self, id: &RunId) -> Result<u32, StoreError> {
        let number = |name: String| name.strip_prefix("question-")?.strip_suffix(".json")?.parse().ok();
        Ok(files::list(&self.dir(id))?.into_iter().filter_map(number).max().unwrap_or(0))
    }

    /// Whether there is a question with that number.
    pub fn has_question(self, id: &RunId, number: u32) -> Result<bool, StoreError> {
        Ok(files::exists(&self.question_file(id, number))?)
    }

    pub fn ask(self, id: &RunId, asked: &AskedQuestion) -> Result<(), StoreError> {
        let keys = AskedKeys {
            question: QuestionKeys::of(&asked.question),
            pid: asked.asker.pid().get().into(),
            process: ProcessKey::of(&asked.asker),
        };
        Ok(self.mesh.files.replace(&self.question_file(id, asked.question.number), &pretty(&keys))?)
    }

    /// The question with that number; `None` if there is none.
    pub fn question(self, id: &RunId, number: u32) -> Result<Option<AskedQuestion>, StoreError> {
        let path = self.question_file(id, number);
        let Some(content) = files::read(&path)? else { return Ok(None) };
        let corrupt = |reason: String| StoreError::Corrupt { path: path.clone(), reason };
        let keys: AskedKeys = serde_json::from_slice(&content).map_err(|error| corrupt(error.to_string()))?;
        let asker = recorded(keys.pid, keys.process, None).map_err(|error| corrupt(error.to_string()))?;
        Ok(Some(AskedQuestion { question: keys.question.question(), asker }))
    }

    /// Records what became of a question, unless that is recorded already. Returns what counts.
    pub fn settle_question(
        self,
        id: &RunId,
        number: u32,
        answer: &QuestionAnswer,
    ) -> Result<(QuestionAnswer, Published), StoreError> {
        let QuestionAnswer { outcome, by, at, text } = answer.clone();
        let keys = AnswerKeys { outcome: outcome.name().to_string(), by, at, text };
        let published = self.mesh.files.publish(&self.answer_file(id, number), &pretty(&keys))?;
        let counts = self.question_answer(id, number)?.unwrap_or_else(|| answer.clone());
        Ok((counts, published))
    }

    /// What became of a question; `None` while it is open.
    pub fn question_answer(self, id: &RunId, number: u32) -> Result<Option<QuestionAnswer>, StoreError> {
        let path = self.answer_file(id, number);
        let Some(content) = files::read(&path)? else { return Ok(None) };
        let corrupt = |reason: String| StoreError::Corrupt { path: path.clone(), reason };
        let AnswerKeys { outcome, by, at, text } =
            serde_json::from_slice(&content).map_err(|error| corrupt(error.to_string()))?;
        let outcome = QuestionOutcome::of_name(&outcome)
            .ok_or_else(|| corrupt(format!("`{}` is not an outcome", outcome.escape_debug())))?;
        Ok(Some(QuestionAnswer { outcome, by, at, text }))
    }

    fn question_file(self, id: &RunId, number: u32) -> PathBuf {
        self.dir(id).join(format!("question-{number}.json"))
    }

    fn answer_file(self, id: &RunId, number: u32) -> PathBuf {
        self.dir(id).join(format!("answer-{number}.json"))
    }
}
