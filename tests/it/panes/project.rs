//! `msg up` and `msg down`: the tmux session of a project.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::SESSION;
use super::launching::{Clients, parent_of};
use crate::runs::{
    detached, left_of, put_profiles, script, shown, wait_for_run, wait_for_state, with_profiles,
};
use crate::support::environment::wait_until;
use crate::support::hook_fixture::ended;

/// The names of the windows of the only session that is listed.
fn windows(answer: &Value) -> Vec<String> {
    let windows = answer["sessions"][0]["windows"].as_array().unwrap();
    windows.iter().map(|window| window["name"].as_str().unwrap().to_string()).collect()
}

#[test]
fn up_makes_one_session_with_the_chat_first_and_down_ends_it_in_order() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    let listed = env.run(&["up", "--list"]).expect_code(0).stdout;
    assert!(listed.contains("No project has a tmux session"), "{listed}");
    let up = env.ok(&["up"]);
    assert_eq!(windows(&up), ["chat"]);
    assert_eq!(up["sessions"][0]["project"], json!(env.work().canonicalize().unwrap()));
    assert_eq!(env.ok(&["up"])["sessions"], up["sessions"], "twice is once");
    let run = clients.started(&["slow work", "--detach", "--name", "Mason"]);
    let id = run["id"].as_str().unwrap();
    let listed = env.ok(&["up", "--list"]);
    assert_eq!(windows(&listed), ["chat", "Mason"]);
    assert_eq!(listed["sessions"][0]["windows"][1]["run"], id);
    // Between turns, nobody has to wait until it has wrapped up.
    clients.set("go");
    wait_for_run(env, id, "at the end of its turn", |run| run["tmux"]["turns"] == 1);
    let down = env.run(&["down"]).expect_code(0);
    let steps = [
        "no new runs are started",
        &format!("told run {id} (claude) to wrap up"),
        &format!("run {id} has ended: stopped"),
        "is closed",
    ];
    let mut rest = down.stderr.as_str();
    for step in steps {
        let at = rest.find(step).unwrap_or_else(|| panic!("{step}: {down}"));
        rest = &rest[at..];
    }
    assert_eq!(wait_for_state(env, id, "stopped")["state"], "stopped");
    assert!(left_of(id).is_empty());
    assert!(clients.windows().is_empty(), "{:?}", clients.windows());
    assert_eq!(env.ok(&["down"])["runs"], json!([]), "there is nothing left to end");
    let run = clients.started(&["exit", "--detach"]);
    wait_for_state(env, run["id"].as_str().unwrap(), "done");
}

#[test]
fn up_puts_the_chat_before_what_is_there() {
    let Some(clients) = Clients::start() else { return };
    let run = clients.started(&["hello"]);
    let up = clients.tmux.env.ok(&["up"]);
    let window = &up["sessions"][0]["windows"][2];
    assert_eq!(windows(&up), ["chat", "shell", window["name"].as_str().unwrap()]);
    // The worker is in another place now, and its run says so.
    assert_ne!(run["tmux"]["place"], window["place"]);
    let id = run["id"].as_str().unwrap();
    wait_for_run(&clients.tmux.env, id, "in its place", |run| run["tmux"]["place"] == window["place"]);
    clients.tmux.env.ok(&["down"]);
    assert!(clients.windows().is_empty());
}

#[test]
fn a_worker_with_the_name_of_the_chat_is_not_the_chat() {
    let Some(clients) = Clients::start() else { return };
    clients.started(&["hello", "--name", "chat"]);
    assert_eq!(windows(&clients.tmux.env.ok(&["up"])), ["chat", "shell", "chat"]);
}

#[test]
fn down_leaves_workers_of_another_mesh_alone() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    let other = env.path().join("other-mesh");
    let mesh = other.to_str().unwrap();
    let args = ["run", "claude", "hello", "--tmux", "--json", "--mesh", mesh];
    let run = clients.run(&args).expect_code(0).json()["run"].clone();
    let down = env.ok(&["down"]);
    assert!(down["left"].is_string(), "{down}");
    let shown = env.ok(&["runs", "show", run["id"].as_str().unwrap(), "--mesh", mesh]);
    assert_eq!(shown["run"]["state"], "running");
}

