//! Decisions while news of other machines is still on its way.

use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use ravenry::domain::RootCommit;
use ravenry::domain::link::{TaskHolding, TaskKey, TaskRecord, task_token};
use ravenry::store::link_format::task_bytes;

use crate::support::config_server::run;
use crate::support::machine::Machine;
use crate::support::peer::Peer;
use crate::support::server::Server;

#[test]
fn a_claim_of_a_machine_that_has_just_come_is_not_free() {
    let server = Server::start();
    let a = Machine::linked("laptop", server.port);
    a.join("Anna");
    let work = a.repository();
    a.wait_until_linked();
    let root = Command::new("git").current_dir(work).args(["rev-list", "--max-parents=0", "HEAD"]).output();
    let root = String::from_utf8(root.unwrap().stdout).unwrap();
    let repository = RootCommit::new(root.trim()).unwrap();
    let pid = Pid::from_raw(a.status()["state"]["pid"].as_i64().unwrap() as i32);
    run(async {
        let peer = Peer::connect(&server, "buildbox").await;
        // What happens now it hears later, and after much else.
        kill(pid, Signal::SIGSTOP).unwrap();
        for number in 0..300 {
            peer.create(&format!("name.filler{number}"), b"{}".to_vec()).await;
        }
        peer.take_lease("fresh").await;
        let key = TaskKey { repository, spec: "plan.md".to_string(), task: "TASK-01".to_string() };
        let holding = TaskHolding::Claimed { since: jiff::Timestamp::now(), reason: None };
        let owner = peer.owner("Bob", "fresh");
        let record = TaskRecord { key: key.clone(), owner, holding, reopened: None };
        let revision = peer.create(&task_token(&key), task_bytes(&record)).await;
        let mut claim = a.msg();
        claim.args(["claim", "TASK-01", "--spec", "plan.md", "--as", "Anna"]);
        let mut claim = claim.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        kill(pid, Signal::SIGCONT).unwrap();
        assert_ne!(claim.wait().unwrap().code(), Some(0), "it is claimed by Bob");
        let there = peer.nats.get(&task_token(&key)).await.unwrap().unwrap();
        assert_eq!(there.revision, revision, "nobody wrote over it");
    });
}
