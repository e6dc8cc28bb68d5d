//! `Fingerprint`: file names and `stat` results that show cheaply whether agents, tasks or mail changed.

use std::path::PathBuf;

use crate::domain::Agent;
use crate::sys::files::{self, FileStamp};

use super::error::StoreError;
use super::mesh::Mesh;

/// File names with their `stat` results.
type Listed = Vec<(String, Option<FileStamp>)>;

/// The state at one moment, to be compared with a later one.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Fingerprint {
    /// The registrations.
    pub agents: Listed,
    /// Claims, completions and the agent's spec file.
    pub tasks: Listed,
    /// The names of the agent's unread messages.
    pub mail: Vec<String>,
}

impl Mesh {
    pub fn fingerprint(&self, agent: Option<&Agent>) -> Result<Fingerprint, StoreError> {
        let listed = |dir: PathBuf, names: Vec<String>| -> Result<Listed, StoreError> {
            let stamps = files::stamps(&dir, &names)?;
            Ok(names.into_iter().zip(stamps).collect())
        };
        let names = files::list(&self.layout.registry())?;
        let mut marks =
            Fingerprint { agents: listed(self.layout.registry(), names)?, ..Fingerprint::default() };
        let task_files = ["claims.json", "completions.json"].map(str::to_string).to_vec();
        marks.tasks = listed(self.layout.root().to_path_buf(), task_files)?;
        if let Some(spec) = agent.and_then(|agent| agent.spec.clone()) {
            let stamp = files::metadata(spec.as_ref())?.map(|metadata| FileStamp::of(&metadata));
            marks.tasks.push((spec, stamp));
        }
        for name in agent.map(|agent| self.inboxes().names_of(agent)).transpose()?.unwrap_or_default() {
            marks.mail.extend(files::list(&self.layout.inbox(name))?);
        }
        marks.mail.retain(|file| file.ends_with(".json"));
        marks.mail.sort();
        Ok(marks)
    }
}
