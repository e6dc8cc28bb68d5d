//! Watching a worker in a tmux pane: until it is ready, while it takes its prompt, in its turns and at its end.
//!
//! Its hooks say when a turn begins and ends, its screen shows dialogs, limits and what no hook reports, and its keeper
//! tells how it ended.

use std::fmt::Display;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, after, bounded, never, select};

use crate::domain::quote_sentence;
use crate::domain::runs::{RunDialog, RunId, RunState};
use crate::domain::screens::{ChoiceMeaning, DialogKind, ScreenState};
use crate::harness::screen::ScreenReader;
use crate::store::{PaneOrder, StopOrder, StopUrgency, StoreError, WorkerTurns};
use crate::sys::keeper::KeptExit;
use crate::sys::keeper::in_pane::KeptInPane;
use crate::sys::keeper::kept::{KeptNews, KeptProgram, KeptReports};
use crate::sys::tmux::{TmuxError, TmuxPane};
use crate::sys::watch::DirWatch;
use crate::sys::{clock, test_switches};

use super::ending::Ending;
use super::hold::record_limit;
use super::kept_screen::KeptScreen;
use super::progress_watch::ProgressWatch;
use super::supervisor::{RunFinish, Supervisor, end_leftovers};
use super::telling;
use super::watch_question::QuestionWatch;
use crate::ops::error::CommandError;
use crate::ops::runner::carry_out;
use crate::ops::screens::agent_pane::pane_locks;
use crate::ops::screens::hook_facts::PromptReport;
use crate::ops::screens::pane_look::{PaneLook, look_at};
use crate::ops::screens::typing::HeldPane;
use crate::ops::screens::typing_error::{PromptProof, TypingError};

/// How often it looks while its worker starts, or something is about to change.
pub(super) const SOON: Duration = Duration::from_millis(200);
/// How long a prompt line must stay empty before a worker counts as ready whose hooks say nothing at the start.
const STEADY: Duration = Duration::from_secs(1);
/// How long a worker may take until it is ready.
const READY_LIMIT: Duration = Duration::from_secs(180);
/// How long somebody else may be typing into its pane before it looks for stop orders again.
const LOCK_LIMIT: Duration = Duration::from_secs(2);
/// How often a dialog about trust is answered.
const MOST_ANSWERS: usize = 3;
/// The part of that time after which a worker whose folder was just trusted is started again, if its hooks do not run.
const HEEDS_WITHIN: u32 = 12;

/// What is said of a worker whose screen shows that it took its prompt, while no hook has reported one.
pub(super) const NO_HOOKS: &str = "no hook of it reports its turns, so its edits are not checked";

/// How the keeper of a worker ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum KeeperEnd {
    /// After all processes of the worker were gone.
    Clean,
    /// It was killed.
    Lost,
}

/// What becomes of a worker that has ended in its pane.
#[derive(Debug)]
pub(super) enum PaneEnd {
    Finish(RunFinish),
    /// It is started once more: somebody has said that its folder is trusted, and it did not heed that.
    StartAgain,
}

/// Whether a worker has asked whether its folder is trusted, and what follows if its hooks do not run after the answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum TrustAnswer {
    NotAsked,
    /// It has asked. Some clients heed the answer only at their next start.
    Asked,
    /// It was started again already, or is to be.
    Restarted,
}

/// Watches one worker in a pane.
pub(super) struct PaneWatcher<'s, 'a> {
    pub(super) supervisor: &'s mut Supervisor<'a>,
    pub(super) program: KeptProgram,
    pub(super) pane: TmuxPane,
    pub(super) reader: &'static dyn ScreenReader,
    news: Receiver<KeptNews>,
    watch: Option<DirWatch>,
    /// What is still to be typed.
    prompt: Option<String>,
    order: PaneOrder,
    answers: usize,
    trust: TrustAnswer,
    progress: ProgressWatch,
    /// Since when it is waited for that it is ready.
    starting_since: Instant,
    /// Since when its prompt line is empty, without a turn or a dialog.
    pub(super) free_since: Option<Instant>,
    /// The same, whatever is in its prompt line: a person may be typing there.
    pub(super) rests_since: Option<Instant>,
    /// How many turns of ours were told to the parent as over.
    pub(super) told: u32,
    /// How many prompts of ours were told as over by the screen alone, because no hook ever ran.
    pub(super) told_by_screen: u32,
    /// How many prompts had been taken when a turn was told that ended without a hook.
    pub(super) cut_short: u32,
    /// What its hooks said when that could be read last.
    pub(super) known_turns: WorkerTurns,
    pub(super) deadline: Option<Instant>,
    pub(super) ending: Option<Ending>,
    pub(super) exit: Option<KeptExit>,
    /// What ended it from outside, if its pane was gone at its end.
    pub(super) pane_loss: Option<&'static str>,
    questions: QuestionWatch,
    looked_at: Option<Instant>,
    is_to_start_again: bool,
    pub(super) screen: KeptScreen,
}

