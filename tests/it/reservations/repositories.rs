//! `reserve --repo`: a path in every work tree and clone of one repository has one holder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use ravenry::domain::hook::HookAnswer;
use serde_json::{Value, json};

use super::{holder_in, listed, ok_in, run_in, two};
use crate::support::environment::{TestEnvironment, end, put, wait_until};
use crate::support::hook_call::{Call, session_of};
use crate::support::mcp_client::{Client, server};

pub(super) const FILE: &str = "src/a.rs";

#[track_caller]
pub fn git(dir: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.arg("-C").arg(dir).args(["-c", "user.name=J", "-c", "user.email=j@example.org"]).args(args);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_COUNT", "1");
    command.env("GIT_CONFIG_KEY_0", "protocol.file.allow").env("GIT_CONFIG_VALUE_0", "always");
    let output = command.output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_string()
}

/// A repository with one commit.
pub(crate) fn committed(dir: &Path) {
    put(&dir.join(FILE), "fn main() {}\n");
    put(&dir.join("src/b.rs"), "");
    git(dir, &["init", "-q", "-b", "main"]);
    git(dir, &["add", "."]);
    git(dir, &["commit", "-q", "-m", "one"]);
}

/// A repository, a linked work tree of it, one inside of it, and a clone.
pub(super) struct Places {
    pub(super) env: TestEnvironment,
    pub(super) main: PathBuf,
    pub(super) linked: PathBuf,
    inner: PathBuf,
    pub(super) clone: PathBuf,
    commit: String,
}

impl Places {
    pub(super) fn new() -> Self {
        let env = two();
        let top = fs::canonicalize(env.path()).unwrap();
        let [main, linked, clone] = ["main", "linked", "clone"].map(|name| top.join(name));
        committed(&main);
        git(&main, &["worktree", "add", "-q", "-b", "topic", "../linked"]);
        git(&main, &["worktree", "add", "-q", "-b", "inner", ".trees/inner"]);
        git(&top, &["clone", "-q", "main", "clone"]);
        let commit = git(&main, &["rev-list", "--max-parents=0", "HEAD"]);
        let inner = main.join(".trees/inner");
        Self { env, main, linked, inner, clone, commit }
    }

    pub(super) fn others(&self) -> [&Path; 3] {
        [&self.linked, &self.inner, &self.clone]
    }

    #[track_caller]
    pub(super) fn reserve(&self, dir: &Path, name: &str, args: &[&str]) -> Value {
        ok_in(&self.env, dir, &[&["reserve", "--as", name][..], args].concat())
    }

    #[track_caller]
    fn refused(&self, dir: &Path, name: &str, args: &[&str]) -> Value {
        let ended = run_in(&self.env, dir, &[&["reserve", "--as", name][..], args].concat());
        let error = ended.expect_code(1).json()["error"].clone();
        assert_eq!(error["kind"], "reserved", "{args:?} in {}", dir.display());
        error
    }

    #[track_caller]
    fn holder(&self, dir: &Path, path: &str) -> Option<String> {
        holder_in(&self.env, dir, "Bob", path)
    }

    fn read(&self, name: &str) -> String {
        self.env.run(&["read", "--as", name]).expect_code(0).stdout
    }

    pub(super) fn edit(&self, dir: &Path, name: &str) -> HookAnswer {
        let call = Call::edit(&self.env, &session_of(name), FILE).with("/cwd", json!(dir));
        call.with("/tool_input/file_path", json!(dir.join(FILE))).answer(&self.env)
    }
}

