//! `msg brief`: in real repositories, of agents that are here, killed or buried.

mod delegate;
mod fixture;
mod handoff;
mod odd_places;
mod questions;
mod who;

use std::fs;

use fixture::{Project, words};
use serde_json::Value;

/// A killed agent leaves commits, uncommitted and untracked files in a linked worktree. All of them are named.
#[test]
fn of_a_killed_agent_in_a_worktree() {
    let project = Project::new();
    let tree = project.worktree("topic");
    let host = project.join("Alice", &tree);
    let mut expected = Vec::new();
    for number in 0..3 {
        for name in [format!("src/auth/login{number}.rs"), format!("docs/page {number}.md")] {
            project.write(&tree.join(&name), "one\n");
            expected.push(name);
        }
        project.commit(&tree, &format!("auth: step {number}"));
    }
    for name in ["src/old.rs", "README.md"] {
        project.write(&tree.join(name), "changed\n");
        expected.push(name.to_string());
    }
    fs::remove_file(tree.join("src/removed.rs")).unwrap();
    expected.push("src/removed.rs".to_string());
    for name in ["new/a.rs", "new/deep/b.rs", "ünïcode.txt", "-dash"] {
        project.write(&tree.join(name), "");
        expected.push(name.to_string());
    }
    project.env.kill(host);
    // Before it is buried, in its grave, and when its worktree was deleted.
    for moment in ["killed", "buried", "deleted"] {
        let text = project.msg(&project.root(), &["brief", "Alice"]).expect_code(0).stdout;
        let missing: Vec<&String> =
            expected.iter().filter(|name| !text.contains(&format!("`{name}`"))).collect();
        match moment {
            "deleted" => assert!(text.contains("its directory does not exist any more"), "{text}"),
            _ => assert_eq!(missing, Vec::<&String>::new(), "{moment}\n{text}"),
        }
        assert!(words(&text) <= 300, "{moment}: {} words\n{text}", words(&text));
        match moment {
            "killed" => drop(project.env.ok(&["agents"])),
            _ => fs::remove_dir_all(&tree).unwrap_or_default(),
        }
    }
}

#[test]
fn its_words() {
    let project = Project::new();
    let tree = project.worktree("topic");
    let host = project.join("Alice", &tree);
    project.write(&tree.join("src/login.rs"), "");
    project.commit(&tree, "auth: add `login`");
    project.write(&tree.join("src/old.rs"), "changed\n");
    project.write(&tree.join("notes.md"), "");
    project.env.ok(&["set-status", "tests are missing", "--as", "Alice"]);
    project.msg(&tree, &["reserve", "src/", "--reason", "the login", "--as", "Alice"]).expect_code(0);
    project
        .msg(&tree, &["claim", "LOGIN", "--adhoc", "--reason", "first things", "--as", "Alice"])
        .expect_code(0);
    insta::assert_snapshot!(project.shown(&tree, &["brief", "--as", "Alice"]), @"
    Brief of Alice: active, joined [AGE] ago
    Project: `[DIR]/tree-topic`, a worktree of `[DIR]/work`, branch `topic`
    Uncommitted: `src/old.rs`
    Untracked: `notes.md`
    Files in the commits: `src/login.rs`
    Task: `LOGIN` of `[DIR]/work`, claimed [AGE] ago, “first things”
    Its status: “tests are missing”
    Holds: `src/` (“the login”)
    Commits made in this worktree since it joined (1; no hook reported by whom):
    - `[ID]` “auth: add `login`”
    ");
    project.env.kill(host);
    project.env.ok(&["agents"]);
    insta::assert_snapshot!(project.shown(&tree, &["brief", "Alice"]), @"
    Brief of Alice: gone (its process ended [AGE] ago), joined [AGE] ago
    Project: `[DIR]/tree-topic`, a worktree of `[DIR]/work`, branch `topic`
    Uncommitted: `src/old.rs`
    Untracked: `notes.md`
    Files in the commits: `src/login.rs`
    Its task when it went: `LOGIN` of `[DIR]/work`, claimed [AGE] ago, “first things”
    Its status: “tests are missing”
    Held until then: `src/` (“the login”)
    Commits made in this worktree since it joined (1; no hook reported by whom):
    - `[ID]` “auth: add `login`”
    ");
    insta::assert_snapshot!(project.shown(&tree, &["brief", "Alice", "--full"]), @"
    Brief of Alice: gone (its process ended [AGE] ago), joined [AGE] ago
    Project: `[DIR]/tree-topic`, a worktree of `[DIR]/work`, branch `topic`
    Uncommitted:
    - `src/old.rs`
    Untracked:
    - `notes.md`
    Files in the commits:
    - `src/login.rs`
    Its task when it went: `LOGIN` of `[DIR]/work`, claimed [AGE] ago, “first things”
    Its status: “tests are missing”
    Held until then: `src/` (“the login”)
    Commits made in this worktree since it joined (1; no hook reported by whom):
    - `[ID]` “auth: add `login`”
    ");
}

#[test]
fn mistakes_are_explained() {
    let project = Project::new();
    project.join("Alice", &project.root());
    insta::assert_snapshot!(project.env.transcript(&[&["brief"], &["brief", "Alcie"], &["brief", "../x"]]), @"
    $ msg brief
    [exit 3]
    --- stderr
    error: you have not joined this mesh
    hint: run `msg join` first

    $ msg brief Alcie
    [exit 1]
    --- stderr
    error: no agent is called Alcie
    hint: did you mean Alice?

    $ msg brief ../x
    [exit 2]
    --- stderr
    error: `../x` can't be a name: letters, digits, `_` and `-` only, and no `-` at the start
    hint: for example `SwiftRaven`; without a name, `msg join` picks one
    ");
    assert_eq!(project.env.fails(1, &["brief", "Nobody"]), "unknown_agent");
}

#[test]
fn json_has_everything() {
    let project = Project::new();
    let root = project.root();
    project.join("Alice", &root);
    for number in 0..400 {
        project.write(&root.join(format!("many/{number}.txt")), "");
    }
    let text = project.msg(&root, &["brief", "Alice"]).expect_code(0).stdout;
    assert!(words(&text) <= 300, "{text}");
    assert!((0..400).all(|number| text.contains(&format!("{number}.txt"))), "{text}");
    let answer = project.msg(&root, &["brief", "Alice", "--json"]).expect_code(0).json();
    let brief = &answer["brief"];
    assert_eq!(brief["uncommitted"].as_array().unwrap().len(), 400);
    assert_eq!(brief["uncommitted"][0]["change"], "untracked");
    assert_eq!((&brief["name"], &brief["gone"]), (&"Alice".into(), &Value::Null));
    assert_eq!((&brief["branch"], &brief["commitsFrom"]), (&"main".into(), &"log".into()));
    let full = project.msg(&root, &["brief", "Alice", "--full"]).expect_code(0).stdout;
    assert!((0..400).all(|number| full.contains(&format!("- `many/{number}.txt`\n"))), "{full}");
}
