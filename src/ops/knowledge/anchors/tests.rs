//! Verdicts in real repositories.

use std::process::Command;

use super::*;
use crate::ops::knowledge::CaptureError;

const LOCK: &str = "use std::fs;\n\npub struct Lock;\n\nimpl Lock {\n    pub fn new() -> Self {\n        open_the_file();\n        Lock\n    }\n\n    \
                    pub fn release(self) {\n        close_the_file();\n    }\n}\n";

struct Project {
    dir: tempfile::TempDir,
}

impl Project {
    fn new() -> Self {
        let project = Self { dir: tempfile::tempdir().unwrap() };
        project.write("src/lock.rs", LOCK);
        project.write("README", "one\ntwo words here\nthree\nfour\nfive\n");
        project.git(&["init", "-q", "-b", "main"]);
        project.commit("begin");
        project
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    fn home(&self) -> Home {
        let home = self.dir.path().join("home");
        Home { config: home.join("c"), state: home.join("s"), cache: home.join("cache"), home }
    }

    #[expect(clippy::disallowed_methods, reason = "makes a project, not a mesh")]
    fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn edit(&self, path: &str, from: &str, to: &str) {
        let text = std::fs::read_to_string(self.root().join(path)).unwrap();
        assert!(text.contains(from), "{from}");
        self.write(path, &text.replace(from, to));
    }

    fn git(&self, args: &[&str]) {
        let mut command = Command::new("git");
        command.arg("-C").arg(self.root()).args(["-c", "user.name=Ann", "-c", "user.email=a@x"]).args(args);
        assert!(command.output().unwrap().status.success(), "{args:?}");
    }

    fn commit(&self, title: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", title]);
    }

    fn judge(&self) -> AnchorJudge {
        let mut judge = AnchorJudge::new(&self.root(), &self.home());
        // The machine may be busy.
        judge.git_limit = Duration::from_secs(60);
        judge
    }

    fn capture(&self, target: &str) -> Anchor {
        self.judge().capture(&AnchorTarget::parse(target).unwrap()).unwrap()
    }

    fn refusal(&self, target: &str) -> String {
        self.judge().capture(&AnchorTarget::parse(target).unwrap()).unwrap_err().to_string()
    }

    /// `fresh`, or `moved to …`. Asked twice, because the second answer comes from the cache.
    fn verdict(&self, anchor: &Anchor) -> String {
        let verdict = self.judge().judge(anchor);
        assert_eq!(self.judge().judge(anchor), verdict, "cached");
        match verdict {
            AnchorFinding::Moved { to } => format!("moved to {to}"),
            verdict => verdict.to_string(),
        }
    }
}

#[test]
fn an_anchor_holds_what_was_there() {
    let project = Project::new();
    let anchor = project.capture("README:2-4");
    let AnchorTarget::Lines { text, hash, .. } = &anchor.target else { panic!() };
    assert_eq!(text[..], ["two words here", "three", "four"]);
    assert_eq!(*hash, Some(TextHash::of(&["two words here", "three", "four"])));
    assert_eq!(anchor.file, Some(TextHash::of_file(b"one\ntwo words here\nthree\nfour\nfive\n")));
    assert_eq!(anchor.commit, WorkTree::containing(&project.root()).unwrap().head_commit());
    assert!(anchor.commit.is_some());
    assert_eq!(project.capture("src").file, None, "a directory");
    assert_eq!(project.capture("$ cargo test").target.to_string(), "$ cargo test");
}

#[test]
fn what_can_not_be_anchored() {
    let project = Project::new();
    assert!(matches!(
        project.judge().capture(&AnchorTarget::parse("src/none.rs").unwrap()),
        Err(CaptureError::NoFile { .. })
    ));
    assert_eq!(project.refusal("README:6"), "`README` has 5 lines: line 6 is beyond its end");
    assert!(project.refusal("src:1").contains("is a directory"));
    assert!(project.refusal("src/lock.rs/x").contains("there is no file"));
    assert!(project.refusal("README#nothing").contains("there is no `nothing` in `README`"));
}

#[test]
fn links_do_not_lead_out() {
    let project = Project::new();
    let outside = project.dir.path().join("secret");
    #[expect(clippy::disallowed_methods, reason = "makes a file outside of the project")]
    std::fs::write(&outside, "secret\n").unwrap();
    std::os::unix::fs::symlink(&outside, project.root().join("link")).unwrap();
    std::os::unix::fs::symlink(project.dir.path(), project.root().join("dir")).unwrap();
    std::os::unix::fs::symlink("README", project.root().join("inner")).unwrap();
    for target in ["link", "link:1", "dir/secret", "dir/secret:1"] {
        assert!(project.refusal(target).contains("leads out of the project"), "{target}");
    }
    assert_eq!(project.verdict(&project.capture("inner:2")), "fresh");
    let anchor = Anchor::new(AnchorTarget::parse("link:1").unwrap());
    assert_eq!(project.verdict(&anchor), "gone");
}

#[test]
fn fresh_drifted_and_stale_lines() {
    let project = Project::new();
    let anchors = ["README", "README:2", "README:1-2", "README:4"].map(|target| project.capture(target));
    let verdicts = || anchors.iter().map(|anchor| project.verdict(anchor)).collect::<Vec<_>>();
    assert_eq!(verdicts(), ["fresh"; 4]);
    project.edit("README", "four", "4");
    assert_eq!(verdicts()[..3], ["drifted"; 3], "uncommitted changes count");
    project.edit("README", "two words here", "two words there");
    assert_eq!(verdicts()[..3], ["drifted", "stale", "stale"]);
    project.edit("README", "two words there", "zero\ntwo words here");
    assert_eq!(verdicts()[..3], ["drifted", "moved to README:3", "stale"]);
    project.git(&["checkout", "-q", "."]);
    assert_eq!(verdicts(), ["fresh"; 4]);
}

#[test]
fn renamed_and_removed_files() {
    let project = Project::new();
    let anchors = ["README", "README:2", "README:1-2"].map(|target| project.capture(target));
    let verdicts = || anchors.iter().map(|anchor| project.verdict(anchor)).collect::<Vec<_>>();
    project.git(&["mv", "README", "docs.txt"]);
    assert_eq!(verdicts(), ["moved to docs.txt", "moved to docs.txt:2", "moved to docs.txt:1-2"]);
    project.commit("rename");
    project.edit("docs.txt", "one\n", "ONE!\n");
    assert_eq!(verdicts(), ["moved to docs.txt", "moved to docs.txt:2", "stale"]);
    project.git(&["rm", "-q", "-f", "docs.txt"]);
    assert_eq!(verdicts(), ["gone"; 3]);
    // Every one of these commands is noticed, although the answer is kept.
    project.git(&["checkout", "-q", "HEAD", "docs.txt"]);
    assert_eq!(verdicts(), ["moved to docs.txt", "moved to docs.txt:2", "moved to docs.txt:1-2"]);
    project.git(&["mv", "docs.txt", "elsewhere.txt"]);
    assert_eq!(verdicts()[0], "moved to elsewhere.txt");
    project.git(&["commit", "-q", "-m", "rename again"]);
    project.git(&["checkout", "-q", "HEAD~2"]);
    assert_eq!(verdicts(), ["fresh"; 3]);
}

impl Project {
    fn cache_file(&self) -> PathBuf {
        let dir = self.home().cache.join("ravenry/verdicts");
        dir.join(files::list(&dir).unwrap().into_iter().find(|name| name != "tmp").unwrap())
    }
}

#[test]
fn what_could_not_be_searched_for_is_not_gone() {
    let project = Project::new();
    let anchor = project.capture("README:2");
    project.git(&["mv", "README", "docs.txt"]);
    let mut judge = project.judge();
    judge.searches = MAX_SEARCHES;
    judge.renames = (0..MAX_COMMITS).map(|number| (number.to_string(), Rc::default())).collect();
    assert_eq!(judge.judge(&anchor), AnchorFinding::Stale);
    drop(judge);
    assert_eq!(project.verdict(&anchor), "moved to docs.txt:2", "that was not kept");
}

#[test]
fn a_damaged_cache_is_ignored() {
    let project = Project::new();
    let anchor = project.capture("README:2");
    project.edit("README", "two words here", "two words there");
    assert_eq!(project.verdict(&anchor), "stale");
    let path = project.cache_file();
    let whole = files::read(&path).unwrap().unwrap();
    assert!(String::from_utf8_lossy(&whole).contains("stale"));
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 2;
        files::replace_beside(&path, &damaged, 0o600).unwrap();
        assert_eq!(project.judge().judge(&anchor), AnchorFinding::Stale, "changed at {at}");
    }
}

