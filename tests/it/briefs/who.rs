//! Who changed what, where several agents share a work tree.

use serde_json::json;

use crate::support::hook_call::{Call, session_of};

use super::fixture::Project;

/// The agent writes a file, and its hook reports that.
fn edits(project: &Project, agent: &str, name: &str) {
    project.write(&project.root().join(name), agent);
    let call = Call::new(&project.env, "claude/PostToolUse-Edit", &session_of(agent))
        .with("/tool_input/file_path", json!(project.root().join(name)));
    call.answer(&project.env);
}

/// The agent commits everything, and its hook reports that.
fn commits(project: &Project, agent: &str, subject: &str) {
    project.commit(&project.root(), subject);
    let command = format!("git commit -qm '{subject}'");
    Call::bash(&project.env, "PostToolUse", &session_of(agent), &command).answer(&project.env);
}

#[test]
fn changes_of_others_in_the_same_worktree_are_told_apart() {
    let project = Project::new();
    let root = project.root();
    let host = project.join("Alice", &root);
    project.join("Bob", &root);
    edits(&project, "Alice", "src/one.rs");
    commits(&project, "Alice", "auth: one");
    edits(&project, "Bob", "src/two.rs");
    commits(&project, "Bob", "cart: two");
    project.write(&root.join("src/three.rs"), "");
    project.commit(&root, "by hand: three");
    edits(&project, "Alice", "src/of alice.rs");
    edits(&project, "Bob", "src/of bob.rs");
    edits(&project, "Alice", "src/of both.rs");
    edits(&project, "Bob", "src/of both.rs");
    edits(&project, "Alice", "src/undone.rs");
    std::fs::remove_file(root.join("src/undone.rs")).unwrap();
    project.write(&root.join("of nobody.rs"), "");
    let expected = project.shown(&root, &["brief", "Alice"]);
    insta::assert_snapshot!(expected, @"
    Brief of Alice: active, joined [AGE] ago
    Project: `[DIR]/work`, branch `main`
    Note: Bob works in this worktree too; files that no hook reported may be theirs
    Untracked: `of nobody.rs`, `src/of alice.rs`, `src/of both.rs`
    Files in the commits: `src/three.rs`, `src/one.rs`
    Also edited, as its hooks reported; git shows no change now: `src/undone.rs`
    Uncommitted, edited by Bob and not by it: `src/of bob.rs`
    Doing now: “editing src/undone.rs”
    Last action: “edit: src/undone.rs”
    Commits made in this worktree since it joined (3, 1 by Alice as its hooks reported):
    - `[ID]` “by hand: three”
    - `[ID]` “cart: two” by Bob
    - `[ID]` “auth: one”
    ");
    project.env.kill(host);
    project.env.ok(&["agents"]);
    let answer = project.msg(&root, &["brief", "Alice", "--json"]).expect_code(0).json();
    let commits = answer["brief"]["commits"].as_array().unwrap();
    let by: Vec<_> = commits.iter().map(|commit| (&commit["subject"], &commit["by"])).collect();
    assert_eq!(
        by,
        [
            (&json!("by hand: three"), &json!([])),
            (&json!("cart: two"), &json!(["Bob"])),
            (&json!("auth: one"), &json!(["Alice"])),
        ]
    );
    // What is committed after it is gone is not its work.
    edits(&project, "Bob", "src/later.rs");
    crate::support::environment::wait_until("the next second", || {
        let now = jiff::Timestamp::now().as_second();
        now > answer["brief"]["gone"]["at"].as_str().unwrap().parse::<jiff::Timestamp>().unwrap().as_second()
    });
    commits_later(&project);
    let later = project.msg(&root, &["brief", "Alice"]).expect_code(0).stdout;
    assert!(!later.contains("later"), "{later}");
}

fn commits_later(project: &Project) {
    commits(project, "Bob", "cart: later");
}

/// Agents of other worktrees edit files of the same names.
#[test]
fn changes_in_other_worktrees_are_not_mixed_in() {
    let project = Project::new();
    let tree = project.worktree("topic");
    project.join("Alice", &tree);
    project.join("Bob", &project.root());
    edits(&project, "Bob", "src/old.rs");
    project.write(&tree.join("src/old.rs"), "changed too\n");
    let answer = project.msg(&tree, &["brief", "Alice", "--json"]).expect_code(0).json();
    assert_eq!(
        answer["brief"]["uncommitted"],
        json!([{"path": "src/old.rs", "change": "modified", "by": []}])
    );
    assert_eq!(answer["brief"]["remarks"], json!([]));
}

#[test]
fn tasks_of_the_dead() {
    let project = Project::new();
    let root = project.root();
    project.write(&root.join("spec.md"), "- [ ] T-1: one\n- [ ] T-2: two\n- [ ] T-3: three\n");
    project.msg(&root, &["spec", "spec.md"]);
    let host = project.join("Alice", &root);
    project.join("Bob", &root);
    for args in [
        &["spec", "spec.md", "--as", "Alice"][..],
        &["spec", "spec.md", "--as", "Bob"],
        &["claim", "T-1", "--as", "Alice"],
        &["complete", "T-1", "--as", "Alice"],
        &["claim", "T-2", "--reason", "next", "--as", "Alice"],
    ] {
        project.msg(&root, args).expect_code(0);
    }
    project.env.kill(host);
    for _ in 0..2 {
        let answer = project.msg(&root, &["brief", "Alice", "--json"]).expect_code(0).json();
        assert_eq!(answer["brief"]["tasks"][0]["task"], "T-2", "{answer}");
        assert_eq!(answer["brief"]["tasks"][0]["reason"], "next", "{answer}");
        assert_eq!(answer["brief"]["completed"], json!(["T-1"]));
        // This drops the claim and buries the agent.
        project.msg(&root, &["claim", "T-3", "--as", "Bob"]);
    }
}
