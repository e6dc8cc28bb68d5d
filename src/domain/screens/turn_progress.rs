//! How many turns a worker that is to write has ended without getting anywhere.

use super::hook_steps::{HookStep, HookStepKind, HookSteps};
use super::look_plan::ToolWork;
use super::stall::SpinWatch;

/// Counts the turns of one worker since it last wrote something, or a test had another result than before. The hooks keep
/// only their last steps, so it looks at them again and again, and counts each of them once.
#[derive(Clone, Debug, Default)]
pub struct TurnProgress {
    /// The last step that was counted.
    last: Option<HookStep>,
    watch: SpinWatch,
    /// How each test ended last.
    results: Vec<(Option<String>, String)>,
}

impl TurnProgress {
    /// Counts the steps that are new.
    pub fn add(&mut self, steps: &HookSteps) {
        let known = self.last.as_ref().and_then(|last| steps.all().iter().rposition(|step| step == last));
        for step in &steps.all()[known.map_or(0, |at| at + 1)..] {
            match (step.kind, step.work) {
                (HookStepKind::TurnEnds, _) => self.watch.note_turn(),
                (HookStepKind::ToolEnds, Some(ToolWork::Edits)) => self.watch.note_progress(),
                (HookStepKind::ToolEnds, Some(ToolWork::TestsOrBuild)) if self.is_new_result(step) => {
                    self.watch.note_progress();
                }
                _ => {}
            }
        }
        self.last = steps.last().cloned().or(self.last.take());
    }

    /// Whether that test had another result at last. One whose result is not known counts as new.
    fn is_new_result(&mut self, step: &HookStep) -> bool {
        let Some(result) = &step.result else { return true };
        match self.results.iter_mut().find(|(mark, _)| *mark == step.mark) {
            Some((_, before)) => std::mem::replace(before, result.clone()) != *result,
            None => {
                self.results.push((step.mark.clone(), result.clone()));
                true
            }
        }
    }

    /// Whether it has ended ten turns without progress.
    pub fn is_spinning(&self) -> bool {
        self.watch.is_spinning()
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    fn step(at: i64, kind: HookStepKind, work: ToolWork, result: &str) -> HookStep {
        let at = Timestamp::from_second(at).unwrap();
        let result = (!result.is_empty()).then(|| result.to_string());
        let mark = Some("make test".to_string());
        HookStep { mark, work: Some(work), result, ..HookStep::new(at, kind) }
    }

    /// Turns in each of which one tool ends so.
    fn turns(from: i64, count: i64, work: ToolWork, result: &str) -> Vec<HookStep> {
        let turn = |at| {
            let end = HookStep::new(Timestamp::from_second(at).unwrap(), HookStepKind::TurnEnds);
            [step(at, HookStepKind::ToolEnds, work, result), end]
        };
        (from..from + count).flat_map(turn).collect()
    }

    fn spins(steps: Vec<HookStep>) -> bool {
        let mut progress = TurnProgress::default();
        // The steps are read after each one, and only the newest are kept.
        for end in 1..=steps.len() {
            let start = end.saturating_sub(6);
            progress.add(&HookSteps::new(steps[start..end].to_vec()));
            progress.add(&HookSteps::new(steps[start..end].to_vec()));
        }
        progress.is_spinning()
    }

    #[test]
    fn ten_turns_without_a_write_or_another_result_are_too_many() {
        use ToolWork::{Edits, ReadsOrPlans, TestsOrBuild};
        assert!(!spins(turns(0, 9, ReadsOrPlans, "")));
        assert!(spins(turns(0, 10, ReadsOrPlans, "")));
        assert!(!spins(turns(0, 30, Edits, "")));
        assert!(!spins(turns(0, 30, TestsOrBuild, "")), "their results are not known");
        assert!(spins(turns(0, 11, TestsOrBuild, "failed")));
        let both = [turns(0, 6, TestsOrBuild, "failed"), turns(6, 6, TestsOrBuild, "passed")].concat();
        assert!(!spins(both));
    }
}
