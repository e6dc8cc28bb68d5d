//! `msg delegate`: passes work to another agent, or proposes whom to ask.

use clap::Args;
use serde_json::{Map, Value, json};

use crate::domain::{AgentName, escape_invisible, quote_code};
use crate::faces::cli::messages;
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::faces::cli::text_arg::TextArgs;
use crate::ops::awareness::delegate::{self, BriefChoice, Candidate, DelegationProposal};
use crate::ops::{CommandError, CommandErrorKind, Op};

/// Pass work to another agent, or see who could take it
///
/// With `--to`, the text is sent to that agent. Without it nothing is sent: it shows whose topics and files fit the text
/// and who has room, with the reason. An agent has room if it has no task and is neither away nor stuck.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg delegate \"write tests for the login form\"
  msg delegate \"write tests for the login form\" --to GoldFalcon --brief")]
pub(in crate::faces::cli) struct DelegateArgs {
    #[command(flatten)]
    text: TextArgs,
    /// The agent to send it to
    #[arg(long, value_name = "NAME")]
    to: Option<String>,
    /// Add your brief, as `msg brief` shows it
    #[arg(long)]
    brief: bool,
}

pub(super) fn run(op: &Op, args: DelegateArgs) -> Result<CommandOutput, CommandError> {
    let text = args.text.read()?.unwrap_or_default();
    let brief = if args.brief { BriefChoice::With } else { BriefChoice::Without };
    match args.to {
        Some(to) => Ok(messages::sent(delegate::delegate(op, &text, &AgentName::new(to)?, brief)?)),
        None if args.brief => {
            let error = CommandError::new(CommandErrorKind::InvalidValue, "`--brief` needs `--to`");
            Err(error.hint("without `--to`, `msg delegate` only proposes whom to ask, and sends nothing"))
        }
        None => Ok(ProposalReport(delegate::propose(op, &text)?).into()),
    }
}

struct ProposalReport(DelegationProposal);

impl Report for ProposalReport {
    fn json(&self) -> Map<String, Value> {
        let topics: Vec<&str> = self.0.topics.iter().map(|topic| topic.as_str()).collect();
        let free: Vec<&str> = self.0.free.iter().map(AgentName::as_str).collect();
        Map::from_iter([
            ("topics".to_string(), json!(topics)),
            ("proposals".to_string(), self.0.candidates.iter().map(candidate_json).collect()),
            ("free".to_string(), json!(free)),
        ])
    }

    fn text(&self, page: &mut Page) {
        let proposal = &self.0;
        if page.is_quiet {
            proposal.candidates.iter().for_each(|candidate| page.line(candidate.name.as_str()));
            return;
        }
        for candidate in &proposal.candidates {
            page.line(format!("{}  {}", style::bold(candidate.name.as_str()), why(candidate)));
        }
        if proposal.candidates.is_empty() {
            page.line("No agent in this repository works on this.");
        }
        if !proposal.free.is_empty() {
            let names: Vec<&str> = proposal.free.iter().map(AgentName::as_str).collect();
            page.line(format!("Nothing in common, but room: {}", names.join(", ")));
        }
        let to = proposal.candidates.first().map(|best| &best.name).or(proposal.free.first());
        match to {
            Some(to) => page.line(format!("Nothing was sent. To send it, add: --to {to}")),
            None => page.nothing("Nothing was sent.", "`msg agents` shows who is elsewhere."),
        }
    }
}

pub(super) fn candidate_json(candidate: &Candidate) -> Value {
    json!({
        "name": candidate.name.as_str(),
        "presence": candidate.presence.name(),
        "hasRoom": candidate.has_room,
        "task": candidate.task,
        "unread": candidate.unread,
        "topics": candidate.fit.topics.iter().map(|topic| topic.as_str()).collect::<Vec<_>>(),
        "files": candidate.fit.files,
        "score": candidate.fit.score,
    })
}

/// Why an agent fits: `idle, has room; topics: login; files: src/login.rs`.
pub(super) fn why(candidate: &Candidate) -> String {
    let room = match (&candidate.task, candidate.has_room) {
        (Some(task), _) => format!(", works on {}", quote_code(task)),
        (None, true) => ", has room".to_string(),
        (None, false) => String::new(),
    };
    let list = |label: &str, items: Vec<String>| match items.is_empty() {
        true => String::new(),
        false => format!("; {label}: {}", items.join(", ")),
    };
    let topics = candidate.fit.topics.iter().map(|topic| escape_invisible(topic.as_str()).into_owned());
    let files = candidate.fit.files.iter().map(|file| quote_code(file));
    let presence = candidate.presence.name();
    format!("{presence}{room}{}{}", list("topics", topics.collect()), list("files", files.collect()))
}
