//! A program that must not outlive the process that watches it.
//!
//! ```text
//! supervisor ── keeper ── program ── whatever it starts
//! ```
//!
//! The keeper is our own binary, in a session of its own. Its standard input is one end of a pair of sockets, and the
//! supervisor has the other: if the supervisor ends, however it ends, the keeper reads the end of file, and ends the
//! program with everything that the program started. On Linux it adopts those whose parent has ended, so it finds all
//! of them. If the keeper itself is killed, the kernel kills the program.
//!
//! `kept` is the supervisor's side, `keep` the keeper's, and `launch` what runs between the keeper and the program;
//! `commands` keeps shell commands.
//!
//! A program in a tmux pane has a keeper, too. tmux starts it, so it is not a child of the supervisor: it connects to a
//! socket on which the supervisor listens (`in_pane`), and reads there what to start (`pane_call`). From then on
//! everything is as above. The program is in the foreground of the pane's terminal, and ends with the pane.

pub mod commands;
pub mod descendants;
pub mod in_pane;
pub mod keep;
pub mod kept;
pub mod launch;
mod pane_call;

use std::ffi::OsString;
use std::path::PathBuf;

use crate::domain::Pid;
use crate::sys::process;

/// The command of the process that keeps a program: `msg keeper [--input FILE] -- PROGRAM ARG…`, or in a tmux pane `msg
/// keeper --connect SOCKET`. Only `msg` calls it.
const KEEPER: &str = "keeper";
const CONNECT: &str = "--connect";
/// The command of the process that becomes the program: `msg keeper-launch KEEPER-PID [--front] -- PROGRAM ARG…`.
const LAUNCHER: &str = "keeper-launch";
const FRONT: &str = "--front";

/// A call of this program by itself.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum KeeperCall {
    Keep {
        input: Option<OsString>,
        program: Vec<OsString>,
    },
    /// Keeps the program that the supervisor at that socket names.
    Connect {
        socket: PathBuf,
    },
    Launch {
        keeper: Pid,
        place: LaunchPlace,
        program: Vec<OsString>,
    },
}

/// Where a program runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LaunchPlace {
    /// In a session of its own, without a terminal.
    Apart,
    /// In the foreground of its keeper's terminal.
    Front,
}

impl KeeperCall {
    /// The call that such arguments name, without the program's own name; `None` if they are others.
    pub fn from_args(args: &[OsString]) -> Option<Self> {
        match args {
            [command, flag, socket] if command == KEEPER && flag == CONNECT => {
                Some(Self::Connect { socket: PathBuf::from(socket) })
            }
            [command, rest @ ..] if command == KEEPER => {
                let (input, rest) = match rest {
                    [flag, file, rest @ ..] if flag == "--input" => (Some(file.clone()), rest),
                    rest => (None, rest),
                };
                Some(Self::Keep { input, program: program_of(rest)? })
            }
            [command, keeper, rest @ ..] if command == LAUNCHER => {
                let keeper = Pid::new(keeper.to_str()?.parse().ok()?).ok()?;
                let (place, rest) = match rest {
                    [flag, rest @ ..] if flag == FRONT => (LaunchPlace::Front, rest),
                    rest => (LaunchPlace::Apart, rest),
                };
                Some(Self::Launch { keeper, place, program: program_of(rest)? })
            }
            _ => None,
        }
    }

    fn to_args(&self) -> Vec<OsString> {
        let (mut args, program): (Vec<OsString>, _) = match self {
            Self::Keep { input: None, program } => (vec![KEEPER.into()], program),
            Self::Keep { input: Some(file), program } => {
                (vec![KEEPER.into(), "--input".into(), file.clone()], program)
            }
            Self::Connect { socket } => return vec![KEEPER.into(), CONNECT.into(), socket.clone().into()],
            Self::Launch { keeper, place, program } => {
                let mut args = vec![LAUNCHER.into(), keeper.to_string().into()];
                args.extend((*place == LaunchPlace::Front).then(|| FRONT.into()));
                (args, program)
            }
        };
        args.push("--".into());
        args.extend(program.iter().cloned());
        args
    }
}

