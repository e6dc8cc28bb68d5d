//! Refusals, and that nothing is half done after one.

use std::fs;
use std::os::unix::fs::{FileTypeExt, symlink};

use insta::assert_snapshot;
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use super::*;

/// `install` is refused with that exit code and kind, and changes nothing.
#[track_caller]
fn refused(env: &TestEnvironment, harness: &str, code: i32, kind: &str) -> Value {
    let before = tree(&env.home());
    let ended = env.run(&["install", harness, "--json"]).expect_code(code);
    assert_eq!(ended.kind(), kind, "{ended}");
    assert_eq!(tree(&env.home()), before, "{ended}");
    assert!(!at(env, ".local/state/ravenry-installs").exists(), "{ended}");
    ended.json()["error"].clone()
}

#[test]
fn files_that_cannot_be_read() {
    let faults = [
        ("{\n  \"a\": 1\n  \"b\": 2\n}\n", 2, 9),
        ("{\n  \"a\": nope\n}\n", 2, 8),
        ("[]", 1, 1),
        ("{", 1, 1),
        ("{\n  \"hooks\": []\n}\n", 2, 12),
        ("{\n  \"hooks\": null\n}\n", 2, 12),
        ("{\n  \"hooks\": {\n    \"SessionStart\": {},\n    \"sessionStart\": {}\n  }\n}\n", 0, 0),
        ("\u{feff}{ \"a\": }", 1, 8),
        ("\0\u{1}", 1, 1),
    ];
    for (harness, file) in SETTINGS {
        for (content, line, column) in faults {
            let env = TestEnvironment::new();
            give(&env, file, content);
            let error = refused(&env, harness, 4, "bad_config");
            assert_eq!(error["file"], at(&env, file).display().to_string());
            if line > 0 {
                assert_eq!((&error["line"], &error["column"]), (&line.into(), &column.into()), "{error}");
            }
            assert!(!error["hints"].as_array().unwrap().is_empty());
            assert_eq!(text(&env, file), content);
        }
    }
}

#[test]
fn nothing_is_half_done() {
    let env = TestEnvironment::new();
    give(&env, ".codex/config.toml", "a = 1\nb = = 2\n");
    let error = refused(&env, "codex", 4, "bad_config");
    assert_eq!((&error["line"], &error["column"]), (&2.into(), &5.into()));
    give(&env, ".codex/config.toml", "hooks = 1\n");
    refused(&env, "codex", 4, "bad_config");
    give(&env, ".codex/config.toml", "hooks = {}\n");
    refused(&env, "codex", 4, "bad_config");
}

#[test]
fn what_the_format_does_not_have() {
    let env = TestEnvironment::new();
    give(&env, ".codex/hooks.json", "{\n  // no\n}");
    assert_eq!(refused(&env, "codex", 4, "bad_config")["line"], 2);
    // Claude Code ignores such a file silently, so `install` reports it.
    give(&env, ".claude/settings.json", "{\n  \"a\": 1 // no\n}");
    assert_eq!(refused(&env, "claude", 4, "bad_config")["column"], 10);
    give(&env, ".gemini/settings.json", "{\"a\": 1,}");
    refused(&env, "gemini", 4, "bad_config");
}

#[test]
fn a_file_of_our_name_that_is_not_ours() {
    let env = TestEnvironment::new();
    for (harness, file) in [
        ("pi", ".pi/agent/extensions/ravenry.ts"),
        ("opencode", ".config/opencode/plugins/ravenry.js"),
        ("codex", ".codex/rules/ravenry.rules"),
        ("gemini", ".gemini/policies/ravenry.toml"),
    ] {
        give(&env, file, "// mine\n");
        let error = refused(&env, harness, 4, "bad_config");
        assert!(error["message"].as_str().unwrap().contains(file), "{error}");
        assert_eq!(uninstall(&env, harness), [""; 0]);
        assert_eq!(text(&env, file), "// mine\n");
    }
}

/// Reading a pipe would block, and a device must not be replaced by a file.
#[test]
fn only_plain_files_are_settings() {
    let mut told = String::new();
    for (harness, file) in [("claude", ".claude/settings.json"), ("gemini", ".gemini/settings.json")] {
        let env = TestEnvironment::new();
        let (pipe, path) = (env.path().join("pipe"), env.home().join(file));
        mkfifo(&pipe, Mode::S_IRWXU).unwrap();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(&pipe, &path).unwrap();
        assert_eq!(env.fails(4, &["install", harness]), "read_only");
        told += &env.redact(env.run(&["install", harness]).stderr);
        assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
        env.run(&["doctor"]);
    }
    assert_snapshot!(told, @"
    error: `[DIR]/home/.claude/settings.json` leads to `[DIR]/pipe`, which is not a plain file
    hint: move it away, and try again
    error: `[DIR]/home/.gemini/settings.json` leads to `[DIR]/pipe`, which is not a plain file
    hint: move it away, and try again
    ");
}

#[test]
fn read_only_is_meant() {
    for (harness, file) in SETTINGS {
        let env = TestEnvironment::new();
        give(&env, file, "{}");
        fs::set_permissions(at(&env, file), fs::Permissions::from_mode(0o444)).unwrap();
        let error = refused(&env, harness, 4, "read_only");
        assert!(error["hints"][0].as_str().unwrap().contains("chmod u+w"), "{error}");
        fs::set_permissions(at(&env, file), fs::Permissions::from_mode(0o644)).unwrap();
        let dir = at(&env, file).parent().unwrap().to_path_buf();
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o555)).unwrap();
        let error = refused(&env, harness, 4, "read_only");
        assert!(error["message"].as_str().unwrap().contains(&dir.display().to_string()), "{error}");
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
        install(&env, harness);
    }
}

