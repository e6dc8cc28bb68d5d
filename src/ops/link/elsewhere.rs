//! Agents on other machines, as commands here see them: how fresh the mirror is, which of them work in the repository
//! here, and what can't be done to them from here.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;

use crate::domain::link::RemoteMachine;
use crate::domain::{Agent, RootCommit};
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::store::{LinkStage, LinkState, Mesh};
use crate::sys::clock;
use crate::sys::git::{RepositoryStart, WorkTree};
use crate::sys::time_zone::user_zone;

/// How long git may take to say where the repository here began.
const LIMIT: Duration = Duration::from_secs(2);

/// Fails for an agent on another machine: what is here is a copy. `command` is what does it there.
pub(in crate::ops) fn refuse(agent: &Agent, command: &str) -> Result<(), CommandError> {
    let Some(machine) = &agent.machine else { return Ok(()) };
    let (name, command) = (&agent.name, format!("`msg {command} {}`", agent.name));
    Err(CommandError::new(CommandErrorKind::RemoteAgent, format!("{name} is on {}", machine.name))
        .hint(format!("run {command} there"))
        .fact("agent", name.as_str())
        .fact("machine", machine.name.as_str()))
}

/// Whether other machines can be reached at present.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::ops) enum LinkHealth {
    Linked,
    /// The mirror is as old as that; `None` if it is not known when it was written.
    Down {
        last_contact: Option<Timestamp>,
    },
}

impl LinkHealth {
    /// What the link process last said, if it lives. What can't be read counts as down.
    pub(in crate::ops) fn of(mesh: &Mesh) -> Self {
        let state = mesh.link().state().ok().flatten();
        let is_linked = |state: &LinkState| state.stage == LinkStage::Linked;
        match mesh.link().is_running().unwrap_or(false) && state.as_ref().is_some_and(is_linked) {
            true => Self::Linked,
            false => Self::Down { last_contact: state.and_then(|state| state.last_contact) },
        }
    }
}

/// Why a message to that machine does not arrive at present, for its sender; `None` if it does.
pub(in crate::ops) fn why_it_waits(mesh: &Mesh, machine: &RemoteMachine) -> Option<String> {
    let name = &machine.name;
    if let Some(since) = machine.away_since {
        return Some(format!(
            "{name} has not been reached since {}: it gets this when it is back",
            time_of_day(since)
        ));
    }
    match LinkHealth::of(mesh) {
        LinkHealth::Linked => None,
        LinkHealth::Down { last_contact: Some(last) } => Some(format!(
            "the link to other machines has been down since {}: {name} gets this when it is back",
            time_of_day(last)
        )),
        LinkHealth::Down { last_contact: None } => {
            Some(format!("the link to other machines is down: {name} gets this when it is back"))
        }
    }
}

/// A moment for a person: `12:03` today, `Nov 12 12:03` on another day of this year, otherwise `2025-11-12 12:03`.
pub fn time_of_day(at: Timestamp) -> String {
    let zone = user_zone();
    let (then, now) = (at.to_zoned(zone.clone()), clock::now().to_zoned(zone.clone()));
    let form = match (then.date() == now.date(), then.year() == now.year()) {
        (true, _) => "%H:%M",
        (false, true) => "%b %-d %H:%M",
        (false, false) => "%Y-%m-%d %H:%M",
    };
    then.strftime(form).to_string()
}

/// The repository around a directory, for comparing it with those of agents on other machines. Git is asked only if
/// there is such an agent.
pub(in crate::ops) struct RepositoryHere<'m> {
    mesh: &'m Mesh,
    dir: PathBuf,
    start: OnceCell<Option<RootCommit>>,
}

impl<'m> RepositoryHere<'m> {
    pub(in crate::ops) fn new(mesh: &'m Mesh, dir: &Path) -> Self {
        Self { mesh, dir: dir.to_path_buf(), start: OnceCell::new() }
    }

    /// Whether the agent is on another machine and works in this repository there.
    pub(in crate::ops) fn is_of(&self, agent: &Agent) -> bool {
        let theirs = agent.machine.as_ref().and_then(|machine| machine.repository.as_ref());
        theirs.is_some_and(|theirs| self.start().as_ref() == Some(theirs))
    }

    fn start(&self) -> &Option<RootCommit> {
        self.start.get_or_init(|| {
            let tree = WorkTree::containing(&self.dir)?;
            // A repository that can't be recognised is nobody's else.
            let (start, record) = self.mesh.repositories().start(&tree, LIMIT).ok()?;
            record.iter().for_each(|record| self.mesh.repositories().save(record));
            match start {
                RepositoryStart::At(commit) => RootCommit::new(&commit),
                RepositoryStart::NoCommit | RepositoryStart::Shallow => None,
            }
        })
    }
}
