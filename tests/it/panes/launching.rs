//! `msg run --tmux` with a stand-in for Claude Code in real tmux: it takes its task once, dialogs are reported, and
//! whatever is killed, the record is right and nothing is left.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{SIGKILL, kill};
use nix::unistd::Pid;
use ravenry::sys::test_switches::{KEY_HELD, PASTE_HELD, READY_MS};
use ravenry::sys::tmux::PaneId;
use ravenry::sys::tmux::pane_lock::PaneLock;
use serde_json::{Value, json};

use super::Tmux;
use crate::runs::{left_of, put_harness, put_profiles, script, shown, wait_for_run, wait_for_state};
use crate::support::environment::{Ended, wait_until};
use crate::support::hook_fixture::ended;
use crate::support::skip::skip;

const STAND_IN: &str = include_str!("stand_in.py");

/// A tmux server, and a stand-in for Claude Code on the PATH.
pub struct Clients {
    pub tmux: Tmux,
    /// Where the stand-in and `msg` are.
    pub path: String,
}

impl Clients {
    /// `None`: tmux or Python is missing here.
    pub fn start() -> Option<Self> {
        let tmux = Tmux::start()?;
        if !Command::new("python3").arg("-V").output().is_ok_and(|output| output.status.success()) {
            skip("python3 is missing");
            return None;
        }
        let settings = json!({"backOff": 0, "lookSeconds": 0.05, "tmuxSocket": tmux.socket()});
        tmux.env.configure(&settings.to_string());
        put_profiles(&tmux.env, &script("echo", "cat"));
        let path = put_harness(&tmux.env, STAND_IN);
        Some(Self { tmux, path })
    }

    /// Tells the stand-in how to behave.
    pub fn set(&self, name: &str) {
        fs::write(self.tmux.env.work().join(name), "").unwrap();
    }

    pub fn run(&self, args: &[&str]) -> Ended {
        self.run_with(args, &[])
    }

    pub fn run_with(&self, args: &[&str], variables: &[(&str, &str)]) -> Ended {
        self.tmux.env.run_with(args, &[&[("PATH", self.path.as_str())], variables].concat())
    }

    /// The run that these arguments start.
    #[track_caller]
    pub fn started(&self, args: &[&str]) -> Value {
        let all = [&["run", "claude"], args, &["--tmux", "--json"]].concat();
        self.run(&all).expect_code(0).json()["run"].clone()
    }

    /// The same for a worker that may have failed by the time the command returns.
    pub fn started_or_failed(&self, args: &[&str]) -> Value {
        let all = [&["run", "claude"], args, &["--tmux", "--json"]].concat();
        self.run(&all).json()["run"].clone()
    }

    /// What the stand-in was given as prompts.
    pub fn prompts(&self) -> Vec<String> {
        let log = fs::read_to_string(self.tmux.env.work().join("prompts")).unwrap_or_default();
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The panes of the server without the one that is always there.
    pub fn windows(&self) -> Vec<String> {
        let told = self.tmux.ask(&["list-panes", "-a", "-F", "#{session_name} #{window_name}"]);
        told.lines().filter(|line| !line.starts_with("first ")).map(str::to_string).collect()
    }
}

fn id_of(run: &Value) -> String {
    run["id"].as_str().unwrap().to_string()
}

#[track_caller]
fn nothing_is_left(clients: &Clients, id: &str) {
    wait_until("nothing is left of the run", || left_of(id).is_empty());
    wait_until("its window is closed", || clients.windows().iter().all(|window| window.ends_with(" shell")));
}

#[test]
fn a_worker_in_tmux_takes_its_task_once_and_goes_on_after_its_turn() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    env.join("Robin");
    let before = clients.tmux.ask(&["display-message", "-p", "-t", "first", "#{window_id}"]);
    let task = "größer → 日本語 🙂;\nEnter\nC-c\n  last line;";
    let run = clients.started(&[task, "--name", "Mason", "--as", "Robin"]);
    let id = id_of(&run);
    assert_eq!(clients.prompts(), [task]);
    assert_eq!((&run["state"], &run["agent"]), (&json!("running"), &json!("Mason")));
    assert_eq!((&run["tmux"]["prompts"], &run["tmux"]["turns"]), (&json!(1), &json!(1)));
    assert_eq!(run["result"], "I did: größer → 日本語 🙂;");
    // Some harnesses choose their session themselves, and only their hook tells it.
    let turns = fs::read(env.mesh().join(format!("runs/{id}/turns.json"))).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&turns).unwrap()["session"], run["session"]);
    let place = run["tmux"]["place"].as_str().unwrap();
    assert_eq!(clients.tmux.ask(&["display-message", "-p", "-t", place, "#{window_name}"]).trim(), "Mason");
    assert_eq!(clients.tmux.ask(&["display-message", "-p", "-t", "first", "#{window_id}"]), before);
    let mut mail = Value::Null;
    wait_until("its parent is told", || {
        mail = env.ok(&["read", "--as", "Robin"])["messages"].clone();
        mail[0].is_object()
    });
    let text = mail[0]["text"].as_str().unwrap();
    assert!(text.contains("has ended its turn") && text.contains("I did: größer"), "{text}");
    let page = env.run(&["runs", "show", &id]).expect_code(0).stdout;
    assert!(page.contains(&format!("tmux       {place} (%")), "{page}");
    assert!(env.run(&["runs", "log", &id]).expect_code(0).stdout.contains("● I did: größer"));
    // The turn of the next prompt is told as well.
    env.ok(&["tell", "Mason", "and now this"]);
    wait_until("its parent is told again", || {
        mail = env.ok(&["read", "--as", "Robin"])["messages"].clone();
        mail[0].is_object()
    });
    assert!(mail[0]["text"].as_str().unwrap().contains("I did: and now this"), "{mail}");
    env.ok(&["runs", "stop", &id]);
    let run = wait_for_state(env, &id, "stopped");
    assert_eq!(run["result"], "I did: and now this");
    nothing_is_left(&clients, &id);
    assert_eq!(clients.prompts(), [task, "and now this"]);
}

