//! A linked mesh, and a thread that answers like its link process.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;

use ravenry::domain::link::{
    LeaseEpoch, LinkAddress, MachineName, RecordOwner, RemoteMachine, TaskHolding, TaskKey, TaskRecord,
};
use ravenry::domain::{Agent, AgentName, RootCommit, SessionId};
use ravenry::store::link_protocol::{Holder, LinkAnswer, LinkRequest};
use ravenry::store::{LinkConfig, LinkCredentials, LinkProblem};
use ravenry::sys::line_socket;

use crate::reservations::repositories::git;
use crate::support::environment::{TestEnvironment, put, wait_until};

pub const NOW: &str = "2026-11-15T12:00:00Z";
pub const EARLIER: &str = "2026-11-15T11:55:00Z";

/// Two tasks that can be started, and one that waits for the first.
const SPEC: &str = "\
- [ ] T-1: the form
- [ ] T-2: the session
- [ ] T-3: the glue (needs T-1)
";

/// Alice and Bob work in a repository with a spec. The mesh is not linked yet.
pub struct Scene {
    /// Ended before the directory is removed.
    link: Option<FakeLink>,
    pub env: TestEnvironment,
}

impl Scene {
    pub fn unlinked() -> Self {
        let env = TestEnvironment::at(NOW);
        put(&env.work().join("docs/spec.md"), SPEC);
        put(&env.work().join("src/a.rs"), "");
        git(&env.work(), &["init", "-q", "-b", "main"]);
        git(&env.work(), &["add", "."]);
        git(&env.work(), &["commit", "-q", "-m", "one"]);
        for name in ["Alice", "Bob"] {
            env.join(name);
            env.ok(&["spec", "docs/spec.md", "--as", name]);
        }
        Self { link: None, env }
    }

    /// Linked as `desk`. Nobody listens.
    pub fn without_process() -> Self {
        let scene = Self::unlinked();
        scene.configure(false);
        scene
    }

    /// The same of an environment that has a repository already.
    pub fn of(env: TestEnvironment) -> Self {
        let scene = Self { link: None, env };
        scene.configure(false);
        scene
    }

    pub fn configure(&self, reserves_repository: bool) {
        let config = LinkConfig {
            address: LinkAddress::parse("nats://127.0.0.1:1/team").unwrap(),
            machine: machine("desk"),
            installation: "fixture".to_string(),
            credentials: LinkCredentials::None,
            ca: None,
            client_certificate: None,
            replicas: 1,
            reserves_repository,
            runs: ravenry::store::RunPermission::default(),
        };
        self.env.store().link().set_config(&config).unwrap();
    }

    /// Linked, and each request that is not a poke is answered by the script.
    pub fn linked(script: impl FnMut(&LinkRequest) -> LinkAnswer + Send + 'static) -> Self {
        let mut scene = Self::without_process();
        scene.answer(script);
        scene
    }

    /// From now on these are the answers.
    pub fn answer(&mut self, script: impl FnMut(&LinkRequest) -> LinkAnswer + Send + 'static) {
        self.link = None;
        self.link = Some(FakeLink::listen(self.env.store().link().socket(), script));
    }

    /// What was asked, without pokes.
    pub fn asked(&self) -> Vec<LinkRequest> {
        let all = self.link.as_ref().unwrap().asked();
        all.iter().filter(|request| **request != LinkRequest::Poke).cloned().collect()
    }

    /// Whoever pokes waits for nothing, so it may arrive later.
    #[track_caller]
    pub fn expect_poke(&self) {
        let link = self.link.as_ref().unwrap();
        wait_until("it is poked", || link.asked().contains(&LinkRequest::Poke));
    }

    pub fn repository(&self) -> RootCommit {
        RootCommit::new(&git(&self.env.work(), &["rev-list", "--max-parents=0", "HEAD"])).unwrap()
    }

    pub fn key(&self, task: &str) -> TaskKey {
        let spec = "docs/spec.md".to_string();
        TaskKey { repository: self.repository(), spec, task: task.to_string() }
    }

    /// What the mirror says of tasks.
    pub fn mirror_tasks(&self, tasks: &[(&str, TaskHolding)]) {
        let record = |(task, holding): &(&str, TaskHolding)| TaskRecord {
            reopened: None,
            key: self.key(task),
            owner: owner(),
            holding: holding.clone(),
        };
        let records: Vec<TaskRecord> = tasks.iter().map(record).collect();
        self.env.store().remote().set_tasks(&records).unwrap();
    }

