//! Snapshots of all sorts of work trees.

use super::*;

/// Compares a snapshot with the files that are there.
#[track_caller]
fn assert_is_as_it_is(scene: &Scene, snapshot: &TreeSnapshot) {
    let left_out: Vec<PathBuf> = snapshot.left_out.iter().map(|file| file.path.clone()).collect();
    let mut there = BTreeMap::new();
    for path in files_below(&scene.repo()) {
        let name = path.strip_prefix(scene.repo()).unwrap().to_path_buf();
        if name.starts_with(".git") || left_out.iter().any(|out| name.starts_with(out)) {
            continue;
        }
        let metadata = path.symlink_metadata().unwrap();
        let mode = match (metadata.is_symlink(), metadata.mode() & 0o100) {
            (true, _) => "120000",
            (_, 0) => "100644",
            _ => "100755",
        };
        there.insert(name, (mode.to_string(), content(&path)));
    }
    let mut listed = scene.listing(&snapshot.commit);
    listed.retain(|_, (mode, _)| mode != "160000");
    assert_eq!(listed, there);
}

#[test]
fn a_snapshot_has_the_work_tree_as_it_is_and_touches_nothing() {
    let names =
        ["changed", "staged", "both", "removed", "gone-from-index", "mode", "becomes-link", "old-name"];
    let mut files: Vec<(&str, &str)> = names.iter().map(|name| (*name, "one\ntwo\n")).collect();
    files.extend([("file-to-dir", "x"), ("dir-to-file/a", "x"), ("dir-to-link/a", "x"), ("sub/same", "x")]);
    files.extend([("assumed", "x"), ("skipped", "x"), ("skipped-gone", "x"), ("assumed-gone", "x")]);
    let scene = Scene::new(&files);
    scene.put("changed", "1\n");
    scene.put("staged", "1\n");
    scene.put("both", "1\n");
    scene.git(&["add", "staged", "both"]);
    scene.put("both", "2\n");
    std::fs::remove_file(scene.repo().join("removed")).unwrap();
    scene.git(&["rm", "-q", "--cached", "gone-from-index"]);
    set_mode(&scene.repo().join("mode"), 0o755);
    std::fs::remove_file(scene.repo().join("becomes-link")).unwrap();
    symlink("no/where", scene.repo().join("becomes-link")).unwrap();
    scene.git(&["mv", "old-name", "new-name"]);
    std::fs::remove_file(scene.repo().join("file-to-dir")).unwrap();
    scene.put("file-to-dir/inner", "y");
    for dir in ["dir-to-file", "dir-to-link"] {
        std::fs::remove_dir_all(scene.repo().join(dir)).unwrap();
    }
    scene.put("dir-to-file", "y");
    symlink("sub", scene.repo().join("dir-to-link")).unwrap();
    scene.git(&["update-index", "--assume-unchanged", "assumed", "assumed-gone"]);
    scene.git(&["update-index", "--skip-worktree", "skipped", "skipped-gone"]);
    scene.put("assumed", "local");
    scene.put("skipped", "local");
    std::fs::remove_file(scene.repo().join("assumed-gone")).unwrap();
    scene.put("intended", "new\n");
    scene.git(&["add", "-N", "intended"]);
    scene.put("untracked", "new\n");
    scene.put("deep/er/new\nline \"quoted\" \\ ä", "new\n");
    put(&scene.repo().join(OsStr::from_bytes(b"not-utf8-\xff")), b"new\n");
    scene.put("crlf.txt", "a\r\nb\r\n");
    scene.put(".gitignore", "ignored\n");
    let before = scene.person();
    let stash = scene.git(&["stash", "list"]);

    let snapshot = scene.repository().snapshot().unwrap();
    assert_eq!(scene.person(), before);
    assert_eq!(scene.git(&["stash", "list"]), stash);
    assert_eq!(scene.refs(), ["refs/heads/main"]);
    assert_eq!(snapshot.left_out, []);
    assert_is_as_it_is(&scene, &snapshot);
    assert_eq!(
        scene.git(&["rev-parse", &format!("{}^", snapshot.commit)]),
        scene.git(&["rev-parse", "HEAD"])
    );
    assert!(files_below(&scene.dir.join("state")).is_empty(), "nothing of ours is left");
    // Ignored files are no part of it.
    scene.put("ignored", "x");
    assert_eq!(scene.repository().snapshot().unwrap().tree, snapshot.tree);
}

#[test]
fn a_file_changed_in_the_moment_in_which_the_index_was_written_is_seen() {
    // Same size and time as in the index: only the index's own time shows that git must read the file.
    let scene = Scene::new(&[("a", "one\n")]);
    for round in 0..20 {
        let text = format!("{round:03}\n");
        scene.put("a", "xxx\n");
        scene.git(&["add", "a"]);
        let time = std::fs::metadata(scene.repo().join("a")).unwrap().modified().unwrap();
        scene.put("a", &text);
        for file in ["a", ".git/index"] {
            let file = std::fs::File::options().write(true).open(scene.repo().join(file)).unwrap();
            file.set_modified(time).unwrap();
        }
        let snapshot = scene.repository().snapshot().unwrap();
        assert_eq!(scene.listing(&snapshot.tree)[Path::new("a")].1, text.as_bytes());
    }
}

