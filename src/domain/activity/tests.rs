//! Tables of tools and commands with the activity, test run or commit that they must yield.

use super::*;
use crate::domain::shell::{self, ShellEnvironment};

/// `/w` and `/w/sub` are the only directories.
struct Small;

impl ShellEnvironment for Small {
    fn is_dir(&self, path: &str) -> bool {
        ["/w", "/w/sub"].contains(&path)
    }

    fn read(&self, _: &str) -> Option<String> {
        None
    }

    fn work_tree(&self, _: &str) -> Option<String> {
        Some("/w".to_string())
    }

    fn home(&self) -> Option<String> {
        None
    }

    fn variable(&self, _: &str) -> Option<String> {
        None
    }
}

fn runs(command: &str) -> Vec<ProgramRun> {
    shell::predict_command(command, "/w", &Small).runs
}

#[test]
fn which_commands_run_tests() {
    for command in [
        "cargo test",
        "cargo +nightly test --locked -- --nocapture",
        "cargo --color never t",
        "cargo --manifest-path sub/Cargo.toml test",
        "cargo nextest run",
        "RUST_BACKTRACE=1 cargo test",
        "timeout 60 cargo test",
        "/usr/bin/env FOO=1 cargo test",
        "bash -c 'cargo test'",
        "cd sub && cargo test 2>&1 | tail -40",
        "for i in 1 2 3; do cargo test; done",
        "run() { cargo test \"$@\"; }; run --lib",
        "pytest -x tests/",
        "python -m pytest",
        "python3 -m unittest discover",
        "uv run pytest -q",
        "uv run --frozen python -m pytest",
        "poetry run pytest",
        "npm test",
        "npm t",
        "npm run test",
        "npm run test:unit -- --watch=false",
        "npm --prefix web test",
        "pnpm -r test",
        "pnpm --filter api test",
        "pnpm exec vitest run",
        "yarn test",
        "yarn workspace web test",
        "bun test",
        "npx jest --ci",
        "npx --yes vitest run",
        "./node_modules/.bin/jest",
        "go test ./...",
        "gotestsum",
        "make test",
        "make -j4 check",
        "make -C sub test",
        "just test",
        "mvn -q test",
        "./mvnw -pl core verify",
        "./gradlew :app:test",
        "gradle check",
        "bundle exec rspec spec/models",
        "rails test",
        "bundle exec rake spec",
        "mix test",
        "dotnet test --no-build",
        "ctest --output-on-failure",
        "swift test",
        "xcodebuild -scheme App test",
        "php artisan test",
        "vendor/bin/phpunit",
        "zig build test",
        "deno test -A",
    ] {
        assert!(NotableRuns::of(&runs(command)).test.is_some(), "{command}");
    }
    for command in [
        "cargo build",
        "cargo test --no-run",
        "cargo test --help",
        "cargo nextest list",
        "cargo run --bin test",
        "echo cargo test",
        "echo 'npm test' > notes",
        "grep -r 'cargo test' .",
        "git commit -m 'cargo test passes'",
        "test -f x",
        "[ -f test ]",
        "cat <<'EOF' > run.sh\ncargo test\nEOF",
        "pytest --collect-only",
        "pip install pytest",
        "npm install jest",
        "npm run build",
        "npm run latest",
        "go build ./...",
        "make all",
        "ls tests",
        "mkdir test",
        "run() { cargo test; }",
        "# cargo test",
        "$RUNNER test",
    ] {
        assert_eq!(NotableRuns::of(&runs(command)).test, None, "{command}");
    }
}

