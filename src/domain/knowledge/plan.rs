//! Turns a batch into cells. All of it is checked against one snapshot before anything is written.

use std::collections::{BTreeMap, BTreeSet};

use super::action_receipt::{ActionOutcome, ActionReceipt, ReceiptRemark};
use super::anchor::{Anchor, AnchorTarget};
use super::batch_problem::{BatchProblem, BatchProblemKind};
use super::cell::{Cell, CellKey, CellValue, RecordField, Stamp, WriterId};
use super::draft::{DuplicatePolicy, KnowledgeAction, RecordDraft, id_of, relation_name};
use super::draft_check::check;
use super::kinds::{Basis, DecisionStatus, RecordKind};
use super::record::Record;
use super::record_id::{MAX_RECORD_NAME, RecordId, RecordName};
use super::snapshot::KnowledgeSnapshot;
use super::statement::{Origin, RelationEnds, Statement};
use crate::domain::suggestions;

#[cfg(test)]
mod tests;

/// Who writes, and when.
#[derive(Clone, Debug)]
pub struct PlanContext {
    pub writer: WriterId,
    pub origin: Origin,
    /// How it is known unless a draft says so.
    pub basis: Basis,
}

/// What to write, and what to answer then.
#[derive(Clone, Debug)]
pub struct KnowledgePlan {
    pub cells: Vec<Cell>,
    /// One per step.
    pub receipts: Vec<ActionReceipt>,
}

/// Finds a record of that kind that says nearly the same; of those named in the list none.
pub type FindDuplicate<'a> = &'a dyn Fn(RecordKind, &str, &BTreeSet<RecordId>) -> Option<RecordId>;

/// Plans a batch, or lists everything that is wrong with it.
pub fn plan(
    actions: &[KnowledgeAction],
    snapshot: &KnowledgeSnapshot,
    context: &PlanContext,
    find_duplicate: FindDuplicate<'_>,
) -> Result<KnowledgePlan, Vec<BatchProblem>> {
    let mut planner = Planner {
        snapshot,
        context,
        find_duplicate,
        step: 0,
        new: BTreeSet::new(),
        new_files: BTreeMap::new(),
        new_texts: BTreeMap::new(),
        superseding: BTreeMap::new(),
        cells: BTreeMap::new(),
        problems: Vec::new(),
    };
    let receipts: Vec<Option<ActionReceipt>> =
        actions.iter().enumerate().map(|(index, action)| planner.step(index, action)).collect();
    planner.check_circles();
    match receipts.into_iter().collect() {
        Some(receipts) if planner.problems.is_empty() => {
            Ok(KnowledgePlan { cells: planner.cells.into_values().collect(), receipts })
        }
        _ => {
            planner.problems.sort_by_key(|problem| problem.action);
            Err(planner.problems)
        }
    }
}

struct Planner<'a> {
    snapshot: &'a KnowledgeSnapshot,
    context: &'a PlanContext,
    find_duplicate: FindDuplicate<'a>,
    /// The number of this step.
    step: u32,
    /// Records that earlier steps add.
    new: BTreeSet<RecordId>,
    /// The records of files that earlier steps add, by path.
    new_files: BTreeMap<String, RecordId>,
    /// The records that earlier steps add, by what they say.
    new_texts: BTreeMap<(RecordKind, String), RecordId>,
    /// What supersedes what by this batch, with the step.
    superseding: BTreeMap<RecordId, Vec<(RecordId, usize)>>,
    cells: BTreeMap<CellKey, Cell>,
    problems: Vec<BatchProblem>,
}

