//! `remote/runs` and `remote/asked`: runs that somebody here asked another machine for, and runs that other machines asked
//! this one for. Each file has one writer, so no step needs a lock.
//!
//! ```text
//! remote/runs/<id>/ask.json            what was asked, by the command that asked
//! remote/runs/<id>/sent                its time: when the server had it; then it counts
//! remote/runs/<id>/news.json           the last news of it, or why it was refused
//! remote/runs/<id>/output, errors      the end of what its worker printed, as far as that was told
//! remote/runs/<id>/stop.json, stopped  a wish to stop it; the same once the server has it
//! remote/runs/<id>/log-wanted          a wish for the end of what its worker has printed
//! remote/runs/<id>/told                there once its parent was told of its end
//! remote/asked/<machine>/<id>/ask.json what that machine asked for, and when
//! remote/asked/<machine>/<id>/lock     held by the process that decides about it and starts it
//! remote/asked/<machine>/<id>/tries    how often one was started
//! remote/asked/<machine>/<id>/answer.json   the run, or why there is none
//! remote/asked/<machine>/<id>/push.json     what became of its branch
//! remote/asked/<machine>/<id>/told.json     the last news that the other machine was told
//! remote/asked/<machine>/<id>/stop.json, log-wanted   wishes of the other machine
//! ```

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::domain::link::{BranchPush, MachineName, RunAsk, RunAskRefusal, RunAsker, RunNews};
use crate::domain::runs::RunId;
use crate::store::error::{ParseError, StoreError};
use crate::store::handles::RemoteRecords;
use crate::store::wire::link_runs::{AskKeys, AskerKeys, NewsKeys, PushKeys, RefusalKeys};
use crate::store::wire::{pretty, time};
use crate::sys::files::{self, Published};
use crate::sys::flock::FileLock;
use crate::sys::random;

/// The largest file that is read.
const MAX_FILE: u64 = 4 * 1024 * 1024;

/// A run that somebody here asked another machine for.
#[derive(Clone, Debug, PartialEq)]
pub struct RunAskedElsewhere {
    pub machine: MachineName,
    pub ask: RunAsk,
    /// The work tree that it was asked for in.
    pub root: String,
    pub at: Timestamp,
}

/// What is known of such a run.
#[derive(Clone, Debug, PartialEq)]
pub enum RunAnswer {
    Refused(RunAskRefusal),
    News(Box<RunNews>),
}

/// A wish to stop it.
#[derive(Clone, Debug, PartialEq)]
pub struct StopWish {
    pub by: RunAsker,
    pub is_now: bool,
}

/// A run that another machine asked this one for.
#[derive(Clone, Debug, PartialEq)]
pub struct RunAskedHere {
    pub machine: MachineName,
    pub ask: RunAsk,
    /// When the server had the request, by its clock, and how far that is ahead of ours.
    pub stored_at: Timestamp,
    pub offset_millis: i64,
}

/// What was decided about it.
#[derive(Clone, Debug, PartialEq)]
pub enum RunDecision {
    Refused(RunAskRefusal),
    Run(RunId),
}