#[test]
fn the_outcome_of_the_whole_is_not_always_that_of_the_tests() {
    let (good, bad) = (Some(ToolOutcome::Succeeded), Some(ToolOutcome::Failed));
    for (command, if_good, if_bad) in [
        ("cargo test", Some(true), Some(false)),
        ("cargo test > log 2>&1", Some(true), Some(false)),
        ("(cargo test)", Some(true), Some(false)),
        ("timeout 60 cargo test", Some(true), Some(false)),
        ("cd sub && cargo test", Some(true), Some(false)),
        ("cd nosuch && cargo test", Some(true), None),
        ("cd $X && cargo test", Some(true), None),
        ("echo hi; cargo test", Some(true), Some(false)),
        ("export A=1 && cargo test", Some(true), Some(false)),
        ("cargo fmt && cargo test", Some(true), None),
        ("cargo test && cargo build", Some(true), None),
        ("cargo test && echo ok", Some(true), Some(false)),
        ("cargo test && npm test", Some(true), None),
        ("cargo test; npm test", None, None),
        ("cargo test; echo done", None, None),
        ("cargo test | tail", None, None),
        ("cat x | cargo test", Some(true), None),
        ("cargo test || true", None, None),
        ("cargo test &", None, None),
        ("! cargo test", None, None),
        ("if cargo test; then echo ok; fi", None, None),
        ("x=$(cargo test)", None, None),
        ("for i in 1 2; do cargo test; done", None, None),
        ("find . -exec pytest {} +", None, None),
    ] {
        let test = NotableRuns::of(&runs(command)).test.unwrap_or_else(|| panic!("{command}"));
        assert_eq!((test.has_passed(good), test.has_passed(bad)), (if_good, if_bad), "{command}");
        assert_eq!(test.has_passed(None), None, "{command}");
    }
}

#[test]
fn commits_and_their_subjects() {
    for (command, expected) in [
        ("git commit -m 'fix: login'", Some(("/w", Some("fix: login")))),
        ("git add -A && git commit -am \"all of it\" && git push", Some(("/w", Some("all of it")))),
        ("git commit -mshort", Some(("/w", Some("short")))),
        ("git commit --message='long one'", Some(("/w", Some("long one")))),
        ("git commit --message \"two\" -m three", Some(("/w", Some("two")))),
        ("git -C sub commit -qm x", Some(("/w/sub", Some("x")))),
        ("cd sub && git -c user.name=me commit -m x", Some(("/w/sub", Some("x")))),
        ("git commit -m \"$(cat <<'EOF'\nsubject here\n\nbody\nEOF\n)\"", Some(("/w", Some("subject here")))),
        ("git commit -m \"$MESSAGE\"", Some(("/w", None))),
        ("git commit -F message.txt", Some(("/w", None))),
        ("git commit --amend --no-edit", Some(("/w", None))),
        ("git commit", Some(("/w", None))),
        ("git commit --dry-run", None),
        ("git status", None),
        ("git log --grep commit", None),
        ("git help commit", None),
        ("echo git commit -m x", None),
    ] {
        let commit = NotableRuns::of(&runs(command)).commit;
        let got = commit.as_ref().map(|commit| (commit.dir.as_deref().unwrap(), commit.subject.as_deref()));
        assert_eq!(got, expected, "{command}");
    }
}

#[test]
fn what_an_agent_is_at() {
    let shell = |command: &str| {
        let tool = ToolUse { command: Some(command.to_string()), ..ToolUse::default() };
        activity(&tool, &runs(command), str::to_string)
    };
    for (command, expected) in [
        ("git add x && git commit -m y", Some("committing")),
        ("cargo test --locked", Some("running tests")),
        ("cargo build --release", Some("running cargo build")),
        ("cd sub && make -j8", Some("running make")),
        ("sudo apt install x", Some("running apt install")),
        ("rg pattern src", Some("running rg")),
        ("curl -H 'Authorization: secret' https://x", Some("running curl")),
        ("docker --context x ps", Some("running docker")),
        ("npm run build", Some("running npm run")),
        ("msg inbox", None),
        ("cd sub", None),
        ("echo hi", None),
        ("", None),
        ("\"a b\" c", None),
    ] {
        let expected =
            expected.map_or(ActivityChange::Unchanged, |text| ActivityChange::Set(text.to_string()));
        assert_eq!(shell(command), expected, "{command}");
    }
    let paths = |edits: &[&str], reads: &[&str]| {
        let owned = |paths: &[&str]| paths.iter().map(|path| path.to_string()).collect();
        let tool = ToolUse { edits: owned(edits), reads: owned(reads), ..ToolUse::default() };
        activity(&tool, &[], |path| path.trim_start_matches("/w/").to_string())
    };
    assert_eq!(paths(&["/w/src/a.rs", "/w/b"], &[]), ActivityChange::Set("editing src/a.rs".to_string()));
    assert_eq!(paths(&[], &["/w/src/a.rs"]), ActivityChange::Set("reading src/a.rs".to_string()));
    assert_eq!(paths(&[], &[]), ActivityChange::Unchanged);
}