#[test]
fn a_task_of_60_kilobytes_is_taken_as_it_is() {
    let Some(clients) = Clients::start() else { return };
    let task = format!("exit {}", "0123456789 abcdefghij\n".repeat(2900)).trim_end().to_string();
    let run = clients.started(&[&task, "--detach"]);
    wait_for_state(&clients.tmux.env, &id_of(&run), "done");
    assert_eq!(clients.prompts(), [task]);
}

#[test]
fn a_worker_that_leaves_after_its_turn_is_done_and_one_that_crashes_has_failed() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    let id = id_of(&clients.started(&["exit now", "--detach"]));
    let run = wait_for_state(env, &id, "done");
    assert_eq!(run["result"], "I did: exit now");
    nothing_is_left(&clients, &id);
    let id = id_of(&clients.started_or_failed(&["crash now", "--detach"]));
    let run = wait_for_state(env, &id, "failed");
    assert_eq!(run["reason"], "it ended with exit code 3");
    nothing_is_left(&clients, &id);
}

#[test]
fn without_a_task_it_waits_for_a_person() {
    let Some(clients) = Clients::start() else { return };
    let run = clients.started(&[]);
    let id = id_of(&run);
    assert_eq!((&run["tmux"]["ready"], &run["tmux"]["prompts"]), (&json!(true), &json!(0)));
    clients.tmux.env.ok(&["runs", "stop", &id]);
    wait_for_state(&clients.tmux.env, &id, "stopped");
    assert!(clients.prompts().is_empty());
    nothing_is_left(&clients, &id);
    for empty in ["", " \n", "-"] {
        let refused = clients.run(&["run", "claude", empty, "--tmux", "--json"]).expect_code(1).json();
        assert_eq!(refused["error"]["gate"], "task", "{refused:#}");
    }
}

#[test]
fn only_who_has_joined_is_promised_mail() {
    let Some(clients) = Clients::start() else { return };
    let said = clients.run(&["run", "claude", "hello", "--tmux"]).expect_code(0).stdout;
    assert!(!said.contains("mail") && said.contains("`msg runs stop "), "{said}");
    // The command that shows it works: a control client stands for a terminal.
    let line = said.lines().find(|line| line.trim_start().starts_with("tmux -S ")).expect(&said);
    let mut watching = Command::new("sh");
    watching.args(["-c", &format!("exec {}", line.trim().replacen("tmux", "tmux -C", 1))]);
    watching.env_remove("TMUX").stdin(Stdio::piped()).stdout(Stdio::null());
    let mut watching = watching.spawn().unwrap();
    let shown = || clients.tmux.ask(&["list-clients", "-F", "#{window_name}"]);
    wait_until("its window is shown", || shown().starts_with("claude-"));
    watching.kill().unwrap();
    watching.wait().unwrap();
    clients.tmux.env.join("Robin");
    let said = clients.run(&["run", "claude", "hello", "--tmux", "--as", "Robin"]).expect_code(0).stdout;
    assert!(said.contains("Its end comes as mail."), "{said}");
}

