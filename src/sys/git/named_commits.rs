//! Commits that somebody named (one, a branch or a range), what they say and what they change.

use super::read_only::ReadOnlyGit;
use super::repository::GitError;

/// The most commits that are listed.
const MOST: usize = 500;

/// How somebody named commits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CommitNaming {
    /// It is one commit, and what it changed in its first parent.
    One,
    /// It is a branch: what it has that `HEAD` has not.
    Branch,
    /// It is a range: what its end has that its start has not.
    Range,
}

/// Commits, and the two trees that they lie between.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CommitRange {
    pub naming: CommitNaming,
    /// What the changes are compared with: a commit, or the empty tree.
    pub base: String,
    /// The last commit.
    pub tip: String,
    /// The commits, the newest first; at most 500 of them.
    pub commits: Vec<String>,
}

/// What a text names.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum NamedCommits {
    Found(CommitRange),
    /// git knows no commit by this part of it.
    Unknown(String),
    /// These two have no commit in common.
    Unrelated(String, String),
}

/// The changes of commits as text.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RangeDiff {
    pub text: String,
    /// How many files they change.
    pub files: usize,
}

impl ReadOnlyGit {
    /// The commits that a text names: `A..B`, `A...B`, a branch, or anything else that git takes for a commit. Nothing is
    /// compared with the start of a range itself, but with where its end left it: what others did since is not its work.
    pub fn named_commits(&self, typed: &str) -> Result<NamedCommits, GitError> {
        let sides = typed.split_once("...").or_else(|| typed.split_once(".."));
        let is_branch = sides.is_none() && self.is_branch(typed)?;
        let (from, to, naming) = match sides {
            Some((from, to)) => (or_head(from), or_head(to), CommitNaming::Range),
            None if is_branch => ("HEAD", typed, CommitNaming::Branch),
            None => return self.one_commit(typed),
        };
        let unknown = |part: &str| Ok(NamedCommits::Unknown(part.to_string()));
        let Some(tip) = self.commit(to)? else { return unknown(to) };
        let Some(start) = self.commit(from)? else { return unknown(from) };
        let Some(base) = self.line(&["merge-base", &start, &tip])? else {
            return Ok(NamedCommits::Unrelated(from.to_string(), to.to_string()));
        };
        let (most, without) = (format!("--max-count={MOST}"), format!("^{start}"));
        let listed = self.ask(&["rev-list", &most, &tip, &without, "--"])?;
        let commits = String::from_utf8_lossy(&listed.bytes).lines().map(str::to_string).collect();
        Ok(NamedCommits::Found(CommitRange { naming, base, tip, commits }))
    }

    fn one_commit(&self, typed: &str) -> Result<NamedCommits, GitError> {
        let Some(tip) = self.commit(typed)? else { return Ok(NamedCommits::Unknown(typed.to_string())) };
        let base = match self.commit(&format!("{tip}^1"))? {
            Some(parent) => Some(parent),
            // It is the first one.
            None => self.line(&["hash-object", "-t", "tree", "--stdin"])?,
        };
        let commits = vec![tip.clone()];
        let base = base.unwrap_or_default();
        Ok(NamedCommits::Found(CommitRange { naming: CommitNaming::One, base, tip, commits }))
    }

    /// The id of the commit that this names.
    fn commit(&self, typed: &str) -> Result<Option<String>, GitError> {
        // It would be an option.
        if typed.is_empty() || typed.starts_with('-') {
            return Ok(None);
        }
        self.line(&["rev-parse", "-q", "--verify", &format!("{typed}^{{commit}}")])
    }

    /// Whether it names a branch, here or in a remote repository, and not just what is checked out.
    fn is_branch(&self, typed: &str) -> Result<bool, GitError> {
        if typed.is_empty() || typed.starts_with('-') || ["HEAD", "@"].contains(&typed) {
            return Ok(false);
        }
        let name = self.line(&["rev-parse", "-q", "--verify", "--symbolic-full-name", typed])?;
        Ok(name.is_some_and(|name| name.starts_with("refs/heads/") || name.starts_with("refs/remotes/")))
    }

    /// A line of output; `None` if git says that there is nothing.
    fn line(&self, args: &[&str]) -> Result<Option<String>, GitError> {
        let output = match self.ask_or_none(args) {
            Err(GitError::Failed { .. }) => return Ok(None),
            output => output?,
        };
        let line = String::from_utf8_lossy(&output.bytes).lines().next().unwrap_or_default().to_string();
        Ok(Some(line).filter(|line| !line.is_empty()))
    }

    /// What the commits say, the oldest first: id, author and message of each.
    pub fn messages(&self, range: &CommitRange) -> Result<String, GitError> {
        let mut args =
            vec!["log", "--no-walk=unsorted", "--no-show-signature", "--no-color", "--no-decorate"];
        args.extend(["--no-notes", "--encoding=UTF-8", "--format=commit %h by %an%n%n%B"]);
        args.extend(range.commits.iter().rev().map(String::as_str));
        args.push("--");
        Ok(String::from_utf8_lossy(&self.ask(&args)?.bytes).into_owned())
    }

