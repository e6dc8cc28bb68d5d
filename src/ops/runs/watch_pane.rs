//! Watching a worker in a tmux pane: until it is ready, while it takes its prompt, in its turns and at its end.
//!
//! Its hooks say when a turn begins and ends, its screen shows dialogs, limits and what no hook reports, and its keeper
//! tells how it ended.

use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, after, bounded, never, select};

use crate::domain::Agent;
use crate::domain::runs::{RunDialog, RunEvidence, RunState, judge_end};
use crate::domain::screens::{ChoiceMeaning, DialogKind, ScreenState};
use crate::harness::screen::ScreenReader;
use crate::harness::worker::WorkerExit;
use crate::store::{PaneOrder, StopOrder, StopUrgency, WorkerTurns};
use crate::sys::clock;
use crate::sys::keeper::KeptExit;
use crate::sys::keeper::in_pane::KeptInPane;
use crate::sys::keeper::kept::{KeptNews, KeptProgram, KeptReports};
use crate::sys::tmux::{TmuxError, TmuxPane};
use crate::sys::watch::DirWatch;

use super::ending::{Ending, WRAP_UP};
use super::hold::record_limit;
use super::kept_screen::KeptScreen;
use super::progress_watch::ProgressWatch;
use super::supervisor::{RunFinish, Supervisor, end_leftovers};
use super::telling;
use super::watch_question::QuestionWatch;
use crate::ops::error::CommandError;
use crate::ops::runner::carry_out;
use crate::ops::screens::agent_pane::pane_locks;
use crate::ops::screens::typing::{HeldPane, PaneLook, TypingError, look_at};

/// How often it looks while its worker starts, or something is about to change.
const SOON: Duration = Duration::from_millis(200);
/// How long a prompt line must stay empty before a worker counts as ready whose hooks say nothing at the start.
const STEADY: Duration = Duration::from_secs(1);
/// How long a worker may take until it is ready.
const READY_LIMIT: Duration = Duration::from_secs(180);
/// How long a screen without a turn must stay so before the turn counts as ended without a hook.
const CUT_SHORT: Duration = Duration::from_secs(4);
/// How often a dialog about trust is answered.
const MOST_ANSWERS: usize = 3;

/// Watches one worker in a pane.
pub(super) struct PaneWatcher<'s, 'a> {
    supervisor: &'s mut Supervisor<'a>,
    program: KeptProgram,
    pane: TmuxPane,
    reader: &'static dyn ScreenReader,
    news: Receiver<KeptNews>,
    watch: Option<DirWatch>,
    /// What is still to be typed.
    prompt: Option<String>,
    order: PaneOrder,
    answers: usize,
    progress: ProgressWatch,
    /// Since when it is waited for that it is ready.
    starting_since: Instant,
    /// Since when its prompt line is empty, without a turn or a dialog.
    free_since: Option<Instant>,
    /// How many turns of ours were told to the parent as over.
    told: u32,
    /// How many prompts had been taken when a turn was told that ended without a hook.
    cut_short: u32,
    deadline: Option<Instant>,
    ending: Option<Ending>,
    exit: Option<KeptExit>,
    questions: QuestionWatch,
    looked_at: Option<Instant>,
    screen: KeptScreen,
}

