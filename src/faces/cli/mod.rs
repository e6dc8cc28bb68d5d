//! The command line: parses the arguments of `msg`, calls an op and prints the result.
//!
//! A thin wrapper around the ops: `commands/` has a file for each command with its arguments, whose doc comments are
//! the help, and its output. `output` prints everything, as text or JSON.

mod agent_text;
mod args;
mod commands;
pub mod completing;
mod diff;
#[cfg(test)]
mod docs_test;
mod exit_code;
mod export_page;
mod global_args;
mod hyphens;
mod local_time;
mod man_pages;
mod messages;
mod output;
mod progress_block;
mod reservations;
mod table;
mod text_arg;
mod usage;
mod value_parsers;
mod welcome;

use std::ffi::OsString;
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::domain::AgentName;
use crate::ops::setup::man_pages::ManPage;
use crate::ops::{CommandError, CommandErrorKind, GlobalOptions};
use crate::sys::{signals, test_switches};
use anstream::ColorChoice;

use args::Cli;
use commands::Invocation;
use global_args::{OutputFormat, Verbosity};
use output::Ui;

/// Runs the terminal chat: takes the global options, a name if one was given, and whether to use colour.
pub type RunChat =
    fn(GlobalOptions, Option<AgentName>, ColorChoice, &mut Vec<String>) -> Result<(), CommandError>;

/// The whole grammar of the command line, for man pages and tests of the documentation.
pub fn grammar() -> clap::Command {
    Cli::command()
}

/// The man pages of `msg` and of each command.
pub fn man_pages() -> Vec<ManPage> {
    man_pages::all()
}

/// The script that makes a shell complete the arguments of `msg`: what `msg completions SHELL` prints.
pub fn completion_script(shell: Shell) -> String {
    commands::completions::script(shell)
}

/// Runs the command that the arguments ask for. A panic is reported as an error.
pub fn run(args: impl IntoIterator<Item = OsString>, screen: RunChat) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    // Usage errors are printed as JSON too if that is asked for.
    let manner = OutputFormat::of(&args);
    let run = AssertUnwindSafe(|| parse_and_run(args, manner, screen));
    std::panic::catch_unwind(run).unwrap_or_else(|_| {
        let error = CommandError::new(CommandErrorKind::Bug, "this is a bug in msg; what it said is above");
        Ui::plain(manner).finish(Err(error.hint("please report it with the command that you ran")), &[])
    })
}

fn parse_and_run(words: Vec<OsString>, manner: OutputFormat, screen: RunChat) -> ExitCode {
    // Scripts run this to check whether `msg` is installed; it needs no grammar.
    if words.len() == 2 && (words[1] == "--version" || words[1] == "-V") {
        return Ui::plain(manner).print_version();
    }
    let words = hyphens::protect_hyphen_texts(usage::help_as_flag(words));
    match Cli::parse_words(&words) {
        Ok(cli) => dispatch(cli, screen),
        Err(error) => usage::answer(&error, &words, &Ui::plain(manner)),
    }
}

fn dispatch(cli: Cli, screen: RunChat) -> ExitCode {
    let ui = Ui::new(&cli.global);
    let acting_as = match cli.global.acting_as.map(AgentName::new).transpose() {
        Ok(acting_as) => acting_as,
        Err(error) => return ui.finish(Err(error.into()), &[]),
    };
    if let Some(text) = test_switches::value(test_switches::PANIC) {
        panic_as_told(&text);
    }
    // Otherwise exceeding the file size limit would kill the process.
    drop(signals::survive_file_size_limit());
    let globals = GlobalOptions { mesh: cli.global.mesh, acting_as, ..GlobalOptions::default() };
    let Some(command) = cli.command else {
        return match welcome::run(globals) {
            Ok((outcome, notices)) => ui.finish(Ok(outcome), &notices),
            Err(error) => ui.finish(Err(error), &[]),
        };
    };
    let verbosity = if cli.global.verbose { Verbosity::Verbose } else { Verbosity::Normal };
    let call = Invocation::new(globals, verbosity, &ui, screen);
    let outcome = commands::run(&call, command);
    ui.finish(outcome, &call.take_warnings())
}

#[expect(clippy::panic, reason = "a test wants to see what happens")]
fn panic_as_told(text: &str) {
    panic!("{text}");
}
