//! A program in a pane has the terminal, and ends with its supervisor, its keeper, its pane and its server.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{SIGKILL, kill};
use nix::unistd::Pid;
use ravenry::domain::Pid as ProcessId;
use ravenry::sys::keeper::KeptExit;
use ravenry::sys::keeper::in_pane::{KeptInPane, PanePlace, PaneStartError};
use ravenry::sys::keeper::kept::{KeptCall, KeptNews, KeptReports};
use ravenry::sys::process;
use ravenry::sys::tmux::{TmuxError, TmuxServer, TmuxSocket};

use super::{SESSION, Tmux, is_alive, processes};
use crate::support::environment::{rounds, wait_until};

/// A program that starts others: one has a session of its own.
const FAMILY: &str =
    "setsid sh -c 'sleep 1000; : TAG' & sh -c 'sleep 1000; : TAG' & echo up >up; sleep 1000; : TAG";

/// The program without the one that has a session of its own.
const HOUSEHOLD: &str = "sh -c 'sleep 1000; : TAG' & echo up >up; sleep 1000; : TAG";

/// A word that only the processes of this test have in their command lines.
fn tag(tmux: &Tmux) -> String {
    let name = tmux.env.path().file_name().unwrap().to_str().unwrap();
    format!("tag of {name}")
}

/// Starts the script in a pane; `env` is its whole environment.
fn start(
    socket: &Path,
    dir: &Path,
    script: &str,
    env: &[(OsString, OsString)],
) -> Result<KeptInPane, PaneStartError> {
    let server = TmuxServer::at(TmuxSocket::Path(socket.to_path_buf()));
    let args = ["-c".into(), script.into()];
    let call = KeptCall { program: Path::new("/bin/sh"), args: &args, env, dir, input: None };
    let msg = Path::new(env!("CARGO_BIN_EXE_msg"));
    KeptInPane::start(
        &call,
        &PanePlace { server: &server, session: SESSION, window: "worker", msg, marks: &[("MARK", "run 7;")] },
    )
}

fn path_variable() -> (OsString, OsString) {
    ("PATH".into(), std::env::var_os("PATH").unwrap())
}

/// Starts the script and waits until it is up.
fn start_up(tmux: &Tmux, script: &str) -> KeptInPane {
    let script = script.replace("TAG", &tag(tmux));
    let kept = start(&tmux.socket(), &tmux.env.work(), &script, &[path_variable()]).unwrap();
    wait_until("it is up", || tmux.env.work().join("up").exists());
    kept
}

fn pid_of(news: KeptNews) -> i32 {
    match news {
        KeptNews::Started(pid) => pid.get(),
        other => panic!("{other:?}"),
    }
}

/// The reports until the end, after the first.
fn rest_of(reports: &mut KeptReports) -> Vec<KeptNews> {
    let mut all = Vec::new();
    while !matches!(all.last(), Some(KeptNews::Clean | KeptNews::KeeperGone)) {
        all.push(reports.wait());
    }
    all
}

fn ended(exit: KeptExit) -> Vec<KeptNews> {
    vec![KeptNews::Ended(exit), KeptNews::Clean]
}

