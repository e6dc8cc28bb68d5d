//! The modification time of `presence/<Name>`: when an agent last showed a sign of life.

use jiff::Timestamp;

use crate::domain::{Agent, AgentName};
use crate::store::error::StoreError;
use crate::store::handles::PresenceFiles;
use crate::sys::{clock, files};

impl PresenceFiles<'_> {
    /// The agent's last sign of life: the latest of its presence file's time, its last activity and its start.
    pub fn last_sign_of_life(self, agent: &Agent) -> Result<Timestamp, StoreError> {
        // A file of that name here is not about an agent on another machine, and its start is by another clock.
        if let Some(heard) = agent.last_activity.filter(|_| agent.is_remote()) {
            return Ok(heard);
        }
        let touched = match agent.is_remote() {
            true => None,
            false => files::metadata(&self.mesh.layout.presence(&agent.name))?
                .and_then(|metadata| metadata.modified().ok()),
        };
        let known = [touched.map(clock::from_system), agent.last_activity, Some(agent.started_at)];
        Ok(known.into_iter().flatten().max().unwrap_or(agent.started_at))
    }

    /// The time of the agent's presence file.
    pub fn file_time(self, name: &AgentName) -> Result<Option<Timestamp>, StoreError> {
        let touched = files::metadata(&self.mesh.layout.presence(name))?;
        Ok(touched.and_then(|metadata| metadata.modified().ok()).map(clock::from_system))
    }

    /// Records a sign of life now.
    pub fn touch(self, name: &AgentName) -> Result<(), StoreError> {
        let path = self.mesh.layout.presence(name);
        match files::touch(&path) {
            Err(_) if !files::exists(&self.mesh.layout.directory("presence"))? => {
                files::create_dir(&self.mesh.layout.directory("presence"))?;
                Ok(files::touch(&path)?)
            }
            touched => Ok(touched?),
        }
    }
}
