//! Settings as people have them, in every format: their content stays, and is restored byte for byte.

use std::fs;

use proptest::prelude::*;

use super::*;
use crate::support::environment::is_whole;

/// Writes the file, installs, uninstalls, and checks what must hold for every file.
#[track_caller]
fn check(harness: &str, file: &str, content: &str, hooks: usize) {
    let env = TestEnvironment::new();
    give(&env, file, content);
    fs::set_permissions(at(&env, file), fs::Permissions::from_mode(0o640)).unwrap();
    let before = tree(&env.home());
    install(&env, harness);
    let with = text(&env, file);
    if hooks > 0 {
        let ours: Vec<String> =
            hook_lines(&with).into_iter().filter(|line| line.contains(&format!("hook {harness} "))).collect();
        assert_eq!(ours.len(), hooks, "{harness}: {with}");
    }
    assert_eq!(fs::metadata(at(&env, file)).unwrap().permissions().mode() & 0o777, 0o640);
    // Every line is still there, in order; it may have got a comma.
    let mut rest = with.lines();
    let grows = ["\"ask\"", "\"hooks\": {}", "\"permissions\": {"];
    let stays = |line: &&str| !["", "{}"].contains(&line.trim()) && !grows.iter().any(|it| line.contains(it));
    for line in content.lines().filter(|_| content.trim().contains('\n')).filter(stays) {
        let bare = line.trim_end().trim_end_matches(',');
        assert!(rest.any(|now| now.contains(bare)), "{harness}: lost `{line}`:\n{with}");
    }
    assert_eq!(with.starts_with('\u{feff}'), content.starts_with('\u{feff}'));
    if content.contains("\r\n") {
        assert_eq!(with.matches('\n').count(), with.matches("\r\n").count(), "{harness}: line endings");
    }
    assert_eq!(install(&env, harness), [""; 0]);
    assert_eq!(text(&env, file), with, "{harness}: twice is once");
    uninstall(&env, harness);
    assert_eq!(tree(&env.home()), before, "{harness}");
}

fn events(harness: &str) -> usize {
    match harness {
        "claude" | "copilot" | "qwen" => 8,
        _ => 6,
    }
}

#[test]
fn plain_files() {
    for (harness, file) in SETTINGS {
        let others = "{\n  \"hooks\": {\n    \"SessionStart\": [\n      {\n        \"hooks\": [\n          { \"type\": \
                      \"command\", \"command\": \"theirs\" }\n        ]\n      }\n    ]\n  },\n  \"env\": {\n    \"A\": \
                      \"1\"\n  }\n}";
        for content in [
            "",
            "\n",
            "{}",
            "{}\n",
            "{\n}\n",
            "{\"a\":1,\"b\":[1,2]}",
            "{ \"a\": 1 }\n",
            "{\n  \"model\": \"x\"\n}",
            "{\n\t\"model\": \"x\",\n\t\"list\": [\n\t\t1\n\t]\n}\n",
            "{\r\n    \"model\": \"x\"\r\n}\r\n",
            "\u{feff}{\n  \"model\": \"ä\"\n}\n",
            "{\n  \"hooks\": {},\n  \"permissions\": {\"allow\": [\"Bash(ls:*)\"], \"deny\": []}\n}\n",
            "{\n\n\n  \"unknown\": {\"deep\": [[], {}, null, 1.5e10, \"\\ud83d\\ude00\"]}\n\n}\n\n",
            others,
        ] {
            check(harness, file, content, events(harness));
        }
    }
}

#[test]
fn huge_files() {
    let count = if is_whole() { 30_000 } else { 8_000 };
    let members: Vec<String> = (0..count).map(|n| format!("  \"key {n}\": \"{}\"", "x".repeat(60))).collect();
    check("claude", ".claude/settings.json", &format!("{{\n{}\n}}\n", members.join(",\n")), events("claude"));
}

