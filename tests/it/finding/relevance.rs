//! What a search finds first.

use std::fs;

use serde_json::Value;

use super::{found, sent, texts};
use crate::support::environment::TestEnvironment;

/// What agents say about their work.
const SAID: [&str; 24] = [
    "The login form loses the password when the session expires. I am on it.",
    "Who owns src/auth/login.rs? I need to change the retry logic there.",
    "Please do not touch the migration of the users table until I say so.",
    "Tests are green again after I pinned the clock in the scheduler tests.",
    "parseConfig() swallows the error if the file is empty, see config/parser.ts.",
    "I reserved the whole directory src/payments/ for the refund work.",
    "The build is slow because the cache is not shared between worktrees.",
    "Rate limiting: 429 answers should be retried with exponential backoff.",
    "Die Größe der Überschrift stimmt nicht, siehe Startseite.",
    "Deployment to staging failed: the health check timed out after 30 s.",
    "I will rename UserSession to AuthSession in the next commit.",
    "The flaky test is payments_refund_twice, it depends on the order of a map.",
    "Documentation of the REST API is out of date, the /v2/orders page is missing.",
    "Memory grows in the image worker: thumbnails are never freed.",
    "Upgrade of tokio to 1.47 is done, nothing else changed.",
    "Can you review the diff of the retry logic?",
    "Cursor pagination works now for orders, offsets are gone.",
    "The linter complains about unused imports in three files.",
    "Feature flag dark_mode is on for everybody since this morning.",
    "The webhook signature is checked with a constant time comparison now.",
    "Translations for French are complete, naïve quotes included.",
    "The password reset mail is sent twice if one clicks twice.",
    "Logging of request bodies is off in production.",
    "The session store is Redis now, sessions expire after 30 minutes.",
];

/// A query, and how the message begins that must come first.
const EXPECTED: [(&str, &str); 26] = [
    ("login form", "The login form"),
    ("retry logic review", "Can you review"),
    ("who owns login.rs", "Who owns"),
    ("src/auth", "Who owns"),
    ("migration users", "Please do not touch"),
    ("scheduler clock", "Tests are green"),
    ("parseconfig", "parseConfig"),
    ("parse_config empty", "parseConfig"),
    ("refund reservation", "I reserved"),
    ("slow builds", "The build is slow"),
    ("exponential backoff", "Rate limiting"),
    ("429", "Rate limiting"),
    ("GRÖSSE", "Die Größe"),
    ("grosse uberschrift", "Die Größe"),
    ("staging deploy", "Deployment"),
    ("authsession", "I will rename"),
    ("auth session", "I will rename"),
    ("flaky tests", "The flaky test"),
    ("payments refund twice", "The flaky test"),
    ("api documentation", "Documentation"),
    ("thumbnail memory", "Memory grows"),
    ("\"password reset\"", "The password reset"),
    ("tokio 1.47", "Upgrade of tokio"),
    ("naive", "Translations"),
    ("pagin", "Cursor pagination"),
    ("session expire 30 minutes", "The session store"),
];

fn stage() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.join("Bob");
    for text in SAID {
        env.ok(&["send", "Bob", text, "--as", "Alice"]);
    }
    env
}

#[test]
fn what_is_meant_comes_first() {
    let env = stage();
    let first = |query: &str, name: &str| {
        let found = texts(&env, &["--as", name, "--limit", "5", query]);
        found.into_iter().next().unwrap_or_default()
    };
    let wrong = |name: &str| -> Vec<String> {
        let wrong = EXPECTED.iter().filter(|(query, start)| !first(query, name).starts_with(start));
        wrong.map(|(query, _)| format!("{query}: {}", first(query, name))).collect()
    };
    assert_eq!(wrong("Alice"), [] as [&str; 0], "what she sent");
    assert_eq!(wrong("Bob"), [] as [&str; 0], "unread");
    env.ok(&["read", "--as", "Bob"]);
    assert_eq!(wrong("Bob"), [] as [&str; 0], "what he has read");
}

#[test]
fn all_words_come_before_some() {
    let env = stage();
    let found = texts(&env, &["--as", "Alice", "password", "session"]);
    assert!(found[0].starts_with("The login form"), "{found:?}");
    assert!(found.len() > 2, "{found:?}");
    let answer = env.ok(&["search", "--as", "Alice", "password", "session"]);
    let has_all: Vec<&Value> =
        answer["results"].as_array().unwrap().iter().map(|one| &one["hasAll"]).collect();
    assert_eq!(has_all[..2], [true, false]);
    assert_eq!(
        texts(&env, &["--as", "Alice", "\"session password\""]),
        [] as [&str; 0],
        "a phrase is in order"
    );
}

#[test]
fn filters_and_limits() {
    let env = stage();
    env.join("Carol");
    sent(&env, "Carol", &["Alice", "The session of Carol is gone", "--thread", "sessions"]);
    sent(&env, "Alice", &["Carol", "Which session do you mean?", "--thread", "sessions"]);
    let as_alice = |args: &[&str]| texts(&env, &[&["--as", "Alice", "session"], args].concat());
    assert_eq!(as_alice(&["--from", "carol"]), ["The session of Carol is gone"]);
    assert_eq!(as_alice(&["--to", "Carol"]), ["Which session do you mean?"]);
    assert_eq!(as_alice(&["--thread", "SESSIONS"]).len(), 2);
    assert_eq!(as_alice(&["--since", "1d"]).len(), as_alice(&[]).len());
    assert_eq!(as_alice(&["--since", "0"]), [] as [&str; 0]);
    let answer = env.ok(&["search", "--as", "Alice", "session", "--limit", "1"]);
    assert_eq!((answer["results"].as_array().unwrap().len(), &answer["more"]), (1, &Value::Bool(true)));
    assert_eq!(env.fails(1, &["search", "x", "--as", "Alice", "--from", "Nobody"]), "unknown_agent");
    assert_eq!(env.fails(2, &["search", "…", "--as", "Alice"]), "invalid_value");
    assert_eq!(env.fails(2, &["search", "--as", "Alice"]), "usage");
    assert_eq!(env.fails(2, &["search", "x", "--as", "Alice", "--since", "soon"]), "invalid_value");
}

#[test]
fn events_tasks_and_completions_are_found_too() {
    let env = TestEnvironment::new();
    fs::write(
        env.work().join("spec.md"),
        "- [ ] TASK-01: Write the frobnicator\n- [ ] TASK-02: Paint the shed\n",
    )
    .unwrap();
    env.join("Alice");
    env.ok(&["spec", "spec.md", "--as", "Alice"]);
    env.ok(&["reserve", "src/shed/", "--reason", "painting", "--as", "Alice"]);
    env.ok(&["claim", "TASK-01", "--as", "Alice"]);
    env.ok(&["complete", "TASK-01", "--notes", "the gizmo turns left", "--as", "Alice"]);
    assert_eq!(found(&env, &["--as", "Alice", "gizmo"]), [("completion".into(), "TASK-01".into())]);
    assert_eq!(found(&env, &["--as", "Alice", "frobnicators"])[0], ("task".into(), "TASK-01".into()));
    assert!(found(&env, &["--as", "Alice", "painting"]).contains(&("event".into(), "src/shed/".into())));
    // A person who has not joined finds them, too.
    assert_eq!(found(&env, &["gizmo"]), [("completion".into(), "TASK-01".into())]);
    let nothing = env.run(&["search", "zebra", "crossing"]).expect_code(0).stdout;
    assert!(nothing.contains("Nothing found") && nothing.contains("--all"), "{nothing}");
}
