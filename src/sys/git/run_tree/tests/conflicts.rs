//! Conflicts that git can't mark: none of them is taken for resolved, and no side is lost without a decision.

use super::*;

type Change = fn(&Path);

/// What there is before, what others make of it, what the run makes of it, and what is told of it beside.
struct Case {
    name: &'static str,
    before: Change,
    others: Change,
    own: Change,
    beside: &'static [&'static str],
}

/// Enough lines to be recognised in a file of another name.
fn lines(extra: &str) -> String {
    (0..30).map(|number| format!("line {number}\n")).collect::<String>() + extra
}

fn put_lines(dir: &Path, name: &str, extra: &str) {
    put(&dir.join(name), lines(extra).as_bytes());
}

fn remove(path: PathBuf) {
    std::fs::remove_file(path).unwrap();
}

fn rename(dir: &Path, from: &str, to: &str) {
    std::fs::rename(dir.join(from), dir.join(to)).unwrap();
}

fn link(dir: &Path, to: &str) {
    std::fs::remove_file(dir.join("l")).ok();
    symlink(to, dir.join("l")).unwrap();
}

fn executable(dir: &Path, text: &str) {
    put(&dir.join("n"), text.as_bytes());
    set_mode(&dir.join("n"), 0o755);
}

fn repository(dir: &Path) {
    std::fs::create_dir(dir).unwrap();
    git_at(dir, &["init", "-q"]);
    let ann = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"];
    git_at(dir, &[&ann[..], &["commit", "-q", "--allow-empty", "-m", "x"]].concat());
}

const CASES: [Case; 14] = [
    Case {
        name: "binary",
        before: |dir| put(&dir.join("x"), b"\0a"),
        others: |dir| put(&dir.join("x"), b"\0b"),
        own: |dir| put(&dir.join("x"), b"\0c"),
        beside: &["branch/x", "yours/x"],
    },
    Case {
        name: "new binary",
        before: |_| {},
        others: |dir| put(&dir.join("d/x"), b"\0b"),
        own: |dir| put(&dir.join("d/x"), b"\0c"),
        beside: &["branch/d/x", "yours/d/x"],
    },
    Case {
        name: "removed by others, changed by the run",
        before: |dir| put_lines(dir, "x", ""),
        others: |dir| remove(dir.join("x")),
        own: |dir| put_lines(dir, "x", "more\n"),
        beside: &["yours/x"],
    },
    Case {
        name: "changed by others, removed by the run",
        before: |dir| put_lines(dir, "x", ""),
        others: |dir| put_lines(dir, "x", "more\n"),
        own: |dir| remove(dir.join("x")),
        beside: &["branch/x"],
    },
    Case {
        name: "renamed twice",
        before: |dir| put_lines(dir, "x", ""),
        others: |dir| rename(dir, "x", "a"),
        own: |dir| rename(dir, "x", "b"),
        beside: &["branch/a", "yours/b"],
    },
    Case {
        name: "renamed by others, removed by the run",
        before: |dir| put_lines(dir, "x", ""),
        others: |dir| rename(dir, "x", "a"),
        own: |dir| remove(dir.join("x")),
        beside: &["branch/a"],
    },
    Case {
        name: "removed by others, renamed by the run",
        before: |dir| put_lines(dir, "x", ""),
        others: |dir| remove(dir.join("x")),
        own: |dir| rename(dir, "x", "a"),
        beside: &["yours/a"],
    },
    Case {
        name: "a directory renamed by others, a file added to it by the run",
        before: |dir| ["d/a", "d/b", "d/c"].into_iter().for_each(|name| put_lines(dir, name, name)),
        others: |dir| rename(dir, "d", "e"),
        own: |dir| put(&dir.join("d/n"), b"new\n"),
        beside: &["yours/e/n"],
    },
    Case {
        name: "new in two modes",
        before: |_| {},
        others: |dir| executable(dir, "1\n"),
        own: |dir| put(&dir.join("n"), b"1\n"),
        beside: &["branch/n", "yours/n"],
    },
    Case {
        name: "links",
        before: |dir| link(dir, "a"),
        others: |dir| link(dir, "b"),
        own: |dir| link(dir, "c"),
        beside: &["branch/l", "yours/l"],
    },
    Case {
        name: "a link and a file",
        before: |dir| link(dir, "a"),
        others: |dir| link(dir, "b"),
        own: |dir| {
            remove(dir.join("l"));
            put(&dir.join("l"), b"text\n");
        },
        beside: &["branch/l", "yours/l"],
    },
    Case {
        name: "a directory of others, a file of the run",
        before: |_| {},
        others: |dir| put(&dir.join("d/f"), b"1\n"),
        own: |dir| put(&dir.join("d"), b"2\n"),
        beside: &["yours/d"],
    },
    Case {
        name: "a file of others, a directory of the run",
        before: |_| {},
        others: |dir| put(&dir.join("d"), b"1\n"),
        own: |dir| put(&dir.join("d/f"), b"2\n"),
        beside: &["branch/d"],
    },
    Case {
        name: "a submodule of others, a file of the run",
        before: |_| {},
        others: |dir| repository(&dir.join("lib")),
        own: |dir| put(&dir.join("lib"), b"text\n"),
        beside: &["branch/lib", "yours/lib"],
    },
];

