//! The branch of a crew.

use super::*;

fn begun(files: &[(&str, &str)]) -> Scene {
    let scene = Scene::new(files);
    let head = scene.git(&["rev-parse", "HEAD"]);
    assert_eq!(scene.crew().begin(&head).unwrap(), head);
    assert_eq!(scene.crew().begin("0000").unwrap(), head, "it is there already");
    scene
}

#[test]
fn each_commit_is_the_work_of_one_run_and_the_person_notices_nothing() {
    let scene = begun(&[("a", "1\n2\n3\n"), ("b", "1\n")]);
    scene.put("a", "dirty\n");
    scene.put("new", "dirty\n");
    let before = scene.person();
    scene.crew_run("r1", &[("a", "1\n2\nTHREE\n")]);
    scene.crew_run("r2", &[("b", "2\n"), ("dir/c", "3\n")]);
    assert!(matches!(scene.advance("r1"), CrewMove::Moved { .. }));
    assert!(matches!(scene.advance("r2"), CrewMove::Moved { .. }));
    assert_eq!(
        scene.git(&["log", "--format=%s %an", "ravenry/crew-plan"]),
        "work of r2 Ann\nwork of r1 Ann\nfirst Ann"
    );
    assert_eq!(scene.names("ravenry/crew-plan"), ["a", "b", "dir/c"], "nothing that was not committed");
    assert_eq!(scene.git(&["show", "ravenry/crew-plan:a"]), "1\n2\nTHREE");
    assert_eq!(scene.crew().commits_since("main").unwrap(), 2);
    assert_eq!(scene.person(), before);
    assert!(matches!(
        scene.crew().prepare(&scene.tree("r1")).unwrap(),
        CrewMerge::Already { commit: Some(_) }
    ));
    assert!(scene.tree("r1").is_merged().unwrap());
}

#[test]
fn whoever_is_behind_changes_nothing() {
    let scene = begun(&[("a", "1\n"), ("b", "1\n")]);
    let tree = scene.crew_run("r1", &[("a", "2\n")]);
    let CrewMerge::Ready(step) = scene.crew().prepare(&tree).unwrap() else { panic!() };
    // A person commits to the branch meanwhile.
    let theirs = scene.git(&["commit-tree", "-p", "ravenry/crew-plan", "-m", "theirs", "main^{tree}"]);
    scene.git(&["update-ref", "refs/heads/ravenry/crew-plan", &theirs]);
    assert_eq!(scene.crew().advance(&tree, &step, "late").unwrap(), CrewMove::Behind);
    assert_eq!(scene.crew().at().unwrap(), Some(theirs));
    assert!(!tree.is_merged().unwrap(), "both move, or none");
    assert!(matches!(scene.advance("r1"), CrewMove::Moved { .. }));
    assert_eq!(scene.git(&["log", "--format=%s", "ravenry/crew-plan"]), "work of r1\ntheirs\nfirst");
}

#[test]
fn a_run_that_was_changed_after_it_was_tested_is_not_put_on_the_branch() {
    let scene = begun(&[("a", "1\n")]);
    let tree = scene.crew_run("r1", &[("a", "2\n")]);
    let CrewMerge::Ready(step) = scene.crew().prepare(&tree).unwrap() else { panic!() };
    let path = tree.reopen(&WantedFiles::default()).unwrap().path;
    put(&path.join("a"), b"3\n");
    tree.close("more").unwrap();
    assert_eq!(scene.crew().advance(&tree, &step, "old").unwrap(), CrewMove::Behind);
    assert_eq!(scene.git(&["show", "ravenry/crew-plan:a"]), "1");
}

#[test]
fn a_branch_that_is_checked_out_is_not_moved() {
    let scene = begun(&[("a", "1\n")]);
    let tree = scene.crew_run("r1", &[("a", "2\n")]);
    let CrewMerge::Ready(step) = scene.crew().prepare(&tree).unwrap() else { panic!() };
    scene.git(&["checkout", "-q", "ravenry/crew-plan"]);
    let error = scene.crew().advance(&tree, &step, "late").unwrap_err();
    assert!(matches!(error, RunTreeError::CheckedOut(_)), "{error}");
    assert_eq!(scene.text("a"), "1\n");
}

#[test]
fn a_branch_that_is_removed_is_not_begun_anew_unless_nothing_is_lost() {
    let scene = begun(&[("a", "1\n")]);
    let head = scene.git(&["rev-parse", "HEAD"]);
    let remove = || scene.git(&["update-ref", "-d", "refs/heads/ravenry/crew-plan"]);
    scene.crew_run("r1", &[("a", "2\n")]);
    remove();
    assert_eq!(scene.crew().begin(&head).unwrap(), head, "there was nothing on it");
    scene.advance("r1");
    let tip = scene.crew().at().unwrap().unwrap();
    remove();
    let gone = format!(
        "the branch `ravenry/crew-plan` is gone: `git branch ravenry/crew-plan {tip}` brings it back"
    );
    let crew = scene.crew();
    for error in [crew.begin(&head).unwrap_err(), crew.base().unwrap_err(), crew.require_there().unwrap_err()]
    {
        assert_eq!(error.to_string(), gone);
    }
    scene.git(&["branch", "ravenry/crew-plan", &tip]);
    crew.require_there().unwrap();
    // A person has all of it.
    scene.git(&["merge", "-q", "ravenry/crew-plan"]);
    remove();
    assert_eq!(crew.begin(&tip).unwrap(), tip);
}

