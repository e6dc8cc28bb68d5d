//! How the pane and the dialog of a worker are written in `run.json`.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::domain::process::PidError;
use crate::domain::runs::{RunDialog, RunPane};
use crate::store::wire::process::{ProcessKey, recorded};
use crate::store::wire::time;

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PaneKeys {
    socket: String,
    id: String,
    place: String,
    keeper_pid: i64,
    keeper: Option<ProcessKey>,
    #[serde(default)]
    is_ready: bool,
    #[serde(default)]
    prompts: u32,
    #[serde(default)]
    turns: u32,
}

impl PaneKeys {
    pub(super) fn of(pane: &RunPane) -> Self {
        let RunPane { socket, id, place, keeper, is_ready, prompts, turns } = pane.clone();
        let keeper_pid = keeper.pid().get().into();
        Self { socket, id, place, keeper_pid, keeper: ProcessKey::of(&keeper), is_ready, prompts, turns }
    }

    pub(super) fn pane(self) -> Result<RunPane, PidError> {
        let Self { socket, id, place, keeper_pid, keeper, is_ready, prompts, turns } = self;
        let keeper = recorded(keeper_pid, keeper, None)?;
        Ok(RunPane { socket, id, place, keeper, is_ready, prompts, turns })
    }
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DialogKeys {
    id: String,
    kind: String,
    question: String,
    #[serde(default)]
    about: Vec<String>,
    #[serde(default)]
    choices: Vec<String>,
    #[serde(with = "time")]
    since: Timestamp,
}

impl DialogKeys {
    pub(super) fn of(dialog: &RunDialog) -> Self {
        let RunDialog { id, kind, question, about, choices, since } = dialog.clone();
        Self { id, kind, question, about, choices, since }
    }

    pub(super) fn dialog(self) -> RunDialog {
        let Self { id, kind, question, about, choices, since } = self;
        RunDialog { id, kind, question, about, choices, since }
    }
}
