//! What the threads that read for a tab have in common: they read only what is on the screen, when that changes and now
//! and then, and tell what is new.

use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};

use crate::ops::{CommandError, Context, GlobalOptions, Op, run};
use crate::sys::test_switches;

use super::notice_filter::NoticeFilter;
use super::state::ChatUpdate;
use super::to_model;

/// What reads for a tab.
pub(super) trait TabReader {
    type Call;

    /// Whether something of it is on the screen.
    fn is_on_screen(&self) -> bool;

    /// Does what the person asked for.
    fn take(&mut self, call: Self::Call);

    /// Reads what is on the screen, and tells what is new.
    fn read(&mut self);
}

/// Works until the channel is closed, and has then done what was asked for before.
pub(super) fn work<R: TabReader>(mut reader: R, calls: &Receiver<R::Call>, usual: Duration) {
    let interval = test_switches::value(test_switches::LOOK_MS).and_then(|text| text.parse().ok());
    let interval = interval.map_or(usual, Duration::from_millis);
    loop {
        let call = match reader.is_on_screen() {
            false => calls.recv().map_err(|_| RecvTimeoutError::Disconnected),
            true => calls.recv_timeout(interval),
        };
        match call {
            // Of what was typed meanwhile, only the last is read.
            Ok(first) => std::iter::once(first).chain(calls.try_iter()).for_each(|call| reader.take(call)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        reader.read();
    }
}

/// A reader's way to the mesh and to the screen. `N` is what it shows.
pub(super) struct TabLink<'a, N> {
    globals: &'a GlobalOptions,
    news: &'a Sender<ChatUpdate>,
    /// What the screen shows.
    told: Option<N>,
    notices: NoticeFilter,
}

impl<'a, N: Clone + PartialEq> TabLink<'a, N> {
    pub(super) fn new(globals: &'a GlobalOptions, news: &'a Sender<ChatUpdate>) -> Self {
        Self { globals, news, told: None, notices: NoticeFilter::default() }
    }

    /// Notes what the screen shows from now on; `None` if it shows nothing of it yet.
    pub(super) fn set_told(&mut self, told: Option<N>) {
        self.told = told;
    }

    pub(super) fn tell(&self, news: ChatUpdate) {
        // If nobody listens any more, the next wait says so.
        drop(self.news.send(news));
    }

    /// Shows what is wrong, once.
    pub(super) fn notice(&mut self, text: String) {
        if self.notices.is_new(&text) {
            self.tell(ChatUpdate::Notice(text));
        }
    }

    pub(super) fn with_op<T>(
        &mut self,
        work: impl FnOnce(&Op) -> Result<T, CommandError>,
    ) -> Result<T, CommandError> {
        let (done, warnings) = run(Context::new(self.globals.clone())?, work).into_parts();
        warnings.into_iter().for_each(|text| self.notice(text));
        done
    }

    /// Tells what was read, if the screen shows something else.
    pub(super) fn pass_on(&mut self, seen: Result<N, CommandError>, update: impl FnOnce(N) -> ChatUpdate) {
        match seen {
            Ok(seen) if self.told.as_ref() != Some(&seen) => {
                self.told = Some(seen.clone());
                self.tell(update(seen));
            }
            Ok(_) => {}
            Err(error) => self.notice(to_model::error_line(&error)),
        }
        self.notices.end_try();
    }
}
