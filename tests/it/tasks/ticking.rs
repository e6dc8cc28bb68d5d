//! Boxes that several agents tick in one spec at once.

use std::fs;
use std::process::{Child, Stdio};

use serde_json::Value;

use super::fixture::claim;
use crate::support::environment::{TestEnvironment, put};

const ROUNDS: usize = 25;

fn start(env: &TestEnvironment, name: &str, task: &str) -> Child {
    let mut command = env.msg();
    command.args(["complete", task, "--tick", "--json", "--as", name]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn of_boxes_that_are_ticked_at_once_none_is_lost() {
    let env = TestEnvironment::new();
    let names = ["Alice", "Bob", "Carol"];
    for name in names {
        env.join(name);
    }
    for round in 0..ROUNDS {
        let file = format!("spec-{round}.md");
        put(&env.work().join(&file), "- [ ] TASK-0: one\n- [ ] TASK-1: two\n- [ ] TASK-2: three\n");
        let task = |number: usize| format!("TASK-{number}");
        for (number, name) in names.iter().enumerate() {
            env.ok(&["spec", &file, "--as", name]);
            claim(&env, name, &[&task(number)]);
        }
        let started: Vec<Child> =
            names.iter().enumerate().map(|(number, name)| start(&env, name, &task(number))).collect();
        for child in started {
            let output = child.wait_with_output().unwrap();
            let said: Value = serde_json::from_slice(&output.stdout).unwrap();
            let notices = String::from_utf8_lossy(&output.stderr);
            assert_eq!(said["ticked"], true, "round {round}: {said} {notices}");
        }
        let spec = fs::read_to_string(env.work().join(&file)).unwrap();
        assert_eq!(spec.matches("[x]").count(), names.len(), "round {round}: {spec}");
    }
}
