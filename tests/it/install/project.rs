//! `--project`: installs into a project, and keeps its files out of the repository.

use std::fs;
use std::process::Command;

use super::*;

fn git(env: &TestEnvironment, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.env("HOME", env.home()).env("GIT_CONFIG_NOSYSTEM", "1").current_dir(env.work());
    let output = command.args(["-c", "user.name=t", "-c", "user.email=t@t"]).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn repository() -> TestEnvironment {
    let env = TestEnvironment::new();
    git(&env, &["init", "-q"]);
    put(&env.work().join("src/x"), "");
    git(&env, &["add", "-A"]);
    git(&env, &["commit", "-qm", "x"]);
    env
}

const FILES: [(&str, &str); 4] = [
    ("claude", ".claude/settings.local.json"),
    ("opencode", ".opencode/plugins/ravenry.js"),
    ("pi", ".pi/extensions/ravenry.ts"),
    ("copilot", ".github/hooks/ravenry.json"),
];

#[test]
fn git_does_not_see_it() {
    for (harness, file) in FILES {
        let env = repository();
        let (home, before) = (tree(&env.home()), tree(&env.work()));
        let mut command = env.msg();
        let said = end(command
            .args(["install", harness, "--project", "--json"])
            .current_dir(env.work().join("src")));
        let files = changed(&said.expect_code(0).json());
        assert_eq!(
            files[0],
            env.work().join(file).display().to_string(),
            "at the root, from wherever it is called"
        );
        assert!(env.work().join(file).is_file());
        assert_eq!(git(&env, &["status", "--porcelain"]), "", "{harness}");
        assert_eq!(tree(&env.home()), home, "{harness}: the user's own stays as it is");
        assert_eq!(changed(&env.ok(&["install", harness, "--project"])), [""; 0]);
        assert_eq!(changed(&env.ok(&["uninstall", harness])), [""; 0], "that is another place");
        assert_eq!(changed(&env.ok(&["uninstall", harness, "--project"])), files);
        assert_eq!(tree(&env.work()), before, "{harness}");
    }
}

/// All harnesses use one exclude file; `uninstall` removes only its own line.
#[test]
fn several_at_once() {
    let env = repository();
    let exclude = env.work().join(".git/info/exclude");
    fs::write(&exclude, "# no newline at the end\n*.tmp").unwrap();
    let before = tree(&env.work());
    for (harness, _) in FILES {
        env.ok(&["install", harness, "--project"]);
    }
    for (harness, _) in FILES {
        assert_eq!(git(&env, &["status", "--porcelain"]), "", "{harness}");
        env.ok(&["uninstall", harness, "--project"]);
    }
    assert_eq!(tree(&env.work()), before);
}

#[test]
fn without_a_repository() {
    let env = TestEnvironment::new();
    for (harness, file) in FILES {
        assert_eq!(
            changed(&env.ok(&["install", harness, "--project"])),
            [env.work().join(file).display().to_string()]
        );
        env.ok(&["uninstall", harness, "--project"]);
        assert!(fs::read_dir(env.work()).unwrap().next().is_none(), "{harness}");
    }
}

#[test]
fn what_all_share_is_refused() {
    let env = repository();
    for harness in ["codex", "gemini", "kimi", "qwen"] {
        let ended = env.run(&["install", harness, "--project", "--json"]).expect_code(2);
        assert_eq!(ended.kind(), "no_project_settings");
        let hint = ended.json()["error"]["hints"][0].as_str().unwrap().to_string();
        assert!(hint.contains(&format!("`msg install {harness}`")), "{hint}");
    }
    put(&env.work().join(".claude/settings.local.json"), "{}");
    git(&env, &["add", "-Af"]);
    assert_eq!(env.fails(2, &["install", "claude", "--project"]), "no_project_settings");
    assert_eq!(fs::read_to_string(env.work().join(".claude/settings.local.json")).unwrap(), "{}");
    let mut at_home = env.msg();
    let ended = end(at_home.args(["install", "claude", "--project", "--json"]).current_dir(env.home()));
    assert_eq!(ended.expect_code(2).kind(), "no_project_settings");
}

#[test]
fn all_that_can_be() {
    let env = repository();
    for (dir, _) in [(".claude", ""), (".codex", ""), (".gemini", "")] {
        fs::create_dir(at(&env, dir)).unwrap();
    }
    let said = env
        .run_with(&["install", "all", "--project", "--json"], &[("PATH", "/usr/bin:/bin")])
        .expect_code(0)
        .json();
    assert_eq!(changed(&said)[0], env.work().join(".claude/settings.local.json").display().to_string());
    let skipped: Vec<&str> =
        said["skipped"].as_array().unwrap().iter().map(|it| it["harness"].as_str().unwrap()).collect();
    assert_eq!(skipped, ["codex", "gemini", "opencode", "pi", "copilot", "kimi", "qwen"]);
}

/// Other lines in the file stay, whatever the record of it says.
#[test]
fn only_the_own_line_goes() {
    let env = repository();
    let exclude = env.work().join(".git/info/exclude");
    let [claude, opencode] = ["/.claude/settings.local.json\n", "/.opencode/plugins/ravenry.js\n"];
    fs::write(&exclude, "").unwrap();
    env.ok(&["install", "claude", "--project"]);
    env.ok(&["install", "opencode", "--project"]);
    env.ok(&["uninstall", "claude", "--project"]);
    assert_eq!(fs::read_to_string(&exclude).unwrap(), opencode);
    env.ok(&["uninstall", "opencode", "--project"]);
    assert_eq!(fs::read_to_string(&exclude).unwrap(), "");
    // The second installation's original contained the line of the first.
    env.ok(&["install", "claude", "--project"]);
    let changed = format!("{claude}*.tmp\n");
    fs::write(&exclude, &changed).unwrap();
    env.ok(&["install", "opencode", "--project"]);
    fs::write(&exclude, &changed).unwrap();
    env.ok(&["uninstall", "claude", "--project"]);
    assert_eq!(fs::read_to_string(&exclude).unwrap(), "*.tmp\n");
}

/// All work trees of a repository share one exclude file.
#[test]
fn another_work_tree_needs_the_line_too() {
    for (harness, file) in FILES {
        let env = repository();
        let other = env.path().join("other");
        git(&env, &["worktree", "add", "-q", other.to_str().unwrap()]);
        let before = tree(&env.work());
        let run = |verb: &str, dir: &Path| {
            end(env.msg().args([verb, harness, "--project"]).current_dir(dir)).expect_code(0);
        };
        let seen = |dir: &Path| git(&env, &["-C", dir.to_str().unwrap(), "status", "--porcelain"]);
        for (first, second) in [(&env.work(), &other), (&other, &env.work())] {
            run("install", first);
            run("install", second);
            run("uninstall", first);
            assert!(second.join(file).is_file());
            assert_eq!(seen(second), "", "{harness}");
            run("uninstall", second);
            assert_eq!(tree(&env.work()), before, "{harness}");
        }
    }
}