/// A run in conflict with what a person committed to the branch, on its new base.
fn in_conflict(case: &Case) -> (Scene, RunTree) {
    let scene = Scene::new(&[("k", "1\n")]);
    (case.before)(&scene.repo());
    scene.commit("before");
    scene.crew().begin(&scene.git(&["rev-parse", "HEAD"])).unwrap();
    let tree = scene.tree("r1");
    tree.create(&scene.crew().base().unwrap(), &WantedFiles::default()).unwrap();
    (case.own)(&tree.path());
    tree.free(&tree.close("own").unwrap()).unwrap();
    let other = scene.dir.join("other");
    scene.git(&["worktree", "add", "-q", other.to_str().unwrap(), "ravenry/crew-plan"]);
    (case.others)(&other);
    git_at(&other, &["add", "-A"]);
    git_at(&other, &["commit", "-q", "-m", "others"]);
    scene.git(&["worktree", "remove", "--force", other.to_str().unwrap()]);
    let prepared = scene.crew().prepare(&tree).unwrap();
    assert!(matches!(prepared, CrewMerge::Conflicts(_)), "{}: {prepared:?}", case.name);
    tree.move_base(&scene.crew().base().unwrap(), "moved").unwrap();
    (scene, tree)
}

/// What is beside in the tip, with mode and content.
fn beside(scene: &Scene, tree: &RunTree) -> BTreeMap<PathBuf, (String, Vec<u8>)> {
    let all = scene.listing(&tree.tip().unwrap());
    let dir = Path::new("ravenry-conflicts");
    let inside =
        all.into_iter().filter_map(|(path, file)| Some((path.strip_prefix(dir).ok()?.to_path_buf(), file)));
    inside.filter(|(path, _)| path != Path::new("README.md")).collect()
}

