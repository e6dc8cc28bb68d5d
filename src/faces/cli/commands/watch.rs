//! `msg watch`: follows the inbox and prints or handles each message.

use std::io::Write;
use std::process::{Command, Stdio};

use clap::Args;

use super::watch_alerts::WatchAlerts;
use crate::faces::cli::messages;
use crate::faces::cli::output::{CommandOutput, Ui};
use crate::ops::{
    self, CommandError, CommandErrorKind, GlobalOptions, HandoverOutcome, Op, RenderedMessage, WatchEnd,
};
use crate::sys::files::FileError;
use crate::sys::signals::StopRequest;

/// Follow your inbox
///
/// Prints each message as it arrives, until it is stopped; with `--json`, one object per line. With `--exec`, runs a
/// command for each instead, with the message in JSON on its standard input: a command that fails leaves the message
/// undelivered and is retried after 1, 2, 4 … s; after five failures the message is set aside, and `msg inbox` shows
/// it. At a terminal, you are told of what happens as `msg notify` lists it.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  msg watch
  msg watch --json | jq -r .text
  msg watch --exec 'notify-send msg \"$(jq -r .text)\"'")]
pub(in crate::faces::cli) struct WatchArgs {
    /// Run this shell command for each message
    #[arg(long, value_name = "CMD")]
    exec: Option<String>,
}

pub(super) fn run(
    op: &Op,
    args: WatchArgs,
    ui: &Ui,
    globals: &GlobalOptions,
) -> Result<CommandOutput, CommandError> {
    let stop = StopRequest::listen().map_err(FileError::from)?;
    let alerts = WatchAlerts::start(op, ui, globals)?;
    let end = match &args.exec {
        Some(command) => ops::watch_each(op, &stop, &mut |rendered| {
            alerts.tell_of(op, std::slice::from_ref(rendered));
            tell(op, ui);
            execute(command, rendered)
        })?,
        None => ops::watch(op, ui.reader(), &stop, &mut |messages| {
            alerts.tell_of(op, messages);
            tell(op, ui);
            print(ui, messages)
        })?,
    };
    drop(alerts);
    Ok(CommandOutput::said(match end {
        WatchEnd::Closed => None,
        WatchEnd::Stopped => Some(CommandError::new(CommandErrorKind::Interrupted, "")),
    }))
}

/// Prints the notices so far: this command has no end at which to print them.
fn tell(op: &Op, ui: &Ui) {
    op.take_warnings().iter().for_each(|notice| ui.note(notice));
}

fn print(ui: &Ui, messages: &[RenderedMessage]) -> HandoverOutcome {
    if !ui.is_json() {
        return messages::hand_over(ui, messages);
    }
    let lines: String = messages
        .iter()
        .map(|rendered| format!("{}\n", messages::json(&rendered.message, &rendered.short_id)))
        .collect();
    ui.hand_over(&lines)
}

/// Runs the command with the message on its standard input. A command need not read it.
fn execute(command: &str, rendered: &RenderedMessage) -> bool {
    let child = Command::new("sh").arg("-c").arg(command).stdin(Stdio::piped()).spawn();
    let Ok(mut child) = child else { return false };
    if let Some(mut stdin) = child.stdin.take() {
        drop(writeln!(stdin, "{}", messages::json(&rendered.message, &rendered.short_id)));
    }
    child.wait().is_ok_and(|status| status.success())
}
