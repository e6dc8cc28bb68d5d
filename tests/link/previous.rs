//! The `msg` of the previous release, which knows nothing of links, on the mesh of a linked machine: `.ci/previous` builds it.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::environment::{Ended, end, wait_until};
use crate::support::machine::Machine;
use crate::support::server::Server;

fn program() -> PathBuf {
    let Some(path) = std::env::var_os("RAVENRY_PREVIOUS_MSG") else {
        panic!("set RAVENRY_PREVIOUS_MSG to what .ci/previous prints, or run .ci/link");
    };
    PathBuf::from(path)
}

/// The old program, where the new one works.
struct Old<'a>(&'a Machine);

impl Old<'_> {
    fn msg(&self) -> Command {
        let like = self.0.msg();
        let mut command = Command::new(program());
        command.env_clear().stdin(Stdio::null());
        command.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(like.get_current_dir().unwrap());
        command
    }

    fn run(&self, args: &[&str]) -> Ended {
        end(self.msg().args(args))
    }

    #[track_caller]
    fn ok(&self, args: &[&str]) -> Value {
        self.run(&[args, &["--json"]].concat()).expect_code(0).json()
    }

    #[track_caller]
    fn fails(&self, code: i32, args: &[&str]) -> Value {
        self.run(&[args, &["--json"]].concat()).expect_code(code).json()["error"].clone()
    }

    #[track_caller]
    fn join(&self, name: &str) {
        let host = self.0.env.host().to_string();
        let session = format!("session-{name}");
        self.ok(&["join", name, "--pid", &host, "--session", &session, "--harness", "claude"]);
    }

    /// What the hook answers before that session edits the file.
    fn before_edit(&self, name: &str, file: &str) -> Ended {
        let path = self.0.env.work().join(file);
        let payload = json!({
            "session_id": format!("session-{name}"), "cwd": self.0.env.work(), "hook_event_name": "PreToolUse",
            "tool_name": "Edit", "tool_input": { "file_path": path, "old_string": "a", "new_string": "b" },
        });
        self.hook("PreToolUse", &payload)
    }

    fn hook(&self, event: &str, payload: &Value) -> Ended {
        let input = self.0.env.path().join("payload.json");
        std::fs::write(&input, payload.to_string()).unwrap();
        let mut command = self.msg();
        end(command.args(["hook", "claude", event]).stdin(std::fs::File::open(input).unwrap()))
    }
}

/// Two linked machines, each with a clone of a repository: on the laptop Anna and, by the old program, Olga; Bob on the
/// other one.
fn machines(server: &Server) -> (Machine, Machine) {
    let (a, b) = (Machine::linked("laptop", server.port), Machine::linked("buildbox", server.port));
    a.repository();
    b.repository();
    a.join("Anna");
    b.join("Bob");
    Old(&a).join("Olga");
    a.wait_for("Bob");
    b.wait_for("Anna");
    b.wait_for("Olga");
    (a, b)
}

fn names(agents: &Value) -> Vec<&str> {
    let mut names: Vec<&str> =
        agents["agents"].as_array().unwrap().iter().map(|agent| agent["name"].as_str().unwrap()).collect();
    names.sort_unstable();
    names
}

fn texts(machine: &Machine, name: &str) -> Vec<String> {
    let inbox = machine.ok(&["inbox", "--as", name]);
    let messages = inbox["messages"].as_array().unwrap();
    messages.iter().map(|message| message["text"].as_str().unwrap().to_string()).collect()
}