#[test]
fn large_files_and_secrets_are_never_put_into_an_object() {
    let scene = Scene::new(&[("a", "x")]);
    scene.put(".env", "KEY=1\n");
    // In two parts: a test looks for secrets in our own sources.
    scene.put("deep/notes.txt", &format!("the pass{} is hunter2secret\n", "word"));
    put(&scene.repo().join("huge.bin"), &vec![7; 5 * 1024 * 1024 + 1]);
    put(&scene.repo().join("large.bin"), &vec![7; 5 * 1024 * 1024]);
    scene.put("intended.pem", "x");
    scene.git(&["add", "-N", "intended.pem"]);
    // What git tracks is the person's decision.
    scene.put("tracked.env", "x");
    scene.git(&["add", "tracked.env"]);
    scene.put("tracked.env", "y");
    let snapshot = scene.repository().snapshot().unwrap();
    let mut left_out: Vec<&str> = snapshot.left_out.iter().map(|file| file.path.to_str().unwrap()).collect();
    left_out.sort();
    assert_eq!(left_out, [".env", "deep/notes.txt", "huge.bin", "intended.pem"]);
    assert_is_as_it_is(&scene, &snapshot);
    for file in [".env", "deep/notes.txt", "huge.bin"] {
        let object = scene.git(&["hash-object", file]);
        let found =
            Command::new("git").arg("-C").arg(scene.repo()).args(["cat-file", "-e", &object]).output();
        assert!(!found.unwrap().status.success(), "{file} is an object");
    }
    // They are in the worktree, with their modes.
    set_mode(&scene.repo().join(".env"), 0o600);
    let tree = scene.tree("x");
    let made = tree.create(&scene.repository().snapshot().unwrap(), &WantedFiles::default()).unwrap();
    assert!(made.brought.iter().all(|file| file.how == BroughtHow::Copied), "{:?}", made.brought);
    assert_eq!(std::fs::read(made.path.join("huge.bin")).unwrap().len(), 5 * 1024 * 1024 + 1);
    assert_eq!(std::fs::metadata(made.path.join(".env")).unwrap().mode() & 0o777, 0o600);
    // They are not the worker's, so they are not saved with its work.
    let closed = tree.close("nothing").unwrap();
    assert_eq!((closed.is_changed, closed.saved.len(), closed.unsaved.len()), (false, 0, 0));
}

