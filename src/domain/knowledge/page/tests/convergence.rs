//! Two clones that record, publish, edit pages by hand, merge by git and exchange their logs, in any order, agree in the
//! end. Git is a model here: commits with parents, each with all pages.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use proptest::prelude::*;

use super::super::*;
use crate::domain::knowledge::{
    Basis, Cell, CellKey, DuplicatePolicy, KnowledgeAction, KnowledgeSnapshot, Origin, PlanContext, Record,
    RecordDraft, RecordId, RecordKind, RecordName, Stamp, WriterId, merge, plan,
};

type Pages = BTreeMap<RecordId, String>;

#[derive(Clone, Debug)]
struct ModelCommit {
    parents: Vec<usize>,
    pages: Pages,
    at: i64,
}

#[derive(Clone, Debug)]
struct ModelClone {
    log: BTreeMap<CellKey, Cell>,
    head: usize,
    work: Pages,
}

#[derive(Clone, Debug)]
struct World {
    commits: Vec<ModelCommit>,
    clones: [ModelClone; 2],
    now: i64,
}

/// What happens in one of the clones.
#[derive(Clone, Debug)]
enum Step {
    Say { record: usize, text: usize },
    Tag { record: usize, tag: usize },
    Retire { record: usize },
    Publish,
    Commit { skew: i64 },
    EditText { record: usize, text: usize },
    EditTag { record: usize, tag: usize },
    Delete { record: usize },
    Break { record: usize },
    Revert,
    Pull { prefers_own: bool },
    SendLog,
}

fn steps() -> impl Strategy<Value = Vec<(usize, Step)>> {
    let (record, small) = (0..2usize, 0..4usize);
    let step = prop_oneof![
        4 => (record.clone(), small.clone()).prop_map(|(record, text)| Step::Say { record, text }),
        2 => (record.clone(), small.clone()).prop_map(|(record, tag)| Step::Tag { record, tag }),
        1 => record.clone().prop_map(|record| Step::Retire { record }),
        4 => Just(Step::Publish),
        5 => (-5_000..5_000i64).prop_map(|skew| Step::Commit { skew }),
        // The clock of that machine is wrong by 30 years.
        1 => Just(Step::Commit { skew: 1_000_000_000_000 }),
        3 => (record.clone(), small.clone()).prop_map(|(record, text)| Step::EditText { record, text }),
        3 => (record.clone(), small).prop_map(|(record, tag)| Step::EditTag { record, tag }),
        1 => record.clone().prop_map(|record| Step::Delete { record }),
        1 => record.prop_map(|record| Step::Break { record }),
        1 => Just(Step::Revert),
        4 => any::<bool>().prop_map(|prefers_own| Step::Pull { prefers_own }),
        2 => Just(Step::SendLog),
    ];
    prop::collection::vec((0..2usize, step), 0..40)
}

fn id(record: usize) -> RecordId {
    RecordId::new(RecordKind::Note, RecordName::new(["one", "two"][record]).unwrap())
}

fn sentence(text: usize) -> String {
    format!("Text {text}. It has two sentences.")
}

impl World {
    fn new() -> Self {
        let empty = ModelCommit { parents: Vec::new(), pages: Pages::new(), at: 0 };
        let clone = ModelClone { log: BTreeMap::new(), head: 0, work: Pages::new() };
        Self { commits: vec![empty], clones: [clone.clone(), clone], now: 1_000_000 }
    }

    fn ancestors(&self, head: usize) -> BTreeSet<usize> {
        let (mut seen, mut open) = (BTreeSet::new(), vec![head]);
        while let Some(commit) = open.pop() {
            if seen.insert(commit) {
                open.extend(&self.commits[commit].parents);
            }
        }
        seen
    }

