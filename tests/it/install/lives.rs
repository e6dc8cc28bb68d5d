//! Installations from the first `install` to the last `uninstall`.

use std::fs;

use super::*;

#[test]
fn every_harness_comes_and_goes() {
    for harness in HARNESSES {
        let env = TestEnvironment::new();
        let before = tree(&env.home());
        let files = install(&env, harness);
        assert!(!files.is_empty(), "{harness}: it is installed though it is not there");
        let with = tree(&env.home());
        assert!(files.iter().all(|file| with.contains_key(file)), "{harness}: {files:?}");
        assert_eq!(install(&env, harness), [""; 0], "{harness}: twice is once");
        assert_eq!(tree(&env.home()), with);
        assert_eq!(uninstall(&env, harness), files);
        assert_eq!(tree(&env.home()), before, "{harness}: nothing is left, no directory either");
        assert_eq!(uninstall(&env, harness), [""; 0]);
    }
}

/// Additions to a file of ours belong to the user, for example a rule that forbids something.
#[test]
fn what_was_added_to_a_file_of_ours_is_not_removed() {
    for (harness, file) in
        [("codex", ".codex/rules/ravenry.rules"), ("opencode", ".config/opencode/plugins/ravenry.js")]
    {
        let env = TestEnvironment::new();
        install(&env, harness);
        let mut text = fs::read_to_string(at(&env, file)).unwrap();
        text.push_str("// mine\n");
        give(&env, file, &text);
        let with = tree(&env.home());
        for verb in ["install", "uninstall"] {
            let ended = env.run(&[verb, harness, "--json"]);
            let error = ended.json()["error"].clone();
            assert_eq!(error["kind"], "bad_config", "{verb} {harness}: {ended}");
            assert!(error["file"].as_str().unwrap().ends_with(file), "{error}");
            assert_eq!(tree(&env.home()), with, "{verb} {harness}");
        }
        fs::remove_file(at(&env, file)).unwrap();
        install(&env, harness);
        uninstall(&env, harness);
    }
}

/// The server's entry may have members that we did not write.
#[test]
fn what_is_said_besides_of_the_server_stays() {
    let env = TestEnvironment::new();
    let entry = r#"{"mcpServers": {"ravenry": {"command": "/old/place/msg", "args": ["mcp"], "env": {"MSG_MESH": "/srv/mesh"}}}}"#;
    give(&env, ".claude.json", entry);
    install(&env, "claude");
    let text = fs::read_to_string(at(&env, ".claude.json")).unwrap();
    assert!(text.contains("/srv/mesh") && !text.contains("/old/place"), "{text}");
}

#[test]
fn the_records_are_not_the_mesh() {
    let env = TestEnvironment::new();
    install(&env, "claude");
    assert!(!env.mesh().exists());
    assert!(!at(&env, ".local/state/ravenry").exists(), "nobody has joined");
    assert!(at(&env, ".local/state/ravenry-installs").is_dir());
}

#[test]
fn where_the_harness_was_told_to_look() {
    let env = TestEnvironment::new();
    let place = env.path().join("elsewhere");
    let told = place.to_str().unwrap();
    let variables = [
        ("claude", "CLAUDE_CONFIG_DIR", "settings.json"),
        ("codex", "CODEX_HOME", "hooks.json"),
        ("gemini", "GEMINI_CLI_HOME", ".gemini/settings.json"),
        ("opencode", "OPENCODE_CONFIG_DIR", "plugins/ravenry.js"),
        ("opencode", "XDG_CONFIG_HOME", "opencode/plugins/ravenry.js"),
        ("pi", "PI_CODING_AGENT_DIR", "extensions/ravenry.ts"),
        ("copilot", "COPILOT_HOME", "settings.json"),
        ("kimi", "KIMI_CODE_HOME", "config.toml"),
        ("qwen", "QWEN_HOME", "settings.json"),
    ];
    for (harness, variable, file) in variables {
        let said = env.run_with(&["install", harness, "--json"], &[(variable, told)]).expect_code(0);
        assert_eq!(changed(&said.json())[0], format!("{told}/{file}"));
        env.run_with(&["uninstall", harness, "--json"], &[(variable, told)]).expect_code(0);
        assert!(!place.exists(), "{harness}: {:?}", tree(&place));
    }
}

