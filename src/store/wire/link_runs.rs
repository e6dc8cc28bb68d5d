//! The formats of what machines tell each other of runs. What comes from another machine is checked here: whatever does
//! not parse is refused whole, and texts are cut to what they may be.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::time;
use crate::domain::link::{
    BranchPush, MAX_FILES, MAX_LOG, MAX_WORDS, RunAsk, RunAskRefusal, RunAsker, RunLetter, RunNews,
};
use crate::domain::runs::{Cost, MicroUsd, RunId, RunState, Usage};
use crate::domain::{AgentName, RootCommit, SessionId};
use crate::store::error::ParseError;

/// The longest name of a profile, a harness or a model, in bytes.
const MAX_WORD: usize = 200;
/// The longest sentence, and the longest path or pattern.
const MAX_SENTENCE: usize = 4_096;
/// The most patterns that a run reserves.
const MAX_PATTERNS: usize = 200;
/// The longest time limit: a year.
const MAX_SECONDS: u64 = 366 * 24 * 60 * 60;

/// What is below `run` in an envelope.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", tag = "what")]
pub(super) enum LetterKeys {
    Ask(Box<AskKeys>),
    Refused {
        id: String,
        #[serde(flatten)]
        refusal: RefusalKeys,
    },
    News {
        id: String,
        #[serde(flatten)]
        news: Box<NewsKeys>,
    },
    Stop {
        id: String,
        #[serde(flatten)]
        by: AskerKeys,
        #[serde(default, rename = "now")]
        is_now: bool,
    },
    Log {
        id: String,
    },
}

/// An agent, or nothing: a person.
#[derive(Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(in crate::store) struct AskerKeys {
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::store) struct AskKeys {
    id: String,
    #[serde(flatten)]
    by: AskerKeys,
    profile: String,
    task: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout_seconds: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    most_micros: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    most_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    reserve: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    claim: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spec: Option<String>,
    #[serde(default)]
    wait: bool,
    #[serde(default)]
    only_reads: bool,
    #[serde(default)]
    depth: usize,
    repository: String,
    commit: String,
}

#[derive(Deserialize, Serialize)]
pub(in crate::store) struct RefusalKeys {
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gate: Option<String>,
    message: String,
    #[serde(default)]
    hints: Vec<String>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::store) struct NewsKeys {
    number: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    there: Option<String>,
    state: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    harness: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    worker: Option<String>,
    #[serde(default, with = "time::foreign_option", skip_serializing_if = "Option::is_none")]
    started_at: Option<Timestamp>,
    #[serde(default, with = "time::foreign_option", skip_serializing_if = "Option::is_none")]
    ended_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    doing: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    result: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Tokens read, written, read from the cache and put into it, and turns.
    #[serde(default)]
    usage: [Option<u64>; 5],
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cost_micros: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cost_is: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    changed: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    push: Option<PushKeys>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    log: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    errors: Option<String>,
}

#[derive(Deserialize, Serialize)]
pub(in crate::store) struct PushKeys {
    pub(in crate::store) remote: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::store) problem: Option<String>,
}

impl LetterKeys {
    pub(super) fn of(letter: &RunLetter) -> Self {
        match letter {
            RunLetter::Ask(ask) => Self::Ask(Box::new(AskKeys::of(ask))),
            RunLetter::Refused { id, refusal } => {
                Self::Refused { id: id.to_string(), refusal: RefusalKeys::of(refusal) }
            }
            RunLetter::News { id, news } => {
                Self::News { id: id.to_string(), news: Box::new(NewsKeys::of(news)) }
            }
            RunLetter::Stop { id, by, is_now } => {
                Self::Stop { id: id.to_string(), by: AskerKeys::of(by), is_now: *is_now }
            }
            RunLetter::LogWanted { id } => Self::Log { id: id.to_string() },
        }
    }

    pub(super) fn read(self) -> Result<RunLetter, ParseError> {
        Ok(match self {
            Self::Ask(keys) => RunLetter::Ask(Box::new(keys.read()?)),
            Self::Refused { id, refusal } => RunLetter::Refused { id: run_id(&id)?, refusal: refusal.read() },
            Self::News { id, news } => RunLetter::News { id: run_id(&id)?, news: Box::new(news.read()?) },
            Self::Stop { id, by, is_now } => RunLetter::Stop { id: run_id(&id)?, by: by.read()?, is_now },
            Self::Log { id } => RunLetter::LogWanted { id: run_id(&id)? },
        })
    }
}

