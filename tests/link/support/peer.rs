//! A machine that is nothing but a client: it says and writes what a test wants, also what no link process would.

use bytes::Bytes;
use ravenry::domain::link::{LeaseEpoch, MachineName, MachineRecord, RecordOwner};
use ravenry::domain::{AgentName, SessionId};
use ravenry::store::link_format::machine_bytes;
use ravenry::sys::nats::{Cas, ConnectOptions, Nats};
use serde_json::{Value, json};

use super::server::{PATIENCE, Server};

pub struct Peer {
    pub nats: Nats,
    pub name: MachineName,
}

impl Peer {
    /// A machine of that name in the mesh of the tests.
    pub async fn connect(server: &Server, name: &str) -> Self {
        let nats = Nats::connect(ConnectOptions::new(vec![server.url()], "team", name)).await.unwrap();
        nats.prepare().await.unwrap();
        Self { nats, name: MachineName::new(name).unwrap() }
    }

    /// Takes a lease for longer than any test.
    pub async fn take_lease(&self, epoch: &str) {
        let record = MachineRecord {
            machine: self.name.clone(),
            epoch: LeaseEpoch::new(epoch).unwrap(),
            installation: "peer".to_string(),
            version: "1".to_string(),
            since: jiff::Timestamp::now(),
            knows_runs: false,
        };
        self.create(&format!("machine.{}", self.name), machine_bytes(&record)).await;
    }

    pub async fn create(&self, key: &str, value: Vec<u8>) -> u64 {
        match self.nats.create(key, Bytes::from(value), None).await.unwrap() {
            Cas::Done(revision) => revision,
            Cas::Conflict => panic!("{key} is there"),
        }
    }

    pub fn owner(&self, agent: &str, epoch: &str) -> RecordOwner {
        RecordOwner {
            machine: self.name.clone(),
            epoch: LeaseEpoch::new(epoch).unwrap(),
            agent: AgentName::new(agent).unwrap(),
            session: SessionId::new("peer").unwrap(),
        }
    }

    /// Sends a message with these members in place of the usual ones. Returns its stem.
    pub async fn send(&self, to_machine: &str, to: &str, version: u32, members: Value) -> String {
        let micros = u64::try_from(jiff::Timestamp::now().as_microsecond()).unwrap();
        let stamp = ravenry::domain::MessageStamp::new(micros, rand::random());
        let mut message = json!({
            "id": stamp.id().to_string(), "from": "Eve", "to": to, "text": "hi",
            "timestamp": stamp.timestamp().to_string(), "replyTo": null,
        });
        for (name, value) in members.as_object().unwrap() {
            message[name] = value.clone();
        }
        let envelope = json!({ "version": version, "stem": stamp.to_string(), "message": message });
        let bytes = Bytes::from(envelope.to_string());
        self.nats.publish(to_machine, &stamp.id().to_string(), bytes).await.unwrap();
        stamp.to_string()
    }

    /// The next receipt for this machine.
    pub async fn receipt(&self) -> Value {
        let start = std::time::Instant::now();
        while start.elapsed() < PATIENCE {
            let wait = std::time::Duration::from_secs(1);
            if let Some(one) = self.nats.next_messages(1, wait).await.unwrap().into_iter().next() {
                let envelope = serde_json::from_slice(&one.bytes).unwrap();
                one.done().await.unwrap();
                return envelope;
            }
        }
        panic!("no receipt in time");
    }
}
