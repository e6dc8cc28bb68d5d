//! What became of one file since a commit: where it was renamed to, and how much of it was changed by whom.

use jiff::Timestamp;

use super::read_only::ReadOnlyGit;
use super::repository::GitError;

/// The most renames that git looks for at once.
const RENAME_LIMIT: &str = "-l2000";

/// What to look for in all files.
#[derive(Clone, Copy, Debug)]
pub enum SearchText<'t> {
    /// Not as a part of a longer word.
    Word(&'t str),
    Anything(&'t str),
}

impl SearchText<'_> {
    /// Whether it is too short to tell anything: a bracket, a letter.
    pub fn is_short(&self) -> bool {
        match self {
            Self::Word(text) => text.len() < 2,
            Self::Anything(text) => text.len() < 8,
        }
    }
}

/// The changes of a file since a commit.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct FileChanges {
    /// Lines added and removed, whichever is more, with what is not committed.
    pub lines: usize,
    pub commits: usize,
    /// Whether the file differs in `HEAD`, too.
    pub is_other_in_head: bool,
    /// The author and the title of the last of them.
    pub last: Option<(String, String)>,
}

/// A commit that changed a path.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PathCommit {
    pub at: Timestamp,
    pub authored_at: Timestamp,
    pub subject: String,
}

impl ReadOnlyGit {
    /// The latest commits of `HEAD` that changed a file, or something in a directory; none if there are no commits.
    pub fn commits_of(&self, path: &str, most: usize) -> Result<Vec<PathCommit>, GitError> {
        if !self.has_commits()? {
            return Ok(Vec::new());
        }
        let options = ["log", "-z", "--no-show-signature", "--no-color", "--encoding=UTF-8"];
        let most = format!("--max-count={most}");
        let output =
            self.ask(&[&options[..], &["--format=%ct%x01%at%x01%s", &most, "HEAD", "--", path]].concat())?;
        let text = String::from_utf8_lossy(&output.bytes).into_owned();
        let time = |text: &str| Timestamp::from_second(text.parse().ok()?).ok();
        let commit = |row: &str| {
            let mut parts = row.splitn(3, '\x01');
            let (at, authored_at) = (time(parts.next()?)?, time(parts.next()?)?);
            Some(PathCommit { at, authored_at, subject: parts.next()?.to_string() })
        };
        Ok(text.split('\0').filter_map(commit).collect())
    }

    /// The files that were renamed since a commit, from and to, with what is not committed. Only those that are UTF-8.
    pub fn renames_since(&self, commit: &str) -> Result<Vec<(String, String)>, GitError> {
        let options = ["diff", "-z", "-M", RENAME_LIMIT, "--diff-filter=R", "--name-status", "--no-ext-diff"];
        let output = self.ask(&[&options[..], &["--no-textconv", only_id(commit)?, "--"]].concat())?;
        let fields: Vec<&[u8]> = output.bytes.split(|byte| *byte == 0).collect();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
        Ok(fields.chunks_exact(3).filter_map(|row| Some((text(row[1])?, text(row[2])?))).collect())
    }

    /// The files that contain this text, also those that git does not know but does not ignore either.
    pub fn files_with(&self, text: SearchText<'_>) -> Result<Vec<String>, GitError> {
        let (text, kind) = match text {
            SearchText::Word(word) => (word, "--word-regexp"),
            SearchText::Anything(text) => (text, "--fixed-strings"),
        };
        let options =
            ["grep", "-l", "-z", "-I", "-F", kind, "--untracked", "--no-color", "--full-name", "-e", text];
        let output = self.ask_or_none(&[&options[..], &["--"]].concat())?;
        let paths = output.bytes.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        Ok(paths.filter_map(|path| String::from_utf8(path.to_vec()).ok()).collect())
    }

    /// How much of a file was changed since a commit, and by whom.
    pub fn changes_since(&self, commit: &str, path: &str) -> Result<FileChanges, GitError> {
        let commit = only_id(commit)?;
        let options =
            ["diff", "--numstat", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color"];
        let counts = self.ask(&[&options[..], &[commit, "--", path]].concat())?;
        let committed = self.ask(&[&options[..], &[commit, "HEAD", "--", path]].concat())?;
        let range = format!("{commit}..HEAD");
        let options =
            ["log", "-z", "--no-show-signature", "--no-color", "--max-count=1000", "--encoding=UTF-8"];
        let log = self.ask(&[&options[..], &["--format=%an%x01%s", &range, "--", path]].concat())?;
        let log = String::from_utf8_lossy(&log.bytes).into_owned();
        let commits: Vec<&str> = log.split('\0').filter(|commit| !commit.is_empty()).collect();
        let pair = |text: &&str| {
            text.split_once('\x01').map(|(author, title)| (author.to_string(), title.to_string()))
        };
        Ok(FileChanges {
            lines: changed_lines(&String::from_utf8_lossy(&counts.bytes)),
            commits: commits.len(),
            is_other_in_head: !committed.bytes.is_empty(),
            last: commits.first().and_then(pair),
        })
    }
}

/// Parses `3\t1\tpath`; a binary file has `-` in place of numbers.
fn changed_lines(text: &str) -> usize {
    let mut counts = text.split('\t').map(|count| count.trim_matches('\0').parse().unwrap_or(0));
    counts.next().unwrap_or(0).max(counts.next().unwrap_or(0))
}

/// The id of a commit comes from a record that anybody may have written: it must not be an option.
fn only_id(commit: &str) -> Result<&str, GitError> {
    if (7..=64).contains(&commit.len()) && commit.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(commit);
    }
    Err(GitError::Failed { command: "diff".to_string(), said: "that is not the id of a commit".to_string() })
}