#[test]
fn old_and_new_agents_of_a_machine_see_each_other_and_talk() {
    let server = Server::start();
    let (a, b) = machines(&server);
    let old = Old(&a);
    // The old one does not know of other machines.
    assert_eq!(names(&old.ok(&["agents"])), ["Anna", "Olga"]);
    assert_eq!(names(&a.ok(&["agents"])), ["Anna", "Bob", "Olga"]);
    old.ok(&["send", "Anna", "from the old one", "--as", "Olga"]);
    assert_eq!(a.ok(&["read", "--as", "Anna"])["messages"][0]["text"], "from the old one");
    a.ok(&["send", "Olga", "from the new one", "--as", "Anna"]);
    assert_eq!(old.ok(&["read", "--as", "Olga"])["messages"][0]["text"], "from the new one");

    // Others see the old one's agent, and it gets their messages.
    let sent = b.ok(&["send", "Olga", "from far away", "--as", "Bob"]);
    let id = sent["sent"][0]["id"].as_str().unwrap().to_string();
    wait_until("it arrives", || texts(&a, "Olga") == ["from far away"]);
    assert_eq!(old.ok(&["read", "--as", "Olga"])["messages"][0]["text"], "from far away");
    wait_until("the sender knows that it was read", || {
        b.ok(&["receipt", &id, "--as", "Bob"])["state"] == "surfaced"
    });
    // A limit: it can't answer, because Bob is nobody to it.
    assert_eq!(old.fails(1, &["send", "Bob", "hello", "--as", "Olga"])["kind"], "unknown_agent");
    assert_eq!(old.fails(1, &["reply", &id, "hello", "--as", "Olga"])["kind"], "unknown_agent");

    // When the old one's agent leaves, others are told.
    old.ok(&["leave", "--as", "Olga"]);
    b.wait_without("Olga");
    a.wait_until_linked();
}

#[test]
fn the_link_carries_what_an_old_one_claims() {
    let server = Server::start();
    let (a, b) = machines(&server);
    let old = Old(&a);
    old.ok(&["claim", "TASK-01", "--spec", "plan.md", "--as", "Olga"]);
    let is_seen_as = |state: &str| {
        let tasks = b.ok(&["tasks", "--spec", "plan.md", "--as", "Bob"]);
        let tasks = tasks["tasks"].as_array().unwrap();
        tasks.iter().any(|task| task["id"] == "TASK-01" && task["state"] == state)
    };
    // Before that anybody may have it, which is the limit.
    wait_until("the other machine knows", || is_seen_as("claimed"));
    let error = b.fails(1, &["claim", "TASK-01", "--spec", "plan.md", "--as", "Bob"]);
    assert_eq!(error["kind"], "already_claimed", "{error}");
    old.ok(&["complete", "TASK-01", "--spec", "plan.md", "--as", "Olga"]);
    wait_until("the other machine knows that it is done", || is_seen_as("done"));
}

/// The limit: an old one does not ask the server. Whoever has the task on another machine keeps it.
#[test]
fn who_claims_by_an_old_one_what_another_machine_has_is_told_to_give_it_up() {
    let server = Server::start();
    let (a, b) = machines(&server);
    let old = Old(&a);
    b.ok(&["claim", "TASK-01", "--spec", "plan.md", "--as", "Bob"]);
    old.ok(&["claim", "TASK-01", "--spec", "plan.md", "--as", "Olga"]);
    wait_until("Olga is told that it is lost", || {
        texts(&a, "Olga").iter().any(|text| text.contains("You lost `TASK-01`"))
    });
    // Here it is hers until she gives it up, as she is told to.
    old.ok(&["unclaim", "TASK-01", "--spec", "plan.md", "--as", "Olga"]);
    b.ok(&["complete", "TASK-01", "--spec", "plan.md", "--as", "Bob"]);
}

