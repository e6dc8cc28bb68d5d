//! What a crew can't work with: each is told in a clear sentence, and nothing is half done.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::stage::{
    JUDGE, ONE, WORK, assert_tidy, attempts, crew_work, processes, start, strings, subjects, task, traces,
    with_crew,
};
use super::{answer, names, plan_file, runs, with_planner};
use crate::runs::worktrees::{directories, git};
use crate::support::environment::{TestEnvironment, end, put, put_program, wait_until};

/// `crew work` of that spec is refused with this kind and sentence, and changes nothing.
#[track_caller]
fn assert_refused(env: &TestEnvironment, args: &[&str], kind: &str, part: &str) -> Value {
    let before = traces(env);
    let all = [&["crew", "work"], args, &["--yes", "--profile", "builder", "--json"]].concat();
    let ended = env.run(&all).expect_code(if kind == "invalid_value" { 2 } else { 1 });
    let error = ended.json()["error"].clone();
    assert_eq!(error["kind"], kind, "{ended}");
    assert!(error["message"].as_str().unwrap().contains(part), "{part}: {ended}");
    assert_eq!(traces(env), before, "nothing is half done");
    error
}

/// The report of `crew work`, which ends with that code.
#[track_caller]
fn work(env: &TestEnvironment, spec: &str, code: i32) -> Value {
    env.run(&["crew", "work", spec, "--yes", "--profile", "builder", "--json"]).expect_code(code).json()
}

#[test]
fn a_spec_without_tasks_is_refused() {
    let env = with_crew("- [ ] T-1: One\n", &[]);
    for text in ["", "\n", "# Plan\n\nSome words.\n", "- a list\n- [ ] without an id\n"] {
        fs::write(env.work().join("empty.md"), text).unwrap();
        let error = assert_refused(&env, &["empty.md"], "invalid_value", "there is no task in `");
        assert!(error["hints"][0].as_str().unwrap().contains("`- [ ] T-1: Title"), "{error}");
    }
    fs::create_dir(env.work().join("folder.md")).unwrap();
    assert_refused(&env, &["folder.md"], "invalid_value", "not a file: `");
    fs::write(env.work().join("binary.md"), [0xff, 0xfe, 0, 1]).unwrap();
    assert_refused(&env, &["binary.md"], "invalid_value", "is not UTF-8 text");
    assert_refused(&env, &["none.md"], "invalid_value", "no such file: `");
}