impl PushKeys {
    pub(in crate::store) fn read(self) -> BranchPush {
        BranchPush {
            remote: start(self.remote, MAX_WORD),
            problem: self.problem.map(|problem| start(problem, MAX_SENTENCE)),
        }
    }
}

impl AskerKeys {
    pub(in crate::store) fn of(asker: &RunAsker) -> Self {
        match asker {
            RunAsker::Person => Self::default(),
            RunAsker::Agent { name, session } => {
                Self { agent: Some(name.to_string()), session: Some(session.to_string()) }
            }
        }
    }

    pub(in crate::store) fn read(self) -> Result<RunAsker, ParseError> {
        match (self.agent, self.session) {
            (None, None) => Ok(RunAsker::Person),
            (agent, session) => Ok(RunAsker::Agent {
                name: AgentName::new(agent.unwrap_or_default()).map_err(ParseError::new)?,
                session: SessionId::new(session.unwrap_or_default()).map_err(ParseError::new)?,
            }),
        }
    }
}

impl AskKeys {
    pub(in crate::store) fn of(ask: &RunAsk) -> Self {
        let (claim, spec) = ask.claim.clone().unzip();
        Self {
            id: ask.id.to_string(),
            by: AskerKeys::of(&ask.by),
            profile: ask.profile.clone(),
            task: ask.task.clone(),
            name: ask.name.as_ref().map(ToString::to_string),
            timeout_seconds: ask.timeout_seconds,
            most_micros: ask.most_micros,
            most_tokens: ask.most_tokens,
            reserve: ask.reserve.clone(),
            claim,
            spec,
            wait: ask.is_to_wait,
            only_reads: ask.is_to_read,
            depth: ask.depth,
            repository: ask.repository.as_str().to_string(),
            commit: ask.commit.clone(),
        }
    }

    pub(in crate::store) fn read(self) -> Result<RunAsk, ParseError> {
        if self.task.len() > MAX_WORDS {
            return Err(ParseError::new(format!("its task has more than {MAX_WORDS} bytes")));
        }
        if self.reserve.len() > MAX_PATTERNS
            || self.reserve.iter().any(|pattern| pattern.len() > MAX_SENTENCE)
        {
            return Err(ParseError::new("it reserves too much"));
        }
        let claim = match (self.claim, self.spec) {
            (Some(task), Some(spec)) if spec.len() <= MAX_SENTENCE && task.len() <= MAX_WORD => {
                is_below_root(&spec).then_some((task, spec)).map(Some)
            }
            (None, None) => Some(None),
            _ => None,
        };
        let is_commit = matches!(self.commit.len(), 40 | 64) && self.commit.bytes().all(is_hex);
        let commit = is_commit.then_some(self.commit).ok_or_else(|| ParseError::new("it names no commit"))?;
        let repository = RootCommit::new(&self.repository);
        Ok(RunAsk {
            id: run_id(&self.id)?,
            by: self.by.read()?,
            profile: word(self.profile).ok_or_else(|| ParseError::new("its profile is not a name"))?,
            task: self.task,
            name: self.name.map(AgentName::new).transpose().map_err(ParseError::new)?,
            timeout_seconds: self.timeout_seconds.map(|seconds| seconds.clamp(1, MAX_SECONDS)),
            most_micros: self.most_micros,
            most_tokens: self.most_tokens,
            reserve: self.reserve,
            claim: claim.ok_or_else(|| ParseError::new("its task of a spec is not one of a repository"))?,
            is_to_wait: self.wait,
            is_to_read: self.only_reads,
            depth: self.depth,
            repository: repository.ok_or_else(|| ParseError::new("it names no repository"))?,
            commit,
        })
    }
}

impl RefusalKeys {
    pub(in crate::store) fn of(refusal: &RunAskRefusal) -> Self {
        let RunAskRefusal { kind, gate, message, hints } = refusal.clone();
        Self { kind, gate, message, hints }
    }

    pub(in crate::store) fn read(self) -> RunAskRefusal {
        RunAskRefusal {
            kind: start(self.kind, MAX_WORD),
            gate: self.gate.map(|gate| start(gate, MAX_WORD)),
            message: start(self.message, MAX_SENTENCE),
            hints: self.hints.into_iter().take(8).map(|hint| start(hint, MAX_SENTENCE)).collect(),
        }
    }
}

