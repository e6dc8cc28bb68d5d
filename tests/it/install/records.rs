//! Records of files that existed before: enough to restore them, and none of their values.

use std::fs;

use serde_json::{Value, json};

use super::*;
use crate::support::environment::files_in;

const STATE: &str = ".local/state/ravenry-installs";

/// Settings of every harness, with a token in every possible position, in unusual forms.
fn settings_with_tokens() -> Vec<(&'static str, &'static str, String)> {
    let json = |extra: &str| {
        format!(
            "{{\r\n\t\"env\": {{\"API_KEY\": \"token-0001-secret\"}},\r\n\t\"permissions\": {{\"allow\": [\"token-0002-secret\"]}},\r\n\
             \t\"hooks\": {{\"Stop\": [{{\"hooks\": [{{\"type\": \"command\", \"command\": \"token-0003-secret\"}}]}}]}},\
             {extra}\t\"last\": \"token-0004-secret\"}}"
        )
    };
    let line = "{\"a\":\"token-0005-secret\",\"mcpServers\":{\"x\":{\"env\":{\"K\":\"token-0006-secret\"}}},\"projects\":{\"/p\":{\"t\":\"token-0007-secret\"}}}";
    vec![
        ("claude", ".claude/settings.json", json("\"statusLine\": null,\r\n")),
        ("claude", ".claude.json", line.to_string()),
        ("codex", ".codex/hooks.json", "{\"hooks\": {\"Stop\": []}, \"k\": \"token-0008-secret\"}".to_string()),
        (
            "codex",
            ".codex/config.toml",
            "key = \"token-0009-secret\"\n[mcp_servers.other]\ncommand = \"x\"\nenv = { K = \"token-0010-secret\" } # token-0011-secret"
                .to_string(),
        ),
        ("gemini", ".gemini/settings.json", format!("// token-0012-secret\n{}\n", json(""))),
        (
            "opencode",
            ".config/opencode/opencode.json",
            "{\"permission\": {\"bash\": \"ask\"}, // token-0013-secret\n\"provider\": {\"key\": \"token-0014-secret\"},}\n\n\n"
                .to_string(),
        ),
        ("copilot", ".copilot/settings.json", json("")),
        ("copilot", ".copilot/mcp-config.json", line.to_string()),
        (
            "kimi",
            ".kimi-code/config.toml",
            "key = \"token-0017-secret\"\n\n[[hooks]] # token-0018-secret\nevent = \"Stop\"\ncommand = \"token-0019-secret\""
                .to_string(),
        ),
        ("kimi", ".kimi-code/mcp.json", line.to_string()),
        ("qwen", ".qwen/settings.json", format!("// token-0020-secret\n{}\n", json(""))),
        ("tmux", ".tmux.conf", "# token-0015-secret\nset -g status-right \"token-0016-secret\"\n\n \n".to_string()),
    ]
}

#[track_caller]
fn assert_no_token(env: &TestEnvironment, when: &str) {
    for file in files_in(&at(env, ".local/state")) {
        let text = fs::read_to_string(&file).unwrap();
        let token = text.find("secret").map(|at| &text[at.saturating_sub(20)..at + 6]);
        assert_eq!(token, None, "{when}: {}", file.display());
    }
}

fn recipients() -> Vec<&'static str> {
    HARNESSES.into_iter().chain(["tmux"]).collect()
}

#[test]
fn no_token_of_a_settings_file_is_kept() {
    let env = TestEnvironment::new();
    for (_, file, content) in settings_with_tokens() {
        give(&env, file, &content);
    }
    let before = tree(&env.home());
    let [old, new] = ["old", "new"].map(|name| env.path().join(name).join("msg"));
    copy_of_program(&old);
    copy_of_program(&new);
    for program in [&old, &new] {
        for recipient in recipients() {
            run_program(&env, program, &["install", recipient]).expect_code(0);
            assert_no_token(&env, &format!("install {recipient}"));
        }
    }
    for recipient in recipients() {
        run_program(&env, &new, &["uninstall", recipient]).expect_code(0);
        assert_no_token(&env, &format!("uninstall {recipient}"));
    }
    assert_eq!(tree(&env.home()), before);
}

