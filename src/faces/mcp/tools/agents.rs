//! The tool for agents: list them, join, leave, set a status, look at one, wait until one is in a state.

use std::time::Duration;

use rmcp::model::Tool;
use serde::Deserialize;
use serde_json::json;

use crate::domain::{AgentName, quote_code, quote_sentence};
use crate::faces::json;
use crate::faces::mcp::tool_answer::ToolAnswer;
use crate::ops::link::time_of_day;
use crate::ops::screens::look::LookRequest;
use crate::ops::screens::wait_for::WaitGoal;
use crate::ops::{
    self, AgentFilter, AgentProfile, AgentRelation, CommandError, CommandErrorKind, Context, FolderScope, Op,
};
use crate::sys::signals::StopRequest;

use super::screens::{self, StateWait};
use super::{as_agent, describe, headings, needed};

/// Lines of a screen that are shown if nothing is said: a model pays for each.
const LINES: u32 = 30;
/// How long a wait lasts if nothing is said: clients give up by themselves after a while, one of them after a minute.
const USUAL: Duration = Duration::from_secs(50);
/// Longest wait, for the same reason.
const LONGEST: Duration = Duration::from_secs(600);

pub(super) fn tool() -> Tool {
    describe(
        "agents",
        "Coding agents at work on this machine: who, where, on what. You join by yourself when needed.",
        json!({
            "action": { "type": "string", "enum": ["list", "join", "leave", "status", "look", "wait"], "default": "list" },
            "name": { "type": "string", "description": "join: your name; look, wait: an agent or a run" },
            "lines": { "type": "integer", "description": "look: of its screen" },
            "until": { "type": "string", "enum": WaitGoal::ALL.map(WaitGoal::name), "description": "wait" },
            "timeout": { "type": "string", "description": "wait: e.g. 5m" },
            "text": { "type": "string", "description": "status: shown beside your name" },
            "here": { "type": "boolean", "description": "list: this project only" },
            "include": {
                "type": "array",
                "items": { "type": "string", "enum": ["headings", "overlaps"] },
                "description": "list: also what each works on, who may collide",
            },
        }),
    )
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::faces::mcp) struct AgentsToolArgs {
    action: Option<Action>,
    name: Option<String>,
    text: Option<String>,
    here: Option<bool>,
    include: Option<Vec<Inclusion>>,
    lines: Option<u32>,
    until: Option<String>,
    timeout: Option<String>,
}

impl AgentsToolArgs {
    /// The wait until an agent is in a state, if that is what is asked for.
    pub(super) fn wait(&self) -> Result<Option<StateWait>, CommandError> {
        match self.action {
            Some(Action::Wait) => self.state_wait().map(Some),
            _ => Ok(None),
        }
    }

    fn state_wait(&self) -> Result<StateWait, CommandError> {
        let name = needed(self.name.clone(), "name", "wait")?;
        let until = needed(self.until.as_deref(), "until", "wait")?;
        let goal = WaitGoal::of_name(until).ok_or_else(|| {
            let text = format!("`until` is not a state that can be waited for: {}", quote_code(until));
            CommandError::new(CommandErrorKind::InvalidValue, text)
                .hint(format!("one of: {}", WaitGoal::ALL.map(WaitGoal::name).join(", ")))
        })?;
        let most = match &self.timeout {
            Some(text) => ops::parse_duration(text, "timeout")?.min(LONGEST),
            None => USUAL,
        };
        Ok(StateWait { name, goal, most })
    }
}

/// What a listing may have besides the agents.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Inclusion {
    Headings,
    Overlaps,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    #[default]
    List,
    Join,
    Leave,
    Status,
    Look,
    Wait,
}