impl Planner<'_> {
    fn step(&mut self, index: usize, action: &KnowledgeAction) -> Option<ActionReceipt> {
        self.step = u32::try_from(index).unwrap_or(u32::MAX);
        match action {
            KnowledgeAction::Record(draft) => self.record(index, draft),
            KnowledgeAction::Unlink(ends) => {
                let id = RecordId::new(RecordKind::Relationship, relation_name(ends)?);
                self.require(index, &id)?;
                self.put(&id, RecordField::Life, "", CellValue::Removed);
                Some(ActionReceipt::new(id, ActionOutcome::Retired))
            }
            KnowledgeAction::Delete { kind, name } => {
                let id = self.find(index, *kind, name)?;
                self.put(&id, RecordField::Life, "", CellValue::Removed);
                Some(ActionReceipt::new(id, ActionOutcome::Retired))
            }
            KnowledgeAction::UpdateConfidence { kind, name, confidence } => {
                let id = self.find(index, *kind, name)?;
                self.confidence(index, &id, *confidence);
                Some(ActionReceipt::new(id, ActionOutcome::Updated))
            }
            KnowledgeAction::AddEvidence { name, evidence } => {
                let id = self.find(index, Some(RecordKind::Principle), name)?;
                let draft = RecordDraft { evidence: evidence.clone(), ..RecordDraft::new(id.kind) };
                self.problems.extend(check(index, &draft));
                self.entries(&id, &draft);
                Some(ActionReceipt::new(id, ActionOutcome::Updated))
            }
            KnowledgeAction::Supersede { old, new } => {
                let (old, id) = (
                    self.find(index, Some(RecordKind::Decision), old)?,
                    self.find(index, Some(RecordKind::Decision), new)?,
                );
                self.supersede(index, &id, &old);
                Some(ActionReceipt::new(id, ActionOutcome::Updated))
            }
            KnowledgeAction::Confirm { kind, name } => {
                let id = self.find(index, *kind, name)?;
                let author = self.context.origin.author.clone();
                self.put(
                    &id,
                    RecordField::Confirmation,
                    &author,
                    CellValue::Confirmation(self.context.origin.clone()),
                );
                Some(ActionReceipt::new(id, ActionOutcome::Confirmed))
            }
        }
    }

    fn record(&mut self, index: usize, draft: &RecordDraft) -> Option<ActionReceipt> {
        let before = self.problems.len();
        self.problems.extend(check(index, draft));
        let superseded: BTreeSet<RecordId> =
            draft.supersedes.iter().filter_map(|name| self.find(index, Some(draft.kind), name)).collect();
        let given = draft.name.clone().or_else(|| draft.ends.as_ref().and_then(relation_name));
        let existing = match (&given, draft.kind) {
            (Some(name), kind) => Some(RecordId::new(kind, name.clone())).filter(|id| self.exists(id)),
            (None, RecordKind::File) => file_of(draft).and_then(|path| self.file_record(path)),
            (None, _) => None,
        };
        if existing.is_none() {
            self.require_text(index, draft);
        }
        if self.problems.len() > before {
            // Later steps may name it all the same.
            self.new.extend(given.map(|name| RecordId::new(draft.kind, name)));
            return None;
        }
        if existing.is_none()
            && draft.duplicates == DuplicatePolicy::Answer
            && let Some(id) = self.duplicate(draft, &superseded)
        {
            return Some(ActionReceipt::new(id, ActionOutcome::AlreadyThere));
        }
        let outcome = if existing.is_some() { ActionOutcome::Updated } else { ActionOutcome::Added };
        let id = match existing {
            Some(id) => id,
            None => RecordId::new(draft.kind, given.or_else(|| self.free_name(draft))?),
        };
        let mut remarks = self.state(&id, draft);
        let replaced = self.replaced_anchors(&id, draft);
        self.entries(&id, draft);
        let is_given = |old: &String| draft.anchors.iter().any(|new| new.target.to_string() == *old);
        let replaced: Vec<String> = replaced.into_iter().filter(|old| !is_given(old)).collect();
        if !replaced.is_empty() {
            remarks.push(ReceiptRemark::ReplacedAnchors(replaced));
        }
        if let Some(confidence) = draft.confidence {
            self.confidence(index, &id, confidence);
        }
        superseded.iter().for_each(|old| self.supersede(index, &id, old));
        if let Some(path) = file_of(draft) {
            self.new_files.insert(path.to_string(), id.clone());
        }
        self.new_texts.entry(text_key(draft)).or_insert_with(|| id.clone());
        self.new.insert(id.clone());
        Some(ActionReceipt { id, outcome, remarks })
    }

    /// The record that says nearly the same as the draft, or that an earlier step adds with the same text.
    fn duplicate(&self, draft: &RecordDraft, superseded: &BTreeSet<RecordId>) -> Option<RecordId> {
        let except = self.not_compared(draft, superseded);
        let known = (self.find_duplicate)(draft.kind, draft.headline(), &except);
        // What these say is not all in the text.
        let is_whole = !matches!(draft.kind, RecordKind::File | RecordKind::Relationship);
        let new = || self.new_texts.get(&text_key(draft)).filter(|id| is_whole && !except.contains(id));
        known.or_else(|| new().cloned())
    }

    /// Says the statement anew, if the draft gives a part of it.
    fn state(&mut self, id: &RecordId, draft: &RecordDraft) -> Vec<ReceiptRemark> {
        let before = self.snapshot.get(id);
        let key = self.key(id, RecordField::Text, "");
        let said = match self.cells.get(&key).map(|cell| &cell.value) {
            Some(CellValue::Statement { statement, .. }) => Some(&**statement),
            _ => before.map(|record| &record.statement),
        };
        if said.is_some() && !draft.has_statement() {
            return Vec::new();
        }
        let author = &self.context.origin.author;
        let texts = draft.fill(said, author);
        let remarks = said.map(|said| draft.remarks(said, author)).unwrap_or_default();
        let status = texts.status.or((id.kind == RecordKind::Decision).then_some(DecisionStatus::Active));
        let statement = Statement {
            description: texts.description,
            rationale: texts.rationale,
            summary: texts.summary,
            status,
            impact: texts.impact,
            pattern_type: texts.pattern_type,
            ends: texts.ends,
            basis: texts.basis.unwrap_or(self.context.basis),
            origin: self.context.origin.clone(),
        };
        let replaces = before.map(|record| record.versions.clone()).unwrap_or_default();
        self.put(
            id,
            RecordField::Text,
            "",
            CellValue::Statement { statement: Box::new(statement), replaces },
        );
        remarks
    }

    /// Adds the entries of all sets.
    fn entries(&mut self, id: &RecordId, draft: &RecordDraft) {
        for entry in self.replaced_anchors(id, draft) {
            self.put(id, RecordField::Anchor, &entry, CellValue::Removed);
        }
        for anchor in &draft.anchors {
            let entry = anchor.target.to_string();
            self.put(id, RecordField::Anchor, &entry, CellValue::Anchor(Box::new(anchor.clone())));
        }
        for (tag, value) in &draft.tags {
            self.put(id, RecordField::Tag, tag, CellValue::Present(value.clone()));
        }
        for (group, names) in &draft.related {
            for name in names {
                self.put(
                    id,
                    RecordField::Related,
                    &format!("{group}/{name}"),
                    CellValue::Present(String::new()),
                );
            }
        }
        let lists = [
            (RecordField::Also, &draft.also),
            (RecordField::Evidence, &draft.evidence),
            (RecordField::Concept, &draft.concepts),
            (RecordField::Symbol, &draft.symbols),
        ];
        for (field, list) in lists {
            for entry in list {
                self.put(id, field, entry, CellValue::Present(String::new()));
            }
        }
    }

    /// The record's anchors in files that the draft has anchors in: these say anew what the record is about there.
    fn replaced_anchors(&self, id: &RecordId, draft: &RecordDraft) -> Vec<String> {
        let is_replaced = |old: &&Anchor| {
            let path = old.target.path();
            path.is_some() && draft.anchors.iter().any(|new| new.target.path() == path)
        };
        let old = self.snapshot.get(id).into_iter().flat_map(|record| &record.anchors);
        old.filter(is_replaced).map(|anchor| anchor.target.to_string()).collect()
    }

    /// The records that a draft does not repeat, whatever they say: those that it supersedes, and of a file those about
    /// other files, because two files may well be described alike.
    fn not_compared(&self, draft: &RecordDraft, superseded: &BTreeSet<RecordId>) -> BTreeSet<RecordId> {
        let mut ids = superseded.clone();
        if draft.kind == RecordKind::File {
            let paths = |anchors: &[Anchor]| -> BTreeSet<String> {
                anchors.iter().filter_map(|anchor| Some(anchor.target.path()?.as_str().to_string())).collect()
            };
            let own = paths(&draft.anchors);
            let is_other = |record: &&Record| {
                let theirs = paths(&record.anchors);
                theirs != own && theirs.is_disjoint(&own)
            };
            let others = self.snapshot.of_kind(RecordKind::File).filter(is_other);
            ids.extend(others.map(|record| record.id.clone()));
        }
        ids
    }

    /// What was understood of that file.
    fn file_record(&self, path: &str) -> Option<RecordId> {
        let is_about = |anchor: &Anchor| matches!(&anchor.target, AnchorTarget::File { path: own } if own.as_str() == path);
        let mut records = self.snapshot.of_kind(RecordKind::File);
        let known =
            records.find(|record| record.anchors.iter().any(is_about)).map(|record| record.id.clone());
        known.or_else(|| self.new_files.get(path).cloned())
    }

    fn supersede(&mut self, index: usize, new: &RecordId, old: &RecordId) {
        self.superseding.entry(new.clone()).or_default().push((old.clone(), index));
        self.put(new, RecordField::Supersedes, &old.to_string(), CellValue::Present(String::new()));
    }

    fn confidence(&mut self, index: usize, id: &RecordId, confidence: f64) {
        if (0.0..=1.0).contains(&confidence) {
            return self.put(id, RecordField::Confidence, "", CellValue::Confidence(confidence));
        }
        let problem = format!("the confidence {confidence} is not between 0 and 1");
        self.problems.push(BatchProblem::new(index, "confidence", problem, "give a number such as 0.8"));
    }

    fn key(&self, record: &RecordId, field: RecordField, entry: &str) -> CellKey {
        let writer = self.context.writer.clone();
        CellKey { record: record.clone(), field, entry: entry.to_string(), writer }
    }

    fn put(&mut self, record: &RecordId, field: RecordField, entry: &str, value: CellValue) {
        let key = self.key(record, field, entry);
        let seen = self.snapshot.latest_of(record);
        let first = Stamp::after(seen, self.context.origin.at.as_millisecond());
        // A step is later than the one before.
        let stamp = Stamp { counter: first.counter.saturating_add(self.step), ..first };
        self.cells.insert(key.clone(), Cell { key, stamp, value });
    }

    fn exists(&self, id: &RecordId) -> bool {
        self.snapshot.get(id).is_some() || self.new.contains(id)
    }

    /// The record of that name; it must be the only one.
    fn find(&mut self, index: usize, kind: Option<RecordKind>, name: &str) -> Option<RecordId> {
        let kinds = kind.map_or(RecordKind::ALL.to_vec(), |kind| vec![kind]);
        let ids = kinds.into_iter().filter_map(|kind| id_of(kind, name)).filter(|id| self.exists(id));
        let mut found: BTreeSet<RecordId> = ids.collect();
        if found.is_empty() && kind == Some(RecordKind::File) {
            found.extend(self.file_record(name));
        }
        if found.len() > 1 {
            let names: Vec<String> = found.iter().map(ToString::to_string).collect();
            let problem = format!("`{name}` is the name of {} records", found.len());
            self.problems.push(BatchProblem::new(
                index,
                "name",
                problem,
                format!("use one of {}", names.join(", ")),
            ));
            return None;
        }
        let only = found.into_iter().next();
        if only.is_none() {
            self.problems.push(self.unknown(index, kind, name));
        }
        only
    }

    fn unknown(&self, index: usize, kind: Option<RecordKind>, name: &str) -> BatchProblem {
        let records = self.snapshot.records().filter(|record| kind.is_none_or(|kind| record.id.kind == kind));
        let names: Vec<&str> = records.map(|record| record.id.name.as_str()).collect();
        if let Some(id) = self.snapshot.retired(kind, name) {
            let fix = format!("to see it: msg knowledge show {id}");
            return BatchProblem::new(index, "name", format!("`{id}` is retired"), fix)
                .of_kind(BatchProblemKind::UnknownRecord);
        }
        let near = suggestions(name.rsplit('/').next().unwrap_or(name), names);
        let fix = match near.as_slice() {
            [] => "list the records with `msg knowledge list`".to_string(),
            near => format!("did you mean {}?", near.join(", ")),
        };
        let what = kind.map_or("record", RecordKind::as_str);
        BatchProblem::new(index, "name", format!("there is no {what} named `{}`", name.escape_debug()), fix)
            .of_kind(BatchProblemKind::UnknownRecord)
    }

    fn require(&mut self, index: usize, id: &RecordId) -> Option<()> {
        if !self.exists(id) {
            let problem = "there is no such relationship";
            self.problems.push(BatchProblem::new(
                index,
                None,
                problem,
                "list them with `msg knowledge list --kind relationship`",
            ));
            return None;
        }
        Some(())
    }

    /// A new record must say something.
    fn require_text(&mut self, index: usize, draft: &RecordDraft) {
        // That a text is empty was told already.
        let has = |text: &Option<String>| text.is_some();
        let is_said = match draft.kind {
            RecordKind::File => has(&draft.summary) || has(&draft.description),
            RecordKind::Relationship => draft.ends.is_some(),
            _ => has(&draft.description),
        };
        if !is_said {
            let field = match draft.kind {
                RecordKind::File => "summary",
                RecordKind::Relationship => "from",
                _ => "description",
            };
            let problem = format!("a new {} needs `{field}`", draft.kind);
            let fix = match &draft.name {
                Some(name) => {
                    format!("add it, or check the name: there is no {} named `{name}` to update", draft.kind)
                }
                None => "add it: one sentence".to_string(),
            };
            self.problems.push(BatchProblem::new(index, field, problem, fix));
        }
    }

    /// A name made of the text that nobody uses yet.
    fn free_name(&self, draft: &RecordDraft) -> Option<RecordName> {
        let first_words = |text: &str| text.split_whitespace().take(8).collect::<Vec<_>>().join(" ");
        let path = draft.anchors.iter().find_map(|anchor| anchor.target.path());
        let text = match (draft.kind, path) {
            (RecordKind::File, Some(path)) => path.as_str().to_string(),
            _ => first_words(draft.headline()),
        };
        let name = RecordName::derive(&text).or_else(|| RecordName::derive(draft.kind.as_str()))?;
        let is_free = |name: &RecordName| !self.exists(&RecordId::new(draft.kind, name.clone()));
        if is_free(&name) {
            return Some(name);
        }
        (2..10_000).find_map(|number| {
            let ending = format!("-{number}");
            let start = name.as_str().get(..MAX_RECORD_NAME - ending.len()).unwrap_or(name.as_str());
            RecordName::new(&format!("{}{ending}", start.trim_end_matches('-'))).ok().filter(is_free)
        })
    }

    /// Refuses what would let records supersede each other in a circle.
    fn check_circles(&mut self) {
        for (start, olds) in &self.superseding {
            for (old, index) in olds {
                if self.leads_to(old, start) {
                    let problem = format!("`{start}` can't supersede `{old}`, which supersedes it already");
                    let fix = "name the older record, or give the new one another name";
                    self.problems.push(BatchProblem::new(*index, "supersedes", problem, fix));
                }
            }
        }
    }

    /// Whether `from` supersedes `to`, by itself or through others, or is the same.
    fn leads_to(&self, from: &RecordId, to: &RecordId) -> bool {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from.clone()]);
        while let Some(id) = open.pop() {
            if id == *to {
                return true;
            }
            if seen.insert(id.clone()) {
                open.extend(
                    self.snapshot.get(&id).into_iter().flat_map(|record| record.supersedes.iter().cloned()),
                );
                open.extend(self.superseding.get(&id).into_iter().flatten().map(|(old, _)| old.clone()));
            }
        }
        false
    }
}

/// What a draft says, without regard to spaces.
fn text_key(draft: &RecordDraft) -> (RecordKind, String) {
    (draft.kind, draft.headline().split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The file that a record of a file is about.
fn file_of(draft: &RecordDraft) -> Option<&str> {
    draft.anchors.iter().filter(|_| draft.kind == RecordKind::File).find_map(|anchor| match &anchor.target {
        AnchorTarget::File { path } => Some(path.as_str()),
        _ => None,
    })
}

/// The draft of a relationship.
pub fn link(ends: RelationEnds, description: Option<String>) -> KnowledgeAction {
    let draft = RecordDraft { ends: Some(ends), description, ..RecordDraft::new(RecordKind::Relationship) };
    KnowledgeAction::Record(Box::new(draft))
}
