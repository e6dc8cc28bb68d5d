//! The last commit of a work tree, from git's log of its `HEAD`.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

use jiff::Timestamp;

use super::WorkTree;

/// The number of bytes read from the end of the log. Its lines are short: a name, an email and a subject.
const END: i64 = 8 * 1024;

/// A commit that was made in this work tree.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LastCommit {
    pub id: String,
    /// In whole seconds.
    pub at: Timestamp,
    pub subject: String,
}

impl WorkTree {
    /// The last commit made here, if nothing else happened to `HEAD` since and git keeps a log of it.
    pub fn last_commit(&self) -> Option<LastCommit> {
        // Opening a pipe must not wait for a writer.
        let flags = nix::libc::O_NONBLOCK;
        let mut log =
            File::options().read(true).custom_flags(flags).open(self.git_dir.join("logs/HEAD")).ok()?;
        // A shorter log is read from its start.
        if log.seek(SeekFrom::End(-END)).is_err() {
            log.rewind().ok()?;
        }
        let mut end = Vec::new();
        log.take(END.unsigned_abs()).read_to_end(&mut end).ok()?;
        let text = String::from_utf8_lossy(&end);
        parse(text.trim_end_matches('\n').rsplit('\n').next()?)
    }
}

/// Parses `<old> <new> <name> <<email>> <seconds> <zone>\tcommit (initial): <subject>`.
fn parse(line: &str) -> Option<LastCommit> {
    let (who, what) = line.split_once('\t')?;
    let (kind, subject) = what.split_once(": ")?;
    if kind != "commit" && !kind.starts_with("commit (") {
        return None;
    }
    let id = who.split(' ').nth(1).filter(|id| id.bytes().all(|byte| byte.is_ascii_hexdigit()))?;
    let seconds: i64 = who.rsplit(' ').nth(1)?.parse().ok()?;
    let at = Timestamp::from_second(seconds).ok()?;
    Some(LastCommit { id: id.to_string(), at, subject: subject.trim().to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_without_an_end_is_not_read_to_it() {
        let dir = tempfile::tempdir().unwrap();
        let tree = WorkTree { root: dir.path().to_path_buf(), git_dir: dir.path().to_path_buf() };
        crate::sys::files::create_dir(&dir.path().join("logs")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", dir.path().join("logs/HEAD")).unwrap();
        assert_eq!(tree.last_commit(), None);
    }

    #[test]
    fn the_log_of_head() {
        let line = |what: &str| format!("0000 abc1 Jo D. <jo@x> 1794700676 +0100\t{what}");
        let subject = |what: &str| parse(&line(what)).map(|commit| commit.subject);
        assert_eq!(subject("commit: fix: login").as_deref(), Some("fix: login"));
        assert_eq!(subject("commit (initial): begin").as_deref(), Some("begin"));
        assert_eq!(subject("commit (amend): better").as_deref(), Some("better"));
        for other in ["checkout: moving from a to b", "reset: moving to HEAD~", "commitment: none", ""] {
            assert_eq!(subject(other), None, "{other}");
        }
        let commit = parse(&line("commit: x")).unwrap();
        assert_eq!((commit.id.as_str(), commit.at.as_second()), ("abc1", 1_794_700_676));
        for broken in ["", "x", "\tcommit: x", "a b\tcommit: x", "a zz J <j> 1 +0\tcommit: x"] {
            assert_eq!(parse(broken), None, "{broken}");
        }
    }

    #[test]
    fn with_the_real_git() {
        let dir = tempfile::tempdir().unwrap();
        let git = |args: &[&str]| {
            let mut command = std::process::Command::new("git");
            command.arg("-C").arg(dir.path()).args(["-c", "user.name=J", "-c", "user.email=j@x"]).args(args);
            assert!(command.output().unwrap().status.success(), "{args:?}");
        };
        let last = || WorkTree::containing(dir.path()).and_then(|tree| tree.last_commit());
        git(&["init", "-q", "-b", "main"]);
        assert_eq!(last(), None);
        git(&["commit", "-q", "--allow-empty", "-m", "first\n\nbody"]);
        assert_eq!(last().unwrap().subject, "first");
        git(&["checkout", "-q", "-b", "topic"]);
        assert_eq!(last(), None, "that was no commit");
        for _ in 0..100 {
            git(&["commit", "-q", "--allow-empty", "-m", &"long ".repeat(60)]);
        }
        assert_eq!(last().unwrap().subject, "long ".repeat(60).trim());
    }
}
