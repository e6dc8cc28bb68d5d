//! A worker in tmux that gets nowhere: its parent is told once, with its screen. One that is only silent is left alone.

use std::fs;
use std::path::PathBuf;

use nix::sys::signal::{SIGCONT, SIGSTOP, kill};
use nix::unistd::Pid;
use ravenry::sys::test_switches::COUNT;
use serde_json::{Value, json};

use super::launching::Clients;
use crate::runs::{put_profiles, wait_for_run};
use crate::support::environment::wait_until;
use crate::support::running::Running;

/// A worker of Robin's whose parent is told what is wrong.
struct Watched {
    clients: Clients,
    id: String,
}

impl Watched {
    /// `None`: something is missing here.
    fn start(task: &str) -> Option<Self> {
        Self::start_with(&[task])
    }

    /// The same, with what is given as its task: nothing, perhaps.
    fn start_with(task: &[&str]) -> Option<Self> {
        let clients = Clients::start()?;
        let env = &clients.tmux.env;
        env.ok(&["config", "set", "lookPace", "0.01"]);
        env.join("Robin");
        let count = env.path().join("count");
        let flags = ["--tmux", "--detach", "--name", "Mason", "--as", "Robin", "--json"];
        let args = [&["run", "claude"], task, &flags].concat();
        let ended = clients.run_with(&args, &[(COUNT, count.to_str().unwrap())]).expect_code(0);
        let id = ended.json()["run"]["id"].as_str().unwrap().to_string();
        Some(Self { clients, id })
    }

    /// How often the supervisor has looked whether the worker gets anywhere.
    fn looks(&self) -> u64 {
        let path: PathBuf = self.clients.tmux.env.path().join("count.worker-look");
        fs::metadata(path).map_or(0, |metadata| metadata.len())
    }

    #[track_caller]
    fn wait_for_looks(&self, more: u64) {
        let before = self.looks();
        wait_until("it was looked at", || self.looks() >= before + more);
    }

    /// Lets the worker end its turn. Returns all that its parent was told.
    #[track_caller]
    fn told_in_all(&self) -> Vec<String> {
        self.clients.set("go");
        let env = &self.clients.tmux.env;
        let mut told: Vec<String> = Vec::new();
        wait_until("the parent is told of the end of the turn", || {
            let mail = env.ok(&["read", "--as", "Robin"])["messages"].clone();
            let texts = mail.as_array().cloned().unwrap_or_default();
            told.extend(texts.iter().filter_map(|message| message["text"].as_str().map(str::to_string)));
            told.iter().any(|text| text.contains("has ended its turn"))
        });
        env.ok(&["runs", "stop", &self.id]);
        told.retain(|text| !text.contains("has ended its turn"));
        told
    }
}

#[test]
fn a_worker_whose_model_never_answers_is_stuck_and_its_parent_is_told_once() {
    let Some(watched) = Watched::start("slow work") else { return };
    let env = &watched.clients.tmux.env;
    wait_until("the parent is told", || {
        let mail = env.ok(&["inbox", "--as", "Robin"]);
        mail["messages"].as_array().is_some_and(|messages| !messages.is_empty())
    });
    watched.wait_for_looks(10);
    let told = watched.told_in_all();
    assert_eq!(told.len(), 1, "{told:#?}");
    assert!(told[0].contains("seems to be stuck") && told[0].contains("Churning"), "{}", told[0]);
    assert!(told[0].contains(&format!("`msg tell {} --interrupt`", watched.id)), "{}", told[0]);
}

#[test]
fn a_silent_build_is_not_stuck() {
    let Some(watched) = Watched::start_with(&[]) else { return };
    let env = &watched.clients.tmux.env;
    let ready = wait_for_run(env, &watched.id, "ready", |run| run["tmux"]["ready"] == true);
    let supervisor = Pid::from_raw(i32::try_from(ready["supervisorPid"].as_i64().unwrap()).unwrap());
    // Nobody looks between its prompt and its tool call, however long its hooks take: a model that only thinks would be
    // stuck by then.
    kill(supervisor, SIGSTOP).unwrap();
    env.ok(&["tell", "Mason", "build it"]);
    wait_until("its tool call is open", || {
        let steps = fs::read_dir(env.mesh().join("hooks")).unwrap().flatten();
        let mut steps = steps.filter(|entry| entry.file_name().to_string_lossy().ends_with(".steps"));
        steps.any(|entry| fs::read_to_string(entry.path()).unwrap_or_default().contains("\"before\""))
    });
    kill(supervisor, SIGCONT).unwrap();
    watched.wait_for_looks(10);
    // Nor between the end of its call and that of its turn.
    kill(supervisor, SIGSTOP).unwrap();
    watched.clients.set("go");
    wait_until("its turn is over", || env.ok(&["look", "Mason"])["state"] == "idle");
    kill(supervisor, SIGCONT).unwrap();
    assert_eq!(watched.told_in_all(), Vec::<String>::new());
}