    /// As `git log` tells it.
    fn history(&self, head: usize, id: &RecordId) -> Option<PageHistory> {
        let ancestors = self.ancestors(head);
        let page = |commit: usize| self.commits[commit].pages.get(id);
        let is_change = |commit: &&usize| {
            let parents = &self.commits[**commit].parents;
            parents.iter().all(|parent| page(*parent) != page(**commit))
                && (page(**commit).is_some() || !parents.is_empty())
        };
        let changes: Vec<usize> = ancestors.iter().filter(is_change).copied().collect();
        let versions: BTreeSet<PageHash> =
            changes.iter().filter_map(|commit| page(*commit)).map(|text| PageHash::of(text)).collect();
        let text = |commit: usize| page(commit).map(String::as_str);
        let change = |commit: &usize| {
            let before = self.commits[*commit].parents.iter().find_map(|parent| text(*parent));
            PageChange { now: text(*commit), before }
        };
        let changes: Vec<usize> = changes.into_iter().rev().collect();
        let rows: Vec<PageChange<'_>> = changes.iter().map(change).collect();
        let last = last_content(&rows, text(head), |text| RecordPage::parse(id, text).is_ok());
        let last = last.map(|last| LastPage {
            hash: PageHash::of(last.content),
            commit: PageCommit {
                id: format!("{:012x}{:028}", changes[last.change], 0),
                author: "committer".to_string(),
                at: Timestamp::from_millisecond(self.commits[changes[last.change]].at).unwrap(),
            },
            is_removed: last.is_removed,
            unreadable: last.unreadable.into_iter().map(PageHash::of).collect(),
        });
        let head = text(head).map(PageHash::of);
        (!changes.is_empty()).then(|| PageHistory {
            id: id.clone(),
            head,
            last,
            versions: versions.into_iter().collect(),
        })
    }

    fn text_of(&self, head: usize, id: &RecordId, hash: &PageHash) -> Option<&String> {
        let commits = self.ancestors(head).into_iter();
        let mut texts = commits.filter_map(|commit| self.commits[commit].pages.get(id));
        texts.find(|text| PageHash::of(text) == *hash)
    }

    fn read(&self, who: usize) -> KnowledgeSnapshot {
        self.read_all(who).0
    }

    /// The records, and what the pages added.
    fn read_all(&self, who: usize) -> (KnowledgeSnapshot, Vec<Cell>) {
        let ModelClone { log, head, .. } = &self.clones[who];
        let mut cells: Vec<Cell> = log.values().cloned().collect();
        let published = PublishedPages::of(cells.iter());
        let mut added = Vec::new();
        for record in 0..2 {
            let Some(history) = self.history(*head, &id(record)) else { continue };
            let Some(edit) = history.edit(&published) else { continue };
            let page = |hash: &PageHash| {
                let text = self.text_of(*head, &history.id, hash)?;
                RecordPage::parse(&history.id, text).ok()
            };
            let LastPage { hash, commit, .. } = edit.last;
            let base = PageBase { page: edit.base.as_ref().and_then(page), publication: edit.publication };
            added.extend(page_update(&page(hash).unwrap(), hash, commit, &base));
        }
        cells.extend(added.iter().cloned());
        link_replaced_pages(&mut cells, &published);
        (merge(cells), added)
    }

    fn tell(&mut self, who: usize, action: KnowledgeAction) {
        let snapshot = self.read(who);
        let context = PlanContext {
            writer: WriterId::new(["ann", "bob"][who]).unwrap(),
            origin: Origin {
                author: ["ann", "bob"][who].to_string(),
                at: Timestamp::from_millisecond(self.now).unwrap(),
                commit: None,
                branch: None,
            },
            basis: Basis::Told,
        };
        if let Ok(planned) = plan(&[action], &snapshot, &context, &|_, _, _| None) {
            self.append(who, planned.cells);
        }
    }

    fn append(&mut self, who: usize, cells: Vec<Cell>) {
        cells.into_iter().for_each(|cell| put(&mut self.clones[who].log, cell));
    }

    fn publish(&mut self, who: usize) {
        let (snapshot, added) = self.read_all(who);
        let writer = WriterId::new(["ann", "bob"][who]).unwrap();
        let published = PublishedPages::of(self.clones[who].log.values());
        let mut cells = Vec::new();
        for record in snapshot.records() {
            let (text, there) = (RecordPage::of(record).render(), self.clones[who].work.get(&record.id));
            let committed = self.commits[self.clones[who].head].pages.get(&record.id);
            let is_settled = |text: &String| {
                Some(text) == committed || published.get(&record.id, &PageHash::of(text)).is_some()
            };
            let is_broken = |there: &String| RecordPage::parse(&record.id, there).is_err();
            if there.is_some_and(|there| *there != text && (!is_settled(there) || is_broken(there))) {
                continue;
            }
            let hash = PageHash::of(&text);
            let history = self.history(self.clones[who].head, &record.id);
            let versions = history.map(|history| history.versions).unwrap_or_default();
            let latest = published.latest_of(&record.id, versions.iter().chain([&hash]));
            let is_new = latest.is_none_or(|(latest, publication)| {
                *latest != hash || publication.stamp < snapshot.latest_of(&record.id)
            });
            if is_new || added.iter().any(|cell| cell.key.record == record.id) {
                let stamp = Stamp::after(snapshot.latest_of(&record.id), self.now);
                cells.push(publication_cell(record, &hash, &writer, stamp));
                cells.extend(added.iter().filter(|cell| cell.key.record == record.id).cloned());
            }
            self.clones[who].work.insert(record.id.clone(), text);
        }
        self.append(who, cells);
    }

