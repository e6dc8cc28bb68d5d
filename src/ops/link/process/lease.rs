//! The lease of this machine: taken, renewed, and lost. A task of its own renews it, so nothing else that waits delays
//! it.
//!
//! The lease counts from before the request that confirmed it, by a clock that also goes on while the machine sleeps.
//! So this machine never believes longer than the server that it has it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{mpsc, watch};

use super::table::machine_key;
use crate::domain::link::{LeaseEpoch, MachineName, MachineRecord};
use crate::domain::sha256;
use crate::store::{LinkConfig, Mesh, link_format};
use crate::sys::nats::{Cas, Nats, NatsError};
use crate::sys::{clock, process, random, test_switches};

/// How long a lease lasts without being renewed.
const LEASE: Duration = Duration::from_secs(30);

/// The length of a lease. Tests shorten it.
pub(super) fn length() -> Duration {
    let told = test_switches::value(test_switches::LINK_LEASE).and_then(|millis| millis.parse().ok());
    told.map_or(LEASE, Duration::from_millis)
}

/// What tells this mesh of this machine from any other: also from a copy of its files, here or on a clone of the machine.
pub(super) fn installation(config: &LinkConfig, mesh: Option<&Mesh>) -> String {
    let place = process::pid_scope();
    let (machine, boot) = (place.machine_id.as_deref(), place.boot_id.as_deref());
    let directory = mesh.and_then(|mesh| mesh.link().identity());
    let directory = directory.map_or(String::new(), |file| format!("{}:{}", file.device, file.inode));
    let parts = [config.installation.as_str(), machine.unwrap_or(""), boot.unwrap_or(""), &directory];
    sha256(parts.join("\0").as_bytes())[..32].to_string()
}

/// What is known of the lease.
#[derive(Clone, Debug, Default)]
pub(super) struct LeaseView {
    pub(super) epoch: Option<LeaseEpoch>,
    /// Until when it is held at least, by the clock since the machine started.
    pub(super) until: Duration,
}

impl LeaseView {
    /// The epoch, if the lease is surely held now.
    pub(super) fn held(&self) -> Option<&LeaseEpoch> {
        self.epoch.as_ref().filter(|_| clock::since_boot() < self.until)
    }
}

/// What happened to the lease.
#[derive(Clone, Debug)]
pub(super) enum LeaseEvent {
    /// It is held, with this revision and these bytes.
    Held {
        revision: u64,
        bytes: Vec<u8>,
    },
    /// It was held, and its time was over before it could be renewed.
    Lost,
    /// Another process has the name of this machine.
    NameInUse {
        machine: MachineName,
    },
    Failed(NatsError),
}

/// Takes the lease and renews it until the process ends. One that an earlier link process of this mesh left is gone on
/// with: as long as the server has it, nothing was lost in between, and the lock of the link says that there is only one
/// such process.
pub(super) async fn keep(
    nats: Arc<Nats>,
    machine: MachineName,
    installation: String,
    view: watch::Sender<LeaseView>,
    events: mpsc::UnboundedSender<LeaseEvent>,
) {
    let mut lease =
        Lease { nats, machine, installation, revision: 0, epoch: None, has_been_held: false, view };
    let length = length();
    loop {
        let pause = match lease.renew(length).await {
            Ok(Some(event)) => {
                let is_held = matches!(event, LeaseEvent::Held { .. });
                if events.send(event).is_err() {
                    return;
                }
                if is_held { length / 3 } else { length / 10 }
            }
            Ok(None) => Duration::ZERO,
            Err(error) => {
                let is_over = lease.has_been_held && lease.view.borrow().held().is_none();
                if is_over {
                    lease.has_been_held = false;
                    drop(events.send(LeaseEvent::Lost));
                }
                if events.send(LeaseEvent::Failed(error)).is_err() {
                    return;
                }
                length / 10
            }
        };
        tokio::time::sleep(pause).await;
    }
}

struct Lease {
    nats: Arc<Nats>,
    machine: MachineName,
    installation: String,
    /// The revision of our record; 0 if we have none.
    revision: u64,
    epoch: Option<LeaseEpoch>,
    /// Whether it was held since it was lost the last time.
    has_been_held: bool,
    view: watch::Sender<LeaseView>,
}

impl Lease {
    /// Renews the lease, or takes it. `None`: look again at once.
    async fn renew(&mut self, length: Duration) -> Result<Option<LeaseEvent>, NatsError> {
        let key = machine_key(&self.machine);
        let from = clock::since_boot();
        if self.revision == 0 {
            let there = self.nats.get(&key).await?;
            let Some(there) = there else { return self.take(&key, from, length).await };
            let record = link_format::parse_machine(&there.value).ok();
            let ours = record.filter(|record| record.installation == self.installation);
            let Some(ours) = ours else {
                return Ok(Some(LeaseEvent::NameInUse { machine: self.machine.clone() }));
            };
            self.revision = there.revision;
            self.epoch = Some(ours.epoch);
        }
        let Some(epoch) = self.epoch.clone() else { return self.take(&key, from, length).await };
        let bytes = self.bytes(&epoch);
        let value = Bytes::from(bytes.clone());
        match self.nats.update(&key, value, self.revision, Some(length)).await? {
            Cas::Done(revision) => Ok(Some(self.held(epoch, revision, bytes, from + length))),
            // Its time was over, or an answer was lost: look what is there.
            Cas::Conflict => {
                self.revision = 0;
                Ok(None)
            }
        }
    }

    /// Takes the lease, which nobody has, with a new epoch.
    async fn take(
        &mut self,
        key: &str,
        from: Duration,
        length: Duration,
    ) -> Result<Option<LeaseEvent>, NatsError> {
        let was_held = std::mem::take(&mut self.has_been_held);
        if was_held {
            self.view.send_modify(|view| view.until = Duration::ZERO);
            return Ok(Some(LeaseEvent::Lost));
        }
        let Some(epoch) = LeaseEpoch::new(random::uuid().simple().to_string()) else { return Ok(None) };
        self.epoch = Some(epoch.clone());
        let bytes = self.bytes(&epoch);
        match self.nats.create(key, Bytes::from(bytes.clone()), Some(length)).await? {
            Cas::Done(revision) => Ok(Some(self.held(epoch, revision, bytes, from + length))),
            Cas::Conflict => Ok(None),
        }
    }

    fn held(&mut self, epoch: LeaseEpoch, revision: u64, bytes: Vec<u8>, until: Duration) -> LeaseEvent {
        self.revision = revision;
        self.has_been_held = true;
        self.view.send_replace(LeaseView { epoch: Some(epoch), until });
        LeaseEvent::Held { revision, bytes }
    }

    fn bytes(&self, epoch: &LeaseEpoch) -> Vec<u8> {
        link_format::machine_bytes(&MachineRecord {
            machine: self.machine.clone(),
            epoch: epoch.clone(),
            installation: self.installation.clone(),
            version: env!("CARGO_PKG_VERSION").to_string(),
            since: clock::now(),
            knows_runs: true,
        })
    }
}
