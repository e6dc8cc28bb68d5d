//! OpenCode's permissions: what the user allowed, asked about or denied stays as it was.

use super::*;

const FILE: &str = ".config/opencode/opencode.json";

fn with_rules(rules: &str) -> String {
    format!("{{\"permission\": {{\"bash\": {{{rules}}}}}}}")
}

/// The rules for commands, in their order.
fn rules(env: &TestEnvironment) -> Vec<(String, String)> {
    let settings: Value = serde_json::from_str(&text(env, FILE)).unwrap();
    let rules = settings["permission"]["bash"].as_object().unwrap().clone();
    rules.into_iter().map(|(name, value)| (name, value.as_str().unwrap().to_string())).collect()
}

#[track_caller]
fn assert_rules(env: &TestEnvironment, expected: &[(&str, &str)]) {
    let expected: Vec<_> =
        expected.iter().map(|(name, value)| ((*name).to_string(), (*value).to_string())).collect();
    assert_eq!(rules(env), expected);
}

/// Adds a member, so that the file differs from what we wrote.
fn edit(env: &TestEnvironment) {
    give(env, FILE, &text(env, FILE).replacen('{', "{\"model\": \"x\", ", 1));
}

/// An earlier version allowed `msg *` and had no rule about redirections.
#[test]
fn who_upgrades_is_asked_about_redirections() {
    let original = with_rules("\"*\": \"ask\"");
    let upgraded = [("*", "ask"), ("msg *", "allow"), ("msg *>*", "ask")];
    for (is_edited, mcp) in [(false, true), (true, true), (false, false), (true, false)] {
        let env = TestEnvironment::new();
        let args: &[&str] = if mcp { &["install", "opencode"] } else { &["install", "opencode", "--no-mcp"] };
        give(&env, FILE, &original);
        env.ok(args);
        let old = text(&env, FILE).replace(", \"msg *>*\": \"ask\"", "");
        give(&env, FILE, &old);
        assert_rules(&env, &upgraded[..2]);
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
    give(&env, FILE, &text(&env, FILE).replace(", \"msg *>*\": \"ask\"", ""));
    install(&env, "opencode");
    assert_rules(&env, &upgraded);
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
        (vec![("msg *", "ask")], vec![("msg *", "allow"), ("msg *>*", "ask")]),
        (vec![("*", "ask"), ("msg *>*", "ask")], vec![("*", "ask"), ("msg *", "allow"), ("msg *>*", "ask")]),
        (
            vec![("*", "ask"), ("msg *>*", "deny")],
            vec![("*", "ask"), ("msg *", "allow"), ("msg *>*", "deny")],
        ),
        (
            vec![("*", "deny"), ("msg *", "ask"), ("msg send *", "deny")],
            vec![("*", "deny"), ("msg *", "allow"), ("msg send *", "deny"), ("msg *>*", "ask")],
        ),
        (vec![("msg *", "ask"), ("*", "ask")], vec![("*", "ask"), ("msg *", "allow"), ("msg *>*", "ask")]),
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
        with_rules("\"*\": \"ask\", \"msg send *\": \"deny\""),
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
    {"permission": {"bash": {"*": "ask", "msg send *": "deny"}}}
      `permission.bash."msg send *"` in `[DIR]/home/.config/opencode/opencode.json` denies msg and stays as it is
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
    assert_rules(&env, &[("*", "ask"), ("rm *", "deny"), ("msg *", "allow"), ("msg *>*", "deny")]);
}
