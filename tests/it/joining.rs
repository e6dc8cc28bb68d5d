//! Joining, leaving, coming back, and many at once.

use std::process::{Child, Stdio};

use serde_json::json;

use crate::support::environment::{TestEnvironment, end, rounds};

const ROUNDS: usize = 200;
const RACERS: usize = 16;

/// Runs all of them at once. Counts how many ended with each exit code.
fn race(commands: Vec<std::process::Command>) -> (usize, usize) {
    let start = |mut command: std::process::Command| {
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let children: Vec<Child> = commands.into_iter().map(start).collect();
    let codes = children.into_iter().map(|mut child| child.wait().unwrap().code());
    codes.fold((0, 0), |(won, refused), code| match code {
        Some(0) => (won + 1, refused),
        Some(1) => (won, refused + 1),
        other => panic!("ended with {other:?}"),
    })
}

/// A new mesh for each round; the registered processes stay the same.
fn join_in_round(env: &TestEnvironment, round: usize, name: &[&str], host: u32) -> std::process::Command {
    let mut command = env.msg();
    command.arg("join").args(name).args(["--pid", &host.to_string()]);
    command.env("MSG_MESH", env.path().join(format!("mesh-{round}")));
    command
}

#[test]
fn sixteen_at_once_under_one_name_are_one_agent() {
    let env = TestEnvironment::new();
    let hosts: Vec<u32> = (0..RACERS).map(|_| env.host()).collect();
    for round in 0..rounds(ROUNDS) {
        let joins = hosts.iter().map(|host| join_in_round(&env, round, &["Alice"], *host));
        assert_eq!(race(joins.collect()), (1, RACERS - 1), "round {round}");
    }
}

#[test]
fn sixteen_at_once_under_made_up_names_are_sixteen() {
    let env = TestEnvironment::new();
    let hosts: Vec<u32> = (0..RACERS).map(|_| env.host()).collect();
    // Few words, so that most names need a number.
    let words = r#"{"adjectives": ["Red", "Blue"], "nouns": ["Fox", "Owl"]}"#;
    for round in 0..rounds(ROUNDS) {
        let joins = hosts.iter().map(|host| {
            let mut join = join_in_round(&env, round, &[], *host);
            join.env("MSG_NAME_THEME", "custom").env("MSG_NAME_WORDS", words);
            join
        });
        assert_eq!(race(joins.collect()), (RACERS, 0), "round {round}");
        let registry = env.path().join(format!("mesh-{round}/registry"));
        assert_eq!(std::fs::read_dir(registry).unwrap().count(), RACERS, "round {round}");
    }
}

#[test]
fn whoever_takes_a_dead_ones_name_is_not_buried_in_its_place() {
    let env = TestEnvironment::new();
    let hosts: Vec<u32> = (0..4).map(|_| env.host()).collect();
    let other = env.host();
    for round in 0..rounds(ROUNDS) {
        let mesh = env.path().join(format!("mesh-{round}"));
        let victim = env.host();
        assert!(join_in_round(&env, round, &["Alice"], victim).output().unwrap().status.success());
        assert!(join_in_round(&env, round, &["Bob"], other).output().unwrap().status.success());
        env.kill(victim);
        let joins = hosts.iter().map(|host| join_in_round(&env, round, &["Alice"], *host));
        let buriers = (0..4).map(|_| {
            let mut command = env.msg();
            command.arg("agents").env("MSG_MESH", &mesh);
            command
        });
        let (won, refused) = race(joins.chain(buriers).collect());
        assert_eq!((won, refused), (1 + 4, 3), "round {round}: four look, one joins");
        let text = std::fs::read_to_string(mesh.join("registry/Alice.json")).unwrap();
        let pid = serde_json::from_str::<serde_json::Value>(&text).unwrap()["pid"].as_u64().unwrap();
        assert!(hosts.contains(&u32::try_from(pid).unwrap()), "round {round}: the successor is there");
    }
}

#[test]
fn twice_is_once_and_another_name_is_refused() {
    let env = TestEnvironment::new();
    let host = env.join("Alice").to_string();
    let again = env.ok(&["join", "--pid", &host]);
    assert_eq!((&again["agent"]["name"], &again["arrival"]), (&json!("Alice"), &json!("already")));
    env.ok(&["join", "alice", "--pid", &host]);
    assert_eq!(env.fails(1, &["join", "Bob", "--pid", &host]), "already_joined");
    assert_eq!(env.fails(1, &["join", "ALICE", "--pid", &env.host().to_string()]), "name_taken");
    assert_eq!(env.names(), ["Alice"]);
}

#[test]
fn the_environment_may_want_a_name() {
    let env = TestEnvironment::new();
    let join = |variable: &str, name: &str| {
        let ended = env.run_with(&["join", "--json", "--pid", &env.host().to_string()], &[(variable, name)]);
        ended.expect_code(0).json()["agent"]["name"].clone()
    };
    assert_eq!(join("MSG_AGENT", "Alice"), "Alice");
    assert_eq!(join("PI_AGENT_NAME", "Bob"), "Bob");
}

#[test]
fn a_session_comes_back_under_its_name_with_its_mail() {
    let env = TestEnvironment::new();
    let host = env.join("Alice");
    env.join("Bob");
    env.drop_mail("Alice", "one");
    env.ok(&["set-status", "thinking", "--as", "Alice"]);
    env.kill(host);
    assert_eq!(env.names(), ["Bob"]);
    assert_eq!(env.names(), ["Bob"]);
    assert!(env.mail()[0].starts_with("graves/Alice-"), "{:?}", env.mail());
    let back = env.ok(&["join", "--pid", &env.host().to_string(), "--session", "session of Alice"]);
    assert_eq!((&back["agent"]["name"], &back["arrival"]), (&json!("Alice"), &json!("back")));
    assert_eq!((&back["agent"]["unread"], &back["agent"]["statusMessage"]), (&json!(1), &json!("thinking")));
    assert_eq!(env.mail(), ["inbox/Alice/one.json"]);
    assert_eq!(std::fs::read_dir(env.mesh().join("graves")).unwrap().count(), 0);
}

#[test]
fn a_stranger_under_a_dead_ones_name_gets_none_of_its_mail() {
    let env = TestEnvironment::new();
    let host = env.join("Alice");
    env.drop_mail("Alice", "one");
    env.kill(host);
    // Nobody has looked since, so the stranger's `join` buries it.
    let stranger = env.ok(&["join", "Alice", "--pid", &env.host().to_string(), "--session", "stranger"]);
    assert_eq!(stranger["agent"]["unread"], 0);
    let back = env.ok(&["join", "--pid", &env.host().to_string(), "--session", "session of Alice"]);
    assert_ne!(back["agent"]["name"], "Alice", "the stranger has it");
    assert_eq!(back["agent"]["unread"], 1, "but the mail is back");
}

#[test]
fn mail_of_nobody_is_not_for_whoever_takes_the_name() {
    let env = TestEnvironment::new();
    env.join("Bob");
    env.drop_mail("Alice", "stray");
    env.join("Alice");
    assert_eq!(env.ok(&["whois", "Alice"])["agent"]["unread"], 0);
    assert!(env.mail()[0].starts_with("graves/Alice-lost-"), "{:?}", env.mail());
}

#[test]
fn a_new_session_id_in_the_same_process_keeps_everything() {
    let env = TestEnvironment::new();
    let host = env.join("Alice").to_string();
    env.drop_mail("Alice", "one");
    env.ok(&["set-status", "thinking", "--as", "Alice"]);
    claim(&env, "Alice");
    let agent = env.ok(&["join", "--pid", &host, "--session", "after clear"])["agent"].clone();
    assert_eq!((&agent["name"], &agent["sessionId"]), (&json!("Alice"), &json!("after clear")));
    assert_eq!((&agent["unread"], &agent["statusMessage"]), (&json!(1), &json!("thinking")));
    assert_eq!(agent["claim"]["sessionId"], "after clear");
    assert_eq!(env.names(), ["Alice"]);
}

#[test]
fn where_a_process_hosts_many_sessions_each_is_an_agent() {
    let env = TestEnvironment::new();
    let host = env.host().to_string();
    for (name, session) in [("Alice", "one"), ("Bob", "two")] {
        env.ok(&["join", name, "--pid", &host, "--session", session, "--harness", "codex"]);
    }
    assert_eq!(env.names(), ["Alice", "Bob"]);
    let again = env.ok(&["join", "--pid", &host, "--session", "two", "--harness", "codex"]);
    assert_eq!(again["agent"]["name"], "Bob");
    assert_eq!(env.fails(3, &["join", "--pid", &host]), "ambiguous_caller");
}

/// Puts a claim of the agent into `claims.json`.
fn claim(env: &TestEnvironment, name: &str) {
    let registration = env.registration(name);
    let entry = json!({
        "agent": name, "sessionId": registration["sessionId"], "pid": registration["pid"],
        "claimedAt": "2026-11-14T23:57:56.081Z", "process": registration["process"], "colour": "red",
    });
    let claims = json!({ "/spec.md": { "TASK-01": entry } });
    std::fs::write(env.mesh().join("claims.json"), claims.to_string()).unwrap();
}

fn claims(env: &TestEnvironment) -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(env.mesh().join("claims.json")).unwrap()).unwrap()
}