#[test]
fn it_binds_in_every_work_tree_and_clone() {
    let places = Places::new();
    let said = places.reserve(&places.main, "Alice", &["--repo", FILE, "--reason", "new login"]);
    let row = &said["reservations"][0];
    assert_eq!((&row["pattern"], &row["reach"]), (&json!(FILE), &json!("repository")));
    assert_eq!(row["repository"], places.commit.as_str());
    assert_eq!(row["root"], places.main.to_str().unwrap(), "other programs see a path");
    for dir in places.others() {
        assert_eq!(places.holder(dir, FILE).as_deref(), Some("Alice"), "{}", dir.display());
        assert_eq!(places.holder(&dir.join("src"), "a.rs").as_deref(), Some("Alice"));
        assert_eq!(places.holder(dir, "src").as_deref(), Some("Alice"), "a directory around it");
        assert_eq!(places.holder(dir, "src/b.rs"), None);
        for wanted in [&[FILE][..], &["--repo", FILE], &["src/*.rs"], &["."], &["--repo", "**/a.rs"]] {
            let error = places.refused(dir, "Bob", wanted);
            let message = error["message"].as_str().unwrap();
            let says = "Alice holds `src/a.rs` in every work tree of this repository";
            assert!(message.contains(says) && message.contains("new login"), "{message}");
            let conflict = &error["conflicts"][0];
            assert_eq!((&conflict["reach"], &conflict["holder"]), (&json!("repository"), &json!("Alice")));
            assert_eq!(conflict["repository"], places.commit.as_str());
        }
        let claim = run_in(&places.env, dir, &["claim", "T", "--adhoc", "--reserve", FILE, "--as", "Bob"]);
        assert_eq!(claim.expect_code(1).kind(), "reserved", "a task with that path");
        let absolute = dir.join(FILE).display().to_string();
        assert_eq!(places.holder(&places.env.work(), &absolute).as_deref(), Some("Alice"), "from elsewhere");
        places.reserve(dir, "Bob", &["src/b.rs"]);
    }
    let elsewhere = places.env.path().join("another");
    committed(&elsewhere);
    git(&elsewhere, &["commit", "-q", "--amend", "-m", "another beginning"]);
    assert_eq!(places.holder(&elsewhere, FILE), None, "another repository");
    let check = run_in(&places.env, &places.linked, &["check", FILE, "--as", "Bob"]).expect_code(1).json();
    assert_eq!(check["paths"][0]["reach"], "repository");
    assert_eq!(run_in(&places.env, &places.linked, &["check", FILE, "--as", "Alice"]).code, Some(0));
    // From another work tree than the one it was made in.
    ok_in(&places.env, &places.linked.join("src"), &["release", "a.rs", "--as", "Alice"]);
    assert_eq!(places.holder(&places.clone, FILE), None);
}

#[test]
fn what_is_reserved_in_one_work_tree_is_in_the_way_of_all() {
    let places = Places::new();
    for dir in [&places.main, &places.linked, &places.inner, &places.clone] {
        places.reserve(dir, "Alice", &["src/"]);
        for other in [&places.main, &places.linked, &places.clone] {
            places.refused(other, "Bob", &["--repo", FILE]);
            if other != dir {
                places.reserve(other, "Bob", &[FILE]);
                ok_in(&places.env, other, &["release", FILE, "--as", "Bob"]);
            }
        }
        places.reserve(&places.main, "Bob", &["--repo", "docs/"]);
        ok_in(&places.env, &places.main, &["release", "docs/", "--as", "Bob"]);
        ok_in(&places.env, dir, &["release", "src/", "--as", "Alice"]);
    }
    // A path that a peer wrote without any of our keys.
    let registration = json!({
        "name": "RedIce", "pid": places.env.pi_host(), "sessionId": "of RedIce", "cwd": places.clone,
        "model": "m", "startedAt": "2099-11-14T23:57:56.070Z",
        "reservations": [{ "pattern": "src/", "since": "2026-11-14T23:57:56.077Z" }],
    });
    put(&places.env.mesh().join("registry/RedIce.json"), &registration.to_string());
    let error = places.refused(&places.linked, "Bob", &["--repo", FILE]);
    assert_eq!(error["conflicts"][0]["holder"], "RedIce");
    assert!(error["conflicts"][0].get("reach").is_none(), "{error}");
}

#[test]
fn the_same_path_with_and_without_it() {
    let places = Places::new();
    places.reserve(&places.main, "Alice", &[FILE]);
    let said = places.reserve(&places.main, "Alice", &["--repo", FILE]);
    assert_eq!((&said["renewed"], said["reservations"].as_array().unwrap().len()), (&json!(0), 1));
    assert_eq!(places.reserve(&places.main, "Alice", &["--repo", FILE])["renewed"], 1);
    assert_eq!(listed(&places.env), ["Alice src/a.rs", "Alice src/a.rs"]);
    assert_eq!(places.holder(&places.linked, FILE).as_deref(), Some("Alice"));
    ok_in(&places.env, &places.main, &["release", FILE, "--repo", "--as", "Alice"]);
    assert_eq!(places.holder(&places.linked, FILE), None);
    assert_eq!(places.holder(&places.main, FILE).as_deref(), Some("Alice"));
    let ended = run_in(&places.env, &places.main, &["release", FILE, "--repo", "--as", "Alice"]);
    assert_eq!(ended.expect_code(1).kind(), "not_reserved");
    places.reserve(&places.main, "Alice", &["--repo", FILE]);
    ok_in(&places.env, &places.main, &["release", FILE, "--as", "Alice"]);
    assert!(listed(&places.env).is_empty());
}