#[test]
fn a_conflict_without_marks_is_told_until_somebody_decides() {
    for case in CASES {
        let (scene, tree) = in_conflict(&case);
        let name = case.name;
        let told = tree.unmarked_files().unwrap();
        assert!(!told.is_empty(), "{name}");
        assert_eq!(tree.marked_files().unwrap(), told, "{name}");
        let sides = beside(&scene, &tree);
        assert_eq!(
            sides.keys().map(|path| path.to_str().unwrap()).collect::<Vec<_>>(),
            case.beside,
            "{name}"
        );
        let names = scene.names(&tree.tip().unwrap());
        assert!(!names.iter().any(|name| name.contains('~')), "{name}: {names:?}");
        // Whoever does nothing about it has not decided.
        tree.reopen(&WantedFiles::default()).unwrap();
        tree.free(&tree.close("nothing").unwrap()).unwrap();
        assert_eq!(tree.unmarked_files().unwrap(), told, "{name}");
        assert_eq!(beside(&scene, &tree), sides, "{name}");
        let path = tree.reopen(&WantedFiles::default()).unwrap().path;
        std::fs::remove_dir_all(path.join("ravenry-conflicts")).unwrap();
        tree.free(&tree.close("decided").unwrap()).unwrap();
        assert_eq!(tree.marked_files().unwrap(), Vec::<PathBuf>::new(), "{name}");
        match scene.crew().prepare(&tree).unwrap() {
            // What git left there is that of the branch.
            CrewMerge::Nothing => {}
            CrewMerge::Ready(step) => {
                let names = scene.names(&step.tree);
                assert!(!names.iter().any(|name| name.contains("ravenry-")), "{name}: {names:?}");
            }
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn both_sides_are_beside_as_they_were() {
    let (scene, tree) = in_conflict(&CASES[0]);
    let side = |text: &[u8]| ("100644".to_string(), text.to_vec());
    let sides = beside(&scene, &tree);
    assert_eq!((&sides[Path::new("branch/x")], &sides[Path::new("yours/x")]), (&side(b"\0b"), &side(b"\0c")));
    let told = scene.git(&["show", &format!("{}:ravenry-conflicts/README.md", tree.tip().unwrap())]);
    assert!(told.ends_with("- x: warning: Cannot merge binary files: x (BRANCH vs. YOURS)"), "{told}");
    let modes = |case: usize| {
        let (scene, tree) = in_conflict(&CASES[case]);
        beside(&scene, &tree).into_values().map(|(mode, _)| mode).collect::<Vec<_>>()
    };
    assert_eq!((modes(8), modes(9)), (vec!["100755".into(), "100644".into()], vec!["120000".to_string(); 2]));
    let (scene, tree) = in_conflict(&CASES[13]);
    let (mode, text) = &beside(&scene, &tree)[Path::new("branch/lib")];
    assert!(mode == "100644" && text.starts_with(b"Subproject commit "), "{mode}");
}

#[test]
fn what_is_not_decided_yet_stays_when_the_base_moves_again() {
    let (scene, tree) = in_conflict(&CASES[0]);
    let again = scene.crew_run("r2", &[("k", "2\n")]);
    assert!(again.unmarked_files().unwrap().is_empty());
    scene.advance("r2");
    tree.move_base(&scene.crew().base().unwrap(), "moved again").unwrap();
    assert_eq!(tree.marked_files().unwrap(), [PathBuf::from("x")]);
    assert_eq!(beside(&scene, &tree).len(), 2);
    assert_eq!(scene.git(&["show", &format!("{}:k", tree.tip().unwrap())]), "2");
}

#[test]
fn lines_are_marked_and_modes_told_beside_if_both_conflict() {
    let case = Case {
        name: "lines and modes",
        before: |_| {},
        others: |dir| executable(dir, "1\n"),
        own: |dir| put(&dir.join("n"), b"2\n"),
        beside: &[],
    };
    let (scene, tree) = in_conflict(&case);
    assert_eq!(tree.unmarked_files().unwrap(), [PathBuf::from("n")]);
    assert_eq!(beside(&scene, &tree).len(), 2);
    assert!(scene.git(&["show", &format!("{}:n", tree.tip().unwrap())]).contains("<<<<<<<"));
    let path = tree.reopen(&WantedFiles::default()).unwrap().path;
    std::fs::remove_dir_all(path.join("ravenry-conflicts")).unwrap();
    tree.free(&tree.close("half").unwrap()).unwrap();
    assert_eq!(tree.marked_files().unwrap(), [PathBuf::from("n")], "the marks are still there");
}
