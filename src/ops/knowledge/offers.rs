//! What hooks offer: records that are anchored to what a model has just touched.
//!
//! A hook reads the index, and no more: neither Yjs nor git is started unless something fits. Only then is the record
//! judged, with a short limit for git.

use std::cell::{OnceCell, RefCell, RefMut};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::domain::knowledge::search::MergeState;
use crate::domain::knowledge::{
    AnchorFinding, AnchorTarget, AnchorVerdict, KnowledgeOffer, NamedPlaces, OfferKey, RecordId, RecordKind,
    WorkSurroundings, offer_text, overview_text,
};
use crate::domain::shell::ProgramRun;
use crate::ops::background::job::{BackgroundJob, JobKind};
use crate::ops::effects::Op;
use crate::ops::error::CommandError;
use crate::store::{KnowledgeUse, OfferIndexState, OfferedRecord, OpenOfferIndex};
use crate::sys::environment::Home;
use crate::sys::files::{self, FileStamp};

use super::anchors::AnchorJudge;
use super::merge_state::MergeJudge;
use super::project::KnowledgeProject;

/// How long git may take while a harness waits.
const GIT_LIMIT: Duration = Duration::from_millis(150);
/// The most records that are judged to choose one, and the most anchors of each.
const MOST_JUDGED: usize = 6;
const MOST_ANCHORS: usize = 4;
/// The most files of one tool call that are looked up.
const MOST_FILES: usize = 32;

/// The index of a project in which something is recorded.
pub(in crate::ops) struct OfferBook {
    project: KnowledgeProject,
    index: OpenOfferIndex,
    home: Home,
    /// One for all records, and only if something fits.
    judge: OnceCell<RefCell<AnchorJudge>>,
}

/// What became of the anchors of a record.
struct JudgedOffer<'o> {
    findings: Vec<(&'o AnchorTarget, AnchorFinding)>,
    /// The worst of which one can be sure.
    certain: Option<AnchorVerdict>,
    /// How many are guesses, because the time did not suffice.
    guesses: usize,
}

/// How a record that was offered stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::ops) enum OfferStanding {
    Judged(AnchorVerdict),
    /// It was retired, replaced or erased.
    NoLongerOffered,
    /// The time did not suffice, or it has no anchor there any more.
    Unknown,
}

impl JudgedOffer<'_> {
    /// The worst of its anchors.
    fn verdict(&self) -> AnchorVerdict {
        let verdicts = self.findings.iter().map(|(_, finding)| finding.verdict());
        verdicts.max().unwrap_or(AnchorVerdict::Fresh)
    }

    fn standing(&self) -> OfferStanding {
        match self.certain {
            Some(verdict) if verdict >= AnchorVerdict::Stale => OfferStanding::Judged(verdict),
            Some(verdict) if self.guesses == 0 => OfferStanding::Judged(verdict),
            _ => OfferStanding::Unknown,
        }
    }
}

/// A record that is anchored to something that was touched.
pub(in crate::ops) struct FoundOffer {
    pub(in crate::ops) offer: KnowledgeOffer,
    place: AnchorTarget,
}

/// A record to offer, with its text.
pub(in crate::ops) struct ReadyOffer {
    pub(in crate::ops) record: OfferedRecord,
    pub(in crate::ops) text: String,
}

impl OfferBook {
    /// `None`: nothing is recorded here, or there is no index yet. Then a background job makes one.
    pub(in crate::ops) fn open(op: &Op) -> Result<Option<Self>, CommandError> {
        let project = KnowledgeProject::of(op);
        match project.index.open(&project.log)? {
            OfferIndexState::NoLog => Ok(None),
            OfferIndexState::Missing => {
                if project.index.is_renewal_due()? {
                    op.start_job(BackgroundJob { kind: JobKind::KnowledgeIndex, dir: op.cwd.clone() });
                }
                Ok(None)
            }
            OfferIndexState::Open(index) => {
                Ok(Some(Self { project, index, home: op.home.clone(), judge: OnceCell::new() }))
            }
        }
    }

