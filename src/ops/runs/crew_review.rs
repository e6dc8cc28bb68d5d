//! What the reviewer of a crew is told besides the work: which files the plan does not name, and after rework what the
//! last review found and what is new since then. A review that begins from the start each time never ends.

use crate::domain::crews::outside_plan;
use crate::domain::runs::{ReviewOutcome, ReviewVerdict, Run};
use crate::sys::git::run_tree::DiffColour;

use super::review_task::{PlannedWork, ReviewedChanges};
use super::supervisor::Supervisor;

/// How many attempts before this one are looked at for the last review.
const MOST_EARLIER: usize = 50;

impl Supervisor<'_> {
    /// What is known of the work as part of a plan; `None`: it is not for a crew.
    pub(super) fn planned_work(&self) -> Option<PlannedWork> {
        self.order.crew.as_ref()?;
        let changed = self.run.changed.as_deref().unwrap_or_default();
        let outside = outside_plan(&self.run.reserve, changed).into_iter().map(str::to_string).collect();
        let open = self.reworked_run().and_then(|run| run.review).map(|review| review.told_findings());
        Some(PlannedWork { outside, open })
    }

    /// What is new since the reviewer asked for rework; `None`: nobody has asked for it, or that is not known any more.
    pub(super) fn changes_since_review(&self) -> Option<ReviewedChanges> {
        let tree = &self.work.as_ref()?.tree;
        let reviewed = self.mesh.runs().work(&self.reworked_run()?.id).ok()??.tip?;
        let diff = tree.diff_since(&reviewed, DiffColour::Never).ok()??;
        let text = String::from_utf8_lossy(&diff).into_owned();
        Some(ReviewedChanges::Since { run: self.run.id.clone(), text })
    }

    /// The last attempt before this one that a reviewer has judged, if the verdict was `rework`. Work that was found good
    /// since, and was only in the way of other work, is looked at as a whole.
    fn reworked_run(&self) -> Option<Run> {
        self.order.crew.as_ref()?;
        let mut earlier = self.run.earlier.clone();
        for _ in 0..MOST_EARLIER {
            let run = self.mesh.runs().get(earlier?.id()).ok()??;
            if let Some(ReviewOutcome::Given(review)) = run.review.as_ref().map(|review| &review.outcome) {
                return (review.verdict == ReviewVerdict::Rework).then_some(run);
            }
            earlier = run.earlier;
        }
        None
    }
}
