//! Makes the server's records of this machine what the local mesh says: names, claims and paths that are held here are
//! held there, and what was given up here is given back.
//!
//! A thing that another machine has meanwhile stays with that machine, and the agent here is told, once.

mod paths;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::decide::{Arbiter, RecordStep, Unreadable, after, given_up, holder, task, unreadable};
use super::local::LocalState;
use super::table::{Known, RecordTable, RecordValue};
use crate::domain::link::{
    LeaseEpoch, RecordOwner, TaskHolding, TaskKey, TaskRecord, name_token, shared, task_token,
};
use crate::domain::{Agent, AgentName, Notice, PeerText, Reservation, RootCommit, SessionId};
use crate::ops::effects::Op;
use crate::store::link_protocol::{LinkAnswer, LocalAgent};
use crate::sys::nats::{Nats, NatsError};
use crate::sys::test_switches::{Bug, has_bug};

/// How long something that the server granted may wait for its commit here before it is given back.
const GRACE: Duration = Duration::from_secs(10);

/// Something that the server granted and that is not committed here yet.
#[derive(Debug, Default)]
pub(super) struct Grants {
    /// Names and tasks, by key.
    keys: HashMap<String, Instant>,
    /// Paths, by the session of their agent.
    paths: Vec<(RootCommit, SessionId, Vec<Reservation>, Instant)>,
}

impl Grants {
    pub(super) fn add_name(&mut self, agent: &LocalAgent) {
        self.keys.insert(name_token(&agent.name), Instant::now());
    }

    pub(super) fn add_task(&mut self, key: &TaskKey) {
        self.keys.insert(task_token(key), Instant::now());
    }

    pub(super) fn add_paths(&mut self, agent: &LocalAgent, repository: &RootCommit, paths: &[Reservation]) {
        let paths = paths.iter().filter_map(|path| shared(path, "/")).collect();
        self.paths.push((repository.clone(), agent.session.clone(), paths, Instant::now()));
    }

    /// Whether a command may still be at work on what it was granted.
    pub(super) fn has(&self, key: &str) -> bool {
        self.keys.get(key).is_some_and(|since| since.elapsed() < GRACE)
    }

    fn expire(&mut self) {
        self.keys.retain(|_, since| since.elapsed() < GRACE);
        self.paths.retain(|(.., since)| since.elapsed() < GRACE);
    }

    /// When the next one is given back, if there is any.
    pub(super) fn next_end(&self) -> Option<Instant> {
        let paths = self.paths.iter().map(|(.., since)| since);
        self.keys.values().chain(paths).min().map(|since| *since + GRACE)
    }
}

/// What was told to agents, so that it is told once.
#[derive(Debug, Default)]
pub(super) struct ToldLosses(HashSet<(SessionId, String)>);

impl ToldLosses {
    fn is_news(&mut self, agent: &Agent, what: &str) -> bool {
        self.0.insert((agent.session.clone(), what.to_string()))
    }

    /// It is as it should be, so the next loss is news again.
    fn forget(&mut self, agent: &Agent, what: &str) {
        self.0.remove(&(agent.session.clone(), what.to_string()));
    }
}

/// One pass.
pub(super) struct Reconciler<'a> {
    pub(super) op: &'a Op,
    pub(super) nats: &'a Nats,
    pub(super) table: &'a mut RecordTable,
    pub(super) epoch: &'a LeaseEpoch,
    pub(super) grants: &'a mut Grants,
    pub(super) told: &'a mut ToldLosses,
}

