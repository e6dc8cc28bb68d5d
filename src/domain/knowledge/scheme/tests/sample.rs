//! A small project that expressions are tried on.

use jiff::Timestamp;

use crate::domain::knowledge::scheme::{QueryEvent, QueryFacts, QueryOutlineRow};
use crate::domain::knowledge::{
    Anchor, AnchorTarget, AnchorVerdict, Basis, Cell, CellKey, CellValue, DecisionStatus, KnowledgeSnapshot,
    Origin, RecordField, RecordId, RelationEnds, RelationType, Stamp, Statement, WriterId, merge,
};

/// A record in the making: cells of one writer at one time.
struct Draft {
    id: RecordId,
    at: i64,
    statement: Statement,
    entries: Vec<(RecordField, String, CellValue)>,
}

impl Draft {
    fn new(id: &str, author: &str, day: i64, description: &str) -> Self {
        let at = (20_400 + day) * 86_400_000;
        let origin = Origin {
            author: author.to_string(),
            at: Timestamp::from_millisecond(at).unwrap(),
            commit: Some("c0ffee".to_string()),
            branch: None,
        };
        let statement = Statement::new(description, Basis::Read, origin);
        Self { id: RecordId::parse(id).unwrap(), at, statement, entries: Vec::new() }
    }

    fn decided(mut self, status: DecisionStatus, impact: Option<u8>, why: &str) -> Self {
        self.statement.status = Some(status);
        self.statement.impact = impact;
        self.statement.rationale = why.to_string();
        self
    }

    fn basis(mut self, basis: Basis) -> Self {
        self.statement.basis = basis;
        self
    }

    fn pattern(mut self, pattern_type: &str) -> Self {
        self.statement.pattern_type = pattern_type.to_string();
        self
    }

    fn ends(mut self, from: &str, relation: RelationType, to: &str) -> Self {
        self.statement.ends = Some(RelationEnds { from: from.to_string(), to: to.to_string(), relation });
        self
    }

    fn with(mut self, field: RecordField, entries: &[&str]) -> Self {
        for entry in entries {
            let (entry, text) = entry.split_once('=').unwrap_or((entry, ""));
            self.entries.push((field, entry.to_string(), CellValue::Present(text.to_string())));
        }
        self
    }

    fn at(mut self, anchors: &[&str]) -> Self {
        for text in anchors {
            let target = AnchorTarget::parse(text).unwrap();
            let anchor = Anchor::new(target);
            self.entries.push((
                RecordField::Anchor,
                (*text).to_string(),
                CellValue::Anchor(Box::new(anchor)),
            ));
        }
        self
    }

    fn cells(self) -> Vec<Cell> {
        let writer = WriterId::new(&self.statement.origin.author).unwrap();
        let text = CellValue::Statement { statement: Box::new(self.statement), replaces: Vec::new() };
        let mut entries = self.entries;
        entries.push((RecordField::Text, String::new(), text));
        let stamp = Stamp { milliseconds: self.at, counter: 0 };
        let cell = |(field, entry, value)| Cell {
            key: CellKey { record: self.id.clone(), field, entry, writer: writer.clone() },
            stamp,
            value,
        };
        entries.into_iter().map(cell).collect()
    }
}

