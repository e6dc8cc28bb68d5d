//! The MCP server's entry among those of a harness.

use std::fs;

use serde_json::Value;

use super::{at, copy_of_program, from_home, give, install, run_program, text, tree, uninstall};
use crate::support::environment::TestEnvironment;

/// The file in which each harness lists its servers, and its content before.
const FILES: [(&str, &str, &str); 7] = [
    (
        "claude",
        ".claude.json",
        "{\n  \"numStartups\": 3,\n  \"mcpServers\": {\"own\": {\"command\": \"own\"}}\n}\n",
    ),
    ("codex", ".codex/config.toml", "model = \"x\" # mine\n\n[mcp_servers.own]\ncommand = \"own\"\n"),
    ("gemini", ".gemini/settings.json", "{\"mcpServers\": {}}\n"),
    ("opencode", ".config/opencode/opencode.jsonc", "{\n  // mine\n  \"model\": \"x\",\n}\n"),
    ("copilot", ".copilot/mcp-config.json", "{\"mcpServers\": {\"own\": {\"command\": \"own\"}}}"),
    ("kimi", ".kimi-code/mcp.json", "{\"mcpServers\": {\"own\": {\"command\": \"own\"}}}"),
    ("qwen", ".qwen/settings.json", "{\n  // mine\n  \"mcpServers\": {}\n}\n"),
];

/// The command line of our server in a file.
fn server(text: &str) -> Option<Vec<String>> {
    let ours = text.split("mcp_servers.ravenry]").nth(1).or_else(|| text.split("\"ravenry\":").nth(1))?;
    let words = ours.split('"').skip(1).step_by(2).filter(|word| word.contains("msg") || *word == "mcp");
    Some(words.take(2).map(str::to_string).collect())
}

#[test]
fn in_and_out_of_every_harness_that_takes_one() {
    for (harness, file, content) in FILES {
        for content in [Some(content), None] {
            let env = TestEnvironment::new();
            if let Some(content) = content {
                give(&env, file, content);
            }
            let before = tree(&env.home());
            let changed = install(&env, harness);
            let file = if content.is_none() && harness == "opencode" {
                ".config/opencode/opencode.json"
            } else {
                file
            };
            assert!(changed.contains(&file.to_string()), "{harness}: {changed:?}");
            let words = server(&text(&env, file)).unwrap_or_else(|| panic!("{}", text(&env, file)));
            assert!(words[0].ends_with("msg") && words[1] == "mcp", "{harness}: {}", text(&env, file));
            assert_eq!(install(&env, harness), [""; 0], "{harness}: once is enough");
            uninstall(&env, harness);
            assert_eq!(tree(&env.home()), before, "{harness}");
        }
    }
}

/// The harness has changed the file since, and its user has set a permission for one of the tools.
#[test]
fn only_ours_goes_from_a_file_that_was_changed() {
    let env = TestEnvironment::new();
    for (harness, file, content) in FILES {
        give(&env, file, content);
        install(&env, harness);
        let more = match harness {
            "codex" => "\n[mcp_servers.ravenry.tools.message]\napproval_mode = \"approve\"\n",
            _ => "\n\n",
        };
        give(&env, file, &format!("{}{more}", text(&env, file)));
        uninstall(&env, harness);
        assert_eq!(text(&env, file).trim(), content.trim(), "{harness}");
    }
}

#[test]
fn somebodys_own_server_of_that_name_stays() {
    let env = TestEnvironment::new();
    let own = "{\"mcpServers\": {\"ravenry\": {\"command\": \"docker\", \"args\": [\"run\", \"mcp\"]}}}";
    give(&env, ".claude.json", own);
    give(&env, ".codex/config.toml", "[mcp_servers.ravenry]\nurl = \"http://127.0.0.1\"\n");
    for harness in ["claude", "codex"] {
        install(&env, harness);
        assert_eq!(text(&env, ".claude.json"), own);
        assert!(text(&env, ".codex/config.toml").starts_with("[mcp_servers.ravenry]\nurl"));
        uninstall(&env, harness);
    }
    assert_eq!(text(&env, ".claude.json"), own);
    assert_eq!(text(&env, ".codex/config.toml"), "[mcp_servers.ravenry]\nurl = \"http://127.0.0.1\"\n");
}

#[test]
fn who_wants_none_has_none() {
    for (harness, file, content) in FILES {
        let env = TestEnvironment::new();
        give(&env, file, content);
        let said = env.ok(&["install", harness, "--no-mcp"]);
        assert_eq!(server(&text(&env, file)), None, "{harness}");
        assert!(!super::changed(&said).is_empty());
        let doctor = |env: &TestEnvironment| -> Vec<Value> {
            let checks = env.run(&["doctor", "--json"]).json()["checks"].as_array().unwrap().clone();
            checks.into_iter().filter(|check| check["name"] == "installed").collect()
        };
        let checks = doctor(&env);
        assert!(checks.len() == 1 && checks[0]["state"] == "ok", "{harness}: {checks:?}");
        install(&env, harness);
        assert!(server(&text(&env, file)).is_some(), "{harness}");
        assert_eq!(doctor(&env).len(), 1, "{harness}");
        env.ok(&["install", harness, "--no-mcp"]);
        assert_eq!(server(&text(&env, file)), None, "{harness}");
        uninstall(&env, harness);
        assert_eq!(text(&env, file).trim(), content.trim(), "{harness}");
    }
}

#[test]
fn a_server_whose_program_is_gone_is_told_of() {
    let env = TestEnvironment::new();
    let old = env.path().join("old/msg");
    copy_of_program(&old);
    let said = run_program(&env, &old, &["install", "copilot", "--json"]).expect_code(0).json();
    assert!(from_home(&env, super::changed(&said)).contains(&".copilot/mcp-config.json".to_string()));
    fs::remove_file(&old).unwrap();
    // The hooks are fine; only the server is missing.
    fs::remove_file(at(&env, ".copilot/settings.json")).unwrap();
    insta::assert_snapshot!(env.doctor_says("installed"), @"
    warn: copilot: the MCP server in `[DIR]/home/.copilot/mcp-config.json` calls `[DIR]/old/msg`, which is gone
    fix: `msg install copilot`
    ");
}

/// A list of servers that was empty before is empty again, even if ours was removed before an edit.
#[test]
fn an_empty_list_of_servers_stays() {
    for (harness, file, content) in [
        ("gemini", ".gemini/settings.json", "{\"mcpServers\": {}}"),
        ("opencode", ".config/opencode/opencode.json", "{\"mcp\": {}}"),
        ("claude", ".claude.json", "{\"mcpServers\": {}}"),
    ] {
        let env = TestEnvironment::new();
        give(&env, file, content);
        install(&env, harness);
        env.ok(&["install", harness, "--no-mcp"]);
        give(&env, file, &text(&env, file).replacen('{', "{\"a\": 1, ", 1));
        uninstall(&env, harness);
        let left: Value = serde_json::from_str(&text(&env, file)).unwrap();
        let expected: Value = serde_json::from_str(&content.replacen('{', "{\"a\": 1, ", 1)).unwrap();
        assert_eq!(left, expected, "{harness}");
    }
}
