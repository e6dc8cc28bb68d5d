//! Snapshots of `install` and `uninstall`.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::support::environment::put;
use crate::texts::{Scene, check};

/// `msg` is on the PATH, so that no path of this machine is in a hook.
fn with_path(scene: &mut Scene, args: &[&str]) {
    let bin = scene.env.path().join("bin");
    if !bin.exists() {
        fs::create_dir(&bin).unwrap();
        symlink(env!("CARGO_BIN_EXE_msg"), bin.join("msg")).unwrap();
    }
    let path = format!("{}:/usr/bin:/bin", bin.display());
    scene.msg_with(&[("PATH", &path)], args);
}

#[test]
fn in_and_out() {
    check("install", |scene| {
        let home = scene.env.home();
        put(&home.join(".claude/settings.json"), "{\n  \"model\": \"opus\"\n}\n");
        put(&home.join(".codex/config.toml"), "model = \"gpt\"\n");
        with_path(scene, &["install", "claude", "--dry-run"]);
        with_path(scene, &["install", "all"]);
        with_path(scene, &["install", "all"]);
        with_path(scene, &["install", "pi"]);
        scene.meanwhile("Codex's trust is lost, and the `msg` of the hooks is gone from the PATH.");
        put(&home.join(".codex/config.toml"), "model = \"gpt\"\n");
        with_path(scene, &["doctor", "-q"]);
        scene.msg_with(&[("PATH", "/usr/bin:/bin")], &["doctor", "-q"]);
        with_path(scene, &["uninstall", "codex", "--dry-run"]);
        with_path(scene, &["uninstall", "all"]);
        with_path(scene, &["uninstall", "claude"]);
    });
}

#[test]
fn everything_in_one_step() {
    check("setup", |scene| {
        let home = scene.env.home();
        put(&home.join(".claude/settings.json"), "{\n  \"model\": \"opus\"\n}\n");
        put(&home.join(".codex/config.toml"), "model = \"gpt\"\n");
        with_path(scene, &["setup"]);
        with_path(scene, &["setup", "--dry-run", "--all"]);
        with_path(scene, &["setup", "--yes"]);
        with_path(scene, &["setup"]);
        with_path(scene, &["setup", "--yes", "--all"]);
        with_path(scene, &["setup"]);
        scene.meanwhile("Somebody has changed a man page, and another setting.");
        put(&home.join(".local/share/man/man1/msg-join.1"), "mine\n");
        scene.msg(&["config", "set", "nameTheme", "space"]);
        with_path(scene, &["setup", "--undo", "--dry-run"]);
        with_path(scene, &["setup", "--undo"]);
        with_path(scene, &["setup", "--undo"]);
        with_path(scene, &["setup", "--undo", "--all"]);
        scene.meanwhile("There is no harness.");
        std::fs::remove_dir_all(home.join(".claude")).unwrap();
        std::fs::remove_dir_all(home.join(".codex")).unwrap();
        with_path(scene, &["setup", "--yes"]);
    });
}

#[test]
fn status_lines() {
    check("install-statusline", |scene| {
        let home = scene.env.home();
        put(
            &home.join(".claude/settings.json"),
            "{\n  \"model\": \"opus\",\n  \"statusLine\": {\"command\": \"mine\"}\n}\n",
        );
        with_path(scene, &["install", "claude", "--statusline"]);
        put(&home.join(".claude/settings.json"), "{}\n");
        with_path(scene, &["install", "claude", "--statusline"]);
        with_path(scene, &["install", "codex", "--statusline"]);
        put(&home.join(".tmux.conf"), "set -g mouse on\n");
        with_path(scene, &["install", "tmux", "--dry-run"]);
        with_path(scene, &["install", "tmux"]);
        with_path(scene, &["install", "tmux"]);
        with_path(scene, &["uninstall", "tmux"]);
        with_path(scene, &["uninstall", "tmux"]);
    });
}

#[test]
fn what_is_refused() {
    check("errors-install", |scene| {
        let home = scene.env.home();
        with_path(scene, &["install", "emacs"]);
        with_path(scene, &["install", "gemini", "--project"]);
        put(&home.join(".claude/settings.json"), "{\n  \"model\": \"opus\"\n  \"hooks\": {}\n}\n");
        with_path(scene, &["install", "claude"]);
        put(&home.join(".claude/settings.json"), "{\n  \"hooks\": []\n}\n");
        with_path(scene, &["install", "claude"]);
        put(&home.join(".codex/config.toml"), "hooks = 1\n");
        with_path(scene, &["install", "codex"]);
        put(&home.join(".pi/agent/extensions/ravenry.ts"), "// mine\n");
        with_path(scene, &["install", "pi"]);
        put(&home.join(".gemini/settings.json"), "{}\n");
        fs::set_permissions(home.join(".gemini/settings.json"), fs::Permissions::from_mode(0o444)).unwrap();
        with_path(scene, &["install", "gemini"]);
        with_path(scene, &["install", "all"]);
        with_path(scene, &["doctor", "-q"]);
    });
}
