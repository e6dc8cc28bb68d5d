//! `msg release`: releases reserved paths, or takes a contested one from its holder.

use clap::Args;
use serde_json::{Map, Value, json};

use crate::domain::{AgentName, escape_invisible};
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::faces::cli::reservations::json as reservation_json;
use crate::ops::{self, CommandError, Op, ReleaseOutcome, ReleaseScope, TakeOverOutcome};

/// Release paths; agents that were refused are notified
///
/// With `--from`, takes a path that you contested (`msg contest`) from a holder that gave no answer in time; it loses
/// that reservation whole, and you get PATTERN. A person can do that at any time: then the path goes to the first who
/// contested it.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg release src/auth/
  msg release                                  all that you hold and contest
  msg release src/auth/ --from GoldFalcon      take what you contested")]
pub(in crate::faces::cli) struct ReleaseArgs {
    /// What you reserved or contested (default: everything)
    #[arg(value_name = "PATTERN")]
    patterns: Vec<String>,
    /// Take it from this agent
    #[arg(long, value_name = "NAME")]
    from: Option<String>,
    /// Only what you reserved with `--repo`
    #[arg(long, conflicts_with = "from")]
    repo: bool,
}

pub(super) fn run(op: &Op, args: ReleaseArgs) -> Result<CommandOutput, CommandError> {
    let scope = if args.repo { ReleaseScope::Repository } else { ReleaseScope::All };
    match (args.from, args.patterns.as_slice()) {
        (None, patterns) => Ok(ReleaseReport(ops::release(op, patterns, scope)?).into()),
        (Some(from), [pattern]) => {
            Ok(TakeOverReport(ops::release_from(op, pattern, &AgentName::new(from)?)?).into())
        }
        (Some(_), patterns) => {
            let text = format!("`--from` takes one pattern, not {}", patterns.len());
            Err(CommandError::new(ops::CommandErrorKind::Usage, text)
                .hint("for example `msg release src/auth/ --from GoldFalcon`"))
        }
    }
}

struct ReleaseReport(ReleaseOutcome);

impl Report for ReleaseReport {
    fn json(&self) -> Map<String, Value> {
        let holder = self.0.holder.as_str();
        let released = self.0.reservations.iter().map(|reservation| reservation_json(reservation, holder));
        let mut object = Map::from_iter([("released".to_string(), released.collect())]);
        if !self.0.withdrawn.is_empty() {
            let withdrawn: Vec<&str> = self.0.withdrawn.iter().map(|wish| wish.pattern.as_str()).collect();
            object.insert("withdrawn".to_string(), json!(withdrawn));
        }
        object
    }

    fn text(&self, page: &mut Page) {
        for reservation in &self.0.reservations {
            page.line(format!("{} is free.", style::bold(&escape_invisible(&reservation.typed()))));
        }
        for wish in &self.0.withdrawn {
            page.line(format!("You no longer contest {}.", style::bold(&escape_invisible(&wish.typed()))));
        }
        if self.0.reservations.is_empty() && self.0.withdrawn.is_empty() {
            page.nothing("You had no reservations.", "`msg reservations` shows who holds what.");
        }
    }

    fn is_answer(&self) -> bool {
        false
    }
}

struct TakeOverReport(TakeOverOutcome);

impl Report for TakeOverReport {
    fn json(&self) -> Map<String, Value> {
        let TakeOverOutcome { lost, gained, is_by_person } = &self.0;
        let released = vec![reservation_json(&lost.reservation, lost.holder.name.as_str())];
        let gained: Vec<Value> =
            gained.iter().map(|(name, reservation)| reservation_json(reservation, name.as_str())).collect();
        Map::from_iter([
            ("released".to_string(), Value::from(released)),
            ("reservations".to_string(), Value::from(gained)),
            ("person".to_string(), json!(is_by_person)),
        ])
    }

    fn text(&self, page: &mut Page) {
        let TakeOverOutcome { lost, gained, .. } = &self.0;
        let pattern = style::bold(&escape_invisible(&lost.reservation.typed()));
        page.line(format!("{pattern} is taken from {}.", lost.holder.name));
        match gained {
            Some((name, reservation)) => {
                let pattern = style::bold(&escape_invisible(&reservation.typed()));
                page.line(format!("{pattern} is {name}'s now."));
            }
            None => page.line("It is free."),
        }
    }

    fn is_answer(&self) -> bool {
        false
    }
}
