//! What a look at an agent shows, as JSON.

use serde_json::{Map, Value, json};

use crate::domain::runs::RunQuestion;
use crate::domain::screens::{Dialog, PromptLine};
use crate::ops::screens::look::LookOutcome;

/// The members of `msg look`.
pub(in crate::faces) fn look(outcome: &LookOutcome) -> Map<String, Value> {
    let sight = &outcome.sight;
    let reading = sight.reading.as_ref();
    let draft = reading.and_then(|reading| match &reading.prompt {
        PromptLine::Draft(text) => Some(text),
        PromptLine::Empty | PromptLine::Hidden => None,
    });
    let members = json!({
        "agent": sight.agent.name.as_str(),
        "screen": outcome.screen,
        "noScreen": sight.pane.as_ref().err().map(ToString::to_string),
        "state": sight.verdict.state.name(),
        "restsOn": sight.verdict.basis.name(),
        "question": question(outcome),
        "contextLeft": reading.and_then(|reading| reading.context_left),
        "limitedUntil": reading.and_then(|reading| reading.limited_until.as_deref()),
        "trouble": reading.and_then(|reading| reading.trouble.as_ref()).map(|trouble| trouble.words()),
        "draft": draft,
        "run": outcome.run.as_ref().map(|run| run.id.as_str()),
        "yourWorker": outcome.is_callers_worker,
        "lookAgainIn": outcome.look_again_in.map(|time| time.as_secs()),
    });
    let mut members = match members {
        Value::Object(members) => members,
        _ => Map::new(),
    };
    if let Some(notice) = &outcome.notice {
        members.insert("notice".to_string(), json!(notice));
    }
    members
}

/// The question that is open: a dialog on the screen, or one that was sent to the parent of its run.
fn question(outcome: &LookOutcome) -> Value {
    let dialog = outcome.sight.reading.as_ref().and_then(|reading| reading.dialog.as_ref());
    match (dialog, outcome.open_question()) {
        (Some(dialog), _) => dialog_json(dialog),
        (None, Some(question)) => run_question(question),
        (None, None) => Value::Null,
    }
}

fn dialog_json(dialog: &Dialog) -> Value {
    let choices = dialog.choices.iter().map(|choice| {
        json!({ "key": choice.key, "label": choice.label, "note": choice.note, "selected": choice.is_selected })
    });
    json!({
        "id": dialog.id(),
        "kind": dialog.kind.name(),
        "text": dialog.question,
        "about": dialog.about,
        "choices": choices.collect::<Vec<_>>(),
    })
}

fn run_question(question: &RunQuestion) -> Value {
    let choices =
        ["allow", "deny"].map(|it| json!({ "key": it, "label": it, "note": "", "selected": false }));
    json!({
        "id": question.number.to_string(),
        "kind": "permission",
        "text": question.line(),
        "about": question.text.lines().collect::<Vec<_>>(),
        "choices": choices,
    })
}
