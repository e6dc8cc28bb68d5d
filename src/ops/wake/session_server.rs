//! Wakes a session through our own MCP server, which its harness started: a harness that keeps inboxes for its sessions
//! accepts what their own processes post.
//!
//! It wakes last: only if the session has no waiter, and, where senders could post themselves, only what they leave
//! undone. It is recorded in the mesh, so that senders know of it; as everywhere, the process that renames `resting`
//! first wakes the session.
//!
//! Where senders can post, it waits two seconds for them. Where the inbox takes nothing, a channel notification is the
//! last way (`faces::mcp::channel`), because the harness does not say whether it listens.

use std::rc::Rc;
use std::time::{Duration, Instant};

use crossbeam_channel::{after, select};

use crate::domain::{Agent, Liveness, Pid};
use crate::harness::ancestry::{self, Host};
use crate::harness::wake::{PostOrigin, WakeFailure};
use crate::harness::{self, HarnessSupport};
use crate::ops::agents::identity;
use crate::ops::context::{Context, GlobalOptions};
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::messages::receive::HandoverOutcome;
use crate::ops::messages::unread_reports::UnreadReporter;
use crate::ops::reservations::waiting::WaitNotifier;
use crate::ops::watcher::mesh_watcher::{MeshWatcher, WatchWakeup, current};
use crate::store::{ChannelState, Mesh, SessionServer, SessionState, WatchTarget};
use crate::sys::process;
use crate::sys::signals::StopRequest;

use super::{NUDGE, count_turn, is_waited_beside, is_wanted, is_worth_a_turn, session_inbox, uncount_turn};

/// How often to look for what raises no event: a session that joined, or a waiter that died.
const TICK: Duration = Duration::from_secs(2);
/// How long a session is left alone after it could not be woken.
const PAUSE: Duration = Duration::from_secs(30);

/// A way to tell a session something through its client.
pub trait Channel {
    /// Whether its user wants that.
    fn is_open(&self) -> bool;
    fn tell(&self, text: &str) -> HandoverOutcome;
}

/// Whether this process may belong to a session that it can attend: the harness above it has such inboxes, or none is
/// known.
pub fn can_attend() -> bool {
    let host = ancestry::nearest_harness(&ancestry::ancestors());
    let has_inboxes =
        |host: &Host| harness::support(host.harness).and_then(HarnessSupport::inboxes).is_some();
    host.is_none_or(|host| has_inboxes(&host))
}

/// Attends the session that this process belongs to, until it is stopped. If there is none yet, it waits for one. It
/// may run for days, so warnings go to `warn` as they come up.
pub fn attend(
    op: &Op,
    globals: &GlobalOptions,
    channel: &dyn Channel,
    stop: &StopRequest,
    warn: &dyn Fn(&str),
) -> Result<(), CommandError> {
    while !stop.is_requested() {
        if let Some((mesh, me)) = find(op)? {
            let (reminder, unread_reporter) = (WaitNotifier::default(), UnreadReporter::default());
            Round { globals, op, mesh: &mesh, channel, reminder, unread_reporter, warn }.stay(me, stop)?;
        }
        select! {
            recv(stop.wake()) -> _ => return Ok(()),
            recv(after(TICK)) -> _ => {}
        }
    }
    Ok(())
}

/// Whether a live attendant of that agent could wake it.
pub(super) fn is_there(ctx: &Context, mesh: &Mesh, agent: &Agent) -> Result<bool, CommandError> {
    let attendant = mesh.session_states().server(&agent.session)?;
    let Some(SessionServer { process, has_channel }) = attendant else { return Ok(false) };
    let lives = process::liveness(&process) == Liveness::Alive && is_within(agent, process.pid());
    Ok(lives && (has_channel || session_inbox::check(ctx, mesh, agent, PostOrigin::OwnProcess).is_ok()))
}

/// Whether that process is one of the session's own. A harness treats a process with another parent as a stranger.
fn is_within(agent: &Agent, pid: Pid) -> bool {
    ancestry::above(pid).contains(&agent.process.pid())
}

