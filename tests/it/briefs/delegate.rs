//! `msg delegate` and `msg suggest`, with topics that hooks recorded.

use serde_json::{Value, json};

use crate::support::hook_call::{Call, session_of};

use super::fixture::{Project, words};

/// The user of that agent asks it something.
fn asked(project: &Project, agent: &str, prompt: &str) {
    Call::new(&project.env, "claude/UserPromptSubmit", &session_of(agent))
        .with("/prompt", prompt)
        .answer(&project.env);
}

fn changes(project: &Project, agent: &str, file: &str) {
    project.write(&project.root().join(file), agent);
    Call::new(&project.env, "claude/PostToolUse-Edit", &session_of(agent))
        .with("/tool_input/file_path", json!(project.root().join(file)))
        .answer(&project.env);
}

/// Alice knows the login, Bob the cart, and Carol nothing yet.
fn team() -> Project {
    let project = Project::new();
    let root = project.root();
    for name in ["Alice", "Bob", "Carol"] {
        project.join(name, &root);
    }
    for prompt in ["the login form rejects umlauts", "login: umlauts in passwords", "login errors, again"] {
        asked(&project, "Alice", prompt);
    }
    changes(&project, "Alice", "src/auth/login.rs");
    for prompt in ["the cart loses items", "cart totals are wrong"] {
        asked(&project, "Bob", prompt);
    }
    project
}

#[test]
fn whoever_fits_is_proposed_and_nothing_is_sent() {
    let project = team();
    let root = project.root();
    project.msg(&root, &["claim", "CART", "--adhoc", "--as", "Bob"]).expect_code(0);
    let args = ["delegate", "tests for the login form and the cart", "--as", "Carol"];
    insta::assert_snapshot!(project.shown(&root, &args), @"
    Alice  active, has room; topics: login, form; files: `src/auth/login.rs`
    Bob  active, works on `CART`; topics: cart
    Nothing was sent. To send it, add: --to Alice
    ");
    let answer = project.msg(&root, &[&args[..], &["--json"]].concat()).expect_code(0).json();
    let names: Vec<&Value> = answer["proposals"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["Alice", "Bob"], "who has room comes first: {answer}");
    assert_eq!(answer["proposals"][0]["files"], json!(["src/auth/login.rs"]));
    let nobody = project.shown(&root, &["delegate", "draw a logo", "--as", "Bob"]);
    insta::assert_snapshot!(nobody, @"
    No agent in this repository works on this.
    Nothing in common, but room: Alice, Carol
    Nothing was sent. To send it, add: --to Alice
    ");
    for name in ["Alice", "Bob", "Carol"] {
        assert_eq!(project.env.ok(&["inbox", "--as", name])["messages"], json!([]), "{name}");
    }
}

#[test]
fn with_a_name_it_is_sent() {
    let project = team();
    let root = project.root();
    let args = ["delegate", "tests for the login form", "--to", "Alice", "--brief", "--as", "Bob"];
    project.msg(&root, &args).expect_code(0);
    let mail = project.env.ok(&["inbox", "--as", "Alice"]);
    let text = mail["messages"][0]["text"].as_str().unwrap_or_else(|| panic!("{mail}"));
    assert!(text.starts_with("tests for the login form\n\nBrief of Bob: "), "{text}");
    assert!(words(text) <= 310 && text.contains("Last topics: `cart`"), "{text}");
    let alone = ["delegate", "--brief", "x", "--as", "Bob"];
    insta::assert_snapshot!(project.env.transcript(&[&alone, &["delegate", "--as", "Bob"]]), @r#"
    $ msg delegate --brief x --as Bob
    [exit 2]
    --- stderr
    error: `--brief` needs `--to`
    hint: without `--to`, `msg delegate` only proposes whom to ask, and sends nothing

    $ msg delegate --as Bob
    [exit 2]
    --- stderr
    error: there is no text to delegate
    hint: for example: msg delegate "write tests for the login"
    "#);
    assert_eq!(project.env.fails(1, &["delegate", "x", "--to", "Nobody", "--as", "Bob"]), "unknown_agent");
}

#[test]
fn ready_tasks_and_topics_that_move_on_are_suggested() {
    let project = team();
    let root = project.root();
    project.write(
        &root.join("spec.md"),
        "- [ ] T-1: Remember the login\n- [ ] T-2: Cart of guests, needs T-1\n",
    );
    project.msg(&root, &["spec", "spec.md", "--as", "Carol"]).expect_code(0);
    for prompt in ["draw a logo", "a larger logo", "logo colours", "logo on the letter", "logo, bigger"] {
        asked(&project, "Alice", prompt);
    }
    for prompt in ["passwords and umlauts", "umlauts in the login", "login with umlauts"] {
        asked(&project, "Bob", prompt);
    }
    insta::assert_snapshot!(project.shown(&root, &["suggest"]), @"
    `T-1` “Remember the login” fits Alice
      active, has room; topics: login; files: `src/auth/login.rs`
    Alice is leaving what Bob is coming to: login, passwords
      to tell Bob what is known: msg brief Alice
    ");
    let answer = project.msg(&root, &["suggest", "--json"]).expect_code(0).json();
    assert_eq!(answer["suggestions"][1]["from"], "Alice", "{answer}");
    assert_eq!(answer["suggestions"][1]["to"], "Bob", "{answer}");
    let elsewhere = project.env.home();
    let nothing = "Nothing to suggest. `msg topics` shows what agents work on, `msg tasks` what is to do.\n";
    assert_eq!(project.shown(&elsewhere, &["suggest"]), nothing);
}
