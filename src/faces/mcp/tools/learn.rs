//! The tool that records what was found out: one record, or a batch.

use rmcp::model::Tool;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::domain::knowledge::{
    ActionOutcome, ActionReceipt, DuplicatePolicy, RecordDraft, RecordKind, RecordName,
};
use crate::faces::json::{self, batch};
use crate::faces::mcp::tool_answer::ToolAnswer;
use crate::ops::knowledge::{self, Lesson, PlaceBase};
use crate::ops::{CommandError, CommandErrorKind, Op};

use super::describe;

pub(super) fn tool() -> Tool {
    describe(
        "learn",
        "Record for later sessions what the code does not say: why it is so, what failed, which command works.",
        json!({
            "text": { "type": "string", "description": "one sentence" },
            "at": {
                "type": "array",
                "items": { "type": "string" },
                "description": "path, path#symbol, path:line, path:from-to or \"$ command\"",
            },
            "why": { "type": "string" },
            "kind": {
                "type": "string",
                "enum": ["note", "tried", "decision", "principle", "pattern", "file"],
                "default": "note",
            },
            "name": { "type": "string", "description": "updates the record of that name" },
            "tried": { "type": "string", "description": "what failed" },
            "supersedes": { "type": "array", "items": { "type": "string" }, "description": "names" },
            "new": { "type": "boolean", "description": "although one says nearly the same" },
            "actions": {
                "type": "array",
                "items": { "type": "object", "properties": { "action": { "type": "string" } } },
                "description": "a batch instead: {action: confirm, name}, {action: record-decision, description, rationale, anchors} …",
            },
        }),
    )
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::faces::mcp) struct LearnToolArgs {
    text: Option<String>,
    at: Option<Texts>,
    why: Option<String>,
    kind: Option<String>,
    name: Option<String>,
    tried: Option<String>,
    supersedes: Option<Texts>,
    new: Option<bool>,
    actions: Option<Vec<Value>>,
}

/// Models give a single text as often as a list.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Texts {
    One(String),
    Many(Vec<String>),
}

impl From<Texts> for Vec<String> {
    fn from(texts: Texts) -> Self {
        match texts {
            Texts::One(text) => vec![text],
            Texts::Many(texts) => texts,
        }
    }
}

/// The most problems of a batch that are told; the members for programs have all.
const MOST_HINTS: usize = 10;

pub(super) fn run(op: &Op, args: LearnToolArgs) -> Result<ToolAnswer, CommandError> {
    record(op, args).map_err(|mut error| {
        let more = error.hints.len().saturating_sub(MOST_HINTS);
        error.hints.truncate(MOST_HINTS);
        if more == 0 { error } else { error.hint(format!("and {more} more")) }
    })
}

fn record(op: &Op, args: LearnToolArgs) -> Result<ToolAnswer, CommandError> {
    // Some clients fill in the defaults of `kind` and `new`.
    let LearnToolArgs { text, at, why, name, tried, supersedes, new, .. } = &args;
    let texts = [text, why, name, tried];
    let is_batch_alone =
        texts.iter().all(|text| text.is_none()) && at.is_none() && supersedes.is_none() && *new != Some(true);
    let receipts = match args {
        LearnToolArgs { actions: Some(actions), .. } if is_batch_alone => {
            let actions: Vec<Value> = actions.into_iter().map(pair).collect();
            knowledge::tell(op, batch::steps(&actions), PlaceBase::ProjectRoot)?
        }
        LearnToolArgs { actions: Some(_), .. } => {
            let text = "`actions` is a batch of its own: other fields belong into its actions";
            return Err(CommandError::new(CommandErrorKind::Usage, text).hint("make two calls of it"));
        }
        args => {
            let steps = lesson(op, args)?.into_requests().into_iter().map(Into::into).collect();
            knowledge::tell(op, steps, PlaceBase::WorkingDirectory)?
        }
    };
    let rows = json::record::receipts(&receipts, &knowledge::log_directory(op));
    let lines = receipts.iter().flat_map(|receipt| {
        std::iter::once(receipt_line(receipt)).chain(receipt.remarks.iter().map(ToString::to_string))
    });
    Ok(ToolAnswer::lines(lines).with("recorded", rows))
}

