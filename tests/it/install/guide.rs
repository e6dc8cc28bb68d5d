//! The guide for watching other agents, as a skill in each harness.

use super::*;
use insta::assert_snapshot;

/// The file of the skill in each harness. The real clients that are named in `docs/harnesses.md` read it there.
const FILES: [(&str, &str); 8] = [
    ("claude", ".claude/skills/ravenry-watching/SKILL.md"),
    ("codex", ".codex/skills/ravenry-watching/SKILL.md"),
    ("gemini", ".gemini/skills/ravenry-watching/SKILL.md"),
    ("opencode", ".config/opencode/skills/ravenry-watching/SKILL.md"),
    ("pi", ".pi/agent/skills/ravenry-watching/SKILL.md"),
    ("copilot", ".copilot/skills/ravenry-watching/SKILL.md"),
    ("kimi", ".kimi-code/skills/ravenry-watching/SKILL.md"),
    ("qwen", ".qwen/skills/ravenry-watching/SKILL.md"),
];

fn with_guide(env: &TestEnvironment, harness: &str) -> Vec<String> {
    from_home(env, changed(&env.ok(&["install", harness, "--guide"])))
}

#[test]
fn it_comes_only_where_it_is_wanted_and_goes() {
    assert_eq!(FILES.map(|(harness, _)| harness), HARNESSES);
    for (harness, file) in FILES {
        let env = TestEnvironment::new();
        // The skills of others, and their directory, stay.
        let other = file.replace("ravenry-watching", "mine");
        if harness == "claude" {
            give(&env, &other, "---\nname: mine\n---\n");
        }
        let before = tree(&env.home());
        assert!(!install(&env, harness).contains(&file.to_string()), "{harness}: nobody asked for it");
        assert_eq!(with_guide(&env, harness), [file], "{harness}");
        let guide = env.ok(&["look", "--guide"])["guide"].as_str().unwrap().to_string();
        let (front, body) =
            text(&env, file).split_once("\n---\n\n").map(|(a, b)| (a.to_string(), b.to_string())).unwrap();
        assert_eq!(body, guide, "{harness}");
        assert!(front.starts_with("---\n# ") && front.contains("\nname: ravenry-watching\n"), "{front}");
        let with = tree(&env.home());
        assert_eq!(with_guide(&env, harness), [""; 0], "{harness}: twice is once");
        assert_eq!(install(&env, harness), [""; 0], "{harness}: it stays where it is");
        assert_eq!(tree(&env.home()), with, "{harness}");
        assert!(uninstall(&env, harness).contains(&file.to_string()), "{harness}");
        assert_eq!(tree(&env.home()), before, "{harness}: nothing is left");
    }
}

#[test]
fn a_dry_run_shows_it() {
    let env = TestEnvironment::new();
    let before = tree(&env.home());
    let said = env.ok(&["install", "claude", "--guide", "--dry-run"]);
    let diffs = said["diffs"].as_array().unwrap();
    let shown = diffs.iter().any(|diff| diff["diff"].as_str().unwrap().contains("+# Watching another agent"));
    assert!(shown, "{said}");
    assert_eq!(tree(&env.home()), before);
}

#[test]
fn a_skill_of_that_name_that_is_not_ours_stays() {
    for (harness, file) in FILES {
        let env = TestEnvironment::new();
        let own = "---\nname: ravenry-watching\ndescription: mine\n---\n\nmine\n";
        give(&env, file, own);
        let before = tree(&env.home());
        assert_eq!(env.fails(4, &["install", harness, "--guide"]), "bad_config", "{harness}");
        assert_eq!(tree(&env.home()), before, "{harness}: nothing was changed, the hooks neither");
        assert_eq!(uninstall(&env, harness), [""; 0], "{harness}");
        install(&env, harness);
        uninstall(&env, harness);
        assert_eq!(tree(&env.home()), before, "{harness}");
    }
}

#[test]
fn what_somebody_changed_stays() {
    let env = TestEnvironment::new();
    let (harness, file) = FILES[0];
    with_guide(&env, harness);
    let edited = text(&env, file) + "And greet them.\n";
    give(&env, file, &edited);
    let refused = env.redact(env.run(&["install", harness, "--guide"]));
    assert_eq!(install(&env, harness), [""; 0], "without the flag it is let alone");
    let removal = env.redact(env.run(&["uninstall", harness]));
    assert_eq!(text(&env, file), edited);
    assert!(env.doctor_says("installed").contains("in claude"));
    assert_eq!(refused, removal);
    assert_snapshot!(refused, @"
    [exit 4]
    --- stderr
    error: `[DIR]/home/.claude/skills/ravenry-watching/SKILL.md` was changed since msg wrote it
    hint: keep what is yours in another file, remove this one, and try again
    ");
    fs::remove_file(at(&env, file)).unwrap();
    uninstall(&env, harness);
    assert!(!at(&env, ".claude").exists(), "{:?}", tree(&env.home()));
}

/// As after an update of `msg`: the file is the one that was written, but not the one that would be.
#[test]
fn one_of_another_version_is_told_of_and_brought_up_to_date() {
    let env = TestEnvironment::new();
    let (harness, file) = FILES[0];
    with_guide(&env, harness);
    let new = text(&env, file);
    let old = new.replace("Do not poll.", "Do not poll much.");
    rewritten_by_us(&env, file, &old);
    assert_snapshot!(env.doctor_says("installed"), @"
    warn: claude: `[DIR]/home/.claude/skills/ravenry-watching/SKILL.md` was written by another version of msg, or was changed
    fix: `msg install claude`
    ");
    assert_eq!(install(&env, harness), [file]);
    assert_eq!(text(&env, file), new);
    uninstall(&env, harness);
    assert!(!at(&env, ".claude").exists());
}

#[test]
fn where_it_does_not_belong() {
    let env = TestEnvironment::new();
    for args in [&["--guide"][..], &["tmux", "--guide"], &["claude", "--guide", "--project"]] {
        assert_eq!(env.fails(2, &[&["install"], args].concat()), "usage", "{args:?}");
    }
    assert!(tree(&env.home()).is_empty() || !at(&env, ".claude").exists());
}
