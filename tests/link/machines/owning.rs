//! Names, tasks and repository paths have one owner over all machines.

use std::process::Stdio;
use std::time::Duration;

use bytes::Bytes;
use ravenry::domain::link::{
    LeaseEpoch, MachineName, MachineRecord, PathTable, RecordOwner, SharedPath, name_token, paths_token,
};
use ravenry::domain::pattern::LetterCase;
use ravenry::domain::{AgentName, Reservation, ReservationReach, RootCommit, SessionId};
use ravenry::store::link_format;
use ravenry::sys::nats::{Cas, ConnectOptions, Nats};

use super::mail::two;
use crate::environment::wait_until;
use crate::support::machine::Machine;
use crate::support::server::Server;

#[test]
fn a_name_is_taken_on_every_machine() {
    let server = Server::start();
    let (_a, b) = two(&server);
    let host = b.env.host();
    let error = b.fails(1, &["join", "anna", "--pid", &host.to_string(), "--session", "other"]);
    assert_eq!(error["kind"], "name_taken", "{error}");
    assert!(error["message"].as_str().unwrap().contains("laptop"), "{error}");
}

#[test]
fn a_task_of_a_repository_has_one_owner() {
    let server = Server::start();
    let (a, b) = two(&server);
    a.repository();
    b.repository();
    a.ok(&["claim", "TASK-01", "--spec", "plan.md", "--as", "Anna"]);
    let error = b.fails(1, &["claim", "TASK-01", "--spec", "plan.md", "--as", "Bob"]);
    assert_eq!(error["kind"], "already_claimed", "{error}");
    assert!(error["message"].as_str().unwrap().contains("laptop"), "{error}");
    // The next one is free.
    let next = b.ok(&["claim", "--next", "--spec", "plan.md", "--as", "Bob"]);
    assert_eq!(next["claim"]["task"], "TASK-02");
    a.ok(&["complete", "TASK-01", "--spec", "plan.md", "--as", "Anna"]);
    wait_until("the other machine knows that it is done", || {
        let tasks = b.ok(&["tasks", "--spec", "plan.md", "--as", "Bob"]);
        tasks["tasks"]
            .as_array()
            .unwrap()
            .iter()
            .any(|task| task["id"] == "TASK-01" && task["state"] == "done")
    });
    b.ok(&["unclaim", "TASK-02", "--spec", "plan.md", "--as", "Bob"]);
    wait_until("the other machine may have it", || {
        a.run(&["claim", "TASK-02", "--spec", "plan.md", "--as", "Anna"]).code == Some(0)
    });
}

#[test]
fn a_path_of_a_repository_has_one_holder() {
    let server = Server::start();
    let (a, b) = two(&server);
    a.repository();
    b.repository();
    a.ok(&["reserve", "--repo", "src/", "--reason", "parser", "--as", "Anna"]);
    let error = b.fails(1, &["reserve", "--repo", "src/main.rs", "--as", "Bob"]);
    assert_eq!(error["kind"], "reserved", "{error}");
    assert!(error["message"].as_str().unwrap().contains("Anna"), "{error}");
    // Hooks read the mirror.
    wait_until("the mirror has it", || b.run(&["check", "src/main.rs", "--as", "Bob"]).code == Some(1));
    assert_eq!(b.run(&["check", "plan.md", "--as", "Bob"]).code, Some(0));
    a.ok(&["release", "--as", "Anna"]);
    wait_until("it is free on the other machine", || {
        b.run(&["reserve", "--repo", "src/main.rs", "--as", "Bob"]).code == Some(0)
    });
    let error = a.fails(1, &["reserve", "--repo", "src/", "--as", "Anna"]);
    assert_eq!(error["kind"], "reserved", "{error}");
}

