//! What the server says: every change of its records, in its order, and what lies in its streams.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::consumer::{DeliverPolicy, pull};
use async_nats::jetstream::{self, Context};
use futures_util::StreamExt;
use nix::time::{ClockId, clock_gettime};
use ravenry::domain::link::LeaseEpoch;
use serde_json::Value;
use tokio::runtime::Runtime;
use tokio::time::timeout;

use crate::history::{Event, Journal, Owner, Record, RecordState, Time};

const RECORDS: &str = "KV_mesh_team";
const INBOX: &str = "MESH_team_INBOX";
const DEAD: &str = "MESH_team_DEAD";
/// The leases are renewed more often than this. If nothing is heard for so long, the connection is made again.
const SILENCE: Duration = Duration::from_secs(3);
const PATIENCE: Duration = Duration::from_secs(5);

type Fallible<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

async fn connect(urls: &[String]) -> Fallible<Context> {
    let client = timeout(PATIENCE, async_nats::connect(urls.to_vec())).await??;
    Ok(jetstream::new(client))
}

/// Writes down every change of a record.
pub struct Observer {
    is_over: Arc<AtomicBool>,
    records: Records,
    thread: Option<JoinHandle<()>>,
}

/// The last value of each record.
type Records = Arc<Mutex<HashMap<String, RecordState>>>;

impl Observer {
    /// `urls` lead to the servers themselves, where no nemesis is in the way.
    pub fn start(urls: Vec<String>, history: &Path) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let (told, mut journal) = (Arc::clone(&is_over), Journal::open(history, "server"));
        let records = Records::default();
        let known = Arc::clone(&records);
        let thread = std::thread::spawn(move || {
            let runtime = runtime();
            let mut last = 0;
            while !told.load(Ordering::SeqCst) {
                // A server that is killed comes back.
                runtime.block_on(follow(&urls, &mut journal, &known, &told, &mut last)).ok();
                std::thread::sleep(Duration::from_millis(100));
            }
        });
        Self { is_over, records, thread: Some(thread) }
    }

    /// The last value of each record, as far as it was heard.
    pub fn records(&self) -> HashMap<String, RecordState> {
        self.records.lock().unwrap().clone()
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

async fn follow(
    urls: &[String],
    journal: &mut Journal,
    records: &Records,
    is_over: &AtomicBool,
    last: &mut u64,
) -> Fallible<()> {
    let context = connect(urls).await?;
    let stream = timeout(PATIENCE, context.get_stream(RECORDS)).await??;
    let deliver_policy = DeliverPolicy::ByStartSequence { start_sequence: *last + 1 };
    let config = pull::OrderedConfig { deliver_policy, ..Default::default() };
    let consumer = timeout(PATIENCE, stream.create_consumer(config)).await??;
    let mut messages = timeout(PATIENCE, consumer.messages()).await??;
    while !is_over.load(Ordering::SeqCst) {
        let Some(message) = timeout(SILENCE, messages.next()).await? else { return Ok(()) };
        let message = message?;
        let reply = message.reply.as_ref().map(ToString::to_string).unwrap_or_default();
        let Some((sequence, stored)) = place(&reply) else { continue };
        if sequence <= *last {
            continue;
        }
        *last = sequence;
        let key = message.subject.as_str().split_once(".mesh_team.").map_or("", |(_, key)| key).to_string();
        let headers = message.headers.clone().unwrap_or_default();
        let state = state(&key, &headers, &message.payload);
        let replaces = header(&headers, "Nats-Expected-Last-Subject-Sequence");
        let replaces = replaces.and_then(|text| text.parse().ok());
        let effect = monotonic(stored);
        records.lock().unwrap().insert(key.clone(), state.clone());
        journal.write(Event::Record(Record { sequence, effect, key, replaces, state }));
    }
    Ok(())
}

/// The sequence of a message and when it was stored, in nanoseconds, from the subject of its acknowledgement.
fn place(reply: &str) -> Option<(u64, u64)> {
    let words: Vec<&str> = reply.split('.').collect();
    // The longer form names a domain and an account, too.
    let start = if words.len() == 9 { 5 } else { 7 };
    Some((words.get(start)?.parse().ok()?, words.get(start + 2)?.parse().ok()?))
}

/// The servers run on this machine, and nobody sets its clock.
fn monotonic(stored: u64) -> Time {
    let nanos = |clock| {
        let time = clock_gettime(clock).unwrap();
        time.tv_sec() as i128 * 1_000_000_000 + time.tv_nsec() as i128
    };
    let ahead = nanos(ClockId::CLOCK_REALTIME) - nanos(ClockId::CLOCK_MONOTONIC);
    ((i128::from(stored) - ahead) / 1_000).max(0) as Time
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).map(|value| value.as_str().to_string())
}

