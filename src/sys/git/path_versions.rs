//! The files below a directory as they are committed, and the versions that they had in the history of `HEAD`.

use std::collections::HashMap;

use jiff::Timestamp;

use super::read_only::ReadOnlyGit;
use super::repository::GitError;
use crate::sys::random;

/// How many objects are read at once.
const BLOBS_AT_ONCE: usize = 256;

/// A file that `HEAD` has.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CommittedFile {
    /// Relative to the root of the work tree.
    pub path: String,
    /// The id of its content.
    pub blob: String,
    /// Not a link.
    pub is_plain: bool,
}

/// A commit that changed a file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct VersionCommit {
    pub id: String,
    /// A name, of any length and with any characters.
    pub author: String,
    pub at: Timestamp,
}

/// A content that a commit gave to a file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PathVersion {
    pub path: String,
    pub commit: usize,
    /// `None`: it was deleted.
    pub blob: Option<String>,
    /// What it was before, in the first parent that had it.
    pub before: Option<String>,
}

impl ReadOnlyGit {
    /// The files that `HEAD` has below a directory. Names that are not UTF-8 are left out.
    pub fn committed_below(&self, dir: &str) -> Result<Vec<CommittedFile>, GitError> {
        let output = self.ask_for_all(&["ls-tree", "-r", "-z", "--full-tree", "HEAD", "--", dir])?;
        let text = String::from_utf8_lossy(&output.bytes).into_owned();
        let file = |row: &str| {
            let (about, path) = row.split_once('\t')?;
            let mut about = about.split(' ');
            let (mode, kind, blob) = (about.next()?, about.next()?, about.next()?);
            let is_plain = mode.starts_with("100");
            (kind == "blob" && !path.contains('\u{fffd}')).then(|| CommittedFile {
                path: path.to_string(),
                blob: blob.to_string(),
                is_plain,
            })
        };
        Ok(text.split('\0').filter_map(file).collect())
    }

    /// The versions of all files below a directory, the newest first, and the commits that made them. Of a merge, only
    /// what differs from all of its parents.
    pub fn versions_below(&self, dir: &str) -> Result<(Vec<VersionCommit>, Vec<PathVersion>), GitError> {
        // No name of a file can be mistaken for the start of a commit.
        let mark = random::uuid().to_string();
        let format = format!("--format={mark}%x00%H%x00%at%x00%an");
        let options = ["log", "-z", "-c", "--root", "--raw", "--no-abbrev", "--no-renames"];
        let more =
            ["--no-show-signature", "--no-color", "--no-ext-diff", "--no-textconv", "--encoding=UTF-8"];
        let rest = ["--no-relative", &format, "HEAD", "--", dir];
        let output = self.ask_for_all(&[&options[..], &more, &rest].concat())?;
        Ok(parse_versions(&String::from_utf8_lossy(&output.bytes), &mark))
    }

    /// The contents of objects. One that is missing or too large is left out.
    pub fn contents(&self, blobs: &[String]) -> Result<HashMap<String, Vec<u8>>, GitError> {
        let mut contents = HashMap::new();
        for some in blobs.chunks(BLOBS_AT_ONCE) {
            if !self.read_contents(some, &mut contents)? {
                for one in some.iter().filter(|one| !contents.contains_key(*one)).cloned().collect::<Vec<_>>()
                {
                    self.read_contents(&[one], &mut contents)?;
                }
            }
        }
        Ok(contents)
    }

    /// Whether the output was read to its end.
    fn read_contents(
        &self,
        blobs: &[String],
        contents: &mut HashMap<String, Vec<u8>>,
    ) -> Result<bool, GitError> {
        let input = blobs.iter().flat_map(|blob| [blob.as_bytes(), b"\n"]).flatten().copied().collect();
        let output = self.ask_about(&["cat-file", "--batch"], input)?;
        let mut rest = output.bytes.as_slice();
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let header = String::from_utf8_lossy(&rest[..end]).into_owned();
            rest = &rest[end + 1..];
            let mut header = header.split(' ');
            let (id, kind, size) = (header.next(), header.next(), header.next());
            let Some(size) = size.and_then(|size| size.parse::<usize>().ok()) else { continue };
            let (Some(content), Some(id)) = (rest.get(..size), id) else { break };
            if kind == Some("blob") {
                contents.insert(id.to_string(), content.to_vec());
            }
            // A line end follows.
            rest = rest.get(size + 1..).unwrap_or_default();
        }
        Ok(!output.is_cut)
    }
}

