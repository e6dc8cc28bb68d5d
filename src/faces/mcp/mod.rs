//! `msg mcp`: an MCP server on standard input and output, with the same ops for models that have tools instead of a
//! shell.
//!
//! This is the only module with async code. The SDK handles the protocol, on a single-threaded runtime. Ops block, so
//! they run on other threads: one at a time on the `op_thread`, and each one that waits for mail on a thread of its
//! own. Every call gets a fresh context, so that it sees the current settings and mesh. Input and output go through
//! [`transport`], which knows when an answer was written: only then does mail count as delivered.
//!
//! A server does not outlive its client: it ends when its input ends, on a signal, or when the client's process is
//! gone, and puts back any mail it holds.

mod channel;
mod handover_signal;
mod hints;
mod op_thread;
mod resources;
mod server;
mod shutdown;
mod subscriptions;
mod tool_answer;
mod tools;
pub mod transport;

use std::ffi::OsString;
use std::io::{self, Write};
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;

use rmcp::service::ServiceExt;

use crate::domain::AgentName;
use crate::ops::GlobalOptions;
use crate::sys::signals;

use channel::ChannelNotifier;
use handover_signal::PendingHandovers;
use op_thread::OpThread;
use server::McpServer;
use shutdown::Shutdown;
use transport::StdioTransport;

/// The global options if this is `msg mcp` with nothing that only the command line understands.
pub fn recognise(args: &[OsString]) -> Option<GlobalOptions> {
    let mut globals = GlobalOptions::default();
    let mut is_it = false;
    let mut rest = args.iter().skip(1).map(|arg| arg.to_str());
    while let Some(arg) = rest.next() {
        match arg? {
            "--mesh" => globals.mesh = Some(rest.next()??.to_string()),
            "--as" => globals.acting_as = Some(AgentName::new(rest.next()??).ok()?),
            "mcp" if !is_it => is_it = true,
            flag if flag.starts_with("--mesh=") => {
                globals.mesh = Some(flag["--mesh=".len()..].to_string());
            }
            flag if flag.starts_with("--as=") => {
                globals.acting_as = Some(AgentName::new(&flag["--as=".len()..]).ok()?);
            }
            _ => return None,
        }
    }
    is_it.then_some(globals)
}

/// Serves until the client is gone.
pub fn run(globals: GlobalOptions) -> ExitCode {
    // Otherwise exceeding the file size limit would kill the process.
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

fn serve(globals: GlobalOptions) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    let op_thread = OpThread::open(globals)?;
    let tickets = PendingHandovers::default();
    let end = Shutdown::new(op_thread.closer());
    let wire = StdioTransport::open(io::stdin(), io::stdout(), tickets.clone(), &end)?;
    end.arm()?;
    let line = ChannelNotifier::new(runtime.handle().clone());
    op_thread.handle().attend(line.clone())?;
    let server = McpServer::new(op_thread.handle(), tickets, line);
    runtime.block_on(async {
        // A client that disconnects before it introduced itself is not an error, and for any other error there is
        // nobody to report it to.
        if let Ok(running) = server.serve_with_ct(wire, end.token()).await {
            drop(running.waiting().await);
        }
    });
    op_thread.close();
    runtime.shutdown_background();
    Ok(())
}

/// Parses the same arguments for every tool and ignores errors. For fuzzing.
pub fn parse_with_every_tool(arguments: serde_json::Map<String, serde_json::Value>) {
    for tool in tools::all() {
        drop(tools::ToolCall::parse(&tool.name, arguments.clone()));
    }
}

/// Writes to standard error, which clients keep in their logs.
fn complain(text: &str) {
    drop(writeln!(io::stderr(), "msg mcp: {text}"));
}
