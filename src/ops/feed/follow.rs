//! Follows the feed: hands over events as they happen.

use std::time::Duration;

use crossbeam_channel::{after, select};

use crate::domain::Event;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::ops::messages::receive::HandoverOutcome;
use crate::ops::messages::watch::WatchEnd;
use crate::ops::watcher::mesh_watcher::{MeshWatcher, WatchWakeup};
use crate::store::{ProjectFeeds, WatchTarget};
use crate::sys::signals::StopRequest;

use super::{FeedCursor, since};

/// How often to look for a mesh that does not exist yet.
const LOOK_FOR_MESH: Duration = Duration::from_millis(500);

/// Hands over events from `cursor` on, each once, until it is stopped or nobody reads any more.
pub fn follow(
    op: &Op,
    mut cursor: FeedCursor,
    stop: &StopRequest,
    hand_over: &mut dyn FnMut(&[Event]) -> HandoverOutcome,
) -> Result<WatchEnd, CommandError> {
    let mesh = loop {
        match op.mesh()? {
            Some(mesh) => break mesh,
            // Before the first agent joins there is nothing to watch, not even a directory.
            None => select! {
                recv(stop.wake()) -> _ => return Ok(WatchEnd::Stopped),
                recv(after(LOOK_FOR_MESH)) -> _ => {}
            },
        }
    };
    let project = ProjectFeeds::of(&op.cwd);
    let mut watcher = MeshWatcher::new(op, &mesh);
    loop {
        watcher.arm(WatchTarget::Feed(&project))?;
        let news = since(op, &cursor)?;
        news.complain(op);
        cursor = news.cursor;
        if !news.events.is_empty() && hand_over(&news.events) == HandoverOutcome::ReaderGone {
            return Ok(WatchEnd::Closed);
        }
        if watcher.wait(stop, None) == WatchWakeup::Stopped {
            return Ok(WatchEnd::Stopped);
        }
    }
}
