//! `remote/presence/<machine>.jsonl`: what other machines last said of their agents. The link process writes a file per
//! machine; whoever reads an agent of the mirror gets it with that.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::Agent;
use crate::domain::link::{HeardAgent, MachineName};
use crate::store::error::StoreError;
use crate::store::handles::RemoteRecords;
use crate::store::wire::link_presence;
use crate::sys::files;

/// The largest file that is read.
const MAX_FILE: u64 = 8 * 1024 * 1024;

/// The files that were read, so that each is read once.
#[derive(Debug, Default)]
pub(super) struct PresenceOfMachines(BTreeMap<MachineName, Vec<u8>>);

impl RemoteRecords<'_> {
    /// Makes this what the machine said of its agents.
    pub fn set_presence<'a>(
        self,
        machine: &MachineName,
        agents: impl IntoIterator<Item = &'a HeardAgent>,
    ) -> Result<(), StoreError> {
        let dir = self.mesh.layout.remote("presence");
        if !files::exists(&dir)? {
            files::create_dir(&dir)?;
        }
        let bytes = link_presence::heard_lines(agents);
        Ok(self.mesh.files.replace(&dir.join(file(machine)), &bytes)?)
    }

    /// Forgets what other machines than these said.
    pub fn keep_presence_of(self, machines: &BTreeSet<MachineName>) -> Result<(), StoreError> {
        let dir = self.mesh.layout.remote("presence");
        let kept: BTreeSet<String> = machines.iter().map(file).collect();
        for name in files::list(&dir)?.iter().filter(|name| !kept.contains(*name)) {
            files::remove(&dir.join(name))?;
        }
        Ok(())
    }

    /// The agent with what its machine last said of it. That may be lost, so what can't be read is left out.
    pub(super) fn with_presence(self, mut agent: Agent, known: &mut PresenceOfMachines) -> Agent {
        let Some(machine) = &mut agent.machine else { return agent };
        let lines = known.0.entry(machine.name.clone()).or_insert_with(|| {
            let path = self.mesh.layout.remote("presence").join(file(&machine.name));
            files::read_at_most(&path, MAX_FILE)
                .ok()
                .and_then(files::BoundedRead::content)
                .unwrap_or_default()
        });
        let heard = link_presence::heard_agent(lines, &agent.name);
        // What was said of an earlier agent of that name is not about this one.
        if let Some(heard) = heard.filter(|heard| heard.session == agent.session) {
            machine.heard_at = Some(heard.heard_at);
            agent.last_activity = Some(heard.last_sign).max(agent.last_activity);
            agent.counts.activity = heard.activity;
        }
        agent
    }
}

fn file(machine: &MachineName) -> String {
    format!("{machine}.jsonl")
}
