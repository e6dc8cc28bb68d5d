//! Agents on other machines, as the commands and hooks here see them. No network: these tests write what the link
//! process would write.

mod configuring;
mod holding;
mod listing;
mod refusing;
mod sending;
mod shared;

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use ravenry::domain::link::{LinkAddress, MachineName, RemoteMachine, shared};
use ravenry::domain::pattern::LetterCase;
use ravenry::domain::{
    ActivityCounts, Agent, AgentName, Message, Pid, PidScope, ProcessIdentity, RecordedProcess, Reservation,
    ReservationReach, RootCommit, SessionId,
};
use ravenry::harness;
use ravenry::store::{
    LinkConfig, LinkCredentials, LinkStage, LinkState, QueuedContent, QueuedMessage, RunPermission,
};
use ravenry::sys::flock::FileLock;
use serde_json::Value;

use crate::reservations::repositories::{committed, git};
use crate::support::environment::{Ended, TestEnvironment, end, files_in};

const NOW: &str = "2030-01-02T12:00:00Z";

/// A machine with one local agent, Bob, in a repository. Anna works in a clone of it on `laptop`, and Otto in another
/// repository on `tower`.
struct Linked {
    env: TestEnvironment,
    repository: PathBuf,
    commit: String,
}

impl Linked {
    fn new() -> Self {
        let linked = Self::unlinked();
        linked.set(&[linked.anna(), linked.otto()]);
        linked
    }

    fn unlinked() -> Self {
        let env = TestEnvironment::at(NOW);
        let repository = env.path().join("shop");
        committed(&repository);
        let commit = git(&repository, &["rev-list", "--max-parents=0", "HEAD"]);
        let linked = Self { env, repository, commit };
        linked.join("Bob").expect_code(0);
        linked
    }

    fn join(&self, name: &str) -> Ended {
        let pid = self.env.host().to_string();
        self.run(&["join", name, "--pid", &pid, "--session", &format!("session of {name}")])
    }

    /// Anna, in this repository.
    fn anna(&self) -> Agent {
        agent("Anna", "laptop", Some(&self.commit))
    }

    /// Otto, in another one.
    fn otto(&self) -> Agent {
        agent("Otto", "tower", Some("3890d112605d372894a6fab37e3f056c89ad692c"))
    }

    fn set(&self, agents: &[Agent]) {
        self.env.store().remote().set_agents(agents).unwrap();
    }

    /// Says that the link process has a connection, as long as the lock is held.
    fn link_up(&self) -> FileLock {
        let mesh = self.env.store();
        let lock = mesh.link().lock(Duration::from_secs(30)).unwrap();
        self.state(LinkStage::Linked);
        lock
    }

    fn state(&self, stage: LinkStage) {
        std::fs::create_dir_all(self.env.mesh().join("link")).unwrap();
        let state = LinkState {
            stage,
            pid: 1,
            version: String::new(),
            started_at: at("2030-01-02T11:00:00Z"),
            since: at("2030-01-02T11:00:00Z"),
            last_contact: Some(at("2030-01-02T11:58:00Z")),
            epoch: None,
            problem: None,
            server: None,
            queued: 0,
            machines: vec!["laptop".to_string()],
        };
        self.env.store().link().set_state(&state).unwrap();
    }

    fn run(&self, args: &[&str]) -> Ended {
        end(self.env.msg().args(args).current_dir(&self.repository))
    }

    /// Runs a command of Bob's.
    #[track_caller]
    fn ok(&self, args: &[&str]) -> Value {
        self.run(&[args, &["--as", "Bob", "--json"]].concat()).expect_code(0).json()
    }

    /// Runs a command of Bob's that fails; returns the error.
    #[track_caller]
    fn fails(&self, args: &[&str]) -> Value {
        self.run(&[args, &["--as", "Bob", "--json"]].concat()).expect_code(1).json()["error"].clone()
    }

    /// A message that waits for the link.
    fn queued_message(&self, queued: &QueuedMessage) -> Message {
        match self.env.store().remote().queued_content(queued).unwrap() {
            QueuedContent::Message(message) => *message,
            other => panic!("{other:?}"),
        }
    }

