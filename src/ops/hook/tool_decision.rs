//! Decides whether a tool call may go ahead (PreToolUse): by the mode of the repository, and by the reservations of
//! other agents.
//!
//! The decision comes first. It needs only registrations that can be read, and takes no lock, unless somebody is just
//! taking a contested path from the agent (`contest_signs`). Housekeeping, mail and notes come after it and can't undo it. A refusal is said before anything is written, so it holds whatever fails or
//! is killed afterwards.
//!
//! A known limit: the command line that `install` writes passes on the output of `msg` only if `msg` exits with 0. If
//! `msg` is killed after it printed a refusal, the harness doesn't get it.

use std::borrow::Cow;

use crate::domain::hook::{HookAnswer, HookMoment, ToolUse};
use crate::domain::pattern::SearchBudget;
use crate::domain::screens::HookStepKind;
use crate::domain::{Conflict, EventKind, PathWait, ReservationReach, quote_code, quote_sentence};
use crate::ops::agents::identity::RecognisedAgent;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::messages::rendered_message::format_age;
use crate::ops::reservations::check::{self, CensusSource, HardLinkPolicy};
use crate::ops::reservations::holdings::Holding;
use crate::ops::reservations::reserve::PatternBase;
use crate::ops::reservations::waiting;
use crate::store::{Registration, resolved_patterns};
use crate::sys::clock;

use super::contest_signs::SignOutcome;
use super::limits::in_doubt;
use super::plain_refusal::PlainRefusal;
use super::planned_changes::{PlannedChange, ToolPlan};
use super::{AnswerFn, HookRun, LOCK_TIMEOUT, changed_files};

/// What the registrations say about a plan.
#[derive(Default)]
struct Judgement {
    /// The first change that is refused: its index, and the reservation.
    refused: Option<(usize, Holding)>,
    /// What could not be found out.
    doubts: Vec<String>,
    /// A file has other hard links that were not compared with everything.
    has_uncompared: bool,
}

