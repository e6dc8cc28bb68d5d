//! Senders, readers and a watcher on one inbox, any of them killed at any time: no message is lost.
//!
//! The oracle is a set of journals outside the mesh, one file per process. A sender appends the id of a message once it
//! was accepted; a reader appends the ids that it hands over, which is what handing over means here. The journal of a
//! killed process may end in half a line, which counts as not written: nobody could have read it.
//!
//! Most senders and readers are workers inside the test binary, because starting 20,000 processes would take minutes;
//! the watcher is the real one, and so are some hundred of the senders and readers. Kills come after a number of
//! journal lines rather than after a time, so that a slow machine sees as many.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ravenry::domain::{Agent, AgentName, Message};
use ravenry::store::{Acknowledge, Mesh, Via};
use ravenry::sys::clock;
use serde_json::Value;

use crate::support::chance::Chance;
use crate::support::environment::{PATIENCE, TestEnvironment, open_mesh, rounds};

/// How many messages; [`FLAG`] asks for more.
const MESSAGES: usize = 20_000;
const FLAG: &str = "RAVENRY_STORM_MESSAGES";
/// One in this many is sent by the real `msg send`.
const ONE_IN: usize = 64;
/// Senders pause while more than this waits: the cost of a look grows with what there is to see.
const BACKLOG: usize = 300;
/// As many as the watcher takes at once, and so as many as one death can duplicate.
const BATCH: usize = 64;
const SENDERS: [&str; 4] = ["Ann", "Ben", "Cem", "Dot"];
const READERS: usize = 2;

/// The task of a worker process.
struct Work {
    dir: PathBuf,
    journal: PathBuf,
    /// The sender's name and how many messages it sends; a reader has none.
    sender: Option<(String, usize)>,
    manners: Manners,
}

/// How a reader reads.
#[derive(Clone, Copy, PartialEq)]
enum Manners {
    /// A recorded message has been handed over.
    Proper,
    /// It may still be in a buffer: nobody flushed.
    Naive,
}

impl Work {
    fn from_environment() -> Option<Self> {
        let value = |name: &str| std::env::var(format!("STORM_WORKER_{name}")).ok();
        let sender = value("SENDER").map(|name| (name, value("COUNT").unwrap().parse().unwrap()));
        let manners = if value("NAIVE").is_some() { Manners::Naive } else { Manners::Proper };
        Some(Self { dir: value("DIR")?.into(), journal: value("JOURNAL")?.into(), sender, manners })
    }

    fn command(&self) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([
            "--exact",
            "inbox_under_kills::a_sender_and_a_reader_alone_lose_nothing",
            "--nocapture",
            "--quiet",
        ]);
        command.env("STORM_WORKER_DIR", &self.dir).env("STORM_WORKER_JOURNAL", &self.journal);
        if let Some((name, count)) = &self.sender {
            command.env("STORM_WORKER_SENDER", name).env("STORM_WORKER_COUNT", count.to_string());
        }
        if self.manners == Manners::Naive {
            command.env("STORM_WORKER_NAIVE", "1");
        }
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    fn run(&self) {
        let mesh = open_mesh(&self.dir, PATIENCE);
        let bob = mesh.registry().get(&name("Bob")).unwrap().unwrap().agent;
        let mut journal = append(&self.journal);
        match &self.sender {
            Some((from, count)) => send(&mesh, &bob, &name(from), *count, &mut journal),
            None => {
                let is_over = || stop_sign(&self.journal).exists();
                let mut naive = BufWriter::new(append(&self.journal));
                let mut turn = || match self.manners {
                    Manners::Proper => read(&mesh, &bob, &mut journal),
                    Manners::Naive => read(&mesh, &bob, &mut naive),
                };
                while turn() > 0 || !is_over() {}
            }
        }
    }
}

fn name(text: &str) -> AgentName {
    AgentName::new(text).unwrap()
}

fn append(path: &Path) -> File {
    OpenOptions::new().append(true).create(true).open(path).unwrap()
}

/// Once this file exists, readers stop when nothing waits.
fn stop_sign(journal: &Path) -> PathBuf {
    journal.with_file_name("enough")
}