#[test]
fn a_program_in_a_pane_has_the_terminal() {
    let Some(tmux) = Tmux::start() else { return };
    let script = r#"test -t 0 && test -t 1 && test -t 2 && echo terminal >seen
pwd >>seen; env >>seen; echo ready; read -r x; echo "read $x" >>seen; exit 3"#;
    let env = [
        path_variable(),
        ("SECRET".into(), "not for everybody;".into()),
        ("TMUX_PANE".into(), "%77".into()),
        ("COLUMNS".into(), "7".into()),
    ];
    let dir = tmux.env.work();
    let mut kept = start(&tmux.socket(), &dir, script, &env).unwrap();
    let pid = pid_of(kept.reports.wait());
    wait_until("it is ready", || kept.pane.plain_text().unwrap().contains("ready"));
    assert!(process::is_in_foreground(ProcessId::new(pid.into()).unwrap()));
    assert_eq!(processes("not for everybody"), Vec::<i32>::new(), "it is in no command line");
    let info = kept.pane.info().unwrap();
    assert_eq!(info.pid.get().unsigned_abs(), kept.program.keeper());
    assert_eq!(process::first_value(info.pid, "MARK").as_deref(), Some("run 7;"), "its keeper can be found");
    assert_eq!((info.window_name.as_str(), info.command.as_str()), ("worker", "sh"));
    let line = "größer; C-c;";
    kept.pane.load(line).unwrap().paste().unwrap();
    kept.pane.press("Enter", 1).unwrap();
    assert_eq!(rest_of(&mut kept.reports), ended(KeptExit::Code(3)));
    let seen = fs::read_to_string(dir.join("seen")).unwrap();
    let mut lines = seen.lines();
    assert_eq!(lines.next(), Some("terminal"));
    assert_eq!(lines.next().map(PathBuf::from), Some(fs::canonicalize(&dir).unwrap()));
    let tmux_variable = format!("TMUX={},", tmux.socket().display());
    assert!(
        seen.contains(&tmux_variable) && seen.contains(&format!("TMUX_PANE={}\n", kept.pane.id())),
        "{seen}"
    );
    assert!(seen.contains("SECRET=not for everybody;\n"), "{seen}");
    assert!(!seen.contains("COLUMNS") && !seen.contains("MARK"), "{seen}");
    assert!(seen.ends_with(&format!("read {line}\n")), "{seen}");
    wait_until("the window is closed", || matches!(kept.pane.info(), Err(TmuxError::NoPane(_))));
}

#[test]
fn a_program_that_can_not_be_started_is_reported() {
    let Some(tmux) = Tmux::start() else { return };
    let missing = tmux.env.path().join("nowhere");
    let mut kept = start(&tmux.socket(), &missing, "true", &[path_variable()]).unwrap();
    assert_eq!(rest_of(&mut kept.reports), ended(KeptExit::Code(127)));
    let args = [];
    let dir = tmux.env.work();
    let call = KeptCall { program: &missing, args: &args, env: &[], dir: &dir, input: None };
    let msg = Path::new(env!("CARGO_BIN_EXE_msg"));
    let place = PanePlace { server: &tmux.server, session: SESSION, window: "worker", msg, marks: &[] };
    let mut kept = KeptInPane::start(&call, &place).unwrap();
    pid_of(kept.reports.wait());
    assert_eq!(rest_of(&mut kept.reports), ended(KeptExit::Code(127)));
    let place = PanePlace { session: "nowhere", ..place };
    let error = KeptInPane::start(&call, &place).unwrap_err();
    assert!(matches!(error, PaneStartError::Tmux(TmuxError::NoSession(_))), "{error}");
    // tmux starts something that ends without a word.
    let place = PanePlace { session: SESSION, msg: Path::new("/bin/false"), ..place };
    let error = KeptInPane::start(&call, &place).unwrap_err();
    assert!(matches!(error, PaneStartError::Closed), "{error}");
}

#[test]
fn a_program_that_is_to_end_ends_with_all_that_it_started() {
    let Some(tmux) = Tmux::start() else { return };
    let mut kept = start_up(&tmux, FAMILY);
    pid_of(kept.reports.wait());
    kept.program.terminate().unwrap();
    assert_eq!(rest_of(&mut kept.reports), ended(KeptExit::Signal(15)));
    assert_eq!(processes(&tag(&tmux)), Vec::<i32>::new());
    fs::remove_file(tmux.env.work().join("up")).unwrap();
    let mut kept = start_up(&tmux, &format!("trap '' TERM HUP; {FAMILY}"));
    pid_of(kept.reports.wait());
    kept.program.kill().unwrap();
    assert_eq!(rest_of(&mut kept.reports), ended(KeptExit::Signal(9)));
    wait_until("nothing is left", || processes(&tag(&tmux)).is_empty());
}