#[test]
fn with_detach_it_returns_when_the_task_is_taken() {
    let Some(clients) = Clients::start() else { return };
    let run = clients.started(&["slow work", "--detach"]);
    assert_eq!((&run["state"], &run["tmux"]["prompts"]), (&json!("running"), &json!(1)));
    assert_eq!(run["tmux"]["turns"], 0);
    clients.set("go");
    wait_for_run(&clients.tmux.env, &id_of(&run), "at the end of its turn", |run| run["tmux"]["turns"] == 1);
}

#[test]
fn a_worker_whose_hooks_do_not_run_gets_no_task() {
    let Some(clients) = Clients::start() else { return };
    clients.set("no-hooks");
    let args = ["run", "claude", "hello", "--tmux", "--json"];
    let run = clients.run_with(&args, &[(READY_MS, "10000")]).expect_code(1).json()["run"].clone();
    assert_eq!(
        (&run["state"], &run["reason"]),
        (&json!("failed"), &json!("its hooks did not run within 10 s"))
    );
    assert!(clients.prompts().is_empty());
    nothing_is_left(&clients, &id_of(&run));
}

#[test]
fn a_worker_that_heeds_an_answer_about_trust_only_at_its_next_start_is_started_again() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    clients.set("trust");
    clients.set("later");
    let args = ["run", "claude", "hello", "--tmux", "--detach", "--json"];
    let ended = clients.run_with(&args, &[(READY_MS, "60000")]).expect_code(0);
    let asked = ended.json()["run"].clone();
    assert_eq!(asked["state"], "waiting", "{asked:#}");
    let id = id_of(&asked);
    env.ok(&["tell", &id, "--answer", "Yes"]);
    let run = wait_for_run(env, &id, "at the end of its turn", |run| run["tmux"]["turns"] == 1);
    assert_eq!((&run["result"], clients.prompts()), (&json!("I did: hello"), vec!["hello".to_string()]));
    assert_ne!(run["tmux"]["keeperPid"], asked["tmux"]["keeperPid"]);
    env.ok(&["runs", "stop", &id, "--now"]);
    wait_for_state(env, &id, "stopped");
    nothing_is_left(&clients, &id);
}

#[test]
fn a_turn_that_no_hook_reports_is_known_by_the_screen() {
    let Some(clients) = Clients::start() else { return };
    clients.set("only-start");
    let run = clients.started(&["slow work", "--detach"]);
    assert_eq!((&run["tmux"]["prompts"], &run["tmux"]["turns"]), (&json!(1), &json!(0)));
    assert!(run["reason"].as_str().unwrap().starts_with("no hook of it reports its turns"), "{run:#}");
    assert_eq!(clients.prompts(), ["slow work"]);
    clients.set("go");
    let run = wait_for_run(&clients.tmux.env, &id_of(&run), "at the end of its turn", |run| {
        run["tmux"]["turns"] == 1
    });
    assert!(run["result"].as_str().unwrap().contains("● I did: slow work"), "{run:#}");
}

#[test]
fn a_file_that_can_not_be_read_for_a_while_ends_no_worker() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    let run = clients.started(&["slow work", "--detach"]);
    let id = id_of(&run);
    let (file, kept) =
        (env.mesh().join(format!("runs/{id}/turns.json")), env.mesh().join(format!("runs/{id}/kept")));
    fs::rename(&file, &kept).unwrap();
    fs::create_dir(&file).unwrap();
    clients.set("go");
    // It is looked at meanwhile.
    wait_until("its last screen is kept", || {
        env.run(&["runs", "log", &id]).stdout.contains("● I did: slow work")
    });
    assert_eq!(shown(env, &id)["state"], "running");
    fs::remove_dir(&file).unwrap();
    fs::rename(&kept, &file).unwrap();
    env.ok(&["runs", "stop", &id, "--now"]);
    wait_for_state(env, &id, "stopped");
    nothing_is_left(&clients, &id);
}

#[test]
fn a_task_that_is_not_taken_is_an_error_with_the_screen() {
    let Some(clients) = Clients::start() else { return };
    clients.set("deaf");
    let ended = clients.run(&["run", "claude", "hello there", "--tmux", "--json"]).expect_code(1);
    let run = ended.json()["run"].clone();
    let reason = run["reason"].as_str().unwrap();
    assert!(reason.starts_with("its prompt was not taken: "), "{reason}");
    assert_eq!(run["state"], "failed");
    let id = id_of(&run);
    let log = clients.tmux.env.run(&["runs", "log", &id]).expect_code(0).stdout;
    assert!(log.contains("hello there"), "{log}");
    nothing_is_left(&clients, &id);
}