fn lesson(op: &Op, args: LearnToolArgs) -> Result<Lesson, CommandError> {
    let name = args.name.as_deref().map(RecordName::new).transpose();
    let name = name.map_err(|error| CommandError::new(CommandErrorKind::InvalidName, error.to_string()))?;
    let given = args.kind.as_deref().map(kind).transpose()?;
    let other = given.filter(|kind| *kind != RecordKind::Note);
    let kind = match (&args.text, &args.tried, &name) {
        (None, None, None) => {
            let text = "`text`, `tried` or `actions` is needed, or the `name` of a record that exists";
            return Err(CommandError::new(CommandErrorKind::Usage, text).hint("see the tool's input schema"));
        }
        (None, None, Some(name)) => {
            if args.why.is_none() && args.at.is_none() && args.supersedes.is_none() {
                let text = "nothing was recorded: say what to change about the record";
                let hint = "give `text`, `why`, `at` or `supersedes`";
                return Err(CommandError::new(CommandErrorKind::Usage, text).hint(hint));
            }
            knowledge::kind_to_update(op, name.as_str(), kind_of_name(op, name, given)?)?
        }
        (None, Some(_), _) => match other {
            None | Some(RecordKind::Tried) => RecordKind::Tried,
            Some(kind) => {
                let text = format!("`tried` records a tried, not a {kind}: give the {kind} as `text`");
                return Err(CommandError::new(CommandErrorKind::Usage, text));
            }
        },
        (Some(_), _, Some(name)) => kind_of_name(op, name, given)?.unwrap_or(RecordKind::Note),
        (Some(_), _, None) => given.unwrap_or(RecordKind::Note),
    };
    let draft = RecordDraft {
        name,
        supersedes: args.supersedes.map(Into::into).unwrap_or_default(),
        duplicates: match args.new {
            Some(true) => DuplicatePolicy::AddAnyway,
            Some(false) | None => DuplicatePolicy::Answer,
        },
        ..RecordDraft::new(kind)
    };
    let places = args.at.map(Into::into).unwrap_or_default();
    Ok(Lesson { text: args.text, tried: args.tried, why: args.why, places, draft })
}

/// A relationship has two ends, which only a batch has.
fn kind(word: &str) -> Result<RecordKind, CommandError> {
    let kind = RecordKind::parse(word).filter(|kind| *kind != RecordKind::Relationship);
    kind.ok_or_else(|| {
        let text = format!("`{}` is not a kind that `learn` takes", word.escape_debug());
        CommandError::new(CommandErrorKind::InvalidValue, text)
            .hint("use note, tried, decision, principle, pattern or file")
    })
}

/// Which record of that name is meant. Some clients fill in the default kind, `note`, which then says nothing if only
/// one record has the name.
fn kind_of_name(
    op: &Op,
    name: &RecordName,
    given: Option<RecordKind>,
) -> Result<Option<RecordKind>, CommandError> {
    match given {
        None => knowledge::kind_of(op, name.as_str()),
        Some(RecordKind::Note) => Ok(knowledge::kind_of(op, name.as_str()).unwrap_or(given).or(given)),
        Some(_) => Ok(given),
    }
}

/// `{"action": "confirm", "name": …}` as `["confirm", {"name": …}]`; a pair is taken as it is.
fn pair(action: Value) -> Value {
    match action {
        Value::Object(mut members) => match members.shift_remove("action") {
            Some(name) => json!([name, members]),
            None => Value::Object(members),
        },
        action => action,
    }
}

pub(super) fn receipt_line(receipt: &ActionReceipt) -> String {
    let id = &receipt.id;
    match receipt.outcome {
        ActionOutcome::Added => format!("recorded {id}"),
        ActionOutcome::Updated => format!("updated {id}"),
        ActionOutcome::AlreadyThere => {
            format!("not recorded: {id} says nearly the same; with `new` yours is recorded too")
        }
        ActionOutcome::Retired => format!("retired {id}"),
        ActionOutcome::Confirmed => format!("confirmed {id}"),
    }
}
