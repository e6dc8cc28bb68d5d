//! `msg up`: the tmux session of this project.

use clap::Args;
use serde_json::{Map, Value, json};

use crate::domain::{escape_invisible, shell_word};
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::ops::screens::up::{ProjectWindow, ProjectWindows, sessions, up};
use crate::ops::{CommandError, Op};

/// Make the tmux session of this project, with the chat in its first window
///
/// `msg run --tmux` opens its windows there. If the session is there already, only what is missing is added. After `msg
/// down`, runs may start again.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg up
  msg up --list                  the sessions of all projects, and who is in their windows
  msg up -q                      only the command that shows it")]
pub(in crate::faces::cli) struct UpArgs {
    /// Only list the sessions of all projects in the same tmux server
    #[arg(long)]
    list: bool,
}

pub(super) fn run(op: &Op, args: UpArgs) -> Result<CommandOutput, CommandError> {
    Ok(match args.list {
        true => SessionReport(sessions(op)?).into(),
        false => SessionReport(vec![up(op)?]).into(),
    })
}

/// Sessions of projects.
pub(super) struct SessionReport(pub(super) Vec<ProjectWindows>);

/// A session in JSON.
fn session(session: &ProjectWindows) -> Value {
    let window = |window: &ProjectWindow| {
        json!({
            "place": window.place,
            "name": window.name,
            "run": window.run.as_ref().map(ToString::to_string),
        })
    };
    json!({
        "name": session.name,
        "project": session.project.to_string_lossy(),
        "socket": session.socket.to_string_lossy(),
        "attachWith": session.show_command(),
        "windows": session.windows.iter().map(window).collect::<Vec<_>>(),
    })
}

impl Report for SessionReport {
    fn json(&self) -> Map<String, Value> {
        Map::from_iter([("sessions".to_string(), self.0.iter().map(session).collect())])
    }

    fn text(&self, page: &mut Page) {
        if self.0.is_empty() {
            page.nothing("No project has a tmux session.", "`msg up` makes one for this project.");
        }
        for session in &self.0 {
            let words: Vec<_> =
                session.show_command().iter().map(|word| shell_word(word).into_owned()).collect();
            let attach = escape_invisible(&words.join(" ")).into_owned();
            if page.is_quiet {
                page.line(attach);
                continue;
            }
            let project = escape_invisible(&session.project.to_string_lossy()).into_owned();
            page.line(format!("{} {project}", style::bold(&escape_invisible(&session.name))));
            for window in &session.windows {
                let run = window.run.as_ref().map_or_else(String::new, |run| format!("  run {run}"));
                let (place, name) = (escape_invisible(&window.place), escape_invisible(&window.name));
                page.line(format!("  {place}  {name}{run}"));
            }
            page.line(style::dim(&format!("  {attach}")));
        }
    }
}
