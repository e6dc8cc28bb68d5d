//! `msg rename`: changes the caller's name.

use clap::Args;
use serde_json::{Map, Value, json};

use crate::domain::AgentName;
use crate::faces::cli::agent_text;
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::ops::{self, AgentProfile, AgentRelation, CommandError, Op};

/// Change your name; mail, tasks and paths are kept
///
/// For ten minutes the old name stays yours: messages to it reach you.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg rename GoldFalcon")]
pub(in crate::faces::cli) struct RenameArgs {
    /// The new name
    #[arg(value_name = "NEW")]
    name: String,
}

pub(super) fn run(op: &Op, args: RenameArgs) -> Result<CommandOutput, CommandError> {
    let (profile, old) = ops::rename(op, &AgentName::new(args.name)?)?;
    Ok(RenameReport { profile, old }.into())
}

struct RenameReport {
    profile: AgentProfile,
    old: AgentName,
}

impl Report for RenameReport {
    fn json(&self) -> Map<String, Value> {
        Map::from_iter([
            ("agent".to_string(), agent_text::json(&self.profile, AgentRelation::Caller)),
            ("was".to_string(), json!(self.old.as_str())),
        ])
    }

    fn text(&self, page: &mut Page) {
        let name = style::bold(self.profile.agent.name.as_str());
        page.line(if self.profile.agent.name == self.old {
            format!("You are {name} already.")
        } else {
            format!("{} is {name} now. The old name leads to you for ten minutes.", self.old)
        });
    }

    fn is_answer(&self) -> bool {
        false
    }
}
