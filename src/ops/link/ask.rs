//! Asking the link process: starting it if there is none, and waiting for its answer for a bounded time.

use std::ffi::OsString;
use std::time::{Duration, Instant};

use crate::domain::Agent;
use crate::ops::context::Context;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::runs::RUN_VARIABLE;
use crate::store::link_protocol::{Holder, LinkAnswer, LinkRequest, LocalAgent, MAX_LINE};
use crate::store::{LinkProblem, Mesh, StoreError};
use crate::sys::line_socket::{self, LineSocketError};
use crate::sys::{clock, detached, test_switches};

/// How long a command waits for a decision of the server.
const DECISION: Duration = Duration::from_secs(8);
/// How long it waits for a link process that it started to listen.
const START: Duration = Duration::from_secs(5);
/// After how long another is started if there is still none.
const START_AGAIN: Duration = Duration::from_millis(500);
/// How long somebody who only says that there is something to do waits.
const POKE: Duration = Duration::from_millis(200);

/// What is known of a decision without an answer.
const UNKNOWN: &str = "the server may have decided anyway; it is safe to run the command again";

/// Whether the mesh is linked with other machines.
pub fn is_linked(mesh: &Mesh) -> bool {
    mesh.link().is_configured()
}

/// The agent, as the link process is asked about it.
pub(in crate::ops) fn local(agent: &Agent) -> LocalAgent {
    LocalAgent { name: agent.name.clone(), session: agent.session.clone() }
}

/// Asks the server to decide, through the link process, which is started if necessary. No lock may be held: the answer
/// takes a round trip, and up to eight seconds if the server does not answer.
///
/// That the server can't be asked is an error here. What it decided is the answer, whatever it is.
pub(in crate::ops) fn decide(
    ctx: &Context,
    mesh: &Mesh,
    request: &LinkRequest,
) -> Result<LinkAnswer, CommandError> {
    debug_assert!(!crate::store::holds_a_lock(), "nobody waits for the network with a lock held");
    match say(ctx, mesh, request)? {
        LinkAnswer::Unreachable { problem } => Err(unreachable(&problem, "nothing has changed")),
        LinkAnswer::Unknown { problem } => Err(unreachable(&problem, UNKNOWN)),
        LinkAnswer::Refused { why } => {
            Err(CommandError::new(CommandErrorKind::Corrupt, format!("the server can't decide: {why}"))
                .hint("update `msg` on this machine: another machine may run a newer version"))
        }
        answer => Ok(answer),
    }
}

/// What became of a request to the link process.
pub(in crate::ops) enum AskedLink {
    Answered(LinkAnswer),
    /// The link process, or the server, was never reached: nothing has changed.
    NotSent(CommandError),
    /// Whether it was carried out is not known.
    Unknown(CommandError),
}

/// Asks the link process for something that may be asked for again: if it dies before it answers, the next one is asked.
pub(in crate::ops) fn ask_link(ctx: &Context, mesh: &Mesh, request: &LinkRequest) -> AskedLink {
    debug_assert!(!crate::store::holds_a_lock(), "nobody waits for the network with a lock held");
    let mut may_be_sent = false;
    for _ in 0..3 {
        match say(ctx, mesh, request) {
            Ok(LinkAnswer::Unreachable { problem }) if !may_be_sent => {
                return AskedLink::NotSent(unreachable(&problem, "nothing was asked"));
            }
            Ok(LinkAnswer::Unreachable { problem } | LinkAnswer::Unknown { problem }) => {
                return AskedLink::Unknown(unreachable(&problem, "whether it was asked is not known"));
            }
            Ok(answer) => return AskedLink::Answered(answer),
            Err(error) if error.kind == CommandErrorKind::NotBuiltIn => return AskedLink::NotSent(error),
            Err(_) => may_be_sent = true,
        }
    }
    AskedLink::Unknown(match say(ctx, mesh, request) {
        Ok(answer) => return AskedLink::Answered(answer),
        Err(error) => error,
    })
}

/// How long whoever asks for a decision waits for it.
pub(super) fn decision_limit() -> Duration {
    test_switches::or_long(DECISION)
}

/// Starts the link process if somebody killed it, for whoever waits for news from other machines.
pub(in crate::ops) fn keep_link(ctx: &Context, mesh: &Mesh) {
    let is_missing = mesh.link().is_running().is_ok_and(|is_running| !is_running);
    if is_linked(mesh) && is_missing && mesh.link().may_start().unwrap_or(false) {
        drop(start(ctx, mesh));
    }
}

fn say(ctx: &Context, mesh: &Mesh, request: &LinkRequest) -> Result<LinkAnswer, CommandError> {
    let until = Instant::now() + decision_limit();
    let path = mesh.link().socket();
    let mut started: Option<Instant> = None;
    let give_up = Instant::now() + test_switches::or_long(START);
    loop {
        match line_socket::ask(&path, &request.line(), until, MAX_LINE) {
            Ok(line) => {
                return LinkAnswer::parse(&line).map_err(|error| {
                    let text = format!("the answer of the link process can't be read: {error}");
                    CommandError::new(CommandErrorKind::Bug, text).hint(
                        "is it an older `msg`? `msg link stop` ends it; the next command starts another",
                    )
                });
            }
            Err(LineSocketError::Absent) if Instant::now() < give_up => {
                // Again: what it met may have been a process that was just ending.
                if started.is_none_or(|started| started.elapsed() >= START_AGAIN) {
                    start(ctx, mesh)?;
                    started = Some(Instant::now());
                }
                clock::pause(Duration::from_millis(20));
            }
            Err(error) => return Err(no_link(mesh, &error)),
        }
    }
}