#[test]
fn a_new_name_takes_everything_along() {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.join("Bob");
    env.drop_mail("Alice", "one");
    claim(&env, "Alice");
    env.ok(&["rename", "Carol", "--as", "Alice"]);
    assert_eq!(env.names(), ["Bob", "Carol"]);
    let carol = env.ok(&["whois", "Alice"])["agent"].clone();
    assert_eq!((&carol["name"], &carol["unread"]), (&json!("Carol"), &json!(1)));
    assert_eq!(carol["claim"]["agent"], "Carol");
    assert_eq!(claims(&env)["/spec.md"]["TASK-01"]["colour"], "red", "keys that we don't know stay");
    assert_eq!(
        env.ok(&["whoami", "--as", "Alice"])["agent"]["name"],
        "Carol",
        "the old name leads to the new one"
    );
    assert_eq!(env.fails(1, &["join", "Alice", "--pid", &env.host().to_string()]), "name_taken");
    assert_eq!(env.fails(1, &["rename", "Bob", "--as", "Carol"]), "name_taken");
    assert_eq!(env.fails(1, &["rename", "CAROL", "--as", "Carol"]), "name_taken");
    env.ok(&["rename", "Alice", "--as", "Carol"]);
    assert_eq!(env.names(), ["Alice", "Bob"], "back to what was its own");
}