#[test]
fn a_change_is_explained_in_one_line() {
    let project = Project::new();
    let anchor = project.capture("README:2");
    let explain = || project.judge().explain(&anchor);
    let seven = anchor.commit.as_ref().unwrap()[..7].to_string();
    assert_eq!(explain(), None);
    project.edit("README", "two", "2\n2");
    assert_eq!(explain(), Some(format!("2 lines changed since {seven}, not committed")));
    project.commit("numbers: say “2”\n\nand more");
    project.edit("README", "three", "3");
    let expected = format!("3 lines changed in 1 commit since {seven}, last by Ann: “numbers: say \"2\"”");
    assert_eq!(explain(), Some(expected));
    for commit in ["--output=x", "HEAD", "", "zzzzzzzzzz"] {
        let hostile = Anchor { commit: Some(commit.to_string()), ..anchor.clone() };
        assert_eq!(project.judge().explain(&hostile), None, "{commit}");
    }
    assert!(!project.root().join("x").exists());
}

/// Nobody changed it here: the branch never had it.
#[test]
fn what_another_branch_has_is_not_called_a_change() {
    let project = Project::new();
    project.git(&["checkout", "-q", "-b", "feature"]);
    project.edit("README", "two", "2");
    project.commit("say it in numbers");
    let anchor = project.capture("README:2");
    project.git(&["checkout", "-q", "main"]);
    let seven = anchor.commit.as_ref().unwrap()[..7].to_string();
    let expected = format!("1 line other than in {seven}, which is not merged");
    assert_eq!(project.judge().explain(&anchor), Some(expected));
}