    fn commit(&mut self, who: usize, skew: i64) {
        let ModelClone { head, work, .. } = &self.clones[who];
        if self.commits[*head].pages != *work {
            let commit = ModelCommit { parents: vec![*head], pages: work.clone(), at: self.now + skew };
            self.commits.push(commit);
            self.clones[who].head = self.commits.len() - 1;
        }
    }

    /// Edits a page as a person would.
    fn edit(&mut self, who: usize, record: usize, change: impl FnOnce(&mut RecordPage)) {
        let id = id(record);
        if let Some(text) = self.clones[who].work.get_mut(&id)
            && let Ok(mut page) = RecordPage::parse(&id, text)
        {
            change(&mut page);
            // People put line ends elsewhere.
            *text = page.render().replace("sentences.", "\n sentences.");
        }
    }

    fn pull(&mut self, who: usize, prefers_own: bool) {
        self.commit(who, 0);
        let (own, other) = (self.clones[who].head, self.clones[1 - who].head);
        let (mine, theirs) = (self.ancestors(own), self.ancestors(other));
        let head = if mine.contains(&other) {
            own
        } else if theirs.contains(&own) {
            other
        } else {
            let base = *mine.intersection(&theirs).last().unwrap();
            let mut pages = Pages::new();
            for record in 0..2 {
                let page = |commit: usize| self.commits[commit].pages.get(&id(record));
                let merged = match (page(own), page(other)) {
                    (own, other) if own == page(base) => other,
                    (own, other) if other == page(base) => own,
                    (own, _) if prefers_own => own,
                    (_, other) => other,
                };
                pages.extend(merged.map(|text| (id(record), text.clone())));
            }
            self.commits.push(ModelCommit { parents: vec![own, other], pages, at: self.now });
            self.commits.len() - 1
        };
        self.clones[who].work = self.commits[head].pages.clone();
        self.clones[who].head = head;
    }

    fn send_log(&mut self, from: usize) {
        let cells: Vec<Cell> = self.clones[from].log.values().cloned().collect();
        cells.into_iter().for_each(|cell| put(&mut self.clones[1 - from].log, cell));
    }

    fn step(&mut self, who: usize, step: &Step) {
        self.now += 1_000;
        let draft = |record: usize| RecordDraft {
            name: Some(id(record).name),
            duplicates: DuplicatePolicy::AddAnyway,
            ..RecordDraft::new(RecordKind::Note)
        };
        match *step {
            Step::Say { record, text } => {
                let said = RecordDraft { description: Some(sentence(text)), ..draft(record) };
                self.tell(who, KnowledgeAction::Record(Box::new(said)));
            }
            Step::Tag { record, tag } => {
                let tags = BTreeMap::from([(format!("tag{tag}"), "x".to_string())]);
                self.tell(who, KnowledgeAction::Record(Box::new(RecordDraft { tags, ..draft(record) })));
            }
            Step::Retire { record } => {
                self.tell(who, KnowledgeAction::Delete { kind: None, name: id(record).to_string() });
            }
            Step::Publish => self.publish(who),
            Step::Commit { skew } => self.commit(who, skew),
            Step::EditText { record, text } => {
                self.edit(who, record, |page| page.description = sentence(10 + text));
            }
            Step::EditTag { record, tag } => self.edit(who, record, |page| {
                let tag = format!("tag{tag}");
                if page.tags.remove(&tag).is_none() {
                    page.tags.insert(tag, "by hand".to_string());
                }
            }),
            Step::Delete { record } => drop(self.clones[who].work.remove(&id(record))),
            Step::Break { record } => {
                if let Some(text) = self.clones[who].work.get_mut(&id(record)) {
                    text.insert_str(0, "<<<<<<< HEAD\n");
                }
            }
            Step::Revert => {
                if let Some(parent) = self.commits[self.clones[who].head].parents.first() {
                    self.clones[who].work = self.commits[*parent].pages.clone();
                    self.commit(who, 0);
                }
            }
            Step::Pull { prefers_own } => self.pull(who, prefers_own),
            Step::SendLog => self.send_log(who),
        }
    }

