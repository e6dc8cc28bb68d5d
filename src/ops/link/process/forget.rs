//! Forgets a machine that does not come back: what it holds, and mail for it, on the server.
//!
//! It talks to the server itself, and not through the link process: mail for another machine needs credentials that no
//! machine has. Every step may be the last one; the same command goes on where another was cut short. The machine may also
//! come back at any moment, so its lease is asked for before each step.

use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;

use super::decide::{Arbiter, RecordStep, given_up, holder};
use super::table::{Known, RecordTable, RecordValue, machine_key};
use super::{io_error, problem, server};
use crate::domain::link::{LeaseEpoch, MachineName, OwnerState, RecordOwner, TaskHolding, name_token};
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::link::ask;
use crate::store::link_format::{Envelope, ReceiptState, paths_bytes};
use crate::store::link_protocol::LinkAnswer;
use crate::store::{LinkConfig, LinkCredentials};
use crate::sys::clock;
use crate::sys::nats::{Change, Nats, NatsError};

/// A number that no message ever has.
const NO_MESSAGE: u64 = 1 << 62;
/// How long the server may take to tell all records.
const LIMIT: Duration = Duration::from_secs(60);

/// What a machine has on the server.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct MachineRemains {
    pub names: usize,
    /// Tasks that it has claimed. What it completed stays.
    pub tasks: usize,
    pub paths: usize,
    /// Messages that it never took.
    pub messages: usize,
}

/// Whether only to look, or to remove what is found.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::ops::link) enum Forgetting {
    Look,
    Remove,
}

