//! The review of a run: what another worker thinks of its work.

use super::id::RunId;

/// What became of the review of a run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RunReview {
    /// The profile of the reviewer.
    pub profile: String,
    /// The run of the reviewer; `None`: it was not started.
    pub run: Option<RunId>,
    pub outcome: ReviewOutcome,
}

/// How a review ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum ReviewOutcome {
    Given(Review),
    /// There is no verdict, for this reason.
    Missing(String),
}

/// What a reviewer answered.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Review {
    pub verdict: ReviewVerdict,
    pub findings: Vec<ReviewFinding>,
}

/// Whether the work can be used.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ReviewVerdict {
    /// As it is.
    Ship,
    /// After the findings are fixed.
    Rework,
    /// Not at all: the task itself is wrong.
    Replan,
}

impl ReviewVerdict {
    pub const ALL: [Self; 3] = [Self::Ship, Self::Rework, Self::Replan];

    pub fn name(self) -> &'static str {
        match self {
            Self::Ship => "ship",
            Self::Rework => "rework",
            Self::Replan => "replan",
        }
    }

    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verdict| verdict.name() == name)
    }
}

/// One thing that a reviewer found.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ReviewFinding {
    pub file: Option<String>,
    pub line: Option<u64>,
    pub text: String,
}

impl ReviewFinding {
    /// `src/a.rs:12: the text`.
    pub fn sentence(&self) -> String {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => format!("{file}:{line}: {}", self.text),
            (Some(file), None) => format!("{file}: {}", self.text),
            (None, _) => self.text.clone(),
        }
    }
}

impl RunReview {
    /// In a few words: `rework by reviewer (run k3f9xa), 2 findings`.
    pub fn summary(&self) -> String {
        let by = match &self.run {
            Some(run) => format!("by {} (run {run})", self.profile),
            None => format!("by {}", self.profile),
        };
        match &self.outcome {
            ReviewOutcome::Missing(why) => format!("none {by}: {why}"),
            ReviewOutcome::Given(review) => {
                let findings = match review.findings.len() {
                    0 => String::new(),
                    1 => ", 1 finding".to_string(),
                    count => format!(", {count} findings"),
                };
                format!("{} {by}{findings}", review.verdict.name())
            }
        }
    }

    /// What was found.
    pub fn findings(&self) -> &[ReviewFinding] {
        match &self.outcome {
            ReviewOutcome::Given(review) => &review.findings,
            ReviewOutcome::Missing(_) => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_review_is_told_in_a_line() {
        let finding = ReviewFinding { file: Some("a.rs".to_string()), line: Some(3), text: "no".to_string() };
        assert_eq!(finding.sentence(), "a.rs:3: no");
        let given = ReviewOutcome::Given(Review { verdict: ReviewVerdict::Rework, findings: vec![finding] });
        let review = |run: Option<u32>, outcome: ReviewOutcome| {
            RunReview { profile: "reviewer".to_string(), run: run.map(RunId::from_random), outcome }.summary()
        };
        let run = RunId::from_random(7);
        assert_eq!(review(Some(7), given), format!("rework by reviewer (run {run}), 1 finding"));
        let missing = ReviewOutcome::Missing("it is not installed".to_string());
        assert_eq!(review(None, missing), "none by reviewer: it is not installed");
    }
}