#[test]
fn a_program_that_suspends_itself_goes_on() {
    let Some(tmux) = Tmux::start() else { return };
    // Programs written in JavaScript stop themselves with the second one.
    for signal in ["TSTP", "STOP"] {
        let script = format!("kill -{signal} $$; kill -{signal} $$; exit 4");
        let mut kept = start(&tmux.socket(), &tmux.env.work(), &script, &[path_variable()]).unwrap();
        pid_of(kept.reports.wait());
        assert_eq!(rest_of(&mut kept.reports), ended(KeptExit::Code(4)), "{signal}");
    }
}

#[test]
fn a_killed_program_is_reported() {
    let Some(tmux) = Tmux::start() else { return };
    // A person may want to see how programs of theirs ended.
    tmux.ask(&["set-option", "-g", "remain-on-exit", "on"]);
    let mut kept = start_up(&tmux, FAMILY);
    let pid = pid_of(kept.reports.wait());
    kill(Pid::from_raw(pid), SIGKILL).unwrap();
    assert_eq!(rest_of(&mut kept.reports), ended(KeptExit::Signal(9)));
    assert_eq!(processes(&tag(&tmux)), Vec::<i32>::new());
    wait_until("the window is closed", || matches!(kept.pane.info(), Err(TmuxError::NoPane(_))));
}

#[test]
fn a_killed_keeper_is_noticed_and_its_program_ends() {
    let Some(tmux) = Tmux::start() else { return };
    let mut kept = start_up(&tmux, HOUSEHOLD);
    pid_of(kept.reports.wait());
    kill(Pid::from_raw(kept.program.keeper().cast_signed()), SIGKILL).unwrap();
    assert_eq!(rest_of(&mut kept.reports), [KeptNews::KeeperGone]);
    wait_until("nothing is left", || processes(&tag(&tmux)).is_empty());
    wait_until("the window is closed", || matches!(kept.pane.info(), Err(TmuxError::NoPane(_))));
}

#[test]
fn a_closed_pane_ends_its_program() {
    let Some(tmux) = Tmux::start() else { return };
    let mut kept = start_up(&tmux, FAMILY);
    pid_of(kept.reports.wait());
    kept.pane.close().unwrap();
    let news = rest_of(&mut kept.reports);
    assert!(matches!(news[..], [KeptNews::Ended(KeptExit::Signal(1 | 15)), KeptNews::Clean]), "{news:?}");
    assert_eq!(processes(&tag(&tmux)), Vec::<i32>::new());
}

#[test]
fn a_killed_server_ends_every_program() {
    let Some(tmux) = Tmux::start() else { return };
    let mut polite = start_up(&tmux, FAMILY);
    let mut deaf = start(
        &tmux.socket(),
        &tmux.env.work(),
        &format!("trap '' TERM HUP; echo up >deaf; while :; do sleep 1000; done; : {}", tag(&tmux)),
        &[path_variable()],
    )
    .unwrap();
    wait_until("it is up", || tmux.env.work().join("deaf").exists());
    for kept in [&mut polite, &mut deaf] {
        pid_of(kept.reports.wait());
    }
    kill(Pid::from_raw(tmux.pid()), SIGKILL).unwrap();
    let news = rest_of(&mut polite.reports);
    assert!(matches!(news[..], [KeptNews::Ended(KeptExit::Signal(1 | 15)), KeptNews::Clean]), "{news:?}");
    // One that does not listen is killed after a while.
    assert_eq!(rest_of(&mut deaf.reports), ended(KeptExit::Signal(9)));
    wait_until("nothing is left", || processes(&tag(&tmux)).is_empty());
    let keepers = [&polite, &deaf].map(|kept| kept.program.keeper().cast_signed());
    wait_until("its keepers are gone", || !keepers.into_iter().any(is_alive));
    assert!(matches!(polite.pane.capture(), Err(TmuxError::NoServer(_))));
}

