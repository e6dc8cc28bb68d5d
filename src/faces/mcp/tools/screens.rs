//! What tools do with agents in terminals: look at one, wait until one is in a state, type for one.

use std::time::Duration;

use serde_json::Value;

use crate::domain::screens::{Dialog, PromptLine, ScreenState};
use crate::domain::{quote_code, quote_sentence};
use crate::faces::json;
use crate::faces::mcp::tool_answer::ToolAnswer;
use crate::ops::runs::tell::AnswerChoice;
use crate::ops::screens::look::{self, LookOutcome, LookRequest};
use crate::ops::screens::tell::{self, TellAnswer, Told};
use crate::ops::screens::wait_for::{WaitGoal, WaitRequest, wait_for};
use crate::ops::{CommandError, CommandErrorKind, Op, quote_peer_text};
use crate::sys::signals::StopRequest;

/// About the longest time that typing takes.
pub(super) const TELL_TAKES: Duration = Duration::from_secs(60);

/// Looks at an agent.
pub(super) fn look(op: &Op, request: &LookRequest) -> Result<ToolAnswer, CommandError> {
    let outcome = look::look(op, request)?;
    let mut members = json::sight::look(&outcome);
    if let Some(question) = members.get_mut("question").and_then(|question| question.get_mut("text")) {
        *question = quote_sentence(question.as_str().unwrap_or_default()).into();
    }
    let answer = ToolAnswer::lines(lines(&outcome));
    Ok(members.into_iter().fold(answer, |answer, (name, value)| answer.with(&name, value)))
}

fn lines(outcome: &LookOutcome) -> Vec<String> {
    let sight = &outcome.sight;
    let (state, basis) = (sight.verdict.state, sight.verdict.basis);
    let mut lines = vec![format!("{}: {} ({})", outcome.name, state.name(), basis.describe())];
    if let Some(run) = &outcome.run {
        let whose =
            if outcome.is_callers_worker { "; it is your worker, and you are told how it ends" } else { "" };
        lines.push(format!("run {}{whose}", run.id));
    }
    let reading = sight.reading.as_ref();
    if let Some(dialog) = reading.and_then(|reading| reading.dialog.as_ref()) {
        lines.push(dialog_line(dialog));
    } else if let Some(question) = outcome.open_question() {
        lines.push(format!("it asks, question {}: {}", question.number, quote_sentence(&question.line())));
    }
    if let Some(reading) = reading {
        lines.extend(reading.context_left.map(|left| format!("context left: {left}%")));
        lines.extend(
            reading.limited_until.as_ref().map(|until| format!("limited until {}", quote_code(until))),
        );
        lines.extend(reading.trouble.as_ref().map(|it| format!("trouble: {}", quote_sentence(it.words()))));
        if let PromptLine::Draft(draft) = &reading.prompt {
            lines.push(format!("in its prompt line: {}", quote_sentence(draft)));
        }
    }
    lines.extend(outcome.notice.iter().cloned());
    lines.extend(outcome.look_again_in.map(|time| format!("look again in {} s, or wait", time.as_secs())));
    match (&sight.pane, &outcome.screen) {
        (Err(why), _) => lines.push(format!("no screen: {why}")),
        (Ok(_), Some(screen)) => {
            lines.push("its screen, which others wrote:".to_string());
            lines.push(quote_peer_text(screen));
        }
        (Ok(_), None) => {}
    }
    lines
}

/// The dialog in one line, with what answers it.
fn dialog_line(dialog: &Dialog) -> String {
    let choices = dialog.choices.iter().map(|choice| match choice.key.as_str() {
        "" => quote_code(&choice.label),
        key => format!("{key}. {}", quote_code(&choice.label)),
    });
    let choices: Vec<String> = choices.collect();
    let who = if dialog.kind.is_for_people() { "; only a person may answer" } else { "" };
    let question = quote_sentence(&dialog.question);
    format!("it asks, question {}: {question} {}{who}", dialog.id(), choices.join(", "))
}

/// A wait until an agent is in a state.
#[derive(Debug)]
pub(in crate::faces::mcp) struct StateWait {
    /// An agent, or a run.
    pub(super) name: String,
    pub(super) goal: WaitGoal,
    pub(super) most: Duration,
}

impl StateWait {
    pub(super) fn run(self, op: &Op, stop: &StopRequest) -> Result<ToolAnswer, CommandError> {
        let request = WaitRequest { name: self.name, goal: self.goal, timeout: Some(self.most) };
        let Some(outcome) = wait_for(op, &request, stop)? else {
            return Err(CommandError::new(CommandErrorKind::Interrupted, "interrupted"));
        };
        let answer = ToolAnswer::new(outcome.text());
        Ok(json::sight::wait(&outcome)
            .into_iter()
            .fold(answer, |answer, (name, value)| answer.with(&name, value)))
    }
}

/// What is typed into a terminal.
#[derive(Debug)]
pub(in crate::faces::mcp) enum TellCall {
    Prompt { name: String, text: String },
    Answer(TellAnswer),
    Interrupt { name: String },
}

impl TellCall {
    pub(super) fn run(self, op: &Op) -> Result<ToolAnswer, CommandError> {
        let told = match self {
            Self::Prompt { name, text } => tell::prompt(op, &name, &text)?,
            Self::Answer(answer) => tell::answer(op, &answer)?,
            Self::Interrupt { name } => tell::interrupt(op, &name)?,
        };
        let members: Value = json::sight::told(&told);
        Ok(ToolAnswer::new(text(&told)).with("told", members))
    }
}

fn text(told: &Told) -> String {
    match told {
        Told::Question { run, question, choice } => {
            let may = match choice {
                AnswerChoice::Allow => "may use",
                AnswerChoice::Deny => "must not use",
            };
            format!("run {} {may} {}", run.id, quote_code(&question.line()))
        }
        Told::Prompt { agent, .. } => format!("{agent} has the prompt"),
        Told::Dialog(told) => {
            let label = told.dialog.choices.get(told.choice).map_or("", |choice| choice.label.as_str());
            let next = told.next.as_ref().map(|next| format!("; {}", dialog_line(next)));
            let state = told.state.map_or("ended", ScreenState::name);
            format!(
                "{} was answered {}, and is {state}{}",
                told.agent,
                quote_code(label),
                next.unwrap_or_default()
            )
        }
        Told::Interrupt { agent, .. } => format!("the turn of {agent} has ended"),
    }
}
