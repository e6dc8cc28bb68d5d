//! How fast the demo goes: at a terminal it waits after each step, until the reader wants the next one.

use std::cell::Cell;

use crate::faces::cli::output::{Ui, style};
use crate::ops::CommandError;
use crate::sys::signals::StopRequest;

use super::interrupted;

/// Waits between the steps, if a person reads them at a terminal.
pub(super) struct Pace<'a> {
    ui: &'a Ui,
    stop: &'a StopRequest,
    waits: bool,
    has_left: Cell<bool>,
}

impl<'a> Pace<'a> {
    /// Waits for a person who can type.
    pub(super) fn of_reader(ui: &'a Ui, stop: &'a StopRequest) -> Self {
        let waits = ui.is_with_person() && ui.shows_progress();
        Self { ui, stop, waits, has_left: Cell::new(false) }
    }

    /// Never waits.
    pub(super) fn fast(ui: &'a Ui, stop: &'a StopRequest) -> Self {
        Self { ui, stop, waits: false, has_left: Cell::new(false) }
    }

    /// Whether each step is shown when it has happened, not all of them at the end.
    pub(super) fn waits(&self) -> bool {
        self.waits
    }

    /// Whether the reader has ended the demo before its end.
    pub(super) fn has_left(&self) -> bool {
        self.has_left.get()
    }

    /// Shows a line now, if not everything is shown at the end.
    pub(super) fn show(&self, line: &str) {
        if self.waits {
            self.ui.progress_change(line);
        }
    }

    /// Waits until the reader wants the next step. An error if the reader wants to end instead.
    pub(super) fn wait(&self) -> Result<(), CommandError> {
        if !self.waits {
            return Ok(());
        }
        let question = style::dim("Press Enter for the next step; q and Enter end the demo.");
        match self.ui.typed_unless(self.stop, &question).as_deref() {
            Some("q" | "quit" | "exit") => {
                self.has_left.set(true);
                Err(interrupted())
            }
            Some(_) => Ok(()),
            // Ctrl-C, or nothing can be typed any more.
            None => Err(interrupted()),
        }
    }
}
