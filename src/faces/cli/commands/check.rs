use clap::Args;
use serde_json::{Map, Value, json};

use crate::domain::visible;
use crate::faces::cli::output::{Outcome, Page, Report, style};
use crate::ops::{self, CommandError, Context, Verdict};
use crate::store::iso;

/// May you change these paths?
///
/// Nothing is changed and nobody is told. Exit code 1: another holds one of them.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg check src/auth/login.rs
  msg check src/*.rs && cargo fmt
  msg check --json Cargo.toml | jq .paths")]
pub(in crate::faces::cli) struct CheckArgs {
    /// Files and directories, there or not
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<String>,
}

pub(super) fn run(ctx: &Context, args: CheckArgs) -> Result<Outcome, CommandError> {
    if let Some(empty) = args.paths.iter().find(|path| path.is_empty()) {
        let text = format!("`{empty}` is no path");
        return Err(CommandError::new(ops::Kind::InvalidValue, text).hint("name a file or a directory"));
    }
    let verdicts = ops::check(ctx, &args.paths)?;
    let error = ops::verdict(&verdicts);
    Ok(Outcome { report: Some(Box::new(CheckReport(verdicts))), error })
}

struct CheckReport(Vec<Verdict>);

impl Report for CheckReport {
    fn json(&self) -> Map<String, Value> {
        Map::from_iter([("paths".to_string(), self.0.iter().map(row).collect())])
    }

    fn text(&self, page: &mut Page) {
        // One path is answered by the exit code and the error alone.
        if self.0.len() == 1 && self.0[0].holding.is_some() {
            return;
        }
        for verdict in &self.0 {
            let path = visible(&verdict.path);
            page.line(match &verdict.holding {
                None => format!("{}  {path}", style::good("free")),
                Some(holding) => format!("{}  {path}  {}", style::bad("held"), holding.holder.name),
            });
        }
    }

    fn is_answer(&self) -> bool {
        false
    }
}

/// One path, and what is in the way.
pub(super) fn row(verdict: &Verdict) -> Value {
    let holding = verdict.holding.as_ref();
    let reservation = holding.map(|holding| &holding.reservation);
    json!({
        "path": verdict.path,
        "free": holding.is_none(),
        "holder": holding.map(|holding| holding.holder.name.as_str()),
        "pattern": reservation.map(|reservation| &reservation.pattern),
        "root": reservation.and_then(|reservation| reservation.root.as_deref()),
        "reason": reservation.and_then(|reservation| reservation.reason.as_deref()),
        "since": reservation.map(|reservation| iso(reservation.since)),
        "expiresAt": reservation.and_then(|reservation| reservation.expires_at).map(iso),
    })
}
