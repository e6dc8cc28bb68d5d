//! How a worker that is a command ended. What it used is in the file that it may write: `{"usage": {"input": 1, …},
//! "costUsd": 0.02}`.

use std::path::Path;

use serde_json::Value;

use crate::domain::runs::{Cost, MicroUsd, Usage};
use crate::harness::worker::{WorkerEnd, WorkerExit, WorkerFailure};
use crate::sys::files;

/// How a command ended: its output is the result, and its exit code says whether it failed.
pub(super) fn read(printed: String, exit: WorkerExit, errors: &str, usage: &Path) -> WorkerEnd {
    let last = errors.lines().rev().find(|line| !line.trim().is_empty()).map(str::trim);
    let said = last.map_or_else(String::new, |last| format!(": {last}"));
    let failure = match exit {
        WorkerExit::Code(0) => None,
        WorkerExit::Code(_) => Some(WorkerFailure::Other(format!("it ended with {exit}{said}"))),
        WorkerExit::Signal(_) => Some(WorkerFailure::Other(format!("it was ended by {exit}{said}"))),
    };
    let (usage, cost) = used(usage);
    WorkerEnd { result: Some(printed.trim_end().to_string()), usage, cost, failure, denied: None }
}

/// What the file says. What it does not say, or says wrongly, is unknown.
fn used(path: &Path) -> (Usage, Cost) {
    let content = files::read(path).ok().flatten().unwrap_or_default();
    parse(&content)
}

fn parse(content: &[u8]) -> (Usage, Cost) {
    let told: Value = serde_json::from_slice(content).unwrap_or_default();
    let count = |name: &str| told["usage"][name].as_u64();
    let usage = Usage {
        input: count("input"),
        output: count("output"),
        cache_read: count("cacheRead"),
        cache_write: count("cacheWrite"),
        turns: count("turns"),
    };
    let cost = told["costUsd"].as_f64().and_then(MicroUsd::from_dollars);
    (usage, cost.map_or(Cost::Unknown, Cost::Reported))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_told_is_unknown() {
        assert_eq!(parse(b""), (Usage::default(), Cost::Unknown));
        assert_eq!(parse(b"[1]"), (Usage::default(), Cost::Unknown));
        let told = br#"{"usage": {"input": 3, "output": -1, "turns": "2"}, "costUsd": 0.5}"#;
        let usage = Usage { input: Some(3), ..Usage::default() };
        assert_eq!(parse(told), (usage, Cost::Reported(MicroUsd::from_micros(500_000))));
    }
}