/// Whether the process is a keeper.
pub fn is_keeper(pid: Pid) -> bool {
    process::details(pid).is_some_and(|details| details.look.args.get(1).is_some_and(|word| word == KEEPER))
}

fn program_of(rest: &[OsString]) -> Option<Vec<OsString>> {
    match rest {
        [separator, program @ ..] if separator == "--" && !program.is_empty() => Some(program.to_vec()),
        _ => None,
    }
}

/// How a program ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum KeptExit {
    Code(i32),
    /// By this signal.
    Signal(i32),
}

/// What the keeper tells the supervisor, a line each.
#[derive(Clone, Debug, Eq, PartialEq)]
enum KeeperReport {
    Started(Pid),
    Ended(KeptExit),
    /// Nothing of it is left.
    Clean,
}

impl KeeperReport {
    fn line(&self) -> String {
        match self {
            Self::Started(pid) => format!("started {pid}\n"),
            Self::Ended(KeptExit::Code(code)) => format!("exit {code}\n"),
            Self::Ended(KeptExit::Signal(signal)) => format!("signal {signal}\n"),
            Self::Clean => "clean\n".to_string(),
        }
    }

    fn of_line(line: &str) -> Option<Self> {
        match line.trim_end().split_once(' ') {
            Some(("started", pid)) => Some(Self::Started(Pid::new(pid.parse().ok()?).ok()?)),
            Some(("exit", code)) => Some(Self::Ended(KeptExit::Code(code.parse().ok()?))),
            Some(("signal", signal)) => Some(Self::Ended(KeptExit::Signal(signal.parse().ok()?))),
            None if line.trim_end() == "clean" => Some(Self::Clean),
            _ => None,
        }
    }
}

/// What the supervisor tells the keeper, a byte each.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum KeeperOrder {
    /// Ask everything to end: SIGTERM.
    Terminate,
    Kill,
    /// The screen was looked at for the last time, and the pane may close.
    Release,
}

impl KeeperOrder {
    fn byte(self) -> u8 {
        match self {
            Self::Terminate => b't',
            Self::Kill => b'k',
            Self::Release => b'r',
        }
    }

    fn of_byte(byte: u8) -> Option<Self> {
        [Self::Terminate, Self::Kill, Self::Release].into_iter().find(|order| order.byte() == byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_what_its_arguments_say() {
        let program: Vec<OsString> = ["sh", "--", "-c", ""].map(OsString::from).to_vec();
        let keeper = Pid::new(7).unwrap();
        for call in [
            KeeperCall::Keep { input: None, program: program.clone() },
            KeeperCall::Keep { input: Some("--".into()), program: program.clone() },
            KeeperCall::Connect { socket: "/tmp/s".into() },
            KeeperCall::Launch { keeper, place: LaunchPlace::Apart, program: program.clone() },
            KeeperCall::Launch { keeper, place: LaunchPlace::Front, program },
        ] {
            assert_eq!(KeeperCall::from_args(&call.to_args()), Some(call));
        }
        for others in [
            &["keeper"][..],
            &["keeper", "--"],
            &["keeper-launch", "x", "--", "sh"],
            &["run", "--", "sh"],
            &["keeper", "--connect"],
        ] {
            let others: Vec<OsString> = others.iter().map(OsString::from).collect();
            assert_eq!(KeeperCall::from_args(&others), None);
        }
    }

    #[test]
    fn a_report_is_what_its_line_says() {
        for report in [
            KeeperReport::Started(Pid::new(7).unwrap()),
            KeeperReport::Ended(KeptExit::Code(3)),
            KeeperReport::Ended(KeptExit::Signal(9)),
            KeeperReport::Clean,
        ] {
            assert_eq!(KeeperReport::of_line(&report.line()), Some(report));
        }
        assert_eq!(KeeperReport::of_line("started\n"), None);
    }
}
