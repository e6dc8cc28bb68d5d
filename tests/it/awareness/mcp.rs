//! Tests of what the MCP tool `agents` adds on request: headings and overlaps.

use ravenry::sys::test_switches::NOW;
use serde_json::json;

use super::{edit, join, prompt, repository};
use crate::support::environment::TestEnvironment;
use crate::support::mcp_client::{Client, server};

/// A client at the time of the prompts and edits.
fn at_noon(env: &TestEnvironment) -> Client {
    let mut server = server(env, "claude");
    server.env(NOW, "2026-11-15T12:00:00Z");
    Client::greeted(server)
}

#[test]
fn headings_and_overlaps_on_request() {
    let env = repository();
    join(&env, "Alice");
    join(&env, "Robin");
    prompt(&env, "Robin", "look after the login");
    edit(&env, "Robin", "src/auth/login.rs");
    prompt(&env, "Alice", "the login forgets its users");
    let mut client = at_noon(&env);
    let plain = client.ok("agents", json!({}));
    assert!(plain.structured.get("headings").is_none() && plain.structured.get("overlaps").is_none());

    let said = client.ok("agents", json!({ "include": ["headings", "overlaps"] }));
    let added: Vec<&str> = said.text.lines().skip(plain.text.lines().count()).collect();
    insta::assert_snapshot!(added.join("\n"), @r"
    Alice: about `login`, `forgets`, `users`
    Robin: about `login`; changed `src/auth/login.rs`
    Alice → Robin: possible collision in `src/auth/login.rs`: prompts about `login` usually end there (3 of 3)
    ");
    assert_eq!(said.structured["headings"][1]["changed"], json!(["src/auth/login.rs"]));
    assert_eq!(said.structured["overlaps"][0]["likelihood"], "possible");
    for text in [said.text, said.structured["overlaps"].to_string()] {
        assert!(!text.contains('%') && !text.contains("probability"), "{text}");
    }
    assert_eq!(client.fails("agents", json!({ "include": ["secrets"] })), "usage");
}

#[test]
fn a_file_that_both_have_changed_is_told_once() {
    let env = repository();
    for name in ["Alice", "Robin"] {
        join(&env, name);
        edit(&env, name, "src/auth/login.rs");
    }
    let mut client = at_noon(&env);
    let said = client.ok("agents", json!({ "include": ["overlaps"] }));
    let told: Vec<&str> = said.text.lines().filter(|line| line.contains("collision")).collect();
    assert_eq!(told, ["Alice ↔ Robin: likely collision in `src/auth/login.rs`: both have changed it"]);
    let found = &said.structured["overlaps"];
    assert_eq!(found.as_array().map(Vec::len), Some(1), "{found}");
    assert_eq!(found[0]["fact"], true);
}

#[test]
fn nothing_to_add_is_said() {
    let env = repository();
    join(&env, "Alice");
    let mut client = Client::of(&env, "claude");
    let said = client.ok("agents", json!({ "include": ["headings", "overlaps"] }));
    let added: Vec<&str> = said.text.lines().filter(|line| !line.starts_with("Alice: active")).collect();
    insta::assert_snapshot!(added.join("\n"), @r"
    headings: nothing is known yet
    overlaps: nobody seems to be heading for another's files
    ");
}

#[test]
fn many_agents_are_few_lines() {
    let env = repository();
    let file = format!("src/{}/login.rs", "deep/".repeat(30).trim_end_matches('/'));
    for number in 10..25 {
        let name = format!("Agent{number}");
        join(&env, &name);
        prompt(&env, &name, "look after the login");
        edit(&env, &name, &file);
    }
    let mut client = at_noon(&env);
    let plain = client.ok("agents", json!({}));
    let said = client.ok("agents", json!({ "include": ["headings", "overlaps"] }));
    let added: Vec<&str> = said.text.lines().skip(plain.text.lines().count()).collect();
    let rests: Vec<&&str> = added.iter().filter(|line| line.starts_with("and ")).collect();
    // Each two of the fifteen have changed the file, and a hundred of these 105 pairs are looked at.
    assert_eq!(rests, [&"and 5 more", &"and at least 90 more"], "{added:?}");
    for line in added.iter().filter(|line| line.contains("deep")) {
        assert!(line.contains("deep/login.rs`"), "{line}");
    }
    assert_eq!(said.structured["overlaps"].as_array().map(Vec::len), Some(10));
}
