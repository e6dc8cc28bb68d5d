//! `msg doctor`: finds out what is wrong with the mesh and repairs what can be repaired without risk.

mod machine;
mod pi_messenger;

use std::time::Duration;

use jiff::SignedDuration;

use crate::domain::settings::SettingSource;
use crate::domain::{Agent, AgentName, Liveness, escape_invisible};
use crate::harness;
use crate::ops::link::elsewhere;
use crate::store::{
    GraveScan, LocationReason, LockedClaims, Mesh, MeshLocation, Salvaged, SessionScan, StoreError,
    SwarmLockState,
};
use crate::sys::{clock, process};

use crate::ops::agents::bury::{bury_dead, settled_census};
use crate::ops::agents::names::with_nearest;
use crate::ops::agents::prune;
use crate::ops::agents::roster::Roster;
use crate::ops::alerts::doctor_checks;
use crate::ops::context::Context;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
pub use crate::ops::health_check::{CheckState, DoctorMode, HealthCheck, failed_checks_error};
use crate::ops::link;
use crate::ops::messages::rendered_message::format_age;
use crate::ops::reservations::waiting;
use crate::ops::setup::{assistant, install};
use crate::ops::wake::{self, WakeDescription};

use machine::{git, inotify, permissions};

const REPAIR: &str = "run `msg doctor --repair`";

/// Runs all checks. It may repair what is safe to repair, and says so. `errors` are those of the settings.
pub fn doctor(op: &Op, errors: Vec<CommandError>, mode: DoctorMode) -> Vec<HealthCheck> {
    let mut checks: Vec<HealthCheck> =
        errors.into_iter().map(|error| HealthCheck::failed("config", error)).collect();
    for warning in op.take_warnings() {
        checks.push(HealthCheck::warn("config", warning, "fix the file"));
    }
    if checks.is_empty() {
        checks.push(HealthCheck::ok("config", "every file can be read"));
    }
    if let Some(error) = &op.not_kept {
        let text = format!("cannot keep a copy of it for when it is unreadable: {error}");
        checks.push(HealthCheck::warn("config", text, "make its directory writable"));
    }
    checks.push(HealthCheck::ok("mesh", format!("{}: {}", op.location, why(&op.location))));
    match op.mesh() {
        Ok(Some(mesh)) => {
            checks.push(permissions(op, &mesh, mode));
            let run = DoctorRun { op, mesh: &mesh, mode };
            checks.extend(run.checks());
            checks.extend(link::doctor_checks::checks(&mesh));
        }
        Ok(None) => checks.push(HealthCheck::ok("permissions", "there is no mesh yet: nobody has joined")),
        Err(error) => checks.push(HealthCheck::failed("permissions", error)),
    }
    checks.extend(install::checks(op, mode));
    checks.extend(assistant::check(op));
    checks.extend(doctor_checks::checks(op));
    checks.push(git(op));
    checks.push(inotify());
    checks
}

/// Tries the way that would wake an agent, without costing it a turn.
pub fn try_to_wake(ctx: &Context, name: &AgentName) -> Result<Vec<HealthCheck>, CommandError> {
    let unknown = || CommandError::new(CommandErrorKind::UnknownAgent, format!("no agent is called {name}"));
    let mesh = ctx.mesh()?.ok_or_else(unknown)?;
    let roster = Roster::read(&mesh)?;
    let agent = roster.find(name).ok_or_else(|| with_nearest(unknown(), name, roster.census()))?;
    elsewhere::refuse(agent, "doctor --wake")?;
    Ok(vec![match wake::probe(ctx, &mesh, agent) {
        Ok(text) => HealthCheck::ok("waking", text),
        Err(reason) => HealthCheck::warn(
            "waking",
            reason.to_string(),
            "`msg install` puts the hooks in place that waking needs",
        ),
    }])
}

