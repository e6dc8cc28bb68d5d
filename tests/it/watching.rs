//! Following an inbox: whatever happens to the directory, the events or the watcher, messages arrive once and at once.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Lines, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::{Pid, getgid, getuid};
use ravenry::store::Mesh;
use ravenry::sys::test_switches::{self, CRASH_AT, STOP_AT};
use serde_json::Value;

use crate::support::environment::{TestEnvironment, date, put, put_old, wait_until, wait_until_unheard};

use crate::support::running::{Running, inbox, numbers, post, two};

/// Bob's registration was lost, and another agent is called Bob by now: mail for that one is not for the watcher.
#[test]
fn a_watcher_does_not_take_the_mail_of_who_has_its_name_now() {
    let env = two();
    let mut watcher = Running::watch_at_work(&env);
    wait_until("it is recorded", || fs::read_dir(env.mesh().join("inbox/Bob")).unwrap().next().is_none());
    fs::remove_file(env.mesh().join("registry/Bob.json")).unwrap();
    let host = env.host().to_string();
    watcher.signal(Signal::SIGSTOP);
    env.ok(&["join", "Bob", "--pid", &host, "--session", "another"]);
    env.ok(&["send", "Bob", "for the new one", "--as", "Alice"]);
    watcher.signal(Signal::SIGCONT);
    assert_eq!(watcher.end(), Some(3));
    assert!(!watcher.said().contains("for the new one"), "{}", watcher.said());
    assert_eq!(env.ok(&["read", "--as", "Bob"])["messages"][0]["text"], "for the new one");
}

/// The same for `read`: it is stopped at every step, and meanwhile its name goes to another agent.
#[test]
fn a_reader_does_not_take_the_mail_of_who_has_its_name_now() {
    let mut stops = 0;
    for step in 1.. {
        let env = two();
        leave_in_hand(&env);
        let mut command = env.msg();
        command.args(["read", "--as", "Bob"]).env(STOP_AT, step.to_string());
        let mut reader = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let pid = Pid::from_raw(i32::try_from(reader.id()).unwrap());
        let flags = WaitPidFlag::WSTOPPED | WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
        if !matches!(waitid(Id::Pid(pid), flags).unwrap(), WaitStatus::Stopped(..)) {
            reader.wait().unwrap();
            break;
        }
        stops += 1;
        fs::remove_file(env.mesh().join("registry/Bob.json")).unwrap();
        let host = env.host().to_string();
        let heir = env.run(&["join", "Bob", "--pid", &host, "--session", "another"]);
        let has_heir = heir.code == Some(0);
        if has_heir {
            env.ok(&["send", "Bob", "for the new one", "--as", "Alice"]);
        }
        kill(pid, Signal::SIGCONT).unwrap();
        let said = String::from_utf8(reader.wait_with_output().unwrap().stdout).unwrap();
        assert!(!said.contains("for the new one"), "stopped at {step}: {said}");
        if has_heir {
            let read = env.ok(&["read", "--as", "Bob"]);
            let texts =
                read["messages"].as_array().unwrap().iter().map(|message| message["text"].as_str().unwrap());
            assert!(texts.into_iter().any(|text| text == "for the new one"), "stopped at {step}: {read}");
        }
    }
    assert!(stops >= 3, "it was stopped {stops} times");
}

/// Leaves a message for Bob in the hands of a dead reader.
fn leave_in_hand(env: &TestEnvironment) {
    env.ok(&["send", "Bob", "for the old one", "--as", "Alice"]);
    for step in 1.. {
        if inbox(env).iter().any(|name| name.starts_with('.')) {
            return;
        }
        let ended = env.run_with(&["read", "--as", "Bob"], &[(CRASH_AT, &step.to_string())]);
        assert_eq!(ended.signal, Some(9), "nobody died with it in hand");
    }
}

