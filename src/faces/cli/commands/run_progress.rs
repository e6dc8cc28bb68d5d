//! The line that says what a run does while somebody follows it at a terminal.

use jiff::Timestamp;

use crate::domain::escape_invisible_line;
use crate::domain::runs::{Run, RunState};
use crate::faces::cli::output::Ui;
use crate::ops::runs::follow::is_kept_waiting;
use crate::sys::clock;

/// One line for a person at a terminal that says what a run does.
pub(super) struct ProgressLine<'a> {
    ui: &'a Ui,
    /// Until when it was told that the run waits.
    told: Option<Timestamp>,
    /// Whether it was told that the run waits, without a time.
    has_told_queue: bool,
}

impl<'a> ProgressLine<'a> {
    pub(super) fn new(ui: &'a Ui) -> Self {
        Self { ui, told: None, has_told_queue: false }
    }

    pub(super) fn show(&mut self, run: &Run) {
        let waits = matches!(run.state, RunState::Queued | RunState::Limited);
        let is_new = match run.until {
            Some(_) => waits && run.until != self.told,
            None => is_kept_waiting(run) && !self.has_told_queue,
        };
        if let (Some(reason), true) = (&run.reason, is_new) {
            (self.told, self.has_told_queue) = (run.until, true);
            self.ui.progress_line("");
            self.ui.note(reason);
        }
        let why = run.reason.as_deref().filter(|_| waits);
        let doing = run.doing.as_deref().or(why).unwrap_or(run.state.name());
        self.say(run, doing);
    }

    pub(super) fn say(&mut self, run: &Run, doing: &str) {
        let mut parts = vec![format!("{} {}", run.profile, run.id), escape_invisible_line(doing)];
        parts.push(run.took(clock::now()));
        parts.extend(run.used());
        self.ui.progress_line(&parts.join(" · "));
    }

    pub(super) fn end(&mut self) {
        self.ui.progress_line("");
    }
}
