//! What the hooks of a session reported last, in order: prompts, tool calls, and ends of turns.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::look_plan::ToolWork;
use super::stall::SpinWatch;
use super::steady_text::steady_text;
use crate::domain::sha256;

/// One thing that a hook reported.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HookStep {
    pub at: Timestamp,
    pub kind: HookStepKind,
    /// The harness's name for the tool.
    pub tool: Option<String>,
    /// Identifies the call, if the harness reports it.
    pub call: Option<String>,
    /// A hash of the prompt, or of the command that the tool runs ([`HookStep::mark_of`]).
    pub mark: Option<String>,
    /// A hash of what a tool is called with; `None` for calls that may well be repeated.
    pub arguments: Option<String>,
    /// What the tool does, as far as it decides when to look again.
    pub work: Option<ToolWork>,
    /// A hash of how a command ended and of what it said, if the harness reports that.
    pub result: Option<String>,
    /// A hash of the id of the subagent that did it; `None`: the agent itself.
    pub by: Option<String>,
}

/// What a hook reported.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HookStepKind {
    SessionStarted,
    PromptTaken,
    /// A tool is about to be used.
    ToolBegins,
    /// A tool was not used, because we refused it.
    ToolRefused,
    /// It is about to ask for permission.
    AsksLeave,
    ToolEnds,
    TurnEnds,
    /// The turn has ended because the model could not be asked.
    TurnFails,
}

impl HookStepKind {
    const ALL: [Self; 8] = [
        Self::SessionStarted,
        Self::PromptTaken,
        Self::ToolBegins,
        Self::ToolRefused,
        Self::AsksLeave,
        Self::ToolEnds,
        Self::TurnEnds,
        Self::TurnFails,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::SessionStarted => "start",
            Self::PromptTaken => "prompt",
            Self::ToolBegins => "before",
            Self::ToolRefused => "refused",
            Self::AsksLeave => "asks",
            Self::ToolEnds => "after",
            Self::TurnEnds => "stop",
            Self::TurnFails => "failed",
        }
    }

    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl HookStep {
    pub fn new(at: Timestamp, kind: HookStepKind) -> Self {
        Self {
            at,
            kind,
            tool: None,
            call: None,
            mark: None,
            arguments: None,
            work: None,
            result: None,
            by: None,
        }
    }

    /// Recognises the arguments of a tool, given as text.
    pub fn arguments_mark(text: &str) -> String {
        sha256(text.as_bytes()).chars().take(16).collect()
    }

    /// The same for texts that differ only in their blanks: a terminal may wrap a prompt, and programs trim it.
    pub fn mark_of(text: &str) -> String {
        let words: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        sha256(words.as_bytes()).chars().take(16).collect()
    }

    /// The same for results that differ only in what differs in each run of a program: times, ids, the order of lines.
    pub fn result_of(outcome: &str, output: &str) -> String {
        Self::mark_of(&format!("{outcome} {}", steady_text(output)))
    }

    /// Whether `end` reports the end of this call.
    fn is_ended_by(&self, end: &Self) -> bool {
        match (&self.call, &end.call) {
            (Some(own), Some(its)) => own == its,
            _ => (&self.tool, &self.mark) == (&end.tool, &end.mark),
        }
    }
}

/// The last steps of a session, oldest first.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct HookSteps(Vec<HookStep>);

impl HookSteps {
    pub fn new(steps: Vec<HookStep>) -> Self {
        Self(steps)
    }

    pub fn all(&self) -> &[HookStep] {
        &self.0
    }

    pub fn last(&self) -> Option<&HookStep> {
        self.0.last()
    }

    /// The last of that kind.
    pub fn last_of(&self, kind: HookStepKind) -> Option<&HookStep> {
        self.0.iter().rev().find(|step| step.kind == kind)
    }

    /// Whether its last turn has ended because the model could not be asked. A hook of a tool may come late.
    pub fn has_failed(&self) -> bool {
        let is_edge = |step: &&HookStep| {
            matches!(step.kind, HookStepKind::PromptTaken | HookStepKind::TurnEnds | HookStepKind::TurnFails)
        };
        self.0.iter().rev().find(is_edge).is_some_and(|step| step.kind == HookStepKind::TurnFails)
    }

    /// The steps of the last turn, from its prompt on. All steps, if there was no prompt.
    pub fn last_turn(&self) -> &[HookStep] {
        let start = self.0.iter().rposition(|step| step.kind == HookStepKind::PromptTaken);
        &self.0[start.unwrap_or(0)..]
    }

    /// The tool calls that have begun and not ended, oldest first.
    pub fn open_calls(&self) -> Vec<&HookStep> {
        let mut open: Vec<&HookStep> = Vec::new();
        for step in self.last_turn() {
            match step.kind {
                HookStepKind::ToolBegins => open.push(step),
                HookStepKind::ToolEnds => {
                    if let Some(at) = open.iter().position(|begun| begun.is_ended_by(step)) {
                        open.remove(at);
                    }
                }
                HookStepKind::TurnEnds | HookStepKind::TurnFails | HookStepKind::PromptTaken => open.clear(),
                HookStepKind::SessionStarted | HookStepKind::ToolRefused | HookStepKind::AsksLeave => {}
            }
        }
        open
    }

