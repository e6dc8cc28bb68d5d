//! What is in a work tree: files that are not committed, commits, and the log of its `HEAD`.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::time::SystemTime;

use jiff::Timestamp;

use super::read_only::ReadOnlyGit;
use super::repository::GitError;
use crate::domain::awareness::UncommittedChange;
use crate::sys::{files, random};

/// The most commits, and the most entries of the log of `HEAD`, that are read.
const MOST: usize = 2000;

/// A file that is not committed as it is. Its path is relative to the root of the work tree.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UncommittedFile {
    pub path: OsString,
    pub change: UncommittedChange,
}

/// A commit and the files that it changed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct GitCommitFiles {
    pub id: String,
    pub at: Timestamp,
    pub subject: String,
    /// When its change was first committed: a rebase keeps this time.
    pub authored_at: Timestamp,
    pub is_merge: bool,
    /// Of a merge, those that differ from all of its parents.
    pub files: Vec<OsString>,
}

/// An entry of the log of `HEAD`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct HeadLogEntry {
    /// The commit that `HEAD` was at from then on.
    pub id: String,
    /// In whole seconds.
    pub at: Timestamp,
    /// Whether this made the commit. Otherwise `HEAD` moved to one that was there before.
    pub has_made_commit: bool,
}

/// A list, and whether git has more of it than was read.
#[derive(Clone, Debug)]
pub struct GitList<T> {
    pub items: Vec<T>,
    pub is_cut: bool,
}

/// Which commits to list.
#[derive(Clone, Copy, Debug)]
pub enum CommitChoice<'i> {
    /// Those that `HEAD` leads to and that were committed at that time or later.
    Since(Timestamp),
    /// Those with these ids, as far as they still exist.
    Ids(&'i [String]),
}

