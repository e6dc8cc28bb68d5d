//! Which files a repository has, where it began, and which commits a path is in.

use super::read_only::ReadOnlyGit;
use super::repository::GitError;

/// A commit with its title.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CommitTitle {
    pub id: String,
    pub title: String,
}

impl ReadOnlyGit {
    /// The first commits of the history of `HEAD`; usually one.
    pub fn root_commits(&self) -> Result<Vec<String>, GitError> {
        let output = self.ask(&["rev-list", "--max-parents=0", "HEAD", "--"])?;
        Ok(String::from_utf8_lossy(&output.bytes).lines().map(str::to_string).collect())
    }

    /// All files, also those that git does not know but does not ignore either, in order. Only those that are UTF-8, and
    /// at most 8 MiB of names.
    pub fn files(&self) -> Result<Vec<String>, GitError> {
        let output = self.ask(&["ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"])?;
        let whole = match output.is_cut {
            true => output.bytes.rsplitn(2, |byte| *byte == 0).last().unwrap_or_default(),
            false => output.bytes.as_slice(),
        };
        let paths = whole.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        let mut paths: Vec<String> = paths.filter_map(|path| String::from_utf8(path.to_vec()).ok()).collect();
        paths.sort_unstable();
        paths.dedup();
        Ok(paths)
    }

    /// The commits of all branches that changed a file, the latest first, at most `most`.
    pub fn commits_with(&self, path: &str, most: usize) -> Result<Vec<CommitTitle>, GitError> {
        let most = format!("--max-count={most}");
        let options = ["log", "-z", "--all", "--no-show-signature", "--no-color", "--encoding=UTF-8", &most];
        let output = self.ask(&[&options[..], &["--format=%H%x01%s", "--", path]].concat())?;
        let text = String::from_utf8_lossy(&output.bytes).into_owned();
        let commit = |row: &str| {
            let (id, title) = row.split_once('\x01')?;
            Some(CommitTitle { id: id.to_string(), title: title.to_string() })
        };
        Ok(text.split('\0').filter_map(commit).collect())
    }
}
