//! The tool for runs: start a worker, list runs, see the result of one, stop one, and type into the terminal of a worker.

use rmcp::model::{Tool, ToolAnnotations};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::domain::runs::Run;
use crate::domain::workers::Budget;
use crate::domain::{quote_code, quote_sentence};
use crate::faces::json;
use crate::faces::mcp::tool_answer::ToolAnswer;
use crate::ops::runs::elsewhere::asking::{ask, plan_ask};
use crate::ops::runs::elsewhere::listing::{all_runs, find_anywhere};
use crate::ops::runs::list::RunScope;
use crate::ops::runs::plan::{RunRequest, plan};
use crate::ops::runs::start::start;
use crate::ops::runs::stop::stop;
use crate::ops::screens::tell::TellAnswer;
use crate::ops::{self, CommandError, CommandErrorKind, Op, format_age, quote_peer_text};
use crate::store::StopUrgency;
use crate::sys::clock;

use super::screens::TellCall;
use super::{as_agent, describe, needed};

/// At most this many characters of a task are shown in a line.
const TITLE: usize = 60;

pub(super) fn tool() -> Tool {
    let tool = describe(
        "run",
        "Workers: start gives a task to another agent and returns at once; its end comes as mail, so don't poll.",
        json!({
            "action": { "type": "string", "enum": ["list", "start", "result", "stop", "tell"], "default": "list" },
            "profile": { "type": "string", "description": "start: e.g. scout" },
            "task": { "type": "string" },
            "claim": { "type": "string", "description": "id of a spec's task for it; `task` may be left out" },
            "spec": { "type": "string", "description": "path, if not yours" },
            "reserve": { "type": "array", "items": { "type": "string" }, "description": "paths for it" },
            "timeout": { "type": "string", "description": "e.g. 10m" },
            "budget": { "type": "string", "description": "e.g. 2usd" },
            "on": { "type": "string", "description": "start: another machine" },
            "id": { "type": "string", "description": "result, stop, tell" },
            "text": { "type": "string", "description": "tell: its next prompt" },
            "answer": { "type": "string", "description": "tell: allow, deny or a choice of `question`" },
            "question": { "type": "string", "description": "its id" },
            "interrupt": { "type": "boolean", "description": "tell: end its turn" },
        }),
    );
    tool.with_annotations(ToolAnnotations::new().destructive(true).open_world(true))
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::faces::mcp) struct RunToolArgs {
    action: Option<Action>,
    profile: Option<String>,
    task: Option<String>,
    claim: Option<String>,
    spec: Option<String>,
    reserve: Option<Vec<String>>,
    timeout: Option<String>,
    budget: Option<String>,
    on: Option<String>,
    id: Option<String>,
    text: Option<String>,
    answer: Option<String>,
    question: Option<String>,
    interrupt: Option<bool>,
}

impl RunToolArgs {
    /// What is typed into a terminal, if that is what is asked for: a program may take a while to show it.
    pub(super) fn tell(&self) -> Result<Option<TellCall>, CommandError> {
        match self.action {
            Some(Action::Tell) => self.tell_call().map(Some),
            _ => Ok(None),
        }
    }

    fn tell_call(&self) -> Result<TellCall, CommandError> {
        let name = needed(self.id.clone(), "id", "tell")?;
        let is_interrupt = self.interrupt == Some(true);
        match (&self.answer, &self.text) {
            (Some(choice), text) if !is_interrupt => {
                let (choice, question, text) = (choice.clone(), self.question.clone(), text.clone());
                Ok(TellCall::Answer(TellAnswer { name, choice, question, text }))
            }
            (None, Some(text)) if !is_interrupt => Ok(TellCall::Prompt { name, text: text.clone() }),
            (None, None) if is_interrupt => Ok(TellCall::Interrupt { name }),
            _ => Err(CommandError::new(
                CommandErrorKind::Usage,
                "`tell` needs `text`, `answer` or `interrupt`, and not two of them",
            )
            .hint("only `answer` may have a `text` besides, which its worker is told")),
        }
    }
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    #[default]
    List,
    Start,
    Result,
    Stop,
    Tell,
}

