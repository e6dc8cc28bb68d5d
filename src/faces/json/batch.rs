//! Reads a batch: `{"projectId"?, "actions": [["record-decision", {…}], …]}`.

use serde_json::Value;

use super::batch_fields::BatchFields;
use crate::domain::knowledge::{
    Basis, BatchProblem, DecisionStatus, DuplicatePolicy, KnowledgeAction, RecordDraft, RecordKind,
    RelationEnds, RelationType,
};
use crate::domain::suggestions;
use crate::ops::CommandError;
use crate::ops::knowledge::{self, KnowledgeBatch, KnowledgeRequest, KnowledgeStep, PlaceBase};

const ACTIONS: [&str; 16] = [
    "record-note",
    "record-tried",
    "record-decision",
    "record-principle",
    "record-pattern",
    "record-file-understanding",
    "link-entities",
    "unlink-entities",
    "delete-principle",
    "delete-pattern",
    "delete-decision",
    "delete-file-understanding",
    "update-confidence",
    "add-evidence",
    "supersede-decision",
    "confirm",
];

/// A batch whose paths count from the root of the project.
pub(in crate::faces) fn parse(text: &str) -> Result<KnowledgeBatch, CommandError> {
    let malformed = |message: String| {
        let example =
            "write {\"actions\": [[\"record-note\", {\"description\": \"One lock guards all names\"}]]}";
        knowledge::batch_refusal(message, example)
    };
    let batch: Value =
        serde_json::from_str(text).map_err(|error| malformed(format!("the batch is not JSON: {error}")))?;
    let members = batch.as_object().ok_or_else(|| malformed("the batch is not an object".to_string()))?;
    if let Some(name) = members.keys().find(|name| !["projectId", "actions"].contains(&name.as_str())) {
        return Err(malformed(format!("a batch has no member `{}`", name.escape_debug())));
    }
    let actions = members.get("actions").and_then(Value::as_array);
    let actions = actions.ok_or_else(|| malformed("the batch has no list `actions`".to_string()))?;
    let project_id = match members.get("projectId") {
        None | Some(Value::Null) => None,
        Some(Value::String(id)) => Some(id.clone()),
        Some(_) => return Err(malformed("`projectId` is not a text".to_string())),
    };
    Ok(KnowledgeBatch { project_id, steps: steps(actions), base: PlaceBase::ProjectRoot })
}

/// The steps of a list of actions.
pub(in crate::faces) fn steps(actions: &[Value]) -> Vec<KnowledgeStep> {
    actions.iter().enumerate().map(|(index, action)| step(index, action)).collect()
}

fn step(index: usize, action: &Value) -> KnowledgeStep {
    let wrong = |message: &str, fix: &str| {
        let problems = vec![BatchProblem::new(index, None, message, fix)];
        KnowledgeStep { request: None, problems }
    };
    let parts = action.as_array().map(Vec::as_slice);
    let Some([Value::String(name), Value::Object(members)]) = parts else {
        return wrong("it is not a pair of a name and an object", "write [\"record-note\", {…}]");
    };
    let mut fields = BatchFields::new(index, members);
    let request = match name.as_str() {
        "record-note" => record(&mut fields, RecordKind::Note),
        "record-tried" => record(&mut fields, RecordKind::Tried),
        "record-decision" => record(&mut fields, RecordKind::Decision),
        "record-principle" => record(&mut fields, RecordKind::Principle),
        "record-pattern" => record(&mut fields, RecordKind::Pattern),
        "record-file-understanding" => record(&mut fields, RecordKind::File),
        "link-entities" => record(&mut fields, RecordKind::Relationship),
        "unlink-entities" => ends(&mut fields).map(|ends| plain(KnowledgeAction::Unlink(ends))),
        "delete-principle" => delete(&mut fields, RecordKind::Principle),
        "delete-pattern" => delete(&mut fields, RecordKind::Pattern),
        "delete-decision" => delete(&mut fields, RecordKind::Decision),
        "delete-file-understanding" => delete(&mut fields, RecordKind::File),
        "update-confidence" => update_confidence(&mut fields),
        "add-evidence" => add_evidence(&mut fields),
        "supersede-decision" => supersede(&mut fields),
        "confirm" => {
            let kind = kind(&mut fields);
            fields.required("name").map(|name| plain(KnowledgeAction::Confirm { kind, name }))
        }
        other => {
            let near = suggestions(other, ACTIONS);
            let near = if near.is_empty() { ACTIONS.to_vec() } else { near };
            let message = format!("there is no action `{}`", other.escape_debug());
            return wrong(&message, &format!("use one of {}", near.join(", ")));
        }
    };
    KnowledgeStep { request, problems: fields.finish() }
}

