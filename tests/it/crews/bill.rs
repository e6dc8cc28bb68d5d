//! What a crew costs: its builders and their reviewers.

use std::fs;

use serde_json::{Value, json};

use super::stage::{ONE, WORK, task, with_crew};

/// What a builder says that it used, in `$0.05`.
const USES: &str = r#"echo '{"usage": {"input": 10, "output": 1}, "costUsd": 0.05}' > "$MSG_USAGE"; "#;

fn cents(sum: &Value) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "these are few cents")]
    let cents = (sum["costUsd"].as_f64().unwrap_or_default() * 100.0).round() as i64;
    cents
}

#[test]
fn reviewers_are_in_the_bill_and_told_apart() {
    let built = |text: &str| format!("{USES}{text}");
    let (first, second) = (built("echo one > one"), built("echo better > one"));
    let env = with_crew(ONE, &[("T-1.1", &first), ("T-1.2", &second)]);
    fs::write(env.home().join("rework-T-1"), "").unwrap();
    fs::write(env.home().join("judge-usage"), r#"{"usage": {"input": 100, "output": 10}, "costUsd": 0.2}"#)
        .unwrap();
    let worked = env.ok(&WORK);
    let status = env.ok(&["crew", "status"]);
    for sums in [task(&worked, "T-1"), task(&status, "T-1"), &status] {
        let bill = &sums["bill"];
        let counted = |who: &str| (bill[who]["runs"].clone(), bill[who]["tokens"].clone(), cents(&bill[who]));
        assert_eq!(counted("builders"), (json!(2), json!(22), 10), "{bill:#}");
        assert_eq!(counted("reviewers"), (json!(2), json!(220), 40), "{bill:#}");
        assert_eq!((&sums["tokens"], cents(sums)), (&json!(242), 50));
    }
    assert_eq!((&status["runs"], &task(&status, "T-1")["attempts"]), (&json!(2), &json!(2)));
    let page = env.run(&["crew", "report"]).expect_code(0).stdout;
    let billed = "2 runs and 2 reviews, 242 tokens, $0.50, $0.40 of it for reviews";
    assert!(
        page.contains(&format!("  in all: {billed}\n")) && page.contains(&format!("by {billed}.")),
        "{page}"
    );
    // In the bill of all runs they belong to what they review.
    let bill = env.ok(&["runs", "--bill"])["bill"].clone();
    let tasks = bill["tasks"].as_array().unwrap();
    assert_eq!(tasks.len(), 1, "{bill:#}");
    assert_eq!((&tasks[0]["profile"], &tasks[0]["outcome"]), (&json!("builder"), &json!("done")));
    assert_eq!(tasks[0]["runs"].as_array().unwrap().len(), 2, "reviews are not attempts");
    assert_eq!((cents(&tasks[0]["all"]), cents(&bill["all"])), (50, 50));
    assert_eq!((cents(&tasks[0]["builders"]), cents(&tasks[0]["reviewers"])), (10, 40));
    assert_eq!((cents(&tasks[0]["rework"]), cents(&bill["reviewers"])), (25, 40));
    let text = env.run(&["runs", "--bill"]).stdout;
    assert!(text.contains("reviews") && text.contains("$0.40 in 2 runs"), "{text}");
}
