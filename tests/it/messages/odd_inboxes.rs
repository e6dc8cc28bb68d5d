//! Tests of what is wrong with an inbox or its reader: damaged, foreign and half-written files, and readers that die.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use super::{read, send, texts, two};
use crate::support::environment::{files_in, put, put_old};

#[test]
fn nothing_in_an_inbox_does_harm() {
    let env = two();
    let inbox = env.mesh().join("inbox/Bob");
    let old = SystemTime::now() - Duration::from_secs(60);
    let put = |name: &str, content: &[u8]| {
        fs::write(inbox.join(name), content).unwrap();
        fs::File::options().write(true).open(inbox.join(name)).unwrap().set_modified(old).unwrap();
    };
    put("1794700676113-aaaaaa.json", b"{\"id\": \"x\", \"fr");
    put("1794700676113-bbbbbb.json", b"\xff\xfe");
    put("1794700676113-cccccc.json", b"");
    put("we,ird name.json", b"{}");
    fs::create_dir(inbox.join("1794700676113-dddddd.json")).unwrap();
    symlink("/etc/passwd", inbox.join("1794700676113-eeeeee.json")).unwrap();
    nix::unistd::mkfifo(&inbox.join("1794700676113-ffffff.json"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    fs::write(inbox.join("1794700676113-gggggg.json"), "{\"id\": \"young").unwrap();
    fs::write(inbox.join("notes.txt"), "not a message").unwrap();
    let text = env.work().join("text");
    fs::write(&text, "\u{1b}[31mred\u{202e} \0 end").unwrap();
    env.ok(&["send", "Bob", "--file", text.to_str().unwrap(), "--as", "Alice"]);
    let ended = env.run(&["read", "--as", "Bob"]).expect_code(0);
    assert!(ended.stdout.contains("\\u{1b}[31mred\\u{202e} \\u{0} end"), "{ended}");
    assert_eq!(ended.stderr.matches("set aside").count(), 7, "{ended}");
    let quarantine: Vec<String> = fs::read_dir(env.mesh().join("quarantine"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(quarantine.len(), 14, "each with its reason: {quarantine:?}");
    assert!(inbox.join("1794700676113-gggggg.json").exists(), "somebody may be writing it");
    assert!(inbox.join("notes.txt").exists());
    let looked = env.run(&["inbox", "--as", "Bob"]).expect_code(0);
    assert!(looked.stderr.contains("gggggg") && looked.stderr.contains("quarantine"), "{looked}");
}

/// Odd file names look alike in the quarantine, and arrive in the same millisecond.
#[test]
fn what_is_set_aside_replaces_nothing() {
    let env = two();
    let names = ["ä.json", "ö.json", "ü.json", "ß.json", "é.json", "è.json"];
    for name in names {
        put_old(&env.mesh().join("inbox/Bob").join(name), name);
    }
    env.ok(&["read", "--as", "Bob"]);
    let mut kept: Vec<String> = files_in(&env.mesh().join("quarantine"))
        .iter()
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    kept.sort();
    let mut all = names.map(str::to_string);
    all.sort();
    assert_eq!(kept, all);
}

/// An impossible time is ignored: otherwise everything sent later would carry it.
#[test]
fn a_stamp_from_the_end_of_time_stops_nobody() {
    let env = two();
    env.ok(&["send", "Bob", "one", "--as", "Alice"]);
    for stamp in ["18446744073709551615", "99999999999999999999", "9999999999999999000"] {
        put(&env.mesh().join("sent/Alice/.stamp"), stamp);
        env.ok(&["send", "Bob", "two", "--as", "Alice"]);
        env.ok(&["send", "Bob", "three", "--as", "Alice"]);
    }
    assert_eq!(texts(&read(&env, "Bob")), ["one", "two", "three", "two", "three", "two", "three"]);
}

#[test]
fn a_message_that_is_written_in_two_steps_is_not_lost() {
    let env = two();
    let path = env.mesh().join("inbox/Bob/1794700676113-abcdef.json");
    let whole = include_str!("../../../fixtures/pi-messenger/message-1794700676113-gpvjoz.json");
    let (first, second) = whole.split_at(40);
    fs::write(&path, first).unwrap();
    assert!(read(&env, "Bob").is_empty());
    fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(second.as_bytes()).unwrap();
    assert_eq!(texts(&read(&env, "Bob")).len(), 1);
}

#[test]
fn what_a_dead_reader_had_in_hand_goes_back() {
    let env = two();
    for text in ["one", "two", "three"] {
        send(&env, text);
    }
    // At one of these steps the reader dies with messages in hand.
    let in_hand = (1..30).any(|n| {
        env.run_with(&["read", "--as", "Bob"], &[(ravenry::sys::test_switches::CRASH_AT, &n.to_string())]);
        fs::read_dir(env.mesh().join("inbox/Bob"))
            .unwrap()
            .any(|entry| entry.unwrap().file_name().to_str().unwrap().starts_with('.'))
    });
    assert!(in_hand);
    read(&env, "Bob");
    let history = env.ok(&["history", "--as", "Bob"])["messages"].as_array().unwrap().clone();
    let mut all = texts(&history);
    all.sort_unstable();
    assert_eq!(all, ["one", "three", "two"], "all are read by now, and once");
    assert_eq!(fs::read_dir(env.mesh().join("inbox/Bob")).unwrap().count(), 0);
}

#[test]
fn a_closed_pipe_leaves_the_mail_where_it_is() {
    let env = two();
    let text = env.work().join("text");
    fs::write(&text, "x".repeat(300_000)).unwrap();
    env.ok(&["send", "Bob", "--file", text.to_str().unwrap(), "--as", "Alice"]);
    let mut child = env.msg().args(["read", "--as", "Bob"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
    assert_eq!(read(&env, "Bob").len(), 1);
}

#[test]
fn a_closed_standard_output_leaves_the_mail_where_it_is() {
    let env = two();
    send(&env, "precious");
    let given = env.msg();
    let run = |command: &str, output: &str| {
        let mut shell = std::process::Command::new("sh");
        shell.arg("-c").arg(format!("\"$0\" {command} --as Bob >{output}")).arg(given.get_program());
        shell.env_clear().envs(given.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let ended = shell.current_dir(env.work()).output().unwrap();
        (ended.status.code(), String::from_utf8_lossy(&ended.stderr).into_owned())
    };
    for output in ["&-", "/dev/null"] {
        for command in ["read", "read --json", "read -q", "wait --timeout 60", "watch", "watch --json"] {
            let (code, said) = run(command, output);
            assert!(said.contains("error: nobody reads standard output, so the mail stays"), "{said}");
            assert_eq!(code, Some(4), "{command}: who asks in a loop must not take this for mail");
        }
    }
    assert_eq!(read(&env, "Bob").len(), 1);
    // That there is no mail may be written to `/dev/null`.
    assert_eq!(run("read", "/dev/null"), (Some(0), String::new()));
}

#[test]
fn history_is_kept_within_bounds_and_unread_mail_is_none_of_it() {
    let env = two();
    for number in 0..6 {
        send(&env, &number.to_string());
    }
    env.ok(&["read", "--limit", "4", "--as", "Bob"]);
    let mesh = env.store();
    let bob = ravenry::domain::AgentName::new("Bob").unwrap();
    let now = jiff::Timestamp::now();
    let hour = jiff::SignedDuration::from_hours(1);
    assert_eq!(mesh.archive().prune(&bob, now - hour, 3).unwrap(), 1, "one too many");
    let history = env.ok(&["history", "--as", "Bob"])["messages"].as_array().unwrap().clone();
    assert_eq!(texts(&history), ["1", "2", "3"], "the oldest went");
    assert_eq!(mesh.archive().prune(&bob, now + hour, 3).unwrap(), 3, "all too old");
    assert_eq!(texts(&read(&env, "Bob")), ["4", "5"]);
}

#[test]
fn an_inbox_that_somebody_removed_is_made_anew() {
    let env = two();
    fs::remove_dir(env.mesh().join("inbox/Bob")).unwrap();
    send(&env, "hello");
    assert_eq!(texts(&read(&env, "Bob")), ["hello"]);
}
