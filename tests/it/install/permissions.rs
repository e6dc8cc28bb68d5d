//! OpenCode's permissions: what the user allowed, asked about or denied stays as it was.

use super::*;

use ravenry::domain::{UNASKED_COMMANDS, UNASKED_LINES};

const FILE: &str = ".config/opencode/opencode.json";
/// Stands for the rules that allow our commands.
const OURS: (&str, &str) = ("ours", "allow");
const VERIFIES: (&str, &str) = ("msg complete *--verify*", "ask");
const REDIRECTS: (&str, &str) = ("msg *>*", "ask");

fn with_rules(rules: &str) -> String {
    format!("{{\"permission\": {{\"bash\": {{{rules}}}}}}}")
}

/// The rules for commands, in their order.
fn rules(env: &TestEnvironment) -> Vec<(String, String)> {
    let settings: Value = serde_json::from_str(&text(env, FILE)).unwrap();
    let rules = settings["permission"]["bash"].as_object().unwrap().clone();
    rules.into_iter().map(|(name, value)| (name, value.as_str().unwrap().to_string())).collect()
}

/// Compares the rules with what is expected. `OURS` there stands for those that allow our commands, one by one.
#[track_caller]
fn assert_rules(env: &TestEnvironment, expected: &[(&str, &str)]) {
    let is_ours = |name: &str| {
        let call = name.strip_prefix("msg ").unwrap_or_default();
        let command = call.strip_suffix(" *");
        command.map_or(UNASKED_LINES.contains(&call), |command| UNASKED_COMMANDS.contains(&command))
    };
    let mut found: Vec<(String, String)> = Vec::new();
    let mut count = 0;
    for (name, value) in rules(env) {
        if is_ours(&name) && value == "allow" {
            count += 1;
            if found.last() != Some(&(OURS.0.to_string(), OURS.1.to_string())) {
                found.push((OURS.0.to_string(), OURS.1.to_string()));
            }
        } else {
            found.push((name, value));
        }
    }
    let expected: Vec<_> =
        expected.iter().map(|(name, value)| ((*name).to_string(), (*value).to_string())).collect();
    assert_eq!(found, expected);
    let users = rules(env).iter().filter(|(name, value)| is_ours(name) && value != "allow").count();
    let is_any = expected.iter().any(|(name, _)| name == OURS.0);
    assert_eq!(count, if is_any { UNASKED_COMMANDS.len() + UNASKED_LINES.len() - users } else { 0 });
}

/// Adds a member, so that the file differs from what we wrote.
fn edit(env: &TestEnvironment) {
    give(env, FILE, &text(env, FILE).replacen('{', "{\"model\": \"x\", ", 1));
}

/// Earlier versions allowed `msg *`, and the first one had no rule about redirections.
#[test]
fn who_upgrades_is_asked_about_what_starts_workers_and_about_redirections() {
    let original = with_rules("\"*\": \"ask\"");
    let wide = [
        "\"*\": \"ask\", \"msg *\": \"allow\"",
        "\"*\": \"ask\", \"msg *\": \"allow\", \"msg *>*\": \"ask\"",
    ];
    let upgraded = [("*", "ask"), OURS, VERIFIES, REDIRECTS];
    for (is_edited, mcp, wide) in
        [(false, true, wide[0]), (true, true, wide[1]), (false, false, wide[1]), (true, false, wide[0])]
    {
        let env = TestEnvironment::new();
        let args: &[&str] = if mcp { &["install", "opencode"] } else { &["install", "opencode", "--no-mcp"] };
        give(&env, FILE, &original);
        env.ok(args);
        let mut settings: Value = serde_json::from_str(&text(&env, FILE)).unwrap();
        settings["permission"]["bash"] = serde_json::from_str(&format!("{{{wide}}}")).unwrap();
        let old = settings.to_string();
        give(&env, FILE, &old);
        let path = at(&env, FILE).display().to_string();
        let records = crate::support::environment::files_in(&at(&env, ".local/state/ravenry-installs"));
        let record = records.iter().find(|it| fs::read_to_string(it).is_ok_and(|text| text.contains(&path)));
        let first_format = serde_json::json!({
            "path": path, "original": original, "wrote": [ravenry::domain::sha256(old.as_bytes())], "made": [],
        });
        fs::write(record.unwrap(), first_format.to_string()).unwrap();
        if is_edited {
            edit(&env);
        }
        assert!(env.doctor_says("installed").contains("`msg install opencode`"));
        assert_eq!(from_home(&env, changed(&env.ok(args))), [FILE]);
        assert_rules(&env, &upgraded);
        assert_eq!(changed(&env.ok(args)), [""; 0]);
        uninstall(&env, "opencode");
        assert_rules(&env, &upgraded[..1]);
    }
    // Without any record, next to our plugin.
    let env = TestEnvironment::new();
    give(&env, FILE, &original);
    install(&env, "opencode");
    fs::remove_dir_all(at(&env, ".local/state/ravenry-installs")).unwrap();
    give(&env, FILE, &with_rules(wide[0]));
    install(&env, "opencode");
    assert_rules(&env, &upgraded);
}

