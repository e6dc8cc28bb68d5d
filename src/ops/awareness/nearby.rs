//! Who is near: the agents that work in the same repository now, each with the file that it changed last.

use std::collections::HashMap;

use crate::domain::awareness::counters::AgentId;
use crate::domain::awareness::heads_up::shorten_path;
use crate::domain::awareness::track::Deed;
use crate::domain::settings::AwarenessMode;
use crate::domain::{Agent, quote_code};
use crate::ops::context::Context;
use crate::ops::error::CommandError;
use crate::store::Mesh;
use crate::sys::clock;

use super::WorkPlace;

/// Those of `others` that changed a file of this repository in the window, in words for a model, the latest first. Empty
/// if models are told nothing.
pub(in crate::ops) fn nearby(
    ctx: &Context,
    mesh: &Mesh,
    others: &[Agent],
) -> Result<Vec<String>, CommandError> {
    if ctx.settings.awareness != AwarenessMode::Warn || others.is_empty() {
        return Ok(Vec::new());
    }
    let place = WorkPlace::of(&ctx.cwd);
    let since = (clock::now() - ctx.settings.awareness_window()).as_millisecond();
    let mut left: HashMap<AgentId, &Agent> =
        others.iter().map(|other| (AgentId::of(&other.session), other)).collect();
    let mut near = Vec::new();
    let track = mesh.awareness().track(&place.repository)?;
    for line in track.lines.iter().rev().filter(|line| line.stamp.at >= since) {
        let Deed::Changed { tree, files } = &line.deed else { continue };
        let (Some(file), Some(other)) = (files.last(), left.remove(&line.stamp.agent)) else { continue };
        let file = quote_code(&shorten_path(&String::from_utf8_lossy(file)));
        let elsewhere = if *tree == place.tree { "" } else { " of another worktree" };
        near.push(format!("{} is in {file}{elsewhere}", other.name));
    }
    Ok(near)
}
