//! Judges anchors against the files of one work tree, as they are now: committed or not.
//!
//! A file that has not changed since it was last looked at is not read (`verdict_cache`). Git is run only if something
//! is missing, and then for a second at most.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use super::verdict_cache::{VerdictCache, VerdictGround};
use crate::domain::knowledge::{
    Anchor, AnchorFinding, AnchorPath, AnchorTarget, AnchoredFile, Outline, TextHash, judge_in_file,
    plain_name,
};
use crate::domain::{quote_name, quote_sentence};
use crate::sys::environment::Home;
use crate::sys::files::{self, BoundedRead, FileError, FileStamp};
use crate::sys::git::{GitError, ReadOnlyGit, SearchText, WorkTree};
use crate::sys::outline::{MAX_PARSED, OutlineCache, SourceLanguage};
use crate::sys::test_switches;

/// The largest file that is read, in bytes.
const MAX_FILE: u64 = 8 * 1024 * 1024;
/// How long git may search for what is missing, and explain one change.
const GIT_LIMIT: Duration = Duration::from_secs(1);
/// The most searches through all files, and the most files looked at for each.
const MAX_SEARCHES: usize = 32;
const MAX_CANDIDATES: usize = 20;
/// The most commits whose renames are looked up.
const MAX_COMMITS: usize = 32;
/// The most files kept in memory, because records often share one.
const MAX_LOADED: usize = 64;

/// Judges and captures anchors in one work tree.
#[derive(Debug)]
pub struct AnchorJudge {
    /// Without links.
    root: PathBuf,
    pub(super) tree: Option<WorkTree>,
    outlines: OutlineCache,
    pub(super) cache: VerdictCache,
    /// Whether a directory below the root is really in it.
    directories: HashMap<String, bool>,
    loaded: HashMap<AnchorPath, (FileStamp, Rc<LoadedFile>)>,
    head: Lazy<String>,
    git: Lazy<ReadOnlyGit>,
    renames: HashMap<String, Rc<Vec<(String, String)>>>,
    searches: usize,
    git_limit: Duration,
    /// Whether a search ended at a limit, so that what is missing may be somewhere.
    has_given_up: bool,
    /// How many verdicts say `stale` only because of that.
    guesses: usize,
}

/// Something that is looked up once, and may be missing.
#[derive(Debug)]
enum Lazy<T> {
    NotAsked,
    Known(T),
    Missing,
}

/// What is at a path.
#[derive(Debug)]
pub(super) enum FoundFile {
    Absent,
    /// A link leads out of the project.
    Outside,
    Directory,
    File(FilePlace),
}

#[derive(Debug)]
pub(super) struct FilePlace {
    /// Without links.
    real: PathBuf,
    stamp: FileStamp,
}

#[derive(Debug)]
pub(super) struct LoadedFile {
    pub(super) text: String,
    pub(super) hash: TextHash,
    pub(super) outline: Option<Outline>,
    /// Whether it could have an outline, but parsing took too long.
    has_missed_outline: bool,
}

impl AnchorJudge {
    /// For the work tree with this root, or for a folder without git.
    pub fn new(root: &Path, home: &Home) -> Self {
        let real = std::fs::canonicalize(root).unwrap_or_else(|_| root.to_path_buf());
        Self {
            tree: WorkTree::containing(&real),
            outlines: OutlineCache::of(home),
            cache: VerdictCache::load(home, &real),
            root: real,
            directories: HashMap::new(),
            loaded: HashMap::new(),
            head: Lazy::NotAsked,
            git: Lazy::NotAsked,
            renames: HashMap::new(),
            searches: 0,
            git_limit: test_switches::or_long(GIT_LIMIT),
            has_given_up: false,
            guesses: 0,
        }
    }

    /// The same, with another limit for git.
    pub fn with_git_limit(mut self, git_limit: Duration) -> Self {
        self.git_limit = test_switches::or_long(git_limit);
        self
    }

    /// How many verdicts so far are not certain, because a search ended at its limit.
    pub(super) fn guesses(&self) -> usize {
        self.guesses
    }

    /// How long git may take for one kind of question.
    pub(super) fn git_limit(&self) -> Duration {
        self.git_limit
    }

