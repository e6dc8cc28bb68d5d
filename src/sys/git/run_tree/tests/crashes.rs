//! Crash sweeps: a process is killed before each of its calls of git and each change to the file system, until it
//! survives. The next process must finish what was begun, and nothing may be lost.

use std::os::unix::process::ExitStatusExt;

use super::*;
use crate::sys::test_switches::CRASH_AT;

/// What the process that is killed does, and in which scene.
const TASK: &str = "MSG_TEST_RUN_TREE_TASK";
const SCENE: &str = "MSG_TEST_RUN_TREE_SCENE";

/// Not a test by itself: the body of the process that is killed.
#[test]
fn child() {
    let (Ok(task), Ok(dir)) = (std::env::var(TASK), std::env::var(SCENE)) else { return };
    perform(&Scene::at(Path::new(&dir)), &task);
}

fn perform(scene: &Scene, task: &str) {
    let tree = scene.tree("r1");
    match task {
        "create" => {
            let snapshot = scene.repository().snapshot().unwrap();
            tree.create(&snapshot, &WantedFiles::default()).unwrap();
        }
        "close" => drop(tree.close("work").unwrap()),
        "free" => tree.free(&tree.close("work").unwrap()).unwrap(),
        "merge" => match tree.prepare_merge().unwrap() {
            MergePreview::Ready(prepared) => drop(tree.write_merge(&prepared).unwrap()),
            MergePreview::AlreadyMerged => {}
            other => panic!("{other:?}"),
        },
        "commit" => match tree.prepare_commit().unwrap() {
            MergePreview::Ready(prepared) => drop(tree.commit_merge(&prepared, "merged").unwrap()),
            MergePreview::AlreadyMerged => {}
            other => panic!("{other:?}"),
        },
        "discard" => drop(tree.discard().unwrap()),
        "crew" => match scene.crew().prepare(&tree).unwrap() {
            CrewMerge::Ready(step) => {
                let moved = scene.crew().advance(&tree, &step, "work of r1").unwrap();
                assert!(matches!(moved, CrewMove::Moved { .. }), "{moved:?}");
            }
            CrewMerge::Already { .. } => {}
            other => panic!("{other:?}"),
        },
        "move" => tree.move_base(&scene.crew().base().unwrap(), "moved").unwrap(),
        other => panic!("{other}"),
    }
}

/// Runs a task in a process that dies at that step. `false`: it survived.
fn dies(scene: &Scene, task: &str, step: usize) -> bool {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "sys::git::run_tree::tests::crashes::child", "--nocapture"]);
    command.env(TASK, task).env(SCENE, &scene.dir).env(CRASH_AT, step.to_string());
    let output = command.output().unwrap();
    if output.status.signal() == Some(9) {
        return true;
    }
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    false
}

/// Sweeps through all steps. `check` is called after each death, before and after the task was done again.
fn sweep(build: impl Fn() -> Scene, task: &str, between: impl Fn(&Scene), check: impl Fn(&Scene)) {
    let mut step = 1;
    let scene = build();
    let kept = scene.dir.with_extension("kept");
    copy(&scene.dir, &kept);
    loop {
        let before = scene.person();
        let is_dead = dies(&scene, task, step);
        if is_dead {
            if !["merge", "commit"].contains(&task) {
                assert_eq!(scene.person(), before, "{task}: killed at step {step}");
            }
            between(&scene);
            perform(&scene, task);
        }
        check(&scene);
        assert!(files_below(&scene.dir.join("state/git-tmp")).is_empty(), "{task}: swept after step {step}");
        if !is_dead {
            break;
        }
        step += 1;
        std::fs::remove_dir_all(&scene.dir).unwrap();
        copy(&kept, &scene.dir);
    }
    std::fs::remove_dir_all(kept).unwrap();
    assert!(step > 5, "{task}: only {step} steps");
}

fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap().success());
}