impl NewsKeys {
    pub(in crate::store) fn of(news: &RunNews) -> Self {
        let news = news.clone();
        let Usage { input, output, cache_read, cache_write, turns } = news.usage;
        let bounded = |text: Option<String>, most| text.map(|text| start(text, most));
        Self {
            number: news.number,
            there: news.there.map(|id| id.to_string()),
            state: news.state.name().to_string(),
            harness: news.harness,
            version: news.version,
            model: news.model,
            worker: news.agent.map(|agent| agent.to_string()),
            started_at: news.started_at,
            ended_at: news.ended_at,
            doing: bounded(news.doing, MAX_SENTENCE),
            result: news.result.map(words),
            reason: bounded(news.reason, MAX_SENTENCE),
            usage: [input, output, cache_read, cache_write, turns],
            cost_micros: news.cost.amount().map(MicroUsd::micros),
            cost_is: Some(news.cost.name().to_string()),
            branch: news.branch,
            changed: news.changed.map(|changed| changed.into_iter().take(MAX_FILES).collect()),
            push: news.push.map(|BranchPush { remote, problem }| PushKeys { remote, problem }),
            log: news.log.map(|log| end(&log)),
            errors: news.errors.map(|errors| end(&errors)),
        }
    }

    pub(in crate::store) fn read(self) -> Result<RunNews, ParseError> {
        let [input, output, cache_read, cache_write, turns] = self.usage;
        let amount = self.cost_micros.map(MicroUsd::from_micros);
        let bounded = |text: Option<String>, most| text.map(|text| start(text, most));
        let state =
            RunState::of_name(&self.state).ok_or_else(|| ParseError::new("its state is not known"))?;
        // It becomes a word of a command that somebody is told to type.
        let is_branch = |branch: &String| {
            let id = branch.strip_prefix("ravenry/run-").unwrap_or_default();
            RunId::new(id).is_ok_and(|known| known.as_str() == id)
        };
        Ok(RunNews {
            number: self.number,
            there: self.there.as_deref().map(run_id).transpose()?,
            state,
            harness: self.harness.and_then(word),
            version: self.version.and_then(word),
            model: self.model.and_then(word),
            agent: self.worker.map(AgentName::new).transpose().map_err(ParseError::new)?,
            started_at: self.started_at,
            ended_at: self.ended_at,
            doing: bounded(self.doing, MAX_SENTENCE),
            result: self.result.map(words),
            reason: bounded(self.reason, MAX_SENTENCE),
            usage: Usage { input, output, cache_read, cache_write, turns },
            cost: match (self.cost_is.as_deref(), amount) {
                (Some("computed"), Some(amount)) => Cost::Computed(amount),
                (_, Some(amount)) => Cost::Reported(amount),
                (_, None) => Cost::Unknown,
            },
            branch: self.branch.filter(is_branch),
            changed: self.changed.map(|changed| {
                changed.into_iter().take(MAX_FILES).map(|path| start(path, MAX_SENTENCE)).collect()
            }),
            push: self.push.map(PushKeys::read),
            log: self.log.map(|log| end(&log)),
            errors: self.errors.map(|errors| end(&errors)),
        })
    }
}

fn run_id(text: &str) -> Result<RunId, ParseError> {
    RunId::new(text).map_err(ParseError::new)
}

fn is_hex(byte: u8) -> bool {
    byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)
}

/// A path below the root of a repository, and nowhere else.
fn is_below_root(path: &str) -> bool {
    use std::path::Component;
    let path = std::path::Path::new(path);
    path.components().next().is_some() && path.components().all(|part| matches!(part, Component::Normal(_)))
}

/// A name without characters that do something to a terminal.
fn word(text: String) -> Option<String> {
    let fits = (1..=MAX_WORD).contains(&text.len()) && !text.chars().any(char::is_control);
    fits.then_some(text)
}

/// The beginning of a text.
fn start(mut text: String, most: usize) -> String {
    if text.len() > most {
        let cut = (0..=most).rev().find(|cut| text.is_char_boundary(*cut)).unwrap_or(0);
        text.truncate(cut);
    }
    text
}

/// A worker's last words, with a mark where they are cut.
fn words(text: String) -> String {
    const MARK: &str = "\n[… the rest is on that machine …]";
    let is_whole = text.len() <= MAX_WORDS;
    if is_whole { text } else { start(text, MAX_WORDS - MARK.len()) + MARK }
}

/// The end of what a worker printed, without what only a terminal understands: that takes six times the room.
fn end(text: &str) -> String {
    let is_text = |letter: &char| !letter.is_control() || matches!(letter, '\n' | '\t');
    let from = text.len().saturating_sub(MAX_LOG);
    let from = (from..=text.len()).find(|from| text.is_char_boundary(*from)).unwrap_or(text.len());
    text[from..].chars().filter(is_text).collect()
}

#[cfg(test)]
mod tests;