    /// What became of an anchor. An anchor without a file is always fresh.
    pub fn judge(&mut self, anchor: &Anchor) -> AnchorFinding {
        let Some(path) = anchor.target.path() else { return AnchorFinding::Fresh };
        let place = match self.find(path) {
            Ok(FoundFile::File(place)) => place,
            Ok(FoundFile::Directory) if matches!(anchor.target, AnchorTarget::File { .. }) => {
                return AnchorFinding::Fresh;
            }
            Ok(FoundFile::Absent | FoundFile::Outside | FoundFile::Directory) => {
                return self.judge_elsewhere(anchor, None);
            }
            // It is there, but can't be looked at.
            Err(_) => return AnchorFinding::Drifted,
        };
        if let Some(hash) = self.cache.hash(path.as_str(), &place.stamp) {
            if anchor.file.as_ref() == Some(&hash) {
                return AnchorFinding::Fresh;
            }
            if let Some(verdict) = self.kept(anchor, Some(&hash)) {
                return verdict;
            }
        }
        let Ok(Some(file)) = self.load(path, &place) else { return AnchorFinding::Drifted };
        match judge_in_file(anchor, &file.at(path)) {
            Some(verdict) => {
                let needs_outline = matches!(anchor.target, AnchorTarget::Symbol { .. });
                let ground = match file.has_missed_outline && needs_outline {
                    true => VerdictGround::NoOutline,
                    false => VerdictGround::OwnFile,
                };
                self.cache.keep_verdict(anchor, Some(&file.hash), &verdict, ground);
                verdict
            }
            None => self.judge_elsewhere(anchor, Some(&file.hash)),
        }
    }

    /// Keeps what was learned for the next process. Also happens when this is dropped.
    pub fn save(&mut self) {
        self.cache.save();
    }

    /// The outline of a file, and `None` if it has none: another language, or too large.
    pub fn outline(&mut self, path: &AnchorPath) -> Result<Option<Outline>, FileError> {
        let FoundFile::File(place) = self.find(path)? else { return Ok(None) };
        Ok(self.load(path, &place)?.and_then(|file| file.outline.clone()))
    }

    /// One line about what changed since the anchor was seen: `12 lines changed in 2 commits since a1b2c3d, last by Ann:
    /// “title”`. `None` if that is not known, or nothing changed.
    pub fn explain(&mut self, anchor: &Anchor) -> Option<String> {
        let (path, commit) = (anchor.target.path()?, anchor.commit.as_deref()?);
        // A time limit of its own: the searches may have used up the other one.
        let git = ReadOnlyGit::at(self.tree.as_ref()?, self.git_limit).ok()?;
        let changes = git.changes_since(commit, &self.path_in_tree(path.as_str())?).ok()?;
        let plural =
            |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
        let since = format!("since {}", commit.get(..7)?);
        match (changes.lines, changes.commits, changes.last) {
            (0, 0, _) => None,
            // The branch does not have that commit, so nobody changed it since.
            (lines, 0, _) if changes.is_other_in_head => {
                let short = commit.get(..7)?;
                Some(format!("{} other than in {short}, which is not merged", plural(lines, "line")))
            }
            (lines, 0, _) => Some(format!("{} changed {since}, not committed", plural(lines, "line"))),
            (lines, commits, last) => {
                let counts = format!("{} changed in {}", plural(lines, "line"), plural(commits, "commit"));
                let by = last.map_or(String::new(), |(author, title)| {
                    format!(", last by {}: {}", quote_name(&author), quote_sentence(&title))
                });
                Some(format!("{counts} {since}{by}"))
            }
        }
    }

    /// Looks for what is not where it was: in the file that its own was renamed to, then in all files that contain its
    /// name or its first line.
    fn judge_elsewhere(&mut self, anchor: &Anchor, content: Option<&TextHash>) -> AnchorFinding {
        if let Some(verdict) = self.kept(anchor, content) {
            return verdict;
        }
        self.has_given_up = false;
        // Before anything is looked at: what changes meanwhile is noticed the next time.
        let state = self.state_of_all_files();
        let renamed = if content.is_none() { self.renamed(anchor) } else { None };
        let found = renamed.and_then(|path| self.judge_at(anchor, &path)).or_else(|| self.search(anchor));
        if found.is_none() && self.has_given_up {
            // It is not where it was. More is not known, and the next one may have the time to search.
            self.guesses += 1;
            return AnchorFinding::Stale;
        }
        let (finding, ground) = found.unwrap_or((AnchorFinding::Gone, VerdictGround::AllFiles { state }));
        self.cache.keep_verdict(anchor, content, &finding, ground);
        finding
    }

    /// The verdict of an earlier look, if what it rests on is still the same.
    fn kept(&mut self, anchor: &Anchor, content: Option<&TextHash>) -> Option<AnchorFinding> {
        let (finding, ground) = self.cache.verdict(anchor, content)?;
        let is_same = match ground {
            VerdictGround::OwnFile | VerdictGround::NoOutline => true,
            VerdictGround::OtherFile { path, hash } => self.hash_of(&path) == Some(hash),
            VerdictGround::AllFiles { state } => self.state_of_all_files() == state,
        };
        is_same.then_some(finding)
    }

