//! The format of records in the index that hooks read, with the words of `cache_format`.

use jiff::Timestamp;

use super::cache_format::{Decoder, Encoder};
use crate::domain::knowledge::{Anchor, KnowledgeOffer, OverviewRow, RecordId, RecordKind, RecordName};
use crate::sys::files::FileStamp;

impl Encoder {
    pub(super) fn u64(&mut self, number: u64) {
        self.0.extend(number.to_le_bytes());
    }

    pub(super) fn file_stamp(&mut self, stamp: &FileStamp) {
        let FileStamp { inode, size, modified, changed } = *stamp;
        self.u64(inode);
        self.u64(size);
        self.i64(modified);
        self.i64(changed);
    }

    pub(super) fn offer(&mut self, offer: &KnowledgeOffer) {
        self.id(&offer.id);
        self.text(&offer.headline);
        self.text(&offer.rationale);
        self.text(&offer.author);
        self.i64(offer.at.as_second());
        self.optional_text(offer.commit.as_deref());
        self.optional_text(offer.branch.as_deref());
        self.count(offer.anchors.len());
        offer.anchors.iter().for_each(|anchor| self.anchor(anchor));
    }

    pub(super) fn overview_row(&mut self, row: &OverviewRow) {
        self.id(&row.id);
        self.count(row.paths.len());
        row.paths.iter().for_each(|path| self.text(path));
        self.optional_text(row.branch.as_deref());
        self.optional_text(row.task.as_deref());
        self.i64(row.changed);
    }

    fn id(&mut self, id: &RecordId) {
        self.word(RecordKind::ALL, id.kind);
        self.text(id.name.as_str());
    }
}

impl Decoder<'_> {
    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(super) fn file_stamp(&mut self) -> Option<FileStamp> {
        let (inode, size) = (self.u64()?, self.u64()?);
        Some(FileStamp { inode, size, modified: self.i64()?, changed: self.i64()? })
    }

    pub(super) fn offer(&mut self) -> Option<KnowledgeOffer> {
        let id = self.id()?;
        let [headline, rationale, author] = [self.text()?, self.text()?, self.text()?];
        let at = Timestamp::from_second(self.i64()?).ok()?;
        let (commit, branch) = (self.optional_text().ok()?, self.optional_text().ok()?);
        let count = self.u32()?;
        let anchors: Option<Vec<Anchor>> = (0..count).map(|_| self.anchor()).collect();
        Some(KnowledgeOffer { id, headline, rationale, author, at, commit, branch, anchors: anchors? })
    }

    pub(super) fn overview_row(&mut self) -> Option<OverviewRow> {
        let id = self.id()?;
        let count = self.u32()?;
        let paths: Option<Vec<String>> = (0..count).map(|_| self.text()).collect();
        let (branch, task) = (self.optional_text().ok()?, self.optional_text().ok()?);
        Some(OverviewRow { id, paths: paths?, branch, task, changed: self.i64()? })
    }

    fn id(&mut self) -> Option<RecordId> {
        let kind = self.word(RecordKind::ALL)?;
        Some(RecordId::new(kind, RecordName::new(self.str()?).ok()?))
    }
}
