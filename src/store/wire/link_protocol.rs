//! What commands ask the link process over its socket: one line of JSON each way.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::registration::ReservationKeys;
use super::time;
use crate::domain::link::TaskKey;
use crate::domain::runs::RunId;
use crate::domain::{AgentName, Reservation, RootCommit, SessionId};
use crate::store::error::ParseError;
use crate::store::link::state::LinkProblem;

/// The longest line that is read.
pub const MAX_LINE: u64 = 4 * 1024 * 1024;

/// An agent of this machine, as the link process is asked about it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LocalAgent {
    pub name: AgentName,
    pub session: SessionId,
}

/// What a command asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum LinkRequest {
    /// Something has changed in the mesh: look at it now. It is answered at once.
    Poke,
    /// End.
    Stop,
    /// Have that name, before it is registered here.
    TakeName {
        agent: LocalAgent,
    },
    TakeTask {
        agent: LocalAgent,
        key: TaskKey,
        reason: Option<String>,
    },
    /// Confirm that a task which the agent has here was not taken by another machine.
    ConfirmTask {
        agent: LocalAgent,
        key: TaskKey,
        reason: Option<String>,
    },
    /// Finish a task that the agent has.
    CompleteTask {
        agent: LocalAgent,
        key: TaskKey,
        notes: Option<String>,
    },
    /// Make a finished task open again.
    ReopenTask {
        agent: LocalAgent,
        key: TaskKey,
        reason: String,
    },
    /// Have these paths of a repository, besides those that the agent has.
    TakePaths {
        agent: LocalAgent,
        repository: RootCommit,
        reservations: Vec<Reservation>,
    },
    /// Ask the other machine for the run that was written down under this id.
    AskRun {
        id: RunId,
    },
}

/// Somebody who has what was asked for.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Holder {
    pub agent: String,
    pub machine: String,
    #[serde(default, with = "time::option")]
    pub since: Option<Timestamp>,
    pub reason: Option<String>,
    /// The pattern that is held, for a path.
    pub pattern: Option<String>,
    /// The pattern that was wanted, for a path.
    pub wanted: Option<String>,
}

/// What the link process answers.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", tag = "answer")]
pub enum LinkAnswer {
    /// It is done, or begun.
    Done,
    /// The server has decided for the agent. The token grows with each decision about the record; it is 0 if there was
    /// nothing to decide.
    Granted { token: u64 },
    /// Others have it.
    Taken { holders: Vec<Holder> },
    /// The task is finished.
    Finished { by: Holder },
    /// The server can't be asked now. Nothing has changed.
    Unreachable { problem: LinkProblem },
    /// The server was asked, and its answer is not known: it may have decided, or not.
    Unknown { problem: LinkProblem },
    /// The request makes no sense.
    Refused { why: String },
    /// The other machine was not asked: an error of that kind.
    NotAsked { kind: String, message: String, hints: Vec<String> },
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct RequestKeys {
    ask: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    repository: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    spec: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    task: Option<String>,
    /// The reason, or the notes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    reservations: Vec<ReservationKeys>,
}

impl RequestKeys {
    fn new(ask: &str) -> Self {
        Self {
            ask: ask.to_string(),
            name: None,
            session: None,
            repository: None,
            spec: None,
            task: None,
            text: None,
            reservations: Vec::new(),
        }
    }

    fn of(ask: &str, agent: &LocalAgent) -> Self {
        Self {
            name: Some(agent.name.to_string()),
            session: Some(agent.session.to_string()),
            ..Self::new(ask)
        }
    }

    fn of_task(ask: &str, agent: &LocalAgent, key: &TaskKey, text: Option<&String>) -> Self {
        Self {
            repository: Some(key.repository.as_str().to_string()),
            spec: Some(key.spec.clone()),
            task: Some(key.task.clone()),
            text: text.cloned(),
            ..Self::of(ask, agent)
        }
    }

    fn agent(&self) -> Result<LocalAgent, ParseError> {
        Ok(LocalAgent {
            name: AgentName::new(self.name.clone().unwrap_or_default()).map_err(ParseError::new)?,
            session: SessionId::new(self.session.clone().unwrap_or_default()).map_err(ParseError::new)?,
        })
    }

    fn repository(&self) -> Result<RootCommit, ParseError> {
        let commit = self.repository.as_deref().and_then(RootCommit::new);
        commit.ok_or_else(|| ParseError::new("it names no repository"))
    }