    fn hash_of(&mut self, path: &AnchorPath) -> Option<TextHash> {
        let Ok(FoundFile::File(place)) = self.find(path) else { return None };
        let known = self.cache.hash(path.as_str(), &place.stamp);
        known.or_else(|| Some(self.load(path, &place).ok()??.hash.clone()))
    }

    /// What git knows of all files: the commit and the index.
    fn state_of_all_files(&mut self) -> String {
        let index = self.tree.as_ref().and_then(WorkTree::index_stamp);
        let index = index.map_or(String::new(), |FileStamp { inode, size, modified, changed }| {
            format!("{inode} {size} {modified} {changed}")
        });
        format!("{} {index}", self.head_commit().unwrap_or("-"))
    }

    fn judge_at(&mut self, anchor: &Anchor, path: &AnchorPath) -> Option<(AnchorFinding, VerdictGround)> {
        let Ok(FoundFile::File(place)) = self.find(path) else { return None };
        let file = self.load(path, &place).ok().flatten()?;
        let finding = judge_in_file(anchor, &file.at(path))?;
        Some((finding, VerdictGround::OtherFile { path: path.clone(), hash: file.hash.clone() }))
    }

    /// The file that the anchor's file was renamed to, if it is not there any more.
    pub(super) fn renamed_to(&mut self, anchor: &Anchor) -> Option<AnchorPath> {
        let is_absent = matches!(self.find(anchor.target.path()?), Ok(FoundFile::Absent));
        if is_absent { self.renamed(anchor) } else { None }
    }

    /// The file that the anchor's file was renamed to.
    fn renamed(&mut self, anchor: &Anchor) -> Option<AnchorPath> {
        let path = self.path_in_tree(anchor.target.path()?.as_str())?;
        let commit = anchor.commit.as_deref()?;
        if !self.renames.contains_key(commit) {
            if self.renames.len() >= MAX_COMMITS {
                self.has_given_up = true;
                return None;
            }
            let asked = self.git()?.renames_since(commit);
            let renames = self.in_time(asked)?.unwrap_or_default();
            self.renames.insert(commit.to_string(), Rc::new(renames));
        }
        let renames = Rc::clone(self.renames.get(commit)?);
        let (_, to) = renames.iter().find(|(from, _)| *from == path)?;
        self.path_in_project(to)
    }

    /// The unchanged text in another file. A changed namesake there is something else.
    fn search(&mut self, anchor: &Anchor) -> Option<(AnchorFinding, VerdictGround)> {
        let own = anchor.target.path()?.clone();
        let extension = |path: &str| path.rsplit_once('.').map(|(_, extension)| extension.to_string());
        let wanted = match &anchor.target {
            AnchorTarget::Symbol { symbol, hash: Some(_), .. } => SearchText::Word(plain_name(symbol)),
            AnchorTarget::Lines { text, hash: Some(_), .. } => {
                SearchText::Anything(text.iter().map(|line| line.trim()).max_by_key(|line| line.len())?)
            }
            _ => return None,
        };
        if wanted.is_short() {
            return None;
        }
        if self.searches >= MAX_SEARCHES {
            self.has_given_up = true;
            return None;
        }
        self.searches += 1;
        let asked = self.git()?.files_with(wanted);
        let found = self.in_time(asked)?.ok()?;
        let candidates = found.iter().filter(|path| extension(path) == extension(own.as_str()));
        let candidates: Vec<AnchorPath> = candidates
            .filter_map(|path| self.path_in_project(path))
            .filter(|path| *path != own)
            .take(MAX_CANDIDATES)
            .collect();
        let moved = |found: &(AnchorFinding, VerdictGround)| matches!(found.0, AnchorFinding::Moved { .. });
        candidates.iter().find_map(|path| self.judge_at(anchor, path).filter(moved))
    }

    /// An answer of git; `None` if it took too long.
    fn in_time<T>(&mut self, asked: Result<T, GitError>) -> Option<Result<T, GitError>> {
        if matches!(asked, Err(GitError::TooSlow { .. })) {
            self.has_given_up = true;
            return None;
        }
        Some(asked)
    }

    fn git(&mut self) -> Option<&ReadOnlyGit> {
        if let Lazy::NotAsked = self.git {
            let git = self.tree.as_ref().and_then(|tree| ReadOnlyGit::at(tree, self.git_limit).ok());
            self.git = git.map_or(Lazy::Missing, Lazy::Known);
        }
        self.git.known()
    }

