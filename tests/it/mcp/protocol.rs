//! Tests of the lifecycle, of lists, and of how few tokens they cost.

use serde_json::{Value, json};

use crate::support::environment::TestEnvironment;
use crate::support::mcp_client::{Client, greeting, server};

/// Maximum cost of the tool list for a model, in tokens. A well-known server of this kind needs 24,700.
const MOST_TOKENS: usize = 2_000;

/// Maximum cost of the list of two agents, in tokens.
const MOST_FOR_TWO_AGENTS: usize = 80;

fn listed(env: &TestEnvironment) -> Value {
    Client::of(env, "claude").request("tools/list", json!({}))
}

#[test]
fn the_list_of_tools() {
    let text = serde_json::to_string_pretty(&listed(&TestEnvironment::new())["tools"]).unwrap();
    insta::with_settings!({ snapshot_path => "../../../snapshots", prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!("mcp-tools", text);
    });
}

#[test]
fn the_list_of_tools_costs_little() {
    let text = listed(&TestEnvironment::new()).to_string();
    for tokenizer in [tiktoken_rs::o200k_base().unwrap(), tiktoken_rs::cl100k_base().unwrap()] {
        let tokens = tokenizer.encode_ordinary(&text).len();
        println!("{tokens} tokens");
        assert!(tokens < MOST_TOKENS, "{tokens} tokens");
        assert!(tokens > 200, "only {tokens} tokens were counted");
    }
}

/// A client may pass all of a result to the model except `_meta`.
#[test]
fn an_answer_costs_little() {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.ok(&["reserve", "src/auth/", "--reason", "new login flow", "--as", "Alice"]);
    let mut client = Client::of(&env, "claude");
    client.name();
    let o200k = tiktoken_rs::o200k_base().unwrap();
    for (tool, arguments, most) in [
        ("agents", json!({}), MOST_FOR_TWO_AGENTS),
        ("reserve", json!({ "action": "list" }), 40),
        ("message", json!({ "to": ["Alice"], "text": "hello" }), 60),
        ("feed", json!({ "limit": 3 }), 80),
    ] {
        let id = client.ask_tool(tool, arguments);
        let mut answer = client.answer(id)["result"].clone();
        let answer = answer.as_object_mut().unwrap();
        assert!(answer.remove("_meta").is_some());
        assert_eq!(answer["isError"], false, "{answer:?}");
        let tokens = o200k.encode_ordinary(answer["content"][0]["text"].as_str().unwrap()).len();
        println!("{tool}: {tokens} tokens");
        assert!(tokens <= most, "{tool}: {tokens} tokens: {answer:?}");
        let rest: Vec<&String> = answer.keys().filter(|key| *key != "content").collect();
        assert!(rest.iter().all(|key| ["isError", "resultType"].contains(&key.as_str())), "{rest:?}");
    }
}