#[test]
fn a_program_that_ends_at_once_says_why() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    put_harness(env, "#!/bin/sh\necho \"error: unknown option '--such'\"\nexit 2\n");
    let ended = clients.run(&["run", "claude", "hello", "--tmux", "--json"]).expect_code(1);
    let run = ended.json()["run"].clone();
    assert_eq!((&run["state"], &run["reason"]), (&json!("failed"), &json!("it ended with exit code 2")));
    let log = env.run(&["runs", "log", &id_of(&run)]).expect_code(0).stdout;
    assert!(log.contains("error: unknown option '--such'"), "{log}");
    nothing_is_left(&clients, &id_of(&run));
}

#[test]
fn a_trust_dialog_is_reported_and_answered_only_if_that_was_asked_for() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    clients.set("trust");
    let run = clients.started(&["exit now"]);
    let id = id_of(&run);
    assert_eq!(run["state"], "waiting");
    assert_eq!(run["question"].as_str().map(|it| it.starts_with("trust dialog: ")), Some(true), "{run:#}");
    assert_eq!(run["choices"], json!(["No, exit", "Yes, I trust this folder"]));
    let answer = run["answerWith"].as_str().unwrap();
    assert!(answer.starts_with(&format!("msg tell {id} --answer CHOICE --question ")), "{answer}");
    assert!(clients.prompts().is_empty());
    // It has not joined yet, and is known by its run.
    let question = answer.rsplit(' ').next().unwrap();
    env.ok(&["tell", &id, "--answer", "yes", "--question", question]);
    wait_for_state(env, &id, "done");
    assert_eq!(clients.prompts(), ["exit now"]);
    let id = id_of(&clients.started(&["exit again", "--accept-trust", "--detach"]));
    wait_for_state(env, &id, "done");
    assert_eq!(clients.prompts(), ["exit now", "exit again"]);
    clients.run(&["run", "claude", "x", "--accept-trust"]).expect_code(2);
}

#[test]
fn a_run_is_stopped_while_somebody_else_types_into_its_pane() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    clients.set("trust");
    let run = clients.started(&["hello"]);
    let id = id_of(&run);
    let name = run["tmux"]["pane"].as_str().unwrap();
    let pane = clients.tmux.server.pane(PaneId::new(name).unwrap());
    let locks = env.home().join(".local/state/ravenry/panes");
    let _held = PaneLock::acquire(&locks, &pane, Duration::from_secs(10)).unwrap();
    clients.tmux.ask(&["send-keys", "-t", name, "Down"]);
    wait_until("it is selected", || pane.plain_text().is_ok_and(|screen| screen.contains("❯ Yes, I trust")));
    clients.tmux.ask(&["send-keys", "-t", name, "Enter"]);
    wait_for_run(env, &id, "about to be given its task", |run| run["tmux"]["ready"] == true);
    env.ok(&["runs", "stop", &id, "--now"]);
    wait_for_state(env, &id, "stopped");
    assert!(clients.prompts().is_empty());
    nothing_is_left(&clients, &id);
}

/// The order arrives between a look and the key or the paste that follows it.
#[test]
fn after_a_stop_order_nothing_is_typed() {
    for (held, args) in [(KEY_HELD, &["--accept-trust"][..]), (PASTE_HELD, &[]), (KEY_HELD, &[])] {
        let Some(clients) = Clients::start() else { return };
        let env = &clients.tmux.env;
        if !args.is_empty() {
            clients.set("trust");
        }
        let pipe = env.path().join("held");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let mut run = env.msg();
        run.args(["run", "claude", "hello", "--tmux", "--json"]).args(args);
        run.env("PATH", &clients.path).env(held, &pipe).stdout(Stdio::piped()).stderr(Stdio::piped());
        let run = run.spawn().unwrap();
        // Its supervisor is there now.
        let open = fs::File::options().write(true).open(&pipe).unwrap();
        let id = id_of(&env.ok(&["runs"])["runs"][0]);
        env.ok(&["runs", "stop", &id, "--now"]);
        drop(open);
        wait_for_state(env, &id, "stopped");
        ended(run);
        assert!(!env.work().join("chosen").exists() && clients.prompts().is_empty(), "{held} {args:?}");
        nothing_is_left(&clients, &id);
    }
}