/// A value that is not an absolute path is ignored.
#[test]
fn a_relative_path_is_passed_by() {
    let env = TestEnvironment::new();
    for (told, dir) in
        [("agent", ".pi/agent"), ("./a/b", ".pi/agent"), ("~x", ".pi/agent"), ("~/mine", "mine")]
    {
        let run = env.run_with(&["install", "pi", "--dry-run", "--json"], &[("PI_CODING_AGENT_DIR", told)]);
        let said = changed(&run.expect_code(0).json());
        assert_eq!(from_home(&env, said), [format!("{dir}/extensions/ravenry.ts")], "{told}");
    }
}

/// The settings were changed after `install`: the changes stay, our entries are removed.
#[test]
fn what_others_changed_since_stays() {
    for (harness, file) in SETTINGS {
        let env = TestEnvironment::new();
        give(&env, file, "{\n  \"model\": \"x\",\n  \"hooks\": {}\n}\n");
        install(&env, harness);
        let theirs = "{\n  \"theme\": \"dark\",\n  \"model\": \"x\"";
        give(&env, file, &text(&env, file).replace("{\n  \"model\": \"x\"", theirs));
        uninstall(&env, harness);
        assert_eq!(text(&env, file), format!("{theirs},\n  \"hooks\": {{}}\n}}\n"), "{harness}");
    }
}

#[test]
fn a_file_that_was_made_for_us_stays_if_others_use_it() {
    let env = TestEnvironment::new();
    install(&env, "claude");
    let with = text(&env, ".claude/settings.json");
    give(&env, ".claude/settings.json", &with.replacen("{\n", "{\n  \"theme\": \"dark\",\n", 1));
    uninstall(&env, "claude");
    assert_eq!(text(&env, ".claude/settings.json"), "{\n  \"theme\": \"dark\"\n}\n");
}

#[test]
fn without_the_record_ours_are_known_by_themselves() {
    for (harness, file) in SETTINGS {
        let env = TestEnvironment::new();
        let before = "{\n  \"model\": \"x\"\n}\n";
        give(&env, file, before);
        install(&env, harness);
        fs::remove_dir_all(at(&env, ".local/state/ravenry-installs")).unwrap();
        uninstall(&env, harness);
        assert_eq!(text(&env, file), before, "{harness}");
        let left: Vec<String> =
            tree(&env.home()).into_keys().filter(|name| name.contains("ravenry")).collect();
        assert_eq!(left, [""; 0], "{harness}");
    }
}

#[test]
fn a_permission_that_was_there_is_not_ours() {
    let env = TestEnvironment::new();
    let before = "{\"permissions\": {\"allow\": [\"Bash(msg:*)\"]}}";
    give(&env, ".claude/settings.json", before);
    install(&env, "claude");
    give(&env, ".claude/settings.json", &text(&env, ".claude/settings.json").replacen('{', "{\"a\": 1, ", 1));
    uninstall(&env, "claude");
    assert_eq!(text(&env, ".claude/settings.json"), before.replacen('{', "{\"a\": 1, ", 1));
}

/// Without a record, a permission counts as ours only next to a hook or plugin of ours.
#[test]
fn a_permission_alone_is_not_ours() {
    let opencode = "{\"permission\": {\"bash\": {\"*\": \"ask\", \"msg *\": \"allow\"}}}";
    for (harness, file, content) in [
        ("claude", ".claude/settings.json", "{\"permissions\": {\"allow\": [\"Bash(msg:*)\"]}}"),
        ("opencode", ".config/opencode/opencode.json", opencode),
    ] {
        let env = TestEnvironment::new();
        give(&env, file, content);
        assert_eq!(uninstall(&env, harness), [""; 0]);
        assert_eq!(text(&env, file), content);
    }
    let env = TestEnvironment::new();
    give(&env, ".config/opencode/opencode.json", opencode);
    let files = [".config/opencode/plugins/ravenry.js", ".config/opencode/opencode.json"];
    assert_eq!(install(&env, "opencode"), files);
    uninstall(&env, "opencode");
    assert_eq!(text(&env, ".config/opencode/opencode.json"), opencode, "the leave was there before");
    // The record of both is gone.
    let asks = opencode.replace(", \"msg *\": \"allow\"", "");
    give(&env, ".config/opencode/opencode.json", &asks);
    install(&env, "opencode");
    fs::remove_dir_all(at(&env, ".local/state/ravenry-installs")).unwrap();
    uninstall(&env, "opencode");
    assert_eq!(text(&env, ".config/opencode/opencode.json"), asks);
    let env = TestEnvironment::new();
    let own = "{\"version\": 1}";
    put(&env.work().join(".github/hooks/ravenry.json"), own);
    env.ok(&["uninstall", "copilot", "--project"]);
    assert_eq!(fs::read_to_string(env.work().join(".github/hooks/ravenry.json")).unwrap(), own);
}

