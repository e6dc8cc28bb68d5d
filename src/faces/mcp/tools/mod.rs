//! The MCP tools: few, with several actions each, because a model pays for every word of their descriptions in each
//! turn.
//!
//! Each file has a tool's description, its arguments, the op that it calls and its answer.

mod agents;
mod feed;
mod headings;
mod inbox;
mod know;
mod learn;
mod message;
mod reserve;
mod run;
mod screens;
mod task;

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{JsonObject, Tool};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::domain::SessionId;
use crate::ops::{self, CommandError, CommandErrorKind, FolderScope, JoinKind, JoinRequest, Op};
use crate::sys::signals::StopRequest;

use super::op_thread::ReplySender;
use super::tool_answer::ToolAnswer;

pub(super) use inbox::look;

/// The listing of the tool `agents`.
pub(super) fn agents(op: &Op) -> Result<ToolAnswer, CommandError> {
    agents::list(op, FolderScope::AllFolders, &[])
}

/// The listing of the tool `task`.
pub(super) fn tasks(op: &Op) -> Result<ToolAnswer, CommandError> {
    task::list(op, None)
}

/// All tools, in listing order.
pub(super) fn all() -> Vec<Tool> {
    vec![
        agents::tool(),
        message::tool(),
        inbox::tool(),
        reserve::tool(),
        task::tool(),
        feed::tool(),
        know::tool(),
        learn::tool(),
        run::tool(),
    ]
}

/// A tool call whose arguments are valid.
#[derive(Debug)]
pub(super) enum ToolCall {
    Agents(agents::AgentsToolArgs),
    Message(message::MessageToolArgs),
    Inbox(inbox::InboxToolArgs),
    Reserve(reserve::ReserveToolArgs),
    Task(task::TaskToolArgs),
    Feed(feed::FeedToolArgs),
    Know(know::KnowToolArgs),
    Learn(learn::LearnToolArgs),
    Run(run::RunToolArgs),
}

impl ToolCall {
    /// Parses a call; `None` if there is no such tool.
    pub(super) fn parse(name: &str, arguments: JsonObject) -> Option<Result<Self, CommandError>> {
        Some(match name {
            "agents" => read(arguments).map(Self::Agents),
            "message" => read(arguments).map(Self::Message),
            "inbox" => read(arguments).map(Self::Inbox),
            "reserve" => read(arguments).map(Self::Reserve),
            "task" => read(arguments).map(Self::Task),
            "feed" => read(arguments).map(Self::Feed),
            "know" => read(arguments).map(Self::Know),
            "learn" => read(arguments).map(Self::Learn),
            "run" => read(arguments).map(Self::Run),
            _ => return None,
        })
    }

    /// The same call as one that may take long, if it may.
    pub(super) fn long_call(&self) -> Result<Option<LongCall>, CommandError> {
        match self {
            Self::Inbox(args) => Ok(args.wait()?.map(LongCall::Mail)),
            Self::Agents(args) => Ok(args.wait()?.map(LongCall::State)),
            Self::Run(args) => Ok(args.tell()?.map(LongCall::Tell)),
            _ => Ok(None),
        }
    }

    pub(super) fn run(self, op: &Op, outlet: &mut ReplySender) -> Result<ToolAnswer, CommandError> {
        match self {
            Self::Agents(args) => agents::run(op, args),
            Self::Message(args) => message::run(op, args),
            Self::Inbox(args) => inbox::run(op, args, outlet),
            Self::Reserve(args) => reserve::run(op, args),
            Self::Task(args) => task::run(op, args),
            Self::Feed(args) => feed::run(op, args),
            Self::Know(args) => know::run(op, args),
            Self::Learn(args) => learn::run(op, args),
            Self::Run(args) => run::run(op, args),
        }
    }
}

/// A call that may take long, beside which others go on.
#[derive(Debug)]
pub(super) enum LongCall {
    Mail(inbox::InboxWait),
    State(screens::StateWait),
    Tell(screens::TellCall),
}

impl LongCall {
    /// The longest time that it takes.
    pub(super) fn most(&self) -> Duration {
        match self {
            Self::Mail(wait) => wait.most,
            Self::State(wait) => wait.most,
            Self::Tell(_) => screens::TELL_TAKES,
        }
    }

    /// What it does meanwhile.
    pub(super) fn doing(&self) -> &'static str {
        match self {
            Self::Mail(_) => "waiting for mail",
            Self::State(_) => "waiting for an agent",
            Self::Tell(_) => "typing",
        }
    }

    pub(super) fn run(
        self,
        op: &Op,
        outlet: &mut ReplySender,
        stop: &StopRequest,
    ) -> Result<ToolAnswer, CommandError> {
        match self {
            Self::Mail(wait) => wait.run(op, outlet, stop),
            Self::State(wait) => wait.run(op, stop),
            Self::Tell(call) => call.run(op),
        }
    }
}

/// Parses the arguments of a tool.
fn read<A: DeserializeOwned>(arguments: JsonObject) -> Result<A, CommandError> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| {
        // The error may quote the model's arguments, which may be long.
        let text: String = error.to_string().chars().take(300).collect();
        CommandError::new(CommandErrorKind::Usage, text).hint("see the tool's input schema")
    })
}

/// Runs an op that needs an agent. If the caller has not joined yet, joins and runs it again.
fn as_agent<T>(op: &Op, run: impl Fn(&Op) -> Result<T, CommandError>) -> Result<T, CommandError> {
    match run(op) {
        Err(error) if error.kind == CommandErrorKind::NotJoined => {
            let joined = join(op, None)?;
            op.warn(joined);
            // What follows may wait for mail for minutes, and others should hear of the newcomer now.
            ops::carry_out(op);
            run(op)
        }
        done => done,
    }
}

/// Joins, and reports under which name.
fn join(op: &Op, name: Option<crate::domain::AgentName>) -> Result<String, CommandError> {
    let joined = ops::join(op, &JoinRequest { name, ..JoinRequest::default() })?;
    let name = &joined.profile.agent.name;
    Ok(match joined.arrival {
        JoinKind::New => format!("you joined as {name}"),
        JoinKind::Already => format!("you are {name}"),
        JoinKind::Back { mail } => format!("you are back as {name}, with {mail} unread"),
    })
}

/// The value of an argument that the action requires.
fn needed<T>(value: Option<T>, name: &str, action: &str) -> Result<T, CommandError> {
    value.ok_or_else(|| {
        CommandError::new(CommandErrorKind::Usage, format!("`{action}` needs `{name}`"))
            .hint("see the tool's input schema")
    })
}

/// The description of a tool with these properties.
fn describe(name: &'static str, about: &'static str, properties: Value) -> Tool {
    let Value::Object(schema) = json!({ "type": "object", "properties": properties }) else {
        return Tool::new(name, about, JsonObject::new());
    };
    Tool::new(name, about, Arc::new(schema))
}

/// The session ids that a client gives, best first.
pub(super) fn sessions(meta: &rmcp::model::RequestMetaObject) -> Vec<SessionId> {
    let id = |key: &str| SessionId::new(meta.get(key)?.as_str()?).ok();
    let mut sessions: Vec<SessionId> = ["threadId", "sessionId"].into_iter().filter_map(id).collect();
    sessions.dedup();
    sessions
}
