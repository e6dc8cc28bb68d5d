//! Tells alerts in a thread of its own: whoever watches never waits for a command or for tmux.

use std::collections::HashSet;
use std::io;
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};

use crate::domain::alert::{Alert, AlertWay};
use crate::sys::signals::{StopRequest, StopTrigger};

use super::picker::DueAlert;
use super::ways::{AlertFailure, AlertTools};

/// How many batches may wait. What comes while so many wait is not told.
const MOST_WAITING: usize = 256;
/// How long the end of a watch waits for a command that was begun before.
const GRACE: Duration = Duration::from_secs(2);

/// Writes to the terminal of the person.
pub type TerminalWriter = Box<dyn Fn(&str) + Send>;

/// Takes alerts for a teller; may be used by several threads.
#[derive(Clone, Debug)]
pub struct AlertQueue(Sender<Vec<DueAlert>>);

impl AlertQueue {
    /// Hands alerts over. Returns at once.
    pub fn tell(&self, due: Vec<DueAlert>) {
        if due.is_empty() {
            return;
        }
        // So many wait that one more notification is of no use; or the teller has ended, and the watch with it.
        let (Ok(()) | Err(TrySendError::Full(_) | TrySendError::Disconnected(_))) = self.0.try_send(due);
    }
}

/// The thread that tells. When this is dropped, it ends after what it is doing, or after a grace.
#[derive(Debug)]
pub struct AlertTeller {
    queue: Option<AlertQueue>,
    thread: Option<JoinHandle<()>>,
    /// Is closed when the thread ends.
    ended: Receiver<()>,
    trigger: StopTrigger,
}

impl AlertTeller {
    /// `complain` is told once for each way that fails.
    pub fn start(
        tools: AlertTools,
        terminal: TerminalWriter,
        complain: Box<dyn Fn(String) + Send>,
    ) -> io::Result<Self> {
        let (sender, alerts) = bounded::<Vec<DueAlert>>(MOST_WAITING);
        let (ending, ended) = bounded::<()>(0);
        let (stop, trigger) = StopRequest::manual();
        let work = move || {
            let _ending = ending;
            let mut failed = HashSet::new();
            for batch in &alerts {
                // One signal for all that has come meanwhile.
                let batch: Vec<DueAlert> = batch.into_iter().chain(alerts.try_iter().flatten()).collect();
                for (way, reason) in tell_batch(&tools, &batch, &*terminal, &stop) {
                    if failed.insert(way) {
                        complain(format!("`notify` can't use the way `{}`: {reason}", way.name()));
                    }
                }
            }
        };
        let thread = std::thread::Builder::new().name("alerts".to_string()).spawn(work)?;
        Ok(Self { queue: Some(AlertQueue(sender)), thread: Some(thread), ended, trigger })
    }

    /// Hands alerts over. Returns at once.
    pub fn tell(&self, due: Vec<DueAlert>) {
        if let Some(queue) = &self.queue {
            queue.tell(due);
        }
    }

    /// For another thread, which has to end before this is dropped.
    pub fn queue(&self) -> Option<AlertQueue> {
        self.queue.clone()
    }
}

impl Drop for AlertTeller {
    fn drop(&mut self) {
        self.queue = None;
        // It answers by dropping its end.
        let _ = self.ended.recv_timeout(GRACE);
        self.trigger.trigger();
        // A panic of it was printed already.
        drop(self.thread.take().map(JoinHandle::join));
    }
}

/// Tells a batch, each way once. Returns the ways that failed, and why.
fn tell_batch(
    tools: &AlertTools,
    batch: &[DueAlert],
    terminal: &dyn Fn(&str),
    stop: &StopRequest,
) -> Vec<(AlertWay, AlertFailure)> {
    let told = AlertWay::ALL.into_iter().filter_map(|way| {
        let alerts: Vec<&Alert> =
            batch.iter().filter(|due| due.ways.contains(&way)).map(|due| &due.alert).collect();
        if alerts.is_empty() || stop.is_requested() {
            return None;
        }
        tools.tell(way, &alerts, terminal, stop).err().map(|reason| (way, reason))
    });
    told.collect()
}