#[test]
fn the_down_of_one_project_does_not_end_that_of_another() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    let run = clients.started(&["slow work", "--detach"]);
    let id = run["id"].as_str().unwrap();
    let mut first = env.msg();
    let first = first.arg("down").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mark = env.mesh().join("runs/draining.json");
    wait_until("the first has begun", || mark.exists());
    let other = env.path().join("other");
    std::fs::create_dir_all(&other).unwrap();
    assert!(env.msg().arg("down").current_dir(&other).status().unwrap().success());
    wait_until("no new runs are started still", || mark.exists());
    env.ok(&["runs", "stop", id, "--now"]);
    ended(first).expect_code(0);
    assert!(!mark.exists());
}

#[test]
fn in_tmux_the_command_that_shows_the_session_switches_to_it() {
    let Some(clients) = Clients::start() else { return };
    let tmux = &clients.tmux;
    let mut watching = tmux.command(&["-C", "attach", "-t", SESSION]);
    let mut watching = watching.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let shown = || tmux.ask(&["list-clients", "-F", "#{client_session}"]);
    wait_until("somebody looks", || shown() == format!("{SESSION}\n"));
    let line = format!("{} up -q >show 2>&1; sh ./show >shown 2>&1", env!("CARGO_BIN_EXE_msg"));
    let dir = tmux.env.work();
    tmux.ask(&["new-window", "-d", "-c", dir.to_str().unwrap(), "-t", SESSION, &line]);
    wait_until("they see the session of the project", || shown() != format!("{SESSION}\n"));
    let command = fs::read_to_string(dir.join("show")).unwrap();
    assert!(command.contains("switch-client") && !command.contains("attach"), "{command}");
    watching.kill().unwrap();
    watching.wait().unwrap();
    // In another server, `attach` has to be told that one inside of another is meant.
    let other = tmux.env.path().join("other");
    fs::write(&other, "").unwrap();
    let inside = format!("{},1,0", other.display());
    let listed = tmux.env.run_with(&["up", "--list", "--json"], &[("TMUX", &inside)]);
    let listed = listed.expect_code(0).json()["sessions"][0]["attachWith"].clone();
    let socket = tmux.socket();
    assert_eq!(
        listed.as_array().unwrap()[..6],
        json!(["env", "-u", "TMUX", "tmux", "-S", socket]).as_array().unwrap()[..]
    );
}

#[test]
fn a_session_stays_whatever_the_users_settings_say() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    clients.tmux.end_server();
    fs::write(env.home().join(".tmux.conf"), "set -g destroy-unattached on\n").unwrap();
    env.ok(&["up"]);
    let run = clients.started(&["hello"]);
    assert_eq!(run["tmux"]["turns"], 1);
    // A server that is gone is no place for anything.
    let inside = format!("{},1,0", env.path().join("nowhere/tmux").display());
    let up = env.run_with(&["up", "--json"], &[("TMUX", &inside)]).expect_code(0).json();
    assert_eq!(up["sessions"][0]["socket"], json!(clients.tmux.socket()));
    env.configure(&json!({"tmuxSocket": env.path().join("nowhere/tmux")}).to_string());
    let refused = env.run(&["up", "--json"]).expect_code(4).json();
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("nowhere/tmux"), "{message}");
}

/// Another tmux server, which ends with the test.
struct OtherServer(PathBuf);

impl OtherServer {
    fn ask(&self, args: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.args(["-u", "-f", "/dev/null", "-S"]).arg(&self.0).args(args).env_remove("TMUX");
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    }
}

impl Drop for OtherServer {
    fn drop(&mut self) {
        self.ask(&["kill-server"]);
    }
}

