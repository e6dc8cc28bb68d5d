//! `remote/agents`, `remote/index` and `remote/tasks`: agents on other machines, and what they hold, as it was when the
//! server last said so. Commands and hooks read it and never the network.

use std::collections::BTreeSet;

use super::presence::PresenceOfMachines;
use crate::domain::link::{TaskKey, TaskRecord};
use crate::domain::{Agent, AgentName, RootCommit, sha256};
use crate::store::agents::registry::Registration;
use crate::store::agents::registry_index;
use crate::store::error::StoreError;
use crate::store::handles::RemoteRecords;
use crate::store::wire::{link, link_tasks};
use crate::sys::files;

/// The largest file of the mirror that is read.
const MAX_FILE: u64 = 8 * 1024 * 1024;

/// An agent on another machine, to be written to the mirror.
pub type MirroredAgent = Agent;

/// What other machines do with the tasks of one spec.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MirroredTasks {
    pub records: Vec<TaskRecord>,
}

impl MirroredTasks {
    /// The record of that task.
    pub fn get(&self, task: &str) -> Option<&TaskRecord> {
        self.records.iter().find(|record| record.key.task == task)
    }
}

impl RemoteRecords<'_> {
    /// The agents on other machines. One that can't be read is left out: the link process writes it again.
    pub fn agents(self) -> Result<Vec<Registration>, StoreError> {
        let dir = self.mesh.layout.remote("agents");
        let (mut agents, mut presence) = (Vec::new(), PresenceOfMachines::default());
        for file in files::list(&dir)? {
            let name = file.strip_suffix(".json").and_then(|stem| AgentName::new(stem).ok());
            if let Some(name) = name {
                agents.extend(self.agent_with(&name, &mut presence)?);
            }
        }
        Ok(agents)
    }

    /// The agent of exactly that name.
    pub fn agent(self, name: &AgentName) -> Result<Option<Registration>, StoreError> {
        self.agent_with(name, &mut PresenceOfMachines::default())
    }

    fn agent_with(
        self,
        name: &AgentName,
        presence: &mut PresenceOfMachines,
    ) -> Result<Option<Registration>, StoreError> {
        let path = self.mesh.layout.remote("agents").join(format!("{name}.json"));
        let Some(bytes) = files::read_at_most(&path, MAX_FILE)?.content() else { return Ok(None) };
        let agent = link::parse_mirrored(&bytes).ok().filter(|agent| agent.name.is_spelled_as(name));
        Ok(agent.map(|agent| Registration::new(self.with_presence(agent, presence))))
    }

    /// The index of what they hold; empty if there is none.
    pub(in crate::store) fn index(self) -> String {
        let bytes = files::read_large(&self.mesh.layout.remote("index")).ok().flatten().unwrap_or_default();
        String::from_utf8(bytes).unwrap_or_default()
    }

    /// Makes these the agents on other machines. What is written binds at once; the index comes last, so it never names
    /// an agent that is not there yet.
    pub fn set_agents(self, agents: &[MirroredAgent]) -> Result<(), StoreError> {
        let dir = self.mesh.layout.remote("agents");
        files::create_dir(&dir)?;
        for agent in agents {
            let path = dir.join(format!("{}.json", agent.name));
            let bytes = link::mirrored_bytes(agent);
            if files::read_at_most(&path, MAX_FILE)?.content().as_deref() != Some(&bytes) {
                self.mesh.files.replace(&path, &bytes)?;
            }
        }
        let index = registry_index::describe_all(agents);
        if self.index() != index {
            self.mesh.files.replace(&self.mesh.layout.remote("index"), index.as_bytes())?;
        }
        for file in files::list(&dir)? {
            let is_there = file
                .strip_suffix(".json")
                .is_some_and(|stem| agents.iter().any(|agent| agent.name.as_str() == stem));
            if !is_there {
                files::remove(&dir.join(file))?;
            }
        }
        Ok(())
    }

    /// What other machines do with the tasks of that spec.
    pub fn tasks(self, repository: &RootCommit, spec: &str) -> Result<MirroredTasks, StoreError> {
        let path = self.mesh.layout.remote("tasks").join(task_file(repository, spec));
        let Some(bytes) = files::read_at_most(&path, MAX_FILE)?.content() else {
            return Ok(MirroredTasks::default());
        };
        // A mirror that can't be read is written again by the link process. Until then the server decides.
        let mut records = link_tasks::parse_tasks(&bytes).unwrap_or_default();
        records.retain(|record| record.key.repository == *repository && record.key.spec == spec);
        Ok(MirroredTasks { records })
    }

    /// Makes these the tasks of other machines, of all specs.
    pub fn set_tasks(self, records: &[TaskRecord]) -> Result<(), StoreError> {
        let dir = self.mesh.layout.remote("tasks");
        files::create_dir(&dir)?;
        let mut specs: std::collections::BTreeMap<String, Vec<TaskRecord>> =
            std::collections::BTreeMap::new();
        for record in records {
            let TaskKey { repository, spec, .. } = &record.key;
            specs.entry(task_file(repository, spec)).or_default().push(record.clone());
        }
        for (file, records) in &specs {
            let (path, bytes) = (dir.join(file), link_tasks::tasks_bytes(records));
            if files::read_at_most(&path, MAX_FILE)?.content().as_deref() != Some(&bytes) {
                self.mesh.files.replace(&path, &bytes)?;
            }
        }
        for file in files::list(&dir)? {
            if !specs.contains_key(&file) {
                files::remove(&dir.join(file))?;
            }
        }
        Ok(())
    }

    /// Removes everything that is known of other machines, except for messages that are still on their way.
    pub fn forget_others(self) -> Result<(), StoreError> {
        self.set_agents(&[])?;
        self.set_tasks(&[])?;
        self.keep_presence_of(&BTreeSet::new())?;
        self.forget_feed()
    }
}

fn task_file(repository: &RootCommit, spec: &str) -> String {
    let hash = sha256(format!("{}\0{spec}", repository.as_str()).as_bytes());
    format!("{}.json", &hash[..32])
}
