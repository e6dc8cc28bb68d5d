//! `feed/feed.jsonl`: the mesh's timeline, one event a line, in pi-messenger's words.
//!
//! For now the writing half. A line is appended whole by one write, so any number of writers don't mix; after a writer
//! that died in the middle of a line, the next one starts a new line.

use jiff::Timestamp;
use serde::{Serialize, Serializer};

use super::error::StoreError;
use super::mesh::Mesh;
use super::wire::time;
use crate::domain::EventKind;
use crate::sys::files;

/// Something that happened.
#[derive(Clone, Debug, Serialize)]
pub struct Event {
    #[serde(with = "time")]
    pub ts: Timestamp,
    #[serde(rename = "type", serialize_with = "kind_name")]
    pub kind: EventKind,
    pub agent: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
}

impl Mesh {
    pub fn append_event(&self, event: &Event) -> Result<(), StoreError> {
        let dir = self.layout.directory("feed");
        let mut line = serde_json::to_vec(event).map_err(|error| StoreError::Corrupt {
            path: dir.clone(),
            reason: format!("an event can't be written: {error}"),
        })?;
        line.push(b'\n');
        if !files::exists(&dir)? {
            files::create_dir(&dir)?;
        }
        Ok(files::append_line(&dir.join("feed.jsonl"), &line)?)
    }
}

fn kind_name<S: Serializer>(kind: &EventKind, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(kind.name())
}