#[test]
fn ten_minutes_later_the_old_name_is_free_and_its_mail_is_forwarded() {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.drop_mail("Alice", "one");
    env.ok(&["rename", "Carol", "--as", "Alice"]);
    let later = jiff_later(11);
    let join = ["join", "Alice", "--json", "--pid", &env.host().to_string(), "--session", "stranger"];
    let stranger = env.run_with(&join, &[(ravenry::sys::test_switches::NOW, &later)]).expect_code(0).json();
    assert_eq!(stranger["agent"]["unread"], 0);
    assert_eq!(env.mail(), ["inbox/Carol/one.json"]);
}

fn jiff_later(minutes: i64) -> String {
    (jiff::Timestamp::now() + jiff::SignedDuration::from_mins(minutes)).to_string()
}

#[test]
fn leaving_frees_everything_and_keeps_the_mail() {
    let env = TestEnvironment::new();
    let host = env.join("Alice").to_string();
    env.drop_mail("Alice", "one");
    claim(&env, "Alice");
    let left = env.ok(&["leave", "--as", "Alice"]);
    assert_eq!((&left["unread"], &left["unclaimed"][0]["task"]), (&json!(1), &json!("TASK-01")));
    assert_eq!(claims(&env), json!({}));
    assert!(env.names().is_empty());
    assert_eq!(
        env.fails(3, &["whoami", "--as", "Alice"]),
        "not_joined",
        "who left is not brought back by a look"
    );
    let back = env.ok(&["join", "--pid", &host, "--session", "session of Alice"]);
    assert_eq!((&back["agent"]["name"], &back["agent"]["unread"]), (&json!("Alice"), &json!(1)));
}

