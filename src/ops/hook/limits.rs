//! Limits of a tool call that do not depend on who reserved what: the mode of the repository, and the fence of a run.

use crate::domain::hook::ToolUse;
use crate::domain::runs::RunId;
use crate::domain::{Notice, quote_code};
use crate::ops::error::CommandError;
use crate::ops::mode;

use super::fence::Fence;
use super::plain_refusal::PlainRefusal;
use super::planned_changes::ToolPlan;
use super::{HookRun, parent_tree, session};

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

    /// The fence of the run whose worker this session is, if it has one.
    pub(super) fn fence(&self) -> Result<Option<(RunId, Fence)>, CommandError> {
        let run = session::own_run(self.op)?;
        Ok(run.and_then(|run| Some((run.id.clone(), Fence::of(self.op, &run)?))))
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
