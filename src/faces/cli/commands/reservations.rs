//! `msg reservations`: lists who holds which paths.

use clap::Args;
use serde_json::{Map, Value};

use crate::domain::{Reservation, ThingScope, escape_invisible, format_duration};
use crate::faces::cli::agent_text;
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::faces::cli::reservations::until;
use crate::faces::cli::table::{Table, TableCell};
use crate::faces::json::contested_reservation;
use crate::ops::{self, CommandError, ContestState, ContestView, HolderScope, Holding, Op};
use crate::sys::clock;
use crate::sys::environment::Home;

/// List who holds which paths
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg reservations
  msg reservations --mine
  msg reservations --json | jq -r '.reservations[] | \"\\(.holder) \\(.pattern)\"'")]
pub(in crate::faces::cli) struct ReservationsArgs {
    /// Only your own
    #[arg(long)]
    mine: bool,
}

pub(super) fn run(op: &Op, args: ReservationsArgs) -> Result<CommandOutput, CommandError> {
    let holders = if args.mine { HolderScope::Caller } else { HolderScope::Everyone };
    let holdings = ops::reservations(op, holders)?;
    let contests = ops::contests(op, &holdings)?;
    Ok(ReservationsReport { holdings, contests, mine: args.mine, home: op.home.clone() }.into())
}

struct ReservationsReport {
    holdings: Vec<Holding>,
    /// Of each of them.
    contests: Vec<Vec<ContestView>>,
    mine: bool,
    home: Home,
}

impl Report for ReservationsReport {
    fn json(&self) -> Map<String, Value> {
        let rows = self.holdings.iter().zip(&self.contests);
        let rows = rows.map(|(holding, contests)| contested_reservation(holding, contests));
        Map::from_iter([("reservations".to_string(), rows.collect())])
    }

    fn text(&self, page: &mut Page) {
        let now = clock::now();
        let mut table = Table::default();
        for (Holding { holder, reservation, .. }, contests) in self.holdings.iter().zip(&self.contests) {
            if page.is_quiet {
                table.row(vec![TableCell::plain(&escape_invisible(&reservation.typed()))]);
                continue;
            }
            let root = match reservation.thing_scope() {
                Some(ThingScope::Machine) => "this machine".to_string(),
                // Where its work tree is there says nothing here.
                _ if holder.is_remote() => String::new(),
                _ => self.home.shorten(reservation.root.as_deref().unwrap_or(&holder.cwd)),
            };
            let place = format!("{root}{}", reservation.reach_note()).trim_start().to_string();
            table.row(vec![
                TableCell::styled(&escape_invisible(&reservation.typed()), style::bold),
                TableCell::plain(&if self.mine { String::new() } else { holder.name_and_machine() }),
                TableCell::plain(&agent_text::duration(now, reservation.since)),
                TableCell::plain(&escape_invisible(&place)),
                TableCell::plain(&until(reservation, now).unwrap_or_default()),
                TableCell::plain(&escape_invisible(&why(reservation, contests))),
            ]);
        }
        let lines = table.lines();
        if lines.is_empty() {
            let what = if self.mine { "You hold nothing." } else { "Nothing is reserved." };
            page.nothing(what, "`msg reserve PATH` keeps others from changing it.");
        }
        lines.into_iter().for_each(|line| page.line(line));
    }
}

/// The holder's reason, and who contests it.
fn why(reservation: &Reservation, contests: &[ContestView]) -> String {
    let reason = reservation.reason.clone().unwrap_or_default();
    let who: Vec<String> = contests.iter().map(contester).collect();
    match (reason.is_empty(), who.is_empty()) {
        (_, true) => reason,
        (true, false) => format!("contested by {}", who.join(", ")),
        (false, false) => format!("{reason}; contested by {}", who.join(", ")),
    }
}

fn contester(view: &ContestView) -> String {
    let state = match &view.state {
        ContestState::Open { time_left } if time_left.is_zero() => "time is over".to_string(),
        ContestState::Open { time_left } => {
            // Round up, so that it is not over a moment before it is shown as over.
            let left = jiff::SignedDuration::try_from(*time_left).unwrap_or_default();
            format!("{} left", format_duration(left + jiff::SignedDuration::from_millis(999)))
        }
        ContestState::AtWork => "the holder is at work".to_string(),
        ContestState::NoClock => "before a restart".to_string(),
    };
    format!("{} ({state})", view.by)
}
