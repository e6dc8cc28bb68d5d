//! Writes pages of records into the asker's work tree, for people to review and commit. A page that somebody edited, or
//! that can't be read, is never overwritten.

use std::collections::{BTreeMap, HashMap};

use crate::domain::knowledge::page::{PageHash, RecordPage, page_path, publication_cell};
use crate::domain::knowledge::{ActionReceipt, Cell, KnowledgeSnapshot, Record, RecordId, Stamp};
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::store::{PageFile, PageFiles, PageWrite};

use super::ask::unknown;
use super::pages::ProjectPages;
use super::project::KnowledgeProject;

/// Which records.
#[derive(Clone, Debug)]
pub enum PublishChoice {
    All,
    /// By name, or kind/name.
    Named(Vec<String>),
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PublishMode {
    Write,
    /// Say what would be written.
    DryRun,
}

/// What became of all pages.
#[derive(Clone, Debug)]
pub struct PublishOutcome {
    pub pages: Vec<PageReport>,
    /// Whether they can be committed.
    pub is_in_git: bool,
}

/// What became of the page of a record.
#[derive(Clone, Debug)]
pub struct PageReport {
    pub id: RecordId,
    /// Below the root of the work tree.
    pub path: String,
    pub outcome: PageOutcome,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub enum PageOutcome {
    Written,
    Unchanged,
    /// Its record is retired, and the page is still there.
    Retired,
    Refused(PageRefusal),
}

/// Why a page was left as it is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PageRefusal {
    /// Line and column, if it is about a place in the page.
    pub place: Option<(usize, usize)>,
    pub reason: String,
}

impl PageRefusal {
    fn new(reason: impl Into<String>) -> Self {
        Self { place: None, reason: reason.into() }
    }
}

/// A page that differs from what its record says.
struct NewPage<'s> {
    record: &'s Record,
    before: PageFile,
    text: String,
}

/// Writes the pages of records that were not written yet, or were changed since.
pub fn publish(op: &Op, choice: &PublishChoice, mode: PublishMode) -> Result<PublishOutcome, CommandError> {
    let project = KnowledgeProject::of(op);
    let snapshot = project.read(op)?;
    let pages = &*project.pages();
    if !pages.is_known() {
        let text = "nothing was published, because the pages that are committed could not be read";
        return Err(CommandError::new(CommandErrorKind::Io, text).hint("see the warning, and try again"));
    }
    let mut outcomes = retired(pages, &snapshot, choice)?;
    let (mut new, mut unknown_pages): (Vec<NewPage<'_>>, Vec<&Record>) = (Vec::new(), Vec::new());
    for record in chosen(pages, &snapshot, choice, &outcomes)? {
        let outcome = match plan(pages, record, choice)? {
            Planned::Write(page) => {
                new.push(page);
                PageOutcome::Written
            }
            Planned::Unchanged => {
                unknown_pages.push(record);
                PageOutcome::Unchanged
            }
            Planned::Refused(refusal) => PageOutcome::Refused(refusal),
        };
        outcomes.insert(record.id.clone(), outcome);
    }
    if mode == PublishMode::Write {
        let pairs = new.iter().map(|page| (page.record, page.text.clone()));
        let unchanged = unknown_pages.into_iter().map(|record| (record, RecordPage::of(record).render()));
        note(op, &project, pages, &snapshot, pairs.chain(unchanged))?;
        for page in &new {
            if pages.files.write(&page.record.id, &page.before, &page.text)? == PageWrite::Edited {
                let refusal = PageRefusal::new("somebody changed it at this very moment");
                outcomes.insert(page.record.id.clone(), PageOutcome::Refused(refusal));
            }
        }
        // The next hook finds an index of the log as it is now.
        project.read(op)?;
    }
    let report = |(id, outcome): (RecordId, PageOutcome)| PageReport { path: page_path(&id), id, outcome };
    let pages = outcomes.into_iter().map(report).collect();
    Ok(PublishOutcome { pages, is_in_git: project.tree.is_some() })
}

/// The pages whose records are retired.
fn retired(
    pages: &ProjectPages,
    snapshot: &KnowledgeSnapshot,
    choice: &PublishChoice,
) -> Result<BTreeMap<RecordId, PageOutcome>, CommandError> {
    let mut retired = BTreeMap::new();
    // A clone without the log has the record from the page alone.
    let with_pages = pages.published.records().chain(pages.additions.iter().map(|cell| &cell.key.record));
    for id in with_pages.filter(|id| snapshot.get(id).is_none()) {
        let is_chosen = match choice {
            PublishChoice::All => true,
            PublishChoice::Named(names) => names.iter().any(|name| is_name_of(name, id)),
        };
        if is_chosen && pages.files.read(id)? != PageFile::Absent {
            retired.insert(id.clone(), PageOutcome::Retired);
        }
    }
    Ok(retired)
}

/// Tells which pages of these retired records are still there: where nobody has the log, they are all that counts.
pub fn left_pages(op: &Op, retired: &[ActionReceipt]) -> Vec<String> {
    let files = PageFiles::of(&KnowledgeProject::of(op).root);
    // The records are retired already, so nothing fails here.
    let is_left = |id: &&RecordId| matches!(files.read(id), Ok(PageFile::Text(_) | PageFile::Unusable(_)));
    let tell = |id: &RecordId| {
        format!("remove its page `{}`, too: clones without this log show the record from it", page_path(id))
    };
    retired.iter().map(|receipt| &receipt.id).filter(is_left).map(tell).collect()
}

fn is_name_of(name: &str, id: &RecordId) -> bool {
    id.name.as_str() == name || id.to_string() == name
}

fn chosen<'s>(
    pages: &ProjectPages,
    snapshot: &'s KnowledgeSnapshot,
    choice: &PublishChoice,
    retired: &BTreeMap<RecordId, PageOutcome>,
) -> Result<Vec<&'s Record>, CommandError> {
    let PublishChoice::Named(names) = choice else { return Ok(snapshot.records().collect()) };
    let mut records = Vec::new();
    for name in names {
        let found = snapshot.named(name);
        if found.is_empty() && !retired.keys().any(|id| is_name_of(name, id)) {
            return Err(pages.hint_for(name).into_iter().fold(unknown(snapshot, name), CommandError::hint));
        }
        records.extend(found);
    }
    Ok(records)
}

