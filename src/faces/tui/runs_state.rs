//! What the tab *Runs* knows and shows: the runs of workers, or one of them in full.

use super::model::{RunDetail, RunItem};

/// What is shown of the runs. Only that is read.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) enum RunsFocus {
    #[default]
    Nothing,
    List,
    /// The run with this id.
    Run(String),
}

/// Work for the thread that reads runs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum RunsCall {
    /// From now on this is shown.
    Show(RunsFocus),
    /// The user stops the run with this id.
    Stop(String),
}

#[derive(Debug, Default)]
pub(super) struct RunsState {
    /// Those that need somebody first; `None` until they were read.
    pub(super) list: Option<Vec<RunItem>>,
    pub(super) open: Option<OpenRun>,
    /// The run that the next key decides about.
    pub(super) stopping: Option<String>,
    /// What was last said to be shown.
    pub(super) followed: RunsFocus,
}

/// A run that is shown in full.
#[derive(Debug)]
pub(super) struct OpenRun {
    pub(super) id: String,
    /// `None` until it was read.
    pub(super) detail: Option<RunDetail>,
    /// The first visible row.
    pub(super) from: usize,
}

impl RunsState {
    pub(super) fn open(&mut self, id: String) {
        self.open = Some(OpenRun { id, detail: None, from: 0 });
    }

    /// Takes what was read of a run; `None` if it is not there any more.
    pub(super) fn take_detail(&mut self, id: &str, detail: Option<RunDetail>) {
        match (&mut self.open, detail) {
            (Some(open), Some(detail)) if open.id == id => open.detail = Some(detail),
            (Some(open), None) if open.id == id => self.open = None,
            // Another one was opened meanwhile.
            _ => {}
        }
    }

    /// What must be answered before anything else.
    pub(super) fn question(&self) -> Option<String> {
        let id = self.stopping.as_ref()?;
        Some(format!("Stop run {id}? y: yes, any other key: no"))
    }
}