#[test]
fn what_was_there_and_what_comes_is_handed_over_in_order() {
    let env = two();
    let send = |text: &str| {
        env.ok(&["send", "Bob", text, "--as", "Alice"])["sent"][0]["id"].as_str().unwrap().to_string()
    };
    let ids: Vec<String> = numbers(0..3).iter().map(|text| send(text)).collect();
    let watcher = Running::watch(&env);
    watcher.wait_for(3);
    let later: Vec<String> = numbers(3..23).iter().map(|text| send(text)).collect();
    watcher.wait_for(23);
    assert_eq!(watcher.texts(), numbers(0..23));
    let line: Value = serde_json::from_str(watcher.said().lines().next().unwrap()).unwrap();
    assert!(line.get("ok").is_none(), "a message, itself: {line}");
    for id in [&ids[0], &later[19]] {
        wait_until("it is recorded", || {
            let receipt = env.ok(&["receipt", id, "--as", "Alice"]);
            receipt["state"] == "surfaced" && receipt["via"] == "watch"
        });
    }
}

#[test]
fn nothing_falls_between_the_first_look_and_the_watch() {
    let env = two();
    let mesh = env.store();
    // Files that never get old enough to be set aside make a look slow, so that much happens during it.
    let later = SystemTime::now() + Duration::from_secs(3600);
    for number in 0..200 {
        let path = env.mesh().join(format!("inbox/Bob/1794700676113-{number}.json"));
        put(&path, "{");
        date(&path, later);
    }
    for round in 0..80 {
        let mut watcher = Running::watch(&env);
        // A little later each time, so that the message comes at any moment of the watcher's start.
        std::thread::sleep(Duration::from_micros(250 * round));
        post(&mesh, "Bob", &round.to_string());
        watcher.expect_at_once(1, &round.to_string());
        watcher.signal(Signal::SIGTERM);
        watcher.end();
    }
}

#[test]
fn more_events_than_the_system_keeps_lose_nothing() {
    const MANY: usize = 30_000;
    let env = two();
    let mesh = env.store();
    let watcher = Running::watch_at_work(&env);
    watcher.signal(Signal::SIGSTOP);
    let stopped = waitpid(watcher.pid(), Some(WaitPidFlag::WUNTRACED)).unwrap();
    assert!(matches!(stopped, WaitStatus::Stopped(..)), "{stopped:?}");
    for number in 0..MANY {
        post(&mesh, "Bob", &number.to_string());
    }
    if let Ok(most) = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events") {
        assert!(most.trim().parse::<usize>().unwrap() < MANY, "the queue overflows");
    }
    watcher.signal(Signal::SIGCONT);
    watcher.wait_for(1 + MANY);
    assert_eq!(watcher.texts()[1..], numbers(0..MANY));
    post(&mesh, "Bob", "later");
    watcher.expect_at_once(MANY + 2, "later");
}

#[test]
fn an_inbox_may_be_removed_and_made_anew() {
    let env = two();
    let mesh = env.store();
    let dir = env.mesh().join("inbox/Bob");
    let watcher = Running::watch_at_work(&env);
    for round in 1..10 {
        wait_until("nothing is in hand", || inbox(&env).is_empty());
        fs::remove_dir(&dir).unwrap();
        fs::create_dir(&dir).unwrap();
        post(&mesh, "Bob", &round.to_string());
        watcher.expect_at_once(round + 1, &round.to_string());
    }
    let moved = env.mesh().join("inbox/moved");
    fs::rename(&dir, &moved).unwrap();
    fs::create_dir(&dir).unwrap();
    post(&mesh, "Bob", "in the new one");
    watcher.expect_at_once(11, "in the new one");
}

#[test]
fn an_inbox_need_not_be_there_yet() {
    let env = two();
    let mesh = env.store();
    let dir = env.mesh().join("inbox/Bob");
    fs::remove_dir(&dir).unwrap();
    let presence = env.mesh().join("presence/Bob");
    fs::remove_file(&presence).unwrap();
    let watcher = Running::watch(&env);
    // That is the last thing it does before it looks for the inbox.
    wait_until("it is busy", || presence.exists());
    fs::create_dir(&dir).unwrap();
    for round in 0..5 {
        post(&mesh, "Bob", &round.to_string());
        watcher.expect_at_once(round + 1, &round.to_string());
    }
}