    pub(super) fn head_commit(&mut self) -> Option<&str> {
        if let Lazy::NotAsked = self.head {
            let head = self.tree.as_ref().and_then(WorkTree::head_commit);
            self.head = head.map_or(Lazy::Missing, Lazy::Known);
        }
        self.head.known().map(String::as_str)
    }

    /// A project may be a folder in a work tree; git counts from the root of the work tree.
    fn path_in_tree(&self, path: &str) -> Option<String> {
        let full = self.root.join(path);
        full.strip_prefix(&self.tree.as_ref()?.root).ok()?.to_str().map(str::to_string)
    }

    fn path_in_project(&self, path: &str) -> Option<AnchorPath> {
        let full = self.tree.as_ref()?.root.join(path);
        AnchorPath::new(full.strip_prefix(&self.root).ok()?.to_str()?).ok()
    }

    /// What is at a path, unless a link leads out of the project.
    pub(super) fn find(&mut self, path: &AnchorPath) -> Result<FoundFile, FileError> {
        let text = path.as_str();
        let (dir, _) = text.rsplit_once('/').unwrap_or(("", text));
        let is_inside = match self.directories.get(dir) {
            Some(is_inside) => *is_inside,
            None => {
                // A directory that is not there contains nothing that could lead out.
                let real = std::fs::canonicalize(self.root.join(dir));
                let is_inside = real.map_or(true, |real| real.starts_with(&self.root));
                self.directories.insert(dir.to_string(), is_inside);
                is_inside
            }
        };
        if !is_inside {
            return Ok(FoundFile::Outside);
        }
        let mut real = self.root.join(text);
        let found = match files::link_metadata(&real) {
            // Something in the path is a file now.
            Err(error) if error.source.kind() == std::io::ErrorKind::NotADirectory => None,
            found => found?,
        };
        let Some(mut metadata) = found else { return Ok(FoundFile::Absent) };
        if metadata.is_symlink() {
            let Ok(target) = std::fs::canonicalize(&real) else { return Ok(FoundFile::Absent) };
            if !target.starts_with(&self.root) {
                return Ok(FoundFile::Outside);
            }
            real = target;
            let Some(target) = files::link_metadata(&real)? else { return Ok(FoundFile::Absent) };
            metadata = target;
        }
        Ok(match metadata.file_type() {
            kind if kind.is_dir() => FoundFile::Directory,
            kind if kind.is_file() => FoundFile::File(FilePlace { real, stamp: FileStamp::of(&metadata) }),
            // A pipe or a device has no lines.
            _ => FoundFile::Absent,
        })
    }

    /// Reads a file; `None` if it is too large.
    pub(super) fn load(
        &mut self,
        path: &AnchorPath,
        place: &FilePlace,
    ) -> Result<Option<Rc<LoadedFile>>, FileError> {
        if let Some((_, file)) = self.loaded.get(path).filter(|(stamp, _)| *stamp == place.stamp) {
            return Ok(Some(Rc::clone(file)));
        }
        let BoundedRead::Content(bytes) = files::read_at_most(&place.real, MAX_FILE)? else {
            return Ok(None);
        };
        let hash = TextHash::of_file(&bytes);
        self.cache.keep_hash(path.as_str(), place.stamp, hash.clone());
        let text = String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        let language = SourceLanguage::of_file(path.as_str());
        let outline = language.and_then(|language| self.outlines.outline(language, &text, &hash));
        let has_missed_outline = language.is_some() && outline.is_none() && text.len() <= MAX_PARSED;
        let file = Rc::new(LoadedFile { text, hash, outline, has_missed_outline });
        if self.loaded.len() >= MAX_LOADED {
            self.loaded.clear();
        }
        self.loaded.insert(path.clone(), (place.stamp, Rc::clone(&file)));
        Ok(Some(file))
    }
}

impl Drop for AnchorJudge {
    fn drop(&mut self) {
        self.save();
    }
}

impl<T> Lazy<T> {
    fn known(&self) -> Option<&T> {
        match self {
            Self::Known(value) => Some(value),
            Self::NotAsked | Self::Missing => None,
        }
    }
}

impl LoadedFile {
    fn at<'f>(&'f self, path: &'f AnchorPath) -> AnchoredFile<'f> {
        AnchoredFile { path, text: &self.text, hash: &self.hash, outline: self.outline.as_ref() }
    }
}

#[cfg(test)]
mod tests;
