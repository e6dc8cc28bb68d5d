//! The thread that reads the runs for the tab *Runs*, and that stops one. The ledger has a file for each run, so the
//! drawing does not wait for it.
//!
//! It reads only what is on the screen: when that changes, and every second, because a run's progress does. It asks
//! tmux for the screen of a worker only while its run is shown in full. If nothing of it is on the screen, the thread waits.

use std::time::Duration;

use crossbeam_channel::{Receiver, Sender};

use crate::ops::runs::elsewhere::listing::{all_runs, find_anywhere};
use crate::ops::runs::list::RunScope;
use crate::ops::runs::stop::stop;
use crate::ops::screens::glance::glance_at_run;
use crate::ops::{CommandError, CommandErrorKind, GlobalOptions, Op};
use crate::store::StopUrgency;
use crate::sys::clock;

use super::model::{RunDetail, RunItem};
use super::runs_state::{RunsCall, RunsFocus};
use super::state::ChatUpdate;
use super::tab_thread::{self, TabLink, TabReader};
use super::to_model;

/// How often a run's progress is read.
const INTERVAL: Duration = Duration::from_secs(1);

/// Works until the channel is closed, and has then done what was asked for before.
pub(super) fn work(globals: &GlobalOptions, calls: &Receiver<RunsCall>, news: &Sender<ChatUpdate>) {
    let reader = RunsReader { focus: RunsFocus::Nothing, link: TabLink::new(globals, news) };
    tab_thread::work(reader, calls, INTERVAL);
}

struct RunsReader<'a> {
    focus: RunsFocus,
    link: TabLink<'a, RunsNews>,
}

#[derive(Clone, Debug, PartialEq)]
enum RunsNews {
    List(Vec<RunItem>),
    Detail(String, Option<Box<RunDetail>>),
}

impl TabReader for RunsReader<'_> {
    type Call = RunsCall;

    fn is_on_screen(&self) -> bool {
        !matches!(self.focus, RunsFocus::Nothing)
    }

    fn take(&mut self, call: RunsCall) {
        let link = &mut self.link;
        match call {
            RunsCall::Show(focus) => {
                self.focus = focus;
                link.set_told(None);
            }
            RunsCall::Stop(id) => match link.with_op(|op| stop(op, &id, StopUrgency::WrapUp)) {
                Ok(_) => link.tell(ChatUpdate::Sent(format!("run {id} is told to wrap up"))),
                // It has just ended by itself.
                Err(error) if error.kind == CommandErrorKind::NotRunning => {
                    link.tell(ChatUpdate::Sent(format!("run {id} has ended")));
                }
                Err(error) => link.tell(ChatUpdate::Notice(to_model::error_line(&error))),
            },
        }
    }

    fn read(&mut self) {
        let seen = match self.focus.clone() {
            RunsFocus::Nothing => return,
            RunsFocus::List => self.link.with_op(list),
            RunsFocus::Run(id) => self.link.with_op(|op| detail(op, id)),
        };
        self.link.pass_on(seen, |seen| match seen {
            RunsNews::List(list) => ChatUpdate::Runs(list),
            RunsNews::Detail(id, detail) => ChatUpdate::Run { id, detail },
        });
    }
}

fn list(op: &Op) -> Result<RunsNews, CommandError> {
    let mut runs = all_runs(op, RunScope::Recent)?;
    runs.sort_by_key(crate::domain::runs::Run::rank);
    let now = clock::now();
    Ok(RunsNews::List(runs.iter().map(|run| to_model::run_item(run, now)).collect()))
}

fn detail(op: &Op, id: String) -> Result<RunsNews, CommandError> {
    let detail = match find_anywhere(op, &id) {
        Ok(run) => {
            // Whatever is wrong with tmux, the run is shown.
            let glance = glance_at_run(op, &run).unwrap_or_else(|error| {
                op.warn(to_model::error_line(&error));
                None
            });
            let sight = glance.map(|glance| to_model::sight(run.id.as_str(), &glance));
            Some(Box::new(to_model::run_detail(&run, sight, clock::now())))
        }
        Err(error) if error.kind == CommandErrorKind::UnknownRun => None,
        Err(error) => return Err(error),
    };
    Ok(RunsNews::Detail(id, detail))
}
