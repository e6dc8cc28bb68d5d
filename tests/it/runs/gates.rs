//! What a task has to pass before a worker is started for it.

use serde_json::json;

use super::{path_with_msg, script, with_profiles};
use crate::support::environment::TestEnvironment;

#[track_caller]
fn refused_by(env: &TestEnvironment, args: &[&str]) -> (String, String) {
    let ended = env.run(&[args, &["--json"]].concat()).expect_code(1);
    let answer = ended.json();
    assert_eq!(answer["error"]["kind"], "gate", "{ended}");
    assert_eq!(env.ok(&["runs", "--all"])["runs"], json!([]), "a run that was refused is none");
    let [gate, message] = ["gate", "message"].map(|key| answer["error"][key].as_str().unwrap().to_string());
    (gate, message)
}

#[test]
fn a_task_is_not_empty() {
    let env = with_profiles(&script("echo", "cat"));
    for task in ["", "  \n\t"] {
        assert_eq!(refused_by(&env, &["run", "echo", task]), ("task".into(), "the task is empty".into()));
    }
}

#[test]
fn a_task_is_not_endless() {
    let env = with_profiles(&script("echo", "cat"));
    let file = env.work().join("task");
    std::fs::write(&file, "x".repeat(1024 * 1024 + 1)).unwrap();
    let (gate, message) = refused_by(&env, &["run", "echo", "--file", file.to_str().unwrap()]);
    assert_eq!(
        (gate.as_str(), message.as_str()),
        ("task", "the task has 1048577 bytes; at most 1048576 are allowed")
    );
    std::fs::write(&file, "x".repeat(1024 * 1024)).unwrap();
    env.ok(&["run", "echo", "--file", file.to_str().unwrap()]);
}

#[test]
fn a_profile_exists() {
    let env = with_profiles(&script("echo", "cat"));
    let (gate, message) = refused_by(&env, &["run", "ehco", "x"]);
    assert_eq!((gate.as_str(), message.as_str()), ("profile", "there is no profile or harness `ehco`"));
    let ended = env.run(&["run", "ehco", "x"]);
    assert!(ended.stderr.contains("did you mean `echo`?"), "{ended}");
}

#[test]
fn a_broken_file_starts_nothing() {
    let env = with_profiles("[echo]\ncommand = 3\n");
    let ended = env.run(&["run", "echo", "x", "--json"]).expect_code(4);
    assert_eq!(ended.kind(), "bad_config");
    let message = ended.json()["error"]["message"].as_str().unwrap().to_string();
    assert!(message.contains("workers.toml:2:"), "{message}");
}

#[test]
fn what_fails_again_and_again_is_not_tried_again() {
    let env = with_profiles(&[script("bad", "exit 1"), script("good", "cat")].concat());
    for _ in 0..5 {
        env.run(&["run", "bad", "the same"]).expect_code(1);
    }
    let ended = env.run(&["run", "bad", "the same", "--json"]).expect_code(1);
    assert_eq!(ended.json()["error"]["gate"], "loop", "{ended}");
    assert_eq!(env.fails(1, &["run", "bad", "another"]), "run_failed");
    env.ok(&["run", "good", "the same"]);
}

#[test]
fn workers_of_workers_go_only_so_deep() {
    let deeper = r#"cat >/dev/null; msg run deeper x --json --color never || true"#;
    let env = with_profiles(&script("deeper", deeper));
    let answer =
        env.run_with(&["run", "deeper", "x", "--json"], &[("PATH", &path_with_msg())]).expect_code(0).json();
    assert!(answer["run"]["result"].as_str().unwrap().contains("this would be a worker of a worker, 4 deep"));
    assert_eq!(env.ok(&["runs", "--all"])["runs"].as_array().unwrap().len(), 4);
}