#[test]
fn of_machines_that_want_the_same_task_at_once_one_has_it() {
    let server = Server::start();
    let (a, b) = two(&server);
    a.repository();
    b.repository();
    for task in ["TASK-01", "TASK-02", "TASK-03"] {
        let begin = |machine: &Machine, who: &str| {
            let mut command = machine.msg();
            command.args(["claim", task, "--spec", "plan.md", "--as", who]);
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        };
        let (mut one, mut other) = (begin(&a, "Anna"), begin(&b, "Bob"));
        let codes = [one.wait().unwrap().code(), other.wait().unwrap().code()];
        let mut sorted = codes;
        sorted.sort();
        assert_eq!(sorted, [Some(0), Some(1)], "{task}");
        let (winner, who) = if codes[0] == Some(0) { (&a, "Anna") } else { (&b, "Bob") };
        winner.ok(&["complete", task, "--spec", "plan.md", "--as", who]);
    }
}

#[test]
fn what_a_dead_agent_had_is_free_on_the_other_machine() {
    let server = Server::start();
    let (a, b) = (Machine::linked("laptop", server.port), Machine::linked("buildbox", server.port));
    let host = a.join("Anna");
    a.join("Amy");
    b.join("Bob");
    a.repository();
    b.repository();
    a.ok(&["reserve", "--repo", "src/", "--as", "Anna"]);
    b.wait_for("Anna");
    a.env.kill(host);
    // Any look buries the dead.
    a.ok(&["agents"]);
    b.wait_without("Anna");
    wait_until("its path is free", || b.run(&["reserve", "--repo", "src/", "--as", "Bob"]).code == Some(0));
}

/// A machine that there is not: it has its lease and that name. The lease was renewed since, so it is behind the name in
/// the order of the server.
fn stranger_with_name(server: &Server, name: &str) {
    let machine = MachineName::new("stranger").unwrap();
    let (epoch, since) = (LeaseEpoch::new("e1").unwrap(), jiff::Timestamp::now());
    let record = MachineRecord {
        machine: machine.clone(),
        epoch: epoch.clone(),
        installation: "elsewhere".to_string(),
        version: "1".to_string(),
        since,
        knows_runs: false,
    };
    let lease = Bytes::from(link_format::machine_bytes(&record));
    let (agent, session) = (AgentName::new(name).unwrap(), SessionId::new("s").unwrap());
    let owner = RecordOwner { machine, epoch, agent: agent.clone(), session };
    let named = Bytes::from(link_format::name_bytes(&agent, &owner, None, None));
    let ttl = Some(Duration::from_secs(300));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let options = ConnectOptions::new(vec![server.url()], "team", "stranger");
        let nats = Nats::connect(options).await.unwrap();
        let Cas::Done(first) = nats.create("machine.stranger", lease.clone(), ttl).await.unwrap() else {
            panic!("a conflict")
        };
        assert!(matches!(nats.create(&name_token(&agent), named, None).await, Ok(Cas::Done(_))));
        assert!(matches!(nats.update("machine.stranger", lease, first, ttl).await, Ok(Cas::Done(_))));
    });
}

/// A path that Zoe on that machine holds.
fn held_by_stranger(repository: &RootCommit, number: usize) -> SharedPath {
    let reservation = Reservation {
        pattern: format!("theirs/{number}"),
        reason: None,
        since: jiff::Timestamp::UNIX_EPOCH,
        root: Some("/\0linked".to_string()),
        expires_at: None,
        head: None,
        is_literal: false,
        case: LetterCase::Matters,
        task: None,
        contest: None,
        reach: ReservationReach::Repository(repository.clone()),
        passed_by: Vec::new(),
    };
    let owner = RecordOwner {
        machine: MachineName::new("stranger").unwrap(),
        epoch: LeaseEpoch::new("e1").unwrap(),
        agent: AgentName::new("Zoe").unwrap(),
        session: SessionId::new("s").unwrap(),
    };
    SharedPath { owner, reservation }
}

