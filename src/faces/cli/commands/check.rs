//! `msg check`: tells whether the caller may change paths.

use clap::Args;
use serde_json::{Map, Value};

use crate::domain::escape_invisible;
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::faces::json;
use crate::ops::{self, CommandError, Op, PathVerdict};

/// Check whether you may change these paths
///
/// Changes nothing and notifies nobody. Exit code 1: another agent holds one of them.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg check src/auth/login.rs
  msg check src/*.rs && cargo fmt
  msg check @git/index @port:3000
  msg check --json Cargo.toml | jq .paths")]
pub(in crate::faces::cli) struct CheckArgs {
    /// Files and directories, which need not exist, or things such as @port:3000
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<String>,
}

pub(super) fn run(op: &Op, args: CheckArgs) -> Result<CommandOutput, CommandError> {
    let verdicts = ops::check(op, &args.paths)?;
    let error = ops::conflict_error(&verdicts);
    Ok(CommandOutput { report: Some(Box::new(CheckReport(verdicts))), error })
}

struct CheckReport(Vec<PathVerdict>);

impl Report for CheckReport {
    fn json(&self) -> Map<String, Value> {
        Map::from_iter([("paths".to_string(), self.0.iter().map(json::verdict).collect())])
    }

    fn text(&self, page: &mut Page) {
        // For a single path, the exit code and the error say everything.
        if self.0.len() == 1 && self.0[0].holding.is_some() {
            return;
        }
        for verdict in &self.0 {
            let path = escape_invisible(&verdict.path);
            page.line(match &verdict.holding {
                None => format!("{}  {path}", style::good("free")),
                Some(holding) => {
                    format!("{}  {path}  {}", style::bad("held"), holding.holder.name_and_machine())
                }
            });
        }
    }

    fn is_answer(&self) -> bool {
        false
    }
}