/// Sends like the op, without checking who is registered.
fn send(mesh: &Mesh, to: &Agent, from: &AgentName, count: usize, journal: &mut File) {
    for sent in 0..count {
        while sent % 32 == 0 && mesh.inboxes().unread_count(to).unwrap() > BACKLOG {
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut outbox = mesh.outboxes().lock(from).unwrap();
        let stamp = outbox.stamp().unwrap();
        let message = Message::new(stamp, from, &to.name, "in the storm");
        let posted = outbox.post(stamp, &to.name, message).unwrap().expect("Bob has an inbox");
        journal.write_all(format!("{}\n", posted.message.id).as_bytes()).unwrap();
    }
}

/// Reads like the op: look, take, hand over, record. Returns how many were handed over.
fn read(mesh: &Mesh, agent: &Agent, journal: &mut impl Write) -> usize {
    let mut scan = mesh.inboxes().scan(agent).unwrap();
    if scan.in_hand > 0 {
        assert!(mesh.inboxes().tidy(agent, &scan).unwrap().is_empty(), "all can be read");
        scan = mesh.inboxes().scan(agent).unwrap();
    }
    let mut count = 0;
    let mut waiting = scan.waiting;
    while !waiting.is_empty() {
        let rest = waiting.split_off(waiting.len().min(BATCH));
        let delivery = mesh.inboxes().take(std::mem::replace(&mut waiting, rest)).unwrap();
        let lines: String = delivery.messages().map(|(_, message)| format!("{}\n", message.id)).collect();
        count += lines.lines().count();
        journal.write_all(lines.as_bytes()).unwrap();
        delivery.record(&Via::new("storm"), clock::now(), Acknowledge::Later).unwrap();
    }
    if count == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    count
}

/// What a process writes into its journal.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// Accepted ids.
    Sender,
    /// The answer of `msg send`.
    SendCommand,
    /// Handed-over ids.
    Reader,
    /// The answer of `msg read`.
    ReadCommand,
    /// One message per line.
    Watcher,
}

/// One process, from its start to its end; it is killed with the test at the latest.
struct Life {
    kind: Kind,
    child: Child,
    journal: PathBuf,
}

impl Life {
    fn written(&self) -> u64 {
        fs::metadata(&self.journal).map_or(0, |metadata| metadata.len())
    }
}

impl Drop for Life {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// What the journals of ended processes say.
#[derive(Default)]
struct Oracle {
    accepted: HashSet<String>,
    /// By id: for each time it was handed over, whether its reader was killed with it in hand.
    handed: HashMap<String, Vec<bool>>,
    lives: usize,
    killed_senders: usize,
    killed_readers: usize,
    bytes: u64,
}

impl Oracle {
    /// Reads the journal of an ended process. Returns how many messages it sent.
    fn learn(&mut self, mut life: Life) -> usize {
        let status = life.child.wait().unwrap();
        let killed = status.signal() == Some(Signal::SIGKILL as i32);
        let stopped = life.kind == Kind::Watcher && status.code() == Some(130);
        assert!(killed || stopped || status.success(), "{status}");
        let text = fs::read_to_string(&life.journal).unwrap_or_default();
        fs::remove_file(&life.journal).ok();
        self.bytes += text.len() as u64;
        self.lives += 1;
        let ids = ids(life.kind, &text, killed);
        if matches!(life.kind, Kind::Sender | Kind::SendCommand) {
            self.killed_senders += usize::from(killed);
            let count = ids.len();
            self.accepted.extend(ids);
            return count;
        }
        self.killed_readers += usize::from(killed);
        let in_hand = ids.len().saturating_sub(BATCH);
        for (place, id) in ids.into_iter().enumerate() {
            // What came before the last batch was recorded before that was taken: a kill does not excuse handing it
            // over again.
            self.handed.entry(id).or_default().push(killed && place >= in_hand);
        }
        0
    }
}

/// The ids in a journal.
fn ids(kind: Kind, text: &str, killed: bool) -> Vec<String> {
    let id = |value: &Value| value["id"].as_str().unwrap().to_string();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    assert!(killed || whole.len() + 1 >= text.len(), "half a line of one who was not killed");
    let key = match kind {
        Kind::Sender | Kind::Reader => return whole.lines().map(str::to_string).collect(),
        Kind::Watcher => {
            return whole.lines().map(|line| id(&serde_json::from_str(line).unwrap())).collect();
        }
        Kind::SendCommand => "sent",
        Kind::ReadCommand => "messages",
    };
    if whole.is_empty() {
        return Vec::new();
    }
    let answer: Value = serde_json::from_str(whole).unwrap();
    assert_eq!(answer["ok"], true, "{answer}");
    answer[key].as_array().unwrap().iter().map(id).collect()
}

struct Storm {
    env: TestEnvironment,
    chance: Chance,
    oracle: Oracle,
    /// How many messages each sender still has to send; the last sender uses real commands.
    left: Vec<usize>,
    /// The senders, the readers, the watcher.
    slots: Vec<Option<Life>>,
    started: usize,
    manners: Manners,
}

impl Storm {
    fn new(messages: usize, manners: Manners) -> Self {
        let env = TestEnvironment::new();
        for name in SENDERS.iter().chain(&["Bob", "Eve"]) {
            env.join(name);
        }
        let by_command = messages / ONE_IN;
        let mut left = vec![(messages - by_command).div_ceil(SENDERS.len()); SENDERS.len()];
        left.push(by_command);
        // A watcher would be faster than naive readers, and leave them nothing to lose.
        let watchers = usize::from(manners == Manners::Proper);
        let slots = (0..left.len() + READERS + watchers).map(|_| None).collect();
        Self { env, chance: Chance(3), oracle: Oracle::default(), left, slots, started: 0, manners }
    }

