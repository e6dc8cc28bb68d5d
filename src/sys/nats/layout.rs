//! Where everything of a mesh lives: names, subjects and limits of its streams.

use std::time::Duration;

use serde_json::{Value, json};

/// How long a marker of a removed key is kept, so that a watch that was interrupted for less learns of it.
pub(super) const MARKER_TTL: Duration = Duration::from_secs(60 * 60);
/// How long a delivered message may stay without an answer before it is delivered again.
pub(super) const ACK_WAIT: Duration = Duration::from_secs(30);
/// How many messages a machine may have in hand.
pub(super) const MOST_IN_HAND: usize = 256;

const DUPLICATE_WINDOW: Duration = Duration::from_secs(2 * 60);
const RECORDS_BYTES: i64 = 256 << 20;
const DEAD_BYTES: i64 = 16 << 20;
const FEED_BYTES: i64 = 64 << 20;
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The names of one machine in one mesh. Both were checked to be safe in a subject.
#[derive(Debug, Clone)]
pub(super) struct StreamLayout {
    pub(super) mesh: String,
    pub(super) machine: String,
}

impl StreamLayout {
    /// The stream of the bucket that has all records.
    pub(super) fn records(&self) -> String {
        format!("KV_mesh_{}", self.mesh)
    }

    pub(super) fn record_subject(&self, key: &str) -> String {
        format!("$KV.mesh_{}.{key}", self.mesh)
    }

    pub(super) fn inbox(&self) -> String {
        format!("MESH_{}_INBOX", self.mesh)
    }

    pub(super) fn inbox_subject(&self, to: &str, from: &str) -> String {
        format!("mesh.{}.inbox.{to}.{from}", self.mesh)
    }

    /// The durable consumer of this machine.
    pub(super) fn inbox_consumer(&self) -> String {
        format!("inbox_{}", self.machine)
    }

    pub(super) fn dead(&self) -> String {
        format!("MESH_{}_DEAD", self.mesh)
    }

    pub(super) fn dead_subject(&self) -> String {
        format!("mesh.{}.dead.{}", self.mesh, self.machine)
    }

    pub(super) fn feed(&self) -> String {
        format!("MESH_{}_FEED", self.mesh)
    }

    pub(super) fn feed_subject(&self, machine: &str) -> String {
        format!("mesh.{}.feed.{machine}", self.mesh)
    }

    pub(super) fn presence_subject(&self, machine: &str) -> String {
        format!("mesh.{}.presence.{machine}", self.mesh)
    }

    /// Where answers to this machine arrive. A prefix of its own lets a server keep one machine from reading what another
    /// is delivered.
    pub(super) fn reply_prefix(&self) -> String {
        format!("_INBOX_{}", self.machine)
    }

    /// All streams, with the configuration for creating them.
    pub(super) fn streams(&self, replicas: usize, inbox_bytes: i64) -> [(String, Value); 4] {
        let stream = |name: String, subject: String, max_bytes: i64| {
            json!({
                "name": name,
                "subjects": [subject],
                "storage": "file",
                "num_replicas": replicas,
                "max_bytes": max_bytes,
                "max_msgs": -1,
                "max_msg_size": -1,
                "max_consumers": -1,
                "max_age": 0,
                "max_msgs_per_subject": -1,
                "retention": "limits",
                "discard": "new",
                "duplicate_window": nanoseconds(DUPLICATE_WINDOW),
            })
        };
        // Without direct reads, every read is answered by the leader, so it is never behind.
        let mut records = stream(self.records(), self.record_subject(">"), RECORDS_BYTES);
        records["max_msgs_per_subject"] = json!(1);
        records["allow_rollup_hdrs"] = json!(true);
        records["deny_delete"] = json!(true);
        records["allow_direct"] = json!(false);
        records["allow_msg_ttl"] = json!(true);
        records["subject_delete_marker_ttl"] = json!(nanoseconds(MARKER_TTL));
        let mut inbox = stream(self.inbox(), self.inbox_subject("*", "*"), inbox_bytes);
        inbox["retention"] = json!("workqueue");
        let mut dead = stream(self.dead(), format!("mesh.{}.dead.*", self.mesh), DEAD_BYTES);
        dead["max_age"] = json!(nanoseconds(30 * DAY));
        dead["discard"] = json!("old");
        let mut feed = stream(self.feed(), self.feed_subject("*"), FEED_BYTES);
        feed["max_age"] = json!(nanoseconds(14 * DAY));
        feed["discard"] = json!("old");
        [(self.records(), records), (self.inbox(), inbox), (self.dead(), dead), (self.feed(), feed)]
    }

    /// The configuration of the durable consumer. `metadata` is kept with it by the server.
    pub(super) fn inbox_consumer_config(&self, metadata: &Value) -> Value {
        json!({
            "durable_name": self.inbox_consumer(),
            "name": self.inbox_consumer(),
            "filter_subject": self.inbox_subject(&self.machine, "*"),
            "deliver_policy": "all",
            "ack_policy": "explicit",
            "ack_wait": nanoseconds(ACK_WAIT),
            "max_deliver": -1,
            "max_ack_pending": MOST_IN_HAND,
            "replay_policy": "instant",
            "metadata": metadata,
        })
    }
}

/// A time as JetStream writes it.
pub(super) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
