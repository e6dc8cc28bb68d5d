//! The interfaces of `msg`: command line, hooks, MCP server and terminal chat. Each translates its input into ops and
//! their results into its output; none imports another.
//!
//! In the code such an interface is called a *face*. `json` is what those that speak JSON share. `background`,
//! `keeper`, `run_starter` and `supervisor` are called by `msg` itself.

mod background;
pub mod cli;
pub mod hook;
mod json;
mod keeper;
pub mod mcp;
mod run_starter;
mod supervisor;
pub mod tui;

use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the program. A hook skips the command line's parser, because a harness waits for it each time; an MCP server
/// and a background job have entry points of their own; everything else is a command line.
pub fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    if let Some(arguments) = hook::recognise(&args) {
        return hook::run(arguments);
    }
    if let Some(call) = background::recognise(&args) {
        return background::run(call);
    }
    if let Some(call) = keeper::recognise(&args) {
        return keeper::run(call);
    }
    if let Some(call) = supervisor::recognise(&args) {
        return supervisor::run(call);
    }
    if let Some(call) = run_starter::recognise(&args) {
        return run_starter::run(call);
    }
    if let Some(call) = cli::completing::recognise(&args) {
        return cli::completing::run(call);
    }
    match mcp::recognise(&args) {
        Some(globals) => mcp::run(globals),
        None => cli::run(args, tui::run),
    }
}
