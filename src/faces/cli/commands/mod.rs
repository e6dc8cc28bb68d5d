//! One file per command: its arguments, which op it calls, and what it says.

pub(super) mod agents;
pub(super) mod completions;
pub(super) mod config;
pub(super) mod demo;
pub(super) mod doctor;
pub(super) mod evict;
pub(super) mod join;
pub(super) mod leave;
pub(super) mod rename;
pub(super) mod set_status;
pub(super) mod whoami;
pub(super) mod whois;

use std::cell::RefCell;

use crate::ops::{CommandError, Context, Globals};

use super::args::Command;
use super::output::Outcome;

/// One call of the program.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) globals: Globals,
    pub(super) verbose: bool,
    notices: RefCell<Vec<String>>,
}

impl Call {
    pub(super) fn new(globals: Globals, verbose: bool) -> Self {
        Self { globals, verbose, notices: RefCell::default() }
    }

    /// Runs what needs the settings, and keeps what was noticed on the way, also if it fails.
    fn in_context(
        &self,
        run: impl FnOnce(&Context) -> Result<Outcome, CommandError>,
    ) -> Result<Outcome, CommandError> {
        let ctx = Context::new(self.globals.clone())?;
        let outcome = run(&ctx);
        self.notices.borrow_mut().extend(ctx.take_notices());
        outcome
    }

    pub(super) fn take_notices(&self) -> Vec<String> {
        self.notices.take()
    }
}

pub(super) fn run(call: &Call, command: Command) -> Result<Outcome, CommandError> {
    match command {
        Command::Join(args) => call.in_context(|ctx| join::run(ctx, args)),
        Command::Leave(args) => call.in_context(|ctx| leave::run(ctx, args)),
        Command::Agents(args) => call.in_context(|ctx| agents::run(ctx, args)),
        Command::Whoami(args) => call.in_context(|ctx| whoami::run(ctx, args, call.verbose)),
        Command::Whois(args) => call.in_context(|ctx| whois::run(ctx, args)),
        Command::Rename(args) => call.in_context(|ctx| rename::run(ctx, args)),
        Command::SetStatus(args) => call.in_context(|ctx| set_status::run(ctx, args)),
        Command::Evict(args) => call.in_context(|ctx| evict::run(ctx, args)),
        Command::Config(args) => call.in_context(|ctx| config::run(ctx, args)),
        Command::Doctor(args) => doctor::run(&call.globals, &args),
        Command::Demo(args) => demo::run(args),
        Command::Completions(args) => Ok(completions::run(args)),
    }
}
