//! `msg setup`: what it finds, what it changes, and whom it asks.

use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::support::terminal::{Terminal, harness};

/// A home with two stand-ins for harnesses, and a repository as working directory.
pub(super) fn stage() -> TestEnvironment {
    let env = TestEnvironment::new();
    give(&env, ".claude/settings.json", "{\n  \"model\": \"x\"\n}\n");
    give(&env, ".codex/config.toml", "model = \"x\"\n");
    let mut git = std::process::Command::new("git");
    git.args(["init", "-q", "-b", "main"]).arg(env.work()).env("GIT_CONFIG_GLOBAL", "/dev/null");
    assert!(git.status().unwrap().success());
    env
}

pub(super) const SURROUNDINGS: [(&str, &str); 2] = [("PATH", "/usr/bin:/bin"), ("SHELL", "/bin/zsh")];

/// Runs `setup`, without a terminal.
pub(super) fn setup(env: &TestEnvironment, args: &[&str]) -> Ended {
    env.run_with(&[&["setup", "--json"], args].concat(), &SURROUNDINGS)
}

#[track_caller]
pub(super) fn sets(env: &TestEnvironment, args: &[&str]) -> Value {
    setup(env, args).expect_code(0).json()
}

/// Everything that `setup` may change: the home with what others find in it, and the repository.
pub(super) fn everything(env: &TestEnvironment) -> [Tree; 3] {
    let below = |dir: PathBuf| if dir.exists() { tree(&dir) } else { Tree::new() };
    [tree(&env.home()), below(at(env, ".local/share")), below(env.work().join(".git/hooks"))]
}

/// The state of each part, as `hooks claude: set`.
#[track_caller]
pub(super) fn states(said: &Value) -> Vec<String> {
    let parts = said["parts"].as_array().unwrap_or_else(|| panic!("no parts: {said}"));
    let text = |part: &Value| {
        let program = part["program"].as_str().map(|name| format!(" {name}")).unwrap_or_default();
        format!("{}{program}: {}", part["part"].as_str().unwrap(), part["state"].as_str().unwrap())
    };
    parts.iter().map(text).collect()
}

fn joins(env: &TestEnvironment) -> Value {
    env.ok(&["config", "get", "autoRegister"])["values"]["autoRegister"]["value"].clone()
}

#[test]
fn from_a_new_binary_to_sessions_that_join_and_back() {
    let env = stage();
    let before = everything(&env);
    let said = sets(&env, &["--yes"]);
    let found = said["harnesses"].as_array().unwrap().iter().filter(|one| one["present"] == true);
    assert_eq!(found.map(|one| one["name"].as_str().unwrap()).collect::<Vec<_>>(), ["claude", "codex"]);
    let set = ["hooks claude: set", "hooks codex: set", "joining: set"];
    let offered =
        ["guard: missing", "statusLine claude: missing", "completions zsh: missing", "manPages: missing"];
    assert_eq!(states(&said), [&set[..], &offered].concat());
    let files = from_home(&env, changed(&said));
    for file in [".claude/settings.json", ".codex/hooks.json", ".config/ravenry/config.json"] {
        assert!(files.iter().any(|name| name == file), "{file} is not in {files:?}");
    }
    assert_eq!(said["next"], serde_json::json!(["claude", "codex", "msg tui"]));
    assert_eq!(joins(&env), true);
    // A session joins at its first hook.
    let payload =
        r#"{"session_id": "s-1", "hook_event_name": "SessionStart", "cwd": "/", "source": "startup"}"#;
    let mut session = harness(&env, "claude");
    session.run(&format!("printf %s '{payload}' | msg hook claude SessionStart")).expect_code(0);
    assert_eq!(env.names().len(), 1);
    drop(session);

    let with = everything(&env);
    let again = sets(&env, &["--yes"]);
    assert_eq!((changed(&again), states(&again)), (vec![], states(&said)));
    assert_eq!(everything(&env), with, "what is set is not changed");

    let all = sets(&env, &["--yes", "--all"]);
    assert!(states(&all).iter().all(|state| state.ends_with(": set")), "{all}");
    assert_eq!(changed(&all).len(), 4, "{all}");
    for file in [".local/share/man/man1/msg-join.1", ".local/share/zsh/site-functions/_msg"] {
        assert!(at(&env, file).is_file(), "{file}");
    }
    assert!(env.work().join(".git/hooks/pre-commit").is_file());
    assert!(text(&env, ".claude/settings.json").contains("statusline"));
    assert_eq!(changed(&sets(&env, &["--all"])), [""; 0], "nothing is missing, so nobody is asked");

    let undone = sets(&env, &["--undo"]);
    assert_eq!(undone["kept"], serde_json::json!([]), "{undone}");
    assert_eq!(everything(&env), before);
    assert_eq!(changed(&sets(&env, &["--undo"])), [""; 0]);
}

