//! Finds out what joins: its process, its harness and its session.

use crate::domain::{Agent, Harness, Pid, RecordedProcess, SessionId};
use crate::harness::{
    self,
    ancestry::{self, Host},
};
use crate::ops::agents::identity::{self, CallerTraces};
use crate::ops::context::Context;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::store::{Mesh, Registration};
use crate::sys::process;

use crate::ops::agents::join::JoinRequest;

/// The agent to be registered, as found out before the lock is taken.
pub(super) struct Newcomer {
    pub(super) host: Host,
    /// The session's id, if one was given.
    pub(super) session: Option<SessionId>,
    /// That id may be one that the session had before.
    pub(super) may_be_old: bool,
    pub(super) harness: Harness,
    /// It is hosted by our ancestors, not by a process that `--pid` names.
    pub(super) is_ours: bool,
}

impl Newcomer {
    /// The id of the caller's session. If none was given, as at a terminal, it is found by the process; that reads
    /// every session record, so it is done without a lock.
    pub(super) fn known_session(&self, mesh: &Mesh) -> Result<Option<SessionId>, CommandError> {
        if self.session.is_some() || harness::hosts_several_sessions(self.harness) {
            return Ok(self.session.clone());
        }
        let process = self.process();
        let sessions = mesh.sessions().all()?.records.into_iter().map(|known| known.last.agent);
        let own = sessions.filter(|agent| agent.process == process);
        Ok(own.max_by_key(|agent| agent.started_at).map(|agent| agent.session))
    }

    pub(super) fn find(ctx: &Context, request: &JoinRequest) -> Result<Self, CommandError> {
        let (traces, found) = match &ctx.client {
            Some(client) => {
                let traces = CallerTraces::of_client(client);
                let starter = || ancestry::named_host(traces.ancestors.first()?.pid);
                let found = traces.harness.clone().or_else(starter);
                (traces, found)
            }
            None => {
                let traces = CallerTraces::gather();
                let found = ancestry::find_host(&traces.ancestors);
                (traces, found)
            }
        };
        let host = match request.pid {
            Some(number) => named_host(number, request.is_forced)?,
            None => found.clone().ok_or_else(no_host)?,
        };
        let is_ours = found.is_some_and(|found| found.process == host.process);
        let told = traces.session.filter(|_| is_ours);
        let may_be_old =
            request.session.is_none() && told.as_ref().is_some_and(|(_, teller)| teller.may_be_old());
        let session = request.session.clone().or(told.map(|(session, _)| session));
        let harness = request.harness.unwrap_or(host.harness);
        Ok(Self { host, session, may_be_old, harness, is_ours })
    }

    pub(super) fn process(&self) -> RecordedProcess {
        RecordedProcess::Pinned(self.host.process.clone())
    }

    /// Whether the registration names our host. pi-messenger's registrations name it by pid alone.
    pub(super) fn shares_process(&self, agent: &Agent) -> bool {
        identity::is_host(agent, self.host.process.pid, self.host.process.start_ticks)
    }

    /// The caller's registration, if its session id or its process has changed: then its claims change.
    pub(super) fn moved(
        &self,
        mesh: &Mesh,
        adopts: Option<&SessionId>,
    ) -> Result<Option<Agent>, CommandError> {
        let has_new_id =
            self.session.is_some() && !self.may_be_old && !harness::hosts_several_sessions(self.harness);
        let is_moved =
            |agent: &Agent| match (self.session.as_ref() == Some(&agent.session), self.shares_process(agent))
            {
                (true, is_here) => !is_here,
                (false, is_here) => is_here && has_new_id,
            };
        let is_adopted = |agent: &Agent| adopts == Some(&agent.session);
        let records = mesh.registry().local_census()?.records;
        let of_ours = |record: &Registration| !record.agent.is_foreign() && record.is_live();
        let mut own: Vec<Agent> = records.into_iter().filter(of_ours).map(|record| record.agent).collect();
        own.retain(|agent| is_adopted(agent) || is_moved(agent));
        own.sort_by_key(|agent| !is_adopted(agent));
        Ok(own.into_iter().next())
    }
}

fn named_host(number: i64, force: bool) -> Result<Host, CommandError> {
    let pid = Pid::new(number).map_err(|error| {
        CommandError::new(CommandErrorKind::InvalidValue, error.to_string())
            .hint("`--pid` takes the id of a live process")
    })?;
    let host = ancestry::named_host(pid).ok_or_else(|| not_there(pid))?;
    // In a container, process 1 may be the harness or the user's shell.
    let is_init = pid.get() == 1 && host.harness == Harness::OTHER && !is_shell(pid);
    if is_init && !force {
        let text =
            "process 1 is above every process: any command on this machine would count as this agent's";
        return Err(CommandError::new(CommandErrorKind::InvalidValue, text).hint(
            "pass the process of your shell or agent, for example `--pid $$`; `--force` takes process 1",
        ));
    }
    let me = nix::unistd::geteuid().as_raw();
    match process::owner(pid) {
        Some(owner) if owner != me && me != 0 => {
            let text = format!("process {pid} belongs to another user (uid {owner})");
            Err(CommandError::new(CommandErrorKind::InvalidValue, text)
                .hint("`--pid` takes a process of your own"))
        }
        _ => Ok(host),
    }
}

fn is_shell(pid: Pid) -> bool {
    const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "fish", "ksh", "ash"];
    process::details(pid).is_some_and(|details| SHELLS.contains(&details.look.comm.as_str()))
}

pub(super) fn not_there(pid: Pid) -> CommandError {
    CommandError::new(CommandErrorKind::NotRunning, format!("there is no process {pid}"))
        .hint("`--pid` takes the id of a live process")
}

fn no_host() -> CommandError {
    let text = "cannot tell which process to follow: neither a harness nor a terminal started this command";
    CommandError::new(CommandErrorKind::NoHost, text)
        .hint("pass the process that stays with `--pid PID` (in a script: `--pid $$`)")
}