impl<'s, 'a> PaneWatcher<'s, 'a> {
    pub(super) fn new(
        supervisor: &'s mut Supervisor<'a>,
        kept: KeptInPane,
        reader: &'static dyn ScreenReader,
        watch: Option<DirWatch>,
        (prompt, order): (Option<String>, PaneOrder),
        trust: TrustAnswer,
    ) -> Self {
        let timeout = supervisor.order.timeout_seconds.map(Duration::from_secs);
        let KeptInPane { program, reports, pane } = kept;
        Self {
            supervisor,
            program,
            pane,
            reader,
            news: read_apart(reports),
            watch,
            prompt,
            order,
            answers: 0,
            trust,
            progress: ProgressWatch::default(),
            starting_since: Instant::now(),
            free_since: None,
            rests_since: None,
            told: 0,
            told_by_screen: 0,
            cut_short: 0,
            known_turns: WorkerTurns::default(),
            deadline: timeout.map(|timeout| Instant::now() + timeout),
            ending: None,
            exit: None,
            pane_loss: None,
            questions: QuestionWatch::default(),
            looked_at: None,
            is_to_start_again: false,
            screen: KeptScreen::default(),
        }
    }

    pub(super) fn run(mut self) -> Result<PaneEnd, CommandError> {
        let news = self.news.clone();
        let end = loop {
            self.look_for_stop();
            self.questions.look(self.supervisor)?;
            self.act_when_due();
            if self.exit.is_none() {
                self.look_when_due()?;
            }
            let due = after(self.next_due().saturating_duration_since(Instant::now()));
            let hints = self.watch.as_ref().map_or_else(never, |watch| watch.hints().clone());
            select! {
                recv(news) -> one => match one {
                    Ok(KeptNews::Started(_)) => self.started()?,
                    Ok(KeptNews::Ended(exit)) => self.exit = Some(exit),
                    Ok(KeptNews::Clean) => { self.see_end(); break KeeperEnd::Clean; }
                    Ok(KeptNews::KeeperGone) | Err(_) => break KeeperEnd::Lost,
                },
                recv(hints) -> _ => {}
                recv(due) -> _ => {}
            }
        };
        if end == KeeperEnd::Lost {
            end_leftovers(&self.supervisor.run.id);
        }
        self.questions.end(self.supervisor)?;
        self.keep_screen();
        if self.is_to_start_again && self.ending.is_none() && end == KeeperEnd::Clean {
            return Ok(PaneEnd::StartAgain);
        }
        self.finish(end).map(PaneEnd::Finish)
    }

    fn started(&mut self) -> Result<(), CommandError> {
        match self.supervisor.run.state {
            RunState::Starting => self.supervisor.set_state(RunState::Running),
            _ => Ok(()),
        }
    }

    fn is_ready(&self) -> bool {
        self.supervisor.run.pane.as_ref().is_some_and(|pane| pane.is_ready)
    }

    pub(super) fn look_interval(&self) -> Duration {
        let usual = self.supervisor.op.settings.look_interval();
        if self.is_ready() { usual } else { SOON.min(usual) }
    }

    fn next_due(&self) -> Instant {
        let terminate = Ending::due(self.ending.as_ref());
        let deadline = self.deadline.filter(|_| self.ending.is_none());
        let look = self.looked_at.filter(|_| self.exit.is_none()).map(|at| at + self.look_interval());
        let usual = Instant::now() + Duration::from_secs(1);
        [terminate, deadline, look].into_iter().flatten().fold(usual, Instant::min)
    }