/// Looks what the machine has on the server, and removes it. Fails while the machine has its lease.
pub(in crate::ops::link) fn forget(
    config: &LinkConfig,
    machine: &MachineName,
    credentials: Option<LinkCredentials>,
    forgetting: Forgetting,
) -> Result<MachineRemains, CommandError> {
    let has_other_credentials = credentials.is_some();
    let credentials = credentials.unwrap_or_else(|| config.credentials.clone());
    let connecting = LinkConfig { credentials, ..config.clone() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(io_error)?;
    let done = runtime.block_on(async {
        let nats = Nats::connect(server::options(&connecting)).await?;
        let done = remove(&nats, config, machine, forgetting).await;
        nats.close().await;
        done
    });
    runtime.shutdown_timeout(Duration::from_secs(1));
    match done {
        Ok(Forgotten::Remains(remains)) => Ok(remains),
        Ok(Forgotten::HasLease) => {
            let text = format!("{machine} is linked: it has its lease, so it is not forgotten");
            Err(CommandError::new(CommandErrorKind::AtWork, text)
                .hint("run `msg link off` on that machine; if it is off already, wait half a minute")
                .fact("machine", machine.as_str()))
        }
        Ok(Forgotten::NotAllowed) => {
            let text = format!("mail for {machine} is on the server, and these credentials can't remove it");
            let error = CommandError::new(CommandErrorKind::NotLinked, text)
                .fact("problem", "permission_missing")
                .fact("machine", machine.as_str());
            Err(match has_other_credentials {
                true => error.hint("they must be those of the admin of the mesh"),
                false => error.hint(format!(
                    "give those of the admin: `msg link forget {machine} --credentials admin.user`; `msg link config` wrote that file"
                )),
            })
        }
        Err(error) => Err(ask::unreachable(
            &problem::of(&error, &connecting),
            "run it again: it continues where it stopped",
        )),
    }
}

enum Forgotten {
    Remains(MachineRemains),
    HasLease,
    NotAllowed,
}

async fn remove(
    nats: &Nats,
    config: &LinkConfig,
    machine: &MachineName,
    forgetting: Forgetting,
) -> Result<Forgotten, NatsError> {
    let mut table = read_records(nats, config).await?;
    if has_lease(nats, machine).await? {
        return Ok(Forgotten::HasLease);
    }
    let mut remains = MachineRemains::default();
    let has_mail = nats.count_stored(machine.as_str()).await? > 0;
    if has_mail {
        match may_remove(nats).await {
            Err(NatsError::PermissionMissing { .. } | NatsError::NotReady { .. }) => {
                return Ok(Forgotten::NotAllowed);
            }
            may => may?,
        }
    }
    // The names first: then nobody writes to it any more.
    for key in keys_of(&table, machine, &mut remains) {
        if forgetting == Forgetting::Look {
            continue;
        }
        if has_lease(nats, machine).await? {
            return Ok(Forgotten::HasLease);
        }
        let epoch = LeaseEpoch::of_nobody();
        let mut arbiter = Arbiter { nats, table: &mut table, epoch: &epoch };
        let step = |table: &RecordTable, known: Option<&Known<RecordValue>>| without(table, known, machine);
        if let LinkAnswer::Taken { .. } = arbiter.change(&key, step).await? {
            return Ok(Forgotten::HasLease);
        }
    }
    if has_mail {
        match mail(nats, machine, forgetting).await? {
            Some(messages) => remains.messages = messages,
            None => return Ok(Forgotten::HasLease),
        }
    }
    Ok(Forgotten::Remains(remains))
}

/// Whether the machine is linked now.
async fn has_lease(nats: &Nats, machine: &MachineName) -> Result<bool, NatsError> {
    Ok(nats.get(&machine_key(machine)).await?.is_some())
}

/// Whether these credentials can read and remove mail for another machine.
async fn may_remove(nats: &Nats) -> Result<(), NatsError> {
    nats.remove_stored(NO_MESSAGE).await
}

async fn read_records(nats: &Nats, config: &LinkConfig) -> Result<RecordTable, NatsError> {
    let mut table = RecordTable::new(config.machine.clone());
    let mut changes = nats.watch().await?;
    let read = async {
        while let Some(change) = changes.next().await {
            match change? {
                Change::Put(record) => table.put(&record.key, record.revision, &record.value),
                Change::Gone { key, revision, .. } => table.remove(&key, revision, clock::now()),
                Change::CaughtUp => break,
            }
        }
        Ok::<_, NatsError>(())
    };
    let late = |_| NatsError::TimedOut { what: "read the records".to_string() };
    tokio::time::timeout(LIMIT, read).await.map_err(late)??;
    Ok(table)
}

/// The keys of records that name the machine as the owner of something.
fn keys_of(table: &RecordTable, machine: &MachineName, remains: &mut MachineRemains) -> Vec<String> {
    let mut keys = Vec::new();
    for (key, known) in ["name", "task", "paths"].into_iter().flat_map(|kind| table.of_kind(kind)) {
        let counted = match &known.value {
            RecordValue::Name(name) if name.record.owner.machine == *machine => {
                // A former name is not one more agent.
                remains.names += usize::from(name.agent.is_some() && name_token(&name.record.name) == *key);
                true
            }
            RecordValue::Task(task)
                if task.owner.machine == *machine && matches!(task.holding, TaskHolding::Claimed { .. }) =>
            {
                remains.tasks += 1;
                true
            }
            RecordValue::Paths(paths) => {
                let held = paths.held.iter().filter(|held| held.owner.machine == *machine).count();
                remains.paths += held;
                held > 0
            }
            _ => false,
        };
        keys.extend(counted.then(|| key.clone()));
    }
    keys
}

/// The record without what the machine has. What it took again since it has its lease is its own.
fn without(table: &RecordTable, known: Option<&Known<RecordValue>>, machine: &MachineName) -> RecordStep {
    let is_its = |owner: &RecordOwner| owner.machine == *machine;
    let is_back = |owner: &RecordOwner| is_its(owner) && table.leases.state(owner) == OwnerState::Holds;
    let back = |owner: &RecordOwner| RecordStep::Stop(LinkAnswer::Taken { holders: vec![holder(owner)] });
    match known.map(|known| &known.value) {
        Some(RecordValue::Name(name)) if is_back(&name.record.owner) => back(&name.record.owner),
        Some(RecordValue::Name(name)) if is_its(&name.record.owner) => RecordStep::Delete,
        Some(RecordValue::Task(task)) if matches!(task.holding, TaskHolding::Claimed { .. }) => {
            match &task.owner {
                owner if is_back(owner) => back(owner),
                owner if is_its(owner) => given_up(task),
                _ => RecordStep::Stop(LinkAnswer::Done),
            }
        }
        Some(RecordValue::Paths(paths)) => {
            let mut paths = (**paths).clone();
            if let Some(held) = paths.held.iter().find(|held| is_back(&held.owner)) {
                return back(&held.owner);
            }
            let before = paths.held.len();
            paths.held.retain(|held| !is_its(&held.owner));
            match paths.held.len() {
                after if after == before => RecordStep::Stop(LinkAnswer::Done),
                0 => RecordStep::Delete,
                _ => RecordStep::Write(paths_bytes(&paths)),
            }
        }
        _ => RecordStep::Stop(LinkAnswer::Done),
    }
}

/// Counts the messages for the machine, and removes them with everything else that waits for it. Their senders are told
/// before: a message that is told to be gone twice does no harm, one of which nobody ever hears does. `None`: the machine has
/// come back, and takes what is left itself.
async fn mail(
    nats: &Nats,
    machine: &MachineName,
    forgetting: Forgetting,
) -> Result<Option<usize>, NatsError> {
    let (mut count, mut next) = (0, 1);
    while let Some(stored) = nats.next_stored(machine.as_str(), next).await? {
        next = stored.sequence + 1;
        let message = Envelope::message_in(&stored.bytes);
        count += usize::from(message.is_some());
        if forgetting == Forgetting::Look {
            continue;
        }
        if has_lease(nats, machine).await? {
            return Ok(None);
        }
        if let Some((stem, to)) = message.filter(|_| stored.from_machine != machine.as_str()) {
            let why = format!("{machine} was given up");
            let state = ReceiptState::Refused { at: clock::now(), why };
            let receipt = Envelope::Receipt { stem: stem.clone(), to, state };
            let id = format!("forgotten-{stem}");
            nats.publish(&stored.from_machine, &id, Bytes::from(receipt.bytes())).await?;
        }
        nats.remove_stored(stored.sequence).await?;
    }
    Ok(Some(count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::link::{MachineRecord, TaskKey, TaskRecord, task_token};
    use crate::domain::{AgentName, RootCommit, SessionId};
    use crate::store::link_format::{machine_bytes, name_bytes, task_bytes};

    #[test]
    fn what_a_machine_took_after_it_came_back_is_not_removed() {
        let laptop = MachineName::new("laptop").unwrap();
        let owner = |epoch: &str| RecordOwner {
            machine: laptop.clone(),
            epoch: LeaseEpoch::new(epoch).unwrap(),
            agent: AgentName::new("Anna").unwrap(),
            session: SessionId::new("s").unwrap(),
        };
        let mut table = RecordTable::new(MachineName::new("box").unwrap());
        let key = TaskKey {
            repository: RootCommit::new(&"a".repeat(40)).unwrap(),
            spec: "plan.md".to_string(),
            task: "T-1".to_string(),
        };
        let since = clock::now();
        let put = |table: &mut RecordTable, revision: u64, epoch: &str| {
            let name = owner(epoch).agent;
            table.put(&name_token(&name), revision, &name_bytes(&name, &owner(epoch), None, None));
            let holding = TaskHolding::Claimed { since, reason: None };
            let task = TaskRecord { key: key.clone(), owner: owner(epoch), holding, reopened: None };
            table.put(&task_token(&key), revision, &task_bytes(&task));
        };
        let steps = |table: &RecordTable| {
            [name_token(&owner("e").agent), task_token(&key)]
                .map(|key| without(table, table.get(&key), &laptop))
        };
        let is_removed = |step: &RecordStep| matches!(step, RecordStep::Delete);
        let is_refused = |step: &RecordStep| matches!(step, RecordStep::Stop(LinkAnswer::Taken { .. }));
        put(&mut table, 1, "old");
        assert!(steps(&table).iter().all(is_removed));
        // It is back, and its link has not written its records yet: it does so later.
        let lease = MachineRecord {
            machine: laptop.clone(),
            epoch: owner("new").epoch,
            installation: String::new(),
            version: "1".to_string(),
            since,
            knows_runs: true,
        };
        table.put(&machine_key(&laptop), 2, &machine_bytes(&lease));
        assert!(steps(&table).iter().all(is_removed));
        put(&mut table, 3, "new");
        assert!(steps(&table).iter().all(is_refused));
    }
}
