//! Telling of changes as they happen: who is there, the tasks, the mail. Nothing is taken.
//!
//! As everywhere, an event is a hint to look; what looks different from before is told. What goes away raises no hint, and
//! a spec lies where nobody watches: a slow tick sees those.

use std::time::Duration;

use crossbeam_channel::{after, never, select};

use crate::store::{Fingerprint, WatchTarget};
use crate::sys::signals::Stop;
use crate::sys::watch::DirWatch;

use crate::ops::agents::identity;
use crate::ops::context::Context;
use crate::ops::error::CommandError;

const TICK: Duration = Duration::from_secs(2);

/// What may change.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Matter {
    Agents,
    Tasks,
    Mail,
}

/// Tells of each change until it is stopped.
pub fn look_out(ctx: &Context, stop: &Stop, tell: &mut dyn FnMut(Matter)) -> Result<(), CommandError> {
    let mut watch: Option<DirWatch> = None;
    let mut before: Option<Fingerprint> = None;
    while !stop.is_asked() {
        // There may be no mesh yet, and whoever looks need not have joined it.
        if let Some(mesh) = ctx.mesh()? {
            let me = identity::glance(ctx, &mesh, &mesh.census()?);
            let is_sound = match &watch {
                Some(watch) => mesh.is_sound(watch, WatchTarget::Fingerprint(me.as_ref()))?,
                None => false,
            };
            if !is_sound {
                // Where nothing can be watched the tick has to do.
                watch = mesh.watch(WatchTarget::Fingerprint(me.as_ref()))?.ok();
            }
            let now = mesh.marks(me.as_ref())?;
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

fn differences(before: &Fingerprint, after: &Fingerprint) -> Vec<Matter> {
    let mut matters = Vec::new();
    matters.extend((before.agents != after.agents).then_some(Matter::Agents));
    matters.extend((before.tasks != after.tasks).then_some(Matter::Tasks));
    matters.extend((before.mail != after.mail).then_some(Matter::Mail));
    matters
}