    /// The mirror has Anna on laptop.
    pub fn mirror_anna(&self, edit: impl FnOnce(&mut Agent)) {
        let store = self.env.store();
        let bob = store.registry().get(&AgentName::new("Bob").unwrap()).unwrap().unwrap().agent;
        let remote =
            RemoteMachine { name: machine("laptop"), repository: None, away_since: None, heard_at: None };
        let mut anna = Agent {
            name: AgentName::new("Anna").unwrap(),
            session: SessionId::new("elsewhere").unwrap(),
            machine: Some(remote),
            ..bob
        };
        edit(&mut anna);
        store.remote().set_agents(&[anna]).unwrap();
    }

    pub fn claims(&self) -> Vec<(String, String)> {
        let claims = self.env.store().tasks().claims().unwrap();
        claims.iter().map(|claim| (claim.task, claim.agent)).collect()
    }

    pub fn completed(&self) -> Vec<String> {
        let done = self.env.store().tasks().completions().unwrap();
        done.specs().flat_map(|spec| done.of(spec)).map(|done| done.task).collect()
    }
}

pub fn machine(name: &str) -> MachineName {
    MachineName::new(name).unwrap()
}

fn owner() -> RecordOwner {
    RecordOwner {
        machine: machine("laptop"),
        epoch: LeaseEpoch::new("e1").unwrap(),
        agent: AgentName::new("Anna").unwrap(),
        session: SessionId::new("elsewhere").unwrap(),
    }
}

pub fn claimed() -> TaskHolding {
    TaskHolding::Claimed { since: EARLIER.parse().unwrap(), reason: None }
}

pub fn done() -> TaskHolding {
    TaskHolding::Done { at: EARLIER.parse().unwrap(), notes: None }
}

/// Anna on laptop, since five minutes.
pub fn anna() -> Holder {
    Holder {
        agent: "Anna".to_string(),
        machine: "laptop".to_string(),
        since: Some(EARLIER.parse().unwrap()),
        reason: None,
        pattern: None,
        wanted: None,
    }
}

pub fn granted() -> LinkAnswer {
    LinkAnswer::Granted { token: 1 }
}

pub fn taken() -> LinkAnswer {
    LinkAnswer::Taken { holders: vec![anna()] }
}

pub fn unreachable() -> LinkAnswer {
    let text = "the server `nats://127.0.0.1:1` is not reached".to_string();
    LinkAnswer::Unreachable { problem: LinkProblem { kind: "refused".to_string(), text, hints: Vec::new() } }
}

/// The task that a request is about.
pub fn task_of(request: &LinkRequest) -> Option<&str> {
    match request {
        LinkRequest::TakeTask { key, .. }
        | LinkRequest::ConfirmTask { key, .. }
        | LinkRequest::CompleteTask { key, .. }
        | LinkRequest::ReopenTask { key, .. } => Some(&key.task),
        _ => None,
    }
}

/// A thread that answers at the socket of the link process.
struct FakeLink {
    socket: PathBuf,
    asked: Arc<Mutex<Vec<LinkRequest>>>,
    thread: Option<JoinHandle<()>>,
}

impl FakeLink {
    fn listen(socket: PathBuf, mut script: impl FnMut(&LinkRequest) -> LinkAnswer + Send + 'static) -> Self {
        let listener = line_socket::listen(&socket).unwrap();
        let asked: Arc<Mutex<Vec<LinkRequest>>> = Arc::default();
        let known = Arc::clone(&asked);
        let answer = move || {
            for stream in listener.incoming() {
                let mut stream: UnixStream = stream.unwrap();
                let mut line = Vec::new();
                BufReader::new(&stream).read_until(b'\n', &mut line).unwrap();
                // Somebody came and said nothing.
                if line.is_empty() {
                    continue;
                }
                let request = LinkRequest::parse(&line).unwrap();
                if request == LinkRequest::Stop {
                    return;
                }
                known.lock().unwrap().push(request.clone());
                let answer = if request == LinkRequest::Poke { LinkAnswer::Done } else { script(&request) };
                // Whoever pokes waits for nothing.
                drop(stream.write_all(&answer.line()));
            }
        };
        Self { socket, asked, thread: Some(std::thread::spawn(answer)) }
    }

    fn asked(&self) -> MutexGuard<'_, Vec<LinkRequest>> {
        self.asked.lock().unwrap()
    }
}

impl Drop for FakeLink {
    fn drop(&mut self) {
        // What was sent before is read before.
        let stopped = UnixStream::connect(&self.socket)
            .and_then(|mut stream| stream.write_all(&LinkRequest::Stop.line()));
        let ended = self.thread.take().map(JoinHandle::join);
        let removed = std::fs::remove_file(&self.socket);
        if !std::thread::panicking() {
            stopped.unwrap();
            ended.unwrap().unwrap();
            removed.unwrap();
        }
    }
}
