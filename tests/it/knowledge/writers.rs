//! Writers at once: none takes another's name, and all find one log.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::knowledge::{at, git, listed, repository};
use crate::support::environment::{TestEnvironment, end, put, rounds};
use crate::support::skip::skip;

/// Commands of one user that start together and say nearly the same, so that each would get the same name.
#[test]
fn each_of_many_at_once_gets_a_name_of_its_own() {
    let env = repository();
    let mut count = 0;
    for round in 0..rounds(32).max(4) {
        let text = format!("Lock {round} is taken first");
        let start = || {
            let mut command = env.msg();
            command.args(["learn", &text, "--new", "--json"]).env("USER", "ann");
            command.stdout(std::process::Stdio::piped()).spawn().unwrap()
        };
        let running: Vec<_> = (0..6).map(|_| start()).collect();
        let mut names = BTreeSet::new();
        for child in running {
            let output = child.wait_with_output().unwrap();
            let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            let receipt = &answer["recorded"][0];
            assert_eq!(receipt["outcome"], "added", "{answer}");
            names.insert(receipt["name"].as_str().unwrap().to_string());
        }
        assert_eq!(names.len(), 6, "two records got one name: {names:?}");
        count += 6;
    }
    let found = listed(&env.run(&["knowledge", "list", "--json"]).expect_code(0));
    assert_eq!(found.len(), count, "{found:?}");
}

/// Only one of several that say the same is recorded.
#[test]
fn one_of_many_at_once_is_enough() {
    let env = repository();
    let start = |user: usize| {
        let mut command = env.msg();
        command.args(["learn", "One lock guards all names of the mesh", "--json"]);
        command.env("USER", format!("user{user}")).stdout(std::process::Stdio::piped()).spawn().unwrap()
    };
    let running: Vec<_> = (0..6).map(start).collect();
    let outcomes: Vec<String> = running
        .into_iter()
        .map(|child| {
            let output = child.wait_with_output().unwrap();
            let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
            answer["recorded"][0]["outcome"].as_str().unwrap().to_string()
        })
        .collect();
    assert_eq!(outcomes.iter().filter(|outcome| *outcome == "added").count(), 1, "{outcomes:?}");
    assert_eq!(outcomes.iter().filter(|outcome| *outcome == "already_there").count(), 5, "{outcomes:?}");
}

/// The names of the log files below this folder.
fn log_files(work: &Path) -> Vec<String> {
    let names = std::fs::read_dir(work.join(".ravenry/knowledge")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.ends_with(".log")).collect()
}

