//! Whom `broadcast` reaches: the agents of this project, or of the machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::environment::{Ended, TestEnvironment, end, put};
use crate::support::mcp_client::{Client, server};

#[track_caller]
pub(super) fn git(dir: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command.arg("-C").arg(dir).args(["-c", "user.name=J", "-c", "user.email=j@example.org"]).args(args);
    let output = command.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A repository with a linked work tree, another repository, and two folders without git.
pub(super) struct Machine {
    pub(super) env: TestEnvironment,
    pub(super) shop: PathBuf,
    pub(super) linked: PathBuf,
    pub(super) blog: PathBuf,
    pub(super) notes: PathBuf,
}

impl Machine {
    pub(super) fn new() -> Self {
        let env = TestEnvironment::new();
        let place = |name: &str| env.path().join(name);
        let (shop, linked, blog, notes) = (place("shop"), place("linked"), place("blog"), place("notes"));
        for root in [&shop, &blog] {
            put(&root.join("src/main.rs"), "fn main() {}\n");
            git(root, &["init", "-q", "-b", "main"]);
            git(root, &["add", "-A"]);
            git(root, &["commit", "-q", "-m", "first"]);
        }
        git(&shop, &["worktree", "add", "-q", "-b", "topic", linked.to_str().unwrap()]);
        put(&notes.join("2030/january.md"), "");
        put(&place("other/x"), "");
        Self { env, shop, linked, blog, notes }
    }

    /// Joins in that folder, with a host of its own.
    #[track_caller]
    pub(super) fn join(&self, name: &str, folder: &Path, more: &[&str]) -> u32 {
        let host = self.env.host();
        let (pid, session) = (host.to_string(), format!("session of {name}"));
        let args = ["join", name, "--pid", &pid, "--session", &session];
        self.run(folder, &[&args[..], more].concat()).expect_code(0);
        host
    }

    pub(super) fn run(&self, folder: &Path, args: &[&str]) -> Ended {
        end(self.env.msg().args(args).current_dir(folder))
    }

    /// Runs a command of Alice's there; returns to whom it sent, in order.
    #[track_caller]
    pub(super) fn sent(&self, folder: &Path, args: &[&str]) -> Vec<String> {
        let answer = self.run(folder, &[args, &["--as", "Alice", "--json"]].concat()).expect_code(0).json();
        recipients(&answer)
    }
}

pub(super) fn recipients(answer: &Value) -> Vec<String> {
    let sent = answer["sent"].as_array().unwrap();
    let mut names: Vec<String> = sent.iter().map(|sent| sent["to"].as_str().unwrap().to_string()).collect();
    names.sort();
    names
}

/// Alice and Bob in one repository, Carol in its other work tree, Dan in another repository, Erin without git.
pub(super) fn crowd() -> Machine {
    let machine = Machine::new();
    machine.join("Alice", &machine.shop, &[]);
    machine.join("Bob", &machine.shop.join("src"), &[]);
    machine.join("Carol", &machine.linked, &[]);
    machine.join("Dan", &machine.blog, &[]);
    machine.join("Erin", &machine.notes, &[]);
    machine
}

#[test]
fn a_broadcast_stays_in_its_project_and_reaches_all_work_trees_of_it() {
    let machine = crowd();
    for folder in [&machine.shop, &machine.shop.join("src"), &machine.linked, &machine.linked.join("src")] {
        assert_eq!(machine.sent(folder, &["broadcast", "hi"]), ["Bob", "Carol"], "{}", folder.display());
        assert_eq!(machine.sent(folder, &["broadcast", "hi", "--here"]), ["Bob", "Carol"]);
    }
    assert_eq!(machine.sent(&machine.blog, &["broadcast", "hi"]), ["Dan"], "where one is counts");
    assert_eq!(
        machine.sent(&machine.shop, &["broadcast", "hi", "--everywhere"]),
        ["Bob", "Carol", "Dan", "Erin"]
    );
    let answer = machine.run(&machine.shop, &["broadcast", "hi", "--as", "Alice", "--json"]).json();
    assert_eq!((&answer["scope"], &answer["elsewhere"]), (&json!("project"), &json!(2)));
    let both = machine.run(&machine.shop, &["broadcast", "hi", "--here", "--everywhere", "--as", "Alice"]);
    assert_eq!(both.code, Some(2), "{both}");
    let mail = machine.env.ok(&["read", "--as", "Dan"])["messages"].as_array().unwrap().len();
    assert_eq!(mail, 2, "Dan has what was sent to his project and to all");
}

/// What `agents --here` lists is whom a broadcast reaches.
#[test]
fn here_means_the_same_in_agents() {
    let machine = crowd();
    for (folder, expected) in
        [(&machine.linked, "Alice\nBob\nCarol\n"), (&machine.blog, "Dan\n"), (&machine.notes, "Erin\n")]
    {
        assert_eq!(machine.run(folder, &["agents", "--here", "-q"]).stdout, expected);
    }
}

#[test]
fn without_git_a_project_is_a_folder_with_what_is_above_and_below() {
    let machine = crowd();
    machine.join("Frank", &machine.notes.join("2030"), &[]);
    machine.join("Grace", &machine.env.path().join("other"), &[]);
    assert_eq!(machine.sent(&machine.notes, &["broadcast", "hi"]), ["Erin", "Frank"]);
    assert_eq!(machine.sent(&machine.notes.join("2030"), &["broadcast", "hi"]), ["Erin", "Frank"]);
    assert_eq!(machine.sent(&machine.env.path().join("other"), &["broadcast", "hi"]), ["Grace"]);
}

#[test]
fn a_setting_of_the_users_keeps_the_old_way() {
    let machine = crowd();
    let all = ["Bob", "Carol", "Dan", "Erin"];
    machine.env.ok(&["config", "set", "broadcastScope", "everywhere"]);
    assert_eq!(machine.sent(&machine.shop, &["broadcast", "hi"]), all);
    assert_eq!(machine.sent(&machine.shop, &["send", "@all", "hi"]), all);
    assert_eq!(machine.sent(&machine.shop, &["broadcast", "hi", "--here"]), ["Bob", "Carol"]);
    machine.env.ok(&["config", "set", "scopeToFolder", "true"]);
    assert_eq!(machine.sent(&machine.shop, &["broadcast", "hi"]), ["Bob"], "the folder is smaller still");
    assert_eq!(machine.sent(&machine.shop, &["broadcast", "hi", "--here"]), ["Bob"]);
    assert_eq!(
        machine.sent(&machine.shop, &["broadcast", "hi", "--everywhere"]),
        all,
        "whoever says so is meant"
    );
}

/// A clone must not send what is said in it to other projects.
#[test]
fn a_project_cannot_widen_the_scope() {
    let machine = crowd();
    put(&machine.shop.join(".ravenry/config.json"), r#"{"broadcastScope": "everywhere"}"#);
    let sent = machine.run(&machine.shop, &["broadcast", "hi", "--as", "Alice", "--json"]).expect_code(0);
    assert_eq!(recipients(&sent.json()), ["Bob", "Carol"]);
    assert!(sent.stderr.contains("`broadcastScope` is ignored, because a project may not set it"), "{sent}");
}

#[test]
fn who_is_alone_in_a_project_is_told_of_the_others() {
    let machine = Machine::new();
    machine.join("Alice", &machine.shop, &[]);
    let said = || machine.run(&machine.shop, &["broadcast", "hi", "--as", "Alice"]).expect_code(0).stdout;
    assert_eq!(said(), "Nobody else is here; `msg agents` shows who is.\n");
    machine.join("Dan", &machine.blog, &[]);
    let one =
        "Nobody else is in this project; `msg broadcast --everywhere TEXT` reaches 1 agent elsewhere.\n";
    assert_eq!(said(), one);
    machine.join("Erin", &machine.notes, &[]);
    assert!(said().contains("reaches 2 agents elsewhere"));
    let refused = machine.run(&machine.shop, &["send", "@all", "hi", "--as", "Alice"]).expect_code(1);
    let place = machine.shop.display();
    assert!(
        refused.stderr.starts_with(&format!("error: nobody else is in this project, `{place}`\n")),
        "{refused}"
    );
    assert!(
        refused.stderr.ends_with("hint: `msg broadcast --everywhere TEXT` reaches 2 agents elsewhere\n"),
        "{refused}"
    );
}

#[test]
fn a_tool_call_has_the_same_scope() {
    let machine = crowd();
    let mut server = server(&machine.env, "claude");
    server.current_dir(&machine.shop);
    let mut client = Client::greeted(server);
    let said = client.ok("message", json!({ "action": "broadcast", "text": "hi" }));
    assert_eq!(recipients(&said.structured), ["Alice", "Bob", "Carol"]);
    assert_eq!((&said.structured["scope"], &said.structured["elsewhere"]), (&json!("project"), &json!(2)));
    let said = client.ok("message", json!({ "action": "broadcast", "text": "hi", "scope": "everywhere" }));
    assert_eq!(said.structured["sent"].as_array().unwrap().len(), 5);
    let wrong = json!({ "action": "broadcast", "text": "hi", "scope": "galaxy" });
    assert_eq!(client.fails("message", wrong), "usage");
    let said = client.ok("message", json!({ "to": ["@branch", "@all"], "text": "hi" }));
    assert_eq!(recipients(&said.structured), ["Alice", "Bob", "Carol"], "one copy each");
    let groups = json!([
        { "group": "@branch", "agents": ["Alice", "Bob"], "absent": [] },
        { "group": "@all", "agents": ["Alice", "Bob", "Carol"], "absent": [] },
    ]);
    assert_eq!(said.structured["groups"], groups);
}