/// One captured edit and one captured command of each harness.
#[test]
fn every_harness_refuses_it_in_another_work_tree() {
    let edits = [
        ("claude/PreToolUse-Edit", "src/lib.rs"),
        ("claude/PreToolUse-Write", "src/new.rs"),
        ("codex/PreToolUse-apply_patch", "src/other.rs"),
        ("copilot/preToolUse-create", "src/new.rs"),
        ("copilot-pascal/PreToolUse-Write", "src/new.rs"),
        ("gemini/BeforeTool-write_file", "src/new.rs"),
        ("kimi/PreToolUse-Write", "src/new.rs"),
        ("opencode/tool.execute.before-write", "src/new.rs"),
        ("pi/tool_call-write", "src/new.rs"),
        ("qwen/PreToolUse-write_file", "src/new.rs"),
    ];
    let places = Places::new();
    places.reserve(&places.main, "Alice", &["--repo", "src/"]);
    for (fixture, file) in edits {
        for dir in places.others() {
            let call = Call::new(&places.env, fixture, &session_of("Bob"));
            let moved = call.input().replace("/home/dev/project", dir.to_str().unwrap());
            let moved = moved.replace(places.env.work().to_str().unwrap(), dir.to_str().unwrap());
            let input = places.env.path().join("moved");
            fs::write(&input, moved).unwrap();
            let mut command = call.command(&places.env);
            command.current_dir(dir).stdin(fs::File::open(&input).unwrap());
            let answer = call.understand(&end(&mut command));
            let HookAnswer::Deny(why) = answer else { panic!("{fixture} in {}: {answer:?}", dir.display()) };
            let says = "in every work tree of this repository) by Alice";
            assert!(why.contains(&format!("`{file}`")) && why.contains(says), "{fixture}: {why}");
        }
    }
    assert!(!places.env.mesh().join("trouble.jsonl").exists());
}

#[test]
fn commands_that_change_it_elsewhere_are_refused() {
    let places = Places::new();
    places.reserve(&places.main, "Alice", &["--repo", FILE]);
    let answer = |dir: &Path, command: &str| {
        let call =
            Call::bash(&places.env, "PreToolUse", &session_of("Bob"), command).with("/cwd", json!(dir));
        call.answer(&places.env)
    };
    for dir in places.others() {
        for command in ["echo x > src/a.rs", "rm -rf src", "sed -i s/a/b/ src/*.rs", "git checkout ."] {
            let said = answer(dir, command);
            assert!(
                matches!(&said, HookAnswer::Deny(why) if why.contains("by Alice")),
                "{command} in {}: {said:?}",
                dir.display()
            );
        }
        assert_eq!(answer(dir, "echo x > src/b.rs"), HookAnswer::Silence);
    }
    let there = format!("cd {} && touch src/a.rs", places.clone.display());
    assert!(matches!(answer(&places.env.work(), &there), HookAnswer::Deny(_)), "from elsewhere");
}

#[test]
fn a_file_that_a_command_changed_elsewhere_is_told() {
    let places = Places::new();
    places.reserve(&places.main, "Alice", &["--repo", FILE]);
    let call = |event: &str| {
        let call = Call::bash(&places.env, event, &session_of("Bob"), "make");
        call.with("/cwd", json!(places.linked))
    };
    assert_eq!(call("PreToolUse").answer(&places.env), HookAnswer::Silence);
    fs::write(places.linked.join(FILE), "changed by make").unwrap();
    let told = call("PostToolUse").context(&places.env);
    assert!(told.contains("`src/a.rs` (reserved by Alice)"), "{told}");
    assert!(places.read("Alice").contains("Reserved by you, and changed while a command of Bob ran"));
}

#[test]
fn the_guard_refuses_commits_of_it() {
    let places = Places::new();
    places.reserve(&places.main, "Alice", &["--repo", FILE]);
    for dir in places.others() {
        put(&dir.join(FILE), "changed");
        put(&dir.join("src/b.rs"), "changed");
        git(dir, &["add", "src/b.rs"]);
        assert_eq!(run_in(&places.env, dir, &["guard", "check"]).code, Some(0), "{}", dir.display());
        git(dir, &["add", FILE]);
        let refused = run_in(&places.env, dir, &["guard", "check"]).expect_code(1);
        assert!(refused.stdout.contains("Alice holds `src/a.rs` in every work tree"), "{refused}");
    }
}