#[test]
fn comments_and_trailing_commas_where_they_are_legal() {
    let comments = "// mine\n{\n  // the model\n  \"model\": \"x\", // best\n  \"env\": {\n    \"A\": \"1\" // last\n  }\n}\n";
    for (harness, file) in
        SETTINGS.into_iter().filter(|(harness, _)| ["gemini", "copilot", "qwen"].contains(harness))
    {
        check(harness, file, comments, events(harness));
    }
    let commas = "{\n  // mine\n  \"list\": [\n      1,\n    ],\n  \"env\": {\n    \"A\": \"1\",\n  },\n}\n";
    check("copilot", ".copilot/settings.json", commas, events("copilot"));
}

/// Any JSON, in any formatting that a program writes.
fn object() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[a-zä\"\\\\/{}\\[\\],:]{0,12}".prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(4, 40, 6, |inner| {
        let name = prop_oneof!["[a-z]{1,6}", Just("hooks".to_string()), Just("allow".to_string())];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(name, inner, 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    });
    let name = prop_oneof!["[a-z]{1,6}", Just("hooks".to_string()), Just("permissions".to_string())];
    let object = prop::collection::btree_map(name, value, 0..6);
    (object, 0..4).prop_map(|(members, style)| {
        let object = Value::Object(members.into_iter().collect());
        match style {
            0 => object.to_string(),
            1 => serde_json::to_string_pretty(&object).unwrap(),
            2 => serde_json::to_string_pretty(&object).unwrap().replace('\n', "\r\n") + "\r\n",
            _ => serde_json::to_string_pretty(&object).unwrap().replace("  ", "\t") + "\n",
        }
    })
}

/// Whatever is in the file: it is refused and unchanged, or it is restored byte for byte; without a record it is
/// restored in meaning.
#[test]
fn in_and_out_of_anything() {
    let config = ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() };
    let file = ".claude/settings.json";
    let run = |content: String| {
        let env = TestEnvironment::new();
        give(&env, file, &content);
        let ended = env.run(&["install", "claude"]);
        if ended.code == Some(4) {
            prop_assert_eq!(text(&env, file), content);
            return Ok(());
        }
        let with = text(&env, file);
        prop_assert_eq!(with.matches(" hook claude ").count(), events("claude"), "{}", with);
        uninstall(&env, "claude");
        prop_assert_eq!(&text(&env, file), &content);
        give(&env, file, &with);
        fs::remove_dir_all(at(&env, ".local")).unwrap();
        uninstall(&env, "claude");
        let left: Value = serde_json::from_str(&text(&env, file)).unwrap();
        let was: Value = serde_json::from_str(&content).unwrap();
        prop_assert_eq!(without_empty(left), without_empty(was));
        Ok(())
    };
    proptest::test_runner::TestRunner::new(config).run(&object(), run).unwrap();
}

/// Removes empty containers: without a record nobody knows who created them.
fn without_empty(mut value: Value) -> Value {
    for name in ["hooks", "permissions"] {
        if let Some(inner) = value.get_mut(name).and_then(Value::as_object_mut) {
            inner.retain(|_, value| *value != serde_json::json!([]));
        }
        if value.get(name) == Some(&serde_json::json!({})) {
            value.as_object_mut().unwrap().remove(name);
        }
    }
    value
}

#[test]
fn codexs_config() {
    for content in [
        "",
        "model = \"gpt\" # mine\n",
        "# no newline at the end\n[tui]\nx = 1",
        "model = \"gpt\"\r\n\r\n[projects.\"/x\"]\r\ntrust_level = \"trusted\"\r\n",
        "\u{feff}model = \"gpt\"\n",
        "[hooks.state.\"/other/hooks.json:stop:0:0\"]\ntrusted_hash = \"sha256:1\"\n\n[tui]\n",
        "[hooks]\n[hooks.state]\n\"x:stop:0:0\" = { trusted_hash = \"sha256:1\", enabled = false }\n",
    ] {
        check("codex", ".codex/config.toml", content, 0);
    }
}

