//! What hooks of agents have reported as changed in a work tree.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use super::WorkPlace;
use crate::domain::awareness::counters::AgentId;
use crate::domain::awareness::track::Deed;
use crate::ops::error::CommandError;
use crate::store::Mesh;

/// The files of the work tree that these agents have changed since then, relative to its root.
pub(in crate::ops) fn reported_changes(
    mesh: &Mesh,
    root: &Path,
    since: Timestamp,
    is_meant: impl Fn(&AgentId) -> bool,
) -> Result<Vec<PathBuf>, CommandError> {
    let place = WorkPlace::of(root);
    let track = mesh.awareness().track(&place.repository)?;
    let recent = track.lines.iter().rev().take_while(|line| line.stamp.at >= since.as_millisecond());
    let mut known = Vec::new();
    for line in recent.filter(|line| is_meant(&line.stamp.agent)) {
        if let Deed::Changed { tree, files } = &line.deed
            && *tree == place.tree
        {
            known.extend(files.iter().map(|file| PathBuf::from(OsStr::from_bytes(file))));
        }
    }
    Ok(known)
}
