//! `msg mode`: shows or sets what agents may do in this repository.

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::{Map, Value};

use crate::domain::ProjectMode;
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::ops::{self, CommandError, CurrentMode, Op, format_age};
use crate::store::iso;
use crate::sys::clock;

/// Show or set what agents may do in this repository
///
/// `build`: all. `plan`: no runs, and no edits. `review`: runs of read-only profiles, and no edits. `admin`: as
/// `review`, and agents may change the settings and profiles of the project. All work trees of a repository have one
/// mode. Only a person sets it; the hooks of every agent hold to it.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg mode
  msg mode plan
  msg mode build                 agents may do all again")]
pub(in crate::faces::cli) struct ModeArgs {
    /// The new mode
    #[arg(value_parser = PossibleValuesParser::new(ProjectMode::ALL.map(ProjectMode::name)))]
    mode: Option<String>,
}

pub(super) fn run(op: &Op, args: ModeArgs) -> Result<CommandOutput, CommandError> {
    match args.mode.as_deref().and_then(ProjectMode::of_name) {
        Some(mode) => Ok(ModeReport(ops::set_mode(op, mode)?).into()),
        None => Ok(ModeReport(ops::mode(op)?).into()),
    }
}

struct ModeReport(CurrentMode);

impl Report for ModeReport {
    fn json(&self) -> Map<String, Value> {
        Map::from_iter([
            ("mode".to_string(), self.0.mode.name().into()),
            ("since".to_string(), self.0.since.map(iso).into()),
        ])
    }

    fn text(&self, page: &mut Page) {
        let CurrentMode { mode, since } = self.0;
        if page.is_quiet {
            return page.line(mode.name());
        }
        let since = since.map_or_else(String::new, |at| format!(" (for {})", format_age(at, clock::now())));
        page.line(format!("{}{since}: {}", style::bold(mode.name()), mode.meaning()));
    }
}
