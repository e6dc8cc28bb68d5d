//! The evidence of a completion: `{"text", "command", "exitCode", "tail", "commit", "at", "test", "editedAt"}`, each only
//! if it is known.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::surrogates::readable;
use super::time;
use crate::domain::{SeenTest, SeenWork, TaskEvidence, VerifyRun};

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::store) struct EvidenceKeys {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tail: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    commit: Option<String>,
    #[serde(with = "time")]
    at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    test: Option<SeenTestKeys>,
    #[serde(default, with = "time::option", skip_serializing_if = "Option::is_none")]
    edited_at: Option<Timestamp>,
}

#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
struct SeenTestKeys {
    command: String,
    passed: bool,
    #[serde(with = "time")]
    at: Timestamp,
}

impl From<&TaskEvidence> for EvidenceKeys {
    fn from(evidence: &TaskEvidence) -> Self {
        let verified = evidence.verified.as_ref();
        Self {
            text: evidence.text.clone(),
            command: verified.map(|run| run.command.clone()),
            exit_code: verified.map(|run| run.exit_code),
            tail: verified.map(|run| run.tail.clone()),
            commit: evidence.commit.clone(),
            at: evidence.at,
            test: evidence.seen.test.as_ref().map(|test| SeenTestKeys {
                command: test.command.clone(),
                passed: test.has_passed,
                at: test.at,
            }),
            edited_at: evidence.seen.edited_at,
        }
    }
}

impl From<EvidenceKeys> for TaskEvidence {
    fn from(keys: EvidenceKeys) -> Self {
        let verified = keys.command.zip(keys.exit_code).map(|(command, exit_code)| VerifyRun {
            command: readable(&command),
            exit_code,
            tail: keys.tail.as_deref().map(readable).unwrap_or_default(),
        });
        let test = keys.test.map(|test| SeenTest {
            command: readable(&test.command),
            has_passed: test.passed,
            at: test.at,
        });
        Self {
            text: keys.text.as_deref().map(readable),
            verified,
            commit: keys.commit.as_deref().map(readable),
            at: keys.at,
            seen: SeenWork { test, edited_at: keys.edited_at },
        }
    }
}