#[test]
fn a_command_that_hangs_is_ended_with_all_that_it_started() {
    let env = with_crew("- [ ] T-1: x\n", &[("T-1.1", "echo one > one"), ("T-2.1", "echo two > two")]);
    // It has a session of its own and no variable by which it could be found, but the directory in its command line.
    let apart = format!("setsid env -i sh -c 'sleep 1000; : {}'", env.path().display());
    let hang = format!("{apart} & echo begun; sleep 1000");
    let spec = format!("- [ ] T-1: Hangs\n  paths: one\n  verify: {hang}\n- [ ] T-2: Fine\n  paths: two\n");
    fs::write(env.work().join("PLAN.md"), spec).unwrap();
    env.ok(&["workers", "trust", "--spec", "PLAN.md", "--yes"]);
    env.configure(r#"{"backOff": 0, "verifyTimeout": 10}"#);
    let report = work(&env, "PLAN.md", 1);
    let hanging = task(&report, "T-1");
    assert_eq!((&hanging["state"], attempts(&env, "T-1")), (&json!("blocked"), 3), "{hanging:#}");
    assert_eq!(hanging["reason"], format!("`{hang}` ended with a timeout after 10 s each time"));
    let told = fs::read_to_string(env.home().join("brief-T-1")).unwrap();
    let expected = format!("`{hang}` ended with a timeout after 10 s. The end of its output:\n> begun\n");
    assert!(told.contains(&expected), "{told}");
    assert_eq!((&task(&report, "T-2")["state"], subjects(&env)), (&json!("done"), strings(["Fine"])));
    wait_until("every process has ended", || processes(&env).is_empty());
    assert_eq!(directories(&env), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_reviewer_that_answers_nothing_but_nonsense_counts_as_replan() {
    let env = with_crew(ONE, &[("T-1.1", "echo one > one")]);
    let asked = env.home().join("asked");
    let nonsense = format!(
        "#!/bin/sh\ncat > /dev/null\necho x >> '{}'\necho '{{\"verdict\": \"maybe\"}}'\n",
        asked.display()
    );
    put_program(&env.home().join("judge"), &nonsense);
    let report = work(&env, "PLAN.md", 1);
    let blocked = task(&report, "T-1");
    assert_eq!((&blocked["state"], &blocked["attempts"]), (&json!("blocked"), &json!(1)), "{blocked:#}");
    assert!(blocked["reason"].as_str().unwrap().starts_with("there is no review of it: "), "{blocked:#}");
    assert_eq!(fs::read_to_string(&asked).unwrap().lines().count(), 2, "it is asked once more");
    assert_eq!((subjects(&env), directories(&env)), (Vec::new(), Vec::new()));
    assert_eq!(env.ok(&["tasks", "--spec", "PLAN.md"])["tasks"][0]["state"], "open", "nobody has it");
    // The work is there: a reviewer that answers is all that was missing.
    put_program(&env.home().join("judge"), JUDGE);
    work(&env, "PLAN.md", 0);
    assert_eq!((attempts(&env, "T-1"), subjects(&env)), (1, strings(["One"])));
    assert_tidy(&env);
}

#[test]
fn without_a_repository_with_a_commit_and_a_tree_nothing_is_started() {
    let env = with_crew("- [ ] T-1: One\n", &[]);
    let refused = |dir: &Path, part: &str| {
        fs::write(dir.join("PLAN.md"), "- [ ] T-1: One\n").unwrap();
        let mut command = env.msg();
        let ended = end(command.current_dir(dir).args(WORK).arg("--json")).expect_code(2);
        let error = ended.json()["error"].clone();
        assert_eq!(error["kind"], "no_repository", "{ended}");
        assert!(error["message"].as_str().unwrap().contains(part) && error["hints"].is_array(), "{ended}");
        assert!(runs(&env).is_empty());
    };
    let dir = |name: &str, init: &[&str]| {
        let dir = env.path().join(name);
        fs::create_dir(&dir).unwrap();
        if !init.is_empty() {
            git(&dir, init);
        }
        dir
    };
    refused(&dir("plain", &[]), "is not in a git repository");
    let unborn = dir("unborn", &["init", "-q", "-b", "main"]);
    refused(&unborn, "has no commits: make the first one");
    assert_eq!(git(&unborn, &["for-each-ref"]), "");
    refused(&dir("bare", &["init", "-q", "--bare"]), "is bare");
    refused(&env.work().join(".git"), "is inside of a git directory");
}

#[test]
fn changes_that_no_worker_would_see_are_told_by_name() {
    let env = with_crew(ONE, &[("T-1.1", "echo one > one")]);
    let work_dir = env.work();
    fs::write(work_dir.join("a"), "changed\n").unwrap();
    fs::write(work_dir.join("b"), "staged\n").unwrap();
    git(&work_dir, &["add", "b"]);
    fs::remove_file(work_dir.join("c")).unwrap();
    let error = assert_refused(
        &env,
        &["PLAN.md"],
        "not_clean",
        "(`a`, `b`, `c`): workers start from the last commit",
    );
    assert_eq!(
        (&error["paths"], &error["hints"]),
        (
            &json!(["a", "b", "c"]),
            &json!(["commit or stash them, or let the branch begin with them: `--from-snapshot`"])
        )
    );
    git(&work_dir, &["stash", "-q"]);
    work(&env, "PLAN.md", 0);
    // What was begun goes on, whatever the person changes meanwhile.
    fs::write(work_dir.join("a"), "changed\n").unwrap();
    work(&env, "PLAN.md", 0);
    assert_eq!((attempts(&env, "T-1"), subjects(&env)), (1, strings(["One"])));
}

#[test]
fn a_crew_may_start_from_a_detached_head() {
    let env = with_crew(ONE, &[("T-1.1", "echo one > one")]);
    let work_dir = env.work();
    let first = git(&work_dir, &["rev-parse", "HEAD"]);
    git(&work_dir, &["commit", "-q", "--allow-empty", "-m", "second"]);
    git(&work_dir, &["checkout", "-q", "--detach", &first]);
    let report = work(&env, "PLAN.md", 0);
    assert_eq!((&report["start"], &report["merge"]), (&json!(first), &json!("git merge ravenry/crew-PLAN")));
    assert_eq!(git(&work_dir, &["rev-parse", "ravenry/crew-PLAN^"]), first, "it starts where HEAD is");
    assert_eq!(git(&work_dir, &["rev-parse", "--symbolic-full-name", "HEAD"]), "HEAD", "it stays detached");
    // What is said to be typed takes the work there, and on a branch.
    for place in ["HEAD", "main"] {
        git(&work_dir, &["checkout", "-q", place]);
        git(&work_dir, &["merge", "-q", "--no-edit", "ravenry/crew-PLAN"]);
        assert_eq!(git(&work_dir, &["show", "HEAD:one"]), "one");
    }
}

/// Names that a shell, git or a terminal could take for something else.
const ODD_NAMES: [&str; 7] =
    ["sp ace/it's \"q\"", "größe", "-dash", "new\nline", "back\\slash", "tab\tsign", "$HOME `id` ;#&"];

#[test]
fn a_path_that_needs_quoting_is_as_good_as_any() {
    let mut script = String::from("mkdir -p 'sp ace'\n");
    for name in ODD_NAMES {
        script.push_str(&format!("echo one > '{}'\n", format!("./{name}").replace('\'', "'\\''")));
    }
    let paths = "sp ace/it's \"q\", größe, -dash, new*line, back\\\\slash, tab*sign";
    let spec = format!(
        "- [ ] T-1: An \"odd\" 'title' $HOME\n  paths: {paths}\n  verify: test -f ./-dash && test -f 'sp ace/it'\\''s \"q\"'\n\
         - [ ] T-2: Conflicts\n  paths: other\n"
    );
    let second = format!(
        "{}printf 'two\\n' > 'new\nline'",
        "until git cat-file -e \"$BRANCH:größe\"; do sleep 0.05; done\n"
    );
    let env = with_crew("- [ ] T-1: One\n", &[("T-1.1", &script)]);
    let folder = env.work().join("it's a \"folder\" ünder\nneath");
    put(&folder.join("-my pläñ $x\nb.plan.md"), &spec);
    let typed = "it's a \"folder\" ünder\nneath/-my pläñ $x\nb.plan.md";
    env.ok(&["workers", "trust", "--spec", typed, "--yes"]);
    let branch = "ravenry/crew-my-pläñ--x-b";
    fs::write(env.home().join("tasks/T-2.1"), second.replace("$BRANCH", branch)).unwrap();
    let resolve = "printf 'one\\ntwo\\n' > 'new\nline'";
    fs::write(env.home().join("tasks/T-2.2"), resolve).unwrap();
    let report = work(&env, typed, 0);
    let merge = format!("git merge '{branch}'");
    assert_eq!((&report["branch"], &report["merge"]), (&json!(branch), &json!(merge)));
    assert_eq!(task(&report, "T-1")["outside"], json!(["$HOME `id` ;#&"]));
    assert_eq!(task(&report, "T-2")["attempts"], 2);
    let told = fs::read_to_string(env.home().join("brief-T-2")).unwrap();
    assert!(told.contains("in: `new\\nline`. Resolve them"), "{told}");
    let listed = git(&env.work(), &["ls-tree", "-r", "-z", "--name-only", branch]);
    for name in ODD_NAMES {
        assert!(listed.split('\0').any(|there| there == name), "{name:?}: {listed:?}");
    }
    let message = git(&env.work(), &["log", "-1", "--format=%B", branch]);
    assert_eq!(message.lines().count(), 3, "the name of the spec is on one line: {message}");
    for page in [&["crew", "status"][..], &["crew", "report"], &["crew", "report", typed, "--markdown"]] {
        let shown = env.run(page).expect_code(0).stdout;
        assert!(!shown.contains("ünder\nneath") && !shown.contains("new\nline"), "{shown}");
    }
    // The command is typed as it is told.
    let mut shell = Command::new("sh");
    assert!(shell.args(["-c", &merge]).current_dir(env.work()).status().unwrap().success());
    assert!(env.work().join("new\nline").exists());
}

#[test]
fn a_name_that_is_not_text_is_merged_like_any_other() {
    let env = with_crew("- [ ] T-1: One\n", &[("T-1.1", "echo one > \"$(printf 'bad\\377')\"")]);
    let report = work(&env, "PLAN.md", 0);
    assert_eq!(task(&report, "T-1")["state"], "done");
    git(&env.work(), &["merge", "-q", "ravenry/crew-PLAN"]);
    assert!(env.work().join(std::ffi::OsStr::from_bytes(b"bad\xff")).exists());
}

/// A repository with a submodule `lib`.
fn with_submodule(spec: &str, scripts: &[(&str, &str)]) -> TestEnvironment {
    let env = with_crew(spec, scripts);
    let library = env.path().join("library");
    fs::create_dir(&library).unwrap();
    git(&library, &["init", "-q", "-b", "main"]);
    fs::write(library.join("source"), "1\n").unwrap();
    git(&library, &["add", "-A"]);
    git(
        &library,
        &["-c", "user.name=Lib", "-c", "user.email=lib@example.org", "commit", "-q", "-m", "first"],
    );
    let place = library.to_str().unwrap();
    git(&env.work(), &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", place, "lib"]);
    git(&env.work(), &["commit", "-q", "-m", "with a submodule"]);
    env
}

/// What a builder runs to have the submodule.
const INIT: &str = "git -c protocol.file.allow=always submodule --quiet update --init\n";

#[test]
fn a_submodule_stays_as_it_is() {
    let built = format!("{INIT}echo made > lib/made; echo one > one");
    let env = with_submodule(ONE, &[("T-1.1", &built)]);
    let before = git(&env.work(), &["rev-parse", "HEAD:lib"]);
    let ended = env.run(&WORK).expect_code(0);
    assert!(ended.stderr.contains("the submodules of this repository are empty directories"), "{ended}");
    assert_eq!(git(&env.work(), &["rev-parse", "ravenry/crew-PLAN:lib"]), before);
    assert_eq!(
        (subjects(&env), git(&env.work(), &["status", "--porcelain"])),
        (strings(["One"]), "?? PLAN.md".to_string())
    );
}

#[test]
fn work_that_no_commit_can_have_is_not_called_done() {
    let inside = "git -c user.name=x -c user.email=x@example.org commit -q -a -m more; cd ..\n";
    let changed = format!("{INIT}cd lib; git checkout -q -b more; echo 2 > source; {inside}");
    let added = format!("git init -q own; cd own; echo 1 > q; git add q; {inside}echo two > two");
    let spec = "- [ ] T-1: Changes it\n  paths: lib\n- [ ] T-2: Adds another\n  paths: own, two\n";
    let env = with_submodule(spec, &[("T-1.1", &changed), ("T-2.1", &added)]);
    let report = work(&env, "PLAN.md", 1);
    let kept = directories(&env);
    assert_eq!((kept.len(), subjects(&env)), (2, Vec::new()), "{report:#}");
    for (id, name, why) in [
        ("T-1", "lib", "it is a submodule with changes of its own"),
        ("T-2", "own", "it is another git repository"),
    ] {
        let blocked = task(&report, id);
        assert_eq!(blocked["state"], "blocked", "{blocked:#}");
        let reason = blocked["reason"].as_str().unwrap();
        let start = format!("`{name}` can't be merged: {why}. It is only in `");
        let place =
            reason.strip_prefix(&start).unwrap_or_else(|| panic!("{reason}")).split('`').next().unwrap();
        assert!(kept.iter().any(|dir| dir == Path::new(place)), "{reason}");
        // The person does what it says.
        match id {
            "T-1" => drop(git(&Path::new(place).join("lib"), &["checkout", "-q", "main"])),
            _ => fs::rename(Path::new(place).join("own"), env.path().join("own")).unwrap(),
        }
    }
    // Nobody does the work again: T-2 has a file that can be merged, and T-1 nothing that is missing.
    let report = work(&env, "PLAN.md", 0);
    assert_eq!([1, 1], ["T-1", "T-2"].map(|id| attempts(&env, id)), "{report:#}");
    assert_eq!(subjects(&env), ["Adds another"]);
}

#[test]
fn a_spec_may_be_in_a_subfolder_and_in_a_linked_work_tree() {
    let env = with_crew("", &[("T-1.1", "echo one > one")]);
    let main = env.work();
    fs::remove_file(main.join("PLAN.md")).unwrap();
    put(&main.join("docs/deep/PLAN.md"), ONE);
    let msg_in = |dir: &Path, args: &[&str]| end(env.msg().current_dir(dir).args(args).arg("--json"));
    msg_in(&main.join("docs/deep"), &["workers", "trust", "--spec", "PLAN.md", "--yes"]).expect_code(0);
    msg_in(&main.join("docs/deep"), &WORK).expect_code(0);
    assert_eq!(git(&main, &["show", "ravenry/crew-PLAN:one"]), "one", "paths are those of the repository");
    let status = msg_in(&main, &["crew", "status"]).expect_code(0).json();
    assert_eq!(status["spec"], main.join("docs/deep/PLAN.md").to_str().unwrap());
    // A linked work tree is the same repository with another branch.
    let linked = env.path().join("linked");
    git(&main, &["worktree", "add", "-q", "-b", "side", linked.to_str().unwrap()]);
    git(&linked, &["commit", "-q", "--allow-empty", "-m", "on the side"]);
    fs::write(linked.join("SIDE.md"), "- [ ] T-2: Two\n  paths: two\n").unwrap();
    fs::write(env.home().join("tasks/T-2.1"), "echo two > two").unwrap();
    let side = ["crew", "work", "SIDE.md", "--yes", "--profile", "builder"];
    let report = msg_in(&linked, &side).expect_code(0).json();
    assert_eq!(report["start"], git(&linked, &["rev-parse", "side"]));
    assert_eq!(git(&main, &["log", "-1", "--format=%s", "ravenry/crew-SIDE^"]), "on the side");
    let status = msg_in(&linked, &["crew", "status"]).expect_code(0).json();
    assert_eq!((&status["branch"], &status["commits"]), (&json!("ravenry/crew-SIDE"), &json!(1)));
    let status = msg_in(&main, &["crew", "status"]).expect_code(0).json();
    assert_eq!(status["branch"], "ravenry/crew-PLAN", "each work tree has its own");
    assert_eq!(
        (git(&linked, &["status", "--porcelain"]), directories(&env)),
        ("?? SIDE.md".to_string(), Vec::new())
    );
}

#[test]
fn two_crews_do_not_build_one_branch() {
    let env = with_crew(ONE, &[("T-1.1", "until [ -e \"$HOME/go\" ]; do sleep 0.05; done; echo one > one")]);
    put(&env.work().join("other/PLAN.md"), "- [ ] T-9: Other\n");
    fs::write(env.home().join("tasks/T-9.1"), "echo nine > nine").unwrap();
    let mut crew = start(&mut crew_work(&env));
    wait_until("a builder is at work", || attempts(&env, "T-1") == 1);
    let refused = |args: &[&str], kind: &str, part: &str| {
        let all = [&["crew", "work"], args, &["--yes", "--profile", "builder", "--json"]].concat();
        let error = env.run(&all).expect_code(1).json()["error"].clone();
        assert_eq!(error["kind"], kind, "{error}");
        assert!(error["message"].as_str().unwrap().contains(part), "{part}: {error}");
    };
    refused(&["PLAN.md"], "at_work", "somebody works on `ravenry/crew-PLAN` already");
    refused(&["other/PLAN.md"], "duplicate", "is that of another spec: `");
    fs::write(env.home().join("go"), "").unwrap();
    assert!(crew.wait().unwrap().success());
    refused(&["other/PLAN.md"], "duplicate", "is that of another spec: `");
    // The branches of all work trees are those of one repository.
    let linked = env.path().join("linked");
    git(&env.work(), &["worktree", "add", "-q", "-b", "side", linked.to_str().unwrap()]);
    put(&linked.join("more/PLAN.md"), "- [ ] T-9: Other\n");
    let args = ["crew", "work", "more/PLAN.md", "--yes", "--profile", "builder", "--json"];
    let ended = end(env.msg().current_dir(&linked).args(args)).expect_code(1);
    assert_eq!(ended.kind(), "duplicate", "{ended}");
    assert_eq!(subjects(&env), ["One"]);
    // Another name is another branch, with a beginning of its own, even if it looks like the other.
    let first = git(&env.work(), &["rev-parse", "HEAD"]);
    git(&env.work(), &["commit", "-q", "--allow-empty", "-m", "second"]);
    let other = ["other/PLAN.md", "--yes", "--profile", "builder", "--branch", "ravenry/crew-PLAN"];
    let report = env.ok(&[&["crew", "work"], &other[..]].concat());
    assert_eq!(report["branch"], "ravenry/crew-ravenry/crew-PLAN");
    let status = env.ok(&["crew", "status", "PLAN.md"]);
    assert_eq!((&status["start"], &status["commits"]), (&json!(first), &json!(1)));
}

#[test]
fn a_name_that_no_branch_can_have_is_refused() {
    let env = with_crew("- [ ] T-1: One\n", &[]);
    for name in ["a b", "x/", "..", "a\nb", "@{", ""] {
        assert_refused(
            &env,
            &["PLAN.md", "--branch", name],
            "invalid_value",
            "cannot be the name of a branch",
        );
    }
}

#[test]
fn a_plan_is_made_of_text_wherever_that_is() {
    let env = with_planner(&[&answer("- [ ] T-1: One\n  paths: one\n  verify: test -f one")]);
    let before = names(&env);
    fs::write(env.work().join("binary.md"), [0xff, 0xfe, 0, 1]).unwrap();
    fs::create_dir(env.work().join("folder.md")).unwrap();
    for (name, part) in [("binary.md", "can't be read as text"), ("folder.md", "is a directory")] {
        let ended = env.run(&["crew", "plan", name, "--yes", "--json"]).expect_code(2);
        assert!(ended.json()["error"]["message"].as_str().unwrap().contains(part), "{ended}");
    }
    assert!(runs(&env).is_empty());
    fs::remove_file(env.work().join("binary.md")).unwrap();
    fs::remove_dir(env.work().join("folder.md")).unwrap();
    assert_eq!(names(&env), before);
    // A name that needs quoting, a subfolder, a detached HEAD.
    put(&env.work().join("my docs/it's \"größe\".md"), "Make it.\n");
    git(&env.work(), &["checkout", "-q", "--detach"]);
    let args = ["crew", "plan", "it's \"größe\".md", "--yes", "--json"];
    end(env.msg().current_dir(env.work().join("my docs")).args(args)).expect_code(0);
    assert!(plan_file(&env, "my docs/it's \"größe\".plan.md").unwrap().contains("T-1: One"));
}