impl<'s, 'a> PaneWatcher<'s, 'a> {
    pub(super) fn new(
        supervisor: &'s mut Supervisor<'a>,
        kept: KeptInPane,
        reader: &'static dyn ScreenReader,
        watch: Option<DirWatch>,
        (prompt, order): (Option<String>, PaneOrder),
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
            progress: ProgressWatch::default(),
            starting_since: Instant::now(),
            free_since: None,
            told: 0,
            cut_short: 0,
            deadline: timeout.map(|timeout| Instant::now() + timeout),
            ending: None,
            exit: None,
            questions: QuestionWatch::default(),
            looked_at: None,
            screen: KeptScreen::default(),
        }
    }

    pub(super) fn run(mut self) -> Result<RunFinish, CommandError> {
        let news = self.news.clone();
        let mut has_lost_keeper = false;
        loop {
            self.look_for_stop()?;
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
                    Ok(KeptNews::Clean) => break,
                    Ok(KeptNews::KeeperGone) | Err(_) => { has_lost_keeper = true; break; }
                },
                recv(hints) -> _ => {}
                recv(due) -> _ => {}
            }
        }
        if has_lost_keeper {
            end_leftovers(&self.supervisor.run.id);
        }
        self.questions.end(self.supervisor)?;
        self.keep_screen();
        self.finish(has_lost_keeper)
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

    fn turns(&self) -> Result<WorkerTurns, CommandError> {
        Ok(self.supervisor.mesh.runs().turns(&self.supervisor.run.id)?)
    }

    fn look_interval(&self) -> Duration {
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

    fn act_when_due(&mut self) {
        let now = Instant::now();
        if self.ending.is_none()
            && self.exit.is_none()
            && self.deadline.is_some_and(|deadline| deadline <= now)
        {
            let seconds = self.supervisor.order.timeout_seconds.unwrap_or_default();
            self.end_worker(RunState::Timeout, format!("it took more than {seconds} s"), now);
        }
        if Ending::has_become_due(&mut self.ending, now) {
            // If the keeper is gone, that is noticed elsewhere.
            drop(self.program.terminate());
        }
    }

    fn end_worker(&mut self, state: RunState, reason: String, terminate_at: Instant) {
        Ending::set(&mut self.ending, state, reason, terminate_at);
    }

    fn look_for_stop(&mut self) -> Result<(), CommandError> {
        if self.exit.is_some() {
            return Ok(());
        }
        let run = &self.supervisor.run.id;
        let Some(StopOrder { by, urgency }) = self.supervisor.mesh.runs().stop_order(run)? else {
            return Ok(());
        };
        let is_new = self.ending.is_none();
        if urgency == StopUrgency::WrapUp && !is_new {
            return Ok(());
        }
        // Between turns it has nothing to wrap up.
        let worker = match urgency == StopUrgency::WrapUp && self.turns()?.is_in_turn() {
            true => self.worker_agent()?,
            false => None,
        };
        let at = match &worker {
            Some(worker) => {
                telling::tell_to_wrap_up(self.supervisor.op, worker, &by, WRAP_UP.as_secs() as usize);
                carry_out(self.supervisor.op);
                Instant::now() + WRAP_UP
            }
            None => Instant::now(),
        };
        self.end_worker(RunState::Stopped, format!("stopped by {by}"), at);
        Ok(())
    }

    fn worker_agent(&self) -> Result<Option<Agent>, CommandError> {
        let Some(name) = self.supervisor.mesh.runs().worker(&self.supervisor.run.id)? else {
            return Ok(None);
        };
        Ok(self.supervisor.mesh.registry().get(&name)?.map(|record| record.agent))
    }

    fn look_when_due(&mut self) -> Result<(), CommandError> {
        let interval = self.look_interval();
        let is_turn_over = self.turns()?.ours_over > self.told;
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
        // Its hook asks already.
        if self.supervisor.run.question.is_some() {
            return Ok(());
        }
        if let Some(dialog) = &look.reading.dialog {
            self.free_since = None;
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
        self.progress.look(self.supervisor)?;
        if look.reading.takes_prompt() {
            self.free_since.get_or_insert_with(Instant::now);
        } else {
            self.free_since = None;
        }
        if self.is_ready() { self.look_for_turn_end(look) } else { self.look_for_readiness() }
    }

    fn look_for_readiness(&mut self) -> Result<(), CommandError> {
        let has_started = self.turns()?.has_started;
        let is_ready = self.free_since.is_some_and(|since| {
            let steady = if has_started { SOON } else { STEADY };
            since.elapsed() >= steady
        });
        if !is_ready {
            if self.starting_since.elapsed() > READY_LIMIT && self.ending.is_none() {
                let reason = format!("it showed no empty prompt line within {} s", READY_LIMIT.as_secs());
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
        let before = self.turns()?.prompts;
        ledger.announce_prompt(&id)?;
        let has_begun = || Ok(Some(ledger.turns(&id)?.prompts > before));
        let given = HeldPane::hold(&pane_locks(&self.supervisor.op.home), &self.pane, self.reader)
            .map_err(TypingError::from)
            .and_then(|held| held.type_prompt(prompt, has_begun));
        match given {
            Ok(proof) => {
                tracing::debug!("the prompt of run {id} was taken, says its {}", proof.name());
                if let Some(pane) = &mut self.supervisor.run.pane {
                    pane.prompts += 1;
                }
                self.free_since = None;
                Ok(ledger.put(&self.supervisor.run)?)
            }
            Err(TypingError::Tmux(TmuxError::NoPane(_) | TmuxError::NoServer(_) | TmuxError::Dead(_))) => {
                Ok(())
            }
            // Nothing was typed: it is tried again when the line is free.
            Err(TypingError::Obstacle(obstacle)) => {
                tracing::debug!("run {id} does not take its prompt yet: {obstacle}");
                ledger.withdraw_prompt(&id)?;
                self.prompt = Some(prompt.to_string());
                self.free_since = None;
                if let Some(pane) = &mut self.supervisor.run.pane {
                    pane.is_ready = false;
                }
                Ok(ledger.put(&self.supervisor.run)?)
            }
            Err(error) => {
                ledger.withdraw_prompt(&id)?;
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

    fn answer(&mut self, id: &str, choice: usize) -> Result<(), CommandError> {
        let answered = HeldPane::hold(&pane_locks(&self.supervisor.op.home), &self.pane, self.reader)
            .map_err(TypingError::from)
            .and_then(|held| held.answer(id, choice));
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
        telling::tell_dialog(self.supervisor.op, self.supervisor.mesh, &self.supervisor.run)?;
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
                    said.map(|until| format!("the account is at its limit until {until}"));
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

    /// A turn is over if its hook says so and the prompt line was empty at two looks. Without a hook it is over if the
    /// screen stays without one: its user ended it, or the model could not be asked.
    fn look_for_turn_end(&mut self, look: &PaneLook) -> Result<(), CommandError> {
        let turns = self.turns()?;
        let free_for = self.free_since.map(|since| since.elapsed()).unwrap_or_default();
        if turns.ours_over > self.told && free_for >= SOON.min(self.look_interval()) {
            self.told = turns.ours_over;
            let words = turns.words.filter(|words| !words.trim().is_empty());
            let words = words.unwrap_or_else(|| self.screen.last_lines());
            return self.tell_turn_over(words, None);
        }
        if turns.is_in_turn() && turns.is_ours && self.cut_short < turns.prompts && free_for >= CUT_SHORT {
            self.cut_short = turns.prompts;
            let trouble = look.reading.trouble.as_ref().map(|trouble| trouble.words().to_string());
            let reason = trouble.unwrap_or_else(|| "its turn was interrupted".to_string());
            return self.tell_turn_over(self.screen.last_lines(), Some(reason));
        }
        Ok(())
    }

    fn tell_turn_over(&mut self, words: String, reason: Option<String>) -> Result<(), CommandError> {
        let run = &mut self.supervisor.run;
        run.result = Some(words);
        run.reason = reason;
        if let Some(pane) = &mut run.pane {
            pane.turns += 1;
        }
        self.supervisor.mesh.runs().put(&self.supervisor.run)?;
        self.keep_screen();
        telling::tell_turn(self.supervisor.op, self.supervisor.mesh, &self.supervisor.run)?;
        carry_out(self.supervisor.op);
        Ok(())
    }

    fn see(&mut self, look: &PaneLook) {
        self.screen.see(look.screen.text(), self.supervisor.mesh, &self.supervisor.run.id);
    }

    fn keep_screen(&mut self) {
        self.screen.keep(self.supervisor.mesh, &self.supervisor.run.id);
    }

    fn finish(mut self, has_lost_keeper: bool) -> Result<RunFinish, CommandError> {
        let turns = self.turns()?;
        let words = turns.words.clone().filter(|words| !words.trim().is_empty());
        let result = words.or(self.supervisor.run.result.clone());
        let finish = |state: RunState, reason: Option<String>| RunFinish {
            state: Some(state),
            reason,
            result: result.clone(),
            usage: None,
        };
        if let Some(ending) = self.ending.take() {
            return Ok(finish(ending.state, Some(ending.reason)));
        }
        if has_lost_keeper && self.exit.is_none() {
            let reason = "its keeper was killed, and the worker with it".to_string();
            return Ok(finish(RunState::Failed, Some(reason)));
        }
        let failure = match self.exit {
            Some(KeptExit::Code(0)) if turns.over == 0 && self.told == 0 => {
                Some("it ended before a turn was over".to_string())
            }
            Some(KeptExit::Code(0)) => None,
            Some(KeptExit::Code(code)) => Some(format!("it ended with {}", WorkerExit::Code(code))),
            Some(KeptExit::Signal(signal)) => Some(format!("it was ended by {}", WorkerExit::Signal(signal))),
            None => Some("its end was not reported".to_string()),
        };
        self.supervisor.commit_work();
        let evidence = RunEvidence {
            result: result.clone(),
            failure,
            denied: None,
            has_changed: self.supervisor.has_changed(),
            is_to_write: self.supervisor.order.is_to_write,
        };
        let (state, reason) = judge_end(&evidence);
        Ok(finish(state, reason))
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
