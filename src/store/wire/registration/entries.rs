//! The entries of the lists in a registration: reservations, waits and former names.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::domain::pattern::LetterCase;
use crate::domain::{PathWait, Reservation, TaskRef, TaskWait};
use crate::store::wire::time;

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::store::wire) struct ReservationKeys {
    pattern: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(with = "time")]
    since: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    root: Option<String>,
    #[serde(default, with = "time::option", skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    head: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    literal: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ignore_case: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<TaskKeys>,
}

#[derive(Deserialize, Serialize)]
struct TaskKeys {
    spec: String,
    id: String,
}

#[derive(Deserialize, Serialize)]
pub(super) struct TaskWaitKeys {
    spec: String,
    id: String,
    holder: String,
    #[serde(with = "time")]
    since: Timestamp,
}

impl From<TaskWaitKeys> for TaskWait {
    fn from(keys: TaskWaitKeys) -> Self {
        let TaskWaitKeys { spec, id, holder, since } = keys;
        Self { task: TaskRef { spec, id }, holder, since }
    }
}

impl From<TaskWait> for TaskWaitKeys {
    fn from(wait: TaskWait) -> Self {
        let TaskWait { task: TaskRef { spec, id }, holder, since } = wait;
        Self { spec, id, holder, since }
    }
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WaitKeys {
    pattern: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    named: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    root: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    literal: Option<bool>,
    holder: String,
    #[serde(with = "time")]
    since: Timestamp,
}

impl From<ReservationKeys> for Reservation {
    fn from(keys: ReservationKeys) -> Self {
        let ReservationKeys { pattern, reason, since, root, expires_at, head, literal, ignore_case, task } =
            keys;
        let literal = literal == Some(true);
        let case = if ignore_case == Some(true) { LetterCase::Ignored } else { LetterCase::Matters };
        let task = task.map(|TaskKeys { spec, id }| TaskRef { spec, id });
        Self { pattern, reason, since, root, expires_at, head, is_literal: literal, case, task }
    }
}

impl From<Reservation> for ReservationKeys {
    fn from(reservation: Reservation) -> Self {
        let Reservation { pattern, reason, since, root, expires_at, head, is_literal: literal, case, task } =
            reservation;
        let literal = literal.then_some(true);
        let ignore_case = (case == LetterCase::Ignored).then_some(true);
        let task = task.map(|TaskRef { spec, id }| TaskKeys { spec, id });
        Self { pattern, reason, since, root, expires_at, head, literal, ignore_case, task }
    }
}

impl From<WaitKeys> for PathWait {
    fn from(keys: WaitKeys) -> Self {
        let WaitKeys { pattern, named, root, literal, holder, since } = keys;
        Self { pattern, named, root, is_literal: literal == Some(true), holder, since }
    }
}

impl From<PathWait> for WaitKeys {
    fn from(wait: PathWait) -> Self {
        let PathWait { pattern, named, root, is_literal: literal, holder, since } = wait;
        Self { pattern, named, root, literal: literal.then_some(true), holder, since }
    }
}

#[derive(Deserialize, Serialize)]
pub(super) struct FormerKeys {
    pub(super) name: String,
    #[serde(with = "time")]
    pub(super) until: Timestamp,
}