    /// The records that are anchored in these files.
    pub(in crate::ops) fn in_files(
        &self,
        op: &Op,
        paths: &[PathBuf],
    ) -> Result<Vec<FoundOffer>, CommandError> {
        let mut found = Vec::new();
        for path in paths.iter().take(MOST_FILES) {
            let Some(text) = path.to_str() else { continue };
            // What is outside of the project has no records.
            let Ok(path) = self.project.path_from(&op.cwd, text) else { continue };
            self.find(&mut found, OfferKey::path(path.as_str()), |offer| offer.anchor_in(path.as_str()))?;
        }
        Ok(found)
    }

    /// The records that are anchored to a file or a symbol that the prompt names.
    pub(in crate::ops) fn named_in(&self, op: &Op, prompt: &str) -> Result<Vec<FoundOffer>, CommandError> {
        let named = NamedPlaces::of(prompt);
        let mut found = Vec::new();
        for word in &named.paths {
            for base in [op.cwd.as_path(), self.project.root.as_path()] {
                let word = op.home.expand(word);
                let path = word.to_str().and_then(|word| self.project.path_from(base, word).ok());
                if let Some(path) = path {
                    let key = OfferKey::path(path.as_str());
                    self.find(&mut found, key, |offer| offer.anchor_in(path.as_str()))?;
                }
            }
        }
        for symbol in &named.symbols {
            self.find(&mut found, OfferKey::symbol(symbol), |offer| offer.anchor_to_symbol(symbol))?;
        }
        Ok(found)
    }

    /// The records that are anchored to one of these programs, or to an error text in the output.
    pub(in crate::ops) fn of_failure(
        &self,
        runs: &[ProgramRun],
        output: Option<&str>,
    ) -> Result<Vec<FoundOffer>, CommandError> {
        let mut found = Vec::new();
        for run in runs {
            for key in OfferKey::of_run(run) {
                self.find(&mut found, key, |offer| offer.anchor_to_run(run))?;
            }
        }
        if let Some(output) = output {
            self.find(&mut found, OfferKey::errors(), |offer| offer.anchor_to_error(output))?;
        }
        Ok(found)
    }

