//! Groups as recipients: `@all`, `@spec`, `@branch`, `@harness:NAME`, and those of the configuration.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::scope::{Machine, crowd, git, recipients};
use crate::support::environment::{TestEnvironment, put};

/// Alice sends to those; returns the answer.
#[track_caller]
fn answer(machine: &Machine, to: &str, code: i32) -> Value {
    machine.run(&machine.shop, &["send", to, "hi", "--as", "Alice", "--json"]).expect_code(code).json()
}

#[track_caller]
fn sent_to(machine: &Machine, to: &str) -> Vec<String> {
    recipients(&answer(machine, to, 0))
}

fn refusal(answer: &Value) -> (&str, &str) {
    (answer["error"]["kind"].as_str().unwrap(), answer["error"]["message"].as_str().unwrap())
}

#[test]
fn all_are_whom_a_broadcast_reaches() {
    let machine = crowd();
    for all in ["@all", "@ALL"] {
        assert_eq!(sent_to(&machine, all), ["Bob", "Carol"]);
    }
    assert_eq!(sent_to(&machine, "@all,Dan,@Bob"), ["Bob", "Carol", "Dan"], "one copy each");
    let mail = machine.env.ok(&["read", "--as", "Bob"])["messages"].as_array().unwrap().clone();
    assert!(mail.len() == 3 && mail.iter().all(|message| message["broadcast"] == true), "{mail:?}");
    let feed = machine.env.ok(&["feed"]);
    let told = feed["events"].as_array().unwrap().iter().filter(|event| event["type"] == "message");
    let to: Vec<&Value> = told.map(|event| &event["target"]).collect();
    assert_eq!(to, [&json!("all"); 3], "as of a broadcast");
}

#[test]
fn a_spec_is_shared_in_all_work_trees_and_by_claims() {
    let machine = crowd();
    let (shop, linked) = (&machine.shop, &machine.linked);
    for root in [shop, linked, &machine.blog] {
        put(&root.join("plan.md"), "- [ ] TASK-01: one\n- [ ] TASK-02: two\n");
    }
    let nobody = answer(&machine, "@spec", 1);
    assert_eq!(refusal(&nobody), ("empty_group", "`@spec` is who works with your spec, and you have none"));
    assert_eq!(nobody["error"]["hints"], json!(["set it with `msg spec PATH`"]));
    machine.run(shop, &["spec", "plan.md", "--as", "Alice"]).expect_code(0);
    let text = format!("nobody else works with your spec, `{}`", shop.join("plan.md").display());
    assert_eq!(refusal(&answer(&machine, "@spec", 1)), ("empty_group", text.as_str()));
    machine.run(&machine.blog, &["spec", "plan.md", "--as", "Dan"]).expect_code(0);
    machine.run(linked, &["spec", "plan.md", "--as", "Carol"]).expect_code(0);
    assert_eq!(sent_to(&machine, "@spec"), ["Carol"], "the same spec, in another work tree");
    machine.run(shop, &["claim", "TASK-01", "--spec", "plan.md", "--as", "Bob"]).expect_code(0);
    assert_eq!(sent_to(&machine, "@Spec"), ["Bob", "Carol"], "who has claimed a task of it works with it");
}

#[test]
fn a_branch_is_the_one_that_is_checked_out_now() {
    let machine = crowd();
    assert_eq!(sent_to(&machine, "@branch"), ["Bob"], "another repository has a main branch, too");
    git(&machine.shop, &["checkout", "-q", "--detach"]);
    let (kind, text) =
        ("empty_group", "`@branch` is who is on your branch, and no branch is checked out here");
    assert_eq!(refusal(&answer(&machine, "@branch", 1)), (kind, text));
    git(&machine.linked, &["checkout", "-q", "--detach"]);
    git(&machine.shop, &["checkout", "-q", "topic"]);
    git(&machine.linked, &["checkout", "-q", "-b", "other"]);
    assert_eq!(sent_to(&machine, "@branch"), ["Bob"]);
    machine.run(&machine.shop, &["leave", "--as", "Bob"]).expect_code(0);
    assert_eq!(
        refusal(&answer(&machine, "@branch", 1)),
        (kind, "nobody else is on branch `topic` of this project")
    );
    let elsewhere = machine.run(&machine.notes, &["send", "@branch", "hi", "--as", "Alice", "--json"]);
    let answer = elsewhere.expect_code(1).json();
    assert!(refusal(&answer).1.ends_with("is in no git work tree"), "{answer}");
}

