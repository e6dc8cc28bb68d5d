//! `msg whois`: shows one agent in full.

use clap::Args;
use serde_json::{Map, Value};

use crate::domain::AgentName;
use crate::faces::cli::agent_text;
use crate::faces::cli::output::{CommandOutput, Page, Report};
use crate::ops::{self, AgentProfile, AgentRelation, CommandError, Op};
use crate::sys::clock;
use crate::sys::environment::Home;

/// Show one agent in full
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg whois GoldFalcon
  msg whois GoldFalcon --json")]
pub(in crate::faces::cli) struct WhoisArgs {
    /// Its name, or one it had recently
    name: String,
}

pub(super) fn run(op: &Op, args: WhoisArgs) -> Result<CommandOutput, CommandError> {
    let (profile, relation) = ops::whois(op, &AgentName::new(args.name)?)?;
    Ok(WhoisReport { profile, relation, home: op.home.clone() }.into())
}

struct WhoisReport {
    profile: AgentProfile,
    relation: AgentRelation,
    home: Home,
}

impl Report for WhoisReport {
    fn json(&self) -> Map<String, Value> {
        Map::from_iter([("agent".to_string(), agent_text::json(&self.profile, self.relation))])
    }

    fn text(&self, page: &mut Page) {
        if page.is_quiet {
            page.line(self.profile.agent.name.as_str());
            return;
        }
        agent_text::text(page, &self.profile, &self.home, clock::now());
    }
}
