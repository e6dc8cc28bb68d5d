//! `hooks/<session>.knowledge`: what a session was offered and asked, and whether it recorded something. A line for
//! each, in JSON.
//!
//! Hooks of one session may run at once. Each appends its line and then looks whether it was the first of its kind: so
//! of two that want to offer one record, one does.

use serde::{Deserialize, Serialize};

use crate::domain::SessionId;
use crate::domain::knowledge::{AnchorVerdict, RecordId};
use crate::store::error::StoreError;
use crate::store::handles::HookStates;
use crate::sys::files::{self, FileStamp};
use crate::sys::random;

/// A moment at which a session is asked to record something.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum AskMoment {
    /// Its user approved a plan, or answered a question.
    Decision,
    /// It completed a task.
    Task,
    Stop,
}

/// Something that is noted about a session.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum KnowledgeMark {
    Offered(OfferedRecord),
    /// The file of a record that was offered has changed since, and the record was looked at again.
    Seen(RecordId, FileStamp),
    /// The session was told that a record which it was offered is stale or gone.
    ToldStale(RecordId),
    /// The session looked at a record that it was offered.
    Opened(RecordId),
    /// It changed this file.
    Edited(String),
    /// It recorded something.
    Recorded,
    Asked(AskMoment),
}

/// A record that a session was offered.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct OfferedRecord {
    pub id: RecordId,
    /// What it was told about the place where it was offered.
    pub verdict: AnchorVerdict,
    /// The file that it is about, absolute, with its `stat` result; `None` for a command.
    pub file: Option<(String, FileStamp)>,
}

/// What is known about a session.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct KnowledgeMarks {
    pub offered: Vec<OfferedRecord>,
    pub told_stale: Vec<RecordId>,
    pub opened: Vec<RecordId>,
    pub edited: Vec<String>,
    pub has_recorded: bool,
    pub asked: Vec<AskMoment>,
}

impl KnowledgeMarks {
    pub fn was_offered(&self, id: &RecordId) -> bool {
        self.offered.iter().any(|offered| offered.id == *id)
    }

    pub fn was_asked(&self, moment: AskMoment) -> bool {
        self.asked.contains(&moment)
    }

    fn add(&mut self, mark: KnowledgeMark) {
        match mark {
            KnowledgeMark::Offered(offered) => self.offered.push(offered),
            KnowledgeMark::Seen(id, stamp) => {
                let known = self.offered.iter_mut().filter(|offered| offered.id == id);
                known.filter_map(|offered| offered.file.as_mut()).for_each(|file| file.1 = stamp);
            }
            KnowledgeMark::ToldStale(id) => self.told_stale.push(id),
            KnowledgeMark::Opened(id) => self.opened.push(id),
            KnowledgeMark::Edited(path) if !self.edited.contains(&path) => self.edited.push(path),
            KnowledgeMark::Edited(_) => {}
            KnowledgeMark::Recorded => self.has_recorded = true,
            KnowledgeMark::Asked(moment) => self.asked.push(moment),
        }
    }
}

/// One line.
#[derive(Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
struct MarkLine {
    /// Tells two writers apart.
    by: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    offered: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stamp: Option<FileStamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seen: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    told_stale: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    opened: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    edited: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    recorded: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    asked: Option<AskMoment>,
}

impl MarkLine {
    fn of(mark: &KnowledgeMark, by: u32) -> Self {
        let line = Self { by, ..Self::default() };
        match mark {
            KnowledgeMark::Offered(OfferedRecord { id, verdict, file }) => Self {
                offered: Some(id.to_string()),
                verdict: Some(verdict.as_str().to_string()),
                file: file.as_ref().map(|(path, _)| path.clone()),
                stamp: file.as_ref().map(|(_, stamp)| *stamp),
                ..line
            },
            KnowledgeMark::Seen(id, stamp) => {
                Self { seen: Some(id.to_string()), stamp: Some(*stamp), ..line }
            }
            KnowledgeMark::ToldStale(id) => Self { told_stale: Some(id.to_string()), ..line },
            KnowledgeMark::Opened(id) => Self { opened: Some(id.to_string()), ..line },
            KnowledgeMark::Edited(path) => Self { edited: Some(path.clone()), ..line },
            KnowledgeMark::Recorded => Self { recorded: true, ..line },
            KnowledgeMark::Asked(moment) => Self { asked: Some(*moment), ..line },
        }
    }

    fn mark(self) -> Option<KnowledgeMark> {
        let id = |text: Option<String>| text.as_deref().and_then(RecordId::parse);
        if let Some(record) = id(self.offered) {
            let verdict = self.verdict.as_deref().and_then(AnchorVerdict::parse)?;
            let file = self.file.zip(self.stamp);
            return Some(KnowledgeMark::Offered(OfferedRecord { id: record, verdict, file }));
        }
        if let Some((record, stamp)) = id(self.seen).zip(self.stamp) {
            return Some(KnowledgeMark::Seen(record, stamp));
        }
        let told = id(self.told_stale).map(KnowledgeMark::ToldStale);
        let opened = || id(self.opened).map(KnowledgeMark::Opened);
        let edited = || self.edited.map(KnowledgeMark::Edited);
        let asked = || self.asked.map(KnowledgeMark::Asked);
        let recorded = || self.recorded.then_some(KnowledgeMark::Recorded);
        told.or_else(opened).or_else(edited).or_else(asked).or_else(recorded)
    }
}

impl HookStates<'_> {
    pub fn knowledge_marks(self, session: &SessionId) -> Result<KnowledgeMarks, StoreError> {
        let mut marks = KnowledgeMarks::default();
        self.mark_lines(session)?.into_iter().filter_map(MarkLine::mark).for_each(|mark| marks.add(mark));
        Ok(marks)
    }

    pub fn mark_knowledge(self, session: &SessionId, mark: &KnowledgeMark) -> Result<(), StoreError> {
        self.append_mark(session, &MarkLine::of(mark, 0))
    }

    /// Adds a mark, and says whether it is the first of its kind.
    pub fn is_first_knowledge_mark(
        self,
        session: &SessionId,
        mark: &KnowledgeMark,
    ) -> Result<bool, StoreError> {
        let by = random::number();
        self.append_mark(session, &MarkLine::of(mark, by))?;
        let own = MarkLine::of(mark, by);
        let is_like = |line: &MarkLine| {
            line.offered == own.offered && line.told_stale == own.told_stale && line.asked == own.asked
        };
        let first = self.mark_lines(session)?.into_iter().find(is_like);
        Ok(first.is_some_and(|first| first.by == by))
    }

    /// Lines that can't be read are left out.
    fn mark_lines(self, session: &SessionId) -> Result<Vec<MarkLine>, StoreError> {
        let bytes = files::read_note(&self.file(session, "knowledge"))?.unwrap_or_default();
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        Ok(lines.filter_map(|line| serde_json::from_slice(line).ok()).collect())
    }

    #[expect(clippy::expect_used, reason = "a line holds nothing that JSON can't say")]
    fn append_mark(self, session: &SessionId, line: &MarkLine) -> Result<(), StoreError> {
        let mut text = serde_json::to_vec(line).expect("plain data");
        text.push(b'\n');
        self.make_dir()?;
        Ok(files::append_line(&self.file(session, "knowledge"), &text)?)
    }
}