fn plain(action: KnowledgeAction) -> KnowledgeRequest {
    KnowledgeRequest { action, places: Vec::new() }
}

fn kind(fields: &mut BatchFields<'_>) -> Option<RecordKind> {
    fields.word("kind", RecordKind::parse, &spellings(RecordKind::ALL, |kind| kind.as_str()))
}

fn spellings<T: Copy>(all: &[T], spell: fn(T) -> &'static str) -> Vec<&'static str> {
    all.iter().map(|one| spell(*one)).collect()
}

fn delete(fields: &mut BatchFields<'_>, kind: RecordKind) -> Option<KnowledgeRequest> {
    let name = match (kind, fields.text("path")) {
        (RecordKind::File, Some(path)) => Some(path),
        _ => fields.required("name"),
    };
    name.map(|name| plain(KnowledgeAction::Delete { kind: Some(kind), name }))
}

fn update_confidence(fields: &mut BatchFields<'_>) -> Option<KnowledgeRequest> {
    let (kind, name) = (kind(fields), fields.required("name"));
    let Some(confidence) = fields.number("confidence") else {
        if !fields.is_wrong("confidence") {
            fields.problem("confidence", "`confidence` is missing", "give a number from 0 to 1");
        }
        return None;
    };
    name.map(|name| plain(KnowledgeAction::UpdateConfidence { kind, name, confidence }))
}

fn add_evidence(fields: &mut BatchFields<'_>) -> Option<KnowledgeRequest> {
    let (name, evidence) = (fields.required("name"), fields.list("evidence"));
    if evidence.is_empty() && !fields.is_wrong("evidence") {
        fields.problem("evidence", "`evidence` is empty", "give at least one sentence");
    }
    name.map(|name| plain(KnowledgeAction::AddEvidence { name, evidence }))
}

fn supersede(fields: &mut BatchFields<'_>) -> Option<KnowledgeRequest> {
    let (old, new) = (fields.required("old"), fields.required("new"));
    Some(plain(KnowledgeAction::Supersede { old: old?, new: new? }))
}

fn ends(fields: &mut BatchFields<'_>) -> Option<RelationEnds> {
    let (from, to) = (fields.required("from"), fields.required("to"));
    let words = spellings(RelationType::ALL, |relation| relation.as_str());
    let relation = fields.word("type", RelationType::parse, &words);
    if relation.is_none() && !fields.is_wrong("type") {
        fields.problem("type", "a relationship needs `type`", format!("use one of {}", words.join(", ")));
    }
    Some(RelationEnds { from: from?, to: to?, relation: relation? })
}

fn record(fields: &mut BatchFields<'_>, kind: RecordKind) -> Option<KnowledgeRequest> {
    let mut draft = RecordDraft::new(kind);
    if kind == RecordKind::Relationship {
        draft.ends = ends(fields);
    } else {
        draft.pattern_type = fields.text("type");
    }
    draft.name = fields.record_name("name");
    draft.description = fields.text("description");
    draft.rationale = fields.text("rationale");
    draft.summary = fields.text("summary");
    draft.status =
        fields.word("status", DecisionStatus::parse, &spellings(DecisionStatus::ALL, |one| one.as_str()));
    draft.impact = impact(fields);
    draft.basis = fields.word("basis", Basis::parse, &spellings(Basis::ALL, |one| one.as_str()));
    draft.confidence = fields.number("confidence");
    draft.tags = fields.tags("tags");
    draft.related = fields.related();
    draft.also = fields.list("also");
    draft.evidence = fields.list("evidence");
    draft.concepts = fields.list("concepts");
    draft.symbols = [fields.list("symbols"), fields.list("importantSymbols")].concat();
    draft.supersedes = fields.list("supersedes");
    if fields.is_set("new") {
        draft.duplicates = DuplicatePolicy::AddAnyway;
    }
    let path = fields.text("path");
    let places = [
        fields.list("anchors"),
        fields.list("location"),
        fields.list("locations"),
        path.into_iter().collect(),
    ];
    Some(KnowledgeRequest { action: KnowledgeAction::Record(Box::new(draft)), places: places.concat() })
}

fn impact(fields: &mut BatchFields<'_>) -> Option<u8> {
    let number = fields.number("impact")?;
    let whole = (0.0..=255.0).contains(&number) && number.fract() == 0.0;
    if !whole {
        fields.problem(
            "impact",
            format!("the impact {number} is not a whole number from 0 to 10"),
            "give one",
        );
        return None;
    }
    Some(number as u8)
}