impl HookRun<'_> {
    pub(super) fn before(
        &mut self,
        tool: &ToolUse,
        recognised: RecognisedAgent,
        say: &mut AnswerFn<'_>,
    ) -> Result<(), CommandError> {
        let mut plan = ToolPlan::of(self.op, tool);
        let (refusal, doubt) = match self.forbidden(tool, &plan) {
            Ok(refusal) => (refusal, None),
            Err(error) => (self.refusal_in_doubt(&plan, &error), Some(in_doubt(&error))),
        };
        if let (Some(_), Some(doubt)) = (&refusal, &doubt) {
            self.leave_trouble(&CommandError::new(CommandErrorKind::Corrupt, doubt.clone()));
        }
        if let Some(refusal) = refusal {
            self.refuse_plainly(&refusal, recognised, say);
            return Ok(());
        }
        let mut judgement = self.judge(&mut plan, CensusSource::Index(&self.registry))?;
        judgement.doubts.extend(doubt);
        if judgement.refused.is_none()
            && let Err(error) = self.sign(&mut plan, &mut judgement)
        {
            judgement.doubts.push(format!("a contest of your path could not be answered: {}", error.message));
        }
        match judgement.refused {
            Some((number, holding)) => {
                self.refuse(&plan.changes[number], &holding, recognised, say);
                Ok(())
            }
            None => {
                if let Some(doubt) = judgement.doubts.first().filter(|_| self.op.settings.strict) {
                    let error = CommandError::new(CommandErrorKind::Corrupt, doubt.clone());
                    return Err(error.hint("run `msg doctor` for details"));
                }
                self.let_through(tool, &plan, recognised, &judgement, say);
                Ok(())
            }
        }
    }

    /// Records that this call was refused.
    fn note_refused(&self) {
        if let HookMoment::BeforeTool(tool) = &self.call.event.moment
            && let Err(error) = self.record_tool_step(HookStepKind::ToolRefused, tool)
        {
            self.leave_trouble(&error);
        }
    }

    /// Shows those who contest a path of the agent's that it is in use, before the tool may run: that counts even if this
    /// hook is killed then. If the agent has lost a path meanwhile, judges again by all registrations, because what was
    /// passed on may not be written down.
    fn sign(&mut self, plan: &mut ToolPlan, judgement: &mut Judgement) -> Result<(), CommandError> {
        /// A sign comes too late again only if a whole contest has passed in between.
        const LOOKS: usize = 3;
        for _ in 0..LOOKS {
            let signed = self.give_signs(plan.changes.iter().map(|change| &change.target))?;
            if signed == SignOutcome::Given {
                break;
            }
            let census = self.mesh.registry().census()?;
            let is_own =
                |known: &&Registration| self.me.as_ref().is_some_and(|me| known.agent.is_same_session(me));
            let own = census.records.iter().find(is_own).map(|record| record.agent.clone());
            self.me = own.or_else(|| self.me.take());
            *judgement = self.judge(plan, CensusSource::Known(Cow::Owned(census)))?;
            if judgement.refused.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// Finds out which change is refused. Takes no lock.
    fn judge(&self, plan: &mut ToolPlan, source: CensusSource<'_>) -> Result<Judgement, CommandError> {
        let unread = plan.unread.clone().into_iter();
        if plan.has_git_needs() && self.registry.may_hold_thing()? {
            plan.add_git_needs();
        }
        if plan.changes.is_empty() {
            return Ok(Judgement { doubts: unread.collect(), ..Judgement::default() });
        }
        let mut targets: Vec<_> = plan.changes.iter().map(|change| change.target.clone()).collect();
        let judged =
            check::judge(self.mesh, self.me.as_ref(), &mut targets, HardLinkPolicy::Include, source)?;
        // With the names that they have in their repositories, if these were needed.
        plan.changes.iter_mut().zip(targets).for_each(|(change, target)| change.target = target);
        let place = self.place();
        let mut doubts = judged.doubts(|number| plan.changes[number].shown(place));
        doubts.extend(unread);
        let has_uncompared = judged.uncompared.is_some();
        let mut holdings = judged.holdings.into_iter().enumerate();
        let refused = holdings.find_map(|(number, held)| {
            let change = &plan.changes[number];
            // Removing one name of a file leaves the file and its other names as they are.
            let holding = held.filter(|held| !(change.removes && is_other_name(change, held)))?;
            Some((number, holding))
        });
        Ok(Judgement { refused, doubts, has_uncompared })
    }

    fn refuse(
        &mut self,
        change: &PlannedChange,
        holding: &Holding,
        recognised: RecognisedAgent,
        say: &mut AnswerFn<'_>,
    ) {
        let shown = change.shown(self.place());
        let is_told = self.me.as_ref().is_some_and(|me| !me.is_foreign());
        let known = (recognised.is_known(), is_told);
        say(&HookAnswer::Deny(refusal(change, &shown, holding, known)));
        self.registry.update_index();
        self.settle(recognised);
        self.record_presence();
        if self.is_forged() {
            return;
        }
        self.note_refused();
        if let Err(error) = self.remember(wait_for(change, holding, self.place())) {
            self.leave_trouble(&error);
        }
        if let Some(me) = &self.me {
            self.op.feed(EventKind::Refused, &me.name, Some(&shown), None);
        }
    }

    /// Refuses what no reservation is the reason for.
    fn refuse_plainly(
        &mut self,
        refusal: &PlainRefusal,
        recognised: RecognisedAgent,
        say: &mut AnswerFn<'_>,
    ) {
        say(&HookAnswer::Deny(refusal.text.clone()));
        self.registry.update_index();
        self.settle(recognised);
        self.record_presence();
        if self.is_forged() {
            return;
        }
        self.note_refused();
        if let Some(me) = &self.me {
            self.op.feed(EventKind::Refused, &me.name, Some(&refusal.shown), None);
        }
    }

    /// Lets the tool call through. From here on, errors are only logged for `doctor`.
    fn let_through(
        &mut self,
        tool: &ToolUse,
        plan: &ToolPlan,
        recognised: RecognisedAgent,
        judgement: &Judgement,
        say: &mut AnswerFn<'_>,
    ) {
        say(&HookAnswer::Silence);
        self.registry.update_index();
        for doubt in &judgement.doubts {
            let text = format!("a tool call was let through, but {doubt}");
            self.leave_trouble(&CommandError::new(CommandErrorKind::Corrupt, text));
        }
        self.settle(recognised);
        if self.is_forged() {
            return;
        }
        let is_watched = plan.is_opaque || judgement.has_uncompared;
        let noted = if is_watched { changed_files::note(self, tool) } else { Ok(()) };
        let results = [
            noted,
            self.note_parent_tree(tool, plan),
            self.hand_over(None, say),
            self.record_tool_start(tool, &plan.runs),
            self.record_tool_step(HookStepKind::ToolBegins, tool),
        ];
        for error in results.into_iter().filter_map(Result::err) {
            self.leave_trouble(&error);
        }
    }

    /// Records that the agent was refused this. If that fails, it is not told when it becomes free.
    fn remember(&self, wait: PathWait) -> Result<(), CommandError> {
        let Some(me) = self.me.as_ref().filter(|me| !me.is_foreign()) else { return Ok(()) };
        let mut locked = self.mesh.lock_within(LOCK_TIMEOUT)?;
        let me = locked.own_record(me)?.agent;
        waiting::remember(&mut locked.change(), &me, vec![wait])
    }
}

/// What the agent waits for: the path it wanted, or, for a hard link, the reserved name of the same file. It is told by
/// the name that it used.
fn wait_for(change: &PlannedChange, holding: &Holding, place: &PatternBase) -> PathWait {
    let Holding { holder, reservation, .. } = holding;
    let wanted = change.wanted(place);
    let reach = wanted.reach;
    let (pattern, named, root, literal) = match is_other_name(change, holding) {
        true => {
            let root = reservation.root.clone().unwrap_or_else(|| holder.cwd.clone());
            (reservation.pattern.clone(), Some(wanted.pattern), root, reservation.is_literal)
        }
        false => (wanted.pattern, None, wanted.root, wanted.is_literal),
    };
    PathWait {
        pattern,
        named,
        root: Some(root),
        is_literal: literal,
        holder: holder.name.to_string(),
        since: clock::now(),
        reach,
    }
}

/// Whether the reservation applies only through a hard link.
fn is_other_name(change: &PlannedChange, holding: &Holding) -> bool {
    let patterns = resolved_patterns(&holding.holder, &holding.reservation);
    patterns
        .iter()
        .all(|pattern| change.target.hit_by(pattern, &SearchBudget::for_one_pair()) == Conflict::None)
}

/// The text of a refusal for the model. The holder's reason is quoted, because it is a peer's text.
fn refusal(
    change: &PlannedChange,
    shown: &str,
    holding: &Holding,
    (is_known, is_told): (bool, bool),
) -> String {
    let Holding { holder, reservation, .. } = holding;
    let name = &holder.name;
    let reason = reservation.reason.as_deref().filter(|reason| !reason.trim().is_empty());
    let reason = reason.map_or(String::new(), |reason| format!(", who says: {}", quote_sentence(reason)));
    let pattern = quote_code(&reservation.pattern);
    let reach = match reservation.reach {
        ReservationReach::WorkTree | ReservationReach::Thing => "",
        ReservationReach::Repository(_) => ", in every work tree of this repository",
    };
    let since = format!("{}{reach}", format_age(reservation.since, clock::now()));
    let is_above =
        resolved_patterns(holder, reservation).iter().any(|pattern| change.lies_above(pattern.head()));
    let what = match change.by.as_deref() {
        // For example `git switch`, which changes every file that differs.
        Some(by) if is_above => {
            let (shown, by) = (quote_code(shown), quote_code(by));
            format!(
                "This command would change files in {shown} ({by}), and {pattern} in it is reserved (for {since})"
            )
        }
        Some(by) if change.is_thing() => {
            let (shown, by) = (quote_code(shown), quote_code(by));
            format!("This command needs {shown} ({by}), which is reserved (for {since})")
        }
        Some(by) if is_other_name(change, holding) => {
            let (shown, by) = (quote_code(shown), quote_code(by));
            format!(
                "This command would change {shown} ({by}), a file which is reserved under another name ({pattern}, \
                 for {since})"
            )
        }
        Some(by) => {
            let (shown, by) = (quote_code(shown), quote_code(by));
            format!("This command would change {shown} ({by}), which is reserved ({pattern}, for {since})")
        }
        None => {
            let other = if is_other_name(change, holding) { " under another name" } else { "" };
            format!("{} is reserved{other} ({pattern}, for {since})", quote_code(shown))
        }
    };
    let ask = match (is_known, is_told) {
        (true, true) if holder.is_ours() => format!(
            "ask with `msg send {name} \"…\"` (no answer: `msg contest`); you should get a message when it is free"
        ),
        (true, true) => format!("ask with `msg send {name} \"…\"`; you should get a message when it is free"),
        (true, false) => format!("ask with `msg send {name} \"…\"`"),
        (false, _) => format!("`msg join`, then ask with `msg send {name} \"…\"`"),
    };
    let by = holder.name_and_machine();
    format!("{what} by {by}{reason}{}. Work on something else, or {ask}.", holding.caveat())
}
