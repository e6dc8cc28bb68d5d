//! The fence: a worker in a work tree of its own changes nothing outside of it, and what got through is named.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use ravenry::domain::hook::HookAnswer;
use ravenry::sys::test_switches::NO_HOOK_LIMIT;
use serde_json::{Value, json};

use super::worktrees::with_repository;
use super::{detached, path_with_msg, script, wait_for_state, with_profiles};
use crate::support::environment::{TestEnvironment, end, put_program, wait_until};
use crate::support::hook_call::Call;
use crate::support::hook_fixture::{Fixture, feed, hook};

fn git(dir: &Path, args: &[&str]) {
    let mut git = Command::new("git");
    git.arg("-C").arg(dir).args(["-c", "user.name=J", "-c", "user.email=j@example.org"]).args(args);
    let output = git.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A run that works in a work tree of its own.
struct Fenced {
    env: TestEnvironment,
    id: String,
    /// The person's tree.
    project: PathBuf,
    /// The work tree of the run.
    root: PathBuf,
}

impl Fenced {
    fn new() -> Self {
        let env = with_profiles(&script("hold", "read x < \"$HOME/go\"; echo over"));
        nix::unistd::mkfifo(&env.home().join("go"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let project = env.home().join("project");
        fs::create_dir_all(project.join("src")).unwrap();
        git(&project, &["init", "-q", "-b", "main"]);
        for file in ["src/lib.rs", "notes.txt", "n.ipynb", "a.txt"] {
            fs::write(project.join(file), "text\n").unwrap();
        }
        git(&project, &["add", "."]);
        git(&project, &["commit", "-q", "-m", "one"]);
        let root = env.home().join("trees/run");
        git(&project, &["worktree", "add", "-q", "--detach", root.to_str().unwrap()]);
        symlink(&project, root.join("to-project")).unwrap();
        let id = detached(&env, "hold", "x");
        wait_for_state(&env, &id, "running");
        let path = env.mesh().join(format!("runs/{id}/run.json"));
        let mut run: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        (run["root"], run["project"]) = (json!(root), json!(project));
        fs::write(&path, run.to_string()).unwrap();
        Self { env, id, project, root }
    }

    fn answer(&self, call: &Call) -> HookAnswer {
        let mut command = call.clone().with("/cwd", json!(self.root)).command(&self.env);
        call.understand(&end(command.env("MSG_RUN", &self.id).env(NO_HOOK_LIMIT, "1")))
    }

    fn bash(&self, event: &str, command: &str) -> HookAnswer {
        self.answer(&Call::bash(&self.env, event, "s", command))
    }

    /// The text with the places of this run: `P` and `W` at the beginning of a path.
    fn filled(&self, text: &str) -> String {
        let (project, root) = (self.project.to_str().unwrap(), self.root.to_str().unwrap());
        let mesh = self.env.mesh();
        text.replace("@P", project).replace("@W", root).replace("@M", mesh.to_str().unwrap())
    }

    fn edit(&self, tool: &str, key: &str, path: &str) -> HookAnswer {
        let call = Call::new(&self.env, "claude/PreToolUse-Edit", "s");
        let call = call.with("/tool_name", tool).with("/tool_input", json!({ key: self.filled(path) }));
        self.answer(&call)
    }

    fn finish(&self) -> Value {
        fs::write(self.env.home().join("go"), "go\n").unwrap();
        wait_for_state(&self.env, &self.id, "done")
    }
}

#[track_caller]
fn refused(answer: HookAnswer, what: &str) -> String {
    match answer {
        HookAnswer::Deny(text) => text,
        other => panic!("{what} is not refused: {other:?}"),
    }
}

/// Ways to write outside that are known beforehand.
const SHELL_WAYS: &[&str] = &[
    "echo x > @P/a.txt",
    "echo x >> @P/a.txt",
    "echo x >| @P/a.txt",
    "cat > @P/new.txt <<'EOF'\nx\nEOF",
    "printf x | tee @P/a.txt",
    "printf x | tee -a @P/a.txt >/dev/null",
    "cp a.txt @P/a.txt",
    "cp -r src @P/",
    "cp -t @P a.txt",
    "mv a.txt @P/",
    "rm @P/a.txt",
    "rm -rf @P/src",
    "rm -rf @P/*",
    "rm -rf @P/..",
    "sed -i s/a/b/ @P/a.txt",
    "perl -pi -e s/a/b/ @P/a.txt",
    "touch @P/new",
    "mkdir @P/newdir",
    "ln -s /x @P/link",
    "ln -sf a @P/a.txt",
    "dd if=/dev/zero of=@P/a.txt count=1",
    "truncate -s 0 @P/a.txt",
    "install -m 644 a.txt @P/a.txt",
    "rsync -a src/ @P/src/",
    "cd @P && echo x > a.txt",
    "(cd @P; rm a.txt)",
    "pushd @P; touch b; popd",
    "cd ../.. && echo x > project/a.txt",
    "echo x > ../../project/a.txt",
    "D=@P; echo x > \"$D/a.txt\"",
    "for f in a b; do echo x > @P/$f; done",
    "sh -c 'echo x > @P/a.txt'",
    "bash -c \"cd @P && rm a.txt\"",
    "env X=1 cp a.txt @P/a.txt",
    "sudo tee @P/a.txt < a.txt",
    "find @P -name '*.txt' -delete",
    "exec > @P/log",
    "ls 2> @P/err.log",
    "ls &> @P/all.log",
    "sort -o @P/a.txt a.txt",
    "echo @P | xargs -I{} cp a.txt {}/new.txt",
    "tar -xf a.tar -C @P",
    "unzip a.zip -d @P",
    "curl -o @P/a.txt http://localhost/",
    "wget -O @P/a.txt http://localhost/",
    "echo x > to-project/a.txt",
    "ln -s @P p && echo x > p/a.txt",
    "echo x > ~/elsewhere.txt",
    "echo x > /etc/ravenry-test",
    "git clone . @P/sub",
    "git -C @P checkout .",
    "git -C @P commit -am x",
    "git -C .. -C ../project reset --hard",
    "cd @P && git commit -am x",
    "git --git-dir=@P/.git --work-tree=@P checkout .",
    "git --work-tree @P checkout -f",
    "GIT_DIR=@P/.git git reset --hard",
    "export GIT_WORK_TREE=@P; git checkout .",
    "git stash",
    "git stash pop",
    "git stash push -m x",
    "git worktree remove --force @W",
    "git worktree prune",
    "git worktree move @W @W-2",
    "git worktree add ../other",
    "git update-ref refs/heads/main HEAD~1",
    "git branch -D main",
    "git branch -f main HEAD",
    "git config user.name Mallory",
    "git config --remove-section core",
    "git config --unset user.name",
    "git branch -Df main",
    "git branch -fq main HEAD",
    "git branch --del main",
    "git branch -u main",
    "git tag -d v1",
    "git tag -fa v1 -m x",
    "git tag --forc v1",
    "git checkout -B main",
    "git checkout --ignore-other-worktrees -B main",
    "git checkout main",
    "git checkout -qf main",
    "git switch main",
    "git switch -C main",
    "git switch --force-create main",
    "git rebase HEAD main",
    "git rebase --update-refs HEAD~1",
    "git symbolic-ref HEAD refs/heads/main",
    "git fetch . HEAD:refs/heads/main",
    "git fetch -f . HEAD:refs/heads/main",
    "git fetch --prune",
    "git pull . HEAD:main",
    "git push . HEAD:main",
    "git remote add other @P",
    "git reflog expire --expire=now --all",
    "git gc --prune=now",
    "git notes add -m x",
    "git submodule update --init",
    "git sparse-checkout set src",
    "git init",
    "git -c alias.s=stash s",
    "git -c core.worktree=@P checkout .",
    "git s",
    "git $COMMAND main",
    "git -C \"$ELSEWHERE\" reset --hard",
    "cd \"$ELSEWHERE\" && git commit -am x",
    "echo gitdir: @P/.git > .git",
    "rm .git",
    "echo x > @M/runs/other/answer-1.json",
    "rm -r @M/modes",
    "touch @M/anything",
];

#[test]
fn what_a_command_would_write_outside_is_refused() {
    let fenced = Fenced::new();
    assert!(SHELL_WAYS.len() >= 60);
    for way in SHELL_WAYS {
        let command = fenced.filled(way);
        refused(fenced.bash("PreToolUse", &command), &command);
    }
    // The command does what it says if nobody refuses it, so the tree is as it was.
    assert_eq!(fs::read_to_string(fenced.project.join("a.txt")).unwrap(), "text\n");
    fenced.finish();
}

#[test]
fn what_a_tool_would_edit_outside_is_refused_with_the_right_path() {
    let fenced = Fenced::new();
    for (tool, key, path) in [
        ("Edit", "file_path", "@P/a.txt"),
        ("Write", "file_path", "@P/new/file.txt"),
        ("MultiEdit", "file_path", "@P/src/lib.rs"),
        ("NotebookEdit", "notebook_path", "@P/n.ipynb"),
        ("Edit", "file_path", "../../project/a.txt"),
        ("Edit", "file_path", "to-project/a.txt"),
        ("Write", "file_path", "@W/../../project/a.txt"),
        ("Write", "file_path", "@P/.git/hooks/pre-commit"),
        ("Write", "file_path", "~/.bashrc"),
        ("Write", "file_path", "/etc/passwd"),
    ] {
        refused(fenced.edit(tool, key, path), path);
    }
    let forged = fenced.env.mesh().join(format!("runs/{}/answer-1.json", fenced.id));
    refused(fenced.edit("Write", "file_path", forged.to_str().unwrap()), "an answer to itself");
    let text = refused(fenced.edit("Edit", "file_path", "@P/src/lib.rs"), "it");
    assert!(text.contains(&fenced.filled("`@W/src/lib.rs`: use that path")), "{text}");
    fenced.finish();
}

#[test]
fn every_harness_is_held_to_it() {
    let fenced = Fenced::new();
    for name in [
        "claude/PreToolUse-Write",
        "claude/PreToolUse-NotebookEdit",
        "codex/PreToolUse-apply_patch",
        "gemini/BeforeTool-replace",
        "gemini/BeforeTool-write_file",
        "opencode/tool.execute.before-edit",
        "opencode/tool.execute.before-write",
        "opencode/tool.execute.before-apply_patch",
        "pi/tool_call-edit",
        "pi/tool_call-write",
        "copilot/preToolUse-edit",
        "copilot/preToolUse-create",
        "copilot/preToolUse-apply_patch",
        "copilot-pascal/PreToolUse-Write",
        "kimi/PreToolUse-Edit",
        "kimi/PreToolUse-Write",
    ] {
        let fixture = Fixture::of(&fenced.env.home(), name);
        let mut command = hook(&fenced.env, fixture.harness, &fixture.event);
        let ended = feed(command.env("MSG_RUN", &fenced.id), fixture.payload.as_bytes());
        assert!(ended.stdout.contains("outside of the work tree of this run"), "{name}: {ended}");
        let free = feed(&mut hook(&fenced.env, fixture.harness, &fixture.event), fixture.payload.as_bytes());
        assert_eq!(free.stdout, "", "{name}: who is no worker is not fenced");
    }
    fenced.finish();
}

#[test]
fn inside_and_in_temporary_directories_nothing_is_refused() {
    let fenced = Fenced::new();
    let temporary = tempfile::tempdir().unwrap();
    let temporary = temporary.path().to_str().unwrap();
    for command in [
        "echo x > a.txt",
        "rm -rf @W/src",
        "cp @P/a.txt b.txt",
        "cat @P/a.txt > /dev/null",
        "git add . && git commit -qm x",
        "git stash list",
        "git worktree list",
        "git config --get user.name",
        "git config user.name",
        "git branch mine",
        "git branch -av",
        "git branch other HEAD~0",
        "git tag v9 -m 'a tag'",
        "git tag -n5 -l",
        "git checkout -b mine",
        "git checkout -qb mine main",
        "git checkout -- a.txt",
        "git checkout a.txt",
        "git checkout main -- a.txt",
        "git checkout --detach main",
        "git switch -c mine main",
        "git switch --detach main",
        "git switch -",
        "git restore a.txt",
        "git rm a.txt",
        "git mv a.txt b.txt",
        "git rebase -i main",
        "git rebase --onto main HEAD~1",
        "git rebase --continue",
        "git cherry-pick main",
        "git merge main",
        "git reset --hard HEAD",
        "git commit -m \"$MESSAGE\"",
        "git -c user.name=X commit --amend --no-edit",
        "git fetch origin main",
        "git pull --rebase origin main",
        "git reflog",
        "git remote -v",
        "git remote get-url origin",
        "git symbolic-ref --short HEAD",
        "git config --list --show-origin",
        "git bisect start",
        "git diff main --stat",
        "git show HEAD:a.txt",
        "git status -sb",
        "git log > log.txt",
        "cargo test",
        "rm to-project",
        &format!("echo x > {temporary}/x"),
        &format!("git init -q {temporary}/r && git -C {temporary}/r commit --allow-empty -m x"),
    ] {
        let command = fenced.filled(command);
        assert_eq!(fenced.bash("PreToolUse", &command), HookAnswer::Silence, "{command}");
    }
    assert_eq!(fenced.edit("Write", "file_path", "@W/deep/new.txt"), HookAnswer::Silence);
    // A branch that it made is its own.
    git(&fenced.root, &["checkout", "-q", "-b", "own"]);
    git(&fenced.root, &["checkout", "-q", "--detach"]);
    assert_eq!(fenced.bash("PreToolUse", "git switch own"), HookAnswer::Silence);
    fenced.finish();
}

#[test]
fn a_record_that_can_not_be_read_drops_no_fence() {
    let fenced = Fenced::new();
    let record = fenced.env.mesh().join(format!("runs/{}/run.json", fenced.id));
    let whole = fs::read(&record).unwrap();
    fs::write(&record, "{").unwrap();
    for command in ["echo x > @P/a.txt", "echo x > a.txt", "git stash"] {
        let text = refused(fenced.bash("PreToolUse", &fenced.filled(command)), command);
        assert!(text.contains("can't be read"), "{text}");
    }
    assert_eq!(fenced.bash("PreToolUse", "ls"), HookAnswer::Silence);
    fs::write(&record, whole).unwrap();
    fenced.finish();
}

#[test]
fn a_worker_of_a_worker_is_held_to_the_same_fence() {
    let fenced = Fenced::new();
    let start = |dir: &Path| {
        let mut msg = fenced.env.msg();
        msg.args(["run", "hold", "y", "--detach", "--json"]).env("MSG_RUN", &fenced.id).current_dir(dir);
        end(&mut msg)
    };
    let outside = start(&fenced.project).expect_code(1).json();
    assert_eq!(outside["error"]["gate"], "harness", "{outside}");
    let inside = start(&fenced.root).expect_code(0).json();
    let id = inside["run"]["id"].as_str().unwrap();
    let call = Call::bash(&fenced.env, "PreToolUse", "s", &fenced.filled("echo x > @P/a.txt"));
    let mut command = call.clone().with("/cwd", json!(fenced.root)).command(&fenced.env);
    refused(call.understand(&end(command.env("MSG_RUN", id).env(NO_HOOK_LIMIT, "1"))), "it");
    fenced.env.ok(&["runs", "stop", id, "--now"]);
    wait_for_state(&fenced.env, id, "stopped");
    fenced.finish();
}

/// Ways of which nobody can tell beforehand what they write.
const OPAQUE_WAYS: &[&str] = &[
    "python3 -c \"open('@P/a.txt', 'a').write('x')\"",
    "sh @W/run.sh",
    "eval \"$(cat @W/run.sh)\"",
    "$(echo cp) a.txt \"$TARGET/new.txt\"",
    "perl -e 'open(F, q(>), q(@P/perl.txt))'",
];

#[test]
fn what_got_through_is_named_to_the_worker_and_in_the_ledger() {
    let fenced = Fenced::new();
    fs::write(fenced.root.join("run.sh"), fenced.filled("echo y >> @P/notes.txt\n")).unwrap();
    for way in OPAQUE_WAYS {
        let command = fenced.filled(way);
        assert_eq!(fenced.bash("PreToolUse", &command), HookAnswer::Silence, "{command}");
        let mut shell = Command::new("bash");
        shell.args(["-c", &command]).current_dir(&fenced.root).env("TARGET", &fenced.project);
        assert!(shell.status().unwrap().success(), "{command}");
        let HookAnswer::Context(said) = fenced.bash("PostToolUse", &command) else {
            panic!("nothing is said of {command}");
        };
        assert!(
            said.contains("while your command ran") && said.contains("It may have been a person"),
            "{said}"
        );
    }
    // What changes nothing there says nothing.
    assert_eq!(fenced.bash("PreToolUse", "make -n"), HookAnswer::Silence);
    assert_eq!(fenced.bash("PostToolUse", "make -n"), HookAnswer::Silence);
    let run = fenced.finish();
    assert_eq!(run["outside"], json!(["a.txt", "new.txt", "notes.txt", "perl.txt"]));
}

#[test]
fn who_else_is_at_work_there_is_named_and_their_own_edits_are_theirs() {
    let fenced = Fenced::new();
    let env = &fenced.env;
    let project = fenced.project.to_str().unwrap();
    let host = env.host().to_string();
    let mut join = env.msg();
    join.args(["join", "Robin", "--pid", &host, "--session", "of-robin", "--json"]).current_dir(project);
    end(&mut join).expect_code(0);
    let command = "make";
    assert_eq!(fenced.bash("PreToolUse", command), HookAnswer::Silence);
    // Robin edits a file, as its hooks report, and somebody changes another one.
    for file in ["a.txt", "notes.txt"] {
        fs::write(fenced.project.join(file), "new\n").unwrap();
    }
    for (event, fixture) in
        [("PreToolUse", "claude/PreToolUse-Edit"), ("PostToolUse", "claude/PostToolUse-Edit")]
    {
        let call = Call::new(env, fixture, "of-robin").with("/cwd", json!(project));
        let call = call.with("/tool_input/file_path", json!(fenced.project.join("a.txt")));
        assert_eq!(call.event, event);
        end(call.command(env).current_dir(project)).expect_code(0);
    }
    wait_until("the edit is in the track", || {
        let tracks = fs::read_dir(env.mesh().join("awareness")).into_iter().flatten().flatten();
        let mut contents = tracks.filter_map(|track| fs::read(track.path()).ok());
        contents.any(|content| content.windows(5).any(|part| part == b"a.txt"))
    });
    let HookAnswer::Context(said) = fenced.bash("PostToolUse", command) else { panic!("nothing is said") };
    assert!(said.contains("`notes.txt`") && !said.contains("`a.txt`"), "{said}");
    assert!(said.contains("At work there meanwhile: Robin."), "{said}");
    assert_eq!(fenced.finish()["outside"], json!(["notes.txt"]));
}

#[test]
fn a_command_in_a_work_tree_of_its_own_is_judged_by_the_tree_before_and_after() {
    let env = with_repository(
        &[
            script("strays", "cat >/dev/null; echo x >> b; echo x >> \"$RAVENRY_PROJECT/b\"; echo done"),
            script("stays", "cat >/dev/null; echo x >> b; echo done"),
        ]
        .concat(),
    );
    env.join("Robin");
    let run = |profile: &str| env.ok(&["run", profile, "x", "--worktree", "--as", "Robin"])["run"].clone();
    let (strayed, stayed) = (run("strays"), run("stays"));
    assert_eq!((&strayed["outside"], &stayed["outside"]), (&json!(["b"]), &json!([])));
    let mut text = String::new();
    wait_until("the parent is told", || {
        let mail = env.ok(&["inbox", "--as", "Robin"])["messages"].clone();
        let told = mail.as_array().unwrap().iter().filter_map(|message| message["text"].as_str());
        text = told.filter(|text| text.contains("`strays`")).collect();
        !text.is_empty()
    });
    let told = "Changed in your tree while it worked, by it or by somebody else: `b`.";
    assert!(text.contains(told), "{text}");
}

#[test]
fn a_worker_of_a_harness_is_fenced_in_its_work_tree() {
    // A stand-in for a harness that asks its hooks, and does what it is not refused.
    let stand_in = r#"#!/bin/sh
call() {
  printf '{"session_id":"s","cwd":"%s","tool_name":"Bash","tool_use_id":"%s","tool_input":{"command":"%s"}}' "$PWD" "$2" "$2" |
    msg hook claude "$1"
}
use() {
  case "$(call PreToolUse "$1")" in *'"deny"'*) said="$said refused"; return ;; esac
  sh -c "$1"
  case "$(call PostToolUse "$1")" in *'while your command ran'*) said="$said named" ;; *) said="$said done" ;; esac
}
use "echo x >> b"
use "echo x >> $PROJECT/b"
use "git stash"
use "sh $HOME/stray.sh"
printf '{"type":"result","subtype":"success","is_error":false,"result":"said:%s"}\n' "$said"
"#;
    let env = with_repository("[fenced]\nharness = \"claude\"\nisolation = \"worktree\"\n");
    let bin = env.home().join("bin");
    fs::create_dir_all(&bin).unwrap();
    put_program(&bin.join("claude"), stand_in);
    let project = env.work();
    fs::write(env.home().join("stray.sh"), format!("echo y > {}/strayed\n", project.display())).unwrap();
    let path = format!("{}:{}", bin.display(), path_with_msg());
    let variables = [("PATH", path.as_str()), ("PROJECT", project.to_str().unwrap()), (NO_HOOK_LIMIT, "1")];
    let run =
        env.run_with(&["run", "fenced", "x", "--json"], &variables).expect_code(0).json()["run"].clone();
    assert_eq!(run["result"], "said: done refused refused named");
    assert_eq!((&run["outside"], &run["changed"]), (&json!(["strayed"]), &json!(["b"])));
    assert_eq!(fs::read_to_string(project.join("b")).unwrap(), "one\n");
}

