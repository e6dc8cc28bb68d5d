//! Runs that one machine asks another for: requests, news and wishes go both ways. The loop only writes down what comes and
//! sends what is written down; processes of their own decide, start and push.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use bytes::Bytes;
use jiff::SignedDuration;

use super::send_error::SendError;
use super::table::RecordTable;
use crate::domain::link::{MachineName, RunAskRefusal, RunLetter, RunNews};
use crate::domain::runs::RunId;
use crate::domain::sha256;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::link::elsewhere::time_of_day;
use crate::ops::runner::carry_out;
use crate::ops::runs::elsewhere::news::{self, RunStanding};
use crate::ops::runs::elsewhere::starting::{self, StarterCall};
use crate::ops::runs::telling::tell_end_elsewhere;
use crate::ops::runs::{RUN_VARIABLE, elsewhere::copies};
use crate::store::link_format::Envelope;
use crate::store::link_protocol::LinkAnswer;
use crate::store::{Mesh, RunAnswer, RunAskedElsewhere, RunAskedHere, RunDecision, StopWish, ToldNews};
use crate::sys::nats::{Nats, NatsError};
use crate::sys::{clock, detached, random};

/// How often open runs are looked at.
pub(super) const LOOK: Duration = Duration::from_millis(400);
/// How often the other machine is told what only shows that a run gets on.
const PROGRESS: Duration = Duration::from_secs(2);
/// The pause between two processes that are started for one request.
const AGAIN: Duration = Duration::from_secs(2);
/// How often it is tried to push a branch.
const MOST_PUSHES: u32 = 5;
/// How long whoever asked has to show a refusal itself, before its agent is told by mail.
const SHOWN: Duration = Duration::from_secs(15);
/// How much later than its time an answer may come.
const LATE: SignedDuration = SignedDuration::from_secs(15);
/// For how long the link goes on without an agent because of a run elsewhere.
const WAITED_FOR: SignedDuration = SignedDuration::from_hours(24);

/// What the loop remembers of runs. All of it may be lost with the process.
#[derive(Default)]
pub(super) struct RunDesk {
    /// Whether something of a run is not told or decided.
    pub(super) is_open: bool,
    looked: Option<Instant>,
    /// When a process was last started for a request, and how often.
    started: HashMap<(MachineName, RunId), (Instant, u32)>,
    told: HashMap<(MachineName, RunId), Instant>,
    refused: HashMap<RunId, Instant>,
}