pub(super) fn snapshot() -> KnowledgeSnapshot {
    use DecisionStatus::{Active, Deprecated, Superseded};
    let drafts =
        [
            Draft::new("decision/one-flock", "ann", 1, "One flock guards all names.")
                .decided(Active, Some(8), "Two locks were taken in different orders.")
                .basis(Basis::Tested)
                .at(&["src/sys/flock.rs:12", "src/store/names.rs#Names"])
                .with(RecordField::Related, &["files/src/store/registry.rs", "principles/one-writer"])
                .with(RecordField::Tag, &["area=locks"])
                .with(RecordField::Also, &["mutex"]),
            Draft::new("decision/log-per-writer", "bob", 6, "Each writer appends to a log of its own.")
                .decided(Active, Some(9), "Two writers of one file lose data.")
                .at(&["src/store/log.rs"])
                .with(RecordField::Supersedes, &["decision/file-per-message"]),
            Draft::new("decision/file-per-message", "ann", 2, "Each message is a file.")
                .decided(Superseded, Some(5), "Files are simple.")
                .at(&["src/store/messages.rs"]),
            Draft::new("decision/toml-config", "cid", 3, "Settings are TOML.")
                .decided(Deprecated, None, "People can comment it.")
                .basis(Basis::Guessed),
            Draft::new("decision/toml-config", "bob", 2, "Settings are JSON.").decided(Deprecated, None, ""),
            Draft::new("principle/one-writer", "ann", 4, "Each file has one writer.")
                .basis(Basis::Tested)
                .with(RecordField::Evidence, &["the storm test", "the crash sweep"])
                .at(&["src/store/log.rs:1-9"]),
            Draft::new("principle/names-say-what", "cid", 5, "A name says what a thing is.")
                .basis(Basis::Told)
                .with(RecordField::Evidence, &["review of May"]),
            Draft::new("pattern/guard-value", "ann", 3, "A lock is a value that is dropped.")
                .pattern("concurrency")
                .at(&["src/sys/flock.rs#Guard"]),
            Draft::new("pattern/staged-change", "bob", 4, "Changes are staged and then committed.")
                .pattern("transaction"),
            Draft::new("note/cargo-jobs", "cid", 7, "Two build jobs fit into memory.").at(&["$ cargo test"]),
            Draft::new("note/tests-need-tty", "ann", 8, "The chat tests need a terminal.")
                .basis(Basis::Guessed)
                .at(&["tests/chat.rs"]),
            Draft::new("tried/inotify-on-nfs", "bob", 5, "Watched an inbox on NFS.").decided(
                Active,
                None,
                "inotify sees no changes of other machines.",
            ),
            Draft::new("file/sys-flock", "ann", 2, "Takes and gives locks.")
                .at(&["src/sys/flock.rs"])
                .with(RecordField::Concept, &["locks", "guards"])
                .with(RecordField::Symbol, &["Guard", "lock"]),
            Draft::new("relationship/flock-supports-writer", "ann", 4, "The lock makes the writer single.")
                .ends("one-flock", RelationType::Supports, "one-writer"),
            Draft::new("relationship/toml-against-names", "cid", 5, "Keys of TOML are short.").ends(
                "toml-config",
                RelationType::Contradicts,
                "names-say-what",
            ),
        ];
    let mut drafts = drafts.into_iter().collect::<Vec<_>>();
    // Only decisions have a status.
    for draft in &mut drafts {
        if !draft.id.to_string().starts_with("decision/") {
            draft.statement.status = None;
        }
    }
    merge(drafts.into_iter().flat_map(Draft::cells))
}

/// A worktree in which the chat tests changed and the registry is gone.
#[derive(Default)]
pub(super) struct SampleFacts {
    /// How often the clock may be asked; `None` if time does not matter.
    pub(super) looks: Option<std::cell::Cell<usize>>,
}

impl QueryFacts for SampleFacts {
    fn verdict(&self, id: &RecordId) -> Option<AnchorVerdict> {
        match id.to_string().as_str() {
            "note/tests-need-tty" => Some(AnchorVerdict::Stale),
            "decision/file-per-message" => Some(AnchorVerdict::Gone),
            "decision/one-flock" | "decision/log-per-writer" | "file/sys-flock" => Some(AnchorVerdict::Fresh),
            _ => None,
        }
    }

    fn search(&self, words: &str, limit: usize) -> Vec<RecordId> {
        let snapshot = snapshot();
        let fits = |text: &str| words.split(' ').any(|word| text.to_lowercase().contains(word));
        let found = snapshot.records().filter(|record| fits(&record.statement.description));
        found.map(|record| record.id.clone()).take(limit).collect()
    }

    fn outline(&self, path: &str) -> Option<Vec<QueryOutlineRow>> {
        let row = |name: &str, kind: &str, first_line, last_line| QueryOutlineRow {
            name: name.to_string(),
            kind: kind.to_string(),
            first_line,
            last_line,
        };
        let rows = vec![row("Guard", "struct", 3, 9), row("lock", "function", 12, 40)];
        (path == "src/sys/flock.rs").then_some(rows)
    }

    fn history(&self, id: &RecordId) -> Vec<QueryEvent> {
        let event = |second, author: &str, text: &str| QueryEvent {
            at: Timestamp::from_second(second).unwrap(),
            author: author.to_string(),
            text: text.to_string(),
        };
        if id.name.as_str() == "one-flock" {
            vec![event(1, "ann", "recorded"), event(2, "bob", "confirmed")]
        } else {
            Vec::new()
        }
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_second(20_409 * 86_400).unwrap()
    }

    fn is_out_of_time(&self) -> bool {
        match &self.looks {
            None => false,
            Some(looks) => {
                looks.set(looks.get().saturating_sub(1));
                looks.get() == 0
            }
        }
    }
}