#[test]
fn a_dialog_in_a_turn_makes_it_wait() {
    let Some(clients) = Clients::start() else { return };
    let run = clients.started(&["ask first"]);
    let id = id_of(&run);
    assert_eq!((&run["state"], &run["choices"]), (&json!("waiting"), &json!(["1. Yes", "2. No"])));
    let pane = run["tmux"]["pane"].as_str().unwrap();
    clients.tmux.ask(&["send-keys", "-t", pane, "Enter"]);
    let run = wait_for_run(&clients.tmux.env, &id, "at the end of its turn", |run| run["tmux"]["turns"] == 1);
    assert_eq!(
        (&run["state"], &run["result"], &run["question"]),
        (&json!("running"), &json!("chosen: 0"), &Value::Null)
    );
}

#[test]
fn a_worker_in_tmux_is_known_by_its_processes() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    let run = clients.started(&["nest it"]);
    let nested: Value = serde_json::from_slice(&fs::read(env.work().join("nested")).unwrap()).unwrap();
    let (id, nested) = (id_of(&run), id_of(&nested["run"]));
    let record = fs::read(env.mesh().join(format!("runs/{nested}/run.json"))).unwrap();
    let record: Value = serde_json::from_slice(&record).unwrap();
    assert_eq!((&record["parentRun"], &record["parentRunProven"]), (&json!(id), &json!(true)), "{record:#}");
}

#[test]
fn two_repositories_with_one_name_have_a_session_each() {
    let Some(clients) = Clients::start() else { return };
    for parent in ["a", "b"] {
        let dir = clients.tmux.env.work().join(parent).join("shop.rs");
        fs::create_dir_all(dir.join(".git")).unwrap();
        fs::write(dir.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        for _ in 0..2 {
            let mut command = clients.tmux.env.msg();
            command.args(["run", "claude", "exit", "--tmux", "--detach"]).env("PATH", &clients.path);
            let status = command.current_dir(&dir).stdout(Stdio::null()).status().unwrap();
            assert!(status.success());
        }
    }
    let told = clients.tmux.ask(&["list-sessions", "-F", "#{session_name}"]);
    let mut names: Vec<&str> = told.lines().collect();
    names.sort_unstable();
    assert_eq!(names, ["first", "shop_rs", "shop_rs-2"]);
}

#[test]
fn whoever_looks_at_the_session_keeps_their_window() {
    let Some(clients) = Clients::start() else { return };
    let tmux = &clients.tmux;
    let run = clients.started(&["hello"]);
    let session = run["tmux"]["place"].as_str().unwrap().split(':').next().unwrap();
    let mut watching = tmux.command(&["-C", "attach", "-t", session]);
    let mut watching = watching.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let shown = || tmux.ask(&["display-message", "-p", "-t", session, "#{session_attached} #{window_name}"]);
    wait_until("somebody looks at the shell", || shown() == "1 shell\n");
    let more = clients.started(&["more"]);
    assert_eq!(more["tmux"]["place"].as_str().unwrap().split(':').next(), Some(session));
    assert_eq!(shown(), "1 shell\n");
    watching.kill().unwrap();
    watching.wait().unwrap();
}

#[test]
fn a_dry_run_says_where_it_would_be_and_starts_nothing() {
    let Some(clients) = Clients::start() else { return };
    let answer = clients.run(&["run", "claude", "x", "--tmux", "--dry-run", "--json"]).expect_code(0).json();
    assert_eq!(answer["tmux"], json!({"socket": clients.tmux.socket(), "session": null}), "{answer:#}");
    let command = answer["command"].as_array().unwrap();
    assert!(command.iter().all(|word| word != "-p" && word != "x"), "{command:?}");
    assert!(clients.windows().is_empty());
    let refused = clients.run(&["run", "echo", "x", "--tmux", "--json"]).expect_code(1);
    assert_eq!(refused.json()["error"]["gate"], "harness");
    let refused = clients.run(&["run", "claude", "a\u{1b}b", "--tmux", "--json"]).expect_code(1);
    assert_eq!(refused.json()["error"]["gate"], "task");
}

/// The stand-in of that run.
fn worker_pid(id: &str) -> i32 {
    let is_stand_in = |pid: &&String| {
        let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.contains("--session-id") && !line.contains("keeper")
    };
    left_of(id).iter().find(is_stand_in).unwrap().parse().unwrap()
}

#[track_caller]
fn killed(what: &str, state: &str, reason: &str) {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    let run = clients.started(&["slow work", "--detach"]);
    let id = id_of(&run);
    let victim = match what {
        "supervisor" => i32::try_from(run["supervisorPid"].as_i64().unwrap()).unwrap(),
        "keeper" => i32::try_from(run["tmux"]["keeperPid"].as_i64().unwrap()).unwrap(),
        "worker" => worker_pid(&id),
        _ => clients.tmux.pid(),
    };
    kill(Pid::from_raw(victim), SIGKILL).unwrap();
    let run = wait_for_state(env, &id, state);
    let said = run["reason"].as_str().unwrap_or_default();
    assert!(said.contains(reason), "{said}");
    wait_until("nothing is left of the run", || left_of(&id).is_empty());
    if what != "server" {
        nothing_is_left(&clients, &id);
    }
    assert_eq!(shown(env, &id)["state"], state);
    // Another run works as usual.
    clients.set("go");
    let next = clients.run(&["run", "claude", "exit", "--tmux", "--detach", "--json"]).expect_code(0).json();
    wait_for_state(env, &id_of(&next["run"]), "done");
}

/// The process above that one.
pub fn parent_of(pid: i32) -> i32 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit(") ").next().unwrap().split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn a_tmux_server_that_a_supervisor_starts_is_not_below_it() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    let settings =
        json!({"backOff": 0, "lookSeconds": 0.05, "slots": 1, "tmuxSocket": clients.tmux.socket()});
    env.configure(&settings.to_string());
    put_profiles(env, &script("hold", "until [ -e free ]; do sleep 0.05; done; echo done"));
    let first = crate::runs::detached(env, "hold", "it");
    wait_for_state(env, &first, "running");
    let second = clients.started(&["slow work", "--detach"]);
    assert_eq!(second["state"], "queued", "{second:#}");
    clients.tmux.end_server();
    clients.set("free");
    let run = wait_for_run(env, &id_of(&second), "at work", |run| run["tmux"]["prompts"] == 1);
    let supervisor = i32::try_from(run["supervisorPid"].as_i64().unwrap()).unwrap();
    assert_ne!(parent_of(clients.tmux.pid()), supervisor);
    env.ok(&["runs", "stop", &id_of(&run), "--now"]);
    wait_for_state(env, &id_of(&run), "stopped");
}

