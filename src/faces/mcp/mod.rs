//! `msg mcp`: the same ops for models that have tools rather than a shell, over MCP on standard input and output.
//!
//! The one place with async code. The protocol is the SDK's, on a runtime of a single thread; the ops block, so they are
//! run elsewhere: one at a time at the `desk`, and those that wait for mail each beside it. Every call gets a fresh
//! context, so settings and mesh are as they are now. Lines come in and go out by [`transport`], which knows when an answer
//! was written: mail counts as handed over only then.
//!
//! A server lives no longer than its client: it ends when its input does, when a signal asks for it, or when the client's
//! process is gone, and whatever it had in hand is put back.

mod answer;
mod channel;
mod delivery_ack;
mod hints;
mod op_thread;
mod resources;
mod server;
mod shutdown;
mod subscriptions;
mod tools;
pub mod transport;

use std::ffi::OsString;
use std::io::{self, Write};
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;

use rmcp::service::ServiceExt;

use crate::domain::AgentName;
use crate::ops::Globals;
use crate::sys::signals;

use channel::Line;
use delivery_ack::Tickets;
use op_thread::Desk;
use server::Server;
use shutdown::End;
use transport::Wire;

/// Is this `msg mcp`, and nothing that only the command line understands? Then how it was called.
pub fn recognise(args: &[OsString]) -> Option<Globals> {
    let mut globals = Globals::default();
    let mut is_it = false;
    let mut rest = args.iter().skip(1).map(|arg| arg.to_str());
    while let Some(arg) = rest.next() {
        match arg? {
            "--mesh" => globals.mesh = Some(rest.next()??.to_string()),
            "--as" => globals.speaker = Some(AgentName::new(rest.next()??).ok()?),
            "mcp" if !is_it => is_it = true,
            flag if flag.starts_with("--mesh=") => {
                globals.mesh = Some(flag["--mesh=".len()..].to_string());
            }
            flag if flag.starts_with("--as=") => {
                globals.speaker = Some(AgentName::new(&flag["--as=".len()..]).ok()?);
            }
            _ => return None,
        }
    }
    is_it.then_some(globals)
}

/// Serves until the client is gone.
pub fn run(globals: Globals) -> ExitCode {
    // Without it a limit on the size of files is a sudden death.
    drop(signals::survive_file_size_limit());
    let served = std::panic::catch_unwind(AssertUnwindSafe(|| serve(globals)));
    match served {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => {
            complain(&error.to_string());
            ExitCode::from(4)
        }
        Err(_) => ExitCode::from(70),
    }
}

fn serve(globals: Globals) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let desk = Desk::open(globals)?;
    let tickets = Tickets::default();
    let end = End::new(desk.closer());
    let wire = Wire::open(io::stdin(), io::stdout(), tickets.clone(), &end)?;
    end.arm()?;
    let line = Line::new(runtime.handle().clone());
    desk.handle().attend(line.clone())?;
    let server = Server::new(desk.handle(), tickets, line);
    runtime.block_on(async {
        // A client that leaves before it introduced itself is no failure, and there is nobody to tell of any other.
        if let Ok(running) = server.serve_with_ct(wire, end.token()).await {
            drop(running.waiting().await);
        }
    });
    desk.close();
    runtime.shutdown_background();
    Ok(())
}

/// Gives the same arguments to every tool, which may refuse them: for those who try what can be said to it.
pub fn takes_arguments(arguments: serde_json::Map<String, serde_json::Value>) {
    for tool in tools::all() {
        drop(tools::Call::parse(&tool.name, arguments.clone()));
    }
}

/// Clients keep what is said here with their logs.
fn complain(text: &str) {
    drop(writeln!(io::stderr(), "msg mcp: {text}"));
}