    fn look_when_due(&mut self) -> Result<(), CommandError> {
        let interval = self.look_interval();
        let turns = self.turns();
        self.note_session(&turns)?;
        let is_turn_over = turns.ours_over > self.told;
        let interval = if is_turn_over { SOON.min(interval) } else { interval };
        if self.looked_at.is_some_and(|at| at.elapsed() < interval) {
            return Ok(());
        }
        let look = look_at(&self.pane, self.reader);
        self.looked_at = Some(Instant::now());
        match look {
            Ok(look) => self.looked(&look),
            // Its keeper tells what became of it.
            Err(TmuxError::NoPane(_) | TmuxError::NoServer(_) | TmuxError::Dead(_)) => Ok(()),
            Err(error) => {
                tracing::debug!("the screen of run {} can't be read: {error}", self.supervisor.run.id);
                Ok(())
            }
        }
    }

    /// What follows from a look at its screen.
    fn looked(&mut self, look: &PaneLook) -> Result<(), CommandError> {
        self.see(look);
        self.note_place(&look.capture.address)?;
        // Its hook asks already.
        if self.supervisor.run.question.is_some() {
            return Ok(());
        }
        if let Some(dialog) = &look.reading.dialog {
            (self.free_since, self.rests_since) = (None, None);
            if dialog.kind == DialogKind::Trust && self.trust == TrustAnswer::NotAsked {
                self.trust = TrustAnswer::Asked;
            }
            let is_to_be_answered = self.order.is_trust_accepted
                && !self.is_ready()
                && dialog.kind == DialogKind::Trust
                && self.answers < MOST_ANSWERS;
            let trusted = dialog.choice_that(ChoiceMeaning::AllowsOnce).filter(|_| is_to_be_answered);
            self.answers += usize::from(trusted.is_some());
            let choice = trusted.or_else(|| self.progress.choice_for(&self.order, dialog));
            if let Some(choice) = choice {
                return self.answer(&dialog.id(), choice);
            }
            // Who starts it waits for a person now, and not for the program.
            self.starting_since = Instant::now();
            return self.show_dialog(RunDialog::of(dialog, clock::now()));
        }
        self.close_dialog()?;
        self.note_limit(look)?;
        if let Err(error) = self.progress.look(self.supervisor) {
            tracing::debug!("what run {} does can't be seen: {}", self.supervisor.run.id, error.message);
        }
        let (free, rests) = (self.free_since, self.rests_since);
        self.free_since = look.reading.takes_prompt().then(|| free.unwrap_or_else(Instant::now));
        self.rests_since = look.reading.is_between_turns().then(|| rests.unwrap_or_else(Instant::now));
        if self.is_ready() { self.look_for_turn_end(look) } else { self.look_for_readiness() }
    }

    /// It is ready when its hook for the start of a session has run, and its prompt line is empty. Where that hook comes
    /// with the first prompt, the line alone decides.
    fn look_for_readiness(&mut self) -> Result<(), CommandError> {
        let has_started = self.turns().has_started;
        let lacks_hook = self.reader.starts_session_at_launch() && !has_started;
        let is_free = self.free_since.is_some_and(|since| {
            let steady = if has_started { SOON } else { STEADY };
            since.elapsed() >= steady
        });
        if !is_free || lacks_hook {
            let limit = ready_limit();
            let free_for = self.free_since.map(|since| since.elapsed()).unwrap_or_default();
            if self.trust == TrustAnswer::Asked && free_for >= limit / HEEDS_WITHIN && self.ending.is_none() {
                (self.trust, self.is_to_start_again) = (TrustAnswer::Restarted, true);
                // If the keeper is gone, that is noticed elsewhere.
                drop(self.program.terminate());
                return Ok(());
            }
            if self.starting_since.elapsed() > limit && self.ending.is_none() {
                let what = match is_free {
                    // It would have no name, and nothing that it does would be checked.
                    true => "its hooks did not run",
                    false => "it showed no empty prompt line",
                };
                let reason = format!("{what} within {} s", limit.as_secs());
                self.end_worker(RunState::Failed, reason, Instant::now());
            }
            return Ok(());
        }
        if let Some(pane) = &mut self.supervisor.run.pane {
            pane.is_ready = true;
        }
        self.supervisor.mesh.runs().put(&self.supervisor.run)?;
        match self.prompt.take() {
            Some(prompt) => self.give_prompt(&prompt),
            None => Ok(()),
        }
    }

