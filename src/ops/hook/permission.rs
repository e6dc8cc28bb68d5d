//! A harness is about to ask its user for permission. The commands of `msg` that coordinate are permitted; the question of a worker goes to the
//! parent of its run, where the harness waits for the answer.

use crate::domain::hook::{HookAnswer, HookMoment, ToolUse};
use crate::domain::runs::QuestionOutcome;
use crate::domain::{PeerText, quote_name};
use crate::harness;
use crate::harness::worker::PermissionQuestions;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::ops::runs::RUN_VARIABLE;
use crate::ops::runs::ask::ask;
use crate::sys::environment::variable;

use super::{AnswerFn, HookCall, planned_changes, record_step, session};

/// How many characters of what was said with a refusal the worker is told.
const MOST_WORDS: usize = 1_000;

/// Whether this is a question of a worker, for whose answer the hook waits.
pub fn waits_for_answer(call: &HookCall) -> bool {
    let is_question = matches!(call.event.moment, HookMoment::AskingLeave(_));
    is_question && variable(RUN_VARIABLE).is_some() && may_be_asked(call)
}

/// Whether the harness waits for the answer when it runs as a worker.
fn may_be_asked(call: &HookCall) -> bool {
    let adapter = harness::support(call.harness).and_then(|support| support.worker());
    adapter.is_some_and(|adapter| adapter.questions() == PermissionQuestions::Asked)
}

pub(super) fn answer(
    op: &Op,
    call: &HookCall,
    tool: &ToolUse,
    say: &mut AnswerFn<'_>,
) -> Result<(), CommandError> {
    if tool.command.as_deref().is_some_and(planned_changes::is_permitted) {
        say(&HookAnswer::Allow);
        return Ok(());
    }
    if let Some(mesh) = op.mesh()?
        && let Err(error) = record_step::record_question(&mesh, call)
    {
        super::note_trouble(op, &mesh, call, &error);
    }
    if !may_be_asked(call) {
        return Ok(());
    }
    let (Some(mesh), Some(run)) = (op.mesh()?, session::own_run(op)?) else { return Ok(()) };
    // Without an answer, the harness refuses.
    let Some(answer) = ask(op, &mesh, &run, tool)? else { return Ok(()) };
    let said = match answer.outcome {
        QuestionOutcome::Allowed => HookAnswer::Allow,
        QuestionOutcome::Denied => {
            let said = answer.text.map(|text| PeerText::new(text).quoted_within(MOST_WORDS));
            let why = said.map_or_else(String::new, |said| format!(", and says: {said}"));
            HookAnswer::Deny(format!("{} refuses this{why}", quote_name(&answer.by)))
        }
        QuestionOutcome::Unanswered => HookAnswer::Deny(
            "nobody has answered the question whether you may do this. Do nothing else instead: say in your last \
             words what is done and what is not, and stop."
                .to_string(),
        ),
        QuestionOutcome::Withdrawn => return Ok(()),
    };
    say(&said);
    Ok(())
}