impl Reconciler<'_> {
    pub(super) async fn run(&mut self, local: &LocalState) -> Result<(), NatsError> {
        self.grants.expire();
        self.names(local).await?;
        self.tasks(local).await?;
        self.paths(local).await
    }

    fn arbiter(&mut self) -> Arbiter<'_> {
        Arbiter { nats: self.nats, table: self.table, epoch: self.epoch }
    }

    async fn names(&mut self, local: &LocalState) -> Result<(), NatsError> {
        for (key, (name, agent, bytes)) in &local.names {
            if self.table.get(key).is_some_and(|known| known.bytes == *bytes) {
                continue;
            }
            let answer = self
                .arbiter()
                .change(key, |table, known| {
                    let owner = match known.map(|known| &known.value) {
                        Some(RecordValue::Name(name)) => Some(&name.record.owner),
                        Some(_) => return RecordStep::Stop(LinkAnswer::Refused { why: String::new() }),
                        None => None,
                    };
                    match owner {
                        Some(owner) if table.is_held_elsewhere(owner) => {
                            RecordStep::Stop(LinkAnswer::Taken { holders: vec![holder(owner)] })
                        }
                        _ => RecordStep::Write(bytes.clone()),
                    }
                })
                .await?;
            match answer {
                LinkAnswer::Taken { holders } if *name == agent.name => {
                    self.tell_name(agent, name, holders.first().map(|by| by.machine.as_str()));
                }
                _ => self.told.forget(agent, key),
            }
        }
        // A name whose owner can't be read now is not given back.
        if !local.knows_all_agents {
            return Ok(());
        }
        let is_left = |(key, known): &(&String, &Known<RecordValue>)| {
            let is_mine =
                |owner: &RecordOwner| owner.machine == self.table.me && !stays_with_dead(owner, local);
            let is_mine = matches!(&known.value, RecordValue::Name(name) if is_mine(&name.record.owner));
            is_mine && !local.names.contains_key(*key) && !self.grants.keys.contains_key(*key)
        };
        let left: Vec<String> =
            self.table.of_kind("name").filter(is_left).map(|(key, _)| key.clone()).collect();
        self.give_back(left).await
    }

    /// Deletes names of this machine that nothing here stands for.
    async fn give_back(&mut self, keys: Vec<String>) -> Result<(), NatsError> {
        for key in keys {
            self.arbiter()
                .change(&key, |table, known| {
                    let owner = match known.map(|known| &known.value) {
                        Some(RecordValue::Name(name)) => Some(&name.record.owner),
                        _ => None,
                    };
                    match owner {
                        Some(owner) if owner.machine == table.me => RecordStep::Delete,
                        _ => RecordStep::Stop(LinkAnswer::Done),
                    }
                })
                .await?;
        }
        Ok(())
    }

    async fn tasks(&mut self, local: &LocalState) -> Result<(), NatsError> {
        for (key, (agent, record)) in &local.tasks {
            let known = self.table.get(key);
            if known.is_some_and(|known| known.bytes == after(record, task(Some(known)).ok().flatten())) {
                continue;
            }
            let answer = self
                .arbiter()
                .change(key, |table, known| match task(known) {
                    Ok(Some(there)) => match &there.holding {
                        TaskHolding::Done { .. } => {
                            RecordStep::Stop(LinkAnswer::Finished { by: holder(&there.owner) })
                        }
                        TaskHolding::Claimed { .. } if table.is_held_elsewhere(&there.owner) => {
                            RecordStep::Stop(LinkAnswer::Taken { holders: vec![holder(&there.owner)] })
                        }
                        TaskHolding::Claimed { .. } | TaskHolding::Reopened => {
                            RecordStep::Write(after(record, Some(there)))
                        }
                    },
                    Ok(None) => RecordStep::Write(after(record, None)),
                    Err(Unreadable) => RecordStep::Stop(unreadable()),
                })
                .await?;
            match answer {
                LinkAnswer::Taken { holders } => {
                    let by = holders.first().map(|by| (by.agent.clone(), by.machine.clone()));
                    self.tell_task(
                        agent,
                        key,
                        record,
                        by,
                        " has it now. Stop working on it, and give it up: msg unclaim ",
                    );
                }
                // The completion here follows, or another machine has finished it.
                LinkAnswer::Finished { by } if by.machine != self.table.me.as_str() => {
                    let by = Some((by.agent.clone(), by.machine.clone()));
                    self.tell_task(agent, key, record, by, " has finished it. Give it up: msg unclaim ");
                }
                _ => self.told.forget(agent, key),
            }
        }
        // A claim whose spec or whose owner can't be recognised now is not given up.
        if !local.knows_all_tasks {
            return Ok(());
        }
        for key in left_tasks(self.table, self.grants, local) {
            self.end_claim(&key, local.completed.get(&key)).await?;
        }
        Ok(())
    }

    /// Nothing here stands for this claim of ours any more: it was given back, or an older `msg` has completed the task,
    /// which does not ask the server.
    async fn end_claim(&mut self, key: &str, done: Option<&TaskRecord>) -> Result<(), NatsError> {
        let is_since = |since: Timestamp| {
            done.filter(|done| matches!(done.holding, TaskHolding::Done { at, .. } if at >= since))
        };
        self.arbiter()
            .change(key, |table, known| match task(known) {
                Ok(Some(there)) if there.owner.machine == table.me => match &there.holding {
                    TaskHolding::Claimed { since, .. } => match is_since(*since) {
                        Some(done) => RecordStep::Write(after(done, Some(there))),
                        None => given_up(there),
                    },
                    TaskHolding::Done { .. } | TaskHolding::Reopened => RecordStep::Stop(LinkAnswer::Done),
                },
                _ => RecordStep::Stop(LinkAnswer::Done),
            })
            .await
            .map(drop)
    }

    /// Tells the server of tasks that were completed here and that it does not know to be done. What was reopened after
    /// that is open.
    pub(super) async fn completed(&mut self, done: &BTreeMap<String, TaskRecord>) -> Result<(), NatsError> {
        for (key, record) in done {
            let TaskHolding::Done { at, .. } = &record.holding else { continue };
            self.arbiter()
                .change(key, |table, known| match task(known) {
                    Ok(None) => RecordStep::Write(after(record, None)),
                    Ok(Some(there)) if there.holding == TaskHolding::Reopened => match &there.reopened {
                        Some(reopening) if reopening.covers(&table.me, *at) => {
                            RecordStep::Stop(LinkAnswer::Done)
                        }
                        _ => RecordStep::Write(after(record, Some(there))),
                    },
                    _ => RecordStep::Stop(LinkAnswer::Done),
                })
                .await?;
        }
        Ok(())
    }

    fn tell_name(&mut self, agent: &Agent, name: &AgentName, machine: Option<&str>) {
        if !self.told.is_news(agent, &name_token(name)) {
            return;
        }
        let machine = PeerText::new(machine.unwrap_or("another machine"));
        let notice =
            Notice::new().say("The name ").name(name).say(" belongs to an agent on ").names([&machine]);
        let notice = notice
            .say(": agents on other machines can neither see nor reach you. To change that: msg rename NAME");
        self.op.notify(
            agent.clone(),
            notice,
            format!("could not tell {name} that its name is taken elsewhere"),
        );
    }

    fn tell_task(
        &mut self,
        agent: &Agent,
        key: &str,
        record: &TaskRecord,
        by: Option<(String, String)>,
        what: &'static str,
    ) {
        if !self.told.is_news(agent, key) {
            return;
        }
        let (who, machine) = by.unwrap_or_default();
        let (task, who, machine) =
            (PeerText::new(record.key.task.as_str()), PeerText::new(who), PeerText::new(machine));
        let notice = Notice::new().say("You lost ").code(&task);
        let notice = notice.say(": ").names([&who]).say(" on ").names([&machine]);
        let notice = notice.say(what).arguments([&task], "TASK");
        self.op.notify(agent.clone(), notice, format!("could not tell {} that a task is lost", agent.name));
    }
}

