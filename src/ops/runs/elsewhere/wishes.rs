//! What somebody here wants of a run on another machine: that it stops, or the end of its log.

use std::time::{Duration, Instant};

use crate::domain::link::RunAsker;
use crate::domain::runs::{Run, RunElsewhere};
use crate::ops::agents::identity;
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::ops::link::ask::poke;
use crate::ops::link::elsewhere::LinkHealth;
use crate::store::{Mesh, StopUrgency, StopWish, WatchTarget};
use crate::sys::clock;

/// How long the log of a run that goes on may take to come.
const LOG_LIMIT: Duration = Duration::from_secs(10);

/// Asks the other machine to stop the run. Only who asked for it may do that, and people.
pub(in crate::ops::runs) fn stop(
    op: &Op,
    mesh: &Mesh,
    run: &Run,
    urgency: StopUrgency,
) -> Result<(), CommandError> {
    let by = match identity::caller(op) {
        Ok((_, caller)) => RunAsker::Agent { name: caller.agent.name, session: caller.agent.session },
        Err(_) => RunAsker::Person,
    };
    let asked = mesh.remote().run(&run.id)?.map(|asked| asked.ask.by);
    if !asked.is_some_and(|asked| asked.may_be_stopped_by(&by)) {
        let text = format!("run {} was asked for by another agent", run.id);
        return Err(CommandError::new(CommandErrorKind::NotYours, text)
            .hint("the agent that asked for it may stop it, and people"));
    }
    mesh.remote().want_stop(&run.id, &StopWish { by, is_now: urgency == StopUrgency::Now })?;
    poke(op, mesh);
    if LinkHealth::of(mesh) != LinkHealth::Linked {
        op.warn("the link is down: the run is stopped when the other machine is reached again");
    }
    Ok(())
}

/// The end of `output` or `errors`, which its worker has printed: that of its end, or what the other machine tells now.
pub(in crate::ops::runs) fn log(op: &Op, mesh: &Mesh, run: &Run, name: &str) -> Result<String, CommandError> {
    let Some(RunElsewhere { machine, .. }) = &run.elsewhere else { return Ok(String::new()) };
    if run.state.is_final() {
        return Ok(mesh.remote().run_log(&run.id, name)?.unwrap_or_default());
    }
    let watch = mesh.watch(WatchTarget::RunElsewhere(&run.id))?.ok();
    mesh.remote().want_log(&run.id)?;
    poke(op, mesh);
    let until = Instant::now() + LOG_LIMIT;
    while Instant::now() < until {
        if let Some(log) = mesh.remote().run_log(&run.id, name)? {
            return Ok(log);
        }
        let tick = Duration::from_millis(200);
        match &watch {
            Some(watch) => drop(watch.hints().recv_timeout(tick)),
            None => clock::pause(tick),
        }
    }
    let text = format!("{machine} did not tell what the worker has printed");
    Err(CommandError::new(CommandErrorKind::TimedOut, text)
        .hint("`msg link status` shows whether it is reached"))
}
