//! Tests of what `doctor` reports about claims, completions and specs, and what it saves of them.

use std::fs;

use insta::assert_snapshot;
use serde_json::Value;

use crate::support::environment::{TestEnvironment, put, put_old};

use super::{at, doctor, repair};

#[test]
fn claims_that_cannot_be_read() {
    let env = TestEnvironment::new();
    env.join("Alice");
    let path = at(&env, "claims.json");
    let claims = include_str!("../../../fixtures/pi-messenger/claims.json");
    put(&path, claims);
    doctor(&env).expect("claims", "ok", "one claim");
    for (damaged, reason) in [(&claims[..40], "EOF while parsing"), ("[]", "invalid type: sequence")] {
        put_old(&path, damaged);
        doctor(&env).expect("claims", "fail", reason);
        assert_eq!(fs::read_to_string(&path).unwrap(), damaged, "looking mends nothing");
        repair(&env).expect("claims", "warn", "0 were saved");
        doctor(&env).expect("claims", "ok", "no claims").expect("quarantine", "warn", "claims-");
    }
}

/// Files damaged in every way, with one valid entry, and how many entries can be saved.
fn damaged(whole: &str) -> Vec<(String, usize)> {
    let entry = format!("{{\"/s.md\": {{\"A\": {whole}, \"B\": ");
    let mut all: Vec<(String, usize)> =
        ["", "[]", "null", "3", &entry].map(|text| (text.to_string(), 0)).to_vec();
    for bad in ["null", "[]", "{}", "\"x\"", "{\"agent\": 1, \"completedBy\": 1}"] {
        all.push((format!("{entry}{bad}}}}}"), 1));
    }
    for bad in ["[]", "null", "1"] {
        all.push((format!("{{\"/s.md\": {{\"A\": {whole}}}, \"/t.md\": {bad}}}"), 1));
    }
    all
}

#[test]
fn what_is_whole_of_claims_and_completions_is_saved() {
    let claim =
        "{\"agent\": \"X\", \"sessionId\": \"s\", \"pid\": 1, \"claimedAt\": \"2026-11-15T06:00:00.000Z\"}";
    let done = "{\"completedBy\": \"X\", \"completedAt\": \"2026-11-15T06:00:00.000Z\"}";
    for (name, whole) in [("claims", claim), ("completions", done)] {
        let env = TestEnvironment::new();
        put(&env.work().join("spec.md"), "- [ ] TASK-01: one\n");
        for agent in ["Alice", "Bob"] {
            env.join(agent);
            env.ok(&["spec", "spec.md", "--as", agent]);
        }
        let path = at(&env, &format!("{name}.json"));
        for (text, kept) in damaged(whole) {
            put_old(&path, &text);
            let commands = [
                &["tasks"][..],
                &["claim", "--next"],
                &["claim", "x", "--adhoc"],
                &["complete", "TASK-01"],
                &["unclaim"],
                &["handoff", "TASK-01", "Bob"],
            ];
            for command in commands {
                let ended = env.run(&[command, &["--as", "Alice", "--json"]].concat()).expect_code(4);
                assert_eq!(ended.kind(), "corrupt", "{text}");
                assert!(ended.stdout.contains(&format!("{name}.json")), "{ended}");
            }
            doctor(&env).expect(name, "fail", &path.display().to_string());
            assert_eq!(fs::read_to_string(&path).unwrap(), text, "nothing is overwritten");
            let findings = repair(&env);
            findings.expect(name, "warn", &format!("{kept} were saved"));
            let aside = findings.fix(name).split('`').nth(1).unwrap().to_string();
            assert_eq!(fs::read_to_string(env.mesh().join(&aside)).unwrap(), text, "{aside}");
            let saved: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
            let expected = if kept == 1 { serde_json::from_str(whole).unwrap() } else { Value::Null };
            assert_eq!(saved["/s.md"]["A"], expected, "{text}");
            env.ok(&["tasks", "--as", "Alice"]);
        }
    }
}

#[test]
fn a_spec_with_problems() {
    let env = TestEnvironment::new();
    let spec = env.work().join("spec.md");
    put(
        &spec,
        "- [ ] A-1: a (after B-2)\n- [ ] B-2: b (after A-1)\n- [ ] C-3: c (after X-9)\n- [ ] C-3: again\n",
    );
    let alice = env.join("Alice");
    env.ok(&["spec", "spec.md", "--as", "Alice"]);
    assert_snapshot!(doctor(&env).text(&env, "specs"), @"
    ok: one spec
    warn: `[DIR]/work/spec.md`, line 1: tasks wait for each other: `A-1` → `B-2` → `A-1`
    fix: fix the spec
    warn: `[DIR]/work/spec.md`, line 3: `C-3` depends on `X-9`, which is not a task here
    fix: fix the spec
    warn: `[DIR]/work/spec.md`, line 4: `C-3` is already a task in line 3
    fix: fix the spec
    ");
    fs::remove_file(&spec).unwrap();
    assert_snapshot!(doctor(&env).text(&env, "specs"), @"
    ok: one spec
    warn: `[DIR]/work/spec.md`: the spec can't be read: failed to query resolved metadata `[DIR]/work/spec.md`: No such file or directory (os error 2)
    fix: set it with `msg spec PATH`
    ");
    env.kill(alice);
    assert_snapshot!(doctor(&env).text(&env, "specs"), @"ok: no specs");
}