#[test]
fn a_machine_that_comes_back_does_not_overfill_the_record_of_paths() {
    let server = Server::with("max_payload: 8MB");
    let a = Machine::linked("laptop", server.port);
    a.join("Anna");
    a.repository();
    stranger_with_name(&server, "Zoe");
    wait_until("the lease is seen", || a.status()["state"]["machines"].to_string().contains("stranger"));
    a.ok(&["reserve", "--repo", "src/", "--as", "Anna"]);
    let commit = super::runs::git(&a.env.work(), &["rev-list", "--max-parents=0", "HEAD"]);
    let repository = RootCommit::new(&commit).unwrap();
    let key = paths_token(&repository);
    let mut full = PathTable::new(repository.clone());
    full.held = (0..link_format::MAX_PATHS).map(|number| held_by_stranger(&repository, number)).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let nats = runtime.block_on(async {
        let options = ConnectOptions::new(vec![server.url()], "team", "stranger");
        let nats = Nats::connect(options).await.unwrap();
        // While that machine was away, others took all there is.
        loop {
            let known = nats.get(&key).await.unwrap().unwrap();
            let bytes = Bytes::from(link_format::paths_bytes(&full));
            if matches!(nats.update(&key, bytes, known.revision, None).await, Ok(Cas::Done(_))) {
                break nats;
            }
        }
    });
    wait_until("the agent is told", || {
        let inbox = a.ok(&["inbox", "--as", "Anna"])["messages"].to_string();
        inbox.contains("keeps at most 5000 paths") && inbox.contains("`src/`")
    });
    let there = runtime.block_on(nats.get(&key)).unwrap().unwrap();
    assert_eq!(link_format::parse_paths(&there.value).unwrap().held.len(), link_format::MAX_PATHS);
}

#[test]
fn a_path_with_a_time_limit_is_kept_from_a_machine_whose_clock_is_ahead() {
    let server = Server::start();
    let (a, b) = two(&server);
    a.repository();
    b.repository();
    b.ok(&["link", "stop"]);
    let clock = b.env.path().join("clock");
    // An hour.
    std::fs::write(&clock, "3600000 0").unwrap();
    let mut link = b.msg();
    link.args(["link", "run"]).env("MSG_TEST_CLOCK", &clock);
    let mut link = link.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    b.wait_until_linked();
    a.ok(&["reserve", "--repo", "src/", "--ttl", "30m", "--as", "Anna"]);
    let error = b.fails(1, &["reserve", "--repo", "src/main.rs", "--as", "Bob"]);
    assert_eq!(error["kind"], "reserved", "{error}");
    // What it reserves itself binds as long as it said.
    let mut reserve = b.msg();
    reserve.args(["reserve", "--repo", "docs/", "--ttl", "30m", "--as", "Bob"]).env("MSG_TEST_CLOCK", &clock);
    crate::environment::end(&mut reserve).expect_code(0);
    let error = a.fails(1, &["reserve", "--repo", "docs/", "--as", "Anna"]);
    assert_eq!(error["kind"], "reserved", "{error}");
    link.kill().unwrap();
    link.wait().unwrap();
}

/// How many are connected with the link process of that machine.
fn clients(machine: &Machine) -> usize {
    let socket = machine.env.mesh().join("link/socket").display().to_string();
    let all = std::fs::read_to_string("/proc/net/unix").unwrap();
    let is_connected = |line: &&str| line.ends_with(&socket) && line.split_whitespace().nth(5) == Some("03");
    all.lines().filter(is_connected).count()
}

#[test]
fn an_owner_is_not_robbed_by_a_link_that_has_not_heard_of_its_lease() {
    let server = Server::start();
    let a = Machine::linked("laptop", server.port);
    a.join("Anna");
    a.wait_until_linked();
    stranger_with_name(&server, "Zoe");
    let host = a.env.host().to_string();
    wait_until("it is answered by the server", || {
        a.network.cut();
        a.wait_until_unlinked();
        // It waits for the connection. Then it is answered before the records are followed again.
        let mut join = a.msg();
        join.args(["join", "Zoe", "--pid", &host, "--session", "zoe", "--json"]);
        let mut join = join.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_until("it has asked", || clients(&a) > 0 || join.try_wait().unwrap().is_some());
        a.network.heal();
        let answer = join.wait_with_output().unwrap();
        let text = String::from_utf8(answer.stdout).unwrap();
        let warning = String::from_utf8(answer.stderr).unwrap();
        let has_asked = !warning.contains("is not confirmed by the server");
        if has_asked {
            assert!(answer.status.code() == Some(1) && text.contains("name_taken"), "{text}");
        } else {
            // The connection came too late for it, so it has joined without an answer.
            a.run(&["leave", "--as", "Zoe"]);
        }
        has_asked
    });
}
