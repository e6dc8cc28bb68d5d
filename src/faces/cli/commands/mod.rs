//! The commands: one file each, with its arguments, the op it calls, and its output.

pub(super) mod ack;
pub(super) mod agents;
pub(super) mod batch;
mod bill;
pub(super) mod brief;
pub(super) mod broadcast;
pub(super) mod budget;
pub(super) mod check;
pub(super) mod claim;
pub(super) mod complete;
pub(super) mod completions;
pub(super) mod config;
pub(super) mod contest;
pub(super) mod crew;
pub(super) mod delegate;
pub(super) mod demo;
pub(super) mod doctor;
pub(super) mod down;
pub(super) mod evict;
pub(super) mod export;
pub(super) mod feed;
mod grammar;
pub(super) mod guard;
pub(super) mod handoff;
pub(super) mod history;
pub(super) mod hook;
pub(super) mod inbox;
pub(super) mod install;
pub(super) mod join;
pub(super) mod know;
pub(super) mod knowledge;
pub(super) mod learn;
pub(super) mod leave;
mod link;
pub(super) mod log;
pub(super) mod look;
pub(super) mod man;
pub(super) mod mcp;
pub(super) mod mode;
pub(super) mod notify;
pub(super) mod overlaps;
mod question_prompt;
pub(super) mod read;
pub(super) mod receipt;
pub(super) mod record;
pub(super) mod release;
pub(super) mod rename;
pub(super) mod reopen;
pub(super) mod reply;
pub(super) mod reservations;
pub(super) mod reserve;
pub(super) mod run;
mod run_elsewhere;
mod run_page;
mod run_progress;
pub(super) mod runs;
mod runs_follow;
mod runs_work;
pub(super) mod search;
pub(super) mod selftest;
pub(super) mod send;
pub(super) mod set_status;
pub(super) mod setup;
mod setup_page;
pub(super) mod show;
pub(super) mod spec;
pub(super) mod statusline;
pub(super) mod suggest;
pub(super) mod tasks;
pub(super) mod tell;
pub(super) mod topics;
pub(super) mod tui;
pub(super) mod unclaim;
pub(super) mod uninstall;
pub(super) mod up;
pub(super) mod wait;
pub(super) mod waiter;
pub(super) mod watch;
mod watch_alerts;
pub(super) mod whoami;
pub(super) mod whois;
pub(super) mod workers;

use std::cell::RefCell;

use crate::ops::{self, CommandError, Context, GlobalOptions, Op};

use super::RunChat;
use super::global_args::Verbosity;
use super::output::{CommandOutput, Ui};

pub(super) use grammar::Command;

/// One invocation of the program.
pub(super) struct Invocation<'a> {
    pub(super) globals: GlobalOptions,
    pub(super) verbosity: Verbosity,
    /// For commands that print before they are done.
    pub(super) ui: &'a Ui,
    /// Runs the terminal chat.
    screen: RunChat,
    warnings: RefCell<Vec<String>>,
}

impl<'a> Invocation<'a> {
    pub(super) fn new(globals: GlobalOptions, verbosity: Verbosity, ui: &'a Ui, screen: RunChat) -> Self {
        Self { globals, verbosity, ui, screen, warnings: RefCell::default() }
    }

    /// Runs what needs the settings, and keeps the warnings, also if it fails.
    fn in_context(
        &self,
        run: impl FnOnce(&Op) -> Result<CommandOutput, CommandError>,
    ) -> Result<CommandOutput, CommandError> {
        let (outcome, warnings) = ops::run(Context::new(self.globals.clone())?, run).into_parts();
        self.warnings.borrow_mut().extend(warnings);
        outcome
    }

    /// Like [`Self::in_context`], for commands that work with broken settings: they get the errors and continue.
    fn in_spite_of_errors(
        &self,
        run: impl FnOnce(&Op, Vec<CommandError>) -> Result<CommandOutput, CommandError>,
    ) -> Result<CommandOutput, CommandError> {
        let (ctx, errors) = Context::tolerant(self.globals.clone())?;
        let (outcome, warnings) = ops::run(ctx, |op| run(op, errors)).into_parts();
        self.warnings.borrow_mut().extend(warnings);
        outcome
    }

    pub(super) fn take_warnings(&self) -> Vec<String> {
        self.warnings.take()
    }
}

