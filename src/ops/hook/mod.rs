//! The engine of hooks: decides what a hook of a harness answers. It knows no harness; the codecs in `harness`
//! translate events and answers.
//!
//! A hook delays somebody's work, so it does as little as it can: nothing here waits for long, and an error lets the
//! tool call through. Before a tool the decision comes first (`tool_decision`): it takes no lock, and nothing that
//! fails later changes it.

mod awareness;
mod changed_files;
mod contest_signs;
mod fence;
mod git_rules;
mod knowledge;
mod limits;
mod mail;
mod parent_tree;
mod permission;
mod plain_refusal;
mod planned_changes;
mod record_activity;
mod record_step;
mod session;
mod tool_decision;

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::domain::hook::{HookAnswer, HookEvent, HookMoment, ToolUse};
use crate::domain::screens::{HookStep, HookStepKind};
use crate::domain::{Agent, Harness, Notice, SessionId, escape_invisible};
use crate::ops::agents::identity::{self, RecognisedAgent};
use crate::ops::context::{Context, GlobalOptions};
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::messages::receive::HandoverOutcome;
use crate::ops::reservations::check;
use crate::ops::reservations::reserve::PatternBase;
use crate::ops::reservations::waiting;
use crate::store::{HookFailure, IndexedRegistry, Mesh, SessionState, SubagentChange};
use crate::sys::clock;

pub use permission::waits_for_answer;
use planned_changes::ToolPlan;

/// Time limit for a lock while a harness waits for the hook.
const LOCK_TIMEOUT: Duration = Duration::from_millis(300);

/// One hook call.
#[derive(Clone, Debug)]
pub struct HookCall {
    pub harness: Harness,
    /// The harness's own name of the event.
    pub name: String,
    pub event: HookEvent,
    /// How many characters the model can be given now, if any.
    pub max_answer_chars: Option<usize>,
    /// Text said at this event stays in the conversation even if the user interrupts the turn.
    pub keeps_text_after_interrupt: bool,
    /// The harness shows the text that makes the agent go on as its user's prompt, so it must not contain a peer's
    /// words.
    pub continues_as_user_prompt: bool,
    /// The model can be told something only at a prompt, not at the start of its session.
    pub informs_only_at_prompt: bool,
    /// After an answer that makes the agent go on, the harness does not report the end of that turn.
    pub hides_end_of_continued_turn: bool,
}

/// Gives the answer to the harness, and returns whether it got through.
pub type AnswerFn<'a> = dyn FnMut(&HookAnswer) -> HandoverOutcome + 'a;

/// Decides what follows from the event, and says it.
pub fn hook(op: &Op, call: &HookCall, say: &mut AnswerFn<'_>) -> Result<(), CommandError> {
    if call.event.moment == HookMoment::SessionStarted {
        return session::start(op, call, say);
    }
    if let HookMoment::AskingLeave(tool) = &call.event.moment {
        return permission::answer(op, call, tool, say);
    }
    let Some(mesh) = op.mesh()? else { return Ok(()) };
    let registry = mesh.registry().indexed()?;
    let recognised = identity::recognise(op, &mesh, &registry, &call.sessions());
    let (me, place) = (recognised.agent.clone(), OnceCell::new());
    let mut run = HookRun { op, mesh: &mesh, registry, me, call, place };
    if let HookMoment::BeforeTool(tool) = &call.event.moment {
        // Its user may have approved a plan in the middle of a turn.
        if tool.command.is_some()
            && let Err(error) = run.record_permission_mode()
        {
            run.leave_trouble(&error);
        }
        return run.before(tool, recognised, say);
    }
    if matches!(call.event.moment, HookMoment::SessionEnded(_)) && run.is_of_earlier_session()? {
        return run.forget_session();
    }
    run.settle(recognised);
    run.record_presence();
    if run.is_forged() {
        return Ok(());
    }
    let answered = match &call.event.moment {
        HookMoment::AfterTool(tool) => run.after(tool, say),
        HookMoment::PromptSubmitted { prompt } => run.prompted(prompt, say),
        HookMoment::Stopping => run.stopping(say),
        HookMoment::TurnFailed => run.turn_failed(),
        HookMoment::SessionEnded(end) => run.ended(*end),
        HookMoment::SubagentStarted => run.count_subagent(SubagentChange::Started),
        HookMoment::SubagentEnded => run.count_subagent(SubagentChange::Ended),
        HookMoment::SessionStarted
        | HookMoment::AskingLeave(_)
        | HookMoment::BeforeTool(_)
        | HookMoment::Other => Ok(()),
    };
    let noted = match &call.event.moment {
        HookMoment::AfterTool(tool) => {
            let stepped = run.record_tool_step(HookStepKind::ToolEnds, tool);
            stepped.and_then(|()| run.record_tool_end(tool)).and_then(|()| run.note_edits(tool))
        }
        HookMoment::PromptSubmitted { .. } => run.record_prompt(),
        HookMoment::Stopping if !call.event.in_subagent => {
            run.record_end_step().and_then(|()| run.record_turn_end())
        }
        _ => Ok(()),
    };
    for noted in [noted, run.note_turn_of_run()] {
        if let Err(error) = noted {
            run.leave_trouble(&error);
        }
    }
    answered
}

