//! The latest commits of a repository: what each says, and which files it changed.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::Stdio;
use std::sync::mpsc;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};

use super::GitError;
use super::reading_command::reading_command;

/// How long git may take, and how much it may print. What it has said by then is used.
const LIMIT: Duration = Duration::from_secs(60);
const MOST_BYTES: u64 = 256 * 1024 * 1024;

/// A commit.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct PastCommit {
    /// Name and email.
    pub author: String,
    /// The author's date, in seconds since 1970.
    pub at: i64,
    /// The whole message.
    pub message: String,
    /// The changed paths, relative to the root of the repository.
    pub files: Vec<Vec<u8>>,
}

/// Calls `take` with the latest commits of `HEAD`, without merges, the newest first. A repository without commits has
/// none; of a shallow clone, only those that are there are known.
pub fn past_commits(dir: &Path, most: usize, take: &mut dyn FnMut(PastCommit)) -> Result<(), GitError> {
    let mut command = reading_command(dir);
    command.args(["log", "-z", "--no-merges", "--name-only", "--no-renames", "--no-show-signature"]);
    command.args(["--no-ext-diff", "--no-textconv", "--no-mailmap", "--no-notes", "--encoding=UTF-8"]);
    command.args(["--format=tformat:%x01%an <%ae>%x02%at%x02%B", &format!("-n{most}"), "HEAD", "--"]);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(GitError::NotRun)?;
    let pid = nix::unistd::Pid::from_raw(child.id().cast_signed());
    let (done, is_done) = mpsc::channel::<()>();
    let watchdog = std::thread::spawn(move || {
        if is_done.recv_timeout(LIMIT) == Err(mpsc::RecvTimeoutError::Timeout) {
            // It may have just ended.
            let _ = kill(pid, Signal::SIGKILL);
        }
    });
    let read = child.stdout.take().map_or(Ok(()), |output| read_log(output.take(MOST_BYTES), take));
    drop(child.kill());
    drop(done);
    drop(watchdog.join());
    child.wait().map_err(GitError::NotRun)?;
    read.map_err(GitError::NotRun)
}

/// Fields end in NUL. A field that begins with 1 is a commit; the others are files of the last one.
fn read_log(output: impl Read, take: &mut dyn FnMut(PastCommit)) -> std::io::Result<()> {
    let mut current: Option<PastCommit> = None;
    let mut output = BufReader::new(output);
    let mut field = Vec::new();
    while output.read_until(0, &mut field)? > 0 {
        if field.pop() != Some(0) {
            // It was cut short.
            break;
        }
        match field.strip_prefix(b"\x01") {
            Some(header) => {
                if let Some(commit) = std::mem::replace(&mut current, parse_header(header)) {
                    take(commit);
                }
            }
            None => {
                let file = field.strip_prefix(b"\n").unwrap_or(&field);
                if let Some(commit) = current.as_mut().filter(|_| !file.is_empty()) {
                    commit.files.push(file.to_vec());
                }
            }
        }
        field.clear();
    }
    current.into_iter().for_each(take);
    Ok(())
}

fn parse_header(header: &[u8]) -> Option<PastCommit> {
    let text = String::from_utf8_lossy(header);
    let mut parts = text.splitn(3, '\x02');
    let author = parts.next()?.to_string();
    let at = parts.next()?.parse().ok()?;
    Some(PastCommit { author, at, message: parts.next()?.trim().to_string(), files: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::files::Published;

    #[test]
    fn the_log_of_git() {
        let log = b"\x01Jo <j@x>\x0212\x02fix login\n\nmore\n\x00\nsrc/a b.rs\x00-f\xff\x00\x01A <a@x>\x0213\x02empty\x00\
                    \x01B <b@x>\x02bad\x02x\x00lost\x00\x01C <c@x>\x0214\x02cut\x00\nwhole\x00hal";
        let mut commits = Vec::new();
        read_log(&log[..], &mut |commit| commits.push(commit)).unwrap();
        let commit = |author: &str, at, message: &str, files: &[&[u8]]| PastCommit {
            author: author.to_string(),
            at,
            message: message.to_string(),
            files: files.iter().map(|file| file.to_vec()).collect(),
        };
        let expected = [
            commit("Jo <j@x>", 12, "fix login\n\nmore", &[b"src/a b.rs", b"-f\xff"]),
            commit("A <a@x>", 13, "empty", &[]),
            commit("C <c@x>", 14, "cut", &[b"whole"]),
        ];
        assert_eq!(commits, expected);
    }

    #[test]
    fn with_the_real_git() {
        let dir = tempfile::tempdir().unwrap();
        let git = |args: &[&str]| {
            let mut command = std::process::Command::new("git");
            command.arg("-C").arg(dir.path()).args(["-c", "user.name=J", "-c", "user.email=j@x"]).args(args);
            assert!(command.output().unwrap().status.success(), "{args:?}");
        };
        let commits = |most| {
            let mut commits = Vec::new();
            past_commits(dir.path(), most, &mut |commit| commits.push(commit)).unwrap();
            commits
        };
        assert_eq!(commits(9), [], "no repository");
        git(&["init", "-q", "-b", "main"]);
        assert_eq!(commits(9), [], "no commit");
        for name in ["one", "two words", "drei\n\u{fc}"] {
            crate::sys::files::create_dir(&dir.path().join(name)).unwrap();
            assert_eq!(
                crate::sys::files::create_empty(&dir.path().join(name).join("file")).unwrap(),
                Published::Done
            );
            git(&["add", "-A"]);
            git(&["commit", "-q", "-m", &format!("about {name}")]);
        }
        let found = commits(2);
        let messages: Vec<&str> = found.iter().map(|commit| commit.message.as_str()).collect();
        assert_eq!(messages, ["about drei\n\u{fc}", "about two words"]);
        assert_eq!(found[0].files, ["drei\n\u{fc}/file".as_bytes()]);
        assert_eq!((found[1].author.as_str(), found[1].at > 0), ("J <j@x>", true));
    }
}
