//! The paths of repositories: our part of each table becomes what agents hold here.

use super::Reconciler;
use crate::domain::link::{OwnerState, PathTable, RecordOwner, SharedPath, by_clock, paths_token};
use crate::domain::{Agent, AgentName, Notice, PeerText, Reservation, RootCommit, SessionId};
use crate::ops::link::process::decide::{RecordStep, path_table};
use crate::ops::link::process::local::LocalState;
use crate::ops::link::process::table::{Known, RecordTable, RecordValue};
use crate::store::link_format::{MAX_PATHS, paths_bytes};
use crate::store::link_protocol::LinkAnswer;
use crate::sys::nats::NatsError;

/// What an agent here is to hold in one repository. It is not told of what was just granted to a command.
struct WantedPaths {
    agent: Option<Agent>,
    owner: RecordOwner,
    paths: Vec<Reservation>,
}

/// What agents hold here and not at the server.
#[derive(Default)]
struct PathLosses {
    /// Another machine has it.
    taken: Vec<(Agent, String, RecordOwner)>,
    /// The record is full.
    without_room: Vec<(Agent, Vec<Reservation>)>,
}

impl Reconciler<'_> {
    pub(super) async fn paths(&mut self, local: &LocalState) -> Result<(), NatsError> {
        let is_mine = |known: &Known<RecordValue>| match &known.value {
            RecordValue::Paths(table)
                if table.held.iter().any(|held| held.owner.machine == self.table.me) =>
            {
                Some(table.repository.clone())
            }
            _ => None,
        };
        let mut repositories: Vec<RootCommit> =
            self.table.of_kind("paths").filter_map(|(_, known)| is_mine(known)).collect();
        repositories.extend(
            local.paths.keys().filter(|known| !repositories.contains(known)).cloned().collect::<Vec<_>>(),
        );
        for repository in repositories {
            let lost = self.paths_of(&repository, local).await?;
            for (agent, pattern, holder) in lost.taken {
                self.tell_path(&agent, &pattern, &holder);
            }
            for (agent, paths) in lost.without_room {
                self.tell_no_room(&agent, &repository, &paths);
            }
        }
        Ok(())
    }

    /// Makes our part of the table what is held here, as far as there is room.
    async fn paths_of(
        &mut self,
        repository: &RootCommit,
        local: &LocalState,
    ) -> Result<PathLosses, NatsError> {
        let wanted = self.wanted_paths(repository, local);
        let mut lost = PathLosses::default();
        self.arbiter()
            .change(&paths_token(repository), |table, known| {
                let Ok(mut paths) = path_table(known, repository) else {
                    return RecordStep::Stop(LinkAnswer::Done);
                };
                let before = paths.clone();
                paths.held.retain(|held| stays(table, local, held));
                lost = fill(table, &mut paths, &before, &wanted);
                match paths.held.is_empty() {
                    true if known.is_none() => RecordStep::Stop(LinkAnswer::Done),
                    true => RecordStep::Delete,
                    false if paths == before => RecordStep::Stop(LinkAnswer::Done),
                    false => RecordStep::Write(paths_bytes(&paths)),
                }
            })
            .await?;
        Ok(lost)
    }

    /// What agents here hold in the repository, and what commands were granted, with times by the clock of the server.
    fn wanted_paths(&self, repository: &RootCommit, local: &LocalState) -> Vec<WantedPaths> {
        let ahead = self.nats.server_facts().clock_offset.unwrap_or_default();
        let owner = |agent: &AgentName, session: &SessionId| RecordOwner {
            machine: self.table.me.clone(),
            epoch: self.epoch.clone(),
            agent: agent.clone(),
            session: session.clone(),
        };
        let mut wanted: Vec<WantedPaths> = Vec::new();
        for (agent, paths) in local.paths.get(repository).into_iter().flatten() {
            wanted.push(WantedPaths {
                agent: Some(agent.clone()),
                owner: owner(&agent.name, &agent.session),
                paths: paths.iter().map(|path| by_clock(path.clone(), ahead)).collect(),
            });
        }
        for (granted, session, paths, _) in &self.grants.paths {
            let agent = local.agents.iter().find(|agent| agent.session == *session);
            let Some(agent) = agent.filter(|_| granted == repository) else { continue };
            let missing = |all: &[Reservation]| -> Vec<Reservation> {
                let is_new = |path: &&Reservation| !all.iter().any(|held| held.is_written_alike(path));
                paths.iter().filter(is_new).map(|path| by_clock(path.clone(), ahead)).collect()
            };
            match wanted.iter_mut().find(|wanted| wanted.owner.session == *session) {
                Some(wanted) => {
                    let more = missing(&wanted.paths);
                    wanted.paths.extend(more);
                }
                None => wanted.push(WantedPaths {
                    agent: None,
                    owner: owner(&agent.name, session),
                    paths: missing(&[]),
                }),
            }
        }
        wanted
    }

    fn tell_path(&mut self, agent: &Agent, pattern: &str, holder: &RecordOwner) {
        let what = format!("paths:{pattern}:{}", holder.session);
        if !self.told.is_news(agent, &what) {
            return;
        }
        let (pattern, machine) = (PeerText::new(pattern), PeerText::new(holder.machine.as_str()));
        let notice = Notice::new()
            .code(&pattern)
            .say(" is held by ")
            .name(&holder.agent)
            .say(" on ")
            .names([&machine]);
        let notice = notice.say(" now: yours binds on this machine alone. To let go of it: msg release ");
        let notice = notice.arguments([&pattern], "PATH");
        self.op.notify(agent.clone(), notice, format!("could not tell {} that a path is lost", agent.name));
    }

    /// Tells an agent once which of its paths the record has no room for; again if that was mended and has come back.
    fn tell_no_room(&mut self, agent: &Agent, repository: &RootCommit, paths: &[Reservation]) {
        let what = format!("room:{}", repository.as_str());
        let Some(first) = paths.first() else { return self.told.forget(agent, &what) };
        if !self.told.is_news(agent, &what) {
            return;
        }
        let first = PeerText::new(first.pattern.as_str());
        let notice = Notice::new()
            .say("The server keeps at most ")
            .number(MAX_PATHS)
            .say(" paths of a repository, and these are all held. So ")
            .number(paths.len())
            .say(" of yours bind on this machine alone, beginning with ")
            .code(&first)
            .say(". Release paths that you do not need: msg release PATH");
        let failure = format!("could not tell {} that there is no room for its paths", agent.name);
        self.op.notify(agent.clone(), notice, failure);
    }
}

