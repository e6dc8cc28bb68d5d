//! Tests of links, modes, owners and concurrent installations.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::process::Child;

use super::*;

/// Dotfiles are often links into a repository: the link stays, and so does the mode of its target.
#[test]
fn links_are_written_through() {
    for (harness, file) in SETTINGS {
        let env = TestEnvironment::new();
        give(&env, "dotfiles/settings", "{\"a\": 1}");
        fs::set_permissions(at(&env, "dotfiles/settings"), fs::Permissions::from_mode(0o664)).unwrap();
        fs::create_dir_all(at(&env, file).parent().unwrap()).unwrap();
        symlink("../dotfiles/settings", at(&env, file)).unwrap();
        let before = tree(&env.home());
        install(&env, harness);
        assert!(fs::symlink_metadata(at(&env, file)).unwrap().is_symlink());
        assert!(text(&env, "dotfiles/settings").contains(&format!("hook {harness} ")));
        assert_eq!(fs::metadata(at(&env, file)).unwrap().permissions().mode() & 0o777, 0o664);
        uninstall(&env, harness);
        assert_eq!(tree(&env.home()), before);
    }
}

#[test]
fn a_link_that_leads_to_nothing_yet() {
    let env = TestEnvironment::new();
    fs::create_dir(at(&env, ".claude")).unwrap();
    symlink(at(&env, "dotfiles/claude.json"), at(&env, ".claude/settings.json")).unwrap();
    let before = tree(&env.home());
    install(&env, "claude");
    assert!(text(&env, "dotfiles/claude.json").contains("hook claude "));
    uninstall(&env, "claude");
    assert_eq!(tree(&env.home()), before);
}

#[test]
fn a_directory_that_is_a_link() {
    let env = TestEnvironment::new();
    fs::create_dir_all(at(&env, "dotfiles/codex")).unwrap();
    symlink("dotfiles/codex", at(&env, ".codex")).unwrap();
    let before = tree(&env.home());
    install(&env, "codex");
    let key = format!("[hooks.state.\"{}/.codex/hooks.json:stop:0:0\"]", env.home().display());
    assert!(text(&env, "dotfiles/codex/config.toml").contains(&key), "as Codex calls it");
    uninstall(&env, "codex");
    assert_eq!(tree(&env.home()), before);
}

#[test]
fn nobody_else_may_read_what_is_new() {
    let env = TestEnvironment::new();
    install(&env, "claude");
    let mode = |name: &str| fs::metadata(at(&env, name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(".claude"), mode(".claude/settings.json")), (0o700, 0o600));
    assert_eq!(mode(".local/state/ravenry-installs"), 0o700);
}

/// The second finds nothing to do; in any order, `uninstall` restores the original.
#[test]
fn many_at_once() {
    for harness in HARNESSES {
        let env = TestEnvironment::new();
        for (_, file) in SETTINGS {
            give(&env, file, "{\n  \"model\": \"x\"\n}\n");
        }
        give(&env, ".codex/config.toml", "model = \"x\"\n");
        let before = tree(&env.home());
        for verbs in
            [&["install"; 6][..], &["install", "uninstall", "install", "uninstall", "install", "uninstall"]]
        {
            let mut running: Vec<Child> =
                verbs.iter().map(|verb| env.msg().args([*verb, harness, "-q"]).spawn().unwrap()).collect();
            for child in &mut running {
                assert!(child.wait().unwrap().success(), "{harness}");
            }
            install(&env, harness);
            assert_eq!(install(&env, harness), [""; 0], "{harness}: there is one of each");
            uninstall(&env, harness);
            assert_eq!(tree(&env.home()), before, "{harness}");
        }
    }
}

/// If the lock is held, the error says by whom.
#[test]
fn somebody_else_is_at_it() {
    let env = TestEnvironment::new();
    install(&env, "claude");
    let lock = at(&env, ".local/state/ravenry-installs/lock");
    let held = ravenry::sys::flock::FileLock::acquire(&lock, std::time::Duration::ZERO).unwrap();
    let mut waiting = env.msg().args(["uninstall", "claude", "-q"]).spawn().unwrap();
    assert_eq!(install(&env, "claude"), [""; 0], "who has nothing to do waits for nobody");
    drop(held);
    assert!(waiting.wait().unwrap().success());
    assert!(!at(&env, ".claude").exists());
}

/// Installing for another user, as root does, must not change the owner of their settings.
#[test]
fn the_owner_stays() {
    if !nix::unistd::geteuid().is_root() {
        crate::support::skip::skip("only root can give a file away");
        return;
    }
    for (harness, file) in SETTINGS {
        let env = TestEnvironment::new();
        give(&env, file, "{\"a\": 1}");
        fs::set_permissions(at(&env, file), fs::Permissions::from_mode(0o600)).unwrap();
        chown(at(&env, file), Some(12345), Some(12346)).unwrap();
        let owner = || {
            let metadata = fs::metadata(at(&env, file)).unwrap();
            (metadata.uid(), metadata.gid(), metadata.mode() & 0o777)
        };
        install(&env, harness);
        assert_eq!(owner(), (12345, 12346, 0o600), "{harness}");
        uninstall(&env, harness);
        assert_eq!(owner(), (12345, 12346, 0o600), "{harness}");
    }
}

#[test]
fn what_would_become_ours_is_refused() {
    if !nix::unistd::geteuid().is_root() {
        crate::support::skip::skip("only root can give a file away");
        return;
    }
    let env = TestEnvironment::new();
    let program = env.path().join("bin/msg");
    copy_of_program(&program);
    let file = ".claude/settings.json";
    give(&env, file, "{\"a\": 1}");
    fs::set_permissions(at(&env, file), fs::Permissions::from_mode(0o666)).unwrap();
    for dir in [env.path(), &env.home(), &at(&env, ".claude"), &env.path().join("bin"), &env.work()] {
        fs::set_permissions(dir, fs::Permissions::from_mode(0o777)).unwrap();
    }
    let mut command = std::process::Command::new(&program);
    command.env_clear().env("HOME", env.home()).env("PATH", "/usr/bin:/bin").uid(12345).gid(12345);
    command.env(ravenry::sys::test_switches::ANCESTRY_END, std::process::id().to_string());
    let ended = end(command.args(["install", "claude", "--json"]).current_dir(env.work())).expect_code(4);
    assert_eq!(ended.kind(), "read_only", "{ended}");
    let error = &ended.json()["error"];
    insta::assert_snapshot!(
        env.redact(error["message"].as_str().unwrap()),
        @"`[DIR]/home/.claude/settings.json` belongs to another user, and would become yours"
    );
    assert_eq!(text(&env, file), "{\"a\": 1}");
    assert!(!at(&env, ".local").exists(), "no record either");
}

/// The owner of git's hooks stays too.
#[test]
fn the_owner_of_other_files_stays_too() {
    if !nix::unistd::geteuid().is_root() {
        crate::support::skip::skip("only root can give a file away");
        return;
    }
    let env = TestEnvironment::new();
    give(&env, "hook", "one");
    chown(at(&env, "hook"), Some(12345), Some(12346)).unwrap();
    let check = |content: &str| {
        let metadata = fs::metadata(at(&env, "hook")).unwrap();
        assert_eq!((metadata.uid(), metadata.gid(), text(&env, "hook").as_str()), (12345, 12346, content));
    };
    ravenry::sys::files::write_through(&at(&env, "hook"), b"two").unwrap();
    check("two");
    ravenry::sys::files::replace_beside(&at(&env, "hook"), b"three", 0o755).unwrap();
    check("three");
}