/// Logs a line for `doctor`. If even that fails, `doctor` will find the cause itself.
pub fn log_hook_failure(globals: &GlobalOptions, harness: &str, event: &str, error: &str) {
    let written = Context::tolerant(globals.clone()).and_then(|(ctx, _)| {
        let Some(mesh) = ctx.mesh()? else { return Ok(()) };
        let [harness, event, error] = [harness, event, error].map(|text| escape_invisible(text).into_owned());
        Ok(mesh.hooks().log_failure(&HookFailure { ts: clock::now(), harness, event, error })?)
    });
    drop(written);
}

/// Logs a line for `doctor` if the user's configuration can't be read; the hook uses the last readable one. The same
/// line is not logged twice in a row.
pub fn report_broken_config(ctx: &Context, harness: &str, event: &str) -> Result<(), CommandError> {
    let Some(reason) = &ctx.broken_config else { return Ok(()) };
    let Some(mesh) = ctx.mesh()? else { return Ok(()) };
    let error = escape_invisible(&format!("the configuration can't be used: {reason}")).into_owned();
    if mesh.hooks().failures()?.last().is_some_and(|last| last.error == error) {
        return Ok(());
    }
    let [harness, event] = [harness, event].map(|text| escape_invisible(text).into_owned());
    Ok(mesh.hooks().log_failure(&HookFailure { ts: clock::now(), harness, event, error })?)
}

/// Like [`log_hook_failure`], for an error that does not end the call.
fn note_trouble(op: &Op, mesh: &Mesh, call: &HookCall, error: &CommandError) {
    let (harness, event) = (call.harness.to_string(), call.name.clone());
    let error = escape_invisible(&error.message).into_owned();
    if let Err(error) = mesh.hooks().log_failure(&HookFailure { ts: clock::now(), harness, event, error }) {
        op.warn(format!("a line for `msg doctor` could not be written: {error}"));
    }
}

/// The error for a hook that names another agent's session: a model called it with that session id, or the session
/// continues in a process of its own.
fn ignored(agent: &Agent) -> CommandError {
    let text =
        format!("ignored: the hook names the session of {}, and runs in another agent's process", agent.name);
    CommandError::new(CommandErrorKind::NotJoined, text)
}

/// The context of a hook: the session's directory, wherever the harness starts its hooks. If the user's configuration
/// can't be read, the mesh and `strict` are the last known ones.
pub fn hook_context(globals: &GlobalOptions, call: &HookCall) -> Result<Context, CommandError> {
    let cwd = call.event.cwd.as_ref().map(PathBuf::from).filter(|cwd| cwd.is_absolute());
    crate::store::limit_read_retries();
    let globals = GlobalOptions { cwd, lock_timeout: Some(LOCK_TIMEOUT), ..globals.clone() };
    Ok(Context::tolerant(globals)?.0)
}

