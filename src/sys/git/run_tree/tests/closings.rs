//! The closing commit, in whatever state a worker leaves its work tree.

use super::*;

fn branch_commit(closed: &ClosedTree) -> String {
    match &closed.branch {
        RunBranch::At { commit, .. } => commit.clone(),
        other => panic!("{other:?}"),
    }
}

/// A worker that changed `a`, removed `b` and made `c`, and then did something else.
#[track_caller]
fn assert_closes(after: impl FnOnce(&Path)) -> (Scene, RunTree, ClosedTree) {
    let scene = Scene::new(&[("a", "1\n2\n3\n4\n5\n6\n7\n"), ("b", "1\n")]);
    scene.put("a", "1\n2\n3\n4\n5\n6\nSEVEN\n");
    scene.put("mine", "not committed\n");
    let before = scene.person();
    let tree = scene.run("r1");
    let path = tree.path();
    put(&path.join("a"), b"ONE\n2\n3\n4\n5\n6\nSEVEN\n");
    std::fs::remove_file(path.join("b")).unwrap();
    put(&path.join("c"), b"new\n");
    after(&path);
    let closed = tree.close("the task\n").unwrap();
    let mut now = scene.person();
    now.retain(|path, _| !path.ends_with("refs/heads/topic"));
    assert_eq!(now, before);
    assert_eq!(scene.names(&closed.tip), ["a", "c", "mine"]);
    assert_eq!(scene.listing(&closed.tip)[Path::new("a")].1, b"ONE\n2\n3\n4\n5\n6\nSEVEN\n");
    let branch = branch_commit(&closed);
    assert_eq!(scene.names(&branch), ["a", "c"], "without what the person did not commit");
    assert_eq!(scene.listing(&branch)[Path::new("a")].1, b"ONE\n2\n3\n4\n5\n6\n7\n");
    let about = scene.git(&["log", "--format=%an <%ae> %s", "ravenry/run-r1"]);
    assert_eq!(about, "Ann <ann@example.org> the task\nAnn <ann@example.org> first");
    // Again: the same.
    let again = tree.close("the task\n").unwrap();
    assert_eq!((&again.tip, branch_commit(&again)), (&closed.tip, branch));
    (scene, tree, closed)
}

#[test]
fn files_alone() {
    let (_, _, closed) = assert_closes(|_| {});
    assert!(closed.is_changed && closed.saved.is_empty() && closed.unsaved.is_empty());
}

#[test]
fn staged_files() {
    assert_closes(|path| {
        git_at(path, &["add", "-A"]);
        git_at(path, &["update-index", "--assume-unchanged", "a"]);
    });
}

#[test]
fn commits_of_its_own() {
    let (scene, tree, _) = assert_closes(|path| {
        git_at(path, &["add", "-A"]);
        git_at(path, &["commit", "-q", "-m", "own"]);
    });
    let held = scene.git(&["log", "-1", "--format=%s", &tree.refs().worker()]);
    assert_eq!(held, "own");
}

#[test]
fn ignored_files_that_the_worker_added() {
    let scene = Scene::new(&[("a", "1\n"), (".gitignore", "dist/\n")]);
    let tree = scene.run("r1");
    for file in ["dist/committed", "dist/staged", "dist/key.pem", "dist/left"] {
        put(&tree.path().join(file), b"x\n");
    }
    git_at(&tree.path(), &["add", "-f", "dist/committed", "dist/key.pem"]);
    git_at(&tree.path(), &["commit", "-q", "-m", "own"]);
    git_at(&tree.path(), &["add", "-f", "dist/staged"]);
    let closed = tree.close("work").unwrap();
    assert_eq!(scene.names(&closed.tip), [".gitignore", "a", "dist/committed", "dist/staged"]);
    assert_eq!(scene.names(&tree.refs().saved()), ["dist/key.pem"]);
}

#[test]
fn a_branch_of_its_own() {
    assert_closes(|path| {
        git_at(path, &["checkout", "-q", "-b", "topic"]);
        git_at(path, &["commit", "-q", "-a", "-m", "own"]);
    });
}

#[test]
fn an_orphan_branch() {
    assert_closes(|path| {
        git_at(path, &["checkout", "-q", "--orphan", "lone"]);
        git_at(path, &["rm", "-q", "-r", "-f", "--cached", "."]);
    });
}

