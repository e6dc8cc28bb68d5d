//! What a hook of a harness decides. One engine for all of them: it is told what happens, and answers in our own
//! words; the codecs in `faces::hook` translate both ways.
//!
//! A hook is in the way of somebody's work, so it does the least that it can: nothing waits here for long, and what
//! fails lets the tool call through.

mod aftermath;
mod commands;
mod deeds;
mod mail;
mod session;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::domain::hook::{Answer, HookEvent, Moment, ToolUse};
use crate::domain::{Agent, EventKind, Harness, SessionId, Wait, quoted, said, visible};
use crate::store::{Mesh, Near, Survey, Trouble};
use crate::sys::clock;

use super::check;
use super::context::{Context, Globals};
use super::error::{CommandError, Kind};
use super::feed;
use super::holdings::Holding;
use super::identity;
use super::letter::age;
use super::receive::Reached;
use super::reserve::Place;
use super::waiting;

use commands::{Change, Plan};

/// Nobody waits longer than this for a lock while a harness waits for us.
const PATIENCE: Duration = Duration::from_millis(300);

/// One call of a hook.
#[derive(Clone, Debug)]
pub struct HookCall {
    pub harness: Harness,
    /// The harness's own name of the event.
    pub name: String,
    pub event: HookEvent,
    /// How many characters the model can be given now, if any.
    pub room: Option<usize>,
    /// What makes it go on is shown as its user's prompt, so a peer's words must not be in it.
    pub as_user: bool,
}

/// Gives the answer to the harness, and says whether it got through.
pub type Say<'a> = dyn FnMut(&Answer) -> Reached + 'a;

/// Decides what follows from the event, and says it.
pub fn hook(ctx: &Context, call: &HookCall, say: &mut Say<'_>) -> Result<(), CommandError> {
    if call.event.moment == Moment::SessionStarted {
        return session::start(ctx, call, say);
    }
    if let Moment::AskingLeave(tool) = &call.event.moment {
        if tool.command.as_deref().is_some_and(commands::is_ours) {
            say(&Answer::Allow);
        }
        return Ok(());
    }
    let Some(mesh) = ctx.mesh()? else { return Ok(()) };
    let mut survey = mesh.survey()?;
    let me = identity::at_hook(ctx, &mesh, &mut survey, &call.sessions())?;
    let visit = Visit { ctx, mesh: &mesh, survey, me, call };
    let answered = match &call.event.moment {
        Moment::BeforeTool(tool) => visit.before(tool, say),
        Moment::AfterTool(tool) => visit.after(tool, say),
        Moment::PromptSubmitted { prompt } => visit.prompted(prompt, say),
        Moment::Stopping => visit.stopping(say),
        Moment::SessionEnded { goes_on } => visit.ended(*goes_on),
        Moment::SessionStarted | Moment::AskingLeave(_) | Moment::Other => Ok(()),
    };
    let noted = match &call.event.moment {
        Moment::AfterTool(tool) => visit.has_used(tool),
        Moment::PromptSubmitted { .. } => visit.is_asked(),
        Moment::Stopping if !call.event.in_subagent => visit.rests(),
        _ => Ok(()),
    };
    if let Err(error) = noted {
        visit.leave_trouble(&error)?;
    }
    answered
}

/// Leaves a line for `doctor`. Where even that can't be done, `doctor` finds out why by itself.
pub fn leave_trouble(globals: &Globals, harness: &str, event: &str, error: &str) {
    let written = Context::tolerant(globals.clone()).and_then(|(ctx, _)| {
        let Some(mesh) = ctx.mesh()? else { return Ok(()) };
        let [harness, event, error] = [harness, event, error].map(|text| visible(text).into_owned());
        Ok(mesh.log_trouble(&Trouble { ts: clock::now(), harness, event, error })?)
    });
    drop(written);
}

/// The hook's surroundings are those of the session, wherever the harness starts its hooks. A configuration that can't
/// be read is `doctor`'s to tell.
pub fn surroundings(globals: &Globals, call: &HookCall) -> Result<Context, CommandError> {
    let cwd = call.event.cwd.as_ref().map(PathBuf::from).filter(|cwd| cwd.is_absolute());
    crate::store::be_quick();
    let globals = Globals { cwd, patience: Some(PATIENCE), ..globals.clone() };
    Ok(Context::tolerant(globals)?.0)
}

/// Is this a tool that is about to change something that can be told beforehand?
pub fn is_about_to_change(ctx: &Context, call: &HookCall) -> bool {
    matches!(&call.event.moment, Moment::BeforeTool(tool) if !Plan::of(ctx, tool).changes.is_empty())
}

impl HookCall {
    /// The session that it is about, and the one that started it.
    fn sessions(&self) -> Vec<SessionId> {
        self.event.session.iter().chain(&self.event.parent).cloned().collect()
    }
}

/// One call, in a mesh.
struct Visit<'a> {
    ctx: &'a Context,
    mesh: &'a Mesh,
    survey: Survey<'a>,
    /// `None`: it never joined. It is held to everyone's reservations and gets no mail.
    me: Option<Agent>,
    call: &'a HookCall,
}