#[test]
fn evicting_needs_doubt_or_force_and_is_told() {
    let env = TestEnvironment::new();
    let host = env.join("Alice").to_string();
    env.join("Bob");
    env.drop_mail("Alice", "one");
    claim(&env, "Alice");
    assert_eq!(env.fails(1, &["evict", "Alice", "--as", "Bob"]), "still_alive");
    assert_eq!(env.fails(1, &["evict", "Bob", "--as", "Bob", "--force"]), "still_alive");
    assert_eq!(env.fails(1, &["evict", "Nobody", "--as", "Bob"]), "unknown_agent");
    assert_eq!(env.fails(1, &["evict", "Alice"]), "still_alive", "a person who has not joined may ask");
    env.ok(&["evict", "Alice", "--as", "Bob", "--force"]);
    assert_eq!(env.names(), ["Bob"]);
    assert_eq!(claims(&env), json!({}));
    assert_eq!(env.fails(3, &["whoami", "--as", "Alice"]), "evicted");
    assert_eq!(env.names(), ["Bob"], "asking did not bring it back");
    let back = env.ok(&["join", "--pid", &host, "--session", "session of Alice"]);
    assert_eq!((&back["agent"]["name"], &back["agent"]["unread"]), (&json!("Alice"), &json!(1)));
}

#[test]
fn whoever_nobody_can_tell_of_keeps_its_name_until_evicted() {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.join("Bob");
    let mut registration = env.registration("Alice");
    registration["process"]["pidNs"] = json!("pid:[1]");
    std::fs::write(env.mesh().join("registry/Alice.json"), registration.to_string()).unwrap();
    assert_eq!(env.ok(&["whois", "Alice"])["agent"]["presence"], "unknown");
    assert_eq!(env.names(), ["Alice", "Bob"]);
    assert_eq!(env.fails(1, &["join", "Alice", "--pid", &env.host().to_string()]), "name_taken");
    env.ok(&["evict", "Alice", "--as", "Bob"]);
    assert_eq!(env.names(), ["Bob"]);
}

#[test]
fn after_a_reboot_everyone_is_gone() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let mut registration = env.registration("Alice");
    registration["process"]["bootId"] = json!("an earlier one");
    std::fs::write(env.mesh().join("registry/Alice.json"), registration.to_string()).unwrap();
    if registration["process"]["machineId"].is_null() {
        assert_eq!(env.names(), ["Alice"], "a machine without an id can't be told from another");
    } else {
        assert!(env.names().is_empty());
    }
}

#[test]
fn spec_and_model_are_kept_and_can_be_given_later() {
    let env = TestEnvironment::new();
    std::fs::write(env.work().join("spec.md"), "# Spec").unwrap();
    let host = env.join("Alice").to_string();
    let agent = env.ok(&["join", "--pid", &host, "--spec", "spec.md", "--model", "gpt-9"])["agent"].clone();
    assert_eq!(agent["model"], "gpt-9");
    let spec = std::fs::canonicalize(env.work().join("spec.md")).unwrap();
    assert_eq!(agent["spec"], spec.to_str().unwrap());
    assert_eq!(env.fails(2, &["join", "--pid", &host, "--spec", "nosuch.md"]), "invalid_value");
}

#[test]
fn a_process_that_can_not_be_one_is_refused() {
    let env = TestEnvironment::new();
    for pid in ["0", "-1", "99999999", "4194305"] {
        assert_eq!(env.fails(2, &["join", "--pid", pid]), "invalid_value", "{pid}");
    }
    let dead = env.host();
    env.kill(dead);
    assert_eq!(env.fails(1, &["join", "--pid", &dead.to_string()]), "not_running");
    assert!(!env.mesh().exists(), "nothing was written");
}

#[test]
fn joining_sweeps_what_the_dead_left_in_tmp() {
    let env = TestEnvironment::new();
    let host = env.host().to_string();
    // Roughly the fourth change writes a private file; whichever it is, one of these leaves one behind.
    let tmp = env.mesh().join("tmp");
    let left = (1..40).any(|n| {
        env.run_with(
            &["join", "Alice", "--pid", &host],
            &[(ravenry::sys::test_switches::CRASH_AT, &n.to_string())],
        );
        std::fs::read_dir(&tmp).is_ok_and(|mut entries| entries.next().is_some())
    });
    assert!(left, "no crash left a private file");
    env.ok(&["join", "--pid", &host]);
    assert_eq!(std::fs::read_dir(&tmp).unwrap().count(), 0);
}