#[test]
fn whoever_was_refused_is_told_when_it_is_free() {
    let places = Places::new();
    let host = places.env.join("Carol");
    // Refused by a hook and by `reserve`, in another work tree and in a clone.
    places.reserve(&places.main, "Alice", &["--repo", FILE]);
    assert!(matches!(places.edit(&places.linked, "Bob"), HookAnswer::Deny(_)));
    places.refused(&places.clone, "Bob", &[FILE]);
    assert_eq!(places.read("Bob"), "", "it is still held");
    ok_in(&places.env, &places.main, &["release", "--as", "Alice"]);
    let told = places.read("Bob");
    assert!(told.contains("free") && told.contains("Alice no longer holds"), "{told}");
    assert_eq!(places.edit(&places.linked, "Bob"), HookAnswer::Silence);
    // Wanted everywhere, and held in one clone by an agent that is killed.
    places.reserve(&places.clone, "Carol", &["src/"]);
    places.refused(&places.main, "Bob", &["--repo", FILE]);
    assert_eq!(places.read("Bob"), "", "it is still held");
    places.env.kill(host);
    let says = "Carol no longer holds it. To have it to yourself: msg reserve --repo src/a.rs";
    wait_until("Bob is told", || places.read("Bob").contains(says));
    places.reserve(&places.main, "Bob", &["--repo", FILE]);
    assert!(places.env.registration("Bob").get("waitsFor").is_none(), "it has what it waited for");
}

#[test]
fn it_can_be_contested_from_another_work_tree() {
    let places = Places::new();
    places.env.ok(&["config", "set", "contestTimeout", "1"]);
    places.reserve(&places.main, "Alice", &["--repo", "src/", "docs/"]);
    let contest = |dir: &Path, path: &str| ok_in(&places.env, dir, &["contest", path, "--as", "Bob"]);
    let made = contest(&places.linked, FILE);
    assert_eq!(made["contest"]["reservation"]["pattern"], "src/");
    // An edit of the holder's in any work tree is a sign.
    assert_eq!(places.edit(&places.clone, "Alice"), HookAnswer::Silence);
    let take = || run_in(&places.env, &places.linked, &["release", FILE, "--from", "Alice", "--as", "Bob"]);
    assert_eq!(take().expect_code(1).kind(), "at_work");
    let again = |place: &Value| place["contest"]["secondsLeft"] == 0;
    contest(&places.linked, FILE);
    wait_until("the time is over", || again(&contest(&places.linked, FILE)));
    let taken = take().expect_code(0).json();
    assert_eq!(taken["released"][0]["reach"], "repository");
    assert!(taken["reservations"][0].get("reach").is_none(), "it gets what it named: {taken}");
    assert_eq!(taken["reservations"][0]["root"], places.linked.to_str().unwrap());
    assert_eq!(places.holder(&places.clone, FILE), None);
    assert_eq!(listed(&places.env), ["Alice docs/", "Bob src/a.rs"]);
    places.refused(&places.main, "Alice", &["--repo", "src/"]);
    // Its heir has it at once when the holder lets go, and it conflicts with nothing.
    contest(&places.clone, "docs/");
    ok_in(&places.env, &places.main, &["release", "docs/", "--as", "Alice"]);
    assert_eq!(listed(&places.env), ["Bob docs/", "Bob src/a.rs"]);
}

#[test]
fn where_it_can_not_be_used() {
    let places = Places::new();
    let top = fs::canonicalize(places.env.path()).unwrap();
    let [empty, plain] = ["empty", "plain"].map(|name| top.join(name));
    git(&top, &["init", "-q", "empty"]);
    fs::create_dir(&plain).unwrap();
    git(&top, &["clone", "-q", "--bare", "main", "bare.git"]);
    let url = format!("file://{}", places.main.display());
    git(&top, &["clone", "-q", "--depth", "1", &url, "shallow"]);
    for (dir, why) in [
        (&plain, "is not in a git repository"),
        (&empty, "has no commit yet"),
        (&top.join("bare.git"), "is in a bare repository"),
    ] {
        let ended = run_in(&places.env, dir, &["reserve", "--repo", "x", "--as", "Alice"]);
        let error = ended.expect_code(2).json()["error"].clone();
        assert!(
            error["kind"] == "no_repository" && error["message"].as_str().unwrap().contains(why),
            "{error}"
        );
    }
    let ended = run_in(&places.env, &top.join("shallow"), &["reserve", "--repo", "x", "--as", "Alice"]);
    let error = ended.expect_code(2).json()["error"].clone();
    assert!(error["message"].as_str().unwrap().contains("is a shallow clone"), "{error}");
    assert!(error["hints"].to_string().contains("git fetch --unshallow"), "{error}");
    std::os::unix::fs::symlink(top.join("plain"), places.main.join("out")).unwrap();
    let outside = plain.display().to_string();
    for pattern in ["../plain", "out/x", &outside, "~/x", "/"] {
        let ended = run_in(&places.env, &places.main, &["reserve", "--repo", FILE, pattern, "--as", "Alice"]);
        let error = ended.expect_code(2).json()["error"].clone();
        assert!(
            error["kind"] == "too_broad" && error["message"].to_string().contains("outside of"),
            "{error}"
        );
    }
    let both =
        run_in(&places.env, &places.main, &["reserve", "--repo", "--force-broad", "/x", "--as", "Alice"]);
    assert_eq!(both.expect_code(2).kind(), "usage");
    assert!(listed(&places.env).is_empty(), "nothing was reserved");
}