#[test]
fn a_merge_in_progress() {
    assert_closes(|path| {
        let base = git_at(path, &["rev-parse", "HEAD"]);
        git_at(path, &["commit", "-q", "-a", "-m", "ours"]);
        let ours = git_at(path, &["rev-parse", "HEAD"]);
        git_at(path, &["checkout", "-q", "--detach", &base]);
        put(&path.join("a"), b"other\n");
        git_at(path, &["commit", "-q", "-a", "-m", "theirs"]);
        let merge = Command::new("git").arg("-C").arg(path).args(["merge", "-q", &ours]).output().unwrap();
        assert!(!merge.status.success());
        put(&path.join("a"), b"ONE\n2\n3\n4\n5\n6\nSEVEN\n");
        let status = git_at(path, &["status", "--porcelain"]);
        assert!(status.contains("UU a"), "{status}");
    });
}

#[test]
fn a_lock_left_behind_and_a_damaged_index() {
    assert_closes(|path| {
        let admin = git_at(path, &["rev-parse", "--absolute-git-dir"]);
        put(&Path::new(&admin).join("index.lock"), b"");
        put(&Path::new(&admin).join("index"), b"DIRCgarbage");
    });
}

#[test]
fn a_damaged_head() {
    assert_closes(|path| {
        let admin = git_at(path, &["rev-parse", "--absolute-git-dir"]);
        put(&Path::new(&admin).join("HEAD"), b"garbage");
    });
}

#[test]
fn no_git_file() {
    assert_closes(|path| std::fs::remove_file(path.join(".git")).unwrap());
}

#[test]
fn a_repository_of_its_own() {
    assert_closes(|path| {
        std::fs::remove_file(path.join(".git")).unwrap();
        git_at(path, &["init", "-q"]);
        git_at(path, &["add", "-A"]);
    });
}

#[test]
fn pruned_by_somebody() {
    assert_closes(|path| {
        let admin = git_at(path, &["rev-parse", "--absolute-git-dir"]);
        std::fs::remove_dir_all(admin).unwrap();
    });
}

#[test]
fn a_narrowed_checkout_removes_nothing() {
    let scene = Scene::new(&[("in/a", "1\n"), ("out/b", "1\n")]);
    let tree = scene.run("r1");
    git_at(&tree.path(), &["sparse-checkout", "set", "in"]);
    put(&tree.path().join("in/a"), b"2\n");
    let closed = tree.close("work").unwrap();
    assert_eq!(scene.names(&closed.tip), ["in/a", "out/b"]);
}

#[test]
fn a_directory_that_is_gone_or_empty_is_not_a_change() {
    let scene = Scene::new(&[("a", "1\n")]);
    let tree = scene.run("r1");
    put(&tree.path().join("a"), b"2\n");
    let closed = tree.close("work").unwrap();
    for entry in std::fs::read_dir(tree.path()).unwrap().flatten().filter(|entry| entry.file_name() != ".git")
    {
        std::fs::remove_file(entry.path()).unwrap();
    }
    let emptied = tree.close("work").unwrap();
    assert_eq!((&emptied.tip, emptied.has_directory), (&closed.tip, false));
    std::fs::remove_dir_all(tree.path()).unwrap();
    let gone = tree.close("work").unwrap();
    assert_eq!((gone.tip, gone.has_directory), (closed.tip, false));
}

#[test]
fn secrets_and_large_files_are_saved_apart() {
    let scene = Scene::new(&[("a", "1\n")]);
    scene.put(".env", "OLD=1\n");
    let tree = scene.run("r1");
    let path = tree.path();
    put(&path.join("a"), b"2\n");
    put(&path.join(".env"), b"NEW=1\n");
    put(&path.join("key.pem"), b"x");
    put(&path.join("huge"), &vec![1; 6_000_000]);
    // The worker committed it: that makes it no less a secret.
    git_at(&path, &["add", "key.pem"]);
    git_at(&path, &["commit", "-q", "-m", "oops"]);
    let closed = tree.close("work").unwrap();
    let mut saved: Vec<&str> = closed.saved.iter().map(|file| file.path.to_str().unwrap()).collect();
    saved.sort();
    assert_eq!(saved, [".env", "huge", "key.pem"]);
    assert_eq!(scene.names(&closed.tip), ["a"]);
    assert_eq!(scene.names("ravenry/run-r1"), ["a"]);
    assert_eq!(scene.names(&tree.refs().saved()), [".env", "huge", "key.pem"]);
    let commits = || scene.git(&["rev-list", "--count", &tree.refs().saved()]);
    tree.close("work").unwrap();
    assert_eq!(commits(), "1");
    // What was saved before stays reachable.
    std::fs::remove_file(path.join("key.pem")).unwrap();
    tree.close("work").unwrap();
    assert_eq!((commits().as_str(), scene.names(&tree.refs().saved()).len()), ("2", 2));
    tree.free(&tree.close("work").unwrap()).unwrap();
    assert_eq!(scene.text(".env"), "OLD=1\n");
}

