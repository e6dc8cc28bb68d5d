//! Making and removing work trees, and fingerprints.

use super::*;

#[test]
fn a_worktree_has_the_files_and_the_person_keeps_theirs() {
    let scene = Scene::new(&[("a", "1\n"), ("b", "1\n")]);
    scene.put("a", "2\n");
    scene.put("new", "2\n");
    std::fs::remove_file(scene.repo().join("b")).unwrap();
    let before = scene.person();
    let tree = scene.run("r1");
    assert_eq!(scene.person(), before);
    assert_eq!(std::fs::read(tree.path().join("a")).unwrap(), b"2\n");
    assert_eq!(std::fs::read(tree.path().join("new")).unwrap(), b"2\n");
    assert!(!tree.path().join("b").exists());
    assert_eq!(tree.base().unwrap(), tree.tip().unwrap());
    assert_eq!(scene.repository().runs().unwrap(), ["r1"]);
    let again = tree.create(&scene.repository().snapshot().unwrap(), &WantedFiles::default());
    assert!(matches!(again, Err(RunTreeError::Exists(_))));
    let inside = RunTree::new(&scene.repository(), "r2", &scene.repo().join("x")).unwrap();
    let refused = inside.create(&scene.repository().snapshot().unwrap(), &WantedFiles::default());
    assert!(matches!(refused, Err(RunTreeError::Inside(_))));
    std::fs::remove_dir(scene.repo().join("x")).ok();
    // Nothing is left when the run is discarded.
    put(&tree.path().join("work"), b"x");
    tree.close("work").unwrap();
    assert_eq!(tree.discard().unwrap(), DiscardedRun { kept_branch: None });
    assert!(!tree.path().exists() && !scene.repo().join(".git/worktrees").exists());
    assert_eq!(scene.refs(), ["refs/heads/main"]);
    assert_eq!(scene.person(), before);
    tree.discard().unwrap();
    assert!(matches!(tree.base(), Err(RunTreeError::NoRun(_))));
}

#[test]
fn wanted_files_are_copied_and_linked_and_nothing_else() {
    let scene = Scene::new(&[("tracked", "1\n"), (".gitignore", "/ignored*\nnode_modules/\n*.local\n")]);
    scene.put(".worktreeinclude", "*.local\nplain\n!not.local\n");
    for file in ["a.local", "deep/b.local", "not.local", "ignored/one", "ignored/two/three", "ignored-file"] {
        scene.put(file, file);
    }
    scene.put("node_modules/x/index.js", "x");
    scene.put("plain", "not ignored");
    put(&scene.dir.join("outside/secret"), b"x");
    symlink(scene.dir.join("outside"), scene.repo().join("ignored-way-out")).unwrap();
    symlink("one", scene.repo().join("ignored/link")).unwrap();
    let wanted = |copy: &[&str], link: &[&str]| WantedFiles {
        copy: copy.iter().map(ToString::to_string).collect(),
        link: link.iter().map(ToString::to_string).collect(),
    };
    let create = |id: &str, wanted: &WantedFiles| {
        scene.tree(id).create(&scene.repository().snapshot().unwrap(), wanted)
    };
    let made = create(
        "r1",
        &wanted(&["ignored", "tracked", "ignored-way-out/*", ".git/*"], &["node_modules", "absent"]),
    )
    .unwrap();
    let brought: BTreeMap<&str, BroughtHow> =
        made.brought.iter().map(|file| (file.path.to_str().unwrap(), file.how)).collect();
    let expected = [
        ("a.local", BroughtHow::Copied),
        ("deep/b.local", BroughtHow::Copied),
        ("ignored/one", BroughtHow::Copied),
        ("ignored/link", BroughtHow::Copied),
        ("ignored/two/three", BroughtHow::Copied),
        ("tracked", BroughtHow::InTheWay),
        ("ignored-way-out/secret", BroughtHow::BehindLink),
        ("node_modules", BroughtHow::Linked),
    ];
    assert_eq!(brought, BTreeMap::from(expected));
    assert_eq!(std::fs::read(made.path.join("ignored/two/three")).unwrap(), b"ignored/two/three");
    assert_eq!(made.path.join("node_modules").read_link().unwrap(), scene.repo().join("node_modules"));
    assert!(!made.path.join("not.local").exists() && !made.path.join("ignored-file").exists());
    // `node_modules/` in .gitignore does not match the link: it is still not the worker's.
    let closed = scene.tree("r1").close("nothing").unwrap();
    assert!(!closed.is_changed && closed.saved.is_empty() && closed.unsaved.is_empty(), "{closed:?}");
    for pattern in ["../x", "/etc/passwd", "a/../../x", "", "a[", "***"] {
        let refused = create("r2", &wanted(&[pattern], &[]));
        assert!(matches!(refused, Err(RunTreeError::BadPattern { .. })), "{pattern}: {refused:?}");
    }
    assert!(!scene.tree("r2").path().exists() && scene.tree("r2").base().is_err());
}