pub(super) fn run(op: &Op, args: AgentsToolArgs) -> Result<ToolAnswer, CommandError> {
    match args.action.unwrap_or_default() {
        Action::List => list(
            op,
            match args.here {
                Some(true) => FolderScope::ThisProject,
                Some(false) | None => FolderScope::AllFolders,
            },
            &args.include.unwrap_or_default(),
        ),
        Action::Join => {
            let name = args.name.map(AgentName::new).transpose()?;
            let joined = super::join(op, name)?;
            let (profile, _) = ops::whoami(op)?;
            Ok(ToolAnswer::new(joined).with("agent", json::agent(&profile, AgentRelation::Caller)))
        }
        Action::Leave => {
            let left = ops::leave(op)?;
            Ok(ToolAnswer::new(format!("{} has left", left.name)).with("left", left.name.as_str()))
        }
        Action::Status => {
            let profile = as_agent(op, |op| ops::set_status(op, args.text.as_deref()))?;
            Ok(ToolAnswer::new("done").with("agent", json::agent(&profile, AgentRelation::Caller)))
        }
        Action::Look => {
            let name = needed(args.name, "name", "look")?;
            screens::look(op, &LookRequest { name, lines: Some(args.lines.unwrap_or(LINES).max(1)) })
        }
        Action::Wait => args.state_wait()?.run(op, &StopRequest::manual().0),
    }
}

/// Lists the agents; the resource has the same content, without what is included on request.
pub(super) fn list(op: &Op, folder: FolderScope, include: &[Inclusion]) -> Result<ToolAnswer, CommandError> {
    let listing = ops::agents(op, AgentFilter { lists_gone: false, folder })?;
    for file in &listing.unreadable {
        op.warn(format!("`{}` can't be read: {}", file.path, file.reason));
    }
    let relation = |profile: &AgentProfile| match listing.me.as_ref() == Some(&profile.agent.name) {
        true => AgentRelation::Caller,
        false => AgentRelation::Peer,
    };
    let mut lines: Vec<String> =
        listing.agents.iter().map(|profile| line(op, profile, relation(profile))).collect();
    if lines.is_empty() {
        lines.push("nobody is here".to_string());
    }
    let agents: Vec<_> =
        listing.agents.iter().map(|profile| json::agent(profile, relation(profile))).collect();
    let mut parts = Vec::new();
    if include.contains(&Inclusion::Headings) {
        parts.push(headings::headings(op)?);
    }
    if include.contains(&Inclusion::Overlaps) {
        parts.push(headings::overlaps(op)?);
    }
    lines.extend(parts.iter_mut().flat_map(|part| std::mem::take(&mut part.lines)));
    let answer = ToolAnswer::lines(lines).with("agents", agents);
    let members = parts.into_iter().flat_map(|part| part.members);
    Ok(members.fold(answer, |answer, (name, value)| answer.with(name, value)))
}

/// One agent in one line. Its own status text is quoted.
fn line(ctx: &Context, profile: &AgentProfile, relation: AgentRelation) -> String {
    let agent = &profile.agent;
    let me = if relation == AgentRelation::Caller { " (you)" } else { "" };
    let branch =
        agent.git_branch.as_deref().map_or(String::new(), |branch| format!(" on {}", quote_code(branch)));
    let folder = match agent.is_remote() {
        true => quote_code(&agent.cwd),
        false => quote_code(&ctx.home.shorten(&agent.cwd)),
    };
    let mut line = format!(
        "{}{me}: {}, {} in {folder}{branch}",
        agent.name_and_machine(),
        profile.presence,
        json::harness(profile)
    );
    if let Some(at) = profile.as_of {
        line.push_str(&format!(", as of {}", time_of_day(at)));
    }
    for claim in &profile.claims {
        line.push_str(&format!(", works on {}", quote_code(&claim.task)));
    }
    match agent.reservations.as_slice() {
        [] => {}
        [one] => line.push_str(&format!(", holds {}", quote_code(&one.pattern))),
        [first, rest @ ..] => {
            line.push_str(&format!(", holds {} and {} more", quote_code(&first.pattern), rest.len()));
        }
    }
    if profile.unread > 0 {
        line.push_str(&format!(", {} unread", profile.unread));
    }
    if let Some(status) = &agent.status {
        line.push_str(&format!(", says {}", quote_sentence(status)));
    }
    line
}
