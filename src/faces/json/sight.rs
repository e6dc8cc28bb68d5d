//! What a look at an agent shows, what a wait for one ends with and what was told to one, as JSON.

use serde_json::{Map, Value, json};

use crate::domain::runs::{RunId, RunQuestion, RunState};
use crate::domain::screens::{Dialog, PromptLine, ScreenState, ScreenTrouble};
use crate::ops::screens::look::LookOutcome;
use crate::ops::screens::tell::{Told, ToldDialog};
use crate::ops::screens::wait_for::WaitOutcome;

/// The members of `msg look`.
pub(in crate::faces) fn look(outcome: &LookOutcome) -> Map<String, Value> {
    let sight = &outcome.sight;
    let reading = sight.reading.as_ref();
    let draft = reading.and_then(|reading| match &reading.prompt {
        PromptLine::Draft(text) => Some(text),
        PromptLine::Empty | PromptLine::Hidden => None,
    });
    let members = json!({
        "agent": sight.agent.as_ref().map(|agent| agent.name.as_str()),
        "screen": outcome.screen,
        "noScreen": sight.pane.as_ref().err().map(ToString::to_string),
        "state": sight.verdict.state.name(),
        "restsOn": sight.verdict.basis.name(),
        "question": question(outcome),
        "contextLeft": reading.and_then(|reading| reading.context_left),
        "limitedUntil": reading.and_then(|reading| reading.limited_until.as_deref()),
        "trouble": reading.and_then(|reading| reading.trouble.as_ref()).map(|trouble| trouble.words()),
        "needsLogin": reading.and_then(|reading| reading.trouble.as_ref()).is_some_and(ScreenTrouble::is_login),
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

/// The members of `msg wait --for`.
pub(in crate::faces) fn wait(outcome: &WaitOutcome) -> Map<String, Value> {
    let WaitOutcome { name, state, agent_state, basis, run, run_end } = outcome;
    Map::from_iter([
        ("agent".to_string(), json!(name)),
        ("state".to_string(), json!(state)),
        ("agentState".to_string(), json!(agent_state.map(ScreenState::name))),
        ("restsOn".to_string(), json!(basis.name())),
        ("run".to_string(), json!(run.as_ref().map(RunId::as_str))),
        ("outcome".to_string(), json!(run_end.map(RunState::name))),
    ])
}

/// The member `told` of `msg tell`.
pub(in crate::faces) fn told(told: &Told) -> Value {
    match told {
        Told::Question { run, question, choice } => json!({
            "run": run.id.as_str(),
            "question": question.line(),
            "number": question.number,
            "answer": choice.name(),
        }),
        Told::Prompt { agent, characters, proof } => json!({
            "agent": agent.as_str(),
            "characters": characters,
            "confirmedBy": proof.name(),
        }),
        Told::Dialog(told) => told_dialog(told),
        Told::Interrupt { agent, state } => {
            json!({"agent": agent.as_str(), "interrupted": true, "state": state.map(ScreenState::name)})
        }
    }
}

fn told_dialog(told: &ToldDialog) -> Value {
    let label = told.dialog.choices.get(told.choice).map(|choice| choice.label.as_str());
    json!({
        "agent": told.agent.as_str(),
        "question": told.dialog.question,
        "dialog": told.dialog.id(),
        "answer": label,
        "state": told.state.map_or("ended", ScreenState::name),
        "next": told.next.as_ref().map(|next| json!({"dialog": next.id(), "question": next.question})),
    })
}