    /// Both have all commits and all of the log.
    fn sync(&mut self) {
        self.commit(1, 0);
        self.pull(0, true);
        self.pull(1, true);
        self.send_log(0);
        self.send_log(1);
    }

    fn records(&self, who: usize) -> Vec<Record> {
        self.read(who).records().cloned().collect()
    }
}

/// The later of two cells under one key counts; of two with one stamp, every reader takes the same.
fn put(log: &mut BTreeMap<CellKey, Cell>, cell: Cell) {
    let rank = |cell: &Cell| (cell.stamp, format!("{:?}", cell.value));
    if log.get(&cell.key).is_none_or(|own| rank(own) < rank(&cell)) {
        log.insert(cell.key.clone(), cell);
    }
}

/// What a page shows of records.
fn shown(records: &[Record]) -> Vec<(RecordPage, Origin)> {
    records.iter().map(|record| (RecordPage::of(record), record.statement.origin.clone())).collect()
}

/// Both agree after these steps, and whoever edits a page then is heard.
fn agree_in_the_end(steps: &[(usize, Step)]) -> Result<(), TestCaseError> {
    let mut world = World::new();
    for (who, step) in steps {
        world.step(*who, step);
    }
    world.sync();
    prop_assert_eq!(world.clones[0].head, world.clones[1].head);
    prop_assert_eq!(world.records(0), world.records(1));
    let before = world.records(0);
    let mut broken = world.clone();
    (0..2).for_each(|record| broken.step(0, &Step::Break { record }));
    broken.commit(0, 0);
    prop_assert_eq!(&broken.records(0), &before, "a page that can't be read takes nothing back");
    // Whoever finds such a page removes it.
    for clone in &mut world.clones {
        clone.work.retain(|id, text| RecordPage::parse(id, text).is_ok());
    }
    world.now += 1_000;
    let mut alone = world.clone();
    alone.publish(1);
    world.publish(0);
    prop_assert_eq!(&alone.clones[1].work, &world.clones[0].work, "the same bytes");
    for record in &before {
        let said = record.statement.description.as_str();
        let known = (0..4).chain(10..14).any(|text| sentence(text) == said);
        prop_assert!(known, "nobody said {:?}", said);
        let page = RecordPage::parse(&record.id, &world.clones[0].work[&record.id]);
        prop_assert_eq!(page, Ok(RecordPage::of(record)));
    }
    world.commit(0, -3_000);
    prop_assert_eq!(shown(&world.records(0)), shown(&before), "what was published says nothing new");
    let log = world.clones[0].log.clone();
    world.publish(0);
    prop_assert_eq!(&world.clones[0].log, &log, "publishing again adds nothing");
    // Whoever edits then is heard, and whoever reverts that, too.
    if let Some(record) = before.first() {
        let index = usize::from(record.id.name.as_str() == "two");
        world.edit(0, index, |page| page.description = sentence(13) + " Really.");
        world.commit(0, -900_000);
        let said = world.read(0).get(&record.id).unwrap().statement.description.clone();
        prop_assert_eq!(said, sentence(13) + " Really.");
        for step in [Step::Delete { record: index }, Step::Break { record: index }] {
            let mut worse = world.clone();
            worse.step(0, &step);
            worse.commit(0, 0);
            prop_assert_eq!(worse.records(0), world.records(0), "{:?} takes nothing back", step);
        }
        world.step(0, &Step::Revert);
        let now = world.read(0).get(&record.id).unwrap().clone();
        prop_assert_eq!(&now.statement, &record.statement);
        prop_assert_eq!(&now.tags, &record.tags);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn two_clones_agree_in_the_end(steps in steps()) {
        agree_in_the_end(&steps)?;
    }
}

/// What is recorded again after a page from the future was published is older by the clock, and later all the same.
#[test]
fn an_edit_is_heard_after_a_page_from_the_future() {
    let steps = [
        (0, Step::Say { record: 0, text: 2 }),
        (0, Step::Publish),
        (0, Step::EditTag { record: 0, tag: 0 }),
        (0, Step::Commit { skew: 1_000_000_000_000 }),
        (1, Step::Pull { prefers_own: false }),
        (1, Step::Publish),
        (1, Step::Say { record: 0, text: 2 }),
    ];
    agree_in_the_end(&steps).unwrap();
}