/// Notes in the log what is about to be written. The note comes first: without it a page would look edited.
fn note<'s>(
    op: &Op,
    project: &KnowledgeProject,
    pages: &ProjectPages,
    snapshot: &KnowledgeSnapshot,
    written: impl Iterator<Item = (&'s Record, String)>,
) -> Result<(), CommandError> {
    let author = project.author(op)?;
    let mut edits: HashMap<&RecordId, Vec<&Cell>> = HashMap::new();
    for cell in &pages.additions {
        edits.entry(&cell.key.record).or_default().push(cell);
    }
    let mut cells: Vec<Cell> = Vec::new();
    for (record, text) in written {
        let hash = PageHash::of(&text);
        // What was written since the record was changed, and is the latest of its history, need not be noted again.
        let versions = pages.index.get(&record.id).map(|page| page.versions.as_slice()).unwrap_or_default();
        let latest = pages.published.latest_of(&record.id, versions.iter().chain([&hash]));
        let is_new = latest.is_none_or(|(latest, publication)| {
            *latest != hash || publication.stamp < snapshot.latest_of(&record.id)
        });
        let edits = edits.get(&record.id);
        if is_new || edits.is_some() {
            let now = author.origin.at.as_millisecond();
            let stamp = Stamp::after(snapshot.latest_of(&record.id), now);
            cells.push(publication_cell(record, &hash, &author.writer, stamp));
            // From now on the page counts as written, so what was edited in it must be in the log.
            cells.extend(edits.into_iter().flatten().map(|cell| (*cell).clone()));
        }
    }
    if !cells.is_empty() {
        project.exclude_from_git(op)?;
        project.log.append(&author.writer, &cells).map_err(|error| project.write_error(error))?;
    }
    Ok(())
}

enum Planned<'s> {
    Write(NewPage<'s>),
    Unchanged,
    Refused(PageRefusal),
}

fn plan<'s>(
    pages: &ProjectPages,
    record: &'s Record,
    choice: &PublishChoice,
) -> Result<Planned<'s>, CommandError> {
    let page = RecordPage::of(record);
    let text = page.render();
    match RecordPage::parse(&record.id, &text) {
        Ok(back) if back == page => {}
        Ok(_) => {
            let reason =
                "the record has something that a page can't show, such as an anchor to a path with `#`";
            return Ok(Planned::Refused(PageRefusal::new(reason)));
        }
        Err(error) => {
            return Ok(Planned::Refused(PageRefusal::new(format!(
                "the page would not be valid: {}",
                error.problem
            ))));
        }
    }
    let before = pages.files.read(&record.id)?;
    let refusal = match &before {
        PageFile::Text(there) if *there == text => return Ok(Planned::Unchanged),
        PageFile::Text(there) => refusal(pages, record, there, &text),
        PageFile::Unusable(why) => {
            Some(PageRefusal { place: Some((1, 1)), reason: format!("{why}; move it away") })
        }
        PageFile::Absent => {
            let was_deleted = pages.index.get(&record.id).is_some();
            let is_meant = matches!(choice, PublishChoice::Named(_));
            (was_deleted && !is_meant).then(|| {
                let id = &record.id;
                let reason = format!(
                    "the page was deleted: run `msg knowledge retire {id}`, or publish it by its name"
                );
                PageRefusal::new(reason)
            })
        }
    };
    Ok(refusal.map_or_else(|| Planned::Write(NewPage { record, before, text }), Planned::Refused))
}

/// Why a page with this text can't be overwritten.
fn refusal(pages: &ProjectPages, record: &Record, there: &str, text: &str) -> Option<PageRefusal> {
    if let Err(error) = RecordPage::parse(&record.id, there) {
        let reason = format!("{}; mend it, or delete the page", error.problem);
        return Some(PageRefusal { place: Some((error.line, error.column)), reason });
    }
    if pages.is_settled(&record.id, there) {
        return None;
    }
    let reason =
        "it was edited and that is not committed: commit it first, and it becomes a part of the record";
    Some(PageRefusal { place: Some(first_difference(there, text)), reason: reason.to_string() })
}

/// Line and column of the first character that differs.
fn first_difference(there: &str, text: &str) -> (usize, usize) {
    let same = there.chars().zip(text.chars()).take_while(|(one, two)| one == two).count();
    let before: String = there.chars().take(same).collect();
    let line = before.matches('\n').count() + 1;
    let column = before.chars().rev().take_while(|char| *char != '\n').count() + 1;
    (line, column)
}
