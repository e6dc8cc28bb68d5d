//! When looking at a screen again is worth it.

use std::time::Duration;

/// What a tool call does, as far as it decides how long it may take.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ToolWork {
    Edits,
    TestsOrBuild,
    Install,
    Subagent,
    ReadsOrPlans,
}

/// Why an agent is looked at again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LookReason {
    /// It, or its turn, has just begun.
    HasBegun,
    Works(ToolWork),
    /// Somebody has to answer it.
    Asks,
    /// It may be stuck.
    MayBeStuck,
}

/// How much of a screen has changed since the last look.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ScreenChange {
    Nothing,
    Something,
    /// Most of what was there has scrolled away.
    Much,
}

/// When to look again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LookPlan {
    pub earliest: Duration,
    pub latest: Duration,
}

impl ToolWork {
    const ALL: [Self; 5] =
        [Self::Edits, Self::TestsOrBuild, Self::Install, Self::Subagent, Self::ReadsOrPlans];

    pub fn name(self) -> &'static str {
        match self {
            Self::Edits => "edit",
            Self::TestsOrBuild => "build",
            Self::Install => "install",
            Self::Subagent => "subagent",
            Self::ReadsOrPlans => "read",
        }
    }

    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|work| work.name() == name)
    }

    /// What a shell command does, by its words.
    pub fn of_command(command: &str) -> Self {
        const INSTALL: [&str; 4] = ["install", "apt-get", "brew", "pip"];
        const TEST: [&str; 12] = [
            "test", "tests", "build", "check", "clippy", "compile", "pytest", "jest", "make", "tsc", "lint",
            "bench",
        ];
        let words = || command.split(|c: char| !c.is_alphanumeric() && c != '-').map(str::to_lowercase);
        if words().any(|word| INSTALL.contains(&word.as_str())) {
            Self::Install
        } else if words().any(|word| TEST.contains(&word.as_str())) {
            Self::TestsOrBuild
        } else {
            Self::ReadsOrPlans
        }
    }

    fn seconds(self) -> (u64, u64) {
        match self {
            Self::Edits => (30, 45),
            Self::TestsOrBuild => (60, 120),
            Self::Install => (120, 180),
            Self::Subagent => (90, 120),
            Self::ReadsOrPlans => (45, 60),
        }
    }
}

impl LookReason {
    fn seconds(self) -> (u64, u64) {
        match self {
            Self::HasBegun => (10, 15),
            Self::Works(work) => work.seconds(),
            Self::Asks => (30, 30),
            Self::MayBeStuck => (15, 20),
        }
    }
}

impl LookPlan {
    pub fn new(reason: LookReason) -> Self {
        let (earliest, latest) = reason.seconds();
        Self { earliest: Duration::from_secs(earliest), latest: Duration::from_secs(latest) }
    }

    /// When exactly: later if nothing has changed though it works, earlier if much has scrolled by.
    pub fn next(self, change: ScreenChange) -> Duration {
        match change {
            ScreenChange::Nothing => self.latest,
            ScreenChange::Something => (self.earliest + self.latest) / 2,
            ScreenChange::Much => self.earliest,
        }
    }
}

impl ScreenChange {
    /// Compares two looks by the lines that are on both.
    pub fn between(before: &str, now: &str) -> Self {
        if before == now {
            return Self::Nothing;
        }
        let kept = now
            .lines()
            .filter(|line| !line.trim().is_empty() && before.lines().any(|it| it == *line))
            .count();
        let all = before.lines().filter(|line| !line.trim().is_empty()).count();
        if kept * 2 < all { Self::Much } else { Self::Something }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_build_is_looked_at_later_than_one_that_scrolls() {
        let plan = LookPlan::new(LookReason::Works(ToolWork::of_command("cd app && cargo test --locked")));
        assert_eq!(plan.next(ScreenChange::Nothing).as_secs(), 120);
        assert_eq!(plan.next(ScreenChange::Something).as_secs(), 90);
        assert_eq!(plan.next(ScreenChange::Much).as_secs(), 60);
        assert_eq!(LookPlan::new(LookReason::Asks).next(ScreenChange::Nothing).as_secs(), 30);
    }

    #[test]
    fn commands_are_known_by_their_words() {
        assert_eq!(ToolWork::of_command("npm install"), ToolWork::Install);
        assert_eq!(ToolWork::of_command("make -j2"), ToolWork::TestsOrBuild);
        assert_eq!(ToolWork::of_command("cat attest.md"), ToolWork::ReadsOrPlans);
    }

    #[test]
    fn what_scrolled_by_is_much() {
        assert_eq!(ScreenChange::between("a\nb\nc\nd", "a\nb\nc\nd"), ScreenChange::Nothing);
        assert_eq!(ScreenChange::between("a\nb\nc\nd", "a\nb\nc\ne"), ScreenChange::Something);
        assert_eq!(ScreenChange::between("a\nb\nc\nd", "d\ne\nf\ng"), ScreenChange::Much);
    }
}
