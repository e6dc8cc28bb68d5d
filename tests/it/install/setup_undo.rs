//! `msg setup --undo`: what it restores, what it leaves alone, and `setup` that is killed.

use std::os::unix::fs::PermissionsExt;

use ravenry::sys::test_switches::CRASH_AT;

use super::setup::{SURROUNDINGS, everything, sets, setup, stage, states};
use super::*;
use crate::support::environment::steps;

const CONFIG: &str = ".config/ravenry/config.json";

fn copy(from: &Path, to: &Path) {
    let mut copy = std::process::Command::new("cp");
    assert!(copy.arg("-a").arg(from).arg(to).status().unwrap().success());
}

#[test]
fn settings_get_their_old_bytes_and_mode() {
    for content in ["{\"nameTheme\":   \"space\"}", "{\n  \"autoRegister\": false\n}\n", "{}", ""] {
        let env = stage();
        give(&env, CONFIG, content);
        fs::set_permissions(at(&env, CONFIG), fs::Permissions::from_mode(0o640)).unwrap();
        env.ok(&["config"]);
        let before = everything(&env);
        assert!(changed(&sets(&env, &["--yes"])).iter().any(|file| file.ends_with("config.json")));
        assert_ne!(text(&env, CONFIG), content);
        let planned = sets(&env, &["--undo", "--dry-run"]);
        let undone = sets(&env, &["--undo"]);
        assert_eq!(changed(&planned), changed(&undone), "{content}");
        assert_eq!(everything(&env), before, "{content}");
    }
}

#[test]
fn what_was_changed_since_stays() {
    let env = stage();
    let before = everything(&env);
    sets(&env, &["--yes", "--all"]);
    env.ok(&["config", "set", "nameTheme", "space"]);
    give(&env, ".local/share/zsh/site-functions/_msg", "# mine\n");
    fs::remove_file(at(&env, ".local/share/man/man1/msg-join.1")).unwrap();
    give(&env, ".local/share/man/man1/other.1", "another program's\n");
    let settings = text(&env, ".claude/settings.json").replacen("\"x\"", "\"y\"", 1);
    give(&env, ".claude/settings.json", &settings);
    let undone = sets(&env, &["--undo"]);
    let kept: Vec<String> = undone["kept"]
        .as_array()
        .unwrap()
        .iter()
        .map(|kept| format!("{}: {}", kept["path"].as_str().unwrap(), kept["reason"].as_str().unwrap()))
        .collect();
    let home = env.home().display().to_string();
    assert_eq!(
        kept,
        [
            format!("{home}/.local/share/zsh/site-functions/_msg: it was changed since msg wrote it"),
            format!("{home}/{CONFIG}: other settings were changed since; only autoRegister is taken back"),
        ]
    );
    assert_eq!(text(&env, ".local/share/zsh/site-functions/_msg"), "# mine\n");
    assert!(at(&env, ".local/share/man/man1/other.1").exists());
    assert_eq!(fs::read_dir(at(&env, ".local/share/man/man1")).unwrap().count(), 1);
    let config: Value = serde_json::from_str(&text(&env, CONFIG)).unwrap();
    assert_eq!(config, serde_json::json!({ "nameTheme": "space" }));
    assert_eq!(text(&env, ".claude/settings.json"), "{\n  \"model\": \"y\"\n}\n");
    // The rest is as it was.
    let [now, _, hooks] = everything(&env);
    let is_same = |(name, entry): (&String, &(u32, String))| {
        name.starts_with(".config") || name == ".claude/settings.json" || before[0].get(name) == Some(entry)
    };
    assert!(now.iter().all(is_same), "{now:?}");
    assert_eq!(hooks, before[2]);
    assert_eq!(changed(&sets(&env, &["--undo"])), [""; 0]);
}

#[test]
fn a_setting_that_somebody_has_changed_stays() {
    let env = stage();
    sets(&env, &["--yes"]);
    env.ok(&["config", "set", "autoRegister", "false"]);
    let undone = sets(&env, &["--undo"]);
    assert_eq!(undone["kept"][0]["reason"], "autoRegister was changed since");
    assert!(text(&env, CONFIG).contains("false"));
}

#[test]
fn what_was_there_before_setup_is_not_its_own() {
    let env = stage();
    install(&env, "codex");
    env.ok(&["config", "set", "autoRegister", "true"]);
    env.ok(&["guard", "install"]);
    let before = everything(&env);
    let said = sets(&env, &["--yes", "--all"]);
    assert!(states(&said).iter().all(|state| state.ends_with(": set")), "{said}");
    assert!(changed(&said).iter().all(|file| !file.contains("codex") && !file.contains("pre-commit")));
    let undone = sets(&env, &["--undo"]);
    assert_eq!(undone["installed"], serde_json::json!(["codex"]));
    assert_eq!(everything(&env), before);
}