#[test]
fn nothing_is_built_without_commits_that_somebody_took_off_the_branch() {
    let scene = begun(&[("a", "1\n"), ("b", "1\n")]);
    let head = scene.git(&["rev-parse", "HEAD"]);
    scene.crew_run("r1", &[("a", "2\n")]);
    scene.advance("r1");
    let tip = scene.crew().at().unwrap().unwrap();
    let tree = scene.crew_run("r2", &[("b", "2\n")]);
    let move_to = |commit: &str| scene.git(&["update-ref", "refs/heads/ravenry/crew-plan", commit]);
    move_to(&head);
    let crew = scene.crew();
    for error in
        [crew.prepare(&tree).unwrap_err(), crew.base().unwrap_err(), crew.require_there().unwrap_err()]
    {
        assert_eq!(
            error.to_string(),
            format!(
                "somebody took commits off the branch `ravenry/crew-plan`: \
                 `git branch -f ravenry/crew-plan {tip}` brings them back"
            )
        );
    }
    // Their work may be there as another commit.
    let same = scene.git(&["commit-tree", "-p", &head, "-m", "amended", &format!("{tip}^{{tree}}")]);
    move_to(&same);
    crew.require_there().unwrap();
    // Whoever starts the crew again has looked what is missing.
    move_to(&head);
    assert_eq!(crew.begin(&head).unwrap(), head);
    assert!(matches!(scene.advance("r2"), CrewMove::Moved { .. }));
    assert_eq!(scene.git(&["log", "--format=%s", "ravenry/crew-plan"]), "work of r2\nfirst");
}

#[test]
fn work_that_conflicts_comes_back_with_both_sides() {
    let scene = begun(&[("a", "1\n"), ("b", "1\n")]);
    scene.crew_run("r1", &[("a", "one\n")]);
    let tree = scene.crew_run("r2", &[("a", "eins\n"), ("b", "2\n")]);
    scene.advance("r1");
    let CrewMerge::Conflicts(conflicts) = scene.crew().prepare(&tree).unwrap() else { panic!() };
    assert_eq!(conflicts.iter().map(|it| it.path.as_path()).collect::<Vec<_>>(), [Path::new("a")]);
    tree.move_base(&scene.crew().base().unwrap(), "moved").unwrap();
    assert_eq!(tree.marked_files().unwrap(), [PathBuf::from("a")]);
    let path = tree.reopen(&WantedFiles::default()).unwrap().path;
    let both = std::fs::read_to_string(path.join("a")).unwrap();
    assert!(both.contains("one\n=======\neins\n"), "{both}");
    assert_eq!(std::fs::read(path.join("b")).unwrap(), b"2\n");
    // The directory is there: a worker may be in it.
    let error = tree.move_base(&scene.crew().base().unwrap(), "again").unwrap_err();
    assert!(matches!(error, RunTreeError::Exists(_)), "{error}");
    put(&path.join("a"), b"one, eins\n");
    tree.free(&tree.close("resolved").unwrap()).unwrap();
    assert!(tree.marked_files().unwrap().is_empty());
    assert!(matches!(scene.advance("r2"), CrewMove::Moved { .. }));
    assert_eq!(scene.git(&["show", "ravenry/crew-plan:a"]), "one, eins");
}

#[test]
fn marks_that_were_there_before_are_nobodys_conflict() {
    let scene = begun(&[("a", "1\n"), ("told", "<<<<<<< an example\n")]);
    let tree = scene.crew_run("r1", &[("a", "2\n")]);
    assert!(tree.marked_files().unwrap().is_empty());
}

#[test]
fn a_run_without_news_makes_no_commit() {
    let scene = begun(&[("a", "1\n")]);
    scene.crew_run("r1", &[("a", "2\n")]);
    let same = scene.crew_run("r2", &[("a", "2\n")]);
    let nothing = scene.crew_run("r3", &[]);
    scene.advance("r1");
    for tree in [same, nothing] {
        assert!(matches!(scene.crew().prepare(&tree).unwrap(), CrewMerge::Nothing));
    }
}

#[test]
fn a_name_that_git_does_not_take_is_refused() {
    let scene = Scene::new(&[("a", "1\n")]);
    for stem in ["", "a..b", "a b", "x.lock", "a~1"] {
        let refused = CrewBranch::of(&scene.repository(), stem);
        assert!(matches!(refused, Err(RunTreeError::BadBranch(_))), "{stem}");
    }
    let error = scene.crew().base().unwrap_err();
    assert!(matches!(error, RunTreeError::NoBranch(_)), "{error}");
}
