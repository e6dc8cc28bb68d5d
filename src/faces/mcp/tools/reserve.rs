//! The tool for reservations: reserve, release, contest, check, list.

use rmcp::model::Tool;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::domain::{AgentName, Reservation, quote_code, quote_sentence};
use crate::faces::json;
use crate::faces::mcp::tool_answer::ToolAnswer;
use crate::ops::{
    self, BroadPatterns, CommandError, CommandErrorKind, HolderScope, Holding, Op, ReleaseScope,
    RequestedReach, ReserveRequest,
};

use super::{as_agent, describe, needed};

pub(super) fn tool() -> Tool {
    describe(
        "reserve",
        "Keep paths to yourself before you change what others may want: their edits are refused. \
         All or none. Release them when done (no paths: all yours). contest: ask a silent holder to let go; \
         release with `from` takes it after that. check: may you change these?",
        json!({
            "action": { "type": "string", "enum": ["reserve", "release", "contest", "check", "list"], "default": "reserve" },
            "paths": {
                "type": "array",
                "items": { "type": "string" },
                "description": "files, folders, globs, or things: @git/index, @port:3000",
            },
            "reason": { "type": "string", "description": "what others are told" },
            "from": { "type": "string", "description": "the holder" },
            "ttl": { "type": "string", "description": "such as 30m" },
            "force_broad": { "type": "boolean", "description": "also outside of this work tree" },
            "repo": { "type": "boolean", "description": "in all its work trees and clones" },
        }),
    )
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::faces::mcp) struct ReserveToolArgs {
    action: Option<Action>,
    paths: Option<Vec<String>>,
    reason: Option<String>,
    from: Option<String>,
    ttl: Option<String>,
    force_broad: Option<bool>,
    repo: Option<bool>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    #[default]
    Reserve,
    Release,
    Contest,
    Check,
    List,
}

pub(super) fn run(op: &Op, args: ReserveToolArgs) -> Result<ToolAnswer, CommandError> {
    match args.action.unwrap_or_default() {
        Action::Reserve => reserve(op, args),
        Action::Release if args.from.is_some() => take_over(op, args),
        Action::Contest => contest(op, args),
        Action::Release => {
            let paths = args.paths.unwrap_or_default();
            let scope = if args.repo == Some(true) { ReleaseScope::Repository } else { ReleaseScope::All };
            let released = as_agent(op, |op| ops::release(op, &paths, scope))?;
            let holder = released.holder.as_str();
            let mut lines: Vec<String> = released
                .reservations
                .iter()
                .map(|freed| format!("{} is free", quote_code(&freed.pattern)))
                .collect();
            if lines.is_empty() {
                lines.push("you had no reservations".to_string());
            }
            let freed = released.reservations.iter().map(|freed| json::reservation(freed, holder));
            Ok(ToolAnswer::lines(lines).with("released", freed.collect::<Vec<_>>()))
        }
        Action::Check => {
            let paths = paths(args.paths, "check")?;
            let verdicts = ops::check(op, &paths)?;
            let lines = verdicts.iter().map(|verdict| match &verdict.holding {
                None => format!("{} is free", quote_code(&verdict.path)),
                Some(holding) => {
                    format!("{} is held by {}", quote_code(&verdict.path), holding.holder.name_and_machine())
                }
            });
            let rows: Vec<Value> = verdicts.iter().map(json::verdict).collect();
            Ok(ToolAnswer::lines(lines).with("paths", rows).failing(ops::conflict_error(&verdicts)))
        }
        Action::List => list(op),
    }
}

fn reserve(op: &Op, args: ReserveToolArgs) -> Result<ToolAnswer, CommandError> {
    let request = ReserveRequest {
        patterns: paths(args.paths, "reserve")?,
        reason: args.reason,
        ttl: args.ttl.as_deref().map(ops::parse_time_to_live).transpose()?,
        broad: match args.force_broad {
            Some(true) => BroadPatterns::Accept,
            Some(false) | None => BroadPatterns::Refuse,
        },
        reach: match args.repo {
            Some(true) => RequestedReach::Repository,
            Some(false) => RequestedReach::WorkTree,
            None => RequestedReach::Usual,
        },
    };
    let granted = as_agent(op, |op| ops::reserve(op, &request))?;
    let holder = granted.holder.as_str();
    let line = |taken: &Reservation| format!("{} is yours{}", quote_code(&taken.pattern), taken.reach_note());
    let lines = granted.reservations.iter().map(line);
    let taken = granted.reservations.iter().map(|taken| json::reservation(taken, holder));
    Ok(ToolAnswer::lines(lines).with("reservations", taken.collect::<Vec<_>>()))
}

fn contest(op: &Op, args: ReserveToolArgs) -> Result<ToolAnswer, CommandError> {
    let path = one_path(args.paths, "contest")?;
    let made = as_agent(op, |op| ops::contest(op, &path, args.reason.as_deref()))?;
    let holder = &made.holding.holder.name;
    let pattern = quote_code(&made.holding.reservation.pattern);
    let seconds = json::seconds(made.time_left);
    let line = match made.place {
        1 => {
            format!("{holder} has {seconds} s to answer about {pattern}; then release it with from {holder}")
        }
        place => format!("{} contested {pattern} before you", place - 1),
    };
    let contested = json::reservation(&made.holding.reservation, holder.as_str());
    let answer = ToolAnswer::lines([line]).with("contested", contested);
    Ok(answer.with("place", made.place).with("secondsLeft", seconds))
}

fn take_over(op: &Op, args: ReserveToolArgs) -> Result<ToolAnswer, CommandError> {
    let path = one_path(args.paths, "release")?;
    let from = AgentName::new(needed(args.from, "from", "release")?)?;
    let taken = as_agent(op, |op| ops::release_from(op, &path, &from))?;
    let gained = taken.gained.iter();
    let lines = gained.clone().map(|(name, held)| format!("{} is {name}'s now", quote_code(&held.pattern)));
    let rows: Vec<Value> =
        gained.clone().map(|(name, held)| json::reservation(held, name.as_str())).collect();
    Ok(ToolAnswer::lines(lines).with("reservations", rows))
}

fn one_path(given: Option<Vec<String>>, action: &str) -> Result<String, CommandError> {
    let mut given = paths(given, action)?;
    let (path, more) = (given.remove(0), given.len());
    if more > 0 {
        let text = format!("{action} takes one path, not {}", more + 1);
        return Err(CommandError::new(CommandErrorKind::InvalidValue, text));
    }
    Ok(path)
}

fn list(op: &Op) -> Result<ToolAnswer, CommandError> {
    let holdings = ops::reservations(op, HolderScope::Everyone)?;
    let line = |Holding { holder, reservation, .. }: &Holding| {
        let reason =
            reservation.reason.as_deref().map_or(String::new(), |text| format!(": {}", quote_sentence(text)));
        let (pattern, reach) = (quote_code(&reservation.pattern), reservation.reach_note());
        format!("{} holds {pattern}{reach}{reason}", holder.name_and_machine())
    };
    let mut lines: Vec<String> = holdings.iter().map(line).collect();
    if lines.is_empty() {
        lines.push("nothing is reserved".to_string());
    }
    let rows = holdings.iter().map(json::holding_json);
    Ok(ToolAnswer::lines(lines).with("reservations", rows.collect::<Vec<_>>()))
}

fn paths(paths: Option<Vec<String>>, action: &str) -> Result<Vec<String>, CommandError> {
    needed(paths.filter(|paths| !paths.is_empty()), "paths", action)
}
