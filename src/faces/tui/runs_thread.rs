//! The thread that reads the runs for the tab *Runs*, and that stops one. The ledger has a file for each run, so the
//! drawing does not wait for it.
//!
//! It reads only what is on the screen: when that changes, and every second, because a run's progress does. If nothing of
//! it is on the screen, the thread waits.

use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};

use crate::ops::runs::list::{RunScope, find, runs};
use crate::ops::runs::stop::stop;
use crate::ops::{CommandError, CommandErrorKind, Context, GlobalOptions, Op, run};
use crate::store::StopUrgency;
use crate::sys::{clock, test_switches};

use super::model::{RunDetail, RunItem};
use super::notice_filter::NoticeFilter;
use super::runs_state::{RunsCall, RunsFocus};
use super::state::ChatUpdate;
use super::to_model;

/// Works until the channel is closed, and has then done what was asked for before.
pub(super) fn work(globals: &GlobalOptions, calls: &Receiver<RunsCall>, news: &Sender<ChatUpdate>) {
    let interval = test_switches::value(test_switches::LOOK_MS).and_then(|text| text.parse().ok());
    let interval = Duration::from_millis(interval.unwrap_or(1_000));
    let notices = NoticeFilter::default();
    let mut reader = RunsReader { globals, news, focus: RunsFocus::Nothing, told: None, notices };
    loop {
        let call = match reader.focus {
            RunsFocus::Nothing => calls.recv().map_err(|_| RecvTimeoutError::Disconnected),
            _ => calls.recv_timeout(interval),
        };
        match call {
            Ok(first) => std::iter::once(first).chain(calls.try_iter()).for_each(|call| reader.take(call)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        reader.read();
    }
}

struct RunsReader<'a> {
    globals: &'a GlobalOptions,
    news: &'a Sender<ChatUpdate>,
    focus: RunsFocus,
    /// What the screen shows.
    told: Option<RunsNews>,
    notices: NoticeFilter,
}

#[derive(Clone, Debug, PartialEq)]
enum RunsNews {
    List(Vec<RunItem>),
    Detail(String, Option<RunDetail>),
}

impl RunsReader<'_> {
    fn take(&mut self, call: RunsCall) {
        match call {
            RunsCall::Show(focus) => {
                self.focus = focus;
                self.told = None;
            }
            RunsCall::Stop(id) => match self.with_op(|op| stop(op, &id, StopUrgency::WrapUp)) {
                Ok(_) => self.tell(ChatUpdate::Sent(format!("run {id} is told to wrap up"))),
                // It has just ended by itself.
                Err(error) if error.kind == CommandErrorKind::NotRunning => {
                    self.tell(ChatUpdate::Sent(format!("run {id} has ended")));
                }
                Err(error) => self.tell(ChatUpdate::Notice(to_model::error_line(&error))),
            },
        }
    }

    fn tell(&self, news: ChatUpdate) {
        // If nobody listens any more, the next wait says so.
        drop(self.news.send(news));
    }

    fn notice(&mut self, text: String) {
        if self.notices.is_new(&text) {
            self.tell(ChatUpdate::Notice(text));
        }
    }

    fn with_op<T>(&mut self, work: impl FnOnce(&Op) -> Result<T, CommandError>) -> Result<T, CommandError> {
        let (done, warnings) = run(Context::new(self.globals.clone())?, work).into_parts();
        warnings.into_iter().for_each(|text| self.notice(text));
        done
    }

    fn read(&mut self) {
        let seen = match self.focus.clone() {
            RunsFocus::Nothing => return,
            RunsFocus::List => self.with_op(list),
            RunsFocus::Run(id) => self.with_op(|op| detail(op, id)),
        };
        match seen {
            Ok(seen) if self.told.as_ref() != Some(&seen) => {
                self.told = Some(seen.clone());
                self.tell(match seen {
                    RunsNews::List(list) => ChatUpdate::Runs(list),
                    RunsNews::Detail(id, detail) => ChatUpdate::Run { id, detail: detail.map(Box::new) },
                });
            }
            Ok(_) => {}
            Err(error) => self.notice(to_model::error_line(&error)),
        }
        self.notices.end_try();
    }
}

fn list(op: &Op) -> Result<RunsNews, CommandError> {
    let mut runs = runs(op, RunScope::Recent)?;
    runs.sort_by_key(crate::domain::runs::Run::rank);
    let now = clock::now();
    Ok(RunsNews::List(runs.iter().map(|run| to_model::run_item(run, now)).collect()))
}

fn detail(op: &Op, id: String) -> Result<RunsNews, CommandError> {
    let detail = match find(op, &id) {
        Ok(run) => Some(to_model::run_detail(&run, clock::now())),
        Err(error) if error.kind == CommandErrorKind::UnknownRun => None,
        Err(error) => return Err(error),
    };
    Ok(RunsNews::Detail(id, detail))
}
