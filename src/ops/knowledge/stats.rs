//! `msg knowledge stats`: what is recorded, by whom, and how it is used on this machine.

use std::collections::BTreeMap;

use crate::domain::knowledge::{AnchorVerdict, RecordKind};
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::store::UseCounts;

use super::ask::Viewer;
use super::project::KnowledgeProject;

/// Numbers about what is recorded.
#[derive(Clone, Debug)]
pub struct KnowledgeStats {
    /// How many records there are of each kind; kinds without records are left out.
    pub kinds: Vec<(RecordKind, usize)>,
    pub superseded: usize,
    /// Records whose anchored text was changed, and whose is gone.
    pub stale: usize,
    pub gone: usize,
    /// Who said what the records say, with how many of them, the most first.
    pub writers: Vec<(String, usize)>,
    pub uses: UseCounts,
}

impl KnowledgeStats {
    pub fn total(&self) -> usize {
        self.kinds.iter().map(|(_, count)| count).sum()
    }
}

pub fn stats(op: &Op) -> Result<KnowledgeStats, CommandError> {
    let project = KnowledgeProject::of(op);
    let stored = project.stored(op)?;
    let snapshot = stored.snapshot();
    let mut viewer = Viewer::of_commits(op, &project, stored.commits());
    let (mut superseded, mut stale, mut gone) = (0, 0, 0);
    let mut writers: BTreeMap<&str, usize> = BTreeMap::new();
    for record in snapshot.records() {
        *writers.entry(record.statement.origin.author.as_str()).or_default() += 1;
        superseded += usize::from(record.is_superseded());
        match viewer.standing(record).verdict {
            AnchorVerdict::Stale => stale += 1,
            AnchorVerdict::Gone => gone += 1,
            AnchorVerdict::Fresh | AnchorVerdict::Moved | AnchorVerdict::Drifted => {}
        }
    }
    let mut writers: Vec<(String, usize)> =
        writers.into_iter().map(|(name, count)| (name.to_string(), count)).collect();
    writers.sort_by(|one, two| two.1.cmp(&one.1).then_with(|| one.0.cmp(&two.0)));
    let kinds = RecordKind::ALL.iter().map(|kind| (*kind, snapshot.of_kind(*kind).count()));
    let kinds = kinds.filter(|(_, count)| *count > 0).collect();
    Ok(KnowledgeStats { kinds, superseded, stale, gone, writers, uses: project.uses.counts()? })
}
