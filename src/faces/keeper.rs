//! `msg keeper …`: the processes between a supervisor and its worker. Only `msg` itself calls them, so they are neither
//! in the help nor in the completions.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use crate::sys::keeper::launch::NOT_STARTED;
use crate::sys::keeper::{KeeperCall, keep, launch};

/// The exit code of a program that could not be started, as shells have it.
const NOT_FOUND: u8 = 127;

/// The call, if it is one.
pub(super) fn recognise(args: &[OsString]) -> Option<KeeperCall> {
    KeeperCall::from_args(args.get(1..)?)
}

/// Keeps a program, or becomes it.
pub(super) fn run(call: KeeperCall) -> ExitCode {
    let error = match call {
        KeeperCall::Keep { input, program } => match keep::keep(input.as_deref(), &program) {
            Ok(()) => return ExitCode::SUCCESS,
            Err(error) => error,
        },
        KeeperCall::Connect { socket } => match keep::keep_in_pane(&socket) {
            Ok(()) => return ExitCode::SUCCESS,
            Err(error) => error,
        },
        KeeperCall::Launch { keeper, place, program } => match launch::launch(keeper, place, &program) {
            Ok(never) => match never {},
            Err(error) => error,
        },
    };
    // Our standard error is read by the supervisor, or shown in the pane. If it is gone, nobody is left to be told.
    drop(writeln!(io::stderr(), "{NOT_STARTED}{error}"));
    ExitCode::from(NOT_FOUND)
}