#[test]
fn uninstall_does_not_guess_either() {
    let env = TestEnvironment::new();
    let file = ".claude/settings.json";
    install(&env, "claude");
    let broken = text(&env, file).replacen('{', "{ nope", 1);
    give(&env, file, &broken);
    let ended = env.run(&["uninstall", "claude", "--json"]).expect_code(4);
    assert_eq!(ended.kind(), "bad_config");
    assert_eq!(text(&env, file), broken);
    // After the file is repaired, our entries are removed.
    give(&env, file, &broken.replacen("{ nope", "{", 1));
    uninstall(&env, "claude");
    assert!(!at(&env, file).exists());
}

/// It is not known what became of our entries, and only the record has the original.
#[test]
fn the_record_of_a_file_that_cannot_be_read_is_kept() {
    for (harness, file) in
        [SETTINGS[0], SETTINGS[1], ("codex", ".codex/config.toml"), SETTINGS[2], SETTINGS[3]]
    {
        let env = TestEnvironment::new();
        let before = if file.ends_with("toml") { "a = 1\n" } else { "{\n  \"a\": 1\n}\n" };
        give(&env, file, before);
        install(&env, harness);
        let with = text(&env, file);
        give(&env, file, "{\n  nope = = ");
        let ended = env.run(&["uninstall", harness, "--json"]).expect_code(4);
        assert_eq!(ended.kind(), "bad_config");
        assert!(ended.json()["error"]["line"].as_u64().is_some_and(|line| line > 0), "{ended}");
        give(&env, file, &with);
        uninstall(&env, harness);
        assert_eq!(text(&env, file), before, "{harness}");
    }
}

/// Records are UTF-8 text, and so are settings that name paths.
#[test]
fn paths_that_are_not_text() {
    use std::os::unix::ffi::OsStrExt;
    let env = TestEnvironment::new();
    let place = env.path().join("homes");
    let home = place.join(std::ffi::OsStr::from_bytes(b"h\xff"));
    fs::create_dir_all(&home).unwrap();
    for harness in HARNESSES {
        let mut command = env.msg();
        command.env("HOME", &home).args(["install", harness, "--json"]);
        let ended = end(&mut command).expect_code(2);
        assert_eq!(ended.kind(), "invalid_value", "{ended}");
        assert_eq!(fs::read_dir(&place).unwrap().count(), 1, "{harness}: nothing beside it");
        assert_eq!(fs::read_dir(&home).unwrap().count(), 0, "{harness}");
    }
    // A link to such a path is not resolved to another one.
    fs::create_dir(at(&env, ".claude")).unwrap();
    symlink(home.join("settings.json"), at(&env, ".claude/settings.json")).unwrap();
    assert_eq!(env.fails(2, &["install", "claude"]), "invalid_value");
    assert_eq!(fs::read_dir(&place).unwrap().count(), 1);
    assert_eq!(fs::read_dir(&home).unwrap().count(), 0);
}

#[test]
fn a_record_that_cannot_be_read_is_not_overwritten() {
    let env = TestEnvironment::new();
    give(&env, ".claude/settings.json", "{\"a\": 1}");
    install(&env, "claude");
    let records = at(&env, ".local/state/ravenry-installs");
    let record = fs::read_dir(&records).unwrap().map(|entry| entry.unwrap().path());
    let record = record.into_iter().find(|path| path.extension().is_some_and(|it| it == "json")).unwrap();
    fs::write(&record, "{").unwrap();
    assert_eq!(env.fails(4, &["uninstall", "claude"]), "corrupt");
    let refused = env.run(&["uninstall", "claude"]).to_string();
    let name = record.file_name().unwrap().to_str().unwrap();
    assert_snapshot!(env.redact(refused.replace(name, "[RECORD]")), @"
    [exit 4]
    --- stderr
    error: `[DIR]/home/.local/state/ravenry-installs/[RECORD]` can't be read: EOF while parsing an object at line 1 column 1
    hint: it may hold what was there before `install`: look, then move it away; `uninstall` works without it
    ");
    assert!(env.run(&["doctor"]).stdout.contains(&record.display().to_string()), "doctor tells of it");
    fs::remove_file(&record).unwrap();
    uninstall(&env, "claude");
    assert_eq!(text(&env, ".claude/settings.json"), "{\"a\": 1}");
}

#[test]
fn no_such_harness() {
    let env = TestEnvironment::new();
    for name in ["emacs", "terminal", "other", "Claude"] {
        assert_eq!(env.fails(2, &["install", name]), "invalid_value");
        assert_eq!(env.fails(2, &["uninstall", name]), "invalid_value");
    }
    assert_eq!(env.fails(2, &["install", ""]), "usage");
    assert_eq!(env.fails(2, &["uninstall"]), "usage");
}