#[test]
fn other_repositories_and_submodules_are_told() {
    let scene = Scene::new(&[("a", "x")]);
    let library = scene.dir.join("library");
    std::fs::create_dir(&library).unwrap();
    git_at(&library, &["init", "-q"]);
    git_at(
        &library,
        &["-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "--allow-empty", "-m", "x"],
    );
    let library = library.to_str().unwrap();
    for name in ["clean", "dirty", "moved"] {
        scene.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", library, name]);
    }
    scene.commit("submodules");
    let recorded = scene.git(&["rev-parse", "HEAD:moved"]);
    scene.put("dirty/file", "x");
    let moved = scene.repo().join("moved");
    git_at(&moved, &["-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "--allow-empty", "-m", "y"]);
    for nested in ["nested", "deep/unborn"] {
        let nested = scene.repo().join(nested);
        std::fs::create_dir_all(&nested).unwrap();
        git_at(&nested, &["init", "-q"]);
        put(&nested.join("file"), b"x");
    }
    git_at(&scene.repo().join("nested"), &["add", "-A"]);
    git_at(
        &scene.repo().join("nested"),
        &["-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "-m", "x"],
    );
    let snapshot = scene.repository().snapshot().unwrap();
    let told: BTreeMap<&str, &LeftOutReason> =
        snapshot.left_out.iter().map(|file| (file.path.to_str().unwrap(), &file.reason)).collect();
    let expected = [
        ("deep/unborn", &LeftOutReason::Repository),
        ("dirty", &LeftOutReason::Submodule),
        ("moved", &LeftOutReason::Submodule),
        ("nested", &LeftOutReason::Repository),
    ];
    assert_eq!(told, BTreeMap::from(expected));
    assert_eq!(scene.git(&["rev-parse", &format!("{}:moved", snapshot.commit)]), recorded);
    assert_eq!(scene.names(&snapshot.commit), [".gitmodules", "a", "clean", "dirty", "moved"]);
    // A run in such a repository changes nothing, though its submodules are empty directories.
    let tree = scene.run("x");
    assert!(!tree.close("nothing").unwrap().is_changed);
}

#[test]
fn a_merge_in_progress() {
    let scene = Scene::new(&[("a", "1\n"), ("b", "1\n"), ("c", "1\n")]);
    scene.git(&["checkout", "-q", "-b", "other"]);
    for file in ["a", "b"] {
        scene.put(file, "theirs\n");
    }
    scene.git(&["rm", "-q", "c"]);
    scene.commit("theirs");
    scene.git(&["checkout", "-q", "main"]);
    for file in ["a", "b", "c"] {
        scene.put(file, "ours\n");
    }
    scene.commit("ours");
    let merge = Command::new("git").arg("-C").arg(scene.repo()).args(["merge", "-q", "other"]).output();
    assert!(!merge.unwrap().status.success());
    std::fs::remove_file(scene.repo().join("b")).unwrap();
    let before = scene.person();
    let snapshot = scene.repository().snapshot().unwrap();
    assert_eq!(scene.person(), before);
    assert_is_as_it_is(&scene, &snapshot);
    assert!(scene.listing(&snapshot.tree)[Path::new("a")].1.starts_with(b"<<<<<<<"));
}

#[test]
fn a_sparse_checkout_keeps_what_is_not_there() {
    let scene = Scene::new(&[("in/a", "1\n"), ("out/b", "1\n"), ("top", "1\n")]);
    scene.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "in"]);
    assert!(!scene.repo().join("out").exists());
    scene.put("in/a", "2\n");
    let before = scene.person();
    let snapshot = scene.repository().snapshot().unwrap();
    assert_eq!(scene.person(), before);
    assert_eq!(scene.names(&snapshot.commit), ["in/a", "out/b", "top"]);
    let tree = scene.run("x");
    put(&tree.path().join("in/a"), b"3\n");
    let closed = tree.close("sparse").unwrap();
    let changed: Vec<PathBuf> = tree.changes().unwrap().into_iter().map(|change| change.path).collect();
    assert_eq!((closed.is_changed, changed), (true, vec![PathBuf::from("in/a")]));
}

#[test]
fn the_persons_hooks_and_settings_do_not_matter() {
    let scene = Scene::new(&[("a", "1\n")]);
    for hook in ["pre-commit", "post-checkout", "reference-transaction", "post-index-change", "post-commit"] {
        let path = scene.repo().join(".git/hooks").join(hook);
        put(&path, format!("#!/bin/sh\ntouch {}\nexit 1\n", scene.dir.join("ran").display()).as_bytes());
        set_mode(&path, 0o755);
    }
    let marker = scene.dir.join("ran");
    for (key, value) in [
        ("core.fsmonitor", format!("touch {}", marker.display())),
        ("commit.gpgSign", "true".to_string()),
        ("gpg.program", format!("touch {}", marker.display())),
        ("core.logAllRefUpdates", "always".to_string()),
        ("core.safecrlf", "true".to_string()),
        ("core.autocrlf", "input".to_string()),
        ("core.splitIndex", "true".to_string()),
        ("status.showUntrackedFiles", "no".to_string()),
        ("diff.noprefix", "true".to_string()),
        ("color.ui", "always".to_string()),
        ("core.editor", format!("touch {}", marker.display())),
        ("core.quotePath", "false".to_string()),
    ] {
        scene.git(&["config", key, &value]);
    }
    scene.put("a", "1\r\n2\r\n");
    scene.put("new", "1\n");
    let before = scene.person();
    let tree = scene.run("x");
    put(&tree.path().join("work"), b"1\n");
    let closed = tree.close("work").unwrap();
    assert!(matches!(closed.branch, RunBranch::At { .. }), "{:?}", closed.branch);
    assert_eq!(scene.person(), before);
    assert!(!marker.exists(), "a program of the person ran");
    assert!(!scene.repo().join(".git/logs/refs/ravenry").exists());
}

#[test]
fn where_there_is_nothing_to_start_from() {
    let dir = tempfile::tempdir().unwrap();
    let open = |path: &Path| RunRepository::open(path, &dir.path().join("state"));
    let path = |name: &str| {
        let path = dir.path().join(name);
        std::fs::create_dir(&path).unwrap();
        path
    };
    let told = |error: RunTreeError| error.to_string();
    let none = told(open(&path("none")).unwrap_err());
    assert!(none.ends_with("is not in a git repository: a run's worktree needs one"), "{none}");
    let bare = path("bare");
    git_at(&bare, &["init", "-q", "--bare"]);
    let bare = told(open(&bare).unwrap_err());
    assert!(bare.ends_with("is bare: there is no work tree to start from"), "{bare}");
    let unborn = path("unborn");
    git_at(&unborn, &["init", "-q"]);
    put(&unborn.join("a"), b"x");
    let inside = told(open(&unborn.join(".git")).unwrap_err());
    assert!(inside.ends_with("is inside of a git directory, not in a work tree"), "{inside}");
    let repository = open(&unborn).unwrap();
    let unborn = told(repository.snapshot().unwrap_err());
    assert!(unborn.ends_with("has no commits: make the first one, then try again"), "{unborn}");
    for id in ["", "-x", "a/b", "a b", "a..b", "ä"] {
        assert!(matches!(RunRefs::of(id), Err(RunTreeError::BadId(_))), "{id}");
    }
}
