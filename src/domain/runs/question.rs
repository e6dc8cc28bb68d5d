//! Permission questions of a worker: what it wants to do, and what became of the question.

use jiff::Timestamp;

/// A question that a worker's harness would ask its user.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RunQuestion {
    /// Which question of the run it is, from 1 on.
    pub number: u32,
    /// The harness's name for the tool.
    pub tool: String,
    /// What the tool is to do, cut to a bounded length.
    pub text: String,
    pub since: Timestamp,
    /// When it counts as refused if nobody has answered.
    pub until: Timestamp,
}

impl RunQuestion {
    /// The question in one line: `Bash: rm -r build`.
    pub fn line(&self) -> String {
        let text = self.text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        let rest = if self.text.trim().lines().count() > 1 { " …" } else { "" };
        if text.is_empty() { self.tool.clone() } else { format!("{}: {text}{rest}", self.tool) }
    }
}

/// What became of a question.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum QuestionOutcome {
    Allowed,
    Denied,
    /// Nobody answered in time, so it was refused.
    Unanswered,
    /// Whoever asked is gone.
    Withdrawn,
}

impl QuestionOutcome {
    pub const ALL: [Self; 4] = [Self::Allowed, Self::Denied, Self::Unanswered, Self::Withdrawn];

    pub fn name(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Denied => "denied",
            Self::Unanswered => "unanswered",
            Self::Withdrawn => "withdrawn",
        }
    }

    /// The outcome with that name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.name() == name)
    }
}