#[test]
fn without_a_person_it_shows_what_it_would_do() {
    let env = stage();
    let before = everything(&env);
    for args in [&[][..], &["--all"]] {
        let ended = setup(&env, args).expect_code(2);
        assert_eq!(ended.kind(), "no_terminal");
        let said = ended.json();
        assert!(said["error"]["hints"][0].as_str().unwrap().ends_with(" --yes`"), "{said}");
        let planned = said["parts"].as_array().unwrap().iter().filter(|part| part["planned"] == true);
        assert_eq!(planned.count(), if args.is_empty() { 3 } else { 7 }, "{said}");
    }
    for args in [&["--dry-run"][..], &["--dry-run", "--all", "--yes"], &["--undo", "--dry-run"]] {
        assert_eq!(sets(&env, args)["dryRun"], true);
    }
    for args in [&["--undo", "--all"][..], &["claude"], &["--al"]] {
        assert_eq!(setup(&env, args).expect_code(2).kind(), "usage");
    }
    assert_eq!(everything(&env), before);
}

#[test]
fn it_needs_a_person() {
    let env = stage();
    let before = everything(&env);
    let mut shell = harness(&env, "claude");
    for line in ["msg setup --yes", "msg setup --undo", "msg setup --dry-run"] {
        let ended = shell.run(&format!("{line} --json")).expect_code(1);
        assert_eq!(ended.kind(), "in_harness");
        assert!(ended.json()["error"]["hints"].to_string().contains(line), "{ended}");
    }
    assert_eq!(everything(&env), before);
}

/// On a terminal it asks about what two agents need, and then about each of the rest.
#[test]
fn on_a_terminal_it_asks() {
    // How hooks call `msg` depends on the PATH, which has to be the same at each call.
    let line = &format!("export SHELL=/bin/zsh PATH=/usr/bin:/bin; {} setup", env!("CARGO_BIN_EXE_msg"));
    let env = stage();
    let before = everything(&env);
    let mut terminal = Terminal::open(&env);
    let said = terminal.show_and_answer(&format!("{line}; echo code $?"), "Change these files?", "n\n");
    assert!(said.contains("nothing was changed") && said.contains("code 1"), "{said}");
    assert_eq!(everything(&env), before);

    let answers = [
        ("Change these files?", "y\n"),
        ("commits of files", "y\n"),
        ("in the status line", "n\n"),
        ("in zsh?", "\n"),
        ("man pages?", "y\n"),
    ];
    let said = terminal.show_and_answer_each(line, &answers);
    assert!(said.contains("sessions join by themselves") && said.contains("msg tui"), "{said}");
    let set = ["hooks claude: set", "hooks codex: set", "joining: set", "guard: set"];
    let rest = ["statusLine claude: missing", "completions zsh: missing", "manPages: set"];
    assert_eq!(states(&sets(&env, &["--dry-run"])), [&set[..], &rest].concat());

    // With `--all` there is one question.
    terminal.show_and_answer(&format!("{line} --all"), "Change these files?", "yes\n");
    assert!(states(&sets(&env, &[])).iter().all(|state| state.ends_with(": set")));
    sets(&env, &["--undo"]);
    assert_eq!(everything(&env), before);
}

#[test]
fn without_a_harness_it_sets_what_can_be_set() {
    let env = TestEnvironment::new();
    let before = everything(&env);
    let said = sets(&env, &["--yes"]);
    assert_eq!(states(&said), ["joining: set", "completions zsh: missing", "manPages: missing"]);
    assert_eq!(said["next"], serde_json::json!(["msg setup"]));
    let shown = env.run_with(&["setup"], &SURROUNDINGS).expect_code(0).stdout;
    assert!(shown.starts_with("No harness was found on this machine."), "{shown}");
    // One that comes later is set up by the next call.
    fs::create_dir(at(&env, ".gemini")).unwrap();
    assert_eq!(states(&sets(&env, &["--yes"]))[..2], ["hooks gemini: set", "joining: set"]);
    sets(&env, &["--undo"]);
    fs::remove_dir(at(&env, ".gemini")).unwrap();
    assert_eq!(everything(&env), before);
}

