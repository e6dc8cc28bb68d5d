//! Answers questions about what was learned, as the asker's work tree is now.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use jiff::Timestamp;

use crate::domain::knowledge::search::{
    DocumentKey, MergeState, SearchDocument, SearchIndex, SearchIndexError, SearchQuery, Standing, is_below,
};
use crate::domain::knowledge::{
    AnchorFinding, AnchorPath, AnchorTarget, AnchorVerdict, KnowledgeSnapshot, Publication, Record, RecordId,
    RecordKind, RecordState, snapshot_of_retired,
};
use crate::domain::{quote_code, suggestions};
use crate::ops::effects::Op;
use crate::ops::error::{CommandError, CommandErrorKind};
use crate::store::StoredRecords;

use super::anchors::AnchorJudge;
use super::documents::{FoundSection, search_documents};
use super::merge_state::MergeJudge;
use super::pages::ProjectPages;
use super::project::KnowledgeProject;
use super::use_marks;

/// The most sections of other documents in an answer.
const MAX_SECTIONS: usize = 3;

/// What is asked.
#[derive(Clone, Debug, Default)]
pub struct KnowledgeQuestion {
    /// Nothing means everything, the latest first.
    pub words: String,
    pub kind: Option<RecordKind>,
    /// As it was typed in the working directory.
    pub path: Option<String>,
    pub staleness: StalenessFilter,
    pub since: Option<Timestamp>,
    /// Only records of at least this confidence.
    pub confidence: Option<f64>,
    /// What was recorded by then; `None` is now. Verdicts are always those of now.
    pub as_of: Option<Timestamp>,
    pub limit: usize,
    /// How many of the records are shown in full. These count as opened.
    pub in_full: usize,
}

impl KnowledgeQuestion {
    /// Whether other documents may answer it: they have words and a path, and nothing else of a record.
    fn is_about_documents(&self) -> bool {
        let is_restricted = self.kind.is_some() || self.since.is_some() || self.as_of.is_some();
        !self.words.trim().is_empty() && !is_restricted && self.staleness == StalenessFilter::Any
    }
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum StalenessFilter {
    #[default]
    Any,
    /// Only records whose anchored text was changed or is gone.
    Stale,
}

/// A record as it stands in the asker's work tree.
#[derive(Clone, Debug)]
pub struct ShownRecord {
    pub record: Record,
    /// The anchors, and what became of each.
    pub anchors: Vec<ShownAnchor>,
    /// The worst of the anchors.
    pub verdict: AnchorVerdict,
    pub merged: MergeState,
    /// Whether people can review it as a page.
    pub publication: Publication,
    /// Whether it is shown as it was when it was retired.
    pub is_retired: bool,
}

impl ShownRecord {
    /// What is known about it, for its text.
    pub fn state(&self) -> RecordState {
        let findings = self.anchors.iter().map(|anchor| anchor.finding.clone()).collect();
        let (merged, publication, is_retired) = (self.merged, self.publication, self.is_retired);
        RecordState { findings, merged, publication, is_retired }
    }

