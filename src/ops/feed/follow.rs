//! Follows the feed: hands over events as they happen.

use std::time::Duration;

use crossbeam_channel::{after, select};

use crate::domain::Event;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::ops::messages::receive::Reached;
use crate::ops::messages::watch::End;
use crate::ops::watcher::mesh_watcher::{MeshWatcher, Woken};
use crate::store::{Project, WatchTarget};
use crate::sys::signals::Stop;

use super::{Cursor, since};

/// How often to look for a mesh that does not exist yet.
const LOOK_FOR_MESH: Duration = Duration::from_millis(500);

/// Hands over events from `cursor` on, each once, until it is stopped or nobody reads any more.
pub fn follow(
    op: &Op,
    mut cursor: Cursor,
    stop: &Stop,
    hand_over: &mut dyn FnMut(&[Event]) -> Reached,
) -> Result<End, CommandError> {
    let mesh = loop {
        match op.mesh()? {
            Some(mesh) => break mesh,
            // Before the first agent joins there is nothing to watch, not even a directory.
            None => select! {
                recv(stop.wake()) -> _ => return Ok(End::Stopped),
                recv(after(LOOK_FOR_MESH)) -> _ => {}
            },
        }
    };
    let project = Project::of(&op.cwd);
    let mut ear = MeshWatcher::new(op, &mesh);
    loop {
        ear.arm(WatchTarget::Feed(&project))?;
        let news = since(op, &cursor)?;
        news.complain(op);
        cursor = news.cursor;
        if !news.events.is_empty() && hand_over(&news.events) == Reached::No {
            return Ok(End::Closed);
        }
        if ear.wait(stop, None) == Woken::Stopped {
            return Ok(End::Stopped);
        }
    }
}