impl Visit<'_> {
    fn before(&self, tool: &ToolUse, say: &mut Say<'_>) -> Result<(), CommandError> {
        let plan = Plan::of(self.ctx, tool);
        let holdings = self.judge(&plan.changes)?;
        let refused = plan.changes.iter().zip(holdings).find_map(|(change, held)| Some((change, held?)));
        if let Some((change, holding)) = refused {
            let place = Place::here(self.ctx);
            let is_told = self.remember(change, &holding, &place);
            let shown = change.shown(&place);
            say(&Answer::Deny(self.refusal(&shown, change.by.as_deref(), &holding, is_told)));
            if let Some(me) = &self.me {
                feed::tell(self.ctx, self.mesh, EventKind::Refused, &me.name, Some(&shown), None);
            }
            return Ok(());
        }
        // From here on the tool is let through, and what fails is told to `doctor` alone.
        let noted = if plan.is_opaque { aftermath::note(self, tool) } else { Ok(()) };
        let results = [noted, self.hand_over(None, say), self.begins(tool, &plan.runs)];
        for error in results.into_iter().filter_map(Result::err) {
            self.leave_trouble(&error)?;
        }
        Ok(())
    }

    fn leave_trouble(&self, error: &CommandError) -> Result<(), CommandError> {
        let (harness, event) = (self.call.harness.to_string(), self.call.name.clone());
        let error = visible(&error.message).into_owned();
        Ok(self.mesh.log_trouble(&Trouble { ts: clock::now(), harness, event, error })?)
    }

    fn after(&self, tool: &ToolUse, say: &mut Say<'_>) -> Result<(), CommandError> {
        let mut changed = aftermath::compare(self, tool)?;
        // What can't be said now is said as soon as something can be.
        if self.call.room.is_none()
            && let (Some(text), Some(me)) = (&changed, self.me.as_ref().filter(|me| !me.is_foreign()))
            && waiting::notify(self.ctx, self.mesh, &me.name, text)?
        {
            changed = None;
        }
        self.hand_over(changed, say)
    }

    fn prompted(&self, prompt: &str, say: &mut Say<'_>) -> Result<(), CommandError> {
        if let Some(session) = self.call.event.session.as_ref().filter(|_| !self.call.event.in_subagent) {
            if self.me.is_some() {
                self.mesh.note_working(session)?;
                self.mesh.note_unasked(session, self.call.event.is_unasked)?;
            }
            let turns = self.mesh.turns(session)?;
            let is_ours = !turns.said.is_empty() && prompt.contains(&turns.said);
            if turns.count > 0 && !is_ours {
                self.mesh.set_turns(session, &Default::default())?;
            }
        }
        self.hand_over(None, say)
    }

    /// What is in the way of each change.
    fn judge(&self, changes: &[Change]) -> Result<Vec<Option<Holding>>, CommandError> {
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        let targets: Vec<_> = changes.iter().map(|change| change.target.clone()).collect();
        let look = |near: &Near<'_>| self.survey.near_and_learn(near);
        let (verdicts, unreadable) = check::judge(self.mesh, self.me.as_ref(), &targets, look)?;
        match unreadable.first() {
            Some(file) if self.ctx.settings.is_on("strict") => {
                let text = format!("what `{}` reserves is not known: {}", file.path, file.reason);
                Err(CommandError::new(Kind::Corrupt, text).hint("`msg doctor` tells more"))
            }
            _ => Ok(verdicts),
        }
    }

    /// Writes down that the agent was refused this. `false`: it won't be told when it is free.
    fn remember(&self, change: &Change, holding: &Holding, place: &Place) -> bool {
        let Some(me) = self.me.as_ref().filter(|me| !me.is_foreign()) else { return false };
        let (pattern, root, literal) = change.wanted(place);
        let holder = holding.holder.name.to_string();
        let wait = Wait { pattern, root: Some(root), literal, holder, since: clock::now() };
        let written = self.mesh.lock_within(PATIENCE).map_err(CommandError::from).and_then(|locked| {
            let me = locked.own_record(me)?.agent;
            waiting::remember(&locked, &me, vec![wait])
        });
        written.is_ok()
    }

    /// What the model is told instead of what it wanted. The holder's own words are quoted: they are a peer's.
    fn refusal(&self, shown: &str, by: Option<&str>, holding: &Holding, is_told: bool) -> String {
        let Holding { holder, reservation } = holding;
        let name = &holder.name;
        let reason = reservation.reason.as_deref().filter(|reason| !reason.trim().is_empty());
        let reason = reason.map_or(String::new(), |reason| format!(", who says: {}", said(reason)));
        let what = match by {
            Some(by) => format!("This command would change {} ({}), which", quoted(shown), quoted(by)),
            None => quoted(shown),
        };
        let ask = match (&self.me, is_told) {
            (Some(_), true) => {
                format!("ask with `msg send {name} \"…\"`; you get a message when it is free")
            }
            (Some(_), false) => format!("ask with `msg send {name} \"…\"`"),
            (None, _) => format!("`msg join`, then ask with `msg send {name} \"…\"`"),
        };
        format!(
            "{what} is reserved ({}, for {}) by {name}{reason}. Work on something else, or {ask}.",
            quoted(&reservation.pattern),
            age(reservation.since, clock::now()),
        )
    }

    /// Those who wait for what a dead or forgetful holder let go of find out by themselves. Other mail waits for none of
    /// that.
    fn tell_of_freed(&self, me: &Agent) -> Result<(), CommandError> {
        waiting::tell_if_owed(self.mesh, me).or_else(|error| self.leave_trouble(&error))
    }

    fn cwd(&self) -> &Path {
        &self.ctx.cwd
    }
}