#[test]
fn without_a_session_id_the_process_tells_who_comes_back() {
    let env = TestEnvironment::new();
    let host = env.host().to_string();
    env.ok(&["join", "Robin", "--pid", &host]);
    env.drop_mail("Robin", "one");
    env.ok(&["leave", "--as", "Robin"]);
    let back = env.ok(&["join", "--pid", &host])["agent"].clone();
    assert_eq!((&back["name"], &back["unread"]), (&json!("Robin"), &json!(1)));
}

#[test]
fn names_with_dashes_have_graves_too() {
    let env = TestEnvironment::new();
    let host = env.join("all-star");
    env.drop_mail("all-star", "one");
    env.kill(host);
    env.names();
    assert_eq!(env.ok(&["agents", "--gone"])["agents"][0]["name"], "all-star");
    let back = env.ok(&["join", "--pid", &env.host().to_string(), "--session", "session of all-star"]);
    assert_eq!((&back["agent"]["name"], &back["agent"]["unread"]), (&json!("all-star"), &json!(1)));
}

#[test]
fn a_session_that_moves_to_another_process_takes_its_claim_along() {
    let env = TestEnvironment::new();
    env.join("Alice");
    claim(&env, "Alice");
    let host = env.host();
    let agent =
        env.ok(&["join", "--pid", &host.to_string(), "--session", "session of Alice"])["agent"].clone();
    assert_eq!((&agent["name"], &agent["claim"]["pid"]), (&json!("Alice"), &json!(host)));
    env.ok(&["leave", "--as", "Alice"]);
    assert_eq!(claims(&env), json!({}));
}

#[test]
fn an_older_session_that_is_resumed_in_a_live_process_gets_its_mail() {
    let env = TestEnvironment::new();
    let host = env.join("Alice");
    env.drop_mail("Alice", "one");
    env.kill(host);
    let host = env.host().to_string();
    env.ok(&["join", "Bob", "--pid", &host, "--session", "fresh", "--harness", "claude"]);
    let agent =
        env.ok(&["join", "--pid", &host, "--session", "session of Alice", "--harness", "claude"])["agent"]
            .clone();
    assert_eq!((&agent["name"], &agent["unread"]), (&json!("Bob"), &json!(1)));
}

#[test]
fn former_names_do_not_pile_up() {
    let env = TestEnvironment::new();
    env.join("A0");
    let time = |number: i64| [(ravenry::sys::test_switches::NOW, jiff_later(number * 20))];
    for number in 0..5 {
        let (old, new) = (format!("A{number}"), format!("A{}", number + 1));
        let time = time(number);
        let variables: Vec<(&str, &str)> = time.iter().map(|(name, value)| (*name, value.as_str())).collect();
        env.run_with(&["rename", &new, "--as", &old], &variables).expect_code(0);
    }
    assert_eq!(env.registration("A5")["formerly"].as_array().unwrap().len(), 1);
}

/// A `join` whose host died while it waited for the lock must not take the session from the process that has it now.
#[cfg(target_os = "linux")]
#[test]
fn who_died_while_it_waited_does_not_join() {
    use std::fs;
    use std::os::unix::fs::MetadataExt;
    use std::time::Duration;

    use ravenry::sys::flock::FileLock;

    use crate::support::environment::wait_until;

    let env = TestEnvironment::new();
    let (before, now) = (env.host(), env.join("Alice"));
    let path = env.mesh().join("mesh.lock");
    let held = FileLock::acquire(&path, Duration::ZERO).unwrap();
    let session = ["--session", "session of Alice"];
    let mut join = env.msg();
    join.args(["join", "--json", "--pid", &before.to_string()]).args(session);
    let join = join.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let inode = fs::metadata(&path).unwrap().ino();
    wait_until("it waits for the lock", || {
        let locks = fs::read_to_string("/proc/locks").unwrap();
        locks.lines().any(|line| line.contains("->") && line.contains(&format!(":{inode} ")))
    });
    env.kill(before);
    drop(held);
    let said = join.wait_with_output().unwrap();
    let text = String::from_utf8(said.stdout).unwrap();
    assert_eq!(said.status.code(), Some(1), "{text}");
    assert!(text.contains("not_running"), "{text}");
    assert_eq!(env.registration("Alice")["pid"], now, "it is the live one's");
    env.ok(&["whoami", "--as", "Alice"]);
}

