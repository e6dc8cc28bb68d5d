//! The status lines: added to and removed from Claude Code's settings and tmux's configuration.

use std::process::Command;

use super::*;
use insta::assert_snapshot;

const CLAUDE: &str = ".claude/settings.json";
const OWN: &str =
    "{\n  \"statusLine\": {\n    \"type\": \"command\",\n    \"command\": \"~/.claude/mine.sh\"\n  }\n}\n";

fn status_line(env: &TestEnvironment) -> Value {
    serde_json::from_str::<Value>(&text(env, CLAUDE)).unwrap()["statusLine"].clone()
}

#[test]
fn claude_codes_comes_only_where_it_is_wanted_and_goes() {
    for content in
        [None, Some("{}"), Some("{\n  // no comments here\n}\n"), Some("{\n  \"model\": \"opus\"\n}")]
    {
        let env = TestEnvironment::new();
        if let Some(content) = content.filter(|content| !content.contains("//")) {
            give(&env, CLAUDE, content);
        }
        let before = tree(&env.home());
        install(&env, "claude");
        assert!(status_line(&env).is_null(), "nobody asked for it");
        env.ok(&["install", "claude", "--statusline"]);
        let command = status_line(&env)["command"].as_str().unwrap().to_string();
        assert!(command.contains(" statusline --color always 2>/dev/null) "), "{command}");
        let with = tree(&env.home());
        assert_eq!(changed(&env.ok(&["install", "claude", "--statusline"])), [""; 0], "twice is once");
        assert_eq!(install(&env, "claude"), [""; 0], "it stays where it is");
        assert_eq!(tree(&env.home()), with);
        uninstall(&env, "claude");
        assert_eq!(tree(&env.home()), before, "nothing is left");
    }
}

#[test]
fn what_it_shows_is_about_the_session_that_asks() {
    let env = TestEnvironment::new();
    env.join("Alice");
    env.join("Bob");
    env.ok(&["install", "claude", "--statusline"]);
    let command = status_line(&env)["command"].as_str().unwrap().to_string();
    let mut shell = Command::new("sh");
    shell.env_clear().env("HOME", env.home()).env("MSG_MESH", env.mesh()).env("PATH", "/usr/bin:/bin");
    shell.arg("-c").arg(format!("echo '{{\"session_id\": \"session of Bob\"}}' | {{ {command}; }}"));
    let said = end(&mut shell).expect_code(0).stdout;
    assert_snapshot!(
        said.escape_debug(),
        @r#"\u{1b}[1mBob\u{1b}[0m\u{1b}[2m · \u{1b}[0m\u{1b}[2m1 peer\u{1b}[0m"#
    );
}

#[test]
fn a_status_line_of_ones_own_stays() {
    let env = TestEnvironment::new();
    give(&env, CLAUDE, OWN);
    let before = tree(&env.home());
    assert_eq!(env.fails(1, &["install", "claude", "--statusline"]), "status_line_in_use");
    assert_snapshot!(env.redact(env.run(&["install", "claude", "--statusline"])), @"
    [exit 1]
    --- stderr
    error: `[DIR]/home/.claude/settings.json` has a status line of your own
    hint: call `msg statusline` in it, with the JSON that it gets; `msg statusline --help` shows how
    hint: or remove `statusLine` there, then try again; nothing of claude was changed
    ");
    assert_eq!(tree(&env.home()), before, "nothing was changed, the hooks neither");
    install(&env, "claude");
    assert_eq!(status_line(&env)["command"], "~/.claude/mine.sh");
    uninstall(&env, "claude");
    assert_eq!(text(&env, CLAUDE), OWN);
    assert_eq!(env.fails(2, &["install", "codex", "--statusline"]), "invalid_value");
}

#[test]
fn tmuxs_comes_and_goes() {
    let place = |xdg: bool| if xdg { ".config/tmux/tmux.conf" } else { ".tmux.conf" };
    for xdg in [false, true] {
        for content in ["", "set -g mouse on\n", "set -g mouse on", "set -g mouse on\r\n", "# ü\n\n\n"] {
            let env = TestEnvironment::new();
            give(&env, place(xdg), content);
            let before = tree(&env.home());
            assert_eq!(install(&env, "tmux"), [place(xdg)]);
            assert!(text(&env, place(xdg)).starts_with(content));
            assert!(text(&env, place(xdg)).contains("statusline --tmux --pane #{pane_pid}"));
            assert_eq!(install(&env, "tmux"), [""; 0]);
            assert_eq!(uninstall(&env, "tmux"), [place(xdg)]);
            assert_eq!(tree(&env.home()), before, "{content:?}");
        }
    }
    let env = TestEnvironment::new();
    let before = tree(&env.home());
    assert_eq!(install(&env, "tmux"), [place(false)]);
    assert!(install(&env, "all").is_empty() && !uninstall(&env, "all").contains(&place(false).to_string()));
    give(&env, place(false), &(text(&env, place(false)) + "set -g mouse on\n"));
    uninstall(&env, "tmux");
    assert_eq!(text(&env, place(false)), "set -g mouse on\n", "what came later stays");
    fs::remove_file(at(&env, place(false))).unwrap();
    assert_eq!(tree(&env.home()), before);
    assert_eq!(env.fails(2, &["install", "tmux", "--project"]), "no_project_settings");
}

#[test]
fn a_program_that_moved_has_one_line_in_tmuxs_configuration() {
    let env = TestEnvironment::new();
    give(&env, ".tmux.conf", "set -g mouse on\n");
    let [first, second] = ["one/msg", "two/msg"].map(|name| env.path().join(name));
    copy_of_program(&first);
    copy_of_program(&second);
    run_program(&env, &first, &["install", "tmux"]).expect_code(0);
    run_program(&env, &second, &["install", "tmux"]).expect_code(0);
    let conf = text(&env, ".tmux.conf");
    assert_eq!(conf.matches("#{pane_pid}").count(), 1, "{conf}");
    assert!(conf.contains(second.to_str().unwrap()));
    run_program(&env, &second, &["uninstall", "tmux"]).expect_code(0);
    assert_eq!(text(&env, ".tmux.conf"), "set -g mouse on\n");
    let odd = env.path().join("a \"$HOME\" #{x}/msg");
    copy_of_program(&odd);
    let ended = run_program(&env, &odd, &["install", "tmux", "--json"]).expect_code(2);
    assert_eq!(ended.kind(), "invalid_value", "what tmux would read otherwise is not written");
}
