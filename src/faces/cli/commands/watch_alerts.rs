//! What `msg watch` tells a person at a terminal besides the messages: the setting `notify`.

use std::cell::OnceCell;
use std::thread::JoinHandle;

use crate::domain::Agent;
use crate::faces::cli::output::Ui;
use crate::ops::alerts::{AlertPicker, AlertQueue, AlertTeller, AlertTools};
use crate::ops::{self, CommandError, Context, GlobalOptions, Op, RenderedMessage};
use crate::sys::files::FileError;
use crate::sys::signals::{StopRequest, StopTrigger};

/// Tells alerts as long as it lives; nothing where nobody is to be told.
pub(super) struct WatchAlerts(Option<ActiveAlerts>);

struct ActiveAlerts {
    picker: AlertPicker,
    /// Ends before the teller, which waits for nobody else then.
    feed: Option<FeedThread>,
    teller: AlertTeller,
    /// Who watches, as it was at the first message.
    reader: OnceCell<Option<Agent>>,
}

impl WatchAlerts {
    /// Nobody is told inside a harness, or if standard output is not a terminal.
    pub(super) fn start(op: &Op, ui: &Ui, globals: &GlobalOptions) -> Result<Self, CommandError> {
        let Some(picker) = AlertPicker::open(op).filter(|_| ui.is_terminal()) else { return Ok(Self(None)) };
        let (terminal, notes) = (ui.twin(), ui.twin());
        let teller = AlertTeller::start(
            AlertTools::of(op),
            Box::new(move |sequence| terminal.signal_terminal(sequence)),
            Box::new(move |text| notes.note(&text)),
        )
        .map_err(FileError::from)?;
        let feed = match teller.queue().filter(|_| AlertPicker::needs_feed(op)) {
            Some(queue) => Some(FeedThread::start(picker.clone(), globals.clone(), queue, ui.twin())?),
            None => None,
        };
        Ok(Self(Some(ActiveAlerts { picker, feed, teller, reader: OnceCell::new() })))
    }

    /// Tells of messages that are about to be handed over.
    pub(super) fn tell_of(&self, op: &Op, messages: &[RenderedMessage]) {
        let Some(active) = &self.0 else { return };
        let reader = active.reader.get_or_init(|| ops::caller(op).ok().map(|(_, caller)| caller.agent));
        if let Some(agent) = reader {
            let mail = messages.iter().map(|rendered| (&rendered.message, rendered.short_id.as_str()));
            active.teller.tell(active.picker.of_mail(op, agent, mail));
        }
    }
}

impl Drop for WatchAlerts {
    fn drop(&mut self) {
        if let Some(active) = &mut self.0 {
            drop(active.feed.take());
        }
    }
}

/// Follows the feed beside the inbox.
struct FeedThread {
    trigger: StopTrigger,
    thread: Option<JoinHandle<()>>,
}

impl FeedThread {
    fn start(
        picker: AlertPicker,
        globals: GlobalOptions,
        queue: AlertQueue,
        ui: Ui,
    ) -> Result<Self, CommandError> {
        let (stop, trigger) = StopRequest::manual();
        let work = move || {
            let followed = Context::new(globals).and_then(|ctx| {
                let follow = |op: &Op| picker.follow_events(op, &stop, &mut |due| queue.tell(due));
                let (followed, warnings) = ops::run(ctx, follow).into_parts();
                warnings.iter().for_each(|warning| ui.note(warning));
                followed
            });
            if let Err(error) = followed {
                ui.note(&format!("you are not told of runs and agents any more: {}", error.message));
            }
        };
        let thread =
            std::thread::Builder::new().name("feed".to_string()).spawn(work).map_err(FileError::from)?;
        Ok(Self { trigger, thread: Some(thread) })
    }
}

impl Drop for FeedThread {
    fn drop(&mut self) {
        self.trigger.trigger();
        // A panic of it was printed already.
        drop(self.thread.take().map(JoinHandle::join));
    }
}
