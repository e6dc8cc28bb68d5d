//! Sessions, windows and panes of a server, and what it tells about them.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

use ravenry::sys::tmux::geometry::ScreenCorner;
use ravenry::sys::tmux::server::{NewWindow, TmuxSession};
use ravenry::sys::tmux::{TmuxError, TmuxServer, TmuxSocket};
use ravenry::sys::{detached, process};

use super::{SESSION, Tmux, is_alive};
use crate::support::environment::wait_until;

#[test]
fn a_window_opens_and_nobody_loses_theirs() {
    let Some(tmux) = Tmux::start() else { return };
    let argv: Vec<&OsStr> = ["sleep", "1000"].iter().map(OsStr::new).collect();
    let dir = tmux.env.work();
    let name = "größer; zwei;";
    let window = NewWindow { session: SESSION, name, dir: &dir, argv: &argv, variables: &[] };
    let info = tmux.server.new_window(&window).unwrap();
    assert_eq!((info.session.as_str(), info.window_name.as_str()), (SESSION, name));
    assert_eq!((info.window_index, info.pane_index), (1, 0));
    assert!(!info.is_active && !info.is_attached && !info.is_dead);
    assert_eq!((info.window_size, info.corner()), ((200, 50), None));
    assert_eq!(info.address(), "first:1.0");
    let pane = tmux.server.pane(info.id.clone());
    wait_until("it runs", || pane.info().unwrap().command == "sleep");
    // tmux says early what will run there.
    let (link, there) = (format!("/proc/{}/cwd", info.pid), std::fs::canonicalize(&dir).unwrap());
    wait_until("it runs in its directory", || std::fs::read_link(&link).is_ok_and(|cwd| cwd == there));
    assert_eq!(tmux.server.list_panes().unwrap().len(), 2);
    let missing = NewWindow { session: "fir", ..window };
    let error = tmux.server.new_window(&missing).unwrap_err();
    assert!(matches!(&error, TmuxError::NoSession(name) if name == "fir"), "{error}");
}

/// tmux looks up what runs in a pane each time that a format names it.
#[test]
fn a_pane_whose_program_changes_all_the_time_is_understood() {
    let Some(tmux) = Tmux::start() else { return };
    let dir = tmux.env.path();
    // Two names of one program, which starts itself by the other name.
    for (name, other) in [("x", "much-longer"), ("much-longer", "x")] {
        std::os::unix::fs::symlink("/bin/sh", dir.join(name)).unwrap();
        let line = format!("exec '{0}/{other}' '{0}/as-{other}'", dir.display());
        std::fs::write(dir.join(format!("as-{name}")), line).unwrap();
    }
    let (program, script) = (dir.join("x"), dir.join("as-x"));
    let pane = tmux.window("exec \"$1\" \"$2\"", &[program.as_os_str(), script.as_os_str()]);
    for name in ["x", "much-longer"] {
        wait_until("it has both names", || pane.info().is_ok_and(|info| info.command == name));
    }
    for _ in 0..300 {
        pane.info().unwrap();
        pane.capture().unwrap();
    }
}

#[test]
fn one_word_is_a_program() {
    let Some(tmux) = Tmux::start() else { return };
    let program = tmux.env.path().join("it's a program; $HOME");
    crate::support::environment::put_program(&program, "#!/bin/sh\nexec sleep 1000\n");
    let argv = [program.as_os_str()];
    let dir = tmux.env.work();
    let window = NewWindow { session: SESSION, name: "one", dir: &dir, argv: &argv, variables: &[] };
    let pane = tmux.server.pane(tmux.server.new_window(&window).unwrap().id);
    wait_until("it runs", || pane.info().unwrap().command == "sleep");
}

#[test]
fn panes_know_their_corners() {
    let Some(tmux) = Tmux::start() else { return };
    tmux.ask(&["split-window", "-h", "-t", "first:0.0", "sleep 1000"]);
    tmux.ask(&["split-window", "-v", "-t", "first:0.0", "sleep 1000"]);
    let corners: Vec<_> = tmux.server.list_panes().unwrap().iter().map(|pane| pane.corner()).collect();
    let [top, bottom, right] = [ScreenCorner::TopLeft, ScreenCorner::BottomLeft, ScreenCorner::Right];
    assert_eq!(corners, [Some(top), Some(bottom), Some(right)]);
}