/// Claude Code had a permission for every command; now it has one for each, and asks about the others.
#[test]
fn who_upgrades_claude_has_no_permission_for_all_commands() {
    let file = ".claude/settings.json";
    let permissions = |env: &TestEnvironment, list: &str| {
        let settings: Value = serde_json::from_str(&text(env, file)).unwrap();
        let items = settings["permissions"][list].as_array().cloned().unwrap_or_default();
        items.iter().map(|item| item.as_str().unwrap().to_string()).collect::<Vec<_>>()
    };
    let wide = "Bash(msg:*)".to_string();
    for has_record in [true, false] {
        let env = TestEnvironment::new();
        install(&env, "claude");
        let now = text(&env, file);
        let mut settings: Value = serde_json::from_str(&now).unwrap();
        settings["permissions"] = serde_json::json!({ "allow": [&wide, "mcp__ravenry"] });
        give(&env, file, &settings.to_string());
        if !has_record {
            fs::remove_dir_all(at(&env, ".local/state/ravenry-installs")).unwrap();
        }
        assert!(env.doctor_says("installed").contains("`msg install claude`"));
        install(&env, "claude");
        let allowed = permissions(&env, "allow");
        assert!(
            allowed.contains(&"Bash(msg send:*)".to_string())
                && allowed.contains(&"mcp__ravenry".to_string())
        );
        assert!(!allowed.contains(&wide) && !allowed.iter().any(|item| item.starts_with("Bash(msg run:")));
        let asked = permissions(&env, "ask");
        let rules = [
            "Bash(msg run:*)",
            "Bash(msg runs merge:*)",
            "Bash(msg complete * --verify*)",
            "mcp__ravenry__run",
        ];
        assert!(rules.iter().all(|rule| asked.iter().any(|item| item == rule)), "{asked:?}");
        assert_eq!(env.doctor_says("installed"), "ok: in claude");
        uninstall(&env, "claude");
        assert!(!at(&env, file).exists() || permissions(&env, "ask").is_empty());
    }
    // One that the user had stays.
    let env = TestEnvironment::new();
    let own = "{\"permissions\": {\"allow\": [\"Bash(msg:*)\"]}}";
    give(&env, file, own);
    install(&env, "claude");
    assert!(permissions(&env, "allow").contains(&wide));
    install(&env, "claude");
    assert!(permissions(&env, "allow").contains(&wide));
    uninstall(&env, "claude");
    assert_eq!(text(&env, file), own);
}

/// Gemini CLI trusts the tools of our server, and Qwen Code does: the one that starts workers is asked about.
#[test]
fn the_tool_that_starts_workers_is_asked_about() {
    let env = TestEnvironment::new();
    install(&env, "gemini");
    let policy = text(&env, ".gemini/policies/ravenry.toml");
    assert!(
        policy.contains("mcpName = \"ravenry\"\ntoolName = \"run\"\ndecision = \"ask_user\"\npriority = 900")
    );
    assert!(policy.contains("    \"msg send\",\n") && policy.contains("    \"msg run\",\n"), "{policy}");
    let (allowed, asked) = policy.split_once("decision = \"allow\"").unwrap();
    assert!(!allowed.contains("\"msg run\"") && asked.contains("\"msg run\"") && !policy.contains("\"msg\""));
    let before = "{\"permissions\": {\"ask\": [\"edit\"]}}";
    give(&env, ".qwen/settings.json", before);
    install(&env, "qwen");
    let settings: Value = serde_json::from_str(&text(&env, ".qwen/settings.json")).unwrap();
    assert_eq!(settings["permissions"]["ask"], serde_json::json!(["edit", "mcp__ravenry__run"]));
    env.ok(&["install", "qwen", "--no-mcp"]);
    let settings: Value = serde_json::from_str(&text(&env, ".qwen/settings.json")).unwrap();
    assert_eq!(settings["permissions"]["ask"], serde_json::json!(["edit"]));
    uninstall(&env, "qwen");
    assert_eq!(text(&env, ".qwen/settings.json"), before);
}

#[test]
fn a_rule_of_the_users_own_outlives_us() {
    let own = with_rules("\"*\": \"ask\", \"msg *\": \"allow\"");
    for flags in [&["--no-mcp"][..], &[]] {
        for is_edited in [false, true] {
            let env = TestEnvironment::new();
            give(&env, FILE, &own);
            for _ in 0..2 {
                env.ok(&[&["install", "opencode"], flags].concat());
                assert_rules(&env, &[("*", "ask"), ("msg *", "allow")]);
            }
            if is_edited {
                edit(&env);
            }
            uninstall(&env, "opencode");
            assert_rules(&env, &[("*", "ask"), ("msg *", "allow")]);
        }
    }
}