    /// What changed in the files that it is anchored in, a line each.
    pub fn changes(&self) -> Vec<String> {
        let line = |anchor: &ShownAnchor| {
            let (path, explanation) = (anchor.target.path()?, anchor.explanation.as_ref()?);
            Some(format!("changed: {} {explanation}", quote_code(path.as_str())))
        };
        let mut lines: Vec<String> = self.anchors.iter().filter_map(line).collect();
        lines.dedup();
        lines
    }
}

#[derive(Clone, Debug)]
pub struct ShownAnchor {
    pub target: AnchorTarget,
    pub finding: AnchorFinding,
    /// What changed, in one line. Only looked up for one record at a time.
    pub explanation: Option<String>,
}

/// The records that answer a question, the best first.
#[derive(Clone, Debug)]
pub struct KnowledgeAnswer {
    pub records: Vec<ShownRecord>,
    /// How many records there are in the project.
    pub total: usize,
    /// Sections of other documents that fit, the best first.
    pub sections: Vec<FoundSection>,
    /// The path that was asked for, if there is no such file or directory.
    pub missing_path: Option<AnchorPath>,
}

pub fn know(op: &Op, question: &KnowledgeQuestion) -> Result<KnowledgeAnswer, CommandError> {
    let project = KnowledgeProject::of(op);
    let path = question.path.as_deref().map(|path| project.directory_from(&op.cwd, path)).transpose();
    let path = path
        .map(Option::flatten)
        .map_err(|error| CommandError::new(CommandErrorKind::InvalidValue, error.to_string()))?;
    let stored = project.stored_as_of(op, question.as_of)?;
    let former_paths = match &path {
        Some(path) => former_paths(op, &project, &stored, path)?,
        None => Vec::new(),
    };
    let mut viewer = Viewer::of_commits(op, &project, stored.commits());
    let query = SearchQuery {
        words: &question.words,
        kind: question.kind,
        path: path.as_ref().map(|path| path.as_str()),
        former_paths: &former_paths,
        since: question.since,
        limit: question.limit,
    };
    // Of the records, only those that may be shown are read.
    let mut read: HashMap<RecordId, Record> = HashMap::new();
    let standing = |key: &DocumentKey| {
        let record = stored.get(key.record()?)?;
        if question.confidence.is_some_and(|least| record.confidence < least) {
            return None;
        }
        let standing = viewer.standing(&record);
        let is_stale = matches!(standing.verdict, AnchorVerdict::Stale | AnchorVerdict::Gone);
        let is_wanted = question.staleness == StalenessFilter::Any || is_stale;
        is_wanted.then(|| {
            read.insert(record.id.clone(), record);
            standing
        })
    };
    let hits = index_for(&query, &stored).search(&query, standing).map_err(broken_index)?;
    let found = hits.iter().filter_map(|hit| read.remove(hit.key.record()?));
    let found: Vec<Record> = found.collect();
    let records: Vec<ShownRecord> = found.into_iter().map(|record| viewer.show(record)).collect();
    if question.in_full > 0 {
        let opened = records.iter().take(question.in_full);
        use_marks::note_opened(op, &project, opened.map(|shown| &shown.record.id));
    }
    let sections = match question.is_about_documents() {
        true => {
            search_documents(op, &project, &SearchQuery { limit: query.limit.min(MAX_SECTIONS), ..query })?
        }
        false => Vec::new(),
    };
    let missing_path = path.filter(|path| !project.root.join(path.as_str()).exists());
    Ok(KnowledgeAnswer { records, total: stored.len(), sections, missing_path })
}

/// The index that answers a query. That of the cache has no stop words.
pub(super) fn index_for<'a>(query: &SearchQuery<'_>, stored: &'a StoredRecords) -> Cow<'a, SearchIndex> {
    if !query.is_of_stop_words() {
        return Cow::Borrowed(stored.index());
    }
    let snapshot = stored.snapshot();
    Cow::Owned(SearchIndex::of_every_word(snapshot.records().map(SearchDocument::of_record)))
}

fn broken_index(error: SearchIndexError) -> CommandError {
    CommandError::new(CommandErrorKind::Bug, format!("the search index is broken: {error}"))
}

/// The paths that files had before they were renamed to the one that is asked for: an anchor keeps the old one.
fn former_paths(
    op: &Op,
    project: &KnowledgeProject,
    stored: &StoredRecords,
    path: &AnchorPath,
) -> Result<Vec<String>, CommandError> {
    let mut about: BTreeMap<String, Vec<RecordId>> = BTreeMap::new();
    let mut take = |key: &DocumentKey, old: &str| {
        if let Some(id) = key.record() {
            about.entry(old.to_string()).or_default().push(id.clone());
        }
    };
    stored.index().each_path(&mut take).map_err(broken_index)?;
    // Of its own: what it may ask git is limited, and the verdicts of the answer need that themselves.
    let mut judge = None;
    about.retain(|old, ids| {
        if project.root.join(old).exists() {
            return false;
        }
        let records = ids.iter().filter_map(|id| stored.get(id));
        let anchors = records.flat_map(|record| record.anchors);
        let mut there =
            anchors.filter(|anchor| anchor.target.path().is_some_and(|path| path.as_str() == old));
        let judge = judge.get_or_insert_with(|| project.judge(op));
        let renamed = there.find_map(|anchor| judge.renamed_to(&anchor));
        renamed.is_some_and(|new| is_below(new.as_str(), path.as_str()))
    });
    Ok(about.into_keys().collect())
}

/// The record of that name, with what changed since; a retired one as it was.
pub fn show(op: &Op, name: &str) -> Result<Vec<ShownRecord>, CommandError> {
    show_as_of(op, name, None)
}

/// The same as it was recorded by a moment.
pub fn show_as_of(op: &Op, name: &str, moment: Option<Timestamp>) -> Result<Vec<ShownRecord>, CommandError> {
    let project = KnowledgeProject::of(op);
    let stored = project.stored_as_of(op, moment)?;
    let snapshot = stored.snapshot();
    let found = snapshot.named(name);
    if found.is_empty() {
        let retired = if moment.is_none() { retired(op, &project, name)? } else { Vec::new() };
        if retired.is_empty() {
            let error = unknown(&snapshot, name);
            return Err(project.pages().hint_for(name).into_iter().fold(error, CommandError::hint));
        }
        return Ok(retired);
    }
    use_marks::note_opened(op, &project, found.iter().map(|record| &record.id));
    let mut viewer = Viewer::of_commits(op, &project, stored.commits());
    Ok(found.into_iter().map(|record| viewer.show_explained(record)).collect())
}

/// The records of that name that were retired, as they were then.
fn retired(op: &Op, project: &KnowledgeProject, name: &str) -> Result<Vec<ShownRecord>, CommandError> {
    let snapshot = snapshot_of_retired(project.history_with_pages(op)?);
    let found = snapshot.named(name);
    let commits: Vec<String> =
        found.iter().filter_map(|record| record.statement.origin.commit.clone()).collect();
    let mut viewer = Viewer::of_commits(op, project, &commits);
    let shown = found.into_iter().map(|record| ShownRecord {
        is_retired: true,
        publication: Publication::Unknown,
        ..viewer.show_explained(record)
    });
    Ok(shown.collect())
}

pub(super) fn unknown(snapshot: &KnowledgeSnapshot, name: &str) -> CommandError {
    let names: BTreeSet<&str> = snapshot.records().map(|record| record.id.name.as_str()).collect();
    let near = suggestions(name.rsplit('/').next().unwrap_or(name), names);
    let message = format!("there is no record named `{}`", name.escape_debug());
    let error = CommandError::new(CommandErrorKind::UnknownRecord, message);
    match near.as_slice() {
        [] => error.hint("`msg knowledge list` shows all records"),
        near => error.hint(format!("did you mean {}?", near.join(", "))),
    }
}

/// Looks at records with the eyes of one work tree.
pub(super) struct Viewer {
    pub(super) judge: AnchorJudge,
    merges: MergeJudge,
    pages: Rc<ProjectPages>,
    findings: HashMap<RecordId, Vec<ShownAnchor>>,
}

impl Viewer {
    /// For records that were made at these commits.
    pub(super) fn of_commits(op: &Op, project: &KnowledgeProject, commits: &[String]) -> Self {
        let mut judge = project.judge(op);
        let merges = MergeJudge::new(project, &mut judge, commits);
        Self { judge, merges, pages: project.pages(), findings: HashMap::new() }
    }

