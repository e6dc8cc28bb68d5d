//! Tests of where settings come from, which of them wins, and that no configuration file is damaged.

mod mesh;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ravenry::sys::test_switches;
use serde_json::{Value, json};

use crate::support::environment::{TestEnvironment, end, put};

const SETTINGS_OF_PI: &str = ".pi/agent/settings.json";
const OF_PI: &str = ".pi/agent/pi-messenger.json";
const OURS: &str = ".config/ravenry/config.json";
const PROJECT_OF_PI: &str = ".pi/pi-messenger.json";
const PROJECT: &str = ".ravenry/config.json";

/// `msg` without the `$MSG_MESH` that tests set.
fn untold(env: &TestEnvironment) -> Command {
    let mut command = env.msg();
    command.env_remove("MSG_MESH").env_remove("MSG_LOCK_TIMEOUT");
    command
}

/// A key's value and its source.
fn setting(env: &TestEnvironment, key: &str) -> (Value, String) {
    setting_of(&env.ok(&["config", "list"]), key)
}

fn setting_of(listing: &Value, key: &str) -> (Value, String) {
    let entry = &listing["values"][key];
    (entry["value"].clone(), entry["from"].as_str().unwrap().to_string())
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Every file that may hold settings, lowest priority first, and how it is shown.
fn files(env: &TestEnvironment) -> [(PathBuf, String); 5] {
    let user = |name: &str| (env.home().join(name), format!("~/{name}"));
    let project = |name: &str| (env.work().join(name), shown(&env.work().join(name)));
    [user(SETTINGS_OF_PI), user(OF_PI), user(OURS), project(PROJECT_OF_PI), project(PROJECT)]
}

/// The settings in the format of that file.
fn within(path: &Path, settings: &Value) -> String {
    if path.ends_with(SETTINGS_OF_PI) {
        json!({ "theme": "dark", "messenger": settings }).to_string()
    } else {
        settings.to_string()
    }
}

#[test]
fn each_layer_has_the_last_word_over_those_before_it() {
    let env = TestEnvironment::new();
    assert_eq!(setting(&env, "mailTurns"), (json!(5), "default".to_string()));
    for (turns, (path, name)) in (10..).zip(files(&env)) {
        put(&path, &within(&path, &json!({ "mailTurns": turns })));
        assert_eq!(setting(&env, "mailTurns"), (json!(turns), name));
    }
    let ended = env.run_with(&["config", "list", "--json"], &[("MSG_MAIL_TURNS", "20")]);
    let told = setting_of(&ended.expect_code(0).json(), "mailTurns");
    assert_eq!(told, (json!(20), "$MSG_MAIL_TURNS".to_string()));
}

#[test]
fn a_flag_has_the_last_word_over_the_environment() {
    let env = TestEnvironment::new();
    put(&env.home().join(OURS), r#"{"mesh": "/configured"}"#);
    assert_eq!(setting(&env, "mesh"), (json!(shown(&env.mesh())), "$MSG_MESH".to_string()));
    let listing = env.ok(&["config", "list", "--mesh", "/told"]);
    assert_eq!(setting_of(&listing, "mesh"), (json!("/told"), "--mesh".to_string()));
}

#[test]
fn what_a_layer_does_not_say_stays_as_it_was() {
    let env = TestEnvironment::new();
    put(
        &env.home().join(OF_PI),
        r#"{"nameTheme": "nature", "wake": {"paste": true}, "scopeToFolder": true}"#,
    );
    put(&env.home().join(OURS), r#"{"nameTheme": "space", "wake": {"enabled": false}}"#);
    let listing = env.ok(&["config", "list"]);
    let (pi, ours) = (format!("~/{OF_PI}"), format!("~/{OURS}"));
    assert_eq!(setting_of(&listing, "nameTheme"), (json!("space"), ours.clone()));
    assert_eq!(setting_of(&listing, "scopeToFolder"), (json!(true), pi));
    assert_eq!(setting_of(&listing, "wake"), (json!({"enabled": false, "paste": true}), ours));
    assert_eq!(setting_of(&listing, "strict"), (json!(false), "default".to_string()));
}

#[test]
fn the_users_file_is_where_xdg_says() {
    let env = TestEnvironment::new();
    let config = env.path().join("xdg");
    put(&config.join("ravenry/config.json"), r#"{"mailTurns": 7}"#);
    let run = |args: &[&str]| env.run_with(args, &[("XDG_CONFIG_HOME", config.to_str().unwrap())]);
    assert_eq!(run(&["config", "get", "mailTurns"]).expect_code(0).stdout, "7\n");
    run(&["config", "set", "mailTurns", "8"]).expect_code(0);
    assert_eq!(document(&config.join("ravenry/config.json")), json!({ "mailTurns": 8 }));
    assert!(!env.home().join(OURS).exists());
}

#[test]
fn a_project_reaches_from_its_root_to_the_folder_one_is_in() {
    let env = TestEnvironment::new();
    let (root, deep) = (env.work(), env.work().join("src/deep"));
    fs::create_dir_all(&deep).unwrap();
    let turns = || end(env.msg().current_dir(&deep).args(["config", "get", "mailTurns"])).stdout;
    put(&root.join(PROJECT), r#"{"mailTurns": 11}"#);
    assert_eq!(turns(), "5\n", "without a work tree, a project is one folder");
    put(&root.join(".git/HEAD"), "ref: refs/heads/main\n");
    assert_eq!(turns(), "11\n");
    put(&root.join("src").join(PROJECT), r#"{"mailTurns": 12}"#);
    assert_eq!(turns(), "12\n", "the nearest counts");
    put(&env.path().join(PROJECT), r#"{"mailTurns": 13}"#);
    fs::remove_dir_all(root.join("src").join(".ravenry")).unwrap();
    assert_eq!(turns(), "11\n", "what lies above the work tree is no part of it");
    end(env.msg().current_dir(&deep).args(["config", "set", "--project", "mailTurns", "14"])).expect_code(0);
    assert_eq!(
        document(&root.join(PROJECT)),
        json!({ "mailTurns": 14 }),
        "the project's file is at its root"
    );
}

#[test]
fn a_home_that_is_a_work_tree_is_no_project() {
    let env = TestEnvironment::new();
    put(&env.home().join(".git/HEAD"), "ref: refs/heads/main\n");
    put(&env.home().join(PROJECT), r#"{"mailTurns": 11}"#);
    let ended = end(env.msg().current_dir(env.home()).args(["config", "get", "mailTurns"]));
    assert_eq!(ended.stdout, "5\n");
}

#[test]
fn a_project_may_not_decide_about_the_users_machine() {
    let personal = json!({
        "mesh": "/elsewhere", "strict": true, "durability": "power", "wake": false, "lockTimeout": 0,
        "feedPrivacy": "text", "sharePrompts": "text", "awareness": "off", "feedRetention": 0, "graveDays": 1,
        "notify": "touch x", "notifyCommand": "touch x", "quietHours": "00:00-23:59", "followSeconds": 0, "broadcastScope": "everywhere",
    });
    for file in [PROJECT_OF_PI, PROJECT] {
        let env = TestEnvironment::new();
        let path = env.work().join(file);
        put(&path, &personal.to_string());
        let ended = end(untold(&env).args(["config", "list", "--json"])).expect_code(0);
        for key in personal.as_object().unwrap().keys() {
            assert_eq!(setting_of(&ended.json(), key).1, "default", "{key}");
            let note =
                format!("note: `{}`: `{key}` is ignored, because a project may not set it\n", shown(&path));
            assert!(ended.stderr.contains(&note), "{note}{ended}");
        }
        assert_eq!(env.run(&["config", "list", "-q"]).stderr, "", "not with --quiet");
    }
    let env = TestEnvironment::new();
    for (key, value) in [("mesh", "/x"), ("strict", "true"), ("durability", "power"), ("wake", "false")] {
        assert_eq!(env.fails(2, &["config", "set", "--project", key, value]), "invalid_value");
    }
    assert!(!env.work().join(".ravenry").exists());
}

#[test]
fn a_file_that_cannot_be_parsed_is_named_and_left_alone() {
    for index in 0..5 {
        let env = TestEnvironment::new();
        let (path, _) = &files(&env)[index];
        let broken = "{\n  \"mailTurns\": 6,\n  oops\n}\n";
        put(path, broken);
        for args in [
            &["config", "list"][..],
            &["agents"],
            &["join"],
            &["config", "set", "mailTurns", "7"],
            &["config", "set", "--project", "mailTurns", "7"],
            &["config", "unset", "mailTurns"],
        ] {
            let ended = env.run(&[args, &["--json"]].concat()).expect_code(4);
            let error = &ended.json()["error"];
            assert_eq!(error["kind"], "bad_config");
            assert_eq!(error["file"], shown(path));
            assert_eq!((&error["line"], &error["column"]), (&json!(3), &json!(3)));
            assert!(error["message"].as_str().unwrap().contains("(line 3, column 3)"));
        }
        assert_eq!(fs::read_to_string(path).unwrap(), broken);
        let of_ours = [env.home().join(OURS), env.work().join(PROJECT)];
        assert!(of_ours.iter().filter(|ours| *ours != path).all(|ours| !ours.exists()), "nothing is written");
        assert!(!env.mesh().exists());
    }
}

#[test]
fn a_file_that_holds_no_object_is_no_configuration_but_an_empty_one_is() {
    let env = TestEnvironment::new();
    for bad in ["[1]", "null", "\"x\""] {
        put(&env.home().join(OURS), bad);
        assert_eq!(env.fails(4, &["config", "set", "mailTurns", "7"]), "bad_config", "{bad}");
        assert_eq!(fs::read_to_string(env.home().join(OURS)).unwrap(), bad);
    }
    for empty in ["", " \n", "{}"] {
        put(&env.home().join(OURS), empty);
        assert_eq!(setting(&env, "mailTurns").1, "default", "{empty:?}");
    }
    put(&env.home().join(SETTINGS_OF_PI), r#"{"messenger": "off"}"#);
    env.ok(&["config", "list"]);
}

#[test]
fn a_value_of_the_wrong_kind_stops_us_in_our_files_and_is_noted_in_pis() {
    let wrong = json!({ "mailTurns": "many", "nameTheme": "space" });
    for index in 0..5 {
        let env = TestEnvironment::new();
        let (path, name) = &files(&env)[index];
        put(path, &within(path, &wrong));
        let ended = env.run(&["config", "list", "--json"]);
        let text = "`mailTurns` must be a number from 0 to 1000";
        if [OURS, PROJECT].iter().any(|ours| path.ends_with(ours)) {
            let error = &ended.expect_code(4).json()["error"];
            assert_eq!(error["kind"], "bad_config");
            assert_eq!(error["file"], shown(path));
            assert_eq!(error["message"], format!("`{}`: {text}", shown(path)));
        } else {
            assert_eq!(ended.stderr, format!("note: `{name}`: {text}; it is ignored\n"));
            let listing = ended.expect_code(0).json();
            assert_eq!(setting_of(&listing, "mailTurns").1, "default");
            assert_eq!(setting_of(&listing, "nameTheme").1, *name, "the rest counts");
        }
    }
    let env = TestEnvironment::new();
    let ended = env.run_with(&["config", "list", "--json"], &[("MSG_MAIL_TURNS", "many")]).expect_code(4);
    assert_eq!(ended.json()["error"]["file"], "$MSG_MAIL_TURNS");
}

#[test]
fn a_key_that_nobody_knows_is_noted_in_our_files_alone() {
    let unknown = json!({ "mailTurn": 7, "crew": {} });
    for index in 0..5 {
        let env = TestEnvironment::new();
        let (path, name) = &files(&env)[index];
        put(path, &within(path, &unknown));
        let ended = env.run(&["config", "list", "--json"]).expect_code(0);
        assert!(ended.json()["ok"] == true);
        if [OURS, PROJECT].iter().any(|ours| path.ends_with(ours)) {
            let near = format!("note: `{name}`: there is no key `mailTurn`; did you mean `mailTurns`?\n");
            assert_eq!(ended.stderr, format!("{near}note: `{name}`: there is no key `crew`\n"));
        } else {
            assert_eq!(ended.stderr, "");
        }
    }
}

#[test]
fn the_context_mode_decides_about_its_three() {
    let env = TestEnvironment::new();
    let three = ["registrationContext", "replyHint", "senderDetailsOnFirstContact"];
    let values = || {
        let listing = env.ok(&["config", "list"]);
        three.map(|key| setting_of(&listing, key))
    };
    let by = |from: &str, values: [bool; 3]| values.map(|value| (json!(value), from.to_string()));
    put(&env.home().join(OURS), r#"{"contextMode": "none", "replyHint": true}"#);
    assert_eq!(values(), by("contextMode", [false, false, false]));
    put(&env.home().join(OURS), r#"{"contextMode": "minimal", "registrationContext": true}"#);
    assert_eq!(values(), by("contextMode", [false, true, false]));
    let all = r#"{"contextMode": "full", "registrationContext": false, "replyHint": true,
        "senderDetailsOnFirstContact": false}"#;
    put(&env.home().join(OURS), all);
    assert_eq!(values(), by(&format!("~/{OURS}"), [false, true, false]), "full is as merged");
}

fn document(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn values_are_set_shown_and_unset() {
    let env = TestEnvironment::new();
    for (key, text, value) in [
        ("nameTheme", "space", json!("space")),
        ("mailTurns", "0", json!(0)),
        ("strict", "true", json!(true)),
        ("autoRegisterPaths", "~/src/**,/work", json!(["~/src/**", "/work"])),
        ("wake", "{\"paste\": true}", json!({"enabled": true, "paste": true})),
        ("mesh", "42", json!(env.work().join("42"))),
        ("stuckThreshold", "1.5", json!(1.5)),
    ] {
        let said = end(untold(&env).args(["config", "set", key, text, "--json"])).expect_code(0).json();
        assert_eq!(setting_of(&said, key), (value.clone(), format!("~/{OURS}")));
        let got = end(untold(&env).args(["config", "get", key, "--json"])).expect_code(0).json();
        assert_eq!(setting_of(&got, key), (value, format!("~/{OURS}")));
    }
    assert_eq!(env.run(&["config", "get", "nameTheme"]).stdout, "space\n");
    env.ok(&["config", "set", "--project", "nameTheme", "nature"]);
    assert_eq!(setting(&env, "nameTheme").0, "nature");
    env.ok(&["config", "unset", "--project", "nameTheme"]);
    assert_eq!(setting(&env, "nameTheme").0, "space");
    env.ok(&["config", "unset", "nameTheme"]);
    env.ok(&["config", "unset", "nameTheme"]);
    assert_eq!(setting(&env, "nameTheme"), (json!("default"), "default".to_string()));
}

#[test]
fn unsetting_says_what_holds_now_and_leaves_no_empty_file() {
    let env = TestEnvironment::new();
    let project = env.work().join(".ravenry/config.json");
    let unset =
        |args: &[&str]| env.run(&[&["config", "unset", "mailTurns"], args].concat()).expect_code(0).stdout;
    assert_eq!(unset(&["--project"]), "mailTurns is 5 again (the default).\n");
    assert!(!project.exists(), "there was none");
    env.ok(&["config", "set", "--project", "mailTurns", "7"]);
    env.ok(&["config", "set", "mailTurns", "3"]);
    assert_eq!(unset(&["--project"]), format!("mailTurns is 3 (from ~/{OURS}).\n"));
    assert!(!project.exists());
    assert_eq!(unset(&[]), "mailTurns is 5 again (the default).\n");
    assert!(!env.home().join(OURS).exists());
    put(&project, "{\"mailTurns\": 7, \"replyHint\": false}");
    unset(&["--project"]);
    assert_eq!(document(&project), json!({"replyHint": false}));
}

#[test]
fn setting_keeps_what_is_there_and_its_order() {
    let env = TestEnvironment::new();
    let path = env.home().join(OURS);
    put(&path, r#"{"zeta": 1.50, "nameTheme": "nature", "alpha": {"b": [], "a": null}, "mailTurns": 1}"#);
    let keys = || {
        let document = document(&path);
        document.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ")
    };
    env.ok(&["config", "set", "nameTheme", "space"]);
    env.ok(&["config", "set", "graveDays", "7"]);
    assert_eq!(keys(), "zeta nameTheme alpha mailTurns graveDays");
    env.ok(&["config", "unset", "nameTheme"]);
    assert_eq!(keys(), "zeta alpha mailTurns graveDays");
    let expected = json!({"zeta": 1.5, "alpha": {"b": [], "a": null}, "mailTurns": 1, "graveDays": 7});
    assert_eq!(document(&path), expected);
}

#[test]
fn a_file_that_is_a_link_is_written_where_it_is() {
    let env = TestEnvironment::new();
    let (link, real) = (env.home().join(OURS), env.home().join("dotfiles/ravenry.json"));
    put(&real, r#"{"mailTurns": 1}"#);
    fs::create_dir_all(link.parent().unwrap()).unwrap();
    symlink("../../dotfiles/ravenry.json", &link).unwrap();
    env.ok(&["config", "set", "mailTurns", "2"]);
    assert!(link.is_symlink());
    assert_eq!(document(&real), json!({ "mailTurns": 2 }));
    assert_eq!(files_in(real.parent().unwrap()), ["ravenry.json"]);
    assert_eq!(files_in(link.parent().unwrap()), ["config.json", "last-good.json"]);
}

fn files_in(dir: &Path) -> Vec<String> {
    let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
    let mut names: Vec<String> = fs::read_dir(dir).unwrap().map(|entry| name(entry.unwrap())).collect();
    names.sort();
    names
}

#[test]
fn eight_at_once_lose_nothing_of_each_other() {
    let keys = [
        ("mailTurns", "1"),
        ("graveDays", "2"),
        ("stuckThreshold", "3"),
        ("feedRetention", "4"),
        ("lockTimeout", "5"),
        ("strict", "true"),
        ("autoRegister", "true"),
        ("scopeToFolder", "true"),
    ];
    for _ in 0..10 {
        let env = TestEnvironment::new();
        let set = |(key, value): &(&str, &str)| {
            let mut command = env.msg();
            command.args(["config", "set", key, value]).stdout(Stdio::null());
            command.spawn().unwrap()
        };
        let setters: Vec<_> = keys.iter().map(set).collect();
        for mut setter in setters {
            assert!(setter.wait().unwrap().success());
        }
        let written = document(&env.home().join(OURS));
        for (key, value) in keys {
            assert_eq!(written[key].to_string(), value, "{key} in {written}");
        }
        assert_eq!(files_in(env.home().join(OURS).parent().unwrap()), ["config.json", "last-good.json"]);
    }
}

#[test]
fn a_setter_that_is_killed_leaves_the_old_file_or_the_new_one() {
    let mut survived = false;
    for step in 1..50 {
        let env = TestEnvironment::new();
        let path = env.home().join(OURS);
        put(&path, r#"{"mailTurns": 1, "kept": true}"#);
        let set = ["config", "set", "mailTurns", "2", "--json"];
        let ended = env.run_with(&set, &[(test_switches::CRASH_AT, &step.to_string())]);
        let written = document(&path);
        assert!(written["mailTurns"] == 1 || written["mailTurns"] == 2, "{written}");
        assert_eq!(written["kept"], true);
        env.ok(&["config", "set", "mailTurns", "3"]);
        assert_eq!(document(&path), json!({ "mailTurns": 3, "kept": true }));
        let files = files_in(path.parent().unwrap());
        assert_eq!(files, ["config.json", "last-good.json"], "after {step} steps");
        survived = ended.code == Some(0);
        if survived {
            break;
        }
    }
    assert!(survived);
}

#[test]
fn what_cannot_be_set_is_refused_and_nothing_is_written() {
    let env = TestEnvironment::new();
    for (args, near) in [
        (&["config", "set", "mailturns", "7"][..], "did you mean `mailTurns`?"),
        (&["config", "get", "nameTheem"], "did you mean `nameTheme`?"),
        (&["config", "unset", "scopeFolder"], "did you mean `scopeToFolder`?"),
        (&["config", "set", "zzz", "7"], "there is no key `zzz`"),
    ] {
        let ended = env.run(&[args, &["--json"]].concat()).expect_code(2);
        assert_eq!(ended.kind(), "unknown_key");
        assert!(ended.json()["error"]["message"].as_str().unwrap().ends_with(near), "{ended}");
    }
    for (key, value) in [
        ("mailTurns", "-1"),
        ("mailTurns", "1001"),
        ("mailTurns", "many"),
        ("strict", "yes"),
        ("nameTheme", "Space"),
        ("nameTheme", ""),
        ("mesh", ""),
        ("wake", "{\"loud\": true}"),
        ("autoRegisterPaths", "[1]"),
        ("nameWords", "Red,Fox"),
        ("nameWords", "{\"adjectives\": [\"Red\"]}"),
        ("nameWords", "{\"adjectives\": [], \"nouns\": [\"Fox\"]}"),
        ("nameWords", "{\"adjectives\": [\"../x\"], \"nouns\": [\"Fox\"]}"),
        ("nameWords", "{\"adjectives\": [\"Ä\"], \"nouns\": [\"Fox\"]}"),
        ("nameWords", "{\"adjectives\": [\"A\"], \"nouns\": [\"ll\"]}"),
    ] {
        assert_eq!(env.fails(2, &["config", "set", key, value]), "invalid_value", "{key} {value}");
    }
    assert!(!env.home().join(".config").exists());
}

#[test]
fn words_of_ones_own() {
    let env = TestEnvironment::new();
    let pid = env.host().to_string();
    let join = ["join", "--pid", pid.as_str()];
    let bad = r#"{"nameTheme": "custom", "nameWords": {"adjectives": ["../x"], "nouns": ["Fox"]}}"#;
    put(&env.home().join(OURS), bad);
    assert_eq!(env.fails(4, &join), "bad_config", "words that give no names");
    assert!(!env.mesh().exists());
    assert_eq!(fs::read_to_string(env.home().join(OURS)).unwrap(), bad);
    put(&env.home().join(OURS), "{\"nameTheme\": \"custom\"}");
    env.ok(&["config", "set", "nameWords", r#"{"adjectives": ["Red"], "nouns": ["Fox"]}"#]);
    assert_eq!(env.ok(&join)["agent"]["name"], "RedFox");
}