#[test]
fn nor_of_one_that_was_edited_since() {
    let env = TestEnvironment::new();
    for (_, file, content) in settings_with_tokens() {
        give(&env, file, &content);
    }
    let old = env.path().join("old/msg");
    copy_of_program(&old);
    let edit = |content: &str| content.replace("token-00", "token-edited-00");
    for recipient in recipients() {
        run_program(&env, &old, &["install", recipient]).expect_code(0);
    }
    for (_, file, _) in settings_with_tokens() {
        give(&env, file, &edit(&text(&env, file)));
    }
    for recipient in recipients() {
        env.ok(&["install", recipient]);
        assert_no_token(&env, recipient);
    }
    for recipient in recipients() {
        env.ok(&["uninstall", recipient]);
    }
    for (_, file, content) in settings_with_tokens() {
        let squeeze = |text: &str| text.split_whitespace().collect::<String>();
        assert_eq!(squeeze(&text(&env, file)), squeeze(&edit(&content)), "{file}");
    }
}

/// Rewrites all records in the first format, with a copy of each file. Returns how many have a copy.
fn to_first_format(env: &TestEnvironment, originals: &[(&str, &str, String)]) -> usize {
    let mut copies = 0;
    for file in
        files_in(&at(env, STATE)).iter().filter(|file| file.extension().is_some_and(|it| it == "json"))
    {
        let record: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        let path = record["path"].as_str().unwrap();
        let original = originals.iter().find(|(_, name, _)| at(env, name).display().to_string() == path);
        let wrote: Vec<&Value> = record["wrote"].as_array().unwrap().iter().map(|it| &it["hash"]).collect();
        let old = json!({
            "path": path, "original": original.map(|(_, _, text)| text), "wrote": wrote, "made": record["made"],
        });
        copies += usize::from(original.is_some());
        fs::write(file, old.to_string()).unwrap();
    }
    copies
}

#[test]
fn records_of_the_first_format_are_read_and_lose_their_copy() {
    for way in ["uninstall", "install", "doctor"] {
        let env = TestEnvironment::new();
        for (_, file, content) in settings_with_tokens() {
            give(&env, file, &content);
        }
        let before = tree(&env.home());
        for recipient in recipients() {
            env.ok(&["install", recipient]);
        }
        let with = tree(&env.home());
        assert_eq!(to_first_format(&env, &settings_with_tokens()), settings_with_tokens().len());
        match way {
            "install" => {
                for recipient in recipients() {
                    assert_eq!(changed(&env.ok(&["install", recipient])), [""; 0], "{recipient}");
                }
                assert_no_token(&env, way);
            }
            "doctor" => {
                let told = env.run(&["doctor"]).to_string();
                assert!(told.contains("12 records of `msg install` hold copies"), "{told}");
                env.run(&["doctor", "--repair"]);
                assert_no_token(&env, way);
                assert!(!env.run(&["doctor"]).to_string().contains("hold copies"));
            }
            _ => {}
        }
        assert_eq!(tree(&env.home()), with, "{way}");
        for recipient in recipients() {
            env.ok(&["uninstall", recipient]);
        }
        assert_eq!(tree(&env.home()), before, "{way}");
        assert_no_token(&env, way);
    }
}

/// A file that was edited since is restored with the edit.
#[test]
fn records_of_the_first_format_of_a_file_that_was_edited() {
    for repairs in [false, true] {
        let env = TestEnvironment::new();
        let file = ".claude/settings.json";
        let original = "{\n  \"key\": \"secret\",\n  \"hooks\": {},\n  \"permissions\": {\"allow\": [\"Bash(msg:*)\"]}\n}\n";
        give(&env, file, original);
        install(&env, "claude");
        to_first_format(&env, &[("claude", file, original.to_string())]);
        give(&env, file, &text(&env, file).replace("secret", "changed"));
        if repairs {
            env.run(&["doctor", "--repair"]);
            assert_no_token(&env, "repaired");
        }
        uninstall(&env, "claude");
        let expected: Value = serde_json::from_str(&original.replace("secret", "changed")).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&text(&env, file)).unwrap(), expected, "{repairs}");
    }
}

/// A record of a later version must not be read as "there was no file".
#[test]
fn a_record_of_a_later_format_is_left_alone() {
    let env = TestEnvironment::new();
    give(&env, ".claude/settings.json", "{\"a\": 1}");
    install(&env, "claude");
    let with = text(&env, ".claude/settings.json");
    for file in
        files_in(&at(&env, STATE)).iter().filter(|file| file.extension().is_some_and(|it| it == "json"))
    {
        let record = fs::read_to_string(file).unwrap().replace("\"format\": 2", "\"format\": 3");
        fs::write(file, record).unwrap();
    }
    assert_eq!(env.fails(4, &["uninstall", "claude"]), "corrupt");
    assert_eq!(text(&env, ".claude/settings.json"), with);
}