    /// Types the prompt. If it is not taken, the worker is ended: nobody would know what it works on.
    fn give_prompt(&mut self, prompt: &str) -> Result<(), CommandError> {
        let (ledger, id) = (self.supervisor.mesh.runs(), self.supervisor.run.id.clone());
        let before = self.turns().prompts;
        let (mesh, report) = (self.supervisor.mesh, PromptReport::of(prompt));
        if let Err(error) = ledger.announce_prompt(&id, report.mark()) {
            return self.give_prompt_later(prompt, &error);
        }
        let has_begun = || Ok(Some(report.is_taken_by_worker(mesh, &id, before)?));
        let is_to_end = || self.is_to_end();
        let given = self.hold().and_then(|held| held.unless(&is_to_end).type_prompt(prompt, has_begun));
        match given {
            Ok(proof) => {
                tracing::debug!("the prompt of run {id} was taken, says its {}", proof.name());
                warn_of_claim(&id, ledger.note_prompt_sent(&id));
                if proof == PromptProof::Screen && self.turns().prompts == 0 {
                    self.supervisor.run.reason = Some(NO_HOOKS.to_string());
                }
                if let Some(pane) = &mut self.supervisor.run.pane {
                    pane.prompts += 1;
                }
                (self.free_since, self.rests_since) = (None, None);
                Ok(ledger.put(&self.supervisor.run)?)
            }
            Err(TypingError::Tmux(TmuxError::NoPane(_) | TmuxError::NoServer(_) | TmuxError::Dead(_))) => {
                Ok(())
            }
            Err(TypingError::Obstacle(obstacle)) => self.give_prompt_later(prompt, &obstacle),
            Err(TypingError::Locked(error)) => self.give_prompt_later(prompt, &error),
            // It is ended next.
            Err(TypingError::GivenUp) => {
                warn_of_claim(&id, ledger.withdraw_prompt(&id));
                Ok(())
            }
            Err(error) => {
                warn_of_claim(&id, ledger.withdraw_prompt(&id));
                if let Ok(look) = look_at(&self.pane, self.reader) {
                    self.see(&look);
                }
                self.keep_screen();
                let reason = format!("its prompt was not taken: {error}");
                self.end_worker(RunState::Failed, reason, Instant::now());
                Ok(())
            }
        }
    }

    /// Whether the worker is to end now: what is being typed is not wanted any more.
    fn is_to_end(&self) -> bool {
        self.has_stop_order(|_| true)
    }

    /// The same of a worker in its turn, which may have time to wrap up, and needs its dialogs answered for that.
    fn is_to_end_in_turn(&self) -> bool {
        self.has_stop_order(|order| order.urgency == StopUrgency::Now)
    }

    fn has_stop_order(&self, counts: impl FnOnce(&StopOrder) -> bool) -> bool {
        let order = || self.supervisor.mesh.runs().stop_order(&self.supervisor.run.id);
        self.deadline.is_some_and(|deadline| deadline <= Instant::now())
            || order().is_ok_and(|order| order.is_some_and(|order| counts(&order)))
    }