/// A variable can name another directory of a harness, and what was installed into that is neither forgotten nor removed
/// from here.
#[test]
fn the_directory_of_a_harness_has_changed() {
    let env = stage();
    let other = env.path().join("other-codex");
    fs::create_dir(&other).unwrap();
    let before = everything(&env);
    let name = other.display().to_string();
    let variables = [SURROUNDINGS[0], SURROUNDINGS[1], ("CODEX_HOME", name.as_str())];
    let there = |args: &[&str]| env.run_with(&[&["setup", "--json"], args].concat(), &variables);
    there(&["--yes"]).expect_code(0);
    assert!(other.join("hooks.json").exists());
    assert_eq!(states(&sets(&env, &["--dry-run"]))[1], "hooks codex: missing");
    install(&env, "codex");
    let by_hand = text(&env, ".codex/hooks.json");
    assert_eq!(states(&sets(&env, &["--yes"]))[1], "hooks codex: set");

    for _ in 0..2 {
        let ended = setup(&env, &["--undo"]).expect_code(4);
        assert!(ended.json()["error"]["hints"].to_string().contains(&name), "{ended}");
        assert!(other.join("hooks.json").exists());
        assert_eq!(text(&env, ".codex/hooks.json"), by_hand);
    }
    there(&["--undo"]).expect_code(0);
    assert_eq!(fs::read_dir(&other).unwrap().count(), 0);
    assert_eq!(text(&env, ".codex/hooks.json"), by_hand);
    env.ok(&["uninstall", "codex"]);
    assert_eq!(everything(&env), before);

    // Of a directory that is gone nothing is left to take back, which is told.
    there(&["--yes"]).expect_code(0);
    fs::remove_dir_all(&other).unwrap();
    let undone = sets(&env, &["--undo"]);
    assert!(undone["kept"][0]["path"].as_str().unwrap().starts_with(&name), "{undone}");
    assert_eq!(everything(&env), before);
}

/// What was installed is known by the name of its file. A variable can also change where one file of several is.
#[test]
fn the_directory_of_a_harness_is_called_otherwise() {
    let env = stage();
    let before = everything(&env);
    let with = |name: &str, value: &str, args: &[&str]| {
        let variables = [SURROUNDINGS[0], SURROUNDINGS[1], (name, value)];
        env.run_with(&[&["setup", "--json"], args].concat(), &variables)
    };
    let codex = format!("{}/", at(&env, ".codex").display());
    sets(&env, &["--yes"]);
    let seen = with("CODEX_HOME", &codex, &["--dry-run"]).expect_code(0).json();
    assert_eq!(states(&seen)[1], "hooks codex: set");
    with("CODEX_HOME", &codex, &["--undo"]).expect_code(0);
    assert_eq!(everything(&env), before);
    // Through a link, the original could not be told.
    let link = env.path().join("link").display().to_string();
    std::os::unix::fs::symlink(&codex, &link).unwrap();
    sets(&env, &["--yes"]);
    let ended = with("CODEX_HOME", &link, &["--undo"]).expect_code(4);
    assert!(ended.json()["error"]["hints"].to_string().contains("/.codex/"), "{ended}");
    sets(&env, &["--undo"]);
    assert_eq!(everything(&env), before);
    // Its servers are in the home directory, unless the variable is set.
    let claude = at(&env, ".claude").display().to_string();
    sets(&env, &["--yes"]);
    assert!(at(&env, ".claude.json").exists());
    let ended = with("CLAUDE_CONFIG_DIR", &claude, &["--undo"]).expect_code(4);
    assert!(ended.json()["error"]["hints"].to_string().contains("/.claude"), "{ended}");
    sets(&env, &["--undo"]);
    assert_eq!(everything(&env), before);
}

/// The commit guard goes from the repository that got it, wherever `--undo` is run.
#[test]
fn the_guard_of_another_directory() {
    let env = stage();
    let before = everything(&env);
    sets(&env, &["--yes", "--all"]);
    let mut elsewhere = env.msg();
    elsewhere.args(["setup", "--undo", "--json"]).envs(SURROUNDINGS).current_dir(env.path());
    end(&mut elsewhere).expect_code(0);
    assert_eq!(everything(&env), before);

    sets(&env, &["--yes", "--all"]);
    let [home, share, _] = before;
    fs::remove_dir_all(env.work().join(".git")).unwrap();
    sets(&env, &["--undo"]);
    assert_eq!(everything(&env), [home, share, Tree::new()]);
}