    /// Whether the agent, or one of its subagents, does the same again and again in this turn. Subagents at work side by
    /// side may well do the same, so each is watched by itself. Of some tools, only the end is reported.
    pub fn is_spinning(&self) -> bool {
        let mut watches: BTreeMap<Option<&str>, SpinWatch> = BTreeMap::new();
        let mut begun: Vec<&HookStep> = Vec::new();
        for (i, step) in self.last_turn().iter().enumerate() {
            let is_new = match step.kind {
                HookStepKind::ToolBegins => {
                    begun.push(step);
                    true
                }
                HookStepKind::ToolRefused => true,
                HookStepKind::ToolEnds => match begun.iter().position(|call| call.is_ended_by(step)) {
                    Some(at) => {
                        begun.remove(at);
                        false
                    }
                    None => true,
                },
                _ => false,
            };
            if is_new {
                let tool = step.tool.as_deref().unwrap_or_default();
                let other = format!("{tool} {i}");
                let watch = watches.entry(step.by.as_deref()).or_default();
                watch.note_call(tool, step.arguments.as_deref().unwrap_or(&other));
            }
        }
        watches.values().any(SpinWatch::is_spinning)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(kind: HookStepKind, tool: &str, call: Option<&str>, command: &str) -> HookStep {
        let mark = (!command.is_empty()).then(|| HookStep::mark_of(command));
        let (tool, call, arguments) = (Some(tool.to_string()), call.map(str::to_string), mark.clone());
        HookStep { tool, call, mark, arguments, ..HookStep::new(Timestamp::UNIX_EPOCH, kind) }
    }

    #[test]
    fn calls_are_open_until_they_end_or_the_turn_does() {
        use HookStepKind::{PromptTaken, ToolBegins, ToolEnds, TurnEnds};
        let mut steps = vec![
            step(PromptTaken, "", None, "go"),
            step(ToolBegins, "Bash", Some("1"), "make"),
            step(ToolBegins, "Bash", Some("2"), "make"),
            step(ToolBegins, "Read", None, ""),
            step(ToolEnds, "Bash", Some("1"), "make"),
        ];
        let open = |steps: &[HookStep]| -> Vec<String> {
            let steps = HookSteps::new(steps.to_vec());
            steps.open_calls().into_iter().filter_map(|step| step.tool.clone()).collect()
        };
        assert_eq!(open(&steps), ["Bash", "Read"]);
        steps.push(step(ToolEnds, "Read", None, ""));
        assert_eq!(open(&steps), ["Bash"]);
        steps.push(step(TurnEnds, "", None, ""));
        assert!(open(&steps).is_empty());
    }

    #[test]
    fn the_same_call_four_times_in_a_turn_repeats_itself() {
        use HookStepKind::{PromptTaken, ToolBegins};
        let call = |command: &str| step(ToolBegins, "Bash", None, command);
        let spins = |steps: Vec<HookStep>| HookSteps::new(steps).is_spinning();
        assert!(spins(vec![call("make"), call("make"), call("make"), call("make")]));
        assert!(!spins(vec![call("make"), call("make"), call("ls"), call("make"), call("make")]));
        assert!(!spins(vec![call(""), call(""), call(""), call("")]), "such as are meant to be repeated");
        let read = |arguments: &str| HookStep { mark: None, ..step(ToolBegins, "Read", None, arguments) };
        assert!(spins(vec![read("/a"), read("/a"), read("/a"), read("/a")]), "one file again and again");
        assert!(!spins(vec![read("/a"), read("/b"), read("/a"), read("/b")]));
        let ended = |arguments: &str| HookStep { kind: HookStepKind::ToolEnds, ..read(arguments) };
        assert!(spins(vec![ended("/a"), ended("/a"), ended("/a"), ended("/a")]), "no hook before it");
        let both = [read("/a"), ended("/a"), read("/a"), ended("/a")];
        assert!(!spins(both.to_vec()), "two calls");
        let again = step(PromptTaken, "", None, "again");
        assert!(!spins(vec![call("make"), call("make"), again, call("make"), call("make")]));
        let of = |by: &str| HookStep { by: Some(by.to_string()), ..call("git status") };
        assert!(!spins(vec![of("a"), of("b"), of("c"), of("d"), call("git status")]), "four subagents");
        assert!(
            spins(vec![of("a"), of("b"), of("a"), call("ls"), of("a"), of("a")]),
            "one of them repeats itself"
        );
    }

    #[test]
    fn a_mark_does_not_depend_on_blanks() {
        assert_eq!(HookStep::mark_of("one two\n"), HookStep::mark_of(" one\n  two"));
        assert_ne!(HookStep::mark_of("one two"), HookStep::mark_of("one three"));
    }

    #[test]
    fn a_result_does_not_depend_on_times() {
        let failed = |seconds: &str, thread: &str, count: u32| {
            format!(
                "running 3 tests\ntest a ... ok\ntest b ... FAILED\n\nthread 'b' ({thread}) panicked at src/lib.rs:9:5:\n\
                 test result: FAILED. {count} passed; 1 failed; 0 ignored; finished in {seconds}\n"
            )
        };
        let mark = |output: &str| HookStep::result_of("Failed", output);
        let first = mark(&failed("0.52s", "271828", 2));
        assert_eq!(first, mark(&failed("1.07s", "314159", 2)));
        assert_ne!(first, mark(&failed("0.52s", "271828", 1)), "another test fails");
        assert_ne!(first, HookStep::result_of("Succeeded", &failed("0.52s", "271828", 2)));
    }

    #[test]
    fn names_are_read_back() {
        for kind in HookStepKind::ALL {
            assert_eq!(HookStepKind::of_name(kind.name()), Some(kind));
        }
    }
}
