//! `msg budget`: shows or sets what all runs of this repository may use up together.

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use crate::domain::escape_invisible;
use crate::domain::runs::{GrantKind, MicroUsd, RunId};
use crate::domain::workers::Budget;
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::ops::runs::grants::{amount_text, place_text};
use crate::ops::{
    self, BudgetPart, BudgetView, CommandError, CommandErrorKind, CurrentBudget, Op, OwnGrant, format_age,
};
use crate::store::iso;
use crate::sys::clock;

/// Show or set what all runs of this repository may use up together
///
/// As long as a budget is set, each run needs one of its own (`--budget`, or that of its profile). It is granted in full
/// when the run starts, and what was not used is given back when it ends. A worker grants its own runs out of what it was
/// granted. `set` counts from now on, with the runs that go on. Only a person sets it.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg budget
  msg budget set 20usd
  msg budget set 5usd,2mtok
  msg budget set none             no budget any more")]
pub(in crate::faces::cli) struct BudgetArgs {
    #[command(subcommand)]
    action: Option<BudgetAction>,
}

#[derive(Debug, Subcommand)]
enum BudgetAction {
    /// Set what all runs from now on may use up together
    Set {
        /// 20usd, 500ktok, 5Mtok, or money and tokens with a comma; none for no budget
        #[arg(allow_hyphen_values = true)]
        amount: String,
    },
}

pub(super) fn run(op: &Op, args: BudgetArgs) -> Result<CommandOutput, CommandError> {
    let view = match args.action {
        None => ops::budget(op)?,
        Some(BudgetAction::Set { amount }) => ops::set_budget(op, parsed(&amount)?, &amount)?,
    };
    Ok(BudgetReport(view).into())
}

fn parsed(amount: &str) -> Result<Budget, CommandError> {
    if amount.trim().eq_ignore_ascii_case("none") {
        return Ok(Budget::default());
    }
    Budget::parse(amount).map_err(|error| {
        CommandError::new(CommandErrorKind::InvalidValue, error.to_string())
            .hint("`msg budget set 20usd` sets one, and `msg budget set none` removes it")
    })
}

struct BudgetReport(BudgetView);

/// The amounts of each kind, null where there is no limit.
fn amounts(parts: &[(GrantKind, Option<u64>)]) -> Value {
    let of =
        |wanted: GrantKind| parts.iter().find(|(kind, _)| *kind == wanted).and_then(|(_, amount)| *amount);
    json!({
        "usd": of(GrantKind::Usd).map(|micros| MicroUsd::from_micros(micros).dollars()),
        "tokens": of(GrantKind::Tokens),
    })
}

fn set_json(set: &CurrentBudget) -> Value {
    let each = |get: fn(&BudgetPart) -> u64| {
        amounts(&set.parts.iter().map(|part| (part.kind, Some(get(part)))).collect::<Vec<_>>())
    };
    let holders = set.parts.iter().flat_map(|part| &part.taken.held).map(|(id, _)| id);
    let mut holders: Vec<&RunId> = holders.collect();
    holders.sort();
    holders.dedup();
    let holder = |id: &&RunId| {
        let of = |part: &BudgetPart| {
            part.taken.held.iter().find(|(held, _)| held == *id).map(|(_, amount)| *amount)
        };
        let mut row = amounts(&set.parts.iter().map(|part| (part.kind, of(part))).collect::<Vec<_>>());
        row["id"] = id.as_str().into();
        row
    };
    json!({
        "set": each(|part| part.set),
        "granted": each(|part| part.taken.granted()),
        "used": each(|part| part.taken.used),
        "left": each(|part| part.left),
        "runs": holders.iter().map(holder).collect::<Vec<_>>(),
        "unknownRuns": set.parts.iter().map(|part| part.taken.unknown).max().unwrap_or(0),
        "since": iso(set.record.since),
        "directory": set.record.directory,
    })
}

