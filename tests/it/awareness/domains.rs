//! Tests of domains: configured ones, those that the history shows, and what `overlaps` says of them.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{commit, edit, git, join, prompt, repository};
use crate::support::environment::{TestEnvironment, end, put};

/// A repository of many parts, in which logins, sessions and tokens end in `src/auth`.
fn wide_repository() -> TestEnvironment {
    let env = repository();
    for round in 0..2 {
        for number in 0..38 {
            put(&env.work().join(format!("src/part{number}/a.rs")), &round.to_string());
        }
        git(&env.work(), &["add", "-A"]);
        git(&env.work(), &["commit", "-q", "-m", "import parts"]);
    }
    for number in 0..6 {
        commit(&env, "src/auth/session.rs", &format!("x{number}"), "login session expires with its token");
    }
    env
}

fn configure(env: &TestEnvironment) {
    let domains = json!({ "auth": { "words": ["login", "OAuth2"], "paths": ["src/auth/**"] } });
    env.ok(&["config", "set", "--project", "domains", &domains.to_string()]);
}

fn signals(env: &TestEnvironment) -> Vec<Value> {
    let found = env.ok(&["overlaps", "--all"])["overlaps"].clone();
    let pairs = found.as_array().unwrap().iter();
    pairs.flat_map(|pair| pair["signals"].as_array().unwrap().clone()).collect()
}

#[test]
fn domains_are_listed_with_why() {
    let env = wide_repository();
    let text = |args: &[&str]| env.redact(env.run(args).expect_code(0).stdout);
    configure(&env);
    insta::assert_snapshot!(text(&["topics", "--domains"]), @r"
    auth  configured
      words  login, oauth2
      paths  src/auth/**

    No prompts or commits are counted here yet, so no domains are learned. Hooks count them: `msg install`. The setting `domains` names your own.
    ");
    join(&env, "Alice");
    insta::assert_snapshot!(text(&["topics", "--domains"]), @r"
    auth  configured
      words  login, oauth2
      paths  src/auth/**

    src/auth  learned
      paths  src/auth/
      login: 9 of 9 changed files are there, in 9 prompts and commits
      expires: 6 of 6 changed files are there, in 6 prompts and commits
      session: 6 of 6 changed files are there, in 6 prompts and commits
      token: 6 of 6 changed files are there, in 6 prompts and commits
    ");
    let found = env.ok(&["topics", "--domains"]);
    let domains = found["domains"].as_array().unwrap();
    let words = json!(["login", "oauth2"]);
    assert_eq!(
        domains[0],
        json!({ "name": "auth", "source": "configured", "words": words, "paths": ["src/auth/**"], "why": [] })
    );
    assert_eq!(domains[1]["why"][0]["prompts"], 9, "{domains:?}");
    assert_eq!(
        env.ok(&["topics", "Alice", "--domains"])["domains"],
        json!([]),
        "she was not asked for anything"
    );
    prompt(&env, "Alice", "show sessions");
    assert_eq!(env.ok(&["topics", "Alice", "--domains"])["domains"][0]["name"], "src/auth");
    env.run(&["topics", "Nobody", "--domains"]).expect_code(1);
}

/// The file of this project says nothing about another one.
#[test]
fn an_agent_of_another_repository_is_in_no_domain_of_this_project() {
    let env = wide_repository();
    configure(&env);
    join(&env, "Alice");
    prompt(&env, "Alice", "fix the login");
    let names = |dir: &Path| -> Vec<String> {
        let ended = end(env.msg().current_dir(dir).args(["topics", "Alice", "--domains", "--json"]));
        let domains = ended.expect_code(0).json()["domains"].clone();
        domains.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_string()).collect()
    };
    assert_eq!(names(&env.work()), ["auth", "src/auth"]);
    let other = env.path().join("other");
    fs::create_dir(&other).unwrap();
    let domains = r#"{"elsewhere": {"words": ["login"]}}"#;
    git(&other, &["init", "-q", "-b", "main"]);
    end(env.msg().current_dir(&other).args(["config", "set", "--project", "domains", domains]))
        .expect_code(0);
    assert_eq!(names(&other), ["src/auth"]);
}

#[test]
fn agents_that_work_in_one_domain() {
    let env = wide_repository();
    join(&env, "Alice");
    join(&env, "Robin");
    prompt(&env, "Alice", "show sessions");
    prompt(&env, "Robin", "rotate tokens");
    let found = signals(&env);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((&found[0]["kind"], &found[0]["domain"]), (&json!("DOMAIN_PROXIMITY"), &json!("src/auth")));
    configure(&env);
    edit(&env, "Alice", "src/auth/new.rs");
    edit(&env, "Robin", "src/auth/other.rs");
    let found = signals(&env);
    assert_eq!(
        (&found[0]["domain"], &found[0]["strength"]),
        (&json!("auth"), &json!(0.7)),
        "the configured one"
    );
    let text = env.run(&["overlaps"]).expect_code(0).stdout;
    assert!(text.contains("both work in auth"), "{text}");
}

#[test]
fn a_project_adds_its_domains_to_those_of_the_user() {
    let env = TestEnvironment::new();
    env.ok(&["config", "set", "domains", r#"{"auth": {"words": ["token"]}, "ui": {"words": ["color"]}}"#]);
    configure(&env);
    let names = |env: &TestEnvironment| -> Vec<String> {
        let found = env.ok(&["topics", "--domains"])["domains"].clone();
        found.as_array().unwrap().iter().map(|one| format!("{} {}", one["name"], one["words"])).collect()
    };
    assert_eq!(names(&env), ["\"auth\" [\"login\",\"oauth2\"]", "\"ui\" [\"color\"]"]);
    env.ok(&["config", "unset", "--project", "domains"]);
    assert_eq!(names(&env), ["\"auth\" [\"token\"]", "\"ui\" [\"color\"]"]);
}