#[test]
fn a_tree_that_takes_too_long_is_looked_at_only_once() {
    let fenced = Fenced::new();
    let bin = fenced.env.home().join("slow");
    fs::create_dir(&bin).unwrap();
    let (calls, program) = (bin.join("calls"), bin.join("git"));
    let text = format!("#!/bin/sh\necho x >> '{}'\nexec sleep 600\n", calls.display());
    put_program(&program, &text);
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let slow = fenced.env.mesh().join(format!("runs/{}/tree-slow", fenced.id));
    let mut asked = Vec::new();
    for _ in 0..2 {
        let call = Call::bash(&fenced.env, "PreToolUse", "s", "make").with("/cwd", json!(fenced.root));
        let mut command = call.command(&fenced.env);
        end(command.env_remove(NO_HOOK_LIMIT).env("MSG_RUN", &fenced.id).env("PATH", &path));
        assert!(slow.exists());
        asked.push(fs::read_to_string(&calls).unwrap().len());
    }
    assert_eq!(asked[0], asked[1], "it looked again");
    fenced.finish();
}

#[test]
fn a_hook_that_is_killed_after_a_command_leaves_what_the_next_one_needs() {
    let fenced = Fenced::new();
    let bin = fenced.env.home().join("slow");
    fs::create_dir(&bin).unwrap();
    let pid = bin.join("pid");
    put_program(&bin.join("git"), &format!("#!/bin/sh\necho $$ > '{}'\nexec sleep 600\n", pid.display()));
    let command = "make";
    assert_eq!(fenced.bash("PreToolUse", command), HookAnswer::Silence);
    fs::write(fenced.project.join("notes.txt"), "new\n").unwrap();
    let kept = || {
        let files = fs::read_dir(fenced.env.mesh().join(format!("runs/{}", fenced.id))).unwrap().flatten();
        let names = files.map(|file| file.file_name().into_string().unwrap());
        names.filter(|name| name.starts_with("tree-")).collect::<Vec<_>>()
    };
    let before = kept();
    assert_eq!(before.len(), 1, "{before:?}");
    let call = Call::bash(&fenced.env, "PostToolUse", "s", command).with("/cwd", json!(fenced.root));
    let mut hook = call.command(&fenced.env);
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    hook.env("MSG_RUN", &fenced.id).env(NO_HOOK_LIMIT, "1").env("PATH", &path);
    let mut hook = hook.spawn().unwrap();
    let mut slow = 0;
    wait_until("it looks at the tree", || {
        slow = fs::read_to_string(&pid).unwrap_or_default().trim().parse().unwrap_or_default();
        slow > 0
    });
    hook.kill().unwrap();
    hook.wait().unwrap();
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(slow), nix::sys::signal::SIGKILL).unwrap();
    assert_eq!(kept(), before);
    // A harness that calls its hook again, or the next call of the same command.
    let HookAnswer::Context(said) = fenced.bash("PostToolUse", command) else { panic!("nothing is said") };
    assert!(said.contains("`notes.txt`"), "{said}");
    assert!(kept().is_empty());
    assert_eq!(fenced.finish()["outside"], json!(["notes.txt"]));
}

#[test]
fn what_no_hook_saw_is_named_at_the_end() {
    let env = super::worktrees::with_repository("[writer]\nharness = \"claude\"\n");
    let bin = env.home().join("bin");
    fs::create_dir_all(&bin).unwrap();
    let program = bin.join("claude");
    // As a tool of a server does it, or what is left running: no hook is called for it.
    let text = "#!/bin/sh\necho y >> \"$PROJECT/b\"\n\
                printf '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"over\"}\\n'\n";
    put_program(&program, text);
    let path = format!("{}:{}", bin.display(), super::path_with_msg());
    let project = env.work();
    let variables = [("PATH", path.as_str()), ("PROJECT", project.to_str().unwrap())];
    let ended = env.run_with(&["run", "writer", "x", "--worktree", "--json"], &variables);
    assert_eq!(ended.json()["run"]["outside"], json!(["b"]), "{ended}");
}