#[test]
fn a_worktree_that_cannot_be_made_leaves_nothing() {
    let scene = Scene::new(&[("a", "1\n")]);
    let before = scene.person();
    let snapshot = scene.repository().snapshot().unwrap();
    // Something that is not an object: git refuses.
    let broken = TreeSnapshot { commit: "0123456789".repeat(4), ..snapshot };
    let tree = scene.tree("r1");
    assert!(matches!(tree.create(&broken, &WantedFiles::default()), Err(RunTreeError::Failed { .. })));
    assert_eq!(scene.refs(), ["refs/heads/main"]);
    assert!(!tree.path().exists());
    assert_eq!(scene.person(), before);
    scene.run("r1");
}

#[test]
fn a_directory_goes_only_when_everything_in_it_is_saved() {
    let scene = Scene::new(&[("a", "1\n")]);
    let tree = scene.run("r1");
    put(&tree.path().join("a"), b"2\n");
    let nested = tree.path().join("nested");
    std::fs::create_dir(&nested).unwrap();
    git_at(&nested, &["init", "-q"]);
    put(&nested.join("file"), b"x");
    let closed = tree.close("work").unwrap();
    let refused = tree.free(&closed).unwrap_err();
    assert!(refused.to_string().contains("not everything in"), "{refused}");
    assert!(tree.path().exists());
    std::fs::remove_dir_all(&nested).unwrap();
    // Without write permission, too.
    put(&tree.path().join("locked/file"), b"x");
    set_mode(&tree.path().join("locked"), 0o500);
    let closed = tree.close("work").unwrap();
    tree.free(&closed).unwrap();
    assert!(!tree.path().exists() && !scene.repo().join(".git/worktrees").exists());
    assert_eq!(scene.names(&closed.tip), ["a", "locked/file"]);
    // Closing it again keeps what was recorded.
    let again = tree.close("work").unwrap();
    assert_eq!((again.tip, again.has_directory), (closed.tip, false));
}

#[test]
fn a_run_goes_on_where_it_was() {
    let scene = Scene::new(&[("a", "1\n"), ("b", "1\n")]);
    scene.put("b", "not committed\n");
    scene.put(".env", "KEY=1\n");
    let tree = scene.run("r1");
    put(&tree.path().join("a"), b"2\n");
    put(&tree.path().join("key.pem"), b"x");
    let closed = tree.close("work").unwrap();
    let there = tree.reopen(&WantedFiles::default()).unwrap();
    assert_eq!(there.brought, [], "the directory is still there");
    tree.free(&closed).unwrap();
    let before = scene.person();
    let made = tree.reopen(&WantedFiles::default()).unwrap();
    assert_eq!(scene.person(), before);
    for (file, text) in [("a", "2\n"), ("b", "not committed\n"), (".env", "KEY=1\n"), ("key.pem", "x")] {
        assert_eq!(std::fs::read_to_string(made.path.join(file)).unwrap(), text);
    }
    let again = tree.close("work").unwrap();
    assert_eq!((&again.tip, again.saved.len()), (&closed.tip, 1));
    put(&made.path.join("c"), b"more\n");
    let more = tree.close("work").unwrap();
    assert_eq!(scene.names(&more.tip), ["a", "b", "c"]);
    assert_eq!(scene.git(&["rev-parse", &format!("{}^", more.tip)]), closed.base);
}

#[test]
fn a_fingerprint_tells_what_changed() {
    let scene = Scene::new(&[("a", "1\n"), ("b", "1\n"), (".gitignore", "ignored\n")]);
    scene.put("dirty\nname", "1\n");
    let before = scene.person();
    let first = TreeFingerprint::of(&scene.repo()).unwrap();
    let file = |name: &str| ParentChange::File(name.into());
    let since = || TreeFingerprint::of(&scene.repo()).unwrap().changes_since(&first);
    assert_eq!(since(), []);
    assert_eq!(scene.person(), before);
    assert_eq!(TreeFingerprint::from_bytes(&first.to_bytes()), Some(first.clone()));
    assert_eq!(TreeFingerprint::from_bytes(b"\xff"), None);
    scene.put("ignored", "x");
    assert_eq!(since(), []);
    scene.put("a", "2\n");
    scene.put("dirty\nname", "22\n");
    scene.put("new", "1\n");
    std::fs::remove_file(scene.repo().join("b")).unwrap();
    assert_eq!(since(), [file("a"), file("b"), file("dirty\nname"), file("new")]);
    scene.commit("second");
    let told = since();
    assert!(told.contains(&ParentChange::Head), "{told:?}");
}
