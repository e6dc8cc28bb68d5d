//! The formats of runs between machines read back, and refuse what makes no sense.

use super::*;
use serde_json::{Value, json};

fn ask() -> RunAsk {
    RunAsk {
        id: RunId::from_random(7),
        by: RunAsker::Agent { name: AgentName::new("Anna").unwrap(), session: SessionId::new("s").unwrap() },
        profile: "builder".to_string(),
        task: "make\nit".to_string(),
        name: Some(AgentName::new("Mason").unwrap()),
        timeout_seconds: Some(60),
        most_micros: Some(5),
        most_tokens: None,
        reserve: vec!["src/**".to_string()],
        claim: Some(("T-1".to_string(), "docs/plan.md".to_string())),
        is_to_wait: true,
        is_to_read: true,
        depth: 2,
        repository: RootCommit::new(&"a".repeat(40)).unwrap(),
        commit: "b".repeat(40),
    }
}

fn read_back(letter: &RunLetter) -> Result<RunLetter, ParseError> {
    let bytes = serde_json::to_vec(&LetterKeys::of(letter)).unwrap();
    serde_json::from_slice::<LetterKeys>(&bytes).unwrap().read()
}

#[test]
fn letters_read_back() {
    let id = RunId::from_random(9);
    let news = RunNews {
        number: 4,
        there: Some(id.clone()),
        state: RunState::Interrupted,
        agent: Some(AgentName::new("Mason").unwrap()),
        result: Some("done".to_string()),
        usage: Usage { input: Some(3), ..Usage::default() },
        cost: Cost::Computed(MicroUsd::from_micros(3)),
        branch: Some(format!("ravenry/run-{id}")),
        changed: Some(vec!["a".to_string()]),
        push: Some(BranchPush { remote: "origin".to_string(), problem: Some("no".to_string()) }),
        log: Some("x\n".to_string()),
        ..RunNews::accepted()
    };
    let refusal = RunAskRefusal {
        kind: "gate".to_string(),
        gate: Some("mode".to_string()),
        message: "no".to_string(),
        hints: vec!["h".to_string()],
    };
    for letter in [
        RunLetter::Ask(Box::new(ask())),
        RunLetter::Ask(Box::new(RunAsk { by: RunAsker::Person, claim: None, ..ask() })),
        RunLetter::Refused { id: id.clone(), refusal },
        RunLetter::News { id: id.clone(), news: Box::new(news) },
        RunLetter::Stop { id: id.clone(), by: RunAsker::Person, is_now: true },
        RunLetter::LogWanted { id },
    ] {
        assert_eq!(read_back(&letter).unwrap(), letter);
    }
}

#[test]
fn what_makes_no_sense_is_refused_whole() {
    let good = serde_json::to_value(LetterKeys::of(&RunLetter::Ask(Box::new(ask())))).unwrap();
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut keys = good.clone();
        change(&mut keys);
        serde_json::from_value::<LetterKeys>(keys).map_or(true, |keys| keys.read().is_err())
    };
    assert!(!refused(&|_| {}));
    for (key, value) in [
        ("id", json!("../a")),
        ("agent", json!("../Anna")),
        ("profile", json!("")),
        ("profile", json!("a\u{1b}[2J")),
        ("task", json!("x".repeat(MAX_WORDS + 1))),
        ("commit", json!("--upload-pack=x")),
        ("commit", json!("HEAD")),
        ("repository", json!("x")),
        ("spec", json!("../../etc/passwd")),
        ("spec", json!("/etc/passwd")),
        ("reserve", json!(vec!["a"; MAX_PATTERNS + 1])),
        ("name", json!("-x")),
    ] {
        assert!(refused(&|keys| keys[key] = value.clone()), "{key}: {value}");
    }
}

#[test]
fn there_is_no_place_for_a_program_arguments_or_variables() {
    let mut keys = serde_json::to_value(LetterKeys::of(&RunLetter::Ask(Box::new(ask())))).unwrap();
    for key in ["command", "args", "env", "program", "harness", "root", "tools"] {
        keys[key] = json!(["sh", "-c", "id"]);
    }
    let read = serde_json::from_value::<LetterKeys>(keys).unwrap().read().unwrap();
    assert_eq!(read, RunLetter::Ask(Box::new(ask())));
}

#[test]
fn texts_are_cut_and_branches_are_those_of_runs() {
    let news = RunNews {
        result: Some("ä".repeat(MAX_WORDS)),
        log: Some(format!("{}\u{1b}[2Jend", "x".repeat(MAX_LOG))),
        branch: Some("ravenry/run-abcdef; rm -rf /".to_string()),
        changed: Some(vec!["a".to_string(); MAX_FILES + 5]),
        ..RunNews::accepted()
    };
    let id = RunId::from_random(1);
    let Ok(RunLetter::News { news, .. }) = read_back(&RunLetter::News { id, news: Box::new(news) }) else {
        panic!("it is news")
    };
    assert!(news.result.as_ref().unwrap().len() <= MAX_WORDS);
    assert!(news.result.unwrap().ends_with("…]"));
    let log = news.log.unwrap();
    assert!(log.len() <= MAX_LOG && log.ends_with("[2Jend") && !log.contains('\u{1b}'));
    assert_eq!(news.branch, None);
    assert_eq!(news.changed.unwrap().len(), MAX_FILES);
}

#[test]
fn times_that_would_not_read_back_are_refused() {
    let news = |key: &str, time: &str| {
        let letter = RunLetter::News { id: RunId::from_random(1), news: Box::new(RunNews::accepted()) };
        let mut keys = serde_json::to_value(LetterKeys::of(&letter)).unwrap();
        keys[key] = json!(time);
        serde_json::from_value::<LetterKeys>(keys).ok()?.read().ok()
    };
    for key in ["startedAt", "endedAt"] {
        for good in ["1970-01-01T00:00:00Z", "2026-11-14T12:00:00.123Z", "9998-12-31T23:59:59.999Z"] {
            let letter = news(key, good).unwrap();
            assert_eq!(read_back(&letter).unwrap(), letter, "{key}: {good}");
        }
        for bad in [
            "-009999-01-02T01:59:59Z",
            "0001-01-01T00:00:00Z",
            "1969-12-31T23:59:59Z",
            "9999-01-01T00:00:00Z",
        ] {
            assert_eq!(news(key, bad), None, "{key}: {bad}");
        }
    }
}
