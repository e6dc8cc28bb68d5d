//! Limits of a tool call that do not depend on who reserved what: the mode of the repository, and the fence of a run.

use std::path::{Path, PathBuf};

use crate::domain::hook::ToolUse;
use crate::domain::runs::RunId;
use crate::domain::{Notice, quote_code};
use crate::ops::error::CommandError;
use crate::ops::mode;
use crate::ops::runs::RUN_VARIABLE;
use crate::sys::environment::variable;
use crate::sys::paths;

use super::fence::Fence;
use super::plain_refusal::PlainRefusal;
use super::planned_changes::ToolPlan;
use super::{HookRun, parent_tree, session};

/// Directories of the mesh that only `msg` writes.
const OURS: [&str; 2] = ["modes", "runs"];

/// Says what could not be found out.
pub(super) fn in_doubt(error: &CommandError) -> String {
    format!("the mode of the repository or the record of the run can't be read: {}", error.message)
}

impl HookRun<'_> {
    /// The refusal of a tool call that changes what agents must not change here.
    pub(super) fn forbidden(
        &self,
        tool: &ToolUse,
        plan: &ToolPlan,
    ) -> Result<Option<PlainRefusal>, CommandError> {
        let fenced = self.fence()?.and_then(|(_, fence)| fence.refusal(tool, plan));
        if fenced.is_some() {
            return Ok(fenced);
        }
        if let Some(refusal) = self.refusal_of_ours(plan) {
            return Ok(Some(refusal));
        }
        for change in &plan.changes {
            let Some(mode) = mode::forbidding_edit(self.mesh, &change.place())? else { continue };
            let shown = change.shown(self.place());
            let text = format!(
                "{} is not changed: this repository is in mode `{}`, in which {}. Go on without changing files, \
                 or ask for it: a person can run `{}`.",
                quote_code(&shown),
                mode.name(),
                mode.meaning(),
                mode::way_out(self.op)
            );
            return Ok(Some(PlainRefusal { text, shown }));
        }
        Ok(None)
    }

    /// What no agent writes itself: modes and answers to questions would count as a person's.
    fn refusal_of_ours(&self, plan: &ToolPlan) -> Option<PlainRefusal> {
        if plan.changes.is_empty() {
            return None;
        }
        let mesh = paths::follow(Path::new(&self.op.location.to_string()));
        let is_ours = |place: &PathBuf| OURS.iter().any(|dir| place.starts_with(mesh.join(dir)));
        let place = plan.changes.iter().map(|change| change.place()).find(is_ours)?;
        let shown = place.to_string_lossy().into_owned();
        let text = format!(
            "{} is not changed: only `msg` writes there. Use its commands; `msg help` lists them.",
            quote_code(&shown)
        );
        Some(PlainRefusal { text, shown })
    }

    /// The refusal of a tool call that would change something, if nobody can tell whether it may.
    pub(super) fn refusal_in_doubt(&self, plan: &ToolPlan, error: &CommandError) -> Option<PlainRefusal> {
        let by_git = || plan.runs.iter().any(|run| run.program == "git").then(|| "git".to_string());
        let change = plan.changes.first().map(|change| change.shown(self.place()));
        let is_worker = variable(RUN_VARIABLE).is_some();
        let shown = change.or_else(|| by_git().filter(|_| is_worker))?;
        let way_out = match is_worker {
            true => "stop, and say so in your last words".to_string(),
            false => format!("a person can set the mode again: `{}`", mode::way_out(self.op)),
        };
        let text = format!("{} is refused: {}; {way_out}.", quote_code(&shown), in_doubt(error));
        Some(PlainRefusal { text, shown })
    }

    /// The fence of the run whose worker this session is, if it has one. Without one, that of the run above it counts: a
    /// worker may do no more than who started it.
    pub(super) fn fence(&self) -> Result<Option<(RunId, Fence)>, CommandError> {
        let Some(run) = session::own_run(self.op)? else { return Ok(None) };
        let id = run.id.clone();
        let mut next = Some(run);
        while let Some(run) = next {
            if let Some(fence) = Fence::of(self.op, &run) {
                return Ok(Some((id, fence)));
            }
            next = run.parent.run.as_ref().map(|above| self.mesh.runs().get(above)).transpose()?.flatten();
        }
        Ok(None)
    }

    /// Notes what the tree looks like that the run works for, before a command of which nobody can tell what it writes.
    pub(super) fn note_parent_tree(&self, tool: &ToolUse, plan: &ToolPlan) -> Result<(), CommandError> {
        if tool.command.is_none() || !plan.is_opaque && plan.unread.is_none() {
            return Ok(());
        }
        match self.fence()? {
            Some((id, fence)) => parent_tree::note(self, (&id, &fence), tool),
            None => Ok(()),
        }
    }

    /// What changed in that tree while the command ran.
    pub(super) fn compare_parent_tree(&self, tool: &ToolUse) -> Result<Option<Notice>, CommandError> {
        if tool.command.is_none() {
            return Ok(None);
        }
        match self.fence()? {
            Some((id, fence)) => parent_tree::compare(self, (&id, &fence), tool),
            None => Ok(None),
        }
    }
}