#[test]
fn a_title_and_colours_are_captured() {
    let Some(tmux) = Tmux::start() else { return };
    let script = r#"printf '\033]2;✳ two words\033\\\033[2mfaint\033[0m ü done'; exec sleep 1000"#;
    let pane = tmux.window(script, &[]);
    wait_until("it is drawn", || pane.plain_text().unwrap().contains("faint ü done"));
    let capture = pane.capture().unwrap();
    assert_eq!(capture.title, "✳ two words");
    assert!(capture.text.starts_with("\u{1b}[2mfaint\u{1b}[0m"), "{:?}", capture.text);
    assert!(capture.text.contains(" ü done\n"), "{:?}", capture.text);
    assert_eq!((capture.cursor, capture.is_on_alternate_screen), ((12, 0), false));
    assert_eq!(capture.text.lines().count(), 50);
}

#[test]
fn sessions_have_options() {
    let Some(tmux) = Tmux::start() else { return };
    let project = "/home/größer/a b;";
    tmux.server.set_option(SESSION, "@ravenry-project", project).unwrap();
    let dir = tmux.env.work();
    let window = NewWindow {
        session: "zwei é",
        name: "chat",
        dir: &dir,
        argv: &[],
        variables: &[("OF_PANE", "größer;")],
    };
    let made = tmux.server.new_session(&window, &[], "1").unwrap();
    assert_eq!(made.server.get(), tmux.pid());
    let info = made.pane;
    assert_eq!((info.session.as_str(), info.window_size), ("zwei é", (200, 50)));
    // tmux has started a process that becomes the shell in a moment.
    wait_until("it has the variable", || {
        process::first_value(info.pid, "OF_PANE").as_deref() == Some("größer;")
    });
    let session =
        |name: &str, option: &str| TmuxSession { name: name.to_string(), option: option.to_string() };
    let sessions = tmux.server.sessions("@ravenry-project").unwrap();
    assert_eq!(sessions, [session(SESSION, project), session("zwei é", "")]);
    assert!(matches!(tmux.server.new_session(&window, &[], "1"), Err(TmuxError::SessionExists(_))));
    tmux.server.end_session("zwei é").unwrap();
    assert_eq!(tmux.server.sessions("@ravenry-project").unwrap().len(), 1);
    assert!(matches!(tmux.server.end_session("zwei é"), Err(TmuxError::NoSession(_))));
}

/// As another process, it starts a server and ends.
#[test]
fn a_server_is_not_what_its_starter_left_behind() {
    if let Ok(socket) = std::env::var("PANE_STARTER") {
        let server = TmuxServer::at(TmuxSocket::Path(socket.into()));
        let argv: Vec<&OsStr> = ["sh", "-c", "env >seen; exec sleep 1000"].iter().map(OsStr::new).collect();
        let dir = std::env::current_dir().unwrap();
        let window = NewWindow { session: "new", name: "new", dir: &dir, argv: &argv, variables: &[] };
        server.new_session(&window, &["LEFT_OUT"], "1").unwrap();
        return;
    }
    let Some(tmux) = Tmux::start() else { return };
    tmux.end_server();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "panes::server::a_server_is_not_what_its_starter_left_behind", "--nocapture"]);
    command.env("PANE_STARTER", tmux.socket()).env("LEFT_OUT", "1").env("HOME", tmux.env.home());
    command.current_dir(tmux.env.work()).stdin(Stdio::null()).stdout(Stdio::null());
    assert!(command.status().unwrap().success());
    let pid = tmux.pid();
    let number = ravenry::domain::Pid::new(pid.into()).unwrap();
    // Those are not ended with a run, but whoever works in its panes is not taken for a worker.
    assert!(detached::is_independent(number) && !detached::is_supervisor(number) && is_alive(pid));
    let seen = tmux.env.work().join("seen");
    wait_until("it runs", || has_line(&seen, "TMUX_PANE="));
    assert!(!has_line(&seen, "MSG_TMUX_SERVER") && !has_line(&seen, "LEFT_OUT"));
    assert_eq!(std::fs::read_link(format!("/proc/{pid}/cwd")).unwrap(), Path::new("/"));
}

fn has_line(file: &Path, start: &str) -> bool {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().any(|line| line.starts_with(start))
}
