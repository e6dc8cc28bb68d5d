//! What others hear of a run while it goes on: a line of the feed for each step that matters, and the command of the
//! setting `notify` for each change of its state.

use std::path::Path;
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Sender, bounded, unbounded};
use serde_json::json;

use crate::domain::EventKind;
use crate::domain::alert::{AlertKind, AlertWay, QuietHours};
use crate::domain::runs::{Run, RunId, RunState};
use crate::domain::settings::Settings;
use crate::store::iso;
use crate::sys::signals::StopRequest;
use crate::sys::{clock, time_zone};

use crate::ops::alerts::{AlertFailure, run_command};
use crate::ops::effects::Op;
use crate::ops::runner::carry_out;

/// How long the end of a run waits for a command that was begun before.
const GRACE: Duration = Duration::from_secs(2);
/// How much of a task and of a reason a line of the feed has, in characters.
const MOST_WORDS: usize = 60;

/// Stands for a person who has not joined.
const PERSON: &str = "person";

/// Tells the feed that a run has changed from the state `before`.
pub(super) fn tell_feed(op: &Op, run: &Run, before: RunState) {
    let reason = || run.reason.as_deref().map(|reason| shortened(reason, MOST_WORDS)).unwrap_or_default();
    let task = format!("{}: {}", run.profile, run.title(MOST_WORDS));
    let (kind, preview) = match run.state {
        RunState::Running if before == RunState::Starting => (EventKind::RunStarted, task),
        RunState::Waiting => {
            let question = run.remark().unwrap_or_default();
            (EventKind::RunWaiting, shortened(&question, MOST_WORDS))
        }
        RunState::Limited => (EventKind::RunLimited, reason()),
        RunState::Done => (EventKind::RunEnded, format!("{}, {task}", run.outcome())),
        state if state.is_final() => {
            (EventKind::RunEnded, format!("{}, {}", run.outcome(), or(reason(), task)))
        }
        _ => return,
    };
    op.feed_run(kind, &teller(run), run.id.as_str(), &preview);
    // A supervisor lives as long as its run; others hear of this now.
    carry_out(op);
}

fn or(first: String, second: String) -> String {
    if first.is_empty() { second } else { first }
}

fn shortened(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

/// The agent whose run it is, or the person.
fn teller(run: &Run) -> String {
    run.parent.agent.as_ref().map_or_else(|| PERSON.to_string(), ToString::to_string)
}

/// Runs the command of the setting `notify`, one change after the other, in a thread of its own. It gets the id of the
/// run and its state as its last two arguments; nothing that a worker wrote reaches it.
#[derive(Debug)]
pub(super) struct Notifier {
    changes: Sender<NotifyStep>,
    thread: JoinHandle<Vec<String>>,
}

/// What the thread does next.
#[derive(Debug)]
enum NotifyStep {
    Tell(RunState),
    /// Answers when everything before it is done.
    Answer(Sender<()>),
}

/// Which command it is, and what it hears of.
#[derive(Debug)]
struct RunCommand {
    words: Vec<String>,
    scope: RunCommandScope,
}

/// What a command hears of.
#[derive(Debug)]
enum RunCommandScope {
    /// The plain command in `notify`.
    EveryChange,
    /// `notifyCommand`, which does not hear of it in quiet hours.
    Ends { quiet: Option<QuietHours> },
}

impl RunCommand {
    fn of(settings: &Settings) -> Option<Self> {
        let is_told = settings.ways_of(AlertKind::Runs).is_some_and(|ways| ways.contains(&AlertWay::Command));
        let (words, scope) = match is_told {
            true => {
                (settings.notify_command(), RunCommandScope::Ends { quiet: settings.quiet_hours().cloned() })
            }
            false => (settings.run_command(), RunCommandScope::EveryChange),
        };
        (!words.is_empty()).then(|| Self { words: words.to_vec(), scope })
    }

    fn hears_of(&self, state: RunState) -> bool {
        let RunCommandScope::Ends { quiet } = &self.scope else { return true };
        let local = clock::now().to_zoned(time_zone::user_zone().clone()).time();
        state.is_final()
            && !quiet.as_ref().is_some_and(|hours| hours.is_silent_for(&[AlertKind::Runs], local))
    }

    fn run(&self, dir: &Path, run: &RunId, state: RunState, stop: &StopRequest) -> Result<(), AlertFailure> {
        let line = format!("run {run} has ended: {}", state.name());
        let json = json!({ "kind": AlertKind::Runs.name(), "at": iso(clock::now()), "from": "msg", "id": run.as_str(), "line": line, "state": state.name() });
        let mut words = self.words.clone();
        words.extend([run.to_string(), state.name().to_string()]);
        run_command(&words, dir, (&line, &json.to_string()), stop)
    }
}

impl Notifier {
    /// `None` without that setting.
    pub(super) fn start(op: &Op, run: &RunId) -> Option<Self> {
        let command = RunCommand::of(&op.settings)?;
        let (dir, run) = (op.home.home.clone(), run.clone());
        let (changes, queue) = unbounded::<NotifyStep>();
        let work = move || {
            let (never, _trigger) = StopRequest::manual();
            let mut failures = Vec::new();
            for step in queue {
                let state = match step {
                    NotifyStep::Tell(state) if command.hears_of(state) => state,
                    NotifyStep::Tell(_) => continue,
                    NotifyStep::Answer(waiter) => {
                        drop(waiter);
                        continue;
                    }
                };
                if let Err(reason) = command.run(&dir, &run, state, &never) {
                    failures.push(format!("the command of `notify` failed for {}: {reason}", state.name()));
                }
            }
            failures
        };
        let thread = std::thread::Builder::new().name("notify".to_string()).spawn(work);
        thread.ok().map(|thread| Self { changes, thread })
    }

    pub(super) fn tell(&self, state: RunState) {
        // It ends only after us.
        drop(self.changes.send(NotifyStep::Tell(state)));
    }

    /// Waits until every change so far was told, or until [`GRACE`] is over.
    pub(super) fn wait(&self) {
        let (waiter, answer) = bounded(0);
        drop(self.changes.send(NotifyStep::Answer(waiter)));
        // It answers by dropping its end.
        let _ = answer.recv_timeout(GRACE);
    }

    /// Waits until every change was told. Returns what failed.
    pub(super) fn finish(self) -> Vec<String> {
        drop(self.changes);
        self.thread.join().unwrap_or_default()
    }
}
