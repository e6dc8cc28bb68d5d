//! The commands: one file each, with its arguments, the op it calls, and its output.

pub(super) mod ack;
pub(super) mod agents;
pub(super) mod broadcast;
pub(super) mod check;
pub(super) mod claim;
pub(super) mod complete;
pub(super) mod completions;
pub(super) mod config;
pub(super) mod demo;
pub(super) mod doctor;
pub(super) mod evict;
pub(super) mod feed;
pub(super) mod guard;
pub(super) mod handoff;
pub(super) mod history;
pub(super) mod hook;
pub(super) mod inbox;
pub(super) mod install;
pub(super) mod join;
pub(super) mod leave;
pub(super) mod mcp;
pub(super) mod read;
pub(super) mod receipt;
pub(super) mod release;
pub(super) mod rename;
pub(super) mod reply;
pub(super) mod reservations;
pub(super) mod reserve;
pub(super) mod selftest;
pub(super) mod send;
pub(super) mod set_status;
pub(super) mod show;
pub(super) mod spec;
pub(super) mod statusline;
pub(super) mod tasks;
pub(super) mod tui;
pub(super) mod unclaim;
pub(super) mod uninstall;
pub(super) mod wait;
pub(super) mod waiter;
pub(super) mod watch;
pub(super) mod whoami;
pub(super) mod whois;

use std::cell::RefCell;

use crate::ops::{CommandError, Context, Globals, wake};

use super::Screen;
use super::args::Command;
use super::output::{Outcome, Ui};

/// One invocation of the program.
pub(super) struct Call<'a> {
    pub(super) globals: Globals,
    pub(super) verbose: bool,
    /// For commands that print before they are done.
    pub(super) ui: &'a Ui,
    /// Runs the terminal chat.
    screen: Screen,
    notices: RefCell<Vec<String>>,
}

impl<'a> Call<'a> {
    pub(super) fn new(globals: Globals, verbose: bool, ui: &'a Ui, screen: Screen) -> Self {
        Self { globals, verbose, ui, screen, notices: RefCell::default() }
    }

    /// Runs a command that needs the settings, and keeps its notices even if it fails.
    fn in_context(
        &self,
        run: impl FnOnce(&Context) -> Result<Outcome, CommandError>,
    ) -> Result<Outcome, CommandError> {
        let ctx = Context::new(self.globals.clone())?;
        let outcome = run(&ctx);
        wake::those_who_were_told(&ctx);
        self.notices.borrow_mut().extend(ctx.take_notices());
        outcome
    }

    /// Like [`Self::in_context`], for commands that work with broken settings: they get the errors and continue.
    fn in_spite_of_errors(
        &self,
        run: impl FnOnce(&Context, Vec<CommandError>) -> Result<Outcome, CommandError>,
    ) -> Result<Outcome, CommandError> {
        let (ctx, errors) = Context::tolerant(self.globals.clone())?;
        let outcome = run(&ctx, errors);
        self.notices.borrow_mut().extend(ctx.take_notices());
        outcome
    }

    pub(super) fn take_notices(&self) -> Vec<String> {
        self.notices.take()
    }
}

pub(super) fn run(call: &Call<'_>, command: Command) -> Result<Outcome, CommandError> {
    match command {
        Command::Join(args) => call.in_context(|ctx| join::run(ctx, args)),
        Command::Leave(args) => call.in_context(|ctx| leave::run(ctx, args)),
        Command::Agents(args) => call.in_context(|ctx| agents::run(ctx, args)),
        Command::Feed(args) => call.in_context(|ctx| feed::run(ctx, args, call.ui)),
        Command::Statusline(args) => statusline::run(call, args),
        Command::Whoami(args) => call.in_context(|ctx| whoami::run(ctx, args, call.verbose)),
        Command::Whois(args) => call.in_context(|ctx| whois::run(ctx, args)),
        Command::Rename(args) => call.in_context(|ctx| rename::run(ctx, args)),
        Command::SetStatus(args) => call.in_context(|ctx| set_status::run(ctx, args)),
        Command::Evict(args) => call.in_context(|ctx| evict::run(ctx, args)),
        Command::Reserve(args) => call.in_context(|ctx| reserve::run(ctx, args)),
        Command::Release(args) => call.in_context(|ctx| release::run(ctx, args)),
        Command::Reservations(args) => call.in_context(|ctx| reservations::run(ctx, args)),
        Command::Check(args) => call.in_context(|ctx| check::run(ctx, args)),
        Command::Spec(args) => call.in_context(|ctx| spec::run(ctx, args)),
        Command::Tasks(args) => call.in_context(|ctx| tasks::run(ctx, args)),
        Command::Claim(args) => call.in_context(|ctx| claim::run(ctx, args)),
        Command::Complete(args) => call.in_context(|ctx| complete::run(ctx, args)),
        Command::Unclaim(args) => call.in_context(|ctx| unclaim::run(ctx, args)),
        Command::Handoff(args) => call.in_context(|ctx| handoff::run(ctx, args)),
        Command::Send(args) => call.in_context(|ctx| send::run(ctx, args)),
        Command::Broadcast(args) => call.in_context(|ctx| broadcast::run(ctx, args)),
        Command::Reply(args) => call.in_context(|ctx| reply::run(ctx, args)),
        Command::Inbox(args) => call.in_context(|ctx| inbox::run(ctx, args)),
        Command::Read(args) => call.in_context(|ctx| read::run(ctx, args, call.ui)),
        Command::Show(args) => call.in_context(|ctx| show::run(ctx, args)),
        Command::Ack(args) => call.in_context(|ctx| ack::run(ctx, args)),
        Command::Receipt(args) => call.in_context(|ctx| receipt::run(ctx, args)),
        Command::History(args) => call.in_context(|ctx| history::run(ctx, args)),
        Command::Watch(args) => call.in_context(|ctx| watch::run(ctx, args, call.ui)),
        Command::Wait(args) => call.in_context(|ctx| wait::run(ctx, args, call.ui)),
        Command::Config(args) => call.in_spite_of_errors(|ctx, errors| config::run(ctx, args, errors)),
        Command::Install(args) => {
            call.in_spite_of_errors(|ctx, errors| install::run(ctx, &args, call.ui, errors))
        }
        Command::Uninstall(args) => uninstall::run(&args),
        Command::Doctor(args) => doctor::run(&call.globals, &args),
        Command::Tui(args) => tui::run(call, args),
        Command::Hook(args) => hook::run(args),
        Command::Waiter(args) => waiter::run(args),
        Command::Mcp(args) => mcp::run(args),
        Command::Guard(args) => call.in_spite_of_errors(|ctx, errors| guard::run(ctx, args, errors)),
        Command::Selftest(args) => selftest::run(&call.globals, args, call.ui),
        Command::Demo(args) => demo::run(args),
        Command::Completions(args) => Ok(completions::run(args)),
    }
}