    fn start(&mut self, slot: usize) -> Life {
        self.started += 1;
        let journal = self.env.path().join(format!("journal-{}", self.started));
        let dir = self.env.mesh();
        let real = |args: &[&str]| {
            let mut command = self.env.msg();
            command.args(args).arg("--json").stdout(append(&journal));
            command
        };
        let (kind, mut command) = if let Some(name) = SENDERS.get(slot) {
            let sender = Some((name.to_string(), self.left[slot]));
            (Kind::Sender, Work { dir, journal: journal.clone(), sender, manners: self.manners }.command())
        } else if slot == SENDERS.len() {
            (Kind::SendCommand, real(&["send", "Bob", "in the storm", "--as", "Eve"]))
        } else if slot == self.left.len() + READERS {
            (Kind::Watcher, real(&["watch", "--as", "Bob"]))
        } else if self.manners == Manners::Proper && self.chance.below(2) == 0 {
            (Kind::ReadCommand, real(&["read", "--limit", "50", "--as", "Bob"]))
        } else {
            let work = Work { dir, journal: journal.clone(), sender: None, manners: self.manners };
            (Kind::Reader, work.command())
        };
        Life { kind, child: command.spawn().unwrap(), journal }
    }

    /// Reads the journals of processes that have ended, and starts others in their place.
    fn turn(&mut self) {
        for slot in 0..self.slots.len() {
            if let Some(life) = self.slots[slot].take_if(|life| life.child.try_wait().unwrap().is_some()) {
                let sent = self.oracle.learn(life);
                if let Some(left) = self.left.get_mut(slot) {
                    *left = left.saturating_sub(sent);
                }
            }
            let has_work = self.left.get(slot).is_none_or(|left| *left > 0);
            if self.slots[slot].is_none() && has_work {
                self.slots[slot] = Some(self.start(slot));
            }
        }
    }

    /// How much was written into all journals, in bytes.
    fn written(&self) -> u64 {
        self.oracle.bytes + self.slots.iter().flatten().map(Life::written).sum::<u64>()
    }

