//! How a review is written in `run.json`, and how a reviewer writes its answer.

use serde::{Deserialize, Serialize};

use crate::domain::runs::{
    Review, ReviewFinding, ReviewOutcome, ReviewVerdict, RunId, RunIdError, RunReview,
};

/// How many findings are kept, and how many characters of each.
const MOST_FINDINGS: usize = 50;
const LONGEST_FINDING: usize = 1_000;
/// How many opening braces are tried, the last ones first.
const MOST_BRACES: usize = 1_000;

#[derive(Deserialize, Serialize)]
pub(super) struct ReviewKeys {
    profile: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    verdict: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    findings: Vec<FindingKeys>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Deserialize, Serialize)]
struct FindingKeys {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    text: String,
}

impl ReviewKeys {
    pub(super) fn of(review: &RunReview) -> Self {
        let RunReview { profile, run, outcome } = review.clone();
        let (verdict, findings, reason) = match outcome {
            ReviewOutcome::Given(Review { verdict, findings }) => {
                (Some(verdict.name().to_string()), findings, None)
            }
            ReviewOutcome::Missing(why) => (None, Vec::new(), Some(why)),
        };
        let keys = |ReviewFinding { file, line, text }| FindingKeys { file, line, text };
        let findings = findings.into_iter().map(keys).collect();
        Self { profile, run: run.map(|run| run.to_string()), verdict, findings, reason }
    }

    pub(super) fn review(self) -> Result<RunReview, RunIdError> {
        let finding = |FindingKeys { file, line, text }| ReviewFinding { file, line, text };
        let findings = self.findings.into_iter().map(finding).collect();
        let outcome = match self.verdict.as_deref().and_then(ReviewVerdict::of_name) {
            Some(verdict) => ReviewOutcome::Given(Review { verdict, findings }),
            None => ReviewOutcome::Missing(self.reason.unwrap_or_default()),
        };
        let run = self.run.as_deref().map(RunId::new).transpose()?;
        Ok(RunReview { profile: self.profile, run, outcome })
    }
}

/// What a reviewer answers, with whatever else it says.
#[derive(Deserialize)]
struct Answer {
    verdict: String,
    #[serde(default)]
    findings: Vec<AnsweredFinding>,
}

#[derive(Deserialize)]
struct AnsweredFinding {
    #[serde(default)]
    file: serde_json::Value,
    #[serde(default)]
    line: serde_json::Value,
    #[serde(default)]
    text: serde_json::Value,
}

/// The review in what a reviewer said: the last JSON object with a verdict. `None`: there is none.
pub fn review_in(words: &str) -> Option<Review> {
    words.rmatch_indices('{').take(MOST_BRACES).find_map(|(start, _)| {
        let mut objects = serde_json::Deserializer::from_str(&words[start..]).into_iter::<Answer>();
        let answer = objects.next()?.ok()?;
        let verdict = ReviewVerdict::of_name(answer.verdict.trim())?;
        let findings = answer.findings.into_iter().take(MOST_FINDINGS).filter_map(finding).collect();
        Some(Review { verdict, findings })
    })
}

/// One that says nothing is left out. A line may be written as a number or as text.
fn finding(answered: AnsweredFinding) -> Option<ReviewFinding> {
    let short = |text: &str| text.trim().chars().take(LONGEST_FINDING).collect::<String>();
    let text = answered.text.as_str().map(short).filter(|text| !text.is_empty())?;
    let file = answered.file.as_str().map(short).filter(|file| !file.is_empty());
    let line = answered.line.as_u64().or_else(|| answered.line.as_str()?.trim().parse().ok());
    Some(ReviewFinding { file, line, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_object_with_a_verdict_counts() {
        let words = "Like {\"verdict\": \"ship\"} perhaps.\n```json\n{\"verdict\": \"rework\", \"findings\": [\
                     {\"file\": \"src/a.rs\", \"line\": 12, \"text\": \"it {loops}\"}, {\"line\": \"7\", \"text\": \"b\"}, \
                     {\"text\": 5}, {\"file\": null, \"line\": null, \"text\": \"c\"}]}\n```\nThat is all {really}.";
        let review = review_in(words).unwrap();
        assert_eq!(review.verdict, ReviewVerdict::Rework);
        let sentences: Vec<String> = review.findings.iter().map(ReviewFinding::sentence).collect();
        assert_eq!(sentences, ["src/a.rs:12: it {loops}", "b", "c"]);
        for none in ["", "ship", "{\"verdict\": \"fine\"}", "{\"verdict\": 1}", "{\"findings\": []}"] {
            assert_eq!(review_in(none), None, "{none}");
        }
        let many = format!("{}{{\"verdict\":\"ship\"}}", "{".repeat(100_000));
        assert_eq!(review_in(&many).unwrap().verdict, ReviewVerdict::Ship);
    }

    #[test]
    fn a_long_answer_is_cut() {
        let text = "x".repeat(5_000);
        let one = format!("{{\"text\": \"{text}\"}}");
        let all = vec![one; 60].join(",");
        let review = review_in(&format!("{{\"verdict\": \"replan\", \"findings\": [{all}]}}")).unwrap();
        assert_eq!((review.findings.len(), review.findings[0].text.len()), (50, 1_000));
    }
}
