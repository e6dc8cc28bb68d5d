//! `workers.toml`: bad files of every kind, and the layers.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::{profile, project_file, user_file};
use crate::support::environment::{TestEnvironment, end, put};

/// The problems of the files as `line:column message`, after a command that tells them with exit code 4.
#[track_caller]
fn problems(env: &TestEnvironment) -> Vec<String> {
    let ended = env.run(&["workers", "--json"]).expect_code(4);
    assert_eq!(ended.kind(), "bad_config", "{ended}");
    let answer = ended.json();
    // What can be read is listed nevertheless.
    assert!(answer["profiles"].as_array().unwrap().len() >= 5, "{answer}");
    let problem = |problem: &serde_json::Value| {
        assert!(Path::new(problem["file"].as_str().unwrap()).ends_with("workers.toml"));
        let message = problem["message"].as_str().unwrap();
        match problem["line"].as_u64() {
            Some(line) => format!("{line}:{} {message}", problem["column"]),
            None => message.to_string(),
        }
    };
    answer["error"]["problems"].as_array().unwrap().iter().map(problem).collect()
}

#[test]
fn every_mistake_is_told_with_its_place() {
    let env = TestEnvironment::new();
    let text = "[fixer]\nharnes = 'claude'\nretries = 'x'\n\n[worktree]\nsetup = 5\n";
    for file in [user_file(&env), project_file(&env)] {
        put(&file, text);
        let told = problems(&env);
        assert_eq!(told.len(), 3, "{told:?}");
        assert_eq!(told[0], "2:1 there is no key `harnes`; did you mean `harness`?");
        assert!(told[1].starts_with("3:11 `retries` must be"), "{told:?}");
        assert!(told[2].starts_with("6:9 `setup` must be"), "{told:?}");
        let text_answer = env.run(&["workers"]).expect_code(4);
        assert!(text_answer.stdout.contains("workers.toml:2:1: there is no key `harnes`"), "{text_answer}");
        assert!(text_answer.stderr.contains("and 2 more problems"), "{text_answer}");
        assert_eq!(fs::read_to_string(&file).unwrap(), text, "it is never rewritten");
        fs::remove_file(&file).unwrap();
    }
    put(&user_file(&env), "[fixer]\nharness = 'emacs'\n");
    let told = problems(&env);
    assert!(
        told[0].starts_with("2:11 `emacs` is not a supported harness: use one of claude, codex,"),
        "{told:?}"
    );
}

#[test]
fn what_is_no_file_of_ours() {
    let env = TestEnvironment::new();
    for file in [user_file(&env), project_file(&env)] {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let check = |told: &str| {
            let found = problems(&env);
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].starts_with(told), "{told}: {found:?}");
        };
        fs::write(&file, b"[p]\nmodel = '\xff'\n").unwrap();
        check("2:10 this is not UTF-8 text");
        fs::write(&file, "[p]\nmodel = \"\u{7}\"\n").unwrap();
        check("2:10 ");
        fs::write(&file, "# 10 MB\n".repeat(10 << 17)).unwrap();
        check("it is larger than 1024 KiB");
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        check("it is not a plain file");
        fs::remove_dir(&file).unwrap();
        mkfifo(&file, Mode::S_IRWXU).unwrap();
        check("it is not a plain file");
        fs::remove_file(&file).unwrap();
        symlink("/dev/zero", &file).unwrap();
        check(if file == project_file(&env) {
            "it leads out of the project"
        } else {
            "it is not a plain file"
        });
        fs::remove_file(&file).unwrap();
        // A link to nowhere is no file.
        symlink("nowhere", &file).unwrap();
        env.ok(&["workers"]);
        fs::remove_file(&file).unwrap();
        fs::write(&file, "").unwrap();
        env.ok(&["workers"]);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
        // Root may read everything.
        if fs::read(&file).is_err() {
            check("it can't be read");
        }
        fs::remove_file(&file).unwrap();
    }
}

#[test]
fn no_file_leads_out_of_a_project() {
    let env = TestEnvironment::new();
    put(&env.path().join("secret.toml"), "[p]\nmodel = 'secret'\n");
    fs::create_dir(env.work().join(".ravenry")).unwrap();
    symlink(env.path().join("secret.toml"), project_file(&env)).unwrap();
    assert_eq!(problems(&env), ["it leads out of the project"]);
    fs::remove_file(project_file(&env)).unwrap();
    // Inside the project, and for a user's dotfiles anywhere, a link is fine.
    put(&env.work().join("shared.toml"), "[p]\nmodel = 'x'\n");
    symlink("../shared.toml", project_file(&env)).unwrap();
    fs::create_dir_all(user_file(&env).parent().unwrap()).unwrap();
    symlink(env.path().join("secret.toml"), user_file(&env)).unwrap();
    assert_eq!(profile(&env.ok(&["workers"]), "p")["model"], "x");
}

#[test]
fn the_project_wins_key_by_key() {
    let env = TestEnvironment::new();
    put(
        &user_file(&env),
        "[builder]\nharness = 'codex'\nmodel = 'small'\nretries = 2\nenv = { TOKEN = 'secret-1' }\n",
    );
    put(&project_file(&env), "[builder]\nmodel = 'large'\ntimeout = '2h'\n[p]\nreadonly = true\n");
    // Also from a directory below the root of the work tree.
    fs::create_dir_all(env.work().join(".git")).unwrap();
    fs::write(env.work().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::create_dir_all(env.work().join("src/deep")).unwrap();
    let ended = end(env.msg().args(["workers", "--json"]).current_dir(env.work().join("src/deep")));
    let answer = ended.expect_code(0).json();
    let builder = profile(&answer, "builder");
    assert_eq!((&builder["harness"], &builder["model"]), (&"codex".into(), &"large".into()));
    assert_eq!((&builder["timeout"], &builder["retries"]), (&7200.into(), &2.into()));
    assert_eq!((&builder["isolation"], &builder["env"]), (&"worktree".into(), &serde_json::json!(["TOKEN"])));
    let from = serde_json::json!({
        "harness": "user", "model": "project", "instructions": "shipped", "timeout": "project",
        "isolation": "shipped", "retries": "user", "env": "user",
    });
    assert_eq!(builder["from"], from);
    assert_eq!(profile(&answer, "p")["readonly"], true);
    assert!(!answer.to_string().contains("secret-1"), "values of variables are not shown");
}