#[test]
fn no_permission_is_wider_after_an_edit_than_it_was() {
    for (before, with) in [
        (vec![("msg *", "ask")], vec![("msg *", "ask"), OURS, VERIFIES, REDIRECTS]),
        (vec![("*", "ask"), ("msg *>*", "ask")], vec![("*", "ask"), OURS, VERIFIES, REDIRECTS]),
        (vec![("*", "ask"), ("msg *>*", "deny")], vec![("*", "ask"), OURS, VERIFIES, ("msg *>*", "deny")]),
        (
            vec![("*", "deny"), ("msg *", "ask"), ("msg send *", "deny")],
            vec![("*", "deny"), ("msg *", "ask"), ("msg send *", "deny"), OURS, VERIFIES, REDIRECTS],
        ),
        (
            vec![("msg *", "ask"), ("*", "ask")],
            vec![("msg *", "ask"), ("*", "ask"), OURS, VERIFIES, REDIRECTS],
        ),
    ] {
        let env = TestEnvironment::new();
        let listed: Vec<String> =
            before.iter().map(|(name, value)| format!("\"{name}\": \"{value}\"")).collect();
        let original = with_rules(&listed.join(", "));
        give(&env, FILE, &original);
        install(&env, "opencode");
        assert_rules(&env, &with);
        assert_eq!(install(&env, "opencode"), [""; 0]);
        uninstall(&env, "opencode");
        assert_eq!(text(&env, FILE), original);
        install(&env, "opencode");
        edit(&env);
        uninstall(&env, "opencode");
        let (mut left, mut before) = (rules(&env), before.clone());
        left.sort();
        before.sort_unstable();
        let left: Vec<_> = left.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(left, before);
    }
}

#[test]
fn what_is_denied_stays_so_and_is_told() {
    let mut notes = String::new();
    for content in [
        with_rules("\"*\": \"ask\", \"msg *\": \"deny\""),
        with_rules("\"msg *\": \"deny\", \"*\": \"ask\""),
        with_rules("\"*\": \"ask\", \"msg s*\": \"deny\""),
        with_rules("\"*\": \"ask\", \"* --force*\": \"deny\""),
        with_rules("\"*\": \"deny\", \"msg\": \"ask\""),
        "{\"permission\": {\"bash\": \"deny\"}}".to_string(),
        "{\"permission\": \"deny\"}".to_string(),
    ] {
        let env = TestEnvironment::new();
        give(&env, FILE, &content);
        let done = env.ok(&["install", "opencode", "--no-mcp"]);
        assert_eq!(text(&env, FILE), content);
        assert_eq!(done["notes"][0]["harness"], "opencode");
        let told = done["notes"][0]["text"].as_str().unwrap();
        notes += &format!("{content}\n  {}\n", env.redact(told));
        let said = env.run(&["install", "opencode", "--no-mcp"]).expect_code(0).stdout;
        assert!(said.contains(told), "{said}");
    }
    insta::assert_snapshot!(notes, @r#"
    {"permission": {"bash": {"*": "ask", "msg *": "deny"}}}
      `permission.bash."msg *"` in `[DIR]/home/.config/opencode/opencode.json` denies msg and stays as it is
    {"permission": {"bash": {"msg *": "deny", "*": "ask"}}}
      `permission.bash."msg *"` in `[DIR]/home/.config/opencode/opencode.json` denies msg and stays as it is
    {"permission": {"bash": {"*": "ask", "msg s*": "deny"}}}
      `permission.bash."msg s*"` in `[DIR]/home/.config/opencode/opencode.json` denies msg and stays as it is
    {"permission": {"bash": {"*": "ask", "* --force*": "deny"}}}
      `permission.bash."* --force*"` in `[DIR]/home/.config/opencode/opencode.json` denies msg and stays as it is
    {"permission": {"bash": {"*": "deny", "msg": "ask"}}}
      `permission.bash."*"` in `[DIR]/home/.config/opencode/opencode.json` denies msg and stays as it is
    {"permission": {"bash": "deny"}}
      `permission.bash` in `[DIR]/home/.config/opencode/opencode.json` denies msg and stays as it is
    {"permission": "deny"}
      `permission` in `[DIR]/home/.config/opencode/opencode.json` denies msg and stays as it is
    "#);
    let env = TestEnvironment::new();
    give(&env, FILE, &with_rules("\"*\": \"ask\", \"rm *\": \"deny\", \"msg *>*\": \"deny\""));
    assert_eq!(env.ok(&["install", "opencode"])["notes"], serde_json::json!([]));
    assert_rules(&env, &[("*", "ask"), ("rm *", "deny"), OURS, VERIFIES, ("msg *>*", "deny")]);
}
