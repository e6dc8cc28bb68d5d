//! What can't be done to an agent on another machine.

use ravenry::domain::{Agent, FormerName};
use serde_json::json;

use super::{Linked, at, name};

#[test]
fn commands_that_work_on_an_agent_say_where_to_run_them() {
    let linked = Linked::new();
    for (args, hint) in [
        (&["evict", "Anna"][..], "run `msg evict Anna` there"),
        (&["look", "Anna"], "run `msg look Anna` there"),
        (&["tell", "Anna", "x"], "run `msg tell Anna` there"),
        (&["brief", "Anna"], "run `msg brief Anna` there"),
    ] {
        let error = linked.fails(args);
        assert_eq!(
            (&error["kind"], &error["message"], &error["hints"][0], &error["machine"]),
            (&json!("remote_agent"), &json!("Anna is on laptop"), &json!(hint), &json!("laptop")),
            "{args:?}"
        );
    }
    assert_eq!(linked.ok(&["agents"])["agents"].as_array().unwrap().len(), 3);
}

#[test]
fn nobody_speaks_as_an_agent_elsewhere() {
    let linked = Linked::new();
    for args in [&["send", "Bob", "x"][..], &["leave"], &["rename", "Eve"], &["reserve", "src/"], &["read"]] {
        let ended = linked.run(&[args, &["--as", "Anna", "--json"]].concat()).expect_code(1);
        assert_eq!(ended.kind(), "remote_agent", "{args:?}");
    }
    linked.nothing_is_left_of("Anna");
}

#[test]
fn a_task_is_not_handed_to_another_machine() {
    let linked = Linked::new();
    let spec = linked.repository.join("plan.md");
    std::fs::write(&spec, "# Plan\n\n- [ ] TASK-01: one\n").unwrap();
    linked.ok(&["spec", spec.to_str().unwrap()]);
    linked.ok(&["claim", "TASK-01"]);
    assert_eq!(linked.fails(&["handoff", "TASK-01", "Anna"])["kind"], "remote_agent");
}

#[test]
fn a_name_elsewhere_is_taken() {
    let linked = Linked::new();
    let error = linked.join("Anna").expect_code(1).stderr;
    assert!(error.contains("the name Anna is taken by an agent on laptop"), "{error}");
    assert_eq!(linked.fails(&["rename", "anna"])["message"], "the name anna is taken by an agent on laptop");
    let formerly = vec![FormerName { name: name("Hanna"), until: at("2030-01-02T12:05:00Z") }];
    linked.set(&[Agent { formerly, ..linked.anna() }]);
    assert_eq!(linked.fails(&["rename", "ANNA"])["kind"], "name_taken");
    let error = linked.fails(&["rename", "Hanna"]);
    assert_eq!(error["message"], "the name Hanna is taken by Anna on laptop, who was called that");
    assert_eq!(linked.ok(&["send", "Hanna", "x"])["sent"][0]["to"], "Anna");
    // One that it no longer keeps is free.
    let formerly = vec![FormerName { name: name("Hanna"), until: at("2030-01-02T11:00:00Z") }];
    linked.set(&[Agent { formerly, ..linked.anna() }]);
    linked.ok(&["rename", "Hanna"]);
}

#[test]
fn generated_names_avoid_those_elsewhere() {
    let linked = Linked::unlinked();
    linked
        .env
        .configure(r#"{"nameTheme": "custom", "nameWords": {"adjectives": ["Red"], "nouns": ["Fox"]}}"#);
    linked.set(&[super::agent("RedFox", "laptop", None)]);
    let pid = linked.env.host().to_string();
    let joined = linked.run(&["join", "--pid", &pid, "--session", "new", "--json"]).expect_code(0).json();
    assert_eq!(joined["agent"]["name"], "RedFox2");
}

#[test]
fn doctor_leaves_agents_elsewhere_alone() {
    let linked = Linked::new();
    for args in [&["doctor"][..], &["doctor", "--repair"]] {
        let said = linked.run(args).stdout;
        assert!(!said.contains("Anna") && !said.contains("Otto"), "{said}");
    }
    assert!(linked.env.mesh().join("remote/agents/Anna.json").exists());
}