#[test]
fn sessions_in_every_tmux_server_of_a_run_are_listed_and_closed() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    let other = OtherServer(env.path().join("other-tmux"));
    other.ask(&["new-session", "-d", "-s", "own", "sleep 100000"]);
    let socket = other.0.to_str().unwrap();
    let args = ["run", "claude", "hello", "--tmux", "--json"];
    let inside = format!("{socket},1,0");
    let run = clients.run_with(&args, &[("TMUX", &inside)]).expect_code(0).json()["run"].clone();
    assert_eq!(run["tmux"]["socket"], socket);
    let listed = env.ok(&["up", "--list"]);
    let session = &listed["sessions"][0];
    assert_eq!(
        (&session["socket"], &session["windows"][1]["run"]),
        (&json!(socket), &run["id"]),
        "{listed:#}"
    );
    // That of the usual server is one more.
    assert_eq!(env.ok(&["up"])["sessions"][0]["socket"], json!(clients.tmux.socket()));
    assert_eq!(env.ok(&["up", "--list"])["sessions"].as_array().unwrap().len(), 2);
    wait_until("both are closed", || {
        env.ok(&["down"]);
        env.ok(&["up", "--list"])["sessions"] == json!([])
    });
    assert_eq!(other.ask(&["list-sessions", "-F", "#{session_name}"]), "own\n");
    assert!(clients.windows().is_empty());
    assert_eq!(shown(env, run["id"].as_str().unwrap())["state"], "stopped");
}

#[test]
fn without_tmux_down_ends_what_goes_on() {
    let env = with_profiles(&script("hold", "exec sleep 100000"));
    let id = detached(&env, "hold", "it");
    wait_for_state(&env, &id, "running");
    let bin = env.path().join("bin");
    fs::create_dir(&bin).unwrap();
    let down = env.run_with(&["down"], &[("PATH", bin.to_str().unwrap())]).expect_code(0);
    assert!(down.stderr.contains("tmux is not installed"), "{down}");
    wait_for_state(&env, &id, "stopped");
}

#[test]
fn down_does_not_close_a_window_in_which_a_program_of_the_user_runs() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    let up = env.ok(&["up"]);
    let session = up["sessions"][0]["name"].as_str().unwrap();
    let target = format!("={session}:");
    clients.tmux.ask(&["new-window", "-d", "-t", &target, "-n", "mine", "sleep 100000"]);
    clients.tmux.ask(&["new-window", "-d", "-t", &target, "-n", "empty"]);
    let down = env.run(&["down"]).expect_code(0);
    assert!(down.stderr.contains("programs run in its windows: ") && down.stderr.contains("mine"), "{down}");
    assert!(down.stderr.contains("kill-session"), "{down}");
    assert_eq!(windows(&env.ok(&["up"])), ["chat", "mine", "empty"]);
    assert_eq!(env.ok(&["down"])["left"], session);
    clients.tmux.ask(&["kill-window", "-t", &format!("{target}mine")]);
    wait_until("it is closed", || env.ok(&["down"])["sessions"] == json!([session]));
    assert!(clients.windows().is_empty(), "{:?}", clients.windows());
}

#[test]
fn a_down_that_is_interrupted_lets_runs_start_again() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    let run = clients.started(&["slow work", "--detach"]);
    let id = run["id"].as_str().unwrap();
    let mark = env.mesh().join("runs/draining.json");
    for signal in [Signal::SIGINT, Signal::SIGHUP] {
        let mut down = env.msg();
        let down = down.arg("down").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_until("it has begun", || mark.exists());
        kill(Pid::from_raw(i32::try_from(down.id()).unwrap()), signal).unwrap();
        let down = ended(down).expect_code(130);
        assert!(down.stderr.contains("new runs may start again"), "{down}");
        assert!(!mark.exists() && !clients.windows().is_empty());
    }
    env.ok(&["run", "echo", "hello"]);
    env.ok(&["runs", "stop", id, "--now"]);
    wait_for_state(env, id, "stopped");
}

#[test]
fn down_leaves_other_projects_alone() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    let run = clients.started(&["hello"]);
    let id = run["id"].as_str().unwrap();
    let other = env.path().join("other");
    std::fs::create_dir_all(&other).unwrap();
    let status = env.msg().arg("down").current_dir(&other).status().unwrap();
    assert!(status.success());
    assert_eq!(crate::runs::shown(env, id)["state"], "running");
    assert!(!clients.windows().is_empty());
}

