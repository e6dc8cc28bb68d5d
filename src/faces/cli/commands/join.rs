//! `msg join`: registers the caller as an agent.

use clap::Args;
use serde_json::{Map, Value, json};

use crate::domain::{AgentName, Harness, SessionId, escape_invisible};
use crate::faces::cli::agent_text;
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::harness::{self, texts};
use crate::ops::{
    self, AgentRelation, CommandError, CommandErrorKind, JoinKind, JoinOutcome, JoinRequest, Op,
};

/// Join the mesh, under a name you choose or a generated one
///
/// You stay joined until the program you run in ends: the harness, or the shell of your terminal. When it ends,
/// however it ends, your name, tasks and paths become free; if the same session starts again, it gets its name back.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg join                        a made-up name, such as SwiftRaven
  msg join GoldFalcon             a name of your own
  msg join --spec docs/spec.md    and work through that spec
  msg join --pid $$               from a script: live as long as this shell")]
pub(in crate::faces::cli) struct JoinArgs {
    /// Letters, digits, `_` and `-`, at most 50 (default: $MSG_AGENT, else a generated name)
    name: Option<String>,
    /// The Markdown file whose tasks you work on
    #[arg(long, value_name = "PATH")]
    spec: Option<String>,
    #[arg(
        long,
        value_name = "NAME",
        help = format!("The program you run in: {}", texts::names(harness::all())),
    )]
    harness: Option<String>,
    /// The harness's id of your session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Stay joined while this process runs
    #[arg(long, value_name = "PID", allow_negative_numbers = true)]
    pid: Option<i64>,
    /// Accept `--pid 1`, although every process descends from it
    #[arg(long)]
    force: bool,
    /// Your model
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
}

pub(super) fn run(op: &Op, args: JoinArgs) -> Result<CommandOutput, CommandError> {
    let harness = args.harness.map(|name| {
        harness::parse(&name).ok_or_else(|| {
            let known: Vec<&str> = harness::all().map(Harness::name).collect();
            CommandError::new(
                CommandErrorKind::InvalidValue,
                format!("there is no harness `{}`", name.escape_debug()),
            )
            .hint(format!("one of: {}", known.join(", ")))
        })
    });
    let request = JoinRequest {
        name: args.name.map(AgentName::new).transpose()?,
        spec: args.spec,
        harness: harness.transpose()?,
        session: args.session.map(SessionId::new).transpose()?,
        pid: args.pid,
        model: args.model,
        is_forced: args.force,
        adopts: None,
        is_variable_ignored: false,
        is_hook: false,
    };
    let joined = ops::join(op, &request)?;
    Ok(JoinReport { joined, mesh: op.location.to_string() }.into())
}

struct JoinReport {
    joined: JoinOutcome,
    mesh: String,
}

impl Report for JoinReport {
    fn json(&self) -> Map<String, Value> {
        let mut object = Map::new();
        object.insert("agent".to_string(), agent_text::json(&self.joined.profile, AgentRelation::Caller));
        let arrival = match self.joined.arrival {
            JoinKind::New => "new",
            JoinKind::Already => "already",
            JoinKind::Back { .. } => "back",
        };
        object.insert("arrival".to_string(), json!(arrival));
        object.insert("peers".to_string(), json!(self.joined.peers));
        if !self.joined.lost.is_empty() {
            object.insert("lost".to_string(), json!(self.joined.lost));
        }
        object
    }

    fn text(&self, page: &mut Page) {
        if page.is_quiet {
            page.line(self.joined.profile.agent.name.as_str());
            return;
        }
        let name = style::bold(self.joined.profile.agent.name.as_str());
        let peers = match self.joined.peers {
            0 => "Nobody else is here yet.".to_string(),
            1 => "One other agent is here: `msg agents`.".to_string(),
            peers => format!("{peers} other agents are here: `msg agents`."),
        };
        page.line(match self.joined.arrival {
            JoinKind::New => format!("Joined as {name}. {peers}"),
            JoinKind::Already => format!("You are {name} already."),
            JoinKind::Back { mail: 0 } => format!("Welcome back, {name}. {peers}"),
            JoinKind::Back { mail: 1 } => {
                format!("Welcome back, {name}. You have one unread message. {peers}")
            }
            JoinKind::Back { mail } => {
                format!("Welcome back, {name}. You have {mail} unread messages. {peers}")
            }
        });
        if !self.joined.lost.is_empty() {
            let lost: Vec<String> =
                self.joined.lost.iter().map(|pattern| escape_invisible(pattern).into_owned()).collect();
            page.line(format!("Other agents now hold what you held before: {}.", lost.join(", ")));
        }
        if let Some(file) = &self.joined.settled_in {
            page.line(style::dim(&format!(
                "Your agents will meet in {} (the \"mesh\"; saved in `{file}`).",
                self.mesh
            )));
        }
        if page.is_verbose {
            page.line(style::dim(&format!(
                "{}; the mesh is {}",
                escape_invisible(&self.joined.why),
                self.mesh
            )));
        }
    }
}
