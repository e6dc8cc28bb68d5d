//! Commands that take several locks don't wait for each other, and nobody waits for a lock that it does not need.

use std::fs;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use ravenry::sys::seams::STOP_AT;

use crate::environment::{TestEnvironment, wait_until};

fn pid(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).unwrap())
}

fn start(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Starts the command and lets it run up to that step. `None`: it has ended before.
fn stop_at(command: &mut Command, step: usize) -> Option<Child> {
    let mut child = start(command.env(STOP_AT, step.to_string()));
    let flags = WaitPidFlag::WSTOPPED | WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
    if matches!(waitid(Id::Pid(pid(&child)), flags).unwrap(), WaitStatus::Stopped(..)) {
        return Some(child);
    }
    assert_eq!(child.wait().unwrap().code(), Some(0), "it ends well where nobody stops it");
    None
}

/// The exit code and what was said.
fn ended(child: Child) -> (Option<i32>, String) {
    let output = child.wait_with_output().unwrap();
    (
        output.status.code(),
        String::from_utf8(output.stderr).unwrap() + &String::from_utf8(output.stdout).unwrap(),
    )
}

/// The sender is stopped at every step, and meanwhile it gets another name: whoever renames holds `mesh.lock` and wants
/// the sender's stamp, and a sender that holds its stamp must not want `mesh.lock`.
#[test]
fn a_sender_and_whoever_renames_it_never_wait_for_each_other() {
    let env = TestEnvironment::new();
    env.join("Al0");
    env.join("Ghost");
    env.ok(&["leave", "--as", "Ghost"]);
    let store = env.store();
    let mut stops = 0;
    for step in 1.. {
        let (old, new) = (format!("Al{}", step - 1), format!("Al{step}"));
        let mut send = env.msg();
        send.args(["send", "Ghost", "hi", "--hold", "--as", &old]);
        let Some(sender) = stop_at(&mut send, step) else { break };
        stops += 1;
        let mut renamer = start(env.msg().args(["rename", &new, "--as", &old]));
        wait_until("it has the lock, or waits for it", || {
            store.lock_holder().is_some() || renamer.try_wait().unwrap().is_some()
        });
        kill(pid(&sender), Signal::SIGCONT).unwrap();
        for (who, (code, said)) in [("sender", ended(sender)), ("renamer", ended(renamer))] {
            assert_eq!(code, Some(0), "stopped at {step}, the {who}: {said}");
        }
    }
    assert!(stops >= 5, "it was stopped {stops} times");
}

#[test]
fn who_needs_no_claims_does_not_wait_for_the_swarm_lock_of_a_stranger() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let stranger = env.host();
    let lock = env.mesh().join("swarm.lock");
    fs::write(&lock, stranger.to_string()).unwrap();
    let mut claim = env.msg();
    let mut claim =
        start(claim.args(["claim", "TASK", "--adhoc", "--as", "Alice"]).env("MSG_LOCK_TIMEOUT", "600"));
    for round in 0..20 {
        let host = env.host().to_string();
        let join = ["join", &format!("Late{round}"), "--pid", &host, "--session", &format!("late {round}")];
        env.run_with(&join, &[("MSG_LOCK_TIMEOUT", "5")]).expect_code(0);
    }
    assert!(claim.try_wait().unwrap().is_none(), "it still waits");
    fs::remove_file(&lock).unwrap();
    let (code, said) = ended(claim);
    assert_eq!(code, Some(0), "{said}");
    let claims = fs::read_to_string(env.mesh().join("claims.json")).unwrap();
    assert!(claims.contains("TASK"), "{claims}");
}

/// The sender is stopped at every step, and meanwhile the recipient's harness gives the session a new id.
#[test]
fn who_gets_a_new_session_id_meanwhile_has_not_left() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let host = env.join("Bob").to_string();
    let mut stops = 0;
    for step in 1.. {
        let mut send = env.msg();
        send.args(["send", "Bob", "hi", "--as", "Alice"]);
        let Some(sender) = stop_at(&mut send, step) else { break };
        stops += 1;
        // Where the sender holds the lock nobody can change Bob.
        if env.store().lock_holder().is_none() {
            let file = env.mesh().join("registry/Bob.json");
            let mut registration = env.registration("Bob");
            registration["sessionId"] = format!("cleared {step}").into();
            fs::write(&file, registration.to_string()).unwrap();
        }
        kill(pid(&sender), Signal::SIGCONT).unwrap();
        let (code, said) = ended(sender);
        assert_eq!(code, Some(0), "stopped at {step}, process {host}: {said}");
    }
    assert!(stops >= 5, "it was stopped {stops} times");
    let read = env.ok(&["read", "--as", "Bob"]);
    assert_eq!(read["messages"].as_array().unwrap().len(), stops + 1);
}
