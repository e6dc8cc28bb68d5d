//! The faces: command line, hooks, MCP server and terminal chat. Each turns input from outside into a call of an op, and
//! the result into output. No face knows another; `json` is what those that speak JSON share.

pub mod cli;
pub mod hook;
mod json;
pub mod mcp;
pub mod tui;

use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the program. A hook skips the command line's parser, because a harness waits for it each time; an MCP server
/// has its own entry point; everything else is a command line.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    if let Some(arguments) = hook::recognise(&args) {
        return hook::run(arguments);
    }
    match mcp::recognise(&args) {
        Some(globals) => mcp::run(globals),
        None => cli::run(args, tui::run),
    }
}
