//! How a review is written in `run.json`, and how a reviewer writes its answer.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::domain::runs::{
    Review, ReviewFinding, ReviewOutcome, ReviewVerdict, RunId, RunIdError, RunReview,
};
use crate::store::wire::time;

/// How many findings are kept, and how many characters of each, and of the name of its file.
const MOST_FINDINGS: usize = 50;
const LONGEST_FINDING: usize = 1_000;
const LONGEST_FILE: usize = 300;
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
    /// An older program takes such a review for one without a verdict.
    #[serde(
        rename = "pendingSince",
        with = "time::option",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pending_since: Option<Timestamp>,
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
        let run = run.map(|run| run.to_string());
        let nothing =
            Self { profile, run, verdict: None, findings: Vec::new(), reason: None, pending_since: None };
        match outcome {
            ReviewOutcome::Pending { since } => Self { pending_since: Some(since), ..nothing },
            ReviewOutcome::Missing(why) => Self { reason: Some(why), ..nothing },
            ReviewOutcome::Given(Review { verdict, findings }) => {
                let keys = |ReviewFinding { file, line, text }| FindingKeys { file, line, text };
                let findings = findings.into_iter().map(keys).collect();
                Self { verdict: Some(verdict.name().to_string()), findings, ..nothing }
            }
        }
    }

    pub(super) fn review(self) -> Result<RunReview, RunIdError> {
        let finding = |FindingKeys { file, line, text }| ReviewFinding { file, line, text };
        let findings = self.findings.into_iter().map(finding).collect();
        let verdict = self.verdict.as_deref().and_then(ReviewVerdict::of_name);
        let outcome = match (verdict, self.pending_since) {
            (Some(verdict), _) => ReviewOutcome::Given(Review { verdict, findings }),
            (None, Some(since)) => ReviewOutcome::Pending { since },
            (None, None) => ReviewOutcome::Missing(self.reason.unwrap_or_default()),
        };
        let run = self.run.as_deref().map(RunId::new).transpose()?;
        Ok(RunReview { profile: self.profile, run, outcome })
    }
}

/// What a reviewer answers, with whatever else it says. A verdict is not lost because the rest is written otherwise.
#[derive(Deserialize)]
struct Answer {
    verdict: String,
    #[serde(default)]
    findings: Value,
}

/// The review in what a reviewer said: the last JSON object with a verdict. `None`: there is none.
pub fn review_in(words: &str) -> Option<Review> {
    words.rmatch_indices('{').take(MOST_BRACES).find_map(|(start, _)| {
        let mut objects = serde_json::Deserializer::from_str(&words[start..]).into_iter::<Answer>();
        let answer = objects.next()?.ok()?;
        let verdict = ReviewVerdict::of_name(answer.verdict.trim())?;
        let findings = answer.findings.as_array().map(Vec::as_slice).unwrap_or_default();
        let findings = findings.iter().filter_map(finding).take(MOST_FINDINGS).collect();
        Some(Review { verdict, findings })
    })
}

/// One that says nothing is left out. It may be nothing but a text, and a line may be written as a number or as text.
fn finding(answered: &Value) -> Option<ReviewFinding> {
    let short = |value: &Value, most: usize| {
        let text: String = value.as_str()?.trim().chars().take(most).collect();
        Some(text).filter(|text| !text.is_empty())
    };
    let text = short(answered, LONGEST_FINDING).or_else(|| short(&answered["text"], LONGEST_FINDING))?;
    let line = &answered["line"];
    let line = line.as_u64().or_else(|| line.as_str()?.trim().parse().ok());
    Some(ReviewFinding { file: short(&answered["file"], LONGEST_FILE), line, text })
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
    fn a_verdict_is_not_lost_because_its_findings_are_written_otherwise() {
        for findings in ["null", "\"none\"", "{}", "[]", "[7, null, [], {\"file\": \"a\"}]"] {
            let review =
                review_in(&format!("{{\"verdict\": \"rework\", \"findings\": {findings}}}")).unwrap();
            assert_eq!((review.verdict, review.findings.len()), (ReviewVerdict::Rework, 0), "{findings}");
        }
        let review = review_in("{\"verdict\": \"rework\", \"findings\": [\"no test\"]}").unwrap();
        assert_eq!(review.findings[0].sentence(), "no test");
    }

    #[test]
    fn a_review_that_has_not_ended_reads_back() {
        let outcome =
            ReviewOutcome::Pending { since: Timestamp::from_millisecond(1_794_700_676_113).unwrap() };
        let review = RunReview { profile: "p".to_string(), run: Some(RunId::from_random(1)), outcome };
        let json = serde_json::to_string(&ReviewKeys::of(&review)).unwrap();
        assert_eq!(serde_json::from_str::<ReviewKeys>(&json).unwrap().review().unwrap(), review, "{json}");
    }

    #[test]
    fn a_long_answer_is_cut() {
        let text = "x".repeat(5_000);
        let one = format!("{{\"file\": \"{text}\", \"text\": \"{text}\"}}");
        let all = vec![one; 60].join(",");
        let review = review_in(&format!("{{\"verdict\": \"replan\", \"findings\": [{all}]}}")).unwrap();
        let first = &review.findings[0];
        let file = first.file.as_ref().unwrap();
        assert_eq!((review.findings.len(), first.text.len(), file.len()), (50, 1_000, 300));
    }
}
