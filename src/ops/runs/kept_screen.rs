//! The last screen of a worker in a tmux pane, which is kept in the run's directory.

use std::time::{Duration, Instant};

use crate::domain::runs::RunId;
use crate::store::Mesh;

/// How often it is written at most while nothing happens.
const PAUSE: Duration = Duration::from_secs(5);
/// The most bytes that are kept: the end.
const MOST: usize = 64 * 1024;
/// How many lines are a worker's last words, if its harness does not tell them.
const LAST_LINES: usize = 20;

/// The last screen, and what of it is written.
#[derive(Debug, Default)]
pub(super) struct KeptScreen {
    text: String,
    written: String,
    written_at: Option<Instant>,
}

impl KeptScreen {
    /// Takes over what was seen, and writes it now and then.
    pub(super) fn see(&mut self, text: String, mesh: &Mesh, run: &RunId) {
        self.text = text;
        if self.written_at.is_none_or(|at| at.elapsed() > PAUSE) {
            self.keep(mesh, run);
        }
    }

    /// Writes it, if it has changed. A worker must not end because that fails.
    pub(super) fn keep(&mut self, mesh: &Mesh, run: &RunId) {
        if self.text == self.written {
            return;
        }
        let start = self.text.len().saturating_sub(MOST);
        let start = (start..=self.text.len()).find(|at| self.text.is_char_boundary(*at)).unwrap_or(0);
        match mesh.runs().write(run, "screen.txt", &self.text.as_bytes()[start..]) {
            Ok(()) => self.written.clone_from(&self.text),
            Err(error) => tracing::debug!("the screen was not kept: {error}"),
        }
        self.written_at = Some(Instant::now());
    }

    /// Whether nothing was seen so far.
    pub(super) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// The end of it.
    pub(super) fn last_lines(&self) -> String {
        let lines: Vec<&str> =
            self.text.lines().map(str::trim_end).filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
    }
}