#[test]
fn a_submodule_is_a_repository_of_its_own() {
    let places = Places::new();
    let top = fs::canonicalize(places.env.path()).unwrap();
    let outer = top.join("outer");
    put(&outer.join("README"), "");
    git(&outer, &["init", "-q", "-b", "main"]);
    git(&outer, &["submodule", "add", "-q", "../main", "lib"]);
    git(&outer, &["add", "."]);
    git(&outer, &["commit", "-q", "-m", "outer"]);
    git(&top, &["clone", "-q", "--recurse-submodules", "outer", "other"]);
    places.reserve(&outer.join("lib"), "Alice", &["--repo", FILE]);
    for dir in [&top.join("other/lib"), &places.main, &places.linked] {
        assert_eq!(places.holder(dir, FILE).as_deref(), Some("Alice"), "{}", dir.display());
    }
    assert_eq!(places.holder(&outer, FILE), None, "a path of the repository around it");
    ok_in(&places.env, &outer.join("lib"), &["release", "--as", "Alice"]);
    // Reserved in the repository around it, it binds where that is around it.
    places.reserve(&outer, "Alice", &["--repo", "lib/"]);
    assert_eq!(places.holder(&top.join("other/lib"), FILE).as_deref(), Some("Alice"));
    assert_eq!(places.holder(&top.join("other"), "lib").as_deref(), Some("Alice"));
    assert_eq!(places.holder(&places.main, FILE), None);
}

#[test]
fn it_is_listed_with_its_reach() {
    let places = Places::new();
    places.reserve(&places.main, "Alice", &["--repo", FILE]);
    let text = |args: &[&str]| end(places.env.msg().current_dir(&places.linked).args(args)).stdout;
    let said = text(&["reserve", "--repo", "docs/", "--as", "Bob"]);
    assert_eq!(said, "docs/ is yours in every work tree and clone of this repository.\n");
    assert!(text(&["reservations"]).contains("main (every work tree)"), "{}", text(&["reservations"]));
    assert!(text(&["agents"]).contains("holds src/a.rs (every work tree)"), "{}", text(&["agents"]));
    assert!(text(&["whois", "Alice"]).contains("src/a.rs (every work tree)"));
    let agents = places.env.ok(&["agents"])["agents"].clone();
    assert_eq!(agents[0]["reservations"][0]["repository"], places.commit.as_str(), "{agents}");
    let plain = places.reserve(&places.main, "Alice", &["x"]);
    assert!(
        plain["reservations"][0].get("reach").is_none()
            && plain["reservations"][0].get("repository").is_none()
    );
}

#[test]
fn the_mcp_tool_can_do_it() {
    let places = Places::new();
    let mut command = server(&places.env, "claude");
    command.current_dir(&places.main);
    let mut client = Client::greeted(command);
    let said = client.ok("reserve", json!({ "paths": [FILE], "repo": true }));
    assert!(said.text.contains("is yours (every work tree)"), "{}", said.text);
    let holder = client.name();
    assert_eq!(places.holder(&places.clone, FILE), Some(holder.clone()));
    let listed = client.ok("reserve", json!({ "action": "list" }));
    assert!(listed.text.contains(&format!("{holder} holds `{FILE}` (every work tree)")), "{}", listed.text);
}

#[test]
fn who_comes_back_gets_it_back_if_it_is_free_everywhere() {
    let places = Places::new();
    let back = |name: &str| {
        let host = places.env.host().to_string();
        let session = format!("session of {name}");
        ok_in(&places.env, &places.main, &["join", name, "--pid", &host, "--session", &session])
    };
    let host = places.env.join("Carol");
    places.reserve(&places.main, "Carol", &["--repo", FILE, "docs/"]);
    places.env.kill(host);
    places.reserve(&places.clone, "Bob", &["docs/x"]);
    back("Carol");
    assert_eq!(listed(&places.env), ["Bob docs/x", "Carol src/a.rs"]);
    assert_eq!(places.holder(&places.linked, FILE).as_deref(), Some("Carol"));
}