fn why(location: &MeshLocation) -> String {
    match &location.reason {
        LocationReason::Told(SettingSource::Flag(flag)) => format!("{flag} says so"),
        LocationReason::Told(SettingSource::Variable(name)) => format!("${name} says so"),
        LocationReason::Told(SettingSource::File(file)) => format!("`{file}` says so"),
        LocationReason::Told(SettingSource::Remembered(file)) => {
            format!("`{file}` said so when it was last readable")
        }
        LocationReason::Told(SettingSource::Default | SettingSource::Implied(_))
        | LocationReason::Fallback => "the default".to_string(),
        LocationReason::PiMessenger => "pi-messenger's, which is there already".to_string(),
    }
}

struct DoctorRun<'a> {
    op: &'a Op,
    mesh: &'a Mesh,
    mode: DoctorMode,
}

impl DoctorRun<'_> {
    fn checks(&self) -> Vec<HealthCheck> {
        let of = |name, checks: Result<Vec<HealthCheck>, StoreError>| {
            checks.unwrap_or_else(|error| vec![HealthCheck::failed(name, error)])
        };
        [
            of("file system", self.file_system()),
            of("mesh.lock", self.mesh_lock()),
            of("swarm.lock", self.swarm_lock()),
            of("registry", self.registry()),
            of("claims", self.claims()),
            of("completions", self.completions()),
            of("specs", self.specs()),
            of("graves", self.graves()),
            of("sessions", self.sessions()),
            of("temporary files", self.temporary_files()),
            of("quarantine", self.quarantine()),
            of("hooks", self.hooks()),
            self.waking().unwrap_or_else(|error| vec![HealthCheck::failed("waking", error)]),
            of("clock", self.clock()),
        ]
        .concat()
    }

    fn file_system(&self) -> Result<Vec<HealthCheck>, StoreError> {
        const NAME: &str = "file system";
        Ok(vec![match self.mesh.file_system() {
            None => HealthCheck::ok(NAME, "of an unknown kind"),
            Some(kind) if kind.is_network => HealthCheck::warn(
                NAME,
                format!(
                    "{}, which other machines may share: agents there count as unknown, and their mail is noticed \
                     at the next look instead of at once",
                    kind.name
                ),
                "put the mesh on a local disk: `msg config set mesh DIR`; `msg selftest` shows what holds on this one",
            ),
            Some(kind) => HealthCheck::ok(NAME, kind.name),
        }])
    }

    fn mesh_lock(&self) -> Result<Vec<HealthCheck>, StoreError> {
        const NAME: &str = "mesh.lock";
        Ok(vec![match self.mesh.try_lock()? {
            Some(locked) => {
                locked.probe()?;
                HealthCheck::ok(NAME, "working")
            }
            None => {
                let holder = self
                    .mesh
                    .upkeep()
                    .lock_holder()
                    .map_or("another process".to_string(), |pid| format!("process {pid}"));
                HealthCheck::ok(NAME, format!("held by {holder} at this moment"))
            }
        }])
    }

    fn swarm_lock(&self) -> Result<Vec<HealthCheck>, StoreError> {
        const NAME: &str = "swarm.lock";
        Ok(vec![match self.mesh.tasks().lock_state()? {
            None => HealthCheck::ok(NAME, "free"),
            Some(SwarmLockState::Held(holder)) => {
                HealthCheck::ok(NAME, format!("held by {holder} at this moment"))
            }
            Some(SwarmLockState::Stale(why)) if self.mode == DoctorMode::Repair => {
                drop(self.mesh.lock_with_claims()?);
                HealthCheck::repaired(NAME, format!("a stale lock was removed: {why}"))
            }
            Some(SwarmLockState::Stale(why)) => HealthCheck::warn(
                NAME,
                format!("a stale lock is there: {why}"),
                "the next `msg claim` removes it",
            ),
        }])
    }

    fn registry(&self) -> Result<Vec<HealthCheck>, StoreError> {
        const NAME: &str = "registry";
        let mut census = self.mesh.registry().local_census()?;
        let mut buried = Vec::new();
        if self.mode == DoctorMode::Repair {
            let mut locked = self.mesh.lock()?;
            let settled = settled_census(&locked)?;
            buried = bury_dead(&mut locked, &settled, clock::now())?;
            waiting::notify_waiting_or_warn(self.op, self.mesh, &mut locked);
            census = locked.local_census()?;
        }
        let (mut live, mut checks) = (0, Vec::new());
        for record in &census.records {
            let agent = &record.agent;
            match process::liveness(&agent.process) {
                Liveness::Alive => live += 1,
                Liveness::Gone if agent.is_foreign() => checks.push(HealthCheck::ok(
                    NAME,
                    format!("{} of pi-messenger is gone; pi-messenger will clear it away", agent.name),
                )),
                Liveness::Gone => {
                    let text = format!("{} is gone and not cleaned up yet", agent.name);
                    checks.push(HealthCheck::warn(
                        NAME,
                        text,
                        "the next `msg join` cleans it up; `msg doctor --repair` too",
                    ));
                }
                Liveness::Unknown => {
                    let text = format!("cannot check from here whether {} is alive", agent.name);
                    let fix = format!("if you know that it is not: `msg evict {}`", agent.name);
                    checks.push(HealthCheck::warn(NAME, text, &fix));
                }
            }
            if agent.started_at > clock::now() + SignedDuration::from_mins(1) {
                let text = format!("{} says that it started in the future", agent.name);
                checks.push(HealthCheck::warn(NAME, text, "check the clock of this machine"));
            }
        }
        for file in &census.unreadable {
            if let Some(record) = &file.told {
                checks.push(pi_messenger::odd_registration(file, record));
                continue;
            }
            let text = format!("`{}` can't be read: {}", file.path, file.reason);
            checks.push(HealthCheck::fail(NAME, text, "inspect the file, then repair or remove it"));
        }
        checks.extend(pi_messenger::differ_in_case(&census));
        checks.extend(pi_messenger::orphans(self.mesh, &census)?);
        for old in &census.superseded {
            let text =
                format!("the former registration {} of a renamed agent is still there", old.agent.name);
            checks.push(HealthCheck::warn(NAME, text, REPAIR));
        }
        let mut text = format!("{live} {}", if live == 1 { "agent is there" } else { "agents are there" });
        if !buried.is_empty() {
            let names: Vec<&str> = buried.iter().map(|name| name.as_str()).collect();
            text = format!("{text}; buried: {}", names.join(", "));
        }
        let check =
            if buried.is_empty() { HealthCheck::ok(NAME, text) } else { HealthCheck::repaired(NAME, text) };
        checks.insert(0, check);
        Ok(checks)
    }

    fn sessions(&self) -> Result<Vec<HealthCheck>, StoreError> {
        const NAME: &str = "sessions";
        let locked = if self.mode == DoctorMode::Repair { Some(self.mesh.lock()?) } else { None };
        let SessionScan { records, unreadable } = self.mesh.sessions().all()?;
        let mut checks = Vec::new();
        let mut forgotten = 0;
        let too_old = prune::too_old(self.op);
        if let Some(locked) = &locked {
            for record in &records {
                if prune::is_old_session(self.mesh, record, too_old)? {
                    locked.forget(&record.last.agent.session)?;
                    forgotten += 1;
                }
            }
        }
        for file in &unreadable {
            let text = format!("`{}` can't be read: {}", file.path, file.reason);
            checks.push(match &locked {
                Some(locked) => match locked.put_session_aside(&file.stem)? {
                    Some(aside) => HealthCheck::warn(NAME, text, &format!("it was set aside as `{aside}`")),
                    None => continue,
                },
                None => HealthCheck::fail(NAME, text, REPAIR),
            });
        }
        let mut text = format!("{} remembered", records.len() - forgotten);
        if forgotten > 0 {
            text = format!("{text}, {forgotten} forgotten");
        }
        checks.insert(0, HealthCheck::ok(NAME, text));
        Ok(checks)
    }

    fn claims(&self) -> Result<Vec<HealthCheck>, StoreError> {
        let whole = self.mesh.tasks().claims().map(|claims| count(claims.iter().count(), "claim"));
        self.check_task_file("claims", whole, |swarm| swarm.salvage())
    }

    fn completions(&self) -> Result<Vec<HealthCheck>, StoreError> {
        let whole = self.mesh.tasks().completions().map(|done| count(done.count(), "completion"));
        self.check_task_file("completions", whole, |swarm| swarm.salvage_completions())
    }

    /// Checks a file of the tasks: reports its content, or, when repairing, what could be saved of a damaged one.
    fn check_task_file(
        &self,
        name: &'static str,
        whole: Result<String, StoreError>,
        salvage: impl Fn(&LockedClaims<'_>) -> Result<Option<Salvaged>, StoreError>,
    ) -> Result<Vec<HealthCheck>, StoreError> {
        let (path, reason) = match whole {
            Ok(text) => return Ok(vec![HealthCheck::ok(name, text)]),
            Err(StoreError::Corrupt { path, reason }) => (path, reason),
            Err(error) => return Err(error),
        };
        let text = format!("`{}` can't be read: {reason}", path.display());
        if self.mode == DoctorMode::CheckOnly {
            let fix = "`msg doctor --repair` keeps what is intact and sets the original aside";
            return Ok(vec![HealthCheck::fail(name, text, fix)]);
        }
        Ok(vec![match salvage(&self.mesh.lock_with_claims()?.lock_claims()?)? {
            Some(Salvaged { kept, dropped, aside }) => {
                let text = format!("{text}; {kept} were saved, {dropped} were not");
                HealthCheck::warn(name, text, &format!("the original is `{aside}`"))
            }
            None => HealthCheck::ok(name, "can be read"),
        }])
    }

    /// Checks the specs that live agents work on.
    fn specs(&self) -> Result<Vec<HealthCheck>, StoreError> {
        const NAME: &str = "specs";
        let roster = Roster::read(self.mesh)?;
        let specs: std::collections::BTreeSet<&str> = roster
            .live()
            .filter(|agent| !agent.is_remote())
            .filter_map(|agent| agent.spec.as_deref())
            .collect();
        let mut checks = vec![HealthCheck::ok(NAME, count(specs.len(), "spec"))];
        for spec in specs {
            match crate::ops::tasks::problems(spec) {
                Ok(problems) => {
                    checks.extend(problems.into_iter().map(|problem| {
                        HealthCheck::warn(NAME, format!("`{spec}`, {problem}"), "fix the spec")
                    }));
                }
                Err(error) => {
                    let text = format!("`{spec}`: {error}");
                    checks.push(HealthCheck::warn(NAME, text, "set it with `msg spec PATH`"));
                }
            }
        }
        Ok(checks)
    }

    fn graves(&self) -> Result<Vec<HealthCheck>, StoreError> {
        const NAME: &str = "graves";
        let locked = if self.mode == DoctorMode::Repair { Some(self.mesh.lock()?) } else { None };
        let GraveScan { graves, unreadable } = self.mesh.graves().all()?;
        let mail: usize = graves.iter().map(|grave| grave.unread).sum();
        let mut text = match graves.len() {
            0 => "none".to_string(),
            graves => format!("{}, with {}", count(graves, "grave"), count(mail, "unread message")),
        };
        if let Some(locked) = &locked {
            let too_old = prune::too_old(self.op);
            let old = graves.iter().filter(|grave| prune::is_old_grave(grave, too_old));
            let mut closed = 0;
            for grave in old {
                locked.close_grave(&grave.id)?;
                closed += 1;
            }
            if closed > 0 {
                text = format!("{text}; closed {}", count(closed, "old and empty grave"));
            }
        }
        let damaged = unreadable.iter().map(|file| {
            let text = format!("`{}` can't be read: {}", file.path, file.reason);
            HealthCheck::fail(NAME, text, "its `inbox/` may still hold mail: inspect it, then move it away")
        });
        Ok(std::iter::once(HealthCheck::ok(NAME, text)).chain(damaged).collect())
    }

    fn temporary_files(&self) -> Result<Vec<HealthCheck>, StoreError> {
        const NAME: &str = "temporary files";
        let strays = self.mesh.upkeep().leftover_files()?;
        let dead = strays.iter().filter(|stray| stray.liveness == Liveness::Gone).count();
        let unknown = strays.iter().filter(|stray| stray.liveness == Liveness::Unknown).count();
        let mut checks = vec![match dead {
            0 => HealthCheck::ok(NAME, "none left by dead processes"),
            _ if self.mode == DoctorMode::Repair => {
                let swept = self.mesh.lock()?.sweep()?;
                HealthCheck::repaired(NAME, format!("removed {} of dead processes", count(swept, "file")))
            }
            _ => HealthCheck::warn(
                NAME,
                format!("{} of dead processes", count(dead, "file")),
                "the next `msg join` removes them",
            ),
        }];
        if unknown > 0 {
            let text = format!("{} of processes that this machine cannot check", count(unknown, "file"));
            checks.push(HealthCheck::warn(NAME, text, "remove them from `tmp/` if they are old"));
        }
        Ok(checks)
    }

    fn quarantine(&self) -> Result<Vec<HealthCheck>, StoreError> {
        const NAME: &str = "quarantine";
        let files = self.mesh.upkeep().quarantined_files()?;
        Ok(vec![match files.first() {
            None => HealthCheck::ok(NAME, "empty"),
            Some(first) => {
                let text = format!("{} that could not be read and were set aside: `{first}` …", files.len());
                HealthCheck::warn(
                    NAME,
                    text,
                    "the reason is beside each; remove them when they are no longer needed",
                )
            }
        }])
    }

    /// Reports failures of hooks: a hook fails silently, so nobody else sees them.
    fn hooks(&self) -> Result<Vec<HealthCheck>, StoreError> {
        const NAME: &str = "hooks";
        let troubles = self.mesh.hooks().failures()?;
        let Some(last) = troubles.last() else { return Ok(vec![HealthCheck::ok(NAME, "no call failed")]) };
        let what = [last.harness.as_str(), &last.event].map(escape_invisible).join(" ");
        let age = format_age(last.ts, clock::now());
        let text = match troubles.len() {
            1 => "one call failed".to_string(),
            calls => format!("{calls} calls failed, the last one"),
        };
        let text = format!("{text} {age} ago: {}: {}", what.trim(), escape_invisible(&last.error));
        if self.mode == DoctorMode::CheckOnly {
            return Ok(vec![HealthCheck::warn(NAME, text, "once fixed, `msg doctor --repair` clears this")]);
        }
        self.mesh.hooks().forget_failures()?;
        Ok(vec![HealthCheck::warn(NAME, text, "cleared")])
    }

    fn waking(&self) -> Result<Vec<HealthCheck>, CommandError> {
        let roster = Roster::read(self.mesh)?;
        let is_agent = |agent: &&Agent| {
            !agent.is_remote() && agent.harness.is_some_and(|harness| harness::support(harness).is_some())
        };
        let agents = roster.live().filter(is_agent);
        agents
            .map(|agent| {
                let WakeDescription { text, is_woken } = wake::describe(self.op, self.mesh, agent)?;
                let fix = "prompt it to hand it its mail; docs/waking.md lists what wakes it";
                Ok(if is_woken {
                    HealthCheck::ok("waking", text)
                } else {
                    HealthCheck::warn("waking", text, fix)
                })
            })
            .collect()
    }

    fn clock(&self) -> Result<Vec<HealthCheck>, StoreError> {
        const NAME: &str = "clock";
        let skew = self.mesh.clock_skew()?;
        Ok(vec![if skew < Duration::from_secs(2) {
            HealthCheck::ok(NAME, "files are dated by the clock of this machine")
        } else {
            let text = format!("files are dated {} s off the clock of this machine", skew.as_secs());
            HealthCheck::warn(NAME, text, "set the clocks of the machines that share this file system")
        }])
    }
}

fn count(number: usize, what: &str) -> String {
    match number {
        0 => format!("no {what}s"),
        1 => format!("one {what}"),
        _ => format!("{number} {what}s"),
    }
}
