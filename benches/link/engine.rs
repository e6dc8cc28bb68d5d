//! What the link costs on top of the engine: a message between machines beside a bare publish and consume of the same
//! client, and a claim beside a bare create.

use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use ravenry::domain::Message;
use ravenry::domain::link::TaskKey;
use ravenry::store::link_protocol::{LinkAnswer, LinkRequest, LocalAgent, MAX_LINE};
use ravenry::sys::line_socket;
use ravenry::sys::nats::{Cas, ConnectOptions, Nats};
use tokio::runtime::Runtime;

use crate::figure::{Aim, Figure, Spread};
use crate::machine::{Machine, name, wait_until};
use crate::scratch::time;
use crate::server::Server;

const REPETITIONS: usize = 300;
const LIMIT: Duration = Duration::from_secs(25);
/// About as long as a typical message between agents.
const TEXT: &str = "The parser is done and its tests pass. I go on with the printer; src/print.rs is mine until noon, \
                    the rest of src/ is free. Tell me if the tree is to keep its comments.";

pub fn measure() -> Vec<Figure> {
    let server = Server::start();
    let mut machines = ["laptop", "tower"].map(Machine::new);
    machines[0].join("Anna");
    machines[1].join("Bob");
    machines.iter_mut().for_each(|machine| machine.link(&server.url()));
    let [a, b] = &machines;
    wait_until("they see each other", || a.known_elsewhere() == 1 && b.known_elsewhere() == 1);
    let mut bare = Bare::connect(&server);
    let mut figures = messages(a, b, &mut bare);
    figures.extend(claims(a, &mut bare));
    figures
}

/// The client alone, in a mesh of its own on the same server.
struct Bare {
    runtime: Runtime,
    from: Nats,
    to: Nats,
    count: u64,
}

impl Bare {
    fn connect(server: &Server) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let connect = |machine: &str| {
            let options = ConnectOptions::new(vec![server.url()], "bare", machine);
            runtime.block_on(async {
                let nats = Nats::connect(options).await.unwrap();
                nats.prepare().await.unwrap();
                nats
            })
        };
        let (from, to) = (connect("from"), connect("to"));
        Self { runtime, from, to, count: 0 }
    }

    /// Publishes a message and consumes it, confirmations included.
    fn message(&mut self) -> Duration {
        self.count += 1;
        let id = format!("bare-{}", self.count);
        let started = Instant::now();
        self.runtime.block_on(async {
            let published = self.from.publish("to", &id, Bytes::from_static(TEXT.as_bytes()));
            let consumed = async {
                let messages = self.to.next_messages(1, Duration::from_secs(10)).await.unwrap();
                for message in messages {
                    message.done().await.unwrap();
                }
            };
            let (published, ()) = tokio::join!(published, consumed);
            assert!(!published.unwrap().is_duplicate);
        });
        started.elapsed()
    }

    /// Creates a record.
    fn create(&mut self) -> Duration {
        self.count += 1;
        let key = format!("task.{}", self.count);
        let started = Instant::now();
        let created =
            self.runtime.block_on(self.from.create(&key, Bytes::from_static(TEXT.as_bytes()), None));
        assert!(matches!(created.unwrap(), Cas::Done(_)));
        started.elapsed()
    }
}

/// The number of messages in an inbox.
fn count(inbox: &Path) -> usize {
    std::fs::read_dir(inbox).map_or(0, |files| {
        files.filter(|file| !file.as_ref().unwrap().file_name().to_string_lossy().starts_with('.')).count()
    })
}

/// Waits as one would who looks all the time.
fn wait_for(inbox: &Path, number: usize) {
    let since = Instant::now();
    while count(inbox) < number {
        assert!(since.elapsed() < Duration::from_secs(60), "no message in time");
        std::thread::sleep(Duration::from_micros(20));
    }
}

