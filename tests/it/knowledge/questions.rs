//! The questions in `docs/knowledge.md` are answered.

use serde_json::{Value, json};

use crate::support::environment::{TestEnvironment, end, put};

/// Records about a few files, so that every question has an answer.
fn project() -> TestEnvironment {
    let env = TestEnvironment::new();
    let git = std::process::Command::new("git").args(["init", "-q"]).current_dir(env.work()).status();
    assert!(git.unwrap().success());
    for path in ["src/sys/flock.rs", "src/sys/files.rs", "src/store/mesh.rs"] {
        put(&env.work().join(path), "pub fn lock() {\n    take();\n}\n");
    }
    let at = "src/sys/flock.rs";
    let actions = json!([
        ["record-decision", {"name": "one-lock", "description": "One lock guards all names",
            "rationale": "two locks deadlocked", "impact": 8, "anchors": [format!("{at}#lock")]}],
        ["record-decision", {"name": "two-locks", "description": "A lock for each name", "anchors": [at]}],
        ["record-principle", {"name": "one-writer", "description": "A file has one writer", "confidence": 0.9,
            "evidence": ["no writer ever waited"]}],
        ["record-pattern", {"name": "guard-value", "type": "concurrency",
            "description": "Who waits for a lock gets a value that gives it back"}],
        ["record-tried", {"name": "cached-registry", "description": "Cache the registry in memory",
            "rationale": "other processes change it", "anchors": ["src/store/mesh.rs"]}],
        ["record-note", {"name": "run-tests", "description": "Run the tests with --locked",
            "anchors": ["$ cargo test"]}],
        ["record-file-understanding", {"path": at, "summary": "Takes and gives the lock", "symbols": ["lock"],
            "relatedFiles": ["src/store/mesh.rs"]}],
        ["link-entities", {"from": at, "to": "src/sys/files.rs", "type": "uses"}],
        ["link-entities", {"from": "one-lock", "to": "two-locks", "type": "contradicts"}],
    ]);
    put(&env.work().join("batch.json"), &json!({ "actions": actions }).to_string());
    end(env.msg().args(["record", "batch.json"])).expect_code(0);
    put(&env.work().join(at), "pub fn lock() {\n    take_it();\n}\n");
    env
}

#[test]
fn every_question_of_the_page_has_an_answer() {
    let env = project();
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/knowledge.md")).unwrap();
    let section = page.split("## Twenty questions").nth(1).unwrap().split("\n## ").next().unwrap();
    let questions: Vec<&str> = section.lines().filter(|line| line.starts_with("msg ")).collect();
    assert_eq!(questions.len(), 20);
    for question in questions {
        let words = shlex(question.rsplit_once(" # ").unwrap().0);
        let answer = end(env.msg().args(&words[1..]).arg("--json")).expect_code(0).json();
        let found = answer.get("records").or(answer.get("value")).unwrap_or(&Value::Null);
        let is_empty = found.is_null()
            || found.as_array().is_some_and(Vec::is_empty)
            || found.as_object().is_some_and(serde_json::Map::is_empty);
        assert!(!is_empty, "{question}: {answer}");
    }
}

/// The words of a line of a shell: single quotes only.
fn shlex(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (number, part) in line.split('\'').enumerate() {
        match number % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_string)),
            _ => words.push(part.to_string()),
        }
    }
    words
}
