//! `msg contest`: asks the holder of a path to let go of it.

use clap::Args;
use serde_json::{Map, Value, json};

use crate::domain::{SeenUse, escape_invisible, format_duration, shell_word};
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::faces::json;
use crate::ops::{self, CommandError, ContestOutcome, Op};
use crate::store::iso;

/// Ask the holder of a path to let go of it
///
/// The holder is told at once. If it is alive, but neither answers nor edits anything inside its reservation for
/// `contestTimeout` seconds (120), the first who contested it may take it with `msg release PATTERN --from NAME`. For
/// `@git/…`, a git command that needs it counts as an edit; for a port, a database or a name, only an answer counts. A
/// message to you, or `msg reserve` again, is an answer: it restarts the clock, once. Contesting again changes nothing.
/// If the holder lets go or ends, the path goes to the first who contested it.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg contest src/auth/ --reason \"the release waits for it\"
  msg release src/auth/ --from GoldFalcon      when the time is over
  msg release src/auth/                        no longer want it")]
pub(in crate::faces::cli) struct ContestArgs {
    /// What another agent has reserved, or a path inside it
    #[arg(value_name = "PATTERN")]
    pattern: String,
    /// Why; the holder is told
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

pub(super) fn run(op: &Op, args: ContestArgs) -> Result<CommandOutput, CommandError> {
    Ok(ContestReport(ops::contest(op, &args.pattern, args.reason.as_deref())?).into())
}

struct ContestReport(ContestOutcome);

impl Report for ContestReport {
    fn json(&self) -> Map<String, Value> {
        let ContestOutcome { holding, contest, place, time_left, until, is_repeated } = &self.0;
        let holder = holding.holder.name.as_str();
        let contest = json!({
            "pattern": contest.wanted.pattern,
            "holder": holder,
            "reservation": json::reservation(&holding.reservation, holder),
            "since": iso(contest.since()),
            "until": until.map(iso),
            "secondsLeft": json::seconds(*time_left),
            "place": place,
            "answered": contest.answered.is_some(),
            "repeated": is_repeated,
        });
        Map::from_iter([("contest".to_string(), contest)])
    }

    fn text(&self, page: &mut Page) {
        let ContestOutcome { holding, contest, place, time_left, is_repeated, .. } = &self.0;
        let name = &holding.holder.name;
        let pattern = style::bold(&escape_invisible(&holding.reservation.typed()));
        page.line(match is_repeated {
            true => format!("You contest {pattern} already; that changes nothing."),
            false => format!("{name} is asked to let go of {pattern}."),
        });
        let seconds = json::seconds(*time_left).try_into().unwrap_or(i64::MAX);
        let left = format_duration(jiff::SignedDuration::from_secs(seconds));
        let take = format!("msg release {} --from {name}", shell_word(&contest.wanted.typed()));
        page.line(match (place, seconds) {
            (1, 0) => format!("It has not answered in time. To take it: {take}"),
            (1, _) => {
                let silence = match holding.reservation.seen_use() {
                    SeenUse::Edits => "neither answers nor edits it",
                    SeenUse::GitCommands => "neither answers nor runs a git command that needs it",
                    SeenUse::Nothing => "does not answer",
                };
                format!("If it {silence} for {left}: {take}")
            }
            (2, _) => "One agent contested it before you.".to_string(),
            (place, _) => format!("{} agents contested it before you.", place - 1),
        });
    }

    fn is_answer(&self) -> bool {
        false
    }
}
