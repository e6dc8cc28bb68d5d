//! Tests with real repositories.

use std::os::unix::fs::symlink;

use super::*;
use crate::domain::line_merge::LineRange;
use crate::domain::settings::Durability;
use crate::sys::files::Files;

/// A repository with two work trees, `ours` and `theirs`.
struct Scene(tempfile::TempDir);

impl Scene {
    fn new(files: &[(&str, &[u8])]) -> Self {
        let scene = Self(tempfile::tempdir().unwrap());
        files::create_dir(&scene.path("ours")).unwrap();
        scene.git("ours", &["init", "-q", "-b", "main"]);
        for (file, content) in files {
            scene.put(&format!("ours/{file}"), content);
        }
        scene.git("ours", &["add", "-A"]);
        scene.git("ours", &["commit", "-q", "--allow-empty", "-m", "first"]);
        scene.git("ours", &["worktree", "add", "-q", "-b", "other", "../theirs"]);
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn put(&self, name: &str, content: &[u8]) {
        let path = self.path(name);
        files::create_dir(path.parent().unwrap()).unwrap();
        Files::new(self.path("tmp"), Durability::Process).replace(&path, content).unwrap();
    }

    #[track_caller]
    fn git(&self, tree: &str, args: &[&str]) -> String {
        let mut command = Command::new("git");
        command.arg("-C").arg(self.path(tree)).args(["-c", "user.name=J", "-c", "user.email=j@x"]).args(args);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn pair(&self) -> Option<WorkTreePair> {
        WorkTreePair::new(&self.path("ours"), &self.path("theirs"))
    }

    #[track_caller]
    fn merge(&self, file: &str) -> FileMerge {
        self.pair().unwrap().merge(Path::new(file))
    }
}

fn lines(ours: (usize, usize), theirs: (usize, usize)) -> FileMerge {
    let range = |(first, count)| LineRange { first, count };
    let lines = ConflictingLines { ours: range(ours), theirs: range(theirs) };
    FileMerge::Conflict(FileConflict::Lines(vec![lines]))
}

#[test]
fn working_files_are_merged_over_the_common_commit() {
    let scene = Scene::new(&[("src/a b.rs", b"1\n2\n3\n4\n5\n"), ("other", b"x\n")]);
    let status = || [scene.git("ours", &["status", "--porcelain"]), scene.git("theirs", &["count-objects"])];
    assert_eq!(scene.merge("src/a b.rs"), FileMerge::Clean);
    scene.put("ours/src/a b.rs", b"1\nTWO\nTWO\n3\n4\n5\n");
    scene.put("theirs/src/a b.rs", b"1\n2\n3\n4\nFIVE\n");
    let before = status();
    assert_eq!(scene.merge("src/a b.rs"), FileMerge::Clean);
    scene.put("theirs/src/a b.rs", b"1\ntwo\n3\n4\nFIVE\n");
    assert_eq!(scene.merge("src/a b.rs"), lines((2, 2), (2, 1)));
    assert_eq!(status(), before, "nothing was written");
    // A commit changes nothing: the common commit is the same.
    scene.git("ours", &["commit", "-q", "-a", "-m", "ours"]);
    scene.git("theirs", &["commit", "-q", "-a", "-m", "theirs"]);
    assert_eq!(scene.merge("src/a b.rs"), lines((2, 2), (2, 1)));
    // Once one has the other's commit, the conflict is resolved.
    scene.git("theirs", &["merge", "-q", "-X", "ours", "main"]);
    assert_eq!(scene.merge("src/a b.rs"), FileMerge::Clean);
}

#[test]
fn files_that_are_removed_added_binary_or_links() {
    let scene = Scene::new(&[("text", b"1\n"), ("picture", b"\0\x01"), ("link", b"")]);
    files::remove(&scene.path("ours/text")).unwrap();
    assert_eq!(scene.merge("text"), FileMerge::Clean, "the other did not change it");
    scene.put("theirs/text", b"2\n");
    assert_eq!(scene.merge("text"), FileMerge::Conflict(FileConflict::RemovedHere));
    let turned = WorkTreePair::new(&scene.path("theirs"), &scene.path("ours")).unwrap();
    assert_eq!(turned.merge(Path::new("text")), FileMerge::Conflict(FileConflict::RemovedThere));
    files::remove(&scene.path("theirs/text")).unwrap();
    assert_eq!(scene.merge("text"), FileMerge::Clean, "both removed it");

    scene.put("ours/picture", b"\0\x02");
    assert_eq!(scene.merge("picture"), FileMerge::Clean);
    scene.put("theirs/picture", b"\0\x03");
    assert_eq!(scene.merge("picture"), FileMerge::Conflict(FileConflict::Whole));

    for (tree, target) in [("ours", "/etc/passwd"), ("theirs", "elsewhere")] {
        files::remove(&scene.path(tree).join("link")).unwrap();
        symlink(target, scene.path(tree).join("link")).unwrap();
    }
    assert_eq!(scene.merge("link"), FileMerge::Conflict(FileConflict::Whole));

    scene.put("ours/new", b"a\nb\n");
    assert_eq!(scene.merge("new"), FileMerge::Clean);
    scene.put("theirs/new", b"a\nb\n");
    assert_eq!(scene.merge("new"), FileMerge::Clean);
    scene.put("theirs/new", b"c\n");
    assert_eq!(scene.merge("new"), lines((1, 2), (1, 1)));
    scene.put("ours/sub/file", b"x");
    scene.put("theirs/sub", b"y");
    assert_eq!(scene.merge("sub"), FileMerge::Clean, "a directory is not a file");
    assert_eq!(scene.merge("sub/file"), FileMerge::Clean);
}

#[test]
fn what_can_not_be_compared_is_not_a_conflict() {
    let scene = Scene::new(&[("a", b"1\n"), ("big", b"1\n"), ("filtered", b"1\n")]);
    let both = |name: &str, content: &[u8]| {
        scene.put(&format!("ours/{name}"), content);
        scene.put(&format!("theirs/{name}"), &[content, b"more\n"].concat());
    };
    both("big", &vec![b'x'; MOST as usize]);
    assert_eq!(scene.merge("big"), FileMerge::Unknown);
    both("filtered", b"2\n");
    assert!(matches!(scene.merge("filtered"), FileMerge::Conflict(_)));
    // A filter is a command; it must not even be run.
    let marker = scene.path("ran");
    scene.git("ours", &["config", "filter.evil.clean", &format!("touch {}", marker.display())]);
    scene.git("ours", &["config", "core.fsmonitor", &format!("touch {}", marker.display())]);
    scene.put("theirs/.gitattributes", b"filtered filter=evil\n");
    assert_eq!(scene.merge("filtered"), FileMerge::Unknown);
    assert!(!files::exists(&marker).unwrap());

    nix::unistd::mkfifo(&scene.path("ours/pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    scene.put("theirs/pipe", b"x");
    assert_eq!(scene.merge("pipe"), FileMerge::Unknown);
    symlink("/etc", scene.path("ours/outside")).unwrap();
    for path in ["outside/passwd", "../ours/a", "/etc/passwd", "", "a/../a"] {
        let pair = scene.pair().unwrap();
        assert_eq!(pair.merge(Path::new(path)), FileMerge::Unknown, "{path}");
    }
}

#[test]
fn without_a_common_commit_nothing_is_known() {
    let scene = Scene::new(&[("a", b"1\n")]);
    scene.git("theirs", &["checkout", "-q", "--orphan", "unrelated"]);
    assert!(scene.pair().is_none(), "it has no commit");
    scene.git("theirs", &["commit", "-q", "-m", "unrelated"]);
    assert!(scene.pair().is_none());
    assert!(WorkTreePair::new(&scene.path("ours"), &scene.path("nowhere")).is_none());
}

#[test]
fn large_texts_that_have_nothing_in_common_take_no_longer_than_allowed() {
    let text = |letter: char| (0..100_000).map(|number| format!("{letter}{number}\n")).collect::<String>();
    let [base, ours, theirs] = ['a', 'b', 'c'].map(text);
    let compare = compare_until(Instant::now() + Duration::from_millis(50));
    let conflicts = conflicting_lines(base.as_bytes(), ours.as_bytes(), theirs.as_bytes(), compare);
    assert!(!conflicts.is_empty());
}

/// Lines that occur once can be matched in one way only, so git must find the same.
#[test]
fn git_finds_the_same_conflicts() {
    let scene = Scene::new(&[]);
    let mut state = 1_u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for round in 0..60 {
        let length = next(12);
        let base: Vec<String> = (0..length).map(|line| format!("line {line}\n")).collect();
        let mut edited = |name: &str| {
            let mut text = String::new();
            for (number, line) in base.iter().enumerate() {
                match next(8) {
                    0 => {}
                    // Sometimes both sides do the same.
                    1 => text.push_str(&format!("both {number}\n")),
                    2 => text.push_str(&format!("{line}{name} added {number}\n")),
                    3 => text.push_str(&format!("{name} {number}\n")),
                    _ => text.push_str(line),
                }
            }
            text
        };
        let (ours, theirs, base) = (edited("ours"), edited("theirs"), base.concat());
        let deadline = Instant::now() + Duration::from_secs(60);
        let compare = compare_until(deadline);
        let found = conflicting_lines(base.as_bytes(), ours.as_bytes(), theirs.as_bytes(), compare);
        for (name, text) in [("a", &ours), ("o", &base), ("b", &theirs)] {
            scene.put(&format!("ours/{name}"), text.as_bytes());
        }
        let merged = Command::new("git")
            .args(["merge-file", "-p", "-q", "a", "o", "b"])
            .current_dir(scene.path("ours"))
            .output();
        let has_conflict = merged.unwrap().status.code() != Some(0);
        assert_eq!(!found.is_empty(), has_conflict, "{round}: {base:?} {ours:?} {theirs:?} {found:?}");
    }
}
