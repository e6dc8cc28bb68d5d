//! `msg reservations`: lists who holds which paths.

use clap::Args;
use serde_json::{Map, Value};

use crate::domain::escape_invisible;
use crate::faces::cli::agent_text;
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::faces::cli::reservations::{json as reservation_json, until};
use crate::faces::cli::table::{Table, TableCell};
use crate::ops::{self, CommandError, HolderScope, Holding, Op};
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
    Ok(ReservationsReport { holdings, mine: args.mine, home: op.home.clone() }.into())
}

struct ReservationsReport {
    holdings: Vec<Holding>,
    mine: bool,
    home: Home,
}

impl Report for ReservationsReport {
    fn json(&self) -> Map<String, Value> {
        let row = |holding: &Holding| reservation_json(&holding.reservation, holding.holder.name.as_str());
        Map::from_iter([("reservations".to_string(), self.holdings.iter().map(row).collect())])
    }

    fn text(&self, page: &mut Page) {
        let now = clock::now();
        let mut table = Table::default();
        for Holding { holder, reservation, .. } in &self.holdings {
            if page.is_quiet {
                table.row(vec![TableCell::plain(&escape_invisible(&reservation.pattern))]);
                continue;
            }
            let root = reservation.root.as_deref().unwrap_or(&holder.cwd);
            table.row(vec![
                TableCell::styled(&escape_invisible(&reservation.pattern), style::bold),
                TableCell::plain(if self.mine { "" } else { holder.name.as_str() }),
                TableCell::plain(&agent_text::duration(now, reservation.since)),
                TableCell::plain(&escape_invisible(&self.home.shorten(root))),
                TableCell::plain(&until(reservation, now).unwrap_or_default()),
                TableCell::plain(&escape_invisible(reservation.reason.as_deref().unwrap_or_default())),
            ]);
        }
        let lines = table.lines();
        if lines.is_empty() && !page.is_quiet {
            page.line(if self.mine { "You hold nothing." } else { "Nothing is reserved." });
        }
        lines.into_iter().for_each(|line| page.line(line));
    }
}