/// Another version may start its files differently; the record says which files are ours.
#[test]
fn a_file_of_another_version_is_known_by_its_record() {
    for (harness, file) in [
        ("pi", ".pi/agent/extensions/ravenry.ts"),
        ("opencode", ".config/opencode/plugins/ravenry.js"),
        ("codex", ".codex/rules/ravenry.rules"),
        ("gemini", ".gemini/policies/ravenry.toml"),
    ] {
        let env = TestEnvironment::new();
        let before = tree(&env.home());
        install(&env, harness);
        let (now, old) = (text(&env, file), "// from another version\n");
        rewritten_by_us(&env, file, old);
        let said = env.run(&["doctor"]).stdout;
        assert!(said.contains(&format!("`msg install {harness}`")), "{harness}: {said}");
        assert_eq!(install(&env, harness), [file]);
        assert_eq!(text(&env, file), now);
        uninstall(&env, harness);
        assert_eq!(tree(&env.home()), before, "{harness}");
    }
}

/// A moved binary replaces the entries of the old one in place; the first original is what is restored.
#[test]
fn a_moved_binary_takes_over() {
    for harness in HARNESSES {
        let env = TestEnvironment::new();
        for (_, file) in SETTINGS {
            give(&env, file, "{\"model\": \"x\"}");
        }
        let before = tree(&env.home());
        let [old, new] = ["old", "new"].map(|name| env.path().join(name).join("msg"));
        copy_of_program(&old);
        copy_of_program(&new);
        run_program(&env, &old, &["install", harness]).expect_code(0);
        let of_old = tree(&env.home());
        run_program(&env, &new, &["install", harness]).expect_code(0);
        let of_new = tree(&env.home());
        for (name, (_, content)) in &of_old {
            let [old, new] = [&old, &new].map(|path| path.to_str().unwrap());
            let (_, now) = &of_new[name];
            if name.ends_with("config.toml") {
                assert_eq!(now.matches("[hooks.state").count(), content.matches("[hooks.state").count());
            } else {
                assert_eq!(*now, content.replace(old, new), "{harness}: {name}");
            }
        }
        run_program(&env, &new, &["uninstall", harness]).expect_code(0);
        assert_eq!(tree(&env.home()), before, "{harness}");
    }
}

#[test]
fn changed_moved_and_out_again() {
    let env = TestEnvironment::new();
    let file = ".claude/settings.json";
    give(&env, file, "{\n  \"a\": 1\n}\n");
    let [old, new] = ["old", "new"].map(|name| env.path().join(name).join("msg"));
    copy_of_program(&old);
    copy_of_program(&new);
    run_program(&env, &old, &["install", "claude"]).expect_code(0);
    give(&env, file, &text(&env, file).replace("\"a\": 1", "\"a\": 2"));
    run_program(&env, &new, &["install", "claude"]).expect_code(0);
    run_program(&env, &new, &["uninstall", "claude"]).expect_code(0);
    assert_eq!(
        text(&env, file),
        "{\n  \"a\": 2\n}\n",
        "not the first original, which is older than the change"
    );
}

/// Hooks for events that only an earlier or later version uses are removed too.
#[test]
fn hooks_of_other_events_are_ours_too() {
    let env = TestEnvironment::new();
    let file = ".claude/settings.json";
    let odd = "\"Setup\": {}, \"PreCompact\": [1]";
    give(&env, file, &format!("{{\"hooks\": {{{odd}}}}}"));
    install(&env, "claude");
    let with = text(&env, file);
    let line = first_line(&with).replace(" SessionStart ", " Notification ");
    let stray = serde_json::json!({ "hooks": [{ "type": "command", "command": line }] });
    give(&env, file, &with.replace(odd, &format!("{odd}, \"Notification\": [{stray}]")));
    install(&env, "claude");
    assert_eq!(text(&env, file), with);
    give(&env, file, &with.replace(odd, &format!("{odd}, \"Notification\": [{stray}]")));
    uninstall(&env, "claude");
    assert_eq!(text(&env, file), format!("{{\"hooks\": {{{odd}}}}}"));
}

