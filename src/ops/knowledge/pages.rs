//! Pages as a source of knowledge: what was edited and committed is a part of it.
//!
//! Git is asked only if `HEAD` is another commit than the last time. Without git, pages are written and not read back.

use std::path::Path;

use crate::domain::knowledge::page::{
    PAGE_DIRECTORY, PageBase, PageEdit, PageHash, PageHistory, PublishedPages, RecordPage,
    link_replaced_pages, page_path, page_update,
};
use crate::domain::knowledge::{Cell, Publication, Record, RecordId, RecordKind, RecordName};
use crate::domain::sha256;
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::store::{LogContent, LogProblem, LogProblemKind, PageCache, PageFile, PageFiles};
use crate::sys::git::{GitError, ReadOnlyGit, WorkTree};

use super::page_index::{PageIndex, page_git, parsed};

/// How many files that can't be read are told one by one.
const MOST_TOLD: usize = 5;

/// The pages of the asker's work tree.
#[derive(Debug)]
pub(super) struct ProjectPages {
    pub(super) files: PageFiles,
    pub(super) published: PublishedPages,
    pub(super) index: PageIndex,
    /// What committed edits add to the log.
    pub(super) additions: Vec<Cell>,
    /// Whether this project has pages at all.
    has_pages: bool,
    /// What the additions follow from; `None` if the pages could not be read.
    source: Option<String>,
}

impl ProjectPages {
    /// Before anything was read.
    pub(super) fn none(root: &Path) -> Self {
        let files = PageFiles::of(root);
        Self {
            files,
            published: PublishedPages::default(),
            index: PageIndex::default(),
            additions: Vec::new(),
            has_pages: false,
            source: Some(String::new()),
        }
    }

    /// Whether there may be pages, or were some, by a look at the files alone. If not, there are none.
    pub(super) fn may_exist(op: &Op, root: &Path) -> bool {
        PageFiles::of(root).exists() || PageCache::of(&op.home.cache, root).has_index()
    }

    /// Names what the pages add to the log; `None` if this project has no pages.
    pub(super) fn identity(&self) -> Option<&str> {
        self.has_pages.then(|| self.source.as_deref().unwrap_or("unread"))
    }

    /// Whether all of them could be read.
    pub(super) fn is_known(&self) -> bool {
        self.source.is_some()
    }

    /// Adds what the pages say besides to the cells of the log.
    pub(super) fn add_to(&self, cells: &mut Vec<Cell>) {
        cells.extend(self.additions.iter().cloned());
        link_replaced_pages(cells, &self.published);
    }

    /// Reads what was committed, and adds to the cells of the log what the pages say besides.
    pub(super) fn read(
        op: &Op,
        root: &Path,
        tree: Option<&WorkTree>,
        cells: &mut Vec<Cell>,
    ) -> Result<Self, CommandError> {
        let mut pages = Self { published: PublishedPages::of(cells.iter()), ..Self::none(root) };
        pages.has_pages = pages.files.exists() || !pages.published.is_empty();
        let Some(tree) = tree.filter(|_| pages.has_pages) else { return Ok(pages) };
        let Some(head) = tree.head_commit() else { return Ok(pages) };
        let source = PageSource { tree, cache: PageCache::of(&op.home.cache, root) };
        match source.index(&head) {
            Ok(index) => pages.index = index?,
            Err(error) => {
                op.warn(format!("the pages were not read: {error}"));
                return Ok(Self { source: None, ..pages });
            }
        }
        match source.additions(&pages.index, &pages.published) {
            Ok(read) => {
                let (source, content) = read?;
                warn_of(op, &content.problems);
                (pages.additions, pages.source) = (content.cells, Some(source));
                pages.add_to(cells);
            }
            Err(error) => {
                op.warn(format!("the pages were not read: {error}"));
                pages.source = None;
            }
        }
        Ok(pages)
    }

    /// The records of that name, or `kind/name`, whose page is in the work tree, committed or not.
    pub(super) fn named(&self, name: &str) -> Vec<RecordId> {
        let of_kind = |kind: &RecordKind| Some(RecordId::new(*kind, RecordName::new(name).ok()?));
        let ids = RecordId::parse(name).into_iter().chain(RecordKind::ALL.iter().filter_map(of_kind));
        let is_there = |id: &RecordId| self.files.read(id).is_ok_and(|file| file != PageFile::Absent);
        ids.filter(is_there).collect()
    }

    /// Why there is no record of that name, if there is a page.
    pub(super) fn hint_for(&self, name: &str) -> Option<String> {
        let is_new = |id: &&RecordId| self.index.get(id).is_none_or(|page| page.head.is_none());
        let path = page_path(self.named(name).iter().find(is_new)?);
        Some(format!("`{path}` becomes a record when it is committed to git"))
    }

    /// Whether people can review the record as it is.
    pub(super) fn publication(&self, record: &Record) -> Publication {
        if !self.has_pages {
            return Publication::Unknown;
        }
        let history = self.index.get(&record.id);
        let text = match (self.files.read(&record.id), history) {
            (Ok(PageFile::Text(text)), _) => text,
            (Ok(PageFile::Absent), None) => return Publication::Unpublished,
            (Ok(PageFile::Absent), Some(page)) if page.head.is_none() => return Publication::Deleted,
            // It is not as it was committed.
            (Ok(PageFile::Absent), _) => return Publication::Edited,
            (Ok(PageFile::Unusable(_)), _) => return Publication::Unreadable,
            (Err(_), _) => return Publication::Unknown,
        };
        let page = RecordPage::of(record);
        if page.render() == text {
            return Publication::Published;
        }
        match (RecordPage::parse(&record.id, &text), self.is_settled(&record.id, &text)) {
            (Err(_), _) => Publication::Unreadable,
            // Somebody may have put a line end elsewhere.
            (Ok(there), true) if there == page => Publication::Published,
            (Ok(_), true) => Publication::Outdated,
            (Ok(_), false) => Publication::Edited,
        }
    }