/// What the server granted and is not written down here yet. Unless it is kept, the link process is told to give it
/// back. It must outlive the locks: declare it before them.
#[must_use]
pub(in crate::ops) struct LinkGrant<'a> {
    ctx: &'a Context,
    mesh: &'a Mesh,
    is_kept: bool,
}

impl<'a> LinkGrant<'a> {
    pub(in crate::ops) fn new(ctx: &'a Context, mesh: &'a Mesh) -> Self {
        Self { ctx, mesh, is_kept: false }
    }

    /// It is written down.
    pub(in crate::ops) fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for LinkGrant<'_> {
    fn drop(&mut self) {
        if !self.is_kept {
            poke(self.ctx, self.mesh);
        }
    }
}

/// Tells the link process that there is something to do, and starts it if there is none. It waits for nothing and
/// fails silently: the link process looks by itself, too.
pub(in crate::ops) fn poke(ctx: &Context, mesh: &Mesh) {
    if !is_linked(mesh) {
        return;
    }
    let until = Instant::now() + test_switches::or_long(POKE);
    if matches!(
        line_socket::tell(&mesh.link().socket(), &LinkRequest::Poke.line(), until),
        Err(LineSocketError::Absent)
    ) {
        // It is started for what is queued on the disk, which stays there if that fails.
        drop(start(ctx, mesh));
    }
}

/// Starts the link process of a linked mesh if somebody killed it. Every command and hook does that at its end, and waits
/// for nothing: on an unlinked mesh it is one look at the file system.
pub(in crate::ops) fn keep_alive(op: &Op) {
    if !cfg!(feature = "link") || op.is_about_link() {
        return;
    }
    // A command that had nothing to do with the mesh is no reason to open it.
    let Some(mesh) = op.opened_mesh().filter(|mesh| is_linked(mesh)) else { return };
    let is_missing = mesh.link().is_running().is_ok_and(|is_running| !is_running);
    // Many hooks at once start one, and one that can't live is not started by each of them.
    if is_missing && mesh.link().may_start().unwrap_or(false) {
        drop(start(op, &mesh));
    }
}

/// Starts the link process in the background. If there is one, the new one ends by itself.
pub(in crate::ops) fn start(ctx: &Context, mesh: &Mesh) -> Result<(), CommandError> {
    if !cfg!(feature = "link") {
        return Err(not_built_in());
    }
    if mesh.link().is_running()? {
        return Ok(());
    }
    let location = ctx.location.to_string();
    let args: Vec<OsString> =
        ["--mesh", location.as_str(), "link", "run", "--background"].map(Into::into).to_vec();
    // It belongs to no run, whoever starts it.
    detached::start_supervisor(&args, &[RUN_VARIABLE, "MSG_AGENT"]).map(detached::reap).map_err(|error| {
        let text = format!("the link process could not be started: {error}");
        CommandError::new(CommandErrorKind::Io, text).hint("run `msg link run` to see what it says")
    })
}

/// The error of a program that can't link.
pub fn not_built_in() -> CommandError {
    CommandError::new(
        CommandErrorKind::NotBuiltIn,
        "this `msg` was built without the feature `link`, so it can't talk to other machines",
    )
    .hint("install a released `msg`, or build it with `cargo build --release --features link`")
}

/// The error for a server that can't be asked.
pub(in crate::ops) fn unreachable(problem: &LinkProblem, so: &str) -> CommandError {
    let text = format!("{}; {so}", problem.text);
    let error = CommandError::new(CommandErrorKind::NotLinked, text).fact("problem", problem.kind.as_str());
    let error = problem.hints.iter().fold(error, |error, hint| error.hint(hint.as_str()));
    error.hint(
        "`msg link status` shows the state of the link; commands that concern only this machine work without \
         the server",
    )
}

fn no_link(mesh: &Mesh, error: &LineSocketError) -> CommandError {
    if matches!(error, LineSocketError::TimedOut | LineSocketError::Closed) {
        // It has the request.
        let text = format!("the link process does not answer: {error}; {UNKNOWN}");
        return CommandError::new(CommandErrorKind::NotLinked, text)
            .fact("problem", "no_answer")
            .hint("`msg link status` shows its state");
    }
    let state: Result<_, StoreError> = mesh.link().state();
    if let Ok(Some(problem)) = state.map(|state| state.and_then(|state| state.problem)) {
        return unreachable(&problem, "nothing has changed");
    }
    CommandError::new(CommandErrorKind::NotLinked, format!("the link process does not answer: {error}")).hint(
        "`msg link status` shows its state; `msg link run` runs it in this terminal and says what it does",
    )
}

/// An agent as it is written here: with its machine, if that is not this one.
pub(in crate::ops) fn agent_text(agent: &Agent) -> String {
    match &agent.machine {
        Some(machine) => format!("{} on {}", agent.name, machine.name),
        None => agent.name.to_string(),
    }
}

/// How somebody on another machine is written: `Anna on laptop`.
pub(in crate::ops) fn holder_text(holder: &Holder) -> String {
    use crate::domain::quote_name;
    format!("{} on {}", quote_name(&holder.agent), quote_name(&holder.machine))
}
