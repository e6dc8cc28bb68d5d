//! What can be wrong with a draft, whatever is recorded already.

use super::anchor::{Anchor, AnchorTarget};
use super::batch_problem::{BatchProblem, BatchProblemKind};
use super::draft::RecordDraft;
use super::kinds::RecordKind;
use super::secret_scan::{FoundSecret, find_secret};
use crate::domain::quote_code;

/// The longest text of a statement, in bytes.
pub const MAX_STATEMENT: usize = 4096;
/// The longest entry of a set, in bytes.
const MAX_ENTRY: usize = 512;
/// The most entries of one set.
pub const MAX_ENTRIES: usize = 64;
const MAX_IMPACT: u8 = 10;

/// All problems of a draft.
pub(super) fn check(action: usize, draft: &RecordDraft) -> Vec<BatchProblem> {
    let mut problems = Vec::new();
    for (field, text) in draft.texts() {
        let most = match field {
            "description" | "rationale" | "summary" => MAX_STATEMENT,
            _ => MAX_ENTRY,
        };
        if text.len() > most {
            let problem = format!("the text has {} bytes; {most} is the most", text.len());
            let fix = "shorten it; keep what the code does not say";
            problems.push(BatchProblem::new(action, field, problem, fix).of_kind(BatchProblemKind::TooLarge));
        }
        if text.trim().is_empty() {
            let problem = BatchProblem::new(action, field, "the text is empty", "fill it, or leave it out");
            problems.push(problem.of_kind(BatchProblemKind::Empty));
        }
        if text.contains('\0') {
            problems.push(BatchProblem::new(action, field, "the text has a NUL character", "remove it"));
        }
        if let Some(secret) = find_secret(text) {
            let problem =
                format!("line {} has {} (`{}`)", secret.line, secret.what, secret.start.escape_debug());
            let fix = "remove it: records are read by everyone here";
            problems.push(BatchProblem::new(action, field, problem, fix).of_kind(BatchProblemKind::Secret));
        }
    }
    for (anchor, secret) in
        draft.anchors.iter().filter_map(|anchor| Some((anchor, secret_in_anchor(anchor)?)))
    {
        let place = place_without_secret(&anchor.target);
        let problem = format!("{place} has {} (`{}`)", secret.what, secret.start.escape_debug());
        let fix = "name another place, or leave it out";
        problems.push(BatchProblem::new(action, "anchors", problem, fix).of_kind(BatchProblemKind::Secret));
    }
    let counts = [
        ("tags", draft.tags.len()),
        ("related", draft.related.values().map(|names| names.len()).sum()),
        ("anchors", draft.anchors.len()),
        ("also", draft.also.len()),
        ("evidence", draft.evidence.len()),
        ("concepts", draft.concepts.len()),
        ("symbols", draft.symbols.len()),
    ];
    for (field, count) in counts.into_iter().filter(|(_, count)| *count > MAX_ENTRIES) {
        let problem = format!("it has {count} entries; {MAX_ENTRIES} is the most");
        problems.push(BatchProblem::new(action, field, problem, "keep the most important ones"));
    }
    if let Some(impact) = draft.impact.filter(|impact| *impact > MAX_IMPACT) {
        let problem = format!("the impact {impact} is not between 0 and {MAX_IMPACT}");
        problems.push(BatchProblem::new(action, "impact", problem, "give a number from 0 to 10"));
    }
    problems.extend(misplaced(action, draft));
    problems
}

/// A secret in what is kept of an anchor.
fn secret_in_anchor(anchor: &Anchor) -> Option<FoundSecret> {
    match &anchor.target {
        AnchorTarget::Lines { text, .. } => text.iter().find_map(|line| find_secret(line)),
        target => find_secret(&target.to_string()),
    }
}

/// Names an anchor, without showing what is secret in it.
fn place_without_secret(target: &AnchorTarget) -> String {
    let place = target.to_string();
    match find_secret(&place) {
        None => quote_code(&place),
        Some(_) => {
            let shown: Vec<&str> =
                place.split_whitespace().take(2).take_while(|word| find_secret(word).is_none()).collect();
            quote_code(&format!("{} …", shown.join(" ")))
        }
    }
}

/// Fields that the kind does not have.
fn misplaced(action: usize, draft: &RecordDraft) -> Vec<BatchProblem> {
    let kind = draft.kind;
    let fields: [(&'static str, bool, &[RecordKind]); 7] = [
        ("status", draft.status.is_some(), &[RecordKind::Decision]),
        ("impact", draft.impact.is_some(), &[RecordKind::Decision]),
        ("type", draft.pattern_type.is_some(), &[RecordKind::Pattern]),
        ("evidence", !draft.evidence.is_empty(), &[RecordKind::Principle]),
        ("summary", draft.summary.is_some(), &[RecordKind::File]),
        ("concepts", !draft.concepts.is_empty(), &[RecordKind::File]),
        ("symbols", !draft.symbols.is_empty(), &[RecordKind::File]),
    ];
    let wrong = fields.into_iter().filter(|(_, is_given, kinds)| *is_given && !kinds.contains(&kind));
    let describe = |(field, _, kinds): (&'static str, bool, &[RecordKind])| {
        let problem = format!("a {kind} has no `{field}`");
        BatchProblem::new(action, field, problem, format!("leave it out, or record a {}", kinds[0]))
    };
    wrong.map(describe).collect()
}
