//! Merging a run's work into the work tree of the person.

use super::*;

#[track_caller]
fn prepared(tree: &RunTree) -> PreparedMerge {
    match tree.prepare_merge().unwrap() {
        MergePreview::Ready(prepared) => prepared,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn conflicts(tree: &RunTree) -> Vec<String> {
    match tree.prepare_merge().unwrap() {
        MergePreview::Conflicts(found) => {
            found.into_iter().map(|conflict| conflict.path.to_string_lossy().into_owned()).collect()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_merge_writes_files_and_leaves_index_and_head() {
    let scene = Scene::new(&[
        ("both", "1\n2\n3\n4\n5\n6\n7\n"),
        ("theirs", "1\n"),
        ("removed/by/worker", "1\n"),
        ("to-run", "1\n"),
        ("to-link", "1\n"),
        ("private", "1\n"),
        ("file-to-dir", "1\n"),
        ("dir-to-file/a", "1\n"),
        ("old/name", "one\ntwo\nthree\nfour\n"),
    ]);
    scene.put("both", "1\n2\n3\n4\n5\n6\nSEVEN\n");
    scene.put("mine", "untracked\n");
    scene.git(&["add", "mine"]);
    set_mode(&scene.repo().join("private"), 0o600);
    set_mode(&scene.repo().join("to-run"), 0o640);
    let tree = scene.run("r1");
    let path = tree.path();
    put(&path.join("both"), b"ONE\n2\n3\n4\n5\n6\nSEVEN\n");
    put(&path.join("theirs"), b"2\n");
    put(&path.join("private"), b"2\n");
    put(&path.join("new/deep/ä\nx"), b"2\n");
    std::fs::remove_dir_all(path.join("removed")).unwrap();
    set_mode(&path.join("to-run"), 0o755);
    for file in ["to-link", "file-to-dir"] {
        std::fs::remove_file(path.join(file)).unwrap();
    }
    symlink("theirs", path.join("to-link")).unwrap();
    put(&path.join("file-to-dir/x"), b"2\n");
    std::fs::remove_dir_all(path.join("dir-to-file")).unwrap();
    put(&path.join("dir-to-file"), b"2\n");
    std::fs::create_dir(path.join("renamed")).unwrap();
    std::fs::rename(path.join("old/name"), path.join("renamed/name")).unwrap();
    tree.close("work").unwrap();
    let git_files = |scene: &Scene| {
        let mut all = scene.person();
        all.retain(|path, _| path.starts_with(".git"));
        all
    };
    // A rename on the person's side is followed.
    let before = git_files(&scene);
    let prepared = prepared(&tree);
    assert_eq!(scene.text("theirs"), "1\n", "nothing is touched yet");
    let exported = scene.dir.join("exported");
    tree.export_tree(&prepared.tree, &exported).unwrap();
    assert_eq!(std::fs::read(exported.join("both")).unwrap(), b"ONE\n2\n3\n4\n5\n6\nSEVEN\n");
    let merged = tree.write_merge(&prepared).unwrap();
    assert_eq!(merged.commit, None);
    assert_eq!(git_files(&scene), before);
    for (file, text) in [
        ("both", "ONE\n2\n3\n4\n5\n6\nSEVEN\n"),
        ("theirs", "2\n"),
        ("private", "2\n"),
        ("new/deep/ä\nx", "2\n"),
        ("mine", "untracked\n"),
        ("file-to-dir/x", "2\n"),
        ("dir-to-file", "2\n"),
        ("renamed/name", "one\ntwo\nthree\nfour\n"),
    ] {
        assert_eq!(scene.text(file), text, "{file}");
    }
    for gone in ["removed", "old"] {
        assert!(!scene.repo().join(gone).exists(), "{gone}");
    }
    let mode = |file: &str| std::fs::metadata(scene.repo().join(file)).unwrap().mode() & 0o777;
    assert_eq!((mode("private"), mode("to-run")), (0o600, 0o750));
    assert_eq!(scene.repo().join("to-link").read_link().unwrap(), Path::new("theirs"));
    assert!(files_below(&scene.repo()).iter().all(|path| path.extension() != Some(OsStr::new("msg"))));
    assert!(tree.is_merged().unwrap());
    assert!(matches!(tree.prepare_merge().unwrap(), MergePreview::AlreadyMerged));
}

#[test]
fn a_line_that_the_person_discards_while_a_run_works_does_not_come_back() {
    let scene = Scene::new(&[("a", "1\n2\n3\n4\n5\n6\n7\n"), ("gone", "1\n")]);
    scene.put("a", "1\n2\nTRIAL\n3\n4\n5\n6\n7\n");
    scene.put("trial", "x\n");
    let tree = scene.run("r1");
    put(&tree.path().join("a"), b"1\n2\nTRIAL\n3\n4\n5\n6\nSEVEN\n");
    tree.close("work").unwrap();
    scene.git(&["checkout", "-q", "a"]);
    std::fs::remove_file(scene.repo().join("trial")).unwrap();
    scene.git(&["rm", "-q", "gone"]);
    tree.write_merge(&prepared(&tree)).unwrap();
    assert_eq!(scene.text("a"), "1\n2\n3\n4\n5\n6\nSEVEN\n");
    assert!(!scene.repo().join("trial").exists() && !scene.repo().join("gone").exists());
    // Nor does what the person discards after a merge, when the run went on and is merged again.
    scene.git(&["checkout", "-q", "a"]);
    put(&tree.path().join("more"), b"x\n");
    tree.close("work").unwrap();
    tree.write_merge(&prepared(&tree)).unwrap();
    assert_eq!(scene.text("a"), "1\n2\n3\n4\n5\n6\n7\n");
    assert_eq!(scene.text("more"), "x\n");
}

#[test]
fn conflicts_touch_nothing() {
    let scene =
        Scene::new(&[("a", "1\n"), ("b", "1\n"), ("dir/c", "1\n"), ("ok", "1\n"), (".gitignore", "ig*\n")]);
    let tree = scene.run("r1");
    let path = tree.path();
    for file in ["a", "b", "dir/c", "ok", "secret.pem.txt", "was/new", "bigger", "dir/link/x"] {
        put(&path.join(file), b"worker\n");
    }
    git_at(&path, &["add", "-f", "-A"]);
    put(&path.join("ignored"), b"worker\n");
    put(&path.join(".gitignore"), b"other\n");
    tree.close("work").unwrap();
    let check = |expected: &[&str]| {
        let before = scene.person();
        assert_eq!(conflicts(&tree), expected);
        assert_eq!(scene.person(), before);
    };
    scene.put("a", "person\n");
    check(&["a"]);
    scene.put("a", "1\n");
    std::fs::remove_file(scene.repo().join("b")).unwrap();
    check(&["b"]);
    scene.put("b", "1\n");
    // A file that the snapshot leaves out is in the way, ignored or large.
    scene.put("ignored", "person\n");
    check(&["ignored"]);
    std::fs::remove_file(scene.repo().join("ignored")).unwrap();
    put(&scene.repo().join("bigger"), &vec![1; 6_000_000]);
    check(&["bigger"]);
    std::fs::remove_file(scene.repo().join("bigger")).unwrap();
    // Nothing is written through a link, and no file becomes a directory.
    std::fs::create_dir(scene.dir.join("elsewhere")).unwrap();
    scene.git(&["config", "core.excludesFile", scene.dir.join("excludes").to_str().unwrap()]);
    put(&scene.dir.join("excludes"), b"/dir/link\n/was\n");
    symlink(scene.dir.join("elsewhere"), scene.repo().join("dir/link")).unwrap();
    check(&["dir/link/x"]);
    std::fs::remove_file(scene.repo().join("dir/link")).unwrap();
    scene.put("was", "a file\n");
    check(&["was/new"]);
    std::fs::remove_file(scene.repo().join("was")).unwrap();
    tree.write_merge(&prepared(&tree)).unwrap();
    assert_eq!(std::fs::read_dir(scene.dir.join("elsewhere")).unwrap().count(), 0);
}

#[test]
fn a_file_that_changes_in_between_stops_it_before_the_first_write() {
    let scene = Scene::new(&[("a", "1\n"), ("b", "1\n"), ("c", "1\n")]);
    let tree = scene.run("r1");
    for file in ["a", "b", "new"] {
        put(&tree.path().join(file), b"worker\n");
    }
    tree.close("work").unwrap();
    for (file, text) in [("b", "person\n"), ("new", "person\n")] {
        let prepared = prepared(&tree);
        scene.put(file, text);
        let before = scene.person();
        let refused = tree.write_merge(&prepared).unwrap_err();
        assert!(matches!(&refused, RunTreeError::ChangedMeanwhile(paths) if *paths == [PathBuf::from(file)]));
        assert_eq!(scene.person(), before);
        assert!(tree.interrupted_merge().unwrap().is_none());
        scene.git(&["checkout", "-q", "."]);
        scene.git(&["clean", "-fdq"]);
    }
    // A file that the merge does not touch may change.
    let prepared = prepared(&tree);
    scene.put("c", "person\n");
    tree.write_merge(&prepared).unwrap();
    assert_eq!((scene.text("a"), scene.text("c")), ("worker\n".to_string(), "person\n".to_string()));
}

#[test]
fn line_ends_and_filters_are_as_in_the_work_tree() {
    let scene =
        Scene::new(&[("a.txt", "1\n2\n"), (".gitattributes", "*.txt text eol=crlf\n*.up filter=up\n")]);
    scene.git(&["config", "filter.up.clean", "tr A-Z a-z"]);
    scene.git(&["config", "filter.up.smudge", "tr a-z A-Z"]);
    scene.put("x.up", "ONE\n");
    scene.commit("filtered");
    std::fs::remove_file(scene.repo().join("a.txt")).unwrap();
    scene.git(&["checkout", "-q", "a.txt"]);
    assert_eq!(scene.text("a.txt"), "1\r\n2\r\n");
    let tree = scene.run("r1");
    assert_eq!(std::fs::read(tree.path().join("x.up")).unwrap(), b"ONE\n");
    put(&tree.path().join("x.up"), b"TWO\n");
    put(&tree.path().join("a.txt"), b"1\r\n2\r\n3\r\n");
    tree.close("work").unwrap();
    assert_eq!(scene.git(&["show", &format!("{}:x.up", tree.tip().unwrap())]), "two");
    tree.write_merge(&prepared(&tree)).unwrap();
    assert_eq!((scene.text("a.txt").as_str(), scene.text("x.up").as_str()), ("1\r\n2\r\n3\r\n", "TWO\n"));
}

#[test]
fn a_run_that_changed_nothing_new() {
    let scene = Scene::new(&[("a", "1\n")]);
    let tree = scene.run("r1");
    assert_eq!(tree.close("work").unwrap().branch, RunBranch::Nothing);
    put(&tree.path().join("a"), b"2\n");
    tree.close("work").unwrap();
    scene.put("a", "2\n");
    assert!(matches!(tree.prepare_merge().unwrap(), MergePreview::Nothing));
    tree.mark_merged().unwrap();
    assert!(tree.is_merged().unwrap());
}

#[test]
fn a_merge_with_a_commit() {
    let scene = Scene::new(&[("a", "1\n"), ("b", "1\n")]);
    scene.put("a", "not committed\n");
    let tree = scene.run("r1");
    put(&tree.path().join("b"), b"2\n");
    put(&tree.path().join("new/c"), b"2\n");
    tree.close("work").unwrap();
    let dirty = tree.prepare_commit().unwrap_err();
    assert!(matches!(&dirty, RunTreeError::NotClean(paths) if *paths == [PathBuf::from("a")]), "{dirty}");
    scene.git(&["checkout", "-q", "a"]);
    scene.git(&["checkout", "-q", "--detach"]);
    assert!(matches!(tree.prepare_commit(), Err(RunTreeError::DetachedHead)));
    scene.git(&["checkout", "-q", "main"]);
    scene.put("untracked", "stays\n");
    scene.put("new/c", "in the way\n");
    assert!(matches!(tree.prepare_commit().unwrap(), MergePreview::Conflicts(_)));
    std::fs::remove_dir_all(scene.repo().join("new")).unwrap();
    let head = scene.git(&["rev-parse", "HEAD"]);
    let MergePreview::Ready(prepared) = tree.prepare_commit().unwrap() else { panic!() };
    let merged = tree.commit_merge(&prepared, "merge the run\n").unwrap();
    assert_eq!(merged.commit, Some(scene.git(&["rev-parse", "main"])));
    assert_eq!(scene.git(&["log", "-1", "--format=%P %s %an"]), format!("{head} merge the run Ann"));
    assert_eq!(scene.git(&["status", "--porcelain"]), "?? untracked");
    assert_eq!(scene.git(&["show", "HEAD:a"]), "1", "what was discarded does not come back");
    assert!(scene.git(&["reflog", "-1", "main"]).contains("ravenry: merge of run r1"));
    assert!(tree.is_merged().unwrap());
    assert!(matches!(tree.prepare_commit().unwrap(), MergePreview::AlreadyMerged));
}