impl ReadOnlyGit {
    /// Whether there is a commit at all.
    pub fn has_commits(&self) -> Result<bool, GitError> {
        match self.ask(&["rev-parse", "-q", "--verify", "HEAD^{commit}"]) {
            Ok(_) => Ok(true),
            Err(GitError::Failed { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The files that differ from the last commit, and those that git doesn't know. Files of submodules are left out.
    pub fn uncommitted(&self) -> Result<GitList<UncommittedFile>, GitError> {
        let options = ["--porcelain=v2", "-z", "--untracked-files=all", "--no-renames"];
        let output = self.ask(&[&["status"], &options[..], &["--ignore-submodules=dirty"]].concat())?;
        let records = whole_records(&output.bytes, output.is_cut);
        Ok(GitList { items: records.filter_map(uncommitted_file).collect(), is_cut: output.is_cut })
    }

    /// The chosen commits with their files, the newest first.
    pub fn commits(&self, choice: CommitChoice<'_>) -> Result<GitList<GitCommitFiles>, GitError> {
        // No name of a file can be mistaken for the start of a commit.
        let mark = random::uuid().to_string();
        let format = format!("--format={mark}%x00%H%x00%ct%x00%at%x00%P%x00%s");
        let most = format!("--max-count={MOST}");
        let mut args =
            vec!["log", "-z", "-c", "--root", "--name-only", "--no-renames", "--no-show-signature"];
        args.extend(["--no-color", "--no-ext-diff", "--no-textconv", "--no-relative", &format, &most]);
        let since;
        match choice {
            CommitChoice::Since(time) => {
                // A small number alone would be taken for a day or an hour.
                since = format!("--since=@{} +0000", time.as_second().max(0));
                args.extend([since.as_str(), "HEAD"]);
            }
            CommitChoice::Ids([]) => return Ok(GitList { items: Vec::new(), is_cut: false }),
            CommitChoice::Ids(ids) => {
                args.extend(["--ignore-missing", "--no-walk=sorted"]);
                args.extend(ids.iter().map(String::as_str));
            }
        }
        args.push("--");
        let output = self.ask(&args)?;
        let items: Vec<GitCommitFiles> = parse_commits(&output.bytes, &mark);
        let is_cut = output.is_cut || items.len() >= MOST;
        Ok(GitList { items, is_cut })
    }

    /// Which of these commits `HEAD` doesn't lead to.
    pub fn not_on_head(&self, ids: &[String]) -> Result<Vec<String>, GitError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        // Anything else could be an option.
        let is_id = |id: &&str| id.len() >= 7 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        let ids_given = ids.iter().map(String::as_str).filter(is_id);
        let args: Vec<&str> = ["rev-list", "--ignore-missing"]
            .into_iter()
            .chain(ids_given)
            .chain(["--not", "HEAD", "--"])
            .collect();
        let output = self.ask(&args)?;
        let listed = String::from_utf8_lossy(&output.bytes).into_owned();
        let ids: HashSet<&str> = ids.iter().map(String::as_str).collect();
        Ok(listed.lines().filter(|line| ids.contains(line)).map(str::to_string).collect())
    }

    /// Which of these commits the repository has.
    pub fn existing(&self, ids: &[String]) -> Result<Vec<String>, GitError> {
        // Anything else could be an option.
        let is_id = |id: &&str| id.len() >= 7 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        // Without a commit that is there git asks how to use it.
        let args = ["rev-list", "--ignore-missing", "--no-walk=unsorted", "HEAD"];
        let ids_given = ids.iter().map(String::as_str).filter(is_id);
        let args: Vec<&str> = args.into_iter().chain(ids_given).chain(["--"]).collect();
        let output = self.ask(&args)?;
        let listed: HashSet<&[u8]> = output.bytes.split(|byte| *byte == b'\n').collect();
        Ok(ids.iter().filter(|id| listed.contains(id.as_bytes())).cloned().collect())
    }

    /// The names of all branches, here and in remote repositories as they were fetched last. Only those that are UTF-8.
    pub fn branches(&self) -> Result<HashSet<String>, GitError> {
        let output = self.ask(&["for-each-ref", "--format=%(refname)", "refs/heads", "refs/remotes"])?;
        let name = |line: &[u8]| {
            let line = std::str::from_utf8(line).ok()?;
            let remote = || line.strip_prefix("refs/remotes/")?.split_once('/').map(|(_, name)| name);
            line.strip_prefix("refs/heads/").or_else(remote).map(str::to_string)
        };
        Ok(output.bytes.split(|byte| *byte == b'\n').filter_map(name).collect())
    }

    /// The commits of other branches that `HEAD` doesn't lead to, each with its branch.
    pub fn on_other_branches(&self) -> Result<Vec<(String, String)>, GitError> {
        let most = format!("--max-count={MOST}");
        let options =
            ["log", "-z", "--source", "--no-show-signature", "--no-color", "--format=%H%x00%S", &most];
        let output = self.ask(&[&options[..], &["--branches", "--not", "HEAD", "--"]].concat())?;
        let fields: Vec<&[u8]> = whole_records(&output.bytes, output.is_cut).collect();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let pair = |pair: &[&[u8]]| {
            let branch = text(pair[1]);
            (text(pair[0]), branch.strip_prefix("refs/heads/").unwrap_or(&branch).to_string())
        };
        Ok(fields.chunks_exact(2).map(pair).collect())
    }

    /// The log of this work tree's `HEAD`, the newest entry first; empty if git keeps none.
    pub fn head_log(&self) -> Result<GitList<HeadLogEntry>, GitError> {
        let most = format!("--max-count={MOST}");
        let format = "--format=%H%x00%gd%x00%gs";
        let args = ["log", "-g", "-z", "--date=unix", "--no-show-signature", "--no-color", format, &most];
        let output = self.ask(&[&args[..], &["HEAD", "--"]].concat())?;
        let fields: Vec<&[u8]> = whole_records(&output.bytes, output.is_cut).collect();
        let items: Vec<HeadLogEntry> = fields.chunks_exact(3).filter_map(head_log_entry).collect();
        let is_cut = output.is_cut || items.len() >= MOST;
        Ok(GitList { items, is_cut })
    }

    /// The commits at which a shallow clone ends: what they changed is not known.
    pub fn shallow_commits(&self) -> Vec<String> {
        let path = self.tree.repository().map(|repository| repository.join("shallow"));
        let text = path.and_then(|path| files::read(&path).ok().flatten()).unwrap_or_default();
        String::from_utf8_lossy(&text).lines().map(str::to_string).collect()
    }

    /// When the commit was written, to a fraction of a second; `None` if it was packed since.
    pub fn written_at(&self, id: &str) -> Option<SystemTime> {
        let (first, rest) = id.split_at_checked(2)?;
        let path = self.tree.repository()?.join("objects").join(first).join(rest);
        std::fs::metadata(path).ok()?.modified().ok()
    }
}

/// The records of an output, each of which ends with NUL. If the output was cut, the last one is left out.
fn whole_records(bytes: &[u8], is_cut: bool) -> impl Iterator<Item = &[u8]> {
    let end = bytes.iter().rposition(|byte| *byte == 0).map_or(0, |at| at + 1);
    let whole = if is_cut { &bytes[..end] } else { bytes };
    let whole = whole.strip_suffix(&[0]).unwrap_or(whole);
    whole.split(|byte| *byte == 0).filter(move |_| !whole.is_empty())
}

/// Parses `1 XY … path`, `u XY … path` and `? path`.
fn uncommitted_file(record: &[u8]) -> Option<UncommittedFile> {
    let file = |path: &[u8], change| UncommittedFile { path: OsStr::from_bytes(path).to_os_string(), change };
    match record.first()? {
        b'?' => Some(file(record.get(2..)?, UncommittedChange::Untracked)),
        b'u' => Some(file(record.splitn(11, |byte| *byte == b' ').nth(10)?, UncommittedChange::Conflicted)),
        b'1' => {
            let mut fields = record.splitn(9, |byte| *byte == b' ').skip(1);
            let (state, path) = (fields.next()?, fields.nth(6)?);
            let change = match state {
                [_, b'D'] | [b'D', b'.'] => UncommittedChange::Deleted,
                [b'A', _] | [b'.', b'A'] => UncommittedChange::Added,
                _ => UncommittedChange::Modified,
            };
            Some(file(path, change))
        }
        _ => None,
    }
}

fn parse_commits(output: &[u8], mark: &str) -> Vec<GitCommitFiles> {
    let mut commits: Vec<Vec<&[u8]>> = Vec::new();
    for field in output.split(|byte| *byte == 0) {
        match commits.last_mut() {
            _ if field == mark.as_bytes() => commits.push(Vec::new()),
            Some(commit) => commit.push(field),
            None => {}
        }
    }
    commits.iter().filter_map(|fields| commit(fields)).collect()
}

/// Parses the fields of one commit: id, times, parents, subject, and the files.
fn commit(fields: &[&[u8]]) -> Option<GitCommitFiles> {
    let [id, committed, authored, parents, subject, files @ ..] = fields else { return None };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let time = |bytes: &[u8]| Timestamp::from_second(text(bytes).parse().ok()?).ok();
    // A line end separates the files from the rest.
    let files = files.iter().enumerate().map(|(index, file)| match index {
        0 => file.strip_prefix(b"\n").unwrap_or(file),
        _ => file,
    });
    Some(GitCommitFiles {
        id: text(id),
        at: time(committed)?,
        authored_at: time(authored)?,
        subject: text(subject),
        is_merge: parents.contains(&b' '),
        files: files.filter(|file| !file.is_empty()).map(|file| OsStr::from_bytes(file).into()).collect(),
    })
}

/// Parses an id, `HEAD@{1794865245}` and `commit: subject`.
fn head_log_entry(fields: &[&[u8]]) -> Option<HeadLogEntry> {
    let [id, selector, what] = fields else { return None };
    let selector = String::from_utf8_lossy(selector);
    let seconds: i64 = selector.rsplit_once("@{")?.1.strip_suffix('}')?.parse().ok()?;
    Some(HeadLogEntry {
        id: String::from_utf8_lossy(id).into_owned(),
        at: Timestamp::from_second(seconds).ok()?,
        has_made_commit: makes_commit(&String::from_utf8_lossy(what)),
    })
}

/// Whether an entry such as `commit (amend): subject` or `rebase (pick): subject` made a commit.
fn makes_commit(what: &str) -> bool {
    const STEPS: [&str; 8] = ["pick", "reword", "edit", "squash", "fixup", "continue", "merge", "apply"];
    let (action, outcome) = what.split_once(": ").unwrap_or((what, ""));
    let step = action.rsplit_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    match action.split([' ', ':']).next().unwrap_or_default() {
        "commit" | "cherry-pick" | "revert" | "am" => true,
        "merge" => outcome != "Fast-forward",
        "rebase" => step.map_or(!outcome.starts_with("checkout "), |step| STEPS.contains(&step)),
        "pull" => step.map_or(outcome != "Fast-forward", |step| STEPS.contains(&step)),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