fn state(key: &str, headers: &HeaderMap, payload: &[u8]) -> RecordState {
    if header(headers, "KV-Operation").is_some() || header(headers, "Nats-Marker-Reason").is_some() {
        return RecordState::Gone;
    }
    let value: Value = serde_json::from_slice(payload).unwrap_or_default();
    let text = |value: &Value| value.as_str().map(str::to_string);
    let owner = |value: &Value| {
        Some(Owner {
            machine: text(&value["machine"])?,
            epoch: text(&value["epoch"])?,
            session: text(&value["session"])?,
        })
    };
    let parsed = match key.split('.').next().unwrap_or_default() {
        "machine" => text(&value["epoch"]).map(|epoch| RecordState::Lease { epoch }),
        kind @ ("name" | "task") => {
            let is_done = value["doneAt"].is_string();
            let thing = text(&value[kind]).map(|thing| format!("{kind} {thing}"));
            let owned = thing.zip(owner(&value["owner"]));
            owned.map(|(thing, owner)| {
                // The record of a task that was opened again stays, and is nobody's.
                let is_free = !is_done && owner.epoch == LeaseEpoch::of_nobody().as_str();
                if is_free { RecordState::Gone } else { RecordState::Owned { thing, owner, is_done } }
            })
        }
        "paths" => {
            let held = value["held"].as_array().cloned().unwrap_or_default();
            let held: Option<Vec<_>> =
                held.iter().map(|held| owner(&held["owner"]).zip(text(&held["pattern"]))).collect();
            held.map(|held| RecordState::Paths { held })
        }
        _ => None,
    };
    parsed.unwrap_or(RecordState::Unreadable)
}

/// The stems of messages that are in the streams, if they can be asked.
pub struct OnServer {
    pub waiting: Vec<String>,
    pub dead: Vec<String>,
    /// How many receipts wait.
    pub receipts: usize,
}

/// Looks at what lies on the server.
pub fn look(urls: &[String]) -> Option<OnServer> {
    runtime().block_on(async { timeout(PATIENCE * 4, look_at(urls)).await.ok()?.ok() })
}

async fn look_at(urls: &[String]) -> Fallible<OnServer> {
    let context = connect(urls).await?;
    let (waiting, receipts) = stems(&context, INBOX).await?;
    let (dead, _) = stems(&context, DEAD).await?;
    Ok(OnServer { waiting, dead, receipts })
}

/// The messages of a stream, in order.
async fn all(context: &Context, name: &str) -> Fallible<Vec<async_nats::jetstream::message::StreamMessage>> {
    let stream = context.get_stream(name).await?;
    let info = stream.get_info().await?;
    let mut found = Vec::new();
    if info.state.messages == 0 {
        return Ok(found);
    }
    for sequence in info.state.first_sequence..=info.state.last_sequence {
        // Many have gone since.
        if let Ok(message) = stream.get_raw_message(sequence).await {
            found.push(message);
        }
    }
    Ok(found)
}

/// The stems of the messages in a stream, and how many receipts are among them.
async fn stems(context: &Context, name: &str) -> Fallible<(Vec<String>, usize)> {
    let all = all(context, name).await?;
    let values =
        all.iter().map(|message| serde_json::from_slice::<Value>(&message.payload).unwrap_or_default());
    let (messages, receipts): (Vec<Value>, Vec<Value>) =
        values.partition(|value| value["message"].is_object());
    let stems = messages.iter().filter_map(|value| value["stem"].as_str().map(str::to_string)).collect();
    Ok((stems, receipts.len()))
}

/// The server that leads the records of a cluster.
pub fn leader(urls: &[String]) -> Option<String> {
    runtime().block_on(async {
        let context = connect(urls).await.ok()?;
        let stream = timeout(PATIENCE, context.get_stream(RECORDS)).await.ok()?.ok()?;
        stream.cached_info().cluster.as_ref()?.leader.clone()
    })
}