fn find(ctx: &Context) -> Result<Option<(Rc<Mesh>, Agent)>, CommandError> {
    let Some(mesh) = ctx.mesh()? else { return Ok(None) };
    let found = identity::at_statusline(ctx, &mesh, &mesh.registry().indexed()?, None)?;
    let is_ours = |me: &Agent| session_inbox::of(me).is_some() && is_within(me, process::own_pid());
    Ok(found.filter(is_ours).map(|me| (mesh, me)))
}

struct Round<'a> {
    globals: &'a GlobalOptions,
    op: &'a Op,
    mesh: &'a Mesh,
    channel: &'a dyn Channel,
    reminder: WaitNotifier,
    unread_reporter: UnreadReporter,
    warn: &'a dyn Fn(&str),
}

impl Round<'_> {
    /// Stays with the agent until it leaves.
    fn stay(&self, mut me: Agent, stop: &StopRequest) -> Result<(), CommandError> {
        let mut watcher = MeshWatcher::new(self.op, self.mesh);
        let mut pace = Pace { not_before: Instant::now(), left_to_others: None };
        loop {
            watcher.arm(WatchTarget::Inbox(&me))?;
            match current(self.mesh, &me) {
                Ok(now) => me = now.unwrap_or(me),
                Err(error) if error.kind == CommandErrorKind::NotJoined => return Ok(()),
                Err(error) => return Err(error),
            }
            let channel = if self.channel.is_open() { ChannelState::Open } else { ChannelState::Closed };
            self.mesh.session_states().set_server(&me.session, channel)?;
            if Instant::now() >= pace.not_before {
                self.wake(&me, &mut pace)?;
            }
            self.op.take_warnings().iter().for_each(|text| (self.warn)(text));
            if watcher.wait(stop, Some(Instant::now() + TICK)) == WatchWakeup::Stopped {
                return Ok(());
            }
        }
    }

    /// Wakes the agent if there is a reason and this process wins the right to.
    fn wake(&self, me: &Agent, pace: &mut Pace) -> Result<(), CommandError> {
        let (mesh, session) = (self.mesh, &me.session);
        let since = pace.left_to_others.take();
        let is_idle =
            mesh.session_states().get(session)? == SessionState::Idle && !is_waited_beside(mesh, me)?;
        if !is_idle {
            return Ok(());
        }
        self.reminder.tell_if_owed(self.op, mesh, me);
        self.unread_reporter.tell_if_due(self.op, mesh, me);
        if !is_worth_a_turn(mesh, me)? {
            return Ok(());
        }
        // Read the settings again: we may have started days ago.
        let ctx = Context::new(self.globals.clone())?;
        if !is_wanted(&ctx) || mesh.hooks().mail_turns(session)?.count >= ctx.settings.mail_turns() {
            return Ok(());
        }
        if session_inbox::check(&ctx, mesh, me, PostOrigin::Outside).is_ok() {
            let since = since.unwrap_or_else(Instant::now);
            if since.elapsed() < TICK {
                pace.left_to_others = Some(since);
                return Ok(());
            }
        }
        let inbox = session_inbox::check(&ctx, mesh, me, PostOrigin::OwnProcess);
        let has_way = inbox.is_ok() || self.channel.is_open();
        if !has_way || !mesh.session_states().claim_wake(session)? {
            return Ok(());
        }
        let turns = count_turn(mesh, session)?;
        let said = match inbox {
            Ok(inbox) => inbox.post(me, NUDGE),
            Err(reason) => match self.channel.tell(NUDGE) {
                HandoverOutcome::Delivered => Ok(()),
                HandoverOutcome::ReaderGone => Err(reason.into()),
            },
        };
        if let Err(WakeFailure::Unsaid(_)) = said {
            uncount_turn(mesh, session, &turns)?;
        }
        if said.is_err() {
            pace.not_before = Instant::now() + PAUSE;
        }
        Ok(())
    }
}

/// When to wake.
struct Pace {
    /// After a failure, don't try again before this.
    not_before: Instant,
    /// Since when there is a reason to wake that is left to the senders.
    left_to_others: Option<Instant>,
}