/// A supervisor in a process of its own.
struct Supervisor(Child);

impl Supervisor {
    fn start(tmux: &Tmux, temporary: &Path) -> Self {
        let words = [
            tmux.socket().to_str().unwrap().to_string(),
            tmux.env.work().to_str().unwrap().to_string(),
            FAMILY.replace("TAG", &tag(tmux)),
        ];
        let mut command = Command::new(std::env::current_exe().unwrap());
        let name = "panes::keeping::a_killed_supervisor_leaves_nothing_behind";
        command.args(["--exact", name, "--nocapture", "--quiet"]).env("PANE_SUPERVISOR", words.join("\n"));
        command.env("TMPDIR", temporary).stdin(Stdio::null()).stdout(Stdio::null());
        Self(command.spawn().unwrap())
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// As another process, it is a supervisor that is killed.
#[test]
fn a_killed_supervisor_leaves_nothing_behind() {
    if let Ok(words) = std::env::var("PANE_SUPERVISOR") {
        let words: Vec<&str> = words.split('\n').collect();
        let mut kept = start(Path::new(words[0]), Path::new(words[1]), words[2], &[path_variable()]).unwrap();
        drop(rest_of(&mut kept.reports));
        return;
    }
    let Some(tmux) = Tmux::start() else { return };
    let temporary = tmux.env.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let up = tmux.env.work().join("up");
    let rounds = rounds(40);
    for round in 0..=rounds {
        let supervisor = Supervisor::start(&tmux, &temporary);
        let mark = format!("-{}-", supervisor.0.id());
        if round < rounds {
            // Not a wait for a state: each round is to hit another moment.
            std::thread::sleep(Duration::from_millis(round as u64 * 160 / rounds as u64));
        } else {
            wait_until("it is up", || up.exists());
        }
        drop(supervisor);
        wait_until(&format!("nothing is left in round {round}"), || {
            // What the supervisor has just asked tmux for may still happen.
            let keepers = processes("--connect").into_iter().filter(|pid| {
                fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.contains(&mark))
            });
            keepers.count() == 0
                && processes(&tag(&tmux)).is_empty()
                && tmux.server.list_panes().unwrap().len() == 1
        });
        fs::remove_file(&up).ok();
    }
    // The next one removes what they left.
    let supervisor = Supervisor::start(&tmux, &temporary);
    wait_until("it is up", || up.exists());
    let names =
        |dir: &Path| fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name()).collect::<Vec<_>>();
    assert_eq!(names(&temporary), Vec::<OsString>::new());
    drop(supervisor);
    wait_until("nothing is left", || processes(&tag(&tmux)).is_empty());
}

#[test]
fn somebody_else_is_not_told_what_to_start() {
    let Some(tmux) = Tmux::start() else { return };
    // In place of a keeper: it lets a child connect, which is another process than the one that tmux started.
    let impostor = tmux.env.path().join("impostor");
    let heard = tmux.env.path().join("heard");
    let text = format!(
        "#!/bin/sh\npython3 -c 'import socket,sys\ns=socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n\
         open(sys.argv[2], \"wb\").write(s.recv(100))' \"$3\" {}\n",
        heard.display()
    );
    crate::support::environment::put_program(&impostor, &text);
    if !Command::new("python3").arg("-V").output().is_ok_and(|output| output.status.success()) {
        return crate::support::skip::skip("python3 is missing");
    }
    let dir = tmux.env.work();
    let env = [("SECRET".into(), "x".into())];
    let call = KeptCall { program: Path::new("/bin/true"), args: &[], env: &env, dir: &dir, input: None };
    let place =
        PanePlace { server: &tmux.server, session: SESSION, window: "worker", msg: &impostor, marks: &[] };
    let error = KeptInPane::start(&call, &place).unwrap_err();
    assert!(matches!(error, PaneStartError::Closed), "{error}");
    assert_eq!(fs::read(&heard).unwrap(), b"");
}