/// A run whose worker is done.
fn worked() -> Scene {
    let scene = Scene::new(&[("a", "1\n2\n3\n4\n5\n"), ("old", "one\ntwo\nthree\nfour\n"), ("gone", "1\n")]);
    scene.put("a", "ONE\n2\n3\n4\n5\n");
    scene.put("old", "one\ntwo\nthree\nFOUR\n");
    scene.put(".env", "KEY=1\n");
    let path = scene.run("r1").path();
    put(&path.join("a"), b"ONE\n2\n3\n4\nFIVE\n");
    std::fs::rename(path.join("old"), path.join("renamed")).unwrap();
    std::fs::remove_file(path.join("gone")).unwrap();
    put(&path.join("deep/new"), b"new\n");
    put(&path.join("key.pem"), b"x");
    scene
}

fn assert_closed(scene: &Scene) {
    let tree = scene.tree("r1");
    assert_eq!(scene.names(&tree.tip().unwrap()), ["a", "deep/new", "renamed"]);
    assert_eq!(scene.names(&tree.refs().saved()), ["key.pem"]);
    assert_eq!(scene.git(&["show", "ravenry/run-r1:a"]), "1\n2\n3\n4\nFIVE");
    assert_eq!(scene.git(&["rev-list", "--count", "ravenry/run-r1"]), "2");
    let refs = scene.refs();
    assert!(!refs.iter().any(|name| name.ends_with("/branching")), "{refs:?}");
}

#[test]
fn creating() {
    let build = || {
        let scene = Scene::new(&[("a", "1\n"), ("dir/b", "1\n")]);
        scene.put("a", "2\n");
        scene.put(".env", "KEY=1\n");
        scene
    };
    sweep(
        build,
        "create",
        // Closing what was never complete records nothing.
        |scene| match scene.tree("r1").close("work") {
            Ok(closed) => {
                assert!(!closed.is_changed && (!closed.has_directory || closed.saved.is_empty()));
                if closed.has_directory {
                    scene.tree("r1").discard().unwrap();
                }
            }
            Err(error) => assert!(matches!(error, RunTreeError::NoRun(_)), "{error}"),
        },
        |scene| {
            let tree = scene.tree("r1");
            assert_eq!(std::fs::read(tree.path().join("a")).unwrap(), b"2\n");
            assert_eq!(std::fs::read(tree.path().join(".env")).unwrap(), b"KEY=1\n");
            assert!(!tree.close("nothing").unwrap().is_changed);
            assert_eq!(scene.git(&["worktree", "list", "--porcelain"]).matches("worktree ").count(), 2);
        },
    );
}

#[test]
fn closing() {
    sweep(worked, "close", |_| {}, assert_closed);
}

#[test]
fn freeing() {
    let build = || {
        let scene = worked();
        scene.tree("r1").close("work").unwrap();
        scene
    };
    let check = |scene: &Scene| {
        assert_closed(scene);
        assert!(
            files_below(&scene.dir.join("place"))
                .iter()
                .all(|path| path.extension() == Some("lock".as_ref()))
        );
        assert!(!scene.repo().join(".git/worktrees").exists());
    };
    // A directory of which a part is removed must not look like removed files.
    sweep(build, "free", |scene| drop(scene.tree("r1").close("work").unwrap()), check);
}

#[test]
fn discarding() {
    let build = || {
        let scene = worked();
        scene.tree("r1").close("work").unwrap();
        scene
    };
    sweep(
        build,
        "discard",
        |_| {},
        |scene| {
            assert_eq!(scene.refs(), ["refs/heads/main"]);
            assert!(!scene.tree("r1").path().exists() && !scene.repo().join(".git/worktrees").exists());
        },
    );
}

fn closed_and_changed() -> Scene {
    let scene = worked();
    scene.tree("r1").close("work").unwrap();
    // Discarded while the run worked.
    scene.put("a", "1\n2\n3\n4\n5\n");
    scene
}