#[test]
fn codex_trusts_what_is_there_and_where_it_is() {
    let env = TestEnvironment::new();
    give(
        &env,
        ".codex/hooks.json",
        "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"a\"}]}]}}",
    );
    install(&env, "codex");
    let config = text(&env, ".codex/config.toml");
    let key = |event: &str, place: &str| {
        format!("[hooks.state.\"{}/.codex/hooks.json:{event}:{place}\"]", env.home().display())
    };
    assert!(config.contains(&key("stop", "1:0")), "behind theirs: {config}");
    assert!(config.contains(&key("pre_tool_use", "0:0")), "{config}");
    assert_eq!(config.matches("trusted_hash").count(), 6);
    // Somebody adds a hook before ours: the next `install` trusts ours at its new position, and no longer at the old
    // one.
    let hooks =
        text(&env, ".codex/hooks.json").replacen("{\"hooks\": [{", "{\"hooks\": []}, {\"hooks\": [{", 1);
    give(&env, ".codex/hooks.json", &hooks);
    assert_eq!(install(&env, "codex"), [".codex/config.toml"]);
    let config = text(&env, ".codex/config.toml");
    assert!(config.contains(&key("stop", "2:0")) && !config.contains(&key("stop", "1:0")), "{config}");
}

/// Ours is removed from before theirs: their trust moves to their new position.
#[test]
fn codex_goes_on_to_trust_others() {
    let env = TestEnvironment::new();
    install(&env, "codex");
    let (hooks, config) = (text(&env, ".codex/hooks.json"), text(&env, ".codex/config.toml"));
    let stop = hooks.find("\"Stop\"").unwrap();
    let end = stop + hooks[stop..].find("\n    ]").unwrap();
    let theirs = ",\n      {\"hooks\": [{\"type\": \"command\", \"command\": \"theirs\"}]}";
    give(&env, ".codex/hooks.json", &format!("{}{theirs}{}", &hooks[..end], &hooks[end..]));
    let key =
        |place: &str| format!("[hooks.state.\"{}/.codex/hooks.json:stop:{place}\"]", env.home().display());
    give(
        &env,
        ".codex/config.toml",
        &format!("{config}\n{}\ntrusted_hash = \"sha256:theirs\"\n", key("1:0")),
    );
    uninstall(&env, "codex");
    let config = text(&env, ".codex/config.toml");
    assert_eq!(config.trim(), format!("{}\ntrusted_hash = \"sha256:theirs\"", key("0:0")));
    assert!(text(&env, ".codex/hooks.json").contains("theirs"));
}

#[test]
fn opencode_may_run_msg_where_it_would_ask() {
    let allowed = [
        ("{\n  \"permission\": \"ask\"\n}\n", true),
        ("{\"permission\": {\"bash\": \"ask\"}}", true),
        ("{\n  // mine\n  \"permission\": {\n    \"*\": \"ask\",\n  },\n}\n", true),
        ("{\"permission\": {\"bash\": {\"*\": \"ask\", \"git *\": \"allow\"}}}", true),
        ("{\"permission\": {\"bash\": {\"*\": \"allow\", \"rm *\": \"ask\"}}}", false),
        ("{\"permission\": {\"bash\": \"deny\"}}", false),
        ("{\"permission\": \"allow\"}", false),
        ("{\"model\": \"x\"}", false),
        ("", false),
    ];
    for (content, is_needed) in allowed {
        for name in ["opencode.json", "opencode.jsonc", "config.json"] {
            let file = format!(".config/opencode/{name}");
            check("opencode", &file, content, 0);
            let env = TestEnvironment::new();
            give(&env, &file, content);
            install(&env, "opencode");
            assert_eq!(
                text(&env, &file).contains("\"msg send *\": \"allow\""),
                is_needed,
                "{}",
                text(&env, &file)
            );
            // For OpenCode a redirection is part of the command, so it asks about it.
            assert_eq!(text(&env, &file).contains("\"msg *>*\": \"ask\""), is_needed);
            // Removed without the original: the meaning is the same as before.
            give(&env, &file, &format!("{}\n", text(&env, &file)));
            uninstall(&env, "opencode");
            assert_eq!(text(&env, &file).trim(), content.trim());
        }
    }
}