#[test]
fn the_same_command_four_times_is_told_once() {
    repeats_itself("repeat it");
}

/// No hook runs before such a call.
#[test]
fn the_same_file_read_four_times_is_told_once() {
    repeats_itself("reread it");
}

#[track_caller]
fn repeats_itself(task: &str) {
    let Some(watched) = Watched::start(task) else { return };
    let env = &watched.clients.tmux.env;
    let mut told = Vec::new();
    wait_until("the parent is told that it repeats itself", || {
        let mail = env.ok(&["read", "--as", "Robin"])["messages"].clone();
        let texts = mail.as_array().cloned().unwrap_or_default();
        told.extend(texts.iter().filter_map(|message| message["text"].as_str().map(str::to_string)));
        told.iter().any(|text| text.contains("the same arguments four times"))
    });
    watched.wait_for_looks(10);
    told.extend(watched.told_in_all());
    let repeated = told.iter().filter(|text| text.contains("the same arguments four times")).count();
    assert_eq!(repeated, 1, "{told:#?}");
}

#[test]
fn a_dialog_that_the_profile_knows_is_answered() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    put_profiles(
        env,
        "[asker]\nharness = \"claude\"\n\
         triage = { answer = [{ dialog = \"Do you want to proceed?\", choice = \"2\" }] }\n",
    );
    let ended = clients.run(&["run", "asker", "ask for it", "--tmux", "--detach", "--json"]).expect_code(0);
    let id = ended.json()["run"]["id"].as_str().unwrap().to_string();
    let run = wait_for_run(env, &id, "answered", |run| run["result"] == "chosen: 1");
    assert_eq!((&run["state"], &run["question"]), (&json!("running"), &Value::Null));
    env.ok(&["runs", "stop", &id]);
}

/// A worker that is told to wrap up is in its turn still.
#[test]
fn a_dialog_is_answered_also_while_its_worker_wraps_up() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    put_profiles(
        env,
        "[asker]\nharness = \"claude\"\n\
         triage = { answer = [{ dialog = \"Do you want to proceed?\", choice = \"2\" }] }\n",
    );
    let ended = clients.run(&["run", "asker", "later ask", "--tmux", "--detach", "--json"]).expect_code(0);
    let id = ended.json()["run"]["id"].as_str().unwrap().to_string();
    env.ok(&["runs", "stop", &id]);
    clients.set("go");
    wait_for_run(env, &id, "stopped", |run| run["state"] == "stopped");
    assert!(env.work().join("chosen").exists());
}

#[test]
fn a_run_takes_prompts_and_answers_by_its_id() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    env.join("Robin");
    clients.set("trust");
    let ended = clients.run(&["run", "claude", "first", "--tmux", "--detach", "--as", "Robin", "--json"]);
    let id = ended.json()["run"]["id"].as_str().unwrap().to_string();
    wait_for_run(env, &id, "waiting", |run| run["state"] == "waiting");
    let told = env.ok(&["tell", &id, "--answer", "Yes"])["told"].clone();
    assert_eq!(told["answer"], "Yes, I trust this folder");
    wait_for_run(env, &id, "idle", |run| run["result"] == "I did: first");
    assert_eq!(env.ok(&["tell", &id, "second"])["told"]["confirmedBy"], "hook");
    wait_for_run(env, &id, "idle again", |run| run["result"] == "I did: second");
    assert_eq!(clients.prompts(), ["first", "second"]);
    env.ok(&["runs", "stop", &id]);
}

#[test]
fn a_run_that_was_stopped_is_not_done() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    let args = ["run", "claude", "slow work", "--tmux", "--detach", "--name", "Mason", "--json"];
    let id = clients.run(&args).expect_code(0).json()["run"]["id"].as_str().unwrap().to_string();
    wait_for_run(env, &id, "at work", |run| run["agent"] == "Mason");
    let count = env.path().join("waits");
    let mut wait = env.msg();
    wait.args(["wait", "--for", &id, "--until", "done", "--json"]).env(COUNT, &count);
    let mut wait = Running::start(env, &mut wait);
    wait_until("it has looked once", || env.path().join("waits.wait-look").exists());
    env.ok(&["runs", "stop", &id]);
    let mut code = None;
    wait_until("the wait ends", || {
        code = wait.child.try_wait().unwrap();
        code.is_some()
    });
    let said: Value = serde_json::from_str(&wait.said()).unwrap();
    assert_eq!((code.unwrap().code(), &said["error"]["kind"]), (Some(1), &json!("run_failed")), "{said}");
    assert_eq!((&said["error"]["outcome"], &said["error"]["run"]), (&json!("stopped"), &json!(id)), "{said}");
}