pub(super) fn run(call: &Invocation<'_>, command: Command) -> Result<CommandOutput, CommandError> {
    match command {
        Command::Join(args) => call.in_context(|op| join::run(op, args)),
        Command::Leave(args) => call.in_context(|op| leave::run(op, args)),
        Command::Link(args) => link::run(call, args),
        Command::Agents(args) => call.in_context(|op| agents::run(op, args)),
        Command::Topics(args) => call.in_context(|op| topics::run(op, args)),
        Command::Overlaps(args) => call.in_context(|op| overlaps::run(op, args)),
        Command::Feed(args) => call.in_context(|op| feed::run(op, args, call.ui)),
        Command::Export(args) => call.in_context(|op| export::run(op, args, call.ui)),
        Command::Statusline(args) => statusline::run(call, args),
        Command::Whoami(args) => call.in_context(|op| whoami::run(op, args, call.verbosity)),
        Command::Whois(args) => call.in_context(|op| whois::run(op, args)),
        Command::Brief(args) => call.in_context(|op| brief::run(op, args)),
        Command::Rename(args) => call.in_context(|op| rename::run(op, args)),
        Command::SetStatus(args) => call.in_context(|op| set_status::run(op, args)),
        Command::Evict(args) => call.in_context(|op| evict::run(op, args)),
        Command::Reserve(args) => call.in_context(|op| reserve::run(op, args)),
        Command::Release(args) => call.in_context(|op| release::run(op, args)),
        Command::Contest(args) => call.in_context(|op| contest::run(op, args)),
        Command::Reservations(args) => call.in_context(|op| reservations::run(op, args)),
        Command::Check(args) => call.in_context(|op| check::run(op, args)),
        Command::Spec(args) => call.in_context(|op| spec::run(op, args)),
        Command::Tasks(args) => call.in_context(|op| tasks::run(op, args)),
        Command::Claim(args) => call.in_context(|op| claim::run(op, args)),
        Command::Complete(args) => call.in_context(|op| complete::run(op, args)),
        Command::Reopen(args) => call.in_context(|op| reopen::run(op, args)),
        Command::Unclaim(args) => call.in_context(|op| unclaim::run(op, args)),
        Command::Handoff(args) => call.in_context(|op| handoff::run(op, args)),
        Command::Delegate(args) => call.in_context(|op| delegate::run(op, args)),
        Command::Suggest(args) => call.in_context(|op| suggest::run(op, args)),
        Command::Know(args) => call.in_context(|op| know::run(op, args)),
        Command::Learn(args) => call.in_context(|op| learn::run(op, args)),
        Command::Record(args) => call.in_context(|op| record::run(op, args)),
        Command::Knowledge(args) => call.in_context(|op| knowledge::run(op, args, call.ui)),
        Command::Run(args) => call.in_context(|op| run::run(op, args, call.ui)),
        Command::Batch(args) => call.in_context(|op| batch::run(op, args, call.ui)),
        Command::Chain(args) => call.in_context(|op| batch::run_chain(op, args, call.ui)),
        Command::Crew(args) => call.in_context(|op| crew::run(op, args, call.ui)),
        Command::Runs(args) => call.in_context(|op| runs::run(op, args, call.ui)),
        Command::Tell(args) => call.in_context(|op| tell::run(op, args, call.ui)),
        Command::Look(args) => call.in_context(|op| look::run(op, args)),
        Command::Budget(args) => call.in_context(|op| budget::run(op, args)),
        Command::Mode(args) => call.in_context(|op| mode::run(op, args)),
        Command::Up(args) => call.in_context(|op| up::run(op, args)),
        Command::Down(args) => call.in_context(|op| down::run(op, args, call.ui)),
        Command::Workers(args) => call.in_context(|op| workers::run(op, args, call.ui)),
        Command::Send(args) => call.in_context(|op| send::run(op, args)),
        Command::Broadcast(args) => call.in_context(|op| broadcast::run(op, args)),
        Command::Reply(args) => call.in_context(|op| reply::run(op, args)),
        Command::Inbox(args) => call.in_context(|op| inbox::run(op, args)),
        Command::Read(args) => call.in_context(|op| read::run(op, args, call.ui)),
        Command::Show(args) => call.in_context(|op| show::run(op, args)),
        Command::Ack(args) => call.in_context(|op| ack::run(op, args)),
        Command::Receipt(args) => call.in_context(|op| receipt::run(op, args)),
        Command::History(args) => call.in_context(|op| history::run(op, args)),
        Command::Search(args) => call.in_context(|op| search::run(op, args)),
        Command::Log(args) => call.in_context(|op| log::run(op, args)),
        Command::Watch(args) => call.in_context(|op| watch::run(op, args, call.ui, &call.globals)),
        Command::Notify(args) => call.in_context(|op| notify::run(op, args, call.ui)),
        Command::Wait(args) => call.in_context(|op| wait::run(op, args, call.ui)),
        Command::Config(args) => call.in_spite_of_errors(|op, errors| config::run(op, args, errors)),
        Command::Install(args) => {
            call.in_spite_of_errors(|op, errors| install::run(op, &args, call.ui, errors))
        }
        Command::Setup(args) => call.in_spite_of_errors(|op, errors| setup::run(op, &args, call.ui, &errors)),
        Command::Uninstall(args) => uninstall::run(&args),
        Command::Doctor(args) => call.in_spite_of_errors(|op, errors| doctor::run(op, errors, &args)),
        Command::Tui(args) => tui::run(call, args),
        Command::Hook(args) => hook::run(args),
        Command::Waiter(args) => waiter::run(args),
        Command::Mcp(args) => mcp::run(args),
        Command::Guard(args) => call.in_spite_of_errors(|op, errors| guard::run(op, args, errors)),
        Command::Selftest(args) => selftest::run(&call.globals, args, call.ui),
        Command::Demo(args) => demo::run(args, call.ui),
        Command::Completions(args) => Ok(completions::run(args)),
        Command::Man(args) => man::run(args, call.ui),
    }
}
