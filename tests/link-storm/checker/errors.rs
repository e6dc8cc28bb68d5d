//! Checks that every error may occur in a storm and has its documented exit code, and that everything came to rest.

use super::story::{Outcome, Story};
use super::{Promise, Violation};

/// Errors that a well-formed command may return while names change owners, links are down, disks fill and clocks jump.
/// Others are documented too, but for calls that no agent makes here.
const DOCUMENTED: [(i32, &[&str]); 4] = [
    (
        1,
        &[
            "already_claimed",
            "already_completed",
            "already_have_claim",
            "already_joined",
            "changed_meanwhile",
            "name_taken",
            "not_all_sent",
            "not_claimed",
            "not_completed",
            "not_reserved",
            "not_running",
            "not_yours",
            "reserved",
            "unknown_agent",
            "unknown_message",
        ],
    ),
    (3, &["ambiguous_caller", "evicted", "not_joined"]),
    (4, &["corrupt", "disk_full", "io", "unhealthy_mesh"]),
    (5, &["lock_timeout", "not_linked"]),
];

fn is_documented(code: i32, kind: &str) -> bool {
    DOCUMENTED.iter().any(|(number, kinds)| *number == code && kinds.contains(&kind))
}

pub(super) fn check(story: &Story<'_>) -> Vec<Violation> {
    let mut violations = Vec::new();
    for op in &story.ops {
        let text = match &op.outcome {
            Outcome::Odd(text) => text.clone(),
            Outcome::No { code, kind } if !is_documented(*code, kind) => {
                format!("exit code {code} with `{kind}` is not an answer to this")
            }
            _ => continue,
        };
        violations.push(Violation { promise: Promise::EverythingAnswers, text, proof: op.proof() });
    }
    violations.extend(story.unsettled.iter().map(|(what, line)| Violation {
        promise: Promise::ComesToRest,
        text: (*what).to_string(),
        proof: vec![(*line).clone()],
    }));
    violations
}