/// Whether a link process is needed because of runs.
pub(super) fn is_needed(mesh: &Mesh) -> Result<bool, CommandError> {
    if !mesh.remote().open_asked()?.is_empty() {
        return Ok(true);
    }
    let oldest = clock::now() - WAITED_FOR;
    for id in mesh.remote().run_ids()? {
        let is_open = !mesh.remote().is_end_told(&id)? && mesh.remote().asked_since(&id)?.is_some();
        if is_open && mesh.remote().run(&id)?.is_some_and(|run| run.at > oldest) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Asks another machine for a run that a command has written down.
pub(super) async fn ask(
    mesh: &Mesh,
    nats: &Nats,
    table: &RecordTable,
    id: &RunId,
) -> Result<LinkAnswer, NatsError> {
    let not_asked = |error: CommandError| LinkAnswer::NotAsked {
        kind: error.kind.name().to_string(),
        message: error.message,
        hints: error.hints,
    };
    let asked = match mesh.remote().run(id) {
        Ok(Some(asked)) => asked,
        Ok(None) => return Ok(LinkAnswer::Refused { why: format!("run {id} is not written down") }),
        Err(error) => return Ok(not_asked(error.into())),
    };
    if let Err(error) = check_machine(table, &asked.machine) {
        return Ok(not_asked(error));
    }
    let letter = RunLetter::Ask(Box::new(asked.ask));
    publish(nats, &asked.machine, &format!("run-ask-{id}"), letter).await?;
    match mesh.remote().note_asked(id, clock::now()) {
        Ok(()) => Ok(LinkAnswer::Done),
        Err(error) => Ok(not_asked(error.into())),
    }
}

/// Whether the machine can be asked now. A request that waits for hours would surprise everybody.
fn check_machine(table: &RecordTable, machine: &MachineName) -> Result<(), CommandError> {
    if let Some(record) = table.leases.record(machine) {
        if record.knows_runs {
            return Ok(());
        }
        let text = format!(
            "the `msg` on {machine} ({}) is older and does not know runs for other machines",
            record.version
        );
        return Err(CommandError::new(CommandErrorKind::NotBuiltIn, text).hint("install a newer one there"));
    }
    let is_known = table.names().any(|name| name.record.owner.machine == *machine);
    match (table.leases.away_since(machine), is_known) {
        (Some(since), _) => {
            let text = format!(
                "{machine} has not reached the server since {}: nothing was asked",
                time_of_day(since)
            );
            Err(CommandError::new(CommandErrorKind::NotLinked, text).hint("ask when it is back"))
        }
        (None, true) => {
            let text = format!("{machine} does not reach the server: nothing was asked");
            Err(CommandError::new(CommandErrorKind::NotLinked, text).hint("ask when it is back"))
        }
        (None, false) => {
            let others = table.other_machines();
            let error = CommandError::new(
                CommandErrorKind::UnknownMachine,
                format!("no machine called {machine} is linked now"),
            );
            Err(match others.as_slice() {
                [] => error
                    .hint("no other machine is linked now; `msg link run` keeps one linked without agents"),
                others => error.hint(format!("linked are: {}", others.join(", "))),
            })
        }
    }
}

async fn publish(nats: &Nats, to: &MachineName, id: &str, letter: RunLetter) -> Result<(), NatsError> {
    nats.publish(to.as_str(), id, Bytes::from(Envelope::Run(letter).bytes())).await.map(drop)
}

/// Writes down what another machine says about a run. Returns what it is answered at once, with an id of the message.
pub(super) fn receive(
    mesh: &Mesh,
    (from, stored_at, offset_millis): (&MachineName, jiff::Timestamp, i64),
    letter: &RunLetter,
) -> Result<Option<(String, RunLetter)>, CommandError> {
    let remote = mesh.remote();
    match letter {
        RunLetter::Ask(ask) => {
            let permission = mesh.link().config()?.map(|config| config.runs).unwrap_or_default();
            let id = ask.id.clone();
            if let Err(refused) = starting::check_allowed(&permission, from) {
                // Nothing is kept of it: nobody fills this disk who may not ask.
                let refusal = starting::refusal_of(refused);
                return Ok(Some((format!("run-refused-{id}"), RunLetter::Refused { id, refusal })));
            }
            remote.take_ask(&RunAskedHere {
                machine: from.clone(),
                ask: (**ask).clone(),
                stored_at,
                offset_millis,
            })?;
        }
        RunLetter::Refused { id, refusal } => {
            let is_news =
                ours(mesh, from, id)?.is_some() && remote.answer(id)?.is_none_or(|known| !is_run(&known));
            if is_news {
                remote.put_answer(id, &RunAnswer::Refused(refusal.clone()))?;
            }
        }
        RunLetter::News { id, news } => match ours(mesh, from, id)? {
            Some(_) => note_news(mesh, id, news)?,
            // Whoever asked was shown a refusal, with which all was forgotten, or has gone with all that was known.
            None if !news.state.is_final() => {
                let by = crate::domain::link::RunAsker::Person;
                let stop = RunLetter::Stop { id: id.clone(), by, is_now: true };
                // Whoever could guess the id of the message could send another under it before, which the server keeps.
                return Ok(Some((format!("run-stop-{id}-{}", random::uuid().simple()), stop)));
            }
            None => {}
        },
        RunLetter::Stop { id, by, is_now } => {
            let asked = remote.asked(from, id)?.map(|asked| asked.ask.by);
            if asked.is_some_and(|asked| asked.may_be_stopped_by(by)) {
                remote.put_stop_here(from, id, &StopWish { by: by.clone(), is_now: *is_now })?;
            }
        }
        RunLetter::LogWanted { id } => remote.put_log_wanted(from, id)?,
    }
    Ok(None)
}

/// What was asked of that machine under this id.
fn ours(mesh: &Mesh, from: &MachineName, id: &RunId) -> Result<Option<RunAskedElsewhere>, CommandError> {
    Ok(mesh.remote().run(id)?.filter(|asked| asked.machine == *from))
}

fn is_run(answer: &RunAnswer) -> bool {
    matches!(answer, RunAnswer::News(news) if news.there.is_some())
}

/// Keeps the newest news.
fn note_news(mesh: &Mesh, id: &RunId, news: &RunNews) -> Result<(), CommandError> {
    let known = mesh.remote().answer(id)?;
    if matches!(&known, Some(RunAnswer::News(known)) if known.number > news.number) {
        return Ok(());
    }
    // It may have been given up, and there is a run nevertheless: it can be stopped, and its end is told. This comes first:
    // whoever is killed in between gets the same news again.
    if news.there.is_some() && !known.as_ref().is_some_and(is_run) {
        mesh.remote().note_end_open(id)?;
    }
    Ok(mesh.remote().put_answer(id, &RunAnswer::News(Box::new(news.clone())))?)
}

/// What the desk works with.
pub(super) struct RunTending<'a> {
    pub(super) op: &'a Op,
    pub(super) mesh: &'a Mesh,
    pub(super) nats: &'a Nats,
    pub(super) desk: &'a mut RunDesk,
}

impl RunTending<'_> {
    /// Does what is due for runs in both directions. Most of the time that is nothing.
    pub(super) async fn tend(&mut self) -> Result<(), SendError> {
        let is_due = self.desk.looked.is_none_or(|looked| looked.elapsed() >= LOOK);
        if !is_due || !(self.desk.is_open || self.desk.looked.is_none()) {
            return Ok(());
        }
        self.desk.looked = Some(Instant::now());
        let mut is_open = false;
        for (machine, id) in self.mesh.remote().open_asked()? {
            is_open = true;
            self.tend_asked(&machine, &id).await?;
        }
        for id in self.mesh.remote().run_ids()? {
            if !self.mesh.remote().is_end_told(&id)? {
                is_open = true;
                self.tend_run(&id).await?;
            }
        }
        self.desk.is_open = is_open;
        Ok(())
    }

    /// A run that another machine asked for.
    async fn tend_asked(&mut self, machine: &MachineName, id: &RunId) -> Result<(), SendError> {
        let remote = self.mesh.remote();
        if remote.asked(machine, id)?.is_none() {
            return Ok(());
        }
        let told = remote.told_news(machine, id)?;
        let decision = remote.decision(machine, id)?;
        match decision {
            None => {
                self.start_process(machine, id, u32::MAX)?;
                if told == ToldNews::default() {
                    self.tell_news(machine, id, RunNews::accepted(), &told, false).await?;
                }
                Ok(())
            }
            Some(RunDecision::Refused(refusal)) => {
                let letter = RunLetter::Refused { id: id.clone(), refusal };
                publish(self.nats, machine, &format!("run-refused-{id}"), letter).await?;
                Ok(remote.note_news_told(machine, id, &ToldNews { is_last: true, ..told })?)
            }
            Some(RunDecision::Run(run)) => self.tend_started(machine, id, &run, told).await,
        }
    }

    async fn tend_started(
        &mut self,
        machine: &MachineName,
        id: &RunId,
        run: &RunId,
        told: ToldNews,
    ) -> Result<(), SendError> {
        let remote = self.mesh.remote();
        if let Some(wish) = remote.stop_here(machine, id)? {
            news::stop(self.mesh, machine, run, &wish)?;
        }
        let push_remote = self.mesh.link().config()?.and_then(|config| config.runs.remote);
        let RunStanding { news, is_to_be_finished } =
            news::standing(self.mesh, (machine, id), run, push_remote.as_deref())?;
        if is_to_be_finished && self.start_process(machine, id, MOST_PUSHES)? {
            return Ok(());
        }
        let is_last = news.state.is_final();
        let (key, hash) =
            ((machine.clone(), id.clone()), format!("{}-{}", news.state.name(), news::hash(&news)));
        let is_log_wanted = remote.is_log_wanted_here(machine, id)?;
        let has_new_state = told.hash.split('-').next() != Some(news.state.name());
        let is_pausing = self.desk.told.get(&key).is_some_and(|at| at.elapsed() < PROGRESS);
        let is_news = has_new_state || told.hash != hash && !is_pausing;
        if !is_news && !is_log_wanted && !is_last {
            return Ok(());
        }
        let news = if is_last || is_log_wanted { news::with_log(self.mesh, news)? } else { news };
        self.tell_news(machine, id, news, &ToldNews { hash, ..told }, is_last).await?;
        if is_log_wanted {
            remote.note_log_told(machine, id)?;
        }
        self.desk.told.insert(key, Instant::now());
        Ok(())
    }

    /// Tells the other machine how the run stands. What was told is written down after that: it may be told twice.
    async fn tell_news(
        &self,
        machine: &MachineName,
        id: &RunId,
        news: RunNews,
        told: &ToldNews,
        is_last: bool,
    ) -> Result<(), SendError> {
        let number = told.number + 1;
        let news = RunNews { number, ..news };
        // With a hash: what differs is another message to the server, also under the same number after a crash.
        let mark = &sha256(format!("{news:?}").as_bytes())[..12];
        let message = format!("run-news-{id}-{number}-{mark}");
        let letter = |news: RunNews| RunLetter::News { id: id.clone(), news: Box::new(news) };
        match publish(self.nats, machine, &message, letter(news.clone())).await {
            Err(NatsError::TooLarge { .. }) => {
                let result = news.result.as_ref().map(|_| "[… it is on that machine …]".to_string());
                let small = RunNews { log: None, errors: None, result, changed: None, ..news };
                publish(self.nats, machine, &format!("{message}-small"), letter(small)).await?;
            }
            published => published?,
        }
        let told = ToldNews { number, hash: told.hash.clone(), is_last };
        Ok(self.mesh.remote().note_news_told(machine, id, &told)?)
    }

    /// Starts the process that decides about a request, or pushes the branch of its run, unless there is one. `false`: it
    /// was tried often enough.
    fn start_process(&mut self, machine: &MachineName, id: &RunId, most: u32) -> Result<bool, CommandError> {
        let key = (machine.clone(), id.clone());
        let (last, count) = self.desk.started.get(&key).copied().unzip();
        if last.is_some_and(|last: Instant| last.elapsed() < AGAIN) {
            return Ok(true);
        }
        let count = count.unwrap_or(0);
        if count >= most {
            return Ok(false);
        }
        if self.mesh.remote().try_lock_asked(machine, id)?.is_none() {
            return Ok(true);
        }
        self.desk.started.insert(key, (Instant::now(), count + 1));
        let call =
            StarterCall { mesh: self.op.location.to_string(), machine: machine.clone(), id: id.clone() };
        // It belongs to no agent and to no run of this machine, whoever started this link.
        let started = detached::start_supervisor(&call.to_args(), &[RUN_VARIABLE, "MSG_AGENT"]);
        match started {
            Ok(child) => detached::reap(child),
            Err(error) => self.op.warn(format!("nothing could be started for a run of {machine}: {error}")),
        }
        Ok(true)
    }

    /// A run that somebody here asked another machine for.
    async fn tend_run(&mut self, id: &RunId) -> Result<(), SendError> {
        let remote = self.mesh.remote();
        let Some(asked) = remote.run(id)? else { return Ok(()) };
        let now = clock::now();
        let Some(since) = remote.asked_since(id)? else {
            // Whoever was about to ask has died.
            if now.duration_since(asked.at) > SignedDuration::from_mins(10) {
                remote.forget_run(id)?;
            }
            return Ok(());
        };
        let answer = remote.answer(id)?;
        if let Some((wish, mark)) = remote.stop_wish(id)? {
            let letter = RunLetter::Stop { id: id.clone(), by: wish.by, is_now: wish.is_now };
            // With a mark that stays the same if this is repeated, and that no other machine can guess: the server drops
            // what comes under an id that it knows, from whomever it has that.
            publish(self.nats, &asked.machine, &format!("run-stop-{id}-{mark}"), letter).await?;
            remote.note_stop_sent(id)?;
        }
        if remote.is_log_wanted(id)? {
            let message = format!("run-log-{id}-{}", now.as_millisecond());
            publish(self.nats, &asked.machine, &message, RunLetter::LogWanted { id: id.clone() }).await?;
            remote.note_log_asked(id)?;
        }
        match &answer {
            None => {
                let life = SignedDuration::try_from(starting::life()).unwrap_or(SignedDuration::MAX);
                if now.duration_since(since) > life.saturating_add(LATE) {
                    let refusal = no_answer(&asked.machine);
                    remote.put_answer(id, &RunAnswer::Refused(refusal))?;
                }
                Ok(())
            }
            Some(RunAnswer::News(news)) if !news.state.is_final() => Ok(()),
            Some(RunAnswer::News(_)) => self.tell_parent(&asked, answer.as_ref()),
            Some(RunAnswer::Refused(_)) => {
                let first = *self.desk.refused.entry(id.clone()).or_insert_with(Instant::now);
                if first.elapsed() >= SHOWN {
                    self.tell_parent(&asked, answer.as_ref())?;
                }
                Ok(())
            }
        }
    }

    /// Tells the agent that asked of the end. If this process is killed in between, it is told twice, and not never.
    fn tell_parent(&self, asked: &RunAskedElsewhere, answer: Option<&RunAnswer>) -> Result<(), SendError> {
        let run = copies::copy(asked, answer);
        tell_end_elsewhere(self.op, self.mesh, &run)?;
        carry_out(self.op);
        Ok(self.mesh.remote().note_end_told(&asked.ask.id)?)
    }
}

fn no_answer(machine: &MachineName) -> RunAskRefusal {
    RunAskRefusal {
        kind: CommandErrorKind::TimedOut.name().to_string(),
        gate: None,
        message: format!(
            "{machine} has not answered in time: unless it runs there already, it is not started"
        ),
        hints: vec![
            "`msg link status` there shows whether it is linked; an older `msg` does not answer".to_string(),
        ],
    }
}
