//! Asking the parent of a run for permission: a hook of the worker writes the question down and waits for the answer.

use std::time::Duration;

use crossbeam_channel::{after, never, select};

use crate::domain::hook::ToolUse;
use crate::domain::runs::{QuestionOutcome, Run, RunId, RunQuestion};
use crate::domain::{Liveness, RecordedProcess};
use crate::store::{AskedQuestion, Mesh, QuestionAnswer, WatchTarget};
use crate::sys::{clock, process};

use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};

/// The most characters of a question that are kept.
const MOST_TEXT: usize = 2_000;
const MOST_NAME: usize = 80;
/// How often to look although nothing changed: no file reports a death, or the end of a time.
const TICK: Duration = Duration::from_secs(1);
/// How often to look whether it is our turn to ask.
const TURN: Duration = Duration::from_millis(100);

/// Asks whether the tool may be used, and waits for the answer. `None`: the run ended meanwhile.
pub fn ask(op: &Op, mesh: &Mesh, run: &Run, tool: &ToolUse) -> Result<Option<QuestionAnswer>, CommandError> {
    let (ledger, id) = (mesh.runs(), &run.id);
    let _turn = loop {
        match ledger.try_turn_to_ask(id)? {
            Some(turn) => break turn,
            None if !goes_on(mesh, id)? => return Ok(None),
            None => clock::pause(TURN),
        }
    };
    // The watch comes before the question, so that no answer is missed.
    let watch = mesh.watch(WatchTarget::Run(id))?.ok();
    let hints = watch.as_ref().map_or_else(never, |watch| watch.hints().clone());
    let own = process::identify(process::own_pid())
        .ok_or_else(|| CommandError::new(CommandErrorKind::Io, "this process can't be examined"))?;
    let since = clock::now();
    let number = ledger.last_question(id)? + 1;
    let question = RunQuestion {
        number,
        tool: bounded(&tool.tool, MOST_NAME),
        text: bounded(tool.asked.as_deref().unwrap_or_default(), MOST_TEXT),
        since,
        until: since + op.settings.question_timeout(),
    };
    let until = question.until;
    ledger.ask(id, &AskedQuestion { question, asker: RecordedProcess::Pinned(own) })?;
    loop {
        if let Some(answer) = ledger.question_answer(id, number)? {
            return Ok(Some(answer));
        }
        let now = clock::now();
        if now >= until {
            let late = QuestionAnswer {
                outcome: QuestionOutcome::Unanswered,
                by: "nobody".to_string(),
                at: now,
                text: None,
            };
            // Somebody may have answered in the last moment.
            return Ok(Some(ledger.settle_question(id, number, &late)?.0));
        }
        if !goes_on(mesh, id)? {
            return Ok(None);
        }
        let left = Duration::try_from(until.duration_since(now)).unwrap_or_default().min(TICK);
        select! {
            recv(hints) -> _ => {}
            recv(after(left)) -> _ => {}
        }
    }
}

/// Whether the run has a supervisor that would see an answer.
fn goes_on(mesh: &Mesh, id: &RunId) -> Result<bool, CommandError> {
    let run = mesh.runs().get(id)?;
    Ok(run.is_some_and(|run| !run.state.is_final() && mesh.runs().owner_liveness(&run) != Liveness::Gone))
}

/// The beginning of a text, with a mark if it is cut.
fn bounded(text: &str, most: usize) -> String {
    let mut cut: String = text.chars().take(most).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    cut
}