#[test]
fn hints_name_tools() {
    let env = TestEnvironment::new();
    env.join("Peer");
    let mut client = Client::of(&env, "claude");
    let said = client.call("message", json!({ "to": ["Pear"], "text": "hello" }));
    assert!(said.failed);
    insta::assert_snapshot!(said.text.replace(&client.name(), "[ME]"), @"
    note: you joined as [ME]
    error (unknown_agent): no agent is called Pear
    hint: did you mean Peer?
    ");
}

/// Some harnesses pass schemas to a model API that supports only a part of JSON Schema.
#[test]
fn schemas_are_plain() {
    let tools = listed(&TestEnvironment::new());
    for tool in tools["tools"].as_array().unwrap() {
        let schema = &tool["inputSchema"];
        assert_eq!(schema["type"], "object");
        for (name, property) in schema["properties"].as_object().unwrap() {
            assert!(property["type"].is_string(), "{}: {name}", tool["name"]);
        }
    }
}

/// Every property in a schema is accepted by its tool.
#[test]
fn every_property_is_taken() {
    let env = TestEnvironment::new();
    let mut client = Client::of(&env, "claude");
    let tools = client.request("tools/list", json!({}));
    for tool in tools["tools"].as_array().unwrap() {
        for (name, property) in tool["inputSchema"]["properties"].as_object().unwrap() {
            let values: Vec<Value> = match (property.get("enum"), property["type"].as_str().unwrap()) {
                (Some(words), _) => words.as_array().unwrap().clone(),
                (None, "string") => vec![json!("x")],
                (None, "array") => vec![json!([property["items"]["enum"].get(0).unwrap_or(&json!("x"))])],
                (None, "boolean") => vec![json!(true)],
                (None, _) => vec![json!(0)],
            };
            for value in values {
                let said = client.call(tool["name"].as_str().unwrap(), json!({ name: value }));
                assert!(!said.text.contains("unknown field"), "{}", said.text);
                assert!(!said.text.contains("unknown variant"), "{}", said.text);
                assert!(!said.text.contains("invalid type"), "{}", said.text);
            }
        }
        let said = client.call(tool["name"].as_str().unwrap(), json!({ "no_such": 1 }));
        assert!(said.text.contains("error (usage): unknown field `no_such`"), "{}", said.text);
    }
}

#[test]
fn a_version_that_nobody_knows_is_answered_with_one_that_we_have() {
    let env = TestEnvironment::new();
    for version in ["1999-01-01", "2099-12-31", "latest"] {
        let mut client = Client::start(server(&env, "claude"));
        let answer = client.request("initialize", greeting(version));
        assert!(answer["protocolVersion"].as_str().unwrap().starts_with("202"), "{answer}");
        assert_ne!(answer["protocolVersion"], version);
        client.ok("agents", json!({}));
    }
    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let mut client = Client::start(server(&env, "claude"));
        assert_eq!(client.request("initialize", greeting(version))["protocolVersion"], version);
    }
}

/// The lifecycle without `initialize`: every request carries what it needs.
#[test]
fn a_client_of_2026_needs_no_greeting() {
    let env = TestEnvironment::new();
    let mut client = Client::start(server(&env, "claude"));
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "by-hand", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let tools = client.request("tools/list", json!({ "_meta": meta }));
    assert_eq!(tools["tools"].as_array().unwrap().len(), 9);
    let said = client.request("tools/call", json!({ "name": "agents", "arguments": {}, "_meta": meta }));
    assert_eq!(said["isError"], false, "{said}");
}

#[test]
fn the_end_of_its_input_ends_it() {
    let env = TestEnvironment::new();
    Client::start(server(&env, "claude")).end().expect_code(0);
    let mut client = Client::of(&env, "claude");
    client.ok("agents", json!({}));
    let ended = client.end().expect_code(0);
    assert_eq!(ended.stderr, "");
}

/// A script may send all requests at once and then close the input.
#[test]
fn what_was_asked_before_the_end_is_answered() {
    let env = TestEnvironment::new();
    let mut client = Client::of(&env, "claude");
    let ids: Vec<i64> = (0..10).map(|_| client.ask_tool("agents", json!({}))).collect();
    client.hang_up();
    for id in ids {
        assert!(!client.said(id).failed);
    }
}

#[test]
fn unknown_methods_and_tools_are_errors() {
    let env = TestEnvironment::new();
    let mut client = Client::of(&env, "claude");
    for (method, params, code) in [
        ("no/such", json!({}), -32601),
        ("tools/call", json!({ "name": "no_such" }), -32602),
        ("tools/call", json!({ "name": 7 }), -32602),
        ("tools/call", json!({ "name": "agents", "arguments": "text" }), -32602),
        ("resources/read", json!({ "uri": "ravenry://no/such" }), -32002),
    ] {
        let id = client.ask(method, params);
        let answer = client.answer(id);
        assert_eq!(answer["error"]["code"], code, "{answer}");
    }
    assert_eq!(client.request("ping", json!({})), json!({}));
}