#[test]
fn a_damaged_record_is_left_alone() {
    let record = ".local/state/ravenry-installs/setup.record";
    for content in ["{", "{\"format\": 2}", "[]"] {
        let env = stage();
        sets(&env, &["--yes"]);
        give(&env, record, content);
        let before = everything(&env);
        for args in [&["--undo"][..], &["--yes"], &["--yes", "--all"]] {
            let ended = setup(&env, args).expect_code(4);
            assert_eq!(ended.kind(), "corrupt", "{args:?}");
            assert!(ended.json()["error"]["hints"][0].as_str().unwrap().contains("move it away"), "{ended}");
        }
        assert_eq!((text(&env, record).as_str(), everything(&env)), (content, before));
        let checked = env.run(&["doctor", "--json"]).expect_code(4).json();
        let mut checks = checked["checks"].as_array().unwrap().iter();
        let check = checks.find(|check| check["name"] == "install records").unwrap();
        assert!(check["fix"].as_str().unwrap().contains("move it away"), "{check}");
        fs::remove_file(at(&env, record)).unwrap();
        sets(&env, &["--yes"]);
    }
}

/// Without the lock and the private files that a killed `config set` leaves to the next one.
fn settled([home, share, hooks]: [Tree; 3]) -> [Tree; 3] {
    let is_kept = |name: &str| match name.strip_prefix(".config/ravenry/") {
        Some(file) => ["config.json", "last-good.json"].contains(&file),
        None => true,
    };
    [home.into_iter().filter(|(name, _)| is_kept(name)).collect(), share, hooks]
}

/// A scene that can be put back to the beginning.
struct Resettable {
    env: TestEnvironment,
    args: &'static [&'static str],
    before: [Tree; 3],
    with: [Tree; 3],
}

impl Resettable {
    fn new(args: &'static [&'static str]) -> Self {
        let env = stage();
        let before = everything(&env);
        let start = Self { env, args, before: before.clone(), with: before };
        start.keep("fresh");
        sets(&start.env, args);
        start.keep("done");
        Self { with: everything(&start.env), ..start }
    }

    fn keep(&self, name: &str) {
        let dir = self.env.path().join(name);
        fs::create_dir(&dir).unwrap();
        copy(&self.env.home(), &dir.join("home"));
        copy(&self.env.work(), &dir.join("work"));
    }

    fn reset(&self, name: &str) {
        for (part, place) in [("home", self.env.home()), ("work", self.env.work())] {
            fs::remove_dir_all(&place).unwrap();
            copy(&self.env.path().join(name).join(part), &place);
        }
    }

    /// Runs `setup` that is killed before its n-th change. Returns whether it was killed.
    fn crash(&self, args: &[&str], n: usize) -> bool {
        let number = n.to_string();
        let variables = [SURROUNDINGS[0], SURROUNDINGS[1], (CRASH_AT, number.as_str())];
        let ended = self.env.run_with(&[&["setup"], args].concat(), &variables);
        assert!(ended.signal == Some(9) || ended.code == Some(0), "{ended}");
        ended.signal == Some(9)
    }

    fn sweep(&self, first: usize, stride: usize) {
        let (mut deaths, env) = (0, &self.env);
        for n in (first..).step_by(stride) {
            self.reset("fresh");
            let is_killed = self.crash(self.args, n);
            sets(env, &["--undo"]);
            assert_eq!(everything(env), self.before, "killed at {n}, then undone");
            self.reset("fresh");
            self.crash(self.args, n);
            sets(env, self.args);
            assert_eq!(settled(everything(env)), self.with, "killed at {n}, then run again");
            sets(env, &["--undo"]);
            assert_eq!(everything(env), self.before, "killed at {n}, run again, then undone");
            self.reset("done");
            let is_undo_killed = self.crash(&["--undo"], n);
            sets(env, &["--undo"]);
            assert_eq!(everything(env), self.before, "undo killed at {n}");
            deaths = n;
            if !is_killed && !is_undo_killed {
                break;
            }
        }
        assert!(deaths > 20, "{deaths} steps");
    }
}

#[test]
fn killed_at_any_step() {
    Resettable::new(&["--yes"]).sweep(1, steps());
}

/// Most of the steps write a man page.
#[test]
fn killed_while_it_sets_up_everything() {
    Resettable::new(&["--yes", "--all"]).sweep(7, 23 * steps());
}
