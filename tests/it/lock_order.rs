//! Commands that take several locks don't wait for each other, and none waits for a lock that it does not need.

use std::fs;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use ravenry::sys::flock::FileLock;
use ravenry::sys::test_switches::{NOW, STOP_AT};

use crate::crashes::copy;
use crate::support::environment::{TestEnvironment, wait_until};

pub fn pid(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).unwrap())
}

fn start(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Starts the command and lets it run up to that step. `None`: it ended before.
pub fn stop_at(command: &mut Command, step: usize) -> Option<Child> {
    let mut child = start(command.env(STOP_AT, step.to_string()));
    let flags = WaitPidFlag::WSTOPPED | WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
    if matches!(waitid(Id::Pid(pid(&child)), flags).unwrap(), WaitStatus::Stopped(..)) {
        return Some(child);
    }
    assert_eq!(child.wait().unwrap().code(), Some(0), "it ends well where nobody stops it");
    None
}

/// Whether somebody holds `mesh.lock`. The kernel's list of locks is read in parts, and may leave one out.
pub fn is_locked(env: &TestEnvironment) -> bool {
    FileLock::try_acquire(&env.mesh().join("mesh.lock")).unwrap().is_none()
}

/// The exit code and the output.
pub fn ended(child: Child) -> (Option<i32>, String) {
    let output = child.wait_with_output().unwrap();
    (
        output.status.code(),
        String::from_utf8(output.stderr).unwrap() + &String::from_utf8(output.stdout).unwrap(),
    )
}

/// The sender is stopped at every step and renamed meanwhile: the rename holds `mesh.lock` and waits for the sender's
/// stamp, so a sender that holds its stamp must not wait for `mesh.lock`.
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
            store.upkeep().lock_holder().is_some() || renamer.try_wait().unwrap().is_some()
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
        // While the sender holds the lock, nobody can change Bob.
        if !is_locked(&env) {
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

/// The sender is stopped at every step; meanwhile the recipient's registration is removed, and somebody holds
/// `mesh.lock`.
#[test]
fn what_is_said_not_to_be_sent_is_in_no_inbox() {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.join("Bob");
    let (file, aside) = (env.mesh().join("registry/Bob.json"), env.path().join("Bob.json"));
    let (mut stops, mut sent) = (0, 0);
    for step in 1.. {
        let mut send = env.msg();
        send.args(["send", "Bob", "hi", "--as", "Alice"]).env("MSG_LOCK_TIMEOUT", "0.05");
        let Some(sender) = stop_at(&mut send, step) else { break };
        stops += 1;
        let store = env.store();
        let locked = store.try_lock().unwrap();
        fs::rename(&file, &aside).unwrap();
        kill(pid(&sender), Signal::SIGCONT).unwrap();
        let (code, said) = ended(sender);
        drop(locked);
        fs::rename(&aside, &file).unwrap();
        sent += usize::from(code == Some(0));
        assert_eq!(env.mail().len(), sent, "stopped at {step}: {said}");
    }
    assert!(stops >= 5, "it was stopped {stops} times");
}

/// A process that left our mark also held `mesh.lock`; but it may have failed to remove the file, and live on.
#[test]
fn a_swarm_lock_with_our_mark_that_nobody_removes_is_waited_for_until_the_deadline() {
    let env = TestEnvironment::new();
    let host = env.join("Alice");
    let mark = serde_json::json!({ "ravenry": 1, "process": env.registration("Alice")["process"] });
    let lock = env.mesh().join("swarm.lock");
    fs::write(&lock, format!("{host}\n{mark}\n")).unwrap();
    let claim = ["claim", "TASK", "--adhoc", "--as", "Alice"];
    let ended = env.run_with(&claim, &[("MSG_LOCK_TIMEOUT", "0.3")]).expect_code(5);
    assert!(ended.stderr.contains(&format!("held by process {host} for more than 0.3 s")), "{ended}");
    fs::remove_file(&lock).unwrap();
    env.ok(&claim);
}

/// Renames an agent and puts its old registration back, as if the rename had been cut short.
pub fn half_renamed(env: &TestEnvironment, old: &str, new: &str) {
    let file = env.mesh().join(format!("registry/{old}.json"));
    let before = fs::read(&file).unwrap();
    env.ok(&["rename", new, "--as", old]);
    fs::write(&file, before).unwrap();
}

#[test]
fn a_rename_that_was_cut_short_is_left_for_later_while_a_stranger_has_the_swarm_lock() {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.join("Bob");
    env.ok(&["claim", "TASK", "--adhoc", "--as", "Bob"]);
    half_renamed(&env, "Bob", "Rob");
    let lock = env.mesh().join("swarm.lock");
    fs::write(&lock, env.host().to_string()).unwrap();
    let host = env.host().to_string();
    let join = ["join", "Late", "--pid", &host, "--session", "late"];
    env.run_with(&join, &[("MSG_LOCK_TIMEOUT", "5")]).expect_code(0);
    assert_eq!(env.names(), ["Alice", "Late", "Rob"]);
    assert!(env.mesh().join("registry/Bob.json").exists());
    fs::remove_file(&lock).unwrap();
    env.ok(&["doctor", "--repair"]);
    assert!(!env.mesh().join("registry/Bob.json").exists());
    assert!(fs::read_to_string(env.mesh().join("claims.json")).unwrap().contains("Rob"));
}

#[test]
fn who_evicts_an_agent_with_a_task_waits_for_the_swarm_lock_without_the_lock_of_the_mesh() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let bob = env.join("Bob");
    env.ok(&["claim", "TASK", "--adhoc", "--as", "Bob"]);
    env.kill(bob);
    let lock = env.mesh().join("swarm.lock");
    fs::write(&lock, env.host().to_string()).unwrap();
    let mut evict = env.msg();
    let mut evict = start(evict.args(["evict", "Bob", "--as", "Alice"]).env("MSG_LOCK_TIMEOUT", "600"));
    for round in 0..20 {
        let status = format!("round {round}");
        env.run_with(&["set-status", &status, "--as", "Alice"], &[("MSG_LOCK_TIMEOUT", "5")]).expect_code(0);
    }
    assert!(evict.try_wait().unwrap().is_none(), "it still waits");
    fs::remove_file(&lock).unwrap();
    let (code, said) = ended(evict);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(env.names(), ["Alice"]);
}

#[test]
fn a_session_that_moves_with_a_task_waits_for_the_swarm_lock_without_the_lock_of_the_mesh() {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.join("Bob");
    env.ok(&["claim", "TASK", "--adhoc", "--as", "Bob"]);
    let lock = env.mesh().join("swarm.lock");
    fs::write(&lock, env.host().to_string()).unwrap();
    let host = env.host().to_string();
    let mut join = env.msg();
    join.args(["join", "Bob", "--pid", &host, "--session", "session of Bob"]);
    let mut join = start(join.env("MSG_LOCK_TIMEOUT", "600"));
    for round in 0..20 {
        let status = format!("round {round}");
        env.run_with(&["set-status", &status, "--as", "Alice"], &[("MSG_LOCK_TIMEOUT", "5")]).expect_code(0);
    }
    assert!(join.try_wait().unwrap().is_none(), "it still waits");
    fs::remove_file(&lock).unwrap();
    let (code, said) = ended(join);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(env.registration("Bob")["pid"].to_string(), host);
    assert!(fs::read_to_string(env.mesh().join("claims.json")).unwrap().contains(&host));
}

/// Stops the command before each of its changes. No change moves mail while `swarm.lock` is there: pi-messenger waits
/// for it, and removes it after ten seconds.
fn moves_mail_without_the_swarm_lock(env: &TestEnvironment, args: &[&str]) {
    let (before, lock) = (env.path().join("before"), env.mesh().join("swarm.lock"));
    copy(&env.mesh(), &before);
    let mut states = Vec::new();
    for step in 1.. {
        fs::remove_dir_all(env.mesh()).unwrap();
        copy(&before, &env.mesh());
        // Some graves are named after the time.
        let Some(child) = stop_at(env.msg().args(args).env(NOW, "2099-01-01T00:00:00Z"), step) else { break };
        states.push((lock.exists(), env.mail()));
        kill(pid(&child), Signal::SIGCONT).unwrap();
        let (code, said) = ended(child);
        assert_eq!(code, Some(0), "{args:?}: {said}");
    }
    let moves = || states.windows(2).filter(|pair| pair[0].1 != pair[1].1);
    assert!(moves().count() >= 2, "{args:?} moves mail: {states:#?}");
    assert!(states.iter().any(|(is_locked, _)| *is_locked), "{args:?} changes claims");
    let bad: Vec<_> = moves().filter(|pair| pair[0].0).collect();
    assert!(bad.is_empty(), "{args:?}: {bad:#?}");
}

/// Alice, and Bob with a task, and mail for that name.
fn with_task_and_mail(name: &str) -> TestEnvironment {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.join("Bob");
    env.ok(&["claim", "TASK", "--adhoc", "--as", "Bob"]);
    for file in ["one", "two"] {
        env.drop_mail(name, file);
    }
    env
}

#[test]
fn the_swarm_lock_is_free_while_mail_moves_to_a_grave() {
    moves_mail_without_the_swarm_lock(&with_task_and_mail("Bob"), &["leave", "--as", "Bob"]);
    let evict = ["evict", "Bob", "--force", "--as", "Alice"];
    moves_mail_without_the_swarm_lock(&with_task_and_mail("Bob"), &evict);
    // An earlier agent of that name left mail behind.
    moves_mail_without_the_swarm_lock(&with_task_and_mail("Rob"), &["rename", "Rob", "--as", "Bob"]);
}

#[test]
fn the_swarm_lock_is_free_while_mail_comes_back() {
    // Bob goes on with a session whose agent left.
    let env = TestEnvironment::new();
    env.join("Old");
    for file in ["one", "two"] {
        env.drop_mail("Old", file);
    }
    env.ok(&["leave", "--as", "Old"]);
    let host = env.join("Bob").to_string();
    env.ok(&["claim", "TASK", "--adhoc", "--as", "Bob"]);
    let join = ["join", "--pid", &host, "--session", "session of Old"];
    moves_mail_without_the_swarm_lock(&env, &join);
    assert_eq!(env.names(), ["Bob"]);

    // In Bob's process a session joins under a name for which there is mail.
    let env = with_task_and_mail("Carol");
    let host = env.registration("Bob")["pid"].to_string();
    let join = ["join", "Carol", "--pid", &host, "--session", "session of Carol"];
    moves_mail_without_the_swarm_lock(&env, &join);

    // A return of Bob's was cut short: his mail is still in the grave.
    let env = with_task_and_mail("Bob");
    let [registration, claims] = ["registry/Bob.json", "claims.json"].map(|file| env.mesh().join(file));
    let (mut agent, claimed) = (env.registration("Bob"), fs::read(&claims).unwrap());
    env.ok(&["leave", "--as", "Bob"]);
    let grave = fs::read_dir(env.mesh().join("graves")).unwrap().next().unwrap().unwrap().file_name();
    agent["restores"] = grave.to_str().unwrap().into();
    fs::write(&registration, agent.to_string()).unwrap();
    fs::write(&claims, claimed).unwrap();
    moves_mail_without_the_swarm_lock(&env, &["whoami", "--as", "Bob"]);
}