#[test]
fn reservations_of_old_ones_stay_on_their_machine_and_those_of_new_ones_survive_them() {
    let server = Server::start();
    let (a, b) = machines(&server);
    let old = Old(&a);
    a.ok(&["reserve", "--repo", "src/", "--reason", "parser", "--as", "Anna"]);
    // On this machine, the old one is bound by it.
    assert_eq!(old.fails(1, &["reserve", "src/main.rs", "--as", "Olga"])["kind"], "reserved");
    assert!(old.before_edit("Olga", "src/main.rs").stdout.contains("deny"));
    // It writes registrations anew, and what it does not know stays in them.
    old.ok(&["set-status", "busy", "--as", "Anna"]);
    let refused = || b.run(&["reserve", "--repo", "src/main.rs", "--as", "Bob", "--json"]);
    wait_until("the other machine has the status", || {
        b.agent("Anna").is_some_and(|anna| anna.to_string().contains("busy"))
    });
    assert_eq!(refused().expect_code(1).kind(), "reserved");
    let held = a.ok(&["reservations"])["reservations"].to_string();
    assert!(held.contains("src/"), "{held}");

    // The limits: what the old one reserves binds on its machine alone, and it does not see what others hold.
    old.ok(&["reserve", "plan.md", "--as", "Olga"]);
    assert_eq!(a.fails(1, &["reserve", "plan.md", "--as", "Anna"])["kind"], "reserved");
    b.ok(&["reserve", "--repo", "plan.md", "--as", "Bob"]);
    a.ok(&["release", "--as", "Anna"]);
    wait_until("the path is free over there", || {
        b.run(&["reserve", "--repo", "src/", "--as", "Bob"]).code == Some(0)
    });
    wait_until("the copy on the laptop has it", || {
        a.run(&["check", "src/main.rs", "--as", "Anna"]).code == Some(1)
    });
    old.ok(&["check", "src/main.rs", "--as", "Olga"]);
    let silent = old.before_edit("Olga", "src/main.rs");
    assert_eq!((silent.code, silent.stdout.as_str(), silent.stderr.as_str()), (Some(0), "", ""));
}

#[test]
fn an_old_doctor_and_old_hooks_say_nothing_of_the_files_of_a_link() {
    let server = Server::start();
    let (a, b) = machines(&server);
    let old = Old(&a);
    b.ok(&["send", "Anna", "hello", "--as", "Bob"]);
    a.network.cut();
    a.ok(&["send", "Bob", "queued", "--as", "Anna"]);
    let (link, remote) = (a.env.mesh().join("link"), a.env.mesh().join("remote"));
    assert!(link.join("state.json").exists() && remote.exists());
    let before = (files(&link), files(&remote));
    let ended = old.run(&["doctor", "--json"]);
    let answer = ended.json();
    let checks = answer["checks"].as_array().unwrap();
    assert!(checks.iter().all(|check| check["state"] != "fail"), "{answer:#}");
    let says_so = |check: &&Value| {
        let text = check.to_string();
        [link.to_str().unwrap(), remote.to_str().unwrap(), "link/", "remote/"]
            .iter()
            .any(|path| text.contains(path))
    };
    assert!(!checks.iter().any(|check| says_so(&check)), "{answer:#}");
    let repaired = old.run(&["doctor", "--repair", "--json"]).json();
    assert!(
        repaired["checks"].as_array().unwrap().iter().all(|check| check["state"] != "fail"),
        "{repaired:#}"
    );
    assert_eq!((files(&link), files(&remote)), before, "nothing of it was tidied away");

    for event in ["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop"] {
        let payload = json!({
            "session_id": "session-Olga", "cwd": a.env.work(), "hook_event_name": event, "source": "startup",
            "prompt": "go on", "tool_name": "Read", "tool_input": { "file_path": a.env.work().join("plan.md") },
        });
        let said = old.hook(event, &payload).expect_code(0);
        let text = format!("{}{}", said.stdout, said.stderr);
        for word in ["link", "remote", "Bob", "buildbox"] {
            assert!(!text.contains(word), "{event}: {text}");
        }
    }
    a.network.heal();
    wait_until("what was queued arrives", || texts(&b, "Bob") == ["queued"]);
}

/// The names of the files beneath a directory that do not change by themselves.
fn files(dir: &std::path::Path) -> Vec<String> {
    let all = crate::environment::files_in(dir);
    all.iter().map(|path| path.strip_prefix(dir).unwrap().display().to_string()).collect()
}