#[test]
fn a_run_that_ended_at_a_dialog_asks_nothing_any_more() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    let asks = |run: &Value| [&run["question"], &run["answerWith"]].map(|it| !it.is_null());
    let stopped = clients.started(&["ask first"]);
    assert_eq!(asks(&stopped), [true, true], "{stopped:#}");
    let id = id_of(&stopped);
    env.ok(&["runs", "stop", &id, "--now"]);
    assert_eq!(asks(&wait_for_state(env, &id, "stopped")), [false, false]);
    nothing_is_left(&clients, &id);
    let killed = clients.started(&["ask second"]);
    let supervisor = i32::try_from(killed["supervisorPid"].as_i64().unwrap()).unwrap();
    kill(Pid::from_raw(supervisor), SIGKILL).unwrap();
    let killed = wait_for_state(env, &id_of(&killed), "interrupted");
    assert_eq!(asks(&killed), [false, false]);
    nothing_is_left(&clients, &id_of(&killed));
}

#[test]
fn a_killed_supervisor_leaves_an_interrupted_run_and_nothing_else() {
    killed("supervisor", "interrupted", "its supervisor died");
}

#[test]
fn a_killed_keeper_is_a_failed_run() {
    killed("keeper", "failed", "its keeper was killed");
}

#[test]
fn a_killed_worker_is_a_failed_run() {
    killed("worker", "failed", "it was ended by SIGKILL");
}

#[test]
fn a_closed_window_is_a_failed_run() {
    let Some(clients) = Clients::start() else { return };
    let run = clients.started(&["slow work", "--detach"]);
    clients.tmux.ask(&["kill-pane", "-t", run["tmux"]["pane"].as_str().unwrap()]);
    let run = wait_for_state(&clients.tmux.env, &id_of(&run), "failed");
    let said = run["reason"].as_str().unwrap();
    assert!(said.starts_with("its tmux window was closed, and "), "{said}");
    nothing_is_left(&clients, &id_of(&run));
}

#[test]
fn a_killed_tmux_server_is_a_failed_run() {
    killed("server", "failed", "its tmux server was ended, and ");
}