/// The claims that the server has of this machine, and that nothing here stands for.
pub(super) fn left_tasks(table: &RecordTable, grants: &Grants, local: &LocalState) -> Vec<String> {
    let is_left = |(key, known): &(&String, &Known<RecordValue>)| match &known.value {
        RecordValue::Task(task) => {
            task.owner.machine == table.me
                && !stays_with_dead(&task.owner, local)
                && matches!(task.holding, TaskHolding::Claimed { .. })
                && !local.tasks.contains_key(*key)
                && !grants.keys.contains_key(*key)
        }
        _ => false,
    };
    table.of_kind("task").filter(is_left).map(|(key, _)| key.clone()).collect()
}

/// Whether the record is one that a fault leaves with an agent which is dead.
fn stays_with_dead(owner: &RecordOwner, local: &LocalState) -> bool {
    has_bug(Bug::DeadStayOwners) && !local.agents.iter().any(|agent| agent.session == owner.session)
}

/// Tells agents that hold something over all machines that the lease of this machine is over.
pub(super) fn tell_lost_lease(op: &Op, local: &LocalState, told: &mut ToldLosses) {
    let mut holders: Vec<&Agent> = local.tasks.values().map(|(agent, _)| agent).collect();
    holders.extend(local.paths.values().flatten().map(|(agent, _)| agent));
    holders.sort_by(|a, b| a.session.as_str().cmp(b.session.as_str()));
    holders.dedup_by(|a, b| a.session == b.session);
    for agent in holders {
        if !told.is_news(agent, "lease") {
            continue;
        }
        let notice = Notice::new()
            .say("This machine has not reached the server for ")
            .duration(jiff::SignedDuration::try_from(super::lease::length()).unwrap_or_default())
            .say(": agents on other machines may take your tasks and the paths of your repository now. ")
            .say(
                "Go on with what you do here; you are told what was taken when the server is reached again.",
            );
        op.notify(agent.clone(), notice, format!("could not tell {} that the lease is over", agent.name));
    }
}

/// The lease is held again.
pub(super) fn forget_lost_lease(local: &LocalState, told: &mut ToldLosses) {
    local.agents.iter().for_each(|agent| told.forget(agent, "lease"));
}