    fn find<'o>(
        &self,
        found: &mut Vec<FoundOffer>,
        key: OfferKey,
        anchor: impl for<'a> Fn(&'a KnowledgeOffer) -> Option<&'a AnchorTarget> + 'o,
    ) -> Result<(), CommandError> {
        for offer in self.index.find(key)? {
            let is_known = found.iter().any(|known: &FoundOffer| known.offer.id == offer.id);
            if let Some(place) = anchor(&offer).cloned().filter(|_| !is_known) {
                found.push(FoundOffer { offer, place });
            }
        }
        Ok(())
    }

    /// The best of these records, with its text. The verdict is that of the place that was touched; what is gone is not
    /// offered.
    pub(in crate::ops) fn choose(&self, mut found: Vec<FoundOffer>) -> Option<ReadyOffer> {
        let rank = |kind: RecordKind| match kind {
            RecordKind::Decision => 0,
            RecordKind::Tried => 1,
            _ => 2,
        };
        found.sort_by_key(|found| (rank(found.offer.id.kind), std::cmp::Reverse(found.offer.at)));
        let mut best: Option<(AnchorVerdict, FoundOffer)> = None;
        for found in found.into_iter().take(MOST_JUDGED) {
            let verdict = self.judge(&found.offer, |target| *target == found.place).verdict();
            if verdict <= AnchorVerdict::Drifted {
                best = Some((verdict, found));
                break;
            }
            if best.is_none() && verdict != AnchorVerdict::Gone {
                best = Some((verdict, found));
            }
        }
        let (verdict, FoundOffer { offer, place }) = best?;
        let text = offer_text(&offer, &place, verdict, self.merged(&offer));
        let path = place.path().map(|path| self.project.root.join(path.as_str()));
        let file = path.and_then(|path| Some((path.to_string_lossy().into_owned(), stamp_of(&path)?)));
        Some(ReadyOffer { record: OfferedRecord { id: offer.id, verdict, file }, text })
    }

    /// How a record stands now, in the file where it was offered and in the one that was touched. What it was like
    /// elsewhere, the session was not told.
    pub(in crate::ops) fn standing(
        &self,
        offered: &OfferedRecord,
        touched: Option<&FoundOffer>,
    ) -> Result<OfferStanding, CommandError> {
        let id = &offered.id;
        let Some(offer) = self.index.find(OfferKey::record(id))?.into_iter().find(|offer| offer.id == *id)
        else {
            return Ok(OfferStanding::NoLongerOffered);
        };
        let touched = touched.and_then(|found| found.place.path());
        let is_there = |target: &AnchorTarget| {
            let path = target.path();
            let is_of_offer = |(file, _): &(String, FileStamp)| {
                path.is_some_and(|path| *file == self.project.root.join(path.as_str()).to_string_lossy())
            };
            path.is_some() && (path == touched || offered.file.as_ref().is_some_and(is_of_offer))
        };
        Ok(self.judge(&offer, is_there).standing())
    }

    /// Counts that a record was offered.
    pub(in crate::ops) fn count(&self, id: &RecordId) -> Result<(), CommandError> {
        Ok(self.project.uses.add(KnowledgeUse::Offered, id)?)
    }

    /// What a session is told at its start.
    pub(in crate::ops) fn overview(
        &self,
        op: &Op,
        task: Option<&str>,
    ) -> Result<Option<String>, CommandError> {
        let folder = self.project.directory_from(&op.cwd, ".").ok().flatten();
        let branch = self.project.branch();
        let surroundings = WorkSurroundings {
            folder: folder.as_ref().map_or("", |folder| folder.as_str()),
            branch: branch.as_deref(),
            task,
        };
        Ok(overview_text(&self.index.overview()?, &surroundings))
    }

    /// Judges some of the anchors that are wanted.
    fn judge<'o>(
        &self,
        offer: &'o KnowledgeOffer,
        is_wanted: impl Fn(&AnchorTarget) -> bool,
    ) -> JudgedOffer<'o> {
        let mut judge = self.anchor_judge();
        let mut judged = JudgedOffer { findings: Vec::new(), certain: None, guesses: 0 };
        for anchor in offer.anchors.iter().filter(|anchor| is_wanted(&anchor.target)).take(MOST_ANCHORS) {
            let before = judge.guesses();
            let finding = judge.judge(anchor);
            match judge.guesses() - before {
                0 => judged.certain = judged.certain.max(Some(finding.verdict())),
                guesses => judged.guesses += guesses,
            }
            judged.findings.push((&anchor.target, finding));
        }
        judged
    }

    fn anchor_judge(&self) -> RefMut<'_, AnchorJudge> {
        let new = || RefCell::new(AnchorJudge::new(&self.project.root, &self.home).with_git_limit(GIT_LIMIT));
        self.judge.get_or_init(new).borrow_mut()
    }

    fn merged(&self, offer: &KnowledgeOffer) -> MergeState {
        let Some(commit) = &offer.commit else { return MergeState::Merged };
        if offer.branch.is_some() && offer.branch == self.project.branch() {
            return MergeState::Merged;
        }
        let judged = self.judge(offer, |_| true);
        if judged.guesses > 0 {
            // Nothing is said of what is not known.
            return MergeState::Merged;
        }
        let mut judge = self.anchor_judge();
        let merges = MergeJudge::new(&self.project, &mut judge, std::slice::from_ref(commit));
        let findings = judged.findings.iter().map(|(target, finding)| (*target, finding));
        merges.state(Some(commit), offer.branch.as_ref(), findings)
    }
}

/// Makes the index anew if it does not hold.
pub(in crate::ops) fn renew_index(op: &Op) -> Result<(), CommandError> {
    KnowledgeProject::of(op).read(op).map(drop)
}

/// The `stat` result of a file; `None` if it is not there.
pub(in crate::ops) fn stamp_of(path: &Path) -> Option<FileStamp> {
    files::metadata(path).ok().flatten().map(|metadata| FileStamp::of(&metadata))
}