    fn key(&self) -> Result<TaskKey, ParseError> {
        let missing = || ParseError::new("it names no task");
        Ok(TaskKey {
            repository: self.repository()?,
            spec: self.spec.clone().ok_or_else(missing)?,
            task: self.task.clone().ok_or_else(missing)?,
        })
    }
}

impl LinkRequest {
    /// One line, with its end.
    pub fn line(&self) -> Vec<u8> {
        let keys = match self {
            Self::Poke => RequestKeys::new("poke"),
            Self::Stop => RequestKeys::new("stop"),
            Self::AskRun { id } => RequestKeys { name: Some(id.to_string()), ..RequestKeys::new("askRun") },
            Self::TakeName { agent } => RequestKeys::of("takeName", agent),
            Self::TakeTask { agent, key, reason } => {
                RequestKeys::of_task("takeTask", agent, key, reason.as_ref())
            }
            Self::ConfirmTask { agent, key, reason } => {
                RequestKeys::of_task("confirmTask", agent, key, reason.as_ref())
            }
            Self::CompleteTask { agent, key, notes } => {
                RequestKeys::of_task("completeTask", agent, key, notes.as_ref())
            }
            Self::ReopenTask { agent, key, reason } => {
                RequestKeys::of_task("reopenTask", agent, key, Some(reason))
            }
            Self::TakePaths { agent, repository, reservations } => RequestKeys {
                repository: Some(repository.as_str().to_string()),
                reservations: reservations.iter().cloned().map(ReservationKeys::from).collect(),
                ..RequestKeys::of("takePaths", agent)
            },
        };
        line(&keys)
    }

    pub fn parse(line: &[u8]) -> Result<Self, ParseError> {
        let keys: RequestKeys = serde_json::from_slice(line).map_err(ParseError::new)?;
        Ok(match keys.ask.as_str() {
            "poke" => Self::Poke,
            "stop" => Self::Stop,
            "askRun" => {
                Self::AskRun { id: RunId::new(&keys.name.unwrap_or_default()).map_err(ParseError::new)? }
            }
            "takeName" => Self::TakeName { agent: keys.agent()? },
            "takeTask" => Self::TakeTask { agent: keys.agent()?, key: keys.key()?, reason: keys.text },
            "confirmTask" => Self::ConfirmTask { agent: keys.agent()?, key: keys.key()?, reason: keys.text },
            "completeTask" => Self::CompleteTask { agent: keys.agent()?, key: keys.key()?, notes: keys.text },
            "reopenTask" => Self::ReopenTask {
                agent: keys.agent()?,
                key: keys.key()?,
                reason: keys.text.unwrap_or_default(),
            },
            "takePaths" => {
                let (agent, repository) = (keys.agent()?, keys.repository()?);
                let reservations = keys.reservations.into_iter().map(Into::into).collect();
                Self::TakePaths { agent, repository, reservations }
            }
            other => return Err(ParseError::new(format!("`{}` can't be asked", other.escape_debug()))),
        })
    }
}

impl LinkAnswer {
    /// One line, with its end.
    pub fn line(&self) -> Vec<u8> {
        line(self)
    }

    pub fn parse(line: &[u8]) -> Result<Self, ParseError> {
        serde_json::from_slice(line).map_err(ParseError::new)
    }
}

#[expect(clippy::expect_used, reason = "these values hold nothing that JSON can't say")]
fn line(value: &impl Serialize) -> Vec<u8> {
    let mut line = serde_json::to_vec(value).expect("plain data");
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_answers_read_back() {
        let agent =
            LocalAgent { name: AgentName::new("Anna").unwrap(), session: SessionId::new("s").unwrap() };
        let repository = RootCommit::new(&"a".repeat(40)).unwrap();
        let key = TaskKey { repository, spec: "docs/plan.md".to_string(), task: "T-1 \n x".to_string() };
        for request in [
            LinkRequest::Poke,
            LinkRequest::Stop,
            LinkRequest::AskRun { id: RunId::from_random(5) },
            LinkRequest::TakeName { agent: agent.clone() },
            LinkRequest::TakeTask { agent: agent.clone(), key: key.clone(), reason: Some("r".to_string()) },
            LinkRequest::ConfirmTask { agent: agent.clone(), key: key.clone(), reason: None },
            LinkRequest::CompleteTask { agent: agent.clone(), key: key.clone(), notes: None },
            LinkRequest::ReopenTask { agent, key, reason: "wrong".to_string() },
        ] {
            let line = request.line();
            assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
            assert_eq!(LinkRequest::parse(&line).unwrap(), request);
        }
        let answer = LinkAnswer::Granted { token: 7 };
        assert_eq!(LinkAnswer::parse(&answer.line()).unwrap(), answer);
        assert!(LinkRequest::parse(b"{\"ask\": \"format\"}").is_err());
    }
}
