//! `msg reserve`: reserves paths.

use clap::Args;
use serde_json::{Map, Value, json};

use crate::domain::escape_invisible;
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::faces::cli::reservations::{json as reservation_json, reach, until};
use crate::ops::{self, BroadPatterns, CommandError, Op, RequestedReach, ReserveOutcome, ReserveRequest};
use crate::sys::clock;

/// Reserve paths so that other agents can't edit them
///
/// A path covers itself and everything beneath it; in a glob `*` stops at `/` and `**` does not. Patterns are relative
/// to the current directory and count in this git work tree; with `--repo` they count in every work tree and clone of
/// the repository, which are recognised by its first commit: on this machine, and on all others that the mesh is linked
/// with. All are granted or none. You hold them until you release them, leave or end.
///
/// What is not a file begins with `@`: `@git/index` and `@git/HEAD` of this work tree, `@git/branch:NAME` of this
/// repository, and `@port:3000`, `@db:NAME` or a name of your own such as `@build` on this machine. Git commands that need
/// a part of the repository are refused while another agent holds it. `./@build` is a path.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg reserve src/auth/ --reason \"new login\"
  msg reserve 'src/**/*.sql' Cargo.toml
  msg reserve docs/ --ttl 30m          for half an hour
  msg reserve --repo Cargo.lock        in every work tree of this repository
  msg reserve @git/index @port:3000    things that are not files
  msg reserve src/auth/                again: renews it")]
pub(in crate::faces::cli) struct ReserveArgs {
    /// Paths or globs, relative to the current directory, or things such as @port:3000
    #[arg(required = true, value_name = "PATTERN")]
    patterns: Vec<String>,
    /// Why; shown to agents that are refused
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Only for this long: 90 (seconds), 90s, 10m, 2h, 1d
    #[arg(long, value_name = "TIME")]
    ttl: Option<String>,
    /// Allow paths outside this work tree
    #[arg(long)]
    force_broad: bool,
    /// In every work tree and clone of this repository, on all machines that the mesh is linked with
    #[arg(long, conflicts_with = "force_broad")]
    repo: bool,
    /// In this work tree only, even if the link makes `--repo` the default
    #[arg(long, conflicts_with = "repo")]
    no_repo: bool,
}

pub(super) fn run(op: &Op, args: ReserveArgs) -> Result<CommandOutput, CommandError> {
    let ttl = args.ttl.as_deref().map(ops::parse_time_to_live).transpose()?;
    let broad = if args.force_broad { BroadPatterns::Accept } else { BroadPatterns::Refuse };
    let reach = match (args.repo, args.no_repo) {
        (true, _) => RequestedReach::Repository,
        (false, true) => RequestedReach::WorkTree,
        (false, false) => RequestedReach::Usual,
    };
    let request = ReserveRequest { patterns: args.patterns, reason: args.reason, ttl, broad, reach };
    Ok(ReserveReport(ops::reserve(op, &request)?).into())
}

struct ReserveReport(ReserveOutcome);

impl Report for ReserveReport {
    fn json(&self) -> Map<String, Value> {
        let holder = self.0.holder.as_str();
        let reservations =
            self.0.reservations.iter().map(|reservation| reservation_json(reservation, holder));
        let mut object = Map::new();
        object.insert("reservations".to_string(), reservations.collect());
        object.insert("renewed".to_string(), json!(self.0.renewed));
        object
    }

    fn text(&self, page: &mut Page) {
        let now = clock::now();
        for reservation in &self.0.reservations {
            let until = until(reservation, now).map_or(String::new(), |until| format!(" {until}"));
            let pattern = style::bold(&escape_invisible(&reservation.typed()));
            page.line(format!("{pattern} is yours{}{until}.", reach(reservation)));
        }
    }

    fn is_answer(&self) -> bool {
        false
    }
}
