//! The places of agents: in which pane of tmux, and in which corner of the screen.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use ravenry::sys::tmux::server::NewWindow;
use serde_json::Value;

use crate::panes::{SESSION, Tmux};
use crate::seeing::Painted;
use crate::support::environment::{TestEnvironment, put_program, wait_until};
use crate::support::skip::skip;

#[test]
fn tmux_says_the_place_of_an_agent() {
    let Some(raven) = Painted::start() else { return };
    let env = &raven.tmux.env;
    env.join("Bob");
    let id = raven.pane.id().to_string();
    let whois = || env.ok(&["whois", "Raven"])["agent"].clone();
    let agent = whois();
    let address = raven.pane.info().unwrap().address();
    assert!(address.starts_with(&format!("{SESSION}:")));
    assert_eq!((agent["place"].as_str(), &agent["corner"]), (Some(address.as_str()), &Value::Null));
    raven.tmux.ask(&["split-window", "-d", "-h", "-t", &id, "--", "sleep", "1000"]);
    assert_eq!(whois()["corner"], "left");
    raven.tmux.ask(&["split-window", "-d", "-v", "-b", "-t", &id, "--", "sleep", "1000"]);
    let agents = env.ok(&["agents"])["agents"].as_array().unwrap().clone();
    let of = |name: &str| agents.iter().find(|agent| agent["name"] == name).unwrap();
    assert_eq!(of("Raven")["corner"], "bottom-left");
    assert_eq!((of("Bob").get("place"), of("Bob").get("corner")), (None, None));
    let text = env.run(&["agents"]).stdout;
    assert!(text.contains(&format!("at {SESSION}:")) && text.contains(", bottom-left"), "{text}");
    assert!(env.run(&["whois", "Raven"]).stdout.contains("place"));
    // Nobody has a place in a server that is gone.
    raven.tmux.ask(&["kill-server"]);
    wait_until("nobody knows", || whois().get("place").is_none());
}

/// Joins with other variables for its pane than those that its process was started with, and stays.
const JOINER: &str = r#"pane=$TMUX_PANE
[ "$4" = kept ] || unset TMUX TMUX_PANE
exec -a claude bash -c 'TMUX=$1 TMUX_PANE=$2 "$3" join "$4" --session "session-of-$4"; read -r line; true' \
    claude "$1" "$pane" "$2" "$3""#;

/// What its process was started with counts first, then what it recorded when it joined. Everybody finds it in the same way.
#[test]
fn an_agent_is_found_by_its_process_or_by_its_record() {
    let Some(tmux) = Tmux::start() else { return };
    let env = &tmux.env;
    let msg = env.msg();
    let text = |text: &OsStr| text.to_str().unwrap().to_string();
    let variables: Vec<(String, String)> =
        msg.get_envs().filter_map(|(key, value)| Some((text(key), text(value?)))).collect();
    let variables: Vec<(&str, &str)> =
        variables.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    let (own, gone) = (format!("{},1,0", tmux.socket().display()), "/nowhere/tmux,1,0".to_string());
    for (name, recorded, started) in [("Raven", &own, "unset"), ("Robin", &gone, "kept")] {
        let argv = ["bash", "-c", JOINER, "bash", recorded, env!("CARGO_BIN_EXE_msg"), name, started];
        let argv: Vec<&OsStr> = argv.into_iter().map(OsStr::new).collect();
        let dir = env.work();
        let window = NewWindow { session: SESSION, name, dir: &dir, argv: &argv, variables: &variables };
        let info = tmux.server.new_window(&window).unwrap();
        wait_until("it has joined", || env.names().iter().any(|joined| joined == name));
        wait_until("it is seen", || env.ok(&["look", name])["screen"].is_string());
        assert_eq!(env.ok(&["whois", name])["agent"]["place"], info.address(), "{name}");
    }
}

/// A program that ends with the test.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[test]
fn x11_says_where_a_terminal_is() {
    let has = |program: &str| Command::new("which").arg(program).output().is_ok_and(|it| it.status.success());
    if !["Xvfb", "xterm", "xdotool"].into_iter().all(has) {
        return skip("Xvfb, xterm or xdotool is missing");
    }
    let env = TestEnvironment::new();
    let mut server = Command::new("Xvfb");
    server.args(["-displayfd", "1", "-screen", "0", "1920x1080x24"]);
    let mut server = Started(server.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    let mut display = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut display).unwrap();
    let pid = env.path().join("pid");
    let mut terminal = Command::new("xterm");
    terminal.args([
        "-geometry",
        "80x24+1400+700",
        "-e",
        "sh",
        "-c",
        "echo $$ >\"$0\".new; mv \"$0\".new \"$0\"; exec sleep 1000",
    ]);
    terminal.arg(&pid).env("DISPLAY", format!(":{}", display.trim())).env_remove("TMUX");
    let _terminal = Started(terminal.stderr(Stdio::null()).spawn().unwrap());
    wait_until("the terminal is open", || pid.exists());
    let pid = std::fs::read_to_string(&pid).unwrap();
    env.ok(&["join", "Raven", "--session", "one", "--pid", pid.trim()]);
    // The window may be placed a moment after its program has started.
    wait_until("it is in its corner", || env.ok(&["whois", "Raven"])["agent"]["corner"] == "bottom-right");
    wait_until("a list says so, too", || env.ok(&["agents"])["agents"][0]["corner"] == "bottom-right");
}

#[test]
fn displays_that_do_not_answer_do_not_hold_up_a_list() {
    let env = TestEnvironment::new();
    let programs = env.path().join("programs");
    std::fs::create_dir(&programs).unwrap();
    let asked = env.path().join("asked");
    put_program(&programs.join("xdotool"), "#!/bin/sh\necho >>\"$ASKED\"\nexec sleep 1000\n");
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let mut hosts = Vec::new();
    for i in 0..30 {
        let mut host = Command::new("sleep");
        host.arg("100000").env("WINDOWID", "1").env("DISPLAY", ":7").env_remove("TMUX");
        let host = Started(host.spawn().unwrap());
        let pid = host.0.id().to_string();
        env.ok(&["join", &format!("Raven{i}"), "--session", &format!("s{i}"), "--pid", &pid]);
        hosts.push(host);
    }
    let variables = [("PATH", path.as_str()), ("ASKED", asked.to_str().unwrap())];
    let listed = env.run_with(&["agents", "--json"], &variables).expect_code(0);
    assert_eq!(listed.json()["agents"].as_array().unwrap().len(), 30);
    // Each lookup fails after half a second, and all of them count.
    let count = std::fs::read_to_string(&asked).map_or(0, |lines| lines.lines().count());
    assert!(count <= 8, "{count} lookups");
}