/// In a user namespace of its own, a process has its own limits.
fn without(limit: &str, command: &Command) -> Command {
    let script = format!(
        "echo 0 > /proc/sys/user/{limit} && exec unshare --user --map-user={} --map-group={} -- \"$@\"",
        getuid(),
        getgid()
    );
    let mut limited = Command::new("unshare");
    limited.args(["--map-root-user", "sh", "-c", &script, "sh"]).arg(command.get_program());
    limited.args(command.get_args()).env_clear();
    limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    limited.current_dir(command.get_current_dir().unwrap()).stdin(Stdio::null());
    limited
}

#[test]
fn where_nothing_can_be_watched_it_looks_again_and_again() {
    for limit in ["max_inotify_watches", "max_inotify_instances"] {
        let env = two();
        let possible = without(limit, env.msg().args(["agents"])).output();
        if !possible.is_ok_and(|output| output.status.success()) {
            crate::support::skip::skip("user namespaces with limits of their own are not allowed here");
            return;
        }
        let mesh = env.store();
        let errors = env.path().join("errors");
        let mut command = without(limit, env.msg().args(["watch", "--json", "--as", "Bob"]));
        let said = env.path().join("said");
        let child =
            command.stdout(File::create(&said).unwrap()).stderr(File::create(&errors).unwrap()).spawn();
        let mut watcher = Running { child: child.unwrap(), said };
        for round in 0..5 {
            post(&mesh, "Bob", &round.to_string());
            watcher.expect_at_once(round + 1, &round.to_string());
        }
        watcher.signal(Signal::SIGTERM);
        assert_eq!(watcher.end(), Some(130));
        let errors = fs::read_to_string(errors).unwrap();
        assert!(errors.contains("no more directories can be watched"), "{limit}: {errors}");
    }
}

#[test]
fn a_new_name_is_followed_at_once() {
    let env = two();
    let watcher = Running::watch_at_work(&env);
    env.ok(&["rename", "Robert", "--as", "Bob"]);
    for (number, to) in ["Robert", "Bob", "Robert"].into_iter().enumerate() {
        env.ok(&["send", to, &format!("{number} to {to}"), "--as", "Alice"]);
        watcher.expect_at_once(number + 2, &format!("{number} to {to}"));
    }
}

#[test]
fn one_who_leaves_is_followed_no_longer() {
    let env = two();
    let mut watcher = Running::watch_at_work(&env);
    env.ok(&["leave", "--as", "Bob"]);
    assert_eq!(watcher.end(), Some(3));
}

#[test]
fn a_message_that_is_written_in_two_steps_arrives() {
    let env = two();
    let mesh = env.store();
    let watcher = Running::watch_at_work(&env);
    let path = env.mesh().join("inbox/Bob/1794700676113-gpvjoz.json");
    let whole = include_str!("../../fixtures/pi-messenger/message-1794700676113-gpvjoz.json");
    let (first, second) = whole.split_at(whole.len() / 2);
    fs::write(&path, first).unwrap();
    // The pause lasts until the watcher has looked at the half file and skipped it.
    post(&mesh, "Bob", "another");
    watcher.expect_at_once(2, "another");
    OpenOptions::new().append(true).open(&path).unwrap().write_all(second.as_bytes()).unwrap();
    watcher.wait_for(3);
    let last: Value = serde_json::from_str(watcher.said().lines().last().unwrap()).unwrap();
    assert_eq!(last["id"], "41b974ba-1b11-4a81-8997-f6c972f1650b");
}

/// A working watcher and its output, line by line.
fn listen(env: &TestEnvironment, mesh: &Mesh) -> (Running, Lines<BufReader<ChildStdout>>) {
    let mut command = env.msg();
    command
        .args(["watch", "--json", "--as", "Bob"])
        .env(test_switches::NO_SLOW_TICK, "1")
        .stdout(Stdio::piped());
    let mut watcher = Running { child: command.spawn().unwrap(), said: PathBuf::new() };
    let mut lines = BufReader::new(watcher.child.stdout.take().unwrap()).lines();
    post(mesh, "Bob", "are you there?");
    lines.next().unwrap().unwrap();
    (watcher, lines)
}

