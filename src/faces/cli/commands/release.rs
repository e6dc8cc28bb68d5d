//! `msg release`: releases reserved paths.

use clap::Args;
use serde_json::{Map, Value};

use crate::domain::escape_invisible;
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::faces::cli::reservations::json as reservation_json;
use crate::ops::{self, CommandError, Op, ReleaseOutcome};

/// Release paths; agents that were refused are notified
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg release src/auth/
  msg release                  all that you hold")]
pub(in crate::faces::cli) struct ReleaseArgs {
    /// What you reserved (default: everything)
    #[arg(value_name = "PATTERN")]
    patterns: Vec<String>,
}

pub(super) fn run(op: &Op, args: ReleaseArgs) -> Result<CommandOutput, CommandError> {
    Ok(ReleaseReport(ops::release(op, &args.patterns)?).into())
}

struct ReleaseReport(ReleaseOutcome);

impl Report for ReleaseReport {
    fn json(&self) -> Map<String, Value> {
        let holder = self.0.holder.as_str();
        let released = self.0.reservations.iter().map(|reservation| reservation_json(reservation, holder));
        Map::from_iter([("released".to_string(), released.collect())])
    }

    fn text(&self, page: &mut Page) {
        for reservation in &self.0.reservations {
            page.line(format!("{} is free.", style::bold(&escape_invisible(&reservation.pattern))));
        }
        if self.0.reservations.is_empty() {
            page.line("You had no reservations.");
        }
    }

    fn is_answer(&self) -> bool {
        false
    }
}