    fn hold(&self) -> Result<HeldPane<'_>, TypingError> {
        let locks = pane_locks(&self.supervisor.op.home);
        Ok(HeldPane::hold_within(LOCK_LIMIT, &locks, &self.pane, self.reader)?)
    }

    /// Nothing was typed: it is tried again when the line is free.
    fn give_prompt_later(&mut self, prompt: &str, why: &dyn Display) -> Result<(), CommandError> {
        let (ledger, id) = (self.supervisor.mesh.runs(), &self.supervisor.run.id);
        tracing::debug!("run {id} does not take its prompt yet: {why}");
        warn_of_claim(id, ledger.withdraw_prompt(id));
        self.prompt = Some(prompt.to_string());
        self.free_since = None;
        if let Some(pane) = &mut self.supervisor.run.pane {
            pane.is_ready = false;
        }
        Ok(ledger.put(&self.supervisor.run)?)
    }

    fn answer(&mut self, id: &str, choice: usize) -> Result<(), CommandError> {
        let is_in_turn = self.turns().is_in_turn();
        let is_to_end = || if is_in_turn { self.is_to_end_in_turn() } else { self.is_to_end() };
        let answered = self.hold().and_then(|held| held.unless(&is_to_end).answer(id, choice));
        if let Err(error) = answered {
            // It is looked at again.
            tracing::debug!("a dialog of run {} was not answered: {error}", self.supervisor.run.id);
        }
        Ok(())
    }

    fn show_dialog(&mut self, dialog: RunDialog) -> Result<(), CommandError> {
        if self.supervisor.run.dialog.as_ref().is_some_and(|known| known.id == dialog.id) {
            return Ok(());
        }
        self.keep_screen();
        let is_waiting = self.supervisor.run.state == RunState::Waiting;
        if matches!(self.supervisor.run.state, RunState::Starting | RunState::Limited) {
            self.supervisor.set_state(RunState::Running)?;
        }
        self.supervisor.run.dialog = Some(dialog);
        match is_waiting {
            true => self.supervisor.mesh.runs().put(&self.supervisor.run)?,
            false => self.supervisor.set_state(RunState::Waiting)?,
        }
        let told = telling::tell_dialog(self.supervisor.op, self.supervisor.mesh, &self.supervisor.run);
        self.warn_of(told);
        carry_out(self.supervisor.op);
        Ok(())
    }

    fn close_dialog(&mut self) -> Result<(), CommandError> {
        if self.supervisor.run.dialog.take().is_none() {
            return Ok(());
        }
        self.supervisor.set_state(RunState::Running)
    }

    fn note_limit(&mut self, look: &PaneLook) -> Result<(), CommandError> {
        let is_limited = look.reading.state == Some(ScreenState::Limited);
        match (is_limited, self.supervisor.run.state) {
            (true, RunState::Running) => {
                let said = look.reading.limited_until.as_deref();
                self.supervisor.run.reason =
                    said.map(|until| format!("the account is at its limit until {}", quote_sentence(until)));
                let until = record_limit(self.supervisor.op, &self.supervisor.run, None);
                self.supervisor.run.until = Some(until);
                self.supervisor.set_state(RunState::Limited)
            }
            (false, RunState::Limited) if look.reading.state.is_some() => {
                (self.supervisor.run.reason, self.supervisor.run.until) = (None, None);
                self.supervisor.set_state(RunState::Running)
            }
            _ => Ok(()),
        }
    }

    pub(super) fn see(&mut self, look: &PaneLook) {
        self.screen.see(look.screen.text(), self.supervisor.mesh, &self.supervisor.run.id);
    }

    pub(super) fn keep_screen(&mut self) {
        self.screen.keep(self.supervisor.mesh, &self.supervisor.run.id);
    }
}

fn ready_limit() -> Duration {
    let millis = test_switches::value(test_switches::READY_MS).and_then(|text| text.parse().ok());
    millis.map_or(READY_LIMIT, Duration::from_millis)
}

/// Whose prompt is taken next may be told wrongly then. A worker must not end because of that.
fn warn_of_claim(run: &RunId, changed: Result<(), StoreError>) {
    if let Err(error) = changed {
        tracing::debug!("the announced prompt of run {run} was not changed: {error}");
    }
}

/// Reads what the keeper reports in a thread of its own.
fn read_apart(mut reports: KeptReports) -> Receiver<KeptNews> {
    let (sender, news) = bounded(4);
    let read = move || {
        loop {
            let one = reports.wait();
            if sender.send(one).is_err() || matches!(one, KeptNews::Clean | KeptNews::KeeperGone) {
                return;
            }
        }
    };
    // Without a thread the channel is closed, which counts as a keeper that is gone.
    drop(std::thread::Builder::new().name("pane reports".to_string()).stack_size(256 * 1024).spawn(read));
    news
}