/// Messages come without a pause until many were handed over. A debounce that each event postpones would hand over
/// nothing before the stream ends.
#[test]
fn a_stream_of_events_holds_up_nothing() {
    let env = two();
    let mesh = env.store();
    let (_watcher, lines) = listen(&env, &mesh);
    let count = 200;
    let heard = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&heard);
    let listener = std::thread::spawn(move || {
        for line in lines.take(count) {
            line.unwrap();
            counter.fetch_add(1, Ordering::Relaxed);
        }
    });
    wait_until("they are handed over while more come", || {
        post(&mesh, "Bob", "x");
        heard.load(Ordering::Relaxed) >= count
    });
    listener.join().unwrap();
}

#[test]
fn one_who_is_asked_to_stop_finishes_what_is_in_hand_and_leaves_nothing_taken() {
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        let env = two();
        let mesh = env.store();
        let mut watcher = Running::watch_at_work(&env);
        watcher.signal(signal);
        assert_eq!(watcher.end(), Some(130), "while it waits");
        for number in 0..2_000 {
            post(&mesh, "Bob", &number.to_string());
        }
        let mut watcher = Running::watch(&env);
        watcher.wait_for(1);
        watcher.signal(signal);
        assert_eq!(watcher.end(), Some(130), "in the middle of it");
        let (handed, left) = (watcher.texts(), inbox(&env));
        assert!(left.iter().all(|name| !name.starts_with('.')), "{left:?}");
        assert_eq!(handed.len() + left.len(), 2_000, "none twice, none lost");
        assert_eq!(handed, numbers(0..handed.len()));
    }
}

#[test]
fn when_nobody_reads_any_more_the_message_stays() {
    let env = two();
    let mesh = env.store();
    let (mut watcher, lines) = listen(&env, &mesh);
    drop(lines);
    wait_until_unheard(watcher.child.id());
    post(&mesh, "Bob", "for the next one");
    assert_eq!(watcher.end(), Some(0));
    assert_eq!(env.ok(&["read", "--as", "Bob"])["messages"][0]["text"], "for the next one");
}

#[test]
fn watchers_and_readers_of_one_inbox_share_it() {
    const MANY: usize = 600;
    let env = two();
    let mesh = env.store();
    let watchers = [Running::watch(&env), Running::watch(&env)];
    let mut readers: Vec<Running> = Vec::new();
    for number in 0..MANY {
        post(&mesh, "Bob", &number.to_string());
        if number % 20 == 0 {
            readers.push(Running::start(&env, env.msg().args(["read", "--json", "--as", "Bob"])));
        }
    }
    wait_until("all are read", || inbox(&env).is_empty());
    let mut handed: Vec<String> = watchers.iter().flat_map(Running::texts).collect();
    for reader in &mut readers {
        assert_eq!(reader.end(), Some(0));
        let answer: Value = serde_json::from_str(&reader.said()).unwrap();
        let texts = answer["messages"].as_array().unwrap().iter();
        handed.extend(texts.map(|message| message["text"].as_str().unwrap().to_string()));
    }
    assert_eq!(handed.len(), MANY, "each once");
    let distinct: BTreeSet<String> = handed.into_iter().collect();
    assert_eq!(distinct, numbers(0..MANY).into_iter().collect());
}

#[test]
fn a_file_that_may_not_be_read_holds_up_nothing() {
    let env = two();
    let mesh = env.store();
    let path = env.mesh().join("inbox/Bob/1794700676113-abcdef.json");
    put_old(&path, "{}");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    let watcher = Running::watch(&env);
    post(&mesh, "Bob", "hello");
    watcher.expect_at_once(1, "hello");
    assert!(!path.exists(), "it is set aside");
}