/// Whether this is a tool call that will change paths known beforehand, or a command too long to check.
pub fn is_about_to_change(ctx: &Context, call: &HookCall) -> bool {
    let HookMoment::BeforeTool(tool) = &call.event.moment else { return false };
    let plan = ToolPlan::of(ctx, tool);
    !plan.changes.is_empty() || plan.unread.is_some()
}

impl HookCall {
    /// The session of the event, and the session that started it.
    fn sessions(&self) -> Vec<SessionId> {
        self.event.session.iter().chain(&self.event.parent).cloned().collect()
    }
}

/// The texts of one answer.
fn joined(texts: impl Iterator<Item = String>) -> Option<String> {
    let texts: Vec<String> = texts.collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

/// One call of a hook, in a mesh.
struct HookRun<'a> {
    op: &'a Op,
    mesh: &'a Mesh,
    registry: IndexedRegistry<'a>,
    /// `None`: the session never joined. It is held to everyone's reservations and gets no mail.
    me: Option<Agent>,
    call: &'a HookCall,
    place: OnceCell<PatternBase>,
}

impl HookRun<'_> {
    /// Where the call is made from.
    fn place(&self) -> &PatternBase {
        self.place.get_or_init(|| PatternBase::here(self.op))
    }

    /// Whether a tool of another agent called this hook. Then it is not this agent's, and gets nothing of it.
    fn is_forged(&self) -> bool {
        let forged = |me: &&Agent| identity::is_called_by_another(self.op, &self.registry, me);
        let Some(me) = self.me.as_ref().filter(forged) else { return false };
        self.leave_trouble(&ignored(me));
        true
    }

    /// Does the housekeeping of the agent's identity. Errors are only logged for `doctor`.
    fn settle(&mut self, recognised: RecognisedAgent) {
        let settled = recognised.settle(self.op, self.mesh);
        if let Some(error) = &settled.error {
            self.leave_trouble(error);
        }
        self.me = settled.agent;
        if settled.has_changed {
            match self.mesh.registry().indexed() {
                Ok(registry) => self.registry = registry,
                Err(error) => self.leave_trouble(&error.into()),
            }
        }
    }

    fn leave_trouble(&self, error: &CommandError) {
        note_trouble(self.op, self.mesh, self.call, error);
    }

    fn after(&self, tool: &ToolUse, say: &mut AnswerFn<'_>) -> Result<(), CommandError> {
        self.note_turn_of_wake()?;
        self.give_signs_afterwards(tool)?;
        let mut changed: Vec<Notice> = changed_files::compare(self, tool)?.into_iter().collect();
        changed.extend(self.compare_parent_tree(tool).unwrap_or_else(|error| {
            self.leave_trouble(&error);
            None
        }));
        // If nothing can be said now, send a notice, which is delivered as soon as something can be said.
        if self.call.max_answer_chars.is_none()
            && let Some(me) = self.me.as_ref().filter(|me| !me.is_foreign())
        {
            for notice in changed.drain(..) {
                self.op.notify(me.clone(), notice, format!("could not tell {}", me.name));
            }
        }
        let changed = changed.iter().map(|notice| notice.text().to_string());
        self.hand_over(joined(changed.chain(self.knowledge_after(tool))), say)
    }

    /// Signs for what a tool has changed: the hook before it may not have known.
    fn give_signs_afterwards(&self, tool: &ToolUse) -> Result<(), CommandError> {
        let is_contested = |me: &Agent| me.reservations.iter().any(|held| held.contest.is_some());
        if !self.me.as_ref().is_some_and(is_contested) {
            return Ok(());
        }
        let plan = ToolPlan::of(self.op, tool);
        let changed = tool.changed.iter().flatten().map(|path| check::file(self.cwd(), path));
        let changed: Vec<_> = plan.changes.into_iter().map(|change| change.target).chain(changed).collect();
        // Too late or not, the tool has run.
        self.give_signs(changed.iter())?;
        Ok(())
    }

    /// Records that a turn runs that somebody's wake-up began, where the harness calls no hook at its start.
    fn note_turn_of_wake(&self) -> Result<(), CommandError> {
        let session = self.call.event.session.as_ref();
        let session = session.filter(|_| self.me.is_some() && !self.call.event.in_subagent);
        match session {
            Some(session) if self.mesh.session_states().is_being_woken(session)? => {
                Ok(self.mesh.session_states().set_working(session)?)
            }
            _ => Ok(()),
        }
    }

    /// Tells the supervisor of a worker in tmux that a turn begins or ends.
    fn note_turn_of_run(&self) -> Result<(), CommandError> {
        let event = &self.call.event;
        let is_turn = matches!(event.moment, HookMoment::PromptSubmitted { .. } | HookMoment::Stopping);
        if !is_turn || event.in_subagent {
            return Ok(());
        }
        let Some(run) = session::run_of_worker(self.op)?.filter(|run| run.pane.is_some()) else {
            return Ok(());
        };
        if let HookMoment::PromptSubmitted { prompt } = &event.moment {
            return Ok(self.mesh.runs().note_prompt(&run.id, &HookStep::mark_of(prompt))?);
        }
        // Mail may have made it go on.
        let goes_on = match &event.session {
            Some(session) => self.mesh.session_states().get(session)? == SessionState::Working,
            None => false,
        };
        match goes_on {
            true => Ok(()),
            false => Ok(self.mesh.runs().note_turn_end(&run.id, event.last_words.as_deref())?),
        }
    }

    fn record_permission_mode(&self) -> Result<(), CommandError> {
        let session =
            self.call.event.session.as_ref().filter(|_| !self.call.event.in_subagent && self.me.is_some());
        if let Some(session) = session {
            self.mesh.session_states().set_permission_mode(session, self.call.event.permissions)?;
        }
        Ok(())
    }

    fn prompted(&self, prompt: &str, say: &mut AnswerFn<'_>) -> Result<(), CommandError> {
        let (mut greeting, mut is_ours) = (None, false);
        if let Some(session) = self.call.event.session.as_ref().filter(|_| !self.call.event.in_subagent) {
            if let Some(me) = &self.me {
                let is_new = self.mesh.session_states().get(session)? == SessionState::Unknown;
                if self.call.informs_only_at_prompt && is_new {
                    greeting = session::greeting(self.op, self.mesh, self.call, me)?;
                }
                self.mesh.hooks().forget_subagents(session)?;
                self.mesh.session_states().set_working(session)?;
                self.mesh.session_states().set_permission_mode(session, self.call.event.permissions)?;
                self.record_prompt_step(prompt)?;
            }
            let turns = self.mesh.hooks().mail_turns(session)?;
            is_ours = !turns.said.is_empty() && prompt.contains(&turns.said);
            if turns.count > 0 && !is_ours {
                self.mesh.hooks().set_mail_turns(session, &Default::default())?;
            }
        }
        let outlook = if is_ours { None } else { self.look_ahead(prompt) };
        let sentence = outlook.as_ref().and_then(|outlook| outlook.sentence.clone());
        let is_users = !is_ours && awareness::is_users(prompt);
        let known = if is_users { self.knowledge_at_prompt(prompt) } else { None };
        let answered = self.hand_over(joined(greeting.into_iter().chain(sentence).chain(known)), say);
        self.record_outlook(outlook.as_ref(), prompt);
        self.registry.update_index();
        answered
    }

    fn count_subagent(&self, change: SubagentChange) -> Result<(), CommandError> {
        match &self.call.event.session {
            Some(session) => Ok(self.mesh.hooks().count_subagent(session, change)?),
            None => Ok(()),
        }
    }

    /// Tells the agent what became free if its holder died or did not say so. An error here does not hold up other
    /// mail.
    fn tell_of_freed(&self, me: &Agent) {
        if let Err(error) = waiting::notify_if_free(self.mesh, me) {
            self.leave_trouble(&error);
        }
    }

    fn cwd(&self) -> &Path {
        &self.op.cwd
    }
}