    /// What they change together.
    pub fn range_diff(&self, range: &CommitRange) -> Result<RangeDiff, GitError> {
        let options = ["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-relative"];
        let ends = [range.base.as_str(), range.tip.as_str(), "--"];
        let text = self.ask(&[&options[..], &["-M"], &ends[..]].concat())?;
        let names = self.ask(&[&options[..], &["--no-renames", "--name-only", "-z"], &ends[..]].concat())?;
        Ok(RangeDiff {
            text: String::from_utf8_lossy(&text.bytes).into_owned(),
            files: names.bytes.iter().filter(|byte| **byte == 0).count(),
        })
    }
}

fn or_head(side: &str) -> &str {
    if side.is_empty() { "HEAD" } else { side }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;
    use std::time::Duration;

    use super::super::WorkTree;
    use super::*;

    fn git(dir: &Path, args: &[&str]) -> String {
        let mut command = Command::new("git");
        command.arg("-C").arg(dir).args(["-c", "user.name=J", "-c", "user.email=j@x"]).args(args);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_string()
    }

    #[expect(clippy::disallowed_methods, reason = "makes a repository, not a mesh")]
    fn commit(dir: &Path, file: &str) -> String {
        std::fs::write(dir.join(file), file).unwrap();
        git(dir, &["add", "-A"]);
        git(dir, &["commit", "-q", "-m", &format!("add {file}")]);
        git(dir, &["rev-parse", "HEAD"])
    }

    #[test]
    fn whatever_is_named_lies_between_two_trees() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        git(dir, &["init", "-q", "-b", "main"]);
        let tree = WorkTree::containing(dir).unwrap();
        let reader = || ReadOnlyGit::at(&tree, Duration::from_secs(60)).unwrap();
        let unknown = |typed: &str, part: &str| {
            assert_eq!(
                reader().named_commits(typed).unwrap(),
                NamedCommits::Unknown(part.to_string()),
                "{typed}"
            );
        };
        unknown("HEAD", "HEAD");
        let first = commit(dir, "a");
        git(dir, &["checkout", "-q", "-b", "topic"]);
        let (second, third) = (commit(dir, "b"), commit(dir, "c"));
        git(dir, &["checkout", "-q", "main"]);
        let last = commit(dir, "d");
        git(dir, &["tag", "v1", "topic"]);
        let found = |typed: &str| match reader().named_commits(typed).unwrap() {
            NamedCommits::Found(range) => range,
            other => panic!("{typed}: {other:?}"),
        };
        let both = [third.clone(), second.clone()];
        for (typed, naming) in [
            ("topic", CommitNaming::Branch),
            ("main..topic", CommitNaming::Range),
            ("main...topic", CommitNaming::Range),
            ("..topic", CommitNaming::Range),
            ("@..v1", CommitNaming::Range),
        ] {
            let range = found(typed);
            assert_eq!((range.naming, &range.base, &range.tip), (naming, &first, &third), "{typed}");
            assert_eq!(range.commits, both, "{typed}");
            let diff = reader().range_diff(&range).unwrap();
            assert_eq!(diff.files, 2, "{typed}: not what others did since");
            assert!(diff.text.contains("+++ b/c") && !diff.text.contains("b/d"), "{}", diff.text);
            let said = reader().messages(&range).unwrap();
            assert!(said.find("add b") < said.find("add c") && said.contains(" by J\n"), "{said}");
        }
        for (typed, base, tip) in [
            ("HEAD", &first, &last),
            ("@", &first, &last),
            ("v1", &second, &third),
            ("topic~1", &first, &second),
        ] {
            let range = found(typed);
            assert_eq!((range.naming, &range.base, &range.tip), (CommitNaming::One, base, tip), "{typed}");
            assert_eq!(range.commits, std::slice::from_ref(tip), "{typed}");
        }
        let root = found(&first[..10]);
        assert_eq!((reader().range_diff(&root).unwrap().files, root.tip), (1, first));
        let nothing = found("topic..main~1");
        assert!(nothing.commits.is_empty() && nothing.base == nothing.tip);
        for (typed, part) in [
            ("", ""),
            ("nobody", "nobody"),
            ("-p", "-p"),
            ("--all", "--all"),
            ("main..nobody", "nobody"),
            ("nobody..main", "nobody"),
            ("main..--all", "--all"),
            ("../elsewhere", "/elsewhere"),
            ("HEAD:a", "HEAD:a"),
            ("HEAD@{77}", "HEAD@{77}"),
        ] {
            unknown(typed, part);
        }
        git(dir, &["checkout", "-q", "--orphan", "other"]);
        commit(dir, "e");
        let unrelated = NamedCommits::Unrelated("main".to_string(), "other".to_string());
        assert_eq!(reader().named_commits("main..other").unwrap(), unrelated);
    }
}