#[test]
fn a_harness_is_one_of_this_project() {
    let machine = crowd();
    machine.join("Robin", &machine.linked, &["--harness", "codex"]);
    machine.join("Wren", &machine.blog, &["--harness", "codex"]);
    assert_eq!(sent_to(&machine, "@harness:codex"), ["Robin"]);
    assert_eq!(sent_to(&machine, "@Harness:Codex"), ["Robin"]);
    assert_eq!(sent_to(&machine, "@harness:other"), ["Bob", "Carol"]);
    let nobody = answer(&machine, "@harness:gemini", 1);
    let text = format!("no other agent of gemini is in this project, `{}`", machine.shop.display());
    assert_eq!(refusal(&nobody), ("empty_group", text.as_str()));
    let wrong = answer(&machine, "@harness:codx", 1);
    assert_eq!(refusal(&wrong), ("unknown_group", "there is no harness `codx`"));
    assert_eq!(wrong["error"]["nearest"], json!(["@harness:codex"]));
    machine.env.ok(&["config", "set", "broadcastScope", "everywhere"]);
    assert_eq!(sent_to(&machine, "@harness:codex"), ["Robin", "Wren"]);
}

/// `groups` of the user.
fn configure(env: &TestEnvironment, groups: &Value) {
    env.ok(&["config", "set", "groups", &groups.to_string()]);
}

#[test]
fn groups_of_ones_own_have_agents_and_groups() {
    let machine = crowd();
    machine.join("Robin", &machine.linked, &["--harness", "codex"]);
    let gone = machine.join("Wren", &machine.shop, &[]);
    machine.env.kill(gone);
    let groups = json!({
        "backend": ["Dan", "bob", "Wren", "Nobody", "@web", "@Alice"],
        "web": ["@harness:codex", "@harness:nosuch", "Dan"],
        "Carol": ["Dan"],
        "gone": ["Wren"],
        "empty": [],
    });
    configure(&machine.env, &groups);
    assert_eq!(machine.env.ok(&["config", "get", "groups"])["values"]["groups"]["value"], groups);
    let ended =
        machine.run(&machine.shop, &["send", "@Backend", "hi", "--as", "Alice", "--json"]).expect_code(0);
    let sent = ended.json();
    assert_eq!(recipients(&sent), ["Bob", "Dan", "Robin"], "named agents may be in other projects");
    let resolved = json!([{
        "group": "@backend",
        "agents": ["Dan", "Bob", "Robin"],
        "absent": ["Wren", "Nobody", "@harness:nosuch"],
    }]);
    assert_eq!(sent["groups"], resolved);
    let note =
        "note: Wren, Nobody and @harness:nosuch of `@backend` are not here: nothing was sent to them\n";
    assert_eq!(ended.stderr, note);
    assert_eq!(sent_to(&machine, "@Carol"), ["Dan"], "a group wins over an agent of that name");
    assert_eq!(sent_to(&machine, "Carol"), ["Carol"], "without an @ it is the agent");
    assert_eq!(
        refusal(&answer(&machine, "@gone", 1)),
        ("empty_group", "nobody of `@gone` is here: its members are Wren")
    );
    assert_eq!(refusal(&answer(&machine, "@empty", 1)).1, "nobody of `@empty` is here: it has no members");
    let held = machine.run(&machine.shop, &["send", "@gone", "hi", "--hold", "--as", "Alice", "--json"]);
    assert_eq!(recipients(&held.expect_code(0).json()), ["Wren"]);
    let some = answer(&machine, "Bob,@gone", 1);
    assert_eq!((refusal(&some).0, &some["failed"][0]["to"]), ("not_all_sent", &json!("@gone")));
    assert_eq!(recipients(&some), ["Bob"], "a group of nobody stops nobody's copy");
}

#[test]
fn former_names_lead_to_members() {
    let machine = crowd();
    configure(&machine.env, &json!({ "backend": ["Bob", "Robert"] }));
    machine.env.ok(&["rename", "Robert", "--as", "Bob"]);
    let answer = answer(&machine, "@backend,Bob", 0);
    assert_eq!(recipients(&answer), ["Robert"], "one copy");
    assert_eq!(answer["groups"], json!([{ "group": "@backend", "agents": ["Robert"], "absent": [] }]));
}

