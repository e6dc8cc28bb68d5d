//! `msg wait`: blocks until there is mail, then takes it; or until an agent is in a state.

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::{Map, Value};

use crate::domain::AgentName;
use crate::faces::cli::messages::hand_over;
use crate::faces::cli::output::{CommandOutput, Page, Report, Ui};
use crate::faces::json;
use crate::ops::screens::wait_for::{WaitGoal, WaitOutcome, WaitRequest, wait_for};
use crate::ops::{self, CommandError, CommandErrorKind, Op};
use crate::sys::files::FileError;
use crate::sys::signals::StopRequest;

/// Block until there is mail, then take it like `read`; or until an agent is in a state
///
/// Exit code 5 if that does not happen in time. `done`: its turn, or its run, is over and did not fail. `idle`: it takes a prompt.
/// `waiting`: it asks something. `stuck`: it gets nowhere. `limited`: its account is at its limit. `ended`: its process
/// is gone. Whoever waits for an agent needs no name, and takes no mail.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg wait --timeout 10m
  msg wait --from GoldFalcon
  msg wait --for SwiftRaven --until done --timeout 1h
  msg wait --for k3f9xa --until waiting")]
pub(in crate::faces::cli) struct WaitArgs {
    /// Give up after this long: 90 (seconds), 90s, 10m, 2h
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    timeout: Option<String>,
    /// Only mail from this agent
    #[arg(long, value_name = "NAME", conflicts_with = "agent")]
    from: Option<String>,
    /// Wait for this agent, or the worker of this run, instead of mail
    #[arg(long = "for", value_name = "NAME", id = "agent", requires = "until")]
    agent: Option<String>,
    /// The state to wait for
    #[arg(long, value_name = "STATE", requires = "agent", value_parser = PossibleValuesParser::new(WaitGoal::ALL.map(WaitGoal::name)))]
    until: Option<String>,
}

pub(super) fn run(op: &Op, args: WaitArgs, ui: &Ui) -> Result<CommandOutput, CommandError> {
    let timeout = args.timeout.as_deref().map(|text| ops::parse_duration(text, "--timeout")).transpose()?;
    let stop = StopRequest::listen().map_err(FileError::from)?;
    if let (Some(name), Some(goal)) = (args.agent, args.until.as_deref().and_then(WaitGoal::of_name)) {
        return match wait_for(op, &WaitRequest { name, goal, timeout }, &stop)? {
            Some(outcome) => Ok(WaitReport(outcome).into()),
            None => Err(CommandError::new(CommandErrorKind::Interrupted, "")),
        };
    }
    let from = args.from.map(AgentName::new).transpose()?;
    let selection = ops::from_sender(from);
    let found =
        ops::wait(op, ui.reader(), &stop, &selection, timeout, &mut |messages| hand_over(ui, messages))?;
    match found {
        Some(_) => Ok(CommandOutput::said(None)),
        None => Err(CommandError::new(CommandErrorKind::TimedOut, "timed out: no mail")
            .hint("without `--timeout`, it waits until there is some")),
    }
}

struct WaitReport(WaitOutcome);

impl Report for WaitReport {
    fn json(&self) -> Map<String, Value> {
        json::sight::wait(&self.0)
    }

    fn text(&self, page: &mut Page) {
        page.line(self.0.text());
    }
}
