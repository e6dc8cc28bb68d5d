//! Tests of the codec of Kimi Code.

use serde_json::json;

use super::ID;
use crate::harness::hook_codec::fixture::{BAD, DENY, GOOD, check_answers, check_no_answers, outcome};

#[test]
fn what_it_is_answered() {
    const MESSAGE: &str = r#"{"message":"\"R\""}"#;
    let stop = DENY.unwrap().replace("PreToolUse", "Stop");
    check_answers(ID, "UserPromptSubmit", [None, Some(MESSAGE), None]);
    check_answers(ID, "PreToolUse", [DENY, None, None]);
    check_answers(ID, "Stop", [None, None, Some(&stop)]);
    check_no_answers(ID, &["UserPromptSubmit", "PreToolUse", "Stop"]);
}

#[test]
fn the_last_line_says_why_it_failed() {
    let (good, bad) = ("kimi/PostToolUse-Bash", "kimi/PostToolUseFailure-Bash");
    let failed = |text: &str| outcome(bad, &[("/error/message", json!(text))]);
    assert_eq!(outcome(good, &[]), GOOD);
    assert_eq!(outcome("kimi/PostToolUse-Bash-background", &[]), None);
    assert_eq!(outcome(bad, &[]), BAD);
    assert_eq!(failed("no\nCommand failed with exit code: 0."), GOOD);
    assert_eq!(failed("Command killed by timeout (60s)"), None);
    assert_eq!(outcome("kimi/PostToolUseFailure-Bash-rejected-by-user", &[]), None);
    assert_eq!(outcome("kimi/PostToolUse-Edit", &[]), GOOD);
    assert_eq!(outcome("kimi/PostToolUseFailure-Edit", &[]), BAD);
}