fn assert_merged(scene: &Scene) {
    assert_eq!(scene.text("a"), "1\n2\n3\n4\nFIVE\n");
    assert_eq!(scene.text("renamed"), "one\ntwo\nthree\nFOUR\n");
    assert_eq!(scene.text("deep/new"), "new\n");
    assert_eq!(scene.text(".env"), "KEY=1\n");
    assert!(!scene.repo().join("old").exists() && !scene.repo().join("gone").exists());
    let left = files_below(&scene.repo()).into_iter().find(|path| path.extension() == Some("msg".as_ref()));
    assert_eq!(left, None);
    let tree = scene.tree("r1");
    assert!(tree.is_merged().unwrap() && tree.interrupted_merge().unwrap().is_none());
}

#[test]
fn merging() {
    sweep(closed_and_changed, "merge", |_| {}, assert_merged);
}

#[test]
fn merging_while_the_person_works_on() {
    // After the death, the person writes at the top of a file that the merge may or may not have written.
    let between = |scene: &Scene| {
        let text = scene.text("a");
        scene.put("a", &text.replace("1\n", "person\n1\n"));
        scene.put("other", "person\n");
    };
    let check = |scene: &Scene| {
        let text = scene.text("a");
        if text.starts_with("person\n") {
            assert_eq!(scene.text("other"), "person\n");
            scene.put("a", &text.replace("person\n", ""));
        }
        assert_merged(scene);
    };
    sweep(closed_and_changed, "merge", between, check);
}

#[test]
fn merging_with_a_commit() {
    let build = || {
        let scene = closed_and_changed();
        scene.git(&["checkout", "-q", "."]);
        scene.put("untracked", "stays\n");
        scene
    };
    sweep(
        build,
        "commit",
        |_| {},
        |scene| {
            assert_eq!(scene.text("a"), "1\n2\n3\n4\nFIVE\n");
            assert_eq!(scene.git(&["log", "--format=%s"]), "merged\nfirst");
            assert_eq!(scene.git(&["status", "--porcelain"]), "?? .env\n?? untracked");
            assert!(scene.tree("r1").is_merged().unwrap());
        },
    );
}

/// A run for a crew, whose branch has moved on since it started.
fn crewed() -> Scene {
    let scene = Scene::new(&[("a", "1\n2\n3\n4\n5\n"), ("b", "1\n")]);
    scene.crew().begin(&scene.git(&["rev-parse", "HEAD"])).unwrap();
    scene.crew_run("r1", &[("a", "1\n2\n3\n4\nFIVE\n")]);
    scene.crew_run("r2", &[("a", "ONE\n2\n3\n4\n5\n")]);
    scene.advance("r2");
    scene
}

#[test]
fn putting_work_on_the_branch_of_a_crew() {
    sweep(
        crewed,
        "crew",
        |_| {},
        |scene| {
            let subjects = scene.git(&["log", "--format=%s", "ravenry/crew-plan"]);
            assert_eq!(subjects, "work of r1\nwork of r2\nfirst", "once");
            assert_eq!(scene.git(&["show", "ravenry/crew-plan:a"]), "ONE\n2\n3\n4\nFIVE");
            assert!(matches!(
                scene.crew().prepare(&scene.tree("r1")).unwrap(),
                CrewMerge::Already { commit: Some(_) }
            ));
        },
    );
}

#[test]
fn moving_the_base_of_a_run() {
    sweep(
        crewed,
        "move",
        |_| {},
        |scene| {
            let tree = scene.tree("r1");
            assert_eq!(scene.git(&["show", &format!("{}:a", tree.tip().unwrap())]), "ONE\n2\n3\n4\nFIVE");
            assert_eq!(scene.git(&["show", &format!("{}:a", tree.base().unwrap())]), "ONE\n2\n3\n4\n5");
            assert_eq!(tree.changes().unwrap().len(), 1, "the work of others is not its own");
        },
    );
}
