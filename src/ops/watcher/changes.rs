//! Reports changes of the mesh as they happen: agents, tasks, mail. Takes nothing from the inbox.
//!
//! An event only triggers a look; what differs from the look before is reported. An agent that dies raises no event,
//! and the directory of a spec is not watched: a tick every 2 s finds those.

use std::time::Duration;

use crossbeam_channel::{after, never, select};

use crate::store::{Fingerprint, WatchTarget};
use crate::sys::signals::StopRequest;
use crate::sys::watch::DirWatch;

use crate::ops::agents::identity;
use crate::ops::context::Context;
use crate::ops::error::CommandError;

const TICK: Duration = Duration::from_secs(2);

/// What may have changed.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum MeshChange {
    Agents,
    Tasks,
    Mail,
}

/// Reports each change until it is stopped.
pub fn watch_changes(
    ctx: &Context,
    stop: &StopRequest,
    tell: &mut dyn FnMut(MeshChange),
) -> Result<(), CommandError> {
    let mut watch: Option<DirWatch> = None;
    let mut before: Option<Fingerprint> = None;
    while !stop.is_requested() {
        // There may be no mesh yet, and the caller need not have joined it.
        if let Some(mesh) = ctx.mesh()? {
            let me = identity::caller_if_certain(ctx, &mesh, &mesh.registry().census()?);
            let is_sound = match &watch {
                Some(watch) => mesh.is_sound(watch, WatchTarget::Fingerprint(me.as_ref()))?,
                None => false,
            };
            if !is_sound {
                // Where nothing can be watched, the tick alone has to do.
                watch = mesh.watch(WatchTarget::Fingerprint(me.as_ref()))?.ok();
            }
            let now = mesh.fingerprint(me.as_ref())?;
            let then = before.replace(now.clone()).unwrap_or_else(|| now.clone());
            differences(&then, &now).into_iter().for_each(&mut *tell);
        }
        let silence = never();
        select! {
            recv(stop.wake()) -> _ => return Ok(()),
            recv(watch.as_ref().map_or(&silence, DirWatch::hints)) -> _ => {}
            recv(after(TICK)) -> _ => {}
        }
    }
    Ok(())
}

fn differences(before: &Fingerprint, after: &Fingerprint) -> Vec<MeshChange> {
    let mut matters = Vec::new();
    matters.extend((before.agents != after.agents).then_some(MeshChange::Agents));
    matters.extend((before.tasks != after.tasks).then_some(MeshChange::Tasks));
    matters.extend((before.mail != after.mail).then_some(MeshChange::Mail));
    matters
}
