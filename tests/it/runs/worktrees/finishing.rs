//! What becomes of the work of a run: looked at, merged, published, given up, freed.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use super::super::{put_profiles, script, shown};
use super::{EDITS, detached, directories, done, git, id_of, make_untidy, person, with_repository};
use crate::support::environment::{TestEnvironment, end, put_program, wait_until};
use crate::support::hook_fixture::in_shell;
use crate::support::terminal::Terminal;

#[track_caller]
fn text(env: &TestEnvironment, path: &str) -> String {
    fs::read_to_string(env.work().join(path)).unwrap()
}

/// The refs of the repository.
fn refs(env: &TestEnvironment) -> String {
    git(&env.work(), &["for-each-ref", "--format=%(refname)"])
}

#[test]
fn a_diff_shows_the_work_and_nothing_else() {
    let env = with_repository(&script("edits", EDITS));
    make_untidy(&env);
    let run = done(&env, "edits");
    let answer = env.ok(&["runs", "diff", id_of(&run)]);
    let files: Vec<(&str, &str)> = answer["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| (file["path"].as_str().unwrap(), file["kind"].as_str().unwrap()))
        .collect();
    assert_eq!(files, [("a", "changed"), ("b", "removed"), ("deep/made", "added")]);
    let diff = answer["diff"].as_str().unwrap();
    assert!(diff.contains("-7\n+SEVEN\n") && diff.contains("-one\n") && !diff.contains("untracked"));
    let ended = env.run(&["runs", "diff", id_of(&run), "--stat"]).expect_code(0);
    assert!(ended.stdout.contains("a          changed  +1 -1\n"), "{ended}");
    let ended = env.run(&["runs", "diff", id_of(&run), "--color", "always"]).expect_code(0);
    assert!(ended.stdout.contains("\x1b[32m+SEVEN"), "{ended}");
}

#[test]
fn a_merge_writes_what_the_run_changed_and_brings_nothing_back() {
    let env = with_repository(&script("edits", EDITS));
    make_untidy(&env);
    fs::write(env.work().join("a"), "draft\n1\n2\n3\n4\n5\n6\n7\n").unwrap();
    let run = done(&env, "edits");
    // While it worked, the person discarded a line, and wrote another one.
    fs::write(env.work().join("a"), "1\n2\nperson\n3\n4\n5\n6\n7\n").unwrap();
    let before = person(&env);
    let answer = env.ok(&["runs", "merge", id_of(&run)]);
    let merged = &answer["merged"];
    assert_eq!((&merged["state"], &merged["commit"]), (&json!("merged"), &Value::Null));
    let files = json!([{"path": "a", "kind": "changed"}, {"path": "b", "kind": "removed"},
        {"path": "deep/made", "kind": "added"}]);
    assert_eq!(merged["files"], files);
    assert_eq!(text(&env, "a"), "1\n2\nperson\n3\n4\n5\n6\nSEVEN\n");
    assert_eq!(text(&env, "deep/made"), "made\n");
    assert!(!env.work().join("b").exists() && !env.work().join("key.pem").exists());
    let mut after = person(&env);
    let mut expected = before;
    for changed in ["a", "b", "deep/made"] {
        after.remove(Path::new(changed));
        expected.remove(Path::new(changed));
    }
    assert_eq!(after, expected, "index, stash, HEAD and all other files stay");
    // Doing it again does nothing, also if the person discarded it.
    fs::write(env.work().join("a"), "1\n").unwrap();
    assert_eq!(env.ok(&["runs", "merge", id_of(&run)])["merged"]["state"], "already");
    assert_eq!(text(&env, "a"), "1\n");
}

#[test]
fn a_merge_can_be_committed_on_a_clean_tree() {
    let env = with_repository(&script("edits", EDITS));
    let run = done(&env, "edits");
    fs::write(env.work().join("b"), "changed\n").unwrap();
    assert_eq!(env.fails(1, &["runs", "merge", id_of(&run), "--commit"]), "not_clean");
    git(&env.work(), &["checkout", "-q", "b"]);
    let answer = env.ok(&["runs", "merge", id_of(&run), "--commit"]);
    assert_eq!(answer["merged"]["commit"], git(&env.work(), &["rev-parse", "HEAD"]));
    assert_eq!(git(&env.work(), &["log", "--format=%s"]), "Change something\nfirst");
    assert_eq!(git(&env.work(), &["status", "--porcelain"]), "");
}

#[test]
fn a_conflict_is_told_before_anything_is_touched() {
    let env = with_repository(&script("edits", EDITS));
    let run = done(&env, "edits");
    fs::write(env.work().join("a"), "1\n2\n3\n4\n5\n6\nseven\n").unwrap();
    env.join("Robin");
    env.ok(&["reserve", "deep/made", "--as", "Robin"]);
    let before = person(&env);
    let ended = env.run(&["runs", "merge", id_of(&run), "--json"]).expect_code(1);
    assert_eq!(ended.kind(), "conflict", "{ended}");
    let error = ended.json()["error"].clone();
    assert_eq!(error["conflicts"][0]["path"], "a", "{ended}");
    assert!(error["hints"].to_string().contains("Robin holds"), "{ended}");
    assert_eq!(person(&env), before);
    // What is reserved by another is enough.
    git(&env.work(), &["checkout", "-q", "a"]);
    let before = person(&env);
    let ended = env.run(&["runs", "merge", id_of(&run), "--json"]).expect_code(1);
    assert_eq!(ended.kind(), "reserved", "{ended}");
    assert_eq!(person(&env), before);
    env.ok(&["release", "--as", "Robin"]);
    env.ok(&["runs", "merge", id_of(&run)]);
    assert_eq!(text(&env, "deep/made"), "made\n");
}

#[test]
fn the_merged_tree_is_tested_first() {
    let env = with_repository(&(script("edits", EDITS) + "[worktree]\ncopy = \"ignored\"\n"));
    fs::write(env.work().join("ignored"), "config\n").unwrap();
    let run = done(&env, "edits");
    fs::write(env.work().join("b"), "one\ntwo\n").unwrap();
    git(&env.work(), &["checkout", "-q", "b"]);
    fs::write(env.work().join("mine"), "mine\n").unwrap();
    let before = person(&env);
    let ended =
        env.run(&["runs", "merge", id_of(&run), "--verify", "echo red; exit 3", "--json"]).expect_code(1);
    assert_eq!((ended.kind().as_str(), &ended.json()["error"]["output"]), ("not_verified", &json!("red\n")));
    assert_eq!(person(&env), before);
    let test = "grep SEVEN a && cat mine ignored && test ! -e b && pwd > $RAVENRY_PROJECT/../where";
    env.ok(&["runs", "merge", id_of(&run), "--verify", test]);
    assert!(text(&env, "a").contains("SEVEN"));
    let place = fs::read_to_string(env.path().join("where")).unwrap();
    assert!(!place.starts_with(env.work().to_str().unwrap()) && !Path::new(place.trim()).exists());
}

#[test]
fn others_finish_their_work_while_a_merged_tree_is_tested() {
    let again = "cat >/dev/null; echo third > third; pwd";
    let env = with_repository(&[script("edits", PLAIN_EDITS), script("again", again)].concat());
    nix::unistd::mkfifo(&env.path().join("go"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let runs = [(); 2].map(|()| id_of(&done(&env, "edits")).to_string());
    let verify = "test -e new && touch $RAVENRY_PROJECT/../begun && read x < $RAVENRY_PROJECT/../go";
    let merging = |id: &str| {
        let mut msg = env.msg();
        let child = msg.args(["runs", "merge", id, "--verify", verify, "--json"]).stdout(Stdio::piped());
        let child = child.spawn().unwrap();
        wait_until("it is tested", || env.path().join("begun").exists());
        fs::remove_file(env.path().join("begun")).unwrap();
        child
    };
    let end = |child: Child| {
        fs::write(env.path().join("go"), "go\n").unwrap();
        let output = child.wait_with_output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    // Nobody has to wait an hour for it.
    let child = merging(&runs[0]);
    env.ok(&["runs", "gc"]);
    env.ok(&["runs", "discard", &runs[1]]);
    // What changed meanwhile is not overwritten.
    fs::write(env.work().join("b"), "changed by hand\n").unwrap();
    assert_eq!(end(child)["error"]["kind"], "changed_meanwhile");
    assert_eq!(text(&env, "b"), "changed by hand\n");
    assert!(!env.work().join("new").exists());
    fs::write(env.work().join("b"), "one\n").unwrap();
    // Somebody else merges it meanwhile.
    let child = merging(&runs[0]);
    assert_eq!(env.ok(&["runs", "merge", &runs[0]])["merged"]["state"], "merged");
    fs::write(env.work().join("new"), "and changed\n").unwrap();
    assert_eq!(end(child)["merged"]["state"], "already");
    assert_eq!(text(&env, "new"), "and changed\n");
    // Or it is given up.
    let third = id_of(&done(&env, "again")).to_string();
    let child = merging(&third);
    env.ok(&["runs", "discard", &third]);
    assert_eq!(end(child)["error"]["kind"], "no_work");
}

#[test]
fn a_merge_that_git_is_too_old_for_is_refused() {
    let env = with_repository(&script("edits", EDITS));
    let run = done(&env, "edits");
    // A git that says it is old.
    let bin = env.path().join("bin");
    fs::create_dir(&bin).unwrap();
    let real =
        String::from_utf8(std::process::Command::new("which").arg("git").output().unwrap().stdout).unwrap();
    let old = format!(
        "#!/bin/sh\nfor word; do test \"$word\" = version && echo 'git version 2.39.5' && exit; done\nexec {} \"$@\"\n",
        real.trim()
    );
    put_program(&bin.join("git"), &old);
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let before = person(&env);
    let ended = env.run_with(&["runs", "merge", id_of(&run), "--json"], &[("PATH", &path)]).expect_code(4);
    assert_eq!(ended.kind(), "old_git");
    let message = ended.json()["error"]["message"].clone();
    assert_eq!(message, "git 2.39.5 cannot merge in memory: install git 2.40 or newer");
    assert_eq!(person(&env), before);
    let doctor = env.run_with(&["doctor", "--json"], &[("PATH", &path)]);
    assert!(env.findings(&doctor, "git").starts_with("warn: git 2.39.5"), "{doctor}");
    assert!(env.doctor_says("git").starts_with("ok: "));
}

#[test]
fn work_that_is_discarded_is_gone_and_the_person_keeps_everything() {
    let env = with_repository(&script("edits", EDITS));
    make_untidy(&env);
    let (before, refs_before) = (person(&env), refs(&env));
    let run = done(&env, "edits");
    let answer = env.ok(&["runs", "discard", id_of(&run)]);
    let tip = answer["discarded"]["tip"].as_str().unwrap();
    assert_eq!((person(&env), refs(&env)), (before, refs_before));
    // git keeps the commit for a while.
    assert_eq!(git(&env.work(), &["show", &format!("{tip}:deep/made")]), "made");
    for action in ["merge", "discard", "pr", "diff"] {
        assert_eq!(env.fails(1, &["runs", action, id_of(&run)]), "no_work", "{action}");
    }
}

#[test]
fn runs_without_a_worktree_have_nothing_to_merge() {
    let env = with_repository(&script("echo", "cat"));
    let run = env.ok(&["run", "echo", "x"])["run"].clone();
    for action in ["merge", "discard", "pr", "diff"] {
        assert_eq!(env.fails(1, &["runs", action, id_of(&run)]), "no_work", "{action}");
    }
}

#[test]
fn only_the_parent_and_people_finish_the_work_of_a_run() {
    // A worker can't merge its own work, nor that of a run that somebody else started.
    let other =
        "cat >/dev/null; msg runs merge $MSG_RUN; echo $?; msg runs discard $(cat id); echo $?; echo x > x";
    let env = with_repository(&[script("edits", EDITS), script("other", other)].concat());
    let run = done(&env, "edits");
    fs::write(env.work().join("id"), id_of(&run)).unwrap();
    let path = super::super::path_with_msg();
    let args = ["run", "other", "x", "--worktree", "--json"];
    let answer = env.run_with(&args, &[("PATH", &path)]).expect_code(0).json();
    assert_eq!(answer["run"]["result"], "1\n1", "{answer}");
    let errors = env.ok(&["runs", "log", id_of(&answer["run"]), "--errors"])["log"].clone();
    let said = errors.as_str().unwrap();
    assert!(said.contains("only its parent and people may merge its work"), "{said}");
    assert!(said.contains("only its parent and people may discard its work"), "{said}");
    env.ok(&["runs", "merge", id_of(&run)]);
}

#[test]
fn a_name_gives_no_right_to_the_work_of_a_run() {
    // Both runs are Robin's, and one is merged, so that there is something to clean up.
    let env = with_repository(&script("edits", PLAIN_EDITS));
    env.join("Robin");
    let runs = [(); 2].map(|()| {
        env.ok(&["run", "edits", "Change something", "--worktree", "--as", "Robin"])["run"].clone()
    });
    env.ok(&["runs", "merge", id_of(&runs[0])]);
    let before = (person(&env), refs(&env));
    let id = id_of(&runs[1]);
    let tries = format!(
        "for name in '--as Robin' '--as robin' ''; do
            for action in 'merge {id}' 'pr {id} --push' 'discard {id} --yes' 'gc'; do
                MSG_AGENT=Robin msg runs $action $name --json; env -u MSG_RUN msg runs $action $name --json
            done
            MSG_AGENT=Robin msg mode plan $name --json
        done; true"
    );
    put_profiles(&env, &script("tries", &tries));
    let path = [("PATH", super::super::path_with_msg())];
    let path = path.each_ref().map(|(name, value)| (*name, value.as_str()));
    let worker = env.run_with(&["run", "tries", "x", "--json"], &path).expect_code(0).json();
    // A harness whose model was never joined is not Robin either.
    let mut msg = env.msg();
    msg.env("PATH", path[0].1);
    let model = end(&mut in_shell(&tries, "codex", &msg)).expect_code(0).stdout;
    for said in [worker["run"]["result"].as_str().unwrap(), &model] {
        assert_eq!(said.matches("\"not_yours\"").count(), 18, "{said}");
        assert_eq!(said.matches("\"steps\":[]").count(), 6, "{said}");
        assert_eq!(said.matches("\"in_harness\"").count(), 3, "{said}");
    }
    assert_eq!((person(&env), refs(&env)), before);
    assert_eq!(env.ok(&["mode"])["mode"], "build");
    let steps = env.ok(&["runs", "gc"])["steps"].clone();
    assert_eq!((&steps[0]["run"], &steps[0]["action"]), (&runs[0]["id"], &json!("unbranch")));
}

#[test]
fn a_person_at_a_terminal_is_asked_before_work_is_given_up() {
    let env = with_repository(&script("edits", PLAIN_EDITS));
    let [kept, given_up, unasked] = [(); 3].map(|()| id_of(&done(&env, "edits")).to_string());
    let mut terminal = Terminal::open(&env);
    let question = |id: &str| format!("Give up the work of run {id} (Change something): 2 changed files?");
    for answer in ["n\n", "what?\n", "\n"] {
        let shown = terminal.show_and_answer(&format!("msg runs discard {kept}"), &question(&kept), answer);
        assert!(shown.contains(&format!("the work of run {kept} is kept")), "{shown}");
    }
    assert!(refs(&env).contains(&kept));
    let shown =
        terminal.show_and_answer(&format!("msg runs discard {given_up}"), &question(&given_up), "yes\n");
    assert!(shown.contains(&format!("The work of run {given_up} is discarded.")), "{shown}");
    assert!(!refs(&env).contains(&given_up));
    let shown = terminal.show(&format!("msg runs discard {unasked} --yes"));
    assert!(shown.contains("is discarded") && !shown.contains("Type y or n"), "{shown}");
    assert!(!refs(&env).contains(&unasked));
}

#[test]
fn a_directory_with_a_process_in_it_stays() {
    let env = with_repository(&script("waits", "cat >/dev/null; echo x > x; read go < go; echo over"));
    nix::unistd::mkfifo(&env.path().join("go"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    std::os::unix::fs::symlink(env.path().join("go"), env.work().join("go")).unwrap();
    let id = detached(&env, "waits", "x");
    let root = super::wait_for_state(&env, &id, "running")["root"].as_str().unwrap().to_string();
    fs::create_dir(Path::new(&root).join("deep")).unwrap();
    // As the shell or the editor of a person does.
    let mut sleep = std::process::Command::new("sleep");
    let mut sleep = sleep.arg("1000").current_dir(Path::new(&root).join("deep")).spawn().unwrap();
    fs::write(env.path().join("go"), "go\n").unwrap();
    super::wait_for_state(&env, &id, "done");
    let step = env.ok(&["runs", "gc"])["steps"][0].clone();
    let why = format!("process {} (`sleep`) is in it", sleep.id());
    assert_eq!((&step["action"], &step["why"]), (&json!("keep"), &json!(why)));
    assert!(Path::new(&root).join("x").exists());
    sleep.kill().unwrap();
    sleep.wait().unwrap();
    assert_eq!(env.ok(&["runs", "gc"])["steps"][0]["action"], "free");
    assert!(!Path::new(&root).exists());
}

#[test]
fn a_pull_request_is_two_commands() {
    let env = with_repository(&script("edits", EDITS));
    let run = done(&env, "edits");
    let id = id_of(&run);
    assert_eq!(env.fails(2, &["runs", "pr", id]), "no_repository");
    let remote = env.path().join("remote");
    git(&env.work(), &["init", "-q", "--bare", remote.to_str().unwrap()]);
    git(&env.work(), &["remote", "add", "origin", remote.to_str().unwrap()]);
    let answer = env.ok(&["runs", "pr", id]);
    assert_eq!(answer["pushed"], false);
    assert_eq!(answer["commands"][0], format!("git push -u origin ravenry/run-{id}"));
    let create = answer["commands"][1].as_str().unwrap();
    assert!(
        create.starts_with(&format!("gh pr create --head ravenry/run-{id} --title 'Change something'")),
        "{create}"
    );
    assert_eq!(git(&remote, &["for-each-ref"]), "");
    // Without `gh`, nothing is pushed.
    let tools = env.path().join("tools");
    fs::create_dir(&tools).unwrap();
    for tool in ["git", "sh"] {
        let found = std::process::Command::new("which").arg(tool).output().unwrap().stdout;
        std::os::unix::fs::symlink(String::from_utf8(found).unwrap().trim(), tools.join(tool)).unwrap();
    }
    let path = tools.to_str().unwrap();
    let ended = env.run_with(&["runs", "pr", id, "--push", "--json"], &[("PATH", path)]).expect_code(2);
    assert!(ended.stdout.contains("`gh` is not installed"), "{ended}");
    assert_eq!(git(&remote, &["for-each-ref"]), "");
    put_program(&tools.join("gh"), "#!/bin/sh\necho \"https://example.org/1 $1 $2 $4\"\n");
    let ended = env.run_with(&["runs", "pr", id, "--push", "--json"], &[("PATH", path)]).expect_code(0);
    assert_eq!(ended.json()["answer"], format!("https://example.org/1 pr create ravenry/run-{id}"));
    // What is pushed holds nothing but what the person committed, and the work.
    assert_eq!(
        git(&remote, &["log", "--format=%s", &format!("ravenry/run-{id}")]),
        "Change something\nfirst"
    );
}

/// A worker all of whose files can be merged.
const PLAIN_EDITS: &str = "cat >/dev/null; echo new > new; rm b; pwd";

#[test]
fn gc_frees_what_nobody_needs_and_says_why() {
    let nests = "cat >/dev/null; git init -q nested; echo x > nested/x; echo y > y; echo done";
    let env = with_repository(&[script("edits", PLAIN_EDITS), script("nests", nests)].concat());
    let (merged, kept, open) = (done(&env, "edits"), done(&env, "nests"), done(&env, "edits"));
    env.ok(&["runs", "merge", id_of(&merged)]);
    assert_eq!(directories(&env).len(), 1, "a repository in it can't be saved");
    assert_eq!(shown(&env, id_of(&kept))["changed"], json!(["y"]));
    let before = (refs(&env), directories(&env));
    let would = env.ok(&["runs", "gc", "--dry-run"]);
    assert_eq!((refs(&env), directories(&env)), before, "a dry run changes nothing");
    let did = env.ok(&["runs", "gc"]);
    assert_eq!(would["steps"], did["steps"]);
    let step = |run: &Value| {
        let steps = did["steps"].as_array().unwrap().iter().filter(|step| step["run"] == run["id"]);
        steps.map(|step| step["action"].as_str().unwrap().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(
        (step(&merged), step(&kept), step(&open)),
        (vec!["unbranch".into()], vec!["keep".into()], vec![])
    );
    let why =
        did["steps"].as_array().unwrap().iter().find(|step| step["action"] == "keep").unwrap()["why"].clone();
    assert_eq!(why, "`nested` is only there: it is another git repository");
    assert!(!refs(&env).contains(id_of(&merged)) && refs(&env).contains(id_of(&open)));
    // Once nothing is there that is not saved, it is freed.
    fs::remove_dir_all(directories(&env)[0].join("nested")).unwrap();
    assert_eq!(env.ok(&["runs", "gc"])["steps"][0]["action"], "free");
    assert!(directories(&env).is_empty());
}

#[test]
fn a_directory_with_a_live_agent_in_it_stays() {
    let env = with_repository(&script("waits", "cat >/dev/null; echo x > x; read go < go"));
    nix::unistd::mkfifo(&env.path().join("go"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    std::os::unix::fs::symlink(env.path().join("go"), env.work().join("go")).unwrap();
    let id = detached(&env, "waits", "x");
    let root = super::wait_for_state(&env, &id, "running")["root"].as_str().unwrap().to_string();
    let host = env.host();
    end(env.msg().args(["join", "Guest", "--pid", &host.to_string(), "--session", "g"]).current_dir(&root))
        .expect_code(0);
    fs::write(env.path().join("go"), "go\n").unwrap();
    super::wait_for_state(&env, &id, "empty");
    assert!(Path::new(&root).exists());
    assert_eq!(env.ok(&["runs", "gc"])["steps"][0]["why"], "Guest is in it");
    assert_eq!(env.fails(1, &["runs", "discard", &id]), "at_work");
    env.kill(host);
    wait_until("it is free", || env.ok(&["runs", "gc"])["steps"][0]["action"] == "free");
    assert!(!Path::new(&root).exists());
}

#[test]
fn the_ledger_keeps_its_newest_and_all_with_work_that_is_not_merged() {
    let env = with_repository(&[script("edits", PLAIN_EDITS), script("echo", "cat")].concat());
    let (unmerged, plain) = (done(&env, "edits"), env.ok(&["run", "echo", "x"])["run"].clone());
    // 500 newer ones.
    let runs = env.mesh().join("runs");
    let record = fs::read_to_string(runs.join(id_of(&plain)).join("run.json")).unwrap();
    let letters = "abcdefghjkmnpqrstuvwxyz023456789".as_bytes();
    for number in 0..500 {
        let id = format!("zzzz{}{}", char::from(letters[number / 32]), char::from(letters[number % 32]));
        let mut copy: Value = serde_json::from_str(&record).unwrap();
        (copy["id"], copy["queuedAt"]) = (id.clone().into(), "2090-01-01T00:00:00.000Z".into());
        fs::create_dir(runs.join(&id)).unwrap();
        fs::write(runs.join(&id).join("run.json"), copy.to_string()).unwrap();
    }
    let steps = env.ok(&["runs", "gc"])["steps"].clone();
    assert_eq!(steps, json!([{"run": plain["id"], "action": "forget", "why": "500 runs are newer"}]));
    assert_eq!(env.fails(1, &["runs", "show", id_of(&plain)]), "unknown_run");
    env.ok(&["runs", "merge", id_of(&unmerged)]);
    assert_eq!(env.ok(&["runs", "gc"])["steps"].as_array().unwrap().len(), 2);
    assert_eq!(env.fails(1, &["runs", "show", id_of(&unmerged)]), "unknown_run");
}
