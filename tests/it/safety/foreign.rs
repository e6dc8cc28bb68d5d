//! A directory that is not a mesh is neither used nor changed, whatever command names it.

use std::fs;
use std::path::{Path, PathBuf};

use super::{everything_in, mode, set_mode};
use crate::runs::worktrees::git;
use crate::runs::{script, with_profiles};
use crate::support::environment::{Ended, TestEnvironment, end, put};

/// Commands that read, and some that write. All they need to know is whether it is a mesh.
const COMMANDS: [&[&str]; 14] = [
    &["statusline"],
    &["agents"],
    &["check", "x"],
    &["whois", "Bob"],
    &["brief", "Bob"],
    &["whoami"],
    &["inbox"],
    &["feed"],
    &["reservations"],
    &["doctor"],
    &["doctor", "--repair"],
    &["send", "Bob", "hi"],
    &["read"],
    &["broadcast", "hi"],
];

/// The mode of the directory, and its content.
fn state(dir: &Path) -> (u32, Vec<String>) {
    (mode(dir), everything_in(dir))
}

fn foreign(env: &TestEnvironment, bits: u32) -> PathBuf {
    let dir = env.path().join(format!("foreign-{bits:o}"));
    put(&dir.join("letter.txt"), "dear");
    set_mode(&dir, bits);
    dir
}

#[track_caller]
fn refused(ended: &Ended, kinds: &[&str]) {
    assert_eq!(ended.code, Some(4), "{ended}");
    let error = &ended.json()["error"];
    assert!(kinds.contains(&error["kind"].as_str().unwrap()), "{ended}");
    let text = ended.stdout.clone();
    assert!(!text.contains("chmod") && !text.contains("chown"), "that is not ours to change: {ended}");
    assert!(text.contains("--mesh DIR"), "{ended}");
}

#[track_caller]
fn left_alone(env: &TestEnvironment, dir: &Path, kinds: &[&str]) {
    let before = state(dir);
    let host = env.host().to_string();
    let join = ["join", "Alice", "--pid", &host];
    for args in COMMANDS.iter().copied().chain([join.as_slice()]) {
        let ended = env.run(&[&["--json", "--mesh", dir.to_str().unwrap()], args].concat());
        if args[0] == "doctor" {
            assert_eq!(ended.code, Some(4), "{ended}");
            assert!(!ended.stdout.contains("chmod"), "{ended}");
        } else {
            refused(&ended, kinds);
        }
        assert_eq!(state(dir), before, "{args:?}");
    }
    let payload = format!(
        "{{\"session_id\": \"s\", \"cwd\": {:?}, \"hook_event_name\": \"SessionStart\"}}",
        env.work()
    );
    put(&env.path().join("payload"), &payload);
    let mut hook = env.msg();
    hook.args(["hook", "claude", "SessionStart", "--mesh"]).arg(dir).env("MSG_AUTO_REGISTER", "true");
    hook.stdin(fs::File::open(env.path().join("payload")).unwrap());
    let ended = crate::support::environment::end(&mut hook);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""), "{ended}");
    assert_eq!(state(dir), before, "a hook");
}

#[test]
fn a_directory_with_other_files_is_refused_and_left_alone() {
    let env = TestEnvironment::new();
    for bits in [0o700, 0o755, 0o775] {
        left_alone(&env, &foreign(&env, bits), &["not_a_mesh"]);
    }
}

/// The default mesh is in the directory in which the machine keeps what belongs to no mesh.
#[test]
fn what_the_machine_keeps_may_be_there_before_the_default_mesh() {
    let env = TestEnvironment::new();
    let state = env.home().join(".local/state/ravenry");
    for name in ["git", "worktrees", "panes", "tmux", "slots", "limits"] {
        put(&state.join(name).join("file"), "");
    }
    let msg = |args: &[&str]| end(env.msg().env_remove("MSG_MESH").args(args).arg("--json"));
    msg(&["agents"]).expect_code(0);
    assert!(!state.join("registry").exists(), "nobody has written to it");
    msg(&["join", "Robin", "--pid", &std::process::id().to_string()]).expect_code(0);
    // Elsewhere they are somebody else's.
    let other = env.path().join("other");
    put(&other.join("git/file"), "");
    left_alone(&env, &other, &["not_a_mesh"]);
}

#[test]
fn the_first_command_of_all_may_be_a_run_with_a_worktree() {
    let env = with_profiles(&script("echo", "cat"));
    git(&env.work(), &["init", "-q"]);
    let who = ["-c", "user.name=Robin", "-c", "user.email=robin@example.org"];
    git(&env.work(), &[&who[..], &["commit", "-q", "--allow-empty", "-m", "first"]].concat());
    let run = end(env.msg().env_remove("MSG_MESH").args(["run", "echo", "hello", "--worktree", "--json"]));
    assert_eq!(run.expect_code(0).json()["run"]["result"], "hello");
}