pub(super) fn run(op: &Op, args: RunToolArgs) -> Result<ToolAnswer, CommandError> {
    match args.action.unwrap_or_default() {
        Action::List => list(op),
        Action::Start => begin(op, args),
        Action::Result => {
            let run = find_anywhere(op, &needed(args.id, "id", "result")?)?;
            Ok(ToolAnswer::lines(result(&run)).with("run", json::run::run(&run)))
        }
        Action::Stop => {
            let run = stop(op, &needed(args.id, "id", "stop")?, StopUrgency::WrapUp)?;
            let text = format!("run {} is told to wrap up, and ended after 30 seconds", run.id);
            Ok(ToolAnswer::new(text).with("run", json::run::run(&run)))
        }
        Action::Tell => args.tell_call()?.run(op),
    }
}

/// Starts a worker. Whoever starts one is an agent, because the end is told by mail.
fn begin(op: &Op, args: RunToolArgs) -> Result<ToolAnswer, CommandError> {
    let invalid = |error: String| CommandError::new(CommandErrorKind::InvalidValue, error);
    let budget = args.budget.as_deref().map(Budget::parse).transpose();
    let task = match &args.claim {
        Some(_) => args.task.unwrap_or_default(),
        None => needed(args.task, "task", "start")?,
    };
    if args.spec.is_some() {
        needed(args.claim.as_ref(), "claim", "spec")?;
    }
    let request = RunRequest {
        profile: needed(args.profile, "profile", "start")?,
        task,
        claims: args.claim.map(|id| (id, args.spec)),
        reserve: args.reserve.unwrap_or_default(),
        timeout: args.timeout.as_deref().map(|text| ops::parse_duration(text, "timeout")).transpose()?,
        budget: budget.map_err(|error| invalid(error.to_string()))?.unwrap_or_default(),
        ..RunRequest::default()
    };
    as_agent(op, ops::whoami)?;
    let run = match &args.on {
        Some(machine) => ask(op, plan_ask(op, &request, machine)?)?,
        None => start(op, plan(op, request)?)?,
    };
    let text = format!("run {} is {}; its end comes as mail", run.id, run.outcome());
    Ok(ToolAnswer::new(text).with("run", json::run::run(&run)))
}

fn list(op: &Op) -> Result<ToolAnswer, CommandError> {
    let mut runs = all_runs(op, RunScope::Recent)?;
    runs.sort_by_key(Run::rank);
    let lines: Vec<String> = match runs.as_slice() {
        [] => vec!["no runs".to_string()],
        runs => runs.iter().map(line).collect(),
    };
    let rows: Vec<Value> = runs.iter().map(json::run::run).collect();
    Ok(ToolAnswer::lines(lines).with("runs", rows))
}

fn line(run: &Run) -> String {
    let now = clock::now();
    let when = match run.ended_at {
        Some(at) => format!("{} ago", format_age(at, now)),
        None => format!("for {}", format_age(run.started_at.unwrap_or(run.queued_at), now)),
    };
    let about = run.remark().map_or_else(String::new, |about| format!(": {}", quote_sentence(&about)));
    format!(
        "{} {} {when}, {} {}{about}",
        run.id,
        run.outcome(),
        quote_code(&run.profile),
        quote_code(&run.title(TITLE))
    )
}

/// How a run stands, and what its worker said last.
fn result(run: &Run) -> Vec<String> {
    let mut lines = vec![line(run)];
    match run.result.as_deref().filter(|result| !result.trim().is_empty()) {
        Some(result) => lines.push(quote_peer_text(result)),
        None if run.state.is_final() => lines.push("it has no result".to_string()),
        None => lines.push("it has no result yet; its end comes as mail".to_string()),
    }
    if let Some(review) = &run.review {
        lines.push(format!("review: {}", quote_sentence(&review.summary())));
        let (told, left) = review.told_findings();
        if !told.is_empty() {
            lines.push(quote_peer_text(&told.join("\n")));
        }
        if left > 0 {
            lines.push(format!("and {left} more"));
        }
    }
    lines
}