fn own_json(own: &OwnGrant) -> Value {
    let each = |get: fn(&ops::OwnGrantPart) -> Option<u64>| {
        amounts(&own.parts.iter().map(|part| (part.kind, get(part))).collect::<Vec<_>>())
    };
    json!({
        "id": own.run.id.as_str(),
        "granted": each(|part| Some(part.granted)),
        "used": each(|part| part.used),
        "passedOn": each(|part| Some(part.passed_on)),
        "left": each(|part| Some(part.left)),
    })
}

impl Report for BudgetReport {
    fn json(&self) -> Map<String, Value> {
        let BudgetView { set, problem, own } = &self.0;
        let budget = match (set, problem) {
            (Some(set), _) => set_json(set),
            (None, Some(problem)) => json!({"set": null, "problem": problem}),
            (None, None) => Value::Null,
        };
        Map::from_iter([
            ("budget".to_string(), budget),
            ("run".to_string(), own.as_ref().map(own_json).into()),
        ])
    }

    fn text(&self, page: &mut Page) {
        let BudgetView { set, problem, own } = &self.0;
        if let Some(own) = own {
            own_text(own, page);
            if page.is_quiet {
                return;
            }
        }
        match set {
            Some(set) => set_text(set, page),
            None if problem.is_some() => {
                page.line("The budget can't be read. No run is started here until it is set again.");
            }
            None if page.is_quiet || own.is_some() => {}
            None => page.nothing("No budget is set for the runs here.", "`msg budget set 20usd` sets one."),
        }
    }
}

fn set_text(set: &CurrentBudget, page: &mut Page) {
    let each = |get: fn(&BudgetPart) -> u64| {
        let texts = set.parts.iter().map(|part| amount_text(part.kind, get(part)));
        texts.collect::<Vec<_>>().join(", ")
    };
    if page.is_quiet {
        return page.line(each(|part| part.left));
    }
    let age = format_age(set.record.since, clock::now());
    let link = if set.record.is_folder { "in" } else { "of" };
    page.line(format!(
        "{} for all runs {link} {}, set {age} ago",
        style::bold(&each(|part| part.set)),
        escape_invisible(&place_text(&set.record))
    ));
    let mut held: Vec<String> =
        set.parts.iter().flat_map(|part| &part.taken.held).map(|(id, _)| id.to_string()).collect();
    held.sort();
    held.dedup();
    let by = if held.is_empty() { String::new() } else { format!(", by {}", held.join(", ")) };
    page.line(format!("  granted  {} to runs that go on{by}", each(|part| part.taken.granted())));
    let unknown = set.parts.iter().map(|part| part.taken.unknown).max().unwrap_or(0);
    let note = match unknown {
        0 => String::new(),
        1 => "; of 1 run it is not known, so all that it was granted counts".to_string(),
        more => format!("; of {more} runs it is not known, so all that they were granted counts"),
    };
    page.line(format!("  used     {} by runs that have ended{note}", each(|part| part.taken.used)));
    page.line(format!("  left     {}", each(|part| part.left)));
}

fn own_text(own: &OwnGrant, page: &mut Page) {
    let each = |get: fn(&ops::OwnGrantPart) -> u64| {
        let texts = own.parts.iter().map(|part| amount_text(part.kind, get(part)));
        texts.collect::<Vec<_>>().join(", ")
    };
    if page.is_quiet {
        return page.line(each(|part| part.left));
    }
    page.line(format!("{} for this run, {}", style::bold(&each(|part| part.granted)), own.run.id));
    let used = |part: &ops::OwnGrantPart| {
        part.used.map_or_else(|| "an unknown amount".to_string(), |used| amount_text(part.kind, used))
    };
    let used: Vec<String> = own.parts.iter().map(used).collect();
    page.line(format!("  used       {} by its worker", used.join(", ")));
    page.line(format!("  passed on  {} to the runs of its worker", each(|part| part.passed_on)));
    page.line(format!("  left       {}", each(|part| part.left)));
}
