//! Checks for `msg doctor` whether the ways that are set can work on this machine.

use crate::domain::alert::AlertWay;
use crate::ops::context::Context;
use crate::ops::health_check::HealthCheck;

use super::ways::{AlertOutput, AlertTools};

const NAME: &str = "notify";

/// Nothing if no way is set. Whether there is a terminal is not checked: `doctor` may run without one.
pub(in crate::ops) fn checks(ctx: &Context) -> Vec<HealthCheck> {
    let ways = ctx.settings.alert_ways();
    let is_used = |way: &AlertWay| ways.iter().any(|(_, ways)| ways.contains(way));
    let used: Vec<AlertWay> = AlertWay::ALL.into_iter().filter(is_used).collect();
    let tools = AlertTools::of(ctx);
    if let Some(problem) = tools.run_problem(ctx.settings.run_command()) {
        let text = format!("the command that hears of runs can't work: {}", problem.text);
        return vec![HealthCheck::warn(NAME, text, problem.fix)];
    }
    if used.is_empty() {
        return Vec::new();
    }
    let problem = |way: &AlertWay| {
        let problem = tools.problem(*way, AlertOutput::Terminal)?;
        let text = format!("the way `{}` can't work: {}", way.name(), problem.text);
        Some(HealthCheck::warn(NAME, text, problem.fix))
    };
    let problems: Vec<HealthCheck> = used.iter().filter_map(problem).collect();
    if problems.is_empty() {
        let names: Vec<&str> = used.iter().map(|way| way.name()).collect();
        return vec![HealthCheck::ok(NAME, format!("you are told by {}", names.join(", ")))];
    }
    problems
}
