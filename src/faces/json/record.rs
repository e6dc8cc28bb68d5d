//! Records as JSON.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::domain::knowledge::search::MergeState;
use crate::domain::knowledge::{ActionOutcome, ActionReceipt, AnchorFinding, Origin, Statement};
use crate::ops::knowledge::{ShownAnchor, ShownRecord};
use crate::store::iso;

/// A record. Members that are empty are left out.
pub(in crate::faces) fn record(shown: &ShownRecord) -> Value {
    let record = &shown.record;
    let mut members = Map::from_iter([
        ("kind".to_string(), json!(record.id.kind.as_str())),
        ("name".to_string(), json!(record.id.name.as_str())),
        ("text".to_string(), json!(record.statement.words())),
    ]);
    members.extend(statement(&record.statement));
    members.extend([
        ("confidence".to_string(), json!(record.confidence)),
        ("verdict".to_string(), json!(shown.verdict.as_str())),
        ("merged".to_string(), json!(shown.merged == MergeState::Merged)),
        ("page".to_string(), json!(shown.publication.word())),
        ("retired".to_string(), json!(shown.is_retired.then_some(true))),
        ("changed".to_string(), json!(iso(record.changed))),
        ("tags".to_string(), json!(record.tags)),
        ("related".to_string(), json!(record.related)),
        ("anchors".to_string(), shown.anchors.iter().map(anchor).collect()),
        ("also".to_string(), json!(record.also)),
        ("evidence".to_string(), json!(record.evidence)),
        ("concepts".to_string(), json!(record.concepts)),
        ("symbols".to_string(), json!(record.symbols)),
        ("supersedes".to_string(), record.supersedes.iter().map(ToString::to_string).collect()),
        ("supersededBy".to_string(), record.superseded_by.iter().map(ToString::to_string).collect()),
        ("confirmations".to_string(), record.confirmations.iter().map(|one| origin(&one.origin)).collect()),
        ("alsoSaid".to_string(), record.also_said.iter().map(|one| Value::Object(statement(one))).collect()),
    ]);
    members.retain(|_, value| !is_empty(value));
    Value::Object(members)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn statement(said: &Statement) -> Map<String, Value> {
    let mut members = Map::from_iter([
        ("description".to_string(), json!(said.description)),
        ("rationale".to_string(), json!(said.rationale)),
        ("summary".to_string(), json!(said.summary)),
        ("status".to_string(), json!(said.status.map(|status| status.as_str()))),
        ("impact".to_string(), json!(said.impact)),
        ("type".to_string(), json!(said.pattern_type)),
        ("basis".to_string(), json!(said.basis.as_str())),
    ]);
    if let Some(ends) = &said.ends {
        members.insert("from".to_string(), json!(ends.from));
        members.insert("to".to_string(), json!(ends.to));
        members.insert("type".to_string(), json!(ends.relation.as_str()));
    }
    if let Value::Object(origin) = origin(&said.origin) {
        members.extend(origin);
    }
    members.retain(|_, value| !is_empty(value));
    members
}

fn origin(origin: &Origin) -> Value {
    json!({
        "author": origin.author,
        "at": iso(origin.at),
        "commit": origin.commit,
        "branch": origin.branch,
    })
}

fn anchor(anchor: &ShownAnchor) -> Value {
    let now = match &anchor.finding {
        AnchorFinding::Gone => None,
        AnchorFinding::Moved { to } => Some(to),
        AnchorFinding::Fresh | AnchorFinding::Drifted | AnchorFinding::Stale => Some(&anchor.target),
    };
    json!({
        "anchor": anchor.target.to_string(),
        "now": now.map(ToString::to_string),
        "verdict": anchor.finding.word(),
        "explanation": anchor.explanation,
    })
}

/// What became of actions. `log` is the directory that they are recorded in.
pub(in crate::faces) fn receipts(receipts: &[ActionReceipt], log: &Path) -> Value {
    receipts.iter().map(|one| receipt(one, log)).collect()
}

fn receipt(receipt: &ActionReceipt, log: &Path) -> Value {
    let mut members = Map::from_iter([
        ("kind".to_string(), json!(receipt.id.kind.as_str())),
        ("name".to_string(), json!(receipt.id.name.as_str())),
        ("where".to_string(), json!(log.to_string_lossy())),
        ("outcome".to_string(), json!(outcome(receipt.outcome))),
    ]);
    if !receipt.remarks.is_empty() {
        members.insert("remarks".to_string(), receipt.remarks.iter().map(ToString::to_string).collect());
    }
    Value::Object(members)
}

pub(in crate::faces) fn outcome(outcome: ActionOutcome) -> &'static str {
    match outcome {
        ActionOutcome::Added => "added",
        ActionOutcome::Updated => "updated",
        ActionOutcome::AlreadyThere => "already_there",
        ActionOutcome::Retired => "retired",
        ActionOutcome::Confirmed => "confirmed",
    }
}