    pub(super) fn standing(&mut self, record: &Record) -> Standing {
        self.anchors(record);
        let anchors = self.findings.get(&record.id).map(Vec::as_slice).unwrap_or_default();
        let verdict = anchors.iter().map(|anchor| anchor.finding.verdict()).max();
        let origin = &record.statement.origin;
        let findings = anchors.iter().map(|anchor| (&anchor.target, &anchor.finding));
        let merged = self.merges.state(origin.commit.as_ref(), origin.branch.as_ref(), findings);
        Standing { verdict: verdict.unwrap_or(AnchorVerdict::Fresh), merged }
    }

    fn anchors(&mut self, record: &Record) -> &[ShownAnchor] {
        let Self { judge, findings, .. } = self;
        findings.entry(record.id.clone()).or_insert_with(|| {
            let shown = |anchor: &crate::domain::knowledge::Anchor| ShownAnchor {
                target: anchor.target.clone(),
                finding: judge.judge(anchor),
                explanation: None,
            };
            record.anchors.iter().map(shown).collect()
        })
    }

    fn show(&mut self, record: Record) -> ShownRecord {
        let Standing { verdict, merged } = self.standing(&record);
        let publication = self.pages.publication(&record);
        let anchors = self.anchors(&record).to_vec();
        ShownRecord { anchors, verdict, merged, publication, is_retired: false, record }
    }

    fn show_explained(&mut self, record: &Record) -> ShownRecord {
        let mut shown = self.show(record.clone());
        for (anchor, stored) in shown.anchors.iter_mut().zip(&record.anchors) {
            if !matches!(anchor.finding, AnchorFinding::Fresh) {
                anchor.explanation = self.judge.explain(stored);
            }
        }
        shown
    }
}