/// Many commands of one person at once, from the first one on.
#[test]
fn one_person_in_one_clone_is_one_writer() {
    let env = repository();
    let start = |number: usize| {
        let mut command = env.msg();
        command.args([
            "learn",
            &format!("Fact {number} of many"),
            "--new",
            "--name",
            &format!("fact-{number}"),
        ]);
        command.env("USER", "root").stdout(std::process::Stdio::null()).spawn().unwrap()
    };
    let running: Vec<_> = (0..20).map(start).collect();
    for mut child in running {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(listed(&env.run(&["knowledge", "list", "--json"]).expect_code(0)).len(), 20);
    let files = log_files(&env.work());
    let writers: BTreeSet<&str> = files.iter().map(|name| name.split('.').next().unwrap()).collect();
    assert_eq!(writers.len(), 1, "{files:?}");
}

/// Two people are called `root`, each on a machine of their own; or one person has two clones.
#[test]
fn clones_with_the_same_account_name_are_different_writers() {
    for (names, homes) in [
        (["Ann", "Bob"], ["home", "home"]),
        (["Ann", "Ann"], ["home", "home"]),
        (["J", "J"], ["home", "other"]),
    ] {
        let env = repository();
        git(env.path(), &["clone", "-q", "work", "clone"]);
        let run = |index: usize, args: &[&str]| {
            let work = env.path().join(["work", "clone"][index]);
            let mut command = env.msg();
            command.args(args).env("USER", "root").env("HOME", env.path().join(homes[index]));
            end(command.current_dir(work)).expect_code(0)
        };
        for (index, text) in ["Two locks guard it", "One lock guards it"].into_iter().enumerate() {
            git(&env.path().join(["work", "clone"][index]), &["config", "user.name", names[index]]);
            run(index, &["learn", text, "--name", "locks"]);
            run(index, &["knowledge", "export", "--yjs", &format!("../{index}.yjs")]);
        }
        for index in 0..2 {
            run(index, &["knowledge", "import", &format!("../{}.yjs", 1 - index)]);
            for command in ["list", "pack"] {
                run(index, &["knowledge", command]);
                let shown = run(index, &["knowledge", "show", "locks", "--json"]).json();
                let shown = &shown["records"][0];
                assert_eq!(shown["description"], "One lock guards it", "{names:?} {command}: {shown}");
                assert_eq!(shown["author"], names[1]);
                let also = &shown["alsoSaid"][0];
                assert_eq!(also["description"], "Two locks guard it", "{names:?} {command}: {shown}");
                assert_eq!(also["author"], names[0]);
                let said = run(index, &["knowledge", "log"]).stdout;
                assert!(said.contains("Two locks guard it") && said.contains("One lock guards it"), "{said}");
            }
        }
    }
}

/// Of a person whose id is another one than before, as after an update of the program.
#[test]
fn who_writes_under_a_new_id_replaces_what_was_said_under_the_old_one() {
    let env = repository();
    let learn = |text: &str| env.ok(&["learn", text, "--name", "locks"]);
    learn("Three locks guard it");
    learn("Two locks guard it");
    std::fs::remove_dir_all(env.home().join(".local/state")).unwrap();
    learn("One lock guards it");
    let shown = env.ok(&["knowledge", "show", "locks"]);
    assert_eq!(shown["records"][0]["description"], "One lock guards it");
    assert!(shown["records"][0].get("alsoSaid").is_none(), "{shown}");
    assert_eq!(log_files(&env.work()).len(), 2);
}

/// A copy of the work tree is a clone like any other.
#[test]
fn a_copied_log_has_other_writers() {
    let env = repository();
    env.ok(&["learn", "Before the copy", "--name", "before"]);
    let copied =
        std::process::Command::new("cp").args(["-a", "work", "copy"]).current_dir(env.path()).status();
    assert!(copied.unwrap().success());
    let copy = env.path().join("copy");
    end(env.msg().args(["learn", "After it", "--name", "after"]).current_dir(&copy)).expect_code(0);
    let before = log_files(&env.work());
    let new: Vec<String> = log_files(&copy).into_iter().filter(|name| !before.contains(name)).collect();
    let writer = |name: &str| name.split('.').next().unwrap().to_string();
    assert_eq!((before.len(), new.len()), (1, 1));
    assert_ne!(writer(&before[0]), writer(&new[0]));
}

/// Where the state directory can't be written, records are, and none of them is lost.
#[test]
fn without_a_state_directory_everything_is_recorded() {
    let env = repository();
    put(&env.home().join(".local/state"), "a file");
    for text in ["One lock guards it", "The port is 8080"] {
        env.ok(&["learn", text]);
    }
    assert_eq!(env.ok(&["knowledge", "list"])["total"], 2);
}

/// Who names an agent is not recorded as somebody else.
#[test]
fn an_agent_that_is_named_must_be_there() {
    let env = repository();
    let host = env.join("Alice");
    env.ok(&["learn", "One lock guards it", "--name", "locks", "--as", "Alice"]);
    put(&env.work().join("batch.json"), r#"{"actions": [["record-note", {"description": "x"}]]}"#);
    env.kill(host);
    for name in ["Alice", "Nobody"] {
        let commands: [&[&str]; 5] = [
            &["learn", "The port is 8080"],
            &["record", "batch.json"],
            &["knowledge", "confirm", "locks"],
            &["knowledge", "retire", "locks"],
            &["knowledge", "publish", "locks"],
        ];
        for command in commands {
            assert_eq!(env.fails(3, &[command, &["--as", name]].concat()), "not_joined", "{command:?}");
            let by_variable = env.run_with(&[command, &["--json"]].concat(), &[("MSG_AGENT", name)]);
            assert_eq!(by_variable.expect_code(3).kind(), "not_joined", "{command:?}");
        }
        let read = env.run(&["know", "lock", "--as", name, "--json"]).expect_code(0);
        assert_eq!(listed(&read), ["locks"]);
    }
    assert_eq!(env.ok(&["learn", "The port is 8080"])["recorded"][0]["outcome"], "added", "a person");
    assert_eq!(env.ok(&["knowledge", "list"])["total"], 2);
}

/// The name is that of the user's commits, also where there are none.
#[test]
fn outside_of_git_the_name_is_that_of_git_too() {
    let env = TestEnvironment::new();
    put(&env.home().join(".gitconfig"), "[user]\n\tname = Ann Example\n");
    env.ok(&["learn", "There is no repository", "--name", "none"]);
    let shown = env.ok(&["knowledge", "show", "none"]);
    assert_eq!(shown["records"][0]["author"], "Ann Example", "{shown}");
}

#[test]
fn all_work_trees_of_a_bare_repository_share_it() {
    let env = repository();
    let top = env.path();
    git(top, &["clone", "-q", "--bare", "work", "bare.git"]);
    for name in ["one", "two"] {
        git(&top.join("bare.git"), &["worktree", "add", "-q", "-b", name, &format!("../{name}")]);
    }
    let run = |dir: &str, args: &[&str]| end(env.msg().args(args).current_dir(top.join(dir))).expect_code(0);
    run("one", &["learn", "The repository is bare", "--name", "bare"]);
    assert_eq!(listed(&run("two", &["knowledge", "list", "--json"])), ["bare"]);
    for dir in ["one", "two"] {
        let mut status = std::process::Command::new("git");
        status.arg("-C").arg(top.join(dir)).args(["status", "--porcelain"]);
        assert_eq!(String::from_utf8_lossy(&status.output().unwrap().stdout), "", "{dir}");
    }
}

/// A sandbox that protects the main work tree: what is recorded can be read, and the MCP tool is named.
#[test]
fn who_may_not_write_is_told_of_the_tool() {
    if nix::unistd::geteuid().is_root() {
        return without_permission_as_root();
    }
    let env = repository();
    let work = env.work();
    std::fs::set_permissions(&work, PermissionsExt::from_mode(0o500)).unwrap();
    let refused = env.run(&["learn", "Nothing can be written", "--json"]);
    std::fs::set_permissions(&work, PermissionsExt::from_mode(0o700)).unwrap();
    assert_refused(&refused.expect_code(4));
}

#[track_caller]
fn assert_refused(refused: &crate::support::environment::Ended) {
    assert_eq!(refused.kind(), "read_only", "{refused}");
    assert!(refused.json()["error"]["hints"].to_string().contains("MCP tool `learn`"), "{refused}");
}

/// The superuser may write anywhere, but not to a file system that is mounted for reading.
fn without_permission_as_root() {
    let env = repository();
    at(&env, "15T12:00:00", &["learn", "Written before", "--name", "before"]).expect_code(0);
    let inside = |args: &str| {
        let msg = env.msg();
        let mut command = std::process::Command::new("unshare");
        let script = format!(
            "mount --bind \"$PWD\" \"$PWD\" && mount -o remount,bind,ro \"$PWD\" && cd \"$PWD\" && exec \"$0\" {args}"
        );
        command
            .args(["--user", "--map-root-user", "--mount", "--", "sh", "-c", &script])
            .arg(msg.get_program());
        command.env_clear().envs(msg.get_envs().filter_map(|(name, value)| Some((name, value?))));
        end(command.current_dir(env.work()))
    };
    let shown = inside("knowledge list --json");
    if shown.code != Some(0) {
        return skip("no file system can be mounted for reading");
    }
    assert_eq!(listed(&shown), ["before"], "reading is possible");
    assert_refused(&inside("learn 'Nothing can be written' --json").expect_code(4));
}

/// The name of a record leads to its kind.
#[test]
fn a_name_that_exists_keeps_its_kind() {
    let env = repository();
    let learn = |args: &[&str]| at(&env, "15T12:00:00", &[&["learn"], args].concat());
    learn(&["Two locks", "--kind", "decision", "--name", "locks"]).expect_code(0);
    learn(&["One lock", "--name", "locks"]).expect_code(0);
    let shown = env.ok(&["knowledge", "list"]);
    assert_eq!(shown["total"], 1, "{shown}");
    assert_eq!(shown["records"][0]["kind"], "decision");
    assert_eq!(shown["records"][0]["description"], "One lock");
    learn(&["Another thing", "--kind", "note", "--name", "locks"]).expect_code(0);
    let refused = learn(&["Which one?", "--name", "locks"]).expect_code(2);
    assert!(refused.stderr.contains("--kind note, --kind decision"), "{refused}");
}

/// Two files may be described alike.
#[test]
fn a_summary_is_compared_with_that_of_the_same_file() {
    let env = repository();
    put(&env.work().join("src/other.rs"), "fn other() {}\n");
    let learn = |path: &str, name: &str| {
        let args = ["learn", "Re-exports the items of its folder", "--kind", "file", "--at", path, "--json"];
        let name = if name.is_empty() { vec![] } else { vec!["--name", name] };
        at(&env, "15T12:00:00", &[&args[..], &name].concat()).json()["recorded"][0]["outcome"].clone()
    };
    assert_eq!(learn("src/flock.rs", ""), "added");
    assert_eq!(learn("src/other.rs", ""), "added");
    assert_eq!(learn("src/other.rs", "again"), "already_there");
}

#[test]
fn too_many_anchors_are_refused_before_they_are_looked_at() {
    let env = repository();
    let anchors: Vec<String> = (0..65).map(|number| format!("absent-{number}.rs")).collect();
    let batch =
        serde_json::json!({ "actions": [["record-note", { "description": "x", "anchors": anchors }]] });
    put(&env.work().join("batch.json"), &batch.to_string());
    let refused = env.run(&["record", "batch.json", "--json"]).expect_code(1).json();
    let problems = refused["error"]["problems"].as_array().unwrap();
    assert_eq!(problems.len(), 1, "{problems:#?}");
    assert!(problems[0]["message"].as_str().unwrap().contains("64 is the most"), "{problems:#?}");
}

/// A batch says which project it is for: by name, or by the first commit.
#[test]
fn a_batch_of_another_project_is_refused() {
    let env = repository();
    let first = env.ok(&["knowledge", "init"])["project"]["rootCommit"].as_str().unwrap().to_string();
    let record = |env: &TestEnvironment, id: serde_json::Value| {
        let actions = serde_json::json!([["record-note", { "description": "From elsewhere", "name": "x" }]]);
        put(
            &env.work().join("batch.json"),
            &serde_json::json!({ "projectId": id, "actions": actions }).to_string(),
        );
        env.run(&["record", "batch.json", "--json"])
    };
    for id in ["work", "Work", &first, &first[..7]] {
        record(&env, id.into()).expect_code(0);
    }
    record(&env, serde_json::Value::Null).expect_code(0);
    for id in ["other", "", &first[..6], "0000000"] {
        let refused = record(&env, id.into()).expect_code(1).json();
        assert_eq!(refused["error"]["problems"][0]["field"], "projectId", "{id}: {refused}");
        assert!(refused["error"]["problems"][0]["hint"].as_str().unwrap().contains("`work`"), "{refused}");
    }
    record(&env, serde_json::json!(7)).expect_code(1);
}
