//! `msg statusline`: prints one line for a status bar.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::{Map, Value, json};

use super::Invocation;
use crate::domain::{Pid, SessionId, escape_invisible};
use crate::faces::cli::output::{CommandOutput, Page, Report, style};
use crate::ops::{
    self, CommandError, CommandErrorKind, Context, GlobalOptions, StatusLine, StatusLineSubject,
};
use crate::sys::stdin;

/// How long to wait for JSON on standard input; most callers send none.
const LIMIT: Duration = Duration::from_millis(50);
/// Maximum size of that JSON in bytes.
const MAX_INPUT: usize = 1024 * 1024;

/// Print one short line for a status bar
///
/// Your name, the number of other agents, the number of unread messages; zeros are omitted. A harness may pass its
/// session as JSON on standard input; a terminal multiplexer its pane with `--pane`. `msg install HARNESS
/// --statusline` and `msg install tmux` set it up.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg statusline                     SwiftRaven · 2 peers · 3 unread
  msg statusline --tmux --pane '#{pane_pid}'
  PS1='$(msg statusline) \\$ '        in a shell prompt
  echo \"$model  $(printf %s \"$input\" | msg statusline)\"   in a status line script of your own")]
pub(in crate::faces::cli) struct StatuslineArgs {
    /// Escape the line for tmux
    #[arg(long)]
    tmux: bool,
    /// The agent that runs beneath this process (tmux: `#{pane_pid}`)
    #[arg(long, value_name = "PID")]
    pane: Option<String>,
}

pub(super) fn run(call: &Invocation<'_>, args: StatuslineArgs) -> Result<CommandOutput, CommandError> {
    let told = match (&args.pane, &call.globals.acting_as) {
        (None, None) => told(),
        _ => Told::default(),
    };
    let pane = args.pane.as_deref().map(pane).transpose()?;
    let globals = GlobalOptions { cwd: told.cwd, ..call.globals.clone() };
    // Errors in configuration files do not belong in a status bar.
    let (ctx, _) = Context::tolerant(globals)?;
    let line = ops::statusline(&ctx, &StatusLineSubject { session: told.session, pane })?;
    Ok(LineReport { line, tmux: args.tmux }.into())
}

fn pane(text: &str) -> Result<Pid, CommandError> {
    let pid = text.parse().ok().and_then(|number| Pid::new(number).ok());
    pid.ok_or_else(|| {
        CommandError::new(CommandErrorKind::InvalidValue, format!("`{text}` can't be the id of a process"))
            .hint("`--pane '#{pane_pid}'` in tmux's configuration")
    })
}

/// What a harness reports about its session.
#[derive(Default)]
struct Told {
    session: Option<SessionId>,
    cwd: Option<PathBuf>,
}

/// Reads the harness's JSON, without waiting long for a caller that sends none or never closes standard input.
fn told() -> Told {
    if io::stdin().is_terminal() {
        return Told::default();
    }
    let parse = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).ok();
    let input = stdin::read_until(MAX_INPUT, LIMIT, |bytes| parse(bytes).is_some()).unwrap_or_default();
    let Some(said) = parse(&input) else { return Told::default() };
    let text = |value: &Value| value.as_str().map(str::to_string);
    let cwd = text(&said["workspace"]["current_dir"]).or_else(|| text(&said["cwd"])).map(PathBuf::from);
    Told {
        session: text(&said["session_id"]).and_then(|session| SessionId::new(session).ok()),
        cwd: cwd.filter(|cwd| cwd.is_absolute()),
    }
}

/// A part of the line, and its style.
type Part = (String, fn(&str) -> String);

struct LineReport {
    line: StatusLine,
    tmux: bool,
}

impl LineReport {
    fn parts(&self) -> Vec<Part> {
        let StatusLine { name, peers, unread } = &self.line;
        let mut parts: Vec<Part> = Vec::new();
        if let Some(name) = name {
            parts.push((escape_invisible(name.as_str()).into_owned(), style::bold));
        }
        match peers {
            0 => {}
            1 => parts.push(("1 peer".to_string(), style::dim)),
            peers => parts.push((format!("{peers} peers"), style::dim)),
        }
        if *unread > 0 {
            parts.push((format!("{unread} unread"), style::warn));
        }
        parts
    }

    fn plain(&self) -> String {
        let parts: Vec<String> = self.parts().into_iter().map(|(part, _)| part).collect();
        let line = parts.join(" · ");
        if self.tmux { line.replace('#', "##") } else { line }
    }
}

impl Report for LineReport {
    fn json(&self) -> Map<String, Value> {
        let StatusLine { name, peers, unread } = &self.line;
        let name = name.as_ref().map(|name| name.as_str());
        Map::from_iter([
            ("text".to_string(), json!(self.plain())),
            ("name".to_string(), json!(name)),
            ("peers".to_string(), json!(peers)),
            ("unread".to_string(), json!(unread)),
        ])
    }

    fn text(&self, page: &mut Page) {
        let parts: Vec<String> = self.parts().into_iter().map(|(part, style)| style(&part)).collect();
        match (parts.is_empty(), self.tmux) {
            (true, _) => {}
            (false, true) => page.line(self.plain()),
            (false, false) => page.line(parts.join(&style::dim(" · "))),
        }
    }
}