fn messages(a: &Machine, b: &Machine, bare: &mut Bare) -> Vec<Figure> {
    let inbox = b.scratch.mesh().join("inbox/Bob");
    let (from, to) = (name("Anna"), name("Bob"));
    let recipient = a.mesh.remote().agent(&to).unwrap().unwrap().agent;
    let post = || {
        let mut outbox = a.mesh.outboxes().lock(&from).unwrap();
        let stamp = outbox.stamp().unwrap();
        assert!(outbox.post_to(stamp, &recipient, Message::new(stamp, &from, &to, TEXT)).unwrap().is_some());
        drop(outbox);
        let until = Instant::now() + Duration::from_secs(5);
        line_socket::tell(&a.mesh.link().socket(), &LinkRequest::Poke.line(), until).unwrap();
    };
    let empty = || {
        for file in std::fs::read_dir(&inbox).unwrap() {
            std::fs::remove_file(file.unwrap().path()).unwrap();
        }
    };
    let (mut posted, mut engine) = (Vec::new(), Vec::new());
    let mut nothing = a.scratch.command("/bin/true");
    let (mut sent, mut both) = (Vec::new(), Vec::new());
    let started = Instant::now();
    while posted.len() < REPETITIONS && started.elapsed() < LIMIT {
        empty();
        let began = Instant::now();
        post();
        wait_for(&inbox, 1);
        posted.push(began.elapsed().as_secs_f64());
        engine.push(bare.message().as_secs_f64());
        empty();
        let began = Instant::now();
        a.ok(&["send", "Bob", TEXT, "--as", "Anna"]);
        wait_for(&inbox, 1);
        sent.push(began.elapsed().as_secs_f64());
        both.push(time(&mut nothing).as_secs_f64() + bare.message().as_secs_f64());
    }
    vec![
        ratio(
            "message: posted to inbox elsewhere / bare publish and consume",
            &posted,
            &engine,
            Aim::Below(2.0),
        ),
        ratio("message: msg send to inbox elsewhere / true, publish and consume", &sent, &both, Aim::None),
    ]
}

fn claims(a: &Machine, bare: &mut Bare) -> Vec<Figure> {
    let session = a.mesh.registry().get(&name("Anna")).unwrap().unwrap().agent.session;
    let agent = LocalAgent { name: name("Anna"), session };
    let repository = a.root_commit();
    let ask = |number: usize| {
        // Of a spec that is nowhere here, so that the link gives it back later.
        let key =
            TaskKey { repository: repository.clone(), spec: "x.md".to_string(), task: format!("{number}") };
        let request = LinkRequest::TakeTask { agent: agent.clone(), key, reason: None };
        let until = Instant::now() + Duration::from_secs(10);
        let answer = line_socket::ask(&a.mesh.link().socket(), &request.line(), until, MAX_LINE).unwrap();
        let answer = LinkAnswer::parse(&answer).unwrap();
        assert!(matches!(answer, LinkAnswer::Granted { .. }), "{answer:?}");
    };
    let unlinked = Machine::new("alone");
    unlinked.join("Anna");
    let claim = |machine: &Machine, number: usize| {
        let task = format!("T-{number}");
        let began = Instant::now();
        machine.ok(&["claim", &task, "--spec", "plan.md", "--as", "Anna"]);
        let taken = began.elapsed().as_secs_f64();
        machine.ok(&["unclaim", &task, "--spec", "plan.md", "--as", "Anna"]);
        taken
    };
    let (mut asked, mut created) = (Vec::new(), Vec::new());
    let (mut linked, mut local) = (Vec::new(), Vec::new());
    let started = Instant::now();
    while asked.len() < REPETITIONS && started.elapsed() < LIMIT {
        let number = asked.len();
        let began = Instant::now();
        ask(number);
        asked.push(began.elapsed().as_secs_f64());
        created.push(bare.create().as_secs_f64());
        linked.push(claim(a, number));
        local.push(claim(&unlinked, number));
    }
    vec![
        ratio("claim: asked of the link / bare create", &asked, &created, Aim::Below(2.0)),
        ratio("claim: msg claim linked / unlinked", &linked, &local, Aim::None),
    ]
}

fn ratio(name: &'static str, ours: &[f64], theirs: &[f64], aim: Aim) -> Figure {
    let milliseconds = |values: &[f64]| format!("{:.2} ms", Spread::of(values.iter().copied()).median * 1e3);
    Figure {
        name,
        ours: milliseconds(ours),
        baseline: milliseconds(theirs),
        result: Spread::of_pairs(ours, theirs, |ours, theirs| ours / theirs),
        unit: "",
        aim,
    }
}