    /// Whether a text of a page is known already: it is committed, or was written from the log and is not a version that
    /// somebody brought back.
    pub(super) fn is_settled(&self, id: &RecordId, text: &str) -> bool {
        let hash = PageHash::of(text);
        let history = self.index.get(id);
        let is_committed = history.is_some_and(|page| page.head.as_ref() == Some(&hash));
        let is_old = history.is_some_and(|page| page.versions.contains(&hash));
        is_committed || (self.published.get(id, &hash).is_some() && !is_old)
    }
}

/// Tells of a few: a project may have many files in this directory that are no pages.
fn warn_of(op: &Op, problems: &[LogProblem]) {
    problems.iter().take(MOST_TOLD).for_each(|problem| op.warn(problem.to_string()));
    let rest = problems.len().saturating_sub(MOST_TOLD);
    if rest > 0 {
        op.warn(format!("and {rest} more of the files in `{PAGE_DIRECTORY}`"));
    }
}

/// Git, and what was asked before.
struct PageSource<'t> {
    tree: &'t WorkTree,
    cache: PageCache,
}

/// Something that git or the cache may refuse.
type Asked<T> = Result<Result<T, CommandError>, GitError>;

impl PageSource<'_> {
    fn index(&self, head: &str) -> Asked<PageIndex> {
        if let Some(index) = self.cache.index(head).and_then(|rows| PageIndex::of_rows(&rows)) {
            return Ok(Ok(index));
        }
        let index = PageIndex::ask(&page_git(self.tree)?)?;
        let kept = self.cache.keep_index(head, &index.rows());
        Ok(kept.map(|()| index).map_err(CommandError::from))
    }

    /// The cells of all pages that were edited, and what is wrong with pages; before it, what they follow from.
    fn additions(&self, index: &PageIndex, published: &PublishedPages) -> Asked<(String, LogContent)> {
        let edits = index.pages.iter().filter_map(|page| Some((page, page.edit(published)?)));
        let edits: Vec<(&PageHistory, PageEdit<'_>)> = edits.collect();
        if edits.is_empty() && index.strangers.is_empty() {
            // What an erased record said may be there.
            let forgotten = self.cache.forget_cells();
            return Ok(forgotten
                .map(|()| (String::new(), LogContent::default()))
                .map_err(CommandError::from));
        }
        let key = key_of(&edits, index);
        if let Some(content) = self.cache.cells(&key) {
            return Ok(Ok((key, content)));
        }
        let git = page_git(self.tree)?;
        let content = additions(&git, &edits, index)?;
        let kept = self.cache.keep_cells(&key, &content);
        Ok(kept.map(|()| (key, content)).map_err(CommandError::from))
    }
}

/// What the additions follow from.
fn key_of(edits: &[(&PageHistory, PageEdit<'_>)], index: &PageIndex) -> String {
    let mut facts = String::new();
    for (page, edit) in edits {
        let (hash, commit) = (edit.last.hash.as_str(), &edit.last.commit);
        let base = edit.base.as_ref().map_or("-", PageHash::as_str);
        let at = (&commit.id, commit.milliseconds());
        facts.push_str(&format!("{} {hash} {at:?} {base} {:?}\n", page.id, edit.publication));
    }
    for (path, why) in &index.strangers {
        facts.push_str(&format!("{path} {why}\n"));
    }
    sha256(facts.as_bytes())
}

fn additions(
    git: &ReadOnlyGit,
    edits: &[(&PageHistory, PageEdit<'_>)],
    index: &PageIndex,
) -> Result<LogContent, GitError> {
    let hashes = edits.iter().flat_map(|(_, edit)| [Some(&edit.last.hash), edit.base.as_ref()]);
    let mut wanted: Vec<String> =
        hashes.flatten().filter_map(|hash| index.blobs.get(hash)).cloned().collect();
    wanted.sort();
    wanted.dedup();
    let contents = git.contents(&wanted)?;
    let page_of = |id: &RecordId, hash: &PageHash| parsed(id, contents.get(index.blobs.get(hash)?)?).ok();
    let mut content = LogContent::default();
    for (page, edit) in edits {
        let Some(edited) = page_of(&page.id, &edit.last.hash) else {
            let why = "it is missing in the repository".to_string();
            content.problems.push(problem(&page_path(&page.id), why));
            continue;
        };
        let base = edit.base.as_ref().and_then(|hash| page_of(&page.id, hash));
        let base = PageBase { page: base, publication: edit.publication.clone() };
        content.cells.extend(page_update(&edited, &edit.last.hash, &edit.last.commit, &base));
    }
    let strangers = index.strangers.iter().map(|(path, why)| problem(path, why.clone()));
    content.problems.extend(strangers);
    Ok(content)
}

fn problem(path: &str, why: String) -> LogProblem {
    LogProblem::new(Path::new(path), LogProblemKind::Malformed, format!("{why}; this page was not read"))
}
