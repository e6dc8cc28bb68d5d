//! The ways to tell a person: what each needs, and how it is done.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::json;

use crate::domain::alert::{Alert, AlertWay, TerminalHost, bell, osc9, osc777, summary};
use crate::ops::context::Context;
use crate::store::iso;
use crate::sys::bounded_run::{RunEnd, run_bounded_with_input};
use crate::sys::signals::StopRequest;
use crate::sys::tmux::TmuxError;
use crate::sys::{program, tmux};

/// How long the command may take for one alert.
const LIMIT: Duration = Duration::from_secs(10);
/// How much of what it prints is read, in bytes. Nobody sees it.
const MOST_OUTPUT: usize = 64 * 1024;
/// The variable that has the line of the alert.
const LINE_VARIABLE: &str = "MSG_ALERT";

/// Why a way does not work here, and what to do.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct WayProblem {
    pub text: String,
    pub fix: &'static str,
}

/// Where what `msg` writes goes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AlertOutput {
    Terminal,
    /// A pipe or a file, which no bell may get into.
    Elsewhere,
}

/// Why telling in a way failed.
#[derive(Debug, thiserror::Error)]
pub enum AlertFailure {
    #[error("{}; {}", .0.text, .0.fix)]
    Way(WayProblem),
    #[error("it ended with {0}")]
    Exit(i32),
    #[error("it ended with a signal")]
    Signal,
    #[error("it took more than {} s", LIMIT.as_secs())]
    TooSlow,
    #[error(transparent)]
    Start(#[from] io::Error),
    #[error(transparent)]
    Tmux(#[from] TmuxError),
}

/// What the ways need, taken from the settings.
#[derive(Clone, Debug)]
pub struct AlertTools {
    command: Vec<String>,
    /// Where the command runs.
    dir: PathBuf,
    host: TerminalHost,
}

impl AlertTools {
    pub fn of(ctx: &Context) -> Self {
        let host = if tmux::is_inside() { TerminalHost::Tmux } else { TerminalHost::Terminal };
        Self { command: ctx.settings.notify_command().to_vec(), dir: ctx.home.home.clone(), host }
    }

    /// Why this way can't work here.
    pub fn problem(&self, way: AlertWay, output: AlertOutput) -> Option<WayProblem> {
        let problem = |text: &str, fix| Some(WayProblem { text: text.to_string(), fix });
        match way {
            AlertWay::Bell | AlertWay::Osc9 | AlertWay::Osc777 if output == AlertOutput::Elsewhere => {
                problem("standard output is not a terminal", "run it in a terminal, without a pipe")
            }
            AlertWay::Osc9 | AlertWay::Osc777 if self.host == TerminalHost::Tmux && !tmux::passes_on() => {
                problem(
                    "tmux does not pass it on to the terminal",
                    "put `set -g allow-passthrough on` into ~/.tmux.conf, or use the way `tmux`",
                )
            }
            AlertWay::Bell | AlertWay::Osc9 | AlertWay::Osc777 => None,
            AlertWay::Tmux if program::on_path("tmux").is_none() => {
                problem("tmux is not installed", "install tmux, or use another way, such as `bell`")
            }
            AlertWay::Tmux if self.host != TerminalHost::Tmux => problem(
                "this terminal is not in tmux",
                "run `msg watch` and `msg tui` inside tmux, or use another way, such as `bell`",
            ),
            AlertWay::Tmux => None,
            AlertWay::Command => {
                self.command_problem(&self.command, "correct it: `msg config set notifyCommand COMMAND`")
            }
        }
    }

    /// Why the command that hears of every change of a run can't be run; `None` if there is none.
    pub(super) fn run_problem(&self, words: &[String]) -> Option<WayProblem> {
        let problem = self.command_problem(words, "correct it: `msg config set notify COMMAND`")?;
        (!words.is_empty()).then_some(problem)
    }

    /// Why this command of the person can't be run.
    pub(super) fn command_problem(&self, words: &[String], fix: &'static str) -> Option<WayProblem> {
        let Some(program) = words.first() else {
            let text = "no command is set".to_string();
            return Some(WayProblem {
                text,
                fix: "set one: `msg config set notifyCommand '[\"sh\", \"-c\", \"notify-send msg \\\"$MSG_ALERT\\\"\"]'`",
            });
        };
        let is_there = match program.contains('/') {
            true => program::is_program(&self.dir.join(program)),
            false => program::on_path(program).is_some(),
        };
        (!is_there)
            .then(|| WayProblem { text: format!("there is no program `{}`", program.escape_debug()), fix })
    }

    /// Tells alerts in this way. `terminal` writes to the terminal.
    pub(super) fn tell(
        &self,
        way: AlertWay,
        alerts: &[&Alert],
        terminal: &dyn Fn(&str),
        stop: &StopRequest,
    ) -> Result<(), AlertFailure> {
        if let Some(problem) = self.problem(way, AlertOutput::Terminal) {
            return Err(AlertFailure::Way(problem));
        }
        let lines: Vec<&str> = alerts.iter().map(|alert| alert.line.as_str()).collect();
        let line = summary(&lines);
        match way {
            AlertWay::Bell => terminal(&bell()),
            AlertWay::Osc9 => terminal(&osc9(&line, self.host)),
            AlertWay::Osc777 => terminal(&osc777(&line, self.host)),
            AlertWay::Tmux => tmux::show_to_own_clients(&format!("msg: {line}"))?,
            AlertWay::Command => {
                let run = |alert: &&Alert| {
                    run_command(&self.command, &self.dir, (&alert.line, &alert_json(alert)), stop)
                };
                // One that fails keeps nobody from hearing of the others.
                let ended: Vec<Result<(), AlertFailure>> = alerts.iter().map(run).collect();
                ended.into_iter().collect::<Result<(), _>>()?;
            }
        }
        Ok(())
    }
}

/// Runs a command of the person with an alert: its line in a variable, and its JSON as standard input. It has
/// [`LIMIT`].
pub(in crate::ops) fn run_command(
    words: &[String],
    dir: &Path,
    (line, json): (&str, &str),
    stop: &StopRequest,
) -> Result<(), AlertFailure> {
    let [program, args @ ..] = words else { return Ok(()) };
    let mut command = Command::new(program);
    command.args(args).env(LINE_VARIABLE, line).current_dir(dir);
    let ended =
        run_bounded_with_input(&mut command, format!("{json}\n").as_bytes(), LIMIT, MOST_OUTPUT, stop);
    match ended?.end {
        RunEnd::Exited(Some(0)) | RunEnd::TooMuch | RunEnd::Stopped => Ok(()),
        RunEnd::Exited(Some(code)) => Err(AlertFailure::Exit(code)),
        RunEnd::Exited(None) => Err(AlertFailure::Signal),
        RunEnd::TooSlow => Err(AlertFailure::TooSlow),
    }
}

/// What the command reads.
fn alert_json(alert: &Alert) -> String {
    json!({
        "kind": alert.kind().name(),
        "at": iso(alert.at),
        "from": alert.from,
        "id": alert.id,
        "line": alert.line,
    })
    .to_string()
}