#[test]
fn shells_get_their_own_completions() {
    for (shell, file) in [
        ("/usr/bin/bash", ".local/share/bash-completion/completions/msg"),
        ("/usr/bin/fish", ".local/share/fish/vendor_completions.d/msg.fish"),
        ("zsh", ".local/share/zsh/site-functions/_msg"),
    ] {
        let env = TestEnvironment::new();
        let variables = [("PATH", "/usr/bin:/bin"), ("SHELL", shell)];
        env.run_with(&["setup", "--yes", "--all"], &variables).expect_code(0);
        let name = Path::new(shell).file_name().unwrap().to_str().unwrap();
        let script = env.run(&["completions", name]).expect_code(0).stdout;
        assert_eq!(text(&env, file).trim_end(), script.trim_end());
    }
    let env = TestEnvironment::new();
    let data = env.path().join("data").display().to_string();
    let variables = [("PATH", "/usr/bin:/bin"), ("SHELL", "/bin/zsh"), ("XDG_DATA_HOME", data.as_str())];
    env.run_with(&["setup", "--yes", "--all"], &variables).expect_code(0);
    assert!(Path::new(&data).join("man/man1/msg.1").is_file());
    let odd = [("PATH", "/usr/bin:/bin"), ("SHELL", "/bin/csh")];
    let said = env.run_with(&["setup", "--json"], &odd).expect_code(0).json();
    assert!(!states(&said).iter().any(|state| state.starts_with("completions")), "{said}");
}

/// What a person has made by hand is neither replaced nor taken for missing.
#[test]
fn what_is_there_stays() {
    let env = stage();
    give(&env, ".claude/settings.json", "{\"statusLine\": {\"type\": \"command\", \"command\": \"mine\"}}");
    give(&env, ".local/share/zsh/site-functions/_msg", "# mine\n");
    give(&env, ".local/share/man/man1/msg-join.1", "mine\n");
    let before = everything(&env);
    let said = sets(&env, &["--yes", "--all"]);
    let kept = ["statusLine claude: unavailable", "completions zsh: unavailable", "manPages: unavailable"];
    let set = ["hooks claude: set", "hooks codex: set", "joining: set", "guard: set"];
    assert_eq!(states(&said), [&set[..], &kept].concat());
    assert_eq!(text(&env, ".local/share/zsh/site-functions/_msg"), "# mine\n");
    assert!(said["notes"].to_string().contains("msg-join.1"), "{said}");
    sets(&env, &["--undo"]);
    assert_eq!(everything(&env), before);
}

/// One part that cannot be set up is no reason to leave out the others.
#[test]
fn what_fails_is_told() {
    let env = stage();
    give(&env, ".claude/settings.json", "{");
    let ended = setup(&env, &["--yes"]).expect_code(4);
    assert_eq!(ended.kind(), "not_all_installed");
    assert_eq!(ended.json()["error"]["parts"], serde_json::json!(["hooks of claude"]));
    assert_eq!(states(&ended.json())[..3], ["hooks claude: failed", "hooks codex: set", "joining: set"]);
    assert_eq!(text(&env, ".claude/settings.json"), "{");

    let env = stage();
    give(&env, ".config/ravenry/config.json", "{");
    let ended = setup(&env, &["--yes"]).expect_code(4);
    assert_eq!(states(&ended.json())[..3], ["hooks claude: set", "hooks codex: set", "joining: failed"]);
    assert_eq!(text(&env, ".config/ravenry/config.json"), "{");

    let env = stage();
    let settings = at(&env, ".claude/settings.json");
    fs::set_permissions(&settings, fs::Permissions::from_mode(0o444)).unwrap();
    let ended = setup(&env, &["--yes"]).expect_code(4);
    assert_eq!(states(&ended.json())[..3], ["hooks claude: failed", "hooks codex: set", "joining: set"]);
    assert!(ended.json()["parts"][0]["reason"].as_str().unwrap().contains("read-only"), "{ended}");
    let shown = env.run_with(&["setup", "--yes"], &SURROUNDINGS).expect_code(4).stdout;
    assert!(shown.contains("failed") && !shown.contains("would be set"), "{shown}");
}

/// Whoever lets sessions join in some folders has chosen not to let them join in all.
#[test]
fn joining_in_some_folders_is_left_alone() {
    let env = stage();
    env.ok(&["config", "set", "autoRegisterPaths", "~/work"]);
    let said = sets(&env, &["--yes"]);
    assert_eq!(states(&said)[2], "joining: unavailable");
    assert!(said["parts"][2]["reason"].as_str().unwrap().contains("autoRegisterPaths"), "{said}");
    assert_eq!(joins(&env), false);
}
