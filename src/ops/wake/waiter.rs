//! The waiter: a process that waits beside an idle session and wakes it when mail comes.
//!
//! A waiter takes nothing from the inbox; it looks, and has its agent told which paths are free. It ends with its
//! session, when another waiter replaces it, or when a turn has begun.

use std::rc::Rc;
use std::slice;
use std::time::{Duration, Instant};

use crate::domain::{Agent, SessionId};
use crate::ops::agents::identity;
use crate::ops::context::{Context, GlobalOptions};
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::messages::unread_reports::UnreadReporter;
use crate::ops::reservations::waiting::WaitNotifier;
use crate::ops::runs::own_run::worker_run;
use crate::ops::watcher::mesh_watcher::{MeshWatcher, WatchWakeup, current};
use crate::store::{Mesh, SessionState, WatchTarget};
use crate::sys::signals::StopRequest;

use super::{NUDGE, count_turn, is_wanted, is_worth_a_turn};

/// A waiter ends at the latest this long after its session has ended or it was replaced.
const TICK: Duration = Duration::from_secs(1);
/// How long a waiter waits for the hook that reports the session as idle: both start at the same time.
const GRACE: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How waiting ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum WaiterEnd {
    /// Mail arrived, and this process won the right to wake the session, with this text.
    Wake(&'static str),
    /// There is nothing more to wait for.
    Over,
}

/// Waits until mail comes for the agent of that session while it is idle. That may take days, so warnings go to `warn`
/// as they come up.
pub fn wait(
    op: &Op,
    globals: &GlobalOptions,
    session: &SessionId,
    stop: &StopRequest,
    warn: &dyn Fn(&str),
) -> Result<WaiterEnd, CommandError> {
    // Those of the settings, which `doctor` shows anyway.
    drop(op.take_warnings());
    if is_of_headless_worker(op)? {
        return Ok(WaiterEnd::Over);
    }
    let started = Instant::now();
    let Some((mesh, mut me)) = find(op, session, stop)? else { return Ok(WaiterEnd::Over) };
    mesh.session_states().begin_waiting(session)?;
    let mut watcher = MeshWatcher::new(op, &mesh);
    let (reminder, unread_reporter) = (WaitNotifier::default(), UnreadReporter::default());
    let mut has_rested = false;
    loop {
        watcher.arm(WatchTarget::Inbox(&me))?;
        if !mesh.session_states().is_waiting(session)? {
            return Ok(WaiterEnd::Over);
        }
        match current(&mesh, &me) {
            Ok(now) => me = now.unwrap_or(me),
            Err(error) if error.kind == CommandErrorKind::NotJoined => return Ok(WaiterEnd::Over),
            Err(error) => return Err(error),
        }
        mesh.session_states().answer_ping(session)?;
        match mesh.session_states().get(session)? {
            SessionState::Idle => has_rested = true,
            // The hook of our own session may not have reported yet that it is idle.
            SessionState::Working | SessionState::Unknown if !has_rested && started.elapsed() < GRACE => {}
            SessionState::Working | SessionState::Unknown => return Ok(WaiterEnd::Over),
        }
        if has_rested {
            reminder.tell_if_owed(op, &mesh, &me);
            unread_reporter.tell_if_due(op, &mesh, &me);
            op.take_warnings().iter().for_each(|text| warn(text));
            if may_wake(globals, &mesh, session, &me)? {
                return Ok(WaiterEnd::Wake(NUDGE));
            }
        }
        if watcher.wait(stop, Some(Instant::now() + TICK)) == WatchWakeup::Stopped {
            return Ok(WaiterEnd::Over);
        }
    }
}

/// Whether the session is a worker's without a terminal. That ends with its turn, but its harness may wait for us before, for
/// half a minute.
fn is_of_headless_worker(op: &Op) -> Result<bool, CommandError> {
    let Some(mesh) = op.mesh()? else { return Ok(false) };
    Ok(worker_run(&mesh)?.is_some_and(|run| run.pane.is_none()))
}

/// The mesh and the agent of that session. At the start of a session, the hook that joins it runs at the same time.
fn find(op: &Op, session: &SessionId, stop: &StopRequest) -> Result<Option<(Rc<Mesh>, Agent)>, CommandError> {
    let started = Instant::now();
    while is_wanted(op) && !stop.is_requested() && started.elapsed() < GRACE {
        if let Some(mesh) = op.mesh()?
            && let Some(me) = identity::at_hook(op, &mesh, slice::from_ref(session))?
        {
            return Ok((!me.is_foreign()).then_some((mesh, me)));
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(None)
}

/// Whether there is a reason to wake the session and this process won the right to do it.
fn may_wake(
    globals: &GlobalOptions,
    mesh: &Mesh,
    session: &SessionId,
    me: &Agent,
) -> Result<bool, CommandError> {
    if !is_worth_a_turn(mesh, me)? {
        return Ok(false);
    }
    // Read the settings again: we may have started days ago.
    let (ctx, _) = Context::tolerant(globals.clone())?;
    let has_turns = mesh.hooks().mail_turns(session)?.count < ctx.settings.mail_turns();
    if !is_wanted(&ctx) || !has_turns || !mesh.session_states().claim_wake(session)? {
        return Ok(false);
    }
    count_turn(mesh, session)?;
    Ok(true)
}