/// The last news that the other machine was told.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ToldNews {
    pub number: u64,
    /// A hash of what was told.
    pub hash: String,
    /// Whether nothing more will be told.
    pub is_last: bool,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct ElsewhereKeys {
    machine: String,
    root: String,
    #[serde(with = "time")]
    at: Timestamp,
    ask: AskKeys,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct HereKeys {
    #[serde(with = "time")]
    stored_at: Timestamp,
    offset_millis: i64,
    ask: AskKeys,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
enum AnswerKeys {
    Refused(RefusalKeys),
    News(Box<NewsKeys>),
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
enum DecisionKeys {
    Refused(RefusalKeys),
    Run(String),
}

#[derive(Deserialize, Serialize)]
struct StopKeys {
    by: AskerKeys,
    now: bool,
    /// What nobody else can guess.
    #[serde(default)]
    mark: String,
}

impl StopKeys {
    fn of(wish: &StopWish) -> Self {
        let mark = random::uuid().simple().to_string();
        Self { by: AskerKeys::of(&wish.by), now: wish.is_now, mark }
    }
}

/// Which of the two kinds, and which run.
#[derive(Clone, Copy, Debug)]
enum Place<'a> {
    Elsewhere(&'a RunId),
    Here(&'a MachineName, &'a RunId),
}

/// Runs that somebody here asked another machine for.
impl RemoteRecords<'_> {
    /// Writes down what is about to be asked.
    pub fn put_run(self, run: &RunAskedElsewhere) -> Result<(), StoreError> {
        self.mesh.tighten()?;
        files::create_dir(&self.place(Place::Elsewhere(&run.ask.id)))?;
        let keys = ElsewhereKeys {
            machine: run.machine.to_string(),
            root: run.root.clone(),
            at: run.at,
            ask: AskKeys::of(&run.ask),
        };
        self.write(Place::Elsewhere(&run.ask.id), "ask.json", &pretty(&keys))
    }

    /// What was asked; `None` if there is no such run.
    pub fn run(self, id: &RunId) -> Result<Option<RunAskedElsewhere>, StoreError> {
        let Some(keys) = self.read::<ElsewhereKeys>(Place::Elsewhere(id), "ask.json")? else {
            return Ok(None);
        };
        let read = || -> Result<RunAskedElsewhere, ParseError> {
            let ElsewhereKeys { machine, root, at, ask } = keys;
            let machine = MachineName::new(machine).map_err(ParseError::new)?;
            Ok(RunAskedElsewhere { machine, root, at, ask: ask.read()? })
        };
        read().map(Some).map_err(|error| self.corrupt(Place::Elsewhere(id), "ask.json", &error))
    }

    /// The ids of all of them, in no order.
    pub fn run_ids(self) -> Result<Vec<RunId>, StoreError> {
        let names = files::list(&self.mesh.layout.remote("runs"))?;
        Ok(names.iter().filter_map(|name| RunId::new(name).ok()).collect())
    }

    /// The server has the request, at that time.
    pub fn note_asked(self, id: &RunId, at: Timestamp) -> Result<(), StoreError> {
        self.write(Place::Elsewhere(id), "sent", at.to_string().as_bytes())
    }

    /// Since when the server has the request; `None`: it does not have it.
    pub fn asked_since(self, id: &RunId) -> Result<Option<Timestamp>, StoreError> {
        let content = files::read_note(&self.file(Place::Elsewhere(id), "sent"))?;
        Ok(content.and_then(|content| String::from_utf8(content).ok()?.parse().ok()))
    }

    /// What is known of it now.
    pub fn put_answer(self, id: &RunId, answer: &RunAnswer) -> Result<(), StoreError> {
        let place = Place::Elsewhere(id);
        let keys = match answer {
            RunAnswer::Refused(refusal) => AnswerKeys::Refused(RefusalKeys::of(refusal)),
            RunAnswer::News(news) => {
                // First: whoever waits for the end finds them.
                for (name, text) in [("output", &news.log), ("errors", &news.errors)] {
                    text.iter().try_for_each(|text| self.write(place, name, text.as_bytes()))?;
                }
                let short = RunNews { log: None, errors: None, ..(**news).clone() };
                AnswerKeys::News(Box::new(NewsKeys::of(&short)))
            }
        };
        self.write(place, "news.json", &pretty(&keys))
    }

    pub fn answer(self, id: &RunId) -> Result<Option<RunAnswer>, StoreError> {
        let Some(keys) = self.read::<AnswerKeys>(Place::Elsewhere(id), "news.json")? else { return Ok(None) };
        let answer = match keys {
            AnswerKeys::Refused(keys) => Ok(RunAnswer::Refused(keys.read())),
            AnswerKeys::News(keys) => keys.read().map(|news| RunAnswer::News(Box::new(news))),
        };
        answer.map(Some).map_err(|error| self.corrupt(Place::Elsewhere(id), "news.json", &error))
    }

    /// The end of what its worker printed, or of its errors, and whether it was told at all.
    pub fn run_log(self, id: &RunId, name: &str) -> Result<Option<String>, StoreError> {
        let content = files::read_at_most(&self.file(Place::Elsewhere(id), name), MAX_FILE)?.content();
        Ok(content.map(|content| String::from_utf8_lossy(&content).into_owned()))
    }

    /// Asks the other machine for the end of the log. What was told before counts no more.
    pub fn want_log(self, id: &RunId) -> Result<(), StoreError> {
        for name in ["output", "errors"] {
            files::remove(&self.file(Place::Elsewhere(id), name))?;
        }
        self.write(Place::Elsewhere(id), "log-wanted", b"")
    }

    pub fn is_log_wanted(self, id: &RunId) -> Result<bool, StoreError> {
        Ok(files::exists(&self.file(Place::Elsewhere(id), "log-wanted"))?)
    }

    pub fn note_log_asked(self, id: &RunId) -> Result<(), StoreError> {
        files::remove(&self.file(Place::Elsewhere(id), "log-wanted"))?;
        Ok(())
    }

    /// Asks the other machine to stop it.
    pub fn want_stop(self, id: &RunId, wish: &StopWish) -> Result<(), StoreError> {
        self.write(Place::Elsewhere(id), "stop.json", &pretty(&StopKeys::of(wish)))
    }

    /// The wish to stop it that the server does not have yet, and a mark of it that no other wish has and nobody can guess.
    pub fn stop_wish(self, id: &RunId) -> Result<Option<(StopWish, String)>, StoreError> {
        self.stop_at(Place::Elsewhere(id))
    }

    pub fn note_stop_sent(self, id: &RunId) -> Result<(), StoreError> {
        let place = Place::Elsewhere(id);
        self.mesh.files.take(&self.file(place, "stop.json"), &self.file(place, "stopped"))?;
        Ok(())
    }

    pub fn note_end_told(self, id: &RunId) -> Result<(), StoreError> {
        self.write(Place::Elsewhere(id), "told", b"")
    }

    /// There is an end to tell after all: the run was given up, and there is one nevertheless.
    pub fn note_end_open(self, id: &RunId) -> Result<(), StoreError> {
        files::remove(&self.file(Place::Elsewhere(id), "told"))?;
        Ok(())
    }

    pub fn is_end_told(self, id: &RunId) -> Result<bool, StoreError> {
        Ok(files::exists(&self.file(Place::Elsewhere(id), "told"))?)
    }

    /// Forgets the run.
    pub fn forget_run(self, id: &RunId) -> Result<(), StoreError> {
        Ok(files::remove_tree(&self.place(Place::Elsewhere(id)))?)
    }

    /// The directory that changes with what is known of the run.
    pub(in crate::store) fn run_directory(self, id: &RunId) -> std::path::PathBuf {
        self.place(Place::Elsewhere(id))
    }
}

/// Runs that other machines asked this one for.
impl RemoteRecords<'_> {
    /// Writes the request down. One that is known stays as it is.
    pub fn take_ask(self, run: &RunAskedHere) -> Result<(), StoreError> {
        self.mesh.tighten()?;
        let place = Place::Here(&run.machine, &run.ask.id);
        files::create_dir(&self.place(place))?;
        let keys = HereKeys {
            stored_at: run.stored_at,
            offset_millis: run.offset_millis,
            ask: AskKeys::of(&run.ask),
        };
        let path = self.file(place, "ask.json");
        let (Published::Done | Published::Exists) = self.mesh.files.publish(&path, &pretty(&keys))?;
        Ok(())
    }

    /// The request; `None` if there is none.
    pub fn asked(self, machine: &MachineName, id: &RunId) -> Result<Option<RunAskedHere>, StoreError> {
        let place = Place::Here(machine, id);
        let Some(keys) = self.read::<HereKeys>(place, "ask.json")? else { return Ok(None) };
        let HereKeys { stored_at, offset_millis, ask } = keys;
        let ask = ask.read().map_err(|error| self.corrupt(place, "ask.json", &error))?;
        Ok(Some(RunAskedHere { machine: machine.clone(), ask, stored_at, offset_millis }))
    }

    /// Every request about which the other machine was not told the last word.
    pub fn open_asked(self) -> Result<Vec<(MachineName, RunId)>, StoreError> {
        let root = self.mesh.layout.remote("asked");
        let mut open = Vec::new();
        for machine in files::list(&root)? {
            let Ok(machine) = MachineName::new(machine) else { continue };
            for name in files::list(&root.join(machine.as_str()))? {
                let Ok(id) = RunId::new(&name) else { continue };
                if !self.told_news(&machine, &id)?.is_last {
                    open.push((machine.clone(), id));
                }
            }
        }
        Ok(open)
    }

    /// The right to decide about the request; `None`: another process has it.
    pub fn try_lock_asked(self, machine: &MachineName, id: &RunId) -> Result<Option<FileLock>, StoreError> {
        Ok(FileLock::try_acquire(&self.file(Place::Here(machine, id), "lock"))?)
    }

    /// Counts another process that decides about it. Returns how many there were before.
    pub fn count_try(self, machine: &MachineName, id: &RunId) -> Result<u32, StoreError> {
        let place = Place::Here(machine, id);
        let content = files::read_note(&self.file(place, "tries"))?.unwrap_or_default();
        let before = String::from_utf8_lossy(&content).trim().parse().unwrap_or(0);
        self.write(place, "tries", (before + 1_u32).to_string().as_bytes())?;
        Ok(before)
    }

    /// What was decided. The first decision counts.
    pub fn decide_asked(
        self,
        machine: &MachineName,
        id: &RunId,
        decision: &RunDecision,
    ) -> Result<(), StoreError> {
        let keys = match decision {
            RunDecision::Refused(refusal) => DecisionKeys::Refused(RefusalKeys::of(refusal)),
            RunDecision::Run(run) => DecisionKeys::Run(run.to_string()),
        };
        let path = self.file(Place::Here(machine, id), "answer.json");
        let (Published::Done | Published::Exists) = self.mesh.files.publish(&path, &pretty(&keys))?;
        Ok(())
    }

    pub fn decision(self, machine: &MachineName, id: &RunId) -> Result<Option<RunDecision>, StoreError> {
        let place = Place::Here(machine, id);
        let Some(keys) = self.read::<DecisionKeys>(place, "answer.json")? else { return Ok(None) };
        Ok(Some(match keys {
            DecisionKeys::Refused(keys) => RunDecision::Refused(keys.read()),
            DecisionKeys::Run(run) => {
                let run = RunId::new(&run).map_err(ParseError::new);
                RunDecision::Run(run.map_err(|error| self.corrupt(place, "answer.json", &error))?)
            }
        }))
    }

    /// What became of the branch with its work.
    pub fn put_push(self, machine: &MachineName, id: &RunId, push: &BranchPush) -> Result<(), StoreError> {
        let BranchPush { remote, problem } = push.clone();
        self.write(Place::Here(machine, id), "push.json", &pretty(&PushKeys { remote, problem }))
    }

    pub fn push(self, machine: &MachineName, id: &RunId) -> Result<Option<BranchPush>, StoreError> {
        let keys = self.read::<PushKeys>(Place::Here(machine, id), "push.json")?;
        Ok(keys.map(PushKeys::read))
    }

    /// The other machine knows this.
    pub fn note_news_told(
        self,
        machine: &MachineName,
        id: &RunId,
        told: &ToldNews,
    ) -> Result<(), StoreError> {
        self.write(Place::Here(machine, id), "told.json", &pretty(told))
    }

    pub fn told_news(self, machine: &MachineName, id: &RunId) -> Result<ToldNews, StoreError> {
        // One that can't be read is told again.
        Ok(self.read(Place::Here(machine, id), "told.json")?.unwrap_or_default())
    }

    /// The other machine wants it to be stopped.
    pub fn put_stop_here(self, machine: &MachineName, id: &RunId, wish: &StopWish) -> Result<(), StoreError> {
        self.write(Place::Here(machine, id), "stop.json", &pretty(&StopKeys::of(wish)))
    }

    pub fn stop_here(self, machine: &MachineName, id: &RunId) -> Result<Option<StopWish>, StoreError> {
        Ok(self.stop_at(Place::Here(machine, id))?.map(|(wish, _)| wish))
    }

    /// The other machine wants the end of the log with the next news.
    pub fn put_log_wanted(self, machine: &MachineName, id: &RunId) -> Result<(), StoreError> {
        self.write(Place::Here(machine, id), "log-wanted", b"")
    }

    pub fn is_log_wanted_here(self, machine: &MachineName, id: &RunId) -> Result<bool, StoreError> {
        Ok(files::exists(&self.file(Place::Here(machine, id), "log-wanted"))?)
    }

    pub fn note_log_told(self, machine: &MachineName, id: &RunId) -> Result<(), StoreError> {
        files::remove(&self.file(Place::Here(machine, id), "log-wanted"))?;
        Ok(())
    }

    /// Forgets requests about which everything was told, and runs elsewhere that have ended, if they are older than that.
    pub fn prune_runs(self, oldest: Timestamp) -> Result<(), StoreError> {
        let root = self.mesh.layout.remote("asked");
        for machine in files::list(&root)? {
            let Ok(machine) = MachineName::new(machine) else { continue };
            for name in files::list(&root.join(machine.as_str()))? {
                let Ok(id) = RunId::new(&name) else { continue };
                let is_old = self.asked(&machine, &id)?.is_none_or(|asked| asked.stored_at < oldest);
                if is_old && self.told_news(&machine, &id)?.is_last {
                    files::remove_tree(&self.place(Place::Here(&machine, &id)))?;
                }
            }
        }
        for id in self.run_ids()? {
            if self.is_end_told(&id)? && self.run(&id)?.is_none_or(|run| run.at < oldest) {
                self.forget_run(&id)?;
            }
        }
        Ok(())
    }
}

impl RemoteRecords<'_> {
    fn place(self, place: Place<'_>) -> std::path::PathBuf {
        match place {
            Place::Elsewhere(id) => self.mesh.layout.remote("runs").join(id.as_str()),
            Place::Here(machine, id) => {
                self.mesh.layout.remote("asked").join(machine.as_str()).join(id.as_str())
            }
        }
    }

    fn file(self, place: Place<'_>, name: &str) -> std::path::PathBuf {
        self.place(place).join(name)
    }

    /// Writes a file in one step. Of a run that is forgotten, nothing is written.
    fn write(self, place: Place<'_>, name: &str, content: &[u8]) -> Result<(), StoreError> {
        if !files::exists(&self.place(place))? {
            return Ok(());
        }
        Ok(self.mesh.files.replace(&self.file(place, name), content)?)
    }

    fn read<T: DeserializeOwned>(self, place: Place<'_>, name: &str) -> Result<Option<T>, StoreError> {
        let Some(bytes) = files::read_at_most(&self.file(place, name), MAX_FILE)?.content() else {
            return Ok(None);
        };
        serde_json::from_slice(&bytes).map(Some).map_err(|error| self.corrupt(place, name, &error))
    }

    fn stop_at(self, place: Place<'_>) -> Result<Option<(StopWish, String)>, StoreError> {
        let Some(StopKeys { by, now, mark }) = self.read(place, "stop.json")? else { return Ok(None) };
        let by = by.read().map_err(|error| self.corrupt(place, "stop.json", &error))?;
        Ok(Some((StopWish { by, is_now: now }, mark)))
    }

    fn corrupt(self, place: Place<'_>, name: &str, error: &impl ToString) -> StoreError {
        StoreError::Corrupt { path: self.file(place, name), reason: error.to_string() }
    }
}