    /// Turns until `is_so` returns true. Standing still is a failure, taking long is not.
    fn until(&mut self, what: &str, mut is_so: impl FnMut(&Self) -> bool) {
        let (mut written, mut since) = (self.written(), Instant::now());
        loop {
            self.turn();
            if is_so(self) {
                return;
            }
            if self.written() > written {
                (written, since) = (self.written(), Instant::now());
            }
            assert!(since.elapsed() < PATIENCE, "waited in vain until {what}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn rage(&mut self) {
        while self.left.iter().any(|left| *left > 0) {
            let until = self.written() + 1_000 + self.chance.below(12_000);
            self.until("there is progress", |storm| {
                storm.written() >= until || storm.left.iter().all(|left| *left == 0)
            });
            // Otherwise it would always be a moment in which somebody has just written.
            std::thread::sleep(Duration::from_micros(self.chance.below(8_000)));
            let readers = self.left.len()..self.left.len() + READERS;
            let victims = if self.manners == Manners::Naive { readers } else { 0..self.slots.len() };
            let slot = victims.start + self.chance.below(victims.len() as u64) as usize;
            if let Some(life) = &mut self.slots[slot] {
                life.child.kill().unwrap();
            }
        }
    }

    /// Lets the rest hand over what is left.
    fn calm(mut self) -> Oracle {
        let inbox = self.env.mesh().join("inbox/Bob");
        self.until("the inbox is empty", |_| fs::read_dir(&inbox).unwrap().next().is_none());
        fs::write(stop_sign(&self.env.path().join("x")), "").unwrap();
        for mut life in self.slots.into_iter().flatten() {
            if life.kind == Kind::Watcher {
                kill(Pid::from_raw(life.child.id() as i32), Signal::SIGTERM).unwrap();
            }
            let give_up = Instant::now() + PATIENCE;
            while life.child.try_wait().unwrap().is_none() {
                assert!(Instant::now() < give_up, "it does not end");
                std::thread::sleep(Duration::from_millis(1));
            }
            self.oracle.learn(life);
        }
        assert!(fs::read_dir(&inbox).unwrap().next().is_none(), "nothing is left in anyone's hands");
        let set_aside = self.env.mesh().join("quarantine");
        assert!(fs::read_dir(set_aside).is_err(), "nobody ever saw half a message");
        self.oracle
    }
}

/// The storm runs this test as its workers.
#[test]
fn a_sender_and_a_reader_alone_lose_nothing() {
    if let Some(work) = Work::from_environment() {
        return work.run();
    }
    let env = TestEnvironment::new();
    env.join("Ann");
    env.join("Bob");
    let mesh = env.store();
    let bob = mesh.registry().get(&name("Bob")).unwrap().unwrap().agent;
    let [sent, got] = ["sent", "got"].map(|name| env.path().join(name));
    send(&mesh, &bob, &name("Ann"), BACKLOG, &mut append(&sent));
    assert_eq!(read(&mesh, &bob, &mut append(&got)), BACKLOG);
    assert_eq!(read(&mesh, &bob, &mut append(&got)), 0);
    assert_eq!(fs::read_to_string(sent).unwrap(), fs::read_to_string(got).unwrap(), "and keep the order");
}

/// The result of a storm.
struct Verdict {
    accepted: usize,
    lost: usize,
    /// Handed over more than once, although its reader was not killed with it in hand.
    inexcusable: usize,
    /// Handed over, although no sender reported it as accepted.
    unreported: usize,
    killed_senders: usize,
    killed_readers: usize,
    figures: String,
}

fn storm(messages: usize, manners: Manners) -> Verdict {
    let start = Instant::now();
    let mut storm = Storm::new(messages, manners);
    storm.rage();
    let Oracle { accepted, handed, lives, killed_senders, killed_readers, .. } = storm.calm();
    let lost = accepted.iter().filter(|id| !handed.contains_key(*id)).count();
    let unreported = handed.keys().filter(|id| !accepted.contains(*id)).count();
    let twice = handed.values().filter(|deaths| deaths.len() > 1).count();
    let again: usize = handed.values().map(|deaths| deaths.len() - 1).sum();
    let survivors = |deaths: &Vec<bool>| deaths.iter().filter(|killed| !**killed).count();
    let inexcusable = handed.values().filter(|deaths| survivors(deaths) > 1).count();
    let accepted = accepted.len();
    let figures = format!(
        "{accepted} accepted in {:.1} s by {lives} lives, {killed_senders} senders and {killed_readers} readers \
         killed; {lost} lost, {twice} handed over more than once ({again} times), {inexcusable} of them without a \
         death, {unreported} handed over that no sender lived to report",
        start.elapsed().as_secs_f64()
    );
    report(&figures);
    Verdict { accepted, lost, inexcusable, unreported, killed_senders, killed_readers, figures }
}

#[expect(clippy::print_stderr, reason = "the figures are what one runs this for")]
fn report(figures: &str) {
    eprintln!("{figures}");
}

#[test]
fn no_message_is_lost_in_a_storm_of_kills() {
    let messages = std::env::var(FLAG).map_or(rounds(MESSAGES), |text| text.parse().unwrap());
    let verdict = storm(messages, Manners::Proper);
    let figures = &verdict.figures;
    assert!(verdict.accepted >= messages, "{figures}");
    assert_eq!((verdict.lost, verdict.inexcusable), (0, 0), "{figures}");
    assert!(verdict.unreported <= verdict.killed_senders, "each death hides one at most: {figures}");
    assert!(verdict.killed_senders.min(verdict.killed_readers) >= messages / 2_000, "{figures}");
}

/// Without this, the test above would prove nothing.
#[test]
fn the_oracle_sees_what_a_naive_reader_loses() {
    let verdict = storm(4_000, Manners::Naive);
    assert!(verdict.lost > 0, "{}", verdict.figures);
}