#[test]
fn a_shell_in_a_server_that_a_worker_started_is_not_in_its_run() {
    let Some(clients) = Clients::start() else { return };
    let env = &clients.tmux.env;
    clients.tmux.end_server();
    let open = "msg up --json >up; until [ -e free ]; do sleep 0.05; done; echo done";
    put_profiles(env, &[script("opener", open), script("echo", "cat")].concat());
    let started = clients.run(&["run", "opener", "it", "--detach", "--json"]).expect_code(0).json();
    let run = &started["run"];
    let read =
        |name: &str| -> Option<Value> { serde_json::from_slice(&fs::read(env.work().join(name)).ok()?).ok() };
    wait_until("the worker has started a server", || read("up").is_some());
    assert_eq!(servers_written_down(&clients).len(), 1);
    let session = read("up").unwrap()["sessions"][0]["name"].as_str().unwrap().to_string();
    let above = std::iter::successors(Some(clients.tmux.pid()), |pid| Some(parent_of(*pid)));
    let above: Vec<i32> = above.take_while(|pid| *pid > 1).collect();
    let supervisor = i32::try_from(run["supervisorPid"].as_i64().unwrap()).unwrap();
    assert!(above.contains(&supervisor), "the server is below the run: {above:?}");
    let msg = env!("CARGO_BIN_EXE_msg");
    let line =
        format!("{msg} config set lookPace 0.5 --json >as-person; {msg} run echo hello --json >as-parent");
    let dir = env.work();
    clients.tmux.ask(&[
        "new-window",
        "-d",
        "-c",
        dir.to_str().unwrap(),
        "-t",
        &format!("={session}:"),
        &line,
    ]);
    wait_until("it was tried from a shell in a window", || read("as-parent").is_some());
    assert_eq!(read("as-person").unwrap()["ok"], true, "{:#?}", read("as-person"));
    let parent = read("as-parent").unwrap()["run"].clone();
    assert_eq!((&parent["state"], &parent["parentRun"]), (&json!("done"), &Value::Null), "{parent:#}");
    clients.set("free");
    wait_for_state(env, run["id"].as_str().unwrap(), "done");
}

/// Whoever starts a process chooses its name and its variables.
#[test]
fn a_tmux_server_that_a_worker_started_itself_makes_no_person() {
    let Some(clients) = Clients::start() else { return };
    let (tmux, env) = (&clients.tmux, &clients.tmux.env);
    tmux.end_server();
    let own = format!("env -u MSG_RUN MSG_TMUX_SERVER=1 tmux -f /dev/null -S '{}'", tmux.socket().display());
    // With `up`, msg itself makes a session in it.
    let open = format!(
        r#"{own} new-session -d -s own 'sleep 1000'; msg up --json >up
        {own} new-window -d -t =own: -c "$PWD" "$(command -v msg) config set lookPace 0.5 --json >tried"
        until [ -s tried ]; do sleep 0.05; done; echo done"#
    );
    put_profiles(env, &script("opener", &open));
    let run = clients.run(&["run", "opener", "it", "--json"]).expect_code(0).json()["run"].clone();
    let read =
        |name: &str| -> Option<Value> { serde_json::from_slice(&fs::read(env.work().join(name)).ok()?).ok() };
    wait_until("it was tried", || read("tried").is_some());
    let (up, tried) = (read("up").unwrap(), read("tried").unwrap());
    assert_eq!((&run["state"], &up["ok"]), (&json!("done"), &json!(true)), "{run:#} {up:#}");
    assert_eq!((&tried["ok"], &tried["error"]["kind"]), (&json!(false), &json!("in_harness")), "{tried:#}");
    assert!(servers_written_down(&clients).is_empty());
}

/// The records of the servers that msg started.
fn servers_written_down(clients: &Clients) -> Vec<String> {
    let names = fs::read_dir(clients.tmux.env.home().join(".local/state/ravenry/tmux")).unwrap().flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.ends_with(".server")).collect()
}