fn first_line(text: &str) -> String {
    let value: Value = serde_json::from_str(text).unwrap();
    value["hooks"]["SessionStart"][0]["hooks"][0]["command"].as_str().unwrap().to_string()
}

#[test]
fn by_name_where_that_is_this_binary() {
    let env = TestEnvironment::new();
    let bin = env.path().join("bin");
    copy_of_program(&env.path().join("versions/1/msg"));
    fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(env.path().join("versions/1/msg"), bin.join("msg")).unwrap();
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let run = |program: &Path| {
        let mut command = std::process::Command::new(program);
        command.env_clear().env("HOME", env.home()).env("PATH", &path).args(["install", "claude"]);
        command.env(ravenry::sys::test_switches::ANCESTRY_END, std::process::id().to_string());
        end(command.current_dir(env.work())).expect_code(0);
        hook_lines(&text(&env, ".claude/settings.json"))
    };
    let by_name = run(&bin.join("msg"));
    assert!(by_name.iter().all(|line| line.starts_with("command -v msg ")), "{by_name:?}");
    let other = env.path().join("other/msg");
    copy_of_program(&other);
    let by_path = run(&other);
    let start = format!("[ -x '{}' ]", other.display());
    assert!(by_path.iter().all(|line| line.starts_with(&start)), "{by_path:?}");
    // A link is not resolved, because it outlives its target.
    let link = env.path().join("link/msg");
    fs::create_dir(link.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(&other, &link).unwrap();
    assert!(run(&link).iter().all(|line| line.contains("/link/msg")));
}

#[test]
fn all_that_are_there() {
    let env = TestEnvironment::new();
    fs::create_dir(at(&env, ".gemini")).unwrap();
    let bin = env.path().join("bin");
    put(&bin.join("pi"), "#!/bin/sh\n");
    fs::set_permissions(bin.join("pi"), fs::Permissions::from_mode(0o755)).unwrap();
    give(&env, ".codex/hooks.json", "{");
    let path = bin.display().to_string();
    let ended = env.run_with(&["install", "all", "--json"], &[("PATH", &path)]).expect_code(4);
    assert_eq!(ended.kind(), "not_all_installed");
    let said = ended.json();
    let files = from_home(&env, changed(&said));
    let expected =
        [".gemini/settings.json", ".gemini/policies/ravenry.toml", ".pi/agent/extensions/ravenry.ts"];
    assert_eq!(files, expected, "one that fails doesn't stop the others");
    let names = |key: &str| -> Vec<String> {
        said[key].as_array().unwrap().iter().map(|it| it["harness"].as_str().unwrap().to_string()).collect()
    };
    assert_eq!(names("skipped"), ["claude", "opencode", "copilot", "kimi", "qwen"]);
    assert_eq!(names("failed"), ["codex"]);
    assert_eq!(said["failed"][0]["kind"], "bad_config");
    assert_eq!(text(&env, ".codex/hooks.json"), "{");
    // A file that cannot be read contains nothing of ours, so `uninstall` does not fail.
    let gone = env.run_with(&["uninstall", "all", "--json"], &[("PATH", &path)]).expect_code(0);
    assert_eq!(from_home(&env, changed(&gone.json())), expected);
}

#[test]
fn a_dry_run_changes_nothing() {
    for harness in HARNESSES {
        let env = TestEnvironment::new();
        give(&env, ".claude/settings.json", "{\r\n  \"model\": \"x\"\r\n}\r\n");
        let before = tree(&env.home());
        let said = env.ok(&["install", harness, "--dry-run"]);
        assert_eq!(tree(&env.home()), before);
        assert!(!at(&env, ".local").exists(), "{harness}: no record either");
        let diffs = said["diffs"].as_array().unwrap();
        let paths: Vec<&str> = diffs.iter().map(|diff| diff["path"].as_str().unwrap()).collect();
        assert_eq!(paths, changed(&said), "{harness}");
        let installed = from_home(&env, changed(&said));
        assert_eq!(install(&env, harness), installed, "{harness}: it does what it said");
        let undo = env.ok(&["uninstall", harness, "--dry-run"]);
        assert_eq!(from_home(&env, changed(&undo)), installed);
    }
}
