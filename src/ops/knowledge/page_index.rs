//! The committed pages of a work tree, and their history.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;

use crate::domain::knowledge::page::{PAGE_DIRECTORY, PageCommit, PageHash, PageHistory, page_id};
use crate::domain::knowledge::{RecordId, RecordKind};
use crate::sys::git::{GitError, PathVersion, ReadOnlyGit, VersionCommit, WorkTree};

/// How long git may take to list the history of all pages.
const GIT_LIMIT: Duration = Duration::from_secs(10);
/// The most characters that are kept of an author's name.
const LONGEST_AUTHOR: usize = 100;

/// What git knows of the pages.
#[derive(Clone, Debug, Default)]
pub(super) struct PageIndex {
    pub(super) pages: Vec<PageHistory>,
    /// The object with the content of a version.
    pub(super) blobs: HashMap<PageHash, String>,
    /// Paths of files that are no pages, and why.
    pub(super) strangers: Vec<(String, String)>,
}

/// Git with the time that reading pages may take.
pub(super) fn page_git(tree: &WorkTree) -> Result<ReadOnlyGit, GitError> {
    ReadOnlyGit::at(tree, GIT_LIMIT)
}

impl PageIndex {
    /// Asks git.
    pub(super) fn ask(git: &ReadOnlyGit) -> Result<Self, GitError> {
        let committed = git.committed_below(PAGE_DIRECTORY)?;
        let (commits, versions) = git.versions_below(PAGE_DIRECTORY)?;
        let mut index = Self::default();
        let mut heads: HashMap<String, String> = HashMap::new();
        for file in committed {
            match (page_id(&file.path), stranger(&file.path)) {
                (Some(_), _) if !file.is_plain => {
                    index.strangers.push((file.path, "it is a link, which is not followed".to_string()));
                }
                (Some(_), _) => drop(heads.insert(file.path, file.blob)),
                (None, Some(why)) => index.strangers.push((file.path, why)),
                (None, None) => {}
            }
        }
        let mut by_path: HashMap<&str, Vec<&PathVersion>> = HashMap::new();
        for version in &versions {
            by_path.entry(&version.path).or_default().push(version);
        }
        let hashes = hashes(git, heads.values().chain(versions.iter().filter_map(|one| one.blob.as_ref())))?;
        for (path, versions) in by_path {
            let Some(id) = page_id(path) else { continue };
            if heads.get(path).is_some_and(|blob| !hashes.contains_key(blob)) {
                let why = "it is too large, or missing in the repository".to_string();
                index.strangers.push((path.to_string(), why));
                continue;
            }
            index.pages.extend(history(id, heads.get(path), &versions, &commits, &hashes));
        }
        index.pages.sort_by(|one, two| one.id.cmp(&two.id));
        index.strangers.sort();
        index.blobs = hashes.into_iter().map(|(blob, hash)| (hash, blob)).collect();
        Ok(index)
    }

    /// As rows with tabs, for the cache.
    pub(super) fn rows(&self) -> String {
        let mut rows = String::new();
        let hash = |hash: &PageHash| {
            let blob = self.blobs.get(hash).map_or("-", String::as_str);
            format!("{}:{blob}", hash.as_str())
        };
        for page in &self.pages {
            let head = page.head.as_ref().map_or("-", PageHash::as_str);
            let PageCommit { id, author, at } = &page.commit;
            let versions: Vec<String> = page.versions.iter().map(hash).collect();
            let (name, at) = (&page.id, at.as_second());
            rows.push_str(&format!("P\t{name}\t{head}\t{id}\t{at}\t{author}\t{}\n", versions.join(" ")));
        }
        for (path, why) in &self.strangers {
            rows.push_str(&format!("S\t{}\t{why}\n", path.replace(['\t', '\n'], " ")));
        }
        rows
    }

    /// `None` if the rows are damaged.
    pub(super) fn of_rows(rows: &str) -> Option<Self> {
        let mut index = Self::default();
        for row in rows.lines() {
            let fields: Vec<&str> = row.split('\t').collect();
            match fields[..] {
                ["P", name, head, id, at, author, versions] => {
                    let head = if head == "-" { None } else { Some(PageHash::stored(head)?) };
                    let at = Timestamp::from_second(at.parse().ok()?).ok()?;
                    let commit = PageCommit { id: id.to_string(), author: author.to_string(), at };
                    let mut page =
                        PageHistory { id: RecordId::parse(name)?, head, commit, versions: Vec::new() };
                    for version in versions.split(' ').filter(|version| !version.is_empty()) {
                        let (hash, blob) = version.split_once(':')?;
                        let hash = PageHash::stored(hash)?;
                        index.blobs.insert(hash.clone(), blob.to_string());
                        page.versions.push(hash);
                    }
                    index.pages.push(page);
                }
                ["S", path, why] => index.strangers.push((path.to_string(), why.to_string())),
                _ => return None,
            }
        }
        Some(index)
    }

    pub(super) fn get(&self, id: &RecordId) -> Option<&PageHistory> {
        let at = self.pages.binary_search_by(|page| page.id.cmp(id)).ok()?;
        self.pages.get(at)
    }
}

/// The hash of each content. What is not a text is hashed as one with its bad bytes replaced.
fn hashes<'b>(
    git: &ReadOnlyGit,
    blobs: impl Iterator<Item = &'b String>,
) -> Result<HashMap<String, PageHash>, GitError> {
    let mut blobs: Vec<String> = blobs.cloned().collect();
    blobs.sort();
    blobs.dedup();
    let contents = git.contents(&blobs)?;
    let hash = |(blob, bytes): (String, Vec<u8>)| (blob, PageHash::of(&String::from_utf8_lossy(&bytes)));
    Ok(contents.into_iter().map(hash).collect())
}

/// The history of a page whose versions come newest first.
fn history(
    id: RecordId,
    head: Option<&String>,
    versions: &[&PathVersion],
    commits: &[VersionCommit],
    hashes: &HashMap<String, PageHash>,
) -> Option<PageHistory> {
    // Merged branches may have had other versions meanwhile.
    let made = versions.iter().find(|version| version.blob.as_ref() == head).or(versions.first())?;
    let VersionCommit { id: commit, author, at } = commits.get(made.commit)?;
    let author: String =
        author.chars().map(|char| if char.is_control() { ' ' } else { char }).take(LONGEST_AUTHOR).collect();
    let head = match head {
        Some(blob) => Some(hashes.get(blob)?.clone()),
        None => None,
    };
    let mut all: Vec<PageHash> = versions
        .iter()
        .filter_map(|version| hashes.get(version.blob.as_ref()?).cloned())
        .chain(head.clone())
        .collect();
    all.sort();
    all.dedup();
    let commit = PageCommit { id: commit.clone(), author, at: *at };
    Some(PageHistory { id, head, commit, versions: all })
}

/// Why a file in the directory of pages is not one. Whatever is directly in it is somebody's own.
fn stranger(path: &str) -> Option<String> {
    let (kind, file) = path.strip_prefix(PAGE_DIRECTORY)?.strip_prefix('/')?.split_once('/')?;
    if !file.ends_with(".md") {
        return None;
    }
    Some(match RecordKind::parse(kind) {
        None => {
            let kinds: Vec<&str> = RecordKind::ALL.iter().map(|kind| kind.as_str()).collect();
            format!(
                "line 1, column 1: `{}` is not a kind: there are {}",
                kind.escape_debug(),
                kinds.join(", ")
            )
        }
        Some(_) => "line 1, column 1: the name of the file is not the name of a record, such as one-lock.md"
            .to_string(),
    })
}