#[test]
fn a_project_adds_groups_and_takes_none() {
    let machine = crowd();
    configure(&machine.env, &json!({ "backend": ["Bob"] }));
    let file = machine.shop.join(".ravenry/config.json");
    put(&file, &json!({ "groups": { "Backend": ["Dan"], "blog": ["Dan", "@backend"] } }).to_string());
    let ended =
        machine.run(&machine.shop, &["send", "@backend", "hi", "--as", "Alice", "--json"]).expect_code(0);
    assert_eq!(
        recipients(&ended.json()),
        ["Bob"],
        "a clone does not say who is meant by a name of the user's"
    );
    assert!(ended.stderr.contains("the group `Backend` is ignored, because your own file has it"), "{ended}");
    assert_eq!(sent_to(&machine, "@blog"), ["Bob", "Dan"]);
    let linked = machine.run(&machine.linked, &["send", "@blog", "hi", "--as", "Alice", "--json"]);
    assert_eq!(linked.expect_code(1).kind(), "unknown_agent", "it is not in that work tree");
}

#[test]
fn a_circle_is_an_error_that_names_it() {
    let machine = crowd();
    let env = &machine.env;
    let circle = json!({ "a": ["@b"], "b": ["Bob", "@c"], "c": ["@a"] }).to_string();
    let text = "`groups`: a group can't contain itself: @a → @b → @c → @a";
    let refused = env.run(&["config", "set", "groups", &circle]).expect_code(2);
    assert!(refused.stderr.starts_with(&format!("error: {text}\n")), "{refused}");
    put(&machine.shop.join(".ravenry/config.json"), &format!("{{\"groups\": {circle}}}"));
    let ended = machine.run(&machine.shop, &["send", "@a", "hi", "--as", "Alice"]).expect_code(4);
    assert!(ended.stderr.contains(text), "{ended}");
    assert_eq!(machine.run(&machine.notes, &["send", "Bob", "hi", "--as", "Alice"]).code, Some(0));
}

#[test]
fn what_nobody_is_called() {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.join("Bob");
    configure(&env, &json!({ "backend": ["Bob"] }));
    let typed =
        ["@bakend", "bakend", "@Bobb", "@brunch", "@zzz", "@harness", "@harnes:codex", "@harness:", "@all:x"];
    let refused = typed.map(|name| ["send", name, "hi", "--as", "Alice"]);
    assert_snapshot!(env.transcript(&refused.each_ref().map(|args| &args[..])), @"
    $ msg send @bakend hi --as Alice
    [exit 1]
    --- stderr
    error: no agent or group is called bakend
    hint: did you mean @backend?

    $ msg send bakend hi --as Alice
    [exit 1]
    --- stderr
    error: no agent is called bakend
    hint: did you mean @backend?

    $ msg send @Bobb hi --as Alice
    [exit 1]
    --- stderr
    error: no agent or group is called Bobb
    hint: did you mean Bob?

    $ msg send @brunch hi --as Alice
    [exit 1]
    --- stderr
    error: no agent or group is called brunch
    hint: did you mean @branch?

    $ msg send @zzz hi --as Alice
    [exit 1]
    --- stderr
    error: no agent or group is called zzz
    hint: `msg agents` lists who is here; groups are `@all`, `@spec`, `@branch`, `@harness:NAME` and those of the setting `groups`

    $ msg send @harness hi --as Alice
    [exit 1]
    --- stderr
    error: no agent or group is called harness
    hint: `msg agents` lists who is here; groups are `@all`, `@spec`, `@branch`, `@harness:NAME` and those of the setting `groups`

    $ msg send @harnes:codex hi --as Alice
    [exit 2]
    --- stderr
    error: `harnes:codex` can't be a name: letters, digits, `_` and `-` only, and no `-` at the start
    hint: groups are `@all`, `@spec`, `@branch`, `@harness:NAME` and those of the setting `groups`

    $ msg send @harness: hi --as Alice
    [exit 1]
    --- stderr
    error: `@harness:` lacks the name of a harness
    hint: `@harness:NAME` takes one of: claude, codex, gemini, opencode, pi, copilot, kimi, qwen, terminal, other

    $ msg send @all:x hi --as Alice
    [exit 2]
    --- stderr
    error: `all:x` can't be a name: letters, digits, `_` and `-` only, and no `-` at the start
    hint: groups are `@all`, `@spec`, `@branch`, `@harness:NAME` and those of the setting `groups`
    ");
}
