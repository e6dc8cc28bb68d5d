//! Limits of a tool call that do not depend on who reserved what: the mode of the repository.

use crate::domain::quote_code;
use crate::ops::error::CommandError;
use crate::ops::mode;

use super::HookRun;
use super::planned_changes::ToolPlan;

/// A refusal, and what it is about.
pub(super) struct PlainRefusal {
    /// For the model.
    pub(super) text: String,
    /// The path, as it is shown to people.
    pub(super) shown: String,
}

impl HookRun<'_> {
    /// The refusal of a tool call that changes what agents must not change here.
    pub(super) fn forbidden(&self, plan: &ToolPlan) -> Result<Option<PlainRefusal>, CommandError> {
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
}
