//! `msg evict`: removes an agent.

use clap::Args;
use serde_json::{Map, Value};

use crate::domain::{AgentName, escape_invisible};
use crate::faces::cli::agent_text;
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::ops::{self, AgentRelation, CommandError, EvictOutcome, EvictPolicy, Op};

/// Remove an agent whose process cannot be checked
///
/// Its name, tasks and paths become free; its mail is kept until it comes back. An agent whose process has ended
/// is removed without this command. A live agent is removed only with `--force`, and gets a message.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg evict GoldFalcon
  msg evict GoldFalcon --force    although it is alive")]
pub(in crate::faces::cli) struct EvictArgs {
    /// Its name, or one it had recently
    name: String,
    /// Remove it even if it is alive
    #[arg(long)]
    force: bool,
}

pub(super) fn run(op: &Op, args: EvictArgs) -> Result<CommandOutput, CommandError> {
    let policy = if args.force { EvictPolicy::EvenIfAlive } else { EvictPolicy::NotIfAlive };
    Ok(EvictReport(ops::evict(op, &AgentName::new(args.name)?, policy)?).into())
}

struct EvictReport(EvictOutcome);

impl Report for EvictReport {
    fn json(&self) -> Map<String, Value> {
        Map::from_iter([
            ("agent".to_string(), agent_text::json(&self.0.profile, AgentRelation::Peer)),
            (
                "unclaimed".to_string(),
                self.0.unclaimed.iter().map(|claim| agent_text::claim_json(claim, &[])).collect(),
            ),
        ])
    }

    fn text(&self, page: &mut Page) {
        let mut line = format!("{} is evicted.", style::bold(self.0.profile.agent.name.as_str()));
        for claim in &self.0.unclaimed {
            line.push_str(&format!(" {} is free again.", escape_invisible(&claim.task)));
        }
        page.line(line);
    }

    fn is_answer(&self) -> bool {
        false
    }
}