#[test]
fn a_shared_directory_is_refused_without_advice_to_close_it() {
    let env = TestEnvironment::new();
    for bits in [0o777, 0o1777] {
        left_alone(&env, &foreign(&env, bits), &["unsafe_mesh", "not_a_mesh"]);
    }
    let empty = env.path().join("empty");
    fs::create_dir(&empty).unwrap();
    set_mode(&empty, 0o1777);
    left_alone(&env, &empty, &["unsafe_mesh"]);
}

#[test]
fn a_home_a_project_and_the_working_directory_are_not_meshes() {
    let env = TestEnvironment::new();
    put(&env.home().join(".bashrc"), "");
    put(&env.work().join("registry/index.ts"), "a project may have a directory of that name");
    put(&env.work().join("package.json"), "{}");
    for dir in [env.home(), env.work()] {
        set_mode(&dir, 0o755);
        left_alone(&env, &dir, &["not_a_mesh"]);
    }
    let before = state(&env.work());
    refused(&env.run(&["--json", "--mesh", ".", "agents"]), &["not_a_mesh"]);
    refused(&env.run(&["--json", "--mesh", "~", "agents"]), &["not_a_mesh"]);
    assert_eq!(state(&env.work()), before);
}

/// Nobody is told to change the mode of a directory above the mesh.
#[test]
fn a_parent_that_others_may_write_to_is_not_ours_to_close() {
    let env = TestEnvironment::new();
    let above = env.path().join("above");
    fs::create_dir(&above).unwrap();
    let mesh = above.join("mesh");
    let host = env.host().to_string();
    env.ok(&["join", "Alice", "--pid", &host, "--mesh", mesh.to_str().unwrap()]);
    set_mode(&above, 0o777);
    refused(&env.run(&["--json", "--mesh", mesh.to_str().unwrap(), "agents"]), &["unsafe_mesh"]);
}

/// File names alone don't make a mesh: what is beneath them belongs to somebody.
#[test]
fn a_directory_with_names_of_ours_and_content_of_others_is_refused_and_left_alone() {
    let env = TestEnvironment::new();
    for (name, file) in
        [("notes", "tmp/notes.txt"), ("plain", "feed"), ("claims", "claims.json"), ("mail", "inbox/a/b")]
    {
        let dir = env.path().join(name);
        put(&dir.join(file), "dear");
        fs::create_dir(dir.join("sent")).unwrap();
        set_mode(&dir, 0o755);
        left_alone(&env, &dir, &["not_a_mesh"]);
    }
    let dir = env.path().join("linked");
    fs::create_dir(&dir).unwrap();
    std::os::unix::fs::symlink(env.work(), dir.join("inbox")).unwrap();
    left_alone(&env, &dir, &["not_a_mesh"]);
}

#[test]
fn an_empty_directory_and_the_beginning_of_a_mesh_are_taken() {
    let env = TestEnvironment::new();
    for (name, made) in [
        ("empty", vec![]),
        ("begun", vec!["registry"]),
        ("disk", vec!["lost+found"]),
        ("pi", vec!["registry", "inbox", "notes-of-pi"]),
    ] {
        let dir = env.path().join(name);
        fs::create_dir(&dir).unwrap();
        for made in made {
            fs::create_dir(dir.join(made)).unwrap();
        }
        set_mode(&dir, 0o755);
        env.ok(&["agents", "--mesh", dir.to_str().unwrap()]);
        assert_eq!(mode(&dir), 0o755, "{name}");
        let joined = env
            .run(&["join", "--pid", &env.host().to_string(), "--mesh", dir.to_str().unwrap()])
            .expect_code(0);
        assert!(joined.stderr.contains("mode 755"), "{name}: {joined}");
        assert_eq!(mode(&dir), 0o700, "{name}");
    }
}

#[test]
fn a_mesh_that_was_named_and_is_not_there_is_noted() {
    let env = TestEnvironment::new();
    let commands = [
        &["agents", "--mesh", "/nowhere/typo"][..],
        &["check", "x", "--mesh", "/nowhere/typo"],
        &["reservations", "--mesh", "/nowhere/typo"],
    ];
    insta::assert_snapshot!(env.transcript(&commands), @"
    $ msg agents --mesh /nowhere/typo
    Nobody is here. `msg join` joins you, `msg setup` your agents.
    --- stderr
    note: there is no mesh at `/nowhere/typo`; `msg join` creates it

    $ msg check x --mesh /nowhere/typo
    free  x
    --- stderr
    note: there is no mesh at `/nowhere/typo`; `msg join` creates it

    $ msg reservations --mesh /nowhere/typo
    Nothing is reserved. `msg reserve PATH` keeps others from changing it.
    --- stderr
    note: there is no mesh at `/nowhere/typo`; `msg join` creates it
    ");
    env.join("Alice");
    assert_eq!(env.run(&["agents"]).expect_code(0).stderr, "");
}