/// Whether a path stays in the record whatever is held here. The dead are left out: whoever takes something tidies up, and
/// what stays does no harm.
fn stays(table: &RecordTable, local: &LocalState, held: &SharedPath) -> bool {
    if held.owner.machine != table.me {
        return table.leases.state(&held.owner) == OwnerState::Holds;
    }
    // It is not known whose it is.
    !local.knows_all_agents && !local.agents.iter().any(|agent| agent.session == held.owner.session)
}

/// Puts into the table what is wanted here, is free, and fits.
fn fill(
    table: &RecordTable,
    paths: &mut PathTable,
    before: &PathTable,
    wanted: &[WantedPaths],
) -> PathLosses {
    let mut lost = PathLosses::default();
    let mut free = Vec::new();
    for WantedPaths { agent, owner, paths: wanted } in wanted {
        let mut conflicts = paths.conflicts(owner, wanted);
        conflicts.retain(|conflict| conflict.held.owner.machine != table.me);
        let is_free = |path: &&Reservation| !conflicts.iter().any(|conflict| conflict.wanted == **path);
        free.push((owner.clone(), wanted.iter().filter(is_free).cloned().collect()));
        if let Some(agent) = agent {
            let taken = conflicts.into_iter();
            lost.taken
                .extend(taken.map(|conflict| (agent.clone(), conflict.wanted.pattern, conflict.held.owner)));
        }
    }
    let left = paths.set_all(free, before, MAX_PATHS);
    for (WantedPaths { agent, .. }, left) in wanted.iter().zip(left) {
        lost.without_room.extend(agent.clone().map(|agent| (agent, left)));
    }
    lost
}
