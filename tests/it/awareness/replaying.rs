//! Tests of the replay that `cargo bench -- replay PATH` prints, with histories whose figures are known.

#[path = "../../../benches/ratios/replay/mod.rs"]
mod replay;

use std::path::Path;
use std::process::Command;

use replay::score::{Score, Share};
use replay::{AgentKind, History};

const DAY: i64 = 24 * 3600;

fn git(dir: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    let output = command.arg("-C").arg(dir).args(args).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A commit for git to import: who, when, about what, and in which file.
type Made<'a> = (&'a str, i64, &'a str, &'a str);

fn history(commits: &[Made<'_>]) -> tempfile::TempDir {
    use std::io::Write as _;
    let dir = tempfile::tempdir().unwrap();
    git(dir.path(), &["init", "-q", "-b", "main"]);
    let mut command = Command::new("git");
    command.arg("-C").arg(dir.path()).args(["fast-import", "--quiet"]);
    let mut import = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let mut input = import.stdin.take().unwrap();
    for (number, (who, at, subject, file)) in commits.iter().enumerate() {
        let who = format!("{who} <{who}@example.org> {} +0000", 1_700_000_000 + at);
        let content = number.to_string();
        let (length, size) = (subject.len(), content.len());
        write!(
            input,
            "commit refs/heads/main\nauthor {who}\ncommitter {who}\ndata {length}\n{subject}\n\
             M 100644 inline {file}\ndata {size}\n{content}\n\n"
        )
        .unwrap();
    }
    drop(input);
    assert!(import.wait().unwrap().success());
    dir
}

fn score(commits: &[Made<'_>], kind: AgentKind) -> Score {
    let dir = history(commits);
    History::read(dir.path(), 3_000).unwrap().score(kind)
}

/// Every ten days Bob is in the file of the login, an hour later Ann is asked about it; Carl is elsewhere.
fn meetings() -> Vec<Made<'static>> {
    let on_day = |day: i64| {
        [
            ("carl", day * 10 * DAY, "darker theme", "src/theme.rs"),
            ("bob", day * 10 * DAY + 3600, "keep the login alive", "src/login.rs"),
            ("ann", day * 10 * DAY + 7200, "the login forgets its users", "src/login.rs"),
        ]
    };
    (0..41).flat_map(on_day).collect()
}

#[test]
fn every_meeting_is_told_before_it_happens() {
    for kind in [AgentKind::Author, AgentKind::DaySession] {
        let score = score(&meetings(), kind);
        // Of 123 events 24 are the warm-up, and the last day has no window behind it.
        assert_eq!(score.prompts, 96);
        assert_eq!(score.told, Share { right: 32, of: 32 }, "{kind:?}\n{score}");
        assert_eq!((score.named, score.recall), (score.told, score.told), "{kind:?}");
        assert_eq!(
            (score.lead_events, score.lead_seconds),
            (Some(0), Some(0)),
            "before the edit of this prompt"
        );
        assert_eq!(score.facts, 0);
        // Three pairs a day, in one of which Ann meets Bob, and Bob had not met Carl.
        assert_eq!(score.pairs, Share { right: 32, of: 96 }, "{kind:?}");
        assert!(score.calibration_error() < 0.25, "{score}");
        assert!((score.average_precision - 1.0).abs() < 1e-9 && (score.area_under_curve - 1.0).abs() < 1e-9);
    }
}

#[test]
fn who_never_meets_is_told_nothing() {
    let elsewhere = meetings().into_iter().map(|(who, at, subject, file)| match who {
        "ann" => (who, at, "describe the tour", "docs/tour.md"),
        _ => (who, at, subject, file),
    });
    let score = score(&elsewhere.collect::<Vec<_>>(), AgentKind::Author);
    assert_eq!((score.told, score.recall, score.facts), (Share::default(), Share::default(), 0));
    assert_eq!(score.pairs, Share { right: 0, of: 96 });
}

#[test]
fn histories_that_can_not_be_replayed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("repository").display().to_string();
    let run = |args: &[&str]| {
        let args: Vec<String> = args.iter().map(|arg| arg.to_string()).collect();
        replay::run(&args).unwrap_err().replace(&path, "PATH")
    };
    assert_eq!(run(&[]), "name one repository: `cargo bench -- replay PATH [COMMITS]`");
    assert_eq!(run(&["a", "b", "c"]), "name one repository: `cargo bench -- replay PATH [COMMITS]`");
    assert_eq!(run(&[&path]), "PATH is not a git repository");
    git(dir.path(), &["init", "-q", "repository"]);
    assert_eq!(run(&[&path]), "PATH has no commits to replay");
    assert_eq!(run(&[&path, "many"]), "`many` is not a number of commits");
    let alone = history(&[("ann", 0, "the login", "a.rs"), ("ann", 60, "the theme", "b.rs")]);
    let text = replay::run(&[alone.path().display().to_string()]).unwrap_err();
    assert!(text.ends_with("has commits of one author only, and nobody collides alone"), "{text}");
    let two = history(&[("ann", 0, "the login", "a.rs"), ("bob", 60, "the theme", "b.rs")]);
    let text = replay::run(&[two.path().display().to_string()]).unwrap();
    assert!(text.contains("2 commits by 2 authors in 0 days"), "{text}");
}
