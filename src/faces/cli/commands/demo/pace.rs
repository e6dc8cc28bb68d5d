//! How fast the demo goes: at a terminal it waits after each step, until the reader wants the next one.

use std::cell::Cell;

use crate::faces::cli::output::{CommandOutput, Ui, style};
use crate::ops::{CommandError, CommandErrorKind};
use crate::sys::signals::StopRequest;

use super::interrupted;

/// Waits between the steps, if a person reads them at a terminal.
pub(super) struct Pace<'a> {
    ui: &'a Ui,
    stop: &'a StopRequest,
    waits: bool,
    /// Whether steps are shown as they come although nobody is waited for.
    follows: bool,
    has_left: Cell<bool>,
}

impl<'a> Pace<'a> {
    /// Waits for a person who can type.
    pub(super) fn of_reader(ui: &'a Ui, stop: &'a StopRequest) -> Self {
        let waits = ui.is_with_person() && ui.shows_progress();
        Self { ui, stop, waits, follows: false, has_left: Cell::new(false) }
    }

    /// Never waits.
    pub(super) fn fast(ui: &'a Ui, stop: &'a StopRequest) -> Self {
        Self { ui, stop, waits: false, follows: false, has_left: Cell::new(false) }
    }

    /// The same, with each step shown when it has happened: for a demo that takes long.
    pub(super) fn followed(self) -> Self {
        Self { follows: true, ..self }
    }

    /// Whether the reader is waited for after each step.
    pub(super) fn waits(&self) -> bool {
        self.waits
    }

    /// Shows a line now, if not everything is shown at the end.
    pub(super) fn show(&self, line: &str) {
        if self.waits || self.follows {
            self.ui.progress_change(line);
        }
    }

    /// Shows what is waited for, to a person at a terminal, until the next call. An empty text removes it.
    pub(super) fn waiting_for(&self, what: &str) {
        self.ui.progress_line(what);
    }

    /// Waits until the reader wants the next step, or leaves a line empty before it.
    pub(super) fn next_step(&self) -> Result<(), CommandError> {
        if self.waits {
            return self.wait();
        }
        self.show("");
        Ok(())
    }

    /// What became of the demo. That the reader has left before its end is not an error; `all` is the command that shows
    /// everything at once.
    pub(super) fn ended(
        &self,
        shown: Result<CommandOutput, CommandError>,
        all: &str,
    ) -> Result<CommandOutput, CommandError> {
        match shown {
            Err(error) if self.has_left.get() && error.kind == CommandErrorKind::Interrupted => {
                self.ui.progress_change(&format!("Nothing is left behind. `{all}` shows all steps at once."));
                Ok(CommandOutput::said(None))
            }
            shown => shown,
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
