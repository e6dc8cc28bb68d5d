//! The committed pages of a work tree, and their history.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;

use crate::domain::knowledge::page::{
    LastPage, PAGE_DIRECTORY, PageChange, PageCommit, PageError, PageHash, PageHistory, RecordPage,
    last_content, page_id,
};
use crate::domain::knowledge::{RecordId, RecordKind};
use crate::sys::git::{CommittedFile, GitError, PathVersion, ReadOnlyGit, VersionCommit, WorkTree};

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
    /// Paths of files that are no pages or can't be read, and why.
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
        let mut heads: HashMap<String, CommittedFile> = HashMap::new();
        for file in committed {
            match (page_id(&file.path), stranger(&file.path)) {
                (Some(_), _) => drop(heads.insert(file.path.clone(), file)),
                (None, Some(why)) => index.strangers.push((file.path, why)),
                (None, None) => {}
            }
        }
        let mut by_path: HashMap<&str, Vec<&PathVersion>> = HashMap::new();
        for version in &versions {
            by_path.entry(&version.path).or_default().push(version);
        }
        let heads_blobs = heads.values().map(|file| &file.blob);
        let contents =
            Contents::read(git, heads_blobs.chain(versions.iter().filter_map(|one| one.blob.as_ref())))?;
        for (path, versions) in by_path {
            let Some(id) = page_id(path) else { continue };
            let head = heads.get(path);
            if let Some(why) = head.and_then(|file| contents.problem(&id, file)) {
                index.strangers.push((path.to_string(), why));
            }
            index.pages.push(history(id, head, &versions, &commits, &contents));
        }
        index.pages.sort_by(|one, two| one.id.cmp(&two.id));
        index.strangers.sort();
        index.blobs = contents.hashes.into_iter().map(|(blob, hash)| (hash, blob)).collect();
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
            let versions: Vec<String> = page.versions.iter().map(hash).collect();
            rows.push_str(&format!("P\t{}\t{head}\t{}\n", page.id, versions.join(" ")));
            if let Some(LastPage { hash, commit, is_removed, unreadable }) = &page.last {
                let PageCommit { id, author, at } = commit;
                let (hash, at, removed) =
                    (hash.as_str(), at.as_second(), if *is_removed { "removed" } else { "" });
                let unreadable: Vec<&str> = unreadable.iter().map(PageHash::as_str).collect();
                let unreadable = unreadable.join(" ");
                rows.push_str(&format!("L\t{hash}\t{id}\t{at}\t{author}\t{removed}\t{unreadable}\n"));
            }
        }
        for (path, why) in &self.strangers {
            rows.push_str(&format!("S\t{}\t{}\n", plain(path), plain(why)));
        }
        rows
    }

    /// `None` if the rows are damaged.
    pub(super) fn of_rows(rows: &str) -> Option<Self> {
        let mut index = Self::default();
        for row in rows.lines() {
            let fields: Vec<&str> = row.split('\t').collect();
            match fields[..] {
                ["P", name, head, versions] => {
                    let head = if head == "-" { None } else { Some(PageHash::stored(head)?) };
                    let mut page =
                        PageHistory { id: RecordId::parse(name)?, head, last: None, versions: Vec::new() };
                    for version in versions.split_ascii_whitespace() {
                        let (hash, blob) = version.split_once(':')?;
                        let hash = PageHash::stored(hash)?;
                        index.blobs.insert(hash.clone(), blob.to_string());
                        page.versions.push(hash);
                    }
                    index.pages.push(page);
                }
                ["L", hash, id, at, author, removed, unreadable] => {
                    let at = Timestamp::from_second(at.parse().ok()?).ok()?;
                    let unreadable = unreadable.split_ascii_whitespace().map(PageHash::stored);
                    index.pages.last_mut()?.last = Some(LastPage {
                        hash: PageHash::stored(hash)?,
                        commit: PageCommit { id: id.to_string(), author: author.to_string(), at },
                        is_removed: removed == "removed",
                        unreadable: unreadable.collect::<Option<_>>()?,
                    });
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

/// Without what ends a field or a row.
fn plain(text: &str) -> String {
    text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect()
}

/// What all versions of all pages say.
struct Contents {
    bytes: HashMap<String, Vec<u8>>,
    hashes: HashMap<String, PageHash>,
}

impl Contents {
    fn read<'b>(git: &ReadOnlyGit, blobs: impl Iterator<Item = &'b String>) -> Result<Self, GitError> {
        let mut blobs: Vec<String> = blobs.cloned().collect();
        blobs.sort();
        blobs.dedup();
        let bytes = git.contents(&blobs)?;
        // What is not a text is hashed as one with its bad bytes replaced.
        let hash = |(blob, bytes): (&String, &Vec<u8>)| {
            (blob.clone(), PageHash::of(&String::from_utf8_lossy(bytes)))
        };
        let hashes = bytes.iter().map(hash).collect();
        Ok(Self { bytes, hashes })
    }

    fn hash(&self, blob: &str) -> Option<PageHash> {
        self.hashes.get(blob).cloned()
    }

    fn is_page(&self, id: &RecordId, blob: &str) -> bool {
        self.bytes.get(blob).is_some_and(|bytes| parsed(id, bytes).is_ok())
    }

    /// Why a committed page can't be read.
    fn problem(&self, id: &RecordId, file: &CommittedFile) -> Option<String> {
        if !file.is_plain {
            return Some("it is a link, which is not followed".to_string());
        }
        match self.bytes.get(&file.blob) {
            Some(bytes) => parsed(id, bytes).err().map(|error| error.to_string()),
            None => Some("it is too large, or missing in the repository".to_string()),
        }
    }
}

/// The page of a record with this content.
pub(super) fn parsed(id: &RecordId, bytes: &[u8]) -> Result<RecordPage, PageError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => RecordPage::parse(id, text),
        Err(_) => Err(PageError { line: 1, column: 1, problem: "it is not UTF-8".to_string() }),
    }
}

/// The history of a page whose versions come newest first.
fn history(
    id: RecordId,
    head: Option<&CommittedFile>,
    versions: &[&PathVersion],
    commits: &[VersionCommit],
    contents: &Contents,
) -> PageHistory {
    let changes = versions
        .iter()
        .map(|version| PageChange { now: version.blob.as_deref(), before: version.before.as_deref() });
    let changes: Vec<PageChange<'_>> = changes.collect();
    let last =
        last_content(&changes, head.map(|file| file.blob.as_str()), |blob| contents.is_page(&id, blob));
    let last = last.and_then(|last| {
        let VersionCommit { id: commit, author, at } = commits.get(versions.get(last.change)?.commit)?;
        let author = plain(author).chars().take(LONGEST_AUTHOR).collect();
        Some(LastPage {
            hash: contents.hash(last.content)?,
            commit: PageCommit { id: commit.clone(), author, at: *at },
            is_removed: last.is_removed,
            unreadable: last.unreadable.into_iter().filter_map(|blob| contents.hash(blob)).collect(),
        })
    });
    let head = head.filter(|file| file.is_plain).and_then(|file| contents.hash(&file.blob));
    let all = versions.iter().filter_map(|version| contents.hash(version.blob.as_ref()?));
    let mut versions: Vec<PageHash> = all.chain(head.clone()).collect();
    versions.sort();
    versions.dedup();
    PageHistory { id, head, last, versions }
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