    /// What a person reads. What differs from run to run is replaced, and columns are separated by two spaces.
    #[track_caller]
    fn text(&self, args: &[&str]) -> String {
        let text = self.env.redact(self.run(&[args, &["--as", "Bob"]].concat()).expect_code(0).stdout);
        let columns = |line: &str| {
            let columns = line.split("  ").map(str::trim).filter(|column| !column.is_empty());
            columns.collect::<Vec<_>>().join("  ")
        };
        text.lines().map(columns).collect::<Vec<_>>().join("\n")
    }

    /// Nothing of theirs is where an older `msg` would take it for mail or a registration that nobody owns.
    #[track_caller]
    fn nothing_is_left_of(&self, name: &str) {
        let is_of = |path: &Path| {
            let below = path.strip_prefix(self.env.mesh()).unwrap().to_string_lossy().into_owned();
            let is_elsewhere = ["remote/", "sent/", "feed"].iter().any(|start| below.starts_with(start));
            !is_elsewhere && below.contains(name)
        };
        let left: Vec<PathBuf> = files_in(&self.env.mesh()).into_iter().filter(|path| is_of(path)).collect();
        assert_eq!(left, Vec::<PathBuf>::new());
        for directory in ["registry", "inbox", "seen", "presence", "graves"] {
            assert!(!self.env.mesh().join(directory).join(name).exists(), "{directory}/{name}");
        }
    }
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn name(text: &str) -> AgentName {
    AgentName::new(text).unwrap()
}

fn agent(own: &str, machine: &str, commit: Option<&str>) -> Agent {
    let place = PidScope {
        boot_id: Some(format!("linked:{machine}:e1")),
        machine_id: Some(format!("linked:{machine}")),
        pid_ns: None,
    };
    let pid = Pid::new(4711).unwrap();
    Agent {
        name: name(own),
        session: SessionId::new(format!("session of {own}")).unwrap(),
        process: RecordedProcess::Pinned(ProcessIdentity { pid, start_ticks: 0, place }),
        harness: harness::parse("claude"),
        cwd: format!("/home/{}/shop", own.to_lowercase()),
        model: "opus".to_string(),
        started_at: at("2030-01-02T11:00:00Z"),
        joined_at: at("2030-01-02T11:00:00Z"),
        git_branch: Some("main".to_string()),
        spec: None,
        is_human: false,
        status: None,
        tmux: None,
        last_activity: Some(at("2030-01-02T11:57:50Z")),
        counts: ActivityCounts::default(),
        reservations: Vec::new(),
        waits_for: Vec::new(),
        waits_for_tasks: Vec::new(),
        contests: Vec::new(),
        formerly: Vec::new(),
        restores: None,
        machine: Some(RemoteMachine {
            name: MachineName::new(machine).unwrap(),
            repository: commit.map(|commit| RootCommit::new(commit).unwrap()),
            away_since: None,
            heard_at: None,
        }),
    }
}

/// The agent, whose machine is away.
fn away(agent: Agent) -> Agent {
    let machine = agent
        .machine
        .map(|machine| RemoteMachine { away_since: Some(at("2030-01-02T11:30:00Z")), ..machine });
    Agent { machine, ..agent }
}

/// The agent, with a path of its repository.
fn holding(agent: Agent, pattern: &str) -> Agent {
    let repository = agent.machine.as_ref().unwrap().repository.clone().unwrap();
    let held = Reservation {
        pattern: pattern.to_string(),
        reason: Some("new login".to_string()),
        since: at("2030-01-02T11:50:00Z"),
        root: Some(agent.cwd.clone()),
        expires_at: None,
        head: None,
        is_literal: false,
        case: LetterCase::Matters,
        task: None,
        contest: None,
        reach: ReservationReach::Repository(repository),
        passed_by: Vec::new(),
    };
    Agent { reservations: vec![shared(&held, &agent.cwd).unwrap()], ..agent }
}

fn config() -> LinkConfig {
    LinkConfig {
        address: LinkAddress::parse("nats://127.0.0.1:1/team").unwrap(),
        machine: MachineName::new("here").unwrap(),
        installation: "here".to_string(),
        credentials: LinkCredentials::None,
        ca: None,
        client_certificate: None,
        replicas: 1,
        reserves_repository: false,
        runs: RunPermission::default(),
    }
}