/// Process 1 is above every process, so every command would count as the agent that it hosts.
#[test]
fn process_one_is_refused_unless_forced_or_a_shell() {
    let env = TestEnvironment::new();
    let comm = std::fs::read_to_string("/proc/1/comm").unwrap_or_default();
    let is_shell = ["sh", "bash", "dash", "zsh", "fish", "ksh", "ash"].contains(&comm.trim());
    let ended = env.run(&["join", "Cy", "--pid", "1", "--json"]);
    if is_shell && nix::unistd::geteuid().is_root() {
        ended.expect_code(0);
        return;
    }
    let error = ended.expect_code(2).json()["error"].clone();
    assert_eq!(error["kind"], "invalid_value");
    assert!(!env.mesh().join("registry").exists(), "nothing is written");
    if nix::unistd::geteuid().is_root() {
        assert!(error["hints"][0].as_str().unwrap().contains("--force"), "{error}");
        env.ok(&["join", "Cy", "--pid", "1", "--force"]);
        assert_eq!(env.names(), ["Cy"]);
    } else {
        crate::support::skip::skip("process 1 is another user's");
    }
}

/// A shell that replaces itself by its last command: the process that it registered is the one that asks.
#[test]
fn a_command_in_the_place_of_its_shell_is_the_agent() {
    let env = TestEnvironment::new();
    let msg = env.msg();
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "\"$0\" join Xeno --pid $$ -q >&2; exec \"$0\" whoami --json"]).arg(msg.get_program());
    shell
        .env_clear()
        .envs(msg.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .current_dir(env.work());
    let ended = end(&mut shell).expect_code(0);
    assert_eq!(ended.json()["agent"]["name"], "Xeno");
}

#[test]
fn an_unknown_name_of_the_environment_is_said_to_be_from_there() {
    let env = TestEnvironment::new();
    let host = env.join("Alice");
    let whoami =
        |name: &str| env.run_with(&["whoami", "--json"], &[("MSG_AGENT", name)]).expect_code(3).json();
    let unknown = whoami("Nope")["error"]["message"].clone();
    assert_eq!(unknown, "no agent is called Nope (from $MSG_AGENT)");
    env.kill(host);
    let gone = whoami("Alice")["error"]["message"].clone();
    assert!(gone.as_str().unwrap().starts_with("Alice (from $MSG_AGENT) is gone"), "{gone}");
}

/// Words of pi-messenger's that can't be names, or no words at all, are no reason not to join.
#[test]
fn words_that_can_not_be_used_are_replaced_by_the_built_in_ones() {
    let bad = r#"{"nameTheme": "custom", "nameWords": {"adjectives": ["Élan", "Red"], "nouns": ["Fox"]}}"#;
    let mut told = String::new();
    for config in [bad, r#"{"nameTheme": "custom"}"#] {
        let env = TestEnvironment::new();
        crate::support::environment::put(&env.home().join(".pi/agent/pi-messenger.json"), config);
        let made_up = env.run(&["join", "--pid", &env.host().to_string()]).expect_code(0);
        told += &env.redact(made_up.stderr);
        let named = env.run(&["join", "Given", "--pid", &env.host().to_string()]).expect_code(0);
        assert!(!named.stderr.contains("built-in words"), "{named}");
    }
    insta::assert_snapshot!(told, @"
    note: `~/.pi/agent/pi-messenger.json`: `nameWords`: the word `Élan` in `adjectives` can't be part of a name: letters, digits, `_` and `-` only; it is ignored
    note: `nameTheme` is `custom`, but there are no usable `nameWords`: your name is made of the built-in words
    note: `nameTheme` is `custom`, but there are no usable `nameWords`: your name is made of the built-in words
    ");
}

#[test]
fn a_quiet_join_prints_the_name_alone() {
    let env = TestEnvironment::new();
    let host = env.host().to_string();
    for _ in 0..2 {
        let ended = env.run(&["join", "GoldFalcon", "-q", "--pid", &host]).expect_code(0);
        assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("GoldFalcon\n", ""));
    }
    let other = env.host().to_string();
    let name = env.run(&["join", "-q", "--pid", &other]).expect_code(0).stdout;
    assert!(env.names().contains(&name.trim_end().to_string()), "{name}");
}