/// Fields that end in NUL: mark, id, time, author, then `:modes ids status` and a path per file. A merge has a colon, a
/// mode and an id for each parent.
fn parse_versions(output: &str, mark: &str) -> (Vec<VersionCommit>, Vec<PathVersion>) {
    let (mut commits, mut versions) = (Vec::new(), Vec::new());
    let mut fields = output.split('\0');
    while let Some(field) = fields.next() {
        let field = field.strip_prefix('\n').unwrap_or(field);
        if field == mark {
            let (Some(id), Some(at), Some(author)) = (fields.next(), fields.next(), fields.next()) else {
                break;
            };
            let at = at.parse().ok().and_then(|at| Timestamp::from_second(at).ok()).unwrap_or_default();
            // A repository may say anything about its times.
            commits.push(VersionCommit { id: id.to_string(), author: author.to_string(), at });
        } else if field.starts_with(':') {
            let Some(path) = fields.next() else { break };
            let Some(commit) = commits.len().checked_sub(1) else { continue };
            let parents = field.bytes().take_while(|byte| *byte == b':').count();
            let is_there = |blob: &&str| blob.bytes().any(|byte| byte != b'0');
            let mut ids = field.split(' ').skip(parents + 1);
            let before: Vec<&str> = ids.by_ref().take(parents).collect();
            let before = before.into_iter().find(is_there).map(str::to_string);
            let blob = ids.next().filter(is_there).map(str::to_string);
            versions.push(PathVersion { path: path.to_string(), commit, blob, before });
        }
    }
    (commits, versions)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::*;
    use crate::sys::files;
    use crate::sys::git::WorkTree;

    fn git(dir: &Path, args: &[&str]) {
        let mut command = std::process::Command::new("git");
        command.arg("-C").arg(dir).args(["-c", "user.name=Jö <x>", "-c", "user.email=j@x"]).args(args);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    #[test]
    fn with_the_real_git() {
        let dir = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = dir.path().join(path);
            files::make_room(&path).unwrap();
            files::replace_beside(&path, text.as_bytes(), 0o644).unwrap();
        };
        let commit = || {
            git(dir.path(), &["add", "-A"]);
            git(dir.path(), &["commit", "-q", "-m", "x"]);
        };
        git(dir.path(), &["init", "-q", "-b", "main"]);
        put("docs/a b.md", "one\n");
        put("other", "one\n");
        commit();
        put("docs/a b.md", "two\nlines\n");
        put("docs/empty", "");
        commit();
        git(dir.path(), &["rm", "-q", "docs/empty"]);
        std::os::unix::fs::symlink("x", dir.path().join("docs/link")).unwrap();
        commit();
        let tree = WorkTree::containing(dir.path()).unwrap();
        let git = ReadOnlyGit::at(&tree, Duration::from_secs(60)).unwrap();
        let files = git.committed_below("docs").unwrap();
        let names: Vec<(&str, bool)> = files.iter().map(|file| (file.path.as_str(), file.is_plain)).collect();
        assert_eq!(names, [("docs/a b.md", true), ("docs/link", false)]);
        let (commits, versions) = git.versions_below("docs").unwrap();
        assert_eq!(commits.len(), 3);
        assert!(commits.iter().all(|commit| commit.author == "Jö x" && commit.id.len() == 40), "{commits:?}");
        let blobs: Vec<String> = versions.iter().filter_map(|version| version.blob.clone()).collect();
        let contents = git.contents(&blobs).unwrap();
        let text = |version: &PathVersion| {
            let blob = version.blob.as_ref()?;
            Some(String::from_utf8(contents[blob].clone()).unwrap())
        };
        let seen: Vec<(&str, usize, Option<String>)> =
            versions.iter().map(|version| (version.path.as_str(), version.commit, text(version))).collect();
        let expected = [
            ("docs/empty", 0, None),
            ("docs/link", 0, Some("x".to_string())),
            ("docs/a b.md", 1, Some("two\nlines\n".to_string())),
            ("docs/empty", 1, Some(String::new())),
            ("docs/a b.md", 2, Some("one\n".to_string())),
        ];
        assert_eq!(seen, expected);
        let before: Vec<Option<&String>> = versions.iter().map(|version| version.before.as_ref()).collect();
        assert_eq!(before, [Some(&blobs[2]), None, Some(&blobs[3]), None, None]);
    }

    /// What a merge made of a file was before what the first parent had.
    #[test]
    fn a_merge_has_what_its_parents_had() {
        let dir = tempfile::tempdir().unwrap();
        let commit = |text: &str| {
            files::replace_beside(&dir.path().join("a"), text.as_bytes(), 0o644).unwrap();
            git(dir.path(), &["add", "-A"]);
            git(dir.path(), &["commit", "-q", "-m", "x"]);
        };
        git(dir.path(), &["init", "-q", "-b", "main"]);
        commit("base");
        git(dir.path(), &["checkout", "-q", "-b", "side"]);
        commit("side");
        git(dir.path(), &["checkout", "-q", "main"]);
        commit("own");
        git(dir.path(), &["merge", "-q", "-s", "ours", "--no-commit", "side"]);
        commit("merged");
        let tree = WorkTree::containing(dir.path()).unwrap();
        let git = ReadOnlyGit::at(&tree, Duration::from_secs(60)).unwrap();
        let (_, versions) = git.versions_below("a").unwrap();
        let blobs: Vec<String> = versions.iter().filter_map(|version| version.blob.clone()).collect();
        let contents = git.contents(&blobs).unwrap();
        let text = |blob: &Option<String>| String::from_utf8(contents[blob.as_ref()?].clone()).ok();
        let merged = &versions[0];
        assert_eq!((text(&merged.blob), text(&merged.before)), (Some("merged".into()), Some("own".into())));
    }

    /// What is missing would count as deleted.
    #[test]
    fn a_part_of_the_files_is_not_taken_for_all() {
        use std::io::Write;
        use std::process::{Command, Stdio};
        let dir = tempfile::tempdir().unwrap();
        git(dir.path(), &["init", "-q", "-b", "main"]);
        let mut index = Command::new("git");
        index.arg("-C").arg(dir.path()).args(["update-index", "--index-info"]).stdin(Stdio::piped());
        let mut index = index.spawn().unwrap();
        let (blob, name) = ("1".repeat(40), "x".repeat(200));
        let rows: String =
            (0..40_000).map(|number| format!("100644 {blob}\tdocs/{number}{name}\n")).collect();
        index.stdin.take().unwrap().write_all(rows.as_bytes()).unwrap();
        assert!(index.wait().unwrap().success());
        let written =
            Command::new("git").arg("-C").arg(dir.path()).args(["write-tree", "--missing-ok"]).output();
        let tree = String::from_utf8(written.unwrap().stdout).unwrap();
        let mut commit = Command::new("git");
        commit.arg("-C").arg(dir.path()).args(["-c", "user.name=J", "-c", "user.email=j@x"]);
        let made = commit.args(["commit-tree", "-m", "x", tree.trim()]).output().unwrap();
        git(dir.path(), &["update-ref", "HEAD", String::from_utf8(made.stdout).unwrap().trim()]);
        let tree = WorkTree::containing(dir.path()).unwrap();
        let git = ReadOnlyGit::at(&tree, Duration::from_secs(60)).unwrap();
        let told = git.committed_below("docs").unwrap_err().to_string();
        assert_eq!(told, "`git ls-tree` failed: it printed more than 8 MiB");
        assert!(git.versions_below("docs").is_err());
    }
}
