//! Checks that every error may occur in a storm and has its documented exit code.

use super::story::{Outcome, Story};
use super::{Promise, Violation};
use crate::history::{Disturbance, Intent};

/// Errors that a well-formed command may return while names change owners, disks fill and files are truncated. Others
/// are documented too, but for calls that no agent makes here.
const DOCUMENTED: [(i32, &[&str]); 4] = [
    (
        1,
        &[
            "all_done",
            "ambiguous_pattern",
            "at_work",
            "too_early",
            "not_contested",
            "not_first",
            "unknown_liveness",
            "already_claimed",
            "already_completed",
            "already_have_claim",
            "already_joined",
            "blocked",
            "foreign_agent",
            "name_taken",
            "not_all_sent",
            "not_claimed",
            "not_reserved",
            "not_running",
            "not_yours",
            "nothing_ready",
            "reserved",
            "still_alive",
            "too_many",
            "unknown_agent",
        ],
    ),
    (3, &["ambiguous_caller", "evicted", "not_joined"]),
    (4, &["corrupt", "disk_full", "io", "unhealthy_mesh"]),
    (5, &["lock_timeout"]),
];

fn is_documented(code: i32, kind: &str) -> bool {
    DOCUMENTED.iter().any(|(number, kinds)| *number == code && kinds.contains(&kind))
}

/// Whether a well-formed command of this kind can be a mistake: handing a task to oneself, contesting one's own path.
fn may_be_about_itself(intent: &Intent) -> bool {
    matches!(intent, Intent::Handoff { .. } | Intent::Contest { .. } | Intent::TakeOver { .. })
}

pub(super) fn check(story: &Story<'_>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for op in &story.ops {
        let text = match &op.outcome {
            Outcome::Odd(text) => text.clone(),
            Outcome::No { code, kind } if matches!(op.intent, Intent::Hook { .. }) => {
                format!("a hook ended with {code}, {kind}")
            }
            // These agents can make one mistake, if they have that name or path by now.
            Outcome::No { code: 2, kind } if kind == "invalid_value" && may_be_about_itself(op.intent) => {
                continue;
            }
            Outcome::No { code, kind } if !is_documented(*code, kind) => {
                format!("exit code {code} with `{kind}` is not an answer to this")
            }
            _ => continue,
        };
        violations.push(Violation { promise: Promise::EverythingAnswers, text, proof: op.proof() });
    }
    let touched = |deed: &Disturbance| matches!(deed, Disturbance::ClaimsKept { kept: false });
    for blow in story.blows.iter().filter(|blow| touched(blow.deed)) {
        violations.push(Violation {
            promise: Promise::UnreadableIsKept,
            text: "`claims.json` could not be read, and was changed".to_string(),
            proof: vec![blow.line.clone()],
        });
    }
    violations
}