#[test]
fn without_a_name_git_knows_ours() {
    let scene = Scene::new(&[("a", "1\n")]);
    scene.git(&["config", "--unset", "user.name"]);
    let known =
        Command::new("git").arg("-C").arg(scene.repo()).args(["config", "user.name"]).output().unwrap();
    if known.status.success() {
        return;
    }
    let tree = scene.run("r1");
    put(&tree.path().join("a"), b"2\n");
    tree.close("work").unwrap();
    let about = scene.git(&["log", "-1", "--format=%an <%ae> %cn", "ravenry/run-r1"]);
    assert_eq!(about, "ravenry <ann@example.org> ravenry");
}

#[test]
fn a_branch_is_replayed_onto_what_is_head_now() {
    let scene = Scene::new(&[("a", "1\n2\n3\n4\n5\n")]);
    let tree = scene.run("r1");
    put(&tree.path().join("a"), b"1\n2\n3\n4\nFIVE\n");
    scene.put("a", "ONE\n2\n3\n4\n5\n");
    scene.commit("meanwhile");
    let closed = tree.close("work").unwrap();
    let head = scene.git(&["rev-parse", "HEAD"]);
    assert!(matches!(&closed.branch, RunBranch::At { onto, .. } if *onto == head));
    assert_eq!(scene.git(&["show", "ravenry/run-r1:a"]), "ONE\n2\n3\n4\nFIVE");
    // More work moves the branch.
    put(&tree.path().join("b"), b"x\n");
    tree.close("work").unwrap();
    assert_eq!(scene.names("ravenry/run-r1"), ["a", "b"]);
    assert_eq!(scene.git(&["rev-list", "--count", "ravenry/run-r1"]), "3");
    // Somebody else moved it: it stays, also when the run is discarded.
    scene.git(&["update-ref", "refs/heads/ravenry/run-r1", &head]);
    put(&tree.path().join("b"), b"y\n");
    assert_eq!(tree.close("work").unwrap().branch, RunBranch::Moved(head));
    assert_eq!(tree.discard().unwrap().kept_branch.as_deref(), Some("ravenry/run-r1"));
    assert_eq!(scene.refs(), ["refs/heads/main", "refs/heads/ravenry/run-r1"]);
}

#[test]
fn a_branch_that_somebody_has_checked_out_stays() {
    let scene = Scene::new(&[("a", "1\n")]);
    let tree = scene.run("r1");
    put(&tree.path().join("a"), b"2\n");
    tree.close("work").unwrap();
    scene.git(&["checkout", "-q", "ravenry/run-r1"]);
    let before = scene.person();
    let at = scene.git(&["rev-parse", "HEAD"]);
    put(&tree.path().join("a"), b"3\n");
    assert_eq!(tree.close("work").unwrap().branch, RunBranch::Moved(at.clone()));
    assert_eq!(tree.discard().unwrap().kept_branch.as_deref(), Some("ravenry/run-r1"));
    assert_eq!(scene.person(), before);
    assert_eq!((scene.git(&["rev-parse", "HEAD"]), scene.git(&["status", "--short"])), (at, String::new()));
}

#[test]
fn conflicts_with_head_fall_back_to_where_the_run_started() {
    let scene = Scene::new(&[("a", "1\n")]);
    let start = scene.git(&["rev-parse", "HEAD"]);
    let tree = scene.run("r1");
    put(&tree.path().join("a"), b"worker\n");
    scene.put("a", "person\n");
    scene.commit("meanwhile");
    let closed = tree.close("work").unwrap();
    assert!(matches!(&closed.branch, RunBranch::At { onto, .. } if *onto == start), "{:?}", closed.branch);
}

#[test]
fn work_on_uncommitted_lines_has_no_branch_but_a_tip() {
    let scene = Scene::new(&[("a", "1\n")]);
    scene.put("a", "not committed\n");
    let tree = scene.run("r1");
    put(&tree.path().join("a"), b"not committed, but better\n");
    let closed = tree.close("work").unwrap();
    let RunBranch::Conflicts(conflicts) = &closed.branch else { panic!("{:?}", closed.branch) };
    assert_eq!(conflicts[0].path, Path::new("a"));
    assert!(conflicts[0].why.contains("content"), "{}", conflicts[0].why);
    assert_eq!(scene.git(&["show", &format!("{}:a", closed.tip)]), "not committed, but better");
    assert!(!scene.refs().contains(&tree.refs().branch()));
    // The diff is only the worker's.
    let diff = String::from_utf8(tree.diff_text(DiffColour::Never).unwrap()).unwrap();
    assert!(diff.contains("-not committed\n+not committed, but better\n"), "{diff}");
    let changes = tree.changes().unwrap();
    assert_eq!(
        (changes.len(), changes[0].kind, changes[0].lines),
        (1, FileChangeKind::Changed, Some((1, 1)))
    );
}
