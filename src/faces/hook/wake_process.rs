//! `msg hook rouse NAME …`: the background process that wakes idle agents after a hook posted them a notice.
//!
//! Waking may take seconds, and a harness waits for its hook. So the hook starts a separate process and does not wait
//! for it.

use std::process::ExitCode;

use crate::domain::AgentName;
use crate::ops::hook::log_hook_failure;
use crate::ops::{self, Context, GlobalOptions, wake};
use crate::sys::program;

use super::{Arguments, complain};

/// Given instead of a harness.
pub const WORD: &str = "rouse";

/// Starts the process that wakes idle agents that got a notice. If it cannot be started, no mail is lost.
pub fn hand_on(ctx: &Context, names: &[AgentName]) {
    let mesh = ctx.location.to_string();
    let mut args = vec!["--mesh".to_string(), mesh, "hook".to_string(), WORD.to_string()];
    args.extend(names.iter().map(AgentName::to_string));
    if let Err(error) = program::start_apart(&args, &ctx.cwd) {
        complain("hook", &format!("agents that were notified could not be woken: {error}"));
    }
}

/// The process that wakes them. Failures are recorded for `doctor`.
pub fn run(arguments: Arguments) -> ExitCode {
    let Arguments { globals, words, .. } = arguments;
    let names: Vec<AgentName> = words.iter().skip(2).filter_map(|name| AgentName::new(name).ok()).collect();
    for failure in wake_all(&globals, &names) {
        log_hook_failure(&globals, "hook", WORD, &failure);
    }
    ExitCode::SUCCESS
}

fn wake_all(globals: &GlobalOptions, names: &[AgentName]) -> Vec<String> {
    match Context::tolerant(globals.clone()) {
        Ok((ctx, _)) => ops::run(ctx, |op| wake::wake_if_unread(op, names)).into_parts().1,
        Err(error) => vec![error.message],
    }
}