#[test]
fn without_git() {
    let dir = tempfile::tempdir().unwrap();
    let project = Project { dir };
    project.write("notes.txt", "one line of it\nanother\n");
    let anchor = project.capture("notes.txt:1");
    assert_eq!(anchor.commit, None);
    project.edit("notes.txt", "one", "first\none");
    assert_eq!(project.verdict(&anchor), "moved to notes.txt:2");
    files::remove(&project.root().join("notes.txt")).unwrap();
    assert_eq!(project.verdict(&anchor), "gone");
    assert_eq!(project.judge().explain(&anchor), None);
}

#[cfg(feature = "outline")]
mod symbols {
    use super::*;

    #[test]
    fn symbols_are_anchored_by_their_text() {
        let project = Project::new();
        let anchor = project.capture("src/lock.rs#release");
        assert_eq!(anchor.target.to_string(), "src/lock.rs#Lock::release");
        assert!(matches!(&anchor.target, AnchorTarget::Symbol { hash: Some(_), .. }));
        assert_eq!(project.verdict(&anchor), "fresh");
        project.edit("src/lock.rs", "use std::fs;", "use std::fs;\nuse std::io;");
        project.edit("src/lock.rs", "        Lock\n", "        Self\n");
        assert_eq!(project.verdict(&anchor), "drifted");
        project.commit("drift");
        assert_eq!(project.verdict(&anchor), "drifted");
        project.edit("src/lock.rs", "close_the_file()", "close_the_file(1)");
        assert_eq!(project.verdict(&anchor), "stale");
    }

    #[test]
    fn symbols_move_with_their_text() {
        let project = Project::new();
        let anchors =
            ["Lock::new", "Lock::release"].map(|name| project.capture(&format!("src/lock.rs#{name}")));
        let verdicts = || anchors.iter().map(|anchor| project.verdict(anchor)).collect::<Vec<_>>();
        project.edit("src/lock.rs", "impl Lock {", "impl Gate {");
        assert_eq!(verdicts(), ["moved to src/lock.rs#Gate::new", "moved to src/lock.rs#Gate::release"]);
        project.git(&["checkout", "-q", "."]);
        project.git(&["mv", "src/lock.rs", "src/gate.rs"]);
        project.edit("src/gate.rs", "close_the_file()", "close_the_file(1)");
        assert_eq!(verdicts(), ["moved to src/gate.rs#Lock::new", "stale"]);
    }

    #[test]
    fn a_symbol_in_another_file_is_found() {
        let project = Project::new();
        let anchor = project.capture("src/lock.rs#Lock::release");
        let method = "    pub fn release(self) {\n        close_the_file();\n    }\n";
        project.edit("src/lock.rs", method, "");
        project.write("src/release.rs", &format!("impl Lock {{\n{method}}}\n"));
        project.write("src/other.rs", "fn release() {}\n");
        assert_eq!(project.verdict(&anchor), "moved to src/release.rs#Lock::release", "not yet known to git");
        files::remove(&project.root().join("src/release.rs")).unwrap();
        assert_eq!(project.verdict(&anchor), "gone", "a namesake is something else");
    }

    #[test]
    fn what_was_judged_without_an_outline_is_not_kept_for_ever() {
        let project = Project::new();
        let more: String =
            (0..500).map(|number| format!("fn other_{number}() {{ call({number}); }}\n")).collect();
        project.write("src/lock.rs", &format!("{LOCK}{more}"));
        let anchor = project.capture("src/lock.rs#Lock::release");
        project.edit("src/lock.rs", "close_the_file()", "close_the_file(1)");
        let mut slow = project.judge();
        slow.outlines.limit = Duration::ZERO;
        assert_eq!(slow.judge(&anchor), AnchorFinding::Drifted, "no outline in time");
        drop(slow);
        let kept = files::read(&project.cache_file()).unwrap().unwrap();
        let kept = String::from_utf8(kept).unwrap();
        let row = kept.lines().find(|row| row.contains("drifted")).unwrap();
        assert!(!row.ends_with("\t0"), "it ends: {row}");
        files::remove(&project.cache_file()).unwrap();
        assert_eq!(project.verdict(&anchor), "stale");
    }

    #[test]
    fn missing_and_ambiguous_symbols() {
        let project = Project::new();
        assert_eq!(
            project.refusal("src/lock.rs#Lock::relaese"),
            "there is no `Lock::relaese` in `src/lock.rs`: did you mean `Lock::release`, `Lock::new`, `Lock`?"
        );
        project.edit("src/lock.rs", "impl Lock {", "impl Gate {\n    fn new() {}\n}\n\nimpl Lock {");
        assert_eq!(
            project.refusal("src/lock.rs#new"),
            "`src/lock.rs` has several symbols named `new`: write `Gate::new`, `Lock::new`"
        );
    }
}
